"""The kernel classifiers: what they compute, checked against scikit-learn's machines and against a conic solver."""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import (
    AugmentedKernelClassifier,
    MKLClassifier,
    TomographicClassifier,
    stack_unpaired,
    stack_views,
)
from fuselearn.kernels import (
    GramLookup,
    augmented_kernel,
    cartesian_correspondence,
    composite_kernel,
    tomographic_correspondence,
)
from fuselearn.kernels.composition import ItemKernels
from fuselearn.kernels.machines import problems_of
from fuselearn.kernels.mkl import alternated_weights
from fuselearn.kernels.tomographic import marginal_weights
from fuselearn.numeric.svm import solve_svm
from tests.conic_solver import MARKS, needs_conic_solver

HALVES = {"left": slice(0, 6), "right": slice(6, 13)}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def cut_apart(wine):
    """Wines of which one lab saw the left columns and another lab the right ones, and some that both saw."""
    X, y = wine
    X = X.copy()
    X[::3, :6] = np.nan
    X[1::3, 6:] = np.nan
    return X, y


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.sampled_from([0.1, 1.0, 10.0]))
def test_one_view_is_a_support_vector_machine(seed, n_classes, C):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = np.arange(60) % n_classes
    X[:, 0] += y
    model = TomographicClassifier(scale_kernels=False, C=C, random_state=0).fit(X, y)
    peer = SVC(kernel="linear", C=C, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    agreement = np.mean(model.predict(X) == peer.predict(X))
    assert agreement > 0.95
    if n_classes == 2:
        np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=0.02)


def test_meta_objects_are_what_the_machine_is_trained_on(cut_apart):
    X, y = cut_apart
    y = (y == 1).astype(int)
    model = TomographicClassifier(views=HALVES, random_state=0).fit(X, y)
    grams = [
        linear_kernel(np.nan_to_num(X[:, columns])) / s for columns, s in zip(HALVES.values(), model.kernel_scales_)
    ]
    composite = composite_kernel(grams, model.meta_objects_)
    peer = SVC(kernel="precomputed", tol=1e-5).fit(composite, model.meta_labels_, sample_weight=model.meta_weights_)
    complete = X[~np.isnan(X).any(axis=1)]
    test = sum(
        linear_kernel(complete[:, columns], np.nan_to_num(X[:, columns]))[:, column] / s
        for columns, column, s in zip(HALVES.values(), model.meta_objects_.T, model.kernel_scales_)
    )
    np.testing.assert_allclose(model.decision_function(complete), peer.decision_function(test), atol=0.02)


def test_augmented_machine_is_one_on_the_direct_sum(wine):
    X, y = wine
    y = (y == 1).astype(int)
    model = AugmentedKernelClassifier(views=HALVES).fit(X, y)
    grams = [linear_kernel(X[:, columns]) for columns in HALVES.values()]
    peer = SVC(kernel="precomputed", tol=1e-5).fit(augmented_kernel(grams), np.tile(y, 2))
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(np.hstack(grams)), atol=0.02)
    # A test object that one view saw is decided as the training examples were.
    left = X.copy()
    left[:, 6:] = np.nan
    alone = np.hstack([grams[0], np.zeros_like(grams[1])])
    np.testing.assert_allclose(model.decision_function(left), peer.decision_function(alone), atol=0.02)


@needs_conic_solver
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3]),
    st.sampled_from([0.2, 1.0, 20.0]),
    st.sampled_from(["linear", "rbf"]),
)
@settings(max_examples=12)
def test_both_solvers_of_mkl_reach_the_same_objective(seed, n_classes, C, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6))
    y = rng.permutation(np.arange(40) % n_classes)
    X[:, :2] += rng.uniform(0, 2) * y[:, None]
    X[:, 2:4] += rng.uniform(0, 1) * y[:, None]
    options = {"views": [slice(0, 2), slice(2, 4), slice(4, 6)], "kernel": kernel, "C": C}
    fast = MKLClassifier(weights="mkl", **options).fit(X, y)
    reference = MKLClassifier(weights="sdp", **options).fit(X, y)
    even = MKLClassifier(weights="uniform", **options).fit(X, y)
    assert fast.objective_ == pytest.approx(reference.objective_, rel=1e-3)
    assert fast.objective_ <= even.objective_ * (1 + 1e-4)
    assert fast.kernel_weights_.sum() == pytest.approx(1.0)
    assert (fast.kernel_weights_ >= 0).all()


