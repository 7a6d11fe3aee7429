"""Any scikit-learn classifier as a weak learner."""

from dataclasses import dataclass

import numpy as np

from fuselearn.classifiers.adapter import seeded_clone, takes_nan, weight_parameter
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
        weight_name = weight_parameter(self.estimator)
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
        estimator = seeded_clone(self.estimator, seed, only_unset=False)
        fit_parameters = {} if weights is None else {weight_name: weights / weights.mean()}
        estimator.fit(prepared, local_codes, **fit_parameters)
        return EstimatorHypothesis(plan, estimator, classes.astype(np.int32))


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
