"""When the votes that were read settle a row, and how much of a lead rounding can make."""

import numpy as np
import pytest

from fuselearn.numeric.votes import rounding_slack, settle


def settled(votes, rest, slack, rows=None):
    """The rows that stay open, and the codes, which begin as -1."""
    votes = np.array(votes, dtype=float)
    rows = np.arange(len(votes)) if rows is None else np.array(rows)
    codes = np.full(len(votes), -1)
    n_left = settle(votes, rows, np.array(rest, dtype=float), slack, codes)
    return rows[:n_left].tolist(), codes.tolist()


@pytest.mark.parametrize(
    ("votes", "code"),
    [
        ([3.0, 0.5], 0),
        ([0.5, 3.0], 1),
        ([-5.0, -2.0], 1),
        ([4.0, 1.0, 2.0], 0),
        ([1.0, 4.0, 2.0], 1),
        ([2.0, 1.0, 4.0], 2),
        ([1.0, 2.0, 4.5, 0.0], 2),
        ([2.0, 2.0, 0.0, 4.1], 3),
    ],
)
def test_the_leading_class_wins_when_its_lead_is_larger_than_the_rest(votes, code):
    first, second = sorted(votes)[:-3:-1]
    lead = first - second
    assert settled([votes], [lead - 0.01], 0.0) == ([], [code])
    assert settled([votes], [0.0], lead - 0.01) == ([], [code])
    # A lead that the rest can make up, or that rounding may have made, settles nothing.
    for rest, slack in ((lead, 0.0), (0.0, lead), (lead - 0.01, 0.02), (lead + 1, 0.0)):
        assert settled([votes], [rest], slack) == ([0], [-1])


def test_rows_that_stay_open_keep_their_order():
    votes = [[9, 0], [1, 0], [0, 9], [0, 1], [9, 0], [1, 1]]
    assert settled(votes, [5] * 6, 0.0) == ([1, 3, 5], [0, -1, 1, -1, 0, -1])
    # The rest is that of the place among the open rows.
    assert settled(votes, [0.5, 8.5, 0.5], 0.0, rows=[5, 4, 3]) == ([5], [-1, -1, -1, 1, 0, -1])


def test_a_tie_and_what_is_no_number_settle_nothing():
    votes = [[2, 2, 1], [np.nan, 1, 0], [np.inf, np.inf, 0], [0, 0, 0]]
    assert settled(votes, [0] * 4, 0.0)[0] == [0, 1, 2, 3]


@pytest.mark.parametrize("n_votes", [1, 10, 1000])
def test_the_slack_is_what_rounding_can_make_and_not_much_more(n_votes):
    alphas = np.random.default_rng(n_votes).normal(size=n_votes)
    needed = 5 * (n_votes + 1) * np.finfo(float).eps / 2 * np.abs(alphas).sum()
    assert needed < rounding_slack(alphas) < 5 * needed
    assert rounding_slack(3 * alphas) == pytest.approx(3 * rounding_slack(alphas))
