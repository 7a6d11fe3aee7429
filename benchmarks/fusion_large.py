"""FusionClassifier against LightGBM on sets of many rows: accuracy, time and memory; a part of `fusion.py`.

Usage: ``FUSELEARN_DATA=... python -m benchmarks.fusion --large [--keep FILE] [--cell SET ROWS LABELS] [--peers]``

Every fit runs in a process of its own, so that its peak of memory is not that of another (``python -m
benchmarks.fusion_large --measure SET ROWS LABELS RUN METHOD``).
"""

import json
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.command_line import progress
from benchmarks.data import interacting_views, real_views
from benchmarks.fusion_calibration import calibration_error
from benchmarks.fusion_methods import OURS, LGBMClassifier, remark_on_packages
from benchmarks.fusion_store import open_store, source_of_ours
from benchmarks.gradient import auc
from benchmarks.memory import extra_memory
from benchmarks.tables import at_least, at_most, markdown_table, number, quick_note, section
from fuselearn import FusionClassifier, ShareGradientBoostingClassifier, add_label_noise

FLIPPED = 0.3
LABELS = ("clean", "wrong")
REAL = (("movies", 20_000), ("movies", 40_000), ("diamonds", 20_000), ("diamonds", 40_000))
SYNTHETIC = ("interacting", 270_000)
QUICK = (("interacting", 2_000),)
N_TEST_DRAWN = 50_000
"""Test rows of the synthetic set."""
N_PREDICTED = 50_000
"""Rows that predictions are timed on, the test rows among them; no set has more of them."""
N_WARM_UP = 2_000
LONG = 2.0
"""CPU seconds of predictions that are not timed twice."""
N_RUNS = {"movies": 3, "diamonds": 3, "interacting": 1}
FIRST, SECOND, STACKED = "LightGBM, 31 leaves, 0.1", "LightGBM, 15 leaves, 0.05", "LightGBM, stacked"
TREES = {
    FIRST: {"n_estimators": 200, "num_leaves": 31, "learning_rate": 0.1},
    SECOND: {"n_estimators": 200, "num_leaves": 15, "learning_rate": 0.05},
}
METHODS = (OURS, FIRST, SECOND, STACKED)
MEASURES = ("auc", "log_loss", "accuracy", "ece", "ece_as_given", "fit", "predict", "memory")
SINGLE = ("single_fit", "single_predict")
"""Times of LightGBM, measured beside FusionClassifier."""
LEAST_LEAD, LEAST_OF_A_CELL = 0.5, -0.3
"""Points of AUC above the better LightGBM: in the mean of the real sets, and in every cell."""
MOST_FITS, GOAL_FITS, GOAL_FITS_OF_MANY_ROWS = 25, 15, 8
MOST_PREDICT = 10
PROTOCOL = (
    "Training rows drawn at random, the others to test on; columns as they are in the file. Labels are clean, or "
    f"{FLIPPED:.0%} of the training labels are wrong, the same ones for all views; test labels are clean. LightGBM has "
    "200 trees, on all views side by side, in two settings; stacked is the first setting per view and on all views, "
    "joined by a logistic regression on out-of-fold log-odds of five folds. One thread, CPU seconds."
)


def load(name, n_train, run):
    """Return training and test rows of a run.

    Parameters
    ----------
    name : str
        A real set, or "interacting" for the synthetic one.
    n_train, run : int

    Returns
    -------
    X, y, X_test, y_test, views
    """
    if name == SYNTHETIC[0]:
        n_test = min(N_TEST_DRAWN, n_train)
        X, y, views, _ = interacting_views(n_train + n_test, seed=run)
        return X[:n_train], y[:n_train], X[n_train:], y[n_train:], views
    X, y, views, _ = real_views(name)
    train, test = train_test_split(np.arange(len(y)), train_size=n_train, stratify=y, random_state=run)
    return X[train], y[train], X[test], y[test], views


def noisy(y, labels, run):
    """Return training labels, some of them wrong where `labels` is "wrong"."""
    if labels == "clean":
        return y
    columns, _ = add_label_noise(y, 1, FLIPPED, random_state=run)
    return columns[:, 0]


