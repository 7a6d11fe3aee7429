"""Gain of label consensus when labels are wrong.

Usage: ``FUSELEARN_DATA=... python -m benchmarks.label_consensus [--quick]``

Balanced accuracy of a sum of SVMs, one per view, on test objects, by the labels it was trained on. Sets that are not in
the folder FUSELEARN_DATA are left out; scikit-learn's digits are always available.
"""

import time

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.command_line import progress, run_script
from benchmarks.tables import markdown_table, quick_note, section
from fuselearn import LabelConsensus, ViewVotingClassifier, add_label_noise
from fuselearn.datasets import fetch_views, load_digit_views
from fuselearn.evaluation.cells import majority_labels

RATE = 0.3
MOST_TESTED = 700


def tasks():
    """Yield (name, X, y, views, training rows) of the sets that can be loaded."""
    digits = load_digit_views()
    yield "digits ≥ 5", digits.X, (digits.y >= 5).astype(int), digits.views, 300
    try:
        mfeat, tcga = fetch_views("mfeat"), fetch_views("breast_tcga")
    except (OSError, ValueError):
        return
    three = {name: mfeat.views[name] for name in ("fou", "kar", "zer")}
    yield "mfeat ≥ 5 (fou, kar, zer)", mfeat.X, (mfeat.y >= 5).astype(int), three, 300
    yield "mfeat ≥ 5 (fou, kar, zer)", mfeat.X, (mfeat.y >= 5).astype(int), three, 1200
    yield "mfeat, ten digits", mfeat.X, mfeat.y, three, 600
    yield "breast_tcga, three classes", tcga.X, tcga.y, tcga.views, 90


def scores(X, y, views, n_train, seed):
    """Return the balanced accuracy by kind of labels, for labels per view and for one column."""
    train, test = train_test_split(np.arange(len(y)), train_size=n_train, random_state=seed, stratify=y)
    test = test[:MOST_TESTED]
    noisy, _ = add_label_noise(y[train], len(views), RATE, random_state=seed)

    def accuracy(labels, view_labels=None):
        model = ViewVotingClassifier(make_pipeline(StandardScaler(), SVC()), views=views, voting="sum")
        model.fit(X[train], labels, view_labels=view_labels)
        return balanced_accuracy_score(y[test], model.predict(X[test]))

    majority = majority_labels(noisy, np.random.default_rng(seed))
    per_view = LabelConsensus(views=views, random_state=seed).fit(X[train], y[train], view_labels=noisy)
    one_column = LabelConsensus(views=views, random_state=seed).fit(X[train], noisy[:, 0])
    clean = LabelConsensus(views=views, random_state=seed).fit(X[train], y[train])
    return {
        "own labels": accuracy(y[train], noisy),
        "majority": accuracy(majority),
        "consensus": accuracy(per_view.labels_),
        "one column": accuracy(noisy[:, 0]),
        "its consensus": accuracy(one_column.labels_),
        "clean": accuracy(y[train]),
        "its consensus, clean": accuracy(clean.labels_),
        "labels right": float(np.mean(per_view.labels_ == y[train])),
        "rate": float(per_view.noise_rates_.mean()),
    }


def report(options):
    """Return the section of the report, as Markdown."""
    runs, rows = (1 if options.quick else 10), []
    started = time.monotonic()
    for name, X, y, views, n_train in tasks():
        progress(f"label consensus: {name}, {n_train} objects")
        n_splits = runs if n_train < 600 else max(1, runs * 2 // 5)
        results = [scores(X, y, views, n_train, seed) for seed in range(n_splits)]
        gain = np.array([run["consensus"] - run["majority"] for run in results])
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        means = [np.mean([run[key] for run in results]) for key in results[0]]
        rows.append((f"{name}, {n_train}", *(f"{mean:.3f}" for mean in means), f"{gain.mean():+.3f} ± {error:.3f}"))
        if options.quick:
            break
    columns = ("set, objects", *results[0], "consensus less majority")
    return section(
        "Label consensus",
        f"Balanced accuracy of a sum of SVMs, one per view, trained on labels of which {RATE:.0%} are wrong: in every "
        "view separately (first three), or in one column (next two), or none (next two). "
        f"{runs} random splits (fewer from 600 objects on), ± one standard error.",
        markdown_table(columns, rows),
        f"{time.monotonic() - started:.0f} s in all.",
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
