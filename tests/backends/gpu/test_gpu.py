"""What is fitted on a device equals what is fitted here.

The code for devices runs on NumPy in the words of CuPy (`cupy_stand_in`) and on `array_api_strict`, which has what the
array API standard has and nothing else. Where a GPU is found the same tests run on it, with CuPy's fused kernels and
with torch; elsewhere they are skipped.
"""

import importlib
import pickle
import sys
import warnings
from importlib.util import find_spec
from itertools import pairwise
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    FusionClassifier,
    IndependentBoostClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    NSBoostClassifier,
    RSBagClassifier,
    ShareBoostClassifier,
    TomographicClassifier,
    ViewVotingClassifier,
    compare,
)
from fuselearn.backends.gpu import (
    fused as device_fused,
)
from fuselearn.backends.gpu import kernels as device_composition
from fuselearn.backends.gpu import multilabel as device_losses
from fuselearn.backends.gpu import multilabel as device_pool
from fuselearn.backends.gpu import (
    prepared_views as device_bins,
)
from fuselearn.backends.gpu import (
    prepared_views as device_columns,
)
from fuselearn.backends.gpu import (
    rows as device,
)
from fuselearn.backends.gpu import (
    table as device_table,
)
from fuselearn.backends.gpu.arrays import StandardArrays, TorchArrays, arrays_of, is_device_array, on_host
from fuselearn.backends.gpu.fused import FusedKernels, _packed, _pieces, fused
from fuselearn.backends.gpu.kernels import mean_squared_distance, squared_distances
from fuselearn.backends.gpu.multilabel import DeviceJointLoss, DevicePool, FusedLosses, PlainLosses, safe_steps_of_all
from fuselearn.backends.protocol import kind_of
from fuselearn.evaluation import add_feature_noise
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.inspection import view_importance
from fuselearn.kernels import (
    augmented_kernel,
    composite_kernel,
    composite_test_kernel,
    tomographic_correspondence,
)
from fuselearn.learners import Tree
from fuselearn.multilabel.base_models import Candidate
from fuselearn.multilabel.pool import JointLoss
from fuselearn.numeric import pairs
from fuselearn.numeric.logistic import safe_steps
from tests.backends.gpu import cupy_stand_in


def _gpu_is_found():
    if find_spec("cupy") is None:
        return False
    cupy = importlib.import_module("cupy")
    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


ON_GPU = pytest.mark.skipif(not _gpu_is_found(), reason="no GPU is found, or CuPy is not installed")
ON_TORCH = pytest.mark.skipif(
    not _gpu_is_found() or find_spec("torch") is None, reason="no GPU is found, or torch is not installed"
)
LEARNERS = ("gaussian_nb", "stump", "tree", "linear")
STEPS = [
    (device_table, "VALUES_AT_A_TIME", 500),
    (device_columns, "VALUES_AT_A_TIME", 500),
    (device_bins, "ONES_AT_A_TIME", 2**15),
    (device_losses, "VALUES_AT_A_TIME", 500),
    (device_pool, "VALUES_AT_A_TIME", 500),
    (device_composition, "VALUES_AT_A_TIME", 500),
]
"""How much plain operations work on at a time, and how little it is here."""


class Library:
    """How to make arrays of a library, and how exactly a fit with them must equal one here."""

    def __init__(self, name, use_fused=True):
        self.name, self.use_fused = name, use_fused
        self.many_rows = 300 if name in ("numpy", "array_api_strict") else 9_000  # several blocks of either

    def array(self, values):
        if values is None:
            return None
        values = np.array(values)
        if self.name == "numpy":
            with cupy_stand_in.Device(1):  # which is not the current one
                return cupy_stand_in.StandIn().asarray(values)
        if self.name == "array_api_strict":
            return array_api_strict.asarray(values, device=array_api_strict.Device("device1"))  # NumPy cannot read it
        if self.name == "cupy":
            return importlib.import_module("cupy").asarray(values)
        return importlib.import_module("torch").asarray(values, device="cuda")


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
    """Arrays of every library; two of them are for lack of a device."""
    if request.param.name == "numpy":
        monkeypatch.setitem(sys.modules, "cupy", cupy_stand_in.StandIn())
    if request.param.name in ("numpy", "array_api_strict"):
        # Steps so small that even a few rows take several.
        for module, name, step in STEPS:
            monkeypatch.setattr(module, name, step)
    if not request.param.use_fused:
        monkeypatch.setattr(device, "fused", lambda arrays: None)
        monkeypatch.setattr(device_pool, "fused", lambda arrays: None)
    return request.param


class Problem:
    """Random rows in three views, the second of which has its columns in another order."""

    def __init__(self, seed, n_classes=2, n_rows=90, absent=False, gaps=False, dtype=np.float64):
        rng = np.random.default_rng(seed)
        self.y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
        X = rng.normal(size=(n_rows, 9)) + 0.6 * rng.normal(size=(n_classes, 9))[self.y]
        self.views = {"a": slice(0, 3), "b": [3, 5, 4], "c": slice(6, 9)}
        if gaps:
            X[rng.random(X.shape) < 0.1] = np.nan
        if absent:
            here = rng.random((n_rows, 3)) > 0.3
            here[np.arange(n_rows), np.arange(n_rows) % 3] = True
            X[~np.repeat(here, 3, axis=1)] = np.nan
        X[np.isnan(X).all(axis=1), 0] = 0.0
        self.X = X.astype(dtype)
        self.n_classes = n_classes
        self.rng = rng


