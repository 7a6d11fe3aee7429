import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from fuselearn import datasets, stack_views
from fuselearn.datasets import load_digit_views


@pytest.fixture(scope="module")
def digits():
    return load_digit_views()


def test_views_tile_the_columns_as_stack_views_does(digits):
    X, views = stack_views({name: digits.X[:, columns] for name, columns in digits.views.items()})
    np.testing.assert_array_equal(X, digits.X)
    assert views == digits.views


def test_rows_are_the_digits_of_scikit_learn(digits):
    original = load_digits()
    np.testing.assert_array_equal(digits.y, original.target)
    np.testing.assert_array_equal(digits.X[:, digits.views["pixels"]], original.data)


def test_features_are_named_after_their_view(digits):
    assert len(digits.feature_names) == len(set(digits.feature_names)) == digits.X.shape[1]
    for name, columns in digits.views.items():
        width = columns.stop - columns.start
        assert digits.feature_names[columns] == [f"{name}_{i}" for i in range(width)]
        assert name in digits.DESCR


def test_tuple_holds_the_same(digits):
    X, views, y = load_digit_views(return_tuple=True)
    np.testing.assert_array_equal(X, digits.X)
    np.testing.assert_array_equal(y, digits.y)
    assert views == digits.views


def test_values_are_finite_and_vary(digits):
    assert digits.X.dtype == np.float64
    assert np.isfinite(digits.X).all()
    assert digits.X[:, digits.views["fourier"].start :].std(axis=0).min() > 0
    assert np.unique(digits.X[:, digits.views["fourier"]], axis=1).shape[1] == 34


@pytest.mark.parametrize("name", ["pixels", "fourier", "profiles", "edges"])
def test_each_view_alone_tells_digits_apart(digits, name):
    view = digits.X[:, digits.views[name]]
    score = GaussianNB(var_smoothing=1e-3).fit(view[::2], digits.y[::2]).score(view[1::2], digits.y[1::2])
    assert score > 0.7


def test_descriptors_of_images_that_can_be_worked_out_by_hand():
    """One black row in a white image."""
    module = datasets.digit_views
    image = np.zeros((1, 8, 8))
    image[0, 2, 4:] = 16.0
    profiles = module._profiles(image)[0]
    np.testing.assert_array_equal(profiles[:8], [0, 0, 64, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(profiles[8:16], [0, 0, 0, 0, 16, 16, 16, 16])
    np.testing.assert_array_equal(profiles[16:24], [3.5, 3.5, 5.5, 3.5, 3.5, 3.5, 3.5, 3.5])
    np.testing.assert_array_equal(profiles[24:], [3.5] * 4 + [2.0] * 4)
    # Zero frequency comes first: all the ink there is.
    assert module._fourier(image)[0, 0] == pytest.approx(np.log1p(64))
    edges = module._edges(image)[0].reshape(2, 2, 8)
    # The upper right quarter has ink that grows downwards (direction 2) above the stroke and upwards (6) below it.
    assert edges[0, 1, 2] == edges[0, 1, 6] == 4 * 8.0
    assert edges[1].sum() == 0
