"""Every method on the same splits of a set, by its paper's name, and the public sets that stand in for the papers' own.

S0 and S1 have FERET faces (face, gender, glasses; 101 pictures) and CYGD yeast genes (100 genes), S3 has VisTex
textures; none of these is public.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import Bunch

from fuselearn.data import resolve_views
from fuselearn.datasets import fetch_glasses_views, fetch_views, load_digit_views, load_face_views
from fuselearn.evaluation.cells import ONE_VIEW, Protocol, Task, run_cell
from fuselearn.evaluation.leaderboard import half_interval
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.papers.verdicts import Effort, Pair, reason
from fuselearn.registry import Method
from fuselearn.typing import AnyArray, ArrayLike, Classifier, FloatArray, IntArray

LABELS_OF_ONE_VIEW = "one view's labels"
STANDS_FOR = {
    "faces": "FERET, faces against blacked-out faces: scikit-image's 100 faces and 100 pieces of backgrounds; "
    "eigenfaces, Canny edges and wavelets instead of three poses",
    "glasses": "FERET, glasses: the 400 Olivetti faces with S0's own three views, people kept apart",
    "breast_tcga": "CYGD, membrane proteins: 150 tumours, subtype LumA against the others, in mRNA, miRNA and protein",
    "mfeat": "no set of the papers (the usual multi-view set): 2,000 digits, 5 or more against less, six views",
    "digits": "no set of the papers: scikit-learn's digits, 5 or more against less, four views",
}
"""Description of each set of the noise studies, and what it stands for. Nothing stands in for FERET's gender task."""


@dataclass(frozen=True)
class ViewSet:
    """Objects in several views.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_objects, n_columns)
    y : ndarray of shape (n_objects,)
    views : dict of name to int ndarray
    groups : int ndarray of shape (n_objects,) or None
        The person on each picture: nobody is both trained and tested on.
    components : bool
        True where columns are principal components. To standardise these would blow up their noise: it brings the vote
        of SVMs on the Olivetti glasses from 0.90 down to 0.77.
    """

    name: str
    X: FloatArray
    y: AnyArray
    views: dict[str, IntArray]
    groups: IntArray | None = None
    components: bool = False

    def svm(self) -> Classifier:
        """Return a support vector machine for a view: RBF kernel, C = 1, columns standardised but for components."""
        return SVC() if self.components else make_pipeline(StandardScaler(), SVC())


@dataclass(frozen=True)
class Scores:
    """Accuracies of methods on the same splits.

    Attributes
    ----------
    where : str
    by_method : dict of str to ndarray of shape (n_runs,)
        A method that takes one label column has been trained on the majority of the views' labels; with ", one view's
        labels" behind its name, on those of the first view.
    test_share : float
    """

    where: str
    by_method: dict[str, FloatArray]
    test_share: float

    def pair(self, first: str, second: str, where: str | None = None) -> Pair:
        """Return two methods, to be judged."""
        return Pair(where or self.where, self.by_method[first], self.by_method[second], self.test_share)

    def mean(self, method: str) -> float | None:
        """Return the mean accuracy, or None where the method has not been run."""
        return float(self.by_method[method].mean()) if method in self.by_method else None

    def half_width(self, method: str) -> float | None:
        """Return half of the 95 % interval of the mean, or None where the method has not been run."""
        return half_interval(self.by_method[method], self.test_share) if method in self.by_method else None


def score_methods(
    data: ViewSet,
    methods: Sequence[Method],
    *,
    runs: int,
    effort: Effort,
    noise: float = 0.0,
    noise_views: Literal["all"] | list[int] = "all",
    train_size: float = 0.6,
    rounds: int = 150,
) -> Scores:
    """Fit and score methods on random splits of a set, which are the same for any share of flipped labels.

    Groups of rows are kept together. Methods do not get them: the papers' methods know of none.
    """
    protocol = Protocol(runs=runs, train_size=train_size, n_estimators=rounds)
    task = Task(
        data.X,
        data.y,
        data.views,
        None,
        protocol,
        noise,
        noise_views,
        noise_shared=False,
        scoring="accuracy",
        seed=effort.seed,
        groups=data.groups,
        groups_in_fit=False,
    )
    cells = Parallel(n_jobs=effort.n_jobs)(delayed(_run_scores)(task, methods, run) for run in range(runs))
    by_method = {name: np.array([cell[name] for cell in cells]) for name in cells[0]}
    return Scores(data.name, by_method, protocol.test_share)