def fusion(X, y, views, seed):
    """Fit FusionClassifier with its defaults."""
    return FusionClassifier(views=views, random_state=seed).fit(X, y).predict_proba


def boosted(X, y, views, seed, method):
    """Fit LightGBM on all views side by side."""
    return _trees(method, seed).fit(X, y).predict_proba


def stacked(X, y, views, seed):
    """Fit LightGBM per view and on all views, stacked by a logistic regression on out-of-fold values of five folds."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    parts = [*views.values(), slice(None)]
    models = [_trees(FIRST, seed) for _ in parts]
    columns = [
        _log_odds(cross_val_predict(model, X[:, part], y, cv=folds, method="predict_proba"))
        for model, part in zip(models, parts)
    ]
    upper = LogisticRegression(max_iter=300).fit(np.hstack(columns), y)
    for model, part in zip(models, parts):
        model.fit(X[:, part], y)

    def predict(rows):
        values = [_log_odds(model.predict_proba(rows[:, part])) for model, part in zip(models, parts)]
        return upper.predict_proba(np.hstack(values))

    return predict


def _trees(method, seed):
    return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1, **TREES[method])


def _log_odds(probabilities):
    """Return log-odds of all classes, of two classes those of the second."""
    kept = np.clip(probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities, 1e-6, 1 - 1e-6)
    return np.log(kept / (1 - kept))


def fit(method, X, y, views, seed):
    """Fit a method; return the function that gives its probabilities."""
    if method == OURS:
        return fusion(X, y, views, seed)
    return stacked(X, y, views, seed) if method == STACKED else boosted(X, y, views, seed, method)


def measure(name, n_train, labels, run, method):
    """Fit one method in this process, and return the `MEASURES` and the source of FusionClassifier, for JSON.

    A fit of FusionClassifier stands between two of LightGBM: a ratio of times is of one run, also where the other times
    of LightGBM were kept from another day.
    """
    source = source_of_ours()
    X, y, X_test, y_test, views = load(name, n_train, run)
    given = noisy(y, labels, run)
    few = slice(0, N_WARM_UP)
    fit(FIRST, X[few], given[few], views, run)(X_test[:100])  # loads the library
    if method == OURS:  # compiles the loops; trees may join only above some size
        fit(OURS, X[few], given[few], views, run)(X_test[:100])
        ShareGradientBoostingClassifier(n_estimators=2, views=views).fit(X[few], given[few])
    # Predictions are timed on the test rows and on as many of them again as make up the number.
    rows = X_test[np.resize(np.arange(len(X_test)), N_PREDICTED)]
    outcome, singles = {}, []

    def work():
        outcome["fit"], outcome["predict"] = timed(lambda: fit(method, X, given, views, run))

    if method == OURS:
        single_fit, predict = timed(lambda: fit(FIRST, X, given, views, run))
        singles = [single_fit, seconds_of_predictions(predict, rows)[0]]
    memory = extra_memory(work)
    seconds, probabilities = seconds_of_predictions(outcome["predict"], rows)
    if method == OURS:
        singles[0] = (singles[0] + timed(lambda: fit(FIRST, X, given, views, run))[0]) / 2
    probabilities = probabilities[: len(X_test)]
    correct = probabilities.argmax(axis=1) == y_test
    # By test labels of which as many are wrong as of the training labels; the chance is counted instead of drawn.
    flipped = FLIPPED if labels == "wrong" else 0.0
    correct_as_given = np.where(correct, 1 - flipped, flipped / (probabilities.shape[1] - 1))
    measured = {
        "auc": float(auc(y_test, probabilities)),
        "log_loss": float(log_loss(y_test, probabilities)),
        "accuracy": float(correct.mean()),
        "ece": calibration_error(probabilities.max(axis=1), correct),
        "ece_as_given": calibration_error(probabilities.max(axis=1), correct_as_given),
        "fit": outcome["fit"],
        "predict": seconds,
        "memory": memory,
        "source": source,
    }
    if singles:
        measured |= dict(zip(SINGLE, singles))
    return measured


def timed(work):
    """Return CPU seconds of work, and what it returns."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def seconds_of_predictions(predict, rows):
    """Return CPU seconds of predictions, the better of two where they are quick, and the predictions."""
    seconds, predicted = timed(lambda: predict(rows))
    if seconds < LONG:
        seconds = min(seconds, timed(lambda: predict(rows))[0])
    return seconds, predicted


