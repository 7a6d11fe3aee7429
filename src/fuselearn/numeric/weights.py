"""Weights and votes of rows in a round: sums by outcome, updates, draws; and when two numbers count as equal."""

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.typing import FloatArray, IntArray

RIGHT, WRONG, ABSENT = 1, -1, 0
"""Outcomes of a hypothesis on a row. An absent view abstains."""
TIE = 1e-12
"""Values nearer than this are equal, and the lowest index wins: sums of weights round differently from machine to
machine, on a cluster and on a GPU, and the model must not."""


@compiled()
def mark_outcomes(predicted: IntArray, codes: IntArray, rows: IntArray, outcome: IntArray) -> None:
    """Set outcome[rows[i]] to RIGHT where the predicted class is the given one, else to WRONG."""
    for i in range(len(rows)):
        outcome[rows[i]] = RIGHT if predicted[i] == codes[i] else WRONG


@compiled(reassociate=True)
def sum_by_outcome(outcome: IntArray, weights: FloatArray) -> tuple[float, float, float]:
    """Return the weight of the rows that are right, wrong and absent: W₊, W₋ and W₀."""
    right, wrong, absent = 0.0, 0.0, 0.0
    for i in range(len(outcome)):
        right += weights[i] if outcome[i] == RIGHT else 0.0
        wrong += weights[i] if outcome[i] == WRONG else 0.0
        absent += weights[i] if outcome[i] == ABSENT else 0.0
    return right, wrong, absent


@compiled(reassociate=True)
def multiply_by_outcome(outcome: IntArray, weights: FloatArray, right: float, wrong: float, absent: float) -> None:
    """Multiply each weight by the factor of its outcome, then normalise to sum 1 (S0 step 3f), in place."""
    total = 0.0
    for i in range(len(outcome)):
        w = weights[i] * (right if outcome[i] == RIGHT else (wrong if outcome[i] == WRONG else absent))
        weights[i] = w
        total += w
    for i in range(len(outcome)):
        weights[i] /= total


@compiled()
def add_votes(votes: FloatArray, codes: IntArray, rows: IntArray, vote: float) -> None:
    """Add `vote` to votes[rows[i], codes[i]], in place."""
    for i in range(len(codes)):
        votes[rows[i], codes[i]] += vote


@compiled()
def add_all_votes(votes: FloatArray, codes: IntArray, rows: IntArray, alphas: FloatArray) -> None:
    """Add alphas[t] to votes[rows[i], codes[t, i]], for one t after the other, in place."""
    for t in range(len(alphas)):
        for i in range(len(rows)):
            votes[rows[i], codes[t, i]] += alphas[t]


def draw_rows(weights: FloatArray, n_draws: int, generator: np.random.Generator) -> IntArray:
    """Draw row numbers with replacement with probability w (S0 step 3a)."""
    cumulative = np.cumsum(weights)
    draws = generator.random(n_draws) * cumulative[-1]
    return np.minimum(np.searchsorted(cumulative, draws, side="right"), len(weights) - 1)
