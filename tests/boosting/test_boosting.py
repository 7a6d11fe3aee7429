"""What users do with the boosting classifiers."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from fuselearn import (
    IndependentBoostClassifier,
    ShareBoostClassifier,
    add_label_noise,
    stack_unpaired,
)
from fuselearn.backends import Tally, Trial
from fuselearn.bandits import Best, Exp3P
from fuselearn.boosting import base, rounds
from fuselearn.boosting.rounds import SharedRound
from fuselearn.boosting.trace import RunSettings, Trace
from fuselearn.exceptions import InterruptedFitWarning, NoEdgeWarning
from fuselearn.learners import GaussianNB, Stump, Tree

KINDS = [ShareBoostClassifier, IndependentBoostClassifier]
VIEWS = {"sepal": [0, 1], "petal": [2, 3]}
X, y = load_iris(return_X_y=True)


def assert_same_model(one, other):
    """Equal bit for bit, hypotheses included."""
    for name in ("estimator_weights_", "estimator_errors_", "winning_arms_", "arm_errors_", "view_importances_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for ours, theirs in zip(one.estimators_, other.estimators_):
        for name, value in vars(ours).items():
            if isinstance(value, np.ndarray):
                assert_array_equal(value, getattr(theirs, name))


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_on_other_rows_replays_all_rounds(kind):
    """The first new round runs under the weights that all rounds before it give these rows."""
    first, other = np.arange(0, 150, 2), np.arange(1, 150, 2)
    model = kind("stump", views=VIEWS, n_estimators=5, warm_start=True).fit(X[first], y[first])
    *_, weights = model.staged_sample_weights(X[other], y[other])
    model.set_params(n_estimators=6).fit(X[other], y[other])
    arm = model.winning_arms_[5]
    wrong = model.estimators_[5].predict(X[np.ix_(other, VIEWS[["sepal", "petal"][arm]])]) != y[other]
    assert_allclose(model.estimator_errors_[5], (weights if weights.ndim == 1 else weights[:, arm])[wrong].sum())
    assert not model.trace_.one_data_set


@pytest.mark.parametrize("kind", KINDS)
def test_fitted_attributes(kind):
    model = kind(views=VIEWS, n_estimators=12).fit(X, y)
    assert model.view_names_ == ["sepal", "petal"]
    assert [columns.tolist() for columns in model.view_columns_] == [[0, 1], [2, 3]]
    assert model.n_iter_ == len(model.estimators_) == len(model.estimator_weights_) == 12
    assert [(name, type(learner)) for name, learner in model.arms_] == [("sepal", GaussianNB), ("petal", GaussianNB)]
    assert model.arm_errors_.shape == (12, 2)
    assert_array_equal(model.winning_arms_, model.winning_views_)
    assert_allclose(model.view_importances_.sum(), 1)
    assert_allclose(model.class_prior_, 1 / 3)
    assert_allclose(model.estimator_errors_, model.arm_errors_[np.arange(12), model.winning_arms_])
    for t in range(12):
        columns = model.view_columns_[model.winning_views_[t]]
        assert set(model.estimators_[t].predict(X[:, columns])) <= {0, 1, 2}
    assert len(pickle.dumps(model)) < X.nbytes * 5  # 12 rounds, and no training data
    assert X[0].tobytes() not in pickle.dumps(model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_probabilities_and_stages_agree(kind, n_classes):
    keep = y < n_classes if n_classes == 3 else y > 0
    model = kind("stump", views=VIEWS, n_estimators=9).fit(X[keep], y[keep])
    decision = model.decision_function(X)
    votes = np.zeros((len(X), n_classes))
    for hypothesis, alpha, view in zip(model.estimators_, model.estimator_weights_, model.winning_views_):
        votes[np.arange(len(X)), hypothesis.predict(X[:, model.view_columns_[view]])] += alpha
    if n_classes == 2:
        assert decision.shape == (150,)
        assert_allclose(decision, votes[:, 1] - votes[:, 0], atol=1e-12)
        assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * decision)), rtol=1e-9)
        assert_array_equal(model.predict(X), model.classes_[(decision > 0).astype(int)])
    else:
        assert_allclose(decision, votes, atol=1e-12)
        assert_array_equal(model.predict(X), model.classes_[votes.argmax(axis=1)])
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    stages = list(zip(model.staged_decision_function(X), model.staged_predict(X), model.staged_predict_proba(X)))
    assert len(stages) == model.n_iter_
    assert_array_equal(stages[-1][0], decision)
    assert_array_equal(stages[-1][1], model.predict(X))
    assert_array_equal(stages[-1][2], model.predict_proba(X))
    assert not np.array_equal(stages[0][0], stages[-1][0])
    margins = model.margins(X[keep], y[keep])
    assert (np.abs(margins) <= 1 + 1e-12).all()
    assert_array_equal(margins > 0, model.predict(X[keep]) == y[keep])


def test_first_stages_are_a_shorter_run():
    long = ShareBoostClassifier("stump", views=VIEWS, n_estimators=20).fit(X, y)
    short = ShareBoostClassifier("stump", views=VIEWS, n_estimators=7).fit(X, y)
    assert_array_equal(list(long.staged_predict(X))[6], short.predict(X))


def test_pipeline_cross_validation_and_grid_search_over_views():
    model = make_pipeline(StandardScaler(), ShareBoostClassifier(views=VIEWS, n_estimators=20))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(
        ShareBoostClassifier("stump", n_estimators=5),
        {"views": [None, VIEWS, [[0], [1], [2, 3]]], "view_policy": ["best", Exp3P(gamma=0.5)]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.8
    assert len(search.cv_results_["params"]) == 6
    nested = GridSearchCV(ShareBoostClassifier(Tree(), n_estimators=5), {"estimator__max_depth": [1, 3]}, cv=3)
    assert nested.fit(X, y).best_params_["estimator__max_depth"] in (1, 3)
    labels = np.c_[y, y]
    search = GridSearchCV(ShareBoostClassifier(views=VIEWS, n_estimators=5), {"learning_rate": [0.5, 1.0]}, cv=3)
    assert search.fit(X, y, view_labels=labels).best_score_ > 0.8


def test_pandas_and_polars_and_numpy_give_one_model():
    columns = ["sl", "sw", "pl", "pw"]
    by_name = {"sepal": ["sl", "sw"], "petal": slice("pl", "pw")}
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    reference = ShareBoostClassifier(views=VIEWS, n_estimators=10).fit(X, names)
    frames = [
        (pd.DataFrame(X, columns=columns), pd.Series(names)),
        (pl.DataFrame(X, schema=columns), pl.Series(names)),
        (pl.DataFrame(X, schema=columns).to_arrow(), names),
    ]
    for frame, labels in frames:
        model = ShareBoostClassifier(views=by_name, n_estimators=10).fit(frame, labels)
        assert_same_model(model, reference)
        assert_array_equal(model.predict(frame), reference.predict(X))
        assert_array_equal(model.feature_names_in_, columns)


def test_single_precision_is_read_without_a_copy_in_between():
    seen = []

    class Noted(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y, sample_weight)

    single = X.astype(np.float32)
    model = ShareBoostClassifier(Noted(max_depth=1), views=VIEWS, n_estimators=2).fit(single, y)
    assert all(np.shares_memory(rows, single) for rows in seen)
    assert_array_equal(model.predict(single), model.predict(X))


def test_a_dict_gives_each_view_its_learner_and_a_list_makes_arms():
    mixed = ShareBoostClassifier({"sepal": "stump", "petal": SVC()}, views=VIEWS, n_estimators=5).fit(X, y)
    assert [name for name, _ in mixed.arms_] == ["sepal", "petal"]
    several = ShareBoostClassifier(["stump", "gaussian_nb", "linear"], views=VIEWS, n_estimators=15).fit(X, y)
    assert [name for name, _ in several.arms_] == ["sepal"] * 3 + ["petal"] * 3
    assert several.arm_errors_.shape == (15, 6)
    assert_array_equal(several.winning_views_, several.winning_arms_ // 3)
    per_view = ShareBoostClassifier({"sepal": ["stump", "tree"], "petal": None}, views=VIEWS, n_estimators=5).fit(X, y)
    assert [name for name, _ in per_view.arms_] == ["sepal", "sepal", "petal"]


def test_overlapping_views():
    model = ShareBoostClassifier("stump", views=[[0, 1, 2], [1, 2, 3]], n_estimators=10).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", [None, "stump", "tree", "linear", "forest"])
@pytest.mark.parametrize("resample", [False, True])
def test_threads_do_not_change_a_bit(kind, estimator, resample):
    rng = np.random.default_rng(0)
    n = 6000  # three blocks of rows
    target = rng.integers(0, 3, n)
    table = rng.normal(size=(n, 6)) + 0.4 * target[:, None]
    table[rng.random(n) < 0.2, :3] = np.nan
    if estimator == "forest":
        estimator = RandomForestClassifier(3, max_depth=3)
        table, target = table[:300], target[:300]
    models = [
        kind(
            estimator,
            views=[slice(0, 3), slice(3, 6)],
            n_estimators=4,
            resample=resample,
            n_jobs=n_jobs,
            random_state=5,
        ).fit(table, target)
        for n_jobs in (None, 2, 3)
    ]
    for other in models[1:]:
        assert_same_model(models[0], other)
        assert_array_equal(models[0].decision_function(table), other.decision_function(table))


def test_same_seed_same_model_other_seed_other_model():
    def fit(seed):
        return ShareBoostClassifier(views=VIEWS, n_estimators=15, view_policy="exp3p", random_state=seed).fit(X, y)

    assert_same_model(fit(0), fit(0))
    assert not np.array_equal(fit(0).winning_arms_, fit(1).winning_arms_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"estimator": "tree"},
        {"resample": True},
        {"resample": True, "error": "out_of_bag", "estimator": RandomForestClassifier(3)},
        {"preprocess": PCA(2, svd_solver="randomized")},
        {"view_policy": "exp3p"},
    ],
)
def test_warm_start_is_one_long_run(kind, settings):
    if kind is IndependentBoostClassifier and "view_policy" in settings:
        pytest.skip("independent boosting has no policy")
    if "view_policy" in settings:
        settings = {"view_policy": Exp3P(horizon=12)}
    arguments = {"views": VIEWS, "random_state": 3, **settings}
    model = kind(n_estimators=5, warm_start=True, **arguments).fit(X, y)
    first = list(model.estimators_)
    model.set_params(n_estimators=12).fit(X, y)
    assert model.estimators_[:5] == first[:5]
    if "preprocess" not in settings:  # whose random solver draws from the global state
        assert_same_model(model, kind(n_estimators=12, **arguments).fit(X, y))
    with pytest.raises(ValueError, match=f"n_estimators=3 must be at least the {model.n_iter_} rounds"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="y must have the classes that the model was fitted on"):
        model.set_params(n_estimators=15).fit(X[:100], y[:100])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"views": {"sepal": [0, 1, 2], "petal": [3]}}, "views must be those that the model was fitted on"),
        ({"views": {"sepal": [2, 3], "petal": [0, 1]}}, "views must be those that the model was fitted on"),
        ({"estimator": ["stump", "tree"]}, r"arms_of_views was \(1, 1\); it is now \(2, 2\)"),
        ({"view_policy": "exp3p"}, r"view_policy was Best\(\); it is now Exp3P"),
        ({"view_policy": "round_robin"}, r"view_policy was Best\(\); it is now RoundRobin"),
        ({"learning_rate": 0.5}, "learning_rate was 1.0; it is now 0.5"),
        ({"resample": True}, "resample was False; it is now True"),
    ],
)
def test_warm_start_refuses_another_run(settings, message):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=4, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.set_params(n_estimators=8, **settings).fit(X, y)
    assert model.n_iter_ == 4


def test_warm_start_may_go_on_with_another_learner():
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=4, warm_start=True).fit(X, y)
    first = list(model.staged_decision_function(X))[-1]
    model.set_params(n_estimators=8, estimator=SVC()).fit(X, y)
    assert model.n_iter_ > 4
    assert_array_equal(list(model.staged_decision_function(X))[3], first)


def test_warm_start_tries_again_where_no_view_had_an_edge():
    model = ShareBoostClassifier(views=VIEWS, n_estimators=4, warm_start=True)
    with pytest.warns(NoEdgeWarning):
        model.fit(np.zeros_like(X), y)
    assert model.fit(X, y).n_iter_ == 4


def test_staged_sample_weights_want_the_data_of_the_fit():
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=4).fit(X, y)
    with pytest.raises(ValueError, match="y must have the classes that the model was fitted on"):
        next(model.staged_sample_weights(X[:100], y[:100]))
    before = list(model.staged_sample_weights(X, y))
    model.set_params(learning_rate=0.1, resample=True, estimator="tree")  # settings of the next fit, not of this one
    assert_array_equal(list(model.staged_sample_weights(X, y)), before)
    model.set_params(views=[[0], [1]])
    with pytest.raises(ValueError, match="views must be those that the model was fitted on"):
        next(model.staged_sample_weights(X, y))


@pytest.mark.parametrize("estimator", [None, "stump", "tree", "linear"])
def test_blas_threads_and_other_fits_do_not_change_a_bit(estimator):
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, 3000)
    table = rng.normal(size=(3000, 120)) + 0.1 * target[:, None]

    def fit(_):
        return ShareBoostClassifier(estimator, views=[slice(0, 60), slice(60, 120)], n_estimators=3).fit(table, target)

    with threadpool_limits(1):
        alone = fit(None)
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(fit, range(3)):
            assert_same_model(alone, other)


def test_random_classifiers_draw_anew_in_every_round_and_arm():
    seen = []

    class Noted(RandomForestClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(self.random_state)
            return super().fit(X, y, sample_weight)

    ShareBoostClassifier(Noted(2, max_depth=2), views=VIEWS, n_estimators=4, random_state=0).fit(X, y)
    assert len(seen) == len(set(seen)) == 8


def test_arms_near_chance_are_ordered_by_their_error():
    """Z is flat at ε = ½: errors of ½ - 1e-7 and ½ - 1.5e-7 have the same Z to twelve digits."""
    tallies = [Tally(0.5 + edge, 0.5 - edge, 0.0) for edge in (1.0e-7, 1.5e-7)]
    rule = SharedRound(Trace(RunSettings((1, 1), Best(), 1.0, False, "training"), seed=0, horizon=10), n_classes=2)
    trials = {arm: Trial(None, tally) for arm, tally in enumerate(tallies)}
    assert rule._winner(trials) == 1
    assert abs(rounds.normaliser(tallies[0], 2) - rounds.normaliser(tallies[1], 2)) < rounds.TIE
    with_absence = {arm: Trial(None, tally._replace(absent=0.1)) for arm, tally in enumerate(tallies)}
    assert rule._winner(with_absence) == 0


def test_a_large_learning_rate_does_not_overflow():
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=5, learning_rate=1e3).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert all(np.isfinite(weights).all() for weights in model.staged_sample_weights(X, y))
    perfect = np.arange(20) % 2
    assert ShareBoostClassifier("stump", learning_rate=50.0).fit(perfect[:, None] + 0.0, perfect).n_iter_ == 1


@pytest.mark.parametrize("size", [1e308, 5e-324])
def test_weights_may_be_of_any_size(size):
    plain = ShareBoostClassifier("stump", views=VIEWS, n_estimators=5).fit(X, y)
    assert_same_model(plain, clone(plain).fit(X, y, sample_weight=np.full(150, size)))


def test_view_labels_of_a_data_frame_go_by_the_names_of_the_views():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame({"sepal": rng.permutation(y), "petal": y})
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5)
    expected = clone(model).fit(X, y, view_labels=labels.to_numpy())
    assert_same_model(expected, clone(model).fit(X, y, view_labels=labels[["petal", "sepal"]]))
    by_position = labels.set_axis(["first annotator", "second annotator"], axis=1)
    assert_same_model(expected, clone(model).fit(X, y, view_labels=by_position))


def test_scikit_learns_settings_hold_in_threads_too():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1))
    with config_context(enable_metadata_routing=True):
        one, three = (
            ShareBoostClassifier(pipeline, views=VIEWS, n_estimators=5, n_jobs=n_jobs, random_state=0).fit(X, y)
            for n_jobs in (1, 3)
        )
    assert_same_model(one, three)


def test_view_labels_of_a_data_frame_with_numbers_for_names():
    labels = pd.DataFrame({1: y, 0: y})
    model = ShareBoostClassifier(views={"0": [0, 1], "1": [2, 3]}, n_estimators=3)
    assert model.fit(X, y, view_labels=labels).n_iter_ == 3


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda rows: rows[:-5], "preprocess made 145 rows of the 150 rows of the view 'sepal'"),
        (lambda rows: rows[:, 0], "What preprocess made of the view 'sepal' is not a table of numbers"),
        (lambda rows: rows[:, :0], "What preprocess made of the view 'sepal' is not a table of numbers"),
        (lambda rows: rows * np.inf, "What preprocess made of the view 'sepal' is not a table of numbers"),
    ],
)
def test_what_preprocess_makes_is_checked(made, message):
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier("stump", views=VIEWS, preprocess={"sepal": FunctionTransformer(made)}).fit(X, y)


def test_bounds_know_of_a_warm_start_on_other_rows():
    two = y < 2
    model = ShareBoostClassifier(views=VIEWS, n_estimators=3, warm_start=True, view_policy="round_robin")
    model.fit(X[two][::3, ::-1], y[two][::3])
    model.set_params(n_estimators=6).fit(X[two], y[two])
    with pytest.raises(ValueError, match=r"this model lacks: .*one data set"):
        model.bounds()
    again = clone(model).set_params(n_estimators=3).fit(X[two], y[two])
    assert again.set_params(n_estimators=6).fit(X[two], y[two]).bounds()["training_error"] <= 1


def test_a_subclass_may_have_a_required_argument():
    class Named(ShareBoostClassifier):
        def __init__(self, title, views=None):
            super().__init__(views=views, n_estimators=3)
            self.title = title

    assert Named("mine", VIEWS).fit(X, y).n_iter_ == 3


def test_what_is_done_to_a_learner_later_does_not_change_the_model():
    learner = Tree(max_depth=2)
    model = ShareBoostClassifier(learner, n_estimators=2).fit(X, y)
    learner.set_params(max_depth=7)
    assert model.arms_[0][1].max_depth == 2


def test_an_interrupt_keeps_what_there_is(monkeypatch):
    def interrupted(rows, one_round, trace, n_rounds, report):
        original(rows, one_round, trace, 4, report)
        raise KeyboardInterrupt

    original = base.boost
    monkeypatch.setattr(base, "boost", interrupted)
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=10, warm_start=True)
    with pytest.warns(InterruptedFitWarning, match="Interrupted: the model has the 4 of 10 rounds"):
        model.fit(X, y)
    assert model.n_iter_ == 4
    assert model.score(X, y) > 0.8
    monkeypatch.setattr(base, "boost", original)
    assert_same_model(model.fit(X, y), ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(X, y))


def test_preprocess_is_fitted_once_per_view_on_the_rows_that_have_it():
    table, target = load_breast_cancer(return_X_y=True)
    table = table.copy()
    table[:50, :10] = np.nan
    views = {"mean": slice(0, 10), "worst": slice(20, 30)}
    model = ShareBoostClassifier(
        views=views, n_estimators=20, preprocess={"mean": make_pipeline(StandardScaler(), PCA(3))}
    )
    model.fit(table, target)
    assert model.preprocessors_[1] is None
    assert model.preprocessors_[0][0].n_samples_seen_ == len(table) - 50
    by_hand = np.full((len(table), 3), np.nan)
    by_hand[50:] = model.preprocessors_[0].transform(table[50:, :10])
    plain = ShareBoostClassifier(views=[slice(0, 3), slice(3, None)], n_estimators=20)
    plain.fit(np.hstack([by_hand, table[:, 20:30]]), target)
    assert_array_equal(plain.estimator_weights_, model.estimator_weights_)
    assert_array_equal(model.predict(table), plain.predict(np.hstack([by_hand, table[:, 20:30]])))
    supervised = ShareBoostClassifier(views=views, n_estimators=5, preprocess=LinearDiscriminantAnalysis())
    assert supervised.fit(table, target).score(table, target) > 0.9


def test_absent_views_abstain_and_the_prior_speaks_where_nobody_does():
    table = X.copy()
    table[::3, :2] = np.nan
    table[1::3, 2:] = np.nan
    model = ShareBoostClassifier(views=VIEWS, n_estimators=20).fit(table, y)
    nobody = np.full((2, 4), np.nan)
    assert_allclose(model.predict_proba(nobody), np.tile(model.class_prior_, (2, 1)))
    weighted = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(table, y, sample_weight=1.0 + 2 * (y == 2))
    assert_allclose(weighted.predict_proba(nobody[:1])[0], [0.2, 0.2, 0.6])
    assert weighted.predict(nobody)[0] == 2
    assert_array_equal(model.margins(nobody, [0, 1]), [0.0, 0.0])
    one_view = X.copy()
    one_view[:, :2] = np.nan
    petals = ShareBoostClassifier(views=VIEWS, n_estimators=20).fit(X, y)
    votes = np.zeros((len(X), 3))
    for hypothesis, alpha, view in zip(petals.estimators_, petals.estimator_weights_, petals.winning_views_):
        if view == 1:
            votes[np.arange(len(X)), hypothesis.predict(X[:, 2:])] += alpha
    assert_allclose(petals.decision_function(one_view), votes)


def test_an_all_absent_chunk_is_fine_in_every_learner():
    for estimator in (None, "stump", "tree", "linear", DecisionTreeClassifier(max_depth=1)):
        model = ShareBoostClassifier(estimator, views=VIEWS, n_estimators=3, preprocess=StandardScaler()).fit(X, y)
        half = X.copy()
        half[:, :2] = np.nan
        assert model.predict(half).shape == (150,)
        assert model.predict(np.full((3, 4), np.nan)).shape == (3,)


def test_views_of_different_objects_are_fused():
    sepal_rows, petal_rows = np.arange(0, 150, 2), np.arange(1, 150, 2)
    table, views, target = stack_unpaired(
        {"sepal": (X[sepal_rows, :2], y[sepal_rows]), "petal": (X[petal_rows, 2:], y[petal_rows])}
    )
    model = ShareBoostClassifier(views=views, n_estimators=50).fit(table, target)
    assert model.score(X, y) > 0.9
    assert set(model.winning_views_) == {0, 1}


def test_a_view_that_is_perfect_where_it_is_seen_does_not_end_the_run():
    rng = np.random.default_rng(0)
    target = np.arange(100) % 2
    table = np.c_[target + 0.0, rng.normal(size=100) + target]
    table[:60, 0] = np.nan
    model = ShareBoostClassifier("stump", views=[[0], [1]], n_estimators=20).fit(table, target)
    assert set(model.winning_views_) == {0, 1}


def test_a_perfect_view_ends_the_run():
    target = np.arange(40) % 2
    model = ShareBoostClassifier("stump", n_estimators=20).fit(target[:, None] + 0.0, target)
    assert model.n_iter_ == 1
    assert model.score(target[:, None] + 0.0, target) == 1
    assert_allclose(model.estimator_weights_, 0.5 * np.log((1 - 2.2e-16) / 2.2e-16))


def test_view_labels_are_all_that_is_learned_from():
    rng = np.random.default_rng(0)
    labels = np.c_[y, y]
    shuffled = rng.permutation(y)
    model = ShareBoostClassifier(views=VIEWS, n_estimators=10)
    assert_same_model(clone(model).fit(X, shuffled, view_labels=labels), clone(model).fit(X, y))
    anything = labels.copy().astype(float)
    holes = X.copy()
    holes[:30, :2] = np.nan
    anything[:30, 0] = np.nan  # no label is needed where there is no view
    assert clone(model).fit(holes, y, view_labels=anything).score(X, y) > 0.8


def test_sharing_restricts_noise_to_its_view():
    """S0's point, on real data: with noise of its own in each view, shared weights do better than separate ones."""
    digits, target = load_digits(return_X_y=True)
    target = (target >= 5).astype(int)
    views = [slice(0, 24), slice(24, 40), slice(40, 64)]
    scores = {kind: [] for kind in KINDS}
    for seed in range(5):
        train, test = train_test_split(np.arange(len(digits)), train_size=0.6, random_state=seed, stratify=target)
        labels, _ = add_label_noise(target[train], 3, 0.3, random_state=seed)
        for kind in KINDS:
            model = kind("stump", views=views, n_estimators=60).fit(digits[train], target[train], view_labels=labels)
            scores[kind].append(model.score(digits[test], target[test]))
    assert np.mean(scores[ShareBoostClassifier]) > np.mean(scores[IndependentBoostClassifier])


