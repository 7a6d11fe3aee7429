"""Gradient boosting: accuracy, time, threads and memory against LightGBM with the same settings.

Usage: ``python -m benchmarks.gradient [--quick]``

Accuracy needs real sets in the folder that ``FUSELEARN_DATA`` names; what is not there is left out by name.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.command_line import progress, run_script
from benchmarks.machine import n_cores
from benchmarks.memory import extra_memory
from benchmarks.tables import at_least, at_most, markdown_table, number, quick_note, section
from benchmarks.timing import best_times
from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor

try:
    import lightgbm
except ImportError:
    lightgbm = None

SETS = (
    ("movies", 20_000),
    ("movies", 40_000),
    ("diamonds", 20_000),
    ("diamonds", 40_000),
    ("mfeat", None),
    ("cells", None),
    ("leaf_flavia", None),
    ("breast_tcga", None),
)
"""Real sets, and the number of rows to train on; None for 70 of 100."""
TARGET_SETS = (("diamonds", 20_000), ("diamonds", 40_000))
SIZES = ((20_000, 300), (270_000, 50), (20_000, 25))
"""Rows and columns of the tables that fits are timed on; the last one is too small to be a target."""
TREES = {"n_estimators": 200, "learning_rate": 0.1}
"""Both libraries have 31 leaves, 255 bins and 20 rows a leaf by default."""


def ours(classes=True, **settings):
    """Return our estimator without early stopping."""
    kind = ShareGradientBoostingClassifier if classes else ShareGradientBoostingRegressor
    return kind(early_stopping=False, random_state=0, **TREES, **settings)


def theirs(classes=True, n_jobs=1):
    """Return LightGBM's estimator."""
    kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    return kind(n_jobs=n_jobs, verbose=-1, **TREES)


def real_set(name):
    """Return (columns of all views, classes as numbers, logarithm of the target or None) of a set; None without it."""
    folder = os.environ.get("FUSELEARN_DATA")
    path = None if folder is None else Path(folder) / name / f"{name}.npz"
    if path is None or not path.exists():
        return None
    with np.load(path) as arrays:
        views = {key: arrays[key] for key in arrays.files if key.startswith("view_")}
        y = np.unique(arrays["y"], return_inverse=True)[1]
        target = np.log(arrays["target_price"].astype(float)) if "target_price" in arrays.files else None
    if target is not None:
        views_of_target = {key: view for key, view in views.items() if key != "view_price"} | {"grade": y}
        return _joined(views), y, (_joined(views_of_target), target)
    return _joined(views), y, None


def _joined(views):
    """Return the columns of views side by side."""
    return np.hstack([np.asarray(view, dtype=float).reshape(len(view), -1) for view in views.values()])


def auc(y, probabilities):
    """Return the area under the curve; with more than two classes the mean of one against the rest."""
    if probabilities.shape[1] == 2:
        return roc_auc_score(y, probabilities[:, 1])
    return roc_auc_score(y, probabilities, multi_class="ovr")


def compare_accuracy(X, y, train_size, n_splits, classes):
    """Return AUC or R² of both libraries, one row a split."""
    scores = []
    for seed in range(n_splits):
        train, test = train_test_split(
            np.arange(len(y)), train_size=train_size or 0.7, random_state=seed, stratify=y if classes else None
        )
        both = []
        for model in (ours(classes), theirs(classes)):
            model.fit(X[train], y[train])
            if classes:
                both.append(auc(y[test], model.predict_proba(X[test])))
            else:
                both.append(r2_score(y[test], model.predict(X[test])))
        scores.append(both)
    return np.array(scores)


def accuracy_section(options):
    """Return the table of accuracies."""
    title = "Gradient boosting: accuracy against LightGBM"
    n_splits = 1 if options.quick else 10
    rows, differences, left_out = [], {True: [], False: []}, []
    for classes, sets in ((True, SETS[-2:] if options.quick else SETS), (False, () if options.quick else TARGET_SETS)):
        for name, train_size in sets:
            progress(f"gradient: {name} {train_size or ''}")
            data = real_set(name)
            if data is None:
                left_out.append(name)
                continue
            X, y = data[:2] if classes else data[2]
            scores = compare_accuracy(X, y, train_size, n_splits, classes)
            mean, difference = scores.mean(axis=0), 100 * (scores[:, 0] - scores[:, 1]).mean()
            differences[classes].append(difference)
            label = name if classes else f"{name}, price (R²)"
            size = f"{train_size:,}" if train_size else "70 %"
            rows.append((label, size, f"{mean[0]:.4f}", f"{mean[1]:.4f}", f"{difference:+.2f}"))
    if not rows:
        return section(title, "Skipped: `FUSELEARN_DATA` names no folder with these sets.")
    parts = [markdown_table(("set", "training rows", "fuselearn", "LightGBM", "points"), rows)]
    for classes, measure in ((True, "AUC"), (False, "R²")):
        if found := differences[classes]:
            parts.append(
                f"{measure}, mean of the sets: {at_least(np.mean(found), -0.2)} points; worst set: "
                f"{at_least(min(found), -0.5)} points."
            )
    if left_out:
        parts.append(f"Left out, since they were not found: {', '.join(left_out)}.")
    return section(title, f"Mean of {n_splits} splits, 200 trees of 31 leaves, rate 0.1, no early stopping.", *parts)


