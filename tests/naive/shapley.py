"""Shapley values straight from their definition, and games of trees and kernels as one would write them down."""

from itertools import combinations
from math import factorial

import numpy as np


def shapley_by_subsets(value_of, n_players):
    """Return Σ_S |S|! (p - 1 - |S|)! / p! (v(S + j) - v(S)) of each player j, with v of sets of players."""
    values = []
    for player in range(n_players):
        others = [other for other in range(n_players) if other != player]
        total = 0.0
        for size in range(n_players):
            share = factorial(size) * factorial(n_players - 1 - size) / factorial(n_players)
            for members in combinations(others, size):
                total = total + share * (value_of({*members, player}) - value_of(set(members)))
        values.append(total)
    return np.array(values)


def tree_value(trees, number, x, known):
    """Return the values of a tree where only some columns of a row are known: others go both ways."""

    def below(node):
        column = trees.column[node]
        if column < 0:
            return np.asarray(trees.values[node], dtype=float)
        left, right = trees.left[node], trees.right[node]
        if column in known:
            return below(left if _goes_left(trees, node, x[column]) else right)
        weights = np.array([trees.weight[left], trees.weight[right]], dtype=float)
        shares = weights / weights.sum() if weights.sum() > 0 else np.array([0.5, 0.5])
        return shares[0] * below(left) + shares[1] * below(right)

    return below(trees.roots[number])


def _goes_left(trees, node, value):
    row = trees.category_row[node]
    if row >= 0:
        is_category = 0 <= value < trees.categories_left.shape[1]
        return bool(trees.categories_left[row, int(value)]) if is_category else bool(trees.missing_left[node])
    return bool(trees.missing_left[node]) if np.isnan(value) else value <= trees.threshold[node]


def ensemble_value(trees, x, known, n_outputs):
    """Return the sum of all trees in each output."""
    total = np.zeros(n_outputs)
    for number, output in enumerate(trees.output):
        values = tree_value(trees, number, x, known)
        total[output : output + len(values)] += values
    return total


def kernel_value(x, centres, gamma, coefficients, known):
    """Return Σ coefficient · Π over known columns of exp(-γ (x - c)²)."""
    known = sorted(known)
    factors = np.exp(-gamma * (x[known] - centres[:, known]) ** 2)
    return factors.prod(axis=1) @ coefficients
