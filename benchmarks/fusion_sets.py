"""Sets, splits and wrong labels that `fusion.py` compares methods on.

A set is one task of two classes, or several that are averaged. All are prepared alike: at most 500 objects, 60 of 100
to train on, views standardised, and those of more than 100 columns reduced to the principal components of 95 % of the
variance. Both are learnt from the training rows.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.command_line import progress
from fuselearn import add_label_noise
from fuselearn.datasets import fetch_glasses_views, fetch_views, load_digit_views, load_face_views
from fuselearn.evaluation.cells import majority_labels

MOST_OBJECTS, TRAIN_SHARE = 500, 0.6
TEST_BY_TRAIN = (1 - TRAIN_SHARE) / TRAIN_SHARE
MOST_COLUMNS, KEPT_VARIANCE = 100, 0.95
FLIPPED = 0.3
REGIMES = ("clean", "common", "own")
"""Wrong labels: none, the same ones in all views, or others in each view."""
LEAST_OF_A_CLASS = 10
"""Objects of each class on both sides of a split by person, of which some would have hardly any glasses."""


@dataclass(frozen=True)
class Objects:
    """A task of two or more classes: tables by view, classes from 0, and groups of rows that stay together."""

    tables: dict
    y: np.ndarray
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class Split:
    """Training and test rows of a task, prepared; labels are the true ones. Groups are those of the training rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    views: dict
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class Labels:
    """Labels that a method gets: one column for all views, a column per view where they differ, and groups of rows."""

    single: np.ndarray
    per_view: np.ndarray | None = None
    groups: np.ndarray | None = None


def split(objects, run, most_objects=MOST_OBJECTS, reduce=True):
    """Draw the objects and the training rows of a run, and prepare the views.

    Parameters
    ----------
    objects : Objects
    run : int
        Seeds the draws.
    most_objects : int, default=500
    reduce : bool, default=True
        Whether views of many columns are reduced to principal components; all are standardised.

    Returns
    -------
    Split
    """
    drawn = np.arange(len(objects.y))
    if len(drawn) > most_objects:
        drawn, _ = train_test_split(drawn, train_size=most_objects, stratify=objects.y, random_state=run)
    y = objects.y[drawn]
    if objects.groups is None:
        train, test = train_test_split(np.arange(len(y)), train_size=TRAIN_SHARE, stratify=y, random_state=run)
    else:
        train, test = _split_by_group(y, objects.groups[drawn], run)
    blocks, views, start = [], {}, 0
    for name, table in objects.tables.items():
        block = _prepared(table[drawn], train, reduce)
        blocks.append(block)
        views[name] = slice(start, start + block.shape[1])
        start += block.shape[1]
    X = np.hstack(blocks)
    groups = None if objects.groups is None else objects.groups[drawn][train]
    return Split(X[train], y[train], X[test], y[test], views, groups)


def _split_by_group(y, groups, run):
    for attempt in range(100):
        splitter = GroupShuffleSplit(1, train_size=TRAIN_SHARE, random_state=100 * run + attempt)
        train, test = next(splitter.split(y, y, groups))
        if min(np.bincount(y[rows], minlength=y.max() + 1).min() for rows in (train, test)) >= LEAST_OF_A_CLASS:
            return train, test
    raise RuntimeError(f"No split of run {run} has {LEAST_OF_A_CLASS} objects of each class on both sides.")


def _prepared(table, train, reduce):
    steps = [StandardScaler()]
    if reduce and table.shape[1] > MOST_COLUMNS:
        steps.append(PCA(KEPT_VARIANCE, svd_solver="full"))
    return make_pipeline(*steps).fit(table[train]).transform(table)


def noisy_labels(rows, regime, run):
    """Return the labels of the training rows of a `Split` under one of the `REGIMES`.

    A method that takes one column gets the majority of the views' labels; ties are drawn.
    """
    if regime == "clean":
        return Labels(rows.y, groups=rows.groups)
    columns, _ = add_label_noise(rows.y, len(rows.views), FLIPPED, shared=regime == "common", random_state=run)
    if regime == "common":
        return Labels(columns[:, 0], groups=rows.groups)
    return Labels(majority_labels(columns, np.random.default_rng(run)), columns, rows.groups)


def available(sets):
    """Load those of some sets that can be loaded.

    Parameters
    ----------
    sets : dict of name to dict of task to callable

    Returns
    -------
    loaded : dict of name to dict of task to Objects
    missing : list of str
    """
    loaded, missing = {}, []
    for name, tasks in sets.items():
        try:
            loaded[name] = {task: load() for task, load in tasks.items()}
        except (OSError, ValueError, ImportError) as error:
            progress(f"fusion: without {name}: {error}")
            missing.append(name)
    return loaded, missing


def without(missing):
    """Return a remark on sets that could not be loaded, as a list of paragraphs."""
    return [f"*Left out, since they could not be loaded: {', '.join(missing)}.*"] if missing else []


def _tables(data):
    return {name: data.X[:, columns] for name, columns in data.views.items()}


def public(name, positive):
    """Load a set of `fetch_views`; `positive` returns True for the positive ones of its classes."""
    data = fetch_views(name)
    # A view that was not observed stays zero, as in the file: the peers take no gaps.
    tables = {view: np.nan_to_num(table, nan=0.0) for view, table in _tables(data).items()}
    return Objects(tables, np.asarray(positive(data.y)).astype(int))


def all_classes(name):
    """Load a set of `fetch_views` with all its classes."""
    return public(name, lambda y: np.unique(y, return_inverse=True)[1])


def label_of(name, label):
    """Load one label of a multi-label set."""
    data = fetch_views(name)
    return Objects(_tables(data), data.Y[:, label].astype(int))


