"""Thousands of small softmax regressions over rows of one feature matrix, solved together.

Groups of like size are padded to one shape and taken down as a batch by Newton's method:

- **Few dimensions.** A ridge optimum lies in the span of the group's rows, so a group of n rows has n dimensions, not
  n_features. The rows are turned to their principal axes, where they are uncorrelated.
- **Conjugate gradients.** The Newton step is solved for with products by the rows only, preconditioned by the
  Hessian's diagonal, which says nearly all there is to say in principal axes. A line search costs no product.
- **From large penalty to small.** Each problem starts at its last optimum, and goes on to its next penalty without
  waiting for the others of its batch.

Labels and the choice of a penalty live in `masked_linear`; this module knows integers and arrays.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

logger = logging.getLogger(__name__)

_GROWTH = 1.3  # of rows and of classes from one padded shape to the next: small ones pad little, large ones batch well
_BATCH_NUMBERS = 2**21  # of a batch's padded rows: 16 MiB, of which a few copies are held
_CLOSED = -1e30  # the score of a class that cannot be: its probability is exactly 0, and 0 * its logarithm is still 0
_MAX_CG_STEPS = 50
_RESIDUAL = 0.1  # of the gradient, in the preconditioner's norm, at which a Newton step is good enough
_MAX_HALVINGS = 30
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Group:
    """One regression's examples.

    Attributes
    ----------
    rows : int array, shape (n_rows,)
        Rows of the feature matrix.
    targets : float32 array, shape (n_rows, n_classes)
        Shares of each example's classes; a row sums to 1. A class without any share gets zero weights and a bias of
        minus infinity: the optimum's probability for it is 0.
    """

    rows: NDArray[np.integer]
    targets: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GroupSolution:
    """The optimum of one group at one penalty, in the units of the standardised features.

    Attributes
    ----------
    weights : float32 array, shape (n_classes, n_features)
    bias : float64 array, shape (n_classes,)
    objective : float
        The group's share of the joint objective at these weights.
    gap : float
        Estimate from above of the distance of `objective` from its minimum, as a fraction of `objective`: what the
        last Newton step was to gain. What `tolerance` bounds.
    converged : bool
    """

    weights: NDArray[np.float32]
    bias: NDArray[np.float64]
    objective: float
    gap: float
    converged: bool


@dataclass(slots=True)
class _Batch:
    """Problems of one padded shape, in lock-step. Where a problem has fewer rows or classes, the rest is zeros.

    Features have a last column of ones, so the last row of a point is the bias.
    """

    features: Tensor  # [n_problems, n_rows, n_axes + 1]
    targets: Tensor  # [n_problems, n_rows, n_classes]
    closed: Tensor  # [n_problems, 1, n_classes], 0 or _CLOSED
    ridge: Tensor  # [n_problems, n_axes + 1, 1], n_total * penalty; 0 for the bias
    point: Tensor  # [n_problems, n_axes + 1, n_classes]

    def keep(self, where: Tensor) -> None:
        """Drop the other problems."""
        self.features, self.targets, self.closed = self.features[where], self.targets[where], self.closed[where]
        self.ridge, self.point = self.ridge[where], self.point[where]

    def objective(self, scores: Tensor, point: Tensor) -> tuple[Tensor, Tensor]:
        """Return summed cross-entropy plus penalty [n_problems], and the probabilities [n_problems, n_rows, K]."""
        logarithms = torch.log_softmax(scores, 2)
        loss = (self.ridge * point.square()).sum((1, 2)) / 2 - (self.targets * logarithms).sum((1, 2))
        return loss, logarithms.exp_()

    def newton_step(self) -> tuple[Tensor, Tensor]:
        """Move every problem by one Newton step; return the objective there and what the step was to gain, each [B]."""
        scores = torch.bmm(self.features, self.point) + self.closed
        before, probabilities = self.objective(scores, self.point)
        probabilities *= self.targets.sum(2, keepdim=True)  # from here on 0 in rows that pad
        transposed = self.features.transpose(1, 2)
        gradient = torch.bmm(transposed, probabilities - self.targets) + self.ridge * self.point
        direction = self._direction(probabilities, gradient)
        slope = (gradient * direction).sum((1, 2))
        along = torch.bmm(self.features, direction)
        step = torch.ones_like(before)
        for _ in range(_MAX_HALVINGS):
            trial = self.point + step[:, None, None] * direction
            after, _ = self.objective(scores + step[:, None, None] * along, trial)
            excess = after - before - step * slope
            # Of a full step whose gain is below rounding the objective cannot tell.
            high = (after > before + 1e-4 * step * slope) & (-slope > 1e-12 * before)
            if not bool(high.any()):
                break
            # The minimum of the parabola through both objectives and the slope.
            shorter = step * (-slope * step / (2 * excess)).clamp(0.1, 0.5)
            step = torch.where(high, shorter, step)
        self.point = trial
        return after, -slope / 2

    def _direction(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """Return minus the inverse Hessian times the gradient, by preconditioned conjugate gradients."""
        transposed = self.features.transpose(1, 2)
        diagonal = torch.bmm(transposed.square(), weights * (1 - weights)) + self.ridge
        # The bias of a class that all examples are sure about, or that pads.
        inverse = 1 / diagonal.clamp_(min=1e-9)
        direction = torch.zeros_like(gradient)
        residual = -gradient
        search = torch.zeros_like(gradient)
        norm = torch.ones_like(gradient[:, :1, :1])
        for iteration in range(_MAX_CG_STEPS):
            # The same vector added to all classes changes no probability: the mean over classes stays what it is.
            conditioned = _centred(inverse * residual, self.closed)
            last, norm = norm, (residual * conditioned).sum((1, 2), keepdim=True)
            if iteration == 0:
                enough = _RESIDUAL**2 * norm
            going = norm > enough
            if not bool(going.any()):
                break
            search = conditioned + torch.where(going, norm / last, 0.0) * search  # the first `search` is 0
            scores = torch.bmm(self.features, search)
            scores -= (weights * scores).sum(2, keepdim=True)
            image = torch.bmm(transposed, weights * scores) + self.ridge * search
            length = torch.where(going, norm / (search * image).sum((1, 2), keepdim=True), 0.0)
            direction += length * search
            residual -= length * image
        return direction


def solve_groups(
    X: NDArray[np.floating],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    groups: Sequence[Group],
    penalties: Sequence[float],
    *,
    n_total: int,
    tolerance: float = 1e-5,
    max_iterations: int = 200,
) -> list[list[GroupSolution]]:
    """Fit a softmax regression for every group and every penalty.

    Each problem minimises over W and b, which no two groups share,

        1 / n_total * sum over the group's examples of CE(targets, softmax(W x + b))  +  penalty / 2 * ||W||_F^2

    where x is the standardised example. If groups together have n_total examples, the sum of these is the objective of
    one softmax regression over all classes of all groups whose probabilities are masked to the example's group.

    Parameters
    ----------
    X : float array, shape (n_examples, n_features)
        May be a read-only memory map larger than RAM: only the rows of a batch are held.
    mean, scale : float64 arrays, shape (n_features,)
        An example is standardised as `(x - mean) / scale`.
    groups : sequence of Group
    penalties : floats > 0
    n_total : int
    tolerance : float
        A problem stops when its objective is estimated to be within this fraction of its minimum.
    max_iterations : int
        Newton steps of one problem after which it is returned as it is, with a warning in the log.

    Returns
    -------
    list of lists of GroupSolution
        `solutions[i][j]` belongs to `groups[i]` and `penalties[j]`, the same as for that group alone but for rounding.

    Raises
    ------
    ValueError
        If a penalty is not positive, a group is empty or its targets do not fit, or a value is not finite.
    """
    if not len(penalties) or not all(penalty > 0 for penalty in penalties):
        raise ValueError(f"penalties must be positive, got {list(penalties)}")
    falling = sorted(set(penalties), reverse=True)
    ridges = n_total * torch.tensor(falling, dtype=torch.float64)
    rank = [falling.index(penalty) for penalty in penalties]
    solutions: list[list[GroupSolution]] = [[] for _ in groups]
    with torch.no_grad():
        for members, shape in _batches(groups, X.shape[1]):
            batch, centre, back = _load(X, mean, scale, [groups[index] for index in members], shape)
            closed = batch.closed[:, 0] < 0
            optimum, objective, gap = _descend(batch, ridges, tolerance, max_iterations)
            weights = torch.einsum("gda,pgak->pgkd", back, optimum[:, :, :-1])
            bias = optimum[:, :, -1] - torch.einsum("gd,pgkd->pgk", centre, weights)
            bias = torch.where(closed, -torch.inf, bias)
            for i, index in enumerate(members):
                own = slice(groups[index].targets.shape[1])
                solutions[index] = [
                    GroupSolution(
                        weights=weights[j, i, own].float().numpy(),
                        bias=bias[j, i, own].numpy().copy(),
                        objective=float(objective[j, i]) / n_total,
                        gap=float(gap[j, i]),
                        converged=bool(gap[j, i] <= tolerance),
                    )
                    for j in rank
                ]
    wrong = [solution.gap for group in solutions for solution in group if not solution.converged]
    if wrong:
        logger.warning(
            "%d of %d softmax regressions did not converge in %d steps: an objective may be %.1e (relative) above its "
            "minimum, tolerance is %.1e",
            *(len(wrong), len(groups) * len(penalties), max_iterations, max(wrong), tolerance),
        )
    return solutions


def _batches(groups: Sequence[Group], n_features: int) -> Iterator[tuple[list[int], tuple[int, int]]]:
    """Yield (indices of groups, (n_rows, n_classes) to pad to). A group's shape does not depend on the others."""
    shapes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        n_rows, n_classes = group.targets.shape
        if n_rows == 0 or n_classes == 0 or len(group.rows) != n_rows:
            raise ValueError(f"group {index} has {len(group.rows)} rows and targets of shape {group.targets.shape}")
        if not np.allclose(group.targets.sum(1), 1, atol=1e-4):
            raise ValueError(f"group {index} has an example whose targets do not sum to 1")
        if 2 * n_rows * n_features <= _BATCH_NUMBERS:  # else it is alone in its batch
            n_rows, n_classes = _padded(n_rows), _padded(n_classes)
        shapes[n_rows, n_classes].append(index)
    # The largest first, when there are no solutions yet to be held beside them.
    for shape, members in sorted(shapes.items(), reverse=True):
        size = max(1, _BATCH_NUMBERS // (shape[0] * n_features))
        for start in range(0, len(members), size):
            yield members[start : start + size], shape


def _padded(length: int) -> int:
    padded = 2
    while padded < length:
        padded = max(padded + 1, int(padded * _GROWTH))
    return padded


def _load(
    X: NDArray[np.floating],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    groups: Sequence[Group],
    shape: tuple[int, int],
) -> tuple[_Batch, Tensor, Tensor]:
    """Read the groups' examples and turn them to their axes.

    Returns
    -------
    batch : _Batch
        At weights of 0 and the bias that is best for them; without penalty yet.
    centre : tensor, shape (n_groups, n_features)
        The groups' mean examples, standardised. The batch's features are differences from it: so the bias has little
        to do with the weights.
    back : tensor, shape (n_groups, n_features, n_axes)
    """
    targets = torch.zeros(len(groups), *shape, dtype=torch.float64)
    for padded, group in zip(targets, groups, strict=True):
        own = torch.from_numpy(group.targets).double()
        padded[: own.shape[0], : own.shape[1]] = own / own.sum(1, keepdim=True)
    there = targets.sum(2, keepdim=True)
    rows = torch.zeros(len(groups), shape[0], X.shape[1], dtype=torch.float64)
    rows[there[:, :, 0] > 0] = torch.from_numpy(_standardised(X, mean, scale, groups))
    centre = rows.sum(1, keepdim=True) / there.sum(1, keepdim=True)
    rows.sub_(centre).mul_(there)
    axes, back = _principal_axes(rows)
    del rows  # as large as the batch itself
    shares = targets.sum(1, keepdim=True)
    closed = torch.where(shares > 0, 0.0, _CLOSED).double()
    point = torch.zeros(len(groups), axes.shape[2] + 1, shape[1], dtype=torch.float64)
    point[:, -1:] = _centred(shares.clamp(min=_TINY).log(), closed)
    features = torch.cat([axes, torch.ones_like(there)], 2)
    return _Batch(features, targets, closed, torch.zeros_like(point[:, :, :1]), point), centre[:, 0], back


def _standardised(
    X: NDArray[np.floating], mean: NDArray[np.float64], scale: NDArray[np.float64], groups: Sequence[Group]
) -> NDArray[np.float64]:
    """Return the groups' examples one after the other, shape (n_rows, n_features)."""
    values: NDArray[np.float64] = X[np.concatenate([group.rows for group in groups])].astype(np.float64)
    values -= mean
    values /= scale
    if not np.isfinite(values).all():
        raise ValueError("features contain NaN or infinity")
    return values


def _descend(batch: _Batch, ridges: Tensor, tolerance: float, max_iterations: int) -> tuple[Tensor, Tensor, Tensor]:
    """Take the problems down at each ridge in turn, until none is left in the batch.

    Returns
    -------
    optimum : tensor, shape (n_ridges, n_problems, n_axes + 1, n_classes)
    objective, gap : tensors, shape (n_ridges, n_problems)
    """
    n_problems = len(batch.point)
    optimum = torch.zeros(len(ridges), *batch.point.shape, dtype=torch.float64)
    objective, gap = (torch.zeros(len(ridges), n_problems, dtype=torch.float64) for _ in range(2))
    which, at = torch.arange(n_problems), torch.zeros(n_problems, dtype=torch.int64)  # which problem, which ridge
    steps = torch.zeros_like(at)
    while len(which):
        batch.ridge[:, :-1] = ridges[at][:, None, None]
        loss, gain = batch.newton_step()
        steps += 1
        left = gain / loss.clamp(min=_TINY)  # 0 / 0 where one class only can be
        done = (left <= tolerance) | (steps >= max_iterations)
        optimum[at[done], which[done]] = batch.point[done]
        objective[at[done], which[done]], gap[at[done], which[done]] = loss[done], left[done]
        at, steps = at + done, torch.where(done, 0, steps)
        going = at < len(ridges)
        if not bool(going.all()):
            which, at, steps = which[going], at[going], steps[going]
            batch.keep(going)
    return optimum, objective, gap


def _principal_axes(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Turn centred rows [B, n, d] to their principal axes.

    Returns
    -------
    axes : tensor, shape (B, n, min(n, d))
        The rows, so turned.
    back : tensor, shape (B, d, min(n, d))
        Orthonormal columns, or zero ones: `rows = axes @ back.T`.
    """
    if rows.shape[1] > rows.shape[2]:
        _, basis = torch.linalg.eigh(torch.bmm(rows.transpose(1, 2), rows))
        return torch.bmm(rows, basis), basis
    values, basis = torch.linalg.eigh(torch.bmm(rows, rows.transpose(1, 2)))
    # Rows may repeat; along an axis without variance the optimum's weight is 0.
    least = values[:, -1:] * rows.shape[1] * torch.finfo(values.dtype).eps
    root = torch.where(values > least, values, 0.0).sqrt()[:, None]
    return basis * root, torch.bmm(rows.transpose(1, 2), basis * torch.where(root > 0, 1 / root, 0.0))


def _centred(point: Tensor, closed: Tensor) -> Tensor:
    """Return the point with mean 0 over the classes that can be, and 0 for the others."""
    able = (closed == 0).to(point.dtype)
    return (point - (point * able).sum(2, keepdim=True) / able.sum(2, keepdim=True)) * able
