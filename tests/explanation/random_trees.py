"""Random trees for tests of explanations."""

import numpy as np

from fuselearn.explanation.tree_values import TreeNodes


def random_trees(seed, n_trees=3, n_columns=5, depth=4, n_values=1, categories=False):
    """Trees with repeated columns, missing values, empty children and, if asked for, splits by categories."""
    rng = np.random.default_rng(seed)
    column, threshold, missing_left, left, right, weight, category_row, roots = [], [], [], [], [], [], [], []
    categories_left = []

    def grow(level, size):
        node = len(column)
        is_leaf = level == depth or (level and rng.random() < 0.2)
        column.append(-1 if is_leaf else int(rng.integers(n_columns)))
        by_category = not is_leaf and categories and column[node] == 0
        category_row.append(len(categories_left) if by_category else -1)
        if by_category:
            categories_left.append(rng.integers(0, 2, size=4))
        threshold.append(float(rng.normal()))
        missing_left.append(bool(rng.integers(2)))
        weight.append(size)
        left.append(-1)
        right.append(-1)
        if not is_leaf:
            share = rng.choice([0.0, 0.25, rng.random(), 1.0], p=[0.1, 0.2, 0.6, 0.1])
            left[node] = grow(level + 1, size * share)
            right[node] = grow(level + 1, size * (1 - share))
        return node

    for _ in range(n_trees):
        roots.append(grow(0, 100.0))
    return TreeNodes(
        roots=np.array(roots),
        column=np.array(column),
        threshold=np.array(threshold),
        missing_left=np.array(missing_left),
        left=np.array(left),
        right=np.array(right),
        weight=np.array(weight),
        values=rng.normal(size=(len(column), n_values)),
        output=np.zeros(n_trees, dtype=int) if n_values > 1 else np.arange(n_trees) % 2,
        category_row=np.array(category_row),
        categories_left=np.array(categories_left, dtype=np.uint8).reshape(-1, 4),
    )


def random_rows(seed, n_rows=4, n_columns=5):
    """Rows with gaps, whose first column are codes, some of them unknown."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] = rng.integers(-1, 6, size=n_rows)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X