def assert_same_model(there, here, atol=1e-9):
    assert there.n_iter_ == here.n_iter_
    assert_array_equal(there.winning_arms_, here.winning_arms_)
    assert_allclose(there.estimator_weights_, here.estimator_weights_, atol=atol)
    assert_allclose(there.arm_errors_, here.arm_errors_, atol=atol)
    assert_allclose(there.class_prior_, here.class_prior_)
    assert_array_equal(there.classes_, here.classes_)
    assert there.view_names_ == here.view_names_


def fitted(model, problem, array=lambda values: values, **said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEdgeWarning)
        said = {name: array(values) for name, values in said.items()}
        return model.fit(array(problem.X), array(problem.y), **said)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("lack", ["nothing", "absent", "gaps"])
def test_fit_equals_the_fit_here(library, learner, n_classes, lack):
    problem = Problem(5, n_classes, absent=lack == "absent", gaps=lack == "gaps")
    model = ShareBoostClassifier(learner, views=problem.views, n_estimators=8, random_state=0)
    here = fitted(model, problem)
    weights_here = list(here.staged_sample_weights(problem.X, problem.y))
    predicted = here.predict(problem.X)
    there = fitted(clone(model), problem, library.array)
    assert_same_model(there, here)
    assert_array_equal(there.predict(library.array(problem.X)), predicted)
    weights_there = list(there.staged_sample_weights(library.array(problem.X), library.array(problem.y)))
    assert_allclose(np.array(weights_there), np.array(weights_here), atol=1e-10)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    "options",
    [
        {"view_policy": "exp3p"},
        {"resample": True},
        {"resample": True, "error": "out_of_bag"},
        {"learning_rate": 0.3},
        {"preprocess": PCA(2)},
    ],
    ids=["exp3p", "resample", "out_of_bag", "learning_rate", "preprocess"],
)
def test_every_kind_of_run(library, learner, options):
    problem = Problem(1, 3)
    settings_ = {"views": problem.views, "n_estimators": 6, "random_state": 3, **options}
    here = fitted(ShareBoostClassifier(learner, **settings_), problem)
    there = fitted(ShareBoostClassifier(learner, **settings_), problem, library.array)
    assert_same_model(there, here)


@pytest.mark.parametrize("learner", ["gaussian_nb", "stump"])
@pytest.mark.parametrize("model", [ShareBoostClassifier, IndependentBoostClassifier])
def test_weights_and_own_labels(library, learner, model):
    problem = Problem(2, 3, absent=True)
    own = np.repeat(problem.y[:, None], 3, axis=1)
    wrong = problem.rng.random(own.shape) < 0.2
    own[wrong] = (own[wrong] + 1) % 3
    weights = problem.rng.exponential(size=len(own))
    weights[:4] = 0.0
    said = {"view_labels": own, "sample_weight": weights}
    here = fitted(model(learner, views=problem.views, n_estimators=6, random_state=0), problem, **said)
    there = fitted(model(learner, views=problem.views, n_estimators=6, random_state=0), problem, library.array, **said)
    assert_same_model(there, here)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.sampled_from([2, 3]),
    learner=st.sampled_from(LEARNERS),
    absent=st.booleans(),
    gaps=st.booleans(),
)
def test_random_problems(seed, n_classes, learner, absent, gaps):
    problem = Problem(seed, n_classes, n_rows=30, absent=absent, gaps=gaps)
    model = ShareBoostClassifier(learner, views=problem.views, n_estimators=4, random_state=0)
    here = fitted(model, problem)
    there = fitted(clone(model), problem, array_api_strict.asarray)
    assert_same_model(there, here)


