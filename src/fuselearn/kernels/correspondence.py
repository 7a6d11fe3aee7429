"""Which objects of different views belong together, when nobody wrote it down (S4 §3.1, Algorithm 1).

S4 takes dense places of a class in one view and dense places of it in another view to be the same places. Pairs of
objects are read from the nearest to the farthest, in bands of equal distance in all views at once. A pair that starts
at a meta-object found before leads on to the next one (joining); what is left of a band is put together in all ways,
or in enough of them that no object is lost (crossing).
"""

from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from math import prod
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from fuselearn.backends.gpu.arrays import all_on_host, on_host
from fuselearn.backends.gpu.kernels import (
    any_on_device,
    check_device_kernels,
    mean_squared_distance,
    some_objects,
    squared_distances,
)
from fuselearn.estimators import check_choice, check_count, check_flag
from fuselearn.kernels.matching import read_matching
from fuselearn.kernels.meta_objects import MetaObjects
from fuselearn.kernels.view_kernels import check_kernels
from fuselearn.numeric.pairs import SortedPairs

CROSSINGS = ("sample", "full", "corners")
LOOKED_AT = 16
"""Joins of a band that are looked at, as a multiple of the cap: most of them may be there already."""
MOST_PASSES = 8
"""Random pairings of a class stop after as many passes; by then nearly all of a small product is there."""


@dataclass(frozen=True)
class Walk:
    """How the pairs of a class are read.

    Attributes
    ----------
    crossing : {"sample", "full", "corners"}
    l2 : bool
    band : int
    """

    crossing: str = "sample"
    l2: bool = False
    band: int = 5


def tomographic_correspondence(
    kernels,
    labels,
    *,
    known=None,
    crossing="sample",
    l2=False,
    band=5,
    max_meta_objects=None,
    scale_kernels=True,
    random_state=None,
):
    """Put objects of different views together by the density of their class around them (S4 Algorithm 1).

    Parameters
    ----------
    kernels : list of array of shape (n_objects of the view, n_objects of the view)
        Kernel matrix of each view; the first is the reference. Of arrays of CuPy, or of torch on a GPU, the distances
        are computed there; that they are positive semi-definite is tested on the host only.
    labels : list of array of shape (n_objects of the view,)
        Class of each view's objects. One array will do where all views have the same labels.
    known : int array of shape (n_known, n_views), default=None
        Objects that are known to be one thing, by their number in each view, -1 where a view did not see it.
        Things that all views saw are meta-objects from the start, the others are completed. The objects that are not
        mentioned were seen by their own view only.
    crossing : {"sample", "full", "corners"}, default="sample"
        How the objects of a band are put together: each about once, at random; in all ways (where there is room,
        otherwise as "sample"); or the ends of the farthest pair of each view, in all ways.
    l2 : bool, default=False
        Whether a pair leads on to another meta-object only within the radius √(n_views · distance of the band).
    band : int, default=5
        Most pairs of a band.
    max_meta_objects : int, default=None
        Most meta-objects of all classes together. None: in each class four times as many as its unmatched objects
        need, which is their number in the view with most of them, beside those that are matched.
    scale_kernels : bool, default=True
        Compare distances after scaling each kernel to a mean squared distance of 1.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    meta_objects : int ndarray of shape (n_meta, n_views)
        Number of the object of each view. Every object is in at least one meta-object.
    meta_labels : ndarray of shape (n_meta,)

    References
    ----------
    D. Windridge and F. Yan, Kernel combination via debiased object correspondence analysis, Information Fusion 27
    (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.kernels import tomographic_correspondence
    >>> face, voice = np.array([0.0, 1.0, 3.0, 10.0]), np.array([[0.0], [2.0], [2.5]])
    >>> meta_objects, _ = tomographic_correspondence(
    ...     [np.outer(face, face), voice @ voice.T], [["me"] * 4, ["me"] * 3], max_meta_objects=4, random_state=0
    ... )
    >>> len(meta_objects), sorted(set(meta_objects[:, 0])), sorted(set(meta_objects[:, 1]))
    (4, [np.int64(0), np.int64(1), np.int64(2), np.int64(3)], [np.int64(0), np.int64(1), np.int64(2)])
    """
    check_choice("crossing", crossing, CROSSINGS)
    check_flag("l2", l2)
    check_flag("scale_kernels", scale_kernels)
    check_count("band", band)
    kernels = check_device_kernels(kernels) if any_on_device(kernels) else check_kernels(kernels)
    sizes = [kernel.shape[0] for kernel in kernels]
    matching = read_matching(all_on_host(labels), sizes, on_host(known), max_meta_objects)
    seed = _seed(random_state)
    return matching.put_together(walked_classes(kernels, matching, Walk(crossing, l2, band), scale_kernels, seed))


