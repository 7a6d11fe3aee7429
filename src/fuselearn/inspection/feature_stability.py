"""Columns that matter: how often they are among the first in subsamples, and which the target depends on.

How stable importances are is seen in subsamples. Columns that the target depends on, beyond all others, are selected by
the p-values of two tests (`column_tests`), so that the expected share of false ones is bounded (Benjamini and Hochberg,
1995).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn.base import clone
from sklearn.utils import check_array

from fuselearn.arguments import check_choice, check_count, check_jobs, check_random_state, resolve_views
from fuselearn.boosting.gradient.gradient_base import monotonic_signs
from fuselearn.data.categories import categorical_columns
from fuselearn.data.folds import encode_groups
from fuselearn.data.table_columns import frame_of
from fuselearn.data.view_table import data_frame
from fuselearn.inspection.column_tests import LabelledRows, TrendTest, batches, changes_by_shuffling, gain_chances
from fuselearn.inspection.conditional_columns import ConditionalColumns
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, RandomState, TableLike

MOST_EXPLAINED = 200
"""Rows that are explained, held-out ones of each subsample."""
MOST_REDRAWS = 5
"""Subsamples in which columns are drawn anew."""
SHARE_OF_TREND = 0.8
"""Share of the probability of an error that the test of trends has; the test of gains has the rest."""


@dataclass(frozen=True)
class FeatureStability:
    """Importance of columns over subsamples, and a selection of them.

    Attributes
    ----------
    column_names : list of str
        Names of the columns.
    importances : ndarray of shape (n_columns,)
        Share of each column in the mean absolute contributions to held-out rows, mean over the subsamples.
    frequencies : ndarray of shape (n_columns,)
        Share of the subsamples in which a column is among the first `n_top`. Columns of the same importance share the
        last places; one without any importance is never among the first.
    n_top : int
        How many columns count as the first ones.
    p_values, q_values : ndarray of shape (n_columns,)
        Probability that a column that the target does not depend on, given all others, looks as much as if it did; and
        the least bound on false discoveries at which it is selected. 1 for columns in no view.
    selected : bool ndarray of shape (n_columns,)
        Columns whose q-value is at most `fdr`.
    fdr : float
        Bound on the expected share of false ones among the selected columns.
    """

    column_names: list[str]
    importances: FloatArray
    frequencies: FloatArray
    n_top: int
    p_values: FloatArray
    q_values: FloatArray
    selected: AnyArray
    fdr: float

    def to_frame(self) -> Any:
        """Return a data frame with a line per column, the one of the smallest q-value first.

        Returns
        -------
        data frame
            With the columns ``column``, ``importance``, ``frequency``, ``p_value``, ``q_value`` and ``selected``.
        """
        order = np.lexsort((-self.importances, self.q_values))
        return data_frame(
            {
                "column": [self.column_names[column] for column in order],
                "importance": self.importances[order].tolist(),
                "frequency": self.frequencies[order].tolist(),
                "p_value": self.p_values[order].tolist(),
                "q_value": self.q_values[order].tolist(),
                "selected": self.selected[order].tolist(),
            }
        )


def feature_stability(
    model: Any,
    X: TableLike,
    y: ArrayLike,
    *,
    groups: ArrayLike = None,
    n_subsamples: int = 20,
    n_top: int | None = None,
    fdr: float = 0.1,
    measure: Literal["explanation", "permutation"] = "explanation",
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> FeatureStability:
    """Find the columns that matter, with how stable that is, and bound the share of false ones.

    Parameters
    ----------
    model : estimator of fuselearn with `views` and `explain`
        Clones of it are fitted; whether it is fitted itself does not matter.
    X : array or data frame of shape (n_samples, n_features)
        Rows of numbers; NaN where a view is missing.
    y : array of shape (n_samples,)
        Their classes, or numbers for a regressor.
    groups : array of shape (n_samples,), default=None
        Rows that belong together, such as those of a patient: a group is in a subsample or fold as a whole, or not at
        all, and is one observation in the tests.
    n_subsamples : int, default=20
        Subsamples of half of the rows; the model is fitted on each.
    n_top : int or None, default=None
        Columns that count as the first ones; None is a tenth of them, but at least five.
    fdr : float, default=0.1
        Bound on the expected share of false ones among the selected columns, between 0 and 1.
    measure : {"explanation", "permutation"}, default="explanation"
        Importance of a column: its mean absolute contribution to the decisions on held-out rows, or by how much these
        change (root mean square) when its values are shuffled between the held-out rows.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of subsamples, folds, draws and models.

    Returns
    -------
    FeatureStability
        Importances, frequencies, p-values and the selection.

    Notes
    -----
    The bound rests on what the other columns tell of a column: that it is roughly linear in normal scores, and that the
    rows are enough to know it, or else that the model predicts well what other columns do. A few columns are no harder
    than many. The model is fitted `n_subsamples` + 10 times, and predicts all rows (of many, 5,000) twice for each
    column, and held-out rows in ten subsamples.

    References
    ----------
    R. D. Shah, J. Peters. *The hardness of conditional independence testing and the generalised covariance measure.*
    Annals of Statistics 48 (2020).
    W. Tansey, V. Veitch, H. Zhang, R. Rabadan, D. M. Blei. *The holdout randomization test for feature selection in
    black box models.* Journal of Computational and Graphical Statistics 31 (2022).

    Examples
    --------
    >>> from fuselearn import ShareGradientBoostingClassifier
    >>> from fuselearn.inspection import feature_stability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 30))
    >>> y = (X[:, 0] + X[:, 20] > 0).astype(int)
    >>> model = ShareGradientBoostingClassifier(views={"a": slice(0, 15), "b": slice(15, 30)}, n_estimators=20)
    >>> found = feature_stability(model, X, y, n_subsamples=5, random_state=0)
    >>> np.flatnonzero(found.selected).tolist()
    [0, 20]
    """
    check_count("n_subsamples", n_subsamples)
    check_jobs(n_jobs)
    check_choice("measure", measure, ("explanation", "permutation"))
    if isinstance(fdr, bool) or not isinstance(fdr, int | float | np.number) or not 0 < fdr < 1:
        raise ValueError(f"fdr must be a number between 0 and 1, such as 0.1; got {fdr!r}.")
    if not hasattr(model, "explain") or not hasattr(model, "views"):
        raise ValueError(f"model must be an estimator of fuselearn that has views and explain; got {model!r:.80}.")
    _check_columns(X)
    table = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=8)
    target = np.asarray(y)
    if target.shape != (len(table),):
        raise ValueError(f"y must have an entry for each of the {len(table)} rows of X; got shape {target.shape}.")
    names, view_columns = resolve_views(model.views, X, table.shape[1])
    model = clone(model).set_params(views=dict(zip(names, view_columns)), **_settings_by_number(model, X, table))
    n_columns = table.shape[1]
    if n_top is None:
        n_top = min(n_columns, max(5, round(n_columns / 10)))
    check_count("n_top", n_top)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    units = np.arange(len(table)) if groups is None else encode_groups(groups, len(table), np.arange(len(table)))
    data = LabelledRows(model, table, target, units, seed, groups is not None)
    subsamples = data.halves(n_subsamples)
    folds = data.folds()
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    jobs = enumerate([fitted_on for fitted_on, _ in subsamples + folds])
    models = run(delayed(data.fit)(number, rows) for number, rows in jobs)

    def importances_of(number: int) -> FloatArray:
        rows = subsamples[number][1][:MOST_EXPLAINED]
        if measure == "explanation":
            importances = np.asarray(models[number].explain(table[rows]).importances("columns"))
        else:
            importances = changes_by_shuffling(data, models[number], rows, number)
        total = importances.sum()
        return importances / total if total > 0 else importances

    importances = np.array(run(delayed(importances_of)(number) for number in range(n_subsamples)))
    used = np.unique(np.concatenate(view_columns))
    conditional = ConditionalColumns(table[:, used])
    trends = TrendTest(data, conditional, used, models[n_subsamples:], folds)
    parts = batches(len(used), trends.n_cells)
    chances = np.concatenate(run(delayed(trends.chances)(places) for places in parts))
    gains = run(
        delayed(gain_chances)(data, conditional, used, models[number], subsamples[number][1], number)
        for number in range(min(n_subsamples, MOST_REDRAWS))
    )
    # Twice the median is valid however the subsamples depend on each other.
    of_gains = np.median(gains, axis=0) * (1 if len(gains) == 1 else 2)
    p_values, q_values = np.ones((2, table.shape[1]))
    p_values[used] = np.minimum(np.minimum(chances / SHARE_OF_TREND, of_gains / (1 - SHARE_OF_TREND)), 1.0)
    q_values[used] = stats.false_discovery_control(p_values[used], method="bh")
    return FeatureStability(
        [str(name) for name in getattr(X, "columns", [f"x{column}" for column in range(n_columns)])],
        importances.mean(axis=0),
        np.mean([_shares_of_first(of_subsample, n_top) for of_subsample in importances], axis=0),
        int(n_top),
        p_values,
        q_values,
        q_values <= fdr,
        float(fdr),
    )


def _check_columns(X: TableLike) -> None:
    """Refuse a data frame with columns that do not hold numbers, by name."""
    frame = frame_of(X, eager_only=True)
    for name in [] if frame is None else frame.columns:
        try:
            np.asarray(frame[name].to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"X must have columns of numbers, but {name!r} holds {frame.schema[name]}. Replace text by numbers; "
                "where the model has categorical_features, name the column there."
            ) from None


def _settings_by_number(model: Any, X: TableLike, table: FloatArray) -> dict[str, Any]:
    """Return the settings of a model that name columns or types of X, for arrays, in which there are neither."""
    settings = model.get_params(deep=False)
    by_number: dict[str, Any] = {}
    if "categorical_features" in settings:
        columns = categorical_columns(settings["categorical_features"], X, table.shape[1])
        by_number["categorical_features"] = columns.tolist() if len(columns) else None
    if isinstance(settings.get("monotonic_cst"), Mapping):
        features = {"n_features_in_": table.shape[1], "feature_names_in_": getattr(X, "columns", None)}
        by_number["monotonic_cst"] = monotonic_signs(settings["monotonic_cst"], features).tolist()
    return by_number


def _shares_of_first(importances: FloatArray, n_top: int) -> FloatArray:
    """Return 1 for the first columns and 0 for others; equal ones share the last places, and 0 has none.

    Examples
    --------
    >>> _shares_of_first(np.array([3.0, 1.0, 1.0, 0.0]), 2)
    array([1. , 0.5, 0.5, 0. ])
    """
    least = np.sort(importances)[-min(n_top, len(importances))]
    before, equal = importances > least, importances == least
    shares = before + equal * ((n_top - before.sum()) / equal.sum())
    first: FloatArray = np.where(importances > 0, np.minimum(shares, 1.0), 0.0)
    return first
