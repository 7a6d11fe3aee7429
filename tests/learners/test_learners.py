"""Fast equals naive, learner by learner."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import config_context, naive_bayes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn.data import View
from fuselearn.learners import GaussianNB, LeastSquares, SklearnLearner, Stump, Tree, as_learner
from fuselearn.learners.tree import TreeHypothesis
from fuselearn.numeric.execution import Threads
from fuselearn.numeric.tree_histograms import column_edges
from tests.fitting import fit_learner
from tests.naive import gaussian_nb as naive_nb
from tests.naive import least_squares as naive_ls
from tests.naive import tree as naive_tree


@st.composite
def problems(draw, max_rows=40, gaps=True, coarse=True):
    """Random rows, classes and weights; with ties, NaN and zero weights now and then."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(6, max_rows))
    p = draw(st.integers(1, 5))
    n_classes = draw(st.integers(2, 4))
    X = rng.normal(size=(n, p))
    if coarse and draw(st.booleans()):
        X = np.round(X * 2) / 2
    y = rng.integers(0, n_classes, n)
    X[:, 0] += y * draw(st.sampled_from([0.0, 0.5, 2.0]))
    if gaps and draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    w = rng.exponential(size=n) if draw(st.booleans()) else np.ones(n)
    if draw(st.booleans()):
        w[rng.random(n) < 0.2] = 0.0
        w[0] = 1.0
    return X, y, w / w.sum(), n_classes, rng


def tree_as_dict(hypothesis, node=0):
    if hypothesis.feature[node] < 0:
        return {"leaf": int(hypothesis.code[node])}
    return {
        "feature": int(hypothesis.feature[node]),
        "threshold": float(hypothesis.threshold[node]),
        "missing_left": bool(hypothesis.missing_left[node]),
        "left": tree_as_dict(hypothesis, hypothesis.left[node]),
        "right": tree_as_dict(hypothesis, hypothesis.right[node]),
    }


@given(problems())
def test_gaussian_nb_is_the_naive_one(problem):
    X, y, w, n_classes, rng = problem
    fast = fit_learner(GaussianNB(), X, y, w, n_classes)
    slow = naive_nb.fit(X, y, w, n_classes)
    new = rng.normal(size=(30, X.shape[1]))
    new[rng.random(new.shape) < 0.1] = np.nan
    assert_array_equal(fast.predict(X), slow(X))
    assert_array_equal(fast.predict(new), slow(new))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_gaussian_nb_is_scikit_learns(n_classes, offset):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 300)
    X = rng.normal(size=(300, 6)) + y[:, None] * rng.normal(size=6) + offset
    w = rng.exponential(size=300)
    ours = fit_learner(GaussianNB(), X, y, w / w.sum(), n_classes)
    theirs = naive_bayes.GaussianNB().fit(X, y, sample_weight=w)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("seed", range(5))
def test_a_column_that_is_constant_in_each_class_leaves_equally_far_rows_to_the_others(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 200)
    w = rng.exponential(size=200)
    X = np.c_[np.where(y == 1, 5.0, 3.0), rng.normal(size=200) + 3 * y]
    between = np.c_[np.full(500, 4.0), rng.uniform(-3, 6, 500)]
    ours = fit_learner(GaussianNB(), X, y, w / w.sum(), 2)
    assert_array_equal(ours.predict(between), naive_bayes.GaussianNB().fit(X, y, w).predict(between))


def test_gaussian_nb_survives_what_has_no_variance():
    X = np.array([[1.0, 5.0], [1.0, 5.0], [1.0, 7.0], [1.0, 7.0]])
    hypothesis = fit_learner(GaussianNB(), X, [0, 0, 1, 1], np.full(4, 0.25), 2)
    assert_array_equal(hypothesis.predict(X), [0, 0, 1, 1])
    constant = fit_learner(GaussianNB(var_smoothing=0.0), X[:, :1], [0, 1, 1, 1], np.full(4, 0.25), 2)
    assert_array_equal(constant.predict(X[:, :1]), [1, 1, 1, 1])


