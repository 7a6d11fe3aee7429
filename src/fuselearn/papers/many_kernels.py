"""Nine kernels whose objects are not matched: footballers and clubs, in the place of S4's six kernels of music (§4.3).

S4's kernels of CAL500 are not public. `football_kernels` has nine relations between 248 accounts; clubs are merged to
two classes, ten against ten, dealt anew in each trial. Two folds, as S4 has them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from fuselearn.arguments import check_count, check_jobs
from fuselearn.data import stack_unpaired
from fuselearn.datasets import fetch_views
from fuselearn.evaluation.result_table import Table
from fuselearn.kernels import AugmentedKernelClassifier, GramLookup, MKLClassifier, TomographicClassifier
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.papers.verdicts import MARGIN, Effort, Outcome, Pair, judge
from fuselearn.typing import FloatArray, IntArray, RandomState

AVERAGE = "average of single kernels"
FUSIONS = ("tomographic", "cartesian", "augmented", AVERAGE, "true matches")
TEST_SHARE = 1.0
CLAIMS = {
    "augmented": "S4 §4.3, nine kernels: tomographic fusion is better than the augmented kernel",
    "singles": "S4 §4.3, nine kernels: tomographic fusion is better than the average of single kernels",
    "true": f"S4 §4.3, nine kernels: tomographic fusion is as good as true matches, within {MARGIN:g}",
    "order": "S4 §3, nine kernels: the tomographic order is better than pairing at random within the class",
}


@dataclass(frozen=True)
class ManyKernels:
    """Accuracies of every trial, each the mean of its two folds.

    Attributes
    ----------
    fusions : tuple of str
        Names along the last axis.
    test : ndarray of shape (n_trials, n_fusions)
        Share of the whole test objects that are classified rightly.
    """

    fusions: tuple[str, ...]
    test: FloatArray

    def table(self) -> Table:
        """Return the accuracy in % and its deviation over the trials."""
        rows = [
            (fusion, values.mean(), values.std(ddof=1) if len(values) > 1 else None)
            for fusion, values in zip(self.fusions, 100 * self.test.T)
        ]
        return Table(
            "Nine kernels of football accounts, not matched: accuracy in %",
            ("fusion", "test", "± test"),
            rows,
            f"{len(self.test)} trials of two folds, ten clubs against ten others, C = 1. True matches: an SVM on the "
            "mean kernel.",
            {"test": 2, "± test": 2},
        )


def run(effort: Effort) -> Outcome:
    """Test S4's §4.3 on nine kernels."""
    result = many_kernels(trials=effort.count(full=20, quick=2), n_jobs=effort.n_jobs, random_state=effort.seed)
    by_fusion = dict(zip(result.fusions, result.test.T))

    def pairs(rival: str) -> list[Pair]:
        return [Pair("football_kernels", by_fusion["tomographic"], by_fusion[rival], TEST_SHARE)]

    findings = [
        judge(CLAIMS["augmented"], pairs("augmented")),
        judge(CLAIMS["singles"], pairs(AVERAGE)),
        judge(CLAIMS["true"], pairs("true matches"), margin=MARGIN),
        judge(CLAIMS["order"], pairs("cartesian")),
    ]
    return Outcome([result.table()], findings)


def many_kernels(*, trials: int = 20, n_jobs: int | None = None, random_state: RandomState = 0) -> ManyKernels:
    """Classify accounts after training on nine kernels whose accounts are not matched.

    Parameters
    ----------
    trials : int, default=20
        Number of deals of the clubs into two classes, each with a cross-validation of two folds.
    n_jobs : int, default=None
        Number of processes. The result is the same for any.
    random_state : int, RandomState or None, default=0
        Seed of deals, folds and fusions.

    Returns
    -------
    ManyKernels
        Accuracies of every trial.
    """
    check_count("trials", trials)
    check_jobs(n_jobs)
    data = fetch_views("football_kernels")
    kernels = np.asarray(data.kernels, dtype=np.float64)
    clubs = np.unique(data.y, return_inverse=True)[1]
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=trials)
    results = Parallel(n_jobs=n_jobs)(delayed(_trial)(kernels, clubs, seed) for seed in seeds)
    return ManyKernels(FUSIONS, np.array(results))


# One thread for matrix products: their last bits depend on the number, and processes have fewer than their parent.
@single_threaded_blas()
def _trial(kernels: FloatArray, clubs: IntArray, seed: int) -> FloatArray:
    """Return the test accuracy of each fusion, mean of two folds."""
    generator = np.random.RandomState(seed)
    n_clubs = clubs.max() + 1
    first = generator.permutation(n_clubs)[: n_clubs // 2]
    y = np.isin(clubs, first).astype(int)
    folds = StratifiedKFold(2, shuffle=True, random_state=generator).split(clubs, clubs)
    seeds = generator.randint(2**31, size=2)
    accuracies = [_fold(kernels, y, train, test, int(seed)) for (train, test), seed in zip(folds, seeds)]
    return np.mean(accuracies, axis=0)


def _fold(kernels: FloatArray, y: IntArray, train: IntArray, test: IntArray, seed: int) -> FloatArray:
    """Return the test accuracy of each fusion."""
    n_views = len(kernels)
    # A view is one column of object numbers, which a kernel looks up.
    whole = np.tile(np.arange(len(y), dtype=float)[:, None], n_views)
    views = {f"k{number + 1}": [number] for number in range(n_views)}
    lookups = dict(zip(views, map(GramLookup, kernels)))
    generator = np.random.RandomState(seed)
    orders = [generator.permutation(train) for _ in views]
    X, _, labels = stack_unpaired([(order[:, None].astype(float), y[order]) for order in orders])
    common: dict[str, Any] = {"views": views, "kernel": lookups}
    unmatched = {
        "tomographic": TomographicClassifier(**common, random_state=seed),
        "cartesian": TomographicClassifier(**common, correspondence="cartesian", random_state=seed),
        "augmented": AugmentedKernelClassifier(**common),
    }
    accuracies = {name: model.fit(X, labels).score(whole[test], y[test]) for name, model in unmatched.items()}
    matched = [MKLClassifier(**common)]
    matched += [MKLClassifier(views={name: views[name]}, kernel={name: lookups[name]}) for name in views]
    scores = [model.fit(whole[train], y[train]).score(whole[test], y[test]) for model in matched]
    accuracies |= {"true matches": scores[0], AVERAGE: float(np.mean(scores[1:]))}
    return np.array([accuracies[fusion] for fusion in FUSIONS])
