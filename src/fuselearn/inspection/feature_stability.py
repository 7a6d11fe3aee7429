"""Columns that matter: how often they are among the first in subsamples, and which are more than chance.

Every column gets a shadow: a column drawn so that it has the same correlations with all other columns of its view, but
knows nothing of the target beyond them (Gaussian model-X knockoffs; Candès, Fan, Janson, Lv, 2018). The model is fitted
on all rows with columns and shadows together. A column that the target does not depend on, given the others, is as
likely to be less important than its shadow as more. So the columns that are less important than their shadows show how
large differences by chance are, and each column gets a p-value, and from these a selection in which the expected share
of false ones is bounded (Benjamini and Hochberg, 1995). How stable importances are is seen in subsamples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn.base import is_classifier
from sklearn.covariance import ledoit_wolf
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_array, check_random_state

from fuselearn.arguments import check_choice, check_count, check_jobs, resolve_views
from fuselearn.classifiers.adapter import seeded_clone
from fuselearn.data.view_table import data_frame
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, RandomState, TableLike

MOST_EXPLAINED = 200
"""Rows that are explained, held-out ones of each subsample."""
HALF_NORMAL_SPREAD = float(np.sqrt(2 - 4 / np.pi))
"""Standard deviation of the difference of two half-normal numbers of scale 1."""
DRAWS = 7
"""Times that shadows are drawn: the p-value of a column is twice the median over them."""
LEAST_COUNT = 5
"""Columns less important than their shadows that are needed to know the size of chance."""


@dataclass(frozen=True)
class FeatureStability:
    """Importance of columns over subsamples, and a selection of them.

    Attributes
    ----------
    column_names : list of str
        Names of the columns.
    importances : ndarray of shape (n_columns,)
        Share of each column in the mean absolute contributions to held-out rows, mean over the subsamples.
    differences : ndarray of shape (n_columns,)
        Share of each column less that of its shadow, in models of all rows that have both, mean over draws of shadows.
    frequencies : ndarray of shape (n_columns,)
        Share of the subsamples in which a column is among the first `n_top`.
    n_top : int
        How many columns count as the first ones.
    p_values, q_values : ndarray of shape (n_columns,)
        Probability that a column without influence differs as much from its shadow; and the least bound on false
        discoveries at which it is selected.
    selected : bool ndarray of shape (n_columns,)
        Columns whose q-value is at most `fdr`.
    fdr : float
        Bound on the expected share of false ones among the selected columns.
    """

    column_names: list[str]
    importances: FloatArray
    differences: FloatArray
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
            With the columns ``column``, ``importance``, ``difference``, ``frequency``, ``p_value``, ``q_value`` and
            ``selected``.
        """
        order = np.lexsort((-self.importances, self.q_values))
        return data_frame(
            {
                "column": [self.column_names[column] for column in order],
                "importance": self.importances[order].tolist(),
                "difference": self.differences[order].tolist(),
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
        Rows that belong together, such as those of a patient: a group is in a subsample as a whole, or not at all.
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
        Seed of shadows, subsamples and models.

    Returns
    -------
    FeatureStability
        Importances, frequencies, p-values and the selection.

    Notes
    -----
    The bound rests on two assumptions: that columns are roughly jointly normal within their view, and independent
    between views apart from what the target explains; and that differences by chance are no heavier in their tails
    than a t-distribution. Of a few columns only (less than about 20) chance is known badly, and little is selected.

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
    table = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=8)
    target = np.asarray(y)
    if target.shape != (len(table),):
        raise ValueError(f"y must have an entry for each of the {len(table)} rows of X; got shape {target.shape}.")
    names, view_columns = resolve_views(model.views, X, table.shape[1])
    n_columns = table.shape[1]
    if n_top is None:
        n_top = min(n_columns, max(5, round(n_columns / 10)))
    check_count("n_top", n_top)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    views = dict(zip(names, view_columns))
    with_shadows = {name: np.concatenate([columns, columns + n_columns]) for name, columns in views.items()}

    def importances_of(number: int, views: Any, rows: FloatArray, fitted_on: Any, explained: Any) -> FloatArray:
        clone = seeded_clone(model, (seed, number), only_unset=False).set_params(views=views)
        clone.fit(rows[fitted_on], target[fitted_on])
        if measure == "explanation":
            importances = np.asarray(clone.explain(rows[explained]).importances("columns"))
        else:
            importances = _changes_by_shuffling(clone, rows[explained], np.random.default_rng([seed, 1, number]))
        total = importances.sum()
        return importances / total if total > 0 else importances

    jobs: list[tuple[Any, ...]] = []
    for number, (fitted_on, held_out) in enumerate(_halves(model, table, target, groups, n_subsamples, seed)):
        jobs.append((number, views, table, fitted_on, held_out[:MOST_EXPLAINED]))
    for number in range(n_subsamples, n_subsamples + DRAWS):
        generator = np.random.default_rng([seed, 0, number])
        both = np.hstack([table, shadow_columns(table, view_columns, generator)])
        jobs.append((number, with_shadows, both, slice(None), generator.permutation(len(table))[:MOST_EXPLAINED]))
    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(importances_of)(*job) for job in jobs)
    own, of_draws = np.array(found[:n_subsamples]), np.array(found[n_subsamples:])
    ranks = np.argsort(np.argsort(-own, axis=1, kind="stable"), axis=1)
    differences = of_draws[:, :n_columns] - of_draws[:, n_columns:]
    medians = np.median([chance_of_differences(of_draw) for of_draw in differences], axis=0)
    p_values = np.minimum(2 * medians, 1.0)  # valid however the draws depend on each other
    q_values = np.asarray(stats.false_discovery_control(p_values, method="bh"))
    return FeatureStability(
        [str(name) for name in getattr(X, "columns", [f"x{column}" for column in range(n_columns)])],
        own.mean(axis=0),
        differences.mean(axis=0),
        (ranks < n_top).mean(axis=0),
        int(n_top),
        p_values,
        q_values,
        q_values <= fdr,
        float(fdr),
    )


