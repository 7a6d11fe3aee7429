"""Gradient boosting of histogram trees, with gradients that all views share.

Everything starts from bins: ``bins[j][i]`` is the bin of row i in column j, ``0 .. n_edges[j]``, or ``missing_bin``.
Gradients g, second derivatives h and weights w are whole numbers (Python's, of any size) times a unit, so that every
sum here is exact and its order does not matter. A split is the set of bins that go left; a tree is a list of nodes.
"""

import math
from dataclasses import dataclass, field

import numpy as np

CATEGORY_SMOOTHING = 10.0  # added to h where categories are sorted, and to l2 in the score of their splits
LEAST_HESSIAN = 1e-3  # a side of a split has at least this h
LEAST_GAIN = 1e-12  # relative to the score of the two sides


@dataclass
class Rules:
    """What is the same for all trees of a run."""

    n_edges: list
    missing_bin: int
    learning_rate: float
    max_leaf_nodes: int
    max_depth: int
    min_samples_leaf: float
    l2: float
    categorical: set
    monotonic: dict  # column -> +1 or -1
    unit_w: float
    tie: float  # scores and gains that differ by no more than this share are equal: the first one wins


@dataclass(slots=True)
class Sums:
    """Whole sums of g, h and w over some rows."""

    G: int = 0
    H: int = 0
    W: int = 0

    def __add__(self, other):
        return Sums(self.G + other.G, self.H + other.H, self.W + other.W)


@dataclass
class Split:
    """A candidate: the bins of a column that go left; ``cut_bin`` is -1 for a set of categories."""

    column: int
    cut_bin: int
    bins_left: set
    score: float  # of both sides
    gain: float
    values: tuple  # of both sides, within the leaf's bounds, without the learning rate


@dataclass
class Node:
    """A leaf, or with ``column`` >= 0 an inner node; ``left`` and ``right`` are numbers of nodes of the same tree."""

    rows: list
    depth: int
    sums: Sums
    lower: float
    upper: float
    value: float = 0.0  # with the learning rate
    weight: float = 0.0
    column: int = -1
    cut_bin: int = -1
    missing_left: bool = False
    bins_left: set = field(default_factory=set)  # of all bins of the column, with the missing one
    left: int = -1
    right: int = -1
    gain: float = 0.0
    best: Split | None = None  # the split that this leaf may have


@dataclass
class Tree:
    """The nodes of a tree: the root, then the left and right child of each split in the order of the splits."""

    nodes: list
    output: int
    view: int
    score: float  # sum of the leaves' scores: twice the decrease of the second-order loss


