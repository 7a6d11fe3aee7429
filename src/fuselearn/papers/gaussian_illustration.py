"""Two Gaussian classes in the plane whose ordinates are not matched (S4 figures 3 to 5).

Each class has ten vectors; one kernel is of their x ordinates, the other of their y ordinates, and which x belongs to
which y is forgotten. The question is how near the decision boundary comes to that of the whole vectors.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics.pairwise import linear_kernel
from sklearn.utils import check_random_state

from fuselearn.arguments import check_count, check_jobs, check_positive
from fuselearn.data import stack_unpaired
from fuselearn.evaluation.result_table import Table
from fuselearn.kernels import AugmentedKernelClassifier, TomographicClassifier
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.papers.verdicts import MARGIN, Effort, Outcome, Pair, judge
from fuselearn.typing import AnyArray, FloatArray, RandomState

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FUSIONS = ("true matches", "tomographic", "tomographic, S4's way", "cartesian", "augmented")
# Training accuracy in %, S4 §4.1, after 20 trials of one distribution.
S4_TRAIN = {"true matches": 90.0, "tomographic, S4's way": 90.0, "augmented": 60.0}
GRID = 81
CLAIMS = {
    "items": f"S4 §4.1: on its own training items, S4's way is as good as true matches on theirs, within {MARGIN:g}",
    "items augmented": "S4 §4.1: on its own training items, S4's way is better than the augmented kernel on its own",
    "trained": f"On the true training vectors, tomographic fusion is as good as true matches, within {MARGIN:g} (ours)",
    "true": f"The same on new vectors, within {MARGIN:g} (ours)",
    "augmented": "S4 §4.1: tomographic fusion is better than the augmented kernel, on new vectors",
    "order": "S4 §3: the tomographic order is better than pairing at random within the class, on new vectors",
}


@dataclass(frozen=True)
class GaussianIllustration:
    """Accuracies of every draw, and the picture of the first.

    Attributes
    ----------
    fusions : tuple of str
        Names of the fusions.
    vectors_right : ndarray of shape (n_trials, n_fusions)
        Accuracy on the true training vectors.
    items_right : ndarray of shape (n_trials, n_fusions)
        Accuracy on the machine's own training items: meta-objects, or single ordinates for the augmented kernel. This
        is S4's training accuracy, "calculated in relation to the tomographically generated kernel matrices" (§4.2).
    fresh_right : ndarray of shape (n_trials, n_fusions)
        Accuracy on 1000 new vectors of the same classes.
    points, labels : ndarray
        Vectors of the first draw, of shape (2 * vectors, 2), and their classes.
    meta_objects, meta_labels : dict of fusion to ndarray
        Places of the first draw's training items in the plane; an ordinate alone is on its axis.
    axes : tuple of two ndarray
        Places of the grid along x and y.
    decisions : dict of fusion to ndarray of shape (n_y, n_x)
        Decision values on the grid; the boundary is at 0.
    means, covariances : ndarray of shape (2, 2) and (2, 2, 2)
        The classes of the first draw.
    """

    fusions: tuple[str, ...]
    vectors_right: FloatArray
    items_right: FloatArray
    fresh_right: FloatArray
    points: FloatArray
    labels: AnyArray
    meta_objects: dict[str, FloatArray]
    meta_labels: dict[str, AnyArray]
    axes: tuple[FloatArray, ...]
    decisions: dict[str, FloatArray]
    means: FloatArray
    covariances: FloatArray

    def table(self) -> Table:
        """Return the accuracy in % of each fusion, mean over the draws, beside S4's."""
        columns = ("fusion", "own training items", "±", "true vectors", "± vectors", "new vectors", "S4")
        rows = []
        for place, fusion in enumerate(self.fusions):
            items, vectors, fresh = (
                100 * right[:, place] for right in (self.items_right, self.vectors_right, self.fresh_right)
            )
            spreads = [values.std(ddof=1) if len(values) > 1 else None for values in (items, vectors)]
            means = items.mean(), spreads[0], vectors.mean(), spreads[1], fresh.mean()
            rows.append((fusion, *means, S4_TRAIN.get(fusion)))
        return Table(
            "Gaussian illustration: accuracy in %",
            columns,
            rows,
            f"{len(self.vectors_right)} draws, {len(self.labels) // 2} vectors a class, ± one standard deviation. S4's "
            "is on a machine's own training items.",
            dict.fromkeys(columns[1:], 1),
        )


