"""Kernels far from the origin, and numbers that are too large for the differences between them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import linear_kernel

from fuselearn import AugmentedKernelClassifier, MKLClassifier, TomographicClassifier

VIEWS = {"left": slice(0, 2), "right": slice(2, 4)}
FAR = np.array([1e8, -3e8, 1e9, 2e9])
MODELS = {
    f"{kind.__name__}, {kernel}": kind(views=VIEWS, kernel=kernel)
    for kind in (TomographicClassifier, AugmentedKernelClassifier, MKLClassifier)
    for kernel in ("linear", "rbf", "laplacian")
}


@pytest.fixture(scope="module")
def problem():
    """Whole multiples of 2⁻¹⁰, which float64 holds exactly as far away as `FAR`."""
    rng = np.random.default_rng(3)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 4)) + np.outer(y, [1.5, 0.0, 0.0, 1.5])
    return np.round(X * 1024) / 1024, y


@pytest.mark.parametrize("name", MODELS)
def test_a_shift_of_the_columns_changes_nothing(problem, name):
    X, y = problem
    model = MODELS[name]
    near = model.fit(X, y).decision_function(X)
    far = model.fit(X + FAR, y).decision_function(X + FAR)
    # Machines are solved to 1e-3; an order of magnitude beside values of about 1.
    np.testing.assert_allclose(far, near, atol=1e-2)


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_one_row_is_decided_as_among_many(problem, name):
    X, y = problem
    model = MODELS[name].fit(X + FAR, y)
    together = model.decision_function(X + FAR)
    one_by_one = np.vstack([model.decision_function(row[None]) for row in X + FAR])
    np.testing.assert_allclose(one_by_one, together, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly", "cosine", linear_kernel])
def test_order_in_memory_does_not_matter_to_many_columns(kernel):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    X = rng.normal(size=(90, 61)) + y[:, None] * 0.2
    views = [slice(0, 30), slice(30, 61)]
    expected = MKLClassifier(views=views, kernel=kernel).fit(X, y)
    for given in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], np.repeat(X, 2, axis=0)[::2]):
        model = MKLClassifier(views=views, kernel=kernel).fit(given, y)
        for ours, theirs in zip(model.dual_coef_, expected.dual_coef_):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(model.intercept_, expected.intercept_)
        np.testing.assert_array_equal(model.decision_function(given), expected.decision_function(X))


def test_single_precision_is_read_as_what_it_is(problem):
    X, y = problem
    double = MKLClassifier(views=VIEWS).fit(X, y)
    single = MKLClassifier(views=VIEWS).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(single.decision_function(X.astype(np.float32)), double.decision_function(X))


def test_rows_that_lack_a_linear_view_are_at_its_means(problem):
    X, y = problem
    X = X.copy()
    X[:40, :2] = np.nan
    near = MKLClassifier(views=VIEWS, kernel="linear").fit(X, y).decision_function(X)
    far = MKLClassifier(views=VIEWS, kernel="linear").fit(X + FAR, y).decision_function(X + FAR)
    np.testing.assert_allclose(far, near, atol=1e-2)


def test_a_function_sees_the_columns_as_they_are(problem):
    X, y = problem
    seen = []

    def kernel(A, B):
        seen.append(A)
        return A @ B.T

    MKLClassifier(kernel=kernel).fit(X + 5, y)
    np.testing.assert_array_equal(seen[0], X + 5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_numbers_too_large_for_their_differences(problem, kernel):
    X, y = problem
    frame = pd.DataFrame(X.copy(), columns=["a", "b", "c", "d"])  # pandas before 3 would share X
    frame["b"] += 1e16  # steps of 2
    frame["d"] += 1e18  # steps of 128: nothing is left
    views = {"left": ["a", "b"], "right": ["c", "d"]}
    with pytest.warns(UserWarning, match=r"'b' of the view 'left' .* 1e\+16.*'d' of the view 'right'") as caught:
        MKLClassifier(views=views, kernel=kernel).fit(frame, y)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="columns 0, 1 of the view 'left'.*vary by less than float32 holds"):
        MKLClassifier(views=VIEWS, kernel=kernel).fit((X + np.array([1e8, 1e8, 0, 0])).astype(np.float32), y)


@pytest.mark.parametrize("kernel", ["poly", "cosine", linear_kernel])
def test_a_kernel_that_depends_on_the_origin_says_when_it_is_too_far(problem, kernel):
    X, y = problem
    with pytest.warns(UserWarning, match="the kernel of the view 'view0' has values of about") as caught:
        MKLClassifier(kernel=kernel).fit(X + 1e7, y)
    assert len(caught) == 1


def test_no_warning_without_need(problem):
    X, y = problem
    constant = np.column_stack([X, np.full(len(X), 1e8), np.zeros(len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in ("linear", "rbf", "poly", "cosine"):
            MKLClassifier(kernel=kernel).fit(X + 100, y)
        for kernel in ("linear", "rbf"):
            MKLClassifier(kernel=kernel).fit(constant + 1e9, y)
        MKLClassifier(kernel="chi2").fit(np.abs(X) + 1e8, y)
