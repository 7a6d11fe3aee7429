"""A boosting model that is fitted on a GPU equals one that is fitted on the host.

The code for GPUs runs on NumPy in the words of CuPy (`cupy_stand_in`) and on `array_api_strict`, which has what the
array API standard has and nothing else. Where a GPU is found the same tests run on it, with CuPy's fused kernels and
with torch; elsewhere they are skipped.
"""

import importlib
import pickle

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    IndependentBoostClassifier,
    ShareBoostClassifier,
)
from fuselearn.backends.gpu import prepared_rows
from fuselearn.backends.gpu.arrays import arrays_of
from fuselearn.kernels import (
    composite_kernel,
)
from fuselearn.learners import Stump, Tree
from tests.backends.gpu.gpu_problems import (
    LEARNERS,
    ON_GPU,
    ON_TORCH,
    Problem,
    Traffic,
    assert_same_model,
    fitted,
)


@pytest.mark.long
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("lack", ["nothing", "absent", "gaps"])
def test_fit_equals_the_fit_on_the_host(library, learner, n_classes, lack):
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


@pytest.mark.long
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
def test_weights_and_labels_per_view(library, learner, model):
    problem = Problem(2, 3, absent=True)
    own = np.repeat(problem.y[:, None], 3, axis=1)
    wrong = problem.rng.random(own.shape) < 0.2
    own[wrong] = (own[wrong] + 1) % 3
    weights = problem.rng.exponential(size=len(own))
    weights[:4] = 0.0
    arguments = {"view_labels": own, "sample_weight": weights}
    here = fitted(model(learner, views=problem.views, n_estimators=6, random_state=0), problem, **arguments)
    there = fitted(
        model(learner, views=problem.views, n_estimators=6, random_state=0), problem, library.array, **arguments
    )
    assert_same_model(there, here)


def test_trees_are_pruned_alike(library):
    problem = Problem(6)
    learner = Tree(None, 0.0, pruning_confidence=0.25)
    model = ShareBoostClassifier(learner, views=problem.views, n_estimators=3, random_state=0)
    here = fitted(model, problem)
    unpruned = fitted(clone(model).set_params(estimator=Tree(None, 0.0)), problem)
    assert len(here.estimators_[0].feature) < len(unpruned.estimators_[0].feature)
    assert_same_model(fitted(clone(model), problem, library.array), here)


@pytest.mark.parametrize("kind", [ShareBoostClassifier, IndependentBoostClassifier])
def test_a_view_without_errors_is_set_aside(library, kind):
    problem = Problem(3)
    problem.X[:, 7] = problem.y
    model = kind("stump", views=problem.views, n_estimators=5, random_state=0)
    here = fitted(model, problem)
    assert_array_equal(np.flatnonzero(here.winning_arms_ == 2), [0])
    assert here.n_iter_ == 5
    assert_same_model(fitted(clone(model), problem, library.array), here)


@pytest.mark.long
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


@pytest.mark.long
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


def test_one_view_many_classes_and_few_rows(library):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(np.arange(20), 3)
    here = ShareBoostClassifier(n_estimators=3).fit(X, y)
    there = ShareBoostClassifier(n_estimators=3).fit(library.array(X), library.array(y))
    assert_same_model(there, here)


@pytest.mark.thinned(5)
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


def test_other_learners_are_refused(library):
    problem = Problem(12)
    with pytest.raises(TypeError, match=r"SVC.* cannot be fitted on a GPU; only 'gaussian_nb'"):
        fitted(ShareBoostClassifier(SVC()), problem, library.array)


@pytest.mark.long
@pytest.mark.parametrize("n_columns", [33, 65, 130])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("learner", ["gaussian_nb", "linear", Stump(max_bins=31), Tree(2, max_bins=31)], ids=str)
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


def test_rounds_of_other_learners_cannot_continue_on_a_gpu(library):
    problem = Problem(20)
    tree = DecisionTreeClassifier(max_depth=1)
    model = ShareBoostClassifier(tree, views=problem.views, n_estimators=2, warm_start=True, random_state=0)
    fitted(model, problem).set_params(estimator="gaussian_nb", n_estimators=4)
    with pytest.raises(TypeError, match=r"DecisionTreeClassifier, of which .* cannot be fitted on a GPU; only"):
        fitted(model, problem, library.array)
    assert model.n_iter_ == 2


def test_other_learners_are_refused_before_any_work(library, tmp_path):
    problem = Problem(12)
    calls = []
    preprocess = FunctionTransformer(lambda rows: calls.append(len(rows)) or rows)
    model = ShareBoostClassifier(SVC(), views=problem.views, preprocess=preprocess)
    with pytest.raises(TypeError, match="cannot be fitted on a GPU"):
        fitted(model, problem, library.array)
    model.set_params(preprocess=None)
    with pytest.raises(TypeError, match="cannot be fitted on a GPU"):
        model.fit(library.array(problem.X), problem.y, checkpoint=tmp_path / "log")
    assert not calls
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_run_on_a_gpu_continues_on_the_host(library, tmp_path, dtype):
    problem = Problem(21, dtype=dtype)
    model = ShareBoostClassifier(views=problem.views, n_estimators=2, random_state=0)
    clone(model).fit(library.array(problem.X), problem.y, checkpoint=tmp_path / "log")
    model.set_params(n_estimators=5).fit(problem.X, problem.y, checkpoint=tmp_path / "log")
    assert model.n_iter_ == 5
    other = library.array(problem.X.astype(np.float64 if dtype == np.float32 else np.float32))
    with pytest.raises(ValueError, match="kind of numbers"):
        model.fit(other, problem.y, checkpoint=tmp_path / "log")


@pytest.mark.parametrize(
    "learner",
    ["gaussian_nb", "linear", Stump(max_bins=15), Tree(max_bins=15), Tree(3, impurity_tolerance=0.0, max_bins=15)],
    ids=str,
)
def test_a_round_moves_no_rows(learner, monkeypatch):
    problem = Problem(22, 3, n_rows=8_000)
    traffic, moved = Traffic(monkeypatch), []
    for n_estimators in (1, 2):
        before = traffic.up, traffic.down
        fitted(ShareBoostClassifier(learner, n_estimators=n_estimators), problem, array_api_strict.asarray)
        moved.append((traffic.up - before[0], traffic.down - before[1]))
    up, down = np.subtract(moved[1], moved[0])
    assert up < len(problem.y)
    histograms = 8 * 9 * 17 * 3 * (1 + 2 + 4)  # of every level
    assert down < histograms + 8 * len(problem.y) / 4  # less than the weights of the rows


@pytest.mark.parametrize("learner", ["gaussian_nb", "linear"])
@pytest.mark.parametrize("scale", [1e156, 1e200])
def test_values_whose_squares_overflow_are_refused(library, learner, scale):
    problem = Problem(23)
    problem.X *= scale
    for array in (lambda values: values, library.array):
        with pytest.raises(ValueError, match="so large that their squares are not finite"):
            fitted(ShareBoostClassifier(learner, views=problem.views), problem, array)


def test_a_score_that_is_not_a_number_is_of_the_first_class(library):
    scores = np.array([[np.nan, 1.0, 2.0], [0.0, 1.0, 0.5], [1.0, np.nan, np.nan]])
    arrays = arrays_of(library.array(scores))
    with arrays.current():
        codes = prepared_rows.codes_of_largest(arrays, arrays.from_host(scores))
    assert_array_equal(arrays.to_host(codes), [0, 1, 0])  # as `numeric.moments` has it


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
