"""Axial bias: adding the outputs of two views blurs a class along the axes (S4 figures 1 and 2).

Two perceptrons see one ordinate each of two classes in the plane. The sum of their outputs for a class has ridges along
the axes, where no object is. Högbom's CLEAN removes the ridges and keeps the output of each perceptron.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2, gaussian_kde
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from fuselearn.arguments import check_count, check_positive
from fuselearn.evaluation.result_table import Table
from fuselearn.papers.verdicts import Effort, Outcome, Pair, judge
from fuselearn.typing import AnyArray, BoolArray, FloatArray, RandomState

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CENTRES = np.array([[-1.5, -1.5], [2.5, 2.5]])
DEVIATIONS = np.array([0.6, 0.9])
REACH = 6.0
BANDWIDTH = 0.15
"""Of the density of all ordinates, in their standard deviation. The rule of thumb is for one hump; here there are two.
"""
CLAIMS = {
    "added": "S4 figure 2: deconvolution leaves less mass outside of the class than adding the pseudo-densities",
    "product": "Not in S4: multiplying the pseudo-densities leaves as little outside as deconvolution, within 0.02",
}


@dataclass(frozen=True)
class AxialBias:
    """Pseudo-densities of the first class, on a grid.

    Attributes
    ----------
    points : ndarray of shape (n_vectors, 2)
        The vectors that the perceptrons were trained on.
    labels : ndarray of shape (n_vectors,)
        Classes of the vectors.
    axis : ndarray of shape (n_grid,)
        Places of the grid, alike in x and y.
    marginals : ndarray of shape (2, n_grid)
        F_x and F_y, each of sum 1 (figure 1).
    added : ndarray of shape (n_grid, n_grid)
        F_x + F_y at each place, first index x, of sum 1 (figure 2, left).
    deconvolved : ndarray of shape (n_grid, n_grid)
        Components that CLEAN found (figure 2, right).
    multiplied : ndarray of shape (n_grid, n_grid)
        F_x · F_y, to compare with: right if the ordinates are independent.
    inside : bool ndarray of shape (n_grid, n_grid)
        Places within the ellipse that holds 95 % of the true class.
    outside : ndarray of shape (n_trials, 3)
        Share of the mass outside of it, added, deconvolved and multiplied, for each draw of the vectors.
    drift : ndarray of shape (n_trials, 2)
        Largest difference of the marginal sums from F_x and F_y, relative to their peak: added, deconvolved.
    """

    points: FloatArray
    labels: AnyArray
    axis: FloatArray
    marginals: FloatArray
    added: FloatArray
    deconvolved: FloatArray
    multiplied: FloatArray
    inside: BoolArray
    outside: FloatArray
    drift: FloatArray

    def table(self) -> Table:
        """Return the mass outside of the true class, and how well the marginals are kept, mean over the draws."""
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


def run(effort: Effort) -> Outcome:
    """Rerun S4's figures 1 and 2."""
    result = axial_bias(trials=effort.count(full=20, quick=4), random_state=effort.seed)
    added, deconvolved, multiplied = 1 - result.outside.T
    findings = [
        judge(CLAIMS["added"], [Pair("mass inside", deconvolved, added)]),
        judge(CLAIMS["product"], [Pair("mass inside", multiplied, deconvolved)], margin=0.02),
    ]
    return Outcome([result.table()], findings, {"axial_bias": lambda figure: _plot_densities(figure, result)})


