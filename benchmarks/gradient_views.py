"""Gradient boosting with joint trees against trees per view: missing views, wrong labels of views, and time.

Usage: ``python -m benchmarks.gradient_views [--quick]``

It needs real sets in the folder that ``FUSELEARN_DATA`` names; what is not there is left out by name.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.command_line import progress, run_script
from benchmarks.tables import markdown_table, number, quick_note, section
from fuselearn import ShareGradientBoostingClassifier, add_label_noise
from fuselearn.evaluation.cells import majority_labels

try:
    import lightgbm
except ImportError:
    lightgbm = None

TREES = {"n_estimators": 200, "learning_rate": 0.1}
"""Both libraries have 31 leaves, 255 bins and 20 rows a leaf by default."""
JOINT, BEST, BANDIT, PEER = METHODS = ("joint", "per view, best", "per view, Exp3.P", "LightGBM")
PER_VIEW = (BEST, BANDIT)
SETS = ("mfeat", "breast_tcga", "cells", "movies")
LARGE_VIEWS = ("pix", "fac")
"""Views of mfeat that are left out, since they have most of its columns and would take most of the time."""
MOST_ROWS = 20_000
DROPPED = (0.0, 0.2, 0.4)
"""Share of the views that test rows lack, at random; each row keeps one."""
WRONG = 0.3


@dataclass(frozen=True)
class ViewSet:
    """A set of several views. `other_X` and `other_y` are further test rows, which lack a view."""

    X: np.ndarray
    y: np.ndarray
    views: dict
    other_X: np.ndarray | None = None
    other_y: np.ndarray | None = None


def load(name):
    """Return a set; None where it is not found. Of mfeat the task is digits of at least 5, of movies some rows."""
    folder = os.environ.get("FUSELEARN_DATA")
    path = None if folder is None else Path(folder) / name / f"{name}.npz"
    if path is None or not path.exists():
        return None
    with np.load(path) as arrays:
        tables = {key.removeprefix("view_"): arrays[key] for key in arrays.files if key.startswith("view_")}
        tables = {view: table for view, table in tables.items() if view not in LARGE_VIEWS}
        classes, y = np.unique(arrays["y"], return_inverse=True)
        others = {view: arrays[f"test_{view}"] for view in tables if f"test_{view}" in arrays.files}
        other_y = np.searchsorted(classes, arrays["test_labels"]) if others else None
    if name == "mfeat":
        y = (y >= 5).astype(int)
    ends = np.cumsum([table.shape[1] for table in tables.values()])
    views = {view: slice(end - table.shape[1], end) for (view, table), end in zip(tables.items(), ends.tolist())}
    X, other_X = np.hstack([table.astype(float) for table in tables.values()]), None
    if others:
        other_X = np.full((len(other_y), X.shape[1]), np.nan)
        for view, table in others.items():
            other_X[:, views[view]] = table
    if len(y) > MOST_ROWS:
        drawn = np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False)
        X, y = X[drawn], y[drawn]
    return ViewSet(X, y, views, other_X, other_y)


def make(method, views):
    """Return an unfitted classifier, without early stopping."""
    if method == PEER:
        return lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, **TREES)
    trees = "per_view" if method in PER_VIEW else "joint"
    policy = "exp3p" if method == BANDIT else "best"
    return ShareGradientBoostingClassifier(
        views=views, trees=trees, view_policy=policy, early_stopping=False, random_state=0, **TREES
    )


def auc(model, X, y):
    """Return the area under the curve; with more than two classes the mean of one against the rest."""
    probabilities = model.predict_proba(X)
    if probabilities.shape[1] == 2:
        return roc_auc_score(y, probabilities[:, 1])
    return roc_auc_score(y, probabilities, multi_class="ovr")


def without_views(X, views, share, seed):
    """Return rows each of whose views is dropped with a probability; one that would lose all keeps one of them."""
    rng = np.random.default_rng(seed)
    dropped = rng.random((len(X), len(views))) < share
    dropped[dropped.all(axis=1), rng.integers(len(views), size=dropped.all(axis=1).sum())] = False
    X = X.copy()
    for lacks, columns in zip(dropped.T, views.values()):
        X[lacks, columns] = np.nan
    return X


def wrong_labels(y, views, noisy, seed):
    """Return the labels of each view, WRONG of which are wrong in the noisy ones, and their majority."""
    view_labels, _ = add_label_noise(y, len(views), WRONG, views=noisy, random_state=seed)
    return view_labels, majority_labels(view_labels, np.random.default_rng(seed))


def judge_split(data, seed, methods):
    """Return the scores of a split by (condition, method), and by method the CPU seconds and the views read."""
    train, test = train_test_split(np.arange(len(data.y)), train_size=0.7, random_state=seed, stratify=data.y)
    X, y, X_test, y_test = data.X[train], data.y[train], data.X[test], data.y[test]
    scores, seconds, views_read = {}, {}, {}
    strongest = 0
    for method in methods:
        start = time.process_time()
        model = make(method, data.views).fit(X, y)
        seconds[method] = time.process_time() - start
        for share in DROPPED:
            condition = f"{share:.0%} of the views dropped" if share else "all views"
            scores[condition, method] = auc(model, without_views(X_test, data.views, share, seed), y_test)
        if data.other_X is not None:
            scores["the 70 test rows, without protein", method] = auc(model, data.other_X, data.other_y)
        if method == JOINT:
            strongest = int(np.argmax(model.view_importances_))
        if method in PER_VIEW:
            views_read[method] = model.views_used(X_test).sum(axis=1).mean()
    of_one, _ = wrong_labels(y, data.views, [strongest], seed)
    of_all, majority = wrong_labels(y, data.views, "all", seed)
    for condition, single, view_labels in (
        ("30 % wrong labels of the strongest view", of_one[:, strongest], of_one),
        ("30 % wrong labels of every view, each its own", None, of_all),
        ("30 % wrong labels of every view, majority", majority, None),
    ):
        for method in methods:
            model = make(method, data.views)
            if method in PER_VIEW and view_labels is not None:
                model.fit(X, y, view_labels=view_labels)
            elif single is not None:
                model.fit(X, single)
            else:
                continue
            scores[condition, method] = auc(model, X_test, y_test)
    return scores, seconds, views_read


def judge(data, n_splits, methods):
    """Return the results of all splits: scores and seconds by key, arrays over the splits."""
    splits = [judge_split(data, seed, methods) for seed in range(n_splits)]
    return [{key: np.array([split[place][key] for split in splits]) for key in splits[0][place]} for place in range(3)]


def difference(scores, condition):
    """Return by how many points trees per view are above joint ones, with the standard error over the splits."""
    if (condition, JOINT) not in scores:
        return ""
    points = 100 * (scores[condition, BEST] - scores[condition, JOINT])
    if len(points) < 2:
        return f"{points.mean():+.1f}"
    return f"{points.mean():+.1f} ± {points.std(ddof=1) / np.sqrt(len(points)):.1f}"


def report(options):
    """Return the section of the report, as Markdown."""
    title = "Gradient boosting: joint trees or trees per view"
    methods = [method for method in METHODS if method != PEER or lightgbm is not None]
    n_splits = 1 if options.quick else 5
    rows, costs, left_out = [], [], []
    for name in SETS[1:3] if options.quick else SETS:
        data = load(name)
        if data is None:
            left_out.append(name)
            continue
        progress(f"gradient_views: {name}")
        scores, seconds, views_read = judge(data, n_splits, methods)
        for condition in dict.fromkeys(condition for condition, _ in scores):
            found = [scores.get((condition, method)) for method in methods]
            means = ["" if score is None else f"{score.mean():.4f}" for score in found]
            rows.append((f"{name}, {condition}", *means, difference(scores, condition)))
        read = [f"{number(views_read[method].mean())} of {len(data.views)}" for method in PER_VIEW]
        costs.append((name, *(number(seconds[method].mean()) for method in methods), *read))
    if not rows:
        return section(title, "Skipped: `FUSELEARN_DATA` names no folder with these sets.")
    parts = [
        f"AUC (three classes: mean of one against the rest), mean of {n_splits} splits of 70 to 30, 200 rounds, 31 "
        "leaves, rate 0.1, no early stopping, one thread. The last column is by how many points trees per view (best) "
        "are above joint ones, with the standard error over the splits. mfeat: digits of at least 5, four views; "
        "movies: 20,000 rows, of which 9 of 10 lack budget and mpaa. Views are dropped from test rows only. Wrong "
        "labels of the strongest view: trees per view get each view's labels (`view_labels`), joint trees and LightGBM "
        "those of that view. Wrong labels of every view: each view's labels by `view_labels`, or the majority of the "
        "views for all.",
        markdown_table(("set and test rows", *methods, "points"), rows),
        "CPU seconds of a fit, and views that a prediction read of a test row:",
        markdown_table(("set", *methods, "views read, best", "views read, Exp3.P"), costs),
    ]
    if left_out:
        parts.append(f"Left out, since they were not found: {', '.join(left_out)}.")
    return section(title, *parts, *quick_note(options))


if __name__ == "__main__":
    run_script(report, __doc__)
