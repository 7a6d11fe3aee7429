"""Classifiers of scikit-learn as weak learners, and the learners that `estimator` means."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn.learners import GaussianNB, LeastSquares, SklearnLearner, Stump, Tree, as_learner
from tests.fitting import fit_learner


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=2, random_state=0),
        LogisticRegression(),
        SVC(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
)
def test_a_classifier_is_given_the_weights(estimator):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    w = rng.exponential(size=80)
    w[:10] = 0.0
    ours = fit_learner(SklearnLearner(estimator), X, y, w / w.sum(), 3)
    kept, scaled = slice(10, None), w[10:] / w[10:].mean()
    if hasattr(estimator, "steps"):
        theirs = estimator.fit(X[kept], y[kept], logisticregression__sample_weight=scaled)
    else:
        theirs = estimator.fit(X[kept], y[kept], sample_weight=scaled)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_a_classifier_without_weights_sees_rows_drawn_by_them():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(50, 1)), rng.normal(size=(50, 1)) + 100]
    y = np.r_[np.zeros(50), np.ones(25), np.full(25, 2)].astype(int)
    w = np.r_[np.full(50, 0.01), np.full(25, 0.02), np.zeros(25)]
    hypothesis = fit_learner(SklearnLearner(KNeighborsClassifier(1)), X, y, w, 3)
    assert set(hypothesis.predict(X)) == {0, 1}  # class 2 has no weight
    again = fit_learner(SklearnLearner(KNeighborsClassifier(1)), X, y, w, 3)
    assert_array_equal(hypothesis.predict(X), again.predict(X))


def test_a_classifier_with_one_class_left_is_constant():
    X = np.arange(6.0)[:, None]
    hypothesis = fit_learner(SklearnLearner(SVC()), X, [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], 2)
    assert_array_equal(hypothesis.predict(X), np.ones(6))


def test_a_classifier_may_want_its_classes_without_a_gap():
    class Strict(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            assert_array_equal(np.unique(y), np.arange(len(np.unique(y))))
            return super().fit(X, y, sample_weight)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.choice([0, 2, 3], 60)
    hypothesis = fit_learner(SklearnLearner(Strict()), X, y, np.full(60, 1 / 60), 4)
    assert_array_equal(hypothesis.predict(X), y)


@pytest.mark.parametrize("answer", [10**7, -1, 0.5, "yes", np.nan])
def test_a_classifier_that_answers_nonsense_is_named(answer):
    class Odd(DecisionTreeClassifier):
        def predict(self, X):
            return np.full(len(X), answer)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"Odd\.predict must return one of the classes it was fitted on, 0 to 1"):
        fit_learner(SklearnLearner(Odd()), X, y, np.full(20, 0.05), 2).predict(X)


def test_a_pipeline_under_metadata_routing_sees_rows_drawn_by_the_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    with config_context(enable_metadata_routing=True):
        hypothesis = fit_learner(
            SklearnLearner(make_pipeline(StandardScaler(), LogisticRegression())), X, y, np.full(40, 0.025), 2
        )
    assert hypothesis.predict(X).shape == (40,)


def test_random_classifiers_follow_the_seed():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), np.full(60, 1 / 60)
    learner = SklearnLearner(make_pipeline(StandardScaler(), RandomForestClassifier(3)))
    one, same, other = (fit_learner(learner, X, y, w, 2, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(one.predict(X), same.predict(X))
    states = [fitted.estimator[-1].random_state for fitted in (one, same, other)]
    assert states[0] == states[1] != states[2]
    assert learner.estimator[-1].random_state is None


def test_names_of_learners():
    assert [type(as_learner(name)) for name in (None, "gaussian_nb", "stump", "tree", "linear")] == [
        GaussianNB,
        GaussianNB,
        Stump,
        Tree,
        LeastSquares,
    ]