def test_a_useless_kernel_gets_no_weight():
    useful, useless = np.array([-1.0, -1.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    kernels = ItemKernels([np.outer(useful, useful), np.outer(useless, useless)], np.tile(np.arange(4), (2, 1)).T)
    problems = problems_of(np.array([0, 0, 1, 1]), 2)
    np.testing.assert_allclose(alternated_weights(kernels, problems, np.ones(4), 1.0), [1.0, 0.0], atol=5e-4)


@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0, 8.0])
def test_no_weights_of_the_norm_do_better(wine, norm):
    X, y = wine
    views = [slice(0, 4), slice(4, 8), slice(8, 13)]
    learnt = MKLClassifier(views=views, weights="mkl", norm=norm).fit(X, y)
    assert np.linalg.norm(learnt.kernel_weights_, norm) == pytest.approx(1.0)
    for seed in range(5):
        other = np.random.default_rng(seed).uniform(size=3)
        other /= np.linalg.norm(other, norm)
        given_weights = MKLClassifier(views=views, weights=other).fit(X, y)
        assert learnt.objective_ <= given_weights.objective_ * (1 + 1e-3)


def test_kernels_are_trace_normalised(wine):
    X, y = wine
    views = [slice(0, 6), slice(6, 13)]
    model = MKLClassifier(views=views, kernel="linear").fit(X, y)
    larger = X.copy()
    larger[:, 6:] *= 1000
    same = MKLClassifier(views=views, kernel="linear").fit(larger, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(larger), atol=0.02)


@needs_conic_solver
def test_weights_serve_the_other_classifiers(cut_apart):
    X, y = cut_apart
    learnt = TomographicClassifier(views=HALVES, weights="mkl", random_state=0).fit(X, y)
    conic = TomographicClassifier(views=HALVES, weights="sdp", random_state=0, max_meta_objects=130).fit(X, y)
    near = TomographicClassifier(views=HALVES, weights="mkl", random_state=0, max_meta_objects=130).fit(X, y)
    np.testing.assert_allclose(conic.kernel_weights_, near.kernel_weights_, atol=0.05)
    assert not np.allclose(learnt.kernel_weights_, 1.0)
    given_weights = TomographicClassifier(views=HALVES, weights={"right": 0.0, "left": 1.0}, random_state=0).fit(X, y)
    left = X[~np.isnan(X[:, 0])]
    without = left.copy()
    without[:, 6:] = np.nan
    np.testing.assert_allclose(
        given_weights.decision_function(left[~np.isnan(left[:, 7])]),
        given_weights.decision_function(without[~np.isnan(left[:, 7])]),
    )
    AugmentedKernelClassifier(views=HALVES, weights=[1.0, 0.5]).fit(X, y)


def test_unmatched_labs(wine):
    X, y = wine
    A, B = X[::2, :6], X[1::2, 6:]
    X_train, views, y_train = stack_unpaired({"left": (A, y[::2]), "right": (B, y[1::2])})
    model = TomographicClassifier(views=views, random_state=0).fit(X_train, y_train)
    assert model.score(X, y) > 0.93
    assert set(model.meta_objects_[:, 0]) == set(range(len(A)))
    assert set(model.meta_objects_[:, 1]) == set(range(len(A), len(A) + len(B)))
    assert np.array_equal(y_train[model.meta_objects_[:, 0]], model.meta_labels_)
    assert np.array_equal(y_train[model.meta_objects_[:, 1]], model.meta_labels_)


def test_known_matches_are_kept(cut_apart):
    X, y = cut_apart
    model = TomographicClassifier(views=HALVES, random_state=0).fit(X, y)
    together = {tuple(row) for row in model.meta_objects_}
    complete = np.flatnonzero(~np.isnan(X).any(axis=1))
    assert all((row, row) in together for row in complete)
    assert set(model.meta_objects_[:, 0]) == set(np.flatnonzero(~np.isnan(X[:, 0])))


