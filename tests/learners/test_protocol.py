"""What all learners have in common."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.svm import SVC

from fuselearn.learners import GaussianNB, LeastSquares, SklearnLearner, Stump, Tree
from fuselearn.numeric.threads import Threads
from tests.fitting import fit_learner


@pytest.mark.parametrize("learner", [GaussianNB(), Stump(), LeastSquares(), SklearnLearner(SVC())])
def test_a_hypothesis_wants_the_columns_of_its_view(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    hypothesis = fit_learner(learner, X, y, np.full(30, 1 / 30), 2)
    for wrong in (X[:, :2], X[:, 0]):
        with pytest.raises(ValueError, match="X must be 2-D with the 3 columns of the view"):
            hypothesis.predict(wrong)


def test_ties_go_to_the_lowest_class():
    mirrored = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    for learner in (GaussianNB(), LeastSquares()):
        hypothesis = fit_learner(learner, mirrored, [0, 0, 1, 1], np.full(4, 0.25), 2)
        assert_array_equal(hypothesis.predict(mirrored), [0, 0, 0, 0])
        hypothesis = fit_learner(learner, mirrored, [1, 1, 2, 2], np.full(4, 0.25), 3)
        assert_array_equal(hypothesis.predict(mirrored), [1, 1, 1, 1])


@pytest.mark.parametrize("learner", [GaussianNB(), Stump(), Tree(), LeastSquares()])
def test_threads_do_not_change_a_bit(learner):
    rng = np.random.default_rng(0)
    n = 9000  # several blocks of rows
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 7)) + 0.3 * y[:, None]
    w = rng.exponential(size=n)
    alone = fit_learner(learner, X, y, w / w.sum(), 3)
    for count in (2, 3):
        with Threads(count) as threads:
            together = fit_learner(learner, X, y, w / w.sum(), 3, threads)
        for name, value in vars(alone).items():
            if isinstance(value, np.ndarray):
                assert_array_equal(value, getattr(together, name))


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (GaussianNB(var_smoothing=-1), "var_smoothing must be a number of at least 0; got -1"),
        (Stump(max_bins=1), "max_bins must be an integer from 2 to 255; got 1"),
        (Stump("mse"), "criterion must be one of .* got 'mse'"),
        (Tree(max_depth=0), "max_depth must be None or an integer of at least 1; got 0"),
        (Tree(impurity_tolerance=1.5), r"impurity_tolerance must be in \[0, 1\); got 1.5"),
        (LeastSquares(ridge=-1), "ridge must be a number of at least 0; got -1"),
    ],
)
def test_impossible_settings_are_refused(learner, message):
    with pytest.raises(ValueError, match=message):
        fit_learner(learner, np.zeros((4, 2)), [0, 1, 0, 1], np.full(4, 0.25), 2)
