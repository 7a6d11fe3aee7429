"""Trees of gradient boosting: joined and taken apart again, their bounds, and forged ones refused."""

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fuselearn.boosting.gradient.tree_format import NODE_KINDS, BoostedTrees, GradientTree
from fuselearn.persistence.validation import validate_object
from tests.boosting.gradient.random_trees import random_model, random_tree

VIEWS = [[0, 1], [2, 3, 4]]
CATEGORICAL = {1, 3}


def same_arrays(first, second):
    """Return whether all fields of two trees are equal, with their types."""
    pairs = [(getattr(first, field.name), getattr(second, field.name)) for field in fields(first)]
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


@pytest.fixture
def boosted():
    return random_model(np.random.default_rng(3), 6, 2, VIEWS, CATEGORICAL)


@pytest.mark.parametrize("seed", range(10))
def test_joined_trees_can_be_taken_apart_again(seed):
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, range(5), CATEGORICAL) for _ in range(int(rng.integers(1, 9)))]
    boosted = BoostedTrees.of(trees, [0] * len(trees), [-1] * len(trees))
    validate_object(boosted)
    assert len(boosted) == len(trees)
    for number, tree in enumerate(trees):
        validate_object(tree)
        assert same_arrays(boosted.tree(number), tree)
        assert len(tree) == 2 * tree.n_leaves - 1


def test_no_trees_at_all():
    boosted = BoostedTrees.of([], [], [])
    validate_object(boosted)
    boosted.check_columns(0)
    boosted.check_outputs(3, 0)
    assert len(boosted) == 0
    assert all(len(bound) == 0 for bound in boosted.leaf_bounds())
    assert_array_equal(boosted.view_bounds(2, 3), np.zeros((2, 2, 3)))


def test_a_tree_that_is_not_there():
    boosted = BoostedTrees.of([random_tree(np.random.default_rng(0), [0])], [0], [0])
    for number in (-1, 1):
        with pytest.raises(IndexError, match=f"number must be from 0 to 0; got {number}"):
            boosted.tree(number)


def test_each_tree_needs_an_output_and_a_view():
    with pytest.raises(ValueError, match="1 trees need as many outputs and views; got 2 and 1"):
        BoostedTrees.of([random_tree(np.random.default_rng(0), [0])], [0, 1], [0])


def test_bounds_are_those_of_the_leaves(boosted):
    smallest, largest = boosted.leaf_bounds()
    lower, upper = np.zeros((2, 2)), np.zeros((2, 2))
    for number in range(len(boosted)):
        tree = boosted.tree(number)
        leaves = [value for value, column in zip(tree.value, tree.column) if column < 0]
        assert (smallest[number], largest[number]) == (min(leaves), max(leaves))
        lower[boosted.view[number], boosted.output[number]] += min(leaves)
        upper[boosted.view[number], boosted.output[number]] += max(leaves)
    assert_array_equal(boosted.view_bounds(2, 2), [lower, upper])


def test_columns_outputs_and_views_beyond_those_of_the_model(boosted):
    boosted.check_columns(5)
    boosted.tree(0).check_columns(5)
    with pytest.raises(ValueError, match="reads columns beyond the 4 it was fitted on"):
        boosted.check_columns(4)
    boosted.check_outputs(2, 2)
    with pytest.raises(ValueError, match="trees of other views than its 1"):
        boosted.check_outputs(2, 1)
    for n_outputs in (1, 3, 5):
        with pytest.raises(ValueError, match=f"not in rounds of {n_outputs}, one for each raw score"):
            boosted.check_outputs(n_outputs, 2)


# A tree of three splits: 0 → 1, 2; 2 → 3, 4 by category; 4 → 5, 6.
def small_tree():
    nodes = {name: np.zeros(7, dtype=kind) for name, kind in NODE_KINDS.items()}
    nodes["column"] = np.array([0, -1, 1, -1, 0, -1, -1], dtype=np.int32)
    nodes["left"] = np.array([1, -1, 3, -1, 5, -1, -1], dtype=np.int32)
    nodes["right"] = np.array([2, -1, 4, -1, 6, -1, -1], dtype=np.int32)
    nodes["cut_bin"] = np.array([3, -1, -1, -1, 0, -1, -1], dtype=np.int32)
    nodes["category_row"] = np.array([-1, -1, 0, -1, -1, -1, -1], dtype=np.int32)
    return GradientTree(**nodes, categories_left=np.zeros((1, 256), dtype=np.uint8))


