"""What a round does to the weights of the rows: sum them by outcome, multiply them, draw from them."""

import numpy as np

from fuselearn.numeric.compiled import compiled

RIGHT, WRONG, ABSENT = 1, -1, 0
"""Outcomes of a hypothesis on a row. An absent view abstains."""


@compiled()
def outcomes(predicted, codes):
    """RIGHT where the predicted class is the given one, WRONG elsewhere."""
    result = np.empty(len(codes), dtype=np.int8)
    for i in range(len(codes)):
        result[i] = 1 if predicted[i] == codes[i] else -1
    return result


@compiled()
def sum_by_outcome(outcome, weights, block_rows):
    """Weight of the rows that are right, wrong and absent: S1's W₊, W₋ and the abstaining W₀."""
    total = np.zeros(3)
    for start in range(0, len(outcome), block_rows):
        partial = np.zeros(3)
        for i in range(start, min(len(outcome), start + block_rows)):
            partial[outcome[i] + 1] += weights[i]
        total += partial
    wrong, absent, right = total
    return right, wrong, absent


@compiled()
def multiply_by_outcome(outcome, weights, right, wrong, absent, block_rows):
    """w ← w · factor of its outcome, then normalised to sum 1 (S0 step 3f). Works in place; returns that sum."""
    total = 0.0
    for start in range(0, len(outcome), block_rows):
        partial = 0.0
        for i in range(start, min(len(outcome), start + block_rows)):
            factor = right if outcome[i] > 0 else (wrong if outcome[i] < 0 else absent)
            weights[i] *= factor
            partial += weights[i]
        total += partial
    for i in range(len(outcome)):
        weights[i] /= total
    return total


@compiled()
def weights_beyond_shrinking(outcome, weights, wrong, absent, beyond):
    """What the rows that were not right weigh beyond their former weight, shrunk as that of the right ones was.

    `wrong` and `absent` are the factors of their outcomes relative to that of the right rows. Fills `beyond` and
    returns how many rows of it are not zero.
    """
    count = 0
    for i in range(len(outcome)):
        if outcome[i] > 0:
            beyond[i] = 0.0
        else:
            beyond[i] = weights[i] * (1.0 - 1.0 / (wrong if outcome[i] < 0 else absent))
            count += beyond[i] != 0.0
    return count


@compiled()
def add_votes(votes, codes, rows, vote):
    """votes[rows[i], codes[i]] += vote. Works in place."""
    for i in range(len(codes)):
        votes[rows[i], codes[i]] += vote


def draw_rows(weights, n_draws, generator):
    """Row numbers drawn with replacement with probability w (S0 step 3a)."""
    cumulative = np.cumsum(weights)
    draws = generator.random(n_draws) * cumulative[-1]
    return np.minimum(np.searchsorted(cumulative, draws, side="right"), len(weights) - 1)
