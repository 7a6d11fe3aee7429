"""The methods that a comparison knows by name.

The support vector machine of S0's, S1's and S3's comparisons, with its grid.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

from fuselearn.boosting import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.ensembles import (
    ConcatenatedClassifier,
    SuperKernelClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from fuselearn.estimators import check_count, check_flag, check_jobs
from fuselearn.fusion import FusionClassifier
from fuselearn.kernels import MKLClassifier

DEFAULT_ROUNDS = 150


@dataclass(frozen=True)
class Method:
    """A way to fuse views.

    Attributes
    ----------
    name : str
    make : callable of (views, n_estimators) to estimator
        `views` is a dict of name to column numbers.
    only_view : str or None
        The one view that it looks at.
    whole_views : bool
        Whether it needs all columns of a view that a row has, so that gaps are filled for it.
    folds : int
        Objects of each class that it needs to train on, for the folds it makes itself.
    """

    name: str
    make: Callable
    only_view: str | None = None
    whole_views: bool = False
    folds: int = 1

    def estimator(self, views, n_estimators, seed):
        """An unfitted estimator, with all its draws seeded, also those of what it is made of."""
        estimator = self.make(views, n_estimators or DEFAULT_ROUNDS)
        names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state"]
        return estimator.set_params(**dict.fromkeys(names, seed))

    def takes_view_labels(self, views):
        """Whether labels that differ between views are of use to it. One classifier of all columns needs one label."""
        estimator = self.make(views, 1)
        return has_fit_parameter(estimator, "view_labels") and not isinstance(estimator, ConcatenatedClassifier)


def svm():
    """The plain support vector machine of a view: means in gaps, standardised columns, RBF kernel, C = 1."""
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), SVC())


MAKERS = {
    "fusion": lambda views, rounds: FusionClassifier(views=views),
    "shareboost": lambda views, rounds: ShareBoostClassifier(views=views, n_estimators=rounds),
    "rshareboost": lambda views, rounds: ShareBoostClassifier(views=views, n_estimators=rounds, view_policy="exp3p"),
    "bssd": lambda views, rounds: ShareBoostClassifier(views=views, n_estimators=rounds, resample=True),
    "iboost": lambda views, rounds: IndependentBoostClassifier(views=views, n_estimators=rounds),
    # With one view shared boosting is AdaBoost, with the same weak learner as the others.
    "adaboost_vote": lambda views, rounds: ViewVotingClassifier(ShareBoostClassifier(n_estimators=rounds), views=views),
    "adaboost_concatenated": lambda views, rounds: ConcatenatedClassifier(
        ShareBoostClassifier(n_estimators=rounds), views=views
    ),
    "svm_vote": lambda views, rounds: ViewVotingClassifier(svm(), views=views, voting="majority"),
    "svm_sum": lambda views, rounds: ViewVotingClassifier(svm(), views=views, voting="sum"),
    "svm_concatenated": lambda views, rounds: ConcatenatedClassifier(svm(), views=views),
    "tuned_svm_vote": lambda views, rounds: ViewVotingClassifier(tuned_svm(), views=views, voting="majority"),
    "stacking": lambda views, rounds: ViewStackingClassifier(svm(), views=views, stack_method="predict"),
    "stacking_decision": lambda views, rounds: ViewStackingClassifier(
        svm(), views=views, stack_method="decision_function"
    ),
    "tuned_stacking": lambda views, rounds: ViewStackingClassifier(tuned_svm(), views=views, stack_method="predict"),
    "super_kernel": lambda views, rounds: SuperKernelClassifier(views=views),
    "mkl_uniform": lambda views, rounds: MKLClassifier(views=views),
    "mkl": lambda views, rounds: MKLClassifier(views=views, weights="mkl"),
    "sdp": lambda views, rounds: MKLClassifier(views=views, weights="sdp"),
}
DEFAULT = (
    "fusion",
    "shareboost",
    "rshareboost",
    "iboost",
    "adaboost_vote",
    "adaboost_concatenated",
    "svm_vote",
    "svm_sum",
    "svm_concatenated",
    "stacking",
    "super_kernel",
    "mkl_uniform",
    "mkl",
)
"""All but those that search a grid or solve a conic program, which take many times as long."""
WHOLE_VIEWS = ("tuned_svm_vote", "tuned_stacking", "super_kernel", "mkl_uniform", "mkl", "sdp")
FOLDS = {"stacking": 5, "stacking_decision": 5, "super_kernel": 5, "tuned_svm_vote": 10, "tuned_stacking": 10}
SINGLE = "view:"
"""What stands before the name of a view that is to be judged alone."""


def resolve_methods(methods, view_names):
    """The methods of a comparison.

    Parameters
    ----------
    methods : "default", "all", list of names, or dict of name to estimator
        A name is one of `MAKERS`, or "view:" and the name of a view, for that view alone. "default" and "all" have
        every view alone too. An estimator is cloned; where it has a setting `views` that is None, it gets the views.
    view_names : list of str

    Returns
    -------
    list of Method
    """
    if isinstance(methods, Mapping):
        if not methods:
            raise ValueError("methods is empty; name at least one method.")
        names = [str(name) for name in methods]
        if len(set(names)) < len(names):
            raise ValueError(f"methods has two methods of one name: {names}.")
        return [Method(name, _given(name, estimator)) for name, estimator in zip(names, methods.values())]
    if isinstance(methods, str):
        if methods not in ("default", "all"):
            methods = [methods]
        else:
            chosen = DEFAULT if methods == "default" else tuple(MAKERS)
            methods = [*chosen, *(f"{SINGLE}{name}" for name in view_names)]
    if not isinstance(methods, list | tuple):
        raise TypeError(f"methods must be 'default', 'all', a list of names or a dict of estimators; got {methods!r}.")
    methods = list(methods)
    if not methods:
        raise ValueError("methods is empty; name at least one method.")
    repeated = {name for name in methods if methods.count(name) > 1}
    if repeated:
        raise ValueError(f"methods names {sorted(map(str, repeated))[0]!r} more than once.")
    return [_named(name, view_names) for name in methods]


def _named(name, view_names):
    known = [*MAKERS, *(f"{SINGLE}{view}" for view in view_names)]
    if name not in known:
        near = get_close_matches(str(name), known, n=3)
        hint = f"; did you mean {', '.join(map(repr, near))}?" if near else f"; known are {known}."
        raise ValueError(f"methods names {name!r}, which is not known{hint}")
    if name in MAKERS:
        return Method(name, MAKERS[name], whole_views=name in WHOLE_VIEWS, folds=FOLDS.get(name, 1))
    view = name.removeprefix(SINGLE)
    return Method(name, lambda views, rounds: ViewVotingClassifier(svm(), views={view: views[view]}), view)


def _given(name, estimator):
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(f"methods has {estimator!r} for {name!r}; it must be an unfitted estimator.")

    def make(views, rounds):
        own = clone(estimator)
        if own.get_params(deep=False).get("views", 0) is None:
            own.set_params(views=views)
        return own

    return make


def tuned_svm(*, standardise=True, points=5, cv=10, n_jobs=None):
    """Support vector machine whose kernel width and C are chosen by cross-validation within the rows it is fitted on.

    S0 §5 and S3 §4: a Gaussian kernel exp(-‖x - x′‖² / σ²), σ and C in [10⁻², 10²], ten-fold cross-validation. They
    name the ranges and not the points; these are powers of ten.

    Parameters
    ----------
    standardise : bool, default=True
        Whether columns are brought to mean 0 and variance 1 first. The papers do not say; σ is in absolute numbers, so
        that without it the grid may lie far from the data.
    points : int, default=5
        Number of values of σ, and of C, evenly spaced in their logarithm.
    cv : int or splitter, default=10
    n_jobs : int, default=None
        Processes, over the grid and folds.

    Returns
    -------
    :class:`sklearn.model_selection.GridSearchCV`
        Not fitted. σ is ``gamma ** -0.5`` of its ``best_estimator_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ViewVotingClassifier
    >>> from fuselearn.registry import tuned_svm
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ViewVotingClassifier(tuned_svm(points=3, cv=3), views={"sepal": [0, 1], "petal": [2, 3]}).fit(X, y)
    >>> [search.best_params_["svc__C"] for search in model.estimators_]
    [1.0, 100.0]
    """
    check_flag("standardise", standardise)
    check_count("points", points)
    check_jobs(n_jobs)
    values = np.logspace(-2, 2, points) if points > 1 else np.ones(1)
    machine = make_pipeline(StandardScaler() if standardise else "passthrough", SVC())
    grid = {"svc__C": values.tolist(), "svc__gamma": (values**-2.0).tolist()}
    return GridSearchCV(machine, grid, cv=cv, n_jobs=n_jobs)
