"""Predictions from trees: the sum in their order, whatever the rows beside a row, and no view read for nothing."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

from fuselearn.boosting.gradient import raw_scores
from fuselearn.boosting.gradient.raw_scores import RawScores
from fuselearn.boosting.gradient.tree_format import BoostedTrees
from fuselearn.boosting.gradient.tree_prediction import TreeClassification, TreeRegression
from fuselearn.data.categories import Categories
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.votes import codes_of
from tests.boosting.gradient.random_trees import leaf_of, naive_scores, random_model, random_rows

CATEGORICAL = {1, 6}
VIEWS = [[0, 1, 2], [3, 4], [5], [4, 6, 7]]
"""Views of which two share a column."""


class Model(BaseEstimator):
    """An estimator to which `fit` gives the trees."""

    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def fit(self, trees, baseline, views=VIEWS, n_features=8, categories=None):
        self.trees_, self.baseline_ = trees, np.array(baseline, dtype=float)
        self.view_names_ = [f"view{number}" for number in range(len(views))]
        self.view_columns_ = [np.array(view) for view in views]
        self.categories_, self.n_features_in_ = categories, n_features
        return self


class Classifier(TreeClassification, ClassifierMixin, Model):
    def fit(self, trees, baseline, *arguments):
        self.classes_ = np.array(list("abcdefg"))[: max(2, len(baseline))]
        return super().fit(trees, baseline, *arguments)


class Regressor(TreeRegression, RegressorMixin, Model):
    pass


LEAVES = {
    "any": None,
    # Sums of these tie in rational numbers, and do or do not tie once rounded, as the order will have it.
    "tenths": [-0.3, -0.1, 0.1, 0.2, 0.7],
    "positive": [0.1, 0.5, 1.0],
    "equal": [0.1],
    "none": [0.0],
    "huge and tiny": [1e16, 1.0, -1.0, 1e-16, -1e16],
}
BASELINES = {"none": 0.0, "small": 0.3, "large": -3.0}


class Problem:
    """A model of random trees, and rows that lack some views, or all."""

    def __init__(self, seed, n_classes=2, n_rounds=5, per_view=True, leaves="any", baseline="small", n_rows=40):
        rng = np.random.default_rng(seed)
        n_outputs = 1 if n_classes == 2 else n_classes
        self.trees = random_model(rng, n_rounds, n_outputs, VIEWS, CATEGORICAL, per_view, LEAVES[leaves], max_splits=8)
        baseline = BASELINES[baseline] * np.arange(1, n_outputs + 1)
        self.model = Classifier().fit(self.trees, baseline)
        self.X = random_rows(rng, n_rows, 8, CATEGORICAL, VIEWS)
        self.X[:2] = np.nan
        self.expected = naive_scores(self.trees, baseline, self.X, VIEWS)


def problems(**settings):
    choices = {
        "n_classes": st.sampled_from([2, 3, 5]),
        "n_rounds": st.integers(0, 6),
        "per_view": st.booleans(),
        "leaves": st.sampled_from(sorted(LEAVES)),
        "baseline": st.sampled_from(sorted(BASELINES)),
    }
    return st.builds(Problem, seed=st.integers(0, 2**32 - 1), **(choices | settings))


def squeezed(scores):
    return scores[:, 0] if scores.shape[1] == 1 else scores


@given(problems())
def test_decision_values_are_the_sum_in_the_order_of_the_trees(problem):
    assert_array_equal(problem.model.decision_function(problem.X), squeezed(problem.expected))


@given(problems())
@settings(max_examples=80)
def test_predict_says_what_the_decision_values_say(problem):
    model, X = problem.model, problem.X
    assert_array_equal(model.predict(X), model.classes_[codes_of(squeezed(problem.expected))])


@given(problems(n_rounds=st.integers(1, 6)))
def test_stages_end_with_the_whole_and_begin_with_one_round(problem):
    model, X, trees = problem.model, problem.X, problem.trees
    n_outputs = len(model.baseline_)
    stages = list(model.staged_decision_function(X))
    assert len(stages) * n_outputs == len(trees)
    for number, stage in enumerate(stages, start=1):
        scores = naive_scores(trees, model.baseline_, X, VIEWS, range(number * n_outputs))
        assert_array_equal(stage, squeezed(scores))
    probabilities = list(model.staged_predict_proba(X))
    classes = list(model.staged_predict(X))
    assert len(probabilities) == len(classes) == len(stages)
    assert_array_equal(classes[0], model.classes_[codes_of(stages[0])])
    assert_array_equal(classes[-1], model.predict(X))
    assert_array_equal(probabilities[-1], model.predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_are_those_of_the_raw_scores(n_classes):
    problem = Problem(0, n_classes, leaves="any")
    probabilities = problem.model.predict_proba(problem.X)
    scores = problem.expected
    if n_classes == 2:
        scores = np.hstack([np.zeros_like(scores), scores])
    assert_allclose(probabilities, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), rtol=1e-12)
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_extreme_scores(n_classes):
    """No overflow, and the small one of two keeps its digits."""
    trees = BoostedTrees.of([], [], [])
    baseline = [-800.0] if n_classes == 2 else [-800.0, 0.0, 800.0]
    probabilities = Classifier().fit(trees, baseline).predict_proba(np.zeros((1, 8)))
    assert_array_equal(probabilities, [[1.0, 0.0]] if n_classes == 2 else [[0.0, 0.0, 1.0]])
    small = Classifier().fit(trees, [50.0]).predict_proba(np.zeros((1, 8)))[0, 0]
    assert_allclose(small, np.exp(-50.0), rtol=1e-12)


@given(problems(n_classes=st.sampled_from([2, 3])), st.sampled_from([None, 2, 3]))
def test_threads_chunks_and_other_rows_do_not_matter(problem, n_jobs):
    model, X = problem.model, problem.X
    methods = "decision_function", "predict_proba", "predict", "views_used"
    whole = [getattr(model, name)(X) for name in methods]
    rows = np.random.default_rng(0).permutation(len(X))[:13]
    model.set_params(n_jobs=n_jobs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw_scores, "CHUNK_ROWS", 7)
        for name, expected in zip(methods, whole):
            assert_array_equal(getattr(model, name)(X), expected)
            assert_array_equal(getattr(model, name)(X[rows]), expected[rows])
            assert_array_equal(getattr(model, name)(X[5:6]), expected[5:6])
        for stage, serial in zip(
            model.staged_decision_function(X), model.set_params().staged_decision_function(X[rows])
        ):
            assert_array_equal(stage[rows], serial)


@pytest.mark.parametrize("make", [np.asfortranarray, lambda X: X[:, ::-1][:, ::-1], pd.DataFrame, np.float32])
def test_any_layout_of_the_table(make):
    problem = Problem(4, 3)
    X = np.where(np.abs(problem.X) > 1e6, np.nan, problem.X)  # beyond what float32 has
    expected = problem.model.decision_function(X)
    table = make(X)
    assert_array_equal(problem.model.decision_function(table), expected)
    assert_array_equal(problem.model.predict(table), problem.model.predict(X))
    frozen = X.copy()
    frozen.setflags(write=False)
    assert_array_equal(problem.model.decision_function(frozen), expected)


def possible_sums(problem, row, unread):
    """Return all sums of what the trees of some views may add to a row's scores, if the row has the views or not."""
    sums = [[Fraction(0)] * len(problem.model.baseline_)]
    for view in unread:
        numbers = np.flatnonzero(problem.trees.view == view)
        of_view = [[Fraction(0)] * len(problem.model.baseline_)]
        for number in numbers:
            tree = problem.trees.tree(number)
            leaves = [Fraction(value) for value, column in zip(tree.value, tree.column) if column < 0]
            ends = {min(leaves), max(leaves)}
            of_view = [added(sum_, problem.trees.output[number], end) for sum_ in of_view for end in ends]
        of_view.append([Fraction(0)] * len(problem.model.baseline_))
        sums = [[a + b for a, b in zip(first, second)] for first in sums for second in of_view]
    return sums


