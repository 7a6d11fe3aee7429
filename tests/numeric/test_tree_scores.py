"""Scores and leaves of rows, against a walk down one tree after the other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fuselearn.numeric.threads import Threads
from fuselearn.numeric.tree_scores import (
    CACHED_ROWS,
    add_tree_scores,
    leaves_of_binned_rows,
    pack_trees,
    settle_by_bounds,
)
from tests.boosting.gradient.random_trees import EDGES, leaf_of, naive_scores, random_model, random_rows, random_tree

VIEWS = [[0, 1, 2], [3], [2, 4]]
CATEGORICAL = {1, 4}
MISSING = 255


def packed(trees):
    return pack_trees(
        trees.column,
        trees.threshold,
        trees.missing_left,
        trees.left,
        trees.right,
        trees.value,
        trees.category_row,
        trees.categories_left,
        trees.starts,
    )


def presence(X):
    return np.column_stack([~np.isnan(X[:, view]).all(axis=1) for view in VIEWS])


def scored(trees, X, rows, numbers, present, n_outputs):
    """Return the scores of some rows by some trees, of which the others stay at 0."""
    scores = np.zeros((len(X), n_outputs))
    add_tree_scores(packed(trees), np.array(numbers), trees.output, trees.view, X, rows, present, scores)
    return scores


@given(
    seed=st.integers(0, 2**32 - 1),
    per_view=st.booleans(),
    n_outputs=st.sampled_from([1, 3]),
    # Around eight rows side by side, and around the rows that stay in the cache.
    n_rows=st.sampled_from([1, 2, 7, 8, 9, 17, CACHED_ROWS - 1, CACHED_ROWS, CACHED_ROWS + 1]),
)
def test_scores_are_those_of_the_walks(seed, per_view, n_outputs, n_rows):
    rng = np.random.default_rng(seed)
    trees = random_model(rng, 3, n_outputs, VIEWS, CATEGORICAL, per_view)
    X = random_rows(rng, n_rows, 5, CATEGORICAL, VIEWS)
    present = presence(X) if per_view else np.zeros((n_rows, 0), dtype=bool)
    scores = scored(trees, X, np.arange(n_rows), np.arange(len(trees)), present, n_outputs)
    assert_array_equal(scores, naive_scores(trees, np.zeros(n_outputs), X, VIEWS))


@pytest.mark.parametrize("seed", range(5))
def test_some_rows_and_some_trees_only(seed):
    rng = np.random.default_rng(seed)
    trees = random_model(rng, 5, 2, VIEWS, CATEGORICAL)
    X = random_rows(rng, 90, 5, CATEGORICAL, VIEWS)
    rows = rng.permutation(90)[:70]
    numbers = rng.permutation(len(trees))[:6]
    scores = scored(trees, X, rows, numbers, presence(X), 2)
    expected = np.zeros((90, 2))
    expected[rows] = naive_scores(trees, np.zeros(2), X[rows], VIEWS, numbers)
    assert_array_equal(scores, expected)
    assert_array_equal(scored(trees, X, rows[:0], numbers, presence(X), 2), 0.0)
    assert_array_equal(scored(trees, X, rows, numbers[:0], presence(X), 2), 0.0)


def test_a_tree_of_a_view_is_read_by_all_rows_where_no_presence_is_given():
    rng = np.random.default_rng(0)
    trees = random_model(rng, 4, 1, VIEWS)
    X = rng.normal(size=(20, 5))
    without = scored(trees, X, np.arange(20), np.arange(4), np.zeros((20, 0), dtype=bool), 1)
    assert_array_equal(without, naive_scores(trees, [0.0], X, VIEWS))


def test_a_long_way_down_and_a_single_leaf():
    rng = np.random.default_rng(1)
    trees = random_model(rng, 2, 1, [[0, 1, 2]], per_view=False, max_splits=1)
    deep = random_tree(rng, [0, 1, 2], n_splits=300)
    trees = type(trees).of([trees.tree(0), deep, trees.tree(1)], [0, 0, 0], [-1, -1, -1])
    X = random_rows(rng, 50, 3)
    scores = scored(trees, X, np.arange(50), np.arange(3), np.zeros((50, 0), dtype=bool), 1)
    assert_array_equal(scores, naive_scores(trees, [0.0], X))


def test_arrays_that_cannot_be_written_to():
    rng = np.random.default_rng(2)
    trees = random_model(rng, 3, 1, VIEWS, CATEGORICAL)
    expected = packed(trees)
    for array in vars(trees).values():
        array.setflags(write=False)
    assert all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(vars(packed(trees)).values(), vars(expected).values())
    )


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_leaves_of_binned_rows_are_those_of_the_walks(seed, n_threads):
    """A bin is the number of thresholds below a value, or the code of a category."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, range(5), CATEGORICAL, n_splits=int(rng.integers(0, 30)))
    n_rows = 2500
    X = random_rows(rng, n_rows, 5)
    for column in CATEGORICAL:
        X[:, column] = np.where(rng.random(n_rows) < 0.2, np.nan, rng.integers(0, 7, n_rows))
    bins = np.empty((5, n_rows), dtype=np.uint8)
    for column in range(5):
        numbers = X[:, column] if column in CATEGORICAL else np.searchsorted(EDGES[:-1], X[:, column])
        bins[column] = np.where(np.isnan(X[:, column]), MISSING, numbers)
    rows = np.flatnonzero(rng.random(n_rows) < 0.9)
    nodes = tree.column, tree.cut_bin, tree.missing_left, tree.left, tree.right, tree.category_row, tree.categories_left
    with Threads(n_threads) as threads:
        leaves = leaves_of_binned_rows(bins, rows, *nodes, MISSING, threads=threads)
    assert_array_equal(leaves, [leaf_of(tree, row) for row in X[rows]])
    assert leaves.dtype == np.int32


