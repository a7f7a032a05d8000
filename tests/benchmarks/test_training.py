"""Training a model of small-en's size: speed against a plain loop, share of the machine's peak, peak memory.

    OMP_NUM_THREADS=2 pytest -m benchmark -s tests/benchmarks/test_training.py

Two threads of arithmetic, on two cores with nothing else to do: the ratio and the share mean nothing on a busy machine.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bilm.batches import Batch, Row, pack
from bilm.characters import PADDING
from bilm.config import BiLMConfig
from bilm.model import BiLM
from bilm.training import Trainer, train
from bilm.training_config import TrainingConfig, read_training_config

pytestmark = pytest.mark.benchmark

SMALL_EN = Path(__file__).parents[2] / "experiments" / "bilm" / "small-en.yaml"
N_STEPS = 20
"""Steps of 1,000 words that our way is timed on; the plain loop takes half as many, on the same words."""


def write_text(path: Path, n_bytes: int) -> None:
    """Write sentences of 4 to 40 words whose frequencies fall as those of English do (Zipf), with odd spellings."""
    generator = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = ["".join(generator.choice(letters, size=generator.integers(1, 12))) + str(n) for n in range(60_000)]
    chances = 1 / (np.arange(len(words)) + 2.7)
    with path.open("w", encoding="utf-8") as file:
        written = 0
        while written < n_bytes:
            drawn = iter(generator.choice(words, size=200_000, p=chances / chances.sum()).tolist())
            for length in generator.integers(4, 41, size=8000).tolist():
                line = " ".join(word for word, _ in zip(drawn, range(length), strict=False)) + "\n"
                written += file.write(line)


def small_en(folder: Path, *, n_words: int = 3000, valid: str = "null") -> TrainingConfig:
    """Return small-en's configuration on a text of our own."""
    values = [
        f"out={folder / 'run'}",
        f"text.train={folder / 'text.txt'}",
        f"text.valid={valid}",
        f"stop.words={n_words}",
        "optimizer.decay_words=0",
    ]
    return read_training_config(SMALL_EN, values)


class PlainBiLM(nn.Module):
    """The same network as a first implementation would have it: nn.LSTM, padding, full softmax."""

    def __init__(self, model: BiLM) -> None:
        super().__init__()
        lstm = model.config.lstm
        self.encoder, self.output = model.token_encoder, model.output
        self.directions = nn.ModuleList(
            nn.LSTM(lstm.projection_dim, lstm.dim, num_layers=lstm.n_layers, proj_size=lstm.projection_dim)
            for _ in range(2)
        )

    def loss(self, batch: Batch) -> Tensor:
        """Return the exact loss of both directions."""
        assert self.output is not None
        words = self.encoder(batch.character_ids)
        sizes = torch.tensor(batch.batch_sizes)
        losses = []
        for direction, inputs, targets in zip(self.directions, batch.inputs, batch.targets, strict=True):
            packed, _ = direction(nn.utils.rnn.PackedSequence(words[inputs], sizes))
            logits = packed.data @ self.output.weight.t() + self.output.bias
            losses.append(nn.functional.cross_entropy(logits, targets))
        return torch.stack(losses).mean()


