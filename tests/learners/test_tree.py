"""Stumps and trees equal the naive ones; their bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn.data import View
from fuselearn.learners import Stump, Tree
from fuselearn.learners.tree_growth import TreeHypothesis
from fuselearn.numeric.tree_histograms import column_edges
from tests.fitting import fit_learner
from tests.learners.random_problems import problems, tree_as_dict
from tests.naive import tree as naive_tree


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
    monkeypatch.setattr("fuselearn.learners.tree_growth.ASKED_BYTES", 1)
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
