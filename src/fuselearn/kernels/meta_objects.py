"""Meta-objects of a class: one object of every view, put together.

Objects that were observed together stay together. A *row* is a thing that one or more views saw. One that all views saw
is a meta-object from the start. One that some of them saw is completed: a candidate that holds one of its objects is
given all of them, and the other views' objects are lent by the rows that the candidate names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from fuselearn.arguments import check_count
from fuselearn.numeric.correspondence_loops import (
    MEMBERS,
    PARTIAL,
    admit_candidates,
    fill_places,
    free_places,
    joins_of_band,
)
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray

DEFAULT_MULTIPLE = 12
"""Meta-objects of a large class by default, as a multiple of those that its unmatched objects need, which is their
number in the view with most of them. A thing that all views saw is there once."""
SMALL_PRODUCT = 10_000
"""Ways to put the objects of a class together up to which all of them may be meta-objects by default: the walk then
ends as S4's does. Beyond it, the machine would take longer than it gains."""
NO_CAP = 2**53
"""A number of meta-objects that nobody reaches."""


@dataclass(frozen=True)
class ClassObjects:
    """The objects of one class.

    Attributes
    ----------
    objects : list of intp ndarray
        Numbers of the class's objects in each view.
    rows : int ndarray of shape (n_rows, n_views)
        The things of the class: position of their object in `objects` of each view, -1 where a view did not see it.
    cap : int
        Most meta-objects.
    """

    objects: list[IntArray]
    rows: IntArray
    cap: int


@dataclass(frozen=True)
class Matching:
    """The objects of all classes, and which of them are known to be one thing.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted.
    objects_of_classes : list of ClassObjects
    """

    classes: AnyArray
    objects_of_classes: list[ClassObjects]

    def joined(self, members_of_classes: Iterable[IntArray]) -> tuple[IntArray, AnyArray]:
        """Return meta-objects and their labels, from those of each class in the class's own numbers."""
        meta_objects = []
        for of_class, members in zip(self.objects_of_classes, members_of_classes):
            columns = [objects[column] for objects, column in zip(of_class.objects, members.T)]
            meta_objects.append(np.column_stack(columns))
        return np.concatenate(meta_objects), np.repeat(self.classes, list(map(len, meta_objects)))


def read_matching(
    labels: ArrayLike,
    sizes: list[int],
    known: ArrayLike | None,
    max_meta_objects: float | None,
    names: list[str] | None = None,
) -> Matching:
    """Check labels and known matches of views with so many objects each, and sort them by class."""
    names = [f"view{number}" for number in range(len(sizes))] if names is None else names
    labels_of_views = _labels_of_views(labels, sizes, names)
    known = _checked_known(known, sizes, labels_of_views, names)
    classes = np.unique(np.concatenate(labels_of_views))
    for name, column in zip(names, labels_of_views):
        lacking = np.setdiff1d(classes, column)
        if len(lacking):
            raise ValueError(
                f"The view {name!r} has no object of the class {lacking.tolist()[0]!r}, which other views have; leave "
                "that class out, or add objects."
            )
    objects_and_rows = [_objects_and_rows(label, labels_of_views, known) for label in classes]
    caps = _caps([rows for _, rows in objects_and_rows], max_meta_objects)
    return Matching(classes, [ClassObjects(*of_class, cap) for of_class, cap in zip(objects_and_rows, caps)])


class ViewPairs(NamedTuple):
    """Pairs of all views, one view after the other, each from the nearest to the farthest."""

    first: IntArray
    second: IntArray
    distances: FloatArray


