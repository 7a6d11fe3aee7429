"""The slow oracle of gradient boosting itself: examples worked out by hand, and scikit-learn's histogram boosting."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tests.naive.gradient_boosting import leaf_of, naive_fit, naive_scores

MISSING = 9


def fit(columns, y, weights=None, *, loss="squared_error", n_edges=None, **options):
    """Boost one round with a learning rate of 1, unless told otherwise, on columns given as bins."""
    if n_edges is None:
        n_edges = [max(b for b in column if b != MISSING) for column in columns]
    options = {"n_estimators": 1, "learning_rate": 1.0, "min_samples_leaf": 1} | options
    return naive_fit(np.array(columns), n_edges, MISSING, y, weights, loss=loss, **options)


def only_tree(result):
    [[tree]] = result["trees"]
    return tree.nodes


def splits(nodes):
    """(column, cut_bin, missing_left, left, right) of each inner node."""
    return [(n.column, n.cut_bin, n.missing_left, n.left, n.right) for n in nodes if n.column >= 0]


def test_squared_error_grows_best_first():
    # Mean 2, so g = 2, 2, -1, -3. Scores of the cuts: 4 + 4/3, 8 + 8, 3 + 9. Then the right leaf wins 1 + 9 - 8 = 2,
    # and the left one, of equal rows, nothing.
    result = fit([[0, 1, 2, 3]], [0, 0, 3, 5], learning_rate=0.5)
    nodes = only_tree(result)
    assert result["baseline"] == [2.0]
    assert splits(nodes) == [(0, 1, True, 1, 2), (0, 2, True, 3, 4)]
    assert [node.value for node in nodes] == [0.0, -1.0, 1.0, 0.5, 1.5]
    assert [node.gain for node in nodes] == [16.0, 0.0, 2.0, 0.0, 0.0]
    assert [node.weight for node in nodes] == [4, 2, 2, 1, 1]
    assert_allclose(result["scores"][:, 0], [1, 1, 2.5, 3.5])
    assert_allclose(result["losses"], [(4 + 4 + 1 + 9) / 4, (1 + 1 + 0.25 + 2.25) / 4])


def test_l2_min_samples_leaf_and_max_leaf_nodes():
    nodes = only_tree(fit([[0, 1, 2, 3]], [0, 0, 3, 5], l2=2, max_leaf_nodes=2))
    assert splits(nodes) == [(0, 1, True, 1, 2)]
    assert [node.value for node in nodes] == [0.0, -1.0, 1.0]  # 4 / (2 + 2)
    assert nodes[0].gain == 8.0  # 16/4 + 16/4
    nodes = only_tree(fit([[0, 1, 2, 3]], [0, 0, 3, 5], min_samples_leaf=2))
    assert splits(nodes) == [(0, 1, True, 1, 2)]
    nodes = only_tree(fit([[0, 1, 2, 3]], [1, 1, 4, 6], min_samples_leaf=3))
    assert splits(nodes) == []
    assert nodes[0].value == 0.0


def test_ties_go_to_the_first_column_cut_and_leaf():
    # Both columns separate the same rows; each of the two leaves can then be cut with the same gain.
    y = [0, 1, 10, 11]
    nodes = only_tree(fit([[1, 0, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]], y, max_leaf_nodes=3))
    assert splits(nodes) == [(0, 1, True, 1, 2), (0, 0, True, 3, 4)]
    assert [node.rows for node in nodes[3:]] == [[1], [0]]
    # g = 1, -1, -1, 1 around the mean: cutting off either end has the same score.
    nodes = only_tree(fit([[0, 1, 2, 3]], [0, 2, 2, 0], max_leaf_nodes=2))
    assert splits(nodes) == [(0, 0, False, 1, 2)]


def test_depth_is_limited():
    y = [4.0**i for i in range(16)]  # each time the largest is cut off, so that the tree is a chain
    nodes = only_tree(fit([range(9)], y[:9]))
    assert [node.depth for node in nodes] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8]
    nodes = only_tree(fit([range(16)], y, n_edges=[15], max_leaf_nodes=16))
    assert max(node.depth for node in nodes) == 10  # the larger of 10 and 2 * ceil(log2(16)) = 8
    assert len(nodes) == 21
    nodes = only_tree(fit([range(9)], y[:9], max_depth=3))
    assert len(nodes) == 7


def test_missing_values_learn_their_side():
    # Missing with the large values on the right, then with the small ones on the left, then on their own.
    assert splits(only_tree(fit([[0, 0, 1, 1, MISSING]], [0, 0, 6, 6, 6], max_leaf_nodes=2))) == [(0, 0, False, 1, 2)]
    assert splits(only_tree(fit([[0, 0, 1, 1, MISSING]], [0, 0, 6, 6, 0], max_leaf_nodes=2))) == [(0, 0, True, 1, 2)]
    assert splits(only_tree(fit([[0, 0, 1, 1, MISSING]], [0, 0, 0, 0, 9], max_leaf_nodes=2))) == [(0, 1, False, 1, 2)]
    # Where the leaf has none, they follow the heavier side, the left one on a tie.
    for y, side in (([0, 0, 0, 9], True), ([9, 0, 0, 0], False), ([0, 0, 9, 9], True)):
        result = fit([[0, 1, 2, 3]], y, max_leaf_nodes=2)
        assert only_tree(result)[0].missing_left == side
        values = naive_scores(result, [[0, 3, MISSING]])[:, 0]
        assert values[2] == values[0 if side else 1]


def test_weights_count_towards_the_size_of_a_leaf():
    # The first row alone weighs 4, the next three together as much.
    y, w = [0, 8, 8, 8], [4, 1, 1, 2]
    result = fit([[0, 1, 2, 3]], y, w, min_samples_leaf=4, max_leaf_nodes=2)
    nodes = only_tree(result)
    assert result["baseline"] == [4.0]
    assert splits(nodes) == [(0, 0, True, 1, 2)]
    assert [node.weight for node in nodes] == [8, 4, 4]
    assert [node.value for node in nodes] == [0, -4, 4]
    assert_allclose(nodes[0].gain, 16**2 / 4 + 16**2 / 4)
    assert splits(only_tree(fit([[0, 1, 2, 3]], y, w, min_samples_leaf=4.1))) == []
    equal = only_tree(fit([[0, 1, 2, 3]], y, [7, 7, 7, 7], min_samples_leaf=1))
    assert equal[0].weight == 28


def test_a_side_without_second_derivative_is_refused():
    # The second row has a weight of 1e-4, which is its h.
    assert splits(only_tree(fit([[0, 1]], [0, 1], [1, 1e-4], min_samples_leaf=0))) == []
    assert splits(only_tree(fit([[0, 1]], [0, 1], [1, 2e-3], min_samples_leaf=0))) == [(0, 0, True, 1, 2)]


def test_categories_are_sorted_by_their_gradients():
    # Mean 5: g = 3, 3 in category 0; -4, -4 in 1; 5 in 2; -3 in the missing values: g/(h + 10) = .5, -.67, .45, -.27.
    # In the order 1, missing, 2, 0 (g = -8, -3, 5, 6) the best cut is in the middle: (11² + 11²) / (3 + 10).
    y = [2, 2, 9, 9, 0, 8]
    result = fit([[0, 0, 1, 1, 2, MISSING]], y, categorical={0}, max_leaf_nodes=2, n_edges=[4])
    root, left, right = only_tree(result)
    assert (root.column, root.cut_bin, root.missing_left) == (0, -1, True)
    assert root.bins_left == {1, MISSING, 3, 4}  # 3 and 4, without rows, go with the heavier side, left on a tie
    assert_allclose(root.gain, 2 * 11**2 / 13)
    assert_allclose([left.value, right.value], [11 / 3, -11 / 3])  # values have no smoothing


def test_unseen_categories_follow_the_heavier_side():
    y = [0, 9, 9, 9]
    result = fit([[1, 0, 0, 2]], y, categorical={0}, max_leaf_nodes=2, n_edges=[3])
    root = only_tree(result)[0]
    assert root.bins_left == {0, 2, 3, MISSING}  # y is large: g is negative and comes first
    result = fit([[1, 0, 0, 2]], [9, 0, 0, 0], categorical={0}, max_leaf_nodes=2, n_edges=[3])
    assert only_tree(result)[0].bins_left == {1}
    assert not only_tree(result)[0].missing_left


def test_equal_categories_stay_in_their_order():
    # Categories 0 and 1 have the same sums, and so have 2 and 3: sorted 2, 3, 0, 1.
    nodes = only_tree(fit([[3, 2, 1, 0]], [1, 1, 0, 0], categorical={0}))
    assert nodes[0].bins_left == {2, 3, MISSING}


def test_a_monotonic_constraint_forbids_cuts_and_bounds_what_is_below():
    y = [3, 3, 0, 0]
    assert splits(only_tree(fit([[0, 1, 2, 3]], y, monotonic={0: 1}))) == []
    assert splits(only_tree(fit([[0, 1, 2, 3]], y, monotonic={0: -1}))) == [(0, 1, True, 1, 2)]
    # Mean 3. Column 0 separates y = 0, 5 (mean 2.5) from 0, 7 (3.5), the middle is 3, or 0 as a step; column 1, without
    # constraint, then separates 0 from 5: but on the left no value exceeds 0, nor falls below it on the right.
    columns = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1]]
    result = fit(columns, [0, 0, 6, 0, 0, 12], monotonic={0: 1}, max_leaf_nodes=4, min_samples_leaf=1)
    nodes = only_tree(result)
    assert splits(nodes)[0][:2] == (1, 0)  # the larger effect first
    result = fit(columns, [1, 1, 9, 5, 5, 13], monotonic={0: 1, 1: -1})
    assert splits(only_tree(result))[0][0] == 0  # column 1 goes against its constraint


def test_bounds_clip_values_and_scores():
    # Mean 0; g = -y. Column 0: y = -6, 2, -8 against 2, 6, 4 (sums -12, 12; score 96). Of column 1 only the left side
    # is cut here: -6, -8 against 2, whose value of 2 is clipped to the middle of -4 and 4.
    columns = [[0, 0, 0, 1, 1, 1], [0, 1, 0, 0, 0, 0]]
    nodes = only_tree(fit(columns, [-6, 2, -8, 2, 6, 4], monotonic={0: 1}, max_leaf_nodes=3))
    assert splits(nodes) == [(0, 0, True, 1, 2), (1, 0, True, 3, 4)]
    assert [node.value for node in nodes] == [0, -4, 4, -7, 0]
    # 14²/2 + 0 - 12²/3; unclipped it would be 4 more.
    assert_allclose([node.gain for node in nodes], [96, 50, 0, 0, 0])
    assert (nodes[3].lower, nodes[3].upper) == (-math.inf, 0.0)
    assert (nodes[2].lower, nodes[2].upper) == (0.0, math.inf)


def test_log_loss_of_two_classes():
    # Shares 1/4 and 3/4: F = ln 3, p = 3/4, h = 3/16; g = 3/4 for class 0, -1/4 for class 1.
    result = fit([[0, 1, 1, 1]], [0, 1, 1, 1], loss="log_loss")
    nodes = only_tree(result)
    assert_allclose(result["baseline"], [math.log(3)])
    assert splits(nodes) == [(0, 0, False, 1, 2)]
    assert_allclose([node.value for node in nodes], [0, -4, 4 / 3], atol=1e-9)
    assert_allclose(nodes[0].gain, (9 / 16) / (3 / 16) + (9 / 16) / (9 / 16))
    assert_allclose(result["losses"][0], -(math.log(0.25) + 3 * math.log(0.75)) / 4)


def test_log_loss_of_three_classes_has_three_trees_a_round():
    result = fit([[0, 0, 1, 2]], [0, 0, 1, 2], loss="log_loss", n_classes=3, n_estimators=2)
    assert_allclose(result["baseline"], np.log([0.5, 0.25, 0.25]))
    assert [[tree.output for tree in grown] for grown in result["trees"]] == [[0, 1, 2], [0, 1, 2]]
    # Class 1: p = 1/4 and g = 1/4, 1/4, -3/4, 1/4, h = 3/16. The first cut has 1/4 / (3/8) twice, the second
    # (1/16)/(9/16) and (1/16)/(3/16).
    nodes = result["trees"][0][1].nodes
    assert_allclose(nodes[0].gain, 2 * (1 / 4) / (3 / 8))
    assert splits(nodes) == [(0, 0, True, 1, 2), (0, 1, True, 3, 4)]
    assert_allclose([node.value for node in nodes[3:]], [4, -4 / 3])


def test_leaves_of_absolute_and_quantile_loss_are_quantiles():
    y = [1, 2, 3, 10, 20, 40, 80]
    result = fit([[0, 0, 0, 1, 1, 1, 1]], y, loss="absolute_error", learning_rate=0.5, max_leaf_nodes=2)
    nodes = only_tree(result)
    assert result["baseline"] == [10.0]
    # g = 1/2 three times, 0, -1/2 three times: the score of the cut is a quarter of 9/3 + 9/4; of -9, -8, -7 half of
    # the weight is at -8, of 0, 10, 30, 70 at 10.
    assert_allclose(nodes[0].gain, (3 + 9 / 4) / 4)
    assert [node.value for node in nodes[1:]] == [-4.0, 5.0]
    assert_allclose(result["losses"], [(9 + 8 + 7 + 0 + 10 + 30 + 70) / 7, (5 + 4 + 3 + 5 + 5 + 25 + 65) / 7])

    result = fit([[0, 0, 0, 1, 1, 1, 1]], y, loss="quantile", quantile=0.75, max_leaf_nodes=2)
    nodes = only_tree(result)
    assert result["baseline"] == [40.0]  # six of seven; five are less than three quarters
    # g = 1/4 five times, 0, -3/4.
    assert_allclose(nodes[0].gain, (3 / 4) ** 2 / 3 + (1 / 4) ** 2 / 4 - (1 / 2) ** 2 / 7)
    assert [node.value for node in nodes[1:]] == [-37.0, 0.0]  # third of three; third of four, of residual 40 - 40
    assert_allclose(result["losses"][0], (0.25 * (39 + 38 + 37 + 30 + 20) + 0.75 * 40) / 7)

    # With weights 1, 1, 4 half of the weight is only at the third.
    nodes = only_tree(fit([[0, 0, 0]], [1, 2, 3], [1, 1, 4], loss="absolute_error", n_edges=[0]))
    assert [node.value for node in nodes] == [0.0]


def test_a_tree_without_split_is_the_step_of_the_intercept():
    result = fit([[0, 0, 0]], [0, 0, 3], n_edges=[0], views=[[0]], trees="per_view")
    assert [node.value for node in only_tree(result)] == [0.0]
    # A view that the last row lacks: its intercept moves by the mean residual of the other two.
    result = fit([[0, 0, MISSING], [0, 0, 0]], [0, 0, 3], n_edges=[0, 0], views=[[0], [1]], trees="per_view")
    assert result["winners"] == [0]
    assert [node.value for node in only_tree(result)] == [-1.0]
    assert_allclose(result["scores"][:, 0], [0, 0, 1])


def test_views_compete_and_absent_rows_abstain():
    # Mean 4. View 0 lacks the last row: -4, -4, 4 by columns 0 and 1. View 1 sees all, but separates only rows 0 and 1.
    columns = [[0, 0, 1, MISSING], [1, 1, 1, MISSING], [0, 1, 1, 1]]
    y = [0, 0, 8, 8]
    result = fit(columns, y, views=[[1, 0], [2]], trees="per_view", learning_rate=0.5, n_estimators=2)
    first = result["trees"][0][0]
    assert result["winners"][0] == 0
    assert first.view == 0
    assert first.score == 16 + 16 + 16
    assert_allclose(naive_scores(result, columns, [[1, 1], [1, 1], [1, 1], [0, 1]]), result["scores"])
    # After it, g = 2, 2, -2, -4: view 0 has 4 + 4 + 4 once more; view 1 has 4 + 16/3 = 9.3.
    assert result["winners"][1] == 0
    assert_allclose(result["scores"][:, 0], [1, 1, 7, 4])
    # The same view twice: the first wins.
    result = fit(columns, y, views=[[2], [2]], trees="per_view")
    assert result["winners"] == [0]
    assert fit(columns, y, views=[[0, 1], [2]], trees="per_view", choose=lambda number: 1)["winners"] == [1]


def test_joint_trees_split_on_columns_of_any_view_only():
    columns = [[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 0, 1]]
    nodes = only_tree(fit(columns, [0, 1, 5, 6], views=[[2], [1]]))
    assert {node.column for node in nodes} == {-1, 1, 2}


def test_each_view_has_gradients_by_its_own_labels():
    columns = [[0, 0, 1, 1], [0, 1, 0, MISSING]]
    y, labels = [0, 0, 8, 8], [[0, 8], [0, 0], [8, 8], [8, 0]]
    options = {"views": [[0], [1]], "trees": "per_view", "view_labels": labels}
    result = fit(columns, y, choose=lambda number: 1, **options)
    # By the labels of view 1 g = -4, 4, -4 for its three rows.
    assert [node.value for node in only_tree(result)] == pytest.approx([4 / 3, 4.0, -4.0])
    assert_allclose(result["scores"][:, 0], [8, 0, 8, 4])
    # The seven pairs of a row and a view: before 16 each; after 64 and 0, twice 0, twice 0, and 16 for the last row.
    assert_allclose(result["losses"], [16, 80 / 7])
    assert fit(columns, y, **options)["winners"] == [0]


def random_data(seed, n_rows=60, n_columns=4, missing=False):
    """Values of which no two are equal, cut halfway between as scikit-learn does, and rows to predict.

    With missing values these are the training rows: where a leaf has none, scikit-learn sends later ones elsewhere.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    signal = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=n_rows)
    new = rng.normal(size=(300, n_columns))
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
        new = X
    edges = []
    for column in X.T:
        values = np.unique(column[~np.isnan(column)])
        edges.append((values[1:] + values[:-1]) / 2)

    def to_bins(table):
        bins = [np.where(np.isnan(x), 255, np.searchsorted(e, x)) for x, e in zip(table.T, edges)]
        return np.array(bins)

    return X, signal, new, to_bins, [len(e) for e in edges], rng


