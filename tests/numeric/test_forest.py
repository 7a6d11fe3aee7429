"""Randomised trees against walks down them, row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.numeric.forest import grow_forest
from fuselearn.numeric.threads import SERIAL, Threads
from tests.naive import fusion_arms as naive

SEED = np.random.SeedSequence(3, spawn_key=(1, 2))


LARGEST = np.finfo(np.float32).max


def grow(columns, targets, *, n_trees=6, leaf=1, share=1.0, n_drawn=None, seed=SEED, weights=None, threads=SERIAL):
    columns = np.ascontiguousarray(columns, dtype=np.float32)
    n_drawn = columns.shape[1] if n_drawn is None else n_drawn
    return grow_forest(
        columns,
        targets,
        n_trees=n_trees,
        leaf=leaf,
        share=share,
        n_drawn=n_drawn,
        seed=seed,
        weights=weights,
        threads=threads,
    )


def is_inner(forest):
    return forest.feature >= 0


class Problem:
    """Columns with ties, gaps between them and constants; targets that depend on some."""

    def __init__(self, seed, n_rows, n_columns, n_targets, ties, weighted):
        rng = np.random.default_rng(seed)
        self.columns = rng.normal(size=(n_columns, n_rows)).astype(np.float32)
        if ties:
            self.columns = np.round(self.columns)
        self.targets = rng.normal(size=(n_rows, n_targets)) + self.columns[0][:, None]
        self.weights = rng.uniform(0.1, 4.0, n_rows) if weighted else None

    @property
    def n_rows(self):
        return self.columns.shape[1]


problems = st.builds(
    Problem,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 50),
    n_columns=st.integers(1, 5),
    n_targets=st.sampled_from([1, 3, 6]),
    ties=st.booleans(),
    weighted=st.booleans(),
)


@given(problems, st.integers(1, 6), st.sampled_from([1.0, 0.5]), st.booleans())
@settings(max_examples=60)
def test_a_forest_is_what_its_rows_make_it(problem, leaf, share, fewer):
    n_drawn = max(1, problem.n_rows // 2) if fewer else problem.n_rows
    forest, totals, n_trees = grow(
        problem.columns, problem.targets, leaf=leaf, share=share, n_drawn=n_drawn, weights=problem.weights
    )
    n_nodes = len(forest.feature)
    inner = is_inner(forest)
    nodes = np.arange(n_nodes)
    # Children come after their parent, and each node but the roots is the child of one.
    assert np.all(forest.left[inner] > nodes[inner])
    children = np.concatenate([forest.roots, forest.left[inner], forest.left[inner] + 1])
    assert_array_equal(np.sort(children), nodes)
    assert np.all(forest.feature < len(problem.columns))
    counts_of_trees = [naive.drawn_counts(SEED, tree, problem.n_rows, n_drawn) for tree in range(len(forest.roots))]
    for tree, counts in enumerate(counts_of_trees):
        leaves = naive.leaves_of(forest, tree, problem.columns)
        drawn = counts > 0
        stop = forest.roots[tree + 1] if tree + 1 < len(forest.roots) else n_nodes
        tree_nodes = np.arange(forest.roots[tree], stop)
        tree_leaves = tree_nodes[~inner[tree_nodes]]
        assert_array_equal(np.unique(leaves[drawn]), tree_leaves)
        for node in tree_leaves:
            rows = drawn & (leaves == node)
            assert rows.sum() >= min(leaf, drawn.sum())
            row_weights = counts[rows] * (1.0 if problem.weights is None else problem.weights[rows])
            means = np.average(problem.targets[rows], axis=0, weights=row_weights)
            assert_allclose(forest.values[node], means, rtol=1e-5, atol=1e-6)
    expected, expected_n_trees = naive.out_of_bag(forest, problem.columns, counts_of_trees)
    assert_array_equal(n_trees, expected_n_trees)
    assert_allclose(totals, expected, rtol=1e-6, atol=1e-9)
    sums, _ = naive.out_of_bag(forest, problem.columns, [np.zeros(problem.n_rows)] * len(forest.roots))
    assert_allclose(forest.predict(problem.columns), sums / len(forest.roots), rtol=1e-6, atol=1e-9)


@given(problems)
@settings(max_examples=6)
def test_the_number_of_threads_does_not_matter(problem):
    one = grow(problem.columns, problem.targets, share=0.5, weights=problem.weights)
    with Threads(3) as threads:
        other = grow(problem.columns, problem.targets, share=0.5, weights=problem.weights, threads=threads)
        assert_array_equal(one[0].predict(problem.columns), other[0].predict(problem.columns, threads=threads))
    for name in ("roots", "feature", "threshold", "left", "values"):
        assert_array_equal(getattr(one[0], name), getattr(other[0], name))
    assert_array_equal(one[1], other[1])
    assert_array_equal(one[2], other[2])


def test_the_seed_decides():
    problem = Problem(0, 80, 3, 1, False, False)
    one, again = (grow(problem.columns, problem.targets)[0] for _ in range(2))
    assert_array_equal(one.threshold, again.threshold)
    other = grow(problem.columns, problem.targets, seed=np.random.SeedSequence(4))[0]
    assert not np.array_equal(one.predict(problem.columns), other.predict(problem.columns))


@pytest.mark.parametrize("n_targets", [1, 2, 7])
def test_a_step_is_learnt(n_targets):
    rng = np.random.default_rng(0)
    columns = rng.uniform(size=(3, 2000)).astype(np.float32)
    classes = (columns[1] * n_targets).astype(int) if n_targets > 1 else (columns[1] > 0.5).astype(int)
    targets = np.eye(n_targets)[classes] if n_targets > 1 else 2.0 * classes[:, None] - 1
    forest, totals, counts = grow(columns, targets, n_trees=40, leaf=3)
    assert counts.min() > 3
    out_of_bag = totals / counts[:, None]
    new = rng.uniform(size=(3, 1000)).astype(np.float32)
    if n_targets > 1:
        assert np.mean(out_of_bag.argmax(axis=1) == classes) > 0.97
        assert np.mean(forest.predict(new).argmax(axis=1) == (new[1] * n_targets).astype(int)) > 0.97
    else:
        assert np.mean((out_of_bag[:, 0] > 0) == classes) > 0.98
        assert np.mean((forest.predict(new)[:, 0] > 0) == (new[1] > 0.5)) > 0.98


def test_larger_leaves_stand_wrong_labels():
    rng = np.random.default_rng(1)
    columns = rng.uniform(size=(2, 1500)).astype(np.float32)
    clean = np.where(columns[0] > 0.5, 1.0, -1.0)
    given_ = np.where(rng.random(1500) < 0.3, -clean, clean)[:, None]
    right = [np.mean(np.sign(grow(columns, given_, n_trees=8, leaf=leaf)[1][:, 0]) == clean) for leaf in (1, 15)]
    assert right[1] > right[0] + 0.05
    assert right[1] > 0.9


def test_rows_are_drawn_alike_and_count_by_their_weights():
    """Rare classes have large weights; drawn by these, their rows would never be left out."""
    targets = np.repeat([1.0, -1.0], 100)[:, None]
    weights = np.repeat([3.0, 1.0], 100)
    forest, _, counts = grow(np.zeros((1, 200)), targets, n_trees=50, weights=weights)
    assert_allclose(forest.values.mean(), 0.5, atol=0.05)
    assert_allclose([counts[:100].mean(), counts[100:].mean()], 50 * np.exp([-1.0, -1.0]), rtol=0.1)


def test_constant_columns_and_targets_are_one_leaf():
    forest, _, _ = grow(np.ones((3, 30)), np.arange(30.0)[:, None])
    assert_array_equal(forest.feature, np.full(6, -1))
    forest, _, _ = grow(np.random.default_rng(0).normal(size=(3, 30)), np.full((30, 2), 0.25))
    assert_array_equal(forest.feature, np.full(6, -1))
    assert_allclose(forest.values, 0.25)


def test_a_constant_column_among_others_is_passed_over():
    columns = np.vstack([np.ones(200), np.random.default_rng(0).normal(size=200)])
    forest, _, _ = grow(columns, np.sign(columns[1])[:, None])
    assert set(forest.feature) == {-1, 1}


def test_one_row():
    forest, totals, counts = grow(np.array([[2.0]]), np.array([[0.5, -1.0]]))
    assert_array_equal(counts, [0])
    assert_array_equal(totals, [[0.0, 0.0]])
    assert_allclose(forest.predict(np.array([[7.0]], dtype=np.float32)), [[0.5, -1.0]])


def test_no_rows_to_predict():
    forest, _, _ = grow(np.arange(20.0)[None], np.arange(20.0)[:, None])
    assert forest.predict(np.empty((1, 0), dtype=np.float32)).shape == (0, 1)


def test_neighbouring_and_largest_numbers_are_told_apart():
    one = np.float32(1.0)
    above = np.nextafter(one, np.float32(2))
    for low, high in ((one, above), (-LARGEST, LARGEST), (np.float32(0), np.float32(1e-45)), (-LARGEST, 0)):
        column = np.repeat(np.array([low, high], dtype=np.float32), 20)
        targets = np.repeat([-1.0, 1.0], 20)[:, None]
        forest, _, _ = grow(column[None], targets)
        assert np.isfinite(forest.threshold).all()
        assert_allclose(forest.predict(column[None]), targets)


def test_too_few_columns_are_an_error():
    problem = Problem(0, 30, 3, 1, False, False)
    forest, _, _ = grow(problem.columns, problem.targets)
    with pytest.raises(ValueError, match="grown on 3 columns; columns has 2"):
        forest.predict(problem.columns[:2])


@pytest.mark.parametrize("n_rows", [1, 5, 256])
def test_few_rows_are_predicted_to_the_same_bits_without_compiled_code(n_rows, monkeypatch):
    rng = np.random.default_rng(n_rows)
    forest, *_ = grow(rng.normal(size=(4, 80)), rng.normal(size=(80, 3)), n_trees=20)
    columns = rng.normal(size=(4, n_rows)).astype(np.float32)
    expected = forest.predict(columns)
    monkeypatch.setattr("fuselearn.numeric.forest.is_loaded", lambda loop: False)
    monkeypatch.setattr("fuselearn.numeric.forest._add_leaf_values", None)
    assert_array_equal(forest.predict(columns), expected)
