"""Claims on the whole road: parts of speech and word senses of one toy network, verdicts in the file and the report."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bilm.errors import UserError
from probing.claims import judge, read_claims, write_claims
from probing.config import Claim, ExperimentConfig
from probing.experiment import check_inputs, run_experiment
from probing.features import FeatureStore
from probing.predictions import Cell, Predictions
from probing.probes import PROBES, Answers
from probing.results import POOLED, read_rows
from probing.tasks import Example, Split
from tests.probing import toy_senses
from tests.probing.toy import save_network, write_treebank


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path / "data"))
    network = save_network(tmp_path / "tiny", seed=3)
    senses = toy_senses.write_senses(tmp_path / "data")
    return {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": write_treebank(tmp_path / "treebank")}, {"task": "wsd"} | senses],
        "encoders": [{"bilm": network}, {"bilm": network, "untrained": [0, 1]}],
        "views": ["layers", "mean"],
        "probes": [
            "type-majority",
            "first-sense",
            "most-frequent-sense",
            "nearest",
            {"probe": "linear", "penalties": [1e-3, 0.1]},
        ],
        "bootstrap": {"samples": 200},
        "claims": [
            {"says": "one is better", "task": "pos-upos", "probe": "linear", "better": 1, "worse": 0},
            {
                "says": "two is better",
                "task": "wsd",
                "probe": "nearest",
                "better": 2,
                "worse": "mean",
                "subset": "nouns",
            },
        ],
    }


def run(document: dict[str, Any], folder: Path) -> Path:
    config = ExperimentConfig.model_validate(document)
    return run_experiment(config, folder / "results", store=FeatureStore(folder / "cache")).folder


def test_each_probe_reads_the_tasks_that_it_suits_and_senses_are_scored_by_f1(
    document: dict[str, Any], tmp_path: Path
) -> None:
    rows = read_rows(run(document, tmp_path) / "results.csv")
    probes = {task: set(rows[rows["task"] == task]["probe"]) for task in ("pos-upos", "wsd")}
    assert probes["pos-upos"] == {"type-majority", "nearest", "linear"}
    assert probes["wsd"] == {"first-sense", "most-frequent-sense", "nearest", "linear"}
    senses = rows[(rows["task"] == "wsd") & (rows["split"] == "test") & (rows["subset"] == "all")]
    assert set(senses["metric"]) == {"f1", "answered", "f1_without_fallback"}
    frequent = senses[senses["probe"] == "most-frequent-sense"].set_index("metric")["value"]
    # bank -> money (right), goose, take part right; the verb bank falls back to its only sense; the quark has none.
    assert frequent["f1"] == pytest.approx(4 / 5)
    assert frequent["answered"] == pytest.approx(3 / 5)
    assert frequent["f1_without_fallback"] == pytest.approx(2 * (3 / 3) * (3 / 5) / (3 / 3 + 3 / 5))
    first = rows[(rows["probe"] == "first-sense") & (rows["split"] == POOLED)]
    assert first["value"].tolist() == pytest.approx([3 / 7])  # dev 0 of 2, test 3 of 5
    assert first["n"].tolist() == [7]


def test_the_report_has_verdicts_first_and_the_tasks_side_by_side(document: dict[str, Any], tmp_path: Path) -> None:
    folder = run(document, tmp_path)
    claims = read_claims(folder / "claims.csv")
    assert [(c.claim, c.encoder, c.better, c.worse, c.n) for c in claims] == [
        ("one is better", "tiny", "1", "0", 56),
        ("two is better", "tiny", "2", "mean", 3),
    ]
    rows = read_rows(folder / "results.csv")
    wanted = (rows["task"] == "pos-upos") & (rows["encoder"] == "tiny") & (rows["probe"] == "linear")
    wanted &= (rows["metric"] == "accuracy") & (rows["split"] == "test") & (rows["subset"] == "all")
    test = rows[wanted].set_index("view")["value"]
    assert claims[0].better_value == pytest.approx(test["1"], abs=1e-6)
    assert claims[0].difference == pytest.approx(test["1"] - test["0"], abs=2e-6)
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert text.index(f"**{claims[0].verdict}**: one is better") < text.index("figures/layers.png")
    assert (folder / "figures" / "layers.svg").stat().st_size > 10_000


def cells(better: list[bool], worse: list[bool]) -> tuple[ExperimentConfig, Any, dict[Cell, Predictions]]:
    """Return what `judge` takes: two views of one network, right where told, one example a sentence."""
    config = ExperimentConfig.model_validate(
        {
            "name": "planted",
            "tasks": [{"task": "pos", "corpus": {"train": "a", "dev": "b", "test": "c"}}],
            "encoders": [{"bilm": "net"}],
            "probes": ["linear"],
            "claims": [{"says": "x", "task": "pos-upos", "probe": "linear", "better": 1, "worse": 2}],
        }
    )
    split = Split([], [Example(index, 0, 1, ("right",), "form") for index in range(len(better))])
    probe = PROBES["linear"].model_validate({"probe": "linear"})
    finished = {}
    for view, right in (("1", better), ("2", worse)):
        labels = np.array(["right" if one else "wrong" for one in right])
        answers = Answers(labels, np.ones(len(labels), dtype=bool))
        finished[Cell("pos-upos", probe, "net", None, view)] = Predictions({"dev": answers, "test": answers}, {})
    return config, {"pos-upos": dict.fromkeys(("train", "dev", "test"), split)}, finished


@pytest.mark.parametrize(
    ("better", "worse", "verdict"),
    [
        ([True] * 90 + [False] * 10, [True] * 60 + [False] * 40, "supported"),
        ([True] * 60 + [False] * 40, [True] * 90 + [False] * 10, "refuted"),
        ([True] * 60 + [False] * 40, [True] * 59 + [False] * 40 + [True], "undecided"),
    ],
)
def test_a_claim_is_supported_refuted_or_undecided(better: list[bool], worse: list[bool], verdict: str) -> None:
    (judged,) = judge(*cells(better, worse))
    assert judged.verdict == verdict
    assert judged.difference == pytest.approx(np.mean(better) - np.mean(worse))


def test_claims_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = judge(*cells([True] * 90 + [False] * 10, [True] * 60 + [False] * 40))
    write_claims(rows, tmp_path / "claims.csv")
    (back,) = read_claims(tmp_path / "claims.csv")
    for value, expected in zip(back, rows[0], strict=True):
        assert value == (pytest.approx(expected, abs=1e-6) if isinstance(expected, float) else expected)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("undecided\n", "undec", r"claims\.csv:2: the file is cut off in this line"),
        (",undecided\n", "\n", r"claims\.csv:2: \d+ fields where a claims file has \d+"),
        (",score,", ',"score,', r"claims\.csv:2: not a claims file \(unexpected end of data\)"),
        ("0.500000", "o.5", r"claims\.csv:2: \w+ is 'o\.5', which is no number"),
        ("family,", "", r"claims\.csv: not a claims file: column 'family' is missing"),
    ],
)
def test_a_row_of_claims_that_is_damaged_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "claims.csv"
    write_claims(judge(*cells([True, False] * 50, [True, False] * 50)), path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_claims(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "pos-xpos"}, "claims.0.task: this experiment has no 'pos-xpos'"),
        ({"probe": "majority"}, "claims.0.probe: this experiment has no 'majority'"),
        ({"encoder": "other"}, "claims.0.encoder: this experiment has no 'other'"),
        ({"encoder": "tiny (untrained)"}, "claims.0.encoder: claims are about trained networks"),
    ],
)
def test_a_claim_about_what_the_grid_lacks_is_refused(
    document: dict[str, Any], change: dict[str, str], message: str
) -> None:
    document["claims"] = [document["claims"][0] | change]
    with pytest.raises(ValueError, match=message):
        ExperimentConfig.model_validate(document)


def test_a_claim_about_a_view_that_is_not_read_is_refused_before_anything_runs(document: dict[str, Any]) -> None:
    document["claims"][0]["better"] = "concat"
    with pytest.raises(UserError, match=r"claims\.0: tiny has no view concat here"):
        check_inputs(ExperimentConfig.model_validate(document))


def test_a_claim_about_a_subset_without_examples_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    document["claims"][1]["subset"] = "adverbs"
    with pytest.raises(UserError, match=r"two is better.*no examples in subset 'adverbs'"):
        run(document, tmp_path)


def test_a_probe_that_suits_no_task_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    document |= {"tasks": document["tasks"][:1], "claims": [], "probes": ["first-sense"], "encoders": []}
    with pytest.raises(UserError, match="the probe first-sense suits none of pos-upos"):
        run(document, tmp_path)


def test_a_claim_speaks_of_every_trained_network() -> None:
    claim = Claim.model_validate({"says": "x", "task": "t", "probe": "p", "better": 1, "worse": 0})
    assert (claim.better, claim.worse, claim.encoder) == ("1", "0", None)


def test_claims_of_a_family_are_corrected_for_their_number_and_those_of_another_are_not() -> None:
    # 8 wins against 1 loss: the paired p is near 0.02, which three times over is no longer below 0.05.
    better, worse = [True] * 98 + [False] * 2, [False] * 8 + [True] * 90 + [True] + [False]
    config, data, finished = cells(better, worse)
    alone = config.claims[0].model_copy(update={"family": "alone"})
    three = [config.claims[0].model_copy(update={"family": "three", "says": str(index)}) for index in range(3)]
    judged = judge(config.model_copy(update={"claims": (alone, *three)}), data, finished)
    assert [one.family for one in judged] == ["alone", "three", "three", "three"]
    assert 0.01 < judged[0].p < 0.05
    assert judged[0].p_holm == judged[0].p
    assert [one.p_holm for one in judged[1:]] == pytest.approx([3 * judged[0].p] * 3)
    assert [one.verdict for one in judged] == ["supported", "undecided", "undecided", "undecided"]


def test_selectivity_can_be_claimed_and_is_that_of_the_report() -> None:
    config, data, finished = cells([True] * 90 + [False] * 10, [True] * 80 + [False] * 20)
    linear, control = config.probes[0], PROBES["control"].model_validate({"probe": "control", "draws": 2})
    for view, shares in (("1", (0.9, 0.7)), ("2", (0.3, 0.1))):
        for seed, share in enumerate(shares):
            # One label in train, so that the control's labels are that label too.
            labels = np.array(["right" if i < 100 * share else "wrong" for i in range(100)])
            answers = Answers(labels, np.ones(100, dtype=bool))
            finished[Cell("pos-upos", control, "net", None, view, seed)] = Predictions({"test": answers}, {})
    claim = Claim.model_validate(
        {"says": "y", "task": "pos-upos", "probe": "linear", "measure": "selectivity", "better": 2, "worse": 1}
    )
    (judged,) = judge(config.model_copy(update={"claims": (claim,), "probes": (linear, control)}), data, finished)
    assert (judged.better_value, judged.worse_value) == pytest.approx((0.8 - 0.2, 0.9 - 0.8))
    assert (judged.verdict, judged.measure) == ("supported", "selectivity")
    assert np.isnan(judged.mcnemar_p), "a mean over draws is no right or wrong"


def test_selectivity_of_a_view_that_the_control_does_not_read_is_refused_before_anything_is_fitted(
    document: dict[str, Any],
) -> None:
    document["probes"].append("control")
    document["claims"] = [document["claims"][0] | {"measure": "selectivity", "worse": "mean"}]
    with pytest.raises(UserError, match=r"claims.0: tiny has no view mean here"):
        check_inputs(ExperimentConfig.model_validate(document))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measure": "selectivity"}, "claims.0.measure: selectivity needs the probe control among probes"),
        ({"measure": "selectivity", "probe": "nearest"}, "claims.0.measure: selectivity is the probe linear's"),
    ],
)
def test_a_claim_of_selectivity_needs_the_control(document: dict[str, Any], change: Any, message: str) -> None:
    document["claims"] = [document["claims"][0] | change]
    with pytest.raises(ValueError, match=message):
        ExperimentConfig.model_validate(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probe": "mdl"}, "claims.0.probe: a claim compares answers by view: mdl answers no example"),
        ({"probe": "type-majority"}, "claims.0.probe: .*: type-majority reads no view"),
        ({"worse": 1}, "claims.0: better and worse are the same view, 1"),
        ({"encoder": "tiny (untrained)"}, r"claims.0.encoder: .* trained networks; tiny \(untrained\) is not"),
    ],
)
def test_a_claim_that_no_run_can_answer_is_refused_with_its_key(
    document: dict[str, Any], change: Any, message: str
) -> None:
    document["probes"].append("mdl")
    document["claims"] = [document["claims"][0] | change]
    with pytest.raises(ValueError, match=message):
        ExperimentConfig.model_validate(document)


def test_a_claim_without_any_trained_network_is_refused_not_dropped(document: dict[str, Any]) -> None:
    document["encoders"] = document["encoders"][1:]
    with pytest.raises(ValueError, match=r"claims.0.encoder: claims are about trained networks; there is none"):
        ExperimentConfig.model_validate(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subset": "adverbs"}, "no examples in subset 'adverbs'"),
        ({"probe": "mlp", "worse": 1}, r"claims\.0: the probe mlp does not suit the task wsd"),
        (
            {"probe": "linear", "worse": 1, "measure": "selectivity"},
            r"claims\.0: the probe control does not suit the task wsd",
        ),
    ],
)
def test_a_claim_that_the_data_cannot_answer_is_refused_before_anything_is_fitted(
    document: dict[str, Any], tmp_path: Path, change: Any, message: str
) -> None:
    document["probes"] += ["mlp", "control"]
    document["claims"] = [document["claims"][1] | {"better": 2} | change]
    with pytest.raises(UserError, match=message):
        run(document, tmp_path)
    assert not (tmp_path / "results").exists()


def test_a_claim_in_several_lines_is_folded_into_one() -> None:
    about = {"task": "t", "probe": "p", "better": 1, "worse": 0}
    claim = Claim.model_validate(about | {"says": " one\n| two\t", "family": "a\nb"})
    assert (claim.says, claim.family) == ("one | two", "a b")
    with pytest.raises(ValueError, match="says"):
        Claim.model_validate(about | {"says": " \n"})
