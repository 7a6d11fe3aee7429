"""Early exit, by asking every possible rest of the ensemble.

A row is a list of answers, one a round: the class code that the round's hypothesis gives, or None where its view is
absent. Nothing here knows of a bound: a row is open as long as some answers of the views to come change its class.
"""

from fractions import Fraction
from itertools import product


def predicted(answers, alphas, prior):
    """Class of the largest vote, summed in the order of the rounds; the lowest code of equal ones."""
    if all(answer is None for answer in answers):
        return largest(prior)
    votes = [0.0] * len(prior)
    for answer, alpha in zip(answers, alphas, strict=True):
        if answer is not None:
            votes[answer] += float(alpha)
    return largest(votes)


def largest(values):
    """Place of the largest value, the first of equal ones."""
    return max(range(len(values)), key=lambda code: (values[code], -code))


def reading_order(alphas, views, n_views):
    """Views that vote, by the sum of |alpha|, largest first."""
    strengths = [
        sum(abs(Fraction(a)) for a, v in zip(alphas, views, strict=True) if v == view) for view in range(n_views)
    ]
    return sorted(set(views), key=lambda view: (-strengths[view], view))


def views_needed(answers, alphas, views, order, n_classes):
    """The set of views that are read until no answer of the others can change the class.

    Votes are rational numbers here, without rounding.
    """
    rounds = range(len(alphas))
    read = set()
    for view in order:
        if all(answers[t] is None for t in rounds if views[t] == view):
            continue
        read.add(view)
        to_come = [t for t in rounds if views[t] not in read and answers[t] is not None]
        classes = set()
        for rest in product(range(n_classes), repeat=len(to_come)):
            possible = dict(zip(to_come, rest, strict=True))
            votes = [Fraction(0)] * n_classes
            for t in rounds:
                answer = answers[t] if views[t] in read else possible.get(t)
                if answer is not None:
                    votes[answer] += Fraction(alphas[t])
            classes.add(largest(votes))
        if len(classes) == 1:
            break
    return read
