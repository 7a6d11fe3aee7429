"""The leaves of a tree that grows: the order of their splits, the work it takes, and the histograms that are kept."""

from collections import Counter
from math import inf

import numpy as np
import pytest
from sklearn.base import clone

from fuselearn import ShareGradientBoostingRegressor
from fuselearn.boosting.gradient import local_gradient_rows, open_leaves
from fuselearn.boosting.gradient.gradient_rows import GradientBlock
from fuselearn.boosting.gradient.growth import HistogramLeaves
from fuselearn.boosting.gradient.open_leaves import KeptHistograms, Leaf, SplitQueue
from fuselearn.boosting.gradient.splitting import Split
from fuselearn.numeric.gradient_loops import TIE_SHARE
from tests.boosting.gradient import gradient_problems
from tests.boosting.gradient.fitted_models import assert_identical


def leaf(gain, node=0, weight=1):
    sums = (0, 0, weight)
    split = None if gain is None else Split(gain, 0, 0, np.zeros(256, dtype=np.uint8), sums, sums)
    return Leaf(node, 0, sums, (-inf, inf), split)


def test_splits_come_in_the_order_of_a_search_through_all():
    """Leaves come and go; gains that tie, exactly or but for rounding, go to the first leaf."""
    rng = np.random.default_rng(0)
    queue, waiting = SplitQueue([]), {}
    for number in range(600):
        gain = None if rng.uniform() < 0.1 else float(rng.choice([1.0, 2.0, 3.0, rng.uniform(0, 4)]))
        if gain is not None:
            gain *= 1 + TIE_SHARE * rng.choice([0.0, 0.3, -0.3])
            waiting[number] = gain
        queue.push(number, leaf(gain))
        assert len(queue) == len(waiting)
        assert queue.numbers() == sorted(waiting)
        while waiting and rng.uniform() < 0.45:
            least = max(waiting.values()) * (1 - TIE_SHARE)
            first = min(number for number, gain in waiting.items() if gain >= least)
            assert queue.pop() == first
            del waiting[first]


@pytest.fixture
def steps(monkeypatch):
    """Count the steps of the heaps, each of which takes logarithmic time."""
    counts = Counter()

    def counted(name):
        step = getattr(open_leaves, name)

        def count(*arguments):
            counts[name] += 1
            return step(*arguments)

        monkeypatch.setattr(open_leaves, name, count)

    counted("heappush")
    counted("heappop")
    return counts


@pytest.mark.parametrize("gains", ["different", "equal"])
def test_a_leaf_takes_no_more_steps_in_a_larger_tree(gains, steps):
    for n_leaves in (100, 3000):
        rng = np.random.default_rng(0)
        steps.clear()
        queue = SplitQueue([leaf(1.0)])
        for number in range(1, n_leaves):
            queue.pop()
            for child in (2 * number - 1, 2 * number):
                queue.push(child, leaf(1.0 if gains == "equal" else rng.uniform()))
        assert steps.total() <= 8 * n_leaves


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=800)


def grown(**settings):
    model = ShareGradientBoostingRegressor(n_estimators=2, min_samples_leaf=2, max_leaf_nodes=120, **settings)
    return model.set_params(random_state=0, early_stopping=False).fit(*problem())


@pytest.mark.parametrize("n_kept", [1, 5])
def test_histograms_that_are_dropped_are_counted_again(n_kept, monkeypatch):
    """In the memory of few histograms the same trees grow, with more histograms counted."""
    whole = grown()
    monkeypatch.setattr(local_gradient_rows, "WHOLE_TREE_BYTES", 0)
    counted, kept = [], []
    count, keep = GradientBlock.histogram, KeptHistograms.keep

    def counting(self, *arguments):
        counted.append(arguments)
        return count(self, *arguments)

    def keeping(self, *arguments):
        keep(self, *arguments)
        kept.append(self._n_bytes)
        assert self._n_bytes == sum(histogram.nbytes for histogram in self._by_node.values())

    monkeypatch.setattr(GradientBlock, "histogram", counting)
    monkeypatch.setattr(KeptHistograms, "keep", keeping)
    assert_identical(grown(), whole, problem()[0])
    n_counted, n_bytes = len(counted), max(kept)
    kept.clear()
    monkeypatch.setattr(open_leaves, "HISTOGRAM_BYTES", n_kept * 3 * 3 * 256 * 8)
    assert_identical(grown(), whole, problem()[0])
    assert max(kept) <= n_kept * 3 * 3 * 256 * 8 < n_bytes
    assert n_counted < len(counted) - n_counted <= 2 * n_counted


@pytest.mark.parametrize("case", ["monotonic", "categories", "three classes", "view labels", "a monotonic median"])
def test_whole_trees_are_those_that_grow_leaf_by_leaf(case, monkeypatch):
    model, X, y, beside = gradient_problems.problem(case)
    model.set_params(max_leaf_nodes=25)
    whole = clone(model).fit(X, y, **beside)
    monkeypatch.setattr(local_gradient_rows, "WHOLE_TREE_BYTES", 0)
    gradient_problems.assert_same(model.fit(X, y, **beside), whole)


def test_few_histograms_are_all_kept():
    histograms = KeptHistograms()
    for node in range(3):
        histograms.keep(leaf(1.0, node, weight=node), np.zeros((8, 3, 256), dtype=np.int64))
    assert all(histograms.pop(node) is not None for node in range(3))


@pytest.mark.parametrize("n_fitting", [1, 2, 3])
def test_the_heaviest_histograms_that_fit_are_kept(n_fitting, monkeypatch):
    """One is kept whatever its size; those that fill the memory just so are all kept."""
    histogram = np.zeros((8, 3, 256), dtype=np.int64)
    for n_bytes in (n_fitting * histogram.nbytes, (n_fitting - 1) * histogram.nbytes + 1):
        monkeypatch.setattr(open_leaves, "HISTOGRAM_BYTES", n_bytes)
        n_kept = n_fitting if n_bytes % histogram.nbytes == 0 else max(1, n_fitting - 1)
        histograms, weights = KeptHistograms(), [30, 10, 50, 20, 40]
        for node, weight in enumerate(weights):
            histograms.keep(leaf(1.0, node, weight), histogram.copy())
        heaviest = sorted(range(5), key=lambda node: -weights[node])[:n_kept]
        assert [node for node in range(5) if histograms.pop(node) is not None] == sorted(heaviest)
        assert histograms.pop(0) is None  # it is forgotten


def test_many_leaves_grow_leaf_by_leaf(monkeypatch):
    """A search through all leaves before each split would take longer than the way through the interpreter."""
    whole = grown()
    monkeypatch.setattr(local_gradient_rows, "WHOLE_TREE_LEAVES", 100)
    expanded = []
    expand = HistogramLeaves.expand
    monkeypatch.setattr(
        HistogramLeaves,
        "expand",
        lambda self, leaves, **final: (expanded.extend(leaves), expand(self, leaves, **final)),
    )
    assert_identical(grown(), whole, problem()[0])
    assert len(expanded) == sum(whole.trees_.tree(number).n_leaves - 1 for number in range(2))
