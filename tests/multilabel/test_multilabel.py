"""The multi-label ensembles: what goes in, what comes out, and what is refused."""

import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import average_precision_score, check_scoring, f1_score, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from threadpoolctl import threadpool_info, threadpool_limits

from fuselearn import MSSBoostClassifier, NSBoostClassifier, RSBagClassifier
from fuselearn.classifiers.blas_threads import single_threaded_blas
from fuselearn.datasets import make_overlapping_labels
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.multilabel import RbfSVC
from fuselearn.multilabel import base as base_of_ensembles
from fuselearn.multilabel.ratios import KEPT, RATIOS

ENSEMBLES = [MSSBoostClassifier, NSBoostClassifier, RSBagClassifier]
every_ensemble = pytest.mark.parametrize("kind", ENSEMBLES)


def related_labels(n_rows=300, n_columns=20, n_labels=5, seed=0):
    """Labels that share their causes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    causes = X @ rng.normal(size=(n_columns, 3))
    scores = causes @ rng.normal(size=(3, n_labels)) + rng.normal(size=(n_rows, n_labels))
    return X, (scores > np.quantile(scores, 0.7, axis=0)).astype(int)


X, Y = related_labels()
SMALL = {"n_estimators": 12, "feature_ratio": 0.3, "random_state": 0}


@every_ensemble
def test_what_a_fitted_model_has(kind):
    model = kind(**SMALL).fit(X, Y)
    assert len(model.estimators_) == len(model.estimators_features_) == 12
    assert model.label_weights_.shape == (12, 5)
    assert model.source_labels_.shape == (12,)
    assert model.loss_curve_.shape == (13,)
    assert_allclose(model.loss_curve_[0], 300 * 5 * np.log(2))
    assert_array_equal(model.classes_, np.arange(5))
    vectors = sum(len(machine.support_vectors_) for machine in model.estimators_)
    assert model.model_size_ == 6 * vectors  # 0.3 of 20 columns each
    assert all(len(set(columns)) == 6 for columns in model.estimators_features_)
    decision = model.decision_function(X)
    assert decision.shape == (300, 5)
    assert_array_equal(model.predict(X), decision > 0)
    assert_allclose(model.predict_proba(X), expit(decision))
    # The loss that the fit kept is that of the decision values: natural logarithms, summed over rows and labels.
    assert_allclose(np.logaddexp(0, -(2 * Y - 1) * decision).sum(), model.loss_curve_[-1], rtol=1e-5)
    assert not {id(X), id(Y)} & {id(value) for value in vars(model).values()}


@every_ensemble
def test_decision_is_weighted_outputs_of_the_base_models(kind):
    model = kind(**SMALL).fit(X, Y)
    parts = [
        np.outer(np.clip(machine.decision_function(X[:, columns]), -1, 1), weights)
        for machine, columns, weights in zip(model.estimators_, model.estimators_features_, model.label_weights_)
    ]
    assert_allclose(model.decision_function(X), sum(parts), atol=1e-10)
    for stage, expected in zip(model.staged_decision_function(X), np.cumsum(parts, axis=0), strict=True):
        assert_allclose(stage, expected, atol=1e-10)
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_stages_are_copies():
    model = MSSBoostClassifier(**SMALL).fit(X, Y)
    first, second, *_ = model.staged_decision_function(X)
    assert not np.array_equal(first, second)


@every_ensemble
@pytest.mark.parametrize("n_models", [1, 5, 12])
def test_pruning(kind, n_models):
    model = kind(**SMALL).fit(X, Y)
    pruned = model.prune(n_models)
    stage = list(model.staged_decision_function(X))[n_models - 1]
    assert_allclose(pruned.decision_function(X), stage, atol=1e-10)
    assert pruned.n_estimators == len(pruned.estimators_) == n_models
    assert len(pruned.loss_curve_) == n_models + 1
    assert pruned.model_size_ <= model.model_size_
    assert len(model.estimators_) == model.n_estimators == 12
    # A smaller model is the same as one that was fitted so small.
    again = clone(pruned).fit(X, Y)
    assert_array_equal(again.label_weights_, pruned.label_weights_)


@pytest.mark.parametrize("n_models", [0, 13, 2.5, "all"])
def test_pruning_to_what_is_not_there(n_models):
    with pytest.raises(ValueError, match="n_models must be"):
        MSSBoostClassifier(**SMALL).fit(X, Y).prune(n_models)


def test_sharing_helps_on_the_papers_synthetic_set():
    """S2 section 6.1: few stumps serve three labels, where without sharing they serve one each."""
    points, labels = make_overlapping_labels(random_state=0)
    stump = DecisionTreeClassifier(max_depth=1)
    settings = {"n_estimators": 8, "data_ratio": 0.1, "feature_ratio": 0.5}
    errors = [
        [np.mean(kind(stump, random_state=seed, **settings).fit(points, labels).predict(points) != labels)]
        for seed in range(5)
        for kind in ENSEMBLES
    ]
    shared, alone, bagged = np.reshape(errors, (5, 3)).mean(axis=0)
    assert shared < 0.75 * alone
    assert shared < 0.75 * bagged


@every_ensemble
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3, splitter="random"), SVC()])
def test_same_bits_for_any_number_of_threads(kind, estimator):
    rows, labels = related_labels(n_rows=5000, seed=3)  # more than one block of rows
    one, three = (kind(estimator, n_jobs=jobs, **SMALL).fit(rows, labels) for jobs in (None, 3))
    assert_array_equal(one.label_weights_, three.label_weights_)
    assert_array_equal(one.loss_curve_, three.loss_curve_)
    assert_array_equal(one.decision_function(rows), three.decision_function(rows))


def test_the_seed_decides():
    first, again, other = (
        MSSBoostClassifier(**(SMALL | {"random_state": seed})).fit(X, Y).decision_function(X) for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


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


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(frame):
    columns = [f"x{i}" for i in range(X.shape[1])]
    names = ["sky", "sea", "sand", "road", "car"]
    table = frame(dict(zip(columns, X.T)))
    labels = frame(dict(zip(names, Y.T)))
    model = MSSBoostClassifier(views={"left": columns[:10], "right": columns[10:]}, **SMALL).fit(table, labels)
    plain = MSSBoostClassifier(views={"left": slice(0, 10), "right": slice(10, 20)}, **SMALL).fit(X, Y)
    assert model.label_names_ == names
    assert plain.label_names_ == [f"label{i}" for i in range(5)]
    assert_array_equal(model.feature_names_in_, columns)
    assert_array_equal(model.decision_function(table), plain.decision_function(X))


def test_labels_as_sets():
    sets = [{name for name, has in zip("abcde", row) if has} for row in Y]
    with pytest.raises(ValueError, match=r"list of label sets.*MultiLabelBinarizer"):
        MSSBoostClassifier(**SMALL).fit(X, sets)
    with pytest.raises(ValueError, match=r"list of label sets.*MultiLabelBinarizer"):
        MSSBoostClassifier(**SMALL).fit(X, [sorted(labels) for labels in sets])
    for sparse_output in (False, True):
        indicator = MultiLabelBinarizer(sparse_output=sparse_output).fit_transform(sets)
        model = MSSBoostClassifier(**SMALL).fit(X, indicator)
        assert_array_equal(model.label_weights_, MSSBoostClassifier(**SMALL).fit(X, Y).label_weights_)


@pytest.mark.parametrize("kind_of_number", [bool, np.int8, np.float64])
def test_indicators_of_any_number(kind_of_number):
    model = MSSBoostClassifier(**SMALL).fit(X, Y.astype(kind_of_number))
    assert_array_equal(model.predict(X), MSSBoostClassifier(**SMALL).fit(X, Y).predict(X))


def test_one_label():
    """A 1-D target of two classes is one label, and its answers are those of a two-class classifier."""
    words = np.where(Y[:, 0], "yes", "no")
    model = MSSBoostClassifier(**SMALL).fit(X, words)
    column = MSSBoostClassifier(**SMALL).fit(X, Y[:, :1])
    assert model.classes_.tolist() == ["no", "yes"]
    assert_array_equal(model.decision_function(X), column.decision_function(X)[:, 0])
    assert_array_equal(model.predict(X) == "yes", column.predict(X)[:, 0] == 1)
    assert_allclose(model.predict_proba(X)[:, 1], column.predict_proba(X)[:, 0])


SCORERS = {
    "roc_auc": lambda truth, model: roc_auc_score(truth, model.decision_function(X)),
    "average_precision": lambda truth, model: average_precision_score(truth, model.decision_function(X)),
    "f1_macro": lambda truth, model: f1_score(truth, model.predict(X), average="macro"),
    "accuracy": lambda truth, model: np.mean((truth == model.predict(X)).all(axis=1)),
    make_scorer(roc_auc_score, response_method="predict_proba"): lambda truth, model: roc_auc_score(
        truth, model.predict_proba(X)
    ),
}


@every_ensemble
@pytest.mark.parametrize("n_labels", [1, 2, 3])
@pytest.mark.parametrize("scoring", SCORERS, ids=str)
def test_scikit_learns_scorers(kind, scoring, n_labels):
    """A matrix of any number of columns is a multi-label target to them, as it is here."""
    truth = Y[:, :n_labels]
    model = kind(**SMALL).fit(X, truth)
    assert_allclose(check_scoring(model, scoring)(model, X, truth), SCORERS[scoring](truth, model))
    assert roc_auc_score(truth, model.decision_function(X)) > 0.7


def test_slots_do_not_starve():
    """Without sharing, a candidate that its own label is not related to would hold its slot for good."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 20))
    scores = rows @ rng.normal(size=(20, 5)) + rng.normal(size=(300, 5))
    labels = (scores > np.quantile(scores, 0.7, axis=0)).astype(int)
    for kind in (MSSBoostClassifier, NSBoostClassifier):
        model = kind(random_state=0).fit(rows, labels)
        assert (np.bincount(model.source_labels_, minlength=5) > 0).all()
        assert model.label_weights_.any(axis=1).all()
        assert model.label_weights_.any(axis=0).all()


