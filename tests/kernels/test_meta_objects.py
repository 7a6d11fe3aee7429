"""The set of meta-objects of a class, one call at a time, against the one of the slow loops; limits of its size."""

import copy

import numpy as np
import pytest

from fuselearn.kernels.meta_objects import NO_CAP, MetaObjects, check_cap, least_meta_objects, read_matching
from tests.naive import tomographic as naive


class Class:
    """The rows of a class, seen by some of its views each, as our set and the naive one are given them."""

    def __init__(self, seed, *, most_objects=6, ties=None, spare=None):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.n_views = int(rng.integers(2, 5))
        self.sizes = rng.integers(1, most_objects + 1, self.n_views)
        free = [rng.permutation(size).tolist() for size in self.sizes]
        known = []
        share = rng.choice([0.5, 0.7, 1.0])
        for _ in range(rng.integers(0, most_objects + 1) if ties is None else ties):
            seen = (rng.random(self.n_views) < share) & np.array([len(objects) > 0 for objects in free])
            if seen.any():
                known.append([free[view].pop() if seen[view] else -1 for view in range(self.n_views)])
        known = np.array(known, dtype=int).reshape(-1, self.n_views)
        self.rows = naive.rows_of_class([list(range(size)) for size in self.sizes], known)
        least = len(self.rows["complete"]) + naive.needed(self.rows, self.n_views)
        self.cap = least + int(rng.integers(0, 12) if spare is None else spare)
        rows = [[row.get(view, -1) for view in range(self.n_views)] for kind in self.rows.values() for row in kind]
        self.array = np.array(rows)[rng.permutation(len(rows))]
        assert least_meta_objects(self.array) == least

    def both(self):
        """Our set and the naive one, which begin with the same members."""
        return MetaObjects(self.array, self.cap), naive.CorrespondenceSet(copy.deepcopy(self.rows), self.cap)

    def candidates(self, number):
        """Objects of each view, put together at random."""
        return self.rng.integers(0, self.sizes, size=(number, self.n_views))


def assert_same(ours, oracle):
    """The members in their order, what they cover, and the room that is left."""
    assert [tuple(member) for member in ours.members.tolist()] == list(oracle.members)
    assert ours.n_free == oracle.room()
    assert ours.all_covered == oracle.covers_all()
    sizes = [sum(view == m for view, _ in oracle.row_of) for m in range(oracle.n_views)]
    left = [sum(m in row for rows in oracle.uncovered.values() for row in rows) for m in range(oracle.n_views)]
    assert ours.n_covered.tolist() == [size - n for size, n in zip(sizes, left)]
    complete = [[oracle.is_complete(m, x) for x in range(size)] for m, size in enumerate(sizes)]
    assert ours.all_complete == all(map(all, complete))
    for m, of_view in enumerate(complete):
        incomplete = ours.incomplete[m].tolist()
        assert incomplete == [not known for known in of_view] + [False] * (len(incomplete) - len(of_view))


def assert_listed(ours):
    """Members of each object of the first view are found from it, in the order they came."""
    members = ours.members
    for first in range(members[:, 0].max() + 1 if len(members) else 0):
        found, number = [], ours._heads[first]
        while number >= 0:
            found.append(number)
            number = ours._links[number]
        assert found == np.flatnonzero(members[:, 0] == first).tolist()


@pytest.mark.parametrize("ties", [0, 3, None])
def test_candidates_are_completed_and_admitted_as_written_out(ties):
    for seed in range(120):
        problem = Class(seed, ties=ties)
        ours, oracle = problem.both()
        assert_same(ours, oracle)
        for number in (1, 0, 3, 20, 3):
            if oracle.room() <= 0:
                break
            candidates = problem.candidates(number)
            more = oracle.admit(map(tuple, candidates.tolist()))
            assert ours.admit(candidates) == more
            assert_same(ours, oracle)
        assert_listed(ours)


@pytest.mark.parametrize("n_candidates", [0, 4])
def test_what_is_left_is_put_together_as_written_out(n_candidates):
    for seed in range(120):
        problem = Class(seed, spare=4)
        ours, oracle = problem.both()
        candidates = problem.candidates(n_candidates)
        oracle.admit(map(tuple, candidates.tolist()))
        ours.admit(candidates)
        naive.cover_the_rest(oracle, np.random.default_rng(seed))
        ours.cover(np.random.default_rng(seed))
        assert_same(ours, oracle)
        assert ours.all_covered
        assert_listed(ours)


