"""Correspondence of objects of different views where nobody recorded it (S4 §3.1, Algorithm 1).

S4 takes dense places of a class in one view and dense places of it in another view to be the same places. Pairs of
objects are read from the nearest to the farthest, in bands of equal distance in all views at once. A pair that starts
at a meta-object found before leads on to the next one (joining); what is left of a band is put together in all ways,
or in enough of them that no object is lost (crossing).
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from numbers import Integral

import numpy as np

from fuselearn.arguments import check_choice, check_count, check_flag, check_random_state
from fuselearn.backends.gpu.arrays import all_to_host
from fuselearn.backends.gpu.kernel_matrices import mean_squared_distance, some_objects, squared_distances
from fuselearn.data.view_table import to_host
from fuselearn.kernels.meta_objects import Matching, MetaObjects, ViewPairs, read_matching
from fuselearn.kernels.view_kernels import check_kernels
from fuselearn.numeric.pairs import SortedPairs
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, RandomState

CROSSINGS = ("sample", "full", "corners")
JOINS_TRIED = 16
"""Joins of a band that are tried, as a multiple of the cap: most of them may be there already."""
MOST_CANDIDATES = 2**22
"""Joins, or elements of a product, that one band may have whatever the cap: there is one of these lists at a time."""
MOST_PASSES = 8
"""Random pairings of a class stop after as many passes; by then nearly all of a small product is there."""


@dataclass(frozen=True)
class TomographicSettings:
    """Settings of S4's Algorithm 1, see :func:`tomographic_correspondence`."""

    crossing: str
    l2: bool
    band: int
    reference: int


@dataclass
class WalkRecord:
    """What a cap kept S4's Algorithm 1 from, over all classes.

    Attributes
    ----------
    crossed_in_full, sampled_instead : int
        Bands whose product was taken, and those that it was too large for, with ``crossing="full"``.
    n_reached : list of int ndarray of shape (n_views,)
        Objects of each class that known matches and the walk put together; the others were put together at random.
    """

    crossed_in_full: int = 0
    sampled_instead: int = 0
    n_reached: list[IntArray] = field(default_factory=list)

    def warn(self, max_meta_objects: float | None) -> None:
        """Warn of a crossing that had no effect."""
        if self.sampled_instead and not self.crossed_in_full:
            warnings.warn(
                f"crossing='full' was as 'sample' in all {self.sampled_instead} bands that were crossed: the product "
                f"of the objects was more than the cap leaves room for. Raise max_meta_objects; it is "
                f"{max_meta_objects}, or use crossing='sample'.",
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
    max_meta_objects: float | None = None,
    scale_kernels: bool = True,
    reference: int = 0,
    random_state: RandomState = None,
) -> tuple[IntArray, AnyArray]:
    """Put objects of different views together by the density of their class around them (S4 Algorithm 1).

    Parameters
    ----------
    kernels : list of array of shape (n_objects of the view, n_objects of the view)
        Kernel matrix of each view. Of arrays of CuPy, or of torch on a GPU, the distances
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
        Whether pairs lead on to another meta-object only if this is within the ball inside the box that they can reach
        otherwise: Σ of the views' squared distances at most the least of the distances up to which the views are read.
        Pairs of a narrow band are nearly as long as the band's distance in every view, so little is joined then, and
        nearly all of it is crossed.
    band : int, default=5
        Largest number of pairs in a band.
    max_meta_objects : int or inf, default=None
        Most meta-objects of all classes together; they end the walk, and objects that it has not reached are put
        together at random. None: as many as there are ways to combine the objects of a class
        where these are at most 10,000, so that the walk goes to its end; in a larger class twelve times its unmatched
        objects in the view with most of them, beside those that are matched. ``np.inf`` lets
        every walk go to its end, which in the largest view takes its objects squared.
    scale_kernels : bool, default=True
        Whether to compare distances after scaling each kernel to a mean squared distance of 1.
    reference : int, default=0
        Number of the view whose pairs make the bands; the others are read up to its distances.
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
    The walk ends when every object is in a meta-object and as many pairs of the reference were read as it has objects
    in the class, or when all pairs were read. Outliers may be left even then, where another view has no pairs any more.

    In a band at most 16 times as many joins are tried as meta-objects are allowed, and 4,194,304 in any case, those of
    the oldest meta-objects first; pairs of the others are crossed. The last band may hold nearly all pairs, and as many
    ways to join as the product of the views has elements.

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
    if isinstance(reference, bool) or not (isinstance(reference, Integral) and 0 <= reference < len(kernels)):
        raise ValueError(f"reference must be the number of a view, from 0 to {len(kernels) - 1}; got {reference!r}.")
    settings = TomographicSettings(crossing, l2, band, int(reference))
    record = WalkRecord()
    members = matched_by_density(kernels, matching, settings, scale_kernels, seed_of(random_state), record)
    joined = matching.joined(members)
    record.warn(max_meta_objects)
    return joined


def cartesian_correspondence(
    labels: Sequence[ArrayLike],
    *,
    known: ArrayLike | None = None,
    max_meta_objects: float | None = None,
    random_state: RandomState = None,
) -> tuple[IntArray, AnyArray]:
    """Put objects of different views together at random within their class.

    Parameters
    ----------
    labels : list of array of shape (n_objects of the view,)
        Class of each view's objects.
    known : int array of shape (n_known, n_views), default=None
        Objects that are known to be one thing, as in :func:`tomographic_correspondence`.
    max_meta_objects : int or inf, default=None
        Most meta-objects of all classes together, as in :func:`tomographic_correspondence`; in any case no more than
        eight passes over the objects give.
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
    return matching.joined(matched_at_random(matching, seed_of(random_state), WalkRecord()))