def added(sums, place, value):
    return [number + value if k == place else number for k, number in enumerate(sums)]


def code_of(scores):
    """Return the class of exact scores."""
    if len(scores) == 1:
        return int(scores[0] > 0)
    return max(range(len(scores)), key=lambda k: (scores[k], -k))


def exact_scores(problem, row, views):
    """Return the exact scores of a row by the trees of some views."""
    scores = [Fraction(value) for value in problem.model.baseline_]
    for number in range(len(problem.trees)):
        if problem.trees.view[number] in views:
            tree = problem.trees.tree(number)
            scores = added(scores, problem.trees.output[number], Fraction(tree.value[leaf_of(tree, row)]))
    return scores


@given(problems(n_classes=st.sampled_from([2, 3]), n_rounds=st.integers(1, 2), per_view=st.just(True)))
def test_views_are_read_until_no_leaf_can_change_the_class(problem):
    """In rational numbers, by all combinations of the extreme leaves of the views to come.

    Rounding may have a view more read than needed, where a class wins by a hair, and none less. A class of several may
    take what each of the others can add at its worst from different leaves, so that views are read that need not be.
    """
    model, used = problem.model, problem.model.views_used(problem.X)
    order = model.view_order_.tolist()
    exact = len(model.baseline_) == 1
    for row, read in list(zip(problem.X, used))[:12]:
        has = [view for view in order if not np.isnan(row[VIEWS[view]]).all()]
        assert set(np.flatnonzero(read)) == set(has[: read.sum()])
        for n_read in range(len(has) + 1):
            scores = exact_scores(problem, row, has[:n_read])
            sums = possible_sums(problem, row, has[n_read:])
            classes = {code_of([a + b for a, b in zip(scores, more)]) for more in sums}
            if n_read == read.sum():
                assert len(classes) == 1 or n_read == len(has)
            elif n_read < read.sum() and exact:
                least = min(abs(scores[0] + more[0]) for more in sums)
                assert len(classes) > 1 or least < Fraction(1, 1000)


