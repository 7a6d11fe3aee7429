"""The adapter of scikit-learn classifiers: what a classifier can do, checks of it, and clones with their own seeds."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeGuard, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fuselearn.data import TrainingData, View, encode_known, per_view
from fuselearn.typing import AnyArray, Classifier, FloatArray

if TYPE_CHECKING:
    from sklearn.frozen import FrozenEstimator

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Fitted = TypeVar("Fitted", bound=Any)


def seeded_clone(
    estimator: Fitted,
    seed: int | tuple[int, ...] | np.random.SeedSequence | np.random.Generator,
    *,
    only_unset: bool = True,
) -> Fitted:
    """Return a clone in which every `random_state` has a number of its own, which depends on the seed alone.

    So it does not matter in which thread a clone is fitted. With `only_unset`, numbers that the user has set stay. A
    frozen estimator is returned as it is.
    """
    copy = clone(estimator)
    if is_frozen(copy):
        return copy
    names = sorted(
        name
        for name, value in copy.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and (value is None or not only_unset)
    )
    if isinstance(seed, np.random.Generator):
        numbers = [int(seed.integers(2**31)) for _ in names]
    else:
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        numbers = [int(state >> 1) for state in sequence.generate_state(len(names))]
    copy.set_params(**dict(zip(names, numbers)))
    return copy


def weight_parameter(estimator: Any) -> str | None:
    """Return the name under which `fit` takes row weights, or None; a pipeline and a search pass them on."""
    # Imported where they are needed, here and below: predictions of a saved model start a tenth sooner.
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, Pipeline | GridSearchCV | RandomizedSearchCV):
        if get_config()["enable_metadata_routing"]:
            requested = estimator.get_metadata_routing().consumes("fit", ["sample_weight"])
            return "sample_weight" if requested else None
        if isinstance(estimator, Pipeline):
            step, last = estimator.steps[-1]
            inner = weight_parameter(last)
            return None if inner is None else f"{step}__{inner}"
        return weight_parameter(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def takes_nan(estimator: Any) -> bool:
    """Return whether a classifier takes NaN; one without scikit-learn's tags is assumed to."""
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, Pipeline):
        # A pipeline's own tag is False whatever its steps are. A scaler passes NaN on to the next step, an imputer does
        # not; it is recognised by its name.
        for _, step in estimator.steps:
            if step in (None, "passthrough"):
                continue
            if not takes_nan(step):
                return False
            if "Imputer" in type(step).__name__:
                return True
        return True
    tags = _tags(estimator)
    return True if tags is None else bool(tags.input_tags.allow_nan)


def gives_values(estimator: Any) -> bool:
    """Return whether a classifier, fitted or not, has decision values or probabilities."""
    return hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")


def is_frozen(estimator: Any) -> "TypeGuard[FrozenEstimator]":
    """Return whether the user fitted the classifier and wants it left as it is."""
    from sklearn.frozen import FrozenEstimator

    return isinstance(estimator, FrozenEstimator)


def check_classifier(estimator: Any, what: str = "estimator", expected: str = "a scikit-learn classifier") -> None:
    """Refuse what cannot be fitted as a classifier, before any work is done; `what` names the argument."""
    if inspect.isclass(estimator):
        raise TypeError(f"The {what} must be an instance, not a class; pass {estimator.__name__}().")
    for method in ("fit", "predict", "get_params"):
        if not hasattr(estimator, method):
            raise TypeError(f"The {what} must be {expected}; got {estimator!r}, which has no {method} method.")
    tags = _tags(estimator)
    if tags is not None and tags.estimator_type not in (None, "classifier"):
        raise TypeError(f"The {what} must be a classifier; got {estimator!r}, which is a {tags.estimator_type}.")
    if is_frozen(estimator):
        try:
            check_is_fitted(estimator)
        except NotFittedError:
            raise ValueError(
                f"The {what} is frozen but not fitted; fit it first, or pass it without FrozenEstimator."
            ) from None


def check_values(estimator: Classifier, what: str, needed_by: str) -> None:
    """Refuse a classifier that predicts labels only, where decision values are needed."""
    if not gives_values(estimator):
        raise TypeError(
            f"{needed_by} needs a classifier with decision_function or predict_proba; the {what}, {estimator!r}, has "
            "neither."
        )


