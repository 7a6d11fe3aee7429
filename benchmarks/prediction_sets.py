"""Coverage and size of FusionClassifier's prediction sets where views are missing, beside MAPIE's cross-conformal sets.

    FUSELEARN_DATA=… python -m benchmarks.prediction_sets [--sets mfeat …] [--splits 20] [--keep FILE] [--mapie 2]

40 % of the pairs of a row and a view are missing, in training and test rows alike; every row keeps a view. Results of
splits are kept in a file, and those it has are not computed again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.command_line import progress
from benchmarks.data import real_views
from benchmarks.fusion_missing import drop_views
from benchmarks.tables import markdown_table
from fuselearn import FusionClassifier, add_label_noise

SETS = {"mfeat": (1200, 800), "leaf_flavia": (1144, 763), "movies": (4000, 20_000), "diamonds": (4000, 20_000)}
"""Training and test rows."""
COVERAGE, MISSING, LEAST_POOLED = 0.9, 0.4, 1000


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


def report(kept, sets):
    """Return the tables of what was kept, as Markdown."""
    by_views, pattern_rows, size_rows = [], [], []
    for name in sets:
        results = [entry for key, entry in kept.items() if key.startswith(f"ours {name} 0.0 ")]
        if not results:
            continue
        totals, everything = summary(results)
        for n_views in range(1, len(next(iter(totals))) + 1):
            some = [sums for key, sums in totals.items() if key.count("x") == n_views]
            coverage, accuracy, size = shares(np.sum(some, axis=0))
            n_rows = f"{np.sum(some, axis=0)[0]:,}"
            by_views.append((name, str(n_views), n_rows, f"{accuracy:.3f}", f"{coverage:.3f}", f"{size:.2f}"))
        large = {key: shares(sums) for key, sums in totals.items() if sums[0] >= LEAST_POOLED}
        hard = {key: found[0] for key, found in large.items() if found[1] < COVERAGE}
        bounds = (f"{min(hard.values()):.3f} to {max(hard.values()):.3f}") if hard else "–"
        least = f"{min(found[0] for found in large.values()):.3f}" if large else "–"
        counts = [str(len(some)) for some in (results, totals, large)]
        pattern_rows.append((name, *counts, least, str(len(hard)), bounds))
        coverage, accuracy, size = shares(everything)
        seconds = np.mean([[entry["fit"], entry["sets"]] for entry in results], axis=0)
        size_rows.append((name, "predict_set", str(len(results)), f"{coverage:.3f}", f"{size:.2f}", *_text(seconds)))
        theirs = [entry for key, entry in kept.items() if key.startswith(f"mapie {name} ")]
        if theirs:
            runs = {key.split()[-1] for key in kept if key.startswith(f"mapie {name} ")}
            same = [kept[f"ours {name} 0.0 {run}"] for run in sorted(runs) if f"ours {name} 0.0 {run}" in kept]
            as_asked, as_reached = zip(*theirs)
            for method, entries in (
                ("predict_set, same splits", same),
                ("MAPIE", as_asked),
                ("MAPIE, coverage as reached", as_reached),
            ):
                coverage, accuracy, size = shares(summary(entries)[1])
                seconds = np.mean([[entry["fit"], entry["sets"]] for entry in entries], axis=0)
                size_rows.append((name, method, str(len(entries)), f"{coverage:.3f}", f"{size:.2f}", *_text(seconds)))
    noisy = []
    for name in sets:
        for noise in sorted({key.split()[2] for key in kept if key.startswith(f"ours {name} ")} - {"0.0"}):
            results = [entry for key, entry in kept.items() if key.startswith(f"ours {name} {noise} ")]
            coverage, accuracy, size = shares(summary(results)[1])
            noisy.append((name, noise, str(len(results)), f"{accuracy:.3f}", f"{coverage:.3f}", f"{size:.2f}"))
    header = (
        "set",
        "splits",
        "patterns",
        f"with {LEAST_POOLED:,} rows",
        "least coverage",
        "below 90 % right",
        "theirs",
    )
    tables = [
        markdown_table(header, pattern_rows),
        markdown_table(("set", "views", "rows", "predicted right", "covered", "mean size"), by_views),
        markdown_table(("set", "sets by", "splits", "covered", "mean size", "fit, CPU s", "sets, CPU s"), size_rows),
    ]
    if noisy:
        tables.append(markdown_table(("set", "wrong labels", "splits", "predicted right", "covered", "size"), noisy))
    return "\n\n".join(tables)


def _text(seconds):
    return [f"{value:.2f}" for value in seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--mapie", type=int, default=0, help="splits on which MAPIE is measured, too")
    parser.add_argument("--noise", type=float, default=0.0, help="share of wrong labels in the training rows")
    parser.add_argument("--keep", type=Path, default=Path("prediction_sets.json"))
    options = parser.parse_args()
    kept = json.loads(options.keep.read_text()) if options.keep.exists() else {}
    for name in options.sets:
        for run in range(options.splits):
            jobs = {f"ours {name} {options.noise} {run}": lambda name=name, run=run: ours(name, run, options.noise)}
            if run < options.mapie:
                jobs[f"mapie {name} {run}"] = lambda name=name, run=run: of_mapie(
                    name, run, shares(summary([kept[f"ours {name} 0.0 {run}"]])[1])[0]
                )
            for key, job in jobs.items():
                if key not in kept:
                    progress(f"sets: {key}")
                    kept[key] = job()
                    options.keep.write_text(json.dumps(kept))
    print(report(kept, options.sets))


if __name__ == "__main__":
    main()
