"""The examples of a weak learner by sums in CONTRIBUTING: all code that a new one needs."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.learners import Hypothesis, Learner, Plan
from fuselearn.learners.score_learners import ClassMoments, ScoreHypothesis, StandardisingLearner


class NearestMean(StandardisingLearner):
    """Each row gets the class whose mean is nearest, in standardised columns.

    It asks for sums that other learners ask for, too, so it runs wherever they do: on threads, files, Dask and GPUs.
    """

    def sums(self, plan, n_classes):
        moments = yield ClassMoments(n_classes)  # weight of each class, then by column Σ w, Σ w·x and Σ w·x²
        _, observed, sums, _ = np.split(moments, [1, 1 + plan.n_columns, 1 + 2 * plan.n_columns], axis=1)
        means = sums / np.maximum(observed, 1e-300)
        slopes, constants = 2 * means, -(means**2)  # |x|² - |x - mean|²
        if n_classes == 2:  # one score, that of class 1 against class 0
            slopes, constants = slopes[1:] - slopes[:1], constants[1:] - constants[:1]
        return ScoreHypothesis(plan, np.zeros_like(slopes), slopes, constants, np.zeros(len(slopes)))


class NearestRawMean(Learner):
    """The same on rows as they are: a learner with a plan, a statistic and a hypothesis of its own."""

    preparation = ("without gaps",)  # learners with the same preparation share the prepared rows

    def plan(self, view, seed):
        return WithoutGaps(view.n_columns)

    def sums(self, plan, n_classes):
        sums = yield ClassSums(n_classes)
        return NearestHypothesis(plan, sums[:, 1:] / np.maximum(sums[:, :1], 1e-300))


@dataclass(frozen=True)
class WithoutGaps(Plan):
    """The rows as they are, with zeros for gaps."""

    n_columns: int

    def prepare(self, view, threads=None):
        return np.nan_to_num(view.array())


@dataclass(frozen=True)
class ClassSums:
    """Statistic: weight of each class, and its weighted sum of rows."""

    n_classes: int

    def __call__(self, prepared, codes, weights, threads=None):
        class_weights = (codes == np.arange(self.n_classes)[:, None]) * weights
        return np.column_stack([class_weights.sum(axis=1), class_weights @ prepared])


@dataclass(frozen=True, eq=False)
class NearestHypothesis(Hypothesis):
    """The class of the nearest mean."""

    plan: WithoutGaps
    means: np.ndarray

    def predict_prepared(self, prepared, threads=None):
        distances = ((prepared[:, None] - self.means) ** 2).sum(axis=2)
        return distances.argmin(axis=1).astype(np.int32)


X, y = load_iris(return_X_y=True)
VIEWS = {"sepal": [0, 1], "petal": [2, 3]}


@pytest.mark.parametrize("learner", [NearestMean(), NearestRawMean()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_boosted(learner, n_classes):
    table, target = X[y < n_classes], y[y < n_classes]
    for kind in (ShareBoostClassifier, IndependentBoostClassifier):
        model = kind([learner, "stump"], views=VIEWS, n_estimators=10).fit(table, target)
        assert model.score(table, target) > 0.9
        assert len(model.arms_) == 4


@pytest.mark.parametrize(("learner", "scale"), [(NearestMean(), X.std(axis=0)), (NearestRawMean(), 1.0)])
def test_its_first_hypothesis_has_the_plain_means(learner, scale):
    model = ShareBoostClassifier(learner, n_estimators=1).fit(X, y)
    means = np.array([X[y == code].mean(axis=0) for code in range(3)])
    distances = (((X[:, None] - means) / scale) ** 2).sum(axis=2)
    assert_array_equal(model.predict(X), distances.argmin(axis=1))
