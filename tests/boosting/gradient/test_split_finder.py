"""The best split of a leaf from its histogram, against a search through all splits of its rows."""

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fuselearn.boosting.gradient.splitting import BestCut, GrowthSettings, SplitFinder
from tests.naive import gradient_boosting as naive

N_EDGES, MISSING = [3, 5, 2, 4], 6
UNITS = 2.0**-10, 2.0**-12, 0.5


def growth(**changes):
    usual = {
        "max_leaf_nodes": 31,
        "min_samples_leaf": 1.0,
        "l2_regularization": 0.3,
        "learning_rate": 0.1,
        "units": UNITS,
        "leaf_quantile": None,
        "edges": np.zeros((4, 5)),
        "n_values": np.array(N_EDGES) + 1,
        "categorical": np.zeros(4, dtype=bool),
        "monotonic": np.zeros(4, dtype=np.int8),
    }
    return GrowthSettings(**{**usual, **changes})


class Leaf:
    """Random rows of a leaf, their histogram and their sums."""

    def __init__(self, seed, columns=(2, 0, 3, 1), n_rows=14, missing=0.2):
        rng = np.random.default_rng(seed)
        self.columns = list(columns)
        self.bins = np.array([rng.integers(0, n + 1, n_rows) for n in N_EDGES])
        self.bins[rng.random(self.bins.shape) < missing] = MISSING
        self.sums_of_rows = np.array(
            [rng.integers(-3000, 3000, n_rows), rng.integers(100, 4000, n_rows), rng.integers(1, 4, n_rows)]
        )
        self.sums = tuple(self.sums_of_rows.sum(axis=1).tolist())
        self.histogram = np.zeros((len(self.columns), 3, MISSING + 1), dtype=np.int64)
        for place, column in enumerate(self.columns):
            for row, b in enumerate(self.bins[column]):
                self.histogram[place, :, b] += self.sums_of_rows[:, row]

    def naive_split(self, settings, bounds):
        """The best split by the slow loops, the bins that go left with it, and the sums of the rows there."""
        rules = naive.Rules(
            n_edges=N_EDGES, missing_bin=MISSING, learning_rate=0.1, max_leaf_nodes=31, max_depth=10,
            min_samples_leaf=settings.min_samples_leaf, l2=settings.l2_regularization,
            categorical=set(np.flatnonzero(settings.categorical).tolist()),
            monotonic={column: sign for column, sign in enumerate(settings.monotonic.tolist()) if sign},
            unit_w=UNITS[2], tie=1e-10,
        )  # fmt: skip
        whole = [naive.Sums(*of_row.tolist()) for of_row in self.sums_of_rows.T]
        node = naive.Node(list(range(len(whole))), 0, naive.Sums(*self.sums), *bounds)
        bins = self.bins.tolist()
        split = naive.best_split(bins, whole, node, self.columns, rules, UNITS[0], UNITS[1])
        if split is None:
            return None, None, None
        left = np.isin(self.bins[split.column], list(split.bins_left))
        return split, naive.with_unseen_bins(bins, whole, node, split, rules), self.sums_of_rows[:, left].sum(axis=1)


def assert_same(leaf, settings, bounds=(-inf, inf)):
    """Compare the split that is found with that of the slow loops; return it."""
    split = SplitFinder(settings, np.array(leaf.columns)).best_split(leaf.histogram, leaf.sums, bounds)
    expected, goes_left, left_sums = leaf.naive_split(settings, bounds)
    if expected is None:
        assert split is None
        return None
    assert (split.column, split.cut_bin) == (expected.column, expected.cut_bin)
    assert split.gain == pytest.approx(expected.gain)
    assert split.left_sums == tuple(left_sums)
    assert split.right_sums == tuple(np.array(leaf.sums) - left_sums)
    for b in (*range(N_EDGES[split.column] + 1), MISSING):
        assert split.goes_left[b] == (b in goes_left), b
    return split


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("least", [0.5, 3.0, 6.0])
def test_splits_of_numbers(seed, least):
    assert_same(Leaf(seed), growth(min_samples_leaf=least))
    assert_same(Leaf(seed, columns=[1, 2], missing=0.0), growth(min_samples_leaf=least, l2_regularization=0.0))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("categorical", [(True, False, True, False), (False, True, True, True)])