def test_all_matched_is_the_plain_sum(wine):
    X, y = wine
    model = TomographicClassifier(views=HALVES, scale_kernels=False, random_state=0).fit(X, y)
    assert np.array_equal(np.sort(model.meta_objects_[:, 0]), np.arange(len(X)))
    assert (model.meta_objects_[:, 0] == model.meta_objects_[:, 1]).all()
    np.testing.assert_allclose(model.meta_weights_, 1.0)
    peer = SVC(kernel="linear").fit(X, y)
    assert np.mean(model.predict(X) == peer.predict(X)) > 0.99


def test_three_views_and_rows_with_two_of_them():
    X, y = load_iris(return_X_y=True)
    views = {"a": [0], "b": [1], "c": [2, 3]}
    X = X.copy()
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 3, size=len(X))
    X[hidden == 0, 0] = np.nan
    X[hidden == 1, 1] = np.nan
    X[np.ix_(hidden == 2, [2, 3])] = np.nan
    model = TomographicClassifier(views=views, kernel="rbf", random_state=0).fit(X, y)
    for row in range(len(X)):
        seen = [view for view in range(3) if hidden[row] != view]
        assert (model.meta_objects_[:, seen] == row).all(axis=1).any()
    whole, _ = load_iris(return_X_y=True)
    assert model.score(whole, y) >= 0.9


@pytest.mark.parametrize("kind", [TomographicClassifier, MKLClassifier])
def test_absent_views_drop_out_and_the_rest_is_scaled_up(wine, kind):
    X, y = wine
    y = (y == 1).astype(int)
    model = kind(views=HALVES).fit(X, y)
    left, nothing = X.copy(), X.copy()
    left[:, 6:] = np.nan
    nothing[:] = np.nan
    parts = []
    for rows in (left, np.where(np.isnan(left), X, np.nan)):
        parts.append((model.decision_function(rows) - model.intercept_[0]) / 2)
    np.testing.assert_allclose(sum(parts) + model.intercept_[0], model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], np.bincount(y) / len(y))
    assert model.score(left, y) > 0.8


def test_rows_without_any_view_get_the_prior_with_many_classes(wine):
    X, y = wine
    model = MKLClassifier(views=HALVES).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 13), np.nan))[0], np.bincount(y) / len(y))


def test_kernels_by_name_function_matrix_and_view(wine):
    X, y = wine
    number = np.arange(len(X), dtype=float)
    table, views = stack_views({"left": X[:, :6], "gram": number})
    gram = rbf_kernel(X[:, 6:])
    model = MKLClassifier(views=views, kernel={"left": linear_kernel, "gram": GramLookup(gram)}).fit(table, y)
    same = MKLClassifier(
        views=HALVES, kernel={"left": "linear", "right": lambda A, B: rbf_kernel(A, B, gamma=1 / 7)}
    ).fit(X, y)
    np.testing.assert_allclose(model.decision_function(table), same.decision_function(X), atol=1e-3)
    search = GridSearchCV(
        MKLClassifier(views=views, kernel={"left": "rbf", "gram": GramLookup(gram)}), {"C": [0.1, 1.0]}
    )
    assert search.fit(table, y).best_score_ > 0.9
    assert clone(model).kernel["gram"].gram is model.kernel["gram"].gram  # not copied with every clone
    assert repr(GramLookup(gram)) == "GramLookup(178 objects)"


