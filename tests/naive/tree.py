"""Decision trees and stumps under row weights; with its defaults S3 section 4's weakened C4.5.

S3 makes C4.5 a weak learner by letting "each node tolerate a certain degree of impurity, which is 20% of the
training set size": a node is not split once its minority weight is at most that share of the whole weight.
"""

import itertools
import math

import numpy as np
from scipy.stats import norm

TIE = 1e-12  # values closer than this are equal; of equal candidates the first one wins


def fit_tree(X, y, w, n_classes, max_depth=None, criterion="gain_ratio", impurity_tolerance=0.2, confidence=None):
    """Grow a tree and return the hypothesis ``h(X) -> codes``, with the tree itself as ``h.root``.

    ``criterion`` is ``"error"``, ``"gini"``, ``"entropy"`` or ``"gain_ratio"``. A node is a dict with
    ``feature, threshold, missing_left, left, right``, or with ``leaf`` (a class code) alone. With ``confidence`` the
    tree is pruned as in C4.5.
    """
    grown = _fit(X, y, w, n_classes, max_depth, criterion, impurity_tolerance, split_without_gain=False)
    if confidence is None:
        return grown
    X, n = np.asarray(X, dtype=float), len(y)
    total = math.fsum(w)
    counts = [n * float(v) / total for v in w]  # the weights of n rows, with mean 1
    root, _ = prune(grown.root, X, y, counts, range(n), n_classes, confidence)

    def predict(X):
        return np.array([predict_one(root, x) for x in np.asarray(X, dtype=float)], dtype=int)

    predict.root = root
    return predict


def prune(node, X, y, counts, rows, n_classes, confidence):
    """The node, pruned, and its expected errors: a leaf where that errs, as C4.5 expects, at most 0.1 more."""
    of_classes = [math.fsum(counts[i] for i in rows if y[i] == k) for k in range(n_classes)]
    N, errors = math.fsum(of_classes), minority_weight(of_classes)
    as_leaf = errors + added_errors(N, errors, confidence)
    leaf = {"leaf": majority_class([weight / len(y) for weight in of_classes])}
    if "leaf" in node:
        return leaf, as_leaf
    left, right = divide(X, rows, (node["feature"], node["threshold"], node["missing_left"]))
    left_node, left_errors = prune(node["left"], X, y, counts, left, n_classes, confidence)
    right_node, right_errors = prune(node["right"], X, y, counts, right, n_classes, confidence)
    if as_leaf <= left_errors + right_errors + 0.1:
        return leaf, as_leaf
    return {**node, "left": left_node, "right": right_node}, left_errors + right_errors


def added_errors(N, e, confidence):
    """Quinlan's AddErrs: the upper limit of the errors of N cases, e of them seen, less e."""
    if N <= 0:
        return 0.0
    if e < 1e-6:
        return N * (1 - math.exp(math.log(confidence) / N))
    if e < 0.9999:
        none = N * (1 - math.exp(math.log(confidence) / N))
        return none + e * (added_errors(N, 1.0, confidence) - none)
    if e + 0.5 >= N:
        return 0.67 * (N - e)
    coefficient = norm.isf(confidence) ** 2
    root = math.sqrt(coefficient * ((e + 0.5) * (1 - (e + 0.5) / N) + coefficient / 4))
    return N * (e + 0.5 + coefficient / 2 + root) / (N + coefficient) - e


def fit_stump(X, y, w, n_classes, criterion="error"):
    """A tree of depth one that tolerates no impurity; by ``"error"`` it splits even where nothing is won."""
    return _fit(X, y, w, n_classes, 1, criterion, 0.0, split_without_gain=criterion == "error")


def _fit(X, y, w, n_classes, max_depth, criterion, impurity_tolerance, split_without_gain):
    X = np.asarray(X, dtype=float)
    total = math.fsum(w)
    w = [float(v) / total for v in w]
    thresholds = [midpoints(X[:, j]) for j in range(X.shape[1])]  # of all rows, those of zero weight too

    def class_weights(rows):
        return [math.fsum(w[i] for i in rows if y[i] == k) for k in range(n_classes)]

    def grow(rows, depth):
        parent = class_weights(rows)
        leaf = {"leaf": majority_class(parent)}
        if depth == max_depth or minority_weight(parent) <= impurity_tolerance + TIE:
            return leaf
        splits = []
        for candidate in candidates(X, rows, thresholds):
            left, right = divide(X, rows, candidate)
            if left and right:
                splits.append((candidate, class_weights(left), class_weights(right)))
        best = choose_split(splits, parent, criterion, split_without_gain)
        if best is None:
            return leaf
        (feature, threshold, missing_left), left_weights, right_weights = best
        left, right = divide(X, rows, (feature, threshold, missing_left))
        if missing_left is None:  # no NaN here at fit: later ones follow the heavier side
            missing_left = sum(left_weights) >= sum(right_weights) - TIE
        return {
            "feature": feature,
            "threshold": threshold,
            "missing_left": missing_left,
            "left": grow(left, depth + 1),
            "right": grow(right, depth + 1),
        }

    root = grow([i for i in range(len(y)) if w[i] > 0], 0)

    def predict(X):
        return np.array([predict_one(root, x) for x in np.asarray(X, dtype=float)], dtype=int)

    predict.root = root
    return predict


