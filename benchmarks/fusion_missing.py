"""FusionClassifier where more and more views are missing; a part of `fusion.py`."""

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.command_line import progress
from benchmarks.data import real_views
from benchmarks.fusion_calibration import calibration_error
from benchmarks.fusion_methods import OURS, LGBMClassifier, remark_on_packages
from benchmarks.fusion_sets import TRAIN_SHARE
from benchmarks.fusion_store import open_store, source_of_ours
from benchmarks.tables import markdown_table, quick_note, section
from fuselearn import FusionClassifier

SETS = ("breast_tcga", "mfeat", "leaf_flavia", "cells", "msrc_v1", "dtd10")
SHARES = (0.0, 0.2, 0.4, 0.6)
RUNS = range(400, 405)
"""Seeds of splits by which nothing was chosen."""
MOST_TRAINED, MOST_TESTED = 300, 1000
TRAINED = {"leaf_flavia": 1144}
"""Training rows of a set of many classes."""
COMPLETE, PEER = f"{OURS}, complete rows only", "LightGBM"
LEAST_OF_A_CLASS = 2
"""Complete rows of each class that a fit without the others needs."""
LEAST_PROBABILITY = 1e-12
ERROR_BINS = 10
MEASURES = {"accuracy": lambda value: f"{100 * value:.1f}", "log loss": "{:.3f}".format, "ECE": "{:.3f}".format}
PROTOCOL = (
    f"All classes and columns; {TRAIN_SHARE:.0%} of the objects to train on, at most {MOST_TRAINED} (leaf_flavia: "
    f"{TRAINED['leaf_flavia']:,}), of the others at most {MOST_TESTED:,} to test on. The share of the pairs of a row "
    "and a view that are missing, drawn at random in training and test rows alike; every row keeps a view. LightGBM "
    "has all views side by side, with NaN as they are. The last method is trained on the rows that have all views, "
    "where each class has at least two of them."
)


def drop_views(X, views, share, generator):
    """Return a copy in which a share of the pairs of a row and a view is NaN; every row keeps a view."""
    n_rows, n_views = len(X), len(views)
    kept = np.ones((n_rows, n_views), dtype=bool)
    may_go = np.ones_like(kept)
    may_go[np.arange(n_rows), generator.integers(n_views, size=n_rows)] = False
    pairs = np.argwhere(may_go)
    gone = pairs[generator.permutation(len(pairs))[: round(share * kept.size)]]
    kept[gone[:, 0], gone[:, 1]] = False
    holed = X.astype(np.float64)
    for view, has_view in zip(views.values(), kept.T):
        holed[~has_view, view] = np.nan
    return holed, kept


def rows_of_run(name, share, run):
    """Return rows and labels to train on and to test on, which training rows have which view, and the views."""
    X, y, views, _ = real_views(name)
    n_train = TRAINED.get(name, min(MOST_TRAINED, int(TRAIN_SHARE * len(y))))
    train, test = train_test_split(
        np.arange(len(y)),
        train_size=n_train,
        test_size=min(MOST_TESTED, len(y) - n_train),
        stratify=y,
        random_state=run,
    )
    generator = np.random.default_rng(run)
    rows, kept = drop_views(X[train], views, share, generator)
    rows_test, _ = drop_views(X[test], views, share, generator)
    return rows, y[train], rows_test, y[test], kept, views


def outcomes(name, share, run, wanted):
    """Return the measures of each wanted method in one run; None where too few rows are complete."""
    rows, labels, rows_test, labels_test, kept, views = rows_of_run(name, share, run)
    measured = {}
    for method in wanted:
        chosen = kept.all(axis=1) if method == COMPLETE else np.ones(len(rows), dtype=bool)
        if np.bincount(labels[chosen], minlength=labels.max() + 1).min() < LEAST_OF_A_CLASS:
            measured[method] = None
            continue
        if method == PEER:
            model = LGBMClassifier(n_jobs=1, random_state=run, verbose=-1)
        else:
            model = FusionClassifier(views=views, random_state=run)
        model.fit(rows[chosen], labels[chosen])
        measured[method] = measures(model.predict_proba(rows_test), labels_test)
    return measured


def measures(probabilities, labels):
    """Return accuracy, log loss, and the expected calibration error of the largest probability."""
    correct = probabilities.argmax(axis=1) == labels
    given = np.maximum(probabilities[np.arange(len(labels)), labels], LEAST_PROBABILITY)
    error = calibration_error(probabilities.max(axis=1), correct, ERROR_BINS)
    return [float(correct.mean()), float(-np.log(given).mean()), error]


def report(options, keep=None):
    """Return the section of the report, as Markdown."""
    title = "FusionClassifier by share of missing views"
    runs, store, source = RUNS[:1] if options.quick else RUNS, open_store(keep, PROTOCOL), source_of_ours()
    methods = [OURS, COMPLETE, *([PEER] if LGBMClassifier else [])]
    shares = (0.0, 0.6) if options.quick else SHARES
    rows, left_out = [], []
    for name in SETS[:1] if options.quick else SETS:
        try:
            real_views(name)
        except FileNotFoundError:
            left_out.append(name)
            continue
        means = {}
        for share in shares:
            for run in runs:
                keys = {
                    method: (name, share, run, method if method == PEER else f"{method} {source}") for method in methods
                }
                lacking = [method for method, key in keys.items() if key not in store]
                if lacking:
                    progress(f"fusion: {name}, {share:.0%} of the views missing, run {run}")
                for method, value in outcomes(name, share, run, lacking).items() if lacking else ():
                    store.add(keys[method], value)
                for method, key in keys.items():
                    means.setdefault((method, share), []).append(store[key])
        for method in methods:
            for number, measure in enumerate(MEASURES):
                cells = (_mean(means[method, share], measure, number) for share in shares)
                rows.append((f"{name}, {method}", measure, *cells))
    return section(
        title,
        f"{PROTOCOL} Mean of {len(runs)} runs.",
        *([f"*Left out, since they were not found: {', '.join(left_out)}.*"] if left_out else []),
        *remark_on_packages(["LightGBM"]),
        *([markdown_table(("missing", "", *(f"{share:.0%}" for share in shares)), rows)] if rows else []),
        *quick_note(options),
    )


def _mean(values, measure, number):
    """Return the mean of a measure in text; none where a run had too few complete rows."""
    return "–" if None in values else MEASURES[measure](np.mean([value[number] for value in values]))
