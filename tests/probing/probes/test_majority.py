"""The baselines that see no vectors: counted by hand, and on the real corpus."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from probing.probes import MajorityProbe, TypeMajorityProbe
from probing.probes.majority import MajorityConfig, TypeMajorityConfig
from probing.tasks import PosTask
from tests.probing.probes.toy_problems import labelled

FORMS = ["saw", "saw", "saw", "goose", "Saw", "lamp"]
LABELS = ["VERB", "NOUN", "VERB", "NOUN", "NOUN", "NOUN"]


def test_majority_answers_the_most_frequent_label() -> None:
    assert MajorityProbe().fit(FORMS, LABELS).predict(["saw", "boat"]).tolist() == ["NOUN", "NOUN"]


def test_type_majority_answers_the_forms_label_and_for_an_unseen_form_the_majority() -> None:
    probe = TypeMajorityProbe().fit(FORMS, LABELS)
    assert probe.predict(["saw", "Saw", "SAW", "goose"]).tolist() == ["VERB", "NOUN", "NOUN", "NOUN"]


def test_of_equally_frequent_labels_the_one_seen_first_is_answered() -> None:
    assert MajorityProbe().fit(["x"] * 4, ["B", "A", "A", "B"]).label_ == "B"
    probe = TypeMajorityProbe().fit(["x", "y", "y", "x"], ["B", "A", "C", "A"])
    assert probe.predict(["x", "y"]).tolist() == ["B", "A"]


@pytest.mark.parametrize("probe", [MajorityProbe(), TypeMajorityProbe()])
def test_baselines_are_estimators(probe: MajorityProbe | TypeMajorityProbe) -> None:
    with pytest.raises(NotFittedError):
        probe.predict(["saw"])
    fitted = clone(probe).fit(FORMS, LABELS)
    assert fitted.classes_.tolist() == ["NOUN", "VERB"]
    assert fitted.score(FORMS, LABELS) == pytest.approx(np.mean(fitted.predict(FORMS) == np.array(LABELS)))
    refitted = fitted.fit(["saw"], ["X"])
    assert refitted.predict(["saw", "goose"]).tolist() == ["X", "X"], "a second fit forgets the first"


def test_the_majoritys_bits_are_those_of_the_training_distribution() -> None:
    probe = MajorityProbe().fit(FORMS, LABELS)  # four times NOUN, twice VERB
    answers = MajorityConfig().answer(probe, np.array(FORMS[:2]), labelled(["NOUN", "VERB"]))
    assert answers.labels.tolist() == ["NOUN", "NOUN"]
    assert answers.bits is not None
    assert answers.bits.tolist() == pytest.approx([np.log2(6 / 4), np.log2(6 / 2)])
    escaped = MajorityConfig().answer(probe, np.array(FORMS[:2]), labelled(["NOUN", "new"])).bits
    assert escaped is not None
    assert escaped.tolist() == pytest.approx([-np.log2(4 / 7), np.log2(7)])


def test_on_train_the_majoritys_mean_bits_are_the_entropy_of_the_labels() -> None:
    probe = MajorityProbe().fit(FORMS, LABELS)
    bits = MajorityConfig().answer(probe, np.array(FORMS), labelled(LABELS)).bits
    assert bits is not None
    assert bits.mean() == pytest.approx(-(2 / 3) * np.log2(2 / 3) - (1 / 3) * np.log2(1 / 3))


def test_type_majority_has_no_bits() -> None:
    probe = TypeMajorityProbe().fit(FORMS, LABELS)
    assert TypeMajorityConfig().answer(probe, np.array(FORMS), labelled(LABELS)).bits is None


@pytest.mark.real_data
def test_ewt_has_the_published_baselines(data_dir: Path) -> None:
    published: dict[str, dict[str, tuple[float | None, float]]] = {
        "upos": {"dev": (16.74, 86.13), "test": (16.43, 86.20)},
        "xpos": {"dev": (None, 84.03), "test": (None, 83.82)},
    }
    for column, of_split in published.items():
        splits = PosTask.model_validate({"corpus": "ud-english-ewt", "column": column}).load()
        forms, labels = splits["train"].forms, splits["train"].labels
        for split, (majority, type_majority) in of_split.items():
            other = splits[split]
            by_form = TypeMajorityProbe().fit(forms, labels).score(other.forms, other.labels)
            assert round(100 * by_form, 2) == type_majority
            if majority is not None:
                assert round(100 * MajorityProbe().fit(forms, labels).score(other.forms, other.labels), 2) == majority
