"""Importance of each view to a fitted model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_regressor
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import get_tags

from fuselearn.arguments import check_choice, check_count, check_jobs, check_random_state
from fuselearn.inspection.fitted_model import (
    FittedModel,
    check_has,
    fitted_views,
    read_labels,
    read_rows,
    without_feature_names,
)
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, RandomState, TableLike

METHODS = ("share", "drop", "permutation")
Method: TypeAlias = Literal["share", "drop", "permutation"]
Scorer: TypeAlias = Callable[[FittedModel, FloatArray, AnyArray], float]


@dataclass(frozen=True)
class ViewImportance:
    """The importance of each view.

    Its parameters are its attributes.

    Parameters
    ----------
    view_names : list of str
        Names of the views.
    method : {"share", "drop", "permutation"}
        The measure of importance.
    mean : ndarray of shape (n_views,)
        Share in the model, or score lost without the view, mean over the repeats.
    std : ndarray of shape (n_views,)
        Standard deviation over the repeats; 0 if there is only one.
    baseline : float or None
        Score of the model with all views; None for "share".
    per_repeat : ndarray of shape (n_repeats, n_views)
        Importance in each repeat.
    """

    view_names: list[str]
    method: Method
    mean: FloatArray
    std: FloatArray
    baseline: float | None
    per_repeat: FloatArray

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per view, the most important first.

        Returns
        -------
        list of dict
            ``"view"``, ``"method"``, ``"mean"`` and ``"std"`` of each view.
        """
        order = np.argsort(-self.mean, kind="stable")
        return [
            {
                "view": self.view_names[view],
                "method": self.method,
                "mean": float(self.mean[view]),
                "std": float(self.std[view]),
            }
            for view in order
        ]


def view_importance(
    model: FittedModel,
    X: TableLike = None,
    y: ArrayLike = None,
    *,
    method: Method = "share",
    scoring: str | Scorer | None = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> ViewImportance:
    """Measure how much each view contributes to a fitted model.

    Parameters
    ----------
    model : fitted classifier or regressor of fuselearn
        The estimator itself, not a pipeline or search around it.
    X : array or data frame of shape (n_samples, n_features), default=None
        Held-out rows; "share" needs none. On the training rows a view looks more useful than it is.
    y : array of shape (n_samples,) or (n_samples, n_labels), default=None
        Their classes, or numbers for a regressor; for a multi-label model the indicator matrix.
    method : {"share", "drop", "permutation"}, default="share"
        "share" needs no data: the share of the vote Σ|α| that a view has in boosting (`view_importances_`), of the
        gain of all splits in gradient boosting, of the kernel weights, or for a multi-label model the mean of its
        shares in the votes for the labels. "drop" is the score that is lost when the view is absent (all NaN) in all
        rows; a model that does not accept NaN gets the mean of each column instead. "permutation" is the score that is
        lost when the rows of the view are shuffled, all its columns together.
    scoring : str, callable or None, default=None
        A scorer as in scikit-learn; higher is better. None is accuracy, for a multi-label model the mean accuracy over
        the labels, for a regressor R².
    n_repeats : int, default=5
        Number of shuffles of each view.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the shuffles.

    Returns
    -------
    ViewImportance
        Mean and standard deviation of the importance of each view.

    Notes
    -----
    "share" is the weight that a view has in the model, "drop" what is lost where the view cannot be measured,
    "permutation" what is lost where it is measured wrongly. A view that the model has overfitted has a share, and yet
    nothing is lost without it: only held-out rows show this. Two redundant views share the weight, and neither is
    missed when it is dropped: see :func:`redundancy`. A column that belongs to two views is absent from both when
    either is dropped or shuffled.

    Examples
    --------
    >>> from fuselearn import ShareBoostClassifier
    >>> from fuselearn.datasets import load_digit_views
    >>> from fuselearn.inspection import view_importance
    >>> X, views, y = load_digit_views(return_tuple=True)
    >>> model = ShareBoostClassifier(views=views, n_estimators=20).fit(X[:1000], y[:1000])
    >>> lost = view_importance(model, X[1000:], y[1000:], method="drop")
    >>> round(lost.baseline, 2)
    0.92
    >>> [record["view"] for record in lost.records()]
    ['edges', 'fourier', 'profiles', 'pixels']
    """
    check_choice("method", method, METHODS)
    check_count("n_repeats", n_repeats)
    check_jobs(n_jobs)
    names, columns = fitted_views(model)
    if method == "share":
        shares = _shares(model, columns)
        return ViewImportance(names, method, shares, np.zeros(len(names)), None, shares[None, :])
    score = _scorer(scoring, is_regressor(model))
    if X is None or y is None:
        raise ValueError(f"method={method!r} needs held-out X and y; method='share' needs neither.")
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    nameless = without_feature_names(model)
    baseline = score(nameless, table, y)
    fill, seed = None, 0
    if method == "drop":
        fill = None if get_tags(model).input_tags.allow_nan else _column_means(table)
        n_repeats = 1
    else:
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

    spare_tables: list[FloatArray] = []  # at most one per thread, however many views and repeats there are

    def score_without(repeat: int, number: int) -> float:
        try:
            changed = spare_tables.pop()
        except IndexError:
            changed = table.copy()
        view = columns[number]
        if method == "drop":
            changed[:, view] = np.nan if fill is None else fill[view]
        else:
            order = np.random.default_rng([seed, repeat, number]).permutation(len(table))
            changed[:, view] = table[np.ix_(order, view)]
        result = score(nameless, changed, y)
        changed[:, view] = table[:, view]
        spare_tables.append(changed)
        return result

    scores = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(score_without)(repeat, number) for repeat in range(n_repeats) for number in range(len(names))
    )
    lost = baseline - np.reshape(scores, (n_repeats, len(names)))
    return ViewImportance(names, method, lost.mean(axis=0), lost.std(axis=0), float(baseline), lost)


