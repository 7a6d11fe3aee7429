"""The training rows of a view as base models want them: protocol, scales of columns, subsamples and groups of rows.

Columns that share a unit (pixels, components, intensities) lose by standardising: those that hardly vary are mostly
noise, and would count as much as the others. Columns of different units (age, income) mean nothing without it. Which
of the two a view is cannot be seen from its numbers, so kernel machines try both scales.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from fuselearn.fusion.arm_weights import deal_folds
from fuselearn.persistence.validation import check_array, check_number
from fuselearn.typing import BoolArray, FloatArray, IntArray

LARGEST_DEVIATION = 5.0
"""Standard deviations beyond which a standardised value is cut off."""
LARGEST_VALUE = 1e100
"""Largest scaled value in its own units: its square is still a number."""
SAME_UNITS = 0.05
"""Spread of the logarithms of the columns' scales below which the two scales are one."""
NO_FOLD = -1
"""Fold of a row whose group is not in the subsample."""


class FittedModel(Protocol):
    """A fitted base model."""

    def validate(self) -> None:
        """Raise ValueError, in words, unless all that the model holds fits together; for models out of a file."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of rows (columns of the view only), of shape (n_rows, n_targets)."""


class ArmFit(NamedTuple):
    """One fit of an arm, with values of the training rows.

    Attributes
    ----------
    out_of_fold : ndarray of shape (n_rows, n_targets)
        By models that saw neither the row nor another one of its group: what the arm can do for new groups.
    within_groups : ndarray of shape (n_rows, n_targets)
        By models that did not see the row, but may have seen others of its group: what its label is compared with.
        Without groups, the very same array.
    model : FittedModel
        For new rows.
    scored : ndarray of shape (n_rows, n_targets) or None
        Out-of-fold values by settings that the row had no say in either, for scores; None where they are the same.
    """

    out_of_fold: FloatArray
    within_groups: FloatArray
    model: FittedModel
    scored: FloatArray | None = None


class PreparedRows(Protocol):
    """The training rows of a view, prepared once for a learner and fitted many times.

    Attributes
    ----------
    n_fits : int
        Number of fits that differ: further ones would repeat the first.
    """

    n_fits: int

    def fit(self, targets: FloatArray, number: int, seed: np.random.SeedSequence) -> ArmFit:
        """Make fit number `number` (0, 1, …) on targets of shape (n_rows, n_targets)."""


@dataclass(frozen=True)
class Arm:
    """A view together with a learner.

    Attributes
    ----------
    view : int or None
        Number of the view; None for all views side by side.
    view_name, learner : str
        Their names.
    rows : intp ndarray
        Training rows that have the view.
    columns : intp ndarray
        Columns of `X`.
    prepare : callable
        Returns the prepared rows.
    n_learnt : int
        Number of the rows that it learns from: all, or a subsample.
    """

    view: int | None
    view_name: str
    learner: str
    rows: IntArray
    columns: IntArray
    prepare: Callable[[], PreparedRows]
    n_learnt: int = 0


def target_codes(targets: FloatArray) -> IntArray:
    """Return the class that the targets of each row are highest for, by which folds are stratified."""
    return (targets[:, 0] > 0).astype(np.intp) if targets.shape[1] == 1 else targets.argmax(axis=1)


