"""Exact Shapley values of the columns in trees, by the training rows that went each way (path-dependent).

What a tree says of a row of which some columns are not known is the mean of its leaves: at a split on an unknown column
both ways are taken, in proportion to the training rows (Lundberg et al., 2020). A leaf is then a product game of the
columns on its path: the factor of a known column is 1 if the row goes that way at all its splits, else 0; that of an
unknown one is the product of the shares of the training rows. The integral of `quadrature` is taken for all leaves at
once while the tree is walked down and up again, so that a row costs (nodes of the tree) × (half of its depth).

Columns may be fixed: the row then goes its way at every split on them, and they are no players.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fuselearn.explanation.quadrature import rules
from fuselearn.numeric.execution import compiled
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The nodes of several trees; children come after their parent.

    Attributes
    ----------
    roots : int ndarray of shape (n_trees,)
        First node of each tree.
    column : int ndarray of shape (n_nodes,)
        Column that a node looks at, -1 in a leaf.
    threshold : ndarray of shape (n_nodes,)
        Values up to it go left.
    missing_left : bool ndarray of shape (n_nodes,)
        Whether missing values go left.
    left, right : int ndarray of shape (n_nodes,)
        Numbers of the children.
    weight : ndarray of shape (n_nodes,)
        Weight of the training rows in each node.
    values : ndarray of shape (n_nodes, n_values)
        What leaves say.
    output : int ndarray of shape (n_trees,)
        Number of the output that the first value of a tree adds to.
    category_row : int ndarray of shape (n_nodes,)
        Row of `categories_left` at a split by categories, else -1.
    categories_left : uint8 ndarray of shape (n_category_splits, n_categories)
        1 for the categories that go left.
    """

    roots: IntArray
    column: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    weight: FloatArray
    values: FloatArray
    output: IntArray
    category_row: IntArray
    categories_left: IntArray

    @classmethod
    def of_numbers(
        cls,
        roots: IntArray,
        column: IntArray,
        threshold: FloatArray,
        left: IntArray,
        right: IntArray,
        weight: FloatArray,
        values: FloatArray,
    ) -> TreeNodes:
        """Return trees without categories and missing values, each of which has all values."""
        n_nodes = len(column)
        return cls(
            roots=roots,
            column=column,
            threshold=threshold,
            missing_left=np.zeros(n_nodes, dtype=bool),
            left=left,
            right=right,
            weight=weight,
            values=values,
            output=np.zeros(len(roots), dtype=np.intp),
            category_row=np.full(n_nodes, -1),
            categories_left=np.zeros((0, 1), dtype=np.uint8),
        )