def run(effort: Effort) -> Outcome:
    """Rerun S4's figures 3 to 5."""
    result = gaussian_illustration(
        trials=effort.count(full=100, quick=10), n_jobs=effort.n_jobs, random_state=effort.seed
    )
    items, trained, fresh = (
        dict(zip(result.fusions, right.T)) for right in (result.items_right, result.vectors_right, result.fresh_right)
    )
    judged = (
        ("items", items, "tomographic, S4's way", "true matches", MARGIN),
        ("items augmented", items, "tomographic, S4's way", "augmented", 0.0),
        ("trained", trained, "tomographic", "true matches", MARGIN),
        ("true", fresh, "tomographic", "true matches", MARGIN),
        ("augmented", fresh, "tomographic", "augmented", 0.0),
        ("order", fresh, "tomographic", "cartesian", 0.0),
    )
    findings = [
        judge(CLAIMS[claim], [Pair("items" if right is items else "vectors", right[ours], right[rival])], margin=margin)
        for claim, right, ours, rival, margin in judged
    ]
    return Outcome([result.table()], findings, {"gaussian_illustration": lambda figure: _plot_plane(figure, result)})


def gaussian_illustration(
    *,
    trials: int = 20,
    vectors: int = 10,
    separation: float = 2.0,
    centre: float = 2.0,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> GaussianIllustration:
    """Compare fusions on two Gaussian classes whose ordinates are not matched (S4 §4.1).

    Parameters
    ----------
    trials : int, default=20
        Number of draws. Each has other classes, so that no single distribution decides the outcome; S4 has one.
    vectors : int, default=10
        Number of vectors of each class.
    separation : float, default=2
        Distance of the class means, in a random direction. At 2, true matches reach the 90 % of S4.
    centre : float, default=2
        Both ordinates of the middle between the classes. Linear kernels have no offset: away from 0, one intercept
        cannot serve both the single ordinates that the augmented machine is trained on and whole vectors. At 0 it
        classifies whole vectors as well as the others; the further from 0, the worse.
    n_jobs : int, default=None
        Number of processes. The result is the same for any.
    random_state : int, RandomState or None, default=0
        Seed of the draws.

    Returns
    -------
    GaussianIllustration
        Accuracies of every draw, and the picture of the first.

    Notes
    -----
    S4 prints neither means nor covariances. Here the deviations along a class's main axes are between 0.4 and 1.4 and
    their direction is random. Kernels are linear and C = 1; true matches are an SVM on the sum of the kernels. The
    tomographic and cartesian machines have the defaults of :class:`~fuselearn.TomographicClassifier`; S4's way neither
    scales kernels nor keeps marginals, and walks on until every object is in a meta-object.

    Examples
    --------
    >>> from fuselearn.papers.gaussian_illustration import gaussian_illustration
    >>> result = gaussian_illustration(trials=3)
    >>> result.table().column("S4")
    (90.0, None, 90.0, None, 60.0)
    >>> result.decisions["tomographic"].shape
    (81, 81)
    """
    check_count("trials", trials)
    check_count("vectors", vectors, 2)
    check_positive("separation", separation)
    if isinstance(centre, bool) or not isinstance(centre, int | float) or not np.isfinite(centre):
        raise ValueError(f"centre must be a number; got {centre!r}.")
    check_jobs(n_jobs)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=trials)
    drawn = Parallel(n_jobs=n_jobs)(delayed(_trial)(vectors, separation, centre, seed) for seed in seeds)
    accuracies = np.array([accuracy for accuracy, _ in drawn])
    return GaussianIllustration(FUSIONS, *accuracies.transpose(1, 0, 2), **drawn[0][1])


