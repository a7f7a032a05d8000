"""The bidirectional language model behind ELMo (Peters et al. 2018), in PyTorch."""

from bilm.characters import batch_to_ids
from bilm.config import ARCHITECTURES, BiLMConfig
from bilm.elmo import Elmo, ScalarMix
from bilm.embedder import Embedder
from bilm.errors import UserError
from bilm.model import BiLM, BiLMOutput, BiLMState
from bilm.version import __version__

__all__ = [
    "ARCHITECTURES",
    "BiLM",
    "BiLMConfig",
    "BiLMOutput",
    "BiLMState",
    "Elmo",
    "Embedder",
    "ScalarMix",
    "UserError",
    "__version__",
    "batch_to_ids",
]