def test_splits_of_categories(seed, categorical):
    for missing in (0.0, 0.3):
        assert_same(Leaf(seed, missing=missing), growth(categorical=np.array(categorical)))
        assert_same(Leaf(seed, columns=[1, 0], missing=missing), growth(categorical=np.array(categorical)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bounds", [(-inf, inf), (-0.2, inf), (-inf, 0.1), (-0.1, 0.1)])
def test_splits_within_bounds_and_signs(seed, bounds):
    assert_same(Leaf(seed), growth(monotonic=np.array([1, -1, 1, -1], dtype=np.int8)), bounds)
    assert_same(Leaf(seed), growth(), bounds)


def test_all_kinds_of_splits_were_found():
    """The tests above ask for sets, cuts of the first and last value, and missing values on either side."""
    splits = [assert_same(Leaf(seed), growth()) for seed in range(8)]
    assert {split.cut_bin for split in splits} >= {0, 1, 2}
    assert {int(split.goes_left[MISSING]) for split in splits} == {0, 1}
    assert len({split.column for split in splits}) > 2
    sets = [assert_same(Leaf(seed), growth(categorical=np.array([True] * 4))) for seed in range(8)]
    assert {split.cut_bin for split in sets} == {-1}


def two_rows(g, weights=(1, 1)):
    """A histogram of one column with a row in each of its first two bins, and its sums."""
    histogram = np.zeros((1, 3, MISSING + 1), dtype=np.int64)
    histogram[0, :, 0], histogram[0, :, 1] = (g[0], 4096, weights[0]), (g[1], 4096, weights[1])
    return histogram, tuple(histogram[0].sum(axis=1).tolist())


def test_a_leaf_of_twice_the_least_weight_may_be_cut_in_the_middle():
    for least, weights in ((1.0, (2, 2)), (0.5, (1, 1)), (1.0, (2, 3))):
        finder = SplitFinder(growth(min_samples_leaf=least), np.array([1]))
        split = finder.best_split(*two_rows((-500, 500), weights), (-inf, inf))
        assert (split.column, split.cut_bin) == (1, 0)
        assert split.goes_left[MISSING] == (weights[0] >= weights[1])
    assert finder.best_split(*two_rows((-500, 500), (1, 2)), (-inf, inf)) is None
    assert finder.best_split(*two_rows((-500, 500), (1, 3)), (-inf, inf)) is None


@pytest.mark.parametrize(("score", "of_leaf", "is_worth_it"), [
    (1.0, 0.0, True), (1e-30, 0.0, True), (1.0 + 1e-9, 1.0, True), (1.0 + 1e-13, 1.0, False),
    (1.0, 1.0, False), (0.0, 0.0, False), (-2.0, -3.0, True), (-3.0, -2.0, False),
])  # fmt: skip
def test_a_split_gains_more_than_rounding(score, of_leaf, is_worth_it, monkeypatch):
    settings = growth()
    monkeypatch.setattr(GrowthSettings, "score", lambda self, sums, bounds: of_leaf)
    finder = SplitFinder(settings, np.array([2, 0]))
    for cut in (0, 1, -1):
        best = BestCut(score, 1, cut, True, (1, 2, 3), False, None)
        split = finder.worthwhile(best, (5, 7, 9), (-inf, inf))
        assert (split is not None) == (is_worth_it and cut >= 0)
        if split is not None:
            assert split.gain == score - of_leaf
            assert split.column == 0
            assert split.right_sums == (4, 5, 6)


@pytest.mark.parametrize(("weight", "side"), [(5, 1), (6, 1), (7, 0)])
def test_bins_without_rows_go_with_the_heavier_side(weight, side):
    """The left side weighs 3; of equal sides it is the left one."""
    finder = SplitFinder(growth(), np.array([2, 0]))

    def goes_left(order, has_missing, missing_left=True, cut=1):
        best = BestCut(1e9, 1, cut, missing_left, (1, 2, 3), has_missing, order)
        return finder.worthwhile(best, (5, 7, weight), (-inf, inf)).goes_left

    assert_array_equal(goes_left(None, False)[: MISSING + 1], [1, 1, 0, 0, 0, 0, side])
    for missing_left in (False, True):
        assert_array_equal(goes_left(None, True, missing_left)[: MISSING + 1], [1, 1, 0, 0, 0, 0, missing_left])
    of_sets = goes_left(np.array([3, MISSING, 0, 2]), True)
    assert_array_equal(of_sets[: MISSING + 2], [0, side, 0, 1, side, side, 1, side])


def test_limits_of_whole_numbers():
    settings = growth(min_samples_leaf=3.0)
    assert settings.least_weight == 6
    assert settings.missing_bin == MISSING
    assert growth(max_leaf_nodes=2).max_depth == growth(max_leaf_nodes=32).max_depth == 10  # of any tree
    assert growth(max_leaf_nodes=33).max_depth == 12