def naive_fit(
    bins,
    n_edges,
    missing_bin,
    y,
    weights=None,
    *,
    loss,
    n_classes=2,
    quantile=0.5,
    n_estimators=5,
    learning_rate=0.1,
    max_leaf_nodes=31,
    max_depth=None,
    min_samples_leaf=20,
    l2=0.0,
    categorical=(),
    monotonic=None,
    views=None,
    presence=None,
    trees="joint",
    view_labels=None,
    choose=None,
    units=(2.0**-40, 2.0**-40),
    tie=1e-10,
    loss_limit=math.inf,
):
    """Boost trees and return what every round did.

    Parameters
    ----------
    bins : (n_columns, n_rows) whole numbers
    y : class codes for ``loss="log_loss"``, else numbers
    weights : non-negative, or None: 1 each; a row of weight 2 is a row that is there twice
    loss : "log_loss", "squared_error", "absolute_error" or "quantile"
    monotonic : dict of column -> +1 or -1
    views : list of lists of columns; None is one view of all
    presence : (n_rows, n_views) booleans; None: a view is absent where all of its columns are missing
    trees : "joint" or "per_view"
    view_labels : (n_rows, n_views), the labels by which each view's gradients are computed; None is y for all
    choose : for per_view trees, None: the view of the largest score; or a function round -> view
    units : (unit_g, unit_h), or a function (round, g, h) -> (unit_g, unit_h) of the (n_rows, n_outputs) gradients
    tie : share of a score or gain up to which another one that is larger is no better than an earlier one
    loss_limit : a row's loss counts as no more than this in ``losses``

    Returns
    -------
    dict with ``baseline`` (a list over the outputs), ``trees`` (one list a round), ``winners`` (a view a round, -1 for
    joint trees), ``scores`` ((n_rows, n_outputs), after the last round), ``losses`` (mean loss, before the first round
    and after each) and ``missing_bin``.
    """
    n_columns, n_rows = len(bins), len(bins[0])
    bins = np.asarray(bins).tolist()  # Python's own numbers from here on
    y = np.asarray(y).tolist()
    views = [list(range(n_columns))] if views is None else [list(columns) for columns in views]
    if presence is None:
        presence = presence_of(bins, missing_bin, views)
    labels = [y] * len(views) if view_labels is None else np.asarray(view_labels).T.tolist()
    weights = [1.0] * n_rows if weights is None else [float(v) for v in weights]
    w, w_int, unit_w = weights_given(weights)
    counted = [i for i in range(n_rows) if w_int[i] > 0]  # rows without weight are as if they were not there
    rules = Rules(
        n_edges=[int(m) for m in n_edges],
        missing_bin=int(missing_bin),
        learning_rate=learning_rate,
        max_leaf_nodes=max_leaf_nodes,
        max_depth=max(10, 2 * math.ceil(math.log2(max_leaf_nodes))) if max_depth is None else max_depth,
        min_samples_leaf=min_samples_leaf,
        l2=l2,
        categorical=set(categorical),
        monotonic={column: sign for column, sign in (monotonic or {}).items() if sign},
        unit_w=unit_w,
        tie=tie,
    )
    q = 0.5 if loss == "absolute_error" else quantile

    own_labels = view_labels is not None
    baseline = baseline_of(loss, [y] if not own_labels else labels, w_int, presence, n_classes, q)
    scores = [list(baseline) for _ in range(n_rows)]
    result = {"baseline": baseline, "trees": [], "winners": [], "missing_bin": missing_bin}
    result["losses"] = [mean_loss(loss, scores, labels, w_int, presence, own_labels, q, loss_limit)]
    for number in range(n_estimators):

        def grow_round(view, columns, rows, labels_of_view, number=number):
            """Return one tree for each output, all from the scores at the start of the round."""
            g, h = gradients(loss, scores, labels_of_view, w, q)
            unit_g, unit_h = units(number, g, h) if callable(units) else units
            grown = []
            for k in range(len(baseline)):
                # round() takes halves to the even number, as rint does; h is rounded up.
                whole = [Sums(round(g[i][k] / unit_g), math.ceil(h[i][k] / unit_h), w_int[i]) for i in range(n_rows)]
                tree = grow_tree(bins, whole, rows, columns, rules, unit_g, unit_h, output=k, view=view)
                if loss in ("absolute_error", "quantile"):
                    set_quantiles(tree, labels_of_view, scores, w_int, q, learning_rate, rules)
                grown.append(tree)
            return grown

        if trees == "joint":
            columns = sorted({column for view in views for column in view})
            winner, grown = -1, grow_round(-1, columns, counted, y)
        else:
            tried = {}
            for v in range(len(views)) if choose is None else [choose(number)]:
                present = [i for i in counted if presence[i][v]]
                tried[v] = grow_round(v, views[v], present, labels[v])
            totals = [sum(tree.score for tree in grown) for grown in tried.values()]
            winner = list(tried)[first_of_largest(totals, tie)]
            grown = tried[winner]
        for i in range(n_rows):
            if trees == "joint" or presence[i][winner]:
                for tree in grown:
                    scores[i][tree.output] += leaf_of(tree, bins, i).value
        result["trees"].append(grown)
        result["winners"].append(winner)
        result["losses"].append(mean_loss(loss, scores, labels, w_int, presence, own_labels, q, loss_limit))
    result["scores"] = np.array(scores)
    return result


def naive_scores(result, bins, presence=None):
    """The raw scores (n_rows, n_outputs) of rows given as bins: baseline, plus the trees in their order.

    A bin that no training row had (an unknown category) counts as missing: write ``missing_bin`` for it.
    """
    n_rows = len(bins[0])
    scores = np.array([result["baseline"]] * n_rows)
    for grown in result["trees"]:
        for tree in grown:
            for i in range(n_rows):
                if tree.view == -1 or presence is None or presence[i][tree.view]:
                    scores[i, tree.output] += leaf_of(tree, bins, i).value
    return scores


