"""MSSBoost against one support vector machine per label, and the cost of a thousand labels.

Usage: ``python -m benchmarks.multilabel [--quick]``

Data of the shape of S2's TREC collection: 6,525 rows of 343 features, 39 labels with 10 % of the rows each. A quick run
measures scikit-learn's machines on three of the labels and multiplies.
"""

import cProfile
import json
import os
import pstats
import subprocess
import sys
import time

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.command_line import progress, run_script
from benchmarks.memory import extra_memory
from benchmarks.tables import at_least, at_most, markdown_table, number, section
from fuselearn import MSSBoostClassifier

N_ROWS, N_TEST, N_FEATURES, N_LABELS = 6_525, 2_175, 343, 39
N_MODELS, DATA_RATIO, FEATURE_RATIO = 100, 0.2, 0.1
KERNEL_WIDTHS = (1.0, 2.0, 3.0)
"""γ of the machine per label, in units of scikit-learn's "scale"; S2 chose its own by two-fold cross-validation too."""
MANY_ROWS, MANY_FEATURES, MANY_LABELS, MANY_POOL = 20_000, 500, 1_000, 64
PARTS = {
    "support vector machines": ("solve_fixed_size",),
    "outputs of base models on all rows": ("fill_outputs",),
    "Newton steps of all candidates and labels": ("_compute_products",),
    "exact joint losses": ("_evaluate",),
    "χ² tests": ("related",),
}
"""Rows of the profile, by the functions whose time they are."""


def annotated_rows(n_rows, n_features, n_labels, *, share=0.1, seed=0):
    """Draw redundant features of a few hidden causes, and labels that depend on these causes, with noise.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
    Y : int ndarray of shape (n_rows, n_labels)
        Each label has `share` of the rows.
    """
    generator = np.random.default_rng(seed)
    causes = generator.normal(size=(n_rows, 6))

    def waves(number):
        return np.sin(causes @ generator.normal(size=(6, number)) + generator.uniform(0, 2 * np.pi, number))

    X = waves(n_features) + 0.2 * generator.normal(size=(n_rows, n_features))
    scores = waves(30) @ generator.normal(size=(30, n_labels)) / np.sqrt(15)
    scores += 0.5 * generator.normal(size=scores.shape)
    return X, (scores > np.quantile(scores, 1 - share, axis=0)).astype(np.int64)


class Outcome:
    """CPU seconds, size and mean average precision of a method."""

    def __init__(self, fit_seconds, predict_seconds, size, precision):
        self.fit_seconds, self.predict_seconds = fit_seconds, predict_seconds
        self.size, self.precision = size, precision

    def row(self, name, ours):
        """Return the cells of the table, compared with `ours`."""
        return (
            name,
            number(self.fit_seconds),
            number(self.fit_seconds / ours.fit_seconds),
            number(self.predict_seconds),
            number(self.predict_seconds / ours.predict_seconds),
            f"{self.size:,.0f}",
            number(self.size / ours.size),
            f"{self.precision:.3f}",
        )


def cpu_seconds(work):
    """Return the CPU seconds of a call, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def shared_models(X, Y, X_test, Y_test, data_ratio=DATA_RATIO):
    """Fit MSSBoost on all labels; return its outcome, and the average precision of each label."""
    model = MSSBoostClassifier(
        n_estimators=N_MODELS, data_ratio=data_ratio, feature_ratio=FEATURE_RATIO, random_state=0
    )
    fit_seconds, model = cpu_seconds(lambda: model.fit(X, Y))
    predict_seconds, decision = cpu_seconds(lambda: model.decision_function(X_test))
    precisions = average_precision_score(Y_test, decision, average=None)
    return Outcome(fit_seconds, predict_seconds, model.model_size_, precisions.mean()), precisions


def machine_per_label(X, Y, X_test, Y_test, labels, gamma):
    """Fit scikit-learn's SVC for each of some labels; times and sizes are multiplied up to all of them."""
    fit_seconds = predict_seconds = size = 0.0
    precisions = []
    for label in labels:
        seconds, machine = cpu_seconds(lambda label=label: SVC(gamma=gamma).fit(X, Y[:, label]))
        fit_seconds += seconds
        seconds, decision = cpu_seconds(lambda machine=machine: machine.decision_function(X_test))
        predict_seconds += seconds
        size += machine.support_vectors_.size
        precisions.append(average_precision_score(Y_test[:, label], decision))
    times = Y.shape[1] / len(labels)
    return Outcome(times * fit_seconds, times * predict_seconds, times * size, float(np.mean(precisions)))


def chosen_gamma(X, Y, labels):
    """Choose γ by two-fold cross-validation of the mean average precision over some labels."""
    scale = 1.0 / (X.shape[1] * X.var())
    scores = [
        np.mean([cross_val_score(SVC(gamma=w * scale), X, Y[:, k], cv=2, scoring="average_precision") for k in labels])
        for w in KERNEL_WIDTHS
    ]
    return KERNEL_WIDTHS[int(np.argmax(scores))], scale


