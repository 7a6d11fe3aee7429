"""The growing set of meta-objects of one class: one object of every view, put together.

What was observed together stays together. A *row* is a thing that one or more views saw. One that all views saw is a
meta-object from the start. One that some of them saw is completed: a candidate that holds one of its objects is given
all of them, and the other views' objects are lent by whatever rows the candidate names.

Weights of meta-objects that give every object of a view its due, however often it was put together with others.

Reading pairs from the nearest to the farthest puts objects of dense places together many times and those of sparse
places once. S4 asks that what each view alone says of a class stays as it was: the deconvolved density has the same
marginals (§2.1), and sampling preserves marginal rates (§3.1.3). Weights can do that where counts cannot.
"""

import numpy as np


class MetaObjects:
    """Distinct meta-objects in the order they came, at most `cap`, with room kept to cover every row.

    Parameters
    ----------
    rows : int ndarray of shape (n_rows, n_views)
        Number of each row's object in each view, -1 where the view did not see it. Every object is in one row.
    cap : int
        At least :func:`least_meta_objects` of the rows.

    Attributes
    ----------
    members : list of tuple of int
    room : int
        How many may still be added before the rest is needed to cover rows.
    """

    def __init__(self, rows, cap):
        rows = rows[np.lexsort(rows.T[::-1])]  # whatever order they were told in
        self._rows = rows.tolist()
        self._views = range(rows.shape[1])
        self._seen_by = (rows >= 0).sum(axis=1).tolist()
        self._row_of = [_row_of_object(column) for column in rows.T]
        self._cap = cap
        self._known = set()
        self.members = []
        self._with_first = {}
        self._complete = [seen == len(self._views) for seen in self._seen_by]
        # Which row of a candidate is seen to first: complete ones need nothing, so they come last.
        self._rank = [0 if complete else seen for seen, complete in zip(self._seen_by, self._complete)]
        self._any_ties = any(seen > 1 for seen in self._seen_by)
        self._covered = [False] * len(self._rows)
        self._uncovered_partial = sum(1 < seen < len(self._views) for seen in self._seen_by)
        self._uncovered_singles = [
            sum(seen == 1 for row, seen in zip(self._rows, self._seen_by) if row[view] >= 0) for view in self._views
        ]
        if len(self._views) == 1:
            self._uncovered_singles = [0]
        # Rows that several but not all views saw take in objects of the views they lack.
        self._lacking = [
            sum(1 < seen < len(self._views) for row, seen in zip(self._rows, self._seen_by) if row[view] < 0)
            for view in self._views
        ]
        for row, complete in zip(self._rows, self._complete):
            if complete:
                self._add(tuple(row))

    @property
    def room(self):
        alone = max(single - lacking for single, lacking in zip(self._uncovered_singles, self._lacking))
        return self._cap - len(self.members) - self._uncovered_partial - max(alone, 0)

    @property
    def all_covered(self):
        return not self._uncovered_partial and not any(self._uncovered_singles)

    @property
    def all_complete(self):
        """Whether every view saw every row, so that nothing is left to match."""
        return all(self._complete)

    def any_incomplete(self, view, objects):
        """Whether some view did not see one of the objects."""
        return any(self.incomplete(view, number) for number in objects)

    @property
    def cap(self):
        return self._cap

    def incomplete(self, view, number):
        """Whether some view did not see an object."""
        return not self._complete[self._row_of[view][number]]

    def with_first(self, objects):
        """Members whose object of the first view is among `objects`, in the order they came."""
        numbers = [number for first in objects for number in self._with_first.get(first, ())]
        return [self.members[number] for number in sorted(numbers)]

    def admit(self, candidates):
        """Add candidates, each completed by what was observed with its objects, while there is room.

        Returns
        -------
        bool
            Whether there is still room.
        """
        room = self.room
        for candidate in candidates:
            if room <= 0:
                break
            candidate = self._completed(candidate) if self._any_ties else candidate
            if candidate is not None and candidate not in self._known:
                self._add(candidate)
                room = self.room
        return room > 0

    def cover(self, rng):
        """Add a meta-object for every row not covered yet, put together with others at random."""
        queues = []
        for view in self._views:
            rows = self._row_of[view]
            waiting = [n for n, row in enumerate(rows) if self._seen_by[row] == 1 and not self._covered[row]]
            queues.append([waiting[place] for place in rng.permutation(len(waiting))][::-1])

        def filled(row):
            return tuple(
                number if number >= 0 else queues[view].pop() if queues[view] else rng.integers(len(self._row_of[view]))
                for view, number in enumerate(row)
            )

        partial = [
            row
            for row, seen, covered in zip(self._rows, self._seen_by, self._covered)
            if 1 < seen < len(self._views) and not covered
        ]
        for row in partial:
            self._add(filled(row))
        while any(queues):
            self._add(filled([-1] * len(self._views)))

    def _completed(self, candidate):
        """The candidate with all objects of the incomplete rows it names, those with more views first; None where it
        names complete rows only, which need no others."""
        rows = [self._row_of[view][number] for view, number in enumerate(candidate)]
        if all(self._complete[row] for row in rows):
            return None
        whole = [-1] * len(rows)
        for view in sorted(self._views, key=lambda view: -self._rank[rows[view]]):  # sorted is stable
            if whole[view] < 0:
                own = self._rows[rows[view]]
                together = self._rank[rows[view]] and all(
                    whole[other] < 0 for other, number in enumerate(own) if number >= 0
                )
                if together:
                    whole = [number if number >= 0 else before for number, before in zip(own, whole)]
                else:  # lent to the rows before
                    whole[view] = candidate[view]
        return tuple(whole)

    def _add(self, member):
        if member in self._known:
            return
        self._known.add(member)
        self._with_first.setdefault(member[0], []).append(len(self.members))
        self.members.append(member)
        for view, number in enumerate(member):
            row = self._row_of[view][number]
            if not self._covered[row] and all(own in (-1, held) for own, held in zip(self._rows[row], member)):
                self._covered[row] = True
                if self._seen_by[row] == 1 and len(self._views) > 1:
                    self._uncovered_singles[view] -= 1
                elif self._seen_by[row] < len(self._views):
                    self._uncovered_partial -= 1
                    for lacking, own in enumerate(self._rows[row]):
                        self._lacking[lacking] -= own < 0