# Weights, losses and gradients


def presence_of(bins, missing_bin, views):
    """(n_rows, n_views): whether some column of the view is not missing in the row."""
    return [[any(bins[j][i] != missing_bin for j in columns) for columns in views] for i in range(len(bins[0]))]


def weights_given(weights):
    """The weights; whole numbers in their place, 1 where all are equal, else of 30 bits; and the unit of these."""
    largest = max(weights)
    if all(v in (0, largest) for v in weights):
        return weights, [int(v > 0) for v in weights], largest
    unit = 2.0 ** (math.ceil(math.log2(largest)) - 30)
    return weights, [round(v / unit) for v in weights], unit


def first_of_largest(values, tie):
    """The place of the first value that no other exceeds by more than a share of it."""
    largest = max(values)
    return next(place for place, value in enumerate(values) if value >= largest - tie * abs(largest))


def whole_quantile(values, w_int, q):
    """The smallest of the values such that the weight of values up to it is at least q times the whole weight."""
    total = sum(w_int)
    for value in sorted(values):
        if sum(w for v, w in zip(values, w_int) if v <= value) >= q * total:
            return value
    raise ValueError("no value has a weight")


def baseline_of(loss, labels, w_int, presence, n_classes, q):
    """The raw scores before the first tree, one for each output, from the labels of all rows, or those of all views."""
    if loss == "log_loss":
        of_class = [0] * n_classes
        for v, of_view in enumerate(labels):
            for i, label in enumerate(of_view):
                if len(labels) == 1 or presence[i][v]:
                    of_class[label] += w_int[i]
        shares = [weight / sum(of_class) for weight in of_class]
        return [math.log(shares[1] / shares[0])] if n_classes == 2 else [math.log(share) for share in shares]
    y = [float(v) for v in labels[0]]
    if loss == "squared_error":
        return [math.fsum(w * v for w, v in zip(w_int, y)) / sum(w_int)]
    return [whole_quantile(y, w_int, q)]


def probabilities(scores_of_row):
    """The class probabilities of one row: logistic of one raw score, softmax of several."""
    if len(scores_of_row) == 1:
        p = 1 / (1 + math.exp(-scores_of_row[0]))
        return [1 - p, p]
    largest = max(scores_of_row)
    exponentials = [math.exp(score - largest) for score in scores_of_row]
    return [e / math.fsum(exponentials) for e in exponentials]


def gradients(loss, scores, y, w, q):
    """Two lists of shape (n_rows, n_outputs): first and second derivatives of the loss by the raw scores."""
    g, h = [], []
    for row, label, weight in zip(scores, y, w):
        F = row[0]
        if loss == "log_loss" and len(row) == 1:
            p = probabilities(row)[1]
            g.append([weight * (p - label)])
            h.append([weight * p * (1 - p)])
        elif loss == "log_loss":
            p = probabilities(row)
            g.append([weight * (p[k] - (label == k)) for k in range(len(row))])
            h.append([weight * p[k] * (1 - p[k]) for k in range(len(row))])
        elif loss == "squared_error":
            g.append([weight * (F - label)])
            h.append([weight])
        else:  # the absolute error is twice the loss of the median
            g.append([weight * (1 - q) if label < F else -weight * q if label > F else 0.0])
            h.append([weight])
    return g, h


def row_loss(loss, scores_of_row, label, q):
    """The loss of one row."""
    if loss == "log_loss":
        scores = scores_of_row if len(scores_of_row) > 1 else [0.0, scores_of_row[0]]
        largest = max(scores)
        return math.log(math.fsum(math.exp(score - largest) for score in scores)) + largest - scores[label]
    residual = float(label) - scores_of_row[0]
    if loss == "squared_error":
        return residual**2
    if loss == "absolute_error":
        return abs(residual)
    return q * residual if residual > 0 else (q - 1) * residual


def mean_loss(loss, scores, labels, w_int, presence, own_labels, q, loss_limit):
    """The weighted mean loss of the rows; with own labels of the views, of all pairs of a row and a view it has."""
    total, weight = [], 0
    for i, row in enumerate(scores):
        of_views = labels[:1] if not own_labels else [labels[v] for v in range(len(labels)) if presence[i][v]]
        for of_view in of_views:
            total.append(w_int[i] * min(row_loss(loss, row, of_view[i], q), loss_limit))
            weight += w_int[i]
    return math.fsum(total) / weight


