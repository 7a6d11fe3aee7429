"""Six UCI sets whose columns are cut into halves that do not know each other's objects (S4 tables 1 and 2).

Each trial deals the columns into two views at random. The views' training objects are the same, but who is who is
forgotten: each view has its own rows, in its own order. Test objects are whole. Three-fold cross-validation, linear
kernels on features of the range ±1, C = 1, as in S4 §4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import KFold
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from fuselearn.arguments import check_choice, check_count, check_jobs
from fuselearn.data import stack_unpaired, stack_views
from fuselearn.datasets import fetch_views
from fuselearn.evaluation.result_table import Table
from fuselearn.kernels import AugmentedKernelClassifier, TomographicClassifier
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.papers.unmatched_halves_figures import plot_deficits, plot_halves, plot_trials, trend_finding
from fuselearn.papers.verdicts import MARGIN, Drawing, Effort, Outcome, Pair, judge, reason
from fuselearn.typing import AnyArray, FloatArray, IntArray, RandomState

DATASETS = ("ionosphere", "heart_statlog", "iris", "pima_diabetes", "sonar", "wine")
FUSIONS = (
    "tomographic",
    "tomographic, S4's way",
    "cartesian",
    "half 1",
    "half 2",
    "augmented",
    "augmented, halves apart",
    "true matches",
    "true matches, scaled",
)
WALKS = ("tomographic", "tomographic, S4's way")
"""Fusions that follow the tomographic order, as far as their limits on meta-objects let them."""
SPLITS = ("halves", "any size")
TEST_SHARE = 0.5
"""Three folds: half as many rows to test on as to train on. Trials share all rows."""
CLAIMS = {
    "true": f"S4 table 2: tomographic fusion is as good as true matches, within {MARGIN:g}",
    "way": f"S4 table 2: the same done S4's way, within {MARGIN:g}",
    "augmented": "S4 table 2: tomographic fusion is better than the augmented kernel",
    "apart": "S4 table 2: the same where halves of an object are decided apart, as S4 seems to have done",
    "half 1": "S4 table 2: fusion S4's way is better than feature set 1 alone",
    "half 2": "S4 table 2: fusion S4's way is better than feature set 2 alone",
    "train half 1": "S4 table 1: on its own training items, S4's way is better than feature set 1 alone on its own",
    "train half 2": "S4 table 1: on its own training items, S4's way is better than feature set 2 alone on its own",
    "train true": "S4 table 1: on its own training items, S4's way is better than true matches on theirs",
    "order": "S4 §3: the tomographic order is better than pairing at random within the class",
    "trend": "S4 §5, figure 12: the deficit does not fall with the distance of the classes, but rises",
}

# Columns of S4's tables, by our names. Its augmented column is the mean of its two single halves within 1.4 points in
# every row, which is what the machine gives that decides the halves of an object apart.
S4_COLUMNS = ("tomographic, S4's way", "half 1", "half 2", "augmented, halves apart", "true matches")
# Mean and standard deviation over 1400 trials, in %: tomographic, half 1, half 2, augmented, true matches.
S4_TRAIN = {  # S4 table 1
    "ionosphere": ((96.8, 1.1), (86.1, 8.1), (86.9, 7.2), (85.5, 3.9), (94.4, 1.2)),
    "heart_statlog": ((93.8, 1.9), (78.3, 7.4), (80.0, 6.0), (78.6, 2.8), (86.4, 1.7)),
    "iris": ((80.1, 5.7), (68.7, 3.9), (70.3, 4.1), (69.5, 2.2), (73.5, 3.1)),
    "pima_diabetes": ((81.9, 2.0), (70.8, 5.1), (72.6, 5.0), (71.1, 1.1), (77.9, 1.2)),
    "sonar": ((97.3, 1.3), (83.5, 8.6), (84.0, 8.0), (83.6, 3.6), (92.5, 1.9)),
    "wine": ((99.4, 0.6), (88.7, 11.7), (91.3, 9.5), (89.3, 5.0), (99.1, 0.7)),
}
S4_TEST = {  # S4 table 2
    "ionosphere": ((85.5, 3.1), (82.4, 7.2), (83.2, 6.5), (81.4, 4.7), (87.7, 2.6)),
    "heart_statlog": ((82.6, 3.5), (76.3, 7.9), (77.8, 6.5), (76.7, 3.7), (83.3, 3.3)),
    "iris": ((65.2, 7.2), (67.8, 6.1), (68.6, 6.2), (68.2, 5.8), (69.9, 6.3)),
    "pima_diabetes": ((74.8, 2.4), (70.1, 5.5), (71.7, 5.5), (70.6, 2.1), (76.8, 2.2)),
    "sonar": ((76.1, 4.7), (73.0, 6.8), (73.3, 6.3), (72.9, 4.6), (75.9, 4.5)),
    "wine": ((96.4, 2.6), (86.9, 12.3), (89.5, 10.1), (87.5, 5.5), (97.3, 2.1)),
}


@dataclass(frozen=True)
class UnmatchedHalves:
    """Accuracies of every fold of every trial.

    Attributes
    ----------
    datasets, fusions : tuple of str
        Names along the first and the last axis of the accuracies.
    split : str
        The way the columns were dealt into two views.
    test : ndarray of shape (n_datasets, n_trials, 3, n_fusions)
        Share of the whole test objects that are classified rightly.
    train : ndarray of shape (n_datasets, n_trials, 3, n_fusions)
        The same of the machine's own training items: meta-objects for tomographic and cartesian ("calculated in
        relation to the tomographically generated kernel matrices", S4 §4.2), objects for the others; of the augmented
        kernel, whole objects, and halves where these are decided separately.
    mahalanobis : ndarray of shape (n_datasets, n_trials)
        Distance of the class centroids, mean of the two halves.
    walks : ndarray of shape (n_datasets, n_trials, 3, 2, 2)
        For each of :data:`WALKS`: the share of the training objects that the walk reached, the others being put
        together at random, and the number of meta-objects for each object.
    """

    datasets: tuple[str, ...]
    fusions: tuple[str, ...]
    split: str
    test: FloatArray
    train: FloatArray
    mahalanobis: FloatArray
    walks: FloatArray

    def deficits(self, fusion: str = "tomographic") -> FloatArray:
        """Return true matches less a fusion, test accuracy of shape (n_datasets, n_trials) (S4 figure 12)."""
        check_choice("fusion", fusion, self.fusions)
        places = [self.fusions.index(name) for name in ("true matches", fusion)]
        means = self.test.mean(axis=2)
        return means[:, :, places[0]] - means[:, :, places[1]]

    def table(self) -> Table:
        """Return training and test accuracy in % with deviations, beside S4's (tables 1 and 2).

        The ± of S4 fits the deviation over single folds: that over trials is less than half of it. So ± is over folds,
        and the deviation over trials, each the mean of its folds, has a column of its own.
        """
        rows = []
        for number, dataset in enumerate(self.datasets):
            for place, fusion in enumerate(self.fusions):
                train, test = (100 * scores[number, :, :, place] for scores in (self.train, self.test))
                published: list[float | None] = [None] * 4
                if fusion in S4_COLUMNS:
                    column = S4_COLUMNS.index(fusion)
                    published = [*S4_TRAIN[dataset][column], *S4_TEST[dataset][column]]
                over_trials = _spread(test.mean(axis=1))
                means = train.mean(), _spread(train), test.mean(), _spread(test)
                rows.append((dataset, fusion, *means, over_trials, over_trials / len(test) ** 0.5, *published))
        columns = ("data set", "fusion", "train", "± train", "test", "± test", "± of trials", "standard error")
        theirs = ("S4 train", "S4 ± train", "S4 test", "S4 ± test")
        return Table(
            "Unmatched halves: accuracy in %",
            columns + theirs,
            rows,
            f"{self._protocol()} ± is the standard deviation over folds, as it seems to be in S4; ± of trials is "
            "that of the trials' test accuracies. The standard error is that of the mean test accuracy, over trials.",
            dict.fromkeys(columns[2:7] + theirs, 1) | {"standard error": 2},
        )

    def overview(self) -> Table:
        """Return the mean test accuracy in %: one row per data set, and their mean."""
        means = 100 * self.test.mean(axis=(1, 2))
        rows = [(dataset, *row) for dataset, row in zip(self.datasets, means)]
        rows.append(("mean", *means.mean(axis=0)))
        places = [self.fusions.index(name) for name in ("augmented, halves apart", "half 1", "half 2")]
        augmented, halves = means[:, places[0]], means[:, places[1:]].mean(axis=1)
        return Table(
            "Unmatched halves: mean test accuracy in %",
            ("data set", *self.fusions),
            rows,
            f"{self._protocol()} The augmented machine that decides halves apart is within "
            f"{np.abs(augmented - halves).max():.1f} points of the mean of the two halves on every set.",
            dict.fromkeys(self.fusions, 1),
        )

    def deficit_table(self, fusion: str = "tomographic") -> Table:
        """Return the cost of unmatched objects to a fusion, against the distance of the classes (S4 figure 12)."""
        rows = []
        deficits = 100 * self.deficits(fusion)
        for dataset, distances, deficit in zip(self.datasets, self.mahalanobis, deficits):
            rows.append((dataset, distances.mean(), deficit.mean(), _spread(deficit), _correlation(distances, deficit)))
        correlation = _correlation(self.mahalanobis.ravel(), deficits.ravel())
        rows.append(("all trials", self.mahalanobis.mean(), deficits.mean(), _spread(deficits), correlation))
        columns = ("data set", "Mahalanobis distance", "deficit", "± deficit", "correlation")
        return Table(
            f"Deficit against true matches, in points of test accuracy: {fusion}",
            columns,
            rows,
            f"{self._protocol()} The correlation is Pearson's, over trials, of distance and deficit.",
            dict.fromkeys(columns[1:], 2),
        )

    def walk_table(self) -> Table:
        """Return how many of the objects each walk reached, and how many meta-objects it made."""
        rows = [
            (dataset, walk, 100 * reached, n_meta)
            for dataset, of_set in zip(self.datasets, self.walks.mean(axis=(1, 2)))
            for walk, (reached, n_meta) in zip(WALKS, of_set)
        ]
        columns = ("data set", "fusion", "objects reached", "meta-objects per object")
        return Table(
            "How far the tomographic order is followed: objects reached, in %",
            columns,
            rows,
            f"{self._protocol()} Objects that the walk does not reach are put together at random within the class.",
            dict.fromkeys(columns[2:], 1),
        )

    def _protocol(self) -> str:
        """Return the trials and folds in words."""
        sizes = "two halves" if self.split == "halves" else "two sets of any size"
        return f"{self.test.shape[1]} trials, columns dealt into {sizes}; three folds; linear kernels, C = 1."


def run(effort: Effort) -> Outcome:
    """Rerun S4's tables 1 and 2, and figure 12."""
    trials = effort.count(full=20, quick=3)
    missing = {}
    for name in DATASETS:
        try:
            fetch_views(name)
        except OSError as error:
            missing[name] = reason(error)
    available = [name for name in DATASETS if name not in missing]
    result = unmatched_halves(available, trials=trials, n_jobs=effort.n_jobs, random_state=effort.seed)
    test, train = result.test.mean(axis=2), result.train.mean(axis=2)
    way = "tomographic, S4's way"

    def pairs(means: FloatArray, first: str, second: str) -> list[Pair]:
        ours, theirs = (means[..., result.fusions.index(fusion)] for fusion in (first, second))
        return [Pair(*scores, TEST_SHARE) for scores in zip(result.datasets, ours, theirs)]

    judged = (
        ("true", test, "tomographic", "true matches", MARGIN),
        ("way", test, way, "true matches", MARGIN),
        ("augmented", test, "tomographic", "augmented", 0.0),
        ("apart", test, "tomographic", "augmented, halves apart", 0.0),
        ("half 1", test, way, "half 1", 0.0),
        ("half 2", test, way, "half 2", 0.0),
        ("train half 1", train, way, "half 1", 0.0),
        ("train half 2", train, way, "half 2", 0.0),
        ("train true", train, way, "true matches", 0.0),
        ("order", test, "tomographic", "cartesian", 0.0),
    )
    findings = [
        *(
            judge(CLAIMS[claim], pairs(means, first, second), margin=margin)
            for claim, means, first, second, margin in judged
        ),
        trend_finding(CLAIMS["trend"], result),
    ]
    tables = [result.overview(), result.table(), result.deficit_table(), result.walk_table()]
    figures: dict[str, Drawing] = {
        "unmatched_halves": lambda figure: plot_halves(figure, result),
        "unmatched_trials": lambda figure: plot_trials(figure, result),
        "unmatched_deficits": lambda figure: plot_deficits(figure, result),
    }
    return Outcome(tables, findings, figures, missing)