class MetaObjects:
    """Distinct meta-objects in the order they came, at most `cap`, with as many held back as cover every row.

    Parameters
    ----------
    rows : int ndarray of shape (n_rows, n_views)
        Number of each row's object in each view, -1 where the view did not see it. Every object is in one row.
    cap : int
        At least :func:`least_meta_objects` of the rows.

    Attributes
    ----------
    cap : int
    incomplete : bool ndarray of shape (n_views, most objects of a view)
        Whether some view did not see an object.
    """

    def __init__(self, rows: IntArray, cap: int) -> None:
        rows = rows[np.lexsort(rows.T[::-1])].astype(np.int64)  # the order in which matches were given does not matter
        n_views = rows.shape[1]
        self.cap = cap
        self._rows = rows
        self._n_seen = (rows >= 0).sum(axis=1)
        self._sizes = (rows >= 0).sum(axis=0)
        self._row_of = np.full((n_views, self._sizes.max()), -1)
        for view, column in enumerate(rows.T):
            seen = np.flatnonzero(column >= 0)
            self._row_of[view, column[seen]] = seen
        complete = self._n_seen == n_views
        single, partial = (self._n_seen == 1) & ~complete, (self._n_seen > 1) & ~complete
        self.incomplete: BoolArray = (self._row_of >= 0) & ~complete[self._row_of]
        self._any_ties = bool((self._n_seen > 1).any())
        self._covered = np.zeros(len(rows), dtype=bool)
        self._counts = np.array([partial.sum(), 0])
        self._singles = (rows[single] >= 0).sum(axis=0)
        # Rows that several but not all views saw take in objects of the views they lack.
        self._lacking = (rows[partial] < 0).sum(axis=0)
        self._members = np.empty((0, n_views), dtype=np.int64)
        self._links, self._places = np.empty((2, 0), dtype=np.int64)
        self._heads = np.full(self._sizes[0], -1)
        self._tails = np.empty(self._sizes[0], dtype=np.int64)  # read only where there is a head
        self._add(rows[complete])

    @property
    def members(self) -> IntArray:
        """The meta-objects, of shape (n_members, n_views)."""
        return self._members[: self._counts[MEMBERS]]

    @property
    def n_free(self) -> int:
        """Number of meta-objects that may still be added before the rest is needed to cover rows."""
        return int(free_places(self.cap, self._counts, self._singles, self._lacking))

    @property
    def all_covered(self) -> bool:
        """True where every row is in a meta-object."""
        return not self._counts[PARTIAL] and not self._singles.any()

    @property
    def all_complete(self) -> bool:
        """True where every view saw every row, so that nothing is left to match."""
        return not self.incomplete.any()

    @property
    def n_covered(self) -> IntArray:
        """Number of each view's objects whose rows are in a meta-object, of shape (n_views,)."""
        return (self._rows[self._covered] >= 0).sum(axis=0)

    def joins(
        self, pairs: ViewPairs, starts: IntArray, ends: IntArray, squared_radius: float, most: int
    ) -> tuple[bool, IntArray, list[IntArray]]:
        """Return what pairs of a band lead to, and the objects of each view that it leaves; see `joins_of_band`."""
        any_incomplete, joins, rest, rest_ends = joins_of_band(
            *pairs, starts, ends, self.incomplete, self._members, self._heads, self._links, squared_radius, most
        )
        return any_incomplete, joins, [rest[start:end] for start, end in zip([0, *rest_ends[:-1]], rest_ends)]

    def admit(self, candidates: IntArray) -> bool:
        """Add candidates, completed by what was observed with their objects; return whether more may be added."""
        if len(candidates):
            self._add(candidates, self._any_ties, self.cap)
        return self.n_free > 0

    def cover(self, rng: np.random.Generator) -> None:
        """Add a meta-object for every row not covered yet, put together with others at random."""
        views = range(self._rows.shape[1])
        queues = []
        for view in views:
            rows = self._row_of[view, : self._sizes[view]]
            waiting = np.flatnonzero((self._n_seen[rows] == 1) & ~self._covered[rows])
            queues.append(waiting[rng.permutation(len(waiting))][::-1].tolist())

        def filled(row: list[int]) -> list[int]:
            member = []
            for view, number in enumerate(row):
                if number < 0:
                    number = queues[view].pop() if queues[view] else int(rng.integers(self._sizes[view]))
                member.append(number)
            return member

        partial = (self._n_seen > 1) & (self._n_seen < len(views)) & ~self._covered
        members = [filled(row) for row in self._rows[partial].tolist()]
        while any(queues):
            members.append(filled([-1] * len(views)))
        self._add(np.array(members, dtype=np.int64).reshape(-1, len(views)))

    def _add(self, candidates: IntArray, complete_them: bool = False, cap: int = NO_CAP) -> None:
        """Make room for candidates, and add them."""
        needed = min(int(self._counts[MEMBERS]) + len(candidates), cap)
        if needed > len(self._members):
            size = 2 ** (needed - 1).bit_length()
            n_members = self._counts[MEMBERS]
            before, links = self._members[:n_members], self._links[:n_members]
            self._members = np.empty((size, before.shape[1]), dtype=np.int64)
            self._links = np.empty(size, dtype=np.int64)
            self._members[:n_members], self._links[:n_members] = before, links
            self._places = np.full(2 * size, -1)
            fill_places(self._members, n_members, self._places)
        admit_candidates(
            np.ascontiguousarray(candidates, dtype=np.int64),
            complete_them,
            cap,
            self._rows,
            self._row_of,
            self._n_seen,
            self._covered,
            self._counts,
            self._singles,
            self._lacking,
            self._members,
            self._places,
            self._heads,
            self._tails,
            self._links,
        )


