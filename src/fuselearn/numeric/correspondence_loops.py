"""The compiled loops of S4's Algorithm 1: the joins of a band, and the set of meta-objects that grows by them.

Views and objects are numbered from 0. Tables of objects have shape (n_views, most objects of a view). Pairs of all
views stand one view after the other, and `starts` and `ends` say which of them are in the band.

Arrays are filled and searched by plain loops: numba compiles these in a fraction of the time that it takes for NumPy's
functions, and assigning one array to another brings in the text of an error about shapes, which takes three seconds.
"""

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.votes import TIE
from fuselearn.typing import BoolArray, FloatArray, IntArray

PARTIAL, MEMBERS = range(2)
"""Fields of the counts of a set: rows of several but not all views that are not covered, and members."""


@compiled()
def _sort(numbers: IntArray, n: int) -> None:
    """Sort the first `n` numbers in place, by Shell's method: numba takes a second to compile NumPy's."""
    gap = 1
    while 3 * gap + 1 < n:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            number, place = numbers[i], i
            while place >= gap and numbers[place - gap] > number:
                numbers[place] = numbers[place - gap]
                place -= gap
            numbers[place] = number
        gap //= 3


@compiled()
def joins_of_band(
    first: IntArray,
    second: IntArray,
    distances: FloatArray,
    starts: IntArray,
    ends: IntArray,
    incomplete: BoolArray,
    members: IntArray,
    heads: IntArray,
    links: IntArray,
    squared_radius: float,
    most: int,
) -> tuple[bool, IntArray, IntArray, IntArray]:
    """Return what the pairs of a band lead to from members, and the objects of the pairs that lead nowhere.

    From a member, one pair of each view leads from its object to the pair's other end, where that reaches something
    not matched already (`incomplete`) and Σ of the squared distances is at most `squared_radius` (S4 steps 14, 15).
    Members come in their order, and pairs of an object from the shortest to the longest; ways that cannot end well are
    left before they are combined. `heads` and `links` list the members of each object of the first view.

    Returns
    -------
    any_incomplete : bool
        Whether the band holds an object that is not matched already; if not, all else is empty.
    joins : ndarray of shape (n_joins, n_views)
        Objects that were reached, at most `most` times.
    rest : ndarray
        The ends of pairs that no join used, one view after the other, each once and as they come.
    rest_ends : ndarray of shape (n_views,)
        Where each view's part of `rest` ends.
    """
    n_views = len(starts)
    slots = np.empty(incomplete.shape, np.int64)
    n_slots, rest_ends, offsets = np.empty(n_views, np.int64), np.empty(n_views, np.int64), np.empty(n_views, np.int64)
    n_pairs = 0
    for view in range(n_views):
        n_slots[view], rest_ends[view] = 0, 0
        offsets[view] = n_pairs - starts[view]  # adds up to the place of a pair in `used`
        n_pairs += ends[view] - starts[view]
        for number in range(incomplete.shape[1]):
            slots[view, number] = -1
    any_incomplete = False
    for view in range(n_views):
        for pair in range(starts[view], ends[view]):
            for number in (first[pair], second[pair]):
                if slots[view, number] < 0:
                    slots[view, number] = n_slots[view]
                    n_slots[view] += 1
                    any_incomplete |= incomplete[view, number]
    joins = np.empty((64 if any_incomplete else 0, n_views), np.int64)
    widest, all_slots = 0, 0
    for view in range(n_views):
        widest = max(widest, n_slots[view])
        all_slots += n_slots[view]
    rest = np.empty(all_slots if any_incomplete else 0, np.int64)
    if not any_incomplete:
        return False, joins, rest, rest_ends

    # The pairs of each object, as steps to their other end.
    step_ends = np.empty((n_views, widest + 1), np.int64)
    most_steps = 0
    for view in range(n_views):
        for slot in range(widest + 1):
            step_ends[view, slot] = 0
        for pair in range(starts[view], ends[view]):
            step_ends[view, slots[view, first[pair]] + 1] += 1
            step_ends[view, slots[view, second[pair]] + 1] += 1
        for slot in range(widest):
            step_ends[view, slot + 1] += step_ends[view, slot]
        most_steps = max(most_steps, step_ends[view, widest])
    # Twice the number of a pair, and 1 more where it leads from its second end to its first.
    steps = np.empty((n_views, most_steps), np.int64)
    filled, any_open = np.empty((n_views, widest), np.int64), np.empty((n_views, widest), np.bool_)
    for view in range(n_views):
        for slot in range(widest):
            filled[view, slot], any_open[view, slot] = step_ends[view, slot], False
        for pair in range(starts[view], ends[view]):
            for turned in range(2):
                number, other = (second[pair], first[pair]) if turned else (first[pair], second[pair])
                slot = slots[view, number]
                steps[view, filled[view, slot]] = 2 * pair + turned
                filled[view, slot] += 1
                any_open[view, slot] |= incomplete[view, other]

    # Members all of whose objects are in the band, in the order they came.
    found = np.empty(64, np.int64)
    n_found = 0
    for pair in range(starts[0], ends[0]):
        for number in (first[pair], second[pair]):
            slot = slots[0, number]
            if filled[0, slot] < 0:
                continue  # seen before
            filled[0, slot] = -1
            member = heads[number]
            while member >= 0:
                inside = True
                for view in range(1, n_views):
                    inside &= slots[view, members[member, view]] >= 0
                if inside:
                    if n_found == len(found):
                        shorter, found = found, np.empty(2 * n_found, np.int64)
                        for i in range(n_found):
                            found[i] = shorter[i]
                    found[n_found] = member
                    n_found += 1
                member = links[member]
    _sort(found, n_found)

    used = np.empty(n_pairs, np.bool_)
    for pair in range(n_pairs):
        used[pair] = False
    limit = squared_radius * (1.0 + TIE)
    n_joins = 0
    place = np.empty(n_views, np.int64)  # step of each view
    begin, stop = np.empty(n_views, np.int64), np.empty(n_views, np.int64)
    length, reaches = np.empty(n_views + 1), np.empty(n_views + 1, np.bool_)
    shortest, still_open = np.empty(n_views + 1), np.empty(n_views + 1, np.bool_)
    length[0], reaches[0], shortest[n_views], still_open[n_views] = 0.0, False, 0.0, False
    for member in found[:n_found]:
        for view in range(n_views - 1, -1, -1):
            slot = slots[view, members[member, view]]
            begin[view], stop[view] = step_ends[view, slot], step_ends[view, slot + 1]
            shortest[view] = shortest[view + 1] + distances[steps[view, begin[view]] // 2]
            still_open[view] = still_open[view + 1] | any_open[view, slot]
        view = 0
        place[0] = begin[0]
        while view >= 0 and n_joins < most:
            if place[view] == stop[view]:
                view -= 1
                if view >= 0:
                    place[view] += 1
                continue
            step = steps[view, place[view]]
            pair = step // 2
            other = first[pair] if step % 2 else second[pair]
            if length[view] + distances[pair] + shortest[view + 1] > limit:
                place[view] = stop[view]  # so do all that follow
                continue
            reaches[view + 1] = reaches[view] | incomplete[view, other]
            if not (reaches[view + 1] or still_open[view + 1]):
                place[view] += 1
                continue
            length[view + 1] = length[view] + distances[pair]
            view += 1
            if view < n_views:
                place[view] = begin[view]
                continue
            if n_joins == len(joins):
                shorter_joins, joins = joins, np.empty((2 * n_joins, n_views), np.int64)
                for i in range(n_joins):
                    for own in range(n_views):
                        joins[i, own] = shorter_joins[i, own]
            for own in range(n_views):
                step = steps[own, place[own]]
                pair = step // 2
                joins[n_joins, own] = first[pair] if step % 2 else second[pair]
                used[pair + offsets[own]] = True
            n_joins += 1
            view -= 1
            place[view] += 1

    n_rest = 0
    for view in range(n_views):
        for pair in range(starts[view], ends[view]):
            if not used[pair + offsets[view]]:
                for number in (first[pair], second[pair]):
                    if slots[view, number] >= 0:
                        slots[view, number] = -1
                        rest[n_rest] = number
                        n_rest += 1
        rest_ends[view] = n_rest
    return True, joins[:n_joins], rest[:n_rest], rest_ends


@compiled()
def free_places(cap: int, counts: IntArray, singles: IntArray, lacking: IntArray) -> int:
    """Return how many members may still be added before the rest is needed to cover rows."""
    alone = 0
    for view in range(len(singles)):
        alone = max(alone, singles[view] - lacking[view])
    return cap - counts[MEMBERS] - counts[PARTIAL] - alone


@compiled()
def _home(member: IntArray, n_places: int) -> np.int64:
    """Return the first place of a hash table, of a power of 2 places, that a member may be at."""
    code = np.uint64(0)
    for number in member:
        code = (code ^ np.uint64(number)) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    return np.int64(code & np.uint64(n_places - 1))


@compiled()
def fill_places(members: IntArray, n_members: int, places: IntArray) -> None:
    """Enter members into an empty hash table of their numbers, -1 where there is none."""
    for number in range(n_members):
        place = _home(members[number], len(places))
        while places[place] >= 0:
            place = (place + 1) % len(places)
        places[place] = number


@compiled()
def admit_candidates(
    candidates: IntArray,
    complete_them: bool,
    cap: int,
    rows: IntArray,
    row_of: IntArray,
    n_seen: IntArray,
    covered: BoolArray,
    counts: IntArray,
    singles: IntArray,
    lacking: IntArray,
    members: IntArray,
    places: IntArray,
    heads: IntArray,
    tails: IntArray,
    links: IntArray,
) -> None:
    """Add candidates that are not there while there is room, and count the rows that they cover. Works in place.

    With `complete_them` a candidate gets all objects of the incomplete rows it names, those with more views first, and
    one that names complete rows only is passed over; what does not fit is lent by the candidate's own rows.
    """
    n_views = rows.shape[1]
    member = np.empty(n_views, np.int64)
    for candidate in candidates:
        if free_places(cap, counts, singles, lacking) <= 0:
            return
        for view in range(n_views):
            member[view] = -1 if complete_them else candidate[view]
        if complete_them:
            any_incomplete = False
            for rank in range(n_views - 1, -1, -1):  # rows by their number of views; complete ones (rank 0) come last
                for view in range(n_views):
                    row = row_of[view, candidate[view]]
                    if n_seen[row] % n_views != rank:
                        continue
                    any_incomplete |= rank > 0
                    if member[view] >= 0:
                        continue
                    fits = rank > 0
                    for other in range(n_views):
                        fits &= member[other] < 0 or rows[row, other] < 0
                    if fits:
                        for other in range(n_views):
                            if rows[row, other] >= 0:
                                member[other] = rows[row, other]
                    else:
                        member[view] = candidate[view]
            if not any_incomplete:
                continue
        place = _home(member, len(places))
        known = False
        while places[place] >= 0 and not known:
            known = True
            for view in range(n_views):
                known &= members[places[place], view] == member[view]
            if not known:
                place = (place + 1) % len(places)
        if known:
            continue
        number = counts[MEMBERS]
        counts[MEMBERS] += 1
        places[place] = number
        for view in range(n_views):
            members[number, view] = member[view]
        links[number] = -1
        if heads[member[0]] < 0:
            heads[member[0]] = number
        else:
            links[tails[member[0]]] = number
        tails[member[0]] = number
        for view in range(n_views):
            row = row_of[view, member[view]]
            holds = not covered[row]
            for other in range(n_views):
                holds &= rows[row, other] < 0 or rows[row, other] == member[other]
            if not holds:
                continue
            covered[row] = True
            if n_seen[row] == n_views:
                continue
            if n_seen[row] == 1:
                singles[view] -= 1
            else:
                counts[PARTIAL] -= 1
                for other in range(n_views):
                    lacking[other] -= rows[row, other] < 0
