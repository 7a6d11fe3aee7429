"""Fitted kernel classifiers hold plain data, which is checked before it is used."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fuselearn import AugmentedKernelClassifier, MKLClassifier, TomographicClassifier, load, save
from fuselearn.kernels import GramLookup
from fuselearn.kernels.view_kernels import ViewKernel

VIEWS = {"sepal": [0, 1], "petal": [2, 3]}
MODELS = {
    "mkl": MKLClassifier(views=VIEWS),
    "mkl, poly": MKLClassifier(views=VIEWS, kernel={"sepal": "poly", "petal": "chi2"}),
    "augmented": AugmentedKernelClassifier(views=VIEWS),
    "tomographic": TomographicClassifier(views=VIEWS, kernel={"sepal": "rbf", "petal": "linear"}, random_state=0),
}


@pytest.fixture(scope="module")
def fitted():
    X, y = load_iris(return_X_y=True)
    return {name: model.fit(X[::2], y[::2]) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_foreign_is_kept(fitted, name, tmp_path):
    model = fitted[name]
    model.validate()
    save(model, tmp_path / "model.fuse")
    X, _ = load_iris(return_X_y=True)
    loaded = load(tmp_path / "model.fuse")  # nobody is trusted
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_matrix_is_kept_as_one(tmp_path):
    X, y = load_iris(return_X_y=True)
    numbers = np.arange(len(X), dtype=float)[:, None]
    model = MKLClassifier(kernel=GramLookup(X @ X.T)).fit(numbers, y)
    save(model, tmp_path / "model.fuse")
    loaded = load(tmp_path / "model.fuse")
    np.testing.assert_array_equal(loaded.predict(numbers), model.predict(numbers))


WRONG = {
    "intercept_": (lambda value: value[:2], "intercept_ of a .* has the shape"),
    "kernel_weights_": (lambda value: -value, "kernel_weights_ of a .* has numbers out of range"),
    "kernel_scales_": (lambda value: 0 * value, "divided by 0"),
    "class_prior_": (lambda value: value[:2], "class_prior_ of a .* has the shape"),
    "kernels_": (lambda value: value[:1], "other kernels or support vectors than views"),
    "support_": (lambda value: [places - 1000 for places in value], "not rows of a table"),
    "support_rows_": (lambda value: [rows[:, :1] for rows in value], "other columns than their view"),
    "dual_coef_": (lambda value: [rows[:, :-1] for rows in value], "other coefficients than support vectors"),
    "view_columns_": (lambda value: [columns + 3 for columns in value], "columns beyond the 4"),
}


@pytest.mark.parametrize("name", WRONG)
def test_parts_that_do_not_agree(fitted, name):
    model = deepcopy(fitted["tomographic"])
    change, message = WRONG[name]
    setattr(model, name, change(getattr(model, name)))
    with pytest.raises(ValueError, match=message):
        model.validate()


def test_parts_of_other_types(fitted):
    for name, value in (("kernels_", ["rbf", "rbf"]), ("support_", [[1], [2]]), ("dual_coef_", None)):
        model = deepcopy(fitted["mkl"])
        setattr(model, name, value)
        with pytest.raises(ValueError, match=f"{name} of a MKLClassifier"):
            model.validate()


def test_meta_objects_that_do_not_agree(fitted):
    model = deepcopy(fitted["tomographic"])
    model.meta_weights_ = model.meta_weights_[1:]
    with pytest.raises(ValueError, match=r"meta_weights_ of a .* has the shape"):
        model.validate()
    model = deepcopy(fitted["tomographic"])
    model.meta_objects_ = model.meta_objects_ - 1
    with pytest.raises(ValueError, match=r"meta_objects_ of a .* has numbers out of range"):
        model.validate()


def test_what_a_walk_reached_and_neutral_points_that_do_not_agree(fitted):
    model = deepcopy(fitted["tomographic"])
    model.n_reached_ = model.n_reached_[:, :1]
    with pytest.raises(ValueError, match=r"n_reached_ of a .* has the shape"):
        model.validate()
    del model.n_reached_  # as in models of earlier versions
    model.validate()
    model = deepcopy(fitted["mkl"]).set_params(absent_views="neutral")
    model.neutral_values_ = np.zeros((2, 3))
    model.validate()
    model.neutral_values_ = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"neutral_values_ of a .* has the shape"):
        model.validate()


def test_a_model_that_is_not_fitted_passes():
    MKLClassifier(views=VIEWS).validate()
    TomographicClassifier().validate()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "no such kernel"}, "not the name of a kernel"),
        ({"gamma": None}, "gamma of a ViewKernel is not a float"),
        ({"gamma": -1.0}, "gamma of a ViewKernel is -1"),
        ({"gamma": float("inf")}, "gamma of a ViewKernel is inf"),
        ({"centre": np.zeros((2, 1))}, "centre of a ViewKernel has the shape"),
        ({"centre": np.full(2, np.inf)}, "centre of a ViewKernel has NaN or infinity"),
        ({"kernel": "poly"}, "for a kernel that has none"),
    ],
)
def test_kernels_that_do_not_agree(changes, message):
    kernel = ViewKernel.fitted("view", "rbf", np.arange(6.0).reshape(3, 2))
    kernel.validate()
    with pytest.raises(ValueError, match=message):
        replace(kernel, **changes).validate()


@pytest.mark.parametrize("gram", [np.ones((2, 3)), np.ones(3), np.ones((2, 2), dtype=np.float32), [[1.0]]])
def test_a_lookup_without_a_square_matrix(gram):
    lookup = GramLookup(np.eye(2))
    lookup.validate()
    lookup.gram = gram
    with pytest.raises(ValueError, match="gram of a GramLookup"):
        lookup.validate()
