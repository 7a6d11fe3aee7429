"""Tomographic kernel fusion (S4 section 3.1, Alg. 1): which object of one view goes with which object of another.

A kernel per view is given, and the views' objects are matched in part or not at all. A *meta-object* is one object of
each view, put together. Box and text of S4 leave much open (equal distances, the size of the result, objects that are
matched already); what was settled for it is marked "ours" below. S4 counts views and pairs from 1; here views and
objects count from 0, and the counters k_m count pairs from 1, as in S4.

A *row* is a thing that was seen, as a dict view -> object. It is complete (seen in all views), partial (in some, at
least two) or single (in one). Within a class objects go by their *canonical* numbers, see ``canonical_order``.
"""

import itertools
import math

import numpy as np

TIE = 1e-12  # distances closer than this share of the largest one are equal
MAX_PASSES = 8  # of the random pairing
LOOKED_AT = 16  # joins of a band, as a multiple of the cap


def correspondence(
    kernels,
    labels,
    *,
    known=None,
    crossing="sample",
    l2=False,
    band=5,
    max_meta_objects=None,
    scale_kernels=True,
    seed=0,
):
    """The meta-objects of S4 Alg. 1, class after class, and their labels.

    Parameters
    ----------
    kernels : list of M square arrays, one per view
    labels : list of M label arrays; each class must occur in every view
    known : (n_known, M) object numbers, each row one thing as the views saw it, -1 where a view did not; an
        object occurs at most once. None: nothing is matched
    crossing : ``"sample"``, ``"full"`` or ``"corners"``
    l2 : whether joining obeys the l2 constraint (S4 section 3.1.2)
    band : the most reference pairs in a band, before it is widened
    max_meta_objects : the most meta-objects of all classes together; None: see ``caps_of_classes``

    Returns a list of tuples (an object number for each view) and a list of labels.
    """
    if crossing not in ("sample", "full", "corners"):
        raise ValueError(f"crossing is {crossing!r}; it must be 'sample', 'full' or 'corners'")
    if band < 1:
        raise ValueError(f"band is {band}; it must be at least 1")
    if scale_kernels:
        kernels = [scaled(K) for K in kernels]
    distances = [squared_distances(K) for K in kernels]
    classes, objects = split_by_class(labels)
    for of_class in objects:
        for D, own in zip(distances, of_class, strict=True):
            level(D, own)
    objects = [[canonical_order(D, own) for D, own in zip(distances, of_class, strict=True)] for of_class in objects]
    sets = starting_sets(objects, known, max_meta_objects)
    for number, found in enumerate(sets):
        rng = np.random.default_rng([seed, number])
        D = [[[D_m[a][b] for b in own] for a in own] for D_m, own in zip(distances, objects[number], strict=True)]
        walk(found, D, band, crossing, l2, rng)
        cover_the_rest(found, rng)
    return with_original_numbers(sets, classes, objects)


def cartesian(labels, *, known=None, max_meta_objects=None, seed=0):
    """Random pairing within the class (ours): parameters and result as in :func:`correspondence`, no kernels."""
    classes, objects = split_by_class(labels)
    sets = starting_sets(objects, known, max_meta_objects)
    for number, found in enumerate(sets):
        rng = np.random.default_rng([seed, number])
        C = [list(range(len(own))) for own in objects[number]]
        for _ in range(MAX_PASSES):
            before = len(found.members)
            if (found.rows["partial"] or found.rows["single"]) and found.room() > 0:
                found.admit(sampled_crossing(C, rng))
            if len(found.members) == before:
                break
        cover_the_rest(found, rng)
    return with_original_numbers(sets, classes, objects)


def naive_composite(kernels, meta_objects):
    """S4 step 24: K_comp(O_I, O_J) = sum over m of K_m(x_I^m, x_J^m)."""
    composite = np.zeros((len(meta_objects), len(meta_objects)))
    for i, O_i in enumerate(meta_objects):
        for j, O_j in enumerate(meta_objects):
            for m, K in enumerate(kernels):
                composite[i, j] += K[O_i[m]][O_j[m]]
    return composite


