"""Stumps and trees equal the naive ones; what they ask for while they grow; their bins."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn import ShareBoostClassifier
from fuselearn.data import View
from fuselearn.learners import Stump, Tree, tree_growth
from fuselearn.learners.protocol import fit_sums, run_reduction
from fuselearn.learners.tree_growth import NODE_KINDS, NodeHistograms, TreeHypothesis
from fuselearn.numeric import tree_cuts
from fuselearn.numeric.exact_sums import in_units
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.tree_rows import column_edges, leaves_of_bins
from tests.fitting import fit_learner
from tests.learners.random_problems import problems, tree_as_dict
from tests.naive import tree as naive_tree


def assert_same_tree(one, other):
    for name in NODE_KINDS:
        assert_array_equal(getattr(one, name), getattr(other, name))


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


@given(
    problems(),
    st.sampled_from(["gini", "gain_ratio"]),
    st.sampled_from([3, None]),
    st.sampled_from([0.0, 0.05]),
    st.sampled_from([0.01, 0.25, 0.5]),
)
def test_a_pruned_tree_is_the_naive_one(problem, criterion, max_depth, tolerance, confidence):
    X, y, w, n_classes, rng = problem
    learner = Tree(max_depth, tolerance, criterion, pruning_confidence=confidence)
    fast = fit_learner(learner, X, y, w, n_classes)
    slow = naive_tree.fit_tree(X, y, w, n_classes, max_depth, criterion, tolerance, confidence)
    assert tree_as_dict(fast) == slow.root
    fast.validate()
    new = rng.normal(size=(30, X.shape[1]))
    assert_array_equal(fast.predict(new), slow(new))


def test_pruning_takes_away_splits_on_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(rng.random(200) < 0.15, 1, 0) ^ (X[:, 0] > 0)
    weights = np.full(200, 1 / 200)
    sizes = [
        len(fit_learner(Tree(None, 0.0, pruning_confidence=confidence), X, y, weights, 2).feature)
        for confidence in (None, 0.5, 0.25, 0.01)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 4 * sizes[-1]
    assert sizes[-1] >= 3  # the split that is no noise stays


@pytest.mark.parametrize(("n", "errors", "upper"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.750), (16, 1, 0.157)])
def test_expected_errors_are_those_of_quinlan(n, errors, upper):
    """U_25%(E, N) as his book has them (chapter 4), exact; his program comes near where there are errors."""
    assert errors + tree_growth.extra_errors(n, errors, 0.25) == pytest.approx(n * upper, abs=0.003 * n)


@pytest.mark.parametrize("value", [0, 0.6, "yes", True])
def test_a_confidence_that_is_none(value):
    with pytest.raises(ValueError, match=r"pruning_confidence must be None or in \(0, 0.5\]"):
        Tree(pruning_confidence=value).check()


def deep_problem(n_rows=300):
    """Rows of three classes with gaps and uneven weights, and a tree that splits as long as it can."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 4)), rng.integers(0, 3, n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.dirichlet(np.full(n_rows, 0.3)), Tree(max_depth=6, impurity_tolerance=0.0, criterion="gini")


def asked_nodes(learner, X, y, weights, in_floats=False):
    """Fit, and note the half-grown trees and the nodes whose histograms were asked for."""
    view = View("view", X, np.arange(X.shape[1]), None)
    plan = learner.plan(view, np.random.SeedSequence(0))
    prepared = plan.prepare(view)
    weights = weights if in_floats else in_units(weights)
    requests = []

    def answer(statistic):
        if isinstance(statistic, NodeHistograms):
            requests.append((statistic.tree, statistic.nodes))
        return statistic(prepared, y.astype(np.int32), weights)

    return run_reduction(learner.sums(plan, 3), answer), requests


@pytest.mark.parametrize(("name", "size"), [("ASKED_BYTES", 1), ("KEPT_BYTES", 0), ("KEPT_BYTES", 200_000)])
def test_the_memory_for_histograms_changes_no_tree(name, size, monkeypatch):
    X, y, weights, learner = deep_problem()
    whole, requests = asked_nodes(learner, X, y, weights)
    monkeypatch.setattr(tree_growth, name, size)
    again, more_requests = asked_nodes(learner, X, y, weights)
    assert_same_tree(again, whole)
    n_nodes, n_more = (sum(len(nodes) for _, nodes in some) for some in (requests, more_requests))
    if name == "ASKED_BYTES":
        assert n_more == n_nodes
        assert all(len(nodes) == 1 for _, nodes in more_requests)
    else:
        assert len(more_requests) == len(requests)
        assert n_more > n_nodes


