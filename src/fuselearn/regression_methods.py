"""Names of methods that predict numbers, and their estimators, for `compare` and the command line; see `registry`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import fuselearn
from fuselearn.registry import GRADIENT_ROUNDS, SINGLE, Method, Methods, ViewColumns, resolve_methods


def _gradient(views: ViewColumns, rounds: int, trees: str) -> Any:
    """Return gradient boosting."""
    return fuselearn.ShareGradientBoostingRegressor(views=views, trees=trees, n_estimators=rounds)


def _side_by_side(package: str, kind: str, views: ViewColumns, **settings: Any) -> Any:
    """Return a regressor of another library, on the columns of all views."""
    return fuselearn.ConcatenatedRegressor(getattr(import_module(package), kind)(**settings), views=views)


def support_vector_regression() -> Any:
    """Return the plain support vector regression of a view, on standardised columns and targets.

    Returns
    -------
    :class:`sklearn.compose.TransformedTargetRegressor`
        Not fitted.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    machine = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), SVR())
    # Gaps are for the imputer; the check of the wrapper would refuse them.
    return TransformedTargetRegressor(machine, transformer=StandardScaler())


def ridge() -> Any:
    """Return a ridge of standardised columns whose strength is chosen by leave-one-out.

    Returns
    -------
    :class:`sklearn.pipeline.Pipeline`
        Not fitted.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    strengths = [10.0**power for power in range(-3, 5)]
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), RidgeCV(strengths))


REGRESSION_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("fusion", lambda views, rounds: fuselearn.FusionRegressor(views=views)),
        Method("gradient", lambda views, rounds: _gradient(views, rounds, "joint"), rounds=GRADIENT_ROUNDS),
        Method("gradient_views", lambda views, rounds: _gradient(views, rounds, "per_view"), rounds=GRADIENT_ROUNDS),
        Method(
            "svm_sum",
            lambda views, rounds: fuselearn.ViewVotingRegressor(support_vector_regression(), views=views),
            whole_views=True,
        ),
        Method(
            "svm_concatenated",
            lambda views, rounds: fuselearn.ConcatenatedRegressor(support_vector_regression(), views=views),
        ),
        Method("ridge_concatenated", lambda views, rounds: fuselearn.ConcatenatedRegressor(ridge(), views=views)),
        Method(
            "stacking",
            lambda views, rounds: fuselearn.ViewStackingRegressor(support_vector_regression(), views=views),
            whole_views=True,
        ),
    )
}
"""Methods that `compare` and `fuselearn fit` know by name where numbers are predicted."""
LIBRARY_REGRESSION_METHODS: dict[str, Method] = {
    "forest": Method(
        "forest",
        lambda views, rounds: _side_by_side("sklearn.ensemble", "RandomForestRegressor", views, n_estimators=500),
    ),
    "lightgbm": Method(
        "lightgbm",
        lambda views, rounds: _side_by_side("lightgbm", "LGBMRegressor", views, n_estimators=rounds, verbosity=-1),
        rounds=GRADIENT_ROUNDS,
    ),
    "xgboost": Method(
        "xgboost",
        lambda views, rounds: _side_by_side("xgboost", "XGBRegressor", views, n_estimators=rounds, verbosity=0),
        rounds=GRADIENT_ROUNDS,
    ),
}
"""What people use without fuselearn, on the columns of all views."""


def resolve_regression_methods(methods: Methods, view_names: Sequence[str]) -> list[Method]:
    """Return the methods of a comparison that predict numbers.

    Parameters
    ----------
    methods : "default", "all", list of names and estimators, or dict of name to estimator or name
        As for :func:`fuselearn.registry.resolve_methods`, with the names of `REGRESSION_METHODS`.
    view_names : list of str
        Names of the views.

    Returns
    -------
    list of Method
        In the order of `methods`.

    Examples
    --------
    >>> from fuselearn.regression_methods import resolve_regression_methods
    >>> [method.name for method in resolve_regression_methods(["fusion", "view:blood"], ["person", "blood"])]
    ['fusion', 'view:blood']
    """
    if isinstance(methods, str):
        if methods not in ("default", "all"):
            methods = [methods]
        else:
            installed = [name for name in LIBRARY_REGRESSION_METHODS if name == "forest" or find_spec(name)]
            single = [f"{SINGLE}{name}" for name in view_names]
            methods = [*REGRESSION_METHODS, *(installed if methods == "all" else []), *single]
    if isinstance(methods, list | tuple):
        names = [method if isinstance(method, str) else type(method).__name__ for method in methods]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"methods names {repeated[0]!r} more than once; a dict gives estimators of one class different names."
            )
        methods = dict(zip(names, methods))
    if not isinstance(methods, Mapping) or not methods:
        return resolve_methods(methods, view_names)  # which refuses it
    return [
        find_regression_method(value, view_names, name=str(name))
        if isinstance(value, str)
        else resolve_methods({name: value}, view_names)[0]
        for name, value in methods.items()
    ]


def find_regression_method(method: str, view_names: Sequence[str], *, name: str | None = None) -> Method:
    """Return the method of a name that predicts numbers.

    Parameters
    ----------
    method : str
        One of `REGRESSION_METHODS` or `LIBRARY_REGRESSION_METHODS`, or "view:" and the name of a view.
    view_names : list of str
        Names of the views.
    name : str or None, default=None
        How it is called in tables; None is `method`.

    Returns
    -------
    Method
        The method; a `ValueError` names similar ones where there is none of that name.

    Examples
    --------
    >>> from fuselearn.regression_methods import find_regression_method
    >>> find_regression_method("stacking", ["person", "blood"]).name
    'stacking'
    """
    methods = REGRESSION_METHODS | LIBRARY_REGRESSION_METHODS
    single = [f"{SINGLE}{view}" for view in view_names]
    if method in methods:
        return replace(methods[method], name=name or method)
    if method not in single:
        known = [*methods, *single]
        near = get_close_matches(str(method), known, n=3)
        hint = f"; did you mean {', '.join(map(repr, near))}?" if near else f"; known are {', '.join(known)}."
        raise ValueError(f"methods names {method!r}, which is not known where numbers are predicted{hint}")
    view = method.removeprefix(SINGLE)
    return Method(
        name or method,
        lambda views, rounds: fuselearn.ViewVotingRegressor(support_vector_regression(), views={view: views[view]}),
        only_view=view,
        whole_views=True,
    )
