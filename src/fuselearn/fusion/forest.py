"""Forests of randomised trees, whose values of a row are those of the trees that did not draw it."""

from dataclasses import dataclass

import numpy as np

from fuselearn.fusion.arm_protocol import ArmFit
from fuselearn.numeric.randomised_trees import grow_forest
from fuselearn.numeric.spectral_ridge import likelihoods

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
MOST_VALUES = 2_000_000
"""Rows times columns that a tree looks at in a level; above it, nodes look at a share of the columns."""


class ForestRows:
    """Training rows of a view for randomised trees.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
    """

    n_fits = MOST_FITS

    def __init__(self, rows, weights):
        self._fill = _centres(rows)
        self._columns = _as_columns(rows, self._fill)
        self._weights = weights
        self._n_drawn = min(len(rows), max(LEAST_ROWS, round(DRAWN * len(rows))))
        self._n_trees = int(np.clip(ROWS_IN_ALL // len(rows), LEAST_TREES, MOST_TREES))
        self._share = min(1.0, MOST_VALUES / (self._n_drawn * rows.shape[1]))

    def fit(self, targets, number, seed):
        forests, values, losses = [], [], []
        for leaf, leaf_seed in zip(LEAVES, seed.spawn(len(LEAVES))):
            forest, totals, heard = grow_forest(
                self._columns,
                targets,
                n_trees=self._n_trees,
                leaf=leaf,
                share=self._share,
                n_drawn=self._n_drawn,
                seed=leaf_seed,
                weights=self._weights,
            )
            # A row that every tree has drawn, of which there are hardly any, gets the mean, at which classes are equal.
            mean = self._weights @ targets / self._weights.sum()
            said = np.where(heard[:, None] > 0, totals / np.maximum(heard, 1)[:, None], mean)
            forests.append(forest)
            values.append(said)
            losses.append(self._weights @ ((targets - said) ** 2).sum(axis=1))
        shares = likelihoods(np.array(losses), len(targets))
        return ArmFit(np.tensordot(shares, values, axes=1), ForestModel(forests, shares, self._fill))


@dataclass(frozen=True)
class ForestModel:
    """Forests, what each counts, and what they put into gaps."""

    forests: list
    shares: np.ndarray
    fill: np.ndarray

    def predict(self, X):
        columns = _as_columns(X, self.fill)
        return sum(share * forest.predict(columns) for share, forest in zip(self.shares, self.forests))


def _centres(rows):
    heard = np.isfinite(rows)
    return np.where(heard, rows, 0.0).sum(axis=0) / np.maximum(heard.sum(axis=0), 1)


def _as_columns(rows, fill):
    """Columns one after the other, about their means and without gaps, in the precision that trees cut in."""
    largest = np.finfo(np.float32).max
    centred = np.clip(np.where(np.isnan(rows), 0.0, rows - fill), -largest, largest)
    return np.ascontiguousarray(centred.T, dtype=np.float32)