def least_meta_objects(rows: IntArray) -> int:
    """Return how many meta-objects cover all rows, of shape (n_rows, n_views).

    They are one per row that several views saw, and for the view with most rows of its own as many as those rows do
    not take in.
    """
    n_views = rows.shape[1]
    n_seen = (rows >= 0).sum(axis=1)
    partial = rows[(n_seen > 1) & (n_seen < n_views)]
    n_complete = int((n_seen == n_views).sum())
    singles = (rows[(n_seen == 1) & (n_views > 1)] >= 0).sum(axis=0)
    return n_complete + len(partial) + int(np.maximum(singles - (partial < 0).sum(axis=0), 0).max())


def check_cap(max_meta_objects: object) -> None:
    """Refuse a number of meta-objects that is neither None, nor a whole number of at least 1, nor infinite."""
    if max_meta_objects is not None and not (isinstance(max_meta_objects, float) and max_meta_objects == np.inf):
        check_count("max_meta_objects", max_meta_objects)


def _labels_of_views(labels: ArrayLike, sizes: list[int], names: list[str]) -> list[AnyArray]:
    """Check labels, and return one array per view."""
    if not isinstance(labels, list | tuple) or (len(labels) and np.ndim(labels[0]) == 0):
        labels = [labels] * len(sizes)
    labels = [np.asarray(column) for column in labels]
    if len(labels) != len(sizes):
        raise ValueError(f"labels must hold an array for each of the {len(sizes)} views; got {len(labels)}.")
    for name, column, size in zip(names, labels, sizes):
        if column.shape != (size,):
            raise ValueError(f"labels of the view {name!r} must have shape ({size},); got shape {column.shape}.")
        if size == 0:
            raise ValueError(f"The view {name!r} has no objects; each view needs at least one.")
    for name, column in zip(names, labels):
        kinds = {type(label).__name__ for label in column.tolist()} if column.dtype.kind == "O" else set()
        if len(kinds) > 1 or "NoneType" in kinds:
            raise ValueError(f"labels of the view {name!r} are of several kinds, {sorted(kinds)}; give them one kind.")
    are_numbers = [column.dtype.kind in "biuf" for column in labels]
    if len(set(are_numbers)) > 1:
        kind_of_views = {name: str(column.dtype) for name, column in zip(names, labels)}
        raise ValueError(f"labels differ in kind between views: {kind_of_views}. Give all views the same labels.")
    if all(are_numbers) and not all(np.isfinite(column).all() for column in labels):
        raise ValueError("labels holds NaN or infinity; every object needs a class.")
    return labels