@pytest.mark.parametrize("learner", ["gaussian_nb", "stump", Tree(3, impurity_tolerance=0.0)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lack", ["nothing", "absent", "gaps"])
def test_several_blocks_of_rows(library, learner, dtype, lack):
    problem = Problem(3, 3, n_rows=library.many_rows, absent=lack == "absent", gaps=lack == "gaps", dtype=dtype)
    model = ShareBoostClassifier(learner, views=problem.views, n_estimators=3, random_state=0)
    here = fitted(model, problem)
    there = fitted(clone(model), problem, library.array)
    assert_same_model(there, here)


def test_columns_far_from_zero_and_constant_ones(library):
    problem = Problem(4)
    problem.X += 1e8
    problem.X[:, 1] = 7.3
    problem.X[problem.y == 1, 4] = 0.1  # constant in one class
    model = ShareBoostClassifier(views=problem.views, n_estimators=5)
    here = fitted(model, problem)
    there = fitted(clone(model), problem, library.array)
    assert_same_model(there, here, atol=1e-6)


@pytest.mark.parametrize("learner", ["gaussian_nb", "stump"])
def test_tables_that_stand_otherwise_in_memory(library, learner):
    problem = Problem(14, absent=True)
    here = ShareBoostClassifier(learner, views=problem.views, n_estimators=4).fit(problem.X, problem.y)
    columns_together = library.array(np.ascontiguousarray(problem.X.T)).T
    there = ShareBoostClassifier(learner, views=problem.views, n_estimators=4).fit(columns_together, problem.y)
    assert_same_model(there, here)


def test_a_level_of_many_nodes(library, monkeypatch):
    monkeypatch.setattr(device_fused, "MOST_GROUP_SUMS", 1)
    problem = Problem(15, 3, n_rows=150)
    deep = Tree(6, impurity_tolerance=0.0)
    here = fitted(ShareBoostClassifier(deep, views=problem.views, n_estimators=3), problem)
    there = fitted(ShareBoostClassifier(deep, views=problem.views, n_estimators=3), problem, library.array)
    assert_same_model(there, here)


def test_one_view_many_classes_and_few_rows(library):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(np.arange(20), 3)
    here = ShareBoostClassifier(n_estimators=3).fit(X, y)
    there = ShareBoostClassifier(n_estimators=3).fit(library.array(X), library.array(y))
    assert_same_model(there, here)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_fit_twice_is_the_same_bit_for_bit(library, learner):
    problem = Problem(6, 3, n_rows=library.many_rows, gaps=True)
    one, other = (
        fitted(
            ShareBoostClassifier(learner, views=problem.views, n_estimators=5, random_state=0), problem, library.array
        )
        for _ in range(2)
    )
    assert_array_equal(one.estimator_weights_, other.estimator_weights_)
    assert_array_equal(one.arm_errors_, other.arm_errors_)


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_comes_out_is_an_ordinary_model(library, learner):
    problem = Problem(7)
    settings_ = {"views": problem.views, "random_state": 0, "warm_start": True}
    model = fitted(ShareBoostClassifier(learner, n_estimators=3, **settings_), problem, library.array)
    for hypothesis in model.estimators_:
        for value in [*vars(hypothesis).values(), *vars(hypothesis.plan).values()]:
            assert type(value) is np.ndarray or not hasattr(value, "shape")
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict(problem.X), model.predict(problem.X))
    # It goes on here where it stood there.
    fitted(model.set_params(n_estimators=6), problem)
    assert_same_model(model, fitted(ShareBoostClassifier(learner, n_estimators=6, **settings_), problem))


def test_labels_may_be_here_and_words(library):
    problem = Problem(8)
    words = np.array(["no", "yes"])[problem.y]
    here = ShareBoostClassifier(views=problem.views, n_estimators=3).fit(problem.X, words)
    there = ShareBoostClassifier(views=problem.views, n_estimators=3).fit(library.array(problem.X), words)
    assert_same_model(there, here)


BAD_TABLES = {
    "half precision": (lambda X: X.astype(np.float16), "float32 or float64; got float16"),
    "whole numbers": (lambda X: X.astype(np.int64), "float32 or float64; got int64"),
    "infinity": (lambda X: np.where(X > 1, np.inf, X), "X holds infinity"),
    "one dimension": (lambda X: X[:, 0], "X must be 2-D"),
    "no rows": (lambda X: X[:0], "at least one row"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables_are_refused(library, case):
    change, message = BAD_TABLES[case]
    if library.name == "array_api_strict" and case == "half precision":
        pytest.skip("the standard has no half precision")
    problem = Problem(9)
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier().fit(library.array(change(problem.X)), library.array(problem.y))


def test_bad_labels_are_refused(library):
    problem = Problem(10)
    X = library.array(problem.X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ShareBoostClassifier().fit(X, library.array(problem.y[:-1]))

    class NotAnArray:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("somewhere else")

    with pytest.raises(TypeError, match="y must be an array that NumPy can read"):
        ShareBoostClassifier().fit(X, NotAnArray())


@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_arrays_on_different_devices_are_refused(name):
    problem = Problem(11)
    X, y = array_api_strict.asarray(problem.X), array_api_strict.asarray(problem.y)
    other = array_api_strict.asarray(np.ones(len(problem.y)), device=array_api_strict.Device("device1"))
    said = {"y": y, "sample_weight": None, name: other}
    with pytest.raises(ValueError, match=f"X and {name} must be on one device"):
        ShareBoostClassifier().fit(X, **said)


def test_other_learners_are_refused(library):
    problem = Problem(12)
    with pytest.raises(TypeError, match=r"SVC.* cannot be fitted on a device; there are 'gaussian_nb'"):
        fitted(ShareBoostClassifier(SVC()), problem, library.array)


def test_other_columns_are_refused(library):
    problem = Problem(13)
    model = fitted(ShareBoostClassifier(n_estimators=2, warm_start=True), problem, library.array)
    with pytest.raises(ValueError, match="X has 4 features, but ShareBoostClassifier is expecting 9"):
        model.fit(library.array(problem.X[:, :4]), library.array(problem.y))


def test_without_cupy_plain_operations_are_used(monkeypatch):
    assert fused(arrays_of(np.zeros(1))) is None
    assert fused(arrays_of(array_api_strict.zeros(1))) is None

    def no_such_module(name):
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(device_fused, "import_module", no_such_module)
    assert fused(TorchArrays(None, "cuda:0")) is None


def labels_problem(seed):
    X, Y = make_multilabel_classification(n_samples=150, n_classes=5, random_state=seed)
    return X.astype(float), Y


@pytest.mark.parametrize("model", [MSSBoostClassifier, NSBoostClassifier, RSBagClassifier])
@pytest.mark.parametrize(
    "options",
    [{}, {"significance": 1.0}, {"pool_size": 3}, {"pool_size": 9, "estimator": DecisionTreeClassifier(max_depth=2)}],
    ids=["default", "no test", "small pool", "large pool"],
)
def test_many_labels_equal_those_here(library, model, options):
    X, Y = labels_problem(0)
    settings_ = {"n_estimators": 8, "feature_ratio": 0.4, "random_state": 0, **options}
    here = model(**settings_).fit(X, Y)
    there = model(**settings_).fit(library.array(X), library.array(Y))
    assert_array_equal(there.source_labels_, here.source_labels_)
    assert_allclose(there.label_weights_, here.label_weights_, atol=1e-9)
    assert_allclose(there.loss_curve_, here.loss_curve_)
    assert_array_equal(there.predict(library.array(X)), here.predict(X))


def test_candidates_are_evaluated_exactly(library):
    rng = np.random.default_rng(0)
    n_candidates, n_labels, n_rows = 7, 5, library.many_rows
    signs = rng.choice([-1, 1], size=(n_labels, n_rows)).astype(np.int8)
    outputs = np.tanh(rng.normal(size=(n_candidates, n_rows)))
    joint = JointLoss(signs)
    joint.add(rng.normal(size=n_labels), np.tanh(rng.normal(size=n_rows)))
    there = DeviceJointLoss(signs, arrays_of(library.array(np.zeros(1))), use_fused=library.use_fused)
    with there.arrays.current():
        there.margins[:, :] = there.arrays.from_host(joint.margins)
    # Steps in every direction, many too long, and some that no halving saves.
    newton = rng.normal(size=(n_candidates, n_labels)) * rng.choice(
        [0.0, 0.01, 1.0, 30.0], size=(n_candidates, n_labels)
    )
    kind = FusedLosses if there.losses_of is FusedLosses else PlainLosses
    losses_of = kind(there.arrays, there.arrays.from_host(outputs), there.device_signs, there.margins)
    with there.arrays.current():
        weights, losses = safe_steps_of_all(losses_of, newton, joint.losses)
    for candidate in range(n_candidates):
        expected, expected_losses = np.zeros(n_labels), joint.losses.copy()
        labels = np.flatnonzero(newton[candidate])
        steps = newton[candidate]
        safe_steps(labels, steps, outputs[candidate], signs, joint.margins, joint.losses, expected, expected_losses)
        assert_array_equal(weights[candidate], expected)
        assert_allclose(losses[candidate], expected_losses, rtol=1e-12)
    halved = (weights != newton) & (weights != 0)
    assert halved.any()
    assert ((weights == 0) & (newton != 0)).any()


def test_joint_loss_on_a_device(library):
    rng = np.random.default_rng(1)
    signs = rng.choice([-1, 1], size=(4, 50)).astype(np.int8)
    here = JointLoss(signs)
    there = DeviceJointLoss(signs, arrays_of(library.array(np.zeros(1))), use_fused=library.use_fused)
    for scale in (1.0, 50.0):
        weights, outputs = scale * rng.normal(size=4), np.tanh(rng.normal(size=50))
        weights[1] = 0.0
        assert_array_equal(there.add(weights, outputs), here.add(weights, outputs))
        for name in ("margins", "residuals", "curvatures"):
            assert_allclose(there.arrays.to_host(getattr(there, name)), getattr(here, name), rtol=1e-10, atol=1e-14)
        assert_allclose(there.losses, here.losses)


def test_bad_labels_of_many_are_refused():
    X, Y = labels_problem(1)
    there = array_api_strict.asarray(X)
    other = array_api_strict.asarray(Y, device=array_api_strict.Device("device1"))
    with pytest.raises(ValueError, match="X and Y must be on one device"):
        MSSBoostClassifier().fit(there, other)
    with pytest.raises(ValueError, match="float32 or float64"):
        MSSBoostClassifier().fit(array_api_strict.asarray(Y), Y)


@pytest.fixture
def grams():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(30, 3)), rng.normal(size=(25, 4))
    return [table @ table.T for table in points], rng


def test_kernels_on_a_device(library, grams):
    kernels, rng = grams
    there = [library.array(kernel) for kernel in kernels]
    meta_objects = np.column_stack([rng.integers(len(kernel), size=40) for kernel in kernels])
    composite = composite_kernel(there, meta_objects, weights=[1.0, 0.5])
    assert is_device_array(composite)
    assert_allclose(on_host(composite), composite_kernel(kernels, meta_objects, weights=[1.0, 0.5]))
    test_kernels = [kernel[:6, :] for kernel in kernels]
    of_test = composite_test_kernel([library.array(kernel) for kernel in test_kernels], meta_objects)
    assert_allclose(on_host(of_test), composite_test_kernel(test_kernels, meta_objects))
    assert_allclose(on_host(augmented_kernel(there)), augmented_kernel(kernels))
    for one, other in zip(there, kernels):
        assert_allclose(on_host(squared_distances(one)), pairs.squared_distances(other), atol=1e-12)
        assert mean_squared_distance(one) == pytest.approx(pairs.mean_squared_distance(other))
    labels = [rng.integers(2, size=len(kernel)) for kernel in kernels]
    found, expected = (tomographic_correspondence(some, labels, random_state=0) for some in (there, kernels))
    assert_array_equal(found[0], expected[0])


def test_bad_kernels_are_refused(grams):
    kernels, _ = grams
    there = [array_api_strict.asarray(kernel) for kernel in kernels]
    meta_objects = [[0, 0], [1, 1]]
    with pytest.raises(ValueError, match=r"kernels must be on one device; they are on .*the host"):
        composite_kernel([there[0], kernels[1]], meta_objects)
    elsewhere = array_api_strict.asarray(kernels[1], device=array_api_strict.Device("device1"))
    with pytest.raises(ValueError, match="kernels must be on one device"):
        composite_kernel([there[0], elsewhere], meta_objects)
    with pytest.raises(ValueError, match=r"kernels\[0\] must be a square matrix"):
        composite_kernel([there[0][:5, :], there[1]], meta_objects)
    lopsided = kernels[0].copy()
    lopsided[0, 1] += 1.0
    with pytest.raises(ValueError, match=r"kernels\[0\] must be symmetric"):
        composite_kernel([array_api_strict.asarray(lopsided), there[1]], meta_objects)
    with pytest.raises(ValueError, match=r"kernels\[0\] holds NaN"):
        composite_kernel([there[0] * np.nan, there[1]], meta_objects)
    with pytest.raises(ValueError, match=r"kernels\[0\] must be float32 or float64; got int32"):
        composite_kernel([array_api_strict.zeros((3, 3), dtype=array_api_strict.int32), there[1]], meta_objects)


def test_labels_per_view_in_a_data_frame_go_by_its_names(library):
    problem = Problem(16)
    own = np.repeat(problem.y[:, None], 3, axis=1)
    own[:, 0] = np.where(problem.rng.random(len(own)) < 0.4, 1 - problem.y, problem.y)
    frame = pd.DataFrame({"c": own[:, 2], "a": own[:, 0], "b": own[:, 1]})
    model = ShareBoostClassifier(views=problem.views, n_estimators=4)
    here = clone(model).fit(problem.X, problem.y, view_labels=frame)
    there = clone(model).fit(library.array(problem.X), library.array(problem.y), view_labels=frame)
    assert_same_model(there, here)


@pytest.mark.parametrize("n_columns", [33, 65, 130])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("learner", LEARNERS)
def test_wide_views(library, n_columns, n_classes, learner):
    rng = np.random.default_rng(n_columns)
    y = rng.permutation(np.arange(160) % n_classes)
    X = rng.normal(size=(160, 2 * n_columns)) + 0.3 * rng.normal(size=(n_classes, 2 * n_columns))[y]
    X[rng.random(X.shape) < 0.02] = np.nan
    X[:20, :n_columns] = np.nan
    model = ShareBoostClassifier(learner, views=[slice(0, n_columns), slice(n_columns, None)], n_estimators=3)
    here = clone(model).fit(X, y)
    there = clone(model).fit(library.array(X), library.array(y))
    assert_same_model(there, here)


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6), size=st.integers(1, 16))
def test_pieces_cover_every_group_and_cross_no_border(sizes, size):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    first, last, piece_starts = _pieces(starts, size)
    assert len(piece_starts) == len(starts)
    for group, (start, stop) in enumerate(pairwise(starts)):
        own = slice(piece_starts[group], piece_starts[group + 1])
        rows = [row for one, other in zip(first[own], last[own]) for row in range(one, other)]
        assert rows == list(range(start, stop))
    assert_array_equal(first // size, (last - 1) // size)


@pytest.mark.parametrize("n_forms", [1, 3, 4, 5, 8])
@pytest.mark.parametrize("gaps", [False, True])
def test_packed_forms_give_the_same_scores(n_forms, gaps):
    rng = np.random.default_rng(n_forms)
    n_columns, at_a_time = 7, 1 if n_forms == 1 else device_fused.FORMS_AT_A_TIME
    plan = SimpleNamespace(means=rng.normal(size=n_columns), scales=rng.exponential(size=n_columns))
    squares, slopes, column_constants = rng.normal(size=(3, n_forms, n_columns))
    constants = rng.normal(size=n_forms)
    parts = {"squares": squares, "slopes": slopes, "column_constants": column_constants, "constants": constants}
    coefficients, packed_constants = _packed(SimpleNamespace(plan=plan, **parts), at_a_time, gaps)
    x = rng.normal(size=n_columns)
    z = (x - plan.means) / plan.scales
    for form in range(n_forms):
        # As the kernel reads them.
        group, place = divmod(form, at_a_time)
        score = packed_constants[form]
        for own in np.column_stack([x, coefficients[group]]):
            standardised = (own[0] - own[1]) * own[2]
            a, b, c = own[3 + 3 * place : 6 + 3 * place]
            score += standardised * (b + standardised * a) + (c if gaps else 0.0)
        expected = constants[form] + (squares[form] * z**2 + slopes[form] * z + column_constants[form]).sum()
        assert score == pytest.approx(expected)
    assert_array_equal(packed_constants[n_forms:], 0)


def test_scores_and_bounds_of_labels_on_a_device(library):
    problem = Problem(17)
    X, y = library.array(problem.X), library.array(problem.y)
    weights = problem.rng.exponential(size=len(problem.y))
    for kind in (ShareBoostClassifier, IndependentBoostClassifier):
        model = fitted(kind(views=problem.views, n_estimators=4), problem)
        assert model.score(X, y) == model.score(problem.X, problem.y)
        assert model.score(X, y, library.array(weights)) == model.score(problem.X, problem.y, weights)
    model = fitted(ShareBoostClassifier(views=problem.views, n_estimators=4), problem)
    assert model.bounds(X, y) == model.bounds(problem.X, problem.y)
    X, Y = labels_problem(2)
    model = MSSBoostClassifier(n_estimators=4, random_state=0).fit(X, Y)
    assert model.score(library.array(X), library.array(Y)) == model.score(X, Y)


def test_what_is_said_of_rows_on_the_host_may_be_on_a_device(library):
    problem = Problem(18)
    own = np.repeat(problem.y[:, None], 3, axis=1)
    said = {"y": problem.y, "sample_weight": problem.rng.exponential(size=len(own)), "view_labels": own}
    model = ShareBoostClassifier(views=problem.views, n_estimators=3)
    there = clone(model).fit(problem.X, **{name: library.array(values) for name, values in said.items()})
    assert_same_model(there, clone(model).fit(problem.X, **said), atol=0)
    X, Y = labels_problem(2)
    there, here = (MSSBoostClassifier(n_estimators=4, random_state=0).fit(X, some) for some in (library.array(Y), Y))
    assert_array_equal(there.label_weights_, here.label_weights_)


@pytest.mark.parametrize(
    "model",
    [ViewVotingClassifier(SVC()), TomographicClassifier(), MKLClassifier(), FusionClassifier(), LabelConsensus()],
    ids=lambda model: type(model).__name__,
)
def test_who_reads_on_the_host_says_so(library, model):
    problem = Problem(19)
    name = type(model).__name__
    model = clone(model).set_params(views=problem.views)
    with pytest.raises(TypeError, match=rf"{name} reads X on the host.*X\.cpu\(\)\.numpy\(\).*ShareBoostClassifier"):
        model.fit(library.array(problem.X), problem.y)
    with pytest.raises(TypeError, match=f"{name} reads y on the host"):
        model.fit(problem.X, library.array(problem.y))


@pytest.mark.parametrize(
    "model",
    [MKLClassifier(), FusionClassifier(max_fits=1), ViewVotingClassifier(SVC())],
    ids=lambda model: type(model).__name__,
)
def test_rows_to_predict_are_refused_in_the_same_words(library, model):
    problem = Problem(19)
    model = clone(model).set_params(views=problem.views).fit(problem.X, problem.y)
    with pytest.raises(TypeError, match=f"{type(model).__name__} reads X on the host"):
        model.predict(library.array(problem.X))


def test_who_compares_and_inspects_reads_on_the_host(library):
    problem = Problem(19)
    there, views = library.array(problem.X), problem.views
    model = ShareBoostClassifier(views=views, n_estimators=2).fit(problem.X, problem.y)
    with pytest.raises(TypeError, match="compare reads X on the host"):
        compare(there, problem.y, views=views)
    with pytest.raises(TypeError, match="add_feature_noise reads X on the host"):
        add_feature_noise(there, views, 1.0)
    with pytest.raises(TypeError, match=r"fuselearn\.inspection reads X on the host"):
        view_importance(model, there, problem.y, method="permutation")
    with pytest.raises(TypeError, match=r"fuselearn\.inspection reads y on the host"):
        view_importance(model, problem.X, library.array(problem.y), method="permutation")


def test_rounds_of_other_learners_cannot_go_on_there(library):
    problem = Problem(20)
    tree = DecisionTreeClassifier(max_depth=1)
    model = ShareBoostClassifier(tree, views=problem.views, n_estimators=2, warm_start=True, random_state=0)
    fitted(model, problem).set_params(estimator="gaussian_nb", n_estimators=4)
    with pytest.raises(TypeError, match=r"DecisionTreeClassifier, of which .* cannot be fitted on a device; there are"):
        fitted(model, problem, library.array)
    assert model.n_iter_ == 2


def test_other_learners_are_refused_before_any_work(library, tmp_path):
    problem = Problem(12)
    calls = []
    preprocess = FunctionTransformer(lambda rows: calls.append(len(rows)) or rows)
    model = ShareBoostClassifier(SVC(), views=problem.views, preprocess=preprocess)
    with pytest.raises(TypeError, match="cannot be fitted on a device"):
        fitted(model, problem, library.array)
    model.set_params(preprocess=None)
    with pytest.raises(TypeError, match="cannot be fitted on a device"):
        model.fit(library.array(problem.X), problem.y, checkpoint=tmp_path / "log")
    assert not calls
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_log_of_a_device_goes_on_here(library, tmp_path, dtype):
    problem = Problem(21, dtype=dtype)
    model = ShareBoostClassifier(views=problem.views, n_estimators=2, random_state=0)
    clone(model).fit(library.array(problem.X), problem.y, checkpoint=tmp_path / "log")
    model.set_params(n_estimators=5).fit(problem.X, problem.y, checkpoint=tmp_path / "log")
    assert model.n_iter_ == 5
    other = library.array(problem.X.astype(np.float64 if dtype == np.float32 else np.float32))
    with pytest.raises(ValueError, match="kind of numbers"):
        model.fit(other, problem.y, checkpoint=tmp_path / "log")


class Traffic:
    """How many bytes go to the device that `array_api_strict` plays, and how many come from it."""

    def __init__(self, monkeypatch):
        self.up = self.down = 0
        from_host, to_host = StandardArrays.from_host, StandardArrays.to_host

        def count_up(arrays, values):
            self.up += np.asarray(values).nbytes
            return from_host(arrays, values)

        def count_down(arrays, values):
            found = to_host(arrays, values)
            self.down += found.nbytes
            return found

        monkeypatch.setattr(StandardArrays, "from_host", count_up)
        monkeypatch.setattr(StandardArrays, "to_host", count_down)


@pytest.mark.parametrize("learner", [*LEARNERS, Tree(3, impurity_tolerance=0.0)], ids=str)
def test_a_round_moves_no_rows(learner, monkeypatch):
    problem = Problem(22, 3, n_rows=30_000)
    traffic, moved = Traffic(monkeypatch), []
    for n_estimators in (1, 2):
        before = traffic.up, traffic.down
        fitted(ShareBoostClassifier(learner, n_estimators=n_estimators), problem, array_api_strict.asarray)
        moved.append((traffic.up - before[0], traffic.down - before[1]))
    up, down = np.subtract(moved[1], moved[0])
    assert up < len(problem.y)
    assert down < 8 * 9 * 256 * 3 * (1 + 2 + 4) + 8 * len(problem.y) / 4  # histograms of every level, and little else


def test_constants_are_made_on_the_device(monkeypatch, grams):
    traffic = Traffic(monkeypatch)
    kernels = [array_api_strict.asarray(np.eye(300)) for _ in range(2)]
    augmented_kernel(kernels)
    assert traffic.up < 8 * 600 * 600 / 10
    signs = np.ones((4, 5_000), dtype=np.int8)
    before = traffic.up
    DeviceJointLoss(signs, arrays_of(kernels[0]))
    assert traffic.up - before < 2 * 8 * 5_000 + signs.nbytes + 1_000  # signs, and outputs that are 0


def test_columns_of_few_values_are_looked_at_in_one_piece(monkeypatch):
    traffic = Traffic(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(20_000, 3)).astype(float)
    table = device_table.checked_table(array_api_strict.asarray(X))
    [view] = device_table.device_blocks(table, ["a"], [np.arange(3)])
    plan = Tree().plan(view, np.random.SeedSequence(0))
    assert_array_equal(plan.edges, np.full((3, 1), 0.5))
    assert traffic.up < 8 * 20_000  # numbers of sampled rows, not of all


@pytest.mark.parametrize("learner", ["gaussian_nb", "linear"])
@pytest.mark.parametrize("scale", [1e156, 1e200])
def test_values_whose_squares_overflow_are_refused(library, learner, scale):
    problem = Problem(23)
    problem.X *= scale
    for array in (lambda values: values, library.array):
        with pytest.raises(ValueError, match="so large that their squares are not finite"):
            fitted(ShareBoostClassifier(learner, views=problem.views), problem, array)


def test_bad_labels_are_refused_as_here(library):
    problem = Problem(24)
    for y, message in ((None, "requires y to be passed"), (np.where(problem.y == 1, np.nan, 0.0), "y contains NaN")):
        for X in (problem.X, library.array(problem.X)):
            with pytest.raises(ValueError, match=message):
                ShareBoostClassifier().fit(X, y)


def test_more_rows_than_kernels_can_number_are_refused():
    X = array_api_strict.broadcast_to(array_api_strict.zeros((1, 1)), (2**31, 1))
    with pytest.raises(ValueError, match="up to 2,147,483,647 rows; got 2,147,483,648"):
        device_table.checked_table(X)


def test_arrays_that_count_as_on_a_device(library):
    assert kind_of(library.array(np.zeros((2, 2)))) == "device"
    assert kind_of(np.zeros((2, 2))) == "local"


def test_a_score_that_is_not_a_number_is_of_the_first_class(library):
    scores = np.array([[np.nan, 1.0, 2.0], [0.0, 1.0, 0.5], [1.0, np.nan, np.nan]])
    arrays = arrays_of(library.array(scores))
    with arrays.current():
        codes = device_columns._codes_of_largest(arrays, arrays.from_host(scores))
    assert_array_equal(arrays.to_host(codes), [0, 1, 0])  # as `numeric.quadratic` has it


def test_tensors_lose_their_history():
    class Tensor:
        history = "long"

        def detach(self):
            return Tensor.__new__(Plain)

    class Plain(Tensor):
        history = None

    assert TorchArrays(None, "cuda:0").detached(Tensor()).history is None


@ON_TORCH
def test_tensors_that_require_gradients():
    torch = importlib.import_module("torch")
    problem = Problem(25)
    X = torch.asarray(problem.X, device="cuda").requires_grad_()
    there = ShareBoostClassifier("tree", views=problem.views, n_estimators=4).fit(X, problem.y)
    assert_same_model(
        there, ShareBoostClassifier("tree", views=problem.views, n_estimators=4).fit(problem.X, problem.y)
    )
    gram = X @ X.T
    assert not composite_kernel([gram], np.arange(5)[:, None]).requires_grad


def test_a_cupy_that_does_not_work_is_told_of(monkeypatch):
    def broken(name):
        raise ImportError("libcudart.so.12 cannot be opened")

    monkeypatch.setattr(device_fused, "import_module", broken)
    with pytest.warns(RuntimeWarning, match=r"libcudart.so.12 cannot be opened.*fuselearn\[cuda\]"):
        assert fused(TorchArrays(None, "cuda:0")) is None

    class WithoutCompiler:
        class RawKernel:
            def __init__(self, *arguments):
                pass

            def compile(self):
                raise RuntimeError("no NVRTC")

    monkeypatch.setattr(device_fused, "import_module", lambda name: WithoutCompiler)
    with pytest.warns(RuntimeWarning, match="no NVRTC"):
        assert fused(TorchArrays(None, "cuda:0")) is None


def test_bins_that_do_not_fit_are_counted_plainly(monkeypatch):
    def kind_of_bins(room):
        device_ = SimpleNamespace(attributes={"MaxSharedMemoryPerBlockOptin": room})
        cupy = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: device_))
        return FusedKernels(cupy).bins(None, None, SimpleNamespace(n_bins=257), None, None)

    monkeypatch.setattr(device_fused, "FusedBins", lambda *arguments: "fused")
    monkeypatch.setattr(device_fused, "DeviceBins", lambda *arguments: "plain")
    assert kind_of_bins(99 * 2**10) == "fused"
    assert kind_of_bins(64 * 2**10) == "plain"