@dataclass(frozen=True)
class Scale:
    """Scale of the columns of a view: centred, divided, cut off, and divided by a size once more.

    Attributes
    ----------
    centre, divisor, size : ndarray of shape (n_columns,)
    largest : float
        Where values are cut off.
    """

    centre: FloatArray
    divisor: FloatArray
    size: FloatArray
    largest: float

    def validate(self) -> None:
        """Check that there are as many numbers of each kind, and that none that is divided by is 0."""
        n_columns = len(check_array(self, "centre", np.float64, (None,)))
        for name in ("divisor", "size"):
            if not (check_array(self, name, np.float64, (n_columns,)) > 0).all():
                raise ValueError(f"{name} of a Scale has numbers that are not positive")
        check_number(self, "largest", least=0.0)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return scaled rows; a gap is at the centre."""
        scaled = (X - self.centre) / self.divisor
        np.nan_to_num(scaled, copy=False, nan=0.0, posinf=self.largest, neginf=-self.largest)
        np.clip(scaled, -self.largest, self.largest, out=scaled)
        scaled /= self.size
        return scaled


def possible_scales(X: FloatArray, view_columns: list[IntArray] | None = None) -> list[Scale]:
    """Return the scale in own units and, where it differs, the standardised one.

    With `view_columns`, the columns of each of several views side by side, every view counts alike.
    """
    scales = [unit_scale(X, view_columns)]
    _, spread = _moments(X)
    spread = spread[spread > 0]
    if len(spread) > 1 and np.log(spread).std() > SAME_UNITS:
        scales.append(standard_scale(X, view_columns))
    return scales


def unit_scale(X: FloatArray, view_columns: list[IntArray] | None = None) -> Scale:
    """Return the scale of rows with mean square 1 over all columns, which keep their units."""
    centre, spread = _moments(X)
    divisor = np.empty(X.shape[1])
    view_columns = [np.arange(X.shape[1])] if view_columns is None else view_columns
    for columns in view_columns:
        divisor[columns] = np.sqrt((spread[columns] ** 2).sum() * len(view_columns)) or 1.0
    return Scale(centre, divisor, np.ones(len(divisor)), LARGEST_VALUE)


def standard_scale(X: FloatArray, view_columns: list[IntArray] | None = None) -> Scale:
    """Return the scale of columns with variance 1, divided by the square root of their number in each view."""
    centre, spread = _moments(X)
    size = np.empty(X.shape[1])
    view_columns = [np.arange(X.shape[1])] if view_columns is None else view_columns
    for columns in view_columns:
        size[columns] = np.sqrt(max(1, int(np.count_nonzero(spread[columns]))) * len(view_columns))
    return Scale(centre, np.where(spread > 0, spread, 1.0), size, LARGEST_DEVIATION)


def rbf_gamma(scaled: FloatArray, width: float) -> float:
    """Return the factor of squared distances: the width over their mean, for rows about their mean."""
    spread = 2 * (scaled**2).sum(axis=1).mean()
    return float(width / spread) if spread > np.finfo(float).tiny else 0.0


def draw_subsample(n_rows: int, most: int, generator: np.random.Generator) -> BoolArray:
    """Return the mask of the rows that a machine is fitted on: all, or `most` of them drawn at random."""
    subsample = np.zeros(n_rows, dtype=bool)
    subsample[generator.permutation(n_rows)[:most] if n_rows > most else slice(None)] = True
    return subsample


def groups_among(groups: IntArray | None, rows: IntArray | BoolArray) -> IntArray | None:
    """Return the groups of some rows, numbered from 0 again; None where there are no groups."""
    return None if groups is None else np.unique(groups[rows], return_inverse=True)[1]


def folds_of_others(groups: IntArray, subsample: BoolArray, fold_of: IntArray) -> IntArray:
    """Return the fold of each row outside a subsample: that of its group, or `NO_FOLD` for a group outside it.

    Examples
    --------
    >>> groups, subsample = np.array([0, 0, 1, 1, 2]), np.array([True, False, True, False, False])
    >>> folds_of_others(groups, subsample, np.array([3, 4]))
    array([ 3,  4, -1])
    """
    fold_of_group = np.full(groups.max() + 1, NO_FOLD)
    fold_of_group[groups[subsample]] = fold_of
    return fold_of_group[groups[~subsample]]


def likelihood_shares(losses: FloatArray, n_rows: int, groups: IntArray | None = None) -> FloatArray:
    """Return the share of each fit in their average, by its out-of-fold loss: exp(−n/2 · loss / least loss).

    It is the Gaussian likelihood at the noise that the best fit leaves. With groups n is their number: rows of a group
    tell hardly more than one of them.

    Examples
    --------
    >>> likelihood_shares(np.array([10.0, 10.0, 20.0]), 100).round(3)
    array([0.5, 0.5, 0. ])
    """
    n = n_rows if groups is None else int(groups.max()) + 1
    least = losses.min()
    if not least > 0:
        shares = (losses <= 0).astype(float)
    else:
        shares = np.exp(-0.5 * n * (losses / least - 1))
    return shares / shares.sum()


def held_out_shares(losses: FloatArray, groups: IntArray | None = None) -> FloatArray:
    """Return the share of each fit in the average of every row, by the losses of the rows of other folds.

    With the shares of all rows a row's own error would decide which fits its value is taken from, and pure noise would
    look as if it could be predicted. It is for scores only: weights of arms were no better by such values.

    Parameters
    ----------
    losses : ndarray of shape (n_rows, n_fits)
        Out-of-fold loss of each row and fit.
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number are in the same fold.

    Returns
    -------
    ndarray of shape (n_rows, n_fits)
    """
    unit_of, fold_of = deal_folds(len(losses), groups)
    total, n_units = losses.sum(axis=0), int(unit_of.max()) + 1
    shares = np.empty(losses.shape)
    for fold in np.unique(fold_of):
        rows = fold_of == fold
        n_others = n_units - len(np.unique(unit_of[rows]))
        shares[rows] = likelihood_shares(np.maximum(total - losses[rows].sum(axis=0), 0.0), n_others)
    return shares


def _moments(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the columns, whatever their gaps; 0 for a constant column."""
    finite = np.isfinite(X)
    counts = np.maximum(finite.sum(axis=0), 1)
    values = np.clip(np.where(finite, X, 0.0), -LARGEST_VALUE, LARGEST_VALUE)
    centre = values.sum(axis=0) / counts
    deviations = np.where(finite, values - centre, 0.0)
    spread = np.sqrt((deviations**2).sum(axis=0) / counts)
    return centre, np.where(spread > 1e-10 * (np.abs(centre) + 1e-300), spread, 0.0)