# Trees


def grow_tree(bins, whole, rows, columns, rules, unit_g, unit_h, *, output=0, view=-1):
    """Grow a tree on some rows, best split first; ``whole`` are the Sums of each row of the data."""

    def made(rows, depth, lower, upper):
        sums = sum((whole[i] for i in rows), Sums())
        node = Node(rows, depth, sums, lower, upper)
        node.value = rules.learning_rate * step(sums, lower, upper, rules.l2, unit_g, unit_h)
        node.weight = sums.W * rules.unit_w
        if depth < rules.max_depth:
            node.best = best_split(bins, whole, node, columns, rules, unit_g, unit_h)
        return node

    nodes = [made(rows, 0, -math.inf, math.inf)]
    for _ in range(rules.max_leaf_nodes - 1):
        splittable = [number for number, node in enumerate(nodes) if node.column == -1 and node.best is not None]
        if not splittable:
            break
        node = nodes[splittable[first_of_largest([nodes[number].best.gain for number in splittable], rules.tie)]]
        split = node.best
        node.column, node.cut_bin, node.gain = split.column, split.cut_bin, split.gain
        node.bins_left = with_unseen_bins(bins, whole, node, split, rules)
        node.missing_left = rules.missing_bin in node.bins_left
        left_bounds, right_bounds = child_bounds(node, split, rules)
        of_column = bins[node.column]
        node.left, node.right = len(nodes), len(nodes) + 1
        nodes.append(made([i for i in node.rows if of_column[i] in node.bins_left], node.depth + 1, *left_bounds))
        nodes.append(made([i for i in node.rows if of_column[i] not in node.bins_left], node.depth + 1, *right_bounds))
    total = 0.0
    for node in nodes:
        if node.column == -1:
            total += score(node.sums, node.lower, node.upper, rules.l2, unit_g, unit_h)
    return Tree(nodes, output, view, total)


def step(sums, lower, upper, l2, unit_g, unit_h):
    """The Newton step -g / (h + l2), within the bounds; 0 where there is nothing to divide by."""
    g, h = sums.G * unit_g, sums.H * unit_h
    return min(max(-g / (h + l2) if h + l2 > 0 else 0.0, lower), upper)


def score(sums, lower, upper, l2, unit_g, unit_h):
    """Twice the decrease of the second-order loss by the step; without bounds g² / (h + l2)."""
    g, h = sums.G * unit_g, sums.H * unit_h
    v = step(sums, lower, upper, l2, unit_g, unit_h)
    return -v * (2 * g + (h + l2) * v)


def sums_of_bins(bins, whole, rows, column):
    """A dict of bin -> Sums of the rows in it."""
    sums = {}
    for i in rows:
        b = bins[column][i]
        sums[b] = sums.get(b, Sums()) + whole[i]
    return sums


def candidates(column, sums, rules, unit_g, unit_h):
    """The (cut_bin, bins that go left) to try in a column, in the order that decides ties."""
    if column in rules.categorical:
        seen = [b for b in sorted(sums) if sums[b].W > 0]
        seen.sort(key=lambda b: (sums[b].G * unit_g / (sums[b].H * unit_h + CATEGORY_SMOOTHING), b))
        return [(-1, set(seen[:n_left])) for n_left in range(1, len(seen))]
    m = rules.n_edges[column] + 1
    missing = rules.missing_bin in sums and sums[rules.missing_bin].W > 0
    found = [(cut, set(range(cut + 1))) for cut in range(m if missing else m - 1)]
    if missing:
        found += [(cut, {*range(cut + 1), rules.missing_bin}) for cut in range(m - 1)]
    return found


def best_split(bins, whole, leaf, columns, rules, unit_g, unit_h):
    """The first admissible split of the largest score, or None if the leaf must stay one."""
    splits = admissible_splits(bins, whole, leaf, columns, rules, unit_g, unit_h)
    if not splits:
        return None
    best = splits[first_of_largest([split.score for split in splits], rules.tie)]
    return best if best.gain > LEAST_GAIN * abs(best.score) else None


