"""Growth of FusionClassifier's time and accuracy with the number of rows; a part of `fusion.py`."""

import time

import numpy as np

from benchmarks.command_line import progress
from benchmarks.data import clustered_views
from benchmarks.fusion_methods import OURS, STACKING, methods, remark_on_packages
from benchmarks.fusion_sets import Labels
from benchmarks.tables import markdown_table, number, quick_note, section
from benchmarks.timing import exponent
from fuselearn import add_label_noise
from fuselearn.datasets import make_views

SIZES, QUICK_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000), (500, 1_000, 2_000)
N_TEST, FLIPPED = 10_000, 0.2
N_VIEWS, N_COLUMNS = 3, 20


def gaussian_classes(n_rows, seed):
    """Draw classes that a plane separates as well as anything."""
    data = make_views(n_rows, n_views=N_VIEWS, n_features=N_COLUMNS, strength=1.0, random_state=seed)
    return data.X, data.y, data.views


def clustered_classes(n_rows, seed):
    """Draw classes of eight clusters each, which no plane separates: there is more to learn from more rows."""
    return clustered_views(n_rows, N_VIEWS, N_COLUMNS, flipped=0.0, seed=seed)


DATA = {"Gaussian classes": gaussian_classes, "classes of eight clusters": clustered_classes}


def outcomes(make, n_rows, fitters, seed):
    """Return CPU seconds of fit and predict, and accuracy on clean test labels, by method."""
    X, y, views = make(n_rows + N_TEST, seed)
    train, test = slice(0, n_rows), slice(n_rows, None)
    noisy, _ = add_label_noise(y[train], 1, FLIPPED, random_state=seed)
    measured = {}
    for name, fit in fitters.items():
        start = time.process_time()
        predict = fit(X[train], Labels(noisy[:, 0]), views, seed)
        fitted = time.process_time()
        predicted = predict(X[test])
        measured[name] = fitted - start, time.process_time() - fitted, float(np.mean(predicted == y[test]))
    return measured


def report(options):
    """Return the section of the report, as Markdown."""
    sizes, n_runs = (QUICK_SIZES, 1) if options.quick else (SIZES, 2)
    fitters = {name: fit for name, fit in methods().items() if name in (OURS, STACKING)}
    outcomes(gaussian_classes, 300, fitters, 0)  # compiles the loops
    parts = []
    for kind, make in DATA.items():
        rows, seconds = [], []
        for size in sizes:
            progress(f"fusion: {kind}, {size} rows")
            runs = [outcomes(make, size, fitters, seed) for seed in range(n_runs)]
            means = {name: np.mean([run[name] for run in runs], axis=0) for name in fitters}
            fits, predictions, accuracies = np.transpose(list(means.values()))
            seconds.append(fits)
            rows.append(
                (
                    f"{size:,}",
                    *(number(value) for value in fits),
                    *([number(fits[0] / fits[1])] if len(fits) > 1 else []),
                    *(number(value) for value in predictions),
                    *(f"{100 * value:.1f}" for value in accuracies),
                )
            )
        header = (
            f"{kind}, rows",
            *(f"{name}, fit, s" for name in fitters),
            *(["ratio"] if len(fitters) > 1 else []),
            *(f"{name}, predict, s" for name in fitters),
            *(f"{name}, accuracy" for name in fitters),
        )
        slopes = (f"{name} n^{exponent(sizes, times):.2f}" for name, times in zip(fitters, np.transpose(seconds)))
        parts += [markdown_table(header, rows), f"Time of a fit grows as: {', '.join(slopes)}."]
    return section(
        "FusionClassifier by number of rows",
        f"{N_VIEWS} views of {N_COLUMNS} columns, two classes, {FLIPPED:.0%} of the training labels wrong, one thread, "
        f"CPU seconds; accuracy on {N_TEST:,} other rows with clean labels, in percent; mean of {n_runs} runs. "
        "FusionClassifier's kernel machines read at most 4,000 rows, and each of its trees a quarter of them, at least "
        "4,096.",
        *remark_on_packages(["LightGBM"]),
        *parts,
        *quick_note(options),
    )
