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
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from fuselearn.classifiers.cross_fitting import deal_folds
from fuselearn.persistence.validation import check_array
from fuselearn.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from fuselearn.fusion.calibration_and_scores import PatternCalibration

STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 5
MOST_UNITS = 2**24
"""Numbers of units are below this."""
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


@dataclass(frozen=True)
class OutOfFoldLogits:
    """Logits of training rows with the views that they have, by models that did not see them.

    Attributes
    ----------
    present : bool ndarray of shape (n_rows, n_views)
        Views that the rows have.
    logits : float32 ndarray of shape (n_rows, n_classes)
    targets : float32 ndarray of shape (n_rows, n_classes)
        Probabilities of the classes that the model is calibrated to: labels, or what they agree on.
    weights : ndarray of shape (n_rows,)
    units : intp ndarray of shape (n_rows,)
        Rows of the same number, among these and those of `OutOfFoldValues`, belong together.
    """

    present: BoolArray
    logits: FloatArray
    targets: FloatArray
    weights: FloatArray
    units: IntArray

    def validate(self) -> None:
        """Check that all arrays are of the same rows and classes."""
        n_rows = len(check_array(self, "present", np.bool_, (None, None)))
        n_classes = check_array(self, "logits", np.float32, (n_rows, None)).shape[1]
        check_array(self, "targets", np.float32, (n_rows, n_classes), at_least=0.0)
        check_array(self, "weights", np.float64, (n_rows,), at_least=0.0)
        check_array(self, "units", np.integer, (n_rows,), at_least=0, below=MOST_UNITS)


@dataclass(frozen=True)
class OutOfFoldValues:
    """Out-of-fold values of training rows by view.

    Attributes
    ----------
    present : bool ndarray of shape (n_rows, n_views)
        Views that the rows have.
    targets : float32 ndarray of shape (n_rows, n_classes)
        Probabilities of the classes that the model is calibrated to: labels, or what they agree on.
    weights : ndarray of shape (n_rows,)
    units : intp ndarray of shape (n_rows,)
        Rows of the same number belong together.
    view_sums : float32 ndarray of shape (n_views, n_rows, n_targets)
        Σ weight · value of the arms of each view; 0 where it is absent.
    view_weights : ndarray of shape (n_views + 1,)
        Weight of the arms of each view, and of those of all views.
    joint_patterns : bool ndarray of shape (n_patterns, n_views)
        Patterns of views for which arms of all views have values.
    joint_sums : float32 ndarray of shape (n_patterns, n_rows, n_targets)
        Σ weight · value of the arms of all views, for each of these patterns; 0 for rows that lack some of its views.
    joint_everywhere : bool
        Whether arms of all views have a value for other patterns, too, which is not known here.
    scaled : bool
        Whether absent arms count as if they agreed with the others, as after a fit on few rows.
    own : OutOfFoldLogits or None
        More rows, with the views that they have; None where the rows above are all rows.
    """

    present: BoolArray
    targets: FloatArray
    weights: FloatArray
    units: IntArray
    view_sums: FloatArray
    view_weights: FloatArray
    joint_patterns: BoolArray
    joint_sums: FloatArray
    joint_everywhere: bool
    scaled: bool
    own: OutOfFoldLogits | None

    def validate(self) -> None:
        """Check that all arrays are of the same rows, views and classes."""
        n_rows, n_views = check_array(self, "present", np.bool_, (None, None)).shape
        n_classes = check_array(self, "targets", np.float32, (n_rows, None), at_least=0.0).shape[1]
        n_targets = 1 if n_classes == 2 else n_classes
        check_array(self, "weights", np.float64, (n_rows,), at_least=0.0)
        check_array(self, "units", np.integer, (n_rows,), at_least=0, below=MOST_UNITS)
        check_array(self, "view_sums", np.float32, (n_views, n_rows, n_targets))
        check_array(self, "view_weights", np.float64, (n_views + 1,), at_least=0.0)
        n_patterns = len(check_array(self, "joint_patterns", np.bool_, (None, n_views)))
        check_array(self, "joint_sums", np.float32, (n_patterns, n_rows, n_targets))
        if self.own is not None and (self.own.present.shape[1:], self.own.logits.shape[1:]) != (
            (n_views,),
            (n_classes,),
        ):
            raise ValueError("own of an OutOfFoldValues is of other views or classes")

    def knows(self, views: BoolArray) -> bool:
        """Return whether values are known for rows that have just these views."""
        return not self.joint_everywhere or not views.any() or self._place(views) is not None

    def having(self, views: BoolArray) -> IntArray:
        """Return the numbers of the rows that have these views, and maybe others."""
        return np.flatnonzero((self.present | ~views).all(axis=1))

    def logits(self, views: BoolArray, rows: IntArray, calibration: "PatternCalibration") -> FloatArray:
        """Return logits of rows as if they had just these of their views, of shape (n_rows, n_classes)."""
        chosen = np.flatnonzero(views)
        sums: FloatArray = self.view_sums[chosen][:, rows].sum(axis=0, dtype=np.float64)
        known, place = float(self.view_weights[chosen].sum()), self._place(views)
        if place is not None:
            sums = sums + self.joint_sums[place, rows]
            known += float(self.view_weights[-1])
        if self.scaled and known > 0:
            sums = sums * (self.view_weights.sum() / known)
        covered = np.full(len(rows), known > 0 and len(chosen) > 0)
        return calibration.logits(by_class(sums), covered, np.broadcast_to(views, (len(rows), len(views))))

    def _place(self, views: BoolArray) -> int | None:
        """Return the place of a pattern among those for which arms of all views have values."""
        places = np.flatnonzero((self.joint_patterns == views).all(axis=1))
        return int(places[0]) if len(places) else None
