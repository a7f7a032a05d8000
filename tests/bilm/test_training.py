"""The training loop: what it learns, and that stopping, cutting and spreading it change nothing."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bilm.checkpoint import load_model
from bilm.errors import UserError
from bilm.evaluation import NoOutputLayerError, evaluate
from bilm.official import save_official
from bilm.text import TextError
from bilm.training import train
from bilm.training_checkpoint import CheckpointError, read_progress
from bilm.training_setup import TrainingError
from bilm.vocabulary import VocabularyError
from tests.bilm.toy_training import NETWORK, NOUNS, grammar, toy_config, toy_model, toy_values, write_text

Rows = list[dict[str, str]]


def metrics(folder: Path) -> Rows:
    with (folder / "run" / "metrics.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def losses(folder: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    columns = ("forward_sampled_loss", "backward_sampled_loss")
    return np.array([[float(row[column]) for column in columns] for row in metrics(folder) if row[columns[0]]])


def same_files(one: Path, other: Path, names: Sequence[str] = ("model/model.safetensors", "metrics.csv")) -> bool:
    return all((one / "run" / name).read_bytes() == (other / "run" / name).read_bytes() for name in names)


# ---- what it learns


def test_a_tiny_model_overfits_fifty_sentences_to_a_perplexity_under_two_in_both_directions(tmp_path: Path) -> None:
    sentences = grammar(50)
    write_text(tmp_path / "text.txt", sentences)
    config = toy_config(
        tmp_path,
        text={"valid": None, "words_per_step": 60},
        network={**NETWORK, "lstm": {"dim": 64, "projection_dim": 24, "n_layers": 1}},
        optimizer={"rate": 0.02, "schedule": "cosine"},
        n_sampled=1000,
        stop={"words": 20_000},
        report={"log_steps": 100},
    )
    result = evaluate(load_model(train(config)), sentences)
    print(f"\nperplexity on the fifty sentences: {result.forward:.3f} forward, {result.backward:.3f} backward")
    assert result.forward < 2 and result.backward < 2


def test_on_text_of_a_known_bigram_process_the_perplexity_comes_within_three_percent_of_its_entropy(
    tmp_path: Path,
) -> None:
    n_words = len(NOUNS)
    generator = np.random.default_rng(0)
    # Row: the word before (the last row: the start). Column: the word after (the last column: the end).
    chances = generator.dirichlet(np.full(n_words + 1, 0.4), size=n_words + 1)
    chances[:, -1] = 0.12
    chances[:-1, :-1] *= 0.88 / chances[:-1, :-1].sum(axis=1, keepdims=True)
    chances[-1, :-1] /= chances[-1, :-1].sum()
    chances[-1, -1] = 0  # no empty sentence

    def sentences(n: int) -> list[list[str]]:
        made = []
        for _ in range(n):
            sentence: list[str] = []
            word = n_words
            while (word := int(generator.choice(n_words + 1, p=chances[word]))) != n_words:
                sentence.append(NOUNS[word])
            made.append(sentence)
        return made

    # The entropy of the process itself: how often each word is before another, times how open the next word is.
    visits = np.linalg.solve(np.eye(n_words) - chances[:-1, :-1].T, chances[-1, :-1])  # expected count a sentence
    visits = np.append(visits, 1.0)
    openness = -(chances * np.log(np.where(chances > 0, chances, 1))).sum(axis=1)
    entropy = float(visits @ openness / visits.sum())

    write_text(tmp_path / "text.txt", sentences(6000))
    test = sentences(3000)
    config = toy_config(
        tmp_path,
        text={"valid": None},
        network={**NETWORK, "lstm": {"dim": 32, "projection_dim": 16, "n_layers": 1}},
        optimizer={"rate": 0.02, "schedule": "cosine"},
        n_sampled=1000,
        stop={"words": 40_000},
        report={"log_steps": 50},
    )
    result = evaluate(load_model(train(config)), test, batch_size=500)
    print(f"\nentropy {math.exp(entropy):.3f}; perplexity {result.forward:.3f} forward, {result.backward:.3f} backward")
    # Both directions share one entropy: they are two ways to write the probability of the same sentences.
    assert result.forward == pytest.approx(math.exp(entropy), rel=0.03)
    assert result.backward == pytest.approx(math.exp(entropy), rel=0.03)


def test_adagrad_and_dropout_and_streams_learn_too(tmp_path: Path) -> None:
    config = toy_config(
        tmp_path,
        text={"regime": "stream", "rows": 8},
        optimizer={"name": "adagrad", "rate": 0.2, "dropout": 0.1, "loss_scale": 20, "clip_norm": 10},
        stop={"words": 8000},
    )
    train(config)
    curve = losses(tmp_path).sum(axis=1)
    assert curve[-1] < 0.8 * curve[0]


# ---- stopping and going on


def test_twenty_kills_at_random_moments_change_no_byte_of_weights_or_metrics_L30(tmp_path: Path) -> None:
    sections: dict[str, Any] = {
        "stop": {"words": 9000},
        "optimizer": {"dropout": 0.1},
        "report": {"checkpoint_steps": 3, "valid_steps": 50},
    }
    folders = {}
    arguments = []
    for regime in ("sentences", "stream"):
        text = {"regime": regime, "words_per_step": 50, "rows": 6, "unroll_steps": 10}
        for n_kills in (0, 10):
            folder = folders[regime, n_kills] = tmp_path / regime / str(n_kills)
            write_text(folder / "text.txt", grammar(300))
            write_text(folder / "valid.txt", grammar(40, seed=1))
            (folder / "config.json").write_text(json.dumps(toy_values(folder, text=text, **sections)), encoding="utf-8")
            arguments += [str(folder / "config.json"), str(n_kills)]
    command = [sys.executable, "-m", "tests.bilm.killing", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    for regime in ("sentences", "stream"):
        assert same_files(folders[regime, 0], folders[regime, 10])
        assert read_progress(folders[regime, 10] / "run/checkpoint.safetensors")["progress"]["words"] >= 9000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(json.dumps(toy_values(tmp_path, stop={"words": 10**9})), encoding="utf-8")
    command = [sys.executable, "-m", "bilm", "train", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run/metrics.csv").exists() or len(metrics(tmp_path)) < 2:
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "--resume" in errors and "Traceback" not in errors
    progress = read_progress(tmp_path / "run/checkpoint.safetensors")["progress"]
    assert progress["step"] >= 10
    # It goes on from there, and the new end is kept.
    train(toy_config(tmp_path, stop={"words": progress["words"] + 500}), resume=True)
    steps = [int(row["step"]) for row in metrics(tmp_path)]
    assert steps == sorted(steps) and steps[-1] > progress["step"]


def test_a_resumed_run_may_stop_later_but_its_steps_may_not_change(tmp_path: Path) -> None:
    train(toy_config(tmp_path, stop={"words": 500}))
    with pytest.raises(TrainingError, match=r"optimizer.rate: 0.01 -> 0.02; seed: 3 -> 4"):
        train(toy_config(tmp_path, stop={"words": 1000}, optimizer={"rate": 0.02}, seed=4), resume=True)
    train(toy_config(tmp_path, stop={"words": 1000}), resume=True)
    train(toy_config(tmp_path / "at once", stop={"words": 1000}))
    assert same_files(tmp_path, tmp_path / "at once", ["model/model.safetensors"])


def test_the_rate_falls_to_zero_over_the_last_words_and_the_fall_may_be_decided_late(tmp_path: Path) -> None:
    train(toy_config(tmp_path, stop={"words": 1500}))
    ending = {"optimizer": {"decay_words": 1000}, "stop": {"words": 2500}}
    train(toy_config(tmp_path, **ending), resume=True)
    train(toy_config(tmp_path / "at once", **ending))
    assert same_files(tmp_path, tmp_path / "at once", ["model/model.safetensors"])
    rates = [float(row["rate"]) for row in metrics(tmp_path / "at once")]
    assert max(rates) == 0.01 and rates[-1] == 0


def test_the_last_row_has_the_validation_of_the_end_even_where_the_end_falls_on_a_log_step(tmp_path: Path) -> None:
    train(toy_config(tmp_path, report={"log_steps": 1, "valid_steps": 1000}))
    assert metrics(tmp_path)[-1]["valid_forward_perplexity"]


def test_a_vocabulary_without_the_special_words_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("the\n<S>\n</S>\n", encoding="utf-8")
    with pytest.raises(VocabularyError, match=r"words\.txt: the vocabulary lacks <UNK>"):
        train(toy_config(tmp_path, vocabulary={"file": str(path)}))


def test_a_finished_run_that_is_resumed_stays_as_it_is(tmp_path: Path) -> None:
    train(toy_config(tmp_path))
    before = [(tmp_path / "run" / name).read_bytes() for name in ("model/model.safetensors", "metrics.csv")]
    train(toy_config(tmp_path), resume=True)
    assert before == [(tmp_path / "run" / name).read_bytes() for name in ("model/model.safetensors", "metrics.csv")]


def test_a_new_run_never_writes_over_another(tmp_path: Path) -> None:
    train(toy_config(tmp_path, stop={"words": 200}))
    with pytest.raises(TrainingError, match="holds a training run already"):
        train(toy_config(tmp_path))


def test_there_must_be_a_checkpoint_to_resume(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint to go on from"):
        train(toy_config(tmp_path), resume=True)


@pytest.mark.parametrize(("regime", "n_steps"), [("sentences", 3), ("stream", 6)])
def test_training_ends_after_its_epochs_on_a_text_smaller_than_one_batch_L29(
    tmp_path: Path, regime: str, n_steps: int
) -> None:
    # 75 steps of text fill 3 rows and a part of a fourth, whose last sentence needs a second step of the optimizer.
    write_text(tmp_path / "text.txt", [["fifty", "words"]] * 25)
    text = {"regime": regime, "words_per_step": 100_000, "rows": 128, "valid": None}
    train(toy_config(tmp_path, text=text, stop={"words": None, "epochs": 3}))
    progress = read_progress(tmp_path / "run/checkpoint.safetensors")["progress"]
    assert progress["words"] == 150 and progress["step"] == n_steps


# ---- one step in parts, and in many processes


@pytest.mark.parametrize("regime", ["sentences", "stream"])
def test_accumulation_changes_no_loss(tmp_path: Path, regime: str) -> None:
    for n_parts in (1, 3):
        text = {"regime": regime, "rows": 6, "unroll_steps": 7}
        train(
            toy_config(tmp_path / str(n_parts), text=text, optimizer={"accumulate": n_parts}, report={"log_steps": 1})
        )
    np.testing.assert_allclose(losses(tmp_path / "1"), losses(tmp_path / "3"), atol=1e-5)


@pytest.mark.parametrize("regime", ["sentences", "stream"])
def test_two_processes_have_the_losses_of_one_over_fifty_steps(tmp_path: Path, regime: str) -> None:
    text = {"regime": regime, "rows": 6, "unroll_steps": 15, "words_per_step": 90}
    sections: dict[str, Any] = {
        "text": text,
        "stop": {"words": 4500},
        "report": {"log_steps": 1, "checkpoint_steps": 20},
    }
    train(toy_config(tmp_path / "one", **sections))
    path = tmp_path / "two.yaml"
    path.write_text(json.dumps(toy_values(tmp_path / "two", **sections)), encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "-m", "bilm", "train", str(path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) >= 50
    print(f"\nlargest difference of the losses over {len(one)} steps: {np.abs(one - two).max():.2e}")
    np.testing.assert_allclose(one[:50], two[:50], atol=1e-5)


def test_rows_of_streams_must_divide_into_the_parts(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="6 rows do not divide into 4 equal parts"):
        train(toy_config(tmp_path, text={"regime": "stream", "rows": 6}, optimizer={"accumulate": 4}))


# ---- fine-tuning


def test_fine_tuning_a_native_model_keeps_its_vocabulary_and_starts_from_its_weights(tmp_path: Path) -> None:
    first = train(toy_config(tmp_path))
    other = tmp_path / "other"
    write_text(other / "text.txt", [["the", "otter", "finds", "a", "platypus"]] * 60)
    write_text(other / "valid.txt", [["the", "otter", "finds", "a", "platypus"]])
    before = evaluate(load_model(first), [["the", "otter", "finds", "a", "lamp"]])
    tuned = train(toy_config(other, network=None, start=str(first), stop={"words": 1500}))
    model = load_model(tuned)
    assert model.vocabulary is not None and "platypus" not in model.vocabulary.words
    after = evaluate(model, [["the", "otter", "finds", "a", "platypus"]])
    assert after.mean < 0.7 * before.mean
    start = float(losses(other)[0].sum())
    scratch = float(losses(tmp_path)[0].sum())
    assert start < scratch


def test_fine_tuning_a_released_model_makes_an_output_layer_and_has_no_perplexity_before_L31(tmp_path: Path) -> None:
    released = tmp_path / "released"
    released.mkdir()
    save_official(toy_model(grammar(10)), released)
    with pytest.raises(NoOutputLayerError):
        evaluate(load_model(released), grammar(5))
    tuned = train(toy_config(tmp_path, network=None, start=str(released)))
    result = evaluate(load_model(tuned), grammar(40, seed=1))
    untrained = evaluate(toy_model(grammar(300)), grammar(40, seed=1))
    assert result.mean < 0.7 * untrained.mean


def test_going_on_from_a_half_precision_model_starts_at_the_perplexity_that_evaluate_prints(tmp_path: Path) -> None:
    first = train(toy_config(tmp_path, half_precision_output=True))
    for folder in (tmp_path / "on", tmp_path / "never better"):
        write_text(folder / "text.txt", grammar(300))
        write_text(folder / "valid.txt", grammar(60, seed=2))
    ended = train(toy_config(tmp_path / "on", network=None, start=str(first)))
    before, after = (evaluate(load_model(model), grammar(60, seed=2)) for model in (first, ended))
    rows = metrics(tmp_path / "on")
    assert (rows[0]["step"], rows[0]["words"], rows[0]["forward_sampled_loss"]) == ("0", "0", "")
    assert float(rows[0]["valid_forward_perplexity"]) == pytest.approx(before.forward, rel=1e-6)
    assert float(rows[0]["valid_backward_perplexity"]) == pytest.approx(before.backward, rel=1e-6)
    assert after.mean < before.mean
    old, new = load_model(first), load_model(ended)
    assert old.vocabulary is not None and new.vocabulary is not None and old.vocabulary.words == new.vocabulary.words
    # The best model is never worse than the one that training started from.
    bad = toy_config(
        tmp_path / "never better", network=None, start=str(first), optimizer={"rate": 1.0, "warmup_steps": 0}
    )
    train(bad)
    assert load_model(tmp_path / "never better/run/best").fingerprint() == old.fingerprint()


# ---- bad input


def test_a_run_writes_over_nothing_that_is_not_a_runs(tmp_path: Path) -> None:
    for name in ("config.yaml", "metrics.csv", "vocab.txt"):
        folder = tmp_path / name
        write_text(folder / "run" / name, [["mine"]])
        with pytest.raises(TrainingError, match=rf"{name}: is not from a training run and would be lost"):
            train(toy_config(folder))
        assert (folder / "run" / name).read_text(encoding="utf-8") == "mine\n"
    (tmp_path / "file").touch()
    with pytest.raises(TrainingError, match="is a file; out is the folder"):
        train(toy_config(tmp_path, out=str(tmp_path / "file")))


def test_a_run_that_was_killed_before_its_first_checkpoint_starts_again_in_its_folder(tmp_path: Path) -> None:
    train(toy_config(tmp_path))
    train(toy_config(tmp_path / "other"))
    (tmp_path / "run/checkpoint.safetensors").unlink()
    train(toy_config(tmp_path))
    assert same_files(tmp_path, tmp_path / "other")


@pytest.mark.parametrize(
    ("sections", "key"),
    [
        (
            {"network": {**NETWORK, "lstm": {"dim": 32, "projection_dim": 8, "n_layers": 2}}},
            "network.lstm.cell_clip: 3.0 -> None",
        ),
        ({"optimizer": {"name": "adagrad"}}, "optimizer.name: 'adamw' -> 'adagrad'"),
        ({"text": {"regime": "stream"}}, "text.regime: 'sentences' -> 'stream'"),
    ],
)
def test_what_does_not_fit_the_checkpoint_cannot_be_changed_at_all(
    tmp_path: Path, sections: dict[str, Any], key: str
) -> None:
    train(toy_config(tmp_path, stop={"words": 300}))
    with pytest.raises(TrainingError, match=f"does not fit this one: {key}"):
        train(toy_config(tmp_path, **sections), resume=True, allow_changes=True)


def test_text_without_a_sentence_is_named(tmp_path: Path) -> None:
    paths = [write_text(tmp_path / "a.txt", []), write_text(tmp_path / "b.txt", [[], []])]
    stops: list[dict[str, int | None]] = [{"words": 100}, {"words": None, "epochs": 2}]
    for stop in stops:
        with pytest.raises(TextError, match=r"no sentence in .*a\.txt, .*b\.txt"):
            train(toy_config(tmp_path, text={"train": [str(path) for path in paths]}, stop=stop))


def test_tensorboard_is_missed_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilm.reports.find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install tensorboard"):
        train(toy_config(tmp_path, report={"tensorboard": True}))
    assert not (tmp_path / "run").exists()


def test_a_run_that_may_last_so_many_minutes_ends_and_says_so_by_its_checkpoint(tmp_path: Path) -> None:
    train(toy_config(tmp_path, stop={"words": None, "minutes": 0.01}))
    minutes = read_progress(tmp_path / "run/checkpoint.safetensors")["progress"]["minutes"]
    assert 0.01 <= minutes < 1


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_checkpoint_L41(tmp_path: Path) -> None:
    train(toy_config(tmp_path, stop={"words": 500}))
    checkpoint = tmp_path / "run/checkpoint.safetensors"
    before = checkpoint.read_bytes()
    much = {"rate": 1e30, "warmup_steps": 0}
    bad = toy_config(tmp_path, optimizer=much, report={"checkpoint_steps": 1})
    with pytest.raises(TrainingError, match=r"not finite at step \d.*last good .* is kept.*lower optimizer.rate"):
        train(bad, resume=True, allow_changes=True)
    # Not even the step that led there was saved: its weights are finite, but no loss can be computed with them.
    assert checkpoint.read_bytes() == before
    train(toy_config(tmp_path, stop={"words": 1000}), resume=True)
    train(toy_config(tmp_path / "at once", stop={"words": 1000}))
    assert same_files(tmp_path, tmp_path / "at once", ["model/model.safetensors"])
    with pytest.raises(TrainingError, match=r"not finite at step 2 .*no checkpoint yet"):
        train(toy_config(tmp_path / "other", optimizer=much))


def test_no_file_for_the_pattern_is_named(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"no file matches .*nowhere"):
        train(toy_config(tmp_path, text={"train": f"{tmp_path}/nowhere-*.gz"}))


def test_best_and_last_model_are_kept_and_losses_are_never_called_perplexity(tmp_path: Path) -> None:
    train(toy_config(tmp_path))
    best = min(
        (math.sqrt(float(row["valid_forward_perplexity"]) * float(row["valid_backward_perplexity"])))
        for row in metrics(tmp_path)
        if row["valid_forward_perplexity"]
    )
    valid = grammar(40, seed=1)
    assert evaluate(load_model(tmp_path / "run/best"), valid).mean == pytest.approx(best, rel=1e-4)
    last = metrics(tmp_path)[-1]
    final = evaluate(load_model(tmp_path / "run/model"), valid)
    assert final.forward == pytest.approx(float(last["valid_forward_perplexity"]), rel=1e-4)
    assert [column for column in last if "loss" in column] == ["forward_sampled_loss", "backward_sampled_loss"]