def pair_of_textures(first, second):
    """Load two classes of dtd10."""
    data = fetch_views("dtd10")
    rows = np.isin(data.y, (first, second))
    return Objects({view: table[rows] for view, table in _tables(data).items()}, (data.y[rows] == second).astype(int))


def dealt_to_three_views(name, positive):
    """Load a set of one view, and deal its columns to three views at random, as S4 does."""
    data = fetch_views(name)
    thirds = np.array_split(np.random.RandomState(0).permutation(data.X.shape[1]), 3)
    tables = {f"part{number}": data.X[:, columns] for number, columns in enumerate(thirds)}
    return Objects(tables, np.asarray(positive(data.y)).astype(int))


def glasses():
    """Load Olivetti faces with and without glasses; nobody is both trained and tested on."""
    data = fetch_glasses_views(n_components=None)
    return Objects(_tables(data), data.y.astype(int), data.groups)


def faces():
    """Load faces and other pictures, of scikit-image."""
    data = load_face_views(n_components=None)
    return Objects(_tables(data), data.y)


def digits(positive):
    """Load scikit-learn's digits; `positive` returns True for the positive ones."""
    data = load_digit_views()
    return Objects(_tables(data), np.asarray(positive(data.y)).astype(int))


def wdbc():
    """Load scikit-learn's breast cancer: means, standard errors and worst values of ten measurements."""
    data = load_breast_cancer()
    tables = {view: data.data[:, 10 * k : 10 * k + 10] for k, view in enumerate(("mean", "error", "worst"))}
    return Objects(tables, data.target)


def _second_class(y):
    return y == np.unique(y)[1]


def _single_tasks(tasks):
    """Return sets of one task each, which has the name of the set."""
    return {name: {name: load} for name, load in tasks.items()}


GRID = {
    **_single_tasks(
        {
            "mfeat ≥ 5": partial(public, "mfeat", lambda y: y >= 5),
            "breast_tcga, LumA": partial(public, "breast_tcga", lambda y: y == "LumA"),
            "olivetti, glasses by person": glasses,
            "msrc_v1, classes ≥ 3": partial(public, "msrc_v1", lambda y: y - y.min() >= 3),
        }
    ),
    "dtd10, five pairs": {
        f"dtd10 {first}-{first + 1}": partial(pair_of_textures, first, first + 1) for first in (0, 2, 4, 6, 8)
    },
    **_single_tasks({"scikit-image faces": faces}),
}
"""The public grid."""

SETTLED = _single_tasks(
    {
        "ionosphere": partial(dealt_to_three_views, "ionosphere", _second_class),
        "sonar": partial(dealt_to_three_views, "sonar", _second_class),
        "heart_statlog": partial(dealt_to_three_views, "heart_statlog", _second_class),
        "pima_diabetes": partial(dealt_to_three_views, "pima_diabetes", _second_class),
        "wdbc": wdbc,
        "digits ≥ 5": partial(digits, lambda y: y >= 5),
        "bdgp, class 0": partial(public, "bdgp", lambda y: y == y.min()),
        "scene, label 0": partial(label_of, "scene", 0),
        "scene, label 4": partial(label_of, "scene", 4),
        "yeast, label 1": partial(label_of, "yeast", 1),
    }
)
"""Not in the grid, but FusionClassifier's defaults were chosen on them."""

LOOKED_AT = _single_tasks(
    {
        # The three labels whose share of the songs is nearest to a half.
        "cal500, not very danceable": partial(label_of, "cal500", 117),
        "cal500, high energy": partial(label_of, "cal500", 99),
        "cal500, not romantic": partial(label_of, "cal500", 23),
        "scene, label 2": partial(label_of, "scene", 2),
        "scene, label 5": partial(label_of, "scene", 5),
        "yeast, label 3": partial(label_of, "yeast", 3),
        "yeast, label 7": partial(label_of, "yeast", 7),
        "wine, class 1": partial(dealt_to_three_views, "wine", _second_class),
        "mfeat, odd": partial(public, "mfeat", lambda y: y % 2),
        "msrc_v1, class 0": partial(public, "msrc_v1", lambda y: y == y.min()),
        "dtd10 0-9": partial(pair_of_textures, 0, 9),
        "dtd10 1-8": partial(pair_of_textures, 1, 8),
    }
)
"""Not in the grid; looked at when calibration by class and the rate of wrong labels were designed, not before."""

NEVER_SEEN = _single_tasks(
    {
        # Of the labels that are left, the two whose share is nearest to a half.
        "cal500, label 72": partial(label_of, "cal500", 72),
        "cal500, label 111": partial(label_of, "cal500", 111),
        "yeast, label 2": partial(label_of, "yeast", 2),
        "yeast, label 0": partial(label_of, "yeast", 0),
        "scene, label 3": partial(label_of, "scene", 3),
        "scene, label 1": partial(label_of, "scene", 1),
        "bdgp, class 1": partial(public, "bdgp", lambda y: y == 1),
        "bdgp, class 2": partial(public, "bdgp", lambda y: y == 2),
        "mfeat < 3": partial(public, "mfeat", lambda y: y < 3),
        "msrc_v1, class 3": partial(public, "msrc_v1", lambda y: y - y.min() == 3),
        "dtd10 2-7": partial(pair_of_textures, 2, 7),
        "dtd10 3-6": partial(pair_of_textures, 3, 6),
        "breast_tcga, Basal": partial(public, "breast_tcga", lambda y: y == "Basal"),
        "wine, class 0": partial(dealt_to_three_views, "wine", lambda y: y == np.unique(y)[0]),
        "digits, odd": partial(digits, lambda y: y % 2),
    }
)
"""Looked at by nobody before the method was final; other classes or labels of the same objects were."""
