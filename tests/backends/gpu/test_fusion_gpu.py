"""FusionClassifier on a GPU gives the model of rows in memory; two libraries stand in for a GPU, few rows for many."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import fuselearn
from fuselearn import FusionClassifier
from fuselearn.backends.gpu import fold_sums, gpu_gradients, gpu_outliers, gpu_tree_scores
from fuselearn.backends.gpu.gpu_table import GpuTable
from fuselearn.boosting.gradient import gpu_gradient_data
from fuselearn.fusion import gpu_fusion, local_fusion
from fuselearn.fusion.base_models import catalogue
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesModel, BoostingSettings
from fuselearn.numeric.gross_outliers import ordinary_ranges
from tests.backends.gpu.gpu_problems import Problem, Traffic

SETTINGS = BoostingSettings(n_rounds=2, max_leaf_nodes=4, min_samples_leaf=10.0, n_iter_no_change=2, max_bins=31)
SUMMARIES = ("arm_weights_", "noise_rates_", "view_importances_", "class_prior_", "class_weights_", "_arm_scores")
OF_ROWS = ("posterior_", "out_of_sample_decision_")
TREES = ("column", "cut_bin", "threshold", "missing_left", "left", "right", "starts", "output")


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch, library):
    """Let a fusion take a few hundred rows for many, in small steps."""
    monkeypatch.setattr(catalogue, "MANY_ROWS", 150)
    monkeypatch.setattr(local_fusion, "n_folds_of", lambda n_rows: 2)
    monkeypatch.setattr(local_fusion, "boosting_settings", lambda n_rows, seed: SETTINGS)
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.LANDMARKS", 12)
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.LEAST_GAIN", 0.0)
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.LEAST_NATS", 0.01)
    # Three classes have matrices, however little these pay.
    monkeypatch.setattr("fuselearn.fusion.class_matrices.LEAST_GAIN", -1.0)
    monkeypatch.setattr("fuselearn.fusion.class_matrices.LEAST_NATS", -1e9)
    if library.many_rows < 1000:
        monkeypatch.setattr(fold_sums, "VALUES_AT_A_TIME", 4000)
        monkeypatch.setattr(gpu_tree_scores, "WALKERS_AT_A_TIME", 500)
        monkeypatch.setattr(gpu_gradients, "ONES_AT_A_TIME", 2**13)
    if not library.use_fused:
        monkeypatch.setattr(gpu_gradient_data, "fused_kernels", lambda arrays: None)
        monkeypatch.setattr(gpu_fusion, "fused_kernels", lambda arrays: None)


def both(problem, library, model=None, **arguments):
    """The fusion fitted on a GPU, and the one fitted here."""
    model = FusionClassifier(random_state=0) if model is None else model
    model = clone(model).set_params(views=problem.views)
    there = clone(model).fit(
        library.array(problem.X), library.array(problem.y), **{k: library.array(v) for k, v in arguments.items()}
    )
    return there, model.fit(problem.X, problem.y, **arguments)


def assert_same_fusion(there, here, problem, library):
    assert there.arms_ == here.arms_
    assert there.n_fits_ == here.n_fits_
    assert there.out_of_sample_metric_ == here.out_of_sample_metric_
    has_matrices = here._by_sums and len(here.classes_) > 2
    assert (there.arm_matrices_ is not None) == (here.arm_matrices_ is not None) == has_matrices
    for name in (*SUMMARIES, *OF_ROWS, *(["arm_matrices_"] if has_matrices else [])):
        assert_allclose(getattr(there, name), getattr(here, name), rtol=1e-9, atol=1e-9, err_msg=name)
    assert_allclose(list(there.out_of_sample_scores_.values()), list(here.out_of_sample_scores_.values()), atol=1e-9)
    for models, expected_models in zip(there.estimators_, here.estimators_, strict=True):
        assert len(models) == len(expected_models)
        for model, expected in zip(models, expected_models):
            assert type(model) is type(expected)
            if isinstance(model, BoostedTreesModel):
                for name in TREES:
                    assert_array_equal(getattr(model.trees, name), getattr(expected.trees, name), err_msg=name)
                assert_allclose(model.trees.value, expected.trees.value, rtol=1e-9, atol=1e-9)
    assert_array_equal(there._ranges, here._ranges)
    X = library.array(problem.X)
    for method in ("predict", "predict_proba", "decision_function"):
        expected, given = getattr(here, method)(problem.X), getattr(there, method)(X)
        assert type(given) is np.ndarray
        assert given.dtype == expected.dtype
        assert_allclose(given, expected, rtol=1e-8, atol=1e-9, err_msg=method)
        assert_allclose(getattr(here, method)(X), expected, rtol=1e-9, atol=1e-12, err_msg=method)
    of_here, of_there = here._out_of_fold, there._out_of_fold
    for name in ("present", "view_sums", "joint_sums", "joint_patterns", "targets"):
        assert_allclose(getattr(of_there, name), getattr(of_here, name), atol=1e-3, err_msg=name)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.long), 3])
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.long)])
def test_classes(library, n_classes, dtype):
    problem = Problem(n_classes, n_classes, n_rows=library.many_rows, gaps=True, dtype=dtype)
    there, here = both(problem, library)
    assert {learner for _, learner in there.arms_} == {"boosting", "linear", "rbf"}
    assert_same_fusion(there, here, problem, library)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("n_classes", [2, pytest.param(4, marks=pytest.mark.long)])
def test_missing_views_weights_and_groups(library, n_classes, monkeypatch):
    # Several patterns of views are calibrated, without each fold too.
    monkeypatch.setattr("fuselearn.fusion.fusion_run.LEAST_PATTERN_ROWS", 20)
    problem = Problem(11, n_classes, n_rows=library.many_rows, absent=True)
    weights = problem.rng.integers(0, 3, len(problem.y)).astype(float)
    groups = problem.rng.integers(0, 80, len(problem.y))
    model = FusionClassifier(class_weight="balanced", random_state=0)
    there, here = both(problem, library, model, sample_weight=weights, groups=groups)
    assert np.isnan(there.posterior_).any()
    assert_same_fusion(there, here, problem, library)


@pytest.mark.thinned(2)
def test_labels_by_view_and_learners_of_the_host(library):
    """A classifier is fitted on a subsample in memory, and its values go to the GPU."""
    problem = Problem(7, n_rows=library.many_rows)
    labels = np.where(problem.rng.random((len(problem.y), 3)) < 0.1, 1 - problem.y[:, None], problem.y[:, None])
    model = FusionClassifier(learners=["linear", GaussianNB()], random_state=0)
    there, here = both(problem, library, model, view_labels=labels)
    assert there.label_columns_ == ["a", "b", "c"]
    assert_same_fusion(there, here, problem, library)


@pytest.mark.thinned(2)
def test_few_rows_are_fitted_in_memory(library):
    problem = Problem(3, n_rows=100, gaps=True)
    there, here = both(problem, library, FusionClassifier(learners="linear", random_state=0))
    assert not there._by_sums
    has_matrices = here._by_sums and len(here.classes_) > 2
    assert (there.arm_matrices_ is not None) == (here.arm_matrices_ is not None) == has_matrices
    for name in (*SUMMARIES, *OF_ROWS, *(["arm_matrices_"] if has_matrices else [])):
        assert_array_equal(getattr(there, name), getattr(here, name), err_msg=name)
    assert_array_equal(there.predict_proba(library.array(problem.X)), here.predict_proba(problem.X))


@pytest.mark.thinned(2)
def test_few_rows_that_count_are_fitted_in_memory(library):
    problem = Problem(3, n_rows=200)
    weights = (np.arange(200) < 120).astype(float)
    there, here = both(problem, library, FusionClassifier(learners="linear", random_state=0), sample_weight=weights)
    assert not there._by_sums
    assert_array_equal(there.posterior_, here.posterior_)


def test_gross_outliers_are_cut_off_there_too(library):
    problem = Problem(5, n_rows=200)
    problem.X[7, 2], problem.X[9, 4] = 1e25, -1e18
    problem.X[:, 6] *= 1e150
    model = FusionClassifier(views=problem.views, learners="linear", random_state=0)
    with pytest.warns(
        UserWarning, match=r"X has 2 gross outliers.*1e\+25 in column 2, row 7; -1e\+18 in column 4, row"
    ):
        there = clone(model).fit(library.array(problem.X), problem.y)
    with pytest.warns(UserWarning, match="gross outliers"):
        here = model.fit(problem.X, problem.y)
    assert_same_fusion(there, here, problem, library)
    assert there._ranges[4, 6] != 1


def test_ranges_of_columns(library):
    rng = np.random.default_rng(0)
    tables = [
        rng.normal(size=(300, 4)),
        np.where(rng.random((300, 4)) < 0.8, 0.0, rng.lognormal(size=(300, 4))),
        np.column_stack([np.full(300, np.nan), rng.normal(size=(300, 2)), np.ones(300)]),
    ]
    tables[1][3, 1], tables[2][5, 3] = 1e12, 1e30
    for table in tables:
        for dtype in (np.float32, np.float64):
            X = table.astype(dtype)
            given = gpu_outliers._ordinary_ranges(GpuTable(library.array(X)))
            assert_array_equal(given, ordinary_ranges(X))


@pytest.mark.thinned(2)
def test_a_fit_goes_on_from_its_log(library, tmp_path, monkeypatch):
    """On the GPU, or in memory: it is the same data."""
    problem = Problem(2, n_rows=library.many_rows)
    model = FusionClassifier(views=problem.views, random_state=0)
    path = tmp_path / "fit.log"
    there = clone(model).fit(library.array(problem.X), problem.y, checkpoint=path)
    assert os.path.getsize(path)

    def refuse(*arguments):
        raise AssertionError("the trees are in the log")

    monkeypatch.setattr(local_fusion, "boosting_arms", refuse)
    again = clone(model).fit(library.array(problem.X), problem.y, checkpoint=path)
    assert_array_equal(again.predict_proba(problem.X), there.predict_proba(problem.X))
    in_memory = clone(model).fit(problem.X, problem.y, checkpoint=path)
    assert_allclose(in_memory.predict_proba(problem.X), there.predict_proba(problem.X), rtol=1e-9)


@pytest.mark.thinned(2)
def test_a_model_is_saved_and_predicts_anywhere(library, tmp_path):
    problem = Problem(2, n_rows=library.many_rows)
    model = FusionClassifier(views=problem.views, random_state=0).fit(library.array(problem.X), problem.y)
    fuselearn.save(model, tmp_path / "model.fuse")
    loaded = fuselearn.load(tmp_path / "model.fuse")
    assert_array_equal(loaded.predict_proba(library.array(problem.X)), model.predict_proba(library.array(problem.X)))
    assert_allclose(loaded.predict_proba(problem.X), model.predict_proba(library.array(problem.X)), atol=1e-12)


def test_bad_input_is_named(library):
    problem = Problem(2, n_rows=200)
    model = FusionClassifier(views=problem.views, learners="linear", random_state=0)
    with pytest.raises(ValueError, match=r"X on a GPU must be float32 or float64; got int64"):
        clone(model).fit(library.array(np.ones((200, 9), dtype=np.int64)), problem.y)
    infinite = problem.X.copy()
    infinite[3, 3] = np.inf
    with pytest.raises(ValueError, match="X holds infinity"):
        clone(model).fit(library.array(infinite), problem.y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(model).fit(library.array(problem.X), problem.y[:-1])
    model.fit(library.array(problem.X), problem.y)
    with pytest.raises(ValueError, match="X has 8 features, but FusionClassifier is expecting 9"):
        model.predict(library.array(problem.X[:, :8]))
    with pytest.raises(ValueError, match="X holds infinity"):
        model.predict(library.array(infinite))


def test_the_table_stays_on_the_gpu(monkeypatch, library):
    if library.name != "array_api_strict":
        pytest.skip("traffic is counted where array_api_strict stands in")
    problem = Problem(2, n_rows=300)
    model = FusionClassifier(views=problem.views, learners=["linear", "rbf"], random_state=0)
    traffic = Traffic(monkeypatch)
    model.fit(library.array(problem.X), problem.y)
    values = 8 * 300 * len(model.arms_)
    sums = sum(2 * 8 * (n + 1) * (n + 2) for n in (9, 12, 12)) * 3
    # Ordinary ranges are those of all of so few rows.
    assert traffic.down < problem.X.nbytes + 2 * values + 10 * sums
    traffic.down = 0
    model.predict_proba(library.array(problem.X))
    assert traffic.down < values + 8 * 300


def test_trees_are_walked_as_on_the_host(library):
    """Bit for bit, with missing values and any number of classes."""
    for n_classes in (2, 3):
        problem = Problem(4, n_classes, n_rows=library.many_rows, gaps=True, dtype=np.float32)
        model = FusionClassifier(views=problem.views, learners="boosting", random_state=0).fit(problem.X, problem.y)
        predictor = gpu_fusion.GpuPredictor(GpuTable(library.array(problem.X)))
        arrays = predictor.table.arrays
        some = np.arange(5, len(problem.X), 3)
        for trees in (trees for models in model.estimators_ for trees in models):
            everything = np.arange(9)
            expected = trees.predict(problem.X.astype(np.float64))
            given = arrays.to_host(predictor.predict(trees, everything))
            few = arrays.to_host(predictor.predict(trees, everything, arrays.from_host(some)))
            having = ~np.isnan(expected).any(axis=1)
            compare = assert_array_equal if n_classes == 2 else lambda a, b: assert_allclose(a, b, atol=1e-15)
            compare(given[having], expected[having])
            compare(few[having[some]], expected[some][having[some]])


def test_labels_on_a_gpu_of_rows_in_memory(library):
    problem = Problem(2, n_rows=200)
    model = FusionClassifier(views=problem.views, learners="linear", random_state=0)
    there = clone(model).fit(problem.X, library.array(problem.y))
    assert_array_equal(there.predict_proba(problem.X), model.fit(problem.X, problem.y).predict_proba(problem.X))
