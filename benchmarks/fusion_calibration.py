"""Calibration of FusionClassifier's probabilities; a part of `fusion.py`."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from benchmarks.command_line import progress
from benchmarks.fusion_methods import OURS
from benchmarks.fusion_sets import GRID, MOST_OBJECTS, all_classes, available, split, without
from benchmarks.tables import at_most, markdown_table, quick_note, section
from fuselearn import FusionClassifier

N_BINS = 15
MOST_ERROR = 0.05
N_DRAWS = 200
SETS = {
    "mfeat, ten classes": {"mfeat, ten classes": lambda: all_classes("mfeat")},
    "mfeat ≥ 5": GRID["mfeat ≥ 5"],
    "breast_tcga, three classes": {"breast_tcga, three classes": lambda: all_classes("breast_tcga")},
    "breast_tcga, LumA": GRID["breast_tcga, LumA"],
}
ALL_OBJECTS = 10**6


def calibration_error(confidence, correct, n_bins=N_BINS):
    """Return the expected calibration error: the mean gap of confidence and accuracy over bins of equal width.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        Largest probability of each row.
    correct : bool ndarray of shape (n_rows,)
        True where the class of that probability is right.
    """
    gaps, _ = bin_gaps(confidence, correct, n_bins)
    return float(np.abs(gaps).sum() / len(confidence))


def bin_gaps(confidence, correct, n_bins=N_BINS):
    """Return, by bin, the sum of accuracy less confidence, and the variance that it has if the confidence is right."""
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, weights=correct.astype(float) - confidence, minlength=n_bins)
    return gaps, np.bincount(bins, weights=confidence * (1 - confidence), minlength=n_bins)


def error_by_chance(confidence, rng):
    """Return the mean error on so few rows of a model whose confidence is exactly right."""
    draws = rng.uniform(size=(N_DRAWS, len(confidence))) < confidence
    return float(np.mean([calibration_error(confidence, correct) for correct in draws]))


def classifiers(views, seed):
    """Return classifiers with `predict_proba` by name; an SVM has none, and gets Platt's sigmoid from five folds."""
    return {
        OURS: FusionClassifier(views=views, random_state=seed),
        "SVM, all views, sigmoid": CalibratedClassifierCV(SVC(class_weight="balanced"), ensemble=False),
        "random forest": RandomForestClassifier(random_state=seed),
    }


def errors(objects, most_objects, n_runs):
    """Measure calibration errors over splits.

    Returns
    -------
    by_method : dict of name to list of float
    pooled : float
        Error of FusionClassifier on the test rows of all splits together.
    by_chance : list of float
        See `error_by_chance`, for FusionClassifier's confidence.
    n_test : int
    """
    by_method, by_chance, ours = {}, [], []
    rng = np.random.default_rng(0)
    for run in range(n_runs):
        rows = split(objects, run, most_objects)
        for name, model in classifiers(rows.views, run).items():
            model.fit(rows.X, rows.y)
            probabilities = model.predict_proba(rows.X_test)
            confidence = probabilities.max(axis=1)
            correct = model.classes_[probabilities.argmax(axis=1)] == rows.y_test
            by_method.setdefault(name, []).append(calibration_error(confidence, correct))
            if name == OURS:
                by_chance.append(error_by_chance(confidence, rng))
                ours.append((confidence, correct))
    pooled = calibration_error(*(np.concatenate(parts) for parts in zip(*ours)))
    return by_method, pooled, by_chance, len(rows.y_test)


def report(options):
    """Return the section of the report, as Markdown."""
    n_runs = 2 if options.quick else 10
    sets, missing = available(SETS)
    rows, worst = [], 0.0
    for name, tasks in sets.items():
        objects = tasks[name]
        sizes = [MOST_OBJECTS]
        if len(objects.y) > MOST_OBJECTS and not options.quick:
            sizes.append(ALL_OBJECTS)
        for most_objects in sizes:
            progress(f"fusion: calibration on {name}, at most {most_objects} objects")
            by_method, pooled, by_chance, n_test = errors(objects, most_objects, n_runs)
            worst = max(worst, np.mean(by_method[OURS]))
            means = [f"{np.mean(values):.3f}" for values in by_method.values()]
            n_objects = min(len(objects.y), most_objects)
            rows.append((f"{name}, {n_objects:,}", str(n_test), *means, f"{np.mean(by_chance):.3f}", f"{pooled:.3f}"))
    if not rows:
        return section("Calibration of FusionClassifier", *without(missing))
    header = ("set, objects", "test rows", *by_method, "by chance alone", f"{OURS}, splits pooled")
    return section(
        "Calibration of FusionClassifier",
        f"Expected calibration error, {N_BINS} bins of equal width of the largest probability; clean labels, prepared "
        f"as in the grid, mean over {n_runs} splits. On few test rows it cannot be 0: by chance alone is the "
        "mean error of a model with FusionClassifier's confidence that is exactly right. Pooled: the test rows of all "
        "splits together, where chance counts for less.",
        *without(missing),
        markdown_table(header, rows),
        f"Worst mean of FusionClassifier: {at_most(worst, MOST_ERROR)}.",
        *quick_note(options),
    )