# One thread for matrix products: their last bits depend on the number, and processes have fewer than their parent.
@single_threaded_blas()
def _trial(vectors: int, separation: float, centre: float, seed: int) -> tuple[FloatArray, dict[str, Any]]:
    """Return the accuracies of one draw, of shape (3, n_fusions), and what its picture needs."""
    generator = np.random.RandomState(seed)
    means, covariances = _random_classes(separation, centre, generator)
    labels = np.repeat([0, 1], vectors)
    points = _draw(means, covariances, labels, generator)
    fresh_labels = np.repeat([0, 1], 500)
    fresh = _draw(means, covariances, fresh_labels, generator)
    orders = [generator.permutation(len(labels)) for _ in range(2)]
    X, views, y = stack_unpaired([(points[order, axis], labels[order]) for axis, order in enumerate(orders)])
    axes = tuple(np.linspace(low - 1, high + 1, GRID) for low, high in zip(points.min(axis=0), points.max(axis=0)))
    places = np.column_stack([values.ravel() for values in np.meshgrid(*axes)])
    s4s_way: dict[str, Any] = {
        "scale_kernels": False,
        "keep_marginals": False,
        "max_meta_objects": np.inf,
    }
    machines = {
        # Whole rows are known matches: the machine then has the sum of the kernels.
        "true matches": TomographicClassifier(views=views, **s4s_way).fit(points, labels),
        "tomographic": TomographicClassifier(views=views, random_state=seed).fit(X, y),
        "tomographic, S4's way": TomographicClassifier(views=views, random_state=seed, **s4s_way).fit(X, y),
        "cartesian": TomographicClassifier(views=views, correspondence="cartesian", random_state=seed).fit(X, y),
        # The function, since "linear" is about the means of the training rows: here it is the origin that matters.
        "augmented": AugmentedKernelClassifier(views=views, kernel=linear_kernel).fit(X, y),
    }
    accuracies = []
    items: dict[str, FloatArray] = {}
    item_labels: dict[str, AnyArray] = {}
    decisions: dict[str, FloatArray] = {}
    for name, machine in machines.items():
        if isinstance(machine, AugmentedKernelClassifier):
            trained_on, items[name], item_labels[name] = X, np.nan_to_num(X), y
        else:
            source = points if name == "true matches" else X
            trained_on = np.column_stack([source[rows, axis] for axis, rows in enumerate(machine.meta_objects_.T)])
            items[name], item_labels[name] = trained_on, machine.meta_labels_
        tests = ((points, labels), (trained_on, item_labels[name]), (fresh, fresh_labels))
        accuracies.append([machine.score(*test) for test in tests])
        decisions[name] = machine.decision_function(places).reshape(GRID, GRID)
    picture = {
        "points": points,
        "labels": labels,
        "meta_objects": items,
        "meta_labels": item_labels,
        "axes": axes,
        "decisions": decisions,
        "means": means,
        "covariances": covariances,
    }
    return np.array(accuracies).T, picture


def _random_classes(
    separation: float, centre: float, generator: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    """Return the means and covariances of two classes."""
    direction = generator.uniform(0, 2 * np.pi)
    half = separation / 2 * np.array([np.cos(direction), np.sin(direction)])
    covariances = []
    for _ in range(2):
        angle = generator.uniform(0, np.pi)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        covariances.append(turn @ np.diag(generator.uniform(0.4, 1.4, size=2) ** 2) @ turn.T)
    return centre + np.array([-half, half]), np.array(covariances)


def _draw(means: FloatArray, covariances: FloatArray, labels: AnyArray, generator: np.random.RandomState) -> FloatArray:
    """Return a vector of each label's class."""
    roots = np.linalg.cholesky(covariances)
    return means[labels] + np.einsum("nij,nj->ni", roots[labels], generator.standard_normal((len(labels), 2)))


def _plot_plane(figure: "Figure", result: GaussianIllustration) -> None:
    """Draw the vectors of the first draw, and where each machine sees the classes."""
    shown = ("true matches", "tomographic", "augmented")
    for axes, fusion in zip(figure.subplots(1, len(shown), sharex=True, sharey=True), shown):
        axes.contourf(*result.axes, np.sign(result.decisions[fusion]), levels=1, alpha=0.25, cmap="coolwarm")
        for label, colour, marker in ((0, "#0072B2", "o"), (1, "#D55E00", "^")):
            axes.scatter(*result.points[result.labels == label].T, color=colour, marker=marker, s=25)
        axes.set_title(f"{fusion}, first draw")
