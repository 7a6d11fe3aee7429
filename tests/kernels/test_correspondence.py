"""Which objects belong together: the fast correspondence against Algorithm 1 written out, and what must always hold."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import check_random_state

from fuselearn.kernels import (
    augmented_kernel,
    cartesian_correspondence,
    composite_kernel,
    composite_test_kernel,
    tomographic_correspondence,
)
from fuselearn.kernels.correspondence import _farthest
from fuselearn.kernels.meta_objects import least_meta_objects
from tests.naive import tomographic as naive

CROSSINGS = ["sample", "full", "corners"]


def seed_of(random_state):
    """The number that the naive version is to be seeded with."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@st.composite
def problems(draw, most_views=4):
    """Kernels and labels of views, and some objects that are known to be one thing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_views, n_classes = draw(st.integers(2, most_views)), draw(st.integers(1, 3))
    discrete = draw(st.booleans())
    kernels, labels = [], []
    for _ in range(n_views):
        own = np.repeat(np.arange(n_classes), rng.integers(1, draw(st.sampled_from([4, 9])), size=n_classes))
        rng.shuffle(own)
        points = rng.normal(size=(len(own), 2)) * rng.choice([1.0, 3.0])
        points = np.round(points) if discrete else points
        kernels.append(points @ points.T)
        labels.append(own)
    known = None
    if draw(st.booleans()):
        free = [[list(rng.permutation(np.flatnonzero(own == label))) for own in labels] for label in range(n_classes)]
        known = []
        for _ in range(draw(st.integers(0, 12))):
            of_class = free[rng.integers(n_classes)]
            chosen = rng.random(n_views) < rng.choice([0.5, 1.0])
            row = [int(own.pop()) if wanted and own else -1 for own, wanted in zip(of_class, chosen)]
            if max(row) >= 0:
                known.append(row)
        known = np.array(known).reshape(-1, n_views)
    return kernels, labels, known


@given(
    problem=problems(),
    crossing=st.sampled_from(CROSSINGS),
    l2=st.booleans(),
    band=st.sampled_from([1, 2, 5]),
    spare=st.sampled_from([None, 0, 3, 50, np.inf]),
    scale=st.booleans(),
    random_state=st.integers(0, 1000),
)
def test_same_as_algorithm_1(problem, crossing, l2, band, spare, scale, random_state):
    kernels, labels, known = problem
    most = None
    if spare is not None:
        most = least_of(labels, known) + spare
        if most - spare > 1:  # not for an infinite cap
            with pytest.raises(ValueError, match=f"must be at least {most - spare}"):
                cartesian_correspondence(labels, known=known, max_meta_objects=most - spare - 1)
    settings = {"known": known, "crossing": crossing, "l2": l2, "band": band, "max_meta_objects": most}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "crossing='full' was as 'sample'")
        meta_objects, meta_labels = tomographic_correspondence(
            kernels, labels, scale_kernels=scale, random_state=random_state, **settings
        )
    expected = naive.correspondence(kernels, labels, scale_kernels=scale, seed=seed_of(random_state), **settings)
    assert [tuple(row) for row in meta_objects.tolist()] == expected[0]
    assert meta_labels.tolist() == expected[1]
    check_invariants(meta_objects, meta_labels, labels, known, most)


@given(problem=problems(), spare=st.sampled_from([None, 0, 3, 50]), random_state=st.integers(0, 1000))
def test_random_pairs_as_written_out(problem, spare, random_state):
    _, labels, known = problem
    most = None if spare is None else least_of(labels, known) + spare
    meta_objects, meta_labels = cartesian_correspondence(
        labels, known=known, max_meta_objects=most, random_state=random_state
    )
    expected = naive.cartesian(labels, known=known, max_meta_objects=most, seed=seed_of(random_state))
    assert [tuple(row) for row in meta_objects.tolist()] == expected[0]
    assert meta_labels.tolist() == expected[1]
    check_invariants(meta_objects, meta_labels, labels, known, most)


def least_of(labels, known):
    """Fewest meta-objects that can be asked for."""
    rows = [naive.rows_of_class(objects, known) for objects in naive.split_by_class(labels)[1]]
    return sum(len(own["complete"]) + naive.needed(own, len(labels)) for own in rows)


def check_invariants(meta_objects, meta_labels, labels, known, most):
    assert len(np.unique(meta_objects, axis=0)) == len(meta_objects)
    for view, own in enumerate(labels):
        assert set(meta_objects[:, view]) == set(range(len(own)))  # nothing is thrown away
        assert np.array_equal(own[meta_objects[:, view]], meta_labels)
    if most is not None:
        assert len(meta_objects) <= most
    for row in [] if known is None else known:
        seen = row >= 0
        together = (meta_objects[:, seen] == row[seen]).all(axis=1)
        assert together.any()
    complete = [] if known is None else known[(known >= 0).all(axis=1)]
    # Objects that all views saw are put together with others only where those lack a view.
    matched = np.column_stack(
        [np.isin(column, complete[:, m]) if len(complete) else column < 0 for m, column in enumerate(meta_objects.T)]
    )
    assert matched.all(axis=1).sum() == len(complete)


@given(problem=problems(most_views=3), crossing=st.sampled_from(CROSSINGS), shuffle=st.integers(0, 2**32 - 1))
def test_order_of_objects_does_not_matter(problem, crossing, shuffle):
    _, labels, _ = problem
    rng = np.random.default_rng(shuffle)
    # A class of one or two objects in a view is a tie by nature.
    labels = [np.concatenate([own, np.repeat(np.unique(own), 3)]) for own in labels]
    points = [rng.normal(size=(len(own), 3)) for own in labels]
    orders = [rng.permutation(len(own)) for own in labels]
    settings = {"crossing": crossing, "random_state": 5, "max_meta_objects": 10_000}
    before, _ = tomographic_correspondence([p @ p.T for p in points], labels, **settings)
    shuffled = [p[order] for p, order in zip(points, orders)]
    after, _ = tomographic_correspondence(
        [p @ p.T for p in shuffled], [own[order] for own, order in zip(labels, orders)], **settings
    )
    renamed = np.column_stack([order[column] for order, column in zip(orders, after.T)])
    assert {tuple(row) for row in before} == {tuple(row) for row in renamed}


def test_everything_matched_stays_as_it_is():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=30)
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    known = np.column_stack([np.arange(30), np.arange(30)])
    meta_objects, meta_labels = tomographic_correspondence([A @ A.T, B @ B.T], [y, y], known=known, random_state=0)
    order = np.argsort(meta_objects[:, 0])
    assert np.array_equal(meta_objects[order], known)
    composite = composite_kernel([A @ A.T, B @ B.T], meta_objects[order])
    np.testing.assert_allclose(composite, A @ A.T + B @ B.T)
    assert np.array_equal(meta_labels[order], y)


@given(problem=problems(), random_state=st.integers(0, 99))
def test_composite_kernels(problem, random_state):
    kernels, labels, known = problem
    meta_objects, _ = tomographic_correspondence(kernels, labels, known=known, random_state=random_state)
    composite = composite_kernel(kernels, meta_objects)
    np.testing.assert_allclose(composite, naive.naive_composite(kernels, meta_objects.tolist()), atol=1e-9)
    assert np.linalg.eigvalsh(composite).min() > -1e-8 * max(1.0, np.trace(composite))
    weights = np.arange(1.0, len(kernels) + 1)
    test_kernels = [kernel[:1] for kernel in kernels]
    test_kernel = composite_test_kernel(test_kernels, meta_objects, weights=weights)
    expected = sum(w * kernel[0, column] for w, kernel, column in zip(weights, kernels, meta_objects.T))
    np.testing.assert_allclose(test_kernel[0], expected, atol=1e-9)
    augmented = augmented_kernel(kernels)
    np.testing.assert_array_equal(augmented, naive.naive_augmented(kernels))
    assert np.linalg.eigvalsh(augmented).min() > -1e-8 * max(1.0, np.trace(augmented))


def test_a_view_on_another_scale_is_not_passed_over():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 2))
    labels = [np.zeros(60, dtype=int)] * 2
    small, large = np.outer(points[:, 0], points[:, 0]), 100 * np.outer(points[:, 1], points[:, 1])
    scaled, _ = tomographic_correspondence([small, large], labels, random_state=0)
    same, _ = tomographic_correspondence([small, large / 100], labels, random_state=0)
    assert np.array_equal(scaled, same)


def test_numbers_bounded_by_the_cap_and_not_by_the_product():
    rng = np.random.default_rng(2)
    points = [rng.normal(size=(60, 2)) for _ in range(6)]
    labels = [np.zeros(60, dtype=int)] * 6
    kernels = [p @ p.T for p in points]
    with pytest.warns(UserWarning, match="crossing='full' was as 'sample' in all .* max_meta_objects; it is 100"):
        meta_objects, _ = tomographic_correspondence(
            kernels, labels, crossing="full", max_meta_objects=100, random_state=0
        )
    assert 60 <= len(meta_objects) <= 100


def test_joins_stay_within_the_ball_inside_the_box():
    # All pairs are one band, of the squared distance 100, and (0, 0) is known. The ball around it holds (1, 1), at
    # 9 + 16; (2, 1), at 100 + 16, is in the box only, and in the ball around that.
    first, second = np.array([0.0, 3.0, 10.0]), np.array([0.0, 4.0, 20.0])
    problem = [np.outer(first, first), np.outer(second, second)], [np.zeros(3, dtype=int)] * 2
    settings = {"known": [[0, 0]], "band": 3, "scale_kernels": False, "crossing": "corners", "random_state": 0}
    found = {}
    for l2 in (False, True):
        numbers, _ = tomographic_correspondence(*problem, l2=l2, **settings)
        found[l2] = {tuple(row) for row in numbers.tolist()}
    assert found[False] == {(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)}
    assert found[True] == {(0, 0), (1, 1), (0, 2), (2, 0), (2, 2)}  # joined (1, 1), and crossed what was left


def test_joining_is_bounded_by_the_cap_and_not_by_the_product():
    # One object is unmatched, and the last band holds nearly all pairs: there are n^M ways to join in it.
    rng = np.random.default_rng(0)
    n_views, n = 6, 40
    y = np.repeat([0, 1], n)
    points = [rng.normal(size=(2 * n, 3)) + 3 * y[:, None] for _ in range(n_views)]
    points[0][:n] *= 0.05
    kept = [np.arange(2 * n) if view == 1 else np.arange(1, 2 * n) for view in range(n_views)]
    known = np.column_stack([np.arange(1, 2 * n) - (view != 1) for view in range(n_views)])
    kernels = [p[rows] @ p[rows].T for p, rows in zip(points, kept)]
    for l2 in (False, True):
        found, _ = tomographic_correspondence(kernels, [y[rows] for rows in kept], known=known, l2=l2, random_state=0)
        assert len(found) >= 2 * n


def test_rows_that_lack_a_view_take_in_objects_of_it():
    labels = [np.zeros(10, dtype=int)] * 3
    known = np.column_stack([np.arange(10), np.arange(10), np.full(10, -1)])
    found, _ = cartesian_correspondence(labels, known=known, max_meta_objects=10, random_state=0)
    assert len(found) == 10
    with pytest.raises(ValueError, match="must be at least 10"):
        cartesian_correspondence(labels, known=known, max_meta_objects=9)


@pytest.mark.parametrize("l2", [False, True])
@pytest.mark.parametrize("crossing", CROSSINGS)
def test_matches_of_two_of_three_views_where_none_is_complete(crossing, l2):
    rng = np.random.default_rng(3)
    kernels = [points @ points.T for points in rng.normal(size=(3, 12, 2))]
    labels = [np.zeros(12, dtype=int)] * 3
    known = np.array([[0, 3, -1], [5, -1, 2], [-1, 7, 8], [9, 9, -1], [4, -1, 6]])
    settings = {"known": known, "crossing": crossing, "l2": l2, "band": 5, "max_meta_objects": 60}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "crossing='full' was as 'sample'")
        found, found_labels = tomographic_correspondence(kernels, labels, random_state=1, **settings)
    expected = naive.correspondence(kernels, labels, scale_kernels=True, seed=seed_of(1), **settings)
    assert [tuple(row) for row in found.tolist()] == expected[0]
    check_invariants(found, found_labels, labels, known, 60)


@pytest.mark.parametrize("band", [20, 45])
def test_wide_bands_join_within_the_ball(band):
    rng = np.random.default_rng(4)
    kernels = [points @ points.T for points in rng.normal(size=(3, 14, 1)) * [[[1.0]], [[0.3]], [[0.3]]]]
    labels = [np.zeros(14, dtype=int)] * 3
    known = np.column_stack([np.arange(7)] * 3)
    settings = {"known": known, "crossing": "sample", "l2": True, "band": band, "max_meta_objects": 500}
    found, _ = tomographic_correspondence(kernels, labels, scale_kernels=False, random_state=1, **settings)
    expected = naive.correspondence(kernels, labels, scale_kernels=False, seed=seed_of(1), **settings)
    assert [tuple(row) for row in found.tolist()] == expected[0]
    assert len(found) > 30


def test_a_product_that_fits_exactly_is_crossed_in_full():
    # One band holds all of two and three objects. Three meta-objects may be needed to cover what is left.
    kernels = [np.outer(np.arange(n), np.arange(n)).astype(float) for n in (2, 3)]
    labels = [np.zeros(2, dtype=int), np.zeros(3, dtype=int)]
    settings = {"crossing": "full", "band": 10, "random_state": 0}
    found, _ = tomographic_correspondence(kernels, labels, max_meta_objects=9, **settings)
    assert {tuple(row) for row in found.tolist()} == {(i, j) for i in range(2) for j in range(3)}
    with pytest.warns(UserWarning, match="crossing='full' was as 'sample' in all"):
        tomographic_correspondence(kernels, labels, max_meta_objects=8, **settings)


def test_corners_of_objects_in_one_place_are_two_of_them():
    objects = np.array([4, 2, 7])
    distances = np.zeros((8, 8))
    assert _farthest(distances, objects).tolist() == [4, 2]
    distances[2, 7] = distances[7, 2] = 1.0
    assert _farthest(distances, objects).tolist() == [2, 7]
    assert _farthest(distances, objects[:1]).tolist() == [4]


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        ([[0], [1], [2]], 3),
        ([[0, 0], [1, 1]], 2),
        ([[0, -1], [1, -1], [-1, 0]], 2),
        ([[0, 0, 0], [1, 1, -1], [2, -1, -1], [-1, -1, 1], [-1, -1, 2], [-1, -1, 3]], 4),  # one takes in what it lacks
    ],
)
def test_fewest_meta_objects_that_cover_all_rows(rows, least):
    assert least_meta_objects(np.array(rows)) == least


def test_order_in_which_matches_are_told_does_not_matter():
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(20, 2)) for _ in range(3)]
    kernels, labels = [p @ p.T for p in points], [np.zeros(20, dtype=int)] * 3
    known = np.array([[0, 3, -1], [5, -1, 2], [-1, 7, 8], [1, 1, 1], [9, 9, -1]])
    first, _ = tomographic_correspondence(kernels, labels, known=known, random_state=0)
    second, _ = tomographic_correspondence(kernels, labels, known=known[::-1], random_state=0)
    assert np.array_equal(first, second)


def test_default_cap():
    rng = np.random.default_rng(0)
    labels = [np.zeros(101, dtype=int)] * 2
    kernels = [points @ points.T for points in rng.normal(size=(2, 101, 5))]
    assert len(tomographic_correspondence(kernels, labels, random_state=0)[0]) == 12 * 101
    known = np.tile(np.arange(90), (2, 1)).T
    assert len(tomographic_correspondence(kernels, labels, known=known, random_state=0)[0]) == 90 + 12 * 11
    # A product of 10,000 is not cut off: the walk is as without any limit.
    some = [kernel[:100, :100] for kernel in kernels]
    whole, _ = tomographic_correspondence(some, [labels[0][:100]] * 2, random_state=0)
    without_limit, _ = tomographic_correspondence(some, [labels[0][:100]] * 2, max_meta_objects=np.inf, random_state=0)
    assert len(whole) > 1200
    assert np.array_equal(whole, without_limit)