def test_it_works_in_cross_validation():
    scores = cross_val_score(MSSBoostClassifier(**SMALL), X, Y, scoring="average_precision", cv=3)
    assert scores.mean() > 1.3 * Y.mean()
    search = GridSearchCV(
        MSSBoostClassifier(**SMALL), {"feature_ratio": [0.05, 0.5]}, scoring="average_precision", cv=2
    )
    assert search.fit(X, Y).best_params_ == {"feature_ratio": 0.5}


@pytest.mark.parametrize(
    ("estimator", "size"),
    [
        (DecisionTreeClassifier(max_depth=2), lambda model: sum(m.tree_.node_count for m in model.estimators_)),
        (LogisticRegression(), lambda model: 6 * 12),
        (RidgeClassifier(), lambda model: 6 * 12),
        (LinearSVC(), lambda model: 6 * 12),
        (make_pipeline(StandardScaler(), SVC()), lambda model: 6 * sum(len(m[-1].support_) for m in model.estimators_)),
        (HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2), lambda model: None),
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
    model = MSSBoostClassifier(HistGradientBoostingClassifier(max_iter=3), **SMALL).fit(gaps, Y)
    assert np.isfinite(model.decision_function(gaps)).all()


@pytest.mark.parametrize("model", [LogisticRegression(), HistGradientBoostingClassifier(max_iter=3)])
def test_a_pipeline_that_imputes_takes_nan(model):
    gaps = X.copy()
    gaps[::7, 3] = np.nan
    imputing = MSSBoostClassifier(make_pipeline(SimpleImputer(), model), **SMALL)
    assert get_tags(imputing).input_tags.allow_nan
    assert np.isfinite(imputing.fit(gaps, Y).decision_function(gaps)).all()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        MSSBoostClassifier(make_pipeline(PCA(1), model), **SMALL).fit(gaps, Y)


def test_automatic_ratios_are_the_same_every_time():
    """Random base models are seeded in the search too, the full ones among them."""
    tree = DecisionTreeClassifier(max_depth=3, max_features=1)
    settings = {"data_ratio": "auto", "feature_ratio": "auto", "n_estimators": 1}
    one, again, other = (RSBagClassifier(tree, random_state=seed, **settings).fit(X, Y) for seed in (0, 0, 1))
    assert one.ratio_scores_ == again.ratio_scores_
    assert one.ratio_scores_["full"] != other.ratio_scores_["full"]


class RecordsRows(LogisticRegression):
    """Notes the rows that it is fitted on."""

    seen: ClassVar = []

    def fit(self, X, y):
        self.seen.append((sparse.issparse(X), X.shape))
        return super().fit(X, y)


def test_automatic_ratios_leave_sparse_rows_sparse(monkeypatch):
    monkeypatch.setattr(RecordsRows, "seen", [])
    settings = {"data_ratio": 0.4, "feature_ratio": "auto", "n_estimators": 1, "random_state": 0}
    model = RSBagClassifier(RecordsRows(), **settings).fit(sparse.csr_matrix(X), Y)
    full = [is_sparse for is_sparse, shape in RecordsRows.seen if shape == (150, 20)]
    assert len(full) == 10  # five labels, two halves
    assert all(full)
    dense = RSBagClassifier(RecordsRows(), **settings).fit(X, Y)
    assert_allclose(model.ratio_scores_["full"], dense.ratio_scores_["full"], rtol=1e-3)


@pytest.mark.parametrize("estimator", [RbfSVC(tol=1e-6), SVC(tol=1e-6), HistGradientBoostingClassifier(max_iter=3)])
def test_automatic_ratios_of_sparse_rows(estimator):
    """A machine of ours is libsvm's there; a base model that takes arrays only gets them."""
    settings = {"data_ratio": 0.4, "feature_ratio": "auto", "n_estimators": 1, "random_state": 0}
    thin, dense = (RSBagClassifier(estimator, **settings).fit(rows, Y) for rows in (sparse.csc_matrix(X), X))
    assert list(thin.ratio_scores_) == list(dense.ratio_scores_)
    assert_allclose(list(thin.ratio_scores_.values()), list(dense.ratio_scores_.values()), rtol=1e-3)


def test_automatic_ratios_are_the_smallest_that_keep_most_of_the_full_model():
    model = MSSBoostClassifier(data_ratio="auto", feature_ratio="auto", n_estimators=5, random_state=0, n_jobs=2).fit(
        X, Y
    )
    scores = dict(model.ratio_scores_)
    full = scores.pop("full")
    pairs = list(scores)
    assert (model.data_ratio_, model.feature_ratio_) == pairs[-1]
    assert scores[pairs[-1]] >= KEPT * full
    assert all(scores[pair] < KEPT * full for pair in pairs[:-1])
    sizes = [data * feature for data, feature in pairs]
    assert sizes == sorted(sizes)
    alone = MSSBoostClassifier(data_ratio="auto", feature_ratio="auto", n_estimators=5, random_state=0).fit(X, Y)
    assert alone.ratio_scores_ == model.ratio_scores_


def test_one_automatic_ratio_leaves_the_other():
    model = RSBagClassifier(data_ratio="auto", feature_ratio=0.4, n_estimators=5, random_state=0).fit(X, Y)
    assert model.feature_ratio_ == 0.4
    assert model.data_ratio_ in RATIOS
    assert {pair[1] for pair in model.ratio_scores_ if pair != "full"} == {0.4}
    assert RSBagClassifier(**SMALL).fit(X, Y).ratio_scores_ is None


def test_automatic_ratios_need_labels_in_both_halves():
    rare = np.zeros((300, 1), dtype=int)
    rare[0] = 1
    with pytest.raises(ValueError, match=r"data_ratio='auto' .* two halves"):
        RSBagClassifier(data_ratio="auto").fit(X, rare)


@pytest.mark.parametrize("pool_size", [1, 3, 5, 11])
def test_pools_of_any_size(pool_size):
    model = MSSBoostClassifier(pool_size=pool_size, **SMALL).fit(X, Y)
    assert (np.diff(model.loss_curve_) <= 1e-9).all()
    assert len(model.estimators_) == 12


def test_a_small_pool_serves_every_label():
    model = NSBoostClassifier(pool_size=2, **(SMALL | {"n_estimators": 30})).fit(X, Y)
    assert set(model.source_labels_) == set(range(5))
    assert model.label_weights_.any(axis=0).all()


@every_ensemble
def test_labels_that_nothing_tells_of(kind):
    """Random labels: base models may get no weight at all, and the model says nothing of the rows, without trouble."""
    noise = np.random.default_rng(0).integers(0, 2, (300, 3))
    model = kind(**(SMALL | {"n_estimators": 30})).fit(np.ones((300, 4)), noise)
    assert len(model.estimators_) == 30
    assert np.isfinite(model.decision_function(np.ones((3, 4)))).all()


def test_a_model_that_no_label_uses_is_not_asked():
    model = MSSBoostClassifier(**SMALL).fit(X, Y)
    model.label_weights_[3] = 0.0
    model.estimators_[3] = None
    assert model.decision_function(X).shape == (300, 5)


def test_strength_and_correlation_of_the_bag():
    model = RSBagClassifier(**(SMALL | {"n_estimators": 43})).fit(X, Y)
    fresh, truth = related_labels(seed=0, n_rows=1000)
    told = model.strength_and_correlation(fresh, truth)
    assert {len(values) for values in told.values()} == {5}
    stronger = told["strength"] > 0
    assert stronger.any()
    assert (told["error"] <= told["bound"] + 1e-12)[stronger].all()
    assert np.isnan(told["bound"][~stronger]).all()
    few = RSBagClassifier(**(SMALL | {"n_estimators": 3})).fit(X, Y).strength_and_correlation(X, Y)
    assert_array_equal(np.isnan(few["strength"]), [False, False, False, True, True])
    with pytest.raises(ValueError, match=r"Y must have shape \(300, 5\); got \(300, 4\)"):
        model.strength_and_correlation(X, Y[:, :4])
    # Test rows need not have every label.
    row = model.strength_and_correlation(X[:1], sparse.csr_matrix(Y[:1]))
    assert set(row["error"]) <= {0.0, 1.0}
    words = np.where(Y[:, 0], "yes", "no")
    told = RSBagClassifier(**SMALL).fit(X, words).strength_and_correlation(X, words)
    assert told["error"].shape == (1,)
    assert told["error"][0] < 0.5


def test_reports(capsys):
    MSSBoostClassifier(verbose=1, **(SMALL | {"n_estimators": 20})).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("[MSSBoostClassifier] model 20 of 20: joint loss ")
    MSSBoostClassifier(verbose=2, **SMALL).fit(X, Y)
    assert len(capsys.readouterr().out.splitlines()) == 12


@every_ensemble
def test_an_interrupt_keeps_the_models_there_are(kind, monkeypatch):
    calls = []

    def interrupt(self, losses):
        calls.append(losses)
        if len(calls) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(base_of_ensembles.BaseSubspaceEnsemble, "_report", interrupt)
    with pytest.warns(InterruptedFitWarning, match="the 4 of 12 base models"):
        model = kind(**SMALL).fit(X, Y)
    assert len(model.estimators_) == len(model.label_weights_) == 4
    assert len(model.loss_curve_) == 5
    assert model.decision_function(X).shape == (300, 5)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = MSSBoostClassifier(**SMALL).fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="Y must be an indicator"):
        model.fit(X[:, :5], Y + 1)
    assert_array_equal(model.decision_function(X), before)


