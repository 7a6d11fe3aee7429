"""What each view is worth to a fitted model."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import check_random_state, get_tags

from fuselearn.estimators import check_choice, check_count, check_jobs
from fuselearn.inspection.fitted_model import check_has, forgetful, read_labels, read_rows, views_of

METHODS = ("share", "drop", "permutation")


@dataclass(frozen=True)
class ViewImportance:
    """What each view is worth.

    Attributes
    ----------
    view_names : list of str
    method : {"share", "drop", "permutation"}
    mean : ndarray of shape (n_views,)
        Share of the vote, or score lost without the view, mean over the repeats.
    std : ndarray of shape (n_views,)
        Standard deviation over the repeats; 0 where there is one only.
    baseline : float or None
        Score of the model as it is; None for "share".
    per_repeat : ndarray of shape (n_repeats, n_views)
    """

    view_names: list
    method: str
    mean: np.ndarray
    std: np.ndarray
    baseline: float | None
    per_repeat: np.ndarray

    def records(self):
        """One dict per view, the most important first: ``"view"``, ``"method"``, ``"mean"``, ``"std"``."""
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
    model, X=None, y=None, *, method="share", scoring=None, n_repeats=5, n_jobs=None, random_state=None
):
    """Measure what each view is worth to a fitted model.

    Parameters
    ----------
    model : fitted classifier of fuselearn
    X : array or data frame of shape (n_samples, n_features), default=None
        Held-out rows. On the rows that a model was fitted on, a view looks more useful than it is.
    y : array of shape (n_samples,) or (n_samples, n_labels), default=None
    method : {"share", "drop", "permutation"}, default="share"
        "share" needs no data: the share of the vote Σ|α| that a view has in boosting (`view_importances_`), its share
        of the kernel weights, or for several labels the mean of its shares in their votes. "drop" is the score that is
        lost when the view is absent (all NaN) in all rows; a model that takes no NaN gets the mean of each column
        instead. "permutation" is the score that is lost when the rows of the view are shuffled, all its columns
        together.
    scoring : str, callable or None, default=None
        What scikit-learn takes; higher is better. None is accuracy, for several labels its mean over them.
    n_repeats : int, default=5
        Number of shuffles of each view.
    n_jobs : int, default=None
        Threads. The result is the same for any number.
    random_state : int, RandomState or None, default=None
        Seed of the shuffles.

    Returns
    -------
    ViewImportance

    Notes
    -----
    "share" says what the model listens to, "drop" what is lost where the view cannot be measured, "permutation" what is
    lost where it is measured wrongly. A view that was learnt by heart has a share of the vote, and yet nothing is lost
    without it: only held-out rows tell. Two views that say the same share the vote, and neither is missed when it drops
    out: see :func:`redundancy`. A column that belongs to two views is gone from both when either is dropped or
    shuffled.

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
    names, columns = views_of(model)
    if method == "share":
        shares = _shares(model, columns)
        return ViewImportance(names, method, shares, np.zeros(len(names)), None, shares[None, :])
    score = _scorer(scoring)
    if X is None or y is None:
        raise ValueError(f"method={method!r} needs held-out X and y; method='share' does without.")
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    bare = forgetful(model)
    baseline = score(bare, table, y)
    if method == "drop":
        fill = None if get_tags(model).input_tags.allow_nan else _column_means(table)
        n_repeats = 1
    else:
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

    spare = []  # one table for each thread at most, whatever the number of views and repeats

    def score_without(repeat, number):
        try:
            changed = spare.pop()
        except IndexError:
            changed = table.copy()
        view = columns[number]
        if method == "drop":
            changed[:, view] = np.nan if fill is None else fill[view]
        else:
            order = np.random.default_rng([seed, repeat, number]).permutation(len(table))
            changed[:, view] = table[np.ix_(order, view)]
        result = score(bare, changed, y)
        changed[:, view] = table[:, view]
        spare.append(changed)
        return result

    scores = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(score_without)(repeat, number) for repeat in range(n_repeats) for number in range(len(names))
    )
    lost = baseline - np.reshape(scores, (n_repeats, len(names)))
    return ViewImportance(names, method, lost.mean(axis=0), lost.std(axis=0), float(baseline), lost)


def _shares(model, columns):
    """Share of each view in what the model adds up."""
    if hasattr(model, "view_importances_"):
        return np.array(model.view_importances_, dtype=np.float64)
    if hasattr(model, "label_weights_"):
        return _shares_of_labels(np.abs(model.label_weights_), model.estimators_features_, columns)
    instead = "use method='drop' or method='permutation' with held-out X and y."
    if not hasattr(model, "kernel_weights_"):
        check_has(model, "view_importances_", instead)
    weights = np.abs(model.kernel_weights_)
    return weights / weights.sum() if weights.sum() > 0 else weights


def _shares_of_labels(weights, features, columns):
    """Mean over the labels of each view's share of Σ|α|. A base model draws its columns inside one view."""
    inside = np.array([[np.isin(some, view).all() for view in columns] for some in features], dtype=np.float64)
    # Of overlapping views, all that a base model may be of have an equal part of it.
    inside /= inside.sum(axis=1, keepdims=True)
    votes = weights.T @ inside
    votes = votes[votes.sum(axis=1) > 0]
    if not len(votes):
        return np.zeros(len(columns))
    return (votes / votes.sum(axis=1, keepdims=True)).mean(axis=0)


def _scorer(scoring):
    if scoring is None:
        return _accuracy
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            raise ValueError(f"scoring must be None, a function or a name that scikit-learn knows; got {scoring!r}.")
        return get_scorer(scoring)
    if not callable(scoring):
        raise ValueError(f"scoring must be None, a name or a function of (model, X, y); got {scoring!r}.")
    return scoring


def _accuracy(model, X, y):
    return float(np.mean(model.predict(X) == y))


def _column_means(table):
    """Mean of what was observed of each column; 0 where nothing was."""
    observed = ~np.isnan(table)
    return np.where(observed, table, 0.0).sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
