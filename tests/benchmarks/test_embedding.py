"""Embedding a corpus: words per second against one sentence at a time, and peak memory."""

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bilm import ARCHITECTURES, BiLM, Embedder, batch_to_ids
from probing.corpora import load_split

pytestmark = [pytest.mark.benchmark, pytest.mark.real_data]

SAMPLE = 500
"""Sentences that the slow way is timed on."""


def test_peak_memory_and_speed_of_embedding_ewt_train(data_dir: Path) -> None:
    """The 204,577 words of EWT train through the shape of ELMo-small stay under 3 GB."""
    code = "from tests.benchmarks.test_embedding import embed_ewt; embed_ewt()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=3600)
    n_words, seconds, peak = (float(number) for number in run.stdout.split())
    print(f"\nEWT train, ELMo-small shape: {n_words:,.0f} words in {seconds:.0f} s = {n_words / seconds:,.0f} words/s")
    print(f"peak memory {peak / 2**30:.2f} GiB")
    assert n_words == 204_577
    assert peak < 3e9


def test_ratio_to_one_sentence_at_a_time(data_dir: Path) -> None:
    """Buckets and one encoding of each word form against the loop that other tools run."""
    sentences = [sentence.tokens for sentence in load_split("ud-english-ewt", "dev")][:SAMPLE]
    model = BiLM(ARCHITECTURES["elmo-small"]).eval()
    started = time.perf_counter()
    for _ in Embedder(model).embed(sentences):
        pass
    fast = time.perf_counter() - started
    started = time.perf_counter()
    for sentence in sentences:
        model(batch_to_ids([sentence]))
    slow = time.perf_counter() - started
    print(f"\n{SAMPLE} sentences: embedder {fast:.1f} s, one at a time {slow:.1f} s: ratio {slow / fast:.1f}")
    assert fast < slow


def embed_ewt() -> None:
    """Embed EWT train in a process of its own, for its peak memory; print words, seconds, bytes."""
    sentences = [sentence.tokens for sentence in load_split("ud-english-ewt", "train")]
    embedder = Embedder(BiLM(ARCHITECTURES["elmo-small"]))
    started = time.perf_counter()
    n_words = sum(layers.shape[1] for layers in embedder.embed(sentences))
    seconds = time.perf_counter() - started
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    print(n_words, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
