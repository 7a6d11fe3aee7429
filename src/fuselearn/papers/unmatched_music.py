"""Songs whose descriptions are not matched: tags of CAL500 from two views (S4 §4.3).

S4's six kernels (probability products of mixture models, chroma, web documents, social tags) are not public. The
features that are, 52 of mel cepstra and 16 spectral ones, make two views. So the numbers here cannot be those of S4;
what can be compared is how the fusions stand to each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale
from sklearn.utils import check_random_state

from fuselearn.arguments import check_count, check_jobs
from fuselearn.datasets import fetch_views
from fuselearn.evaluation.result_table import Cell, Table
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.papers.unmatched_halves import FUSIONS, fusion_accuracies
from fuselearn.papers.verdicts import MARGIN, UNTESTED, Effort, Finding, Outcome, Pair, judge
from fuselearn.typing import FloatArray, IntArray, RandomState

TAGS = ("Instrument_-_Male_Lead_Vocals", "Emotion-Powerful-Strong")
AVERAGE = "average of single views"
TEST_SHARE = 1.0
"""Two folds: as many rows to test on as to train on."""
CLAIMS = {
    "six": "S4 §4.3: with six kernels, tomographic fusion is above the augmented kernel and single kernels",
    "augmented": "Two views in their place: tomographic fusion is better than the augmented kernel",
    "singles": "Two views in their place: tomographic fusion is better than the average of single views",
    "true": f"Two views in their place: tomographic fusion is as good as true matches, within {MARGIN:g}",
    "order": "S4 §3: the tomographic order is better than pairing at random within the class",
}
SIX = "S4's six kernels are not public, and two views cannot test a claim about six; see many-kernels."
# Test accuracy and its standard deviation over 100 trials, in %; all training accuracies are 100.
S4_TEST = {
    "Instrument_-_Male_Lead_Vocals": {
        "tomographic, S4's way": (64.70, 0.80),
        "augmented, views apart": (63.67, 0.86),
        AVERAGE: (63.70, 0.84),
    },
    "Emotion-Powerful-Strong": {
        "tomographic, S4's way": (66.55, 0.57),
        "augmented, views apart": (65.79, 0.51),
        AVERAGE: (65.79, 0.52),
    },
}


@dataclass(frozen=True)
class UnmatchedMusic:
    """Accuracies of every trial, each the mean of its two folds.

    Attributes
    ----------
    tags, fusions : tuple of str
        Names along the first and the last axis of the accuracies.
    test, train : ndarray of shape (n_tags, n_trials, n_fusions)
        Accuracy on whole test objects, and on the machine's own training items.
    majority : ndarray of shape (n_tags,)
        Share of the larger class: the accuracy of always predicting it.
    """

    tags: tuple[str, ...]
    fusions: tuple[str, ...]
    test: FloatArray
    train: FloatArray
    majority: FloatArray

    def table(self) -> Table:
        """Return the accuracy in % ± one standard deviation over the trials, beside S4's."""
        rows: list[tuple[Cell, ...]] = []
        for number, tag in enumerate(self.tags):
            rows.append((tag, "larger class", None, 100 * self.majority[number], None, None, None, None))
            for place, fusion in enumerate(self.fusions):
                test = 100 * self.test[number, :, place]
                spread = test.std(ddof=1) if len(test) > 1 else np.nan
                published = S4_TEST.get(tag, {}).get(fusion, (None, None))
                train = 100 * self.train[number, :, place].mean()
                rows.append((tag, fusion, train, test.mean(), spread, spread / len(test) ** 0.5, *published))
        columns = ("tag", "fusion", "train", "test", "± test", "standard error", "S4 test", "S4 ± test")
        return Table(
            "Unmatched music (CAL500): accuracy in %",
            columns,
            rows,
            f"{self.test.shape[1]} trials of two folds, RBF kernels, C = 1, views mfcc and spectral. S4's six kernels "
            "are not public, so its numbers are of other data about the same songs.",
            dict.fromkeys(columns[2:], 2),
        )