def axial_bias(
    *, trials: int = 20, vectors: int = 200, grid: int = 121, gain: float = 0.05, random_state: RandomState = 0
) -> AxialBias:
    """Draw the two classes, train the two perceptrons, add their outputs, and deconvolve the sum.

    Parameters
    ----------
    trials : int, default=20
        Number of draws of the vectors. The arrays of the result are of the first.
    vectors : int, default=200
        Number of vectors of each class.
    grid : int, default=121
        Number of places along each axis.
    gain : float, default=0.05
        Largest share of the peak that a step of CLEAN takes away, below 0.5.
    random_state : int, RandomState or None, default=0
        Seed of the draws.

    Returns
    -------
    AxialBias
        Densities of the first draw, and the mass outside of the class of every draw.

    Notes
    -----
    A perceptron's sigmoid rises for ever: read as a density it has no peak and no integral, while S4's figures show
    one hump along each axis. A sigmoid is the class's probability at a place, so it is multiplied here by the density
    of all vectors at that place (a Gaussian kernel estimate of the ordinates of both classes). By Bayes' rule
    that is the density of the class and its marginal, the Radon projection that S4's argument needs.

    No deconvolution can know how x and y are correlated, since the two projections do not show it; in the classes here
    they are not.
    The product of the pseudo-densities, the usual way to combine independent evidence, has no ridges either.

    S4 says that the sum and the deconvolved density have the same marginals. Those of the sum have a constant besides,
    the other view's mass spread over the axis; the deconvolved ones are the perceptrons' outputs.

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
    first: dict[str, AnyArray] = {}
    outside, drift = [], []
    for trial in range(trials):
        points = CENTRES[labels] + DEVIATIONS * generator.standard_normal((len(labels), 2))
        marginals = np.array([pseudo_density(ordinates, labels == 0, axis) for ordinates in points.T])
        added = marginals[0][:, None] + marginals[1]
        added /= added.sum()
        deconvolved = clean(*marginals, gain=gain)
        multiplied = np.outer(*marginals)
        outside.append([density[~inside].sum() / density.sum() for density in (added, deconvolved, multiplied)])
        drift.append([_deviation(added, marginals), _deviation(deconvolved, marginals)])
        if trial == 0:
            first = {"points": points, "marginals": marginals, "added": added, "deconvolved": deconvolved}
            first["multiplied"] = multiplied
    return AxialBias(**first, labels=labels, axis=axis, inside=inside, outside=np.array(outside), drift=np.array(drift))


def pseudo_density(ordinates: FloatArray, in_class: BoolArray, axis: FloatArray) -> FloatArray:
    """Return a perceptron's probability of a class times the density of all ordinates; of sum 1 on the axis.

    Examples
    --------
    >>> import numpy as np
    >>> ordinates = np.array([-2.0, -1.8, -2.2, 2.0, 1.9, 2.1])
    >>> density = pseudo_density(ordinates, ordinates < 0, np.array([-2.0, 0.0, 2.0]))
    >>> density.argmax(), round(float(density.sum()), 6)
    (np.int64(0), 1.0)
    """
    perceptron = LogisticRegression().fit(ordinates[:, None], in_class)
    density = perceptron.predict_proba(axis[:, None])[:, 1] * gaussian_kde(ordinates, BANDWIDTH)(axis)
    return density / density.sum()


def clean(first: FloatArray, second: FloatArray, *, gain: float = 0.05, tolerance: float = 0.002) -> FloatArray:
    """Return the components whose ridges make up the sum of two marginals, by Högbom's CLEAN.

    In turn, the highest places of the residual become components, and the components' artefacts δ(x) + δ(y), the rows
    and the columns through them, are taken off the residual. All places that are nearly highest are taken at once, the
    Cartesian product of the marginals' level sets, as in S4 §3.1.1: one at a time would give specks.

    Parameters
    ----------
    first : ndarray of shape (n,)
        Marginal along the first axis, not negative.
    second : ndarray of shape (m,)
        Marginal along the second axis, not negative, of the same sum.
    gain : float, default=0.05
        Depth of a level set, and the largest part of the peak that a step takes away.
    tolerance : float, default=0.002
        CLEAN ends when the peak of either residual is below this part of its first height.

    Returns
    -------
    ndarray of shape (n, m)
        Components. Their sums along each axis are the marginals less what is left of the residual.

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


def _deviation(density: FloatArray, marginals: FloatArray) -> float:
    """Return the largest difference between a density's sums along the axes and the marginals, by their peaks."""
    sums = density.sum(axis=1), density.sum(axis=0)
    return max(np.abs(total - marginal).max() / marginal.max() for total, marginal in zip(sums, marginals))


def _plot_densities(figure: "Figure", result: AxialBias) -> None:
    """Draw S4's figure 2: the densities of the first draw."""
    ends = (result.axis[0], result.axis[-1])
    names = ("added", "deconvolved", "multiplied")
    for axes, name in zip(figure.subplots(1, 3), names):
        axes.imshow(getattr(result, name).T, origin="lower", extent=(*ends, *ends), cmap="viridis")
        axes.contour(result.axis, result.axis, result.inside.T, levels=[0.5], colors="white", linewidths=1)
        axes.set_title(name)
