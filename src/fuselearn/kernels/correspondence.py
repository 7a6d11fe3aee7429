"""Correspondence of objects of different views where nobody recorded it (S4 §3.1, Algorithm 1).

S4 takes dense places of a class in one view and dense places of it in another view to be the same places. Pairs of
objects are read from the nearest to the farthest, in bands of equal distance in all views at once. A pair that starts
at a meta-object found before leads on to the next one (joining); what is left of a band is put together in all ways,
or in enough of them that no object is lost (crossing).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from math import prod
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from fuselearn.backends.gpu.arrays import all_to_host
from fuselearn.backends.gpu.kernel_matrices import mean_squared_distance, some_objects, squared_distances
from fuselearn.data.view_table import to_host
from fuselearn.estimators import check_choice, check_count, check_flag
from fuselearn.kernels.meta_objects import Matching, MetaObjects, read_matching
from fuselearn.kernels.view_kernels import check_kernels
from fuselearn.numeric.pairs import SortedPairs
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, RandomState

CROSSINGS = ("sample", "full", "corners")
JOINS_TRIED = 16
"""Joins of a band that are tried, as a multiple of the cap: most of them may be there already."""
MOST_PASSES = 8
"""Random pairings of a class stop after as many passes; by then nearly all of a small product is there."""


@dataclass(frozen=True)
class TomographicSettings:
    """Settings of S4's Algorithm 1, see :func:`tomographic_correspondence`."""

    crossing: str
    l2: bool
    band: int


@dataclass
class WalkRecord:
    """What a cap kept S4's Algorithm 1 from, over all classes.

    Attributes
    ----------
    crossed_in_full, sampled_instead : int
        Bands whose product was taken, and those that it was too large for, with ``crossing="full"``.
    joins_left_out : bool
        Whether a band had more joins than were tried.
    """

    crossed_in_full: int = 0
    sampled_instead: int = 0
    joins_left_out: bool = False

    def warn(self, max_meta_objects: int | None) -> None:
        """Warn of settings that had no effect, or not all of it."""
        raised = f"Raise max_meta_objects; it is {max_meta_objects}"
        if self.sampled_instead and not self.crossed_in_full:
            warnings.warn(
                f"crossing='full' was as 'sample' in all {self.sampled_instead} bands that were crossed: the product "
                f"of the objects was more than the cap leaves room for. {raised}, or use crossing='sample'.",
                UserWarning,
                stacklevel=4,
            )
        if self.joins_left_out:
            warnings.warn(
                f"A band had more joins than {JOINS_TRIED} times the cap, and only as many were tried. {raised}.",
                UserWarning,
                stacklevel=4,
            )