def put(name, place, value):
    """Return an edit that puts a number into an array of a tree."""

    def edit(tree):
        array = getattr(tree, name).copy()
        array[place] = value
        return replace(tree, **{name: array})

    return edit


def instead(name, change):
    """Return an edit that puts something else for an array of a tree."""
    return lambda tree: replace(tree, **{name: change(getattr(tree, name))})


FORGED = {
    "no nodes": (lambda tree: replace(tree, **{name: getattr(tree, name)[:0] for name in NODE_KINDS}), "without nodes"),
    "a child beyond the tree": (put("right", 4, 7), "lead out of it"),
    "a child far beyond": (put("left", 0, 2**31 - 1), "lead out of it"),
    "a negative child": (put("left", 2, -1), "in a circle"),
    "a very negative child": (put("left", 2, -(2**31)), "in a circle"),
    "a circle": (put("left", 4, 2), "no parent, or several"),
    "a node that is its own child": (put("right", 4, 4), "no parent, or several"),
    "a child of two nodes": (put("right", 0, 3), "no parent, or several"),
    "the same child twice": (put("right", 4, 5), "no parent, or several"),
    "two nodes exchanged": (
        lambda tree: put("right", 4, 4)(put("right", 2, 6)(tree)),
        "in a circle",
    ),
    "a leaf with a child": (put("left", 1, 2), "leaves with children"),
    "a column below -1": (put("column", 1, -2), "numbers out of range"),
    "an inner node made a leaf": (put("column", 4, -1), "leaves with children"),
    "a category row beyond": (put("category_row", 2, 1), "numbers out of range"),
    "a category row below -1": (put("category_row", 2, -2), "numbers out of range"),
    "a leaf split by category": (put("category_row", 1, 0), "leaves that are split"),
    "a split in two ways": (put("cut_bin", 2, 1), "split in no way or in two"),
    "a split in no way": (put("cut_bin", 0, -1), "split in no way or in two"),
    "a bin that no byte numbers": (put("cut_bin", 0, 256), "bins that no column has"),
    "a threshold of NaN": (put("threshold", 0, np.nan), "thresholds or bins that no column has"),
    "a value of NaN": (put("value", 6, np.nan), "value of a .* has NaN or infinity"),
    "an infinite value": (put("value", 0, np.inf), "value of a .* has NaN or infinity"),
    "a negative gain": (put("gain", 0, -1.0), "gain of a .* has numbers out of range"),
    "a weight of NaN": (put("weight", 0, np.nan), "weight of a .* has NaN or infinity"),
    "categories that are neither": (put("categories_left", (0, 7), 2), "categories_left of a .* out of range"),
    "too few categories": (instead("categories_left", lambda array: array[:, :255]), "has the shape"),
    "categories of floats": (instead("categories_left", lambda array: array.astype(float)), "float64"),
    "categories as truth values": (instead("categories_left", lambda array: array.astype(bool)), "categories_left"),
    "categories of no split": (instead("categories_left", lambda array: array.repeat(2, axis=0)), "of no split"),
    "an array too long": (instead("value", lambda array: np.append(array, 0.0)), "has the shape"),
    "an array too short": (instead("missing_left", lambda array: array[1:]), "has the shape"),
    "large numbers of nodes": (instead("left", lambda array: array.astype(np.int64)), "int64, not int32"),
    "whole numbers for truth values": (instead("missing_left", lambda array: array.astype(np.int8)), "missing_left"),
    "thresholds of another type": (instead("threshold", lambda array: array.astype(np.float32)), "float32"),
    "no array": (instead("column", lambda array: array.tolist()), "column"),
    "two dimensions": (instead("column", lambda array: array[:, None]), "has the shape"),
}