def profile(X, Y):
    """Return the CPU seconds of a fit by part, as a Markdown table."""
    profiler = cProfile.Profile(time.process_time)
    model = MSSBoostClassifier(
        n_estimators=N_MODELS, data_ratio=DATA_RATIO, feature_ratio=FEATURE_RATIO, random_state=0
    )
    profiler.runcall(model.fit, X, Y)
    stats = pstats.Stats(profiler)
    seconds = {
        part: sum(entry[3] for (_, _, name), entry in stats.stats.items() if name in functions)
        for part, functions in PARTS.items()
    }
    seconds["everything else"] = stats.total_tt - sum(seconds.values())
    rows = [(part, number(value), f"{value / stats.total_tt:.0%}") for part, value in seconds.items()]
    return markdown_table(("part of a fit", "CPU s", "share"), rows)


def machines_part(options):
    """Compare MSSBoost with one machine per label, as Markdown paragraphs."""
    X, Y = annotated_rows(N_ROWS + N_TEST, N_FEATURES, N_LABELS)
    X, X_test, Y, Y_test = X[:N_ROWS], X[N_ROWS:], Y[:N_ROWS], Y[N_ROWS:]
    labels = range(3) if options.quick else range(N_LABELS)
    progress("multilabel: MSSBoost")
    ours, precisions = shared_models(X, Y, X_test, Y_test)
    smaller, _ = shared_models(X, Y, X_test, Y_test, data_ratio=DATA_RATIO / 2)
    progress("multilabel: one SVC per label")
    plain = machine_per_label(X, Y, X_test, Y_test, labels, "scale")
    width, scale = chosen_gamma(X, Y, range(2))
    progress("multilabel: one SVC per label, γ by cross-validation")
    tuned = plain if width == 1 else machine_per_label(X, Y, X_test, Y_test, labels, width * scale)
    rows = [
        ours.row(f"MSSBoost, {N_MODELS} models", ours),
        smaller.row(f"the same with data_ratio={DATA_RATIO / 2}", ours),
        plain.row('SVC per label, gamma="scale"', ours),
        tuned.row(f"SVC per label, γ by cross-validation ({width:g} × scale)", ours),
    ]
    header = ("method", "fit, CPU s", "times", "predict, CPU s", "times", "model size", "times", "mean AP")
    measured = ", ".join(str(label) for label in labels) if options.quick else "all"
    verdicts = [
        f"Against {name}: fit {at_least(other.fit_seconds / ours.fit_seconds, 20)} (S2: 60); predict "
        f"{at_least(other.predict_seconds / ours.predict_seconds, 40)}; size {at_least(other.size / ours.size, 20)}."
        for name, other in (("plain SVC", plain), ("SVC with γ by cross-validation", tuned))
    ]
    progress("multilabel: profile")
    return [
        f"{N_ROWS:,} × {N_FEATURES}, {N_LABELS} labels at 10 %, ratios {DATA_RATIO} and {FEATURE_RATIO}; "
        f"{N_TEST:,} test rows. One thread, also for BLAS; CPU seconds. Labels of SVC: {measured}"
        + (f" (times and sizes × {N_LABELS / len(labels):g}; MSSBoost's mean AP on these is " if options.quick else "")
        + (f"{np.mean(precisions[list(labels)]):.3f})." if options.quick else "."),
        markdown_table(header, rows),
        *verdicts,
        profile(X, Y),
    ]


def measure_many_labels(n_rows, n_labels):
    """Fit many labels in this process, and print seconds and bytes as JSON."""
    X, Y = annotated_rows(500, 20, 5)
    MSSBoostClassifier(n_estimators=3, random_state=0).fit(X, Y)  # compiles the loops
    X, Y = annotated_rows(n_rows, MANY_FEATURES, n_labels, share=0.05)
    model = MSSBoostClassifier(pool_size=MANY_POOL, n_jobs=2, random_state=0)
    seconds = [time.perf_counter(), time.process_time()]
    extra = extra_memory(lambda: model.fit(X, Y))
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - seconds[0],
                "cpu": time.process_time() - seconds[1],
                "extra": extra,
                "data": X.nbytes + Y.nbytes,
                "loss": model.loss_curve_[-1] / model.loss_curve_[0],
            }
        )
    )


def many_labels_part(options):
    """Fit a thousand labels, as Markdown paragraphs."""
    n_rows, n_labels = (2_000, 200) if options.quick else (MANY_ROWS, MANY_LABELS)
    progress("multilabel: many labels")
    command = [sys.executable, "-m", "benchmarks.multilabel", "--measure", str(n_rows), str(n_labels)]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    figures = json.loads(answer.stdout)
    gigabytes = (figures["data"] + figures["extra"]) / 1e9
    return [
        f"{n_rows:,} rows × {MANY_FEATURES} features × {n_labels:,} labels at 5 %, pool of {MANY_POOL}, "
        f"{N_MODELS} models, two threads: {number(figures['seconds'])} s ({number(figures['cpu'])} CPU s), joint loss "
        f"down to {figures['loss']:.0%}. Data and fit take {gigabytes:.2f} GB, in GB {at_most(gigabytes, 8)}. "
        f"Hours: {at_most(figures['seconds'] / 3600, 1)}."
    ]


def report(options):
    """Return the section of the report, as Markdown."""
    X, Y = annotated_rows(500, 20, 5)
    MSSBoostClassifier(n_estimators=3, random_state=0).fit(X, Y).predict(X)  # compiles the loops
    with threadpool_limits(limits=1):
        paragraphs = machines_part(options)
    return section("Many labels, few models", *paragraphs, *many_labels_part(options))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure_many_labels(int(sys.argv[2]), int(sys.argv[3]))
    else:
        run_script(report, __doc__)
