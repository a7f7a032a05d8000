"""The linear probe against scikit-learn, penalty by penalty, to the same objective."""

import os
import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from probing.probes.linear import PENALTIES
from probing.probes.softmax_regression import solve

pytestmark = pytest.mark.benchmark

N_TOKENS = int(os.environ.get("BENCHMARK_TOKENS", "204577"))
"""EWT train's by default; scikit-learn then takes some minutes."""
DIM, N_CLASSES = 256, 17


def test_ratio_to_scikit_learn_run_penalty_by_penalty() -> None:
    """Both reach each objective within 1e-4 of the better one; the time is for five penalties on one view."""
    X, y = like_a_layer()
    started = time.perf_counter()
    ours = [solution.objective for solution in solve(X, [y], PENALTIES, tolerance=3e-5)[0]]
    our_seconds = time.perf_counter() - started

    started = time.perf_counter()
    scaled = StandardScaler().fit_transform(X)
    theirs, iterations = [], []
    for penalty in PENALTIES:
        # A looser tol stops short of 1e-4 on the small penalties.
        model = LogisticRegression(C=1 / (len(y) * penalty), tol=1e-4, max_iter=2000).fit(scaled, y)
        log_probabilities = model.predict_log_proba(scaled)
        loss = -log_probabilities[np.arange(len(y)), y].mean(dtype=np.float64)
        theirs.append(float(loss + penalty / 2 * np.square(model.coef_, dtype=np.float64).sum()))
        iterations.append(int(model.n_iter_[0]))
    their_seconds = time.perf_counter() - started

    print(f"\n{len(y):,} tokens, {DIM} dimensions, {N_CLASSES} classes, penalties {PENALTIES}")
    print(f"objectives: ours {np.round(ours, 6)}, scikit-learn {np.round(theirs, 6)} ({iterations} iterations)")
    print(f"ours {our_seconds:.0f} s, scikit-learn {their_seconds:.0f} s: ratio {their_seconds / our_seconds:.1f}")
    best = np.minimum(ours, theirs)
    assert np.all(np.array(ours) <= best * (1 + 1e-4))
    assert their_seconds > our_seconds


def like_a_layer() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return features like an untrained layer's, shape (N_TOKENS, DIM), and labels that word and neighbours decide."""
    rng = np.random.default_rng(0)
    n_types = 19_674  # of EWT train
    frequency = 1 / np.arange(1, n_types + 1)
    words = rng.choice(n_types, size=N_TOKENS, p=frequency / frequency.sum())
    embedding = (rng.normal(size=(n_types, DIM)) * np.logspace(0, -1.5, DIM)) @ rng.normal(size=(DIM, DIM)) / 4
    vectors = embedding[words]
    neighbours = np.roll(vectors, 1, axis=0) @ rng.normal(size=(DIM, DIM)) / 40
    X = np.tanh(vectors + neighbours).astype(np.float32)
    usual = rng.integers(N_CLASSES, size=n_types)
    other = rng.integers(N_CLASSES, size=n_types)
    y = np.where(neighbours[:, 0] > 0.5, other[words], usual[words])
    return X, np.where(rng.random(N_TOKENS) < 0.05, rng.integers(N_CLASSES, size=N_TOKENS), y)
