"""What is known before any matching: each view's objects, their classes, and which of them are one thing."""

from dataclasses import dataclass

import numpy as np

from fuselearn.estimators import check_count
from fuselearn.kernels.meta_objects import least_meta_objects

GENEROUS = 4
"""Meta-objects of a class by default, as a multiple of those needed: its objects in the view with most of them. What
all views saw is there once."""


@dataclass(frozen=True)
class ClassGroup:
    """The objects of one class.

    Attributes
    ----------
    objects : list of intp ndarray
        Numbers of the class's objects in each view.
    rows : int ndarray of shape (n_rows, n_views)
        The things of the class: place of their object in `objects` of each view, -1 where a view did not see it.
    cap : int
        Most meta-objects.
    """

    objects: list
    rows: np.ndarray
    cap: int


@dataclass(frozen=True)
class Matching:
    """All classes, in sorted order.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    groups : list of ClassGroup
    """

    classes: np.ndarray
    groups: list

    def put_together(self, found):
        """Meta-objects and their labels from those of each class in the class's own numbers."""
        meta_objects = []
        for group, members in zip(self.groups, found):
            columns = [objects[column] for objects, column in zip(group.objects, members.T)]
            meta_objects.append(np.column_stack(columns))
        return np.concatenate(meta_objects), np.repeat(self.classes, list(map(len, meta_objects)))


def read_matching(labels, sizes, known, max_meta_objects, names=None):
    """Check labels and known matches, and sort them by class.

    Parameters
    ----------
    labels : list of array, or array
        Class of each view's objects.
    sizes : list of int
        Number of objects of each view.
    known : int array of shape (n_known, n_views) or None
    max_meta_objects : int or None
    names : list of str, default=None
        Names of the views, for the messages.
    """
    names = [f"view{number}" for number in range(len(sizes))] if names is None else names
    labels = _labels_of_views(labels, sizes, names)
    known = _checked_known(known, sizes, labels, names)
    classes = np.unique(np.concatenate(labels))
    for name, column in zip(names, labels):
        lacking = np.setdiff1d(classes, column)
        if len(lacking):
            raise ValueError(
                f"The view {name!r} has no object of the class {lacking.tolist()[0]!r}, which other views have; leave "
                "that class out, or add objects."
            )
    parts = [_objects_and_rows(label, labels, known) for label in classes]
    caps = _caps(parts, max_meta_objects)
    return Matching(classes, [ClassGroup(*part, cap) for part, cap in zip(parts, caps)])


def _labels_of_views(labels, sizes, names):
    """One label array per view."""
    if not isinstance(labels, list | tuple) or (len(labels) and np.ndim(labels[0]) == 0):
        labels = [labels] * len(sizes)
    labels = [np.asarray(column) for column in labels]
    if len(labels) != len(sizes):
        raise ValueError(f"labels must hold an array for each of the {len(sizes)} views; got {len(labels)}.")
    for name, column, size in zip(names, labels, sizes):
        if column.shape != (size,):
            raise ValueError(f"labels of the view {name!r} must have shape ({size},); got shape {column.shape}.")
        if size == 0:
            raise ValueError(f"The view {name!r} has no objects.")
    for name, column in zip(names, labels):
        kinds = {type(label).__name__ for label in column.tolist()} if column.dtype.kind == "O" else ()
        if len(kinds) > 1 or "NoneType" in kinds:
            raise ValueError(f"labels of the view {name!r} are of several kinds, {sorted(kinds)}; give them one.")
    numbers = [column.dtype.kind in "biuf" for column in labels]
    if len(set(numbers)) > 1:
        kinds = {name: str(column.dtype) for name, column in zip(names, labels)}
        raise ValueError(f"labels differ in kind between views: {kinds}. Give all views the same labels.")
    if all(numbers) and not all(np.isfinite(column).all() for column in labels):
        raise ValueError("labels holds NaN or infinity; every object needs a class.")
    return labels


def _checked_known(known, sizes, labels, names):
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
        strange = column[(column < -1) | (column >= size)]
        if len(strange):
            raise ValueError(f"known must hold -1 or numbers below {size} for the view {name!r}; got {strange[0]}.")
        numbers, counts = np.unique(column[column >= 0], return_counts=True)
        if (counts > 1).any():
            raise ValueError(f"known has object {numbers[counts > 1][0]} of the view {name!r} more than once.")
    for row in known:
        found = {np.asarray(labels[view][number]).item() for view, number in enumerate(row) if number >= 0}
        if len(found) > 1:
            raise ValueError(
                f"known puts objects of different classes together: {row.tolist()} are of {sorted(found)}."
            )
    return known[(known >= 0).any(axis=1)]


def _objects_and_rows(label, labels, known):
    objects = [np.flatnonzero(column == label) for column in labels]
    columns = []
    for column, numbers in zip(known.T, objects):
        place = np.searchsorted(numbers, np.maximum(column, 0)).clip(max=len(numbers) - 1)
        columns.append(np.where((column >= 0) & (numbers[place] == column), place, -1))
    rows = np.column_stack(columns)
    rows = rows[(rows >= 0).any(axis=1)]
    singles = []
    for view, numbers in enumerate(objects):
        alone = np.setdiff1d(np.arange(len(numbers)), rows[:, view])
        block = np.full((len(alone), len(objects)), -1)
        block[:, view] = alone
        singles.append(block)
    return objects, np.concatenate([rows, *singles])


def _caps(parts, max_meta_objects):
    """Most meta-objects of each class; those of a given total that are left over are shared in proportion."""
    least = [least_meta_objects(rows) for _, rows in parts]
    if max_meta_objects is None:
        complete = [int((rows >= 0).all(axis=1).sum()) for _, rows in parts]
        return [done + GENEROUS * (few - done) for done, few in zip(complete, least)]
    check_count("max_meta_objects", max_meta_objects)
    extra = int(max_meta_objects) - sum(least)
    if extra < 0:
        raise ValueError(
            f"max_meta_objects={max_meta_objects} is too few to have every object in one of them; it must be at least "
            f"{sum(least)}."
        )
    shares = [extra * through // sum(least) for through in np.cumsum(least).tolist()]
    return [few + share - before for few, share, before in zip(least, shares, [0, *shares])]
