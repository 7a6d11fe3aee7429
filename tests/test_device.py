"""What is fitted on a device equals what is fitted here.

The code for devices runs on NumPy and on `array_api_strict`, which has what the array API standard has and nothing
else. Where a GPU is found the same tests run on it, with CuPy's fused kernels and with torch; elsewhere they are
skipped.
"""

import importlib
import pickle
import warnings
from importlib.util import find_spec

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    IndependentBoostClassifier,
    MSSBoostClassifier,
    NSBoostClassifier,
    RSBagClassifier,
    ShareBoostClassifier,
)
from fuselearn.backends import device, device_bins, device_columns, device_fused, device_table
from fuselearn.backends.device_arrays import TorchArrays, arrays_of, is_device_array, on_host
from fuselearn.backends.device_fused import fused
from fuselearn.boosting import reading
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.kernels import (
    augmented_kernel,
    composite_kernel,
    composite_test_kernel,
    device_composition,
    tomographic_correspondence,
)
from fuselearn.kernels.device_composition import mean_squared_distance, squared_distances
from fuselearn.learners import Tree
from fuselearn.multilabel import device_losses, device_pool
from fuselearn.multilabel.device_losses import FusedLosses, PlainLosses, safe_steps_of_all
from fuselearn.multilabel.device_pool import DeviceJointLoss
from fuselearn.multilabel.joint_loss import JointLoss
from fuselearn.numeric import pairs
from fuselearn.numeric.logistic import safe_steps


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


class OnDevice(np.ndarray):
    """A NumPy array that takes the path of arrays on a device."""


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
            return values.view(OnDevice)
        if self.name == "array_api_strict":
            return array_api_strict.asarray(values)
        if self.name == "cupy":
            return importlib.import_module("cupy").asarray(values)
        return importlib.import_module("torch").asarray(values, device="cuda")


@pytest.fixture(
    params=[
        Library("numpy"),
        Library("array_api_strict"),
        pytest.param(Library("cupy"), marks=ON_GPU),
        pytest.param(Library("cupy", use_fused=False), marks=ON_GPU),
        pytest.param(Library("torch"), marks=ON_TORCH),
        pytest.param(Library("torch", use_fused=False), marks=ON_TORCH),
    ],
    ids=["numpy", "array_api_strict", "cupy-fused", "cupy-plain", "torch-fused", "torch-plain"],
)
def library(request, monkeypatch):
    """Arrays of every library; those of the two that have no device of their own take its path here."""
    known = reading.kind_of

    def kind_of(X):
        return "device" if isinstance(X, OnDevice) or is_device_array(X) else known(X)

    monkeypatch.setattr(reading, "kind_of", kind_of)
    if request.param.name in ("numpy", "array_api_strict"):
        # Steps so small that even a few rows take several.
        for module, name, step in STEPS:
            monkeypatch.setattr(module, name, step)
    if not request.param.use_fused:
        monkeypatch.setattr(device, "fused", lambda arrays: None)
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
    there = clone(model)
    known = reading.kind_of
    try:
        reading.kind_of = lambda X: "device"
        fitted(there, problem, array_api_strict.asarray)
    finally:
        reading.kind_of = known
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
def test_arrays_on_different_devices_are_refused(name, monkeypatch):
    monkeypatch.setattr(reading, "kind_of", lambda X: "device")
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
        raise ImportError(name)

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
    if library.name == "numpy":
        pytest.skip("NumPy arrays are of this machine")
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
    there.margins[:, :] = there.arrays.from_host(joint.margins)
    # Steps in every direction, many too long, and some that no halving saves.
    newton = rng.normal(size=(n_candidates, n_labels)) * rng.choice(
        [0.0, 0.01, 1.0, 30.0], size=(n_candidates, n_labels)
    )
    kind = FusedLosses if there.losses_of is FusedLosses else PlainLosses
    losses_of = kind(there.arrays, there.arrays.from_host(outputs), there.device_signs, there.margins)
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
    if library.name == "numpy":
        pytest.skip("NumPy arrays are of this machine")
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
