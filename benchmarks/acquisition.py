"""Views that FusionClassifier.next_view measures, and the accuracy with them, beside other orders.

    FUSELEARN_DATA=… python -m benchmarks.acquisition [--sets mfeat …] [--splits 30] [--keep FILE]

Rows of test begin without any view. `next_view` with its defaults names views until it names none. Beside it, the same
mean number of views in a fixed order by importance, and in a random order of each row: accuracies between two whole
numbers of views are interpolated, which is what rows of either number reach. Results are kept in a file.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.command_line import progress
from benchmarks.data import real_views
from benchmarks.tables import markdown_table
from fuselearn import FusionClassifier
from fuselearn.inspection import acquisition_curve

SETS = ("mfeat", "breast_tcga", "msrc_v1", "cells")
TRAIN_SHARE, MIN_GAIN = 0.6, 0.005


def outcome(name, run):
    """Return the mean number of views, and accuracies by next_view, importance, chance and with all views."""
    X, y, views, _ = real_views(name)
    train, test = train_test_split(np.arange(len(y)), train_size=TRAIN_SHARE, stratify=y, random_state=run)
    model = FusionClassifier(views=views, random_state=run).fit(X[train], y[train])
    curve = acquisition_curve(model, X[test], y[test], min_gains=[MIN_GAIN], random_state=run)
    n_views, numbers = float(curve.n_views[0]), np.arange(len(views) + 1)
    fixed = [float(np.interp(n_views, numbers, points)) for points in (curve.by_importance, curve.at_random)]
    return [n_views, len(views), float(curve.accuracies[0]), *fixed, float(curve.by_importance[-1])]


def report(kept, sets):
    """Return the table of what was kept, as Markdown."""
    rows = []
    for name in sets:
        found = np.array([entry for key, entry in kept.items() if key.startswith(f"{name} ")])
        if len(found):
            n_views, of, chosen, importance, chance, everything = found.mean(axis=0)
            lost = 100 * (found[:, 5] - found[:, 2])
            error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else 0.0
            accuracies = [f"{100 * value:.2f}" for value in (everything, chosen, importance, chance)]
            share = f"{n_views:.2f} of {of:.0f} ({n_views / of:.0%})"
            rows.append((name, str(len(found)), share, *accuracies, f"{lost.mean():.2f} ± {error:.2f}"))
    header = ("set", "splits", "views measured", "all views", "next_view", "by importance", "at random", "points lost")
    return markdown_table(header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--keep", type=Path, default=Path("acquisition.json"))
    options = parser.parse_args()
    kept = json.loads(options.keep.read_text()) if options.keep.exists() else {}
    for run in range(options.splits):
        for name in options.sets:
            if f"{name} {run}" not in kept:
                progress(f"acquisition: {name} {run}")
                kept[f"{name} {run}"] = outcome(name, run)
                options.keep.write_text(json.dumps(kept))
    print(report(kept, options.sets))


if __name__ == "__main__":
    main()