def test_only_the_lighter_child_is_asked_for():
    X, y, weights, learner = deep_problem()
    tree, requests = asked_nodes(learner, X, y, weights)
    prepared = tree.plan.prepare(View("view", X, np.arange(4), None))
    asked = set()
    for half_grown, nodes in requests:
        leaves = leaves_of_bins(prepared.bins, half_grown.bin_tree)
        weight = {node: weights[leaves == node].sum() for node in range(len(half_grown.feature))}
        sibling = dict(zip(half_grown.left, half_grown.right)) | dict(zip(half_grown.right, half_grown.left))
        for node in nodes:
            assert weight[node] <= weight[sibling[node]] + 1e-12
            assert sibling[node] not in asked
        asked.update(nodes)
    # One request a level, and at most one node for every split.
    assert len(requests) <= 5
    assert len(asked) <= np.count_nonzero(tree.feature >= 0)


@given(problems(), st.sampled_from(["error", "gini", "entropy", "gain_ratio"]))
def test_sums_of_floats_give_the_same_tree(problem, criterion):
    """A GPU sums in floats: nothing is subtracted, and both children are asked for."""
    X, y, w, _, _ = problem
    learner = Tree(4, 0.0, criterion)
    exact, _ = asked_nodes(learner, X, y % 3, w)
    rounded, requests = asked_nodes(learner, X, y % 3, w, in_floats=True)
    assert_same_tree(rounded, exact)
    split = set(np.flatnonzero(exact.feature >= 0).tolist()) - {0}
    assert split <= {node for _, nodes in requests for node in nodes}


def test_the_order_of_rows_and_the_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(tree_cuts, "SHARED_SIZE", 0)
    X, y, weights, learner = deep_problem(2000)
    whole = fit_learner(learner, X, y, weights, 3)
    for seed, n_threads in ((1, 1), (2, 2), (3, 3)):
        order = np.random.default_rng(seed).permutation(len(y))
        with Threads(n_threads) as threads:
            assert_same_tree(fit_learner(learner, X[order], y[order], weights[order], 3, threads), whole)


def test_the_unit_of_small_weights_changes_nothing():
    """A view that few rows have, all of them easy, may have next to none of the weight."""
    X, y, weights, learner = deep_problem()
    whole = fit_learner(learner, X, y, weights, 3)
    assert_same_tree(fit_learner(learner, X, y, weights * 2.0**-700, 3), whole)


@pytest.mark.parametrize(("weight", "abstains"), [(1e-200, False), (1e-320, True)])
def test_a_view_of_rows_that_weigh_next_to_nothing(weight, abstains):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    X[:30, 2:] = np.nan
    X[:, 0] += y
    views = {"all": [0, 1], "half": [2, 3]}
    model = ShareBoostClassifier(Tree(2, impurity_tolerance=0.0), views=views, n_estimators=2, random_state=0)
    model.fit(X, y, sample_weight=np.r_[np.ones(30), np.full(30, weight)])
    assert_array_equal(model.winning_views_, 0)
    assert_array_equal(np.isnan(model.arm_errors_), [[False, abstains]] * 2)


def test_every_request_can_be_answered_by_rows_that_were_just_loaded():
    """As a worker does that takes over a partition in the middle of a tree."""
    X, y, weights, learner = deep_problem()
    whole, _ = asked_nodes(learner, X, y, weights)
    view, units = View("view", X, np.arange(4), None), in_units(weights)
    plan = learner.plan(view, np.random.SeedSequence(0))

    def answer(statistic):
        halves = np.array_split(np.arange(len(y)), 2)
        partitions = [plan.prepare(View("view", X[rows], np.arange(4), None)) for rows in halves]
        statistic = pickle.loads(pickle.dumps(statistic))
        codes = y.astype(np.int32)
        return sum(statistic(prepared, codes[rows], units[rows]) for prepared, rows in zip(partitions, halves))

    assert_same_tree(run_reduction(learner.sums(plan, 3), answer), whole)


def test_rows_that_a_tree_was_grown_on_are_predicted_by_leaf():
    """What growing left behind is used once, and only for that tree."""
    X, y, weights, learner = deep_problem()
    view = View("view", X, np.arange(4), None)
    plan = learner.plan(view, np.random.SeedSequence(0))
    prepared, codes = plan.prepare(view), y.astype(np.int32)
    one = fit_sums(learner, plan, prepared, codes, weights, 3)
    fresh = plan.prepare(view)
    assert prepared.rows_by_node.begins(one.bin_tree)
    assert_array_equal(one.predict_prepared(prepared), one.predict_prepared(fresh))
    assert not prepared.rows_by_node.begins(one.bin_tree)
    other = fit_sums(learner, plan, prepared, codes, weights[::-1].copy(), 3)
    assert_array_equal(one.predict_prepared(prepared), one.predict_prepared(fresh))
    assert_array_equal(other.predict_prepared(prepared), other.predict_prepared(fresh))


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
