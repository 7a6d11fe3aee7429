"""Adding what two views say blurs a class along the axes, and deconvolution undoes it (S4 figures 1 and 2).

Two perceptrons see one ordinate each of two classes in the plane. The sum of what they say of a class has ridges along
the axes, where no object is. Högbom's CLEAN removes the ridges and keeps what each perceptron said.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, gaussian_kde
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from fuselearn.estimators import check_count, check_positive
from fuselearn.evaluation.result_table import Table

CENTRES = np.array([[-1.5, -1.5], [2.5, 2.5]])
DEVIATIONS = np.array([0.6, 0.9])
REACH = 6.0
BANDWIDTH = 0.15
"""Of the density of all ordinates, in their standard deviation. The rule of thumb is for one hump, and here are two."""


@dataclass(frozen=True)
class AxialBias:
    """Pseudo-densities of the first class, on a grid.

    Attributes
    ----------
    points : ndarray of shape (n_vectors, 2)
        The vectors that the perceptrons were trained on.
    labels : ndarray of shape (n_vectors,)
    axis : ndarray of shape (n_grid,)
        Places of the grid, alike in x and y.
    marginals : ndarray of shape (2, n_grid)
        F_x and F_y, each of sum 1 (figure 1).
    added : ndarray of shape (n_grid, n_grid)
        F_x + F_y at each place, first index x, of sum 1 (figure 2, left).
    deconvolved : ndarray of shape (n_grid, n_grid)
        Components that CLEAN found (figure 2, right).
    multiplied : ndarray of shape (n_grid, n_grid)
        F_x · F_y, to compare with: what holds if the ordinates are independent.
    inside : bool ndarray of shape (n_grid, n_grid)
        Places within the ellipse that holds 95 % of the true class.
    outside : ndarray of shape (n_trials, 3)
        Share of the mass outside of it, added, deconvolved and multiplied, for each draw of the vectors.
    drift : ndarray of shape (n_trials, 2)
        Largest difference of the marginal sums from F_x and F_y, relative to their peak: added, deconvolved.
    """

    points: np.ndarray
    labels: np.ndarray
    axis: np.ndarray
    marginals: np.ndarray
    added: np.ndarray
    deconvolved: np.ndarray
    multiplied: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    drift: np.ndarray

    def table(self):
        """Mass outside of the true class, and how well the marginals are kept, mean over the draws."""
        names = ("added", "deconvolved", "multiplied")
        drifts = (*100 * self.drift.mean(axis=0), None)
        spreads = 100 * self.outside.std(axis=0, ddof=1) if len(self.outside) > 1 else [None] * len(names)
        means = 100 * self.outside.mean(axis=0)
        columns = ("pseudo-density", "mass outside %", "±", "marginals off by %")
        return Table(
            "Axial bias of added pseudo-densities",
            columns,
            list(zip(names, means, spreads, drifts)),
            f"Outside the ellipse that holds 95 % of the true class, over {len(self.outside)} draws; marginals off by "
            f"parts of their peak. The ridges run to the edge of the grid, {REACH:g} from the middle, so the mass of "
            "the sum that lies outside depends on it.",
            {"mass outside %": 1, "±": 1, "marginals off by %": 2},
        )


def axial_bias(*, trials=20, vectors=200, grid=121, gain=0.05, random_state=0):
    """Draw the two classes, train the two perceptrons, add what they say, and deconvolve the sum.

    Parameters
    ----------
    trials : int, default=20
        Draws of the vectors. The arrays of the result are of the first.
    vectors : int, default=200
        In each class.
    grid : int, default=121
        Places along each axis.
    gain : float, default=0.05
        Largest share of the peak that a step of CLEAN takes away, below 0.5.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    AxialBias

    Notes
    -----
    A perceptron's sigmoid rises for ever: read as a density it has no peak and no integral, while S4's figures show
    one hump along each axis. A sigmoid is the class's probability at a place, so it is multiplied here by the density
    of all vectors at that place (a Gaussian kernel estimate of the ordinates, which knows no class). By Bayes' rule
    that is the density of the class and its marginal, the Radon projection that S4's argument needs.

    No deconvolution can know how x and y are correlated, since the two projections do not; the classes here have none.
    The product of the pseudo-densities, the usual way to combine independent evidence, has no ridges either.

    S4 says that the sum and the deconvolved density have the same marginals. Those of the sum have a constant besides,
    the other view's mass spread over the axis; the deconvolved ones are what the perceptrons said.

    Examples
    --------
    >>> from fuselearn.papers.axial_bias import axial_bias
    >>> result = axial_bias(trials=2, grid=61)
    >>> added, deconvolved, _ = result.outside.mean(axis=0)
    >>> bool(added > 0.7), bool(deconvolved < 0.2)
    (True, True)
    """
    check_count("trials", trials)
    check_count("vectors", vectors, 3)
    check_count("grid", grid, 11)
    check_positive("gain", gain)
    if gain >= 0.5:
        raise ValueError(f"gain must be below 0.5; got {gain!r}.")
    generator = check_random_state(random_state)
    axis = np.linspace(-REACH, REACH, grid)
    along_x, along_y = ((axis[:, None] - CENTRES[0]) / DEVIATIONS).T ** 2
    inside = along_x[:, None] + along_y <= chi2.ppf(0.95, 2)
    labels = np.repeat([0, 1], vectors)
    first, outside, drift = None, [], []
    for _ in range(trials):
        points = CENTRES[labels] + DEVIATIONS * generator.standard_normal((len(labels), 2))
        marginals = np.array([pseudo_density(ordinates, labels == 0, axis) for ordinates in points.T])
        added = marginals[0][:, None] + marginals[1]
        added /= added.sum()
        deconvolved = clean(*marginals, gain=gain)
        multiplied = np.outer(*marginals)
        outside.append([density[~inside].sum() / density.sum() for density in (added, deconvolved, multiplied)])
        drift.append([_off(added, marginals), _off(deconvolved, marginals)])
        if first is None:
            first = (points, labels, axis, marginals, added, deconvolved, multiplied, inside)
    return AxialBias(*first, np.array(outside), np.array(drift))


def pseudo_density(ordinates, of_class, axis):
    """What a perceptron on one ordinate says of a class, times the density of all ordinates; of sum 1 on the axis.

    Examples
    --------
    >>> import numpy as np
    >>> ordinates = np.array([-2.0, -1.8, -2.2, 2.0, 1.9, 2.1])
    >>> density = pseudo_density(ordinates, ordinates < 0, np.array([-2.0, 0.0, 2.0]))
    >>> density.argmax(), round(float(density.sum()), 6)
    (np.int64(0), 1.0)
    """
    perceptron = LogisticRegression().fit(ordinates[:, None], of_class)
    density = perceptron.predict_proba(axis[:, None])[:, 1] * gaussian_kde(ordinates, BANDWIDTH)(axis)
    return density / density.sum()


def clean(first, second, *, gain=0.05, tolerance=0.002):
    """Högbom's CLEAN of the sum of two marginals: the components whose ridges make up the sum.

    In turn, the highest places of the residual become components, and the components' artefacts δ(x) + δ(y), the rows
    and the columns through them, are taken off the residual. All places that are nearly highest are taken at once, the
    Cartesian product of the marginals' level sets, as in S4 §3.1.1: one at a time would give specks.

    Parameters
    ----------
    first : ndarray of shape (n,)
    second : ndarray of shape (m,)
        The marginals, not negative, of equal sums.
    gain : float, default=0.05
        Depth of a level set, and the largest part of the peak that a step takes away.
    tolerance : float, default=0.002
        It ends when the peak of either residual is below this part of its first height.

    Returns
    -------
    ndarray of shape (n, m)
        Their sums along each axis are the marginals less what is left of the residual.

    Notes
    -----
    The residual is a sum of a row and a column before and after each step, so it is kept as these two, and its highest
    places are where each of them is highest.

    Examples
    --------
    >>> import numpy as np
    >>> clean(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0])).round(2)
    array([[0., 0.],
           [1., 0.],
           [0., 0.]])
    """
    rows, columns = np.array(first, dtype=float), np.array(second, dtype=float)
    components = np.zeros((len(rows), len(columns)))
    least = tolerance * rows.max(), tolerance * columns.max()
    while rows.max() > least[0] and columns.max() > least[1]:
        high_rows, high_columns = (np.flatnonzero(values >= (1 - gain) * values.max()) for values in (rows, columns))
        # The same mass of both, so that the residuals' sums stay equal.
        mass = gain * min(rows.max() * len(high_rows), columns.max() * len(high_columns))
        rows[high_rows] -= mass / len(high_rows)
        columns[high_columns] -= mass / len(high_columns)
        components[np.ix_(high_rows, high_columns)] += mass / (len(high_rows) * len(high_columns))
    return components


def _off(density, marginals):
    """Largest difference between a density's sums along the axes and the marginals, relative to these's peaks."""
    sums = density.sum(axis=1), density.sum(axis=0)
    return max(np.abs(own - marginal).max() / marginal.max() for own, marginal in zip(sums, marginals))
