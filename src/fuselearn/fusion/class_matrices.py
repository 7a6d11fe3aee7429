"""Matrices between classes on top of the weights of arms: what an arm says of one class may speak for another one.

With weights alone the logit of a class is made of what the arms say of that class. Where classes are alike, as grades
that are ordered, what they say of its neighbours tells more: each arm gets a matrix w_a (I + C_a), so that
z = b + Σ_a v_a w_a (I + C_a). The corrections C lower the log loss on out-of-fold values and are held to 0 by a ridge.
Its strength is the one of the least log loss of each fold by corrections without it, and they are kept only if that is
clearly below the loss by weights alone.

They have few parameters, and are fitted on a subsample of the rows, which is the same wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax

from fuselearn.fusion.arm_fitting import LEAST_GAIN, LEAST_NATS
from fuselearn.fusion.fusion_rows import ROWS_AT_A_TIME
from fuselearn.fusion.log_loss_weights import INTERCEPT_PENALTY, MOST_HALVINGS, Stack
from fuselearn.typing import FloatArray, IntArray

STRENGTHS = (300.0, 30.0, 3.0)
"""Ridges on corrections of values of mean square 1, in rows; the next one is tried as long as the loss falls."""
MOST_PARAMETERS = 512
"""Corrections and intercepts up to which each arm has a matrix. Beyond, all arms have the same one; if that has too
many, too (23 classes), there are none."""
MOST_STEPS = 12
NEAR, LEAST_DECREASE = 1e-8, 1e-20
"""Share of the loss that a Newton step is expected to take off: from the first on it is taken as it is, since losses no
longer tell points apart, and the second is the end. The same rows in other partitions must lead to the same point."""


@dataclass(frozen=True)
class SampledValues:
    """Out-of-fold values of the arms of a stack for a subsample of the rows, ordered by their folds.

    Attributes
    ----------
    values : ndarray of shape (n_arms, n_rows, n_classes)
    targets : ndarray of shape (n_rows, n_classes)
        Class probabilities by the labels.
    weights : ndarray of shape (n_rows,)
    ends : intp ndarray of shape (n_folds + 1,)
        First row of each fold, and the number of rows.
    """

    values: FloatArray
    targets: FloatArray
    weights: FloatArray
    ends: IntArray

    @classmethod
    def of(
        cls, values: FloatArray, targets: FloatArray, weights: FloatArray, folds: IntArray, n_folds: int
    ) -> SampledValues:
        """Order rows by their folds."""
        order = np.argsort(folds, kind="stable")
        ends = np.searchsorted(folds[order], np.arange(n_folds + 1))
        return cls(values[:, order], targets[order], weights[order], ends)

    def fold(self, number: int) -> slice:
        """Return the rows of a fold."""
        return slice(int(self.ends[number]), int(self.ends[number + 1]))

    def loss(self, stack: Stack, rows: slice) -> float:
        """Return the log loss of some rows."""
        logs = log_softmax(stack.scores(self.values[:, rows]), axis=1)
        return -float(self.weights[rows] @ (self.targets[rows] * logs).sum(axis=1))


@dataclass(frozen=True)
class Corrections:
    """The problem of the corrections: features of the rows, logits by the weights alone, and the ridge."""

    sample: SampledValues
    features: FloatArray
    start: FloatArray
    spread: float

    def derivatives(self, point: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the loss, and by fold the gradient and the curvature, at corrections of shape (n_features, K)."""
        n_folds, d = len(self.sample.ends) - 1, point.size
        loss, gradients, curvatures = 0.0, np.zeros((n_folds, d)), np.zeros((n_folds, d, d))
        for fold in range(n_folds):
            rows = self.sample.fold(fold)
            for first in range(rows.start, rows.stop, ROWS_AT_A_TIME):
                part = slice(first, min(first + ROWS_AT_A_TIME, rows.stop))
                loss += self._add(part, point, gradients[fold], curvatures[fold])
        return loss, gradients, curvatures

    def _add(self, rows: slice, point: FloatArray, gradient: FloatArray, curvature: FloatArray) -> float:
        """Add the derivatives of some rows to two arrays; return their loss."""
        features, targets, weights = self.features[rows], self.sample.targets[rows], self.sample.weights[rows]
        n_features, n_classes = point.shape
        logs = log_softmax(self.start[rows] + features @ point, axis=1)
        p = np.exp(logs)
        gradient += (features.T @ (weights[:, None] * (p - targets))).ravel()
        # Σ u f_i f_j (p_k [k = l] - p_k p_l), with (i, k) and (j, l) as numbers of corrections.
        crossed = (features[:, :, None] * (np.sqrt(weights)[:, None] * p)[:, None, :]).reshape(len(features), -1)
        curvature -= crossed.T @ crossed
        by_class = curvature.reshape(n_features, n_classes, n_features, n_classes)
        for k in range(n_classes):
            by_class[:, k, :, k] += (features * (weights * p[:, k])[:, None]).T @ features
        return -float(weights @ (targets * logs).sum(axis=1))

    def loss(self, point: FloatArray) -> float:
        """Return the loss alone."""
        logs = log_softmax(self.start + self.features @ point, axis=1)
        return -float(self.sample.weights @ (self.sample.targets * logs).sum(axis=1))

    def ridge(self, strength: float, n_classes: int) -> FloatArray:
        """Return the ridge on each correction; the last of each class are changes of the intercepts."""
        ridge = np.full((self.features.shape[1], n_classes), strength * self.spread)
        ridge[-1] = INTERCEPT_PENALTY
        return ridge

    def fit(self, point: FloatArray, strength: float) -> tuple[FloatArray, list[FloatArray]]:
        """Return the best corrections, by Newton steps from others; and those without each fold.

        These are one Newton step away. Intercepts are those of all rows: without a fold they would lean against the
        classes of that fold.
        """
        shape, ridge = point.shape, self.ridge(strength, point.shape[1])
        for _ in range(MOST_STEPS):
            loss, gradients, curvatures = self.derivatives(point)
            penalised = loss + float((ridge * point**2).sum()) / 2
            gradient = gradients.sum(axis=0) + (ridge * point).ravel()
            curvature = curvatures.sum(axis=0) + np.diag(ridge.ravel())
            step = -cho_solve(cho_factor(curvature), gradient).reshape(shape)
            expected = -float(gradient @ step.ravel()) / 2
            for _ in range(MOST_HALVINGS):
                candidate = point + step
                if expected <= NEAR * penalised:
                    break
                if self.loss(candidate) + float((ridge * candidate**2).sum()) / 2 <= penalised:
                    break
                step = step / 2
            else:
                break  # rounding: nothing better can be found
            point = candidate
            if expected <= LEAST_DECREASE * penalised:
                break
        inner = slice(0, point.size - shape[1])
        without = []
        for of_fold, curvature_of_fold in zip(gradients, curvatures):
            away = cho_solve(cho_factor((curvature - curvature_of_fold)[inner, inner]), of_fold[inner])
            without.append(point + np.append(away, np.zeros(shape[1])).reshape(shape))
        return point, without


