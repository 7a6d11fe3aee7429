"""Rows that early stopping holds out of the training, chosen so that it does not matter where the rows are.

A row is known by its class and its rank: how many rows of its class come before it. The ranks of a class are cut into
blocks of about 1/fraction ranks, and of each block one is held out, which a hash of the seed, the class and the number
of the block picks. So a partition finds its held-out rows when it knows how many rows of each class come before it and
how many there are in all, and whoever has all rows finds the same ones.
"""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from fuselearn.exceptions import level_of_caller
from fuselearn.typing import AnyArray, BoolArray, IntArray

ROWS_AT_A_TIME = 2**20
"""Rows that are looked at together: sorting them by class takes 8 bytes a row."""
MAX_DRAWS = 20
"""Draws of groups until every class is on both sides."""
LARGEST_RANK = 2**62
"""Beyond every rank, for the ends of blocks that are larger than any table."""
IN_NO_BLOCK = 2**64 - 1
"""Stands for the block of the row that a class gets which no block gave any."""
NAMED_CLASSES = 5
"""Classes that a warning names."""
G = 0x9E3779B97F4A7C15
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Numbers of the hash, which is SplitMix64."""


def held_out_rows(
    codes: IntArray | None,
    n_rows: int,
    fraction: float,
    seed: int,
    groups: IntArray | None = None,
    usable: BoolArray | None = None,
    *,
    classes: AnyArray | None = None,
) -> BoolArray:
    """Return the rows that are held out, some of each class.

    Parameters
    ----------
    codes : integer ndarray of shape (n_rows,) or None
        Class codes; -1 for a row that is neither held out nor counted. None for a regression, where all rows are of one
        class.
    n_rows : int
        Number of rows.
    fraction : float
        Share of the rows of each class that is held out, above 0 and below 1. With `groups`, of the groups.
    seed : int
        Seed of the choice.
    groups : integer ndarray of shape (n_rows,), default=None
        Number of the group of each row, from 0. Whole groups are held out.
    usable : bool ndarray of shape (n_rows,), default=None
        Rows that count; the others are not held out. None for all rows.
    classes : ndarray of shape (n_classes,), default=None
        Names of the classes, for messages.

    Returns
    -------
    bool ndarray of shape (n_rows,)
        True where a row is held out. A class of at least two rows has some on both sides.

    Raises
    ------
    ValueError
        If no row can be held out, or if whole groups cannot be held out so that every class is on both sides.

    Warns
    -----
    UserWarning
        If a class has one row only, which stays in the training.

    Examples
    --------
    >>> codes = np.array([0, 1] * 10)
    >>> held_out = held_out_rows(codes, 20, 0.2, seed=3)
    >>> np.bincount(codes[held_out])
    array([2, 2])
    """
    check_fraction(fraction)
    codes = np.zeros(n_rows, dtype=np.int8) if codes is None else codes
    if usable is not None and not usable.all():
        codes = np.where(usable, codes, -1)
    if groups is not None:
        return _rows_of_groups(codes, groups, fraction, seed, classes)
    counts = class_counts(codes)
    check_held_out(counts, classes)
    held_out = np.empty(n_rows, dtype=bool)
    first_ranks = np.zeros_like(counts)
    for start in range(0, n_rows, ROWS_AT_A_TIME):
        some = codes[start : start + ROWS_AT_A_TIME]
        held_out[start : start + len(some)] = held_out_part(some, first_ranks, counts, fraction, seed)
        first_ranks += class_counts(some, len(counts))
    return held_out


def held_out_part(codes: IntArray, first_ranks: IntArray, counts: IntArray, fraction: float, seed: int) -> BoolArray:
    """Return which rows of a partition are held out.

    Parameters
    ----------
    codes : integer ndarray of shape (n_rows,)
        Class codes of the partition's rows; -1 for a row that is neither held out nor counted.
    first_ranks : integer ndarray of shape (n_classes,)
        Rows of each class that come before the partition.
    counts : integer ndarray of shape (n_classes,)
        Rows of each class in all partitions.
    fraction : float
        Share of the rows of each class that is held out.
    seed : int
        Seed of the choice.

    Returns
    -------
    bool ndarray of shape (n_rows,)
        True where a row is held out.

    Examples
    --------
    >>> codes = np.array([0, 1] * 10)
    >>> whole = held_out_part(codes, np.array([0, 0]), np.array([10, 10]), 0.2, seed=3)
    >>> second_half = held_out_part(codes[10:], np.array([5, 5]), np.array([10, 10]), 0.2, seed=3)
    >>> np.array_equal(second_half, whole[10:])
    True
    """
    here = class_counts(codes, len(counts))
    held_out = np.zeros(len(codes), dtype=bool)
    classes = np.flatnonzero((here > 0) & (counts > 1))
    if not len(classes):
        return held_out
    first, last = first_ranks[classes].astype(np.int64), (first_ranks + here)[classes].astype(np.int64)
    first_block, last_block = _block_of(first, fraction), _block_of(last - 1, fraction)
    n_blocks = last_block - first_block + 1
    block_class = np.repeat(np.arange(len(classes)), n_blocks)
    blocks = np.arange(len(block_class)) - np.repeat(np.cumsum(n_blocks) - n_blocks - first_block, n_blocks)
    picks = _picks(classes[block_class], blocks, fraction, seed)
    # The rows of a class are few: one of them is held out where the first block picked none that exists.
    without = np.flatnonzero(_picks(classes, np.zeros_like(classes), fraction, seed) >= counts[classes])
    drawn = hashed(seed, classes[without], IN_NO_BLOCK) % counts[classes[without]].astype(np.uint64)
    picks = np.concatenate([picks, drawn.astype(np.int64)])
    pick_class = np.concatenate([block_class, without])
    inside = (picks >= first[pick_class]) & (picks < last[pick_class])
    picks, pick_class = picks[inside], pick_class[inside]
    # Sorted by class, rows of a class stand in the order of their ranks.
    n_unused = len(codes) - int(here.sum())
    starts = n_unused + np.cumsum(here) - here
    places = starts[classes][pick_class] + picks - first[pick_class]
    held_out[places if len(counts) == 1 and not n_unused else _by_class(codes, len(counts))[places]] = True
    return held_out


def held_out_groups(groups: IntArray, fraction: float, seed: int, attempt: int = 0) -> IntArray:
    """Return the numbers of the groups that are held out.

    Parameters
    ----------
    groups : integer ndarray of shape (n_groups,)
        Numbers of all groups, each once; at least two.
    fraction : float
        Share of the groups that is held out: at least one is, and not all.
    seed, attempt : int
        Seed of the choice, and how often groups were drawn before.

    Returns
    -------
    integer ndarray
        Numbers of groups, in order.

    Examples
    --------
    >>> held_out_groups(np.arange(20), 0.2, seed=0).shape
    (4,)
    """
    n_held_out = int(np.clip(np.rint(len(groups) * fraction), 1, len(groups) - 1))
    return np.sort(groups[np.argsort(hashed(seed, attempt, groups))[:n_held_out]])


def class_counts(codes: IntArray, n_classes: int = 1) -> IntArray:
    """Return the number of rows of each class, of `n_classes` or as many as there are; codes of -1 do not count."""
    return np.bincount(codes[codes >= 0] if (codes < 0).any() else codes, minlength=n_classes)


def check_fraction(fraction: object) -> None:
    """Refuse a share of rows to hold out that is not above 0 and below 1."""
    if isinstance(fraction, bool) or not (isinstance(fraction, Real) and 0 < float(fraction) < 1):
        raise ValueError(f"validation_fraction must be a number above 0 and below 1; got {fraction!r}.")


def check_held_out(counts: IntArray, classes: AnyArray | None = None) -> None:
    """Refuse rows of which none can be held out, and warn of classes with a single row, which stays in the training.

    Parameters
    ----------
    counts : integer ndarray of shape (n_classes,)
        Rows of each class; one class for a regression.
    classes : ndarray of shape (n_classes,), default=None
        Names of the classes, for messages.
    """
    if not (counts > 1).any():
        n_rows = int(counts.sum())
        lack = "no class has two rows that count" if n_rows > 1 else f"{n_rows or 'no'} row of X counts"
        raise ValueError(f"early_stopping holds out rows, but {lack}; set early_stopping=False.")
    alone = np.flatnonzero(counts == 1)
    if len(alone):
        shown = ", ".join(_class_name(code, classes) for code in alone[:NAMED_CLASSES].tolist())
        more = f" and {len(alone) - NAMED_CLASSES} more" if len(alone) > NAMED_CLASSES else ""
        subject = f"The class {shown} has" if len(alone) == 1 else f"The classes {shown}{more} have"
        warnings.warn(
            f"{subject} one row only. It stays in the training, and early stopping does not judge the class.",
            stacklevel=level_of_caller(),
        )


def hashed(seed: int, *numbers: Any) -> AnyArray:
    """Return a 64-bit hash of a seed and whole numbers, or of arrays of them that are broadcast.

    Examples
    --------
    >>> hashed(1, 2, np.arange(2))
    array([16613338946343043936, 13264548337748323810], dtype=uint64)
    """
    state = _mixed(np.array([seed % 2**64], dtype=np.uint64))
    for number in numbers:
        state = _mixed(state ^ np.asarray(number).astype(np.uint64))
    return state


def _mixed(numbers: AnyArray) -> AnyArray:
    """Return the next numbers of SplitMix64 after arrays of unsigned ones; its products overflow as they should."""
    numbers = numbers + np.uint64(G)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(MIX_1)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(MIX_2)
    return numbers ^ (numbers >> np.uint64(31))


def _block_start(blocks: IntArray, fraction: float) -> IntArray:
    """Return the first rank of blocks: b / fraction, rounded up."""
    with np.errstate(over="ignore"):
        return np.minimum(np.ceil(blocks / float(fraction)), float(LARGEST_RANK)).astype(np.int64)


def _block_of(ranks: IntArray, fraction: float) -> IntArray:
    """Return the blocks that ranks are in."""
    blocks = np.floor(ranks * float(fraction)).astype(np.int64)
    # The product is rounded, and can be off by one.
    blocks += _block_start(blocks + 1, fraction) <= ranks
    blocks -= _block_start(blocks, fraction) > ranks
    return blocks


def _picks(classes: IntArray, blocks: IntArray, fraction: float, seed: int) -> IntArray:
    """Return the rank that is held out of each block."""
    starts = _block_start(blocks, fraction)
    sizes = _block_start(blocks + 1, fraction) - starts
    return starts + (hashed(seed, classes, blocks) % sizes.astype(np.uint64)).astype(np.int64)


def _by_class(codes: IntArray, n_classes: int) -> IntArray:
    """Return the rows in the order of their classes, those of one class as they are; first those without a class."""
    # NumPy sorts numbers of 16 bits in one pass each.
    return np.argsort(codes.astype(np.int16) if n_classes < 2**15 else codes, kind="stable")


def _rows_of_groups(
    codes: IntArray, groups: IntArray, fraction: float, seed: int, classes: AnyArray | None
) -> BoolArray:
    """Return the rows of held-out groups, drawn until every class is on both sides."""
    counted = codes >= 0
    is_drawn = drawn_groups(codes[counted], groups[counted], None, fraction, seed, classes)
    held_out = counted.copy()
    held_out[counted] = is_drawn[groups[counted]]
    return held_out


def drawn_groups(
    codes: IntArray,
    groups: IntArray,
    n_rows: IntArray | None,
    fraction: float,
    seed: int,
    classes: AnyArray | None = None,
) -> BoolArray:
    """Return which groups are held out, drawn until every class is on both sides.

    Parameters
    ----------
    codes, groups : integer ndarray of shape (n,)
        Class codes and groups of rows that count; or of several rows together, some of which may have the same.
    n_rows : integer ndarray of shape (n,) or None
        Number of rows that each entry stands for; None for one each.
    fraction : float
        Share of the groups that is held out.
    seed : int
        Seed of the choice.
    classes : ndarray of shape (n_classes,), default=None
        Names of the classes, for messages.

    Returns
    -------
    bool ndarray of shape (largest group + 1,)
        True where a group is held out.

    Raises
    ------
    ValueError
        If there is one group only, or no draw has every class on both sides.

    Examples
    --------
    >>> int(drawn_groups(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), None, 0.5, seed=0).sum())
    1
    """
    numbers = np.flatnonzero(np.bincount(groups))
    if len(numbers) < 2:
        raise ValueError(
            "early_stopping holds out whole groups, but the rows of X that count are of "
            f"{'one group' if len(numbers) else 'no group'}; give at least two groups, or set early_stopping=False."
        )
    counts = np.bincount(codes, n_rows)
    for attempt in range(MAX_DRAWS):
        is_drawn = np.zeros(numbers[-1] + 1, dtype=bool)
        is_drawn[held_out_groups(numbers, fraction, seed, attempt)] = True
        drawn = is_drawn[groups]
        n_held_out = np.bincount(codes[drawn], None if n_rows is None else n_rows[drawn], len(counts))
        one_sided = np.flatnonzero((counts > 0) & ((n_held_out == 0) | (n_held_out == counts)))
        if not len(one_sided):
            return is_drawn
    n_groups_of = {code: len(np.unique(groups[codes == code])) for code in one_sided.tolist()}
    rarest = min(n_groups_of, key=lambda code: n_groups_of[code])
    raise ValueError(
        f"early_stopping holds out whole groups, and in {MAX_DRAWS} draws of about {float(fraction):.3g} of the "
        f"{len(numbers)} groups none had every class on both sides: the class {_class_name(rarest, classes)} is in "
        f"{n_groups_of[rarest]} group{'s' * (n_groups_of[rarest] > 1)}. Give every class more groups, choose a "
        "validation_fraction nearer to 0.5, or set early_stopping=False."
    )


def _class_name(code: int, classes: Sequence[Any] | AnyArray | None) -> str:
    """Return the name of a class, or its code where the names are not known."""
    return f"{code}" if classes is None else f"{np.asarray(classes).tolist()[code]!r}"
