"""Multinomial logistic regression: many problems over one feature matrix, solved together.

Every pass over the features serves all (target, penalty) problems that have not converged: one product
`X @ [W1 W2 ...]`, a softmax per problem, one product `X.T @ [R1 R2 ...]`. What is left is to need few passes:

- **Preconditioner.** One class's block of the Hessian is a covariance of the features, weighted by how undecided each
  example is about that class. The blocks are estimated from a few thousand rows a class, drawn in proportion to that
  weight, and shared by all penalties of a target. Off-diagonal blocks are left to L-BFGS, whose initial inverse
  Hessian this is.
- **Lock-step L-BFGS.** Each problem has its own memory, step and stopping; a pass evaluates one trial point of each.
  A rejected trial still tells curvature, so it enters the memory too and the next direction is better for it.
- **Warm-up.** The first steps are far from the optimum and are taken on every eighth chunk of rows.

Labels, hyper-parameters and the choice of a penalty live in `linear`; this module knows integers and arrays.
"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

logger = logging.getLogger(__name__)

_CHUNK_BYTES = 2**21  # of standardised rows: what stays in a core's cache between the two products
_CURVATURE_CHUNKS = 4  # so many of them at a time where the Hessian's blocks are summed
_WARM_UP_EVERY, _WARM_UP_STEPS = 8, 6
_REFRESH_AT = (0, 3, 7, 12, 18, 25, 35, 50, 75, 100, 150)  # iterations before which the preconditioner is rebuilt
_MEMORY = 20  # L-BFGS pairs a problem keeps
_WIDEST = (
    1024  # features from which on all classes share one block: the eigenvectors of each would cost more than passes
)


@dataclass(frozen=True, slots=True)
class Solution:
    """The optimum of one problem, in the units of the features as given (not standardised).

    Attributes
    ----------
    weights : float64 array, shape (n_features, n_classes)
    bias : float64 array, shape (n_classes,)
    objective : float
        Mean cross-entropy in nats plus the penalty term, at these weights.
    cross_entropy : float
        The first of the two.
    gap : float
        Estimated distance of `objective` from its minimum, as a fraction of `objective`: half the squared norm of the
        gradient in the metric of the inverse Hessian estimate. What `tolerance` bounds.
    gradient_norm : float
        Euclidean norm of the gradient in the standardised units.
    iterations : int
        Trial points evaluated on all rows.
    passes : float
        Passes over all rows that had been made, for all problems together, when this one stopped.
    converged : bool
    """

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    objective: float
    cross_entropy: float
    gap: float
    gradient_norm: float
    iterations: int
    passes: float
    converged: bool


@dataclass(slots=True)
class _Curvature:
    """The class blocks of the Hessian without penalty, of all problems of one target: `[[C + a m m', a m], [a m', a]]`.

    With the bias eliminated the rest is diagonal in the eigenbasis of `C`, for every penalty.
    """

    basis: Tensor  # [n_classes or 1, d, d], eigenvectors of C in columns
    values: Tensor  # [n_classes or 1, d]
    mean: Tensor  # [n_classes or 1, d], the m
    mass: Tensor  # [n_classes or 1], the a


@dataclass(slots=True)
class _Problem:
    """One (target, penalty): where it is and what it remembers. Points are float64 [n_classes, d + 1], bias last."""

    target: int
    penalty: float
    point: Tensor
    objective: float = np.inf
    gradient: Tensor = field(default_factory=lambda: torch.empty(0))
    direction: Tensor = field(default_factory=lambda: torch.empty(0))
    slope: float = 0.0  # of the objective along the direction
    step: float = 1.0
    pairs: deque[tuple[Tensor, Tensor, float]] = field(default_factory=lambda: deque(maxlen=_MEMORY))
    curvature: _Curvature | None = None
    scale: Tensor = field(default_factory=lambda: torch.empty(0))  # [n_classes], own mass over the shared mass
    iterations: int = 0
    passes: float = 0.0

    @property
    def gap(self) -> float:
        return -self.slope / 2 / self.objective

    def precondition(self, gradient: Tensor) -> Tensor:
        """Return the inverse of the class blocks (and of the penalty) times `gradient`."""
        blocks = self.curvature
        assert blocks is not None
        wanted = gradient.to(blocks.basis.dtype)
        weights = wanted[:, :-1] - blocks.mean * wanted[:, -1:]
        weights = torch.einsum("kij,ki->kj", blocks.basis, weights)
        weights /= blocks.values * self.scale[:, None] + self.penalty
        weights = torch.einsum("kij,kj->ki", blocks.basis, weights)
        bias = wanted[:, -1] / (blocks.mass * self.scale) - (blocks.mean * weights).sum(1)
        return _centred(torch.cat([weights, bias[:, None]], 1).to(gradient.dtype))

    def aim(self) -> None:
        """Set `direction` and `slope` at the current point: the two-loop recursion of L-BFGS."""
        ascent = self.gradient.clone()
        along = []
        for step, change, weight in reversed(self.pairs):
            along.append(weight * float((step * ascent).sum()))
            ascent -= along[-1] * change
        ascent = self.precondition(ascent)
        for (step, change, weight), a in zip(self.pairs, reversed(along), strict=True):
            ascent += (a - weight * float((change * ascent).sum())) * step
        self.direction = -ascent
        self.slope = float((self.gradient * self.direction).sum())

    def judge(self, trial: Tensor, objective: float, gradient: Tensor) -> None:
        """Move to `trial` if it is low enough, else shorten the step; learn from it either way."""
        step, change = trial - self.point, gradient - self.gradient
        curvature = float((step * change).sum())
        if curvature > 0:
            self.pairs.append((step, change, 1 / curvature))
        # The objective is convex: where it still falls along the direction, the trial is lower, whatever rounding
        # says of the two objectives.
        falling = float((gradient * self.direction).sum()) <= 0
        if falling or objective <= self.objective + 1e-4 * self.step * self.slope:
            self.point, self.objective, self.gradient = trial, objective, gradient
            self.step = min(1.0, 2 * self.step)
        else:  # the minimum of the parabola through both objectives and the slope
            excess = objective - self.objective - self.step * self.slope
            self.step *= min(max(-self.slope * self.step / (2 * excess), 0.1), 0.5)


class _Rows:
    """The feature matrix, read in chunks of rows that are standardised and given a last column of ones."""

    def __init__(self, X: NDArray[np.floating], standardize: bool) -> None:
        self.X = X
        self.n, self.d = X.shape
        self.dtype = torch.float64 if X.dtype == np.float64 else torch.float32
        self.size = max(256, _CHUNK_BYTES // (4 * (self.d + 1)))
        self.read = 0
        self._buffer = torch.ones(min(_CURVATURE_CHUNKS * self.size, self.n), self.d + 1, dtype=self.dtype)
        # Sums are taken of the difference from the first row: a constant column then has variance exactly 0.
        self.mean, self.scale = np.asarray(X[0], dtype=np.float64), np.ones(self.d)
        total, squares = torch.zeros(self.d, dtype=torch.float64), torch.zeros(self.d, dtype=torch.float64)
        for _, rows in self.chunks():
            total += rows[:, :-1].sum(0, dtype=torch.float64)
            squares += rows[:, :-1].square().sum(0, dtype=torch.float64)
        centre = total.numpy() / self.n
        self.mean = self.mean + centre
        if standardize:
            deviation = np.sqrt(np.maximum(squares.numpy() / self.n - centre**2, 0))
            self.scale = np.where(deviation > 0, deviation, 1.0)
        self.read = 0

    def chunks(self, every: int = 1, size: int | None = None) -> Iterator[tuple[slice, Tensor]]:
        """Yield (rows, chunk [n_rows, d + 1]) for every `every`-th chunk; a chunk is good until the next one."""
        size = size or self.size
        kind = np.float64 if self.dtype == torch.float64 else np.float32
        mean, scale = self.mean.astype(kind), self.scale.astype(kind)
        for start in range(0, self.n, size * every):
            rows = slice(start, min(start + size, self.n))
            chunk = self._buffer[: rows.stop - rows.start]
            features = chunk.numpy()[:, :-1]
            np.subtract(self.X[rows], mean, out=features, casting="same_kind")
            np.divide(features, scale, out=features)
            self.read += len(chunk)
            yield rows, chunk


def solve(
    X: NDArray[np.floating],
    targets: Sequence[NDArray[np.integer]],
    penalties: Sequence[float] | Sequence[Sequence[float]],
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 200,
    standardize: bool = True,
) -> list[list[Solution]]:
    """Fit softmax regressions for every target and every penalty, all in the same passes over `X`.

    Each problem minimises over W and b

        mean over examples of -log softmax(x W + b)[y]  +  penalty / 2 * ||W||_F^2

    where x is the standardised example. scikit-learn's `LogisticRegression` on standardised features has the same
    optimum at `C = 1 / (n_examples * penalty)`; with two classes, for which it keeps a single weight vector, at
    `C = 2 / (n_examples * penalty)`.

    Parameters
    ----------
    X : float array, shape (n_examples, n_features)
        Finite. May be a read-only memory map larger than RAM: it is read in chunks and never copied. Products are in
        float64 for float64 features, else in float32; sums over chunks are always in float64.
    targets : integer arrays, each of shape (n_examples,)
        Each with classes 0 .. K - 1 of its own, all of which occur.
    penalties : floats > 0
        For every target; or one sequence of floats a target.
    tolerance : float
        A problem stops when its objective is estimated to be within this fraction of its minimum.
    max_iterations : int
        Passes over all rows after which what has not converged is returned as it is, with a warning in the log.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 (a constant column to 0). If false, only centre them, which
        leaves the optimum what it is on the features as given, as the bias is not penalised.

    Returns
    -------
    list of lists of Solution
        `solutions[i][j]` belongs to `targets[i]` and the j-th of its penalties.

    Raises
    ------
    ValueError
        If a penalty is not positive or a target has fewer than two classes or misses one.

    Notes
    -----
    Besides L-BFGS memory this holds `n_features ** 2` numbers for each class of each target. Same input and number of
    threads, same bytes.

    References
    ----------
    Nocedal & Wright 2006, chapter 7 (L-BFGS); Boehning 1992 (the Hessian of multinomial logistic regression).
    """
    groups = _penalties_of_each(penalties, len(targets))
    labels = [torch.from_numpy(np.asarray(target, dtype=np.int64)) for target in targets]
    rows = _Rows(X, standardize)
    problems = []
    for index, target in enumerate(labels):
        counts = torch.bincount(target).double()
        if len(counts) < 2 or bool((counts == 0).any()):
            raise ValueError(f"target {index} must have at least two classes, 0 .. K - 1, which all occur")
        start = torch.zeros(len(counts), rows.d + 1, dtype=torch.float64)
        start[:, -1] = (counts / rows.n).log()
        problems += [_Problem(index, penalty, _centred(start)) for penalty in groups[index]]
    with torch.no_grad():
        if rows.n >= 2 * _WARM_UP_EVERY * _sample_size(rows):
            _descend(rows, labels, problems, _WARM_UP_EVERY, 1e-3, _WARM_UP_STEPS)
        _descend(rows, labels, problems, 1, tolerance, max_iterations)
    solutions = [_solution(rows, problem, tolerance) for problem in problems]
    for problem, solution in zip(problems, solutions, strict=True):
        if not solution.converged:
            logger.warning(
                "softmax regression with penalty %g did not converge in %d iterations: the objective may be %.1e "
                "(relative) above its minimum, tolerance is %.1e",
                *(problem.penalty, problem.iterations, problem.gap, tolerance),
            )
    remaining = iter(solutions)
    return [list(islice(remaining, len(group))) for group in groups]


def _penalties_of_each(penalties: Sequence[float] | Sequence[Sequence[float]], n_targets: int) -> list[list[float]]:
    """Return the penalties of each target; raise ValueError if one is not positive, or a target has none."""
    if np.ndim(penalties[0]) == 0:
        groups = [np.asarray(penalties, dtype=np.float64).tolist()] * n_targets
    else:
        groups = [np.asarray(group, dtype=np.float64).tolist() for group in penalties]
    if len(groups) != n_targets or not all(groups):
        raise ValueError(f"{n_targets} targets need as many groups of penalties, got {len(groups)}")
    for group in groups:
        if not all(penalty > 0 for penalty in group):
            raise ValueError(f"penalties must be positive, got {group}")
    return groups


def _solution(rows: _Rows, problem: _Problem, tolerance: float) -> Solution:
    weights = problem.point[:, :-1].numpy().T / rows.scale[:, None]
    return Solution(
        weights=weights,
        bias=problem.point[:, -1].numpy() - rows.mean @ weights,
        objective=problem.objective,
        cross_entropy=problem.objective - problem.penalty / 2 * float(problem.point[:, :-1].square().sum()),
        gap=problem.gap,
        gradient_norm=float(problem.gradient.norm()),
        iterations=problem.iterations,
        passes=problem.passes,
        converged=problem.gap <= tolerance,
    )


def _centred(point: Tensor) -> Tensor:
    # Adding the same vector to all classes changes no probability; the penalty's optimum has mean 0 over classes.
    return point - point.mean(0)


def _descend(
    rows: _Rows, labels: list[Tensor], problems: list[_Problem], every: int, tolerance: float, max_iterations: int
) -> None:
    """Take all problems down in lock-step, on every `every`-th chunk of rows, until each has its tolerance."""
    evaluated = _evaluate(rows, labels, problems, [problem.point for problem in problems], every)
    for problem, (objective, gradient) in zip(problems, evaluated, strict=True):
        problem.objective, problem.gradient = objective, gradient
        problem.step, problem.iterations = 1.0, 1
        problem.pairs.clear()
    active = problems
    for iteration in range(1, max_iterations + 1):
        if iteration - 1 in _REFRESH_AT:
            _measure_curvature(rows, labels, active, every)
        for problem in active:
            problem.aim()
            problem.passes = rows.read / rows.n
        active = [problem for problem in active if problem.gap > tolerance]
        if not active or iteration == max_iterations:
            return
        trials = [problem.point + problem.step * problem.direction for problem in active]
        evaluated = _evaluate(rows, labels, active, trials, every)
        for problem, trial, (objective, gradient) in zip(active, trials, evaluated, strict=True):
            problem.judge(trial, objective, gradient)
            problem.iterations += 1


def _by_target(problems: list[_Problem]) -> Iterator[tuple[int, slice, int, list[_Problem]]]:
    """Yield (target, its columns in the joint product, n_classes, its problems); problems lie in order of target."""
    column = 0
    for target in sorted({problem.target for problem in problems}):
        own = [problem for problem in problems if problem.target == target]
        n_classes = len(own[0].point)
        yield target, slice(column, column + n_classes * len(own)), n_classes, own
        column += n_classes * len(own)


def _evaluate(
    rows: _Rows, labels: list[Tensor], problems: list[_Problem], points: list[Tensor], every: int
) -> Iterable[tuple[float, Tensor]]:
    """Return objective and gradient of each problem at its point, in one pass."""
    joint = torch.cat(points).T.to(rows.dtype).contiguous()  # [d + 1, sum of n_classes]
    losses = torch.zeros(len(problems), dtype=torch.float64)
    gradient = torch.zeros(joint.T.shape, dtype=torch.float64)
    seen = 0
    for where, chunk in rows.chunks(every):
        seen += len(chunk)
        scores = chunk @ joint
        first = 0
        for target, columns, n_classes, own in _by_target(problems):
            gold = labels[target][where, None, None].expand(-1, len(own), 1)
            # [n_rows, n_problems, n_classes]; residuals p - y take the place of the scores
            logs = torch.log_softmax(scores[:, columns].reshape(-1, len(own), n_classes), 2)
            losses[first : first + len(own)] -= logs.gather(2, gold).sum((0, 2), dtype=torch.float64)
            residuals = logs.exp_().scatter_add_(2, gold, logs.new_tensor(-1.0).expand(gold.shape))
            scores[:, columns] = residuals.flatten(1)
            first += len(own)
        gradient += scores.T @ chunk  # quicker than its transpose
    results = []
    split = torch.split(gradient / seen, [len(point) for point in points])
    for problem, point, loss, slope in zip(problems, points, losses.tolist(), split, strict=True):
        weights = point.clone()
        weights[:, -1] = 0  # the bias is not penalised
        results.append(
            (loss / seen + problem.penalty / 2 * float(weights.square().sum()), slope + problem.penalty * weights)
        )
    return results


def _sample_size(rows: _Rows) -> int:
    # Few rows make the smallest eigenvalues of a block too small, and the steps along them too long.
    return max(5_000, 8 * int(rows.d))


def _measure_curvature(rows: _Rows, labels: list[Tensor], problems: list[_Problem], every: int) -> None:
    """Rebuild the preconditioner of each target's problems at their current points, in one pass."""
    size = _CURVATURE_CHUNKS * rows.size  # fewer, larger products for the [n_classes, d + 1, d + 1] they are added to
    share = max(1, _sample_size(rows) * size * every // rows.n)  # rows a class takes from a chunk
    for target, _, n_classes, own in _by_target(problems):
        n_blocks = n_classes if rows.d <= _WIDEST else 1
        blocks = torch.zeros(n_blocks, rows.d + 1, rows.d + 1, dtype=rows.dtype)
        masses = torch.zeros(len(own), n_classes, dtype=torch.float64)
        joint = torch.cat([problem.point for problem in own]).T.to(rows.dtype)
        seen = 0
        for where, chunk in rows.chunks(every, size):
            seen += len(chunk)
            probabilities = torch.softmax((chunk @ joint).view(-1, len(own), n_classes), 2)
            gold = torch.nn.functional.one_hot(labels[target][where, None], n_classes)
            # Half the Hessian's p (1 - p), half the squared residual that it is the expectation of: where a model is
            # sure and wrong the first is nearly 0, and Newton steps by it alone go far astray.
            weights = (probabilities * (1 - probabilities) + (probabilities - gold).square()) / 2
            masses += weights.sum(0, dtype=torch.float64)
            weights = weights.mean(1)  # [n_rows, n_classes]
            if n_blocks == 1:
                weights = weights.mean(1, keepdim=True)
            if share >= len(chunk):
                blocks += torch.einsum("nk,ni,nj->kij", weights, chunk, chunk)
                continue
            # Systematic sampling: equally spaced points on the running total of the weights.
            total = weights.sum(0)[:, None]
            points = (torch.arange(share) + 0.5) / share * total
            drawn = torch.searchsorted(weights.T.cumsum(1), points).clamp_(max=len(chunk) - 1)
            sample = chunk[drawn]  # [n_classes, share, d + 1]
            blocks.baddbmm_((sample * (total / share)[:, :, None]).transpose(1, 2), sample)
        mass = blocks[:, -1, -1].clamp(min=torch.finfo(rows.dtype).tiny)
        mean = blocks[:, -1, :-1] / mass[:, None]
        covariance = blocks[:, :-1, :-1] - mass[:, None, None] * mean[:, :, None] * mean[:, None, :]
        values, basis = torch.linalg.eigh(covariance / seen)
        shared = _Curvature(basis, values.clamp_(min=0), mean, mass / seen)
        for problem, own_mass in zip(own, masses, strict=True):
            problem.curvature = shared
            problem.scale = (own_mass / (masses.mean(0) if n_blocks > 1 else masses.mean())).to(rows.dtype)
