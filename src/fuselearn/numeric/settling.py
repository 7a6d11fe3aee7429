"""Which rows the votes still to come cannot turn round."""

import numpy as np

from fuselearn.numeric.compiled import compiled


def rounding_slack(alphas):
    """Lead that rounding alone can make or hide, however the votes α are ordered and grouped.

    A sum of T numbers is off by at most T·u·Σ|α|, with u half of the machine epsilon. Five such sums meet in one
    comparison (the two largest classes as they stand, the same two in the full sum, and the votes to come), and three
    subtractions: 5·(T + 1)·u would do, and this is three times that.
    """
    return 8 * (len(alphas) + 1) * np.finfo(np.float64).eps * np.abs(alphas).sum()


@compiled()
def settle(votes, rows, rest, slack, codes):
    """Settle rows whose leading class stays ahead whatever the rest votes, and keep the others.

    A hypothesis with the vote α moves the difference of two classes by at most |α|, whether it names one of them,
    another class or abstains, and whatever the sign of α. So a lead of more than Σ|α| of the rest is final.

    Parameters
    ----------
    votes : ndarray of shape (n_rows, n_classes)
        Votes so far.
    rows : intp ndarray of shape (n_open,)
        Rows to look at. Those that stay open are moved to the front, in their order.
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
