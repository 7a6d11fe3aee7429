"""Weights of arms by non-negative least squares on out-of-fold values.

Weights are shrunk to the plain average:

    minimise  Σ_i u_i |t_i − Σ_a w_a v_ia|²  +  μ · m · Σ_a (w_a − c / A)²,   w ≥ 0

with u the weights of rows, v the values of A arms about their mean, m the mean over arms of Σ_i u_i v_ia², and c the
one factor that the plain average needs to fit best. The strength μ is chosen by cross-validation, the largest that is
not clearly worse than the best: weights that do not differ significantly stay equal. The squares are of labels that may
be wrong, which shrinks all arms' values alike and leaves their order.

A strength is clearly worse by one standard error, where labels are right. Wrong ones hide differences between arms that
all know something, but not those that arise by chance: there the plain average is hard to beat, and the standard errors
asked for grow by k = 1 / (1 − 2ρ)², with ρ the share of wrong labels. So that the average is not one of arms that know
something and others that do not, values are multiplied by their arm's reliability before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from fuselearn.classifiers.cross_fitting import deal_folds
from fuselearn.typing import BoolArray, FloatArray, IntArray

STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 5
LEAST_SIGNAL = 0.1
"""Least factor by which labels are taken to follow the right ones."""


@dataclass(frozen=True)
class Combination:
    """Weights of arms.

    Attributes
    ----------
    weights : ndarray of shape (n_arms,)
    strength : float
        Strength of the shrinkage to the average.
    loss : float
        Mean squared error of the held-out rows, over that of a value of 0.
    """

    weights: FloatArray
    strength: float
    loss: float


def weigh_arms(
    values: FloatArray,
    targets: FloatArray,
    row_weights: FloatArray,
    groups: IntArray | None,
    standard_errors: float,
) -> FloatArray:
    """Return weights of arms by values with gaps (NaN where an arm abstains), each times its reliability."""
    values = fill_gaps(values)
    reliability = reliabilities(values, targets, row_weights, groups)
    scaled = values * reliability[:, None, None]
    return reliability * combine(scaled, targets, row_weights, groups=groups, standard_errors=standard_errors).weights


def combine(
    values: FloatArray,
    targets: FloatArray,
    row_weights: FloatArray,
    *,
    groups: IntArray | None = None,
    strengths: Sequence[float] = STRENGTHS,
    standard_errors: float = 1.0,
) -> Combination:
    """Choose weights of arms by cross-validation.

    Parameters
    ----------
    values : ndarray of shape (n_arms, n_rows, n_targets)
        About their mean, and without gaps; see :func:`fill_gaps`.
    targets : ndarray of shape (n_rows, n_targets)
        About their mean.
    row_weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number, from 0, are one observation where strengths are compared.
    strengths : sequence of float
        From the weakest to the strongest.
    standard_errors : float, default=1.0
        Standard errors by which a strength must be worse than the best to be called clearly worse.
    """
    n_arms, n_rows, _ = values.shape
    unit_of, fold_of = deal_folds(n_rows, groups, FOLDS)
    n_units = unit_of.max() + 1
    products, moments = _fold_sums(values, targets, row_weights, fold_of)
    product, moment = products.sum(axis=0), moments.sum(axis=0)
    errors = np.empty((len(strengths), n_rows))
    for fold in range(FOLDS):
        held_out = fold_of == fold
        for place, strength in enumerate(strengths):
            weights = _solve(product - products[fold], moment - moments[fold], strength)
            fitted = np.tensordot(weights, values[:, held_out], axes=1)
            errors[place, held_out] = ((targets[held_out] - fitted) ** 2).sum(axis=1)
    errors *= row_weights
    means = errors.mean(axis=1)
    best = means.argmin()
    chosen = best
    for place in range(len(strengths) - 1, best, -1):
        excess = np.bincount(unit_of, errors[place] - errors[best])
        if excess.mean() <= standard_errors * excess.std() / np.sqrt(n_units):
            chosen = place
            break
    loss_of_zero = (row_weights * (targets**2).sum(axis=1)).mean()
    loss = means[chosen] / loss_of_zero if loss_of_zero > 0 else 1.0
    weights = _solve(product, moment, strengths[chosen])
    if not weights.any():  # no arm knows anything: all of them together know as little
        weights = np.full(n_arms, 1.0 / n_arms)
    return Combination(weights, strengths[chosen], float(loss))


def reliabilities(
    values: FloatArray, targets: FloatArray, row_weights: FloatArray, groups: IntArray | None = None
) -> FloatArray:
    """Return factors of the arms' values, not negative and with a mean of 1; arguments as for :func:`combine`.

    A factor is the square of an arm's correlation with the labels: the share of their variance that it explains. As far
    as correlations may differ by chance they are shrunk to their mean (empirical Bayes), so that arms which differ by
    no more count alike, and one that is no better than chance beside good ones counts next to nothing.
    """
    unit_of = np.arange(len(targets)) if groups is None else groups
    shares = row_weights / row_weights.sum()
    centred = values - np.einsum("i,aik->ak", shares, values)[:, None]
    sizes = np.sqrt(np.einsum("i,aik,aik->a", shares, centred, centred))[:, None, None]
    scaled = np.divide(centred, sizes, out=np.zeros_like(values), where=sizes > 0)
    products = shares * np.einsum("aik,ik->ai", scaled, targets)
    correlations = products.sum(axis=1)
    mean = correlations.mean()
    # The influence of a row or group on a correlation, by way of the arm's size too. Of the differences between arms,
    # not of the correlations themselves: all arms are wrong in the same hard rows.
    influences = products - correlations[:, None] / 2 * shares * (scaled**2).sum(axis=2)
    influences = np.array([np.bincount(unit_of, of_arm) for of_arm in influences])
    influences -= influences.mean(axis=0)
    by_chance = influences.var(axis=1) * influences.shape[1]
    real = ((correlations - mean) ** 2 - by_chance).mean()
    if real > 0:
        correlations = mean + real / (real + by_chance) * (correlations - mean)
    else:
        correlations = np.full(len(values), mean)
    explained = np.maximum(correlations, 0.0) ** 2
    return explained / explained.mean() if explained.any() else np.ones(len(values))


def labels_per_right_label(noise_rate: float, n_classes: int, n_columns: float) -> float:
    """Return how many rows with labels as given tell as much as one row with the right label.

    With K classes the mean of a label that is wrong at the rate ρ follows the right one by 1 − ρ K / (K − 1); several
    label columns of a row share the rest of its variance.
    """
    signal = max(1 - noise_rate * n_classes / (n_classes - 1), LEAST_SIGNAL)
    return 1 + (1 / signal**2 - 1) / n_columns


def fill_gaps(values: FloatArray) -> FloatArray:
    """Fill the gaps (NaN) of arms that abstain with the mean of the others; values as for :func:`combine`."""
    abstains = np.isnan(values[:, :, 0])
    if not abstains.any():
        return values
    counts = np.maximum((~abstains).sum(axis=0), 1)[:, None]
    means = np.where(abstains[:, :, None], 0.0, values).sum(axis=0) / counts
    return np.where(abstains[:, :, None], means, values)


def weighted_sum(values: Iterable[FloatArray], weights: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return Σ weight · value over the arms that do not abstain, scaled up as if the others agreed with them.

    Parameters
    ----------
    values : iterable of ndarray of shape (n_rows, n_targets)
        NaN where an arm abstains.
    weights : ndarray of shape (n_arms,)

    Returns
    -------
    sums : ndarray of shape (n_rows, n_targets)
        0 for a row of which all arms with weight abstain.
    covered : bool ndarray of shape (n_rows,)
        Rows of which some arm with weight has a value.
    """
    sums: FloatArray | float = 0.0
    present: FloatArray | float = 0.0
    for weight, arm_values in zip(weights, values):
        abstains = np.isnan(arm_values[:, 0])
        sums = sums + weight * np.where(abstains[:, None], 0.0, arm_values)
        present = present + np.where(abstains, 0.0, weight)
    present = np.asarray(present)
    covered = present > 0
    scale = np.divide(np.sum(weights), present, out=np.zeros(len(present)), where=covered)
    return sums * scale[:, None], covered