def tomographic_correspondence(
    kernels: Sequence[ArrayLike],
    labels: Sequence[ArrayLike] | ArrayLike,
    *,
    known: ArrayLike | None = None,
    crossing: str = "sample",
    l2: bool = False,
    band: int = 5,
    max_meta_objects: int | None = None,
    scale_kernels: bool = True,
    random_state: RandomState = None,
) -> tuple[IntArray, AnyArray]:
    """Put objects of different views together by the density of their class around them (S4 Algorithm 1).

    Parameters
    ----------
    kernels : list of array of shape (n_objects of the view, n_objects of the view)
        Kernel matrix of each view; the first is the reference. Of arrays of CuPy, or of torch on a GPU, the distances
        are computed there; that the kernels are positive semi-definite is tested on the host only.
    labels : list of array of shape (n_objects of the view,)
        Class of each view's objects. One array suffices where all views have the same labels.
    known : int array of shape (n_known, n_views), default=None
        Objects that are known to be one thing, by their number in each view, -1 where a view did not see it.
        Things that all views saw are meta-objects from the start, the others are completed. The objects that are not
        mentioned were seen by their own view only.
    crossing : {"sample", "full", "corners"}, default="sample"
        How the objects of a band are put together: each about once, at random; in all ways; or the ends of the
        farthest pair of each view, in all ways. Where all ways are more than `max_meta_objects` leaves room for, "full"
        is as "sample"; if that is so in every band, there is a warning.
    l2 : bool, default=False
        Whether pairs lead on to another meta-object only if this is within the ball whose radius is the distance of the
        band, the ball inside the box that they can reach otherwise: Σ of the views' squared distances at most that of
        the band, where otherwise each of them is. Pairs of a narrow band are nearly as long as the band's distance in
        every view, so little is joined then, and nearly all of it is crossed.
    band : int, default=5
        Largest number of pairs in a band.
    max_meta_objects : int, default=None
        Most meta-objects of all classes together. None: in each class four times as many as its unmatched objects
        need, which is their number in the view with most of them, beside those that are matched.
    scale_kernels : bool, default=True
        Whether to compare distances after scaling each kernel to a mean squared distance of 1.
    random_state : int, RandomState or None, default=None
        Seed of the random crossings.

    Returns
    -------
    meta_objects : int ndarray of shape (n_meta, n_views)
        Number of the object of each view. Every object is in at least one meta-object.
    meta_labels : ndarray of shape (n_meta,)
        Class of each meta-object.

    Notes
    -----
    In a band at most 16 times as many joins are tried as meta-objects are allowed, those of the oldest meta-objects
    first: the last band may hold nearly all pairs, and as many ways to join as the product of the views has elements. A
    warning says where that left out joins.

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
    kernels = check_kernels(kernels)
    sizes = [kernel.shape[0] for kernel in kernels]
    matching = read_matching(all_to_host(labels), sizes, to_host(known), max_meta_objects)
    settings = TomographicSettings(crossing, l2, band)
    record = WalkRecord()
    members = matched_by_density(kernels, matching, settings, scale_kernels, seed_of(random_state), record)
    joined = matching.joined(members)
    record.warn(max_meta_objects)
    return joined


def cartesian_correspondence(
    labels: Sequence[ArrayLike],
    *,
    known: ArrayLike | None = None,
    max_meta_objects: int | None = None,
    random_state: RandomState = None,
) -> tuple[IntArray, AnyArray]:
    """Put objects of different views together at random within their class.

    Parameters
    ----------
    labels : list of array of shape (n_objects of the view,)
        Class of each view's objects.
    known : int array of shape (n_known, n_views), default=None
        Objects that are known to be one thing, as in :func:`tomographic_correspondence`.
    max_meta_objects : int, default=None
        Most meta-objects of all classes together, as in :func:`tomographic_correspondence`.
    random_state : int, RandomState or None, default=None
        Seed of the random pairs.

    Returns
    -------
    meta_objects : int ndarray of shape (n_meta, n_views)
        Number of the object of each view. Every object is in at least one meta-object.
    meta_labels : ndarray of shape (n_meta,)
        Class of each meta-object.

    Examples
    --------
    >>> from fuselearn.kernels import cartesian_correspondence
    >>> meta_objects, meta_labels = cartesian_correspondence([[0, 0, 1], [0, 1, 1]], random_state=0)
    >>> meta_objects.tolist(), meta_labels.tolist()
    ([[0, 0], [1, 0], [2, 1], [2, 2]], [0, 0, 1, 1])
    """
    labels = all_to_host(labels)
    if not isinstance(labels, list | tuple) or not labels or np.ndim(labels[0]) != 1:
        raise ValueError(f"labels must be a list with an array of labels for each view; got {labels!r:.80}.")
    matching = read_matching(labels, [len(column) for column in labels], to_host(known), max_meta_objects)
    return matching.joined(matched_at_random(matching, seed_of(random_state)))


def matched_by_density(
    kernels: Sequence[ArrayLike],
    matching: Matching,
    settings: TomographicSettings,
    scale_kernels: bool,
    seed: int,
    record: WalkRecord,
) -> Iterator[IntArray]:
    """Yield the meta-objects of each class by Algorithm 1, in the class's own numbers; keep the record."""
    scales = [(mean_squared_distance(kernel) or 1.0) if scale_kernels else 1.0 for kernel in kernels]
    for number, of_class in enumerate(matching.objects_of_classes):
        rng = np.random.default_rng([seed, number])
        pairs, orders = [], []
        for kernel, scale, objects in zip(kernels, scales, of_class.objects):
            distances = to_host(squared_distances(some_objects(kernel, objects)))
            distances /= scale
            pairs_of_view = SortedPairs.of(distances)
            # Objects are numbered by how central they are, so that the result does not depend on the order of a
            # view's objects, not even where it is drawn at random.
            order = pairs_of_view.by_centrality(len(objects))
            pairs.append(pairs_of_view.renumbered(order, rng.random(len(pairs_of_view))))
            orders.append(order)
        meta_objects = MetaObjects(_renumbered(of_class.rows, orders), of_class.cap)
        _read_bands(pairs, [len(objects) for objects in of_class.objects], meta_objects, settings, record, rng)
        meta_objects.cover(rng)
        columns = np.array(meta_objects.members).T
        yield np.column_stack([order[column] for order, column in zip(orders, columns)])


