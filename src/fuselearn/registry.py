"""Names of methods and their estimators, for `compare` and the command line, and the list of all estimators.

Estimators are imported when a method makes one: to fit one method must not import the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

import fuselearn
from fuselearn.compared_classifiers import ClassLabels, UnmatchedRows
from fuselearn.compared_classifiers import svm as svm
from fuselearn.compared_classifiers import tuned_svm as tuned_svm
from fuselearn.typing import Estimator

ViewColumns: TypeAlias = Mapping[str, Any]
"""View name to column numbers."""
Methods: TypeAlias = str | Sequence[Any] | Mapping[str, Any]
"""The `methods` argument of `compare`."""

DEFAULT_ROUNDS = 150
GRADIENT_ROUNDS = 200
SINGLE = "view:"
"""Prefix of the name of a view that is to be judged alone."""


@dataclass(frozen=True)
class Method:
    """A way to fuse views.

    Parameters
    ----------
    name : str
        Name of the method, in tables and on the command line.
    make : callable of (views, n_estimators) to estimator
        Makes an unfitted estimator; `views` is a dict of view name to column numbers.
    only_view : str or None, default=None
        The one view that it uses; None for all.
    whole_views : bool, default=False
        Whether it needs all columns of a view that a row has, so that gaps are filled for it.
    folds : int, default=1
        Rows of each class that it needs to train on, for the folds it makes itself.
    rounds : int, default=150
        Rounds of boosting where none are asked for.
    one_label : bool, default=False
        Whether it takes the majority of the views' labels as the one label of a row.
    """

    name: str
    make: Callable[[ViewColumns, int], Any]
    only_view: str | None = None
    whole_views: bool = False
    folds: int = 1
    rounds: int = DEFAULT_ROUNDS
    one_label: bool = False

    def estimator(self, views: ViewColumns, n_estimators: int | None, seed: int) -> Any:
        """Return an unfitted estimator, with all its draws seeded, also those of the estimators inside it.

        Parameters
        ----------
        views : dict of str to sequence of int
            View name to column numbers.
        n_estimators : int or None
            Rounds of boosting; None is the method's own number.
        seed : int
            Every `random_state`.

        Returns
        -------
        estimator
            Not fitted.
        """
        estimator = self.make(views, n_estimators or self.rounds)
        names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state"]
        return estimator.set_params(**dict.fromkeys(names, seed))

    def takes_view_labels(self, views: ViewColumns) -> bool:
        """Check whether labels that differ between views are of use to it. What reads all columns needs one label.

        Parameters
        ----------
        views : dict of str to sequence of int
            View name to column numbers.

        Returns
        -------
        bool
            True where its `fit` takes `view_labels`.
        """
        estimator = self.make(views, 1)
        return (
            has_fit_parameter(estimator, "view_labels")
            and not self.one_label
            and not isinstance(estimator, fuselearn.ConcatenatedClassifier)
            and not grows_joint_trees(estimator)
        )


def grows_joint_trees(estimator: Any) -> bool:
    """Check whether an estimator is gradient boosting whose trees split on the columns of all views.

    Parameters
    ----------
    estimator : estimator
        Fitted or not.

    Returns
    -------
    bool
        True for gradient boosting with ``trees="joint"``, which takes one label of each row.
    """
    return getattr(estimator, "trees", None) == "joint"


def _adaboost(rounds: int) -> Any:
    """Return shared boosting of one view, which is AdaBoost with the same weak learner as the others."""
    return fuselearn.ShareBoostClassifier(n_estimators=rounds)


def _vote(classifier: Any, views: ViewColumns, voting: str = "majority") -> Any:
    """Return a vote of one classifier per view."""
    return fuselearn.ViewVotingClassifier(classifier, views=views, voting=voting)


def _stack(classifier: Any, views: ViewColumns, stack_method: str = "predict") -> Any:
    """Return a stack of one classifier per view."""
    return fuselearn.ViewStackingClassifier(classifier, views=views, stack_method=stack_method)


def _boost(views: ViewColumns, rounds: int, **settings: Any) -> Any:
    """Return shared boosting."""
    return fuselearn.ShareBoostClassifier(views=views, n_estimators=rounds, **settings)


def _independent(views: ViewColumns, rounds: int, **settings: Any) -> Any:
    """Return boosting of views that keep weights of their own."""
    return fuselearn.IndependentBoostClassifier(views=views, n_estimators=rounds, **settings)


def _gradient(views: ViewColumns, rounds: int, trees: str) -> Any:
    """Return gradient boosting."""
    return fuselearn.ShareGradientBoostingClassifier(views=views, trees=trees, n_estimators=rounds)


def _side_by_side(library: str, classifier: str, views: ViewColumns, **settings: Any) -> Any:
    """Return a classifier of another library on the columns of all views, on one core."""
    from sklearn.ensemble import VotingClassifier

    try:
        kind = getattr(import_module(library), classifier)
    except ImportError:
        package = library.partition(".")[0]
        raise ImportError(f"methods names {package!r}, which is not installed: pip install {package}.") from None
    # A vote of one encodes the classes as 0, 1, …, which XGBoost insists on.
    one = VotingClassifier([(classifier, kind(n_jobs=1, **settings))], voting="soft")
    return fuselearn.ConcatenatedClassifier(one, views=views)


def _by_class(ensemble: Any, views: ViewColumns, rounds: int) -> Any:
    """Return an ensemble of many labels as a classifier."""
    return ClassLabels(ensemble(n_estimators=rounds), views=views)


def _unmatched(views: ViewColumns, **settings: Any) -> Any:
    """Return tomographic fusion of rows whose matches are forgotten."""
    return UnmatchedRows(fuselearn.TomographicClassifier(**settings), views=views)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("fusion", lambda views, rounds: fuselearn.FusionClassifier(views=views)),
        Method("shareboost", lambda views, rounds: _boost(views, rounds)),
        Method("rshareboost", lambda views, rounds: _boost(views, rounds, view_policy="exp3p")),
        Method("bssd", lambda views, rounds: _boost(views, rounds, resample=True)),
        Method("iboost", lambda views, rounds: _independent(views, rounds)),
        Method("gradient", lambda views, rounds: _gradient(views, rounds, "joint"), rounds=GRADIENT_ROUNDS),
        Method("gradient_views", lambda views, rounds: _gradient(views, rounds, "per_view"), rounds=GRADIENT_ROUNDS),
        Method("adaboost_vote", lambda views, rounds: _vote(_adaboost(rounds), views)),
        Method(
            "adaboost_concatenated",
            lambda views, rounds: fuselearn.ConcatenatedClassifier(_adaboost(rounds), views=views),
        ),
        Method("svm_vote", lambda views, rounds: _vote(svm(), views)),
        Method("svm_sum", lambda views, rounds: _vote(svm(), views, "sum")),
        Method("svm_concatenated", lambda views, rounds: fuselearn.ConcatenatedClassifier(svm(), views=views)),
        Method("tuned_svm_vote", lambda views, rounds: _vote(tuned_svm(), views), whole_views=True, folds=10),
        Method("stacking", lambda views, rounds: _stack(svm(), views), folds=5),
        Method("stacking_decision", lambda views, rounds: _stack(svm(), views, "decision_function"), folds=5),
        Method("tuned_stacking", lambda views, rounds: _stack(tuned_svm(), views), whole_views=True, folds=10),
        Method(
            "super_kernel",
            lambda views, rounds: fuselearn.SuperKernelClassifier(views=views),
            whole_views=True,
            folds=5,
        ),
        Method(
            "mkl_uniform", lambda views, rounds: fuselearn.MKLClassifier(views=views), whole_views=True, one_label=True
        ),
        Method(
            "mkl",
            lambda views, rounds: fuselearn.MKLClassifier(views=views, weights="mkl"),
            whole_views=True,
            one_label=True,
        ),
        Method(
            "sdp",
            lambda views, rounds: fuselearn.MKLClassifier(views=views, weights="sdp"),
            whole_views=True,
            one_label=True,
        ),
    )
}
"""Methods that `compare` and `fuselearn fit` know by name."""
UNMATCHED_METHODS: dict[str, Method] = {
    "tomographic": Method(
        "tomographic", lambda views, rounds: fuselearn.TomographicClassifier(views=views), whole_views=True
    ),
    "augmented": Method(
        "augmented", lambda views, rounds: fuselearn.AugmentedKernelClassifier(views=views), whole_views=True
    ),
}
"""Methods for views whose objects are not matched, which `fuselearn fit` knows too."""
PAPER_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("bisd", lambda views, rounds: _independent(views, rounds, resample=True)),
        Method("shared_trees", lambda views, rounds: _boost(views, rounds, estimator="tree", resample=True)),
        Method("mssboost", lambda views, rounds: _by_class(fuselearn.MSSBoostClassifier, views, rounds), rounds=100),
        Method("nsboost", lambda views, rounds: _by_class(fuselearn.NSBoostClassifier, views, rounds), rounds=100),
        Method("rsbag", lambda views, rounds: _by_class(fuselearn.RSBagClassifier, views, rounds), rounds=100),
        Method("unmatched_tomographic", lambda views, rounds: _unmatched(views), whole_views=True, one_label=True),
        Method(
            "unmatched_cartesian",
            lambda views, rounds: _unmatched(views, correspondence="cartesian"),
            whole_views=True,
            one_label=True,
        ),
        Method(
            "unmatched_augmented",
            lambda views, rounds: UnmatchedRows(fuselearn.AugmentedKernelClassifier(), views=views),
            whole_views=True,
            one_label=True,
        ),
        Method(
            "matched_kernels",
            lambda views, rounds: fuselearn.TomographicClassifier(views=views),
            whole_views=True,
            one_label=True,
        ),
    )
}
"""More methods of the papers that `compare` knows by name: S0's BISD, S3's boosted trees on rows drawn by shared
weights, S2's and S4's. Those of S2 have a label for each class; those of S4 are trained on rows that are torn into
views, but for ``"matched_kernels"``, S4's benchmark: the same machine where the matches are known."""
LIBRARY_METHODS: dict[str, Method] = {
    "forest": Method(
        "forest",
        lambda views, rounds: _side_by_side("sklearn.ensemble", "RandomForestClassifier", views, n_estimators=500),
    ),
    "lightgbm": Method(
        "lightgbm",
        lambda views, rounds: _side_by_side("lightgbm", "LGBMClassifier", views, n_estimators=rounds, verbosity=-1),
        rounds=GRADIENT_ROUNDS,
    ),
    "xgboost": Method(
        "xgboost",
        lambda views, rounds: _side_by_side("xgboost", "XGBClassifier", views, n_estimators=rounds, verbosity=0),
        rounds=GRADIENT_ROUNDS,
    ),
}
"""What people use without fuselearn, on the columns of all views: `compare` knows it, too, where it is installed."""
DEFAULT = (
    "fusion",
    "shareboost",
    "rshareboost",
    "iboost",
    "gradient",
    "gradient_views",
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


def resolve_methods(methods: Methods, view_names: Sequence[str]) -> list[Method]:
    """Return the methods of a comparison.

    Parameters
    ----------
    methods : "default", "all", list of names and estimators, or dict of name to estimator or name
        A name is one of `METHODS`, `PAPER_METHODS` or `LIBRARY_METHODS`, or "view:" and the name of a view, alone.
        "default" and "all" have every view alone too, "all" also the `LIBRARY_METHODS` that are installed. An estimator
        is cloned; where it has a setting `views` that is None, it gets the views. In a list it has the name of its
        class.
    view_names : list of str
        Names of the views.

    Returns
    -------
    list of Method
        In the order of `methods`.

    Examples
    --------
    >>> from fuselearn.registry import resolve_methods
    >>> [method.name for method in resolve_methods(["fusion", "view:petal"], ["sepal", "petal"])]
    ['fusion', 'view:petal']
    """
    if isinstance(methods, Mapping):
        if not methods:
            raise ValueError("methods is empty; name at least one method.")
        names = [str(name) for name in methods]
        if len(set(names)) < len(names):
            raise ValueError(f"methods has two methods of one name: {names}.")
        return [_method_of(name, value, view_names) for name, value in zip(names, methods.values())]
    if isinstance(methods, str):
        if methods not in ("default", "all"):
            methods = [methods]
        else:
            installed = [name for name in LIBRARY_METHODS if name == "forest" or find_spec(name)]
            chosen = DEFAULT if methods == "default" else (*METHODS, *installed)
            methods = [*chosen, *(f"{SINGLE}{name}" for name in view_names)]
    if not isinstance(methods, list | tuple):
        raise TypeError(
            "methods must be 'default', 'all', a list of names and estimators, or a dict of name to estimator; got "
            f"{methods!r}."
        )
    methods = list(methods)
    if not methods:
        raise ValueError("methods is empty; name at least one method.")
    names = [method if isinstance(method, str) else type(method).__name__ for method in methods]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"methods names {repeated[0]!r} more than once; a dict gives estimators of one class different names."
        )
    return [_method_of(name, value, view_names) for name, value in zip(names, methods)]


