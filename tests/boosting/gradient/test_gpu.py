"""Gradient boosting of rows on a GPU gives the trees of rows in memory; two libraries stand in for a GPU."""

import importlib
import pickle
import sys
import warnings
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.backends.gpu import fused_growth, gpu_gradients, gpu_table, gradient_kernels, gradient_tiles
from fuselearn.backends.gpu.cuda_kernels import cuda_source
from fuselearn.boosting.gradient import gpu_gradient_data
from tests.backends.gpu import cupy_stand_in
from tests.backends.gpu.gpu_problems import ON_GPU, ON_TORCH, Library, Problem, Traffic

EXACT = ("column", "cut_bin", "missing_left", "left", "right", "category_row", "categories_left", "threshold")
SMALL = {"n_estimators": 3, "max_leaf_nodes": 5, "min_samples_leaf": 5, "max_bins": 40, "random_state": 0}


@pytest.fixture(
    params=[
        Library("numpy", use_fused=False),
        Library("array_api_strict"),
        pytest.param(Library("cupy"), marks=ON_GPU),
        pytest.param(Library("cupy", use_fused=False), marks=ON_GPU),
        pytest.param(Library("torch"), marks=ON_TORCH),
        pytest.param(Library("torch", use_fused=False), marks=ON_TORCH),
    ],
    ids=["numpy", "array_api_strict", "cupy-fused", "cupy-plain", "torch-fused", "torch-plain"],
)
def library(request, monkeypatch):
    """Arrays of every library; two of them stand in for a GPU."""
    if request.param.name == "numpy":
        monkeypatch.setitem(sys.modules, "cupy", cupy_stand_in.StandIn())
    if request.param.name in ("numpy", "array_api_strict"):
        monkeypatch.setattr(gpu_table, "VALUES_AT_A_TIME", 500)
        monkeypatch.setattr(gpu_gradients, "ONES_AT_A_TIME", 2**13)  # several steps
    if not request.param.use_fused:
        monkeypatch.setattr(gpu_gradient_data, "fused_kernels", lambda arrays: None)
    return request.param


def assert_same_trees(there, here, exact=False):
    assert there.n_iter_ == here.n_iter_
    assert len(there.trees_) == len(here.trees_)
    for name in (*EXACT, "starts", "output", "view"):
        assert_array_equal(getattr(there.trees_, name), getattr(here.trees_, name), err_msg=name)
    for name in ("value", "gain", "weight"):
        tolerance = 0 if exact else 1e-7
        given, expected = getattr(there.trees_, name), getattr(here.trees_, name)
        assert_allclose(given, expected, rtol=tolerance, atol=tolerance, err_msg=name)
    assert_allclose(there.baseline_, here.baseline_, rtol=1e-12)
    assert_array_equal(there.winning_views_, here.winning_views_)
    assert_allclose(there.train_score_, here.train_score_, rtol=1e-9)
    assert_allclose(there.validation_score_, here.validation_score_, rtol=1e-9)
    assert_array_equal(there.binning_.edges, here.binning_.edges)
    assert there.view_names_ == here.view_names_


def both(model, X, y, array, **arguments):
    """The model fitted on a GPU, and the one fitted here."""
    on_gpu = {name: None if values is None else array(values) for name, values in arguments.items()}
    return clone(model).fit(array(X), array(y), **on_gpu), clone(model).fit(X, y, **arguments)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classes(library, n_classes, dtype):
    problem = Problem(n_classes, n_classes, n_rows=library.many_rows, gaps=True, dtype=dtype)
    model = ShareGradientBoostingClassifier(views=problem.views, **SMALL)
    there, here = both(model, problem.X, problem.y, library.array)
    assert_same_trees(there, here)
    assert there.trees_.missing_left.any()
    assert_array_equal(pickle.loads(pickle.dumps(there)).predict(problem.X), here.predict(problem.X))


@pytest.mark.thinned(7)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.2}], ids=str)
def test_regressions_are_the_same_bit_for_bit(library, settings, weighted):
    problem = Problem(5, n_rows=library.many_rows, gaps=True)
    y = np.nan_to_num(problem.X) @ problem.rng.normal(size=9) + problem.rng.normal(size=len(problem.y))
    weights = problem.rng.exponential(size=len(y)) if weighted else None
    model = ShareGradientBoostingRegressor(**SMALL, **settings)
    there, here = both(model, problem.X, y, library.array, sample_weight=weights)
    assert_same_trees(there, here, exact=True)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("view_policy", ["best", "exp3p"])