def matched_at_random(matching: Matching, seed: int) -> Iterator[IntArray]:
    """Yield the meta-objects of each class by random pairing, in the class's own numbers."""
    for number, of_class in enumerate(matching.objects_of_classes):
        rng = np.random.default_rng([seed, number])
        meta_objects = MetaObjects(of_class.rows, of_class.cap)
        object_numbers = [range(len(objects)) for objects in of_class.objects]
        n_before = -1
        for _ in range(MOST_PASSES):
            n_members = len(meta_objects.members)
            if meta_objects.all_complete or n_members == n_before or meta_objects.n_free <= 0:
                break
            n_before = n_members
            meta_objects.admit(_sampled(object_numbers, rng))
        meta_objects.cover(rng)
        yield np.array(meta_objects.members)


def seed_of(random_state: RandomState) -> int:
    """Draw the seed of a correspondence."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _read_bands(
    pairs: list[SortedPairs],
    sizes: list[int],
    meta_objects: MetaObjects,
    settings: TomographicSettings,
    record: WalkRecord,
    rng: np.random.Generator,
) -> None:
    """Run S4 Algorithm 1's main loop, over the sorted pairs of views with so many objects of the class."""
    if meta_objects.all_complete or meta_objects.n_free <= 0:
        return
    corners = settings.crossing == "corners"
    tables = [pairs_of_view.table(size) for pairs_of_view, size in zip(pairs, sizes)] if corners else []
    reference = pairs[0]
    starts = [0] * len(pairs)  # S4's counters k_m: how many pairs of each view were read
    for end in reference.bands(settings.band):
        ends = _counters(pairs, starts, end)
        if end < len(reference) and any(start == stop for start, stop in zip(starts[1:], ends[1:])):
            continue  # the reference band widens until every view has pairs
        bands = [
            _Band(pairs_of_view, start, stop, partial(meta_objects.incomplete, view))
            for view, (pairs_of_view, start, stop) in enumerate(zip(pairs, starts, ends))
        ]
        starts = ends
        if not any(meta_objects.any_incomplete(view, band.steps) for view, band in enumerate(bands)):
            continue  # all that the band holds is matched already
        # The box that a band's pairs reach has the sides √distance: this is the radius of the ball inside it.
        squared_radius = reference.distances[end - 1] if settings.l2 else np.inf
        most = JOINS_TRIED * meta_objects.cap
        joins = list(islice(_joined(bands, meta_objects, squared_radius), most))
        if not meta_objects.admit(joins):
            return
        record.joins_left_out |= len(joins) == most
        rest = [list(band.unmatched_objects()) for band in bands]
        if all(rest):
            sampled = settings.crossing == "full" and prod(map(len, rest)) > meta_objects.n_free
            record.crossed_in_full += settings.crossing == "full" and not sampled
            record.sampled_instead += sampled
            if not meta_objects.admit(_crossed(rest, tables, "sample" if sampled else settings.crossing, rng)):
                return
        if meta_objects.all_covered and end >= sizes[0]:
            return


def _counters(pairs: list[SortedPairs], starts: list[int], end: int) -> list[int]:
    """Return how far each view is read, by the distance of the reference's last pair (S4 step 13)."""
    reference = pairs[0]
    if end == len(reference):
        return [len(pairs_of_view) for pairs_of_view in pairs]
    distance = reference.distances[end - 1]
    return [end] + [
        pairs_of_view.nearest(distance, max(start - 1, 0)) + 1 if len(pairs_of_view) else 0
        for pairs_of_view, start in zip(pairs[1:], starts[1:])
    ]


class _Step(NamedTuple):
    """A pair of a band, followed from one end to the other."""

    other: int
    pair: int
    distance: float
    incomplete: bool


