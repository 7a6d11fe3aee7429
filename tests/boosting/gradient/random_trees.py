"""Random trees, rows to walk down them, and the walk as one would write it down."""

import numpy as np

from fuselearn.boosting.gradient.tree_format import NODE_KINDS, BoostedTrees, GradientTree


def random_tree(rng, columns, categorical=(), n_splits=None, values=None):
    """Return a tree on some columns: nodes of siblings need not follow each other, splits may repeat.

    Parameters
    ----------
    rng : numpy.random.Generator
    columns : list of int
        Columns that may be split.
    categorical : collection of int
        Those that hold categories.
    n_splits : int, default=None
        Number of splits; None draws one.
    values : list of float, default=None
        What leaves may hold; None for any numbers.
    """
    n_splits = int(rng.integers(0, 12)) if n_splits is None else n_splits
    n_nodes = 2 * n_splits + 1
    nodes = {
        name: np.full(n_nodes, -1, dtype=kind) if np.issubdtype(kind, np.integer) else np.zeros(n_nodes, dtype=kind)
        for name, kind in NODE_KINDS.items()
    }
    # Nodes that wait for a place, by parent and side. Any of them may get the next number: parents come first.
    waiting, categories_left = [None], []
    to_split = n_splits
    for node in range(n_nodes):
        parent = waiting.pop(int(rng.integers(len(waiting))))
        if parent is not None:
            nodes[parent[1]][parent[0]] = node
        nodes["value"][node] = rng.normal() if values is None else rng.choice(values)
        nodes["weight"][node] = rng.integers(1, 50)
        # The last one that waits must be split while splits are left.
        if to_split and (not waiting or rng.random() < 0.6):
            to_split -= 1
            column = int(rng.choice(columns))
            nodes["column"][node], nodes["gain"][node] = column, rng.random()
            nodes["missing_left"][node] = rng.random() < 0.5
            waiting += [(node, "left"), (node, "right")]
            if column in categorical:
                nodes["category_row"][node] = len(categories_left)
                categories_left.append(rng.random(256) < 0.5)
            else:
                nodes["cut_bin"][node] = cut = int(rng.integers(0, 4))
                nodes["threshold"][node] = EDGES[cut]
    categories = np.array(categories_left, dtype=np.uint8).reshape(-1, 256)
    return GradientTree(**nodes, categories_left=categories)


EDGES = np.array([-0.75, 0.0, 0.5, np.inf])
"""Thresholds of the cuts after the first bins."""
VALUES = np.array([-2.0, -0.75, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 3e5])
"""Values of numeric columns, some of them thresholds."""
CODES = np.array([0.0, 1.0, 2.0, 17.0, 254.0, 255.0])
"""Codes of categories."""
NO_CODES = np.array([256.0, -1.0, -0.5, 1e300, -1e300])
"""Numbers that are no code: no table that was encoded has them, and compiled code must not trip over them."""


def random_rows(rng, n_rows, n_columns, categorical=(), views=()):
    """Return a table with missing values, and rows that lack some of the views."""
    X = rng.choice(VALUES, (n_rows, n_columns))
    for column in categorical:
        X[:, column] = rng.choice(np.concatenate([CODES, CODES, NO_CODES]), n_rows)
    X[rng.random(X.shape) < 0.15] = np.nan
    for columns in views:
        X[np.ix_(rng.random(n_rows) < 0.3, columns)] = np.nan
    return X


def leaf_of(tree, row):
    """Return the number of the leaf that a row of values ends in."""

    def walk(node):
        if tree.column[node] < 0:
            return node
        x = row[tree.column[node]]
        if np.isnan(x):
            goes_left = tree.missing_left[node]
        elif tree.category_row[node] < 0:
            goes_left = x <= tree.threshold[node]
        elif x in range(256):
            goes_left = tree.categories_left[tree.category_row[node], int(x)] == 1
        else:
            goes_left = tree.missing_left[node]
        return walk(tree.left[node] if goes_left else tree.right[node])

    return walk(0)


def naive_scores(trees, baseline, X, views=(), numbers=None):
    """Return the scores of rows, one addition after the other."""
    scores = np.tile(np.asarray(baseline, dtype=float), (len(X), 1))
    for number in range(len(trees)) if numbers is None else numbers:
        tree, view = trees.tree(number), trees.view[number]
        for i, row in enumerate(X):
            if view < 0 or not np.isnan(row[views[view]]).all():
                scores[i, trees.output[number]] += tree.value[leaf_of(tree, row)]
    return scores


def random_model(rng, n_rounds, n_outputs, views, categorical=(), per_view=True, values=None, max_splits=12):
    """Return trees in rounds, of one view each or of all of them."""
    trees, winners = [], []
    for _ in range(n_rounds):
        winner = int(rng.integers(len(views))) if per_view else -1
        columns = list(views[winner]) if per_view else sorted({column for view in views for column in view})
        for _ in range(n_outputs):
            trees.append(random_tree(rng, columns, categorical, int(rng.integers(0, max_splits)), values))
            winners.append(winner)
    return BoostedTrees.of(trees, np.arange(len(trees)) % n_outputs, winners)