def mean_of(conditions: Sequence[Scores]) -> Scores:
    """Return the scores of the same methods and splits under several conditions, averaged run by run."""
    first = conditions[0]
    averaged = {name: np.mean([scores.by_method[name] for scores in conditions], axis=0) for name in first.by_method}
    return Scores(first.where, averaged, first.test_share)


def noise_sets(*, most_rows: int | None = None, whole: Sequence[str] = ()) -> tuple[list[ViewSet], dict[str, str]]:
    """Return the sets of the noise studies that can be loaded, and why the others cannot.

    Where a set has more than `most_rows` objects and is not named in `whole`, so many are drawn.
    """
    sets, missing = [], {}
    for name, load in LOADERS.items():
        try:
            data = _loaded(load)
        # OSError: neither in the folder nor to be fetched. ImportError: scikit-image or PyWavelets is not installed.
        except (OSError, ImportError) as error:
            missing[name] = reason(error)
            continue
        sets.append(data if most_rows is None or name in whole else subsample(data, most_rows))
    return sets, missing


def subsample(data: ViewSet, most_rows: int, seed: int = 0) -> ViewSet:
    """Return a subsample of a set, each class in proportion; of rows in groups, whole groups in random order."""
    if len(data.y) <= most_rows:
        return data
    generator = np.random.default_rng(seed)
    if data.groups is not None:
        names, sizes = np.unique(data.groups, return_counts=True)
        order = generator.permutation(len(names))
        kept = names[order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), most_rows)) + 1)]]
        rows = np.flatnonzero(np.isin(data.groups, kept))
        return replace(data, X=data.X[rows], y=data.y[rows], groups=data.groups[rows])
    share = most_rows / len(data.y)
    rows = np.concatenate(
        [
            generator.permutation(np.flatnonzero(data.y == label))[: round(share * np.sum(data.y == label))]
            for label in np.unique(data.y)
        ]
    )
    rows.sort()
    return replace(data, X=data.X[rows], y=data.y[rows])


def view_set(
    name: str, data: Bunch, y: ArrayLike, groups: IntArray | None = None, *, components: bool = False
) -> ViewSet:
    """Return a set of :mod:`fuselearn.datasets` with other labels."""
    names, columns = resolve_views(data.views, data.X, data.X.shape[1])
    return ViewSet(name, data.X, np.asarray(y), dict(zip(names, columns)), groups, components)


def _run_scores(task: Task, methods: Sequence[Method], run: int) -> dict[str, float]:
    """Return the accuracy of each method in a run, for each kind of labels that it is trained on."""
    scores = {}
    with warnings.catch_warnings():
        # With so many wrong labels some view beats chance not even once. It then guesses, and that counts.
        warnings.simplefilter("ignore", NoEdgeWarning)
        for method in methods:
            for kind in task.kinds(method):
                name = f"{method.name}, {LABELS_OF_ONE_VIEW}" if kind == ONE_VIEW else method.name
                scores[name] = float(np.mean(run_cell(task, method, kind, run)["scores"]))
    return scores


@cache
def _loaded(load: Callable[[], ViewSet]) -> ViewSet:
    """Load a set once: several experiments have the same sets, and describing 400 faces takes seconds."""
    return load()


def _faces() -> ViewSet:
    """Return faces against backgrounds."""
    data: Bunch = load_face_views()
    return view_set("faces", data, data.y, components=True)


def _glasses() -> ViewSet:
    """Return faces with glasses against faces without."""
    data = fetch_glasses_views()
    return view_set("glasses", data, data.y, data.groups, components=True)


def _breast_tcga() -> ViewSet:
    """Return tumours of subtype LumA against the others."""
    data = fetch_views("breast_tcga")
    return view_set("breast_tcga", data, data.y == "LumA")


def _mfeat() -> ViewSet:
    """Return handwritten digits, 5 or more against less, in six views."""
    data = fetch_views("mfeat")
    return view_set("mfeat", data, data.y.astype(int) >= 5)


def _digits() -> ViewSet:
    """Return scikit-learn's digits, 5 or more against less, in four views."""
    data: Bunch = load_digit_views()
    return view_set("digits", data, data.y >= 5)


LOADERS = {"faces": _faces, "glasses": _glasses, "breast_tcga": _breast_tcga, "mfeat": _mfeat, "digits": _digits}
