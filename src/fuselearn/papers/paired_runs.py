"""Every method on the same splits of a set, by its paper's name.

Public sets that stand in for the ones of the papers, which are not public.

S0 and S1: FERET faces (face, gender, glasses; 101 pictures) and CYGD yeast genes (100 genes). S3: VisTex textures.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.data import resolve_views
from fuselearn.datasets import fetch_glasses_views, fetch_views, load_digit_views, load_face_views
from fuselearn.evaluation.cells import ONE_VIEW, Protocol, Task, run_cell
from fuselearn.evaluation.statistics import interval
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.papers.verdicts import Pair, reason

LABELS_OF_ONE_VIEW = "one view's labels"


@dataclass(frozen=True)
class ViewSet:
    """Objects in several views.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_objects, n_columns)
    y : ndarray of shape (n_objects,)
    views : dict of name to int ndarray
    groups : ndarray of shape (n_objects,) or None
        Who is on a picture: no one is both trained and tested on.
    components : bool
        Whether columns are principal components. To standardise these would blow up their noise: it brings the vote of
        SVMs on the Olivetti glasses from 0.90 down to 0.77.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    views: dict
    groups: np.ndarray | None = None
    components: bool = False

    def svm(self):
        """A support vector machine for a view: RBF kernel, C = 1, columns standardised but for components."""
        return SVC() if self.components else make_pipeline(StandardScaler(), SVC())


@dataclass(frozen=True)
class GroupsApart(Protocol):
    """Repeated splits that put all rows of a group on one side."""

    groups: np.ndarray | None = None

    def splits(self, y, run, seed):
        """One split of a run; both sides have all classes."""
        state = (seed + 7919 * run) % 2**32
        drawn = GroupShuffleSplit(100, train_size=self.train_size, random_state=state).split(y, y, self.groups)
        n_classes = len(np.unique(y))
        return [next((a, b) for a, b in drawn if len(np.unique(y[a])) == len(np.unique(y[b])) == n_classes)]


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
    by_method: dict
    test_share: float

    def pair(self, first, second, where=None):
        """Two methods, to be judged."""
        return Pair(where or self.where, self.by_method[first], self.by_method[second], self.test_share)

    def mean(self, method):
        """Mean accuracy, or None where the method has not been run."""
        return float(self.by_method[method].mean()) if method in self.by_method else None

    def half_width(self, method):
        """Half of the 95 % interval of the mean."""
        low, high = interval(self.by_method[method], self.test_share)
        return (high - low) / 2


def score_methods(data, methods, *, runs, effort, noise=0.0, noise_views="all", train_size=0.6, rounds=150):
    """Fit and score methods on random splits of a set.

    Parameters
    ----------
    data : ViewSet
    methods : list of Method
    runs : int
    effort : Effort
        Its seed and its processes. Splits are the same for any noise.
    noise : float, default=0
        Share of the training labels that is flipped, independently for each view.
    noise_views : "all" or list of int, default="all"
    train_size : float, default=0.6
    rounds : int, default=150

    Returns
    -------
    Scores
    """
    settings = {"runs": runs, "train_size": train_size, "n_estimators": rounds}
    protocol = Protocol(**settings) if data.groups is None else GroupsApart(**settings, groups=data.groups)
    task = Task(data.X, data.y, data.views, None, protocol, noise, noise_views, False, "accuracy", effort.seed)
    cells = Parallel(n_jobs=effort.n_jobs)(delayed(_one_run)(task, methods, run) for run in range(runs))
    by_method = {name: np.array([cell[name] for cell in cells]) for name in cells[0]}
    return Scores(data.name, by_method, protocol.test_share)


def mean_of(several):
    """Scores of the same methods and splits under several conditions, averaged run by run."""
    names = several[0].by_method
    averaged = {name: np.mean([scores.by_method[name] for scores in several], axis=0) for name in names}
    return Scores(several[0].where, averaged, several[0].test_share)


def _one_run(task, methods, run):
    scores = {}
    with warnings.catch_warnings():
        # With so many wrong labels some view beats chance not even once. It then guesses, and that counts.
        warnings.simplefilter("ignore", NoEdgeWarning)
        for method in methods:
            for kind in task.kinds(method):
                name = f"{method.name}, {LABELS_OF_ONE_VIEW}" if kind == ONE_VIEW else method.name
                scores[name] = float(np.mean(run_cell(task, method, kind, run)["scores"]))
    return scores


STANDS_FOR = {
    "faces": "FERET, faces against blacked-out faces: scikit-image's 100 faces and 100 pieces of backgrounds; "
    "eigenfaces, Canny edges and wavelets instead of three poses",
    "glasses": "FERET, glasses: the 400 Olivetti faces with S0's own three views, people kept apart",
    "breast_tcga": "CYGD, membrane proteins: 150 tumours, subtype LumA against the others, in mRNA, miRNA and protein",
    "mfeat": "no set of the papers (the usual multi-view set): 2,000 digits, 5 or more against less, six views",
    "digits": "no set of the papers: scikit-learn's digits, 5 or more against less, four views",
}
"""What each set of the noise studies is, and what it stands for. Nothing stands in for FERET's gender task."""


def noise_sets(*, most_rows=None, whole=()):
    """The sets that are there, and why the others are not.

    Parameters
    ----------
    most_rows : int or None, default=None
        Objects to draw, in proportion to the classes, where a set has more.
    whole : sequence of str, default=()
        Sets to leave whole.

    Returns
    -------
    sets : list of ViewSet
    missing : dict of name to str
    """
    sets, missing = [], {}
    for name, load in LOADERS.items():
        try:
            data = _loaded(load)
        # OSError: neither in the folder nor to be fetched. ImportError: scikit-image or PyWavelets is not installed.
        except (OSError, ImportError) as error:
            missing[name] = reason(error)
            continue
        sets.append(data if most_rows is None or name in whole else drawn(data, most_rows))
    return sets, missing


@cache
def _loaded(load):
    # Several experiments have the same sets, and describing 400 faces takes seconds.
    return load()


def drawn(data, most_rows, seed=0):
    """A part of a set, each class in proportion. Sets whose rows come in groups stay whole."""
    if len(data.y) <= most_rows or data.groups is not None:
        return data
    generator = np.random.default_rng(seed)
    share = most_rows / len(data.y)
    rows = np.concatenate(
        [
            generator.permutation(np.flatnonzero(data.y == label))[: round(share * np.sum(data.y == label))]
            for label in np.unique(data.y)
        ]
    )
    rows.sort()
    return replace(data, X=data.X[rows], y=data.y[rows])


def view_set(name, data, y, groups=None, *, components=False):
    """A set of :mod:`fuselearn.datasets` with labels of one's own."""
    names, columns = resolve_views(data.views, data.X, data.X.shape[1])
    return ViewSet(name, data.X, np.asarray(y), dict(zip(names, columns)), groups, components)


def _faces():
    data = load_face_views()
    return view_set("faces", data, data.y, components=True)


def _glasses():
    data = fetch_glasses_views()
    return view_set("glasses", data, data.y, data.groups, components=True)


def _breast_tcga():
    data = fetch_views("breast_tcga")
    return view_set("breast_tcga", data, data.y == "LumA")


def _mfeat():
    data = fetch_views("mfeat")
    return view_set("mfeat", data, data.y.astype(int) >= 5)


def _digits():
    data = load_digit_views()
    return view_set("digits", data, data.y >= 5)


LOADERS = {"faces": _faces, "glasses": _glasses, "breast_tcga": _breast_tcga, "mfeat": _mfeat, "digits": _digits}