def test_data_frames(cut_apart):
    X, y = cut_apart
    names = [f"column{number}" for number in range(13)]
    frame = pd.DataFrame(X, columns=names)
    views = {"left": names[:6], "right": names[6:]}
    plain = TomographicClassifier(views=HALVES, random_state=0).fit(X, y)
    named = TomographicClassifier(views=views, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(plain.decision_function(X), named.decision_function(frame))
    polars = TomographicClassifier(views=views, random_state=0).fit(pl.from_pandas(frame), y)
    np.testing.assert_array_equal(plain.meta_objects_, polars.meta_objects_)
    assert list(named.feature_names_in_) == names


@pytest.mark.parametrize("kind", [TomographicClassifier, MKLClassifier, AugmentedKernelClassifier])
def test_same_model_for_any_number_of_threads(cut_apart, kind):
    X, y = cut_apart
    options = {"random_state": 3} if kind is TomographicClassifier else {}
    one = kind(views=HALVES, n_jobs=1, **options).fit(X, y)
    two = kind(views=HALVES, n_jobs=2, **options).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@given(st.integers(0, 2**32 - 1), st.integers(2, 3))
def test_objects_count_alike(seed, n_views):
    # A full product, some of it twice, can be balanced exactly.
    rng = np.random.default_rng(seed)
    product = np.stack(np.meshgrid(*[np.arange(4)] * n_views), axis=-1).reshape(-1, n_views)
    places = np.concatenate([product, product[rng.integers(len(product), size=7)]])
    weights = marginal_weights(places, np.zeros(len(places), dtype=int))
    for column in places.T:
        np.testing.assert_allclose(np.bincount(column, weights), 1.0, atol=1e-6)


def test_what_all_views_saw_counts_once_and_lending_takes_nothing_from_it():
    # Things 0 and 1 are matched; object 2 of the first view is lent objects of the second.
    places = np.array([[0, 0], [1, 1], [2, 0], [2, 1]])
    matched = np.array([[True, True], [True, True], [False, True], [False, True]])
    np.testing.assert_allclose(marginal_weights(places, np.zeros(4, dtype=int), matched), [1.0, 1.0, 0.5, 0.5])


def test_known_matches_weigh_as_much_as_others(cut_apart):
    X, y = cut_apart
    model = TomographicClassifier(views=HALVES, random_state=0).fit(X, y)
    complete = ~np.isnan(X).any(axis=1)
    known = model.meta_objects_[:, 0] == model.meta_objects_[:, 1]
    np.testing.assert_array_equal(model.meta_weights_[known], 1.0)
    assert known.sum() == complete.sum()
    for view in range(2):
        sums = np.bincount(model.meta_objects_[~known, view], model.meta_weights_[~known], minlength=len(X))
        alone = ~complete & ~np.isnan(X[:, 0 if view == 0 else 6])
        assert np.median(sums[alone]) == pytest.approx(1.0, abs=0.2)


@pytest.mark.long
def test_cross_validation(wine):
    X, y = wine
    assert cross_val_score(MKLClassifier(views=HALVES), X, y).mean() > 0.94
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    views = [slice(0, 10), slice(10, 20), slice(20, 30)]
    assert cross_val_score(MKLClassifier(views=views, weights="mkl"), X, y).mean() > 0.95


def test_a_fit_that_fails_leaves_the_model_as_it_was(wine):
    X, y = wine
    model = MKLClassifier(views=HALVES).fit(X, y)
    before = model.decision_function(X)
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="'left' has NaN among its columns in row 3"):
        model.fit(broken, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_settings_reach_the_correspondence(cut_apart):
    X, y = cut_apart
    y = (y == 1).astype(int)
    objects = np.where(np.isnan(X[:, [0, 6]]), -1, np.cumsum(~np.isnan(X[:, [0, 6]]), axis=0) - 1)
    present = ~np.isnan(X[:, [0, 6]])
    grams = [linear_kernel(X[rows][:, columns]) for rows, columns in zip(present.T, HALVES.values())]
    labels = [y[rows] for rows in present.T]
    known = objects[present.all(axis=1)]
    numbers = [np.flatnonzero(rows) for rows in present.T]

    def rows_of(found):
        return np.column_stack([own[column] for own, column in zip(numbers, found[0].T)])

    for options in [
        {},
        {"crossing": "full"},
        {"crossing": "corners"},
        {"l2": True},
        {"band": 1},
        {"max_meta_objects": 150},
    ]:
        expected = tomographic_correspondence(grams, labels, known=known, random_state=4, **options)
        model = TomographicClassifier(views=HALVES, random_state=4, **options).fit(X, y)
        np.testing.assert_array_equal(model.meta_objects_, rows_of(expected))
    paired = cartesian_correspondence(labels, known=known, random_state=4)
    model = TomographicClassifier(views=HALVES, random_state=4, correspondence="cartesian").fit(X, y)
    np.testing.assert_array_equal(model.meta_objects_, rows_of(paired))


def test_marginals_are_kept_only_if_asked(cut_apart):
    X, y = cut_apart
    kept = TomographicClassifier(views=HALVES, random_state=0).fit(X, y)
    plain = TomographicClassifier(views=HALVES, random_state=0, keep_marginals=False).fit(X, y)
    np.testing.assert_array_equal(plain.meta_weights_, 1.0)
    assert np.ptp(kept.meta_weights_) > 0.5
    assert not np.allclose(kept.decision_function(X), plain.decision_function(X), atol=0.02)


def test_learnt_weights_keep_the_scale_of_the_sum(cut_apart):
    X, y = cut_apart
    moved = X.copy()
    moved[:, 6:] = 50 + 3 * moved[:, 6:]
    for scale_kernels in (True, False):
        model = TomographicClassifier(views=HALVES, weights="mkl", scale_kernels=scale_kernels, random_state=0)
        model.fit(moved, y)
        spread = [
            np.mean(np.var(moved[:, columns][~np.isnan(moved[:, columns.start])], axis=0))
            for columns in HALVES.values()
        ]
        sizes = np.array([1.0, 1.0]) if scale_kernels else 2 * np.array(spread) * [6, 7]
        assert model.kernel_weights_ @ sizes == pytest.approx(sizes.sum(), rel=0.05)


@pytest.mark.parametrize("weights", ["uniform", "mkl", pytest.param("sdp", marks=MARKS)])
def test_views_that_say_nothing(weights):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    A = rng.normal(size=(40, 2)) + 2 * y[:, None]
    for value in (0.0, 7.7):
        X, views, labels = stack_unpaired([(A, y), (np.full((40, 1), value), y)])
        whole = np.hstack([A, np.full((40, 1), value)])
        alone = TomographicClassifier(random_state=0).fit(A, y).score(A, y)
        model = TomographicClassifier(views=views, weights=weights, random_state=0).fit(X, labels)
        assert model.kernel_scales_[1] == 1.0
        assert model.score(whole, y) >= alone - 0.05
        matched = MKLClassifier(views=views, weights="mkl", kernel="linear").fit(whole, y)
        assert np.isfinite(matched.decision_function(whole)).all()


def test_weights_count_where_rows_lack_views(cut_apart):
    X, y = cut_apart
    y = (y == 1).astype(int)
    weights = np.array([0.3, 2.0])
    model = MKLClassifier(views=HALVES, kernel="linear", weights=weights).fit(X, y)
    centred = np.nan_to_num(X - np.nanmean(X, axis=0))  # a row without a view has no kernel values: it is at the means
    gram = sum(
        w * linear_kernel(centred[:, columns]) / s
        for w, columns, s in zip(weights, HALVES.values(), model.kernel_scales_)
    )
    peer = SVC(kernel="precomputed", tol=1e-5).fit(gram, y)
    complete = ~np.isnan(X).any(axis=1)
    np.testing.assert_allclose(model.decision_function(X)[complete], peer.decision_function(gram)[complete], atol=0.02)


def test_width_of_a_kernel_follows_the_data(wine):
    X, y = wine
    model = MKLClassifier(views=HALVES).fit(X, y)
    larger = MKLClassifier(views=HALVES).fit(100 * X, y)
    np.testing.assert_allclose(model.decision_function(X), larger.decision_function(100 * X), atol=0.02)
    assert model.kernels_[0].gamma == pytest.approx(1 / (6 * X[:, :6].var()))


def test_a_machine_that_does_not_converge_says_so(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    monkeypatch.setattr("fuselearn.kernels.machines.solve_svm", partial(solve_svm, max_iter=3))
    with pytest.warns(ConvergenceWarning, match="lower C"):
        MKLClassifier().fit(X, y)
    monkeypatch.undo()
    monkeypatch.setattr("fuselearn.kernels.mkl.MOST_ROUNDS", 1)
    with pytest.warns(ConvergenceWarning, match="have not converged in 1 rounds"):
        MKLClassifier(views=[[0], [1]], weights="mkl").fit(X, y)


@pytest.mark.long
def test_many_classes_take_little_memory():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 4)
    X = rng.normal(size=(60, 4))[y] + 0.1 * rng.normal(size=(240, 4))
    tracemalloc.start()
    model = TomographicClassifier(views=[[0, 1], [2, 3]], kernel="rbf", random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.score(X, y) > 0.9
    assert peak < 40e6


def test_labels_keep_their_type(cut_apart):
    X, y = cut_apart
    model = TomographicClassifier(views=HALVES, random_state=0).fit(X, y.astype(np.uint8))
    assert model.meta_labels_.dtype == np.uint8