def in_new_process(*arguments):
    """Call `measure` in a new process."""
    command = [sys.executable, "-m", "benchmarks.fusion_large", "--measure", *map(str, arguments)]
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(finished.stdout.splitlines()[-1])


def key_of(cell, run, method, source):
    """Return the key of a fit in the store: those of a changed FusionClassifier are made anew."""
    return *cell, run, f"{method} {source}" if method == OURS else method


def runs_of(cell, method, options):
    """Return the runs of a cell that a method takes part in; that of the costly peer counts once."""
    return range(1 if options.quick or method == STACKED else N_RUNS[cell[0]])


def results(cells, methods, options, store):
    """Fit what the store lacks; return the means over runs by cell and method, as dicts of the `MEASURES`."""
    source = source_of_ours()
    means = {}
    for cell in cells:
        for method in methods:
            found = []
            for run in runs_of(cell, method, options):
                key = key_of(cell, run, method, source)
                if key not in store:
                    progress(f"fusion: {' '.join(map(str, cell))} labels, run {run + 1}, {method}")
                    measured = in_new_process(*cell, run, method)
                    if method == OURS and measured["source"] != source:
                        sys.exit("fusion: the source of FusionClassifier has changed since this run began.")
                    store.add(key, measured)
                found.append(store[key])
            names = [*MEASURES, *(SINGLE if method == OURS else ())]
            means[cell, method] = {name: float(np.mean([one[name] for one in found])) for name in names}
    return means


def cell_name(cell):
    """Return a cell in words."""
    name, n_train, labels = cell
    return f"{name}, {n_train:,}, {labels}"


def accuracy_table(cells, methods, means):
    """Return the table of AUC, log loss, accuracy and calibration error."""
    header = ("set, training rows, labels", *methods)
    rows = []
    for cell in cells:
        values = [means[cell, method] for method in methods]
        rows.append(
            (
                cell_name(cell),
                *(
                    f"{100 * value['auc']:.2f} / {value['log_loss']:.4f} / {100 * value['accuracy']:.1f} / "
                    f"{value['ece']:.3f} / {value['ece_as_given']:.3f}"
                    for value in values
                ),
            )
        )
    return markdown_table(header, rows)


def cost_table(cells, methods, means):
    """Return the table of CPU seconds and memory."""
    header = ("fit, s / predict 50,000 rows, s / peak, MiB", *methods)
    rows = [
        (
            cell_name(cell),
            *(
                f"{number(means[cell, method]['fit'])} / {number(means[cell, method]['predict'])} / "
                f"{number(means[cell, method]['memory'] / 2**20)}"
                for method in methods
            ),
        )
        for cell in cells
    ]
    return markdown_table(header, rows)


def lead_of(cell, means):
    """Return FusionClassifier's AUC less the better LightGBM's, in points, and log loss likewise (better below 0)."""
    ours, peers = means[cell, OURS], [means[cell, FIRST], means[cell, SECOND]]
    return (
        100 * (ours["auc"] - max(peer["auc"] for peer in peers)),
        ours["log_loss"] - min(peer["log_loss"] for peer in peers),
    )


def ratios_of(cell, means):
    """Return FusionClassifier's time of a fit by that of one LightGBM and of the stack, and of predictions."""
    ours, by_single = means[cell, OURS], means[cell, OURS]["fit"] / means[cell, OURS]["single_fit"]
    # The stack was timed beside the single fits of its own run.
    fits_of_stack = means[cell, STACKED]["fit"] / means[cell, FIRST]["fit"] if (cell, STACKED) in means else np.nan
    return by_single, by_single / fits_of_stack, ours["predict"] / ours["single_predict"]