def test_strong_learners_are_boosted_out_of_bag():
    table, target = load_breast_cancer(return_X_y=True)
    views = [slice(0, 10), slice(10, 20), slice(20, 30)]
    train, test = train_test_split(np.arange(len(table)), random_state=0, stratify=target)
    model = ShareBoostClassifier(
        RandomForestClassifier(20), views=views, n_estimators=10, resample=True, error="out_of_bag", random_state=0
    ).fit(table[train], target[train])
    assert (model.estimator_errors_ > 0).any()
    assert model.score(table[test], target[test]) > 0.93


@pytest.mark.parametrize("settings", [{}, {"view_policy": Exp3P()}, {"estimator": Tree()}, {"estimator": SVC()}])
def test_pickle_and_clone(settings):
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5, random_state=0, **settings).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert clone(model).get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 10), (2, 20)])
def test_verbose(capsys, verbose, lines):
    ShareBoostClassifier("stump", views=VIEWS, n_estimators=20, verbose=verbose).fit(X, y)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == lines
    assert all("of 20: arm" in line for line in printed)


def test_rows_without_weight_are_as_if_not_there():
    weights = np.ones(150)
    weights[::5] = 0
    kept = weights > 0
    weighted = ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(X, y, sample_weight=weights)
    dropped = ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(X[kept], y[kept])
    assert_array_equal(weighted.winning_arms_, dropped.winning_arms_)
    assert_allclose(weighted.estimator_weights_, dropped.estimator_weights_, rtol=1e-9)
    assert weighted.n_samples_fit_ == dropped.n_samples_fit_ == kept.sum()
    stages = list(weighted.staged_sample_weights(X, y, sample_weight=weights))
    assert (stages[-1][~kept] == 0).all()
    assert stages[-1].sum() == pytest.approx(1)


def test_no_warning_in_an_ordinary_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ShareBoostClassifier(["stump", "tree", "linear", None], views=VIEWS, n_estimators=5).fit(X, y)
    assert model.n_iter_ == 5


def test_columns_may_be_huge_or_far_from_zero():
    table = X * 1e12 + 1e14
    ours = ShareBoostClassifier(views=VIEWS, n_estimators=10).fit(table, y)
    assert_allclose(
        ours.estimator_errors_,
        ShareBoostClassifier(views=VIEWS, n_estimators=10).fit(X, y).estimator_errors_,
        rtol=1e-2,
    )


def test_stump_name_and_object_are_the_same():
    assert_same_model(
        ShareBoostClassifier("stump", views=VIEWS, n_estimators=5).fit(X, y),
        ShareBoostClassifier(Stump(), views=VIEWS, n_estimators=5).fit(X, y),
    )
