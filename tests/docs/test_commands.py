"""Every command that README and guide show can be typed as it stands, and every Python block can be run."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
import typer
import yaml

from bilm import BiLM
from bilm.checkpoint import load_config
from bilm.cli import app as bilm_app
from bilm.training_config import read_training_config
from probing.cli import app as probing_app
from probing.config import load_experiment
from tests.docs.blocks import ROOT, Block, blocks, commands
from tests.probing.toy import save_network, write_treebank

APPS = {"bilm": bilm_app, "probing": probing_app}
OTHERS = {"pip", "pytest", "ruff", "mypy", "export", "git"}
"""Commands that are not ours to check."""
SHELL = [
    pytest.param(words, id=f"{block.place} {' '.join(words)[:60]}")
    for block in blocks("sh")
    for words in commands(block.code)
]
PYTHON = [
    pytest.param(block, id=block.place) for block in blocks("python") if block.marked or block.page.name == "README.md"
]


def test_the_pages_have_commands_and_python_blocks() -> None:
    assert len(SHELL) > 40
    assert len(PYTHON) > 2


@pytest.mark.parametrize("words", SHELL)
def test_a_documented_command_parses_and_its_configs_are_allowed(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    if "-m" in words and words[words.index("-m") + 1] in APPS:  # torchrun ... -m bilm train ..., python -m probing ...
        words = words[words.index("-m") + 1 :]
    if words[0] in ("python", "python3"):
        assert Path(words[1]).is_file()
        return
    if words[0] not in APPS:
        assert words[0] in OTHERS
        return
    parameters = parsed(words)
    configs = parameters.get("configs") or [path for path in [parameters.get("config")] if path]
    read = read_training_config if words[0] == "bilm" else load_experiment
    for path in configs:
        read(Path(path), parameters.get("override") or ())
    for folder in parameters.get("folders") or ():
        assert Path(folder).is_dir()


@pytest.mark.parametrize(
    "line",
    [
        "probing rum experiments/layers.yaml",
        "probing run experiments/layers.yaml --fresch",
        "probing run experiments/no-such.yaml",
        "probing run experiments/layers.yaml -o nmae=mine",
        "bilm train experiments/bilm/tiny.yaml -o optimizer.rat=1",
        "probing report results/no-such",
        "python experiments/no-such.py",
        "prboing ls",
    ],
)
def test_a_command_that_has_drifted_is_found(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BaseException):  # noqa: B017  # usage errors, assertions, errors of a config
        test_a_documented_command_parses_and_its_configs_are_allowed(next(commands(line)), monkeypatch)


def test_every_command_has_a_heading_in_the_page_of_commands() -> None:
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    names = [f"{name} {command}" for name, app in APPS.items() for command in command_names(app)]
    assert [name for name in names if f"## {name}\n" not in page] == []
    assert page.count("\n## ") == len(names)


@pytest.mark.parametrize("block", PYTHON)
def test_a_python_block_runs_with_a_toy_network(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    network = str(tmp_path / "tiny50")
    shape = load_config(save_network(tmp_path / "tiny"))
    characters = shape.char_cnn.model_copy(update={"max_characters_per_token": 50})  # what `batch_to_ids` makes
    BiLM(shape.model_copy(update={"char_cnn": characters}), seed=0).save_pretrained(Path(network))
    claim = {"says": "1 beats 2", "task": "pos-upos", "probe": "linear", "better": 1, "worse": 2}
    document = {
        "name": "quickstart",
        "tasks": [{"task": "pos", "corpus": write_treebank(tmp_path / "treebank")}],
        "encoders": [{"bilm": network}],
        "probes": ["majority", {"probe": "linear", "penalties": [0.001]}],
        "claims": [claim],
        "bootstrap": {"samples": 50},
    }
    Path("toy.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    code = block.code.replace('"small-en"', repr(network)).replace("experiments/quickstart.yaml", "toy.yaml")
    exec(compile(code, block.place, "exec"), {})
    plt.close("all")


def parsed(words: list[str]) -> dict[str, Any]:
    """Parse a command as the command line would, without running it; return its parameters by name."""
    command, rest = typer.main.get_command(APPS[words[0]]), words[1:]
    while hasattr(command, "commands"):
        if rest and rest[0].startswith("--"):
            break
        assert rest and rest[0] in command.commands, f"no such command: {' '.join(words)}"
        command, rest = command.commands[rest[0]], rest[1:]
    context = command.make_context(words[0], list(rest), resilient_parsing=False)
    return dict(context.params)


def command_names(app: typer.Typer) -> list[str]:
    """Return the commands of an app, those of a group with the group's name before them."""
    names = []
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        names += [f"{name} {sub}" for sub in command.commands] if hasattr(command, "commands") else [name]
    return names