def test_the_tree_is_whole_before_it_is_forged():
    """So that each forgery is refused for what it changes: the trees pass, and those of a boosting are the same."""
    trees = BoostedTrees.of([small_tree()], [0], [-1])
    assert validate_object(small_tree()) is validate_object(trees) is None
    for name, array in vars(small_tree()).items():
        np.testing.assert_array_equal(getattr(trees.tree(0), name), array)


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_tree_is_refused(kind):
    edit, words = FORGED[kind]
    with pytest.raises(ValueError, match=words):
        validate_object(edit(small_tree()))


@pytest.mark.parametrize("kind", [kind for kind in FORGED if kind != "no nodes"])
def test_a_forged_tree_is_refused_beside_others(kind):
    """It is the first of several, so that its children may be nodes of the next."""
    edit, _ = FORGED[kind]
    with pytest.raises(ValueError):
        validate_object(edit(BoostedTrees.of([small_tree()] * 3, [0, 0, 0], [0, 1, 0])))


def ways_out(tree):
    """Exchange the right children of the last splits of two trees."""
    right = tree.right.copy()
    right[[4, 11]] = right[[11, 4]]
    return replace(tree, right=right)


def way_into_the_next(tree):
    """Make the leaves of the second tree children of a leaf of the first, so that each node has one parent still."""
    for name, value in (("column", -1), ("cut_bin", -1), ("left", -1), ("right", -1), ("category_row", -1)):
        tree = put(name, [7, 9, 11], value)(tree)
    children = {"left": [8, 10, 12], "right": [9, 11, 13]}
    for name, value in (("column", 0), ("cut_bin", 0)):
        tree = put(name, [3, 5, 6], value)(tree)
    for name, numbers in children.items():
        tree = put(name, [3, 5, 6], numbers)(tree)
    return replace(tree, categories_left=tree.categories_left[:1])


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (put("starts", 0, 1), "do not follow each other"),
        (put("starts", 1, 0), "do not follow each other, or without nodes"),
        (put("starts", 1, 14), "do not follow each other, or without nodes"),
        (put("starts", 1, 6), "no parent, or several|lead out of it"),
        (put("starts", 2, 20), "do not follow each other"),
        (put("starts", 1, -1), "starts of a BoostedTrees has numbers out of range"),
        (put("starts", 2, 2**62), "do not follow each other"),
        (instead("starts", lambda array: array[:-1]), "has the shape"),
        (instead("starts", lambda array: array.astype(np.int32)), "int32"),
        (instead("starts", lambda array: array.astype(float)), "starts"),
        (put("output", 0, -1), "output of a BoostedTrees has numbers out of range"),
        (put("view", 0, -2), "view of a BoostedTrees has numbers out of range"),
        (put("view", 0, -1), "single views beside trees of all views"),
        (instead("view", lambda array: array[:1]), "has the shape"),
        (instead("output", lambda array: array.astype(np.int64)), "int64, not int32"),
        (ways_out, "lead out of it"),
        (way_into_the_next, "lead out of it, or leaves with children"),
        (put("category_row", 2, 1), "categories of no split, of several"),
        (put("category_row", [2, 9], [1, 0]), "or of another tree"),
    ],
)
def test_forged_trees_are_refused(edit, words):
    boosted = BoostedTrees.of([small_tree(), small_tree()], [0, 0], [0, 1])
    validate_object(boosted)
    with pytest.raises(ValueError, match=words):
        validate_object(edit(boosted))


def test_a_tree_of_very_many_levels_is_refused():
    n_splits = 10_001
    n_nodes = 2 * n_splits + 1
    nodes = {name: np.zeros(n_nodes, dtype=kind) for name, kind in NODE_KINDS.items()}
    inner = np.arange(0, n_nodes - 1, 2)
    for name in ("column", "left", "right", "category_row"):
        nodes[name][:] = -1
    nodes["column"][inner], nodes["left"][inner], nodes["right"][inner] = 0, inner + 1, inner + 2
    tree = GradientTree(**nodes, categories_left=np.zeros((0, 256), dtype=np.uint8))
    with pytest.raises(ValueError, match="more than 10,000 levels"):
        tree.validate()
