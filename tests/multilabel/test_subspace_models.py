"""Base models of the ensembles: any classifier with real-valued outputs, on samples and subspaces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import average_precision_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from fuselearn import MSSBoostClassifier, RSBagClassifier
from fuselearn.multilabel import RbfSVC
from fuselearn.multilabel.subspace_models import draw_sample
from tests.multilabel.related_labels import SMALL, X, Y, every_ensemble


@pytest.mark.thinned(4)
@every_ensemble
@pytest.mark.parametrize("as_sparse", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_rows(kind, as_sparse):
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.6, 0.0, X)
    dense = kind(**SMALL).fit(holes, Y)
    thin = kind(**SMALL).fit(as_sparse(holes), as_sparse(Y))
    assert_allclose(thin.label_weights_, dense.label_weights_, rtol=1e-9)
    assert_allclose(thin.decision_function(as_sparse(holes)), dense.decision_function(holes), rtol=1e-9)
    for stage, other in zip(thin.staged_decision_function(as_sparse(holes)), dense.staged_decision_function(holes)):
        assert_allclose(stage, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "size"),
    [
        (DecisionTreeClassifier(max_depth=2), lambda model: sum(m.tree_.node_count for m in model.estimators_)),
        (LogisticRegression(), lambda model: 6 * 12),
        (RidgeClassifier(), lambda model: 6 * 12),
        (LinearSVC(), lambda model: 6 * 12),
        (make_pipeline(StandardScaler(), SVC()), lambda model: 6 * sum(len(m[-1].support_) for m in model.estimators_)),
        (GaussianNB(), lambda model: None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_classifier_with_real_outputs(estimator, size):
    model = MSSBoostClassifier(estimator, **SMALL).fit(X, Y)
    assert model.model_size_ == size(model)
    assert average_precision_score(Y, model.decision_function(X)) > 0.45
    if hasattr(estimator, "predict_proba"):
        columns = model.estimators_features_[0]
        first = next(model.staged_decision_function(X))
        expected = np.outer(2 * model.estimators_[0].predict_proba(X[:, columns])[:, 1] - 1, model.label_weights_[0])
        assert_allclose(first, expected)


def test_random_base_models_have_seeds_of_their_own():
    tree = DecisionTreeClassifier(max_features=1)
    model = RSBagClassifier(tree, **SMALL).fit(X, Y)
    assert len({tree.random_state for tree in model.estimators_}) == 12
    assert tree.random_state is None


def test_scikit_learns_machine_is_fitted_by_libsvm_and_evaluated_by_us():
    theirs = MSSBoostClassifier(SVC(C=2.0), **SMALL).fit(X, Y)
    ours = MSSBoostClassifier(RbfSVC(C=2.0), **SMALL).fit(X, Y)
    assert all(type(machine) is SVC for machine in theirs.estimators_)
    assert_allclose(theirs.decision_function(X), ours.decision_function(X), atol=0.05)
    columns = theirs.estimators_features_[0]
    expected = np.outer(
        np.clip(theirs.estimators_[0].decision_function(X[:, columns]), -1, 1), theirs.label_weights_[0]
    )
    assert_allclose(next(theirs.staged_decision_function(X)), expected, atol=1e-9)


def test_views_take_turns():
    views = {"a": slice(0, 4), "b": slice(4, 10), "c": [10, 12]}
    model = RSBagClassifier(views=views, **SMALL).fit(X, Y)
    view_of = [0] * 4 + [1] * 6 + [2] * 10
    assert [len(columns) for columns in model.view_columns_] == [4, 6, 2]
    for turn, columns in enumerate(model.estimators_features_):
        slot, generation = turn % 5, turn // 5
        [view] = {view_of[column] for column in columns}
        assert view == (slot + generation) % 3
        assert len(columns) == [1, 2, 1][view]  # 0.3 of each, at least one


def test_nan_is_for_base_models_that_take_it():
    gaps = X.copy()
    gaps[::7, 3] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        MSSBoostClassifier(**SMALL).fit(gaps, Y)
    boosting = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3)
    model = MSSBoostClassifier(boosting, pool_size=1, **(SMALL | {"n_estimators": 2})).fit(gaps, Y)
    assert np.isfinite(model.decision_function(gaps)).all()


@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier(max_depth=2)])
def test_a_pipeline_that_imputes_takes_nan(model):
    gaps = X.copy()
    gaps[::7, 3] = np.nan
    imputing = MSSBoostClassifier(make_pipeline(SimpleImputer(), model), **SMALL)
    assert get_tags(imputing).input_tags.allow_nan
    assert np.isfinite(imputing.fit(gaps, Y).decision_function(gaps)).all()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        MSSBoostClassifier(make_pipeline(PCA(1), model), **SMALL).fit(gaps, Y)


class SaysClassesOnly(RidgeClassifier):
    """A classifier without real-valued outputs."""

    decision_function = property()


@every_ensemble
def test_a_base_model_without_real_valued_outputs(kind):
    with pytest.raises(TypeError, match=r"estimator must have predict_proba or decision_function.*has neither"):
        kind(SaysClassesOnly()).fit(X, Y)


class SaysNan(DecisionTreeClassifier):
    """A base model that breaks."""

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


class SaysOneColumn(DecisionTreeClassifier):
    """A base model that gives one probability a row."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, :1]


@pytest.mark.parametrize("feature_ratio", [0.3, "auto"])
def test_a_base_model_with_one_column_of_probabilities(feature_ratio):
    with pytest.raises(
        ValueError, match=r"estimator must give each of \d+ rows a finite number; SaysOneColumn gave an"
    ):
        MSSBoostClassifier(SaysOneColumn(), feature_ratio=feature_ratio, random_state=0).fit(X, Y)


def test_a_base_model_that_gives_no_numbers():
    with pytest.raises(ValueError, match="estimator must give each of 300 rows a finite number; SaysNan gave"):
        MSSBoostClassifier(SaysNan(), **SMALL).fit(X, Y)


def test_samples_are_balanced():
    has_label = np.arange(20) < 4
    sample = draw_sample(np.random.default_rng(0), has_label, 0.5, np.arange(10), 0.2)
    assert len(sample.positives) == len(sample.negatives) == 5
    assert has_label[sample.positives].all()
    assert not has_label[sample.negatives].any()
    assert len(set(sample.columns)) == 2
