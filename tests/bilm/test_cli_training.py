"""`bilm train`, `bilm evaluate` and `bilm score`, as a user runs them."""

import json
import math
from itertools import pairwise
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from bilm.cli import app
from bilm.official import save_official
from tests.bilm.toy_training import grammar, toy_model, toy_values, write_text
from tests.command_line import run_here


def bilm(*arguments: object) -> CompletedProcess[str]:
    return run_here(app, *arguments)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "toy"
    toy_model(grammar(100), max_size=30).save_pretrained(folder)
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = write_text(tmp_path / "test.txt", [*grammar(30), ["kettle"]])
    path.write_text("\n" + path.read_text(encoding="utf-8"), encoding="utf-8")  # a blank line is passed over
    return path


def test_evaluate_gives_the_same_numbers_for_batch_sizes_1_7_and_256_and_score_sums_to_them_L33_L34(
    model: Path, text: Path
) -> None:
    results = []
    for size in (1, 7, 256):
        run = bilm("evaluate", model, text, "--batch-size", size, "--json")
        assert run.returncode == 0, run.stderr
        results.append(json.loads(run.stdout))
    for result in results[1:]:
        assert result == pytest.approx(results[0], abs=1e-4)
    scores = [json.loads(line) for line in bilm("score", model, text).stdout.splitlines()]
    assert [score["line"] for score in scores] == list(range(2, 33))
    n_steps = sum(len(score["words"]) + 1 for score in scores)
    for direction in ("forward", "backward"):
        total = math.fsum(value for score in scores for value in score[direction])
        assert math.exp(-total / n_steps) == pytest.approx(results[0][direction], rel=1e-6)


def test_evaluate_tells_perplexities_words_and_the_share_of_unknown_words(model: Path, text: Path) -> None:
    run = bilm("evaluate", model, text)
    assert run.returncode == 0
    for part in ("perplexity", "without unknown words", "forward", "backward", "31 sentences", "not in the vocabulary"):
        assert part in run.stderr


def test_evaluate_refuses_a_model_without_output_layer_L31(text: Path, tmp_path: Path) -> None:
    (tmp_path / "released").mkdir()
    save_official(toy_model(grammar(10)), tmp_path / "released")
    for command in ("evaluate", "score"):
        run = bilm(command, tmp_path / "released", text)
        assert run.returncode == 1
        assert "no output layer" in run.stderr and "Traceback" not in run.stderr


def test_a_vocabulary_of_another_size_than_the_weights_fails_at_load_L27(model: Path, text: Path) -> None:
    path = model / "vocab.txt"
    words = path.read_text(encoding="utf-8")
    path.write_text(words + "surplus\n", encoding="utf-8")
    try:
        run = bilm("evaluate", model, text)
    finally:
        path.write_text(words, encoding="utf-8")
    assert run.returncode == 1 and "vocab.txt asks for" in run.stderr


def test_train_makes_a_model_that_evaluate_reads(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(json.dumps(toy_values(tmp_path)), encoding="utf-8")
    run = bilm("train", path, "-o", "stop.words=600", "-o", "half_precision_output=true")
    assert run.returncode == 0, run.stderr
    assert "words/s" in run.stderr
    assert bilm("evaluate", tmp_path / "run/model", tmp_path / "valid.txt").returncode == 0
    again = bilm("train", path)
    assert again.returncode == 1 and "--resume" in again.stderr
    changed = bilm("train", path, "--resume", "-o", "optimizer.rate=0.002")
    assert changed.returncode == 1 and "optimizer.rate: 0.01 -> 0.002" in changed.stderr


def test_train_names_file_and_key_of_a_wrong_configuration(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(json.dumps(toy_values(tmp_path)), encoding="utf-8")
    run = bilm("train", path, "-o", "stopp.words=600")
    assert run.returncode == 1
    assert "run.yaml: stopp: unknown key; did you mean stop?" in run.stderr


def test_allow_changes_alone_is_wrong_usage(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(json.dumps(toy_values(tmp_path)), encoding="utf-8")
    run = bilm("train", path, "--allow-changes")
    assert run.returncode == 2 and "--resume" in run.stderr


def test_a_text_without_a_sentence_and_a_device_that_is_not_here_are_told(model: Path, tmp_path: Path) -> None:
    empty = write_text(tmp_path / "empty.txt", [[]])
    run = bilm("evaluate", model, empty)
    assert run.returncode == 1 and "no sentence to score" in run.stderr
    run = bilm("score", model, empty)
    assert (run.returncode, run.stdout) == (0, "") and "no sentence to score" in run.stderr
    run = bilm("evaluate", model, empty, "--device", "gpu")
    assert run.returncode == 1 and "device 'gpu' cannot be used here" in run.stderr


def test_a_line_of_fifty_thousand_words_is_scored(model: Path, tmp_path: Path) -> None:
    text = write_text(tmp_path / "long.txt", [["a", "goose"] * 25_000])
    run = bilm("evaluate", model, text, "--json")
    assert json.loads(run.stdout)["n_words"] == 50_000


@pytest.mark.parametrize("command", ["train", "evaluate", "score"])
def test_help_has_an_example_and_paragraphs_that_fill_the_screen(command: str) -> None:
    run = bilm(command, "--help")
    assert f"Example: bilm {command}" in run.stdout
    body = [line.strip() for line in run.stdout.split("╭")[0].splitlines()]
    broken = [
        (line, after)
        for line, after in pairwise(body)
        if line and after and len(line) + 1 + len(after.split()[0]) < 190
    ]
    assert not broken