def run(effort: Effort) -> Outcome:
    """Rerun S4's §4.3."""
    result = unmatched_music(trials=effort.count(full=20, quick=3), n_jobs=effort.n_jobs, random_state=effort.seed)

    def pairs(second: str) -> list[Pair]:
        ours, theirs = (result.test[..., result.fusions.index(fusion)] for fusion in ("tomographic", second))
        return [Pair(*scores, TEST_SHARE) for scores in zip(result.tags, ours, theirs)]

    findings = [
        Finding(CLAIMS["six"], UNTESTED, SIX),
        judge(CLAIMS["augmented"], pairs("augmented")),
        judge(CLAIMS["singles"], pairs(AVERAGE)),
        judge(CLAIMS["true"], pairs("true matches"), margin=MARGIN),
        judge(CLAIMS["order"], pairs("cartesian")),
    ]
    return Outcome([result.table()], findings)


def unmatched_music(
    tags: Sequence[str] = TAGS, *, trials: int = 20, n_jobs: int | None = None, random_state: RandomState = 0
) -> UnmatchedMusic:
    """Tag songs after training on two views whose songs are not matched (S4 §4.3).

    Parameters
    ----------
    tags : sequence of str, default=those of S4
        Names of labels of ``fetch_views("cal500")``.
    trials : int, default=20
        Number of cross-validations of two folds; S4 has 100.
    n_jobs : int, default=None
        Number of processes. The result is the same for any.
    random_state : int, RandomState or None, default=0
        Seed of folds and fusions.

    Returns
    -------
    UnmatchedMusic
        Accuracies of every trial.

    Notes
    -----
    Columns are standardised over all songs, which looks at no label. The width of each view's RBF kernel follows from
    its variance, as in scikit-learn's SVC. For the fusions see
    :func:`~fuselearn.papers.unmatched_halves.unmatched_halves`.

    Examples
    --------
    >>> from fuselearn.papers.unmatched_music import unmatched_music
    >>> unmatched_music(trials=2).table().save("music.md")  # doctest: +SKIP
    """
    check_count("trials", trials)
    check_jobs(n_jobs)
    data = fetch_views("cal500")
    known = data.label_names.tolist()
    if isinstance(tags, str) or not (names := tuple(tags)) or not set(names) <= set(known):
        raise ValueError(f"tags must be names of labels of cal500, in a list, such as {list(TAGS)}; got {tags!r}.")
    X = scale(data.X)
    blocks = [X[:, data.views[view]] for view in ("mfcc", "spectral")]
    labels = [data.Y[:, known.index(name)] for name in names]
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=trials)
    results = Parallel(n_jobs=n_jobs)(delayed(_trial)(blocks, y, seed) for y in labels for seed in seeds)
    accuracies = np.array(results).reshape(len(names), trials, 2, len(FUSIONS)).transpose(2, 0, 1, 3)
    places = [FUSIONS.index(name) for name in ("half 1", "half 2")]
    average = accuracies[..., places].mean(axis=-1, keepdims=True)
    train, test = np.concatenate([accuracies, average], axis=-1)
    majority = np.array([max(y.mean(), 1 - y.mean()) for y in labels])
    return UnmatchedMusic(names, (*map(_name_of_view, FUSIONS), AVERAGE), test, train, majority)


def _name_of_view(fusion: str) -> str:
    """Return the name of a fusion here: the halves of a table are views."""
    return fusion.replace("half 1", "mfcc alone").replace("half 2", "spectral alone").replace("halves", "views")


# One thread for matrix products: their last bits depend on the number, and processes have fewer than their parent.
@single_threaded_blas()
def _trial(blocks: list[FloatArray], y: IntArray, seed: int) -> FloatArray:
    """Return the accuracies of one cross-validation, of shape (2, n_fusions)."""
    generator = np.random.RandomState(seed)
    folds = KFold(2, shuffle=True, random_state=generator).split(y)
    results = [fusion_accuracies(blocks, y, *fold, kernel="rbf", seed=generator.randint(2**31)) for fold in folds]
    return np.mean([accuracies for accuracies, _ in results], axis=0)