def admissible_splits(bins, whole, leaf, columns, rules, unit_g, unit_h):
    """All splits that a leaf may have, with their scores, in the order in which they are tried."""
    bounds = leaf.lower, leaf.upper
    found = []
    for column in columns:
        sums = sums_of_bins(bins, whole, leaf.rows, column)
        l2 = rules.l2 + (CATEGORY_SMOOTHING if column in rules.categorical else 0.0)
        sign = 0 if column in rules.categorical else rules.monotonic.get(column, 0)
        for cut_bin, bins_left in candidates(column, sums, rules, unit_g, unit_h):
            left = sum((sums[b] for b in sums if b in bins_left), Sums())
            right = sum((sums[b] for b in sums if b not in bins_left), Sums())
            if min(left.W, right.W) * rules.unit_w < rules.min_samples_leaf:
                continue
            if min(left.H, right.H) * unit_h < LEAST_HESSIAN:
                continue
            values = tuple(step(side, *bounds, l2, unit_g, unit_h) for side in (left, right))
            if sign * (values[1] - values[0]) < 0:
                continue
            both = score(left, *bounds, l2, unit_g, unit_h) + score(right, *bounds, l2, unit_g, unit_h)
            gain = both - score(leaf.sums, *bounds, rules.l2, unit_g, unit_h)
            found.append(Split(column, cut_bin, bins_left, both, gain, values))
    return found


def with_unseen_bins(bins, whole, leaf, split, rules):
    """The bins that go left, where those the leaf has no weight in go with the heavier side, left on a tie.

    A number needs this for missing values only: its other bins are to the left or the right of the cut anyway.
    """
    sums = sums_of_bins(bins, whole, leaf.rows, split.column)
    left_weight = sum(s.W for b, s in sums.items() if b in split.bins_left)
    if left_weight < leaf.sums.W - left_weight:
        return set(split.bins_left)
    unseen = {rules.missing_bin}
    if split.column in rules.categorical:
        unseen |= set(range(rules.n_edges[split.column] + 1))
    return split.bins_left | {b for b in unseen if b not in sums or sums[b].W == 0}


def child_bounds(node, split, rules):
    """The bounds (lower, upper) of the left and of the right child's values."""
    lower, upper = node.lower, node.upper
    sign = 0 if node.column in rules.categorical else rules.monotonic.get(node.column, 0)
    middle = (split.values[0] + split.values[1]) / 2
    if sign == 1:
        return (lower, middle), (middle, upper)
    if sign == -1:
        return (middle, upper), (lower, middle)
    return (lower, upper), (lower, upper)


def set_quantiles(tree, y, scores, w_int, q, learning_rate, rules):
    """Absolute and quantile loss: a leaf's value is the q-quantile of its rows' residuals.

    Below a split on a column with a monotonic constraint it stays on its side of the middle between the quantiles of
    the two children.
    """
    quantiles = []
    for node in tree.nodes:
        residuals = [float(y[i]) - scores[i][tree.output] for i in node.rows]
        quantiles.append(whole_quantile(residuals, [w_int[i] for i in node.rows], q) if node.sums.W > 0 else 0.0)

    def settle(number, lower, upper):
        """Set the values of the leaves below a node."""
        node = tree.nodes[number]
        if node.column == -1:
            node.value = learning_rate * min(max(quantiles[number], lower), upper)
            return
        sides = [min(max(quantiles[child], lower), upper) for child in (node.left, node.right)]
        middle = (sides[0] + sides[1]) / 2
        sign = 0 if node.column in rules.categorical else rules.monotonic.get(node.column, 0)
        settle(node.left, *{0: (lower, upper), 1: (lower, middle), -1: (middle, upper)}[sign])
        settle(node.right, *{0: (lower, upper), 1: (middle, upper), -1: (lower, middle)}[sign])

    if rules.monotonic:
        settle(0, -math.inf, math.inf)
    else:
        for node, value in zip(tree.nodes, quantiles):
            if node.column == -1:
                node.value = learning_rate * value


def leaf_of(tree, bins, i):
    """The leaf that row i of the bins comes to."""
    node = tree.nodes[0]
    while node.column != -1:
        node = tree.nodes[node.left if int(bins[node.column][i]) in node.bins_left else node.right]
    return node