def unmatched_halves(
    datasets: Sequence[str] = DATASETS,
    *,
    trials: int = 100,
    split: str = "halves",
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> UnmatchedHalves:
    """Classify whole objects after training on halves whose matches are forgotten (S4 §4.2).

    Parameters
    ----------
    datasets : sequence of str, default=the six of S4
        Of "ionosphere", "heart_statlog", "iris", "pima_diabetes", "sonar" and "wine", as
        :func:`~fuselearn.datasets.fetch_views` names them.
    trials : int, default=100
        Number of deals of the columns; S4 has 1400.
    split : {"halves", "any size"}, default="halves"
        The two views have equally many columns, up to one, or any number of them. S4 does not say which. With any
        number the single halves and the augmented column have S4's means and its large deviations.
    n_jobs : int, default=None
        Number of processes. The result is the same for any.
    random_state : int, RandomState or None, default=0
        Seed of deals, folds and fusions.

    Returns
    -------
    UnmatchedHalves
        Accuracies of every fold of every trial.

    Notes
    -----
    Classes are merged as in S4: Iris virginica into setosa, wine 3 into 1. Features are brought to ±1 over all objects
    of a set, before it is cut into folds, which looks at no label. Folds are plain ones, of any shares of the classes:
    with them, true matches are within half a point of S4's on all six sets, and so are their deviations; with folds
    that keep the classes' shares Iris is not.

    "tomographic" and "cartesian" are :class:`~fuselearn.TomographicClassifier` with its defaults; "tomographic, S4's
    way" neither scales kernels nor keeps marginals, and walks on until every object is in a meta-object. "true matches"
    is the same classifier on whole training objects without scaling, so a plain SVM on the sum of kernels, as S4 has
    it; "scaled" is with its defaults. Halves are scikit-learn's SVC. "augmented, halves apart" asks the augmented
    machine for each half of a test object on its own, and takes the mean of the two accuracies. S4's way is what takes
    long: its walk ends with about 130,000 meta-objects on pima, and each fold takes seconds.

    S4's Mahalanobis distance is "over the marginal features". Over single columns it would be the same in every trial,
    so it is taken in each half, with the pooled covariance of the classes over all objects.

    Examples
    --------
    >>> from fuselearn.papers.unmatched_halves import unmatched_halves
    >>> result = unmatched_halves(["wine"], trials=2)
    >>> result.test.shape
    (1, 2, 3, 9)
    >>> print(result.table().columns[:3])
    ('data set', 'fusion', 'train')
    """
    if isinstance(datasets, str) or not (names := tuple(datasets)) or not set(names) <= set(DATASETS):
        raise ValueError(f"datasets must be names from {list(DATASETS)}, in a list; got {datasets!r}.")
    check_count("trials", trials)
    check_choice("split", split, SPLITS)
    check_jobs(n_jobs)
    tables = [_two_classes(name) for name in names]
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=trials)
    # Trial by trial over the sets, so that a set that takes long does not leave processes idle at the end.
    tasks = (delayed(_trial)(X, y, split, seed) for seed in seeds for X, y in tables)
    results = Parallel(n_jobs=n_jobs)(tasks)
    accuracies = np.array([accuracy for accuracy, _, _ in results])
    accuracies = accuracies.reshape(trials, len(names), 3, 2, len(FUSIONS)).transpose(3, 1, 0, 2, 4)
    distances = np.array([distance for _, distance, _ in results]).reshape(trials, len(names)).T
    walks = np.array([walk for _, _, walk in results]).reshape(trials, len(names), 3, len(WALKS), 2).swapaxes(0, 1)
    return UnmatchedHalves(names, FUSIONS, split, accuracies[1], accuracies[0], distances, walks)


