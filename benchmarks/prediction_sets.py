"""Coverage and size of FusionClassifier's prediction sets where views are missing, beside MAPIE's cross-conformal sets.

Usage: ``FUSELEARN_DATA=... python -m benchmarks.prediction_sets [--quick] [--sets mfeat ...] [--splits 20]
[--mapie 1] [--noisy 2] [--keep FILE]``

40 % of the pairs of a row and a view are missing, in training and test rows alike; every row keeps a view. Finished
splits are kept in a file where one is named, and those it has are not computed again.
"""

import time
from importlib.util import find_spec

import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.command_line import Options, parser, progress
from benchmarks.data import real_views
from benchmarks.fusion_missing import drop_views
from benchmarks.fusion_store import open_store, source_of_ours
from benchmarks.tables import at_least, at_most, markdown_table, quick_note, section
from fuselearn import FusionClassifier, add_label_noise

SETS = {"mfeat": (1200, 800), "leaf_flavia": (1144, 763), "movies": (4000, 20_000), "diamonds": (4000, 20_000)}
"""Training and test rows."""
COVERAGE, MISSING, LEAST_POOLED, WRONG = 0.9, 0.4, 1000, 0.3
LEAST_COVERED, MOST_COVERED = 0.88, 0.92
PROTOCOL = (
    f"Coverage asked for {COVERAGE:.2f}; {MISSING:.0%} of the pairs of a row and a view are missing at random, in "
    "training and test rows alike, and every row keeps a view. "
    + ", ".join(f"{n_train:,} ({name})" for name, (n_train, _) in SETS.items())
    + " training rows. Rows of all splits are pooled; patterns are those of the views that a row has."
)


def rows_of_split(name, run, noise=0.0):
    """Return training and test rows of a split, with views dropped; labels may be wrong in the training rows."""
    X, y, views, _ = real_views(name)
    n_train, n_test = SETS[name]
    train, test = train_test_split(
        np.arange(len(y)), train_size=n_train, test_size=min(n_test, len(y) - n_train), stratify=y, random_state=run
    )
    generator = np.random.default_rng(run)
    X_train, _ = drop_views(X[train], views, MISSING, generator)
    X_test, _ = drop_views(X[test], views, MISSING, generator)
    # Some films have none of the views that were left to them.
    some, present = _views_of(X_train, views).any(axis=1), _views_of(X_test, views)
    kept = present.any(axis=1)
    labels = y[train][some]
    if noise:
        labels = add_label_noise(labels, 1, noise, shared=True, random_state=run)[0][:, 0]
    return X_train[some], labels, X_test[kept], y[test][kept], present[kept], views


def _views_of(X, views):
    """Return which views rows have."""
    return ~np.array([np.isnan(X[:, columns]).all(axis=1) for columns in views.values()]).T


def pooled(sets, y, classes, predicted, present):
    """Return, by pattern of views, rows, rows covered, rows predicted right, and classes in all sets."""
    covered = sets[np.arange(len(y)), np.searchsorted(classes, y)]
    sums = {}
    for views in np.unique(present, axis=0):
        rows = (present == views).all(axis=1)
        key = "".join("x" if there else "-" for there in views)
        right = int((predicted[rows] == y[rows]).sum())
        sums[key] = [int(rows.sum()), int(covered[rows].sum()), right, int(sets[rows].sum())]
    return sums


def ours(name, run, noise=0.0):
    """Return sums by pattern, and seconds of fit and sets."""
    X, labels, X_test, y_test, present, views = rows_of_split(name, run, noise)
    started = time.process_time()
    model = FusionClassifier(views=views, random_state=run).fit(X, labels)
    fitted = time.process_time()
    sets = model.predict_set(X_test, coverage=COVERAGE)
    ended = time.process_time()
    sums = pooled(sets, y_test, model.classes_, model.predict(X_test), present)
    return {"patterns": sums, "fit": fitted - started, "sets": ended - fitted}