def naive_augmented(kernels):
    """S4 section 4.1: K_aug is the direct sum of the K_m, a block diagonal matrix."""
    augmented, start = np.zeros([sum(len(K) for K in kernels)] * 2), 0
    for K in kernels:
        for i in range(len(K)):
            for j in range(len(K)):
                augmented[start + i, start + j] = K[i][j]
        start += len(K)
    return augmented


def neutral_value(kernel, support, coefficients, items, signs, weights):
    """Neutral point substitution (S4's reference [28]): what an absent view says, half-way between the two classes.

    ``support`` are the rows that one view's part of the decision depends on, with ``coefficients``; ``items`` that
    view's rows of the machine's training items, with their classes as ``signs`` and their ``weights``.
    """
    means = []
    for sign in (-1, 1):
        total = sum(w for s, w in zip(signs, weights) if s == sign)
        said = 0.0
        for x, s, w in zip(items, signs, weights):
            if s == sign:
                said += w / total * sum(c * kernel(x, z) for c, z in zip(coefficients, support))
        means.append(said)
    return (means[0] + means[1]) / 2


def squared_distances(K):
    """S4 Eq. (1), calculated once for each pair; what rounding made negative is 0."""
    K = np.asarray(K, dtype=float).tolist()
    D = [[0.0] * len(K) for _ in K]
    for i, j in itertools.combinations(range(len(K)), 2):
        D[i][j] = D[j][i] = max(K[i][i] + K[j][j] - K[i][j] - K[j][i], 0.0)
    return D


def scaled(K):
    """S4 section 3.1.3 assumes "similar value ranges"; ours: the mean squared distance of all pairs becomes 1."""
    K = np.asarray(K, dtype=float)
    D = squared_distances(K)
    values = [D[i][j] for i, j in itertools.combinations(range(len(K)), 2)]
    mean = math.fsum(values) / len(values) if values else 0.0
    return K / mean if mean > 0 else K


def split_by_class(labels):
    """S4 step 4: the sorted classes, and for each class and view the numbers of its objects, ascending."""
    labels = [np.asarray(own).tolist() for own in labels]
    classes = sorted(set(itertools.chain(*labels)))
    objects = []
    for label in classes:
        of_class = [[i for i in range(len(own)) if own[i] == label] for own in labels]
        if not all(of_class):
            m = of_class.index([])
            raise ValueError(f"labels of view {m} lack class {label!r}; each class must occur in every view")
        objects.append(of_class)
    return classes, objects


def runs_of_equals(values):
    """Ours: values in ascending order, in lists of those that are equal but for rounding."""
    runs, last = [], None
    for value in sorted(values):
        if last is None or value - last > TIE * max(values):
            runs.append([])
        runs[-1].append(value)
        last = value
    return runs


def level(D, own):
    """Ours: each distance within the class becomes the least of those it equals but for rounding."""
    least = {
        value: run[0] for run in runs_of_equals([D[i][j] for i, j in itertools.combinations(own, 2)]) for value in run
    }
    for i, j in itertools.combinations(own, 2):
        D[i][j] = D[j][i] = least[D[i][j]]


def canonical_order(D, own):
    """Ours: by ascending sum of squared distances within the class, so that a view's own order does not matter."""
    sums = {i: math.fsum(D[i][j] for j in own if j != i) for i in own}
    least = {value: run[0] for run in runs_of_equals(list(sums.values())) for value in run}
    return sorted(own, key=lambda i: (least[sums[i]], i))


