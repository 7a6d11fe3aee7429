"""Weights of arms by the log loss of the labels on out-of-fold values, found by Newton steps on sums over all rows.

Logits are z = b + Σ_a w_a v_a with w ≥ 0: one log-odds for two classes, else one number for each class. An arm that has
no value for a row counts as 0. Weights of rows are the given ones, so that softmax(z) is calibrated for the data as
they are. Arms that hardly lower the loss are left out, the one that is missed least first.

Where rows lack views, each frequent pattern of views has its own slope and intercepts of z, fitted in the same way and
held to those of all rows as far as there are few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.special import expit, log_softmax

from fuselearn.backends.partitioned.partitions import Answer
from fuselearn.fusion.fusion_rows import FittedArm, FusionBlock, pattern_numbers
from fuselearn.typing import BoolArray, FloatArray

WEIGHT_PENALTY = 1.0
"""Ridge on the weight of an arm whose values have mean square 1: a Gaussian prior of variance 1 of one row's size."""
INTERCEPT_PENALTY = 1.0
"""Ridge on the intercepts about the logarithms of the prior, which a class without rows has to stay near to."""
PATTERN_PENALTY = 20.0
"""Ridge on slope and intercepts of a pattern of views about those of all rows."""
MOST_DENSE = 256
"""Classes whose curvature is a matrix; with more, that of the intercepts is bounded by its diagonal."""
MOST_STEPS, MOST_BOUNDED_STEPS = 25, 500
"""Newton steps, at most; where curvatures are bounded, they are short, and more are needed."""
MOST_HALVINGS = 12
LEAST_DECREASE = 1e-12
"""Share of the loss that a Newton step must be expected to take off, or it is the last one."""


@dataclass(frozen=True)
class Stack:
    """Weights of arms and intercepts.

    Attributes
    ----------
    arms : tuple of int
        Numbers of the arms.
    weights : ndarray of shape (n_arms,)
        Not negative.
    intercepts : ndarray of shape (n_targets,)
    matrices : ndarray of shape (n_arms, n_classes, n_classes) or None
        Multiply the values of the arms in place of the weights; see `class_matrices`.
    """

    arms: tuple[int, ...]
    weights: FloatArray
    intercepts: FloatArray
    matrices: FloatArray | None = None

    @property
    def point(self) -> FloatArray:
        """Weights and intercepts in one array."""
        return np.concatenate([self.weights, self.intercepts])

    def at(self, point: FloatArray) -> Stack:
        """Return other weights and intercepts of the same arms."""
        return Stack(self.arms, point[: len(self.arms)], point[len(self.arms) :])

    def scores(self, values: FloatArray) -> FloatArray:
        """Return z of shape (n_rows, n_targets) from values of the arms, of shape (n_arms, n_rows, n_targets)."""
        if self.matrices is not None:
            return np.tensordot(values, self.matrices, axes=((0, 2), (0, 1))) + self.intercepts
        return np.tensordot(self.weights, values, axes=1) + self.intercepts

    @property
    def without_intercepts(self) -> Stack:
        """The same weights, and no intercepts."""
        return replace(self, intercepts=np.zeros_like(self.intercepts))

    def block_scores(self, block: FusionBlock, rows: slice) -> FloatArray:
        """Return z of some rows of a block."""
        return self.scores(block_values(block, self.arms, rows))


def block_values(block: FusionBlock, arms: tuple[int, ...], rows: slice) -> FloatArray:
    """Return values of arms for some rows of a block, of shape (n_arms, n_rows, n_targets)."""
    values = np.empty((len(arms), len(range(*rows.indices(block.n_rows))), block.frame.n_targets))
    for place, arm in enumerate(arms):
        values[place] = block.values(arm)[rows]
    return values


def plain_sum(
    values: Iterable[FloatArray], weights: FloatArray, shape: tuple[int, int]
) -> tuple[FloatArray, BoolArray]:
    """Return Σ weight · value of arms, where an absent value (NaN) counts as 0, and the rows with some value.

    Values are of the shape (n_rows, n_targets); there may be none. A weight may be a matrix of the classes.
    """
    sums, covered = np.zeros(shape), np.zeros(shape[0], dtype=bool)
    for weight, of_arm in zip(weights, values):
        absent = np.isnan(of_arm[:, 0])
        known = np.where(absent[:, None], 0.0, of_arm)
        sums += weight * known if weights.ndim == 1 else known @ weight
        covered |= ~absent
    return sums, covered


def logits_of(scores: FloatArray) -> FloatArray:
    """Return a column for each class: of log-odds, minus and plus their half."""
    return np.column_stack([-scores[:, 0] / 2, scores[:, 0] / 2]) if scores.shape[1] == 1 else scores


