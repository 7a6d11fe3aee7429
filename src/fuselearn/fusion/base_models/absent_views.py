"""Absent views filled in from those that a row has, for the arms of all views side by side.

Rows with all views become rare when views are missing here and there: with three views and 40 % of them missing, one
row in five has all. To learn how views act together from all rows, an absent one is filled in by what the others say of
it, in a model of probabilistic principal components (Tipping and Bishop 1999): a row is x = centre + L z + noise, with
z of a few normal components and L the loadings. It is fitted by expectation maximisation on the cells that there are,
and an absent view is filled with its mean given the present ones. Labels have no part in it, so that out-of-fold values
stay what they are: by models that have not seen the label of the row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, qr

from fuselearn.data import ViewBlocks
from fuselearn.fusion.base_models.kernel_machines import Scale, standard_scale
from fuselearn.persistence.validation import check_array, check_number, check_part
from fuselearn.typing import BoolArray, FloatArray, IntArray

LEAST_ROWS = 10
"""Rows that have a view and another one, which are needed to fill it in."""
MOST_COMPONENTS = 60
ROWS_OF_A_COMPONENT = 4
"""Rows that each component needs."""
PRIOR_ROWS = 30.0
"""Rows that speak for loadings of 0: a view that hardly any row has is hardly filled in."""
MOST_STEPS, LEAST_CHANGE = 50, 1e-4
"""Steps of expectation maximisation, which end when the noise changes by less than this share."""
SUBSPACE_STEPS = 4
"""Products with the table that the first loadings are found by."""
LEAST_NOISE = 1e-9
"""Of the variance of the cells."""
PATTERNS_AT_ONCE = 256
"""Patterns of views whose equations are solved at a time."""


@dataclass(frozen=True)
class ViewImputer:
    """Fills in absent views.

    Attributes
    ----------
    columns : intp ndarray of shape (n_columns,)
        Columns of `X`, view by view.
    view_of : intp ndarray of shape (n_columns,)
        The view of each of them.
    scale : Scale
        Of the same columns.
    loadings : ndarray of shape (n_columns, n_components)
    noise : float
        Variance of a scaled cell about what the components say.
    """

    columns: IntArray
    view_of: IntArray
    scale: Scale
    loadings: FloatArray
    noise: float

    def validate(self) -> None:
        """Check that columns, scale and loadings are of the same columns."""
        n_columns = len(check_array(self, "columns", np.integer, (None,), at_least=0))
        check_array(self, "view_of", np.integer, (n_columns,), at_least=0)
        scale = check_part(self, "scale", Scale)
        scale.validate()
        if len(scale.centre) != n_columns:
            raise ValueError(f"a ViewImputer of {n_columns} columns has a scale of {len(scale.centre)}")
        check_array(self, "loadings", np.float64, (n_columns, None))
        if not check_number(self, "noise", least=0.0) > 0:
            raise ValueError("the noise of a ViewImputer is not above 0")

    def check(self, view_columns: list[IntArray], n_features: int) -> None:
        """Refuse an imputer, read from a file, of other views than those of its model."""
        if not np.array_equal(self.columns, np.concatenate(view_columns)) or self.columns.max() >= n_features:
            raise ValueError("it fills in other columns than those of its views")
        if not np.array_equal(self.view_of, np.repeat(np.arange(len(view_columns)), [len(c) for c in view_columns])):
            raise ValueError("it fills in columns of other views")

    def filled(self, table: FloatArray, present: BoolArray) -> FloatArray:
        """Return a copy of rows of `X` with their absent views filled in; gaps in views that they have are left."""
        filled = np.array(table, dtype=np.float64)
        rows = np.flatnonzero(~present.all(axis=1))
        if not len(rows):
            return filled
        cells = np.ix_(rows, self.columns)
        scaled, absent = self.scale(filled[cells]), ~present[rows][:, self.view_of]
        grams = _grams(self.loadings, self.view_of, present.shape[1])
        components, _ = _Patterns(present[rows]).solve(grams, self.noise, scaled @ self.loadings)
        expected = (components @ self.loadings.T) * self.scale.size * self.scale.divisor + self.scale.centre
        filled[cells] = np.where(absent, expected, filled[cells])
        return filled


def fit_view_imputer(
    blocks: ViewBlocks, groups: IntArray | None, has_time: Callable[[], bool] = lambda: True
) -> ViewImputer | None:
    """Fit the model of how views go together.

    None where every row that has a view has all of them, or where too few rows, or those of one group only, tell how
    some view goes with others. No step of expectation maximisation begins once `has_time` is False; after
    none, the model is that of the first principal components.
    """
    present, having = blocks.present, blocks.has_view
    if present[having].all():
        return None
    together = present & (present.sum(axis=1) > 1)[:, None]
    if together.sum(axis=0).min() < LEAST_ROWS:
        return None
    if groups is not None and any(len(np.unique(groups[rows])) < 2 for rows in together.T):
        return None
    columns = np.concatenate([view.columns for view in blocks.views])
    view_of = np.repeat(np.arange(len(blocks.views)), [len(view.columns) for view in blocks.views])
    rows = blocks.views[0].table[:, columns].astype(np.float64)
    scale = standard_scale(rows, [np.flatnonzero(view_of == view) for view in range(len(blocks.views))])
    scaled, present = scale(rows[having]), present[having]
    # Loadings are sums of the rows of their view, so that of more columns than rows as many coordinates tell all.
    bases = [_row_space(scaled[present[:, view]][:, view_of == view]) for view in range(present.shape[1])]
    coordinates = np.hstack([scaled[:, view_of == view] @ basis for view, basis in enumerate(bases)])
    coordinate_view = np.repeat(np.arange(len(bases)), [basis.shape[1] for basis in bases])
    loadings, noise = _fit_components(coordinates, coordinate_view, present, np.bincount(view_of), has_time)
    back = [basis @ loadings[coordinate_view == view] for view, basis in enumerate(bases)]
    return ViewImputer(columns, view_of, scale, np.vstack(back), noise)


def _row_space(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis, as columns, of a space that has all the rows."""
    n_rows, n_columns = rows.shape
    if n_columns <= n_rows:
        return np.eye(n_columns)
    values, vectors = eigh(rows @ rows.T)
    kept = values > 1e-12 * max(values.max(initial=0.0), np.finfo(float).tiny)
    return rows.T @ (vectors[:, kept] / np.sqrt(values[kept]))