def test_views_of_which_rows_lack_some(library, view_policy):
    problem = Problem(11, n_rows=library.many_rows, absent=True)
    model = ShareGradientBoostingClassifier(views=problem.views, trees="per_view", view_policy=view_policy, **SMALL)
    there, here = both(model, problem.X, problem.y, library.array)
    assert_same_trees(there, here)
    assert len(set(there.winning_views_)) > 1


def test_views_with_labels_of_their_own(library):
    problem = Problem(7, n_rows=library.many_rows, absent=True)
    labels = np.where(problem.rng.random((len(problem.y), 3)) < 0.1, 1 - problem.y[:, None], problem.y[:, None])
    model = ShareGradientBoostingClassifier(views=problem.views, trees="per_view", early_stopping=True, **SMALL)
    there, here = both(model, problem.X, problem.y, library.array, view_labels=labels)
    assert_same_trees(there, here)


@pytest.mark.thinned(2)
def test_weights_of_rows_and_classes(library):
    problem = Problem(8, 3, n_rows=library.many_rows, gaps=True)
    weights = problem.rng.integers(0, 4, len(problem.y)).astype(float)
    model = ShareGradientBoostingClassifier(class_weight="balanced", l2_regularization=0.5, **SMALL)
    there, here = both(model, problem.X, problem.y, library.array, sample_weight=weights)
    assert_same_trees(there, here)


def test_held_out_rows_and_groups(library):
    problem = Problem(9, n_rows=library.many_rows, gaps=True)
    groups = problem.rng.integers(0, 60, len(problem.y))
    model = ShareGradientBoostingClassifier(early_stopping=True, n_iter_no_change=2, **{**SMALL, "n_estimators": 6})
    there, here = both(model, problem.X, problem.y, library.array, groups=groups)
    assert_same_trees(there, here)
    assert len(there.validation_score_) == there.n_iter_ + 1


@pytest.mark.thinned(2)
def test_categories(library):
    problem = Problem(10, n_rows=library.many_rows)
    X = problem.X.copy()
    X[:, 4] = problem.rng.integers(0, 30, len(X)) * 2.0
    X[:, 7] = problem.rng.integers(0, 3, len(X))
    X[problem.rng.random(len(X)) < 0.1, 4] = np.nan
    effect = problem.rng.normal(size=30)
    code = np.nan_to_num(X[:, 4]).astype(int) // 2
    y = (effect[code] + X[:, 0] > 0).astype(int)
    model = ShareGradientBoostingClassifier(categorical_features=[4, 7], views=problem.views, **SMALL)
    there, here = both(model, X, y, library.array)
    assert_same_trees(there, here)
    assert (there.trees_.category_row >= 0).any()
    assert_array_equal(there.categories_.columns, [4, 7])
    # The user's table is as it was.
    given = library.array(X)
    clone(model).fit(given, y)
    assert_array_equal(np.asarray(gpu_table.to_host(given)), X)
    # Categories of the last fit serve when it goes on, and unknown ones count as missing.
    X[:5, 4] = 1001.0
    for model in (there, here):
        model.set_params(warm_start=True, n_estimators=4)
    assert_same_trees(there.fit(library.array(X), y), here.fit(X, y))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("signs", [[1, 0, -1, 0, 0, 0, 0, 0, 0], [1] * 9], ids=str)
def test_monotonic_constraints(library, signs):
    problem = Problem(11, n_rows=library.many_rows, gaps=True)
    model = ShareGradientBoostingClassifier(monotonic_cst=signs, **{**SMALL, "max_leaf_nodes": 9})
    there, here = both(model, problem.X, problem.y, library.array)
    assert_same_trees(there, here)


