"""Forests of randomised trees, whose out-of-fold values of a row are those of the trees that did not draw it.

Where rows belong together, further trees are grown without whole folds of groups.
"""

from dataclasses import dataclass

import numpy as np

from fuselearn.classifiers.cross_fitting import (
    held_out_shares,
    likelihood_shares,
    mean_shifts,
    stratified_folds,
    target_codes,
)
from fuselearn.fusion.base_models import ArmFit
from fuselearn.numeric.forest import Forest, grow_forest
from fuselearn.persistence.validation import check_array, check_equal, check_parts
from fuselearn.typing import FloatArray, IntArray

MOST_TREES = 24
LEAST_TREES = 8
"""Trees of one fit and one size of leaves: fewer of them where they are large, since further fits bring more."""
ROWS_IN_ALL = 240_000
"""Rows that the trees of one fit read, as far as the two numbers allow."""
LEAVES = (5, 15)
"""Least numbers of rows in a leaf: small leaves for clean labels, larger ones for wrong ones. The forests of all sizes
are averaged, each weighted by its likelihood of the out-of-fold targets."""
MOST_FITS = 4
LEAST_ROWS = 4096
DRAWN = 0.25
"""A tree draws as many rows as there are, above LEAST_ROWS a quarter of them."""
FOLDS = 5
TREES_OF_A_FOLD = 8
"""Grown without a fold of the groups: about as many as leave a row out by not drawing it."""
MOST_VALUES = 2_000_000
"""Rows times columns that a tree looks at in a level; above it, nodes look at a share of the columns."""


class ForestRows:
    """Training rows of a view for randomised trees.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number belong together.
    mean_known : bool, default=False
        Whether the mean of the targets is known beforehand; then out-of-fold values are about it.
    """

    n_fits = MOST_FITS

    def __init__(
        self, rows: FloatArray, weights: FloatArray, groups: IntArray | None, mean_known: bool = False
    ) -> None:
        self._mean_known = mean_known
        self._fill = column_means(rows)
        self._columns = as_columns(rows, self._fill)
        self._weights, self._groups = weights, groups
        self._n_trees = int(np.clip(ROWS_IN_ALL // len(rows), LEAST_TREES, MOST_TREES))
        self._share = min(1.0, MOST_VALUES / (_n_drawn(len(rows)) * rows.shape[1]))

    def fit(self, targets: FloatArray, number: int, seed: np.random.SeedSequence) -> ArmFit:
        """Grow a forest for each size of leaves, and average them."""
        # A row that every tree has drawn, of which there are hardly any, gets the mean, at which classes are equal.
        mean = self._weights @ targets / self._weights.sum()
        shifts = mean_shifts(targets, self._weights) if self._mean_known else np.zeros_like(targets)
        forests, out_of_bag, out_of_fold, of_others = [], [], [], []
        for leaf, leaf_seed in zip(LEAVES, seed.spawn(len(LEAVES))):
            forest, totals, counts = self._grow(self._columns, targets, self._weights, self._n_trees, leaf, leaf_seed)
            forests.append(forest)
            # Trees of one leaf each know nothing, and their means differ by chance alone.
            known = (counts[:, None] > 0) & (not self._mean_known or bool((forest.feature >= 0).any()))
            means = totals / np.maximum(counts, 1)[:, None]
            out_of_bag.append(np.where(known, means + shifts, mean))
            if self._groups is None:
                of_others.append(np.where(known, means, mean))
                out_of_fold.append(out_of_bag[-1])
            else:
                values, shifts_of_folds = self._without_groups(targets, leaf, leaf_seed)
                of_others.append(values)
                out_of_fold.append(values + shifts_of_folds)
        losses = np.column_stack([self._weights * ((targets - values) ** 2).sum(axis=1) for values in out_of_fold])
        shares = likelihood_shares(losses.sum(axis=0), len(targets), self._groups)
        values = np.tensordot(shares, out_of_bag, axes=1)
        group_values = values if self._groups is None else np.tensordot(shares, out_of_fold, axes=1)
        # A score is of values that follow from nothing but other rows.
        scored = np.einsum("ir,rik->ik", held_out_shares(losses, self._groups), of_others)
        return ArmFit(group_values, values, ForestModel(forests, shares, self._fill), scored)

    def _without_groups(
        self, targets: FloatArray, leaf: int, seed: np.random.SeedSequence
    ) -> tuple[FloatArray, FloatArray]:
        """Return values of all rows by trees that have not seen their group, and what their mean lacks by that."""
        fold_of = stratified_folds(target_codes(targets), FOLDS, np.random.default_rng(seed), self._groups)
        values = np.empty(targets.shape)
        for fold, fold_seed in zip(np.unique(fold_of), seed.spawn(FOLDS)):
            held_out = fold_of == fold
            columns = np.ascontiguousarray(self._columns[:, ~held_out])
            forest, _, _ = self._grow(
                columns, targets[~held_out], self._weights[~held_out], TREES_OF_A_FOLD, leaf, fold_seed
            )
            values[held_out] = forest.predict(np.ascontiguousarray(self._columns[:, held_out]))
        known = self._mean_known
        return values, mean_shifts(targets, self._weights, fold_of) if known else np.zeros_like(targets)

    def _grow(
        self,
        columns: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        n_trees: int,
        leaf: int,
        seed: np.random.SeedSequence,
    ) -> tuple[Forest, FloatArray, IntArray]:
        return grow_forest(
            columns,
            targets,
            n_trees=n_trees,
            leaf=leaf,
            share=self._share,
            n_drawn=_n_drawn(len(targets)),
            seed=seed,
            weights=weights,
        )


@dataclass(frozen=True)
class ForestModel:
    """Forests, their shares in a mean, and the values that fill gaps."""

    forests: list[Forest]
    shares: FloatArray
    fill: FloatArray

    def validate(self) -> None:
        """Check the forests, and that they are of the same columns and targets."""
        forests: list[Forest] = check_parts(self, "forests", [Forest])
        for forest in forests:
            forest.validate()
        n_columns = len(check_array(self, "fill", np.float64, (None,)))
        check_equal(self, "columns", [n_columns, *(forest.n_columns for forest in forests)])
        check_equal(self, "targets", [forest.values.shape[1] for forest in forests])
        check_array(self, "shares", np.float64, (len(forests),))

    def predict(self, X: FloatArray) -> FloatArray:
        """Return values of shape (n_rows, n_targets)."""
        columns = as_columns(X, self.fill)
        return np.sum([share * forest.predict(columns) for share, forest in zip(self.shares, self.forests)], axis=0)


def _n_drawn(n_rows: int) -> int:
    return min(n_rows, max(LEAST_ROWS, round(DRAWN * n_rows)))


def column_means(rows: FloatArray) -> FloatArray:
    """Return the means of columns, whatever their gaps; 0 where there is no value."""
    finite = np.isfinite(rows)
    return np.where(finite, rows, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)


def as_columns(rows: FloatArray, fill: FloatArray) -> FloatArray:
    """Return columns one after the other, about their means, without gaps, in the precision that trees cut in."""
    largest = np.finfo(np.float32).max
    centred = np.clip(np.where(np.isnan(rows), 0.0, rows - fill), -largest, largest)
    return np.ascontiguousarray(centred.T, dtype=np.float32)