def matched_by_density(
    kernels: Sequence[ArrayLike],
    matching: Matching,
    settings: TomographicSettings,
    scale_kernels: bool,
    seed: int,
    record: WalkRecord,
) -> Iterator[IntArray]:
    """Yield the meta-objects of each class by Algorithm 1, in the class's own numbers; keep the record."""
    # The walk has the reference as its first view.
    views = [settings.reference, *(view for view in range(len(kernels)) if view != settings.reference)]
    places = np.argsort(views)
    kernels = [kernels[view] for view in views]
    scales = [(mean_squared_distance(kernel) or 1.0) if scale_kernels else 1.0 for kernel in kernels]
    for number, of_class in enumerate(matching.objects_of_classes):
        rng = np.random.default_rng([seed, number])
        objects_of_views = [of_class.objects[view] for view in views]
        pairs, orders = [], []
        for kernel, scale, objects in zip(kernels, scales, objects_of_views):
            distances = to_host(squared_distances(some_objects(kernel, objects)))
            distances /= scale
            pairs_of_view = SortedPairs.of(distances)
            # Objects are numbered by how central they are, so that the result does not depend on the order of a
            # view's objects, not even where it is drawn at random.
            order = pairs_of_view.by_centrality(len(objects))
            pairs.append(pairs_of_view.renumbered(order, rng.random(len(pairs_of_view))))
            orders.append(order)
        meta_objects = MetaObjects(_renumbered(of_class.rows[:, views], orders), of_class.cap)
        _read_bands(pairs, [len(objects) for objects in objects_of_views], meta_objects, settings, record, rng)
        record.n_reached.append(meta_objects.n_covered[places])
        meta_objects.cover(rng)
        columns = [order[column] for order, column in zip(orders, meta_objects.members.T)]
        yield np.column_stack([columns[place] for place in places])