@pytest.mark.thinned(2)
def test_monotonic_constraints_of_a_median(library):
    """The quantiles of leaves are held against those of the nodes above them."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=300)
    model = ShareGradientBoostingRegressor(loss="absolute_error", monotonic_cst=[1, -1, 0], **SMALL)
    there, here = both(model, X, y, library.array)
    assert_same_trees(there, here)
    assert not np.array_equal(here.trees_.value, clone(model).set_params(monotonic_cst=None).fit(X, y).trees_.value)


@pytest.mark.thinned(2)
def test_columns_of_several_views_in_any_order(library):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(library.many_rows, 36))
    y = (X[:, 35] + X[:, 3] * X[:, 34] + rng.normal(size=len(X)) > 0).astype(int)
    X[rng.random(X.shape) < 0.02] = np.nan
    views = [np.arange(35, 0, -2), [3, 34, 35, 1], np.arange(0, 30, 7)]  # not all columns are in one
    for trees in ("joint", "per_view"):
        model = ShareGradientBoostingClassifier(views=views, trees=trees, **SMALL)
        assert_same_trees(*both(model, X, y, library.array))


def test_ties_are_settled_alike(library):
    rng = np.random.default_rng(13)
    X = rng.integers(0, 3, size=(library.many_rows, 6)).astype(float)
    X[:, 3:] = X[:, :3]
    y = (X[:, 0] + X[:, 1] > 2) ^ (rng.random(len(X)) < 0.2)
    model = ShareGradientBoostingClassifier(**{**SMALL, "max_leaf_nodes": 9})
    there, here = both(model, X, y.astype(int), library.array)
    assert_same_trees(there, here)
    assert there.trees_.column.max() < 3


@pytest.mark.thinned(2)
def test_a_run_goes_on_elsewhere(library, tmp_path):
    problem = Problem(14, n_rows=library.many_rows, gaps=True)
    model = ShareGradientBoostingClassifier(warm_start=True, **SMALL)
    here = clone(model).set_params(n_estimators=5).fit(problem.X, problem.y)
    X = library.array(problem.X)
    there = clone(model).fit(X, problem.y).set_params(n_estimators=5)
    assert_same_trees(pickle.loads(pickle.dumps(there)).fit(problem.X, problem.y), here)
    assert_same_trees(there.fit(X, problem.y), here)
    logged = clone(model).set_params(warm_start=False)
    logged.fit(X, problem.y, checkpoint=tmp_path / "log")
    assert_same_trees(logged.set_params(n_estimators=5).fit(problem.X, problem.y, checkpoint=tmp_path / "log"), here)


def test_trees_that_cannot_be_split(library):
    problem = Problem(15)
    model = ShareGradientBoostingClassifier(min_samples_leaf=80, n_estimators=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        there, here = both(model, problem.X, problem.y, library.array)
    assert_same_trees(there, here)


def test_what_is_refused(library):
    problem = Problem(16)
    X, y = library.array(problem.X), problem.y
    model = ShareGradientBoostingClassifier(**SMALL)
    with pytest.raises(ValueError, match="float32 or float64; got int64"):
        model.fit(library.array(problem.X.astype(np.int64)), y)
    with pytest.raises(ValueError, match="X holds infinity"):
        model.fit(library.array(np.where(problem.X > 1, np.inf, problem.X)), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="categorical column 2 of X has 90 categories; max_bins allows 20"):
        clone(model).set_params(categorical_features=[2], max_bins=20).fit(X, y)
    with pytest.raises(ValueError, match="y"):
        ShareGradientBoostingRegressor().fit(X, library.array(np.where(y > 0, np.nan, 1.0)))
    assert not hasattr(model, "trees_")


def test_labels_on_another_gpu_are_refused():
    problem = Problem(17)
    X, there = array_api_strict.asarray(problem.X), array_api_strict.Device("device1")
    y = array_api_strict.asarray(problem.y, device=there)
    with pytest.raises(ValueError, match="X and y must be on the same GPU"):
        ShareGradientBoostingClassifier(**SMALL).fit(X, y)


def test_rows_stay_on_the_gpu(monkeypatch):
    problem, moved = Problem(18, n_rows=4_000), []
    traffic = Traffic(monkeypatch)
    settings = {**SMALL, "max_leaf_nodes": 3, "max_bins": 15, "early_stopping": False}
    for n_estimators in (1, 2):
        before = traffic.down
        model = ShareGradientBoostingClassifier(**{**settings, "n_estimators": n_estimators})
        model.fit(array_api_strict.asarray(problem.X), problem.y)
        moved.append(traffic.down - before)
    histograms = 9 * 9 * 17 * 8 * 2  # limbs of three fields, for each of the counted leaves
    assert moved[1] - moved[0] <= histograms < 8 * len(problem.y)


@ON_GPU
@pytest.mark.parametrize("n_rows", [1_000, 300_000])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_many_rows_and_leaves(n_rows, weighted, loss):
    cupy = importlib.import_module("cupy")
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 40)).astype(np.float32)
    X[rng.random(X.shape) < 0.01] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) + rng.normal(size=n_rows)
    weights = rng.exponential(size=n_rows) if weighted else None
    settings = {"n_estimators": 5, "max_leaf_nodes": 200, "early_stopping": False, "random_state": 0}
    model = ShareGradientBoostingRegressor(loss=loss, **settings)
    here = clone(model).set_params(n_jobs=-1).fit(X, y, sample_weight=weights)
    for order in ("C", "F"):
        there = clone(model).fit(cupy.asarray(np.asarray(X, order=order)), y, sample_weight=weights)
        assert_same_trees(there, here, exact=True)


@ON_GPU
def test_sums_of_few_bits(monkeypatch):
    """Gradients of as few bits as those of many millions of rows have."""
    cupy = importlib.import_module("cupy")
    from fuselearn.boosting.gradient import losses

    monkeypatch.setattr(losses, "whole_number_bits", lambda n_rows: 40)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200_000, 33)).astype(np.float32), rng.normal(size=200_000)
    y += X[:, 0] + (X[:, 32] > 1)
    for weights in (None, rng.exponential(size=len(y))):
        model = ShareGradientBoostingRegressor(n_estimators=3, random_state=0, early_stopping=False)
        here = clone(model).fit(X, y, sample_weight=weights)
        assert_same_trees(clone(model).fit(cupy.asarray(X), y, sample_weight=weights), here, exact=True)


@ON_GPU
def test_a_gpu_of_little_shared_memory(monkeypatch):
    cupy = importlib.import_module("cupy")
    start = gradient_kernels.FusedGradients._start

    def with_little(gradients, table, tiles):
        start(gradients, table, tiles)
        gradients._shared_bytes = 2**16

    monkeypatch.setattr(gradient_kernels.FusedGradients, "_start", with_little)
    problem = Problem(19, n_rows=20_000, gaps=True)
    y = np.nan_to_num(problem.X[:, 0] * problem.X[:, 5]) + problem.rng.normal(size=len(problem.y))
    for weights in (None, problem.rng.exponential(size=len(y))):
        model = ShareGradientBoostingRegressor(n_estimators=3, random_state=0)
        there, here = both(model, problem.X, y, cupy.asarray, sample_weight=weights)
        assert_same_trees(there, here, exact=True)


def test_cuda_source_has_the_sizes_that_are_used():
    source = "".join(map(cuda_source, gradient_tiles.SOURCES))
    sizes = {name: getattr(gradient_tiles, name) for name in ("LANES", "BIN_ROWS")}
    for name in ("CHUNK", "THREADS", "PART", "SEGMENTS", "RECORD", "MOST_BINS", "LIMB_BITS"):
        sizes[name] = getattr(gradient_kernels, name)
    for name in ("NODE", "SUMS", "DEPTH", "LEFT", "SPLIT", "PARTS", "CHUNKS", "NEW_SLOT", "PARENT_SLOT"):
        sizes[name] = getattr(fused_growth, name)
    for name, size in sizes.items():
        assert f"#define {name} {size}\n" in source


@ON_GPU
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("max_leaf_nodes", [2, 31, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_whole_trees_are_those_that_grow_leaf_by_leaf(n_classes, max_leaf_nodes, weighted, monkeypatch):
    """Bit for bit: both are grown on the GPU."""
    cupy = importlib.import_module("cupy")
    problem = Problem(13, n_classes, n_rows=20_000, absent=True)
    weights = problem.rng.exponential(size=len(problem.y)) if weighted else None
    settings = {**SMALL, "n_estimators": 5, "max_bins": 255, "max_leaf_nodes": max_leaf_nodes}
    for trees in ("joint", "per_view"):
        model = ShareGradientBoostingClassifier(views=problem.views, trees=trees, **settings)
        X = cupy.asarray(problem.X)
        monkeypatch.setattr(gpu_gradient_data, "MOST_ROWS", 2**20)
        whole = clone(model).fit(X, problem.y, sample_weight=weights)
        monkeypatch.setattr(gpu_gradient_data, "MOST_ROWS", 0)
        assert_same_trees(whole, clone(model).fit(X, problem.y, sample_weight=weights), exact=True)
        assert_same_trees(whole, clone(model).fit(problem.X, problem.y, sample_weight=weights))
        assert whole.trees_.column.max() >= 0


def test_whole_trees_are_of_few_rows_and_numbers_only():
    def grows(n_rows=1000, leaves=31, **settings):
        growth = SimpleNamespace(
            categorical=np.array([False]), monotonic=np.array([0]), leaf_quantile=None, max_leaf_nodes=leaves
        )
        growth.__dict__.update(settings)
        return gpu_gradient_data._grows_whole_trees(SimpleNamespace(table=range(n_rows)), growth)

    assert grows()
    assert not grows(n_rows=2**21)
    assert not grows(leaves=100)
    assert not grows(categorical=np.array([True]))
    assert not grows(monotonic=np.array([1]))
    assert not grows(leaf_quantile=0.5)