@dataclass(frozen=True)
class MeanSquares:
    """Asks for Σ u v² of each arm over rows and targets, and for Σ u."""

    arms: tuple[int, ...]

    def __call__(self, block: FusionBlock) -> Answer:
        """Return sums of shape (n_arms,), and the weight of the rows."""
        sums = np.zeros(len(self.arms))
        for part in block.parts():
            values = block_values(block, self.arms, part)
            sums += np.einsum("n,ant,ant->a", block.weights[part], values, values)
        return sums, np.array([block.weights.sum()])


@dataclass(frozen=True)
class LossSums:
    """Asks for the log loss at some weights and intercepts, with its first and second derivatives, by fold.

    With `only_fold`, other folds than that are left out.
    """

    stack: Stack
    judged: bool = False
    only_fold: int | None = None

    def __call__(self, block: FusionBlock) -> Answer:
        """Return losses (n_folds,), gradients (n_folds, d) and curvatures (n_folds, d, d)."""
        n_folds, d = block.frame.n_folds, len(self.stack.point)
        sums = np.zeros(n_folds), np.zeros((n_folds, d)), np.zeros((n_folds, d, d))
        for part in block.parts():
            folds = block.fold_of[part]
            values, targets = block_values(block, self.stack.arms, part), block.targets(part, judged=self.judged)
            for fold in range(n_folds) if self.only_fold is None else [self.only_fold]:
                rows = np.flatnonzero(folds == fold)
                if len(rows):
                    weights = block.weights[part][rows]
                    add_derivatives(self.stack, values[:, rows], targets[rows], weights, *_entry(sums, fold))
        return sums[0], sums[1], sums[2]


def add_derivatives(
    stack: Stack,
    values: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    loss: FloatArray,
    gradient: FloatArray,
    curvature: FloatArray,
) -> None:
    """Add the loss, its gradient and its curvature by weights and intercepts to three arrays.

    Targets of one column are numbers, whose loss is half the square.
    """
    n_arms = len(stack.weights)
    scores = stack.scores(values)
    if targets.shape[1] == 1:
        errors = scores[:, 0] - targets[:, 0]
        loss += weights @ errors**2 / 2
        features = np.vstack([values[:, :, 0], np.ones(len(errors))])
        gradient += features @ (weights * errors)
        curvature += (features * weights) @ features.T
        return
    if scores.shape[1] == 1:
        z, t = scores[:, 0], targets[:, 1]
        p = expit(z)
        loss += weights @ (np.logaddexp(0.0, z) - t * z)
        features = np.vstack([values[:, :, 0], np.ones(len(z))])
        gradient += features @ (weights * (p - t))
        curvature += (features * (weights * p * (1 - p))) @ features.T
        return
    logs = log_softmax(scores, axis=1)
    p = np.exp(logs)
    loss -= weights @ (targets * logs).sum(axis=1)
    surplus = weights[:, None] * (p - targets)
    gradient[:n_arms] += np.einsum("ant,nt->a", values, surplus)
    gradient[n_arms:] += surplus.sum(axis=0)
    weighted = weights[:, None] * p
    means = np.einsum("ant,nt->an", values, p)
    centred = values - means[:, :, None]
    by_class = centred * weighted
    curvature[:n_arms, :n_arms] += np.einsum("ant,bnt->ab", by_class, centred, optimize=True)
    crossed = by_class.sum(axis=1)
    curvature[:n_arms, n_arms:] += crossed
    curvature[n_arms:, :n_arms] += crossed.T
    if p.shape[1] <= MOST_DENSE:
        curvature[n_arms:, n_arms:] += np.diag(weighted.sum(axis=0)) - weighted.T @ p
    else:
        curvature[n_arms:, n_arms:] += np.diag(weighted.sum(axis=0))


