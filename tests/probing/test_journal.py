"""What a cell is fitted to: the sentences drawn, and where a run that is not done goes on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bilm.errors import UserError
from probing.corpora import Sentence
from probing.journal import ONE_LABEL, Journal, sentences_drawn
from probing.predictions import Cell
from probing.probes import PROBES, Problem
from probing.tasks import Example, Split


def split(n_sentences: int) -> Split:
    """Return sentences of three words; the n-th word of all has label "even" or "odd"."""
    sentences = [Sentence(str(i), ("a", "b", "c"), {}, "toy", 1 + 4 * i) for i in range(n_sentences)]
    examples = [
        Example(i // 3, i % 3, i % 3 + 1, (("even", "odd")[i % 2],), "abc"[i % 3]) for i in range(3 * n_sentences)
    ]
    return Split(sentences, examples)


def test_of_one_seed_a_larger_share_has_all_sentences_of_a_smaller_one() -> None:
    small, large = sentences_drawn(1000, 1, seed=3), sentences_drawn(1000, 10, seed=3)
    assert (len(small), len(large)) == (10, 100)
    assert set(small) < set(large)
    assert large == sorted(large)
    assert sentences_drawn(1000, 1, seed=4) != small


def test_the_smallest_share_has_a_sentence() -> None:
    assert len(sentences_drawn(10, 0.1, seed=0)) == 1


def test_a_part_of_a_split_has_the_rows_and_examples_of_its_sentences_alone() -> None:
    part, rows = split(5).of_sentences([1, 4])
    assert rows.tolist() == [3, 4, 5, 12, 13, 14]
    assert [sentence.id for sentence in part.sentences] == ["1", "4"]
    assert part.sentence_index.tolist() == [0, 0, 0, 1, 1, 1]
    assert part.labels.tolist() == split(5).labels[rows].tolist()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, {"t": {"train": split(20), "dev": split(4), "test": split(4)}})


def test_a_probe_is_fitted_to_the_rows_of_the_sentences_drawn(journal: Journal, monkeypatch: Any) -> None:
    seen: list[tuple[list[Problem], NDArray[Any]]] = []
    nearest = PROBES["nearest"].model_validate({"probe": "nearest"})
    real = type(nearest).fit

    def fit(self: Any, problems: Any, X: Any, X_dev: Any) -> Any:
        seen.append((problems, X))
        return real(self, problems, X, X_dev)

    monkeypatch.setattr(type(nearest), "fit", fit)
    matrices = {name: np.eye(len(own.examples), 60, dtype=np.float32) for name, own in journal.data["t"].items()}
    journal.settle([Cell("t", nearest, "net", view="1", seed=2, train_percent="25")], "f", matrices.__getitem__)
    ((problems, X),) = seen
    chosen = sentences_drawn(20, 25, seed=2)
    assert X.argmax(axis=1).tolist() == [3 * i + j for i in chosen for j in range(3)]
    assert problems[0].train.labels.tolist() == split(20).labels[X.argmax(axis=1)].tolist()
    assert len(problems[0].dev.examples) == 12, "dev is never cut"


def test_a_control_is_given_what_the_linear_probe_chose_on_the_same_view(journal: Journal) -> None:
    rng = np.random.default_rng(0)
    matrices = {n: rng.normal(size=(len(own.examples), 5)).astype(np.float32) for n, own in journal.data["t"].items()}
    linear = PROBES["linear"].model_validate({"probe": "linear", "penalties": [0.1]})
    control = PROBES["control"].model_validate({"probe": "control", "draws": 2})
    cells = [Cell("t", control, "net", view="1", seed=seed) for seed in (0, 1)]
    with pytest.raises(UserError, match="needs the probe linear on the same view"):
        journal.settle(cells, "f", matrices.__getitem__)
    journal.settle([Cell("t", linear, "net", view="1")], "f", matrices.__getitem__)
    journal.settle(cells, "f", matrices.__getitem__)
    assert journal._given(cells[0])["l2_penalty"] == 0.1
    assert len({journal.finished[cell].answers["test"].labels.tobytes() for cell in cells}) == 2


def test_what_cannot_be_fitted_names_the_cell(journal: Journal) -> None:
    same = Split(split(20).sentences, [Example(i, 0, 1, ("x",), "a") for i in range(20)])
    journal.data = {"t": {"train": same, "dev": same, "test": same}}
    linear = PROBES["linear"].model_validate({"probe": "linear"})
    cell = Cell("t", linear, "net", view="1", seed=0)
    with pytest.raises(UserError, match=r"t / net / 1 / linear / seed 0: .* one class only"):
        journal.settle([cell], "f", lambda name: np.zeros((20, 3), dtype=np.float32))


def test_sentences_drawn_with_one_label_are_answered_by_it_and_the_other_tasks_are_fitted(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    both = journal.data["t"]
    chosen = sentences_drawn(20, 10, seed=0)

    def same_where_drawn(example: Example) -> Example:
        return replace(example, labels=("same",)) if example.sentence in chosen else example

    train = Split(both["train"].sentences, [same_where_drawn(example) for example in both["train"].examples])
    journal.data = {"t": both, "dull": {**both, "train": train}}
    rng = np.random.default_rng(0)
    matrices = {n: rng.normal(size=(len(own.examples), 5)).astype(np.float32) for n, own in both.items()}
    for name in ("linear", "control", "conditional", "mlp", "nearest"):
        probe = PROBES[name].model_validate({"probe": name})
        cells = [Cell(task, probe, "net", view="1", seed=0, train_percent="10") for task in ("t", "dull")]
        journal.settle(cells, "f", matrices.__getitem__)
        lively, dull = (journal.finished[cell] for cell in cells)
        assert ONE_LABEL not in lively.facts
        if name != "control":
            assert set(dull.answers["test"].labels) == {"same"}
            assert set(lively.answers["test"].labels) <= {"even", "odd"}
        if name != "nearest":
            assert dull.facts == {ONE_LABEL: 1.0}
            assert dull.answers["dev"].bits is not None and np.isfinite(dull.answers["dev"].bits).all()
            assert (
                f"dull / net / 1 / {name} / 10 % of train / seed 0: the sentences drawn have one label" in caplog.text
            )
    assert all(record.getMessage().startswith("dull") for record in caplog.records if record.levelname == "WARNING")
