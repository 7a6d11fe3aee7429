"""The classifiers that a fusion is made of: which one each view gets, and whether it can do what is asked."""

import inspect

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fuselearn.data import per_view


def estimators_of_views(estimator, names):
    """The classifier of each view: one for all, a list with one per view, or a dict of view name to classifier.

    Parameters
    ----------
    estimator : classifier, list or dict
        As the user gave it.
    names : list of str
        Names of the views.
    """
    if isinstance(estimator, list | tuple):
        if len(estimator) != len(names):
            raise ValueError(
                f"estimator is a list of {len(estimator)}, but there are {len(names)} views, {names}; give a list with "
                "one classifier per view, a dict of view name to classifier, or one classifier for all."
            )
        chosen = list(estimator)
    else:
        chosen = per_view("estimator", estimator, names, complete=True)
    for name, one in zip(names, chosen):
        check_classifier(one, f"estimator for the view {name!r}")
    return chosen


def check_classifier(estimator, what):
    """Refuse what cannot be fitted as a classifier, before any work is done."""
    if inspect.isclass(estimator):
        raise TypeError(f"The {what} must be an instance, not a class; pass {estimator.__name__}().")
    for method in ("fit", "predict", "get_params"):
        if not hasattr(estimator, method):
            raise TypeError(
                f"The {what} must be a scikit-learn classifier; got {estimator!r}, which has no {method} method."
            )
    kind = _tag(estimator, lambda tags: tags.estimator_type, None)
    if kind not in (None, "classifier"):
        raise TypeError(f"The {what} must be a classifier; got {estimator!r}, which is a {kind}.")
    if is_frozen(estimator):
        try:
            check_is_fitted(estimator)
        except NotFittedError:
            raise ValueError(
                f"The {what} is frozen but not fitted; fit it first, or pass it without FrozenEstimator."
            ) from None


def check_values(estimator, what, wanted_by):
    """Refuse a classifier that gives labels only, where decision values are needed."""
    if not gives_values(estimator):
        raise TypeError(
            f"{wanted_by} needs a classifier with decision_function or predict_proba; the {what}, {estimator!r}, has "
            "neither."
        )


def check_one_column_per_class(estimator, what, n_classes):
    """Refuse decision values of pairs of classes: with three classes they would be taken for those of the classes."""
    if n_classes < 3:
        return
    for name, value in estimator.get_params(deep=True).items():
        if name.split("__")[-1] == "decision_function_shape" and value != "ovr":
            raise ValueError(
                f"The {what} has {name}={value!r}, whose decision values are of pairs of classes; set it to 'ovr'."
            )


def check_weights_taken(estimator, what):
    """Refuse a classifier that takes no row weights, where there are some."""
    if not is_frozen(estimator) and weight_parameter(estimator) is None:
        raise TypeError(
            f"sample_weight was given, but the {what}, {estimator!r}, takes none; leave sample_weight out, or use a "
            "classifier whose fit has it."
        )


def gives_values(estimator):
    """Whether a classifier, fitted or not, says how sure it is."""
    return hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")


def is_frozen(estimator):
    """Whether the user fitted the classifier and wants it left as it is."""
    return isinstance(estimator, FrozenEstimator)


def weight_parameter(estimator):
    """Name under which `fit` takes row weights, or None; a pipeline and a search hand them on."""
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return weight_parameter(estimator.estimator)
    if isinstance(estimator, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return None  # every step would have to request or refuse them
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def seeded_clone(estimator, *seed):
    """A clone in which every `random_state` that is None has a number of its own.

    Numbers depend on `seed` alone, so it does not matter in which thread a clone is fitted.
    """
    copy = clone(estimator)
    if is_frozen(copy):
        return copy
    names = sorted(
        name
        for name, value in copy.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and value is None
    )
    states = np.random.SeedSequence(seed).generate_state(len(names))
    return copy.set_params(**{name: int(state >> 1) for name, state in zip(names, states)}) if names else copy


def _tag(estimator, read, otherwise):
    try:
        return read(get_tags(estimator))
    except (AttributeError, TypeError):  # not a scikit-learn estimator
        return otherwise