def find_method(name: str, view_names: Sequence[str], *, unmatched: bool = False) -> Method:
    """Return the method of a name.

    Parameters
    ----------
    name : str
        One of `METHODS`, or "view:" and the name of a view.
    view_names : list of str
        Names of the views.
    unmatched : bool, default=False
        Whether methods for views whose objects are not matched are known, as `fuselearn fit` has them, in place of
        those of other libraries and `PAPER_METHODS`, as `compare` has them.

    Returns
    -------
    Method
        The method; a `ValueError` names similar ones where there is none of that name.

    Examples
    --------
    >>> from fuselearn.registry import find_method
    >>> find_method("stacking", ["sepal", "petal"]).folds
    5
    """
    methods = METHODS | (UNMATCHED_METHODS if unmatched else PAPER_METHODS | LIBRARY_METHODS)
    if name in methods:
        return methods[name]
    single = [f"{SINGLE}{view}" for view in view_names]
    if name not in single:
        known = [*methods, *single]
        near = get_close_matches(str(name), known, n=3)
        hint = f"; did you mean {', '.join(map(repr, near))}?" if near else f"; known are {', '.join(known)}."
        raise ValueError(f"methods names {name!r}, which is not known{hint}")
    view = name.removeprefix(SINGLE)
    return Method(name, lambda views, rounds: _vote(svm(), {view: views[view]}), only_view=view)