NO_POSITIVES = np.c_[Y, np.zeros(300, dtype=int)]
NO_NEGATIVES = np.c_[np.ones(300, dtype=int), Y]


@every_ensemble
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be an integer of at least 1; got 0"),
        ({"n_estimators": -1}, ValueError, "n_estimators must be an integer of at least 1; got -1"),
        ({"n_estimators": 2.5}, ValueError, "n_estimators must be an integer of at least 1; got 2.5"),
        ({"data_ratio": 0}, ValueError, r"data_ratio must be in \(0, 1\], or 'auto'; got 0"),
        ({"data_ratio": 1.2}, ValueError, r"data_ratio must be in \(0, 1\], or 'auto'; got 1.2"),
        ({"data_ratio": "half"}, ValueError, r"data_ratio must be in \(0, 1\], or 'auto'; got 'half'"),
        ({"feature_ratio": -0.1}, ValueError, r"feature_ratio must be in \(0, 1\], or 'auto'; got -0.1"),
        ({"feature_ratio": np.nan}, ValueError, r"feature_ratio must be in \(0, 1\], or 'auto'; got nan"),
        ({"feature_ratio": True}, ValueError, r"feature_ratio must be in \(0, 1\], or 'auto'; got True"),
        ({"pool_size": 0}, ValueError, "pool_size must be an integer of at least 1; got 0"),
        ({"significance": 0}, ValueError, r"significance must be in \(0, 1\], where 1 is no test; got 0"),
        ({"significance": "2.5 %"}, ValueError, r"significance must be in \(0, 1\].*; got '2.5 %'"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None, a number of threads"),
        ({"verbose": -1}, ValueError, "verbose must be an integer of at least 0; got -1"),
        ({"views": {"a": [99]}}, ValueError, "View 'a' asks for column 99, but X has n_features=20"),
        (
            {"estimator": NearestCentroid},
            TypeError,
            r"estimator must be an instance, not a class; pass NearestCentroid\(\)",
        ),
        ({"estimator": LinearRegression()}, TypeError, "estimator must be a classifier; got LinearRegression"),
        ({"estimator": "svm"}, TypeError, "estimator must be a scikit-learn classifier"),
    ],
)
def test_settings_that_mean_nothing(kind, settings, error, message):
    with pytest.raises(error, match=message):
        kind(**settings).fit(X, Y)


