"""FusionRegressor against what is usually fitted to numbers, clean and with gross outliers in the target.

Usage: ``FUSELEARN_DATA=... python -m benchmarks.regression [--quick] [--runs N] [--sets SET ...]
[--methods METHOD ... | --coverage]``

With ``--coverage`` it measures intervals instead: with 40 % of the views dropped, and on drawn rows that are hard.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import mean_absolute_error, r2_score
from threadpoolctl import threadpool_limits

from benchmarks import regression_coverage
from benchmarks.command_line import Options, parser, progress
from benchmarks.fusion_methods import remark_on_packages
from benchmarks.fusion_sets import without
from benchmarks.regression_methods import METHODS, OURS, SLOW
from benchmarks.regression_sets import QUICK, SETS, available, split, synthetic
from benchmarks.tables import at_most, markdown_table, quick_note, section
from fuselearn.evaluation.leaderboard import mean_ranks

OUTLIERS = 0.1
"""Share of the training targets that are spoilt."""
SHARES = (0.0, OUTLIERS)
N_RUNS = 5
MANY_ROWS = 5_000
"""Sets of more training rows are split twice only, and measured without the methods that take long there."""
MOST_ROWS = 10_000
"""Sets of more training rows are split once."""
ROWS_OF_FIRST_FITS = (500, 3_000)
"""FusionRegressor has other base models for many rows than for few."""


@dataclass(frozen=True)
class Figures:
    """Means of a method over the splits of a set, and the median of the CPU seconds of its fits."""

    r2: float
    error: float
    seconds: float


def spoilt(y, share, seed):
    """Return targets of which a share is moved by 5 to 20 standard deviations, up or down."""
    draws = np.random.default_rng(seed)
    moved = (draws.random(len(y)) < share) * draws.choice([-1, 1], len(y)) * draws.uniform(5, 20, len(y))
    return y + moved * y.std()


def warm_up():
    """Fit FusionRegressor once to few and to many rows, so that loops are compiled before the clock starts."""
    for n_rows in ROWS_OF_FIRST_FITS:
        data = synthetic(n_rows)
        X, X_test, y, _ = split(data, 0)
        METHODS[OURS](X, spoilt(y, OUTLIERS, 0), data.views, 0)(X_test)


def measure(data, methods, share, n_runs):
    """Return the `Figures` of each method on a set of whose training targets a share is spoilt, by name."""
    scores, errors, seconds = (np.empty((len(methods), n_runs)) for _ in range(3))
    for run in range(n_runs):
        X, X_test, y, y_test = split(data, run)
        y = spoilt(y, share, run)
        for k, method in enumerate(methods):
            started = time.process_time()
            predict = METHODS[method](X, y, data.views, run)
            seconds[k, run] = time.process_time() - started
            predicted = predict(X_test)
            scores[k, run] = r2_score(y_test, predicted)
            errors[k, run] = mean_absolute_error(y_test, predicted)
    means = zip(scores.mean(axis=1), errors.mean(axis=1), np.median(seconds, axis=1))
    return {method: Figures(*figures) for method, figures in zip(methods, means)}


def comparison_table(results):
    """Return all figures, clean and with outliers side by side.

    Parameters
    ----------
    results : dict of set to list of dict of method to Figures
        The list is by the `SHARES`.
    """
    rows = []
    for name, by_share in results.items():
        for method in by_share[0]:
            cells = (
                (f"{figures[method].r2:.4f}", f"{figures[method].error:.4f}", f"{figures[method].seconds:.2f}")
                for figures in by_share
            )
            rows.append((name, method, *(cell for of_share in cells for cell in of_share)))
    return markdown_table(("set", "method", "R²", "MAE", "s", "R², outliers", "MAE", "s"), rows)


def rank_part(results, methods):
    """Return mean ranks over the sets on which all methods were measured, as Markdown paragraphs.

    There are none for a single method, or where no set has all of them. `results` are those of `comparison_table`.
    """
    complete = [by_share for by_share in results.values() if len(by_share[0]) == len(methods)]
    if len(methods) < 2 or not complete:
        return []
    scores = [[[by_share[k][method].r2 for by_share in complete] for method in methods] for k in range(len(SHARES))]
    ranks = [mean_ranks(of_share) for of_share in scores]
    rows = [(method, *(f"{rank:.2f}" for rank in of_method)) for method, *of_method in zip(methods, *ranks)]
    paragraphs = [
        f"Ranks by mean R², over the sets on which all methods were measured ({len(complete)}):",
        markdown_table(("method", "mean rank, clean", "mean rank, outliers"), rows),
    ]
    if OURS in methods:
        clean, dirty = (np.sum(of_share < of_share[methods.index(OURS)]) for of_share in ranks)
        paragraphs.append(
            f"Methods ahead of {OURS} in mean rank, clean: {at_most(clean, 0)}; with outliers: {at_most(dirty, 0)}."
        )
    return paragraphs


def report(options, n_runs=None, set_names=None, method_names=None):
    """Return the section of the report, as Markdown.

    Parameters
    ----------
    options : Options
    n_runs : int, optional
        Splits of every set; by default fewer of the large sets.
    set_names : list of str, optional
        By default all, or few for a quick run.
    method_names : list of str, optional
        Methods to measure on every set; by default all, without the slow ones on large sets.
    """
    sets, missing = available(set_names or (QUICK if options.quick else SETS))
    methods = method_names or list(METHODS)
    n_runs = 1 if options.quick and n_runs is None else n_runs
    warm_up()
    results = {}
    for name, data in sets.items():
        progress(f"regression: {name}")
        of_set = [m for m in methods if method_names or m not in SLOW or data.n_training <= MANY_ROWS]
        results[name] = [measure(data, of_set, share, n_runs or _n_runs(data.n_training)) for share in SHARES]
    return section(
        "FusionRegressor",
        "R² and mean absolute error on clean test rows, and median CPU seconds of a fit, all on one thread. "
        f"{_protocol_of_splits(n_runs, method_names)} With outliers, {OUTLIERS:.0%} of the training targets are moved "
        "by 5 to 20 standard deviations. Housing is drawn to be like the prices of California, and synthetic rows have "
        "three views of ten columns; stacking is LightGBM of each view and of all, weighted by a ridge on the values "
        "of five folds.",
        *without(missing),
        *remark_on_packages(["LightGBM"]),
        comparison_table(results),
        *rank_part(results, methods),
        *quick_note(options),
    )


def _n_runs(n_rows):
    if n_rows > MOST_ROWS:
        return 1
    return 2 if n_rows > MANY_ROWS else N_RUNS


def _protocol_of_splits(n_runs, method_names):
    """Say how many splits there are, and which methods are left out."""
    splits = (
        f"Splits of a set: {n_runs}."
        if n_runs
        else f"Splits of a set: {N_RUNS}, of more than {MANY_ROWS:,} training rows 2, of more than {MOST_ROWS:,} 1."
    )
    left_out = f" Sets of more than {MANY_ROWS:,} rows are measured without {' and '.join(SLOW)}, which are slow there."
    return splits if method_names else splits + left_out


def main():
    """Parse the command line and print the section asked for."""
    command_line = parser(__doc__.splitlines()[0])
    command_line.add_argument("--runs", type=int, help="splits of every set (default: 5, fewer of large sets)")
    command_line.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help=f"of: {'; '.join(SETS)}")
    which = command_line.add_mutually_exclusive_group()
    help_on_methods = f"of: {'; '.join(METHODS)} (default: all, without the slow ones on large sets)"
    which.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD", help=help_on_methods)
    which.add_argument("--coverage", action="store_true", help="how often intervals hold the target, instead")
    arguments = command_line.parse_args()
    if arguments.runs is not None and arguments.runs < 1:
        command_line.error(f"--runs must be at least 1; got {arguments.runs}")
    options = Options(arguments.quick, arguments.mumbo_python)
    # LightGBM names the columns of a bare array, then complains that another one has no names.
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    with threadpool_limits(1):
        if arguments.coverage:
            print(regression_coverage.report(options, arguments.runs, arguments.sets))
        else:
            print(report(options, arguments.runs, arguments.sets, arguments.methods))


if __name__ == "__main__":
    main()