@given(problems(), st.sampled_from(["error", "gini", "entropy", "gain_ratio"]))
def test_stump_is_the_naive_one(problem, criterion):
    X, y, w, n_classes, rng = problem
    fast = fit_learner(Stump(criterion), X, y, w, n_classes)
    slow = naive_tree.fit_stump(X, y, w, n_classes, criterion)
    assert tree_as_dict(fast) == slow.root
    new = rng.normal(size=(30, X.shape[1]))
    new[rng.random(new.shape) < 0.1] = np.nan
    assert_array_equal(fast.predict(new), slow(new))


@given(
    problems(),
    st.sampled_from(["error", "gini", "entropy", "gain_ratio"]),
    st.sampled_from([1, 2, 3, None]),
    st.sampled_from([0.0, 0.05, 0.2]),
)
def test_tree_is_the_naive_one(problem, criterion, max_depth, tolerance):
    X, y, w, n_classes, rng = problem
    fast = fit_learner(Tree(max_depth, tolerance, criterion), X, y, w, n_classes)
    slow = naive_tree.fit_tree(X, y, w, n_classes, max_depth, criterion, tolerance)
    assert tree_as_dict(fast) == slow.root
    new = rng.normal(size=(30, X.shape[1]))
    new[rng.random(new.shape) < 0.1] = np.nan
    assert_array_equal(fast.predict(new), slow(new))


def test_wide_levels_are_asked_for_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 3, 200)
    learner = Tree(max_depth=5, impurity_tolerance=0.0, criterion="gini")
    whole = fit_learner(learner, X, y, np.full(200, 1 / 200), 3)
    monkeypatch.setattr("fuselearn.learners.tree.HISTOGRAM_BYTES", 1)
    assert tree_as_dict(fit_learner(learner, X, y, np.full(200, 1 / 200), 3)) == tree_as_dict(whole)