def _fit_components(
    table: FloatArray,
    view_of: IntArray,
    present: BoolArray,
    n_columns: IntArray,
    has_time: Callable[[], bool] = lambda: True,
) -> tuple[FloatArray, float]:
    """Return loadings and the variance of the noise, by expectation maximisation; `n_columns` are those of the views.

    The table has 0 in the cells of absent views.
    """
    n_views = present.shape[1]
    n_components = max(1, min(MOST_COMPONENTS, len(table) // ROWS_OF_A_COMPONENT, table.shape[1]))
    n_cells, total = float((present @ n_columns).sum()), float((table**2).sum())
    if not total > 0:
        return np.zeros((table.shape[1], n_components)), 1.0
    loadings = _first_loadings(table, n_components)
    noise = max(total / n_cells - float((loadings**2).sum()) / n_columns.sum(), LEAST_NOISE * total / n_cells)
    patterns = _Patterns(present)
    for _ in range(MOST_STEPS):
        if not has_time():
            break
        components, spreads = patterns.solve(_grams(loadings, view_of, n_views), noise, table @ loadings)
        error = total
        for view in range(n_views):
            of_view = view_of == view
            of_rows = components[present[:, view]]
            second_moments = of_rows.T @ of_rows + spreads[view]
            moments = second_moments + PRIOR_ROWS * np.eye(n_components)
            sums = table[:, of_view].T @ components
            loadings[of_view] = cho_solve(cho_factor(moments), sums.T).T
            error += float(
                np.sum((loadings[of_view].T @ loadings[of_view]) * second_moments)
                - 2 * np.sum(sums * loadings[of_view])
            )
        before, noise = noise, max(error, LEAST_NOISE * total) / n_cells
        if abs(noise - before) < LEAST_CHANGE * before:
            break
    return loadings, noise


def _first_loadings(table: FloatArray, n_components: int) -> FloatArray:
    """Return loadings of about the largest principal components."""
    basis = np.random.default_rng(0).normal(size=(table.shape[1], n_components))
    for _ in range(SUBSPACE_STEPS):
        basis = qr(table.T @ (table @ basis), mode="economic")[0]
    sizes = np.sqrt(((table @ basis) ** 2).mean(axis=0))
    return basis * sizes


def _grams(loadings: FloatArray, view_of: IntArray, n_views: int) -> FloatArray:
    """Return LᵀL of the columns of each view."""
    return np.array([loadings[view_of == view].T @ loadings[view_of == view] for view in range(n_views)])


class _Patterns:
    """The patterns of views that rows have, by which the equations of their components differ.

    Parameters
    ----------
    present : bool ndarray of shape (n_rows, n_views)
    """

    def __init__(self, present: BoolArray) -> None:
        patterns, pattern_of, counts = np.unique(present, axis=0, return_inverse=True, return_counts=True)
        self._patterns, self._counts = patterns.astype(np.float64), counts
        self._order = np.argsort(np.ravel(pattern_of), kind="stable")
        self._ends = np.cumsum([0, *counts])

    def solve(self, grams: FloatArray, noise: float, products: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve (Σ LᵀL + noise · I) z = Lᵀx for the components z of all rows; `products` are their Lᵀx.

        Returns
        -------
        components : ndarray of shape (n_rows, n_components)
        spreads : ndarray of shape (n_views, n_components, n_components)
            Sum of the covariance matrices of the components, over the rows that have each view.
        """
        ordered, spreads = products[self._order], np.zeros_like(grams)
        for numbers, inverses in self._inverses(grams, noise):
            for number, inverse in zip(range(numbers.start, numbers.stop), inverses):
                rows = slice(self._ends[number], self._ends[number + 1])
                ordered[rows] = ordered[rows] @ inverse
            counted = self._patterns[numbers] * (noise * self._counts[numbers, None])
            spreads += np.tensordot(counted, inverses, axes=(0, 0))
        components = np.empty_like(products)
        components[self._order] = ordered
        return components, spreads

    def _inverses(self, grams: FloatArray, noise: float) -> Iterator[tuple[slice, FloatArray]]:
        """Yield some patterns at a time, and the inverses of their equations."""
        ridge = noise * np.eye(grams.shape[1])
        for start in range(0, len(self._patterns), PATTERNS_AT_ONCE):
            numbers = slice(start, min(start + PATTERNS_AT_ONCE, len(self._patterns)))
            inverses = np.linalg.inv(np.tensordot(self._patterns[numbers], grams, axes=1) + ridge)
            yield numbers, (inverses + inverses.transpose(0, 2, 1)) / 2