def of_mapie(name, run, reached):
    """Return the same by MAPIE's cross-conformal classifier around the same model: five more fits.

    The second of the results is of the coverage that `predict_set` reached, where this was more than asked for.
    """
    from mapie.classification import CrossConformalClassifier

    X, labels, X_test, y_test, present, views = rows_of_split(name, run)
    started = time.process_time()
    around = CrossConformalClassifier(
        FusionClassifier(views=views, random_state=run),
        confidence_level=[COVERAGE, max(reached, COVERAGE)],
        conformity_score="lac",
        cv=5,
    ).fit_conformalize(X, labels)
    fitted = time.process_time()
    predicted, sets = around.predict_set(X_test)
    ended = time.process_time()
    seconds = {"fit": fitted - started, "sets": ended - fitted}
    classes = np.unique(labels)
    return [{"patterns": pooled(sets[:, :, n], y_test, classes, predicted, present), **seconds} for n in (0, 1)]


def summary(results):
    """Return sums of the patterns over splits, and of all rows."""
    totals = {}
    for result in results:
        for key, sums in result["patterns"].items():
            totals[key] = np.add(totals.get(key, 0), sums)
    return totals, np.sum(list(totals.values()), axis=0)


def shares(sums):
    """Return coverage, accuracy and mean size from sums."""
    return sums[1] / sums[0], sums[2] / sums[0], sums[3] / sums[0]


def coverage_row(name, results):
    """Return the row of a set: coverage and size of all rows, and coverage of patterns with many rows."""
    totals, everything = summary(results)
    coverage, accuracy, size = shares(everything)
    hard = [sums for sums in totals.values() if sums[2] < COVERAGE * sums[0]]
    pooled_hard = f"{shares(np.sum(hard, axis=0))[0]:.3f}" if hard else "–"
    of_patterns = [shares(sums)[0] for sums in totals.values() if sums[0] >= LEAST_POOLED]
    bounds = f"{min(of_patterns):.3f} to {max(of_patterns):.3f}" if of_patterns else "–"
    of_all_rows = (f"{everything[0]:,}", f"{accuracy:.3f}", f"{coverage:.3f}", f"{size:.2f}")
    return (name, str(len(results)), *of_all_rows, pooled_hard, str(len(of_patterns)), bounds)


def verdicts(by_set):
    """Return in words whether patterns of many rows are covered as often as was asked for."""
    totals = [sums for results in by_set.values() for sums in summary(results)[0].values()]
    large = [shares(sums) for sums in totals if sums[0] >= LEAST_POOLED]
    if not large:
        return []
    unsure = [coverage for coverage, accuracy, _ in large if accuracy < COVERAGE]
    least = at_least(min(coverage for coverage, _, _ in large), LEAST_COVERED)
    parts = [f"Patterns of {LEAST_POOLED:,} rows and more, least coverage: {least}"]
    if unsure:
        most = at_most(max(unsure), MOST_COVERED)
        parts.append(f"largest where fewer than {COVERAGE:.0%} are predicted right: {most}")
    return ["; ".join(parts) + "."]


def mapie_rows(name, same_splits, of_both):
    """Return rows of a set: ours, and MAPIE's as asked for and where it is asked for what ours reach."""
    as_asked, as_reached = zip(*of_both)
    rows = []
    for method, results in (
        ("predict_set", same_splits),
        ("MAPIE", as_asked),
        ("MAPIE, asked for what predict_set reaches", as_reached),
    ):
        coverage, _, size = shares(summary(results)[1])
        seconds = np.mean([[result["fit"], result["sets"]] for result in results], axis=0)
        rows.append((name, method, f"{coverage:.3f}", f"{size:.2f}", *(f"{value:.2f}" for value in seconds)))
    return rows


def slowest_of_mapie(by_set, of_mapie_by_set):
    """Return the largest ratio of the time of a fit and its sets to MAPIE's, of the same splits."""
    ratios = []
    for name, of_both in of_mapie_by_set.items():
        ours_took = sum(result["fit"] + result["sets"] for result in by_set[name][: len(of_both)])
        ratios.append(ours_took / sum(asked["fit"] + asked["sets"] for asked, _ in of_both))
    return max(ratios)


