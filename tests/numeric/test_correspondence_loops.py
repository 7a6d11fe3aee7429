"""The compiled loops of the correspondence against loops in plain Python: sorting, joins of a band, the hash table."""

import itertools

import numpy as np
import pytest

from fuselearn.numeric.correspondence_loops import _home, _sort, fill_places, free_places, joins_of_band


@pytest.mark.parametrize("n_values", [4, 10**6])
def test_the_first_numbers_are_sorted(n_values):
    rng = np.random.default_rng(0)
    for n in [*range(70), 130, 200, 400]:
        numbers = rng.integers(n_values, size=n + 3)
        expected = [*sorted(numbers[:n].tolist()), *numbers[n:].tolist()]
        _sort(numbers, n)
        assert numbers.tolist() == expected
    backwards = np.arange(50)[::-1].copy()
    _sort(backwards, 50)
    assert backwards.tolist() == list(range(50))


class Band:
    """Pairs of objects of several views, of which some are in the band, and meta-objects that they may lead on from."""

    def __init__(self, seed, *, n_views=None, objects=(2, 7), n_members=12, incomplete=0.3, all_pairs=False):
        rng = np.random.default_rng(seed)
        n_views = int(rng.integers(1, 5)) if n_views is None else n_views
        sizes = rng.integers(*objects, n_views, endpoint=True)
        self.pairs, self.bounds = [], []
        for size in sizes:
            ends = np.array(list(itertools.combinations(range(size), 2)))
            ends = ends[rng.permutation(len(ends))]
            # Whole numbers: sums are exact, and often equal.
            distances = np.sort(rng.integers(0, 6, len(ends))).astype(float)
            self.pairs.append([(*pair, d) for pair, d in zip(ends.tolist(), distances.tolist())])
            self.bounds.append((0, len(ends)) if all_pairs else sorted(rng.integers(0, len(ends) + 1, 2).tolist()))
        self.incomplete = np.zeros((n_views, sizes.max()), dtype=bool)
        for view, size in enumerate(sizes):
            self.incomplete[view, :size] = rng.random(size) < incomplete
        ways = list(itertools.product(*map(range, sizes)))
        chosen = rng.permutation(len(ways))[:n_members]
        self.members = [ways[way] for way in chosen]

    def result(self, squared_radius=np.inf, most=10**6):
        """What the compiled loop says, with the ends of the rest as one list a view."""
        first, second, distances = (np.array(column) for column in zip(*itertools.chain(*self.pairs)))
        offsets = np.cumsum([0, *map(len, self.pairs[:-1])])
        starts, ends = (offsets + np.array(bound) for bound in zip(*self.bounds))
        heads, links = np.full(self.incomplete.shape[1], -1), np.full(len(self.members), -1)
        for number, member in reversed(list(enumerate(self.members))):
            links[number], heads[member[0]] = heads[member[0]], number
        any_incomplete, joins, rest, rest_ends = joins_of_band(
            first,
            second,
            distances.astype(float),
            starts,
            ends,
            self.incomplete,
            np.array(self.members, dtype=np.int64).reshape(-1, len(self.pairs)),
            heads,
            links,
            float(squared_radius),
            most,
        )
        parts = [rest[start:end].tolist() for start, end in itertools.pairwise([0, *rest_ends])]
        return any_incomplete, [tuple(join) for join in joins.tolist()], parts

    def expected(self, squared_radius=np.inf, most=10**6):
        """The same by trying all ways, and whether the limit was reached."""
        bands = [pairs[start:end] for pairs, (start, end) in zip(self.pairs, self.bounds)]
        if not any(self.incomplete[view, end] for view, band in enumerate(bands) for i, j, _ in band for end in (i, j)):
            return False, [], [[] for _ in bands]
        joins, used = [], [set() for _ in bands]
        for member in self.members:
            leading = [[pair for pair in band if x in pair[:2]] for x, band in zip(member, bands)]
            for choice in itertools.product(*leading):
                join = tuple(j if i == x else i for x, (i, j, _) in zip(member, choice))
                if len(joins) == most or sum(d for *_, d in choice) > squared_radius * (1 + 1e-12):
                    continue
                if any(self.incomplete[view, x] for view, x in enumerate(join)):
                    joins.append(join)
                    for pairs_used, pair in zip(used, choice):
                        pairs_used.add(pair)
        rest = [
            list(dict.fromkeys(end for pair in band if pair not in taken for end in pair[:2]))
            for band, taken in zip(bands, used)
        ]
        return True, joins, rest