def verdicts(cells, means):
    """Return the table of differences and ratios, and what they say of the targets."""
    leads = {cell: lead_of(cell, means) for cell in cells}
    ratios = {cell: ratios_of(cell, means) for cell in cells}
    rows = [
        (
            cell_name(cell),
            f"{leads[cell][0]:+.2f}",
            f"{leads[cell][1]:+.4f}",
            *(number(value) for value in ratios[cell]),
        )
        for cell in cells
    ]
    header = ("FusionClassifier", "AUC points", "log loss", "fit / LightGBM", "fit / stacked", "predict / LightGBM")
    real = [leads[cell][0] for cell in cells if cell[0] != SYNTHETIC[0]]
    not_better = [cell_name(cell) for cell in cells if cell[2] == "clean" and leads[cell][1] >= 0]
    by_single, by_stack, by_predict = (max(values) for values in zip(*ratios.values()))
    many = [ratios[cell][0] for cell in cells if cell[:2] == SYNTHETIC]
    parts = [markdown_table(header, rows)]
    if real:
        parts.append(f"AUC less the better LightGBM's, mean of the real sets: {at_least(np.mean(real), LEAST_LEAD)}.")
    parts += [
        f"Worst cell: {at_least(min(lead for lead, _ in leads.values()), LEAST_OF_A_CELL)}.",
        f"Clean cells whose log loss is not better than LightGBM's: {at_most(len(not_better), 0)}"
        f"{' (' + '; '.join(not_better) + ')' if not_better else ''}.",
        f"Time of a fit, worst cell, in fits of LightGBM: {at_most(by_single, MOST_FITS)} (goal {GOAL_FITS}); in "
        f"times of the stack: {at_most(by_stack, 1)}.",
    ]
    if many:
        parts.append(f"At {SYNTHETIC[1]:,} rows, in fits of LightGBM: {at_most(max(many), GOAL_FITS_OF_MANY_ROWS)}.")
    parts.append(f"Time of predictions, worst cell, in times LightGBM's: {at_most(by_predict, MOST_PREDICT)}.")
    return parts


def chosen_cells(options, cell):
    """Return the cells to measure and the sets that are not there."""
    if cell is not None:
        return [(cell[0], int(cell[1]), cell[2])], []
    sets, missing = [], []
    for name, n_train in QUICK if options.quick else (*REAL, SYNTHETIC):
        try:
            if name != SYNTHETIC[0]:
                real_views(name)
            sets.append((name, n_train))
        except FileNotFoundError:
            missing.append(name)
    return [(*one, labels) for one in sets for labels in LABELS], sorted(set(missing))


def report(options, keep=None, cell=None, only_peers=False):
    """Return the section of the report, as Markdown.

    Parameters
    ----------
    options : Options
    keep : str or None
        File of finished fits.
    cell : (set, rows, labels) or None
        The one cell to measure, without the stack where the file does not have it.
    only_peers : bool
        Whether to leave FusionClassifier out: its fits are made when its source is final.
    """
    title = "FusionClassifier on many rows"
    if LGBMClassifier is None:
        return section(title, *remark_on_packages(["LightGBM"]))
    cells, missing = chosen_cells(options, cell)
    store = open_store(keep, PROTOCOL)
    methods = [method for method in METHODS if not (only_peers and method == OURS)]
    if cell is not None and key_of(cells[0], 0, STACKED, "") not in store:
        methods.remove(STACKED)
    means = results(cells, methods, options, store)
    return section(
        title,
        PROTOCOL,
        *([f"*Left out, since they were not found: {', '.join(missing)}.*"] if missing else []),
        *remark_on_packages(["LightGBM"]),
        "AUC in percent (of many classes the mean of one against the rest) / log loss / accuracy in percent / expected "
        "calibration error / the same by test labels of which as many are wrong as of the training labels:",
        accuracy_table(cells, methods, means),
        "Peak: memory that a fit takes beyond what was in use before it.",
        cost_table(cells, methods, means),
        *([] if only_peers else verdicts(cells, means)),
        *quick_note(options),
    )


if __name__ == "__main__":
    if sys.argv[1:2] != ["--measure"]:
        sys.exit("usage: python -m benchmarks.fusion --large")
    set_name, rows_to_train, kind_of_labels, number_of_run, method_name = sys.argv[2:7]
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    with threadpool_limits(1):
        print(json.dumps(measure(set_name, int(rows_to_train), kind_of_labels, int(number_of_run), method_name)))