def cartesian_correspondence(labels, *, known=None, max_meta_objects=None, random_state=None):
    """Put objects of different views together at random within their class.

    Parameters
    ----------
    labels : list of array of shape (n_objects of the view,)
    known, max_meta_objects, random_state
        As in :func:`tomographic_correspondence`.

    Returns
    -------
    meta_objects : int ndarray of shape (n_meta, n_views)
    meta_labels : ndarray of shape (n_meta,)

    Examples
    --------
    >>> from fuselearn.kernels import cartesian_correspondence
    >>> meta_objects, meta_labels = cartesian_correspondence([[0, 0, 1], [0, 1, 1]], random_state=0)
    >>> meta_objects.tolist(), meta_labels.tolist()
    ([[0, 0], [1, 0], [2, 1], [2, 2]], [0, 0, 1, 1])
    """
    labels = all_on_host(labels)
    if not isinstance(labels, list | tuple) or not labels or np.ndim(labels[0]) != 1:
        raise ValueError(f"labels must be a list with an array of labels for each view; got {labels!r:.80}.")
    matching = read_matching(labels, [len(column) for column in labels], on_host(known), max_meta_objects)
    return matching.put_together(paired_classes(matching, _seed(random_state)))


def walked_classes(kernels, matching, walk, scale_kernels, seed):
    """Yield the meta-objects of each class by Algorithm 1, in the class's own numbers."""
    scales = [(mean_squared_distance(kernel) or 1.0) if scale_kernels else 1.0 for kernel in kernels]
    for number, group in enumerate(matching.groups):
        rng = np.random.default_rng([seed, number])
        pairs, orders = [], []
        for kernel, scale, objects in zip(kernels, scales, group.objects):
            distances = on_host(squared_distances(some_objects(kernel, objects)))
            distances /= scale
            own = SortedPairs.of(distances)
            # Objects are numbered by how central they are, so that the result does not depend on the order of a
            # view's objects, not even where it is drawn at random.
            order = own.by_centrality(len(objects))
            pairs.append(own.renumbered(order, rng.random(len(own))))
            orders.append(order)
        found = MetaObjects(_renumbered(group.rows, orders), group.cap)
        _walk(pairs, [len(objects) for objects in group.objects], found, walk, rng)
        found.cover(rng)
        yield np.column_stack([order[column] for order, column in zip(orders, np.array(found.members).T)])


def paired_classes(matching, seed):
    """Yield the meta-objects of each class by random pairing, in the class's own numbers."""
    for number, group in enumerate(matching.groups):
        rng = np.random.default_rng([seed, number])
        found = MetaObjects(group.rows, group.cap)
        everyone = [range(len(objects)) for objects in group.objects]
        before = -1
        for _ in range(MOST_PASSES):
            if found.all_complete or len(found.members) == before or found.room <= 0:
                break
            before = len(found.members)
            found.admit(_sampled(everyone, rng))
        found.cover(rng)
        yield np.array(found.members)


def _walk(pairs, sizes, found, walk, rng):
    """S4 Algorithm 1's main loop, over the sorted pairs of views with so many objects of the class."""
    if found.all_complete or found.room <= 0:
        return
    tables = [own.table(size) for own, size in zip(pairs, sizes)] if walk.crossing == "corners" else None
    reference = pairs[0]
    ends = [0] * len(pairs)  # S4's counters k_m: how many pairs of each view were read
    starts = ends
    for end in reference.bands(walk.band):
        ends = _counters(pairs, starts, end)
        if end < len(reference) and any(start == stop for start, stop in zip(starts[1:], ends[1:])):
            continue  # the reference band widens until every view has pairs
        bands = [
            _Band(some, start, stop, partial(found.incomplete, view))
            for view, (some, start, stop) in enumerate(zip(pairs, starts, ends))
        ]
        starts = ends
        if not any(found.any_incomplete(view, band.steps) for view, band in enumerate(bands)):
            continue  # all that the band holds is matched already
        radius = len(pairs) * reference.distances[end - 1] if walk.l2 else np.inf
        if not found.admit(islice(_joined(bands, found, radius), LOOKED_AT * found.cap)):
            return
        rest = [list(band.objects_left()) for band in bands]
        if all(rest) and not found.admit(_crossed(rest, tables, walk.crossing, found.room, rng)):
            return
        if found.all_covered and end >= sizes[0]:
            return


