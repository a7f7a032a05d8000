"""Training a model of small-en's size: speed against a plain loop, share of the machine's peak, peak memory."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bilm.batches import Batch, SentenceBatches, ShuffledText, pack
from bilm.config import BiLMConfig
from bilm.model import BiLM
from bilm.training import Trainer
from bilm.training_config import TrainingConfig, read_training_config
from bilm.vocabulary import Vocabulary

pytestmark = pytest.mark.benchmark

SMALL_EN = Path(__file__).parents[2] / "experiments" / "bilm" / "small-en.yaml"
N_WORDS = 12_000
"""Words that each way is timed on."""


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


def small_en(folder: Path, *, n_words: int = N_WORDS) -> TrainingConfig:
    """Return small-en's configuration on a text of our own."""
    values = [
        f"out={folder / 'run'}",
        f"text.train={folder / 'text.txt'}",
        "text.valid=null",
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
    write_text(tmp_path / "text.txt", 1_000_000)
    config = small_en(tmp_path)
    trainer = Trainer(config)
    trainer.run(lambda: False)
    fast = trainer.progress.words / (60 * trainer.progress.minutes)

    plain = PlainBiLM(trainer.model)
    optimizer = torch.optim.AdamW(plain.parameters())
    vocabulary = Vocabulary.read(config.out / "vocab.txt")
    batches = iter(SentenceBatches(ShuffledText([tmp_path / "text.txt"], seed=0), config.text.words_per_step))
    n_words, started = 0, time.perf_counter()
    while n_words < N_WORDS / 4:
        batch = pack(next(batches), vocabulary, trainer.model.max_characters)
        optimizer.zero_grad()
        plain.loss(batch).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        n_words += batch.n_words
    slow = n_words / (time.perf_counter() - started)

    peak = matrix_product_peak()
    share = fast * multiplications_per_word(trainer.model.config, config, batch) * 2 / peak
    print(f"\ntraining step: {fast:,.0f} words/s; plain nn.LSTM loop with full softmax: {slow:,.0f}")
    print(f"ratio {fast / slow:.2f}; matrix products at {share:.0%} of the peak of {peak / 1e9:.0f} GFLOP/s")
    assert fast > 2 * slow


def multiplications_per_word(network: BiLMConfig, config: TrainingConfig, batch: Batch) -> float:
    """Return the multiplications of the matrix products of forward and backward pass, a word of the batch."""
    lstm, cnn = network.lstm, network.char_cnn
    step = lstm.n_layers * (8 * lstm.dim * lstm.projection_dim + lstm.dim * lstm.projection_dim)
    step += config.n_sampled * lstm.projection_dim
    used = float((batch.character_ids != 261).sum(dim=1).double().mean()) + max(width for width, _ in cnn.filters)
    word = sum(used * width * cnn.embedding.dim * count for width, count in cnn.filters)
    word += 2 * cnn.n_highway * cnn.n_filters**2 + cnn.n_filters * lstm.projection_dim
    return 3 * (2 * step * batch.n_steps + word * len(batch.character_ids)) / batch.n_words


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
    write_text(tmp_path / "text.txt", 8_000_000)  # more than the window that is held in memory
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
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout.split()[-1])


def train_apart(size: str, folder: str) -> None:
    """Count the vocabulary, train a few steps, print the peak memory of this process."""
    import resource

    from bilm.training import train

    config = small_en(Path(folder), n_words=3000)
    if size == "tiny":
        lstm = {"dim": 32, "projection_dim": 8, "n_layers": 1}
        network = {**config.model_dump()["network"], "lstm": lstm}
        config = TrainingConfig.model_validate({**config.model_dump(), "network": network})
    train(config)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
