"""Weights and votes of rows in a round, the classes and probabilities that votes give, and when two numbers are equal.

Decision values have one column for two classes, positive for class 1, else one for each class.
"""

import numpy as np
from scipy.special import softmax

from fuselearn.numeric.execution import compiled
from fuselearn.typing import BoolArray, FloatArray, IntArray

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


def probabilities(decision: FloatArray) -> FloatArray:
    """Return the class probabilities of an additive logistic model: softmax(2·decision)."""
    if decision.ndim == 1:
        decision = np.column_stack([np.zeros_like(decision), decision])
    return softmax(2 * decision, axis=1)


def codes_of(decision: FloatArray) -> IntArray:
    """Return the class code of the largest decision value; ties go to the lowest."""
    return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)


def ties_for_largest(decision: FloatArray) -> BoolArray:
    """Return which decision values, of shape (n_rows, n_classes), are the largest of their row, but for rounding."""
    ties: BoolArray = decision >= decision.max(axis=1, keepdims=True) - TIE
    return ties


def prior_votes(class_prior: FloatArray) -> FloatArray:
    """Return the decision value of each class whose :func:`probabilities` are the prior itself."""
    with np.errstate(divide="ignore"):
        return np.maximum(0.5 * np.log(class_prior), -1e3)


def pairs_of_classes(n_classes: int) -> list[tuple[int, int]]:
    """Return all pairs (a, b) of class codes with a < b, in the order of the problems one against one."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


def one_against_one(values: FloatArray, n_classes: int) -> FloatArray:
    """Return the decision value of each class from those of all pairs of classes.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes (n_classes − 1) / 2)
        Positive means the second class of the pair.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Number of pairs that a class wins, and less than ½ more or less by how clearly, which breaks ties.

    Examples
    --------
    >>> one_against_one(np.array([[2.0, -1.0, -1.0]]), 3).round(2)
    array([[ 0.83,  2.25, -0.22]])
    """
    wins = np.zeros((len(values), n_classes))
    sums = np.zeros((len(values), n_classes))
    for column, (a, b) in zip(values.T, pairs_of_classes(n_classes)):
        wins[:, a] += column <= 0
        wins[:, b] += column > 0
        sums[:, a] -= column
        sums[:, b] += column
    return wins + sums / (3 * (np.abs(sums) + 1))


def rounding_slack(alphas: FloatArray) -> float:
    """Return the lead that rounding alone can make or hide, however the votes α are ordered and grouped.

    A sum of T numbers is off by at most T·u·Σ|α|, with u half of the machine epsilon. Five such sums meet in one
    comparison (the two largest classes as they stand, the same two in the full sum, and the votes to come), and three
    subtractions: 5·(T + 1)·u would do, and this is three times that.
    """
    return float(8 * (len(alphas) + 1) * np.finfo(np.float64).eps * np.abs(alphas).sum())


@compiled()
def settle(votes: FloatArray, rows: IntArray, rest: FloatArray, slack: float, codes: IntArray) -> int:
    """Settle rows whose leading class stays ahead whatever the rest votes, and keep the others.

    A hypothesis with the vote α moves the difference of two classes by at most |α|, whether it names one of them,
    another class or abstains, and whatever the sign of α. So a lead of more than Σ|α| of the rest is final.

    Parameters
    ----------
    votes : ndarray of shape (n_rows, n_classes)
        Votes so far.
    rows : intp ndarray of shape (n_open,)
        Open rows. Those that stay open are moved to the front, in their order.
    rest : ndarray of shape (n_open,)
        Σ|α| of the votes to come, for each of them.
    slack : float
        See :func:`rounding_slack`.
    codes : intp ndarray of shape (n_rows,)
        Filled with the leading class of the rows that are settled.

    Returns
    -------
    int
        Number of rows that stay open.
    """
    n_left = 0
    for place in range(len(rows)):
        row = rows[place]
        first, second, code = votes[row, 0], -np.inf, 0
        for k in range(1, votes.shape[1]):
            vote = votes[row, k]
            if vote > first:
                first, second, code = vote, first, k
            elif vote > second:
                second = vote
        # A NaN or infinite sum of votes settles nothing: the comparison is false.
        if first - second > rest[place] + slack:
            codes[row] = code
        else:
            rows[n_left] = row
            n_left += 1
    return n_left
