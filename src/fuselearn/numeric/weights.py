"""What a round does to the weights of the rows: sum them by outcome, multiply them, draw from them."""

import numpy as np

from fuselearn.numeric.compiled import compiled

RIGHT, WRONG, ABSENT = 1, -1, 0
"""Outcomes of a hypothesis on a row. An absent view abstains."""


@compiled()
def mark_outcomes(predicted, codes, rows, outcome):
    """outcome[rows[i]] = RIGHT where the predicted class is the given one, WRONG elsewhere. Works in place."""
    for i in range(len(rows)):
        outcome[rows[i]] = 1 if predicted[i] == codes[i] else -1


@compiled(reassociate=True)
def sum_by_outcome(outcome, weights, block_rows):
    """Weight of the rows that are right, wrong and absent: W₊, W₋ and W₀."""
    right, wrong, absent = 0.0, 0.0, 0.0
    for start in range(0, len(outcome), block_rows):
        block_right, block_wrong, block_absent = 0.0, 0.0, 0.0
        for i in range(start, min(len(outcome), start + block_rows)):
            block_right += weights[i] if outcome[i] == 1 else 0.0
            block_wrong += weights[i] if outcome[i] == -1 else 0.0
            block_absent += weights[i] if outcome[i] == 0 else 0.0
        right += block_right
        wrong += block_wrong
        absent += block_absent
    return right, wrong, absent


@compiled()
def multiply_by_outcome(outcome, weights, right, wrong, absent, block_rows):
    """w ← w · factor of its outcome, then normalised to sum 1 (S0 step 3f). Works in place."""
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
