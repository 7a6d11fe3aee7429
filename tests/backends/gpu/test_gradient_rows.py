"""Rows of gradient boosting on a GPU: gradients, histograms, moved rows and quantiles against those on the host."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fuselearn.backends.gpu import gpu_gradients
from fuselearn.backends.gpu.cuda_kernels import fused_kernels
from fuselearn.backends.gpu.gpu_gradients import ALL_VIEWS, GpuGradients, GradientInputs, WholeLoss
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.backends.gpu.gradient_kernels import FusedGradients, SplitRules
from fuselearn.learners.binning import Binning
from fuselearn.numeric.gradient_histograms import best_splits, fill_histogram, first_of_largest
from fuselearn.numeric.gradients import HELD_OUT, TRAINING, UNUSED, regression_gradients
from tests.backends.gpu.gpu_problems import ON_GPU, Library

N_COLUMNS = 5


class HostRows:
    """Random rows, and their bins, gradients and histograms by the loops of the host."""

    def __init__(self, seed, n_rows=400, bits=50, weighted=False, quantile=None):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n_rows, N_COLUMNS)).round(1)
        self.X[rng.random(self.X.shape) < 0.1] = np.nan
        self.edges = np.sort(rng.normal(size=(N_COLUMNS, 11)), axis=1)
        self.bins = np.array([np.searchsorted(edges, column) for edges, column in zip(self.edges, self.X.T)])
        self.bins[np.isnan(self.X.T)] = 12
        self.bins = self.bins.astype(np.uint8)
        self.target = rng.normal(size=n_rows)
        self.weights = rng.random(n_rows) if weighted else None
        self.whole_weights = np.rint(self.weights * 2**30).astype(np.int32) if weighted else None
        self.roles = rng.choice(np.array([UNUSED, TRAINING, TRAINING, TRAINING, HELD_OUT], dtype=np.int8), n_rows)
        self.present = np.column_stack([np.ones(n_rows, dtype=bool), rng.random(n_rows) < 0.7])
        self.loss = WholeLoss(1, bits, 8.0, quantile)
        self.g, self.h = np.zeros((1, n_rows), dtype=np.int64), np.zeros((1, n_rows), dtype=np.int32)
        self.losses = regression_gradients(
            np.full((1, n_rows), 0.25), self.target, np.empty(0) if self.weights is None else self.weights, self.roles,
            bits, 8.0, quantile, self.g, self.h,
        )  # fmt: skip

    def inputs(self, array):
        return GradientInputs(
            GpuTable(array(self.X)), np.arange(N_COLUMNS), [np.array([0, 1, 2]), np.array([4, 3])],
            Binning(self.edges, np.full(N_COLUMNS, 11)), np.zeros(N_COLUMNS, dtype=bool), self.loss, np.array([0.25]),
            [self.target], self.weights, self.whole_weights, self.roles, self.present,
        )  # fmt: skip

    def histogram(self, rows, columns):
        histogram = np.empty((len(columns), 3, 13), dtype=np.int64)
        whole = np.empty(0, dtype=np.int32) if self.whole_weights is None else self.whole_weights
        values = np.full(N_COLUMNS, 12)
        fill_histogram(
            self.bins, columns, rows.astype(np.int32), self.g[0], self.h[0], whole, values, histogram
        )  # fmt: skip
        return histogram

    def quantile(self, rows, rank):
        residuals = self.target[rows] - 0.25
        order = np.argsort(residuals, kind="stable")
        counts = np.ones(len(rows), dtype=np.int64) if self.whole_weights is None else self.whole_weights[rows]
        return residuals[order][np.searchsorted(np.cumsum(counts[order], dtype=np.int64), rank)]


def split(node, left, right, column, generator):
    return SimpleNamespace(
        node=node, left=left, right=right, column=column, goes_left=generator.integers(0, 2, 256).astype(np.uint8)
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("view", [ALL_VIEWS, 1])
def test_rows_and_sums_of_nodes(library, view, weighted, monkeypatch):
    monkeypatch.setattr(gpu_gradients, "ONES_AT_A_TIME", 2**10)
    host = HostRows(1, weighted=weighted)
    rows = GpuGradients(host.inputs(library.array))
    assert_array_equal(rows.fill_gradients(0, ALL_VIEWS), host.losses)
    rows.start_tree(view)
    generator = np.random.default_rng(0)
    splits = split(0, 1, 2, 3, generator), split(2, 3, 4, 0, generator)
    in_tree = host.roles == TRAINING
    if view == 1:
        in_tree &= host.present[:, 1]
    nodes = np.where(in_tree, 0, -1)
    for made in splits:
        goes_left = made.goes_left[host.bins[made.column]] == 1
        nodes = np.where(nodes == made.node, np.where(goes_left, made.left, made.right), nodes)
    rows.split(splits[:1])
    rows.split(splits[1:])
    columns = np.arange(N_COLUMNS) if view == ALL_VIEWS else np.array([4, 3])
    for node in (1, 3, 4):
        expected = host.histogram(np.flatnonzero(nodes == node), columns)
        assert_array_equal(rows.histogram(node, 0), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_of_nodes(library, weighted):
    host = HostRows(2, weighted=weighted, quantile=0.3)
    host.target[:40] = 0.25  # residuals of 0
    host.target[40:60] = host.target[60]
    rows = GpuGradients(host.inputs(library.array))
    rows.start_tree(ALL_VIEWS)
    training = np.flatnonzero(host.roles == TRAINING)
    total = len(training) if not weighted else int(host.whole_weights[training].sum(dtype=np.int64))
    for rank in (1, total // 7, total // 2, total):
        [found] = rows.quantiles([0], [rank])
        assert found == host.quantile(training, rank)
        assert not (found == 0 and np.signbit(found))


@ON_GPU
@pytest.mark.parametrize("bits", [38, 50])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernels_count_and_look_for_splits_as_the_host_does(weighted, bits):
    library = Library("cupy")
    host = HostRows(3, n_rows=30_000, bits=bits, weighted=weighted)
    inputs = host.inputs(library.array)
    units = 8.0 * 2.0**-bits, 2.0**-28, 2.0**-30 if weighted else 1.0
    least = (20 * 2**30 if weighted else 20), 2**18
    monotonic = np.array([1, 0, 0, 0, -1], dtype=np.int8)
    kernels = fused_kernels(inputs.table.arrays)
    rows = FusedGradients(kernels, inputs, SplitRules(units, 0.5, *least, monotonic))
    assert_array_equal(rows.fill_gradients(0, ALL_VIEWS), host.losses)
    rows.start_tree(ALL_VIEWS)
    generator = np.random.default_rng(0)
    first = split(0, 1, 2, 3, generator)
    training = host.roles == TRAINING
    left = first.goes_left[host.bins[3]] == 1
    columns = np.arange(N_COLUMNS)
    rows.count([0], 0)
    rows.split([first])
    rows.count([1], 0)
    rows.subtract([(0, 1, 2)])
    bounds = [(-np.inf, np.inf), (-0.05, 0.1)]
    expected = [host.histogram(np.flatnonzero(training & side), columns) for side in (left, ~left)]
    sums = [tuple(histogram[0].sum(axis=1).tolist()) for histogram in expected]
    assert [rows.sums(node) for node in (1, 2)] == sums
    for histogram, record, leaf_sums, leaf_bounds in zip(
        expected, rows.best_splits([1, 2], sums, bounds), sums, bounds
    ):
        splits, left_sums = np.empty((N_COLUMNS, 3)), np.empty((N_COLUMNS, 3), dtype=np.int64)
        best_splits(
            histogram, np.full(N_COLUMNS, 12), leaf_sums, units, leaf_bounds, monotonic, np.full(N_COLUMNS, -1), [],
            0.5, least, splits, left_sums,
        )  # fmt: skip
        place = first_of_largest(splits[:, 0])
        assert record[:4] == (splits[place, 0], place, int(splits[place, 1]), splits[place, 2] > 0)
        assert record.left_sums == tuple(left_sums[place].tolist())
        assert record.has_missing
