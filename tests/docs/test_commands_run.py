"""Every command that README and guide show is run, in the order of the pages, in a folder with toys in place of data.

What would take long is cut by overrides (`CUTS`) and what is not run at all is listed with the reason (`NOT_RUN`).
"""

import subprocess
import sys
from pathlib import Path

import pytest

from bilm import BiLM
from bilm.official import save_official
from probing.corpora import CORPORA
from probing.data.catalogue import CATALOGUE
from tests.command_line import run_here
from tests.docs.blocks import ROOT, blocks, commands
from tests.docs.test_commands import APPS
from tests.probing.encoders.tiny_transformers import save_transformer
from tests.probing.toy import save_network, write_treebank
from tests.probing.toy_senses import INDEX, TEST, TRAIN, write_framework

NOT_RUN = {
    "pip install": "changes the environment that the tests run in; .ci/run does it",
    "pytest": "these are the tests",
    "ruff": "no part of what the tests need; .ci/run does it",
    "mypy": "no part of what the tests need; .ci/run does it",
    "torchrun": "four processes for weeks; tests/bilm/test_training.py trains a toy on several",
    "export": "the workspace has that variable already",
}
EXIT_CODES = {"probing data check": 1, "probing data check ud-english-ewt --verbose": 1}
"""Of a command that is right to fail here: the toys are not the corpora whose names they have."""

_FORMS = "tasks=[{task: pos, corpus: {train: a.conllu, dev: b.conllu, test: c.conllu}}]"
_SENSES = "tasks=[{task: wsd, dev: a.data.xml, test: b.data.xml}]"
_QUICK = [
    "encoders=[{bilm: path/to/model}]",
    "views=[1, 2]",
    "claims=[]",
    "bootstrap.samples=20",
]
_PROBES = "probes=[majority, {probe: linear, penalties: [0.001]}]"
CUTS = {
    "wsd": [_SENSES, *_QUICK, "probes=[first-sense, nearest]"],
    "table5-wsd": [_SENSES, *_QUICK, "probes=[first-sense, nearest]"],
    "tiny": ["stop.words=2000", "report.valid_steps=1000"],
    "my-text": ["start=path/to/model", "text.words_per_step=20", "stop={words: 100}"],
}
"""By the name of a config; it is put before the command's own overrides, which win. All others are cut as POS is."""


def is_run(words: list[str]) -> bool:
    """Tell whether a command is run: it is, unless its beginning is listed."""
    return not f"{' '.join(words)} ".startswith(tuple(f"{start} " for start in NOT_RUN))


DISTINCT = list(dict.fromkeys(tuple(words) for block in blocks("sh") for words in commands(block.code)))
RUN = [list(words) for words in DISTINCT if is_run(list(words))]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder that has, under the names that the pages use, all that their commands read."""
    folder = tmp_path_factory.mktemp("workspace")
    for name in ("experiments", "docs"):
        (folder / name).symlink_to(ROOT / name)
    data = folder / "path/to/data"
    for entry in CATALOGUE.values():  # `fetch` finds all there, so that it downloads nothing
        for name in entry.files if entry.kind != "model" else ():
            file = data / entry.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    (data / "wordnet-3.0/index.sense").write_text(INDEX, encoding="utf-8")
    save_network(folder / "path/to/model")
    network = BiLM.from_pretrained(folder / "path/to/model")
    for place in (folder / "path/to/elmo", data / "models/elmo-original"):
        save_official(network, place)
    made = write_treebank(folder / "treebank")
    corpus = CORPORA["ud-english-ewt"].files
    for names in (("a", "b", "c"), ("wsj-00-18", "wsj-19-21", "wsj-22-24")):
        for name, split in zip(names, made, strict=True):
            (folder / f"{name}.conllu").write_bytes(Path(made[split]).read_bytes())
    for split, path in made.items():
        (data / corpus[split]).write_bytes(Path(path).read_bytes())
    write_framework(folder / "train.data.xml", TRAIN)
    for name in ("a", "b"):
        write_framework(folder / f"{name}.data.xml", TEST[1:4])
    for name in ("ALL.gold.key.txt", "answers.key.txt"):
        (folder / name).write_text("d000.s000.t000 bank%1:14:00::\n", encoding="utf-8")
    (folder / "my").mkdir()
    for name in ("sentences.txt", "my-valid.txt", "my/one.txt"):
        (folder / name).write_text("The old captain counts the sails .\n\nA river bank\n" * 5, encoding="utf-8")
    return folder


def cut(words: list[str]) -> list[str]:
    """Return a command with what would take long cut."""
    if words[:2] not in (["probing", "run"], ["bilm", "train"]):
        return words
    configs = [word for word in words if word.endswith(".yaml")]
    first = words.index(configs[-1]) + 1
    cuts = CUTS.get(Path(configs[0]).stem, [_FORMS, *_QUICK, _PROBES])
    options = [part for override in cuts for part in ("-o", override)]
    after = ["-o", "tasks.0.train=train.data.xml"] if _SENSES in cuts else []
    return [*words[:first], *options, *words[first:], *after]


@pytest.fixture
def in_workspace(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("PROBING_DATA", "path/to/data")
    monkeypatch.setenv("PROBING_CACHE", str(workspace / "cache"))
    return workspace


def test_what_is_not_run_is_shown_somewhere_and_has_a_reason() -> None:
    lines = [" ".join(words) for block in blocks("sh") for words in commands(block.code)]
    assert [start for start in NOT_RUN if not any(f"{line} ".startswith(f"{start} ") for line in lines)] == []
    assert len(RUN) > 35


@pytest.mark.usefixtures("in_workspace")
def test_the_results_that_the_pages_compare_can_be_made() -> None:
    """Comparing reads predictions, which are not committed: the toys' stand for them."""
    encoders = ["-o", "encoders=[{bilm: path/to/model, name: small-en}]"]
    run(["probing", "run", "experiments/layers.yaml", *encoders])


@pytest.mark.parametrize("words", RUN, ids=lambda words: " ".join(words)[:90])
def test_a_documented_command_does_what_it_says(words: list[str], in_workspace: Path) -> None:
    if any("path/to/transformer" in word for word in words):  # skipped where the extra is not installed
        save_transformer("bert", in_workspace / "path/to/transformer")
    run(words)


def run(words: list[str]) -> None:
    """Run a command; it must end as it should, and in words where it fails."""
    if words[0] == "python":
        subprocess.run([sys.executable, *words[1:]], check=True, capture_output=True)
        return
    done = run_here(APPS[words[0]], *cut(words)[1:])
    assert done.returncode == EXIT_CODES.get(" ".join(words), 0), done.stderr
    assert "Traceback" not in done.stderr