def midpoints(column):
    """The midpoints of consecutive distinct values of a column, NaN left out, ascending."""
    values = sorted({float(v) for v in column if not math.isnan(v)})
    middles = []
    for below, above in itertools.pairwise(values):
        middle = (below + above) / 2
        middles.append(middle if middle < above else below)  # neighbouring floats: stay below the upper one
    return middles


def candidates(X, rows, thresholds):
    """Every (feature, threshold, missing_left) to try, in the order that decides ties.

    ``missing_left`` is None where no row of the node lacks the feature. Where some do, they are tried on the
    right, then on the left, and last apart from all the others (threshold +inf).
    """
    found = []
    for feature in range(X.shape[1]):
        has_missing = any(math.isnan(X[i, feature]) for i in rows)
        for threshold in thresholds[feature]:
            for missing_left in (False, True) if has_missing else (None,):
                found.append((feature, threshold, missing_left))
        if has_missing:
            found.append((feature, math.inf, False))
    return found


def divide(X, rows, candidate):
    """The rows that go left (x <= threshold, or NaN with ``missing_left``) and those that go right."""
    feature, threshold, missing_left = candidate
    left, right = [], []
    for i in rows:
        x = X[i, feature]
        goes_left = missing_left if math.isnan(x) else x <= threshold
        (left if goes_left else right).append(i)
    return left, right


def choose_split(splits, parent, criterion, split_without_gain):
    """The best of the ``(candidate, left class weights, right class weights)``, or None: make a leaf."""
    if criterion == "gain_ratio":
        return choose_by_gain_ratio(splits, parent)
    gains = [gain(parent, left, right, criterion) for _, left, right in splits]
    if not gains or (max(gains) <= TIE and not split_without_gain):
        return None
    return splits[first_of_the_best(gains)]


def choose_by_gain_ratio(splits, parent):
    """C4.5: each feature's split of the largest information gain; then, among the features whose gain is at
    least the average of the positive gains, the one of the largest gain / split information.
    """
    best_of_feature = []  # (best gain, ratio of its split, its split)
    for feature in sorted({candidate[0] for candidate, _, _ in splits}):
        own = [split for split in splits if split[0][0] == feature]
        gains = [gain(parent, left, right, "entropy") / sum(parent) for _, left, right in own]
        b = first_of_the_best(gains)
        _, left, right = own[b]
        split_information = entropy([sum(left), sum(right)])
        best_of_feature.append((max(gains), gains[b] / split_information, own[b]))
    positive = [best for best, _, _ in best_of_feature if best > TIE]
    if not positive:
        return None
    average = math.fsum(positive) / len(positive)
    eligible = [(ratio, split) for best, ratio, split in best_of_feature if best >= average - TIE]
    return eligible[first_of_the_best([ratio for ratio, _ in eligible])][1]


def first_of_the_best(values):
    """The lowest index whose value is within ``TIE`` of the largest."""
    return next(i for i, v in enumerate(values) if v >= max(values) - TIE)


def gain(parent, left, right, criterion):
    """How much the split lowers (node weight x impurity); each argument is a list of class weights."""
    impurity = {"error": minority_weight, "gini": weighted_gini, "entropy": weighted_entropy}[criterion]
    return impurity(parent) - impurity(left) - impurity(right)


def minority_weight(weights):
    """The weight of the rows that are not of the majority class."""
    return math.fsum(weights) - max(weights)


def weighted_gini(weights):
    """Node weight x (1 - sum of p^2)."""
    total = math.fsum(weights)
    return total * (1 - math.fsum((v / total) ** 2 for v in weights))


def weighted_entropy(weights):
    """Node weight x entropy in bits."""
    return math.fsum(weights) * entropy(weights)


def entropy(weights):
    """Entropy in bits of the shares that the weights have of their sum."""
    total = math.fsum(weights)
    return -math.fsum(v / total * math.log2(v / total) for v in weights if v > 0)


def majority_class(weights):
    """The lowest class code whose weight is within ``TIE`` of the largest."""
    return first_of_the_best(weights)


def predict_one(node, x):
    """Walk from the root to a leaf; a NaN follows ``missing_left``."""
    while "leaf" not in node:
        value = x[node["feature"]]
        goes_left = node["missing_left"] if math.isnan(value) else value <= node["threshold"]
        node = node["left"] if goes_left else node["right"]
    return node["leaf"]
