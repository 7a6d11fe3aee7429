"""Strength and correlation of base models: S2's Theorem 1, which is Breiman's for random forests."""

from typing import NamedTuple

import numpy as np


class Strength(NamedTuple):
    """What Theorem 1 needs of the base models of a label, and says of them.

    Attributes
    ----------
    strength : float
        s = E[2·P(h = y) - 1]: how much more often than not a model is right.
    correlation : float
        ρ̄ of the models' being right, over pairs of models.
    bound : float
        ρ̄·(1 - s²)/s², NaN where s ≤ 0.
    error : float
        Share of the rows on which more models are wrong than right, which the bound is above.
    """

    strength: float
    correlation: float
    bound: float
    error: float


def strength_and_correlation(outputs, signs):
    """Strength, correlation, bound and error of the models of one label, by their votes.

    With rmg = ±1 where a model is right or wrong and mr its mean over the models, Breiman ("Random forests", 2001,
    equations 6 to 8) has s = E[mr], ρ̄ = Var(mr) / (E[sd(rmg)])², and Var(mr)/s² ≤ ρ̄·(1 - s²)/s² above P(mr < 0).

    Parameters
    ----------
    outputs : ndarray of shape (n_models, n_rows)
        A model votes for the label where its output is above 0.
    signs : ndarray of shape (n_rows,)
        +1 where a row has the label, -1 where not.

    Returns
    -------
    Strength
        NaN everywhere for no models; ρ̄ is 0 where no model is ever wrong.

    Examples
    --------
    >>> import numpy as np
    >>> signs = np.array([1, 1, -1, -1])
    >>> votes = np.array([[1, 1, -1, 1], [1, -1, -1, -1], [1, 1, 1, -1]])
    >>> told = strength_and_correlation(votes, signs)
    >>> round(told.strength, 3), round(told.correlation, 3), round(told.bound, 3), told.error
    (0.5, 0.111, 0.333, 0.0)
    """
    if not len(outputs):
        return Strength(np.nan, np.nan, np.nan, np.nan)
    right = np.where((outputs > 0) == (signs > 0), 1.0, -1.0)
    margin = right.mean(axis=0)
    strength, spread = margin.mean(), right.std(axis=1).mean()
    correlation = margin.var() / spread**2 if spread > 0 else 0.0
    bound = correlation * (1 - strength**2) / strength**2 if strength > 0 else np.nan
    # A mean of an even number of ±1 may miss 0 by rounding.
    error = np.mean(np.rint(margin * len(right)) < 0)
    return Strength(float(strength), float(correlation), float(bound), float(error))
