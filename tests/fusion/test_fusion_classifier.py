"""FusionClassifier: what users may give it, and what it leaves as it was."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import FusionClassifier
from tests.fusion.fusion_data import MODEL, ONE_PASS, VIEWS, X_NEW, Y_NEW, X, same, table, y


@pytest.mark.long
@pytest.mark.parametrize("learners", ["default", ["trees", DecisionTreeClassifier(max_features=1)]])
def test_threads_and_repetition_do_not_matter(learners):
    models = [clone(MODEL).set_params(learners=learners, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 1, 2, 3)]
    for model in models[1:]:
        same(model, models[0])


def test_another_seed_is_another_model(one_pass):
    other = clone(ONE_PASS).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(other.predict_proba(X_NEW), one_pass.predict_proba(X_NEW))


@pytest.mark.parametrize(
    ("learners", "max_fits"), [(["linear", "trees"], 8), pytest.param("default", None, marks=pytest.mark.long)], ids=str
)
def test_kinds_of_tables(learners, max_fits):
    unfitted = clone(MODEL).set_params(learners=learners, max_fits=max_fits)
    model = clone(unfitted).fit(X, y)
    names = [*"uvwxyz"]
    views = {"a": ["u", "v", "w"], "b": ["x", "y"], "noise": ["z"]}
    frame = pd.DataFrame(X, columns=names)
    for made in (frame, pl.DataFrame(X, schema=names)):
        other = clone(unfitted).set_params(views=views).fit(made, y)
        new = type(made)(X_NEW, columns=names) if made is frame else pl.DataFrame(X_NEW, schema=names)
        assert_array_equal(other.predict_proba(new), model.predict_proba(X_NEW))
        assert_array_equal(other.feature_names_in_, names)
    single = X.astype(np.float32)
    one, other = (clone(unfitted).fit(rows, y) for rows in (single, single.astype(np.float64)))
    new = X_NEW.astype(np.float32)
    assert_array_equal(one.predict_proba(new), other.predict_proba(new.astype(np.float64)))
    same(clone(unfitted).fit(np.asfortranarray(X), y.tolist()), model)


def test_order_of_views_and_ways_to_name_them(model):
    one = FusionClassifier(views=[[0, 1, 2], [3, 4], [5]], random_state=0).fit(X, y)
    assert one.view_names_ == ["view0", "view1", "view2"]
    same(one, model)


def test_one_view():
    model = FusionClassifier(random_state=0).fit(X, y)
    assert model.arms_ == [("view0", learner) for learner in ("svm", "linear", "trees")]
    assert_array_equal(model.view_importances_, [1.0])
    assert model.score(X_NEW, Y_NEW) > 0.8


def test_overlapping_views_and_views_of_one_column():
    views = {"first": [0, 1], "second": [1, 2, 3], "all": slice(None), "one": [0]}
    model = FusionClassifier(views=views, random_state=0).fit(X, y)
    assert model.score(X_NEW, Y_NEW) > 0.8
    assert len(model.view_importances_) == 4


def test_no_view_may_have_the_name_of_all_of_them():
    with pytest.raises(ValueError, match=r"'all views'.*another name"):
        FusionClassifier(views={"all views": [0, 1], "b": [3, 4]}).fit(X, y)


def test_views_missing_at_fit_and_at_predict():
    rows, labels = table(150)
    rng = np.random.default_rng(3)
    rows[rng.random(150) < 0.3, :3] = np.nan
    rows[rng.random(150) < 0.3, 3:5] = np.nan
    model = clone(MODEL).fit(rows, labels)
    new = X_NEW.copy()
    new[:20, :3] = np.nan
    new[20:40, 3:5] = np.nan
    assert model.score(new, Y_NEW) > 0.75
    assert np.isfinite(model.predict_proba(new)).all()
    assert np.isfinite(model.posterior_).all()
    assert np.isfinite(model.out_of_sample_decision_).all()


def test_a_row_without_any_view_gets_the_prior():
    rows, labels = table(100)
    kept = (labels == 1) | (np.arange(100) < 40)
    rows, two = rows[kept], labels[kept]
    for n_classes, labels in ((2, two), (3, np.where(np.arange(len(two)) % 9 == 0, 2, two))):
        model = clone(ONE_PASS).set_params(consensus=False).fit(rows, labels)
        nothing = np.full((2, 6), np.nan)
        assert_allclose(model.class_prior_, np.bincount(labels) / len(labels))
        assert_allclose(model.predict_proba(nothing), [model.class_prior_] * 2)
        assert_array_equal(model.predict(nothing), [1, 1])
        decision = model.decision_function(nothing)
        logs = np.log(model.class_prior_)
        assert_allclose(decision, [logs[1] - logs[0]] * 2 if n_classes == 2 else [logs] * 2)


@pytest.mark.parametrize("consensus", [True, False])
def test_a_model_of_unpaired_rows_has_no_arm_of_all_views(consensus):
    rows, labels = table(180)
    for view, columns in enumerate(VIEWS.values()):
        rows[np.ix_(np.arange(180) % 3 != view, np.arange(6)[columns])] = np.nan
    model = clone(MODEL).set_params(consensus=consensus).fit(rows, labels)
    assert {view for view, _ in model.arms_} == set(VIEWS)
    assert model.score(X_NEW, Y_NEW) > 0.8


def test_views_that_hardly_any_row_has_are_left_out():
    rows = X.copy()
    rows[5:, 5] = np.nan
    model = clone(ONE_PASS).fit(rows, y)
    assert {view for view, _ in model.arms_} == {"a", "b"}
    assert model.view_importances_[2] == 0
    nothing_else = np.full((1, 6), np.nan)
    nothing_else[0, 5] = 1.0
    assert_allclose(model.predict_proba(nothing_else)[0], model.class_prior_)


def test_single_gaps_are_filled(model):
    rows = X.copy()
    rows[::5, 1] = np.nan
    rows[::7, 3] = np.nan
    other = clone(MODEL).fit(rows, y)
    assert other.score(X_NEW, Y_NEW) > model.score(X_NEW, Y_NEW) - 0.1
    new = X_NEW.copy()
    new[:, 0] = np.nan
    assert np.isfinite(model.predict_proba(new)).all()
    # A gap is at the mean of its column, for kernel machines and trees alike.
    filled_in = X_NEW.copy()
    filled_in[:, 0] = X[:, 0].mean()
    assert_allclose(model.predict_proba(new), model.predict_proba(filled_in), rtol=1e-6)


@pytest.mark.parametrize("columns", [[0], [3, 4], [0, 1, 2, 3, 4, 5]])
def test_constant_columns(columns):
    rows = X.copy()
    rows[:, columns] = 2.5
    model = clone(ONE_PASS).fit(rows, y)
    new = X_NEW.copy()
    new[:, columns] = 2.5
    assert np.isfinite(model.predict_proba(new)).all()
    if len(columns) < 6:
        assert model.score(new, Y_NEW) > 0.6
    else:
        assert_allclose(model.predict_proba(new), 0.5, atol=0.01)


@pytest.mark.long
def test_large_and_small_numbers():
    for factor in (1e-30, 1e30):
        model = clone(MODEL).fit(factor * X, y)
        assert model.score(factor * X_NEW, Y_NEW) > 0.75
    far = np.where(np.arange(6) == 0, 1e200, X_NEW)
    assert np.isfinite(clone(MODEL).fit(X, y).predict_proba(far)).all()


def test_no_rows_are_kept_but_the_centres_of_kernels():
    rows, labels = table(97)
    model = clone(MODEL).fit(rows, labels)
    kept = set()

    def walk(value, path):
        if isinstance(value, np.ndarray):
            if 97 in value.shape:
                kept.add(path[-1])
            assert not any(np.array_equal(value, rows[:, column]) for column in range(6))
        elif isinstance(value, dict):
            for key, item in value.items():
                walk(item, (*path, key))
        elif isinstance(value, list | tuple):
            for item in value:
                walk(item, path)
        elif hasattr(value, "__dict__") and not callable(getattr(value, "mro", None)):
            walk(vars(value), path)

    walk(vars(model), ())
    out_of_fold = {"present", "targets", "weights", "units", "view_sums", "joint_sums"}
    assert kept == {"centres", "coefficients", "posterior_", "out_of_sample_decision_", "_given_codes"} | out_of_fold


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"views": {"a": [0, 9]}}, ValueError, "'a'"),
        ({"views": {}}, ValueError, "views"),
        ({"views": {"a": []}}, ValueError, "'a'"),
        ({"learners": "forest"}, ValueError, r"learners has 'forest'.*known are \['svm', 'rbf', .*'boosting'\]"),
        ({"learners": []}, ValueError, "learners is empty; name at least one of"),
        ({"learners": {}}, ValueError, "learners is empty"),
        ({"learners": None}, TypeError, "in learners must be a scikit-learn classifier; got None"),
        ({"learners": SVC}, TypeError, r"in learners must be an instance, not a class; pass SVC\(\)"),
        ({"learners": LinearRegression()}, TypeError, "in learners must be a classifier; got LinearRegression"),
        ({"learners": [SVC(), SVC(C=2)]}, ValueError, "learners has two of the name 'svc'; give a dict"),
        ({"learners": ["rbf", "rbf"]}, ValueError, "learners has two of the name 'rbf'"),
        ({"learners": FrozenEstimator(GaussianNB().fit(X, y))}, TypeError, "is frozen"),
        ({"consensus": "yes"}, ValueError, "consensus must be True or False; got 'yes'"),
        ({"consensus": 1}, ValueError, "consensus must be True or False; got 1"),
        ({"time_limit": 0}, ValueError, "time_limit must be a number above 0; got 0"),
        ({"time_limit": "1 min"}, ValueError, "time_limit must be a number above 0; got '1 min'"),
        ({"time_limit": np.nan}, ValueError, "time_limit must be a number above 0; got nan"),
        ({"max_fits": 0}, ValueError, "max_fits must be an integer of at least 1; got 0"),
        ({"max_fits": 2.5}, ValueError, "max_fits must be an integer of at least 1; got 2.5"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None, a number of threads"),
        (
            {"random_state": "seed"},
            ValueError,
            "random_state must be a whole number from 0 to .*; got 'seed'",
        ),
    ],
)
def test_bad_settings_are_named(parameters, error, words):
    with pytest.raises(error, match=words):
        clone(MODEL).set_params(**parameters).fit(X, y)


def with_value(value):
    rows = X.copy()
    rows[4, 2] = value
    return rows


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((with_value(np.inf), y), {}, "[Ii]nfinity"),
        ((with_value(-np.inf), y), {}, "[Ii]nfinity"),
        ((X, y[:50]), {}, "inconsistent numbers of samples"),
        ((X, np.zeros(90)), {}, "class"),
        ((X, np.linspace(0, 1, 90)), {}, "continuous|label"),
        ((X, y), {"sample_weight": np.ones(3)}, r"inconsistent numbers of samples: \[90, 3\]"),
        ((X, y), {"sample_weight": np.full(90, -1.0)}, "sample_weight"),
        ((X, y), {"sample_weight": np.full(90, np.nan)}, "sample_weight"),
        ((X, y), {"sample_weight": (y == 1).astype(float)}, "positive sample_weight are all of one class"),
        ((X, y), {"view_labels": np.zeros((90, 2))}, "view_labels"),
        ((X, y), {"view_labels": np.full((90, 3), 5)}, "view_labels"),
        ((X, y), {"view_labels": np.ones((90, 3), dtype=int)}, "labels of view_labels are all of one class"),
        ((X, y), {"view_labels": np.column_stack([y, y, np.full(90, np.nan)])}, "'noise'"),
        ((np.where(np.arange(6) == 5, np.nan, X), y), {}, "'noise'"),
        ((np.where(np.arange(90)[:, None] == 7, np.nan, X), y), {}, "Every view is absent .* row 7"),
    ],
)
def test_bad_rows_and_labels_are_named(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        clone(MODEL).fit(*arguments, **options)


def test_bad_rows_at_predict(model):
    with pytest.raises(ValueError, match="6 features"):
        model.predict(X_NEW[:, :5])
    with pytest.raises(ValueError, match=r"[Ii]nfinity"):
        model.predict_proba(with_value(np.inf))
    with pytest.raises(ValueError, match="n must be an integer of at least 0; got -1"):
        model.suspects(-1)


def test_nothing_is_told_before_fit():
    for ask in (lambda m: m.predict(X), lambda m: m.suspects(), lambda m: m.leaderboard_):
        with pytest.raises((NotFittedError, AttributeError)):
            ask(clone(MODEL))


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = clone(ONE_PASS).fit(X, y)
    before, board = model.predict_proba(X_NEW), model.leaderboard_

    class Breaking(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("broken")

    for learners, error in ((Breaking(), RuntimeError), ("forest", ValueError)):
        with pytest.raises(error):
            model.set_params(learners=learners).fit(X[:50, :], 1 - y[:50])
    assert_array_equal(model.predict_proba(X_NEW), before)
    assert model.leaderboard_.equals(board)
    with pytest.raises(ValueError, match=r"[Ii]nfinity"):
        model.set_params(learners="default").fit(with_value(np.inf)[:, :4], y)
    assert model.n_features_in_ == 6


def test_parameters_are_kept_as_given():
    views = {"a": [0]}
    learners = [GaussianNB()]
    model = FusionClassifier(views=views, learners=learners, time_limit=3.0)
    assert model.get_params(deep=False) == {
        "views": views,
        "learners": learners,
        "class_weight": None,
        "consensus": True,
        "time_limit": 3.0,
        "max_fits": None,
        "n_jobs": None,
        "random_state": None,
        "verbose": 0,
    }
    assert model.get_params(deep=False)["views"] is views
    assert clone(model).get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert model.set_params(max_fits=4).max_fits == 4
    model.set_params(views={"a": [0, 1, 2]}).fit(X, y)
    assert model.learners is learners
    assert not hasattr(learners[0], "classes_")


def test_a_constant_view_says_nothing():
    """Its centred kernel is all rounding, which must not be taken for a spectrum."""
    rows, labels = table(120, 3)
    rows[:, 3:] = 1.0
    model = FusionClassifier(views={"a": slice(0, 3), "ones": slice(3, 6)}, random_state=0).fit(rows, labels)
    alone = FusionClassifier(views={"a": slice(0, 3)}, random_state=0).fit(rows, labels)
    assert model.score(rows, labels) > alone.score(rows, labels) - 0.1
    assert np.abs(model.out_of_sample_decision_).max() < 1e3


def test_columns_far_from_zero():
    rows, labels = table(150)
    near = FusionClassifier(learners="trees", random_state=0).fit(rows[:100], labels[:100])
    far = FusionClassifier(learners="trees", random_state=0).fit(rows[:100] + 1e9, labels[:100])
    assert far.score(rows[100:] + 1e9, labels[100:]) > near.score(rows[100:], labels[100:]) - 0.1


def test_more_classes_than_targets_that_all_ridges_are_fitted_to():
    rng = np.random.default_rng(6)
    codes = np.arange(210) % 70
    centres = 4 * rng.normal(size=(70, 4))
    rows, new_rows = (centres[codes] + 0.3 * rng.normal(size=(210, 4)) for _ in range(2))
    model = FusionClassifier(learners=["linear", "rbf"], consensus=False, max_fits=2, random_state=0).fit(rows, codes)
    assert model.score(new_rows, codes) > 0.9
    assert model.predict_proba(new_rows).shape == (210, 70)