@pytest.mark.thinned(3)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_error_is_scikit_learns(missing, weighted):
    X, y, new, to_bins, n_edges, rng = random_data(3, missing=missing)
    weights = None
    if weighted:
        weights = rng.uniform(0.1, 1, len(y))
        weights[0] = 1.0
    # scikit-learn counts rows in a leaf, here weight counts: so with weights any leaf may be.
    theirs = HistGradientBoostingRegressor(
        max_iter=3, learning_rate=0.3, max_leaf_nodes=8, min_samples_leaf=1 if weighted else 5, l2_regularization=0.5,
        early_stopping=False,
    ).fit(X, y, weights)  # fmt: skip
    ours = naive_fit(
        to_bins(X), n_edges, 255, y, weights, loss="squared_error", n_estimators=3, learning_rate=0.3,
        max_leaf_nodes=8, min_samples_leaf=0 if weighted else 5, l2=0.5,
    )  # fmt: skip
    assert_allclose(ours["scores"][:, 0], theirs.predict(X), atol=1e-6)
    for number, expected in enumerate(theirs.staged_predict(new), start=1):
        stage = ours | {"trees": ours["trees"][:number]}
        assert_allclose(naive_scores(stage, to_bins(new))[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_loss_is_scikit_learns(n_classes):
    X, signal, new, to_bins, n_edges, _ = random_data(7, missing=True)
    y = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)
    theirs = HistGradientBoostingClassifier(
        max_iter=2, learning_rate=0.3, max_leaf_nodes=6, min_samples_leaf=5, l2_regularization=1, early_stopping=False
    ).fit(X, y)
    ours = naive_fit(
        to_bins(X), n_edges, 255, y, loss="log_loss", n_classes=n_classes, n_estimators=2, learning_rate=0.3,
        max_leaf_nodes=6, min_samples_leaf=5, l2=1,
    )  # fmt: skip
    scores = naive_scores(ours, to_bins(new))
    if n_classes == 2:
        assert_allclose(scores[:, 0], theirs.decision_function(new), atol=1e-6)
    else:
        expected = theirs.decision_function(new)  # differs by a constant, which the softmax does not see
        assert_allclose(scores - scores[:, :1], expected - expected[:, :1], atol=2e-6)


def test_monotonic_stumps_are_scikit_learns():
    """Of two leaves, because what scikit-learn gains where a bound clips a value is defined otherwise."""
    X, y, new, to_bins, n_edges, _ = random_data(11)
    options = {"learning_rate": 0.5, "max_leaf_nodes": 2, "min_samples_leaf": 5}
    theirs = HistGradientBoostingRegressor(
        max_iter=6, monotonic_cst=[-1, 1, 0, 0], early_stopping=False, **options
    ).fit(X, y)
    ours = naive_fit(
        to_bins(X), n_edges, 255, y, loss="squared_error", n_estimators=6, monotonic={0: -1, 1: 1}, **options
    )
    assert_allclose(naive_scores(ours, to_bins(new))[:, 0], theirs.predict(new), atol=1e-6)


@pytest.mark.parametrize("sign", [-1, 1])
def test_predictions_follow_a_monotonic_constraint(sign):
    X, y, new, to_bins, n_edges, _ = random_data(13)
    result = naive_fit(
        to_bins(X), n_edges, 255, y, loss="squared_error", n_estimators=2, learning_rate=0.5, max_leaf_nodes=12,
        min_samples_leaf=3, monotonic={2: sign},
    )  # fmt: skip
    for row in to_bins(new).T[:20]:
        along = np.repeat(row[:, None], n_edges[2] + 1, axis=1)
        along[2] = np.arange(n_edges[2] + 1)
        steps = sign * np.diff(naive_scores(result, along)[:, 0])
        assert steps.min() >= -1e-12
    used = [node.column for grown in result["trees"] for node in grown[0].nodes]
    assert 2 in used


def test_rows_of_a_leaf_are_those_that_come_to_it():
    X, y, _, to_bins, n_edges, _ = random_data(17, missing=True)
    result = naive_fit(to_bins(X), n_edges, 255, y, loss="squared_error", n_estimators=1, min_samples_leaf=5)
    [[tree]] = result["trees"]
    for i in range(len(y)):
        assert i in leaf_of(tree, to_bins(X), i).rows