@ON_GPU
@pytest.mark.parametrize("learner", ["gaussian_nb", "stump", Tree(3, impurity_tolerance=0.0)], ids=str)
def test_more_groups_than_a_grid_is_high(learner, monkeypatch):
    problem = Problem(26, 6, n_rows=300)
    here = fitted(ShareBoostClassifier(learner, views=problem.views, n_estimators=3), problem)
    monkeypatch.setattr(device_fused, "MOST_GROUPS", 2)
    there = fitted(ShareBoostClassifier(learner, views=problem.views, n_estimators=3), problem, Library("cupy").array)
    assert_same_model(there, here)


@ON_GPU
def test_a_gpu_of_little_shared_memory(monkeypatch):
    problem = Problem(27, 3, n_rows=300)
    here = fitted(ShareBoostClassifier("tree", views=problem.views, n_estimators=3), problem)
    monkeypatch.setattr(device_fused, "_histogram_bytes", lambda n_bins: 2**40)
    there = fitted(ShareBoostClassifier("tree", views=problem.views, n_estimators=3), problem, Library("cupy").array)
    assert_same_model(there, here)


@ON_GPU
def test_rows_on_another_gpu():
    cupy = importlib.import_module("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one GPU only")
    problem = Problem(28, 3)
    with cupy.cuda.Device(1):
        X = cupy.asarray(problem.X)
    for learner in LEARNERS:
        model = ShareBoostClassifier(learner, views=problem.views, n_estimators=3)
        assert_same_model(clone(model).fit(X, problem.y), clone(model).fit(problem.X, problem.y))