def fit_class_matrices(
    stack: Stack, without_folds: tuple[Stack, ...], sample: SampledValues, may_go_on: Callable[[], bool] = lambda: True
) -> tuple[Stack, tuple[Stack, ...]]:
    """Return the stack of all rows and those without each fold with matrices, or as they are if these do not pay.

    Parameters
    ----------
    stack : Stack
        Weights of the arms.
    without_folds : tuple of Stack
        Those without each fold.
    sample : SampledValues
        Some of the rows.
    may_go_on : callable
        Asked before each strength of the ridge: whether there is time for it.
    """
    n_arms, _, n_classes = sample.values.shape
    per_arm = (n_arms * n_classes + 1) * n_classes <= MOST_PARAMETERS
    if n_classes < 2 or (n_classes + 1) * n_classes > MOST_PARAMETERS:
        return stack, without_folds
    weighted = sample.values * stack.weights[:, None, None]
    features = np.hstack(list(weighted)) if per_arm else weighted.sum(axis=0)
    spread = float(np.average((features**2).mean(axis=1), weights=sample.weights))
    if not spread > 0:
        return stack, without_folds
    problem = Corrections(
        sample, np.column_stack([features, np.ones(len(features))]), stack.scores(sample.values), spread
    )
    folds = [sample.fold(fold) for fold in range(len(without_folds))]
    plain = sum(sample.loss(of_fold, rows) for of_fold, rows in zip(without_folds, folds))
    best, chosen = plain - max(LEAST_NATS, LEAST_GAIN * plain), (stack, without_folds)
    point: FloatArray = np.zeros((problem.features.shape[1], n_classes))
    previous = np.inf
    for strength in STRENGTHS:
        if not may_go_on():
            break
        point, of_folds = problem.fit(point, strength)
        stacks = tuple(_corrected(of_fold, stack, moved) for of_fold, moved in zip(without_folds, of_folds))
        loss = sum(sample.loss(of_fold, rows) for of_fold, rows in zip(stacks, folds))
        if loss < best:
            best, chosen = loss, (_corrected(stack, stack, point), stacks)
        if loss > previous:
            break
        previous = loss
    return chosen


def _corrected(of_fold: Stack, stack: Stack, point: FloatArray) -> Stack:
    """Return a stack, of all rows or without a fold, with corrections in units of the weights of all rows."""
    n_classes, n_arms = point.shape[1], len(stack.arms)
    corrections = point[:-1].reshape(-1, n_classes, n_classes)
    corrections = np.broadcast_to(corrections, (n_arms, n_classes, n_classes))
    matrices = of_fold.weights[:, None, None] * np.eye(n_classes) + stack.weights[:, None, None] * corrections
    return replace(of_fold, intercepts=of_fold.intercepts + point[-1], matrices=matrices)