def fusion_accuracies(
    blocks: list[FloatArray], y: AnyArray, train: IntArray, test: IntArray, *, kernel: str, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return training and test accuracy of each of :data:`FUSIONS` for two views, of shape (2, n_fusions).

    The objects to train on lose their matches; those to test on are whole. Also returned, for each of :data:`WALKS`:
    the share of objects that it reached, and the number of meta-objects per object.
    """
    whole, views = stack_views(blocks)
    X_train, _, y_train = stack_unpaired(_shuffled(blocks, y, train, seed))
    models = {
        "tomographic": TomographicClassifier(views=views, kernel=kernel, random_state=seed),
        "tomographic, S4's way": TomographicClassifier(
            views=views,
            kernel=kernel,
            scale_kernels=False,
            keep_marginals=False,
            max_meta_objects=np.inf,
            random_state=seed,
        ),
        "cartesian": TomographicClassifier(views=views, kernel=kernel, correspondence="cartesian", random_state=seed),
    }
    scores: dict[str, tuple[float, ...]] = {}
    for name, model in models.items():
        model.fit(X_train, y_train)
        meta_rows = meta_object_rows(model, X_train)
        scores[name] = model.score(meta_rows, model.meta_labels_), model.score(whole[test], y[test])

    singles = []
    for number, block in enumerate(blocks, start=1):
        half = SVC(kernel=kernel).fit(block[train], y[train])
        scores[f"half {number}"] = half.score(block[train], y[train]), half.score(block[test], y[test])
        singles.append(np.hstack([other if other is block else np.full_like(other, np.nan) for other in blocks]))

    # S4's linear kernel is about the origin, and "linear" about the means of the training rows.
    as_given = linear_kernel if kernel == "linear" else kernel
    augmented = AugmentedKernelClassifier(views=views, kernel=as_given).fit(X_train, y_train)
    scores["augmented"] = tuple(augmented.score(whole[rows], y[rows]) for rows in (train, test))
    scores["augmented, halves apart"] = tuple(
        float(np.mean([augmented.score(single[rows], y[rows]) for single in singles])) for rows in (train, test)
    )

    for name, scaled in (("true matches", False), ("true matches, scaled", True)):
        model = TomographicClassifier(views=views, kernel=kernel, scale_kernels=scaled, keep_marginals=scaled)
        model.fit(whole[train], y[train])
        scores[name] = tuple(model.score(whole[rows], y[rows]) for rows in (train, test))
    walks = [
        (models[name].n_reached_.sum() / (len(train) * len(blocks)), len(models[name].meta_objects_) / len(train))
        for name in WALKS
    ]
    return np.array([scores[name] for name in FUSIONS]).T, np.array(walks)


def meta_object_rows(model: TomographicClassifier, X: FloatArray) -> FloatArray:
    """Return the meta-objects of a fitted TomographicClassifier as whole rows, put together from the rows of `X`."""
    rows = np.empty((len(model.meta_objects_), X.shape[1]))
    for columns, objects in zip(model.view_columns_, model.meta_objects_.T):
        rows[:, columns] = X[np.ix_(objects, columns)]
    return rows


def _shuffled(blocks: list[FloatArray], y: AnyArray, rows: IntArray, seed: int) -> list[tuple[FloatArray, AnyArray]]:
    """Return each view's own rows and labels, in its own order."""
    generator = np.random.RandomState(seed)
    orders = [generator.permutation(rows) for _ in blocks]
    return [(block[order], y[order]) for block, order in zip(blocks, orders)]


def _two_classes(name: str) -> tuple[FloatArray, IntArray]:
    """Return a set with its columns in the range ±1 and its classes merged to two."""
    data = fetch_views(name)
    y = np.unique(data.y, return_inverse=True)[1]
    if name in ("iris", "wine"):
        y = np.where(y == 2, 0, y)
    return minmax_scale(data.X, (-1, 1)), y


# One thread for matrix products: their last bits depend on the number, and processes have fewer than their parent.
@single_threaded_blas()
def _trial(X: FloatArray, y: IntArray, split: str, seed: int) -> tuple[list[FloatArray], float, list[FloatArray]]:
    """Return each fold's accuracies, the classes' distance, and each fold's walks, of one deal of columns."""
    generator = np.random.RandomState(seed)
    order = generator.permutation(X.shape[1])
    size = X.shape[1] // 2 if split == "halves" else generator.randint(1, X.shape[1])
    blocks = [X[:, order[:size]], X[:, order[size:]]]
    folds = KFold(3, shuffle=True, random_state=generator).split(X)
    results = [fusion_accuracies(blocks, y, *fold, kernel="linear", seed=generator.randint(2**31)) for fold in folds]
    accuracies, walks = ([result[part] for result in results] for part in range(2))
    return accuracies, float(np.mean([_centroid_distance(block, y) for block in blocks])), walks


def _centroid_distance(X: FloatArray, y: IntArray) -> float:
    """Return the Mahalanobis distance of two classes' centroids under their pooled covariance."""
    by_class = [X[y == code] for code in np.unique(y)]
    centred = np.vstack([rows - rows.mean(axis=0) for rows in by_class])
    covariance = np.atleast_2d(np.cov(centred, rowvar=False))
    gap = by_class[1].mean(axis=0) - by_class[0].mean(axis=0)
    # A pseudo-inverse: the ionosphere has a column that never changes.
    return float(np.sqrt(gap @ np.linalg.pinv(covariance, hermitian=True) @ gap))


def _spread(values: FloatArray) -> float:
    """Return the standard deviation, NaN for one value."""
    return float(np.std(values, ddof=1)) if np.size(values) > 1 else np.nan


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Return Pearson's correlation, NaN where there is none."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.nan
    return float(np.corrcoef(first, second)[0, 1])
