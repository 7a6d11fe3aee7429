"""How often intervals of FusionRegressor hold the target, with missing views and on hard rows; for `regression.py`."""

from functools import partial

import numpy as np

from benchmarks.command_line import progress
from benchmarks.fusion_sets import without
from benchmarks.regression_sets import QUICK, SETS, available, split
from benchmarks.tables import markdown_table, quick_note, section
from fuselearn import FusionRegressor

ASKED = 0.9
"""Share of the rows whose target intervals are to hold."""
DROPPED = 0.4
"""Share of the views that are missing."""
N_RUNS = 5
MOST_QUICK_ROWS = 1_000
HARD_VIEWS = {"a": slice(0, 3), "b": slice(3, 6), "c": slice(6, 9)}
TEST_ROWS = 3_000
N_LACKING = 80


def noisy(n_rows, seed, spread):
    """Draw rows whose noise has a spread that depends on the fifth column."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((n_rows + TEST_ROWS, 9))
    y = X[:, 0] + np.sin(2 * X[:, 3]) + X[:, 6] + spread(X[:, 4]) * draws.standard_normal(len(X))
    return X, y, None


def lacking(n_rows, seed, n_lacking):
    """Draw rows of which few lack the view that matters most, and test rows that all do."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((n_rows + TEST_ROWS, 9))
    y = 2 * X[:, 0] + X[:, 3] + X[:, 6] + 0.3 * draws.standard_normal(len(X))
    X[draws.choice(n_rows, n_lacking, replace=False), :3] = np.nan
    X[n_rows:, :3] = np.nan
    return X, y, None


def grouped(n_rows, seed, size=10):
    """Draw rows of groups that have most of their error in common."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((n_rows + TEST_ROWS, 9))
    groups = np.arange(len(X)) // size
    y = X[:, 0] + X[:, 3] + draws.standard_normal(groups.max() + 1)[groups] + 0.3 * draws.standard_normal(len(X))
    return X, y, groups


def in_steps(column):
    """Return a spread of 0.2 or, for a quarter of the rows, of 3."""
    return np.where(column > 0.7, 3.0, 0.2)


def growing(column):
    """Return a spread that grows exponentially."""
    return 0.3 * np.exp(1.2 * column)


def equal(column):
    """Return a spread of 0.5 for all rows."""
    return np.full(len(column), 0.5)


HARD_SETS = {
    **{("noise of one size", n_rows): partial(noisy, spread=equal) for n_rows in (300, 4_000)},
    **{("noise in a step", n_rows): partial(noisy, spread=in_steps) for n_rows in (300, 4_000)},
    **{("noise that grows", n_rows): partial(noisy, spread=growing) for n_rows in (300, 4_000)},
    ("a view that 2 % lack", 4_000): partial(lacking, n_lacking=N_LACKING),
    **{("a view that none lacks", n_rows): partial(lacking, n_lacking=0) for n_rows in (1_000, 4_000)},
    **{("groups of 10", n_rows): grouped for n_rows in (400, 4_000)},
}
"""What is hard and the number of training rows, to a callable that takes this number and a seed."""


def drop_views(X, y, views, draws):
    """Return rows without views that are dropped at random, less those that have none left, and which views are kept.

    Returns
    -------
    X, y : ndarray
        Columns of a view that was dropped are NaN.
    kept : bool ndarray of shape (n_rows, n_views)
    """
    kept = draws.random((len(X), len(views))) >= DROPPED
    X = X.copy()
    for columns, there in zip(views.values(), kept.T):
        X[np.ix_(~there, columns)] = np.nan
    has_any = kept.any(axis=1)
    return X[has_any], y[has_any], kept[has_any]


def coverage_row(name, data, n_runs):
    """Return the row of a set in the table of sets with missing views."""
    inside, patterns, widths = [], [], []
    for run in range(n_runs):
        progress(f"regression: intervals on {name}, run {run + 1} of {n_runs}")
        X, X_test, y, y_test = split(data, run)
        draws = np.random.default_rng(run)
        X, y, _ = drop_views(X, y, data.views, draws)
        X_test, y_test, kept = drop_views(X_test, y_test, data.views, draws)
        model = FusionRegressor(views=data.views, random_state=run).fit(X, y)
        lower, upper = model.predict_interval(X_test, ASKED).T
        inside.append((lower <= y_test) & (y_test <= upper))
        patterns.append(kept @ (1 << np.arange(len(data.views))))
        widths.append(np.mean(upper - lower) / y.std())
    inside, patterns = np.concatenate(inside), np.concatenate(patterns)
    by_pattern = [inside[patterns == pattern].mean() for pattern in np.unique(patterns)]
    span = f"{min(by_pattern):.3f} to {max(by_pattern):.3f}"
    return name, f"{inside.mean():.3f}", span, f"{np.mean(widths):.2f}"


def hard_row(name, n_rows, draw, n_runs):
    """Return the row of a set in the table of hard rows."""
    coverages, widths, outlier_shares = [], [], []
    for run in range(n_runs):
        progress(f"regression: intervals on {name}, {n_rows:,} rows, run {run + 1} of {n_runs}")
        X, y, groups = draw(n_rows, run)
        model = FusionRegressor(views=HARD_VIEWS, random_state=run)
        model.fit(X[:n_rows], y[:n_rows], groups=None if groups is None else groups[:n_rows])
        lower, upper = model.predict_interval(X[n_rows:], ASKED).T
        coverages.append(np.mean((lower <= y[n_rows:]) & (y[n_rows:] <= upper)))
        widths.append(np.mean(upper - lower) / y.std())
        outlier_shares.append(model.outlier_share_)
    means = f"{np.mean(outlier_shares):.3f}", f"{np.mean(widths):.2f}"
    return f"{name}, {n_rows:,} rows", f"{np.mean(coverages):.3f}", f"{min(coverages):.3f}", *means


def report(options, n_runs=None, names=None):
    """Return the section of the report, as Markdown; runs and sets are those of `options` where they are not given."""
    n_runs = n_runs or (1 if options.quick else N_RUNS)
    sets, missing = available(names or (QUICK if options.quick else SETS))
    hard_sets = {key: draw for key, draw in HARD_SETS.items() if not options.quick or key[1] <= MOST_QUICK_ROWS}
    return section(
        "Intervals of FusionRegressor",
        f"Intervals that are asked to hold the targets of {ASKED:.0%} of the rows, on one thread. Splits of a set: "
        f"{n_runs}. Here {DROPPED:.0%} of the views are dropped at random in training and test rows. Rows that have "
        "the same views are a pattern; widths are in standard deviations of the target.",
        *without(missing),
        markdown_table(
            ("set", "coverage", "patterns, least to most", "mean width / sd"),
            [coverage_row(name, data, n_runs) for name, data in sets.items()],
        ),
        f"Drawn rows on which intervals are hard, with {TEST_ROWS:,} test rows; draws of a set: {n_runs}. Noise whose "
        f"size depends on a column (beside noise of one size), test rows that all lack a view which {N_LACKING} of the "
        "training rows lack, or none of them, and new groups whose rows have most of their error in common. Outliers "
        "are the share of the training targets that are taken for gross ones; there are none.",
        markdown_table(
            ("set", "coverage", "least of the draws", "outliers", "mean width / sd"),
            [hard_row(name, n_rows, draw, n_runs) for (name, n_rows), draw in hard_sets.items()],
        ),
        *quick_note(options),
    )