def test_impurity_tolerance_makes_smaller_trees():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
    sizes = [
        len(fit_learner(Tree(impurity_tolerance=tolerance), X, y, np.full(300, 1 / 300), 2).feature)
        for tolerance in (0.0, 0.05, 0.2, 0.5)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 50
    assert sizes[-1] == 1


@pytest.mark.parametrize("learner", [Stump(), Tree(max_depth=4, impurity_tolerance=0.0)])
def test_bins_and_values_say_the_same(learner):
    """A tree predicts from bins while it is fitted, and from values afterwards."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 3))  # more distinct values than bins
    X[rng.random(X.shape) < 0.05] = np.nan
    X[np.isnan(X).all(axis=1)] = 0.0
    y = (np.nan_to_num(X).sum(axis=1) + rng.normal(size=5000) > 0).astype(int)
    hypothesis = fit_learner(learner, X, y, np.full(5000, 1 / 5000), 2)
    prepared = hypothesis.plan.prepare(View("view", X, np.arange(3), None))
    assert isinstance(hypothesis, TreeHypothesis)
    assert prepared.bins.dtype == np.uint8
    assert_array_equal(hypothesis.predict_prepared(prepared), hypothesis.predict(X))


def test_coarse_bins_lose_little():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 1))
    y = (X[:, 0] > 0.3).astype(int)
    w = np.full(4000, 1 / 4000)
    for bins in (4, 16, 64, 255):
        hypothesis = fit_learner(Stump(max_bins=bins), X, y, w, 2)
        assert hypothesis.plan.edges.shape == (1, bins - 1)
        assert np.mean(hypothesis.predict(X) != y) <= 0.5 / bins  # half a bin of equal weight


@given(problems(gaps=False, coarse=False))
def test_least_squares_is_the_naive_one(problem):
    X, y, w, n_classes, rng = problem
    fast = fit_learner(LeastSquares(), X, y, w, n_classes)
    slow = naive_ls.fit(X, y, w, n_classes)
    new = rng.normal(size=(30, X.shape[1]))
    assert_array_equal(fast.predict(X), slow(X))
    assert_array_equal(fast.predict(new), slow(new))


def test_least_squares_fills_gaps_with_the_mean():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    X[rng.random(X.shape) < 0.2] = np.nan
    w = np.full(60, 1 / 60)
    assert_array_equal(fit_learner(LeastSquares(), X, y, w, 2).predict(X), naive_ls.fit(X, y, w, 2)(X))


def test_ridge_shrinks():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    w = np.full(60, 1 / 60)
    plain, ridge = (fit_learner(LeastSquares(ridge), X, y, w, 2).slopes for ridge in (0.0, 10.0))
    assert np.abs(ridge).sum() < 0.5 * np.abs(plain).sum()


def test_least_squares_takes_more_columns_than_rows():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(10, 40)), np.arange(10) % 2
    assert_array_equal(fit_learner(LeastSquares(), X, y, np.full(10, 0.1), 2).predict(X), y)


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


def test_a_constant_column_is_not_scaled_up():
    X = np.c_[np.full(1000, 0.1), np.arange(1000.0)]
    plan = GaussianNB().plan(View("view", X, np.arange(2), None), None)
    assert plan.scales[0] == 1.0
    assert plan.largest_variances[0] == pytest.approx(np.var(X[:, 1]))


def test_columns_of_very_different_scales():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = np.c_[rng.normal(size=200) * 1e-155, (rng.normal(size=200) + 2 * y) * 1e10]
    hypothesis = fit_learner(GaussianNB(), X, y, np.full(200, 1 / 200), 2)
    assert np.mean(hypothesis.predict(X) == y) > 0.75


def test_a_frequent_value_does_not_hide_the_others():
    """Counts, words and genes are mostly zero."""
    x = np.zeros(100_000)
    x[:300] = 1 + np.arange(300)
    y = (x > 150).astype(int)
    hypothesis = fit_learner(Stump(), x[:, None], y, np.full(len(x), 1 / len(x)), 2)
    assert np.count_nonzero(hypothesis.predict(x[:, None]) != y) <= 1  # 300 values in 253 bins


@given(st.integers(0, 2**32 - 1), st.integers(2, 255))
def test_edges_are_few_and_share_out_the_rows(seed, max_bins):
    rng = np.random.default_rng(seed)
    values = np.sort(np.round(rng.normal(size=3000), int(rng.integers(1, 6))))
    values[rng.random(3000) < rng.choice([0.0, 0.6])] = 0.0
    values.sort()
    edges = column_edges(values, max_bins)
    assert len(edges) <= max_bins - 1
    assert (np.diff(edges) > 0).all()
    counts = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    assert (counts > 0).all()
    distinct, frequency = np.unique(values, return_counts=True)
    if len(distinct) <= max_bins:
        assert_array_equal(counts, frequency)
    else:
        heaviest = frequency.max()
        assert counts.max() <= max(heaviest, 4 * 3000 / max_bins) + 2 * 3000 / max_bins


def test_edges_of_many_rows_come_from_a_sample(monkeypatch):
    rng = np.random.default_rng(0)
    continuous, few = rng.normal(size=5000), np.r_[np.zeros(4999), 1.0]
    X = np.c_[continuous, few]
    view = View("view", X, np.arange(2), None)
    whole = Stump(max_bins=16).plan(view, np.random.SeedSequence(0))
    monkeypatch.setattr("fuselearn.learners.binning.SKETCH_ROWS", 500)
    one, again, other = (Stump(max_bins=16).plan(view, np.random.SeedSequence(seed)) for seed in (0, 0, 1))
    assert_array_equal(one.edges, again.edges)
    assert not np.array_equal(one.edges[0], other.edges[0])
    assert np.abs(one.edges[0] - whole.edges[0]).max() < 0.3
    assert one.n_edges[1] == 1  # the one value that is not zero is not missed


def test_random_classifiers_follow_the_seed():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), np.full(60, 1 / 60)
    learner = SklearnLearner(make_pipeline(StandardScaler(), RandomForestClassifier(3)))
    one, same, other = (fit_learner(learner, X, y, w, 2, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(one.predict(X), same.predict(X))
    states = [fitted.estimator[-1].random_state for fitted in (one, same, other)]
    assert states[0] == states[1] != states[2]
    assert learner.estimator[-1].random_state is None


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


def test_names_of_learners():
    assert [type(as_learner(name)) for name in (None, "gaussian_nb", "stump", "tree", "linear")] == [
        GaussianNB,
        GaussianNB,
        Stump,
        Tree,
        LeastSquares,
    ]
