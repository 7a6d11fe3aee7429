"""Tables and labels on a GPU: what is read, and what is refused."""

import array_api_strict
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.svm import SVC

from fuselearn import (
    IndependentBoostClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    ShareBoostClassifier,
    TomographicClassifier,
    ViewVotingClassifier,
    compare,
)
from fuselearn.backends.gpu import gpu_table
from fuselearn.backends.gpu.arrays import TorchArrays
from fuselearn.data.view_table import row_location
from fuselearn.evaluation import add_feature_noise
from fuselearn.inspection import view_importance
from fuselearn.learners import Tree
from tests.backends.gpu.gpu_problems import (
    Problem,
    Traffic,
    assert_same_model,
    fitted,
    labels_problem,
)


def test_labels_may_be_on_the_host_and_words(library):
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
def test_arrays_on_different_gpus_are_refused(name):
    problem = Problem(11)
    X, y = array_api_strict.asarray(problem.X), array_api_strict.asarray(problem.y)
    other = array_api_strict.asarray(np.ones(len(problem.y)), device=array_api_strict.Device("device1"))
    arguments = {"y": y, "sample_weight": None, name: other}
    with pytest.raises(ValueError, match=f"X and {name} must be on the same GPU"):
        ShareBoostClassifier().fit(X, **arguments)


def test_other_columns_are_refused(library):
    problem = Problem(13)
    model = fitted(ShareBoostClassifier(n_estimators=2, warm_start=True), problem, library.array)
    with pytest.raises(ValueError, match="X has 4 features, but ShareBoostClassifier is expecting 9"):
        model.fit(library.array(problem.X[:, :4]), library.array(problem.y))


def test_labels_per_view_in_a_data_frame_go_by_its_names(library):
    problem = Problem(16)
    own = np.repeat(problem.y[:, None], 3, axis=1)
    own[:, 0] = np.where(problem.rng.random(len(own)) < 0.4, 1 - problem.y, problem.y)
    frame = pd.DataFrame({"c": own[:, 2], "a": own[:, 0], "b": own[:, 1]})
    model = ShareBoostClassifier(views=problem.views, n_estimators=4)
    here = clone(model).fit(problem.X, problem.y, view_labels=frame)
    there = clone(model).fit(library.array(problem.X), library.array(problem.y), view_labels=frame)
    assert_same_model(there, here)


def test_scores_and_bounds_of_labels_on_a_gpu(library):
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


def test_labels_of_rows_on_the_host_may_be_on_a_gpu(library):
    problem = Problem(18)
    own = np.repeat(problem.y[:, None], 3, axis=1)
    arguments = {"y": problem.y, "sample_weight": problem.rng.exponential(size=len(own)), "view_labels": own}
    model = ShareBoostClassifier(views=problem.views, n_estimators=3)
    there = clone(model).fit(problem.X, **{name: library.array(values) for name, values in arguments.items()})
    assert_same_model(there, clone(model).fit(problem.X, **arguments), atol=0)
    X, Y = labels_problem(2)
    there, here = (MSSBoostClassifier(n_estimators=4, random_state=0).fit(X, some) for some in (library.array(Y), Y))
    assert_array_equal(there.label_weights_, here.label_weights_)


@pytest.mark.parametrize(
    "model",
    [ViewVotingClassifier(SVC()), TomographicClassifier(), MKLClassifier(), LabelConsensus()],
    ids=lambda model: type(model).__name__,
)
def test_estimators_that_read_on_the_host_refuse_gpu_arrays(library, model):
    problem = Problem(19)
    name = type(model).__name__
    model = clone(model).set_params(views=problem.views)
    with pytest.raises(TypeError, match=rf"{name} reads X on the host.*X\.cpu\(\)\.numpy\(\).*ShareBoostClassifier"):
        model.fit(library.array(problem.X), problem.y)
    with pytest.raises(TypeError, match=f"{name} reads y on the host"):
        model.fit(problem.X, library.array(problem.y))


@pytest.mark.parametrize(
    "model",
    [MKLClassifier(), ViewVotingClassifier(SVC())],
    ids=lambda model: type(model).__name__,
)
def test_rows_to_predict_are_refused_in_the_same_words(library, model):
    problem = Problem(19)
    model = clone(model).set_params(views=problem.views).fit(problem.X, problem.y)
    with pytest.raises(TypeError, match=f"{type(model).__name__} reads X on the host"):
        model.predict(library.array(problem.X))


def test_comparison_and_inspection_read_on_the_host(library):
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


def test_columns_of_few_values_are_looked_at_in_one_piece(monkeypatch):
    traffic = Traffic(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(20_000, 3)).astype(float)
    table = gpu_table.check_gpu_table(array_api_strict.asarray(X))
    [view] = gpu_table.gpu_view_blocks(table, ["a"], [np.arange(3)])
    plan = Tree().plan(view, np.random.SeedSequence(0))
    assert_array_equal(plan.edges, np.full((3, 1), 0.5))
    assert traffic.up < 8 * 20_000  # numbers of sampled rows, not of all


def test_bad_labels_are_refused_as_on_the_host(library):
    problem = Problem(24)
    for y, message in ((None, "requires y to be passed"), (np.where(problem.y == 1, np.nan, 0.0), "y has no class in")):
        for X in (problem.X, library.array(problem.X)):
            with pytest.raises(ValueError, match=message):
                ShareBoostClassifier().fit(X, y)


def test_more_rows_than_kernels_can_number_are_refused():
    X = array_api_strict.broadcast_to(array_api_strict.zeros((1, 1)), (2**31, 1))
    with pytest.raises(ValueError, match="up to 2,147,483,647 rows; got 2,147,483,648"):
        gpu_table.check_gpu_table(X)


def test_arrays_that_count_as_on_a_gpu(library):
    assert row_location(library.array(np.zeros((2, 2)))) == "gpu"
    assert row_location(np.zeros((2, 2))) == "local"


def test_tensors_lose_their_history():
    class Tensor:
        history = "long"

        def detach(self):
            return Tensor.__new__(Plain)

    class Plain(Tensor):
        history = None

    assert TorchArrays(None, "cuda:0").detach(Tensor()).history is None
