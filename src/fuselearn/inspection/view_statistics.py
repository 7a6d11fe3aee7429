"""Statistics of the views of a table: which rows have them, and how similar they are."""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np

from fuselearn.data import View
from fuselearn.inspection.fitted_model import FittedModel, read_views
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.typing import BoolArray, FloatArray, IntArray, TableLike

MIN_ROWS = 4
"""The unbiased estimate of redundancy divides by n - 3."""
MAX_ROWS = 20_000
"""More rows do not visibly change redundancy."""
NARROW = 256
"""Columns up to which a product of views is finished before a second BLAS thread has started."""


@dataclass(frozen=True)
class Missingness:
    """Counts of which rows have which views.

    Its parameters are its attributes.

    Parameters
    ----------
    view_names : list of str
        Names of the views.
    n_rows : int
        Number of rows.
    columns : int ndarray of shape (n_views,)
        Number of columns of each view.
    present : ndarray of shape (n_views,)
        Share of the rows that have the view.
    gaps : ndarray of shape (n_views,)
        Share of the cells that are NaN in the rows that have the view.
    patterns : list of dict
        Combinations of views that occur, the most frequent first: ``"views"``, the names of the views present;
        ``"rows"``, the number of rows; ``"share"``, the share of all rows.
    """

    view_names: list[str]
    n_rows: int
    columns: IntArray
    present: FloatArray
    gaps: FloatArray
    patterns: list[dict[str, Any]]

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per view.

        Returns
        -------
        list of dict
            ``"view"``, ``"columns"``, ``"present"`` and ``"gaps"`` of each view, in the order of `view_names`.
        """
        return [
            {"view": name, "columns": int(width), "present": float(present), "gaps": float(gaps)}
            for name, width, present, gaps in zip(self.view_names, self.columns, self.present, self.gaps)
        ]


def missingness(model_or_views: FittedModel, X: TableLike) -> Missingness:
    """Count which rows have which views, and the gaps inside the views that are present.

    Parameters
    ----------
    model_or_views : fitted classifier of fuselearn, dict, list or None
        The model whose views are counted, or views in the form that an estimator takes.
    X : array or data frame of shape (n_samples, n_features)
        A view is absent in a row if all its columns are NaN there.

    Returns
    -------
    Missingness
        Shares per view, and the patterns of views that occur together.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.inspection import missingness
    >>> X = np.array([[1.0, 2.0, 3.0], [np.nan, np.nan, 3.0], [4.0, np.nan, 5.0], [6.0, 7.0, 8.0]])
    >>> counts = missingness({"image": [0, 1], "text": [2]}, X)
    >>> counts.records()[0]
    {'view': 'image', 'columns': 2, 'present': 0.75, 'gaps': 0.16666666666666666}
    >>> counts.patterns[0]
    {'views': ['image', 'text'], 'rows': 3, 'share': 0.75}
    """
    blocks = read_views(model_or_views, X)
    names = [view.name for view in blocks]
    masks, counts = _distinct_rows(blocks.present)
    # Among patterns of equal frequency, the one with more views comes first.
    order = np.lexsort((-masks.sum(axis=1), -counts))
    patterns = [
        {
            "views": [name for name, present in zip(names, masks[number]) if present],
            "rows": int(counts[number]),
            "share": float(counts[number] / len(blocks)),
        }
        for number in order
    ]
    return Missingness(
        names,
        len(blocks),
        np.array([view.n_columns for view in blocks]),
        blocks.present.mean(axis=0),
        np.array([_share_of_gaps(view) for view in blocks]),
        patterns,
    )


def _distinct_rows(present: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the distinct rows of a mask, and how often each occurs."""
    # Packed into one byte string per row: rows of many columns are slow to sort.
    packed = np.packbits(present, axis=1)
    keys = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")[:, 0]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return present[first], counts


def _share_of_gaps(view: View) -> float:
    """Return the share of NaN among the cells of the rows that have the view."""
    cells = len(view) * view.n_columns
    return sum(np.isnan(block).sum() for _, _, block in view.blocks()) / cells if cells else 0.0


@dataclass(frozen=True)
class Redundancy:
    """Similarity of each pair of views.

    Its parameters are its attributes.

    Parameters
    ----------
    view_names : list of str
        Names of the views.
    matrix : ndarray of shape (n_views, n_views)
        Symmetric, in [0, 1], 1 on the diagonal; NaN for views that have fewer than four rows in common.
    n_rows : int ndarray of shape (n_views, n_views)
        Number of rows that have both views.
    """

    view_names: list[str]
    matrix: FloatArray
    n_rows: IntArray

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per pair of views, the most alike first.

        Returns
        -------
        list of dict
            ``"first"``, ``"second"``, ``"redundancy"`` and ``"rows"`` of each pair. Redundancy is None if it is
            unknown; such pairs come last.
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