def _shares(model: FittedModel, columns: list[IntArray]) -> FloatArray:
    """Return the share of each view in what the model adds up."""
    if hasattr(model, "view_importances_"):
        return np.array(model.view_importances_, dtype=np.float64)
    if hasattr(model, "label_weights_"):
        return _multilabel_shares(np.abs(model.label_weights_), model.estimators_features_, columns)
    if not hasattr(model, "kernel_weights_"):
        check_has(model, "view_importances_", "use method='drop' or method='permutation' with held-out X and y.")
    weights = np.abs(model.kernel_weights_)
    return weights / weights.sum() if weights.sum() > 0 else weights


def _multilabel_shares(
    label_weights: FloatArray, model_columns: list[IntArray], view_columns: list[IntArray]
) -> FloatArray:
    """Return the mean over the labels of each view's share of Σ|α|. A base model draws its columns inside one view."""
    inside = np.array(
        [[np.isin(drawn, view).all() for view in view_columns] for drawn in model_columns], dtype=np.float64
    )
    # A base model that lies inside several overlapping views counts equally for each of them.
    inside /= inside.sum(axis=1, keepdims=True)
    votes = label_weights.T @ inside
    votes = votes[votes.sum(axis=1) > 0]
    if not len(votes):
        return np.zeros(len(view_columns))
    return (votes / votes.sum(axis=1, keepdims=True)).mean(axis=0)


def _scorer(scoring: str | Scorer | None, regression: bool) -> Scorer:
    """Return the scorer that `scoring` names or is."""
    if scoring is None:
        return get_scorer("r2") if regression else _accuracy
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            raise ValueError(f"scoring must be None, a function or the name of a scikit-learn scorer; got {scoring!r}.")
        return get_scorer(scoring)
    if not callable(scoring):
        raise ValueError(f"scoring must be None, a name or a function of (model, X, y); got {scoring!r}.")
    return scoring


def _accuracy(model: FittedModel, X: FloatArray, y: AnyArray) -> float:
    """Return the accuracy, for several labels its mean over them."""
    return float(np.mean(model.predict(X) == y))


def _column_means(table: FloatArray) -> FloatArray:
    """Return the mean of the observed values of each column; 0 where there are none."""
    observed = ~np.isnan(table)
    return np.where(observed, table, 0.0).sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