@pytest.mark.parametrize("radius", [np.inf, 0, 3, 7.5])
def test_joins_are_those_of_all_ways(radius):
    n_joins = 0
    for seed in range(150):
        band = Band(seed, incomplete=0.2 + 0.3 * (seed % 2))
        found = band.result(radius)
        assert found == band.expected(radius), seed
        n_joins += len(found[1])
    assert n_joins > 10


@pytest.mark.parametrize(("n_views", "radius"), [(2, np.inf), (3, 6), (4, 5)])
def test_joins_of_all_pairs(n_views, radius):
    """More than fit into the arrays that the loop begins with: hundreds of members and of joins."""
    band = Band(1, n_views=n_views, objects=(14, 16) if n_views == 2 else (5, 5), n_members=150, all_pairs=True)
    assert len(band.members) > 100
    found = band.result(radius)
    assert len(found[1]) > 300
    assert found == band.expected(radius)
    for most in (0, 1, 64, 65, 130):
        limited = band.result(radius, most)
        assert len(limited[1]) == most
        assert limited == band.expected(radius, most)


def test_a_sum_that_is_the_radius_but_for_rounding_is_within_it():
    band = Band(0, n_views=2, n_members=1)
    band.pairs = [[(0, 1, 0.1)], [(0, 1, 0.2)]]
    band.bounds, band.members, band.incomplete = [(0, 1)] * 2, [(0, 0)], np.ones((2, 2), dtype=bool)
    for radius, joined in [(0.3, True), (0.3 - 1e-13, True), (0.3 - 1e-11, False), (0.31, True), (0.29, False)]:
        assert band.result(radius)[1] == [(1, 1)] * joined


def test_a_band_without_anything_to_match_is_left():
    band = Band(0, incomplete=0.0, all_pairs=True)
    assert band.result() == (False, [], [[] for _ in band.pairs])
    arrays = np.array([0]), np.array([1]), np.array([1.0]), np.array([0]), np.array([1])
    chain = np.empty((0, 1), np.int64), np.array([-1, -1]), np.empty(0, np.int64)
    _, joins, rest, rest_ends = joins_of_band(*arrays, np.zeros((1, 2), dtype=bool), *chain, np.inf, 5)
    assert (joins.shape, rest.shape, rest_ends.tolist()) == ((0, 1), (0,), [0])


def test_places_that_are_free():
    """Of 20, four are taken; three are for partial rows, which take in 2 of 5 objects of one view, and 1 of another."""
    assert free_places(20, np.array([3, 4]), np.array([5, 1]), np.array([2, 1])) == 20 - 4 - 3 - 3
    assert free_places(20, np.array([3, 4]), np.array([1, 1]), np.array([2, 4])) == 20 - 4 - 3


def test_members_have_places_all_over_the_table():
    """A member that is in no other's place is found at once: of places drawn at random 63 % are taken by as many."""
    members = np.array(list(itertools.product(range(64), repeat=2)))
    places = [int(_home(member, 4096)) for member in members]
    assert 0 <= min(places) <= max(places) < 4096
    assert len(set(places)) > 0.55 * 4096
    assert len({int(_home(member, 2)) for member in members}) == 2


def test_members_whose_places_are_taken_have_the_next_free_ones():
    members = np.random.default_rng(0).integers(5, size=(60, 3))
    places = np.full(64, -1)
    fill_places(members, 60, places)
    expected = [-1] * 64
    for number, member in enumerate(members):
        place = int(_home(member, 64))
        while expected[place] >= 0:
            place = (place + 1) % 64
        expected[place] = number
    assert places.tolist() == expected
