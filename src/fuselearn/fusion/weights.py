"""Weights of arms: non-negative least squares on out-of-sample values, shrunk to the plain average.

    minimise  Σ_i u_i |t_i − Σ_a w_a v_ia|²  +  μ · m · Σ_a (w_a − c / A)²,   w ≥ 0

with u the weights of rows, v the values of A arms about their mean, m the mean over arms of Σ_i u_i v_ia², and c the
one factor that the plain average needs to fit best. The strength μ is chosen by cross-validation, the largest that is
not clearly worse than the best: weights that cannot be told apart stay equal. The squares are of labels that may be
wrong, which shrinks all arms' values alike and leaves their order.

How much worse is clearly worse? One standard error, where labels are right. Wrong ones hide what arms that all know
something differ in, but not what they seem to differ in by chance: there the plain average is hard to beat, and the
standard errors asked for grow by k = 1 / (1 − 2ρ)², with ρ the share of wrong labels. So that the average is not one of
arms that know something and others that do not, values are multiplied by their arm's `merits` before.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
PARTS = 5


@dataclass(frozen=True)
class Combination:
    """Weights of arms.

    Attributes
    ----------
    weights : ndarray of shape (n_arms,)
    strength : float
        How strongly they were drawn to the average.
    loss : float
        Mean squared error of the held-out parts, over that of saying nothing.
    """

    weights: np.ndarray
    strength: float
    loss: float


def combine(values, targets, row_weights, *, groups=None, strengths=STRENGTHS, clearly=1.0):
    """Choose weights of arms.

    Parameters
    ----------
    values : ndarray of shape (n_arms, n_rows, n_targets)
        About their mean, and without gaps; see :func:`filled`.
    targets : ndarray of shape (n_rows, n_targets)
        About their mean.
    row_weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number, from 0, are one observation where strengths are compared.
    strengths : sequence of float
        From the weakest to the strongest.
    clearly : float, default=1.0
        Standard errors by which a strength must be worse than the best to be called so.

    Returns
    -------
    Combination
    """
    n_arms, n_rows, _ = values.shape
    unit_of, part_of = parts_of(n_rows, groups)
    n_units = unit_of.max() + 1
    products, moments = _sums(values, targets, row_weights, part_of)
    whole, moment = products.sum(axis=0), moments.sum(axis=0)
    errors = np.empty((len(strengths), n_rows))
    for part in range(PARTS):
        held_out = part_of == part
        for place, strength in enumerate(strengths):
            weights = _solve(whole - products[part], moment - moments[part], strength)
            said = np.tensordot(weights, values[:, held_out], axes=1)
            errors[place, held_out] = ((targets[held_out] - said) ** 2).sum(axis=1)
    errors *= row_weights
    means = errors.mean(axis=1)
    best = means.argmin()
    chosen = best
    for place in range(len(strengths) - 1, best, -1):
        worse = np.bincount(unit_of, errors[place] - errors[best])
        if worse.mean() <= clearly * worse.std() / np.sqrt(n_units):
            chosen = place
            break
    nothing = (row_weights * (targets**2).sum(axis=1)).mean()
    loss = means[chosen] / nothing if nothing > 0 else 1.0
    weights = _solve(whole, moment, strengths[chosen])
    if not weights.any():  # no arm knows anything: all of them together know as little
        weights = np.full(n_arms, 1.0 / n_arms)
    return Combination(weights, strengths[chosen], float(loss))


def merits(values, targets, row_weights, groups=None):
    """What the arms count beside each other, before their weights are chosen.

    It is the square of an arm's correlation with the labels: the share of their variance that it explains. As far as
    correlations may differ by chance they are drawn to their mean (empirical Bayes), so that arms which differ by no
    more count alike, and one that is no better than chance beside good ones counts next to nothing.

    Parameters
    ----------
    values, targets, row_weights, groups
        As for :func:`combine`.

    Returns
    -------
    ndarray of shape (n_arms,)
        Not negative, with a mean of 1.
    """
    unit_of = np.arange(len(targets)) if groups is None else groups
    shares = row_weights / row_weights.sum()
    centred = values - np.einsum("i,aik->ak", shares, values)[:, None]
    sizes = np.sqrt(np.einsum("i,aik,aik->a", shares, centred, centred))[:, None, None]
    scaled = np.divide(centred, sizes, out=np.zeros_like(values), where=sizes > 0)
    products = shares * np.einsum("aik,ik->ai", scaled, targets)
    correlations = products.sum(axis=1)
    mean = correlations.mean()
    # What a row or group changes in a correlation, by way of the arm's size too. Of the differences between arms, not
    # of the correlations themselves: all arms are wrong in the same hard rows.
    changes = products - correlations[:, None] / 2 * shares * (scaled**2).sum(axis=2)
    changes = np.array([np.bincount(unit_of, of_arm) for of_arm in changes])
    changes -= changes.mean(axis=0)
    by_chance = changes.var(axis=1) * changes.shape[1]
    real = ((correlations - mean) ** 2 - by_chance).mean()
    if real > 0:
        correlations = mean + real / (real + by_chance) * (correlations - mean)
    else:
        correlations = np.full(len(values), mean)
    explained = np.maximum(correlations, 0.0) ** 2
    return explained / explained.mean() if explained.any() else np.ones(len(values))


def parts_of(n_rows, groups=None):
    """Rows dealt to `PARTS` parts, groups as a whole.

    Parameters
    ----------
    n_rows : int
    groups : intp ndarray of shape (n_rows,) or None

    Returns
    -------
    unit_of, part_of : intp ndarray of shape (n_rows,)
        The row's group, or the row itself where there are none; and its part.
    """
    unit_of = np.arange(n_rows) if groups is None else groups
    n_units = unit_of.max() + 1
    # The same rows in the same parts for whatever values: losses can be compared.
    return unit_of, (np.random.default_rng(n_units).permutation(n_units) % PARTS)[unit_of]


def filled(values):
    """Values with gaps filled: where an arm says nothing of a row, with the mean of those that do.

    Parameters
    ----------
    values : ndarray of shape (n_arms, n_rows, n_targets)
        NaN where an arm abstains.
    """
    silent = np.isnan(values[:, :, 0])
    if not silent.any():
        return values
    heard = np.maximum((~silent).sum(axis=0), 1)[:, None]
    means = np.where(silent[:, :, None], 0.0, values).sum(axis=0) / heard
    return np.where(silent[:, :, None], means, values)


def weighted_sum(values, weights):
    """Σ weight · value over the arms that say something of a row, as if the others had said the same.

    Parameters
    ----------
    values : iterable of ndarray of shape (n_rows, n_targets)
        NaN where an arm abstains.
    weights : ndarray of shape (n_arms,)

    Returns
    -------
    sums : ndarray of shape (n_rows, n_targets)
        0 for a row of which no arm with weight says anything.
    heard : bool ndarray of shape (n_rows,)
    """
    sums, present = 0.0, 0.0
    for weight, said in zip(weights, values):
        silent = np.isnan(said[:, 0])
        sums = sums + weight * np.where(silent[:, None], 0.0, said)
        present = present + np.where(silent, 0.0, weight)
    heard = present > 0
    scale = np.divide(np.sum(weights), present, out=np.zeros(len(present)), where=heard)
    return sums * scale[:, None], heard


def _sums(values, targets, row_weights, part_of):
    """VᵀV and Vᵀt of each part."""
    n_arms = len(values)
    products = np.empty((PARTS, n_arms, n_arms))
    moments = np.empty((PARTS, n_arms))
    for part in range(PARTS):
        rows = part_of == part
        some = values[:, rows].reshape(n_arms, -1)
        u = np.repeat(row_weights[rows], targets.shape[1])
        products[part] = (some * u) @ some.T
        moments[part] = some @ (u * targets[rows].ravel())
    return products, moments


def _solve(products, moment, strength):
    """The weights, from VᵀV and Vᵀt."""
    n_arms = len(moment)
    total = np.trace(products) / n_arms
    if not total > 0:
        return np.full(n_arms, 1.0 / n_arms)
    average = products.sum() / n_arms**2
    factor = max(moment.sum() / n_arms / average, 0.0) if average > 0 else 0.0
    ridge = strength * total
    root = cholesky(products + ridge * np.eye(n_arms))
    goal = solve_triangular(root, moment + ridge * factor / n_arms, trans=1)
    return nnls(root, goal)[0]