def _halves(
    model: Any, table: FloatArray, target: AnyArray, groups: ArrayLike, count: int, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """Return subsamples of half of the rows, by class or by group, and the rows outside of them."""
    settings = {"n_splits": count, "train_size": 0.5, "random_state": seed}
    if groups is not None:
        return list(GroupShuffleSplit(**settings).split(table, target, np.asarray(groups)))
    if is_classifier(model):
        return list(StratifiedShuffleSplit(**settings).split(table, target))
    return list(ShuffleSplit(**settings).split(table))


def _changes_by_shuffling(model: Any, rows: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Return by how much decisions change, in root mean square, when each column is shuffled between rows."""
    decide = model.decision_function if is_classifier(model) else model.predict
    before, changes = decide(rows), np.zeros(rows.shape[1])
    for column in range(rows.shape[1]):
        shuffled = rows.copy()
        known = np.flatnonzero(~np.isnan(rows[:, column]))
        shuffled[known, column] = rows[generator.permutation(known), column]
        changes[column] = np.sqrt(np.mean((decide(shuffled) - before) ** 2))
    return changes


def shadow_columns(table: FloatArray, view_columns: list[IntArray], generator: np.random.Generator) -> FloatArray:
    """Return a shadow of each column, drawn view by view: Gaussian knockoffs of shrunk covariances.

    Gaps of a column are those of its shadow. Columns in several views get the shadow of the last one.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        The columns.
    view_columns : list of intp ndarray
        Columns of each view.
    generator : numpy Generator
        Draws.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        The shadows.
    """
    shadows = np.array(table)
    for columns in view_columns:
        gaps = np.isnan(table[:, columns])
        n_known = np.maximum((~gaps).sum(axis=0), 1)
        means = np.where(gaps, 0.0, table[:, columns]).sum(axis=0) / n_known
        centred = np.where(gaps, 0.0, table[:, columns] - means)
        spread = np.sqrt((centred**2).sum(axis=0) / n_known)
        spread[spread == 0] = 1.0
        scaled = centred / spread
        covariance, _ = ledoit_wolf(scaled, assume_centered=True)
        root = np.sqrt(np.diag(covariance))
        root[root == 0] = 1.0
        correlation = covariance / np.outer(root, root)
        np.fill_diagonal(correlation, 1.0)
        # The same s for all columns, as large as 2Σ - s stays positive definite: shadows are as unlike as possible.
        s = float(np.clip(2 * np.linalg.eigvalsh(correlation)[0], 1e-6, 1.0)) * 0.999
        inverse_s = np.linalg.solve(correlation, np.eye(len(columns)) * s)
        mean = scaled @ (np.eye(len(columns)) - inverse_s)
        values, axes = np.linalg.eigh(2 * s * np.eye(len(columns)) - s * inverse_s)
        noise = generator.standard_normal(scaled.shape) * np.sqrt(np.maximum(values, 0.0))
        shadows[:, columns] = np.where(gaps, np.nan, (mean + noise @ axes.T) * spread + means)
    return shadows


def chance_of_differences(differences: FloatArray) -> FloatArray:
    """Return p-values of columns: the chance that one without influence is so much more important than its shadow.

    Importances of such columns are sizes of effects that are normal by chance. So the difference between one and its
    shadow is that of two half-normal numbers, of a scale that columns less important than their shadows tell.

    Parameters
    ----------
    differences : ndarray of shape (n_columns,)
        Importance of each column less that of its shadow.

    Returns
    -------
    ndarray of shape (n_columns,)
        One-sided p-values.
    """
    below = differences[differences < 0]
    if len(below) < LEAST_COUNT:  # chance is not known
        return np.where(differences > 0, 0.5, 1.0)
    scale = float(np.sqrt(np.mean(below**2))) / HALF_NORMAL_SPREAD
    # Over the size b of a shadow: the chance of an own size above b + difference, in either direction.
    b = np.linspace(0.0, 6.0, 301)
    weights = stats.halfnorm.pdf(b)
    chances = (
        2 * stats.t.sf(np.maximum(differences, 0.0)[:, None] / scale + b, df=len(below)) @ (weights / weights.sum())
    )
    return np.where(differences > 0, chances, 1.0)
