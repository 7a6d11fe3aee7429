"""Links for what a row may have of the views, and whether labels are believed to be wrong.

A row that lacks views is worth less: there are links for what is left when a view is missing, for each view alone, and
for what the training rows have. All are fitted on out-of-sample values.

Wrong labels and classes that overlap look alike where there is one label column. A link believes in wrong labels only
where they explain the labels clearly better than overlap does; else probabilities are those of the labels given.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp

from fuselearn.fusion.combination import weighted_sum
from fuselearn.fusion.link import fit_link

MOST_PATTERNS = 64


@dataclass(frozen=True)
class Links:
    """A link for each pattern of views that may be there.

    Attributes
    ----------
    patterns : bool ndarray of shape (n_patterns, n_views)
        The first has all views.
    slopes : ndarray of shape (n_patterns,)
    shifts : ndarray of shape (n_patterns, n_classes)
    log_shares : ndarray of shape (n_classes,)
    """

    patterns: np.ndarray
    slopes: np.ndarray
    shifts: np.ndarray
    log_shares: np.ndarray

    def evidence(self, values, present):
        """Shifted values times slopes, by the largest known pattern among the views that a row has.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_classes)
        present : bool ndarray of shape (n_rows, n_views)
        """
        pattern_of = self._pattern_of(present)
        known = pattern_of >= 0
        slopes = np.where(known, self.slopes[pattern_of], 0.0)
        # Values that are worth nothing for probabilities are still the best there are to decide by.
        slopes = np.maximum(slopes, np.finfo(float).tiny)
        return slopes[:, None] * (values + np.where(known[:, None], self.shifts[pattern_of], 0.0))

    def log_probabilities(self, values, present):
        """ln p of each class, from the same."""
        return log_softmax(self.evidence(values, present) + self.log_shares, axis=1)

    def _pattern_of(self, present):
        """Number of each row's pattern, -1 where none is known."""
        pattern_of = np.zeros(len(present), dtype=np.intp)
        missing = np.flatnonzero(~present.all(axis=1))
        if len(missing):
            kinds, kind_of = np.unique(present[missing], axis=0, return_inverse=True)
            sizes = self.patterns.sum(axis=1)
            of_kinds = []
            for kind in kinds:
                inside = np.flatnonzero(~(self.patterns & ~kind).any(axis=1))
                # Several as large: the one that is most cautious.
                of_kinds.append(min(inside, key=lambda number: (-sizes[number], self.slopes[number]), default=-1))
            pattern_of[missing] = np.array(of_kinds)[np.ravel(kind_of)]
        return pattern_of


def fit_whole(values, rows, posterior, channel):
    """The link for rows with all views, and what it believes of the labels.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
        Combined ones.
    rows : LabelledRows
    posterior : ndarray of shape (n_rows, n_classes)
    channel : ndarray of shape (n_classes,) or None
        Estimated rates of wrong labels, where there is one label column.

    Returns
    -------
    link : Link
    believed : ndarray of shape (n_rows, n_classes)
        The posterior, or the labels as given.
    """
    link = _fit(values, posterior, rows)
    if channel is None:
        return link, posterior
    plain = _fit(values, rows.votes(), rows)
    gain = _log_likelihood(link, values, rows, channel) - _log_likelihood(plain, values, rows, 0 * channel)
    # Bayesian information criterion: wrong labels have a rate for each class more.
    needed = len(channel) / 2 * np.log(len(values))
    return (link, posterior) if gain >= needed else (plain, rows.votes())


def fit_links(whole, believed, arms, arm_values, weights, rows):
    """Links for all patterns of views.

    Parameters
    ----------
    whole : Link
        That of all views.
    believed : ndarray of shape (n_rows, n_classes)
        See :func:`fit_whole`.
    arms : list of Arm
    arm_values : ndarray of shape (n_arms, n_rows, n_targets)
    weights : ndarray of shape (n_arms,)
    rows : LabelledRows

    Returns
    -------
    Links
    """
    patterns, links = [np.ones(rows.blocks.present.shape[1], dtype=bool)], [whole]
    for pattern in _patterns(rows.blocks.present):
        left = [number for number, arm in enumerate(arms) if arm.view is not None and pattern[arm.view]]
        left = [number for number in left if weights[number] > 0]
        if left:
            values, heard = weighted_sum(arm_values[left], weights[left])
            # As predictions do it: those that are left speak for the others.
            values = by_class(values * weights.sum() / weights[left].sum())
            patterns.append(pattern)
            links.append(_fit(values, believed, rows, heard))
    slopes, shifts = np.array([link.slope for link in links]), np.array([link.shifts for link in links])
    return Links(np.array(patterns), slopes, shifts, whole.log_shares)


def _fit(values, posterior, rows, heard=slice(None)):
    """A link on some of the rows, by as much evidence as their groups are worth."""
    values, posterior, weights = values[heard], posterior[heard], rows.weights[heard]
    link = fit_link(values, posterior, weights)
    if rows.groups is None:
        return link
    # Kish's design effect: how much more than rows by themselves do sums over groups vary?
    errors = weights[:, None] * (posterior - np.exp(link.log_probabilities(values)))
    sums = np.array([np.bincount(rows.groups[heard], column) for column in errors.T])
    effect = (sums**2).sum() / max((errors**2).sum(), np.finfo(float).tiny)
    return fit_link(values, posterior, weights / max(effect, 1.0))


def _patterns(present):
    """Views that may be there, other than all of them: without each, each alone, and as in the training rows."""
    n_views = present.shape[1]
    if n_views == 1:
        return []
    one = np.eye(n_views, dtype=bool)
    seen, counts = np.unique(present, axis=0, return_counts=True)
    seen = seen[np.argsort(-counts, kind="stable")][:MOST_PATTERNS]
    both = np.unique(np.vstack([~one, one, seen]), axis=0)
    return [pattern for pattern in both if pattern.any() and not pattern.all()]


def _log_likelihood(link, values, rows, rates):
    """Of the labels of the one column, which is wrong with these rates."""
    logs = link.log_probabilities(values)
    codes = rows.codes[:, 0]
    n_classes = len(rates)
    with np.errstate(divide="ignore"):
        wrong, right = np.log(rates / max(1, n_classes - 1)), np.log1p(-rates)
    through = logs + wrong
    own = np.arange(len(codes)), codes
    through[own] = logs[own] + right[codes]
    return float(rows.weights @ logsumexp(through, axis=1))


def by_class(values):
    """Combined values as one column per class."""
    return np.column_stack([-values[:, 0], values[:, 0]]) if values.shape[1] == 1 else values