def all_estimators() -> list[tuple[str, type[Any]]]:
    """Return every public estimator of fuselearn, as scikit-learn's function of that name does.

    Returns
    -------
    list of (str, type)
        Name and class, in alphabetical order.

    Examples
    --------
    >>> from fuselearn import all_estimators
    >>> all_estimators()[0]
    ('AugmentedKernelClassifier', <class 'fuselearn.kernels.augmented.AugmentedKernelClassifier'>)
    """
    public = [(name, getattr(fuselearn, name)) for name in sorted(fuselearn._PACKAGE_OF)]
    return [(name, kind) for name, kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)]


def _method_of(name: str, method: Any, view_names: Sequence[str]) -> Method:
    """Return a method by its name in tables, given the name of a known method or an estimator."""
    if isinstance(method, str):
        return replace(find_method(method, view_names), name=name)
    return Method(name, _maker_of(name, method))


def _maker_of(name: str, estimator: Estimator) -> Callable[[ViewColumns, int], Any]:
    """Return what makes a user's estimator, with the views of the comparison where it has none of its own."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(f"methods has {estimator!r} for {name!r}; it must be a name or an unfitted estimator.")

    def make(views: ViewColumns, rounds: int) -> Any:
        copy = clone(estimator)
        if copy.get_params(deep=False).get("views", 0) is None:
            copy.set_params(views=views)
        return copy

    return make
