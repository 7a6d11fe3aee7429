"""Options of the kernel classifiers: weights of rows, labels of views, other classifiers, absent views, reference."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from fuselearn import AugmentedKernelClassifier, MKLClassifier, TomographicClassifier, load, save, stack_unpaired
from fuselearn.kernels import composite_kernel, tomographic_correspondence
from fuselearn.kernels.composition import embedding
from tests.naive import tomographic as naive

VIEWS = {"sepal": [0, 1], "petal": [2, 3]}


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


@pytest.fixture(scope="module")
def unmatched(flowers):
    X, y = flowers
    table, _, labels = stack_unpaired({"sepal": (X[::2, :2], y[::2]), "petal": (X[1::2, 2:], y[1::2])})
    return table, labels


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("kind", [MKLClassifier, AugmentedKernelClassifier])
def test_a_row_of_weight_2_is_as_two_rows(flowers, kind, kernel):
    X, y = flowers
    weights = np.random.default_rng(0).integers(0, 3, size=len(y))
    again = np.repeat(np.arange(len(y)), weights)
    # Weights are in units of their mean, and C counts rows.
    C = weights[weights > 0].mean()
    weighted = kind(views=VIEWS, kernel=kernel, C=C).fit(X, y, sample_weight=weights)
    repeated = kind(views=VIEWS, kernel=kernel).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.kernel_scales_, repeated.kernel_scales_)
    np.testing.assert_allclose(weighted.class_prior_, repeated.class_prior_)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=0.02)


def test_weights_of_a_machine_are_those_of_a_support_vector_machine(flowers):
    X, y = flowers
    kept = y < 2
    X, y = X[kept], y[kept]
    weights = np.random.default_rng(1).uniform(0, 3, size=len(y))
    weights[:5] = 0
    model = MKLClassifier(views=VIEWS, weights=[1.0, 1.0], kernel=linear_kernel).fit(X, y, sample_weight=weights)
    grams = [linear_kernel(X[:, columns]) for columns in VIEWS.values()]
    summed = sum(gram / scale for gram, scale in zip(grams, model.kernel_scales_))
    counted = weights[5:] / weights[5:].mean()
    peer = SVC(kernel="precomputed", tol=1e-6).fit(summed[5:, 5:], y[5:], sample_weight=counted)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(summed[:, 5:]), atol=0.01)
    assert not set(range(5)) & set(np.concatenate(model.support_).tolist())


def test_a_class_without_weight_never_wins(flowers):
    X, y = flowers
    model = MKLClassifier(views=VIEWS).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) == {0, 2}


def test_labels_of_views(flowers):
    X, y = flowers
    view_labels = np.column_stack([y, y])
    for kind in (MKLClassifier, AugmentedKernelClassifier):
        with_views = kind(views=VIEWS).fit(X, y, view_labels=view_labels)
        np.testing.assert_allclose(with_views.decision_function(X), kind(views=VIEWS).fit(X, y).decision_function(X))
    view_labels[:8, 1] = (y[:8] + 1) % 3
    # Observations of the augmented kernel have their own view's label: so do rows that hold one view each.
    apart = np.full((2 * len(y), 4), np.nan)
    apart[: len(y), :2], apart[len(y) :, 2:] = X[:, :2], X[:, 2:]
    together = AugmentedKernelClassifier(views=VIEWS).fit(X, y, view_labels=view_labels)
    separately = AugmentedKernelClassifier(views=VIEWS).fit(apart, view_labels.T.ravel())
    np.testing.assert_allclose(together.decision_function(X), separately.decision_function(X), atol=0.02)
    # One machine for all views takes what most of them say.
    views = [[0, 1], [2, 3], [1, 2]]
    three = np.column_stack([y, y, (y + 1) % 3])
    by_majority = MKLClassifier(views=views).fit(X, y, view_labels=three)
    np.testing.assert_allclose(
        by_majority.decision_function(X), MKLClassifier(views=views).fit(X, y).decision_function(X)
    )


def test_views_that_disagree_on_a_row_are_no_match(flowers):
    X, y = flowers
    view_labels = np.column_stack([y, y])
    view_labels[:8, 1] = (y[:8] + 1) % 3
    model = TomographicClassifier(views=VIEWS, random_state=0).fit(X, y, view_labels=view_labels)
    for view in range(2):
        assert np.array_equal(view_labels[model.meta_objects_[:, view], view], model.meta_labels_)
        assert set(model.meta_objects_[:, view]) == set(range(len(y)))
    together = model.meta_objects_[:, 0] == model.meta_objects_[:, 1]
    assert set(model.meta_objects_[together, 0]) == set(range(8, len(y)))
    assert (model.meta_weights_[together] == 1).all()


def test_embedding_has_the_products_of_the_kernel():
    X = np.random.default_rng(0).normal(size=(12, 3))
    for gram in (X @ X.T, rbf_kernel(X)):
        coordinates, coefficients = embedding(gram, 2.5)
        np.testing.assert_allclose(coordinates @ coordinates.T, 2.5 * gram, atol=1e-8)
        np.testing.assert_allclose(2.5 * gram @ coefficients.T, coordinates, atol=1e-5)
    assert embedding(X @ X.T, 1.0)[0].shape == (12, 3)
    assert embedding(X @ X.T, 0.0)[0].shape == (12, 0)


def test_a_linear_machine_as_the_estimator_is_the_machine_itself(flowers, unmatched):
    (X, _), (table, labels) = flowers, unmatched
    labels = (labels == 1).astype(int)
    own = TomographicClassifier(views=VIEWS, kernel="rbf", random_state=0).fit(table, labels)
    other = TomographicClassifier(
        views=VIEWS, kernel="rbf", estimator=SVC(kernel="linear", tol=1e-6), random_state=0
    ).fit(table, labels)
    assert np.array_equal(own.meta_objects_, other.meta_objects_)
    np.testing.assert_allclose(own.decision_function(X), other.decision_function(X), atol=0.02)


@pytest.mark.parametrize(
    ("estimator", "keep_marginals"),
    [
        (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1), False),
        (LogisticRegression(), True),
        (RandomForestClassifier(5), True),
        (RidgeClassifier(), True),
        (KNeighborsClassifier(3), False),
    ],
)
def test_other_classifiers_on_the_composite_kernel(flowers, unmatched, estimator, keep_marginals, tmp_path):
    (X, y), (table, labels) = flowers, unmatched
    model = TomographicClassifier(
        views=VIEWS, kernel="rbf", estimator=estimator, keep_marginals=keep_marginals, random_state=0
    ).fit(table, labels)
    assert model.score(X, y) > 0.7
    assert model.decision_function(X).shape == (len(y), 3)
    one_view = X.copy()
    one_view[:, :2] = np.nan
    assert model.score(one_view, y) > 0.5
    assert np.array_equal(model.predict(np.full((1, 4), np.nan)), model.classes_[[model.class_prior_.argmax()]])
    save(model, tmp_path / "model.fuse")
    loaded = load(tmp_path / "model.fuse", trusted=True)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    model.set_params(estimator=None, keep_marginals=True).fit(table, labels)
    assert not hasattr(model, "estimator_")


def test_an_estimator_that_cannot_do_it_is_refused(unmatched):
    with pytest.raises(TypeError, match="keep_marginals=True needs an estimator that takes sample_weight"):
        TomographicClassifier(views=VIEWS, estimator=KNeighborsClassifier()).fit(*unmatched)
    with pytest.raises(ValueError, match="absent_views='neutral' is of the support vector machine"):
        TomographicClassifier(views=VIEWS, estimator=LogisticRegression(), absent_views="neutral").fit(*unmatched)
    with pytest.raises(TypeError, match="must be a scikit-learn classifier; got 'forest'"):
        TomographicClassifier(views=VIEWS, estimator="forest").fit(*unmatched)


@pytest.mark.parametrize("kind", [MKLClassifier, TomographicClassifier])
def test_an_absent_view_at_its_neutral_point(flowers, kind):
    X, y = flowers
    X, y = X[y > 0], y[y > 0]
    model = kind(views=VIEWS, absent_views="neutral").fit(X, y)
    scaled = kind(views=VIEWS).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), scaled.decision_function(X))  # nothing is absent
    without = X.copy()
    without[:, :2] = np.nan
    # What the absent view says of each row, against what it says at the point half-way between the classes.
    said = model.decision_function(X) - model.decision_function(without) + model.neutral_values_[0, 0]
    middle = (said[y == 1].mean() + said[y == 2].mean()) / 2
    assert model.neutral_values_[0, 0] == pytest.approx(middle)
    assert not np.allclose(model.decision_function(without), scaled.decision_function(without))
    with pytest.raises(ValueError, match="absent_views must be one of"):
        kind(views=VIEWS, absent_views="drop").fit(X, y)


@pytest.mark.parametrize("kind", [MKLClassifier, TomographicClassifier])
def test_neutral_points_are_the_naive_ones(flowers, unmatched, kind):
    rng = np.random.default_rng(4)
    if kind is TomographicClassifier:
        X, y = unmatched
        model = kind(views=VIEWS, kernel=linear_kernel, absent_views="neutral", random_state=0).fit(X, y)
        items, labels, weights = model.meta_objects_, model.meta_labels_, model.meta_weights_
    else:
        X, y = flowers[0].copy(), flowers[1]
        X[:20:3, :2] = np.nan
        weights = rng.uniform(0.5, 2.0, len(y))
        model = kind(views=VIEWS, kernel=linear_kernel, absent_views="neutral").fit(X, y, sample_weight=weights)
        items, labels = np.repeat(np.arange(len(y))[:, None], 2, axis=1), y
    assert len(np.unique(weights)) > 1
    pairs = [(0, 1), (0, 2), (1, 2)]
    for view, columns in enumerate(VIEWS.values()):
        rows = X[items[:, view]][:, columns]
        factor = model.kernel_weights_[view] / model.kernel_scales_[view]
        seen = ~np.isnan(rows).any(axis=1)
        for number, (first, second) in enumerate(pairs):
            own = seen & np.isin(labels, [first, second])
            expected = naive.neutral_value(
                lambda x, z, factor=factor: factor * np.dot(x, z),
                model.support_rows_[view],
                model.dual_coef_[view][number],
                rows[own],
                np.where(labels[own] == second, 1, -1),
                weights[own],
            )
            assert model.neutral_values_[view, number] == pytest.approx(expected, abs=1e-9)


def test_the_reference_is_the_first_view_in_another_order(flowers, unmatched):
    rng = np.random.default_rng(0)
    labels = [np.repeat([0, 1], [12, 9]), np.repeat([0, 1], [8, 11]), np.repeat([0, 1], [10, 10])]
    kernels = [linear_kernel(rng.normal(size=(len(own), 2))) for own in labels]
    found, classes = tomographic_correspondence(kernels, labels, reference=2, random_state=0)
    order = [2, 0, 1]
    expected, _ = tomographic_correspondence(
        [kernels[view] for view in order], [labels[view] for view in order], random_state=0
    )
    assert np.array_equal(found[:, order], expected)
    assert composite_kernel(kernels, found).shape == (len(classes), len(classes))
    for reference in (3, -1, True, "petal"):
        with pytest.raises(ValueError, match="reference must be the number of a view, from 0 to 2"):
            tomographic_correspondence(kernels, labels, reference=reference)
    table, y = unmatched
    first, second = (TomographicClassifier(views=VIEWS, reference=name, random_state=0).fit(table, y) for name in VIEWS)
    default = TomographicClassifier(views=VIEWS, random_state=0).fit(table, y)
    assert np.array_equal(first.meta_objects_, default.meta_objects_)
    assert not np.array_equal(second.meta_objects_, default.meta_objects_)
    with pytest.raises(ValueError, match=r"reference must be the name of one of the views \['sepal', 'petal'\]"):
        TomographicClassifier(views=VIEWS, reference="leaf").fit(table, y)


def test_how_many_objects_the_walk_reached(unmatched):
    table, y = unmatched
    sizes = np.array([[(y[~np.isnan(table[:, column])] == label).sum() for column in (0, 2)] for label in range(3)])
    short = TomographicClassifier(views=VIEWS, max_meta_objects=sizes.max(axis=1).sum(), random_state=0).fit(table, y)
    whole = TomographicClassifier(views=VIEWS, max_meta_objects=np.inf, random_state=0).fit(table, y)
    at_random = TomographicClassifier(views=VIEWS, correspondence="cartesian", random_state=0).fit(table, y)
    assert (short.n_reached_ < sizes).any()
    # Outliers of a view are not reached where the other view has no pairs left; nearly all objects are.
    assert (short.n_reached_ <= whole.n_reached_).all()
    assert whole.n_reached_.sum() > 0.9 * sizes.sum()
    assert not at_random.n_reached_.any()
    assert len(whole.meta_objects_) > len(short.meta_objects_)