def test_words_a_second_against_a_plain_loop_and_the_machines_peak(tmp_path: Path) -> None:
    n_threads = torch.get_num_threads()
    if n_threads != 2:
        pytest.skip(f"measured on two threads, not on {n_threads}: set OMP_NUM_THREADS=2")
    write_text(tmp_path / "text.txt", 1_000_000)
    config = small_en(tmp_path)
    trainer = Trainer(config)
    model, vocabulary = trainer.model, trainer.model.vocabulary
    assert vocabulary is not None and len(vocabulary) >= config.vocabulary.size  # the softmax has small-en's size
    # Reading and shuffling the text is done before the clock starts: it is the same either way.
    steps = list(islice(trainer.batches, N_STEPS + 1))

    def step(rows: Sequence[Row]) -> None:
        trainer.step.gradients(rows, 0)
        trainer.step.update(1e-3)

    torch.set_num_threads(trainer.step.n_threads)
    fast = words_a_second(step, steps)
    torch.set_num_threads(n_threads)

    plain = PlainBiLM(model)
    optimizer = torch.optim.AdamW(plain.parameters())

    def plain_step(rows: Sequence[Row]) -> None:
        optimizer.zero_grad()
        plain.loss(pack(rows, vocabulary, model.max_characters)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    slow = 0.0
    for threads in (1, n_threads):  # whichever suits it: two threads that wait for a busy core are slower than one
        torch.set_num_threads(threads)
        slow = max(slow, words_a_second(plain_step, steps[: N_STEPS // 2 + 1]))

    batches = [pack(rows, vocabulary, model.max_characters) for rows in steps[1:]]
    peak = matrix_product_peak()
    share = fast * multiplications_per_word(model.config, config, batches) * 2 / peak
    print(f"\ntraining step: {fast:,.0f} words/s; plain nn.LSTM loop with full softmax: {slow:,.0f}")
    print(f"ratio {fast / slow:.2f}; matrix products at {share:.0%} of the peak of {peak / 1e9:.0f} GFLOP/s")
    assert fast > 2 * slow


def words_a_second(step: Callable[[Sequence[Row]], None], steps: Sequence[Sequence[Row]]) -> float:
    """Return the speed of steps, from all but the first: that one allocates what the others find allocated."""
    first, *others = steps
    step(first)
    started = time.perf_counter()
    for rows in others:
        step(rows)
    seconds = time.perf_counter() - started
    return sum(len(piece.sentence) for rows in others for row in rows for piece in row) / seconds


def multiplications_per_word(network: BiLMConfig, config: TrainingConfig, batches: Sequence[Batch]) -> float:
    """Return the multiplications of the matrix products of forward and backward pass, for each word of the batches."""
    lstm, cnn = network.lstm, network.char_cnn
    step = lstm.n_layers * (8 * lstm.dim * lstm.projection_dim + lstm.dim * lstm.projection_dim)
    step += config.n_sampled * lstm.projection_dim
    total = 0.0
    for batch in batches:
        used = float((batch.character_ids != PADDING).sum(dim=1).double().mean()) + max(w for w, _ in cnn.filters)
        word = sum(used * width * cnn.embedding.dim * count for width, count in cnn.filters)
        word += 2 * cnn.n_highway * cnn.n_filters**2 + cnn.n_filters * lstm.projection_dim
        total += 3 * (2 * step * batch.n_steps + word * len(batch.character_ids))
    return total / sum(batch.n_words for batch in batches)


def matrix_product_peak() -> float:
    """Return the floating-point operations a second of the best of some large matrix products."""
    a, b = torch.randn(2, 1024, 1024)
    best = 0.0
    for _ in range(20):
        started = time.perf_counter()
        torch.mm(a, b)
        best = max(best, 2 * 1024**3 / (time.perf_counter() - started))
    return best


def test_peak_memory_of_training_small_en_stays_under_3_gb(tmp_path: Path) -> None:
    write_text(tmp_path / "text.txt", 12_000_000)  # more than the window of a million words that is held in memory
    peak = peak_memory("small-en", tmp_path)
    print(f"\ntraining small-en: peak memory {peak / 2**30:.2f} GiB")
    assert peak < 3e9


def test_peak_memory_of_a_text_of_1_gb_stays_under_one_and_a_half(tmp_path: Path) -> None:
    write_text(tmp_path / "text.txt", 1_000_000_000)
    peak = peak_memory("tiny", tmp_path)
    print(f"\na text of 1 GB: peak memory {peak / 2**30:.2f} GiB")
    assert peak < 1.5e9


def peak_memory(size: str, folder: Path) -> float:
    """Train in a process of its own and return its peak memory in bytes."""
    code = f"from tests.benchmarks.test_training import train_apart; train_apart({size!r}, {str(folder)!r})"
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return float(run.stdout.split()[-1])


def train_apart(size: str, folder: str) -> None:
    """Count the vocabulary, train a few steps, validate, print the peak memory of this process."""
    write_text(Path(folder) / "valid.txt", 30_000)
    config = small_en(Path(folder), valid=str(Path(folder) / "valid.txt"))
    if size == "tiny":
        lstm = {"dim": 32, "projection_dim": 8, "n_layers": 1}
        network = {**config.model_dump()["network"], "lstm": lstm}
        config = TrainingConfig.model_validate({**config.model_dump(), "network": network})
    train(config)
    # Not getrusage: its peak begins with the memory of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    print(next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")))
