"""Any scikit-learn classifier as a weak learner."""

import inspect
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from fuselearn.learners.protocol import ConstantHypothesis, Hypothesis, Learner, Plan
from fuselearn.numeric.threads import SERIAL
from fuselearn.numeric.weights import draw_rows


class SklearnLearner(Learner):
    """A scikit-learn classifier, fitted anew in each round.

    It is given the weights as `sample_weight`, scaled to mean 1, where its `fit` takes them; a pipeline hands them to
    its last step. A classifier that takes none is fitted on rows drawn by the weights instead.

    Parameters
    ----------
    estimator : classifier
        Never changed; clones are fitted.
    """

    needs_rows = True

    def __init__(self, estimator):
        self.estimator = estimator

    preparation = ("as given",)

    def check(self, view):
        if not _takes_nan(self.estimator) and np.isnan(view.array()).any():
            raise ValueError(
                f"The view {view.name!r} has NaN inside rows in which it is present, which "
                f"{type(self.estimator).__name__} does not take. Impute them with preprocess, e.g. "
                "preprocess=SimpleImputer(), or use a learner of fuselearn.learners."
            )

    def plan(self, view, seed):
        return AsGiven()

    def fit_rows(self, plan, prepared, codes, weights, n_classes, *, seed, drawn):
        weight_name = _weight_parameter(self.estimator)
        if drawn is None and weight_name is None:
            drawn = draw_rows(weights, np.random.default_rng(seed))
        # Rows without weight are as if not there, whatever the classifier makes of zeros.
        rows = np.flatnonzero(weights > 0) if drawn is None else drawn
        classes = np.unique(codes[rows])
        if len(classes) == 1:
            return ConstantHypothesis(plan, int(classes[0]))
        estimator = _seeded(clone(self.estimator), seed)
        fit_parameters = {}
        if drawn is None:
            fit_parameters[weight_name] = weights[rows] / weights[rows].mean()
        estimator.fit(prepared[rows], codes[rows], **fit_parameters)
        return EstimatorHypothesis(plan, estimator)


def _takes_nan(estimator):
    try:
        return get_tags(estimator).input_tags.allow_nan
    except (AttributeError, TypeError):  # not a scikit-learn estimator: let it speak for itself
        return True


def _weight_parameter(estimator):
    """Name under which `fit` takes row weights, or None."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _seeded(estimator, seed):
    """Give every `random_state` in the estimator a number of its own."""
    names = [
        name
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
    states = seed.generate_state(len(names))
    return estimator.set_params(**{name: int(state >> 1) for name, state in zip(names, states)})


def check_classifier(estimator):
    """Refuse what cannot be fitted as a classifier, before any work is done."""
    if inspect.isclass(estimator):
        raise TypeError(f"estimator must be an instance, not a class; pass {estimator.__name__}().")
    for method in ("fit", "predict", "get_params"):
        if not hasattr(estimator, method):
            raise TypeError(
                f"estimator must be a scikit-learn classifier or a learner; got {estimator!r}, which has no "
                f"{method} method."
            )
    try:
        kind = get_tags(estimator).estimator_type
    except (AttributeError, TypeError):
        return
    if kind not in (None, "classifier"):
        raise TypeError(f"estimator must be a classifier; got {estimator!r}, which is a {kind}.")


@dataclass(frozen=True)
class AsGiven(Plan):
    """No preparation: the classifier sees the columns as they are."""

    def prepare(self, view, threads=SERIAL):
        return view.array()


@dataclass(frozen=True, eq=False)
class EstimatorHypothesis(Hypothesis):
    """A fitted scikit-learn classifier.

    Attributes
    ----------
    plan : AsGiven
    estimator : fitted classifier, whose classes are codes
    """

    plan: AsGiven
    estimator: object

    def predict_prepared(self, prepared, threads=SERIAL):
        return np.asarray(self.estimator.predict(prepared)).astype(np.int32)
