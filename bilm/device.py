"""Which device a user asks for, and whether this machine has it."""

import torch

from bilm.errors import UserError


def usable_device(device: str | torch.device) -> torch.device:
    """Resolve "auto" (a GPU where there is one), and refuse a device that this machine lacks.

    Raises
    ------
    UserError
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        usable = torch.device(device)
        torch.zeros(1, device=usable).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        # PyTorch's message can go on for a page; its first line says what is wrong.
        raise UserError(f"device {str(device)!r} cannot be used here: {str(error).splitlines()[0]}") from error
    return usable