def matched_at_random(matching: Matching, seed: int, record: WalkRecord) -> Iterator[IntArray]:
    """Yield the meta-objects of each class by random pairing, in the class's own numbers; keep the record."""
    for number, of_class in enumerate(matching.objects_of_classes):
        rng = np.random.default_rng([seed, number])
        meta_objects = MetaObjects(of_class.rows, of_class.cap)
        record.n_reached.append(meta_objects.n_covered)
        object_numbers = [np.arange(len(objects)) for objects in of_class.objects]
        n_before = -1
        for _ in range(MOST_PASSES):
            n_members = len(meta_objects.members)
            if meta_objects.all_complete or n_members == n_before or meta_objects.n_free <= 0:
                break
            n_before = n_members
            meta_objects.admit(_sampled(object_numbers, rng))
        meta_objects.cover(rng)
        yield meta_objects.members


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
    all_pairs = ViewPairs(
        np.concatenate([pairs_of_view.first for pairs_of_view in pairs]),
        np.concatenate([pairs_of_view.second for pairs_of_view in pairs]),
        np.concatenate([pairs_of_view.distances for pairs_of_view in pairs]),
    )
    offsets: IntArray = np.cumsum([0, *map(len, pairs[:-1])])
    most = min(JOINS_TRIED * meta_objects.cap, MOST_CANDIDATES)
    reference = pairs[0]
    starts = [0] * len(pairs)  # S4's counters k_m: how many pairs of each view were read
    for end in reference.bands(settings.band):
        ends = _counters(pairs, starts, end)
        if end < len(reference) and any(start == stop for start, stop in zip(starts[1:], ends[1:])):
            continue  # the reference band widens until every view has pairs
        squared_radius = _shortest_side(pairs, ends) if settings.l2 else np.inf
        first_pairs, last_pairs = (offsets + np.array(counters) for counters in (starts, ends))
        starts = ends
        any_incomplete, joins, rest = meta_objects.joins(all_pairs, first_pairs, last_pairs, squared_radius, most)
        if not any_incomplete:
            continue  # all that the band holds is matched already
        if not meta_objects.admit(joins):
            return
        if all(map(len, rest)):
            crossing = settings.crossing
            if crossing == "full" and prod(map(len, rest)) > min(meta_objects.n_free, MOST_CANDIDATES):
                crossing = "sample"
                record.sampled_instead += 1
            elif crossing == "full":
                record.crossed_in_full += 1
            if not meta_objects.admit(_crossed(rest, tables, crossing, rng)):
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


def _shortest_side(pairs: list[SortedPairs], ends: list[int]) -> float:
    """Return the squared radius of the ball inside the box that the pairs read so far reach.

    A side of the box is the root of a view's longest distance. That is about the reference's, but for the last band,
    where each view is read to its own end. A view without pairs reaches nowhere, whatever the radius.
    """
    return min(float(pairs_of_view.distances[end - 1]) for pairs_of_view, end in zip(pairs, ends) if end)


def _crossed(
    objects: Sequence[IntArray], tables: Sequence[FloatArray], crossing: str, rng: np.random.Generator
) -> IntArray:
    """Put the objects of a band together (S4 step 16)."""
    if crossing == "sample":
        return _sampled(objects, rng)
    if crossing == "corners":
        objects = [_farthest(table, objects_of_view) for table, objects_of_view in zip(tables, objects)]
    return np.stack(np.meshgrid(*objects, indexing="ij"), axis=-1).reshape(-1, len(objects))


def _sampled(objects: Sequence[IntArray], rng: np.random.Generator) -> IntArray:
    """Return each object about once: lists in random order, the shorter ones repeated."""
    turns = np.arange(max(map(len, objects)))
    return np.column_stack([of_view[rng.permutation(len(of_view))][turns % len(of_view)] for of_view in objects])


def _farthest(distances: FloatArray, objects: IntArray) -> IntArray:
    """Return the ends of the farthest pair among objects (S4 §5: corners of the region that a product fills)."""
    if len(objects) == 1:
        return objects
    above_diagonal = np.triu(distances[np.ix_(objects, objects)], 1)
    first, second = np.unravel_index(np.argmax(above_diagonal), above_diagonal.shape)
    if first == second:  # all of them are in one place
        first, second = np.intp(0), np.intp(1)
    return objects[[first, second]]


def _renumbered(rows: IntArray, orders: list[IntArray]) -> IntArray:
    """Return rows with each view's objects numbered by their position in the view's order."""
    columns = []
    for column, order in zip(rows.T, orders):
        position = np.empty(len(order), dtype=np.intp)
        position[order] = np.arange(len(order))
        columns.append(np.where(column >= 0, position[column], -1))
    return np.column_stack(columns)
