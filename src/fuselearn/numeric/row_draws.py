"""Draws of rows by their weights (S0 step 3a), the same wherever the rows are and however they are partitioned.

Rows are taken in blocks of consecutive ones. How many of the draws fall into each block is drawn first, from the sums
of the blocks. Where they fall inside a block is drawn with a seed of its own, so that whoever has rows of a block needs
no other rows. Weights are whole numbers here: their sums are exact.
"""

from itertools import pairwise

import numpy as np

from fuselearn.numeric.exact_sums import in_units
from fuselearn.typing import FloatArray, IntArray

BLOCK_ROWS = 4096
"""Rows of a block."""
BLOCK_STREAM = 2**31
"""Marks the seeds of the draws inside blocks."""


def draw_counts(weights: FloatArray, n_draws: int, seed: np.random.SeedSequence) -> IntArray:
    """Draw rows with replacement, each with the probability of its weight.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
        Weights, of sum 1.
    n_draws : int
        Number of draws.
    seed : SeedSequence
        Seed of the draws.

    Returns
    -------
    int64 ndarray of shape (n_rows,)
        How often each row was drawn.

    Examples
    --------
    >>> draw_counts(np.array([0.5, 0.0, 0.25, 0.25]), 8, np.random.SeedSequence(0)).tolist()
    [4, 0, 2, 2]
    """
    whole = in_units(weights)
    totals = block_sums(whole, 0, -(-len(whole) // BLOCK_ROWS))
    n_in_blocks = draw_blocks(totals, n_draws, seed)
    return counts_in_blocks(whole, 0, 0, totals, n_in_blocks, seed)


def block_sums(whole: IntArray, first: int, n_blocks: int) -> IntArray:
    """Return the sum of whole weights in each of all blocks; that of the first row is numbered `first`."""
    sums = np.zeros(n_blocks, dtype=np.int64)
    for block, start, stop in _blocks(len(whole), first):
        sums[block] = whole[start:stop].sum()
    return sums


def draw_blocks(totals: IntArray, n_draws: int, seed: np.random.SeedSequence) -> IntArray:
    """Return how many of the draws fall into each block, from the sums of the blocks."""
    return np.random.default_rng(seed).multinomial(n_draws, totals / totals.sum())


def counts_in_blocks(
    whole: IntArray, first: int, before: int, totals: IntArray, n_in_blocks: IntArray, seed: np.random.SeedSequence
) -> IntArray:
    """Return how often each of some consecutive rows was drawn.

    Parameters
    ----------
    whole : int64 ndarray of shape (n_rows,)
        Whole weights of the rows.
    first : int
        Number of the first row.
    before : int
        Sum of the rows of the first one's block that come before it.
    totals, n_in_blocks : int64 ndarray of shape (n_blocks,)
        Sum of each block, and how many draws fall into it.
    seed : SeedSequence
        Seed of the draws.
    """
    counts = np.zeros(len(whole), dtype=np.int64)
    for block, start, stop in _blocks(len(whole), first):
        if n_in_blocks[block]:
            total = int(totals[block])
            key = (*seed.spawn_key, BLOCK_STREAM, block)
            generator = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
            places = (generator.random(n_in_blocks[block]) * total).astype(np.int64)
            places = np.minimum(places, total - 1) - (before if start == 0 else 0)
            ends = np.cumsum(whole[start:stop])
            places = places[(places >= 0) & (places < ends[-1])]
            counts[start:stop] = np.bincount(np.searchsorted(ends, places, side="right"), minlength=stop - start)
    return counts


def _blocks(n_rows: int, first: int) -> list[tuple[int, int, int]]:
    """Return (number, start, stop) of the blocks of consecutive rows, from the one numbered `first`."""
    cuts = [0, *range(-first % BLOCK_ROWS or BLOCK_ROWS, n_rows, BLOCK_ROWS), n_rows]
    return [((first + start) // BLOCK_ROWS, start, stop) for start, stop in pairwise(cuts) if stop > start]