def noisy_row(name, results):
    """Return the row of a set whose training labels are partly wrong."""
    coverage, accuracy, size = shares(summary(results)[1])
    return (name, str(len(results)), f"{accuracy:.3f}", f"{coverage:.3f}", f"{size:.2f}")


def results_of(kind, name, runs, store, measure):
    """Return the results of splits, from the store where it has them."""
    results = []
    for run in runs:
        key = (kind, name, run, source_of_ours())
        if key not in store:
            progress(f"prediction_sets: {name}, {kind}, split {run}")
            if not results:
                ours(name, run)  # loops are compiled and loaded before the clock starts
            store.add(key, measure(name, run))
        results.append(store[key])
    return results


def report(options, sets=tuple(SETS), splits=20, mapie=1, noisy=2, keep=None):
    """Return the section of the report, as Markdown."""
    splits, mapie, noisy = (1, 0, 0) if options.quick else (splits, min(mapie, splits), noisy)
    sets, left_out = _loadable(sets[:1] if options.quick else sets)
    has_mapie, store = find_spec("mapie") is not None, open_store(keep, PROTOCOL)
    by_set = {name: results_of("ours", name, range(splits), store, ours) for name in sets}
    parts = [f"*Left out, since they were not found: {', '.join(left_out)}.*"] if left_out else []
    header = ("set", "splits", "test rows", "predicted right", "covered", "mean size")
    header += (f"covered where fewer than {COVERAGE:.0%} are right", f"patterns of {LEAST_POOLED:,} rows")
    rows = [coverage_row(name, results) for name, results in by_set.items()]
    parts += [markdown_table((*header, "their coverage"), rows), *verdicts(by_set)] if rows else []
    if mapie and has_mapie and by_set:
        of_both = {
            name: results_of(
                "mapie",
                name,
                range(mapie),
                store,
                lambda name, run: of_mapie(name, run, shares(summary([by_set[name][run]])[1])[0]),
            )
            for name in sets
        }
        rows = [row for name in sets for row in mapie_rows(name, by_set[name][:mapie], of_both[name])]
        parts += [
            f"Beside MAPIE's cross-conformal sets (`lac`, five folds) around the same model; splits: {mapie}. Where "
            "the model is sure, MAPIE leaves sets empty.",
            markdown_table(("set", "sets by", "covered", "mean size", "fit, CPU s", "sets, CPU s"), rows),
            "Fit and sets together as part of MAPIE's time, worst set: "
            f"{at_most(slowest_of_mapie(by_set, of_both), 0.2)}.",
        ]
    elif mapie and not has_mapie:
        parts.append("*Without MAPIE, which is not installed.*")
    if noisy and by_set:
        rows = [
            noisy_row(name, results_of("noisy", name, range(noisy), store, lambda name, run: ours(name, run, WRONG)))
            for name in sets
        ]
        parts += [
            f"With {WRONG:.0%} wrong labels in the one column of training labels; test labels are clean:",
            markdown_table(("set", "splits", "predicted right", "covered", "mean size"), rows),
        ]
    return section("Prediction sets", PROTOCOL, *parts, *quick_note(options))


def _loadable(names):
    """Return the sets that are there, and those that are not."""
    found, left_out = [], []
    for name in names:
        try:
            real_views(name)
            found.append(name)
        except FileNotFoundError:
            left_out.append(name)
    return found, left_out


def main():
    """Parse the command line and print the section."""
    command_line = parser(__doc__.splitlines()[0])
    command_line.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    command_line.add_argument("--splits", type=int, default=20)
    command_line.add_argument("--mapie", type=int, default=1, help="splits on which MAPIE is measured, too")
    command_line.add_argument("--noisy", type=int, default=2, help="splits with wrong labels in the training rows")
    command_line.add_argument("--keep", metavar="FILE", help="keep finished splits in this file, and go on from it")
    given = command_line.parse_args()
    options = Options(given.quick, given.mumbo_python)
    with threadpool_limits(1):
        print(report(options, tuple(given.sets), given.splits, given.mapie, given.noisy, given.keep))


if __name__ == "__main__":
    main()