def tree_shapley(
    trees: TreeNodes, X: FloatArray, players: IntArray, n_players: int, n_outputs: int, threads: Threads = SERIAL
) -> tuple[FloatArray, FloatArray]:
    """Return what sums of trees say of rows of which no player is known, and the Shapley values of the players.

    Parameters
    ----------
    trees : TreeNodes
        The trees.
    X : ndarray of shape (n_rows, n_columns)
        The rows.
    players : intp ndarray of shape (n_columns,)
        Player of each column, -1 where a column is fixed.
    n_players, n_outputs : int
        Number of players and of outputs.
    threads : Threads, default=SERIAL
        Threads that share the rows.

    Returns
    -------
    base : ndarray of shape (n_rows, n_outputs)
        Without any player.
    values : ndarray of shape (n_rows, n_players, n_outputs)
        Shapley values; with `base` they add up to what the trees say.
    """
    base, values = np.zeros((len(X), n_outputs)), np.zeros((len(X), n_players, n_outputs))
    levels = _levels(_whole(trees.roots), _whole(trees.column), _whole(trees.left), _whole(trees.right))
    most = max(1, -(-int(levels.max(initial=0)) // 2))
    nodes, weights = rules(most)
    arrays = (
        _whole(trees.roots),
        _whole(trees.column),
        np.ascontiguousarray(trees.threshold, dtype=np.float64),
        np.ascontiguousarray(trees.missing_left),
        _whole(trees.left),
        _whole(trees.right),
        np.ascontiguousarray(trees.weight, dtype=np.float64),
        np.ascontiguousarray(trees.values, dtype=np.float64),
        _whole(trees.output),
        _whole(trees.category_row),
        np.ascontiguousarray(trees.categories_left, dtype=np.uint8),
    )
    table, players = np.ascontiguousarray(X, dtype=np.float64), _whole(players)

    def work(start: int, stop: int) -> None:
        _add_shapley(*arrays, levels, nodes, weights, table, players, base, values, start, stop)

    threads.share(len(X), work)
    return base, values


def _whole(numbers: IntArray) -> IntArray:
    """Return whole numbers in one type and layout, so that loops are compiled once."""
    return np.require(numbers, dtype=np.int64, requirements=["C", "W"])


@compiled()
def _levels(roots: IntArray, column: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Return the number of splits on the longest way down each tree."""
    depth = np.zeros(len(column), dtype=np.int64)
    levels = np.zeros(len(roots), dtype=np.int64)
    for tree in range(len(roots)):
        stack = [roots[tree]]
        while len(stack):
            node = stack.pop()
            if column[node] < 0:
                levels[tree] = max(levels[tree], depth[node])
            else:
                for child in (left[node], right[node]):
                    depth[child] = depth[node] + 1
                    stack.append(child)
    return levels


@compiled()
def _goes_left(
    value: float, threshold: float, missing_left: bool, category_row: int, categories_left: IntArray
) -> bool:
    """Return which way a value goes at a split."""
    if category_row >= 0:
        if value >= 0.0 and value < categories_left.shape[1]:
            return categories_left[category_row, int(value)] != 0
        return missing_left
    if value != value:
        return missing_left
    return value <= threshold


@compiled(reassociate=True)
def _add_shapley(
    roots: IntArray,
    column: IntArray,
    threshold: FloatArray,
    missing_left: BoolArray,
    left: IntArray,
    right: IntArray,
    weight: FloatArray,
    leaf_values: FloatArray,
    output: IntArray,
    category_row: IntArray,
    categories_left: IntArray,
    levels: IntArray,
    rule_nodes: FloatArray,
    rule_weights: FloatArray,
    X: FloatArray,
    players: IntArray,
    base: FloatArray,
    values: FloatArray,
    start: int,
    stop: int,
) -> None:
    """Walk each row from `start` to `stop` down and up each tree.

    The level of a node has the edge that leads to it: its player, the factors z and o of that player on the path so
    far, the level of the player's last edge above it, the product of the factors of all players at each node of the
    rule, and the sum over the leaves below of these products times the values of the leaves.
    """
    most_levels, most_nodes, n_values = 1, rule_nodes.shape[1], leaf_values.shape[1]
    for tree in range(len(roots)):
        most_levels = max(most_levels, levels[tree])
    at = np.zeros(most_levels + 1, dtype=np.int64)
    ways = np.zeros(most_levels + 1, dtype=np.int64)  # children that were visited
    player_at = np.zeros(most_levels + 1, dtype=np.int64)
    above = np.zeros(most_levels + 1, dtype=np.int64)
    z_at, o_at, chance = np.ones(most_levels + 1), np.ones(most_levels + 1), np.ones(most_levels + 1)
    factor = np.ones((most_levels + 1, most_nodes))
    scaled = np.ones((most_levels + 1, most_nodes))  # weights of the rule over factors
    product = np.ones((most_levels + 1, most_nodes))
    sums = np.zeros((most_levels + 1, n_values, most_nodes))
    for row in range(start, stop):
        for tree in range(len(roots)):
            first_output = output[tree]
            count = max(1, (levels[tree] + 1) // 2)
            q, share = rule_nodes[count], rule_weights[count]
            level = 0
            at[0], ways[0], player_at[0], above[0] = roots[tree], 0, -1, -1
            chance[0] = 1.0
            product[0, :] = 1.0
            sums[0, :, :] = 0.0
            while level >= 0:
                node = at[level]
                if column[node] < 0:
                    for k in range(n_values):
                        base[row, first_output + k] += chance[level] * leaf_values[node, k]
                        for t in range(count):
                            sums[level, k, t] = product[level, t] * leaf_values[node, k]
                elif ways[level] < 2:
                    split = column[node]
                    player = players[split]
                    goes_left = _goes_left(
                        X[row, split], threshold[node], missing_left[node], category_row[node], categories_left
                    )
                    to_left = ways[level] == 0
                    ways[level] += 1
                    child = left[node] if to_left else right[node]
                    follows = goes_left == to_left
                    below = level + 1
                    if player < 0:
                        if not follows:
                            continue
                        chance[below] = chance[level]
                        for t in range(count):
                            product[below, t] = product[level, t]
                        player_at[below] = -1
                    else:
                        both = weight[left[node]] + weight[right[node]]
                        part = weight[child] / both if both > 0.0 else 0.5
                        last = level
                        while last >= 0 and player_at[last] != player:
                            last -= 1
                        z = part * (z_at[last] if last >= 0 else 1.0)
                        o = (o_at[last] if last >= 0 else 1.0) if follows else 0.0
                        if z == 0.0 and o == 0.0:
                            continue  # no set of players leads there
                        above[below], player_at[below] = last, player
                        z_at[below], o_at[below] = z, o
                        chance[below] = chance[level] * part
                        for t in range(count):
                            factor[below, t] = z + q[t] * (o - z)
                            scaled[below, t] = share[t] / factor[below, t]
                            product[below, t] = product[level, t] * factor[below, t]
                        if last >= 0:
                            for t in range(count):
                                product[below, t] /= factor[last, t]
                    level = below
                    at[level], ways[level] = child, 0
                    sums[level, :, :count] = 0.0
                    continue
                # All leaves below are known.
                if level > 0:
                    player = player_at[level]
                    if player >= 0:
                        last = above[level]
                        change = o_at[level] - z_at[level]
                        for k in range(n_values):
                            total = 0.0
                            for t in range(count):
                                total += scaled[level, t] * sums[level, k, t]
                            total *= change
                            if last >= 0:
                                # They are no leaves of the player's edge above, which counts them, too.
                                before = 0.0
                                for t in range(count):
                                    before += scaled[last, t] * sums[level, k, t]
                                total -= before * (o_at[last] - z_at[last])
                            values[row, player, first_output + k] += total
                    for k in range(n_values):
                        for t in range(count):
                            sums[level - 1, k, t] += sums[level, k, t]
                level -= 1
