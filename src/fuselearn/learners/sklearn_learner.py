"""Any scikit-learn classifier as a weak learner."""

import inspect
from dataclasses import dataclass

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from fuselearn.learners.protocol import ConstantHypothesis, Hypothesis, Learner, Plan
from fuselearn.numeric.execution import SERIAL
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

    @property
    def preparation(self):
        return ("as given", type(self.estimator).__name__, takes_nan(self.estimator))

    def check(self, view):
        self.plan(view, None).prepare(view)

    def plan(self, view, seed):
        return AsGiven(view.n_columns, type(self.estimator).__name__, takes_nan(self.estimator))

    def fit_rows(self, plan, prepared, codes, weights, n_classes, *, seed, drawn):
        weight_name = _weight_parameter(self.estimator)
        if drawn is None and weight_name is None:
            drawn = draw_rows(weights, len(weights), np.random.default_rng(seed))
        if drawn is not None:
            prepared, codes, weights = prepared[drawn], codes[drawn], None
        elif not weights.all():
            # Rows without weight are as if not there, whatever the classifier makes of zeros.
            rows = np.flatnonzero(weights)
            prepared, codes, weights = prepared[rows], codes[rows], weights[rows]
        # Some classifiers want their classes to be 0, 1, … without a gap.
        classes, local_codes = np.unique(codes, return_inverse=True)
        if len(classes) == 1:
            return ConstantHypothesis(plan, int(classes[0]))
        estimator = _seeded(clone(self.estimator), seed)
        fit_parameters = {} if weights is None else {weight_name: weights / weights.mean()}
        estimator.fit(prepared, local_codes, **fit_parameters)
        return EstimatorHypothesis(plan, estimator, classes.astype(np.int32))


def takes_nan(estimator):
    """Whether a classifier takes NaN; one that does not say so is let speak for itself."""
    if isinstance(estimator, Pipeline):
        # A pipeline's own tag is False whatever its steps are. A scaler hands NaN on to the next step, an imputer does
        # not; one that does not bear the word in its name is not known as one.
        for _, step in estimator.steps:
            if step in (None, "passthrough"):
                continue
            if not takes_nan(step):
                return False
            if "Imputer" in type(step).__name__:
                return True
        return True
    try:
        return get_tags(estimator).input_tags.allow_nan
    except (AttributeError, TypeError):  # not a scikit-learn estimator: let it speak for itself
        return True


def _weight_parameter(estimator):
    """Name under which `fit` takes row weights, or None."""
    if isinstance(estimator, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return None  # every step would have to request or refuse them
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
    """No preparation: the classifier sees the columns as they are.

    Attributes
    ----------
    n_columns : int
    estimator_name : str
    takes_nan : bool
    """

    n_columns: int
    estimator_name: str
    takes_nan: bool

    def prepare(self, view, threads=SERIAL):
        rows = view.array()
        if not self.takes_nan and np.isnan(rows).any():
            raise ValueError(
                f"The view {view.name!r} has NaN inside rows in which it is present, which {self.estimator_name} does "
                "not take. Impute them with preprocess, e.g. preprocess=SimpleImputer(), or use a learner of "
                "fuselearn.learners."
            )
        return rows


@dataclass(frozen=True, eq=False)
class EstimatorHypothesis(Hypothesis):
    """A fitted scikit-learn classifier.

    Attributes
    ----------
    plan : AsGiven
    estimator : fitted classifier
        Its classes are 0, 1, …, the places of `codes`.
    codes : int32 ndarray
        Class codes that it was fitted on.
    """

    plan: AsGiven
    estimator: object
    codes: np.ndarray

    def predict_prepared(self, prepared, threads=SERIAL):
        predicted = np.asarray(self.estimator.predict(prepared))
        known = predicted.dtype.kind in "iuf" and np.isin(predicted, np.arange(len(self.codes))).all()
        if predicted.shape != (len(prepared),) or not known:
            raise ValueError(
                f"{self.plan.estimator_name}.predict must return one of the classes it was fitted on, 0 to "
                f"{len(self.codes) - 1}, for each of {len(prepared)} rows; got {predicted.dtype} values of shape "
                f"{predicted.shape}, e.g. {predicted.ravel()[:3].tolist()}."
            )
        return self.codes[predicted.astype(np.intp)]