def by_class(values: FloatArray) -> FloatArray:
    """Return combined values as one column per class: two columns of opposite sign for one."""
    return np.column_stack([-values[:, 0], values[:, 0]]) if values.shape[1] == 1 else values


def _fold_sums(
    values: FloatArray, targets: FloatArray, row_weights: FloatArray, fold_of: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return VᵀV and Vᵀt of each fold."""
    n_arms = len(values)
    products = np.empty((FOLDS, n_arms, n_arms))
    moments = np.empty((FOLDS, n_arms))
    for fold in range(FOLDS):
        rows = fold_of == fold
        flat = values[:, rows].reshape(n_arms, -1)
        u = np.repeat(row_weights[rows], targets.shape[1])
        products[fold] = (flat * u) @ flat.T
        moments[fold] = flat @ (u * targets[rows].ravel())
    return products, moments


def _solve(product: FloatArray, moment: FloatArray, strength: float) -> FloatArray:
    """Return the weights, from VᵀV and Vᵀt."""
    n_arms = len(moment)
    total = np.trace(product) / n_arms
    if not total > 0:
        return np.full(n_arms, 1.0 / n_arms)
    average = product.sum() / n_arms**2
    factor = max(moment.sum() / n_arms / average, 0.0) if average > 0 else 0.0
    ridge = strength * total
    root = cholesky(product + ridge * np.eye(n_arms))
    goal = solve_triangular(root, moment + ridge * factor / n_arms, trans=1)
    return nnls(root, goal)[0]