def test_many_members_are_there_once_each():
    """The table of members grows several times, and is nearly full at times."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.column_stack([np.arange(40), np.full(40, -1)])[:, ::step] for step in (1, -1)])
    ours, wanted = MetaObjects(rows, NO_CAP), {}
    for n_candidates in [*range(1, 30), 300, 1, 1, 500, 2, 800]:
        candidates = rng.integers(40, size=(n_candidates, 2))
        wanted |= dict.fromkeys(map(tuple, candidates.tolist()))
        assert ours.admit(candidates)
        assert [tuple(member) for member in ours.members.tolist()] == list(wanted)
    assert len(wanted) > 800
    assert_listed(ours)


def test_a_set_that_is_full_takes_nothing_more():
    ours = MetaObjects(np.array([[0, -1], [1, -1], [-1, 0], [-1, 1]]), 3)
    assert ours.n_free == 1
    assert ours.admit(np.array([[0, 0]]))  # which covers two objects: one more is needed for the others
    assert ours.n_free == 1
    assert not ours.admit(np.array([[0, 1], [1, 0]]))
    assert ours.members.tolist() == [[0, 0], [0, 1]]
    assert not ours.admit(np.array([[1, 0]]))
    assert not ours.admit(np.empty((0, 2), dtype=np.int64))
    ours.cover(np.random.default_rng(0))
    assert ours.members[:, 0].tolist() == [0, 0, 1]


def test_objects_of_the_only_view_are_meta_objects():
    ours = MetaObjects(np.array([[2], [0], [1]]), 3)
    assert ours.members.tolist() == [[0], [1], [2]]
    assert (ours.n_free, ours.all_covered, ours.all_complete, ours.n_covered.tolist()) == (0, True, True, [3])
    assert not ours.incomplete.any()


def labels_of(*sizes_of_classes):
    """Labels of views in which each class has so many objects, and the numbers of all objects."""
    labels = [
        np.repeat(np.arange(len(sizes_of_classes)), of_view).tolist() for of_view in np.transpose(sizes_of_classes)
    ]
    return labels, [len(of_view) for of_view in labels]


@pytest.mark.parametrize(
    ("sizes", "caps"),
    [
        ([[100, 100]], [10_000]),
        ([[73, 137]], [12 * 137]),  # of which there are 10,001 pairs
        ([[1, 9_999], [2, 3]], [9_999, 6]),
        ([[22, 22, 22], [3, 4, 5]], [12 * 22, 60]),
    ],
)
def test_caps_of_large_and_of_small_classes(sizes, caps):
    labels, n_objects = labels_of(*sizes)
    matching = read_matching(labels, n_objects, None, None)
    assert [of_class.cap for of_class in matching.objects_of_classes] == caps
    unlimited = read_matching(labels, n_objects, None, np.inf).objects_of_classes
    assert min(of_class.cap for of_class in unlimited) > 10**15


def test_things_that_all_views_saw_are_no_reason_for_a_larger_cap():
    labels, n_objects = labels_of([120, 110])
    known = np.column_stack([np.arange(30), np.arange(30)])
    assert read_matching(labels, n_objects, known, None).objects_of_classes[0].cap == 30 + 12 * (120 - 30)


@pytest.mark.parametrize("extra", [0, 1, 5, 16])
def test_a_cap_is_shared_out_in_proportion(extra):
    labels, n_objects = labels_of([2, 4], [5, 1], [7, 3])
    caps = [of_class.cap for of_class in read_matching(labels, n_objects, None, 16 + extra).objects_of_classes]
    assert sum(caps) == 16 + extra
    assert np.abs(np.array(caps) - np.array([4, 5, 7]) * (1 + extra / 16)).max() < 1
    assert min(np.array(caps) - [4, 5, 7]) >= 0
    with pytest.raises(ValueError, match=r"max_meta_objects=15 is too few .* at least 16"):
        read_matching(labels, n_objects, None, 15)


@pytest.mark.parametrize("cap", [None, 1, 7, np.inf, float("inf")])
def test_numbers_of_meta_objects(cap):
    check_cap(cap)


@pytest.mark.parametrize("cap", [0, -1, 2.5, 3.0, -np.inf, True, "inf", np.nan])
def test_what_is_no_number_of_meta_objects(cap):
    with pytest.raises(ValueError, match="max_meta_objects must be"):
        check_cap(cap)