@given(problems(per_view=st.just(True)), st.sampled_from(["absent", "other values"]))
def test_what_is_not_used_does_not_matter(problem, instead):
    model, X = problem.model, problem.X
    used = model.views_used(X)
    keep = np.zeros(X.shape, dtype=bool)
    for view, needed in zip(VIEWS, used.T):
        keep[np.ix_(needed, view)] = True
    # Views that a row lacks stay absent: to measure them might change the outcome.
    lacks = np.isnan(X)
    other = np.where(lacks, np.nan, np.random.default_rng(0).choice([-9.0, 0.0, 2.0, 9.0], X.shape))
    changed = np.where(keep, X, np.nan if instead == "absent" else other)
    assert_array_equal(model.predict(changed), model.predict(X))
    assert not (used & np.column_stack([lacks[:, view].all(axis=1) for view in VIEWS])).any()


def test_early_exit_spares_views(monkeypatch):
    """One strong view: only the rows that it leaves undecided are given to the trees of the others."""
    rng = np.random.default_rng(0)
    strong = random_model(rng, 3, 1, [[0]], values=[-2.0, 2.0])
    weak = random_model(rng, 6, 1, [[5], [6], [7]], values=[-0.1, 0.1])
    trees = BoostedTrees.of(
        [*(weak.tree(number) for number in range(6)), *(strong.tree(number) for number in range(3))],
        [0] * 9,
        [*(weak.view + 1), *strong.view],
    )
    model = Classifier().fit(trees, [0.0], [[0], [5], [6], [7]])
    X = rng.normal(size=(300, 8))
    walked = []
    monkeypatch.setattr(
        raw_scores,
        "add_tree_scores",
        lambda packed, numbers, *arguments, add=raw_scores.add_tree_scores: (
            walked.append(len(numbers) * len(arguments[3])),
            add(packed, numbers, *arguments),
        ),
    )
    used = model.views_used(X)
    assert model.view_order_[0] == 0
    assert used[:, 0].all()
    assert used[:, 1:].sum() == 0
    assert sum(walked) == 3 * len(X)
    X[::2, 0] = np.nan
    assert model.views_used(X)[::2, 1:].any(axis=1).all()


def test_a_baseline_that_no_view_can_turn_reads_none():
    trees = random_model(np.random.default_rng(1), 4, 1, VIEWS, values=[-1.0, 1.0])
    model = Classifier().fit(trees, [-4.5])
    X = np.random.default_rng(2).normal(size=(20, 8))
    assert not model.views_used(X).any()
    assert (model.predict(X) == "a").all()


def test_a_class_without_weight_has_the_baseline_of_minus_infinity():
    trees = random_model(np.random.default_rng(1), 4, 3, VIEWS)
    model = Classifier().fit(trees, [0.1, -np.inf, 0.2])
    X = random_rows(np.random.default_rng(2), 50, 8, (), VIEWS)
    assert_array_equal(model.predict(X), model.classes_[codes_of(model.decision_function(X))])
    assert set(model.predict(X)) == {"a", "c"}
    assert_array_equal(model.predict_proba(X)[:, 1], 0.0)


def test_joint_trees_use_the_views_with_a_split():
    trees = random_model(np.random.default_rng(5), 3, 1, [[0, 4]], per_view=False)
    model = Classifier().fit(trees, [0.0])
    X = np.zeros((3, 8))
    X[1, [3, 4]] = X[2, 4] = np.nan
    assert model.view_order_.tolist() == [0, 1, 3]
    assert model.views_used(X).tolist() == [
        [True, True, False, True],
        [True, False, False, True],
        [True] * 2 + [False, True],
    ]
    regressor = Regressor().fit(trees, [0.0])
    assert_array_equal(regressor.views_used(X), model.views_used(X))


def test_views_in_the_order_of_the_range_of_their_leaves():
    rng = np.random.default_rng(7)
    trees = random_model(rng, 8, 2, VIEWS)
    strengths = np.zeros(len(VIEWS))
    for number in range(len(trees)):
        tree = trees.tree(number)
        leaves = tree.value[tree.column < 0]
        strengths[trees.view[number]] += leaves.max() - leaves.min()
    order = Classifier().fit(trees, [0.0, 0.0]).view_order_
    assert order.tolist() == sorted(set(trees.view.tolist()), key=lambda view: -strengths[view])


