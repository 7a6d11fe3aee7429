"""The estimators equal the slow loops of `tests.naive.gradient_boosting`, node by node, on small input full of ties."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.boosting.gradient.growth import HistogramLeaves
from fuselearn.boosting.gradient.local_gradient_rows import LocalGradientRows
from fuselearn.boosting.gradient.losses import log_loss, regression_loss
from tests.naive.gradient_boosting import naive_fit, naive_scores, presence_of
from tests.naive.tree import midpoints

N_CLASSES = {"two_classes": 2, "three_classes": 3}
QUANTILE = {"absolute_error": 0.5, "quantile": 0.8}
LOSS_LIMIT = 2.0**20
"""Largest log loss of a row that counts."""


class Problem:
    """A random table of few distinct values, its views and its targets, for the estimators and for the oracle."""

    def __init__(
        self,
        seed,
        task="two_classes",
        *,
        trees="joint",
        missing=False,
        weighted=False,
        categories=False,
        monotonic=False,
        own_labels=False,
        n_rows=None,
    ):
        rng = np.random.default_rng(seed)
        self.task, self.trees = task, trees
        self.n_rows = n = int(rng.integers(30, 75)) if n_rows is None else n_rows
        n_columns = int(rng.integers(2, 6))
        self.n_values = rng.integers(2, 9, n_columns)
        self.X = rng.integers(0, self.n_values, (n, n_columns)).astype(float)
        effects = rng.choice([-1.0, 0.0, 0.5, 1.0], n_columns)
        signal = (np.sign(2 * self.X - self.n_values) * effects).sum(axis=1) + self.X[:, 0] * (self.X[:, 1] > 1)
        self.X = self.X * 0.5 - 1
        self.views = self._some_views(rng, n_columns) if trees == "per_view" else None
        if trees == "joint" and rng.random() < 0.3:
            self.views = [[0], [int(rng.integers(1, n_columns))]]  # columns of no view are not read
        if missing:
            self.X[rng.random(self.X.shape) < 0.2] = np.nan
            for columns in self.views or []:
                self.X[np.ix_(rng.random(n) < 0.3, columns)] = np.nan
        self.X[0] = -1.0  # no column lacks everything, and no row either
        read = list(range(n_columns)) if self.views is None else sorted({j for view in self.views for j in view})
        self.X[np.isnan(self.X[:, read]).all(axis=1), read[0]] = 0.0
        self.categorical = sorted(rng.permutation(n_columns)[: 1 + n_columns // 3].tolist()) if categories else []
        self.signs = [0] * n_columns
        if monotonic:
            for column in set(range(n_columns)) - set(self.categorical):
                self.signs[column] = int(rng.integers(-1, 2))
        self.weights = None
        if weighted:
            self.weights = [rng.integers(1, 4, n) * 0.7, rng.uniform(0.01, 1, n), np.full(n, 3.0)][rng.integers(3)]
            self.weights[rng.random(n) < 0.1] = 0.0
        self.y = self._targets(rng, signal)
        n_views = 1 if self.views is None else len(self.views)
        self.view_labels = None
        if own_labels:
            self.view_labels = np.repeat(self.y[:, None], n_views, axis=1)
            other = rng.random(self.view_labels.shape) < 0.2
            self.view_labels[other] = rng.permutation(self.y)[: other.sum()]
        self.options = {
            "n_estimators": 2 if task == "three_classes" else 3,
            "learning_rate": float(rng.choice([0.1, 0.5, 0.9])),  # 1 may leave nothing but rounding to the next round
            "max_leaf_nodes": int(rng.integers(2, 12)),
            "min_samples_leaf": int(rng.choice([1, 3, 8])),
        }
        self.l2 = float(rng.choice([0.0, 0.3, 5.0]))
        # Rows without weight place no edges, and their categories are not known.
        self.counted = np.ones(n, dtype=bool) if self.weights is None else self.weights > 0
        self.edges = [np.array(midpoints(self.X[self.counted, column])) for column in range(n_columns)]

    @staticmethod
    def _some_views(rng, n_columns):
        """Return two or three views; columns may be in several, and in any order."""
        views = [rng.permutation(n_columns)[: rng.integers(1, n_columns + 1)].tolist() for _ in range(2)]
        left = sorted(set(range(n_columns)) - {column for view in views for column in view})
        return [*views, left] if left else views

    def _targets(self, rng, signal):
        """Return classes, or whole numbers, that follow a signal with noise."""
        noisy = np.round(2 * (signal + rng.normal(size=self.n_rows)))
        if self.task not in N_CLASSES:
            return noisy * 10.0 ** rng.integers(-2, 4)
        n_classes = N_CLASSES[self.task]
        y = np.searchsorted(np.quantile(noisy, np.arange(1, n_classes) / n_classes), noisy, side="right")
        y[:n_classes] = np.arange(n_classes)  # each class is there
        if self.weights is not None:
            self.weights[:n_classes] = self.weights.max()
        return y

    def model(self, **options):
        """Return the unfitted estimator."""
        common = {
            "views": self.views,
            "trees": self.trees,
            "l2_regularization": self.l2,
            "categorical_features": self.categorical or None,
            "monotonic_cst": self.signs if any(self.signs) else None,
            "early_stopping": False,
            **self.options,
            **options,
        }
        if self.task in N_CLASSES:
            return ShareGradientBoostingClassifier(**common)
        quantile = QUANTILE["quantile"] if self.task == "quantile" else None
        return ShareGradientBoostingRegressor(loss=self.task, quantile=quantile, **common)

    def fitted(self, **options):
        """Return the fitted estimator."""
        labels = {} if self.view_labels is None else {"view_labels": self.view_labels}
        with warnings.catch_warnings():
            # Some random weights are too small for any split; the model is then a constant, as the warning says.
            warnings.filterwarnings("ignore", message=".*no tree can be split")
            return self.model(**options).fit(self.X, self.y, self.weights, **labels)

    @property
    def missing_bin(self):
        read = range(len(self.edges)) if self.views is None else {column for view in self.views for column in view}
        return max(len(self.edges[column]) for column in read) + 1

    def bins(self, X):
        """Return the bins of rows: how many edges are below a value. Unknown categories are missing."""
        bins = np.array([np.searchsorted(edges, x) for edges, x in zip(self.edges, X.T)])
        bins[np.isnan(X.T)] = self.missing_bin
        for column in self.categorical:
            bins[column, ~np.isin(X[:, column], self.X[self.counted, column])] = self.missing_bin
        return bins

    def presence(self, X):
        """Return which views rows have."""
        views = self.views or [range(X.shape[1])]
        return np.array(presence_of(self.bins(X).tolist(), self.missing_bin, views))

    def oracle(self, **options):
        """Return what the slow loops make of it, with the units of the fast ones, which are free to choose."""
        weights = np.ones(self.n_rows) if self.weights is None else self.weights
        if self.task in N_CLASSES:
            loss = log_loss(N_CLASSES[self.task], self.n_rows)
        else:
            given = {"loss": self.task, "quantile": QUANTILE.get(self.task)}
            baseline = naive_fit(self.bins(self.X), [], 1, self.y, weights, n_estimators=0, **given)["baseline"]
            largest = np.abs(self.y - baseline)[weights > 0].max()
            loss = regression_loss(largest, self.n_rows, QUANTILE.get(self.task))
        counted = weights[weights > 0]
        scale = counted[0] if np.ptp(counted) == 0 else 2.0 ** np.ceil(np.log2(counted.max()))
        return naive_fit(
            self.bins(self.X),
            [len(edges) for edges in self.edges],
            self.missing_bin,
            self.y,
            self.weights,
            loss="log_loss" if self.task in N_CLASSES else self.task,
            n_classes=N_CLASSES.get(self.task),
            quantile=QUANTILE.get(self.task),
            l2=self.l2,
            categorical=self.categorical,
            monotonic=dict(enumerate(self.signs)),
            views=self.views,
            trees=self.trees,
            view_labels=self.view_labels,
            units=(loss.unit_g * scale, loss.unit_h * scale),
            **self.options,
            loss_limit=LOSS_LIMIT if self.task in N_CLASSES else np.inf,
            **options,
        )


def assert_same_model(problem, model, expected):
    """Compare every node of every tree, the views that won, the losses, and the scores of rows old and new."""
    expected = up_to_the_end(model, expected)
    trees = model.trees_
    flat = [tree for grown in expected["trees"] for tree in grown]
    assert_array_equal(trees.output, [tree.output for tree in flat])
    assert_array_equal(trees.view, [tree.view for tree in flat])
    assert_array_equal(model.winning_views_, expected["winners"])
    for number, tree in enumerate(flat):
        assert_same_tree(problem, trees.tree(number), tree, f"tree {number}")
    # Losses are added up in units of a share of the largest one.
    losses = np.array(expected["losses"])
    assert_allclose(model.train_score_, -losses, rtol=1e-8, atol=1e-9 * losses[0])
    for X in (problem.X, other_rows(problem)):
        scores = naive_scores(expected, problem.bins(X), problem.presence(X))
        assert_allclose(raw_scores(model, X), scores, rtol=1e-12, atol=1e-12)


def up_to_the_end(model, expected):
    """Return the rounds that a model has: it ends where no view has a split."""
    if model.n_iter_ == len(expected["trees"]):
        return expected
    assert all(len(tree.nodes) == 1 for tree in expected["trees"][model.n_iter_])
    shorter = {name: expected[name][: model.n_iter_] for name in ("trees", "winners")}
    return expected | shorter | {"losses": expected["losses"][: model.n_iter_ + 1]}


def assert_same_tree(problem, fast, slow, where):
    """Walk down both trees from their roots."""
    assert len(fast) == len(slow.nodes), where
    pairs = [(0, 0, "root")]
    while pairs:
        number, slow_number, path = pairs.pop()
        node, at = slow.nodes[slow_number], f"{where}, {path}"
        assert fast.column[number] == node.column, at
        assert_allclose(fast.weight[number], node.weight, rtol=1e-12, err_msg=at)
        assert_allclose(fast.value[number], node.value, rtol=1e-12, atol=1e-12, err_msg=at)
        assert_allclose(fast.gain[number], node.gain, rtol=1e-9, atol=1e-12, err_msg=at)
        if node.column < 0:
            assert (fast.left[number], fast.right[number], fast.category_row[number]) == (-1, -1, -1), at
            continue
        assert fast.cut_bin[number] == node.cut_bin, at
        assert fast.missing_left[number] == node.missing_left, at
        edges = problem.edges[node.column]
        if node.column in problem.categorical:
            known = np.array([*range(len(edges) + 1), problem.missing_bin])
            goes_left = fast.categories_left[fast.category_row[number]]
            assert set(known[goes_left[known] == 1].tolist()) == node.bins_left, at
        else:
            assert fast.category_row[number] == -1, at
            assert fast.threshold[number] == (edges[node.cut_bin] if node.cut_bin < len(edges) else np.inf), at
        pairs.append((fast.left[number], node.left, path + " left"))
        pairs.append((fast.right[number], node.right, path + " right"))


def raw_scores(model, X):
    """Return the raw scores (n_rows, n_outputs)."""
    scores = model.predict(X) if isinstance(model, ShareGradientBoostingRegressor) else model.decision_function(X)
    return scores.reshape(len(X), -1)


def other_rows(problem):
    """Return rows that were not trained on, with values between and beyond the known ones, missing or unknown."""
    rng = np.random.default_rng(problem.n_rows)
    X = rng.integers(-1, 12, (60, problem.X.shape[1])) * 0.5 - 1.25 + 0.25 * rng.integers(0, 2, (60, 1))
    X[rng.random(X.shape) < 0.25] = np.nan
    for columns in problem.views or []:
        X[np.ix_(rng.random(60) < 0.3, columns)] = np.nan
    X[0] = np.nan
    return X


tasks = st.sampled_from(["two_classes", "three_classes", "squared_error", "absolute_error", "quantile"])
seeds = st.integers(0, 2**32 - 1)


@given(st.builds(Problem, seeds, tasks, missing=st.booleans(), weighted=st.booleans(), categories=st.booleans()))
def test_joint_trees(problem):
    assert_same_model(problem, problem.fitted(), problem.oracle())


@given(
    st.builds(
        Problem,
        seeds,
        st.sampled_from(["two_classes", "squared_error", "absolute_error", "quantile"]),
        trees=st.sampled_from(["joint", "per_view"]),
        missing=st.booleans(),
        weighted=st.booleans(),
        categories=st.booleans(),
        monotonic=st.just(True),
    )
)
def test_monotonic_constraints(problem):
    assert_same_model(problem, problem.fitted(), problem.oracle())


@given(
    st.builds(
        Problem,
        seeds,
        tasks,
        trees=st.just("per_view"),
        missing=st.booleans(),
        weighted=st.booleans(),
        categories=st.booleans(),
    )
)
def test_trees_per_view(problem):
    assert_same_model(problem, problem.fitted(), problem.oracle())


@given(
    st.builds(
        Problem,
        seeds,
        st.sampled_from(["two_classes", "three_classes"]),
        trees=st.just("per_view"),
        missing=st.booleans(),
        weighted=st.booleans(),
        own_labels=st.just(True),
    )
)
def test_own_labels_of_the_views(problem):
    assert_same_model(problem, problem.fitted(), problem.oracle())


@given(
    st.builds(Problem, seeds, tasks, trees=st.just("per_view"), missing=st.booleans(), weighted=st.booleans()),
    st.sampled_from(["exp3p", "uniform", "round_robin"]),
)
def test_views_drawn_by_a_policy(problem, policy):
    model = problem.fitted(view_policy=policy, random_state=4)
    assert_same_model(problem, model, problem.oracle(choose=lambda number: int(model.winning_views_[number])))


@pytest.mark.parametrize("task", ["two_classes", "three_classes", "squared_error"])
def test_deep_trees_of_many_rows(task):
    problem = Problem(5, task, missing=True, weighted=True, categories=True, n_rows=200)
    problem.options |= {"max_leaf_nodes": 31, "min_samples_leaf": 1}
    assert_same_model(problem, problem.fitted(), problem.oracle())


@pytest.mark.parametrize("task", ["two_classes", "squared_error"])
def test_more_values_than_bins(task):
    """The edges, of a sample's quantiles, are the model's; what becomes of them is asked here."""
    problem = Problem(3, task, missing=True, n_rows=150)
    problem.views = None
    problem.X += np.random.default_rng(0).normal(size=problem.X.shape)
    model = problem.fitted(max_bins=6)
    problem.edges = [row[:n] for row, n in zip(model.binning_.edges, model.binning_.n_edges)]
    assert max(len(edges) for edges in problem.edges) == 5
    assert_same_model(problem, model, problem.oracle())


@pytest.fixture(params=["leaf by leaf", "many leaves at once"])
def leaves_one_by_one(request, monkeypatch):
    """Trees grow from the histograms of their leaves, as those of partitions and of large tables do."""

    def leaves(self, tree, rounds):
        def ask(questions):
            return self.ask(rounds, questions)

        self.ask(rounds, ())
        columns = self._block.settings.columns(tree.view)
        return HistogramLeaves(tree, columns, self._growth, ask, request.param == "many leaves at once", self._threads)

    monkeypatch.setattr(LocalGradientRows, "leaves", leaves)


@pytest.mark.parametrize(
    ("task", "kinds"),
    [
        ("two_classes", ["missing", "categories"]),
        ("three_classes", ["weighted", "missing"]),
        ("squared_error", ["missing", "monotonic"]),
        ("absolute_error", ["weighted", "missing", "categories"]),
        ("quantile", ["monotonic"]),
    ],
)
def test_trees_that_grow_from_histograms(task, kinds, leaves_one_by_one):
    problem = Problem(1, task, n_rows=40, **dict.fromkeys(kinds, True))
    problem.options |= {"min_samples_leaf": 1, "max_leaf_nodes": 9}
    assert_same_model(problem, problem.fitted(), problem.oracle())


def test_a_chain_of_histograms_ends_at_the_largest_depth(leaves_one_by_one):
    problem = given_problem(np.arange(40.0)[:, None], 3.0 ** np.arange(-20, 20))
    assert_same_model(problem, problem.fitted(), problem.oracle())


def given_problem(X, y, signs=None, **options):
    """Return a regression of given rows."""
    problem = Problem(0, "squared_error", n_rows=len(y))
    problem.X, problem.y, problem.l2 = np.asarray(X, dtype=float), np.asarray(y, dtype=float), 0.0
    problem.signs = signs or [0] * problem.X.shape[1]
    problem.edges = [np.array(midpoints(column)) for column in problem.X.T]
    problem.options = {"n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 31, "min_samples_leaf": 1} | options
    return problem


def test_a_chain_ends_at_the_largest_depth():
    problem = given_problem(np.arange(40.0)[:, None], 3.0 ** np.arange(-20, 20))
    expected = problem.oracle()
    assert max(node.depth for node in expected["trees"][0][0].nodes) == 10
    assert_same_model(problem, problem.fitted(), expected)


def test_a_split_may_have_a_negative_score():
    # Column 0 splits at the root into means of -100 and 10: no value below it on the left exceeds -45. Of the four rows
    # there with a mean of 200, which so cost more than they did before, two are at -50, and worth a split.
    rows = [((0, 0, 0), -300.0)] * 6 + [((0, 1, 0), -50.0)] * 2 + [((0, 1, 1), 450.0)] * 2
    rows += [((1, 0, 0), 46.0)] * 50 + [((1, 1, 1), -90.0)] * 10 + [((1, 1, 0), -10.0)] * 40
    problem = given_problem([x for x, _ in rows], [y for _, y in rows], [1, 0, 0])
    expected = problem.oracle()
    splits = [node.best for node in expected["trees"][0][0].nodes if node.column >= 0]
    assert splits[0].column == 0
    assert min(split.score for split in splits) < -1000
    assert_same_model(problem, problem.fitted(), expected)


def test_a_view_without_split_is_no_end():
    """One view is a constant, but says much by being there; the other one has splits."""
    rng = np.random.default_rng(0)
    problem = Problem(0, trees="per_view", n_rows=100)
    problem.y = rng.integers(0, 2, 100)
    there = rng.random(100) < np.where(problem.y == 1, 0.95, 0.05)
    problem.X = np.column_stack([np.where(there, 1.0, np.nan), np.round(problem.y + rng.normal(size=100))])
    problem.views, problem.signs = [[0], [1]], [0, 0]
    problem.edges = [np.array(midpoints(column)) for column in problem.X.T]
    problem.options["n_estimators"] = 8
    expected = problem.oracle()
    has_split = [len(grown[0].nodes) > 1 for grown in expected["trees"]]
    assert not has_split[0]
    assert any(has_split)
    model = problem.fitted()
    assert model.n_iter_ == 8
    assert_same_model(problem, model, expected)
