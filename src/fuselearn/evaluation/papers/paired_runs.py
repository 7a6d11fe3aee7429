"""Every method on the same splits of a set, by its paper's name."""

import warnings
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.evaluation.cells import ONE_VIEW, Task, run_cell
from fuselearn.evaluation.papers.verdicts import Pair
from fuselearn.evaluation.protocols import Protocol
from fuselearn.evaluation.statistics import interval
from fuselearn.exceptions import NoEdgeWarning

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