@given(problems(n_classes=st.just(2)))
def test_a_regressor_predicts_the_raw_score(problem):
    model = Regressor(n_jobs=2).fit(problem.trees, problem.model.baseline_)
    assert_array_equal(model.predict(problem.X), problem.expected[:, 0])
    stages = list(model.staged_predict(problem.X))
    assert len(stages) == len(problem.trees)
    if stages:
        assert_array_equal(stages[-1], problem.expected[:, 0])
    tree_views = np.isin(np.arange(len(VIEWS)), problem.trees.view)
    if tree_views.any():
        present = np.column_stack([~np.isnan(problem.X[:, view]).all(axis=1) for view in VIEWS])
        assert_array_equal(model.views_used(problem.X), present & tree_views)


def test_rows_of_raw_scores_by_several_threads():
    problem = Problem(3, 3, n_rows=50)
    raw = RawScores(problem.trees, problem.model.baseline_, problem.model.view_names_, problem.model.view_columns_)
    with Threads(2) as threads, pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw_scores, "CHUNK_ROWS", 8)
        assert_array_equal(raw.of_rows(problem.X, threads), problem.expected)


def test_categories_are_encoded_first():
    trees = random_model(np.random.default_rng(8), 6, 1, [[0, 1]], {1}, per_view=False)
    codes = np.random.default_rng(9).integers(0, 3, 40)
    frame = pd.DataFrame({"size": np.linspace(-1, 1, 40), "colour": pd.Categorical(np.array(["a", "b", "c"])[codes])})
    model = Classifier().fit(trees, [0.0], [[0, 1]], 2, Categories.of(frame, "from_dtype", 255))
    model.feature_names_in_ = np.array(["size", "colour"], dtype=object)
    rows = np.column_stack([frame["size"], codes.astype(float)])
    rows[3, 1] = np.nan
    frame["colour"] = frame["colour"].astype(object)
    frame.loc[3, "colour"] = "never seen"
    assert_array_equal(model.decision_function(frame)[:, None], naive_scores(trees, [0.0], rows))
    assert_array_equal(model.predict(frame), model.classes_[codes_of(model.decision_function(frame))])


@pytest.mark.parametrize("kind", [Classifier, Regressor])
def test_dask_collections_are_predicted_when_they_are_computed(kind):
    dask = pytest.importorskip("dask")  # its scheduler, as its name makes Dask warn where a test has left a client
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    problem = Problem(6, 3 if kind is Classifier else 2)
    model = kind().fit(problem.trees, problem.model.baseline_)
    methods = ["predict", "decision_function", "predict_proba"] if kind is Classifier else ["predict"]
    for name in methods:
        expected = getattr(model, name)(problem.X)
        lazy = getattr(model, name)(da.from_array(problem.X, chunks=(9, 3)))
        assert lazy.dtype == expected.dtype
        assert_array_equal(lazy.compute(scheduler=dask.get), expected)
    frame = pd.DataFrame(problem.X, columns=list("abcdefgh"))
    model.feature_names_in_ = np.array(list("abcdefgh"), dtype=object)
    for name in methods:
        lazy = getattr(model, name)(dd.from_pandas(frame, npartitions=3))
        assert_array_equal(lazy.compute(scheduler=dask.get), getattr(model, name)(frame))


def test_arrays_on_a_gpu_are_copied_to_the_host():
    strict = pytest.importorskip("array_api_strict")
    problem = Problem(7)
    for name in ("predict", "decision_function", "predict_proba", "views_used"):
        on_host = getattr(problem.model, name)(strict.asarray(problem.X))
        assert_array_equal(on_host, getattr(problem.model, name)(problem.X))


@pytest.mark.parametrize("kind", [Classifier, Regressor])
def test_bad_rows_are_refused(kind):
    model = kind().fit(random_model(np.random.default_rng(0), 2, 1, VIEWS), [0.0])
    for name in ("predict", "views_used"):
        with pytest.raises(TypeError, match=r"X must hold rows; got the path 'rows.parquet'. Only fit reads files"):
            getattr(model, name)("rows.parquet")
        with pytest.raises(ValueError, match=f"X has 7 features, but {kind.__name__} is expecting 8"):
            getattr(model, name)(np.zeros((2, 7)))
        with pytest.raises(ValueError, match="infinity"):
            getattr(model, name)(np.full((2, 8), np.inf))
        with pytest.raises(NotFittedError):
            getattr(kind(), name)(np.zeros((2, 8)))
    with pytest.raises(NotFittedError):
        kind().view_order_  # noqa: B018