def redundancy(model: FittedModel, X: TableLike) -> Redundancy:
    """Measure how alike views are, by linear centred kernel alignment.

    It compares which rows are near each other in two views: 1 means the same up to rotation and scale, 0 no linear
    relation at all.

    Parameters
    ----------
    model : fitted classifier of fuselearn, dict, list or None
        The model whose views are compared, or views in the form that an estimator takes.
    X : array or data frame of shape (n_samples, n_features)
        Two views are compared on the rows that have both. A gap inside a view counts as the mean of its column.

    Returns
    -------
    Redundancy
        The alignment of each pair of views, and the number of rows it was computed from.

    Notes
    -----
    Columns are standardised. The alignment is the debiased one [1]_ [2]_, with negative values set to 0: the plain one
    comes near 1 for views of pure noise that have more columns than rows. If there are more than 20,000 rows, a fixed
    random sample of them is compared.

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
    present = blocks.present.astype(np.float64)  # for BLAS: integer products are slow
    n_rows = (present.T @ present).astype(np.int64)
    matrix = np.eye(len(names))
    all_rows = _sampled(np.arange(len(blocks)))
    complete: dict[int, _StandardisedView] = {}  # views that all rows have, standardised once
    narrow = max(view.n_columns for view in blocks) <= NARROW
    with single_threaded_blas() if narrow else nullcontext():
        for a, b in combinations(range(len(names)), 2):
            if n_rows[a, b] < MIN_ROWS:
                matrix[a, b] = matrix[b, a] = np.nan
            elif n_rows[a, b] == len(blocks):
                for view in (a, b):
                    if view not in complete:
                        complete[view] = _StandardisedView.of(blocks.views[view], all_rows)
                matrix[a, b] = matrix[b, a] = _alignment(complete[a], complete[b])
            else:
                rows = _sampled(np.flatnonzero(blocks.present[:, a] & blocks.present[:, b]))
                pair = (_StandardisedView.of(blocks.views[view], rows) for view in (a, b))
                matrix[a, b] = matrix[b, a] = _alignment(*pair)
    return Redundancy(names, matrix, n_rows)


def _sampled(rows: IntArray) -> IntArray:
    """Return the rows, or a fixed random sample if there are very many."""
    if len(rows) <= MAX_ROWS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MAX_ROWS, replace=False))


@dataclass(frozen=True)
class _StandardisedView:
    """A view whose columns have mean 0 and deviation 1, with 0 in gaps and without constant columns."""

    values: FloatArray
    self_dependence: float

    @classmethod
    def of(cls, view: View, rows: IntArray) -> Self:
        """Standardise the given rows of a view."""
        values = view.table[np.ix_(rows, view.columns)].astype(np.float64)
        observed = ~np.isnan(values)
        largest = np.abs(values).max(axis=0, initial=0.0, where=observed)
        counts = np.maximum(observed.sum(axis=0), 1)
        # Twice, since the mean of large numbers is known only up to their rounding.
        for _ in range(2):
            values -= np.where(observed, values, 0.0).sum(axis=0) / counts
        values[~observed] = 0.0
        deviations = np.sqrt((values**2).mean(axis=0))
        varies = deviations > 1e-12 * largest
        values = values[:, varies] / deviations[varies]
        return cls(values, _dependence(values, values))


def _alignment(first: _StandardisedView, second: _StandardisedView) -> float:
    """Return the debiased CKA, in [0, 1]; 0 for a view that does not vary."""
    if first.self_dependence <= 0 or second.self_dependence <= 0:
        return 0.0
    shared = _dependence(first.values, second.values)
    # Rounded, so that a view and its copy have exactly 1.
    alignment = np.round(shared / np.sqrt(first.self_dependence * second.self_dependence), 12)
    return float(np.clip(alignment, 0.0, 1.0))


def _dependence(first: FloatArray, second: FloatArray) -> float:
    """Return the unbiased HSIC of [2] equation 5 with linear kernels, times n(n - 3).

    With K = A Aᵀ of centred columns, K 1 = 0, so that the sums of K without its diagonal d are those of -d: no table of
    n × n entries is needed.
    """
    n = len(first)
    diagonal, other_diagonal = np.einsum("ij,ij->i", first, first), np.einsum("ij,ij->i", second, second)
    if min(first.shape[1], second.shape[1]) > n:
        total = np.vdot(first @ first.T, second @ second.T)
    else:
        total = np.sum((first.T @ second) ** 2)
    both = diagonal @ other_diagonal
    return total - both + diagonal.sum() * other_diagonal.sum() / ((n - 1) * (n - 2)) - 2 * both / (n - 2)