def _entry(sums: tuple[FloatArray, FloatArray, FloatArray], number: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return windows on the sums of a fold or pattern, to be added to."""
    losses, gradients, curvatures = sums
    return losses[number : number + 1], gradients[number], curvatures[number]


Ask = Callable[[Stack], tuple[FloatArray, FloatArray, FloatArray]]
"""Returns losses, gradients and curvatures by fold at some weights."""


@dataclass(frozen=True)
class Penalty:
    """Ridge on the weights of arms, by their mean squares, and on the intercepts, about the logarithms of the prior."""

    squares: FloatArray
    log_prior: FloatArray

    def added(
        self, stack: Stack, loss: float, gradient: FloatArray, curvature: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return loss, gradient and curvature with the ridge."""
        strengths = np.concatenate([WEIGHT_PENALTY * self.squares, np.full(len(self.log_prior), INTERCEPT_PENALTY)])
        away = np.concatenate([stack.weights, stack.intercepts - self.log_prior])
        loss = loss + float(strengths @ away**2) / 2
        return loss, gradient + strengths * away, curvature + np.diag(strengths)

    def of(self, places: list[int]) -> Penalty:
        """Return the ridge of some of the arms."""
        return Penalty(self.squares[places], self.log_prior)


@dataclass(frozen=True)
class Weighing:
    """The best weights, and the sums by fold there."""

    stack: Stack
    losses: FloatArray
    gradients: FloatArray
    curvatures: FloatArray

    @property
    def loss(self) -> float:
        """Log loss of all rows."""
        return float(self.losses.sum())


def weigh(ask: Ask, start: Stack, penalty: Penalty) -> Weighing:
    """Find the weights and intercepts of the least loss, by Newton steps within w ≥ 0."""
    stack, sums = start, ask(start)
    loss, gradient, curvature = penalty.added(start, *_total(sums))
    is_bounded = len(stack.intercepts) > MOST_DENSE
    for _ in range(MOST_BOUNDED_STEPS if is_bounded else MOST_STEPS):
        goal = constrained_minimum(stack.point, gradient, curvature, len(stack.weights))
        step = goal - stack.point
        expected = -float(gradient @ step + step @ curvature @ step / 2)
        if not expected > LEAST_DECREASE * max(loss, 1.0):
            break
        for _ in range(MOST_HALVINGS):
            candidate = stack.at(stack.point + step)
            next_sums = ask(candidate)
            next_loss, next_gradient, next_curvature = penalty.added(candidate, *_total(next_sums))
            if next_loss < loss:
                break
            step = step / 2
        else:
            break  # rounding: nothing better can be found
        stack, sums = candidate, next_sums
        loss, gradient, curvature = next_loss, next_gradient, next_curvature
    return Weighing(stack, *sums)


def without_folds(weighing: Weighing, penalty: Penalty) -> list[Stack]:
    """Return the weights without each fold: one Newton step from those of all rows, which are next to them.

    Intercepts are those of all rows: without a fold they would lean against the classes of that fold.
    """
    n_arms = len(weighing.stack.weights)
    stacks = []
    for losses, gradients, curvatures in zip(weighing.losses, weighing.gradients, weighing.curvatures):
        _, gradient, curvature = penalty.added(
            weighing.stack,
            weighing.loss - float(losses),
            weighing.gradients.sum(axis=0) - gradients,
            weighing.curvatures.sum(axis=0) - curvatures,
        )
        weights = constrained_minimum(weighing.stack.weights, gradient[:n_arms], curvature[:n_arms, :n_arms], n_arms)
        stacks.append(Stack(weighing.stack.arms, weights, weighing.stack.intercepts))
    return stacks


def losses_without(weighing: Weighing, penalty: Penalty) -> FloatArray:
    """Return by how much the loss would rise without each arm, by its second-order expansion at the best weights."""
    stack = weighing.stack
    _, gradient, curvature = penalty.added(stack, *_total((weighing.losses, weighing.gradients, weighing.curvatures)))
    point, n_arms = stack.point, len(stack.weights)
    rises = np.zeros(n_arms)
    for arm in range(n_arms):
        kept = np.delete(np.arange(len(point)), arm)
        moved = np.zeros(len(point))
        moved[arm] = -point[arm]
        # The others move to their best places beside the arm's absence.
        inner = gradient[kept] + curvature[kept, arm] * moved[arm]
        goal = constrained_minimum(point[kept], inner, curvature[np.ix_(kept, kept)], n_arms - 1)
        moved[kept] = goal - point[kept]
        rises[arm] = gradient @ moved + moved @ curvature @ moved / 2
    return np.where(stack.weights > 0, np.maximum(rises, 0.0), 0.0)


def weigh_and_drop(ask: Ask, start: Stack, penalty: Penalty, least_rise: float) -> tuple[Weighing, Penalty]:
    """Weigh arms, and leave out those without which the loss rises by less, the one that is missed least first."""
    stack = start
    while True:
        weighing = weigh(ask, stack, penalty)
        rises = losses_without(weighing, penalty)
        if len(rises) == 1 or rises.min() > least_rise:
            return weighing, penalty
        # All that have no weight at all go together: their going changes nothing.
        idle = rises == 0
        dropped = idle if idle.any() and not idle.all() else np.arange(len(rises)) == rises.argmin()
        kept = np.flatnonzero(~dropped).tolist()
        stack = weighing.stack
        stack = Stack(tuple(stack.arms[place] for place in kept), stack.weights[kept], stack.intercepts)
        penalty = penalty.of(kept)


def constrained_minimum(point: FloatArray, gradient: FloatArray, curvature: FloatArray, n_arms: int) -> FloatArray:
    """Return where a quadratic function is least whose first `n_arms` coordinates must not be negative."""
    # With R'R the curvature it is |R x - goal|². The free coordinates come first, so that they make the
    # first equations exact, and the others are a non-negative problem of their own.
    free = len(point) - n_arms
    reordered = np.roll(np.arange(len(point)), free)
    ridge = 1e-12 * float(np.trace(curvature)) / len(point) + np.finfo(float).tiny
    while True:
        try:
            root = cholesky((curvature + ridge * np.eye(len(point)))[np.ix_(reordered, reordered)])
            break
        except LinAlgError:
            ridge *= 100
    goal = solve_triangular(root, (curvature @ point - gradient)[reordered], trans=1)
    solution = np.empty(len(point))
    solution[:n_arms] = nnls(root[free:, free:], goal[free:])[0] if n_arms else 0.0
    solution[n_arms:] = solve_triangular(root[:free, :free], goal[:free] - root[:free, free:] @ solution[:n_arms])
    return solution


def _total(sums: tuple[FloatArray, FloatArray, FloatArray]) -> tuple[float, FloatArray, FloatArray]:
    """Return sums over all folds."""
    losses, gradients, curvatures = sums
    return float(losses.sum()), gradients.sum(axis=0), curvatures.sum(axis=0)


@dataclass(frozen=True)
class PatternSums:
    """Asks for the derivatives of the log loss by the slope and the intercepts of each of some patterns of views.

    `points` has a row for each pattern, and one more for all other rows. With `only_fold`, other folds than that are
    left out.
    """

    stack: Stack
    patterns: tuple[int, ...]
    points: FloatArray
    judged: bool = False
    only_fold: int | None = None

    def __call__(self, block: FusionBlock) -> Answer:
        """Return losses, gradients and curvatures, by pattern."""
        n_patterns, d = self.points.shape
        sums = np.zeros(n_patterns), np.zeros((n_patterns, d)), np.zeros((n_patterns, d, d))
        numbers = pattern_numbers(block.present, self.patterns)
        if self.only_fold is not None:
            numbers[block.fold_of != self.only_fold] = -1
        plain = self.stack.without_intercepts
        for part in block.parts():
            scores = plain.block_scores(block, part)
            targets = block.targets(part, judged=self.judged)
            for number in range(n_patterns):
                rows = np.flatnonzero(numbers[part] == number)
                if len(rows):
                    point = self.points[number]
                    of_pattern = Stack((0,), point[:1], point[1:])
                    weights = block.weights[part][rows]
                    add_derivatives(of_pattern, scores[None, rows], targets[rows], weights, *_entry(sums, number))
        return sums


Sums = tuple[FloatArray, FloatArray, FloatArray]
"""Losses, gradients and curvatures, by pattern."""


def fit_patterns(ask: Callable[[FloatArray], Sums], start: FloatArray, spread: float) -> FloatArray:
    """Fit slope and intercepts of each pattern, each row of `start` being (slope, intercepts) of all rows.

    The ridge counts a slope by the mean square of the scores, `spread`.
    """
    points = start
    for _ in range(MOST_STEPS):
        _, gradients, curvatures = ask(points)
        points, size = _pattern_step(points, start, spread, gradients, curvatures)
        if size < 1e-7:
            break
    return points


def patterns_without_folds(
    sums_of_folds: list[Sums], points: FloatArray, start: FloatArray, spread: float
) -> list[FloatArray]:
    """Return slope and intercepts of each pattern without each fold: one Newton step from those of all rows, `points`,
    which are next to them. The sums of each fold are those there; the other arguments are as in `fit_patterns`."""
    gradient, curvature = (np.sum([of_fold[place] for of_fold in sums_of_folds], axis=0) for place in (1, 2))
    return [
        _pattern_step(points, start, spread, gradient - gradients, curvature - curvatures)[0]
        for _, gradients, curvatures in sums_of_folds
    ]


def _pattern_step(
    points: FloatArray, start: FloatArray, spread: float, gradients: FloatArray, curvatures: FloatArray
) -> tuple[FloatArray, float]:
    """Return slope and intercepts of each pattern after a Newton step, and the largest change in it."""
    penalties = np.full(start.shape[1], PATTERN_PENALTY)
    penalties[0] *= max(spread, np.finfo(float).tiny)
    gradients = gradients + penalties * (points - start)
    steps = np.array([np.linalg.solve(c + np.diag(penalties), -g) for g, c in zip(gradients, curvatures)])
    # A Newton step of a convex loss may overshoot; one of less than a unit of log-odds does not.
    steps /= np.maximum(1.0, np.abs(steps).max(axis=1, keepdims=True))
    points = np.column_stack([np.maximum(points[:, 0] + steps[:, 0], 0.0), points[:, 1:] + steps[:, 1:]])
    return points, float(np.abs(steps).max())


@dataclass(frozen=True)
class FittedArms:
    """The arms of a run, and their weights in the order of the arms; those without weight are not needed to predict."""

    arms: list[FittedArm]
    weighing: Weighing
    penalty: Penalty