def rows_of_class(objects, known):
    """Ours: the things seen of a class, ``{"complete": rows, "partial": rows, "single": rows}``.

    Known rows come in their order. Then each object that is in none of them is a single row, view by view.
    """
    number = [{own[c]: c for c in range(len(own))} for own in objects]
    rows = {"complete": [], "partial": [], "single": []}
    taken = set()
    for given in [] if known is None else np.asarray(known).tolist():
        seen = {m: given[m] for m in range(len(objects)) if given[m] >= 0}
        here = [m for m in seen if seen[m] in number[m]]
        if not here:
            continue  # a row of another class
        if len(here) < len(seen):
            raise ValueError(f"known has a row {given} whose objects differ in class; they must be of one class")
        row = {m: number[m][seen[m]] for m in seen}
        if not taken.isdisjoint(row.items()):
            raise ValueError(f"known has a row {given} with an object of an earlier row; an object may occur once")
        taken.update(row.items())
        rows["complete" if len(row) == len(objects) else "partial" if len(row) > 1 else "single"].append(row)
    for kind in ("complete", "partial"):  # ours: the order in which matches are told does not matter
        rows[kind].sort(key=lambda row: [row.get(m, -1) for m in range(len(objects))])
    for m, own in enumerate(objects):
        rows["single"] += [{m: x} for x in range(len(own)) if (m, x) not in taken]
    return rows


def needed(rows, n_views):
    """Ours: meta-objects that partial and single rows need, when partial rows take in what they lack."""
    alone = [0]
    for m in range(n_views):
        lacking = [row for row in rows["partial"] if m not in row]
        alone.append(len([row for row in rows["single"] if m in row]) - len(lacking))
    return len(rows["partial"]) + max(alone)


