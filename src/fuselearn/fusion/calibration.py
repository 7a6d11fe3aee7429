"""Links for what a row may have of the views, and whether labels are believed to be wrong.

A row that lacks views is worth less: there are links for what is left when a view is missing, for each view alone, and
for what the training rows have. All are fitted on out-of-sample values.

Wrong labels and classes that overlap look alike where there is one label column. A link believes in wrong labels only
where they explain the labels clearly better than overlap does; else probabilities are those of the labels given.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp

from fuselearn.fusion.softmax_calibration import fit_link, fit_slope
from fuselearn.fusion.weights import parts_of, weighted_sum

MOST_PATTERNS = 64
MOST_ROWS = 20_000
"""Rows that a link is fitted on; of more it would learn nothing."""


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
    votes = rows.votes()
    plain = _fit(values, votes, rows)
    gain = _log_likelihood(link, values, rows, channel) - _log_likelihood(plain, values, rows, 0 * channel)
    # Bayesian information criterion for two numbers more: a rate, and how it differs between the classes, which its
    # prior keeps small.
    effect = _design_effect(values, votes, rows.weights, rows.groups)
    # Two groups, or one row that outweighs all others, would be worth one row, and anything be believed.
    n_rows = max(2.0, rows.weights.sum() ** 2 / (rows.weights**2).sum() / effect)
    return (link, posterior) if gain / effect >= np.log(n_rows) else (plain, votes)


def fit_links(fused, arms, rows):
    """Links for all patterns of views.

    Parameters
    ----------
    fused : Fused
    arms : list of Arm
    rows : LabelledRows

    Returns
    -------
    Links
    """
    everyone = np.ones(len(rows), dtype=bool)
    return _links(fused.link, fused, arms, rows, everyone, _patterns(rows.blocks.present))


def evidence_left_out(fused, arms, rows):
    """What speaks for each class of the training rows, by links that were fitted on others.

    Parameters
    ----------
    fused : Fused
    arms : list of Arm
    rows : LabelledRows

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    values, present = by_class(fused.values), rows.blocks.present
    patterns = _patterns_seen(present)
    evidence = np.empty(values.shape)
    _, part_of = parts_of(len(rows), rows.groups)
    for part in np.unique(part_of):
        held_out = part_of == part
        whole = _fit(values, fused.believed, rows, ~held_out)
        links = _links(whole, fused, arms, rows, ~held_out, patterns)
        evidence[held_out] = links.evidence(values[held_out], present[held_out])
    return evidence


def _links(whole, fused, arms, rows, among, patterns):
    """Links of some patterns, fitted among some rows; that of all views is known."""
    known, links = [np.ones(rows.blocks.present.shape[1], dtype=bool)], [whole]
    for pattern in patterns:
        left = [number for number, arm in enumerate(arms) if arm.view is not None and pattern[arm.view]]
        left = [number for number in left if fused.weights[number] > 0]
        if left:
            values, heard = weighted_sum(fused.arm_values[left], fused.weights[left])
            # As predictions do it: those that are left speak for the others.
            values = by_class(values * fused.weights.sum() / fused.weights[left].sum())
            if (heard & among).any():
                known.append(pattern)
                links.append(_fit(values, fused.believed, rows, heard & among))
    slopes, shifts = np.array([link.slope for link in links]), np.array([link.shifts for link in links])
    return Links(np.array(known), slopes, shifts, whole.log_shares)


def _fit(values, posterior, rows, among=None):
    """A link on some of the rows, by as much evidence as their groups are worth."""
    among = np.arange(len(values)) if among is None else np.flatnonzero(among)
    if len(among) > MOST_ROWS:
        among = np.sort(np.random.default_rng(len(among)).permutation(among)[:MOST_ROWS])
    values, posterior, weights = values[among], posterior[among], rows.weights[among]
    groups = None if rows.groups is None else rows.groups[among]
    return fit_link(values, posterior, weights, _design_effect(values, posterior, weights, groups))


def _design_effect(values, posterior, weights, groups):
    """How many rows of groups tell as much as one that depends on no other (Kish): how much more than rows by
    themselves do sums over groups vary?"""
    if groups is None:
        return 1.0
    sizes = np.bincount(groups)
    n_groups = np.count_nonzero(sizes)
    if n_groups == 1:
        return float(len(groups))
    # Without shifts, which would make groups add up to nothing, and about the mean, which is what shifts are for.
    errors = weights[:, None] * (posterior - np.exp(fit_slope(values, posterior, weights).log_probabilities(values)))
    errors -= errors.mean(axis=0)
    sums = np.array([np.bincount(groups, column) for column in errors.T])
    total = (errors**2).sum()
    return max(1.0, (sums**2).sum() / total * n_groups / (n_groups - 1)) if total > 0 else 1.0


def _patterns(present):
    """Views that may be there, other than all of them: without each, each alone, and as in the training rows."""
    n_views = present.shape[1]
    if n_views == 1:
        return []
    one = np.eye(n_views, dtype=bool)
    both = np.unique(np.vstack([~one, one, *_patterns_seen(present)]), axis=0)
    return [pattern for pattern in both if pattern.any() and not pattern.all()]


def _patterns_seen(present):
    """Views that rows have, other than all of them, the most frequent first."""
    seen, counts = np.unique(present, axis=0, return_counts=True)
    seen = seen[np.argsort(-counts, kind="stable")][:MOST_PATTERNS]
    return [pattern for pattern in seen if pattern.any() and not pattern.all()]


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
