"""How alike the views of the same objects are."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from threadpoolctl import threadpool_limits

from fuselearn.inspection.fitted_model import read_views

FEWEST_ROWS = 4
"""The unbiased estimate divides by n - 3."""
NARROW = 256
MOST_ROWS = 20_000
"""More rows change nothing that is seen."""


@dataclass(frozen=True)
class Redundancy:
    """How alike views are.

    Attributes
    ----------
    view_names : list of str
    matrix : ndarray of shape (n_views, n_views)
        Symmetric, in [0, 1], 1 on the diagonal; NaN for views that have fewer than four rows in common.
    n_rows : int ndarray of shape (n_views, n_views)
        Rows that have both views.
    """

    view_names: list
    matrix: np.ndarray
    n_rows: np.ndarray

    def records(self):
        """One dict per pair of views, the most alike first: ``"first"``, ``"second"``, ``"redundancy"``, ``"rows"``.

        Redundancy is None where it is not known; such pairs come last.
        """
        pairs = sorted(
            combinations(range(len(self.view_names)), 2), key=lambda pair: -np.nan_to_num(self.matrix[pair], nan=-1.0)
        )
        return [
            {
                "first": self.view_names[a],
                "second": self.view_names[b],
                "redundancy": None if np.isnan(self.matrix[a, b]) else float(self.matrix[a, b]),
                "rows": int(self.n_rows[a, b]),
            }
            for a, b in pairs
        ]


def redundancy(model, X):
    """Measure how alike views are, by linear centred kernel alignment.

    It compares which rows are near each other in two views: 1 means the same but for rotation and scale, 0 no linear
    relation at all.

    Parameters
    ----------
    model : fitted classifier of fuselearn, or dict, list or None
        Whose views; or views, as an estimator takes them.
    X : array or data frame of shape (n_samples, n_features)
        Two views are compared on the rows that have both. A gap inside a view counts as the mean of its column.

    Returns
    -------
    Redundancy

    Notes
    -----
    Columns are standardised. The alignment is the debiased one [1]_ [2]_, with negative values set to 0: the plain one
    comes near 1 for views of pure noise that have more columns than rows. Of more than 20,000 rows a fixed random
    sample is compared.

    References
    ----------
    .. [1] Kornblith, Norouzi, Lee, Hinton. Similarity of Neural Network Representations Revisited. ICML 2019.
    .. [2] Song, Smola, Gretton, Bedo, Borgwardt. Feature Selection via Dependence Maximization. JMLR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.inspection import redundancy
    >>> rng = np.random.default_rng(0)
    >>> rna, noise = rng.normal(size=(100, 5)), rng.normal(size=(100, 300))
    >>> X = np.hstack([rna, 2 * rna + 1, noise])
    >>> alike = redundancy({"rna": slice(0, 5), "protein": slice(5, 10), "noise": slice(10, None)}, X)
    >>> alike.records()[0]
    {'first': 'rna', 'second': 'protein', 'redundancy': 1.0, 'rows': 100}
    >>> bool(alike.matrix[0, 2] < 0.1)
    True
    """
    blocks = read_views(model, X)
    names = [view.name for view in blocks]
    present = blocks.present.astype(np.float64)  # for BLAS: products of whole numbers are slow
    n_rows = (present.T @ present).astype(np.int64)
    matrix = np.eye(len(names))
    everyone = _some(np.arange(len(blocks)))
    whole = {}  # views that all rows have, standardised once
    # Products of narrow tables are over before a second thread has begun.
    narrow = max(view.n_columns for view in blocks) <= NARROW
    with threadpool_limits(1 if narrow else None, user_api="blas"):
        for a, b in combinations(range(len(names)), 2):
            if n_rows[a, b] < FEWEST_ROWS:
                matrix[a, b] = matrix[b, a] = np.nan
            elif n_rows[a, b] == len(blocks):
                for view in (a, b):
                    if view not in whole:
                        whole[view] = _Standardised.of(blocks.views[view], everyone)
                matrix[a, b] = matrix[b, a] = _alignment(whole[a], whole[b])
            else:
                rows = _some(np.flatnonzero(blocks.present[:, a] & blocks.present[:, b]))
                pair = (_Standardised.of(blocks.views[view], rows) for view in (a, b))
                matrix[a, b] = matrix[b, a] = _alignment(*pair)
    return Redundancy(names, matrix, n_rows)


def _some(rows):
    """The rows, or of very many a sample that is always the same."""
    if len(rows) <= MOST_ROWS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))


@dataclass(frozen=True)
class _Standardised:
    """A view whose columns have mean 0 and deviation 1, with 0 in gaps and no constant columns.

    `own` is its dependence on itself.
    """

    values: np.ndarray
    own: float

    @classmethod
    def of(cls, view, rows):
        values = view.table[np.ix_(rows, view.columns)].astype(np.float64)
        observed = ~np.isnan(values)
        largest = np.abs(values).max(axis=0, initial=0.0, where=observed)
        counts = np.maximum(observed.sum(axis=0), 1)
        # Twice, since the mean of large numbers is known to their rounding only.
        for _ in range(2):
            values -= np.where(observed, values, 0.0).sum(axis=0) / counts
        values[~observed] = 0.0
        deviations = np.sqrt((values**2).mean(axis=0))
        varies = deviations > 1e-12 * largest
        values = values[:, varies] / deviations[varies]
        return cls(values, _dependence(values, values))


def _alignment(first, second):
    """Debiased CKA, in [0, 1]; 0 for a view that does not vary."""
    if first.own <= 0 or second.own <= 0:
        return 0.0
    shared = _dependence(first.values, second.values)
    # Rounding would tell a view from its copy.
    return float(np.clip(np.round(shared / np.sqrt(first.own * second.own), 12), 0.0, 1.0))


def _dependence(first, second):
    """Unbiased HSIC of [2] equation 5 with linear kernels, times n(n - 3).

    With K = A Aᵀ of centred columns, K 1 = 0, so that of K without its diagonal d the sums are those of -d: no table of
    n × n entries is needed.
    """
    n = len(first)
    own, other = np.einsum("ij,ij->i", first, first), np.einsum("ij,ij->i", second, second)
    if min(first.shape[1], second.shape[1]) > n:
        total = np.vdot(first @ first.T, second @ second.T)
    else:
        total = np.sum((first.T @ second) ** 2)
    both = own @ other
    return total - both + own.sum() * other.sum() / ((n - 1) * (n - 2)) - 2 * both / (n - 2)