def check_one_column_per_class(estimator: Classifier, what: str, n_classes: int) -> None:
    """Refuse decision values of pairs of classes: with three classes they would be taken for those of the classes."""
    if n_classes < 3:
        return
    for name, value in estimator.get_params(deep=True).items():
        if name.split("__")[-1] == "decision_function_shape" and value != "ovr":
            raise ValueError(
                f"The {what} has {name}={value!r}, whose decision values are of pairs of classes; set it to 'ovr'."
            )


def check_takes_weights(estimator: Classifier, what: str) -> None:
    """Refuse a classifier that takes no row weights, where the user gave some."""
    if not is_frozen(estimator) and weight_parameter(estimator) is None:
        raise TypeError(
            f"sample_weight was given, but the {what}, {estimator!r}, takes none; leave sample_weight out, or use a "
            "classifier whose fit has it."
        )


def view_estimators(estimator: Any, data: TrainingData, default: Classifier | None = None) -> list[Classifier]:
    """Return the classifier of each view, checked against the training data.

    Parameters
    ----------
    estimator : classifier, list or dict
        As the user gave it: one for all views, a list with one per view, or a dict of view name to classifier.
    data : TrainingData
        The rows to learn from.
    default : classifier, default=None
        Stands in the place of None.

    Returns
    -------
    list of classifier
        One per view.
    """
    names = data.names
    if isinstance(estimator, list | tuple):
        if len(estimator) != len(names):
            raise ValueError(
                f"estimator is a list of {len(estimator)}, but there are {len(names)} views, {names}; give a list with "
                "one classifier per view, a dict of view name to classifier, or one classifier for all."
            )
        chosen = list(estimator)
    else:
        chosen = per_view("estimator", estimator, names, complete=True)
    if default is not None:
        chosen = [default if classifier is None else classifier for classifier in chosen]
    for view, classifier in zip(data.blocks, chosen):
        what = f"estimator for the view {view.name!r}"
        check_classifier(classifier, what)
        check_one_column_per_class(classifier, what, len(data.classes))
        if data.weighted:
            check_takes_weights(classifier, what)
        if is_frozen(classifier):
            _check_frozen(classifier, view, data.classes, data.features.get("feature_names_in_"))
    return chosen


def array_for(view: View, estimator: Any) -> FloatArray:
    """Return the present rows of a view, refused where they have gaps that the classifier does not take."""
    values = view.array()
    if not takes_nan(estimator):
        has_gap = np.isnan(values).any(axis=1)
        if has_gap.any():
            row = np.flatnonzero(has_gap)[0]
            row = row if view.rows is None else view.rows[row]
            raise ValueError(
                f"The view {view.name!r} has NaN among its columns in row {row} of X, which "
                f"{type(estimator).__name__} does not take. Impute it, e.g. with make_pipeline(SimpleImputer(), …), or "
                "set all columns of the view to NaN where it is absent."
            )
    return values


def keep_sklearn_config(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function that runs under the configuration of scikit-learn as it is now, in whichever thread."""
    config = get_config()

    @wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with config_context(**config):
            return function(*args, **kwargs)

    return run


def _check_frozen(estimator: Any, view: View, classes: AnyArray, feature_names: AnyArray | None) -> None:
    """Refuse a frozen classifier of other columns or classes than those of its view."""
    what = f"The frozen estimator for the view {view.name!r}"
    if not hasattr(estimator, "classes_"):
        raise TypeError(f"{what}, {estimator!r}, has no classes_; scikit-learn's classifiers have.")
    width = getattr(estimator, "n_features_in_", view.n_columns)
    if width != view.n_columns:
        raise ValueError(f"{what} was fitted on {width} columns, but the view has {view.n_columns}.")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and feature_names is not None:
        given = feature_names[view.columns]
        if list(names) != list(given):
            raise ValueError(
                f"{what} was fitted on the columns {list(names)[:5]}, but the view has {list(given)[:5]}; the names "
                "must be the same, in the same order."
            )
    encode_known(np.asarray(estimator.classes_), classes, f"classes_ of the classifier for the view {view.name!r}")


def _tags(estimator: Any) -> Tags | None:
    """Return scikit-learn's tags; None for what is not a scikit-learn estimator."""
    try:
        return estimator.__sklearn_tags__()  # scikit-learn 1.6's `get_tags` would make some up
    except (AttributeError, TypeError):
        return None