def test_only_labels_that_changed_are_multiplied_anew(library, monkeypatch):
    rng = np.random.default_rng(3)
    signs = rng.choice([-1, 1], size=(6, 80)).astype(np.int8)
    outputs = np.tanh(rng.normal(size=(4, 80)))
    joint = DeviceJointLoss(signs, arrays_of(library.array(np.zeros(1))), use_fused=library.use_fused)
    candidates = [Candidate(None, None, place, row) for place, row in enumerate(outputs)]
    pool = DevicePool(joint, candidates, significance=1.0, shared=True)
    widths, matmul = [], type(joint.arrays).matmul

    def counted(arrays, one, other):
        widths.append(other.shape[1])
        return matmul(arrays, one, other)

    monkeypatch.setattr(type(joint.arrays), "matmul", counted)
    weights = np.zeros(6)
    weights[[1, 4]] = 0.5, -0.2
    pool.labels_changed(joint.add(weights, outputs[0]))
    assert set(widths) == {2}
    anew = DevicePool(joint, candidates, significance=1.0, shared=True)
    for one, other in zip(pool.evaluated(), anew.evaluated()):
        assert_allclose(one, other, rtol=1e-12)


def test_kernels_of_no_meta_objects_and_labels_on_a_device(library, grams):
    kernels, rng = grams
    there = [library.array(kernel) for kernel in kernels]
    nothing = np.empty((0, 2), dtype=int)
    assert composite_kernel(there, nothing).shape == composite_kernel(kernels, nothing).shape == (0, 0)
    empty = [kernel[:0, :] for kernel in there]
    assert composite_test_kernel(empty, [[0, 0]]).shape == (0, 1)
    weights = np.array([1.0, 0.25])
    composite = composite_kernel(there, [[0, 1], [2, 3]], weights=library.array(weights))
    assert_allclose(on_host(composite), composite_kernel(kernels, [[0, 1], [2, 3]], weights=weights))
    labels = [rng.integers(2, size=len(kernel)) for kernel in kernels]
    known = np.array([[np.flatnonzero(own == 1)[0] for own in labels]])
    found = tomographic_correspondence(
        there, [library.array(own) for own in labels], known=library.array(known), random_state=0
    )
    expected = tomographic_correspondence(kernels, labels, known=known, random_state=0)
    assert_array_equal(found[0], expected[0])
    same, expected = (
        tomographic_correspondence([there[0]] * 2, own, random_state=0) for own in (library.array(labels[0]), labels[0])
    )
    assert_array_equal(same[0], expected[0])
