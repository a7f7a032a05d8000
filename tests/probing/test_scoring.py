"""Word sense scores: hand counts, and the same digits as the official scorer, compiled and run."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from probing.scoring import f1, read_keys, score_answers


def keys(**senses: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in senses.items()}


def test_any_gold_sense_is_right_and_an_answer_left_out_lowers_recall_alone_P57() -> None:
    gold = keys(a="x y", b="z", c="w", d="v")
    found = score_answers(gold, keys(a="y", b="q", c="w"))
    assert found[:2] == (2 / 3, 2 / 4)
    assert found.f1 == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


def test_each_of_several_answers_counts_its_share() -> None:
    assert score_answers(keys(a="x", b="z"), keys(a="x y q r", b="z")) == (0.625, 0.625, 0.625)


def test_one_answer_for_each_instance_makes_f1_the_accuracy() -> None:
    gold = {str(n): frozenset({"right"}) for n in range(7)}
    found = score_answers(gold, {name: frozenset({"right" if int(name) < 3 else "wrong"}) for name in gold})
    assert found.f1 == found.precision == found.recall == 3 / 7


def test_without_any_answer_precision_is_not_a_number() -> None:
    found = score_answers(keys(a="x"), {})
    assert np.isnan(found.precision) and found.recall == 0


def test_nothing_right_is_a_score_of_zero() -> None:
    assert f1(0, 5, 10) == (0, 0, 0)


def test_key_files_may_have_any_order_line_ends_blank_lines_and_repeated_ids_P53(tmp_path: Path) -> None:
    plain, other = tmp_path / "plain.key.txt", tmp_path / "other.key.txt"
    plain.write_bytes(b"a x y\nb z\n")
    other.write_bytes(b"\xef\xbb\xbfb z  \r\n\r\na y\r\na x")
    assert read_keys(plain) == read_keys(other) == keys(a="x y", b="z")


def test_a_line_without_a_sense_is_passed_over_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "answers.key.txt"
    path.write_text("a x\nb\n", encoding="utf-8")
    assert read_keys(path) == keys(a="x")
    assert "answers.key.txt:2: the instance b" in caplog.text


@pytest.fixture(scope="module")
def scorer(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the official scorer, compiled."""
    source = data_dir / "wsd-evaluation-framework" / "Evaluation_Datasets" / "Scorer.java"
    if not shutil.which("javac"):
        pytest.skip("the official scorer needs a Java compiler (javac)")
    folder = tmp_path_factory.mktemp("scorer")
    subprocess.run(["javac", "-d", str(folder), str(source)], check=True, capture_output=True)
    return folder


SYSTEMS = (
    "gold",
    "first sense",
    "half answered",
    "several answers",
    "unknown ids",
    "shuffled",
    "empty",
    "random",
    "one id twice",
    "incomplete lines",
)


@pytest.mark.real_data
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_digit_is_that_of_the_official_scorer(system: str, scorer: Path, data_dir: Path, tmp_path: Path) -> None:
    gold = data_dir / "wsd-evaluation-framework" / "Evaluation_Datasets" / "ALL" / "ALL.gold.key.txt"
    lines = gold.read_text(encoding="utf-8").splitlines()
    generator = np.random.default_rng(SYSTEMS.index(system))
    firsts = [" ".join(line.split()[:2]) for line in lines]
    others = sorted({line.split()[1] for line in lines})
    drawn = [f"{line.split()[0]} {others[generator.integers(len(others))]}" for line in lines]
    mixed = [right if generator.random() < 0.6 else wrong for right, wrong in zip(firsts, drawn, strict=True)]
    answers = {
        "gold": lines,
        "first sense": firsts,
        "half answered": mixed[::2],
        "several answers": [f"{line} {other.split()[1]}" for line, other in zip(mixed, drawn, strict=True)],
        "unknown ids": [*mixed, "no.such.id some%1:00:00::", "nor.this other%1:00:00::"],
        "shuffled": [mixed[i] for i in generator.permutation(len(mixed))],
        "empty": [],
        "random": drawn,
        "one id twice": [*mixed, *drawn[:1000]],
        "incomplete lines": [line if n % 5 else line.split()[0] for n, line in enumerate(mixed)],
    }[system]
    path = tmp_path / "answers.key.txt"
    path.write_text("".join(line + "\n" for line in answers), encoding="utf-8")
    run = subprocess.run(
        ["java", "-cp", str(scorer), "Scorer", str(gold), str(path)], check=True, capture_output=True, text=True
    )
    official = [line.split("\t")[1] for line in run.stdout.splitlines() if line.startswith(("P=", "R=", "F1="))]
    ours = [f"{100 * value:.1f}%".replace("nan", "NaN") for value in score_answers(read_keys(gold), read_keys(path))]
    assert ours == official