class SaysClassesOnly(RidgeClassifier):
    """A classifier without real-valued outputs."""

    decision_function = property()


@every_ensemble
def test_a_base_model_without_real_valued_outputs(kind):
    with pytest.raises(TypeError, match=r"estimator must have predict_proba or decision_function.*has neither"):
        kind(SaysClassesOnly()).fit(X, Y)


@every_ensemble
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Y + 1, "Y must be an indicator matrix that holds 0 and 1 only; got .*2.* in row 0, column"),
        (2 * Y - 1, "Y must be an indicator matrix that holds 0 and 1 only; got .*-1"),
        (Y * 0.5, "Y must be an indicator matrix that holds 0 and 1 only; got .*0.5"),
        (np.where(Y, "a", "b"), "Y must be an indicator matrix that holds 0 and 1 only; got .*'[ab]'"),
        (NO_POSITIVES, r"1 of 6 have no positive row: 'label5' \(column 5\)"),
        (NO_NEGATIVES, r"1 of 6 have no negative row: 'label0' \(column 0\)"),
        (pd.DataFrame(NO_POSITIVES, columns=list("abcdef")), r"have no positive row: 'f' \(column 5\)"),
        (np.zeros((300, 0)), r"Y must have at least one label; got shape \(300, 0\)"),
        (Y[:-1], "inconsistent numbers of samples"),
        (np.arange(300) % 3, "Only binary classification is supported. The type of the target is multiclass"),
        (np.zeros(300), "y must hold two classes; it has one class only"),
        (np.where(Y, np.nan, 0.0), "contains NaN"),
    ],
)
def test_labels_that_are_none(kind, labels, message):
    with pytest.raises(ValueError, match=message):
        kind(**SMALL).fit(X, labels)


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
        MSSBoostClassifier(SaysOneColumn(), feature_ratio=feature_ratio).fit(X, Y)


def test_fits_that_overlap_leave_the_threads_of_products_alone():
    """The limit is one of the process: the first to leave must not take it from the other, the last must lift it."""

    def counts():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(limits=2, user_api="blas"):
        before = counts()
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        assert counts() == {1}
        first.__exit__(None, None, None)
        assert counts() == {1}
        second.__exit__(None, None, None)
        assert counts() == before


def test_a_base_model_that_gives_no_numbers():
    with pytest.raises(ValueError, match="estimator must give each of 300 rows a finite number; SaysNan gave"):
        MSSBoostClassifier(SaysNan(), **SMALL).fit(X, Y)


def test_no_warning_is_given_in_a_plain_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MSSBoostClassifier(**SMALL).fit(X, Y).predict(X)
