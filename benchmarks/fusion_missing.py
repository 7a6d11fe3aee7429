"""FusionClassifier where more and more views are missing; a part of `fusion.py`."""

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.command_line import progress
from benchmarks.data import real_views
from benchmarks.fusion_methods import OURS, LGBMClassifier, remark_on_packages
from benchmarks.fusion_sets import MOST_OBJECTS, TRAIN_SHARE
from benchmarks.fusion_store import open_store, source_of_ours
from benchmarks.tables import markdown_table, quick_note, section
from fuselearn import FusionClassifier

SETS = ("breast_tcga", "mfeat", "cells", "msrc_v1")
SHARES = (0.0, 0.15, 0.3, 0.45, 0.6)
COMPLETE, PEER = f"{OURS}, complete rows only", "LightGBM"
LEAST_OF_A_CLASS = 2
"""Complete rows of each class that a fit without the others needs."""
PROTOCOL = (
    f"Accuracy in percent, all classes and columns, at most {MOST_OBJECTS} objects, {TRAIN_SHARE:.0%} to train on. The "
    "share of the pairs of a row and a view that are missing, drawn at random in training and test rows alike; every "
    "row keeps a view. LightGBM has all views side by side, with NaN as they are. The last method is trained on the "
    "rows that have all views, where each class has at least two of them."
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


def outcomes(name, share, run, wanted):
    """Return the accuracy of each wanted method in one run; None where too few rows are complete."""
    X, y, views, _ = real_views(name)
    drawn = np.arange(len(y))
    if len(drawn) > MOST_OBJECTS:
        drawn, _ = train_test_split(drawn, train_size=MOST_OBJECTS, stratify=y, random_state=run)
    train, test = train_test_split(drawn, train_size=TRAIN_SHARE, stratify=y[drawn], random_state=run)
    generator = np.random.default_rng(run)
    rows, kept = drop_views(X[train], views, share, generator)
    rows_test, _ = drop_views(X[test], views, share, generator)
    measured = {}
    for method in wanted:
        chosen = kept.all(axis=1) if method == COMPLETE else np.ones(len(rows), dtype=bool)
        if np.bincount(y[train][chosen], minlength=y.max() + 1).min() < LEAST_OF_A_CLASS:
            measured[method] = None
            continue
        if method == PEER:
            model = LGBMClassifier(n_jobs=1, random_state=run, verbose=-1)
        else:
            model = FusionClassifier(views=views, random_state=run)
        model.fit(rows[chosen], y[train][chosen])
        measured[method] = float(np.mean(model.predict(rows_test) == y[test]))
    return measured


def report(options, keep=None):
    """Return the section of the report, as Markdown."""
    title = "FusionClassifier by share of missing views"
    n_runs, store, source = (1 if options.quick else 5), open_store(keep, PROTOCOL), source_of_ours()
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
            for run in range(n_runs):
                keys = {
                    method: (name, share, run, method if method == PEER else f"{method} {source}") for method in methods
                }
                lacking = [method for method, key in keys.items() if key not in store]
                if lacking:
                    progress(f"fusion: {name}, {share:.0%} of the views missing, run {run + 1}")
                for method, value in outcomes(name, share, run, lacking).items() if lacking else ():
                    store.add(keys[method], value)
                for method, key in keys.items():
                    means.setdefault((method, share), []).append(store[key])
        rows += [(f"{name}, {method}", *(_mean(means[method, share]) for share in shares)) for method in methods]
    return section(
        title,
        f"{PROTOCOL} Mean of {n_runs} runs.",
        *([f"*Left out, since they were not found: {', '.join(left_out)}.*"] if left_out else []),
        *remark_on_packages(["LightGBM"]),
        *([markdown_table(("missing", *(f"{share:.0%}" for share in shares)), rows)] if rows else []),
        *quick_note(options),
    )


def _mean(values):
    """Return the mean in percent, in text; none where a run had too few complete rows."""
    return "–" if None in values else f"{100 * np.mean(values):.1f}"