def _counters(pairs, starts, end):
    """S4 step 13: how far each view is read, by the distance of the reference's last pair."""
    reference = pairs[0]
    if end == len(reference):
        return [len(some) for some in pairs]
    distance = reference.distances[end - 1]
    return [end] + [
        some.nearest(distance, max(start - 1, 0)) + 1 if len(some) else 0 for some, start in zip(pairs[1:], starts[1:])
    ]


class _Step(NamedTuple):
    """A pair of a band, walked from one end to the other."""

    other: int
    pair: int
    distance: float
    incomplete: bool


class _Band:
    """The pairs of one view in one band, S4's T_m(n)."""

    def __init__(self, pairs, start, stop, incomplete):
        self.first = pairs.first[start:stop].tolist()
        self.second = pairs.second[start:stop].tolist()
        self.matched = set()
        self.steps = {}  # object -> steps from it, the shortest first
        distances = pairs.distances[start:stop].tolist()
        for number, (one, other, distance) in enumerate(zip(self.first, self.second, distances)):
            self.steps.setdefault(one, []).append(_Step(other, number, distance, incomplete(other)))
            self.steps.setdefault(other, []).append(_Step(one, number, distance, incomplete(one)))

    def objects_left(self):
        """Ends of the pairs that were not matched, as they come."""
        left = {}
        for number, ends in enumerate(zip(self.first, self.second)):
            if number not in self.matched:
                left.update(dict.fromkeys(ends))
        return left


def _joined(bands, found, radius):
    """Yield meta-objects that pairs lead to from one of those before the band (S4 steps 14 and 15).

    S4 tests the first end of each pair, which depends on how objects are numbered; either end is tested here.
    """
    for member in found.with_first(bands[0].steps):
        steps = [band.steps.get(number) for band, number in zip(bands, member)]
        if all(steps):
            for walked in _walks(steps, radius * (1 + 1e-12)):
                for band, step in zip(bands, walked):
                    band.matched.add(step.pair)
                yield tuple(step.other for step in walked)


def _walks(steps, radius):
    """Yield one step of each view, in all ways that stay within a radius and reach something not matched already.

    What is ruled out is left out before it is spelled out: there are n^M ways in a band that holds all pairs.
    """
    n_views = len(steps)
    shortest, still_open = [0.0] * (n_views + 1), [False] * (n_views + 1)
    for view in reversed(range(n_views)):
        shortest[view] = shortest[view + 1] + steps[view][0].distance
        still_open[view] = still_open[view + 1] or any(step.incomplete for step in steps[view])

    def extend(view, walked, distance, reached):
        if view == n_views:
            yield walked
            return
        for step in steps[view]:
            if distance + step.distance + shortest[view + 1] > radius:
                return  # so do all that follow
            if reached or step.incomplete or still_open[view + 1]:
                yield from extend(view + 1, (*walked, step), distance + step.distance, reached or step.incomplete)

    return extend(0, (), 0.0, False)


def _crossed(objects, tables, crossing, room, rng):
    """Put the objects of a band together (S4 step 16)."""
    if crossing == "corners":
        return product(*[_farthest(table, some) for table, some in zip(tables, objects)])
    if crossing == "full" and prod(map(len, objects)) <= room:
        return product(*objects)
    return _sampled(objects, rng)


def _sampled(objects, rng):
    """Each object about once: lists at random order, the shorter ones repeated."""
    drawn = [[some[place] for place in rng.permutation(len(some)).tolist()] for some in objects]
    return [tuple(some[turn % len(some)] for some in drawn) for turn in range(max(map(len, drawn)))]


def _farthest(distances, objects):
    """Ends of the farthest pair among some objects (S4 §5: corners of the region that a product fills)."""
    if len(objects) == 1:
        return objects
    apart = np.triu(distances[np.ix_(objects, objects)], 1)
    one, other = np.unravel_index(np.argmax(apart), apart.shape)
    if one == other:  # all of them are in one place
        one, other = 0, 1
    return [objects[one], objects[other]]


def _renumbered(rows, orders):
    """Rows with each view's objects numbered by their place in the view's order."""
    columns = []
    for column, order in zip(rows.T, orders):
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        columns.append(np.where(column >= 0, place[column], -1))
    return np.column_stack(columns)


def _seed(random_state):
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