def caps_of_classes(objects, rows, max_meta_objects):
    """Ours: the most meta-objects a class may have; a given total is shared out in proportion to the minima."""
    minima = [len(own["complete"]) + needed(own, len(of_class)) for own, of_class in zip(rows, objects, strict=True)]
    if max_meta_objects is None:
        products = [math.prod(len(own) for own in of_class) for of_class in objects]
        complete = [len(own["complete"]) for own in rows]
        caps = [done + 12 * (minimum - done) for done, minimum in zip(complete, minima, strict=True)]
        return [product if product <= 10_000 else cap for product, cap in zip(products, caps, strict=True)]
    if max_meta_objects == math.inf:
        return [math.inf] * len(minima)
    total = sum(minima)
    extra = max_meta_objects - total
    if extra < 0:
        raise ValueError(f"max_meta_objects is {max_meta_objects}; to hold every object it must be at least {total}")
    caps, before = [], 0
    for minimum in minima:
        caps.append(minimum + extra * (before + minimum) // total - extra * before // total)
        before += minimum
    return caps


def starting_sets(objects, known, max_meta_objects):
    """S4 step 7, but each class starts with its complete rows (ours)."""
    rows = [rows_of_class(of_class, known) for of_class in objects]
    caps = caps_of_classes(objects, rows, max_meta_objects)
    return [CorrespondenceSet(own, cap) for own, cap in zip(rows, caps, strict=True)]


def with_original_numbers(sets, classes, objects):
    """S4 step 23, with section 3.1.1's map f from the numbers within a class to those of the kernels."""
    meta_objects, meta_labels = [], []
    for found, label, own in zip(sets, classes, objects, strict=True):
        meta_objects += [tuple(own[m][x] for m, x in enumerate(s)) for s in found.members]
        meta_labels += [label] * len(found.members)
    return meta_objects, meta_labels


class CorrespondenceSet:
    """S4's cumulative set of one class, in order of insertion, that keeps room for the rows not yet covered (ours)."""

    def __init__(self, rows, cap):
        self.rows = rows
        self.cap = cap
        self.row_of = {item: row for kind in rows.values() for row in kind for item in row.items()}
        self.n_views = len({m for m, _ in self.row_of})
        self.members = {}  # a dict keeps the order of insertion
        self.uncovered = {kind: list(rows[kind]) for kind in rows}
        for row in rows["complete"]:  # "if this information exists, it can be directly utilized" (section 3.1.1)
            self.add(tuple(row[m] for m in range(self.n_views)))

    def add(self, s):
        """Put s into the set. It covers the rows whose objects it holds in all their views."""
        self.members[s] = True
        for kind, rows in self.uncovered.items():
            self.uncovered[kind] = [row for row in rows if any(s[m] != x for m, x in row.items())]

    def covers_all(self):
        return not any(self.uncovered.values())

    def room(self):
        """How many more may be added, so that the uncovered rows still find their place under the cap."""
        return self.cap - len(self.members) - needed(self.uncovered, self.n_views)

    def is_complete(self, m, x):
        return self.row_of[m, x] in self.rows["complete"]

    def completed(self, candidate):
        """Ours: a row that was not seen in all views is completed by objects of the others.

        Incomplete rows, those of more views first, get all their objects into the result; where views of a row are
        taken, and for complete rows, the candidate's own object is lent. Complete rows alone need no completion: None.
        """
        if all(self.is_complete(m, x) for m, x in enumerate(candidate)):
            return None
        entries = [(m, x, self.row_of[m, x]) for m, x in enumerate(candidate)]
        incomplete = [entry for entry in entries if not self.is_complete(entry[0], entry[1])]
        incomplete.sort(key=lambda entry: (-len(entry[2]), entry[0]))
        views = {}
        for m, x, row in incomplete:
            if m in views:
                continue  # set by this very row, or by one that went first
            if any(v in views for v in row):
                views[m] = x
            else:
                views.update(row)
        for m, x, _ in entries:
            views.setdefault(m, x)
        return tuple(views[m] for m in range(self.n_views))

    def admit(self, candidates):
        """Add the candidates in order, and say whether there is room left; needs room at the start."""
        for candidate in candidates:
            s = self.completed(candidate)
            if s is not None and s not in self.members:
                self.add(s)
                if self.room() == 0:
                    return False
        return True


def walk(found, D, band, crossing, l2, rng):
    """S4 steps 6 to 19 for one class; ``D`` holds each view's distances by canonical numbers."""
    M = len(D)
    runs = [sorted_runs(D_m, rng) for D_m in D]
    pairs = [list(itertools.chain(*own)) for own in runs]
    band_ends = list(itertools.accumulate(len(piece) for piece in bands(runs[0], band)))
    if found.covers_all() or found.room() == 0:
        return
    k = [0] * M
    while k[0] < len(pairs[0]):
        previous, k = k, next_band(pairs, D, band_ends, k)
        T = [pairs[m][previous[m] : k[m]] for m in range(M)]
        if all(found.is_complete(m, x) for m in range(M) for pair in T[m] for x in pair):
            continue  # ours: all that the band holds is matched already
        last = [pairs[m][k[m] - 1] if k[m] else None for m in range(M)]
        # The views reach a box whose sides are the roots of their last distances: the ball inside it has the shortest.
        shortest = min(D[m][pair[0]][pair[1]] for m, pair in enumerate(last) if pair)
        joining, used = joined(found, T, D, shortest if l2 else math.inf)
        if not found.admit(joining):
            return
        T = [[pair for pair in T[m] if pair not in used[m]] for m in range(M)]  # step 15
        if not found.admit(crossed(found, T, D, crossing, rng)):  # steps 16 and 17
            return
        if found.covers_all() and k[0] >= len(D[0]):  # ours: |K_1| pairs as in step 11, and every object
            return


def sorted_runs(D, rng):
    """S4 step 6: the pairs by distance, in runs of equals; order in a run is "without consequence", so drawn."""
    pairs = list(itertools.combinations(range(len(D)), 2))
    keys = dict(zip(pairs, rng.random(len(pairs)).tolist(), strict=True))
    pairs.sort(key=lambda pair: (D[pair[0]][pair[1]], keys[pair]))
    return [list(run) for _, run in itertools.groupby(pairs, key=lambda pair: D[pair[0]][pair[1]])]


def bands(runs, band):
    """S4 step 12, with footnote 7 (ours in detail): long runs are bisected, short neighbours taken together."""
    result, current = [], []
    for run in runs:
        if current and len(current) + len(run) > band:
            result.append(current)
            current = []
        if len(run) > band:
            result += bisected(run, band)
        else:
            current = current + run
    return [*result, current] if current else result


def bisected(run, band):
    """Halves of halves, the first one the longer, until each has at most ``band`` pairs."""
    if len(run) <= band:
        return [run]
    middle = math.ceil(len(run) / 2)
    return bisected(run[:middle], band) + bisected(run[middle:], band)


def next_band(pairs, D, band_ends, k):
    """S4 steps 12 and 13: the counters k_m(n)."""
    for end in [end for end in band_ends if end > k[0]]:  # ours: widened while a view has no pair in the band
        i, j = pairs[0][end - 1]
        d = D[0][i][j]
        counters = [end] + [nearest(pairs[m], D[m], k[m], d) for m in range(1, len(pairs))]
        if end == len(pairs[0]):  # "until the indices all achieve their maximum"
            counters = [len(own) for own in pairs]
        if all(counters[m] > k[m] for m in range(1, len(pairs))):
            break
    return counters


def nearest(pairs, D, k, d):
    """S4 step 13: the lowest t, not below k, whose pair's distance is nearest to d (pairs count from 1)."""
    best, smallest = k, math.inf
    for t in range(max(k, 1), len(pairs) + 1):
        i, j = pairs[t - 1]
        if abs(D[i][j] - d) < smallest - TIE * d:  # the farther one only if it is nearer beyond rounding
            best, smallest = t, abs(D[i][j] - d)
    return best


def joined(found, T, D, squared_radius):
    """S4 step 14: the far ends h of pairs whose near ends g (either end: ours) are in the set, and the pairs used."""
    M = len(T)
    joining, used = [], [set() for _ in range(M)]
    for s in found.members:
        for choice in itertools.product(*[[pair for pair in T[m] if s[m] in pair] for m in range(M)]):
            total = math.fsum(D[m][i][j] for m, (i, j) in enumerate(choice))
            h = tuple(j if i == s[m] else i for m, (i, j) in enumerate(choice))
            if total > squared_radius * (1 + TIE):
                continue
            if all(found.is_complete(m, x) for m, x in enumerate(h)) or len(joining) == LOOKED_AT * found.cap:
                continue  # ours: what is matched already leads nowhere, and a band has its limit
            joining.append(h)
            for m in range(M):
                used[m].add(choice[m])
    return joining, used


def crossed(found, T, D, crossing, rng):
    """S4 step 16: candidates from the product of the objects left in the band, by first appearance."""
    C = [list(dict.fromkeys(itertools.chain(*own))) for own in T]
    if not all(C):
        return []
    if crossing == "corners":  # S4 section 5's hypercube corner vertices
        return list(itertools.product(*[farthest(C[m], D[m]) for m in range(len(T))]))
    if crossing == "full" and math.prod(len(own) for own in C) <= found.room():
        return list(itertools.product(*C))
    return sampled_crossing(C, rng)


def sampled_crossing(C, rng):
    """S4 section 3.1.3's sub-sample (ours in detail): each view's objects permuted, the shorter lists repeated."""
    orders = [rng.permutation(len(own)).tolist() for own in C]
    longest = max(len(own) for own in C)
    return [tuple(own[o[r % len(own)]] for own, o in zip(C, orders, strict=True)) for r in range(longest)]


def farthest(C, D):
    """The two objects farthest from each other, of equals the first two; or the only one."""
    return C if len(C) == 1 else max(itertools.combinations(C, 2), key=lambda pair: D[pair[0]][pair[1]])


def cover_the_rest(found, rng):
    """Ours: "we discard none of the available data" (section 3.1.1), so rows still uncovered are crossed at random."""
    views = range(found.n_views)
    queues = []
    for m in views:
        left = sorted(row[m] for row in found.uncovered["single"] if m in row)
        queues.append([left[r] for r in rng.permutation(len(left))])

    def next_object(m):
        return queues[m].pop(0) if queues[m] else int(rng.integers(sum(v == m for v, _ in found.row_of)))

    for row in list(found.uncovered["partial"]):
        found.add(tuple(row[m] if m in row else next_object(m) for m in views))
    while any(queues):
        found.add(tuple(next_object(m) for m in views))
