"""Views that FusionClassifier.next_view measures, and the accuracy with them, beside other orders.

Usage: ``FUSELEARN_DATA=... python -m benchmarks.acquisition [--quick] [--sets mfeat ...] [--splits 30] [--keep FILE]``

Test rows begin without any view. `next_view` with its defaults names views until it names none. Beside it, the same
mean number of views in a fixed order by importance, and in a random order of each row: accuracies between two whole
numbers of views are interpolated, which is what rows of either number reach.
"""

import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.command_line import Options, parser, progress
from benchmarks.data import real_views
from benchmarks.fusion_store import open_store, source_of_ours
from benchmarks.tables import at_most, markdown_table, quick_note, section
from fuselearn import FusionClassifier
from fuselearn.inspection import acquisition_curve

SETS = ("mfeat", "breast_tcga", "msrc_v1", "cells")
TRAIN_SHARE, MIN_GAIN = 0.6, 0.005
MOST_MEASURED, MOST_LOST = 0.5, 0.5
"""The share of the views, and points of accuracy."""
PROTOCOL = (
    f"All views present in training ({TRAIN_SHARE:.0%} of the objects); test rows begin without any view, "
    f"`min_gain={MIN_GAIN}`; accuracy in percent. The other orders measure as many views on average."
)


def outcome(name, run):
    """Return the mean number of views, and accuracies by next_view, importance, chance and with all views."""
    X, y, views, _ = real_views(name)
    train, test = train_test_split(np.arange(len(y)), train_size=TRAIN_SHARE, stratify=y, random_state=run)
    model = FusionClassifier(views=views, random_state=run).fit(X[train], y[train])
    curve = acquisition_curve(model, X[test], y[test], min_gains=[MIN_GAIN], random_state=run)
    n_views, numbers = float(curve.n_views[0]), np.arange(len(views) + 1)
    fixed = [float(np.interp(n_views, numbers, points)) for points in (curve.by_importance, curve.at_random)]
    return [n_views, len(views), float(curve.accuracies[0]), *fixed, float(curve.by_importance[-1])]


def row_of_set(name, outcomes):
    """Return the row of a set, from what `outcome` returns of each split."""
    n_views, n_all_views, chosen, importance, chance, everything = np.mean(outcomes, axis=0)
    lost = points_lost(outcomes)
    error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else 0.0
    accuracies = [f"{100 * value:.2f}" for value in (everything, chosen, importance, chance)]
    share = f"{n_views:.2f} of {n_all_views:.0f} ({n_views / n_all_views:.0%})"
    return (name, str(len(lost)), share, *accuracies, f"{lost.mean():.2f} ± {error:.2f}")


def points_lost(outcomes):
    """Return by how many points of accuracy each split is below that of all views."""
    return 100 * (np.asarray(outcomes)[:, 5] - np.asarray(outcomes)[:, 2])


def report(options, sets=SETS, splits=30, keep=None):
    """Return the section of the report, as Markdown."""
    store, by_set, left_out = open_store(keep, PROTOCOL), {}, []
    for name in ("msrc_v1",) if options.quick else sets:
        try:
            real_views(name)
        except FileNotFoundError:
            left_out.append(name)
            continue
        for run in range(1 if options.quick else splits):
            key = (name, run, source_of_ours())
            if key not in store:
                progress(f"acquisition: {name}, split {run}")
                store.add(key, outcome(name, run))
            by_set.setdefault(name, []).append(store[key])
    parts = [f"*Left out, since they were not found: {', '.join(left_out)}.*"] if left_out else []
    if by_set:
        header = ("set", "splits", "views measured", "all views", "next_view", "by importance", "at random")
        measured = max(np.mean([found[0] / found[1] for found in outcomes]) for outcomes in by_set.values())
        lost = max(points_lost(outcomes).mean() for outcomes in by_set.values())
        parts += [
            markdown_table((*header, "points lost"), [row_of_set(*item) for item in by_set.items()]),
            f"Worst set, share of the views measured: {at_most(measured, MOST_MEASURED)}; points lost: "
            f"{at_most(lost, MOST_LOST)}.",
        ]
    return section("Views to measure next", PROTOCOL, *parts, *quick_note(options))


def main():
    """Parse the command line and print the section."""
    command_line = parser(__doc__.splitlines()[0])
    command_line.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    command_line.add_argument("--splits", type=int, default=30)
    command_line.add_argument("--keep", metavar="FILE", help="keep finished splits in this file, and go on from it")
    given = command_line.parse_args()
    options = Options(given.quick, given.mumbo_python)
    with threadpool_limits(1):
        print(report(options, tuple(given.sets), given.splits, given.keep))


if __name__ == "__main__":
    main()
