"""Which rows have which views."""

from dataclasses import dataclass

import numpy as np

from fuselearn.inspection.fitted_model import read_views


@dataclass(frozen=True)
class Missingness:
    """Which rows have which views.

    Attributes
    ----------
    view_names : list of str
    n_rows : int
    columns : int ndarray of shape (n_views,)
        Number of columns of each view.
    present : ndarray of shape (n_views,)
        Share of the rows that have the view.
    gaps : ndarray of shape (n_views,)
        Share of the cells that are NaN in the rows that have the view.
    patterns : list of dict
        Which views are there together, the most frequent first: ``"views"``, their names; ``"rows"``, the number of
        rows; ``"share"``, of all rows.
    """

    view_names: list
    n_rows: int
    columns: np.ndarray
    present: np.ndarray
    gaps: np.ndarray
    patterns: list

    def records(self):
        """One dict per view: ``"view"``, ``"columns"``, ``"present"``, ``"gaps"``."""
        return [
            {"view": name, "columns": int(width), "present": float(present), "gaps": float(gaps)}
            for name, width, present, gaps in zip(self.view_names, self.columns, self.present, self.gaps)
        ]


def missingness(model_or_views, X):
    """Count which rows have which views, and where present views have gaps.

    Parameters
    ----------
    model_or_views : fitted classifier of fuselearn, dict, list or None
        Whose views; or views, as an estimator takes them.
    X : array or data frame of shape (n_samples, n_features)
        A view of a row is absent when all its columns are NaN there.

    Returns
    -------
    Missingness

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.inspection import missingness
    >>> X = np.array([[1.0, 2.0, 3.0], [np.nan, np.nan, 3.0], [4.0, np.nan, 5.0], [6.0, 7.0, 8.0]])
    >>> found = missingness({"image": [0, 1], "text": [2]}, X)
    >>> found.records()[0]
    {'view': 'image', 'columns': 2, 'present': 0.75, 'gaps': 0.16666666666666666}
    >>> found.patterns[0]
    {'views': ['image', 'text'], 'rows': 3, 'share': 0.75}
    """
    blocks = read_views(model_or_views, X)
    names = [view.name for view in blocks]
    kinds, counts = _kinds_of_rows(blocks.present)
    # Of patterns as frequent as others the one with more views comes first.
    order = np.lexsort((-kinds.sum(axis=1), -counts))
    patterns = [
        {
            "views": [name for name, here in zip(names, kinds[kind]) if here],
            "rows": int(counts[kind]),
            "share": float(counts[kind] / len(blocks)),
        }
        for kind in order
    ]
    return Missingness(
        names,
        len(blocks),
        np.array([view.n_columns for view in blocks]),
        blocks.present.mean(axis=0),
        np.array([_share_of_gaps(view) for view in blocks]),
        patterns,
    )


def _kinds_of_rows(present):
    """Distinct rows of a mask, and how often each occurs."""
    # As one byte string a row: rows of many columns are slow to sort.
    packed = np.packbits(present, axis=1)
    keys = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")[:, 0]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return present[first], counts


def _share_of_gaps(view):
    cells = len(view) * view.n_columns
    return sum(np.isnan(block).sum() for _, _, block in view.blocks()) / cells if cells else 0.0
