"""Forests of randomised trees, whose values of a row are those of the trees that did not draw it.

Rows that belong together want other trees as well, grown without all of them.
"""

from dataclasses import dataclass

import numpy as np

from fuselearn.classifiers.cross_fitting import stratified_folds
from fuselearn.fusion.base_models.protocol import ArmFit, codes_of_targets
from fuselearn.fusion.base_models.scaling import n_observations
from fuselearn.numeric.forest import grow_forest
from fuselearn.numeric.ridge import likelihoods

MOST_TREES = 24
LEAST_TREES = 8
"""Trees of one fit and one size of leaves: fewer of them where they are large, since further fits bring more."""
ROWS_IN_ALL = 240_000
"""Rows that the trees of one fit read, as far as the two numbers allow."""
LEAVES = (5, 15)
"""Least numbers of rows in a leaf: small leaves for clean labels, larger ones for wrong ones. The forests of all sizes
are averaged, each weighted by its likelihood of the targets that its trees did not draw."""
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
    """

    n_fits = MOST_FITS

    def __init__(self, rows, weights, groups):
        self._fill = _centres(rows)
        self._columns = _as_columns(rows, self._fill)
        self._weights, self._groups = weights, groups
        self._n_trees = int(np.clip(ROWS_IN_ALL // len(rows), LEAST_TREES, MOST_TREES))
        self._share = min(1.0, MOST_VALUES / (_n_drawn(len(rows)) * rows.shape[1]))

    def fit(self, targets, number, seed):
        # A row that every tree has drawn, of which there are hardly any, gets the mean, at which classes are equal.
        mean = self._weights @ targets / self._weights.sum()
        forests, values, apart = [], [], []
        for leaf, leaf_seed in zip(LEAVES, seed.spawn(len(LEAVES))):
            forest, totals, heard = self._grow(self._columns, targets, self._weights, self._n_trees, leaf, leaf_seed)
            forests.append(forest)
            values.append(np.where(heard[:, None] > 0, totals / np.maximum(heard, 1)[:, None], mean))
            apart.append(values[-1] if self._groups is None else self._without_groups(targets, leaf, leaf_seed))
        losses = [self._weights @ ((targets - said) ** 2).sum(axis=1) for said in apart]
        shares = likelihoods(np.array(losses), n_observations(self._groups, len(targets)))
        values = np.tensordot(shares, values, axes=1)
        apart = values if self._groups is None else np.tensordot(shares, apart, axes=1)
        return ArmFit(values, apart, ForestModel(forests, shares, self._fill))

    def _without_groups(self, targets, leaf, seed):
        """Values of all rows by trees that have seen none of their group."""
        fold_of = stratified_folds(codes_of_targets(targets), FOLDS, np.random.default_rng(seed), self._groups)
        said = np.empty(targets.shape)
        for fold, fold_seed in zip(np.unique(fold_of), seed.spawn(FOLDS)):
            held_out = fold_of == fold
            columns = np.ascontiguousarray(self._columns[:, ~held_out])
            grown = self._grow(columns, targets[~held_out], self._weights[~held_out], TREES_OF_A_FOLD, leaf, fold_seed)
            said[held_out] = grown[0].predict(np.ascontiguousarray(self._columns[:, held_out]))
        return said

    def _grow(self, columns, targets, weights, n_trees, leaf, seed):
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
    """Forests, what each counts, and what they put into gaps."""

    forests: list
    shares: np.ndarray
    fill: np.ndarray

    def predict(self, X):
        columns = _as_columns(X, self.fill)
        return sum(share * forest.predict(columns) for share, forest in zip(self.shares, self.forests))


def _n_drawn(n_rows):
    return min(n_rows, max(LEAST_ROWS, round(DRAWN * n_rows)))


def _centres(rows):
    heard = np.isfinite(rows)
    return np.where(heard, rows, 0.0).sum(axis=0) / np.maximum(heard.sum(axis=0), 1)


def _as_columns(rows, fill):
    """Columns one after the other, about their means and without gaps, in the precision that trees cut in."""
    largest = np.finfo(np.float32).max
    centred = np.clip(np.where(np.isnan(rows), 0.0, rows - fill), -largest, largest)
    return np.ascontiguousarray(centred.T, dtype=np.float32)