def least_meta_objects(rows):
    """How many meta-objects are needed to cover all rows: one per row that several views saw, and for the view with
    most rows of its own as many as those rows do not take in.

    Parameters
    ----------
    rows : int ndarray of shape (n_rows, n_views)
    """
    n_views = rows.shape[1]
    seen_by = (rows >= 0).sum(axis=1)
    partial = rows[(seen_by > 1) & (seen_by < n_views)]
    n_complete = int((seen_by == n_views).sum())
    singles = (rows[(seen_by == 1) & (n_views > 1)] >= 0).sum(axis=0)
    return n_complete + len(partial) + int(np.maximum(singles - (partial < 0).sum(axis=0), 0).max())


def _row_of_object(column):
    """Row of each object of a view, by its number."""
    rows = np.flatnonzero(column >= 0)
    row_of = np.empty(len(rows), dtype=np.intp)
    row_of[column[rows]] = rows
    return row_of.tolist()


ROUNDS = 25
LEAST = 1e-6
"""A dual variable needs some room to move in."""


def marginal_weights(places, codes, matched=None):
    """Weights under which the objects of a class count alike in each view, as nearly as the meta-objects allow.

    Proportional fitting: in turn, each view's objects are given equal sums, and of the last turn the geometric mean
    over the views is taken, so that none is favoured. What all views saw counts once, and what it lends to others does
    not take from that.

    Parameters
    ----------
    places : int ndarray of shape (n_meta, n_views)
        Number of the object of each view.
    codes : int ndarray of shape (n_meta,)
        Class of each meta-object.
    matched : bool ndarray of shape (n_meta, n_views), default=None
        Whether all views saw the thing that an object is of. A meta-object of such objects only is that thing.

    Returns
    -------
    ndarray of shape (n_meta,)

    Examples
    --------
    >>> marginal_weights(np.array([[0, 0], [0, 1], [1, 1]]), np.zeros(3, dtype=int)).round(1)
    array([1., 0., 1.])
    """
    matched = np.zeros(places.shape, dtype=bool) if matched is None else matched
    weights = np.ones(len(places))
    open_ones = ~matched.all(axis=1)
    for code in np.unique(codes[open_ones]):
        here = (codes == code) & open_ones
        weights[here] = _balanced(places[here], matched[here])
    return np.maximum(weights, LEAST)


def _balanced(places, matched):
    """Weights of the meta-objects of one class that are not known matches."""
    views = []
    for column, lent in zip(places.T, matched.T):
        numbers = np.unique(column[~lent], return_inverse=True)[1]
        views.append((numbers, ~lent, numbers.max(initial=-1) + 1, lent.any()))
    total = max(count for _, _, count, _ in views)
    weights = np.full(len(places), total / len(places))
    for _ in range(ROUNDS):
        turns = []
        for numbers, own, count, any_lent in views:
            if count:
                # Where others lend objects, they make up for those that this view lacks.
                due = 1.0 if any_lent else total / count
                sums = np.bincount(numbers, weights[own], minlength=count)
                weights[own] *= (due / np.maximum(sums, np.finfo(float).tiny))[numbers]
            turns.append(np.maximum(weights, LEAST))
    return np.exp(np.mean(np.log(turns), axis=0))