class _Band:
    """The pairs of one view in one band, S4's T_m(n)."""

    def __init__(self, pairs: SortedPairs, start: int, stop: int, incomplete: Callable[[int], bool]) -> None:
        self.first: list[int] = pairs.first[start:stop].tolist()
        self.second: list[int] = pairs.second[start:stop].tolist()
        self.matched: set[int] = set()
        self.steps: dict[int, list[_Step]] = {}  # object -> steps from it, the shortest first
        distances = pairs.distances[start:stop].tolist()
        for pair, (first, second, distance) in enumerate(zip(self.first, self.second, distances)):
            self.steps.setdefault(first, []).append(_Step(second, pair, distance, incomplete(second)))
            self.steps.setdefault(second, []).append(_Step(first, pair, distance, incomplete(first)))

    def unmatched_objects(self) -> dict[int, None]:
        """Return the ends of the pairs that were not matched, as they come."""
        ends_of_unmatched: dict[int, None] = {}
        for pair, ends in enumerate(zip(self.first, self.second)):
            if pair not in self.matched:
                ends_of_unmatched.update(dict.fromkeys(ends))
        return ends_of_unmatched


def _joined(bands: list[_Band], meta_objects: MetaObjects, radius: float) -> Iterator[tuple[int, ...]]:
    """Yield meta-objects that pairs lead to from one of those before the band (S4 steps 14 and 15).

    S4 tests the first end of each pair, which depends on how objects are numbered; either end is tested here.
    """
    for member in meta_objects.with_first(bands[0].steps):
        steps = [band.steps.get(number, []) for band, number in zip(bands, member)]
        if all(steps):
            for path in _paths(steps, radius * (1 + 1e-12)):
                for band, step in zip(bands, path):
                    band.matched.add(step.pair)
                yield tuple(step.other for step in path)


def _paths(steps: list[list[_Step]], radius: float) -> Iterator[tuple[_Step, ...]]:
    """Yield one step of each view, in all ways that stay within a radius and reach something not matched already.

    Steps that cannot lead there are left out before they are combined: there are n^M ways in a band that holds all
    pairs.
    """
    n_views = len(steps)
    shortest, still_open = [0.0] * (n_views + 1), [False] * (n_views + 1)
    for view in reversed(range(n_views)):
        shortest[view] = shortest[view + 1] + steps[view][0].distance
        still_open[view] = still_open[view + 1] or any(step.incomplete for step in steps[view])

    def extended(
        view: int, path: tuple[_Step, ...], distance: float, reaches_incomplete: bool
    ) -> Iterator[tuple[_Step, ...]]:
        if view == n_views:
            yield path
            return
        for step in steps[view]:
            if distance + step.distance + shortest[view + 1] > radius:
                return  # so do all that follow
            reaches = reaches_incomplete or step.incomplete
            if reaches or still_open[view + 1]:
                yield from extended(view + 1, (*path, step), distance + step.distance, reaches)

    return extended(0, (), 0.0, False)


def _crossed(
    objects: list[list[int]], tables: list[FloatArray], crossing: str, rng: np.random.Generator
) -> Iterable[tuple[int, ...]]:
    """Put the objects of a band together (S4 step 16)."""
    if crossing == "corners":
        return product(*[_farthest(table, objects_of_view) for table, objects_of_view in zip(tables, objects)])
    if crossing == "full":
        return product(*objects)
    return _sampled(objects, rng)


def _sampled(objects: Sequence[Sequence[int]], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return each object about once: lists in random order, the shorter ones repeated."""
    shuffled = [
        [objects_of_view[position] for position in rng.permutation(len(objects_of_view)).tolist()]
        for objects_of_view in objects
    ]
    n_longest = max(map(len, shuffled))
    return [tuple(of_view[turn % len(of_view)] for of_view in shuffled) for turn in range(n_longest)]


def _farthest(distances: FloatArray, objects: list[int]) -> list[int]:
    """Return the ends of the farthest pair among objects (S4 §5: corners of the region that a product fills)."""
    if len(objects) == 1:
        return objects
    above_diagonal = np.triu(distances[np.ix_(objects, objects)], 1)
    first, second = np.unravel_index(np.argmax(above_diagonal), above_diagonal.shape)
    if first == second:  # all of them are in one place
        first, second = np.intp(0), np.intp(1)
    return [objects[first], objects[second]]


def _renumbered(rows: IntArray, orders: list[IntArray]) -> IntArray:
    """Return rows with each view's objects numbered by their position in the view's order."""
    columns = []
    for column, order in zip(rows.T, orders):
        position = np.empty(len(order), dtype=np.intp)
        position[order] = np.arange(len(order))
        columns.append(np.where(column >= 0, position[column], -1))
    return np.column_stack(columns)
