"""Classifiers of the user's as learners of FusionClassifier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import FusionClassifier
from tests.fusion.fusion_data import MODEL, X_NEW, Y_NEW, X, table, y


@pytest.mark.long
@pytest.mark.parametrize(
    "learners",
    [
        GaussianNB(),
        ["linear", SVC()],
        {"one": LogisticRegression(), "two": LogisticRegression(C=0.01)},
        [make_pipeline(SimpleImputer(), Perceptron())],
        (DecisionTreeClassifier(max_depth=3), "trees"),
    ],
    ids=["one", "list", "dict", "pipeline", "tuple"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_as_learners(learners, n_classes):
    rows, labels = table(90, n_classes)
    model = clone(MODEL).set_params(learners=learners, max_fits=9).fit(rows, labels)
    new, truth = table(60, n_classes, seed=1)
    assert model.score(new, truth) > (0.7 if n_classes == 2 else 0.55)
    assert_allclose(model.predict_proba(new).sum(axis=1), 1)
    named = list(learners) if isinstance(learners, dict) else None
    if named:
        assert [learner for _, learner in model.arms_[:2]] == named


def test_a_classifier_that_takes_no_nan_is_refused_rows_with_gaps():
    rows = X.copy()
    rows[3, 0] = np.nan
    model = clone(MODEL).set_params(learners={"nb": GaussianNB()}, max_fits=4)
    with pytest.raises(ValueError, match=r"The view 'a' has NaN .* learner 'nb' does not take.*SimpleImputer"):
        model.fit(rows, y)
    rows[3, :3] = np.nan  # an absent view is none of its rows
    assert model.fit(rows, y).score(X_NEW, Y_NEW) > 0.7
    takes = clone(MODEL).set_params(learners=DecisionTreeClassifier(max_depth=3), max_fits=4)
    rows[4, 0] = np.nan
    assert takes.fit(rows, y).score(X_NEW, Y_NEW) > 0.6


def test_a_classifier_gets_the_weights_of_rows():
    seen = []

    class Weighed(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.bincount(y, sample_weight))
            return super().fit(X, y, sample_weight)

    labels = np.where(np.arange(90) % 9 == 0, 1, 0)
    clone(MODEL).set_params(learners=Weighed(), consensus=False, max_fits=1).fit(X, labels)
    assert len(seen) == 5
    for totals in seen:
        assert_allclose(totals[0], totals[1], rtol=0.15)  # classes count alike


def test_labels_only_classifiers_and_pairs_of_classes_are_refused():
    class Mute(DummyClassifier):
        predict_proba = property()

    with pytest.raises(TypeError, match="needs a classifier with decision_function or predict_proba"):
        clone(MODEL).set_params(learners=Mute()).fit(X, y)
    pairs = clone(MODEL).set_params(learners=SVC(decision_function_shape="ovo"), max_fits=1)
    pairs.fit(X, y)
    with pytest.raises(ValueError, match=r"decision_function_shape='ovo'.*set it to 'ovr'"):
        pairs.fit(*table(90, 3))


def test_doubted_labels_count_less_for_a_classifier_of_the_users():
    seen = []

    class Weighed(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.asarray(sample_weight))
            return super().fit(X, y, sample_weight)

    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    rows = rng.normal(size=(200, 3)) + 3.0 * labels[:, None]
    labels[:20] = 1 - labels[:20]
    FusionClassifier(learners=[Weighed(), "rbf"], random_state=0).fit(rows, labels)
    assert np.ptp(seen[0]) < 0.1
    assert seen[-1].min() < 0.5 < 0.9 < seen[-1].max()


def test_a_classifier_without_weights_is_refused_where_there_are_some():
    with pytest.raises(TypeError, match="sample_weight was given"):
        FusionClassifier(learners=KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))


def test_a_class_with_one_row():
    labels = y.copy()
    labels[0] = 2
    model = clone(MODEL).set_params(learners=["rbf", GaussianNB()], max_fits=8).fit(X, labels)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert np.isfinite(model.predict_proba(X_NEW)).all()