def _checked_known(known: ArrayLike | None, sizes: list[int], labels: Sequence[AnyArray], names: list[str]) -> IntArray:
    """Check known matches, and return those that name an object."""
    n_views = len(sizes)
    if known is None or np.size(known) == 0:
        return np.empty((0, n_views), dtype=np.intp)
    known = np.asarray(known)
    if known.ndim != 2 or known.shape[1] != n_views or known.dtype.kind not in "iu":
        raise ValueError(
            f"known must be an integer array of shape (n_known, {n_views}), object numbers or -1; got {known.dtype} of "
            f"shape {known.shape}."
        )
    for view, (name, size) in enumerate(zip(names, sizes)):
        column = known[:, view]
        wrong = column[(column < -1) | (column >= size)]
        if len(wrong):
            raise ValueError(f"known must hold -1 or numbers below {size} for the view {name!r}; got {wrong[0]}.")
        numbers, counts = np.unique(column[column >= 0], return_counts=True)
        if (counts > 1).any():
            raise ValueError(
                f"known has object {numbers[counts > 1][0]} of the view {name!r} more than once; an object can be in "
                "one row only."
            )
    for row in known:
        classes = {np.asarray(labels[view][number]).item() for view, number in enumerate(row) if number >= 0}
        if len(classes) > 1:
            raise ValueError(
                f"known puts objects of different classes together: {row.tolist()} are of {sorted(classes)}."
            )
    return known[(known >= 0).any(axis=1)]


def _objects_and_rows(label: object, labels: list[AnyArray], known: IntArray) -> tuple[list[IntArray], IntArray]:
    """Return the objects of a class in each view, and its rows in the class's own numbers."""
    objects: list[IntArray] = [np.flatnonzero(column == label) for column in labels]
    columns = []
    for column, numbers in zip(known.T, objects):
        position = np.searchsorted(numbers, column).clip(max=len(numbers) - 1)
        columns.append(np.where(numbers[position] == column, position, -1))
    rows = np.column_stack(columns)
    rows = rows[(rows >= 0).any(axis=1)]
    singles = []
    for view, numbers in enumerate(objects):
        unmatched = np.setdiff1d(np.arange(len(numbers)), rows[:, view])
        block = np.full((len(unmatched), len(objects)), -1)
        block[:, view] = unmatched
        singles.append(block)
    return objects, np.concatenate([rows, *singles])


def _caps(rows_of_classes: list[IntArray], max_meta_objects: float | None) -> list[int]:
    """Return the most meta-objects of each class; a given total beyond the least is shared out in proportion."""
    least = [least_meta_objects(rows) for rows in rows_of_classes]
    if max_meta_objects is None:
        return [_default_cap(rows, n) for rows, n in zip(rows_of_classes, least)]
    check_cap(max_meta_objects)
    if max_meta_objects == np.inf:
        return [NO_CAP] * len(least)
    extra = int(max_meta_objects) - sum(least)
    if extra < 0:
        raise ValueError(
            f"max_meta_objects={max_meta_objects} is too few to have every object in one of them; it must be at least "
            f"{sum(least)}."
        )
    shares = [extra * through // sum(least) for through in np.cumsum(least).tolist()]
    return [n + share - before for n, share, before in zip(least, shares, [0, *shares])]


def _default_cap(rows: IntArray, least: int) -> int:
    """Return the most meta-objects of a class by default, which needs at least so many."""
    n_ways = prod((rows >= 0).sum(axis=0).tolist())
    n_complete = int((rows >= 0).all(axis=1).sum())
    return n_ways if n_ways <= SMALL_PRODUCT else n_complete + DEFAULT_MULTIPLE * (least - n_complete)