def table(n_rows, n_columns):
    """Return rows whose class depends on a product of columns and on a third one."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * generator.normal(size=n_rows) > 0).astype(int)


def time_section(options):
    """Return the table of times."""
    rows, ratios = [], {}
    compiling = ours().set_params(n_estimators=2)
    for n_rows, n_columns in [(2_000, 10)] if options.quick else SIZES:
        progress(f"gradient: time of {n_rows} x {n_columns}")
        X, y = table(n_rows, n_columns)
        for n_jobs in (1, 2):
            compiling.set_params(n_jobs=n_jobs).fit(X[:2_000], y[:2_000])
        works = {
            "fuselearn": lambda X=X, y=y: ours().fit(X, y),
            "LightGBM": lambda X=X, y=y: theirs().fit(X, y),
            "scikit-learn": lambda X=X, y=y: HistGradientBoostingClassifier(
                max_iter=TREES["n_estimators"], early_stopping=False
            ).fit(X, y),
        }
        with threadpool_limits(1):
            times = best_times(works, repeats=1 if options.quick else 2)
        threads = best_times(
            {n_jobs: lambda n_jobs=n_jobs, X=X, y=y: ours(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)},
            repeats=1,
            clock=time.perf_counter,
        )
        ratios[n_rows, n_columns] = (
            times["fuselearn"].seconds / times["LightGBM"].seconds,
            threads[1].seconds / threads[2].seconds,
        )
        rows.append(
            (
                f"{n_rows:,} x {n_columns}",
                *(number(times[name].seconds) for name in works),
                number(ratios[n_rows, n_columns][0]),
                number(ratios[n_rows, n_columns][1]),
            )
        )
    parts = [
        markdown_table(
            ("rows x columns", "fuselearn, s", "LightGBM, s", "scikit-learn, s", "ratio to LightGBM", "two threads"),
            rows,
        )
    ]
    if not options.quick:
        parts.append(
            f"Ratio at 20,000 x 300: {at_most(ratios[SIZES[0]][0], 1.5)}. At 270,000 x 50: "
            f"{at_most(ratios[SIZES[1]][0], 1.5)}. Two threads at 270,000 rows: {at_least(ratios[SIZES[1]][1], 1.6)}"
            f"{'' if n_cores() > 1 else ' (this machine has one core)'}."
        )
    return section(
        "Gradient boosting: time of a fit", "CPU seconds of one thread; two threads by the wall clock.", *parts
    )


def measure_memory(n_classes, n_rows, n_columns):
    """Print, as JSON, the bytes that a fit takes beyond X and the bins, which are a byte a value."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, n_columns)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1], np.quantile(X[:, 0] + X[:, 1], np.arange(1, n_classes) / n_classes))
    model = ours().set_params(n_estimators=3)
    model.fit(X[:5_000], y[:5_000])
    extra = extra_memory(lambda: model.fit(X, y))
    print(json.dumps({"extra": extra - n_rows * n_columns, "histograms": 31 * n_columns * 3 * 256 * 8}))


def memory_section(options):
    """Return the table of memory."""
    rows = []
    worst = 0.0
    for n_classes in (2, 8):
        n_rows, n_columns = (50_000, 10) if options.quick else (2_000_000, 20)
        command = [
            sys.executable,
            "-m",
            "benchmarks.gradient",
            "--measure",
            str(n_classes),
            str(n_rows),
            str(n_columns),
        ]
        finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        measured = json.loads(finished.stdout)
        by_row = (measured["extra"] - measured["histograms"]) / n_rows
        allowed = 24 * n_classes + 8
        worst = max(worst, by_row / allowed)
        rows.append((f"{n_classes}", f"{n_rows:,} x {n_columns}", number(by_row), f"{allowed}"))
    return section(
        "Gradient boosting: memory of a fit",
        "Bytes a row beyond X, its bins and the histograms of 31 leaves; 24 a class and 8 are allowed.",
        markdown_table(("classes", "rows x columns", "bytes a row", "allowed"), rows),
        f"Share of what is allowed: {at_most(worst, 1.0)}.",
    )


def report(options):
    """Return the sections of the report, as Markdown."""
    if lightgbm is None:
        return section("Gradient boosting against LightGBM", "Skipped: LightGBM is not installed.")
    parts = [accuracy_section(options), time_section(options), memory_section(options), *quick_note(options)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure_memory(*map(int, sys.argv[2:5]))
    else:
        run_script(report, __doc__)
