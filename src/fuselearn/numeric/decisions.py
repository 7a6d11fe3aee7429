"""Decision values to classes and probabilities: one column for two classes, its sign meaning class 1, else one each."""

import numpy as np
from scipy.special import softmax


def probabilities(decision):
    """The logistic link of an additive model: softmax(2·decision)."""
    if decision.ndim == 1:
        decision = np.column_stack([np.zeros_like(decision), decision])
    return softmax(2 * decision, axis=1)


def codes_of(decision):
    """Class code of the largest decision value; ties go to the lowest."""
    return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)


def prior_votes(class_prior):
    """Decision value of each class whose :func:`probabilities` are the prior itself."""
    with np.errstate(divide="ignore"):
        return np.maximum(0.5 * np.log(class_prior), -1e3)


def pairs_of_classes(n_classes):
    """All pairs (a, b) of class codes with a < b, in the order of the problems one against one."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


def one_against_one(values, n_classes):
    """Decision value of each class from those of all pairs of classes.

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