@given(seed=st.integers(0, 2**32 - 1), n_outputs=st.sampled_from([1, 2, 4]))
def test_rows_are_settled_as_soon_as_the_bounds_allow(seed, n_outputs):
    """In whole numbers, without slack and rounding: by the worst case for the leading class."""
    rng = np.random.default_rng(seed)
    n_rows, n_views = 30, 3
    scores = rng.integers(-9, 10, (n_rows, n_outputs)).astype(float)
    present = rng.random((n_rows, n_views)) < 0.7
    lower, upper = -rng.integers(0, 5, (n_views, n_outputs)) * 1.0, rng.integers(0, 5, (n_views, n_outputs)) * 1.0
    views = rng.permutation(n_views)[: rng.integers(0, n_views + 1)]
    rows, codes = np.flatnonzero(rng.random(n_rows) < 0.8), np.full(n_rows, -1)
    before = rows.copy()
    n_open = settle_by_bounds(scores, rows, present, views, lower, upper, 0.0, codes)
    still_open = []
    for row in before:
        rest = [view for view in views if present[row, view]]
        low = [Fraction(scores[row, k]) + sum(Fraction(lower[view, k]) for view in rest) for k in range(n_outputs)]
        high = [Fraction(scores[row, k]) + sum(Fraction(upper[view, k]) for view in rest) for k in range(n_outputs)]
        if n_outputs == 1:
            classes = [1] if low[0] > 0 else [0] if high[0] < 0 else []
        else:
            classes = [k for k in range(n_outputs) if all(low[k] > high[j] for j in range(n_outputs) if j != k)]
        if classes:
            assert [codes[row]] == classes
        else:
            still_open.append(row)
    assert_array_equal(rows[:n_open], still_open)
    assert_array_equal(codes[still_open], -1)


def test_a_lead_within_the_slack_settles_nothing():
    scores = np.array([[0.5], [-0.5], [0.6], [-0.6], [np.nan]])
    rows, codes = np.arange(5), np.full(5, -1)
    nothing = np.zeros((0, 1))
    n_open = settle_by_bounds(scores, rows, np.zeros((5, 0), dtype=bool), rows[:0], nothing, nothing, 0.5, codes)
    assert rows[:n_open].tolist() == [0, 1, 4]
    assert codes.tolist() == [-1, -1, 1, 0, -1]
