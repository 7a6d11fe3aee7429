"""Columns that matter: recall and false discoveries on planted columns, and the time of explanations.

Usage: ``FUSELEARN_DATA=... python -m benchmarks.features [--quick]``

300 rows of three views of 40 columns, independent ones or neighbouring ones correlated by 0.5, of which 4 in each view
have an influence. Selections are compared with permutation importance of a held-out half (columns whose drop in
accuracy over 10 shuffles is more than two standard deviations) and with stability selection of L1 logistic regressions
at three thresholds.
"""

import time

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression

from benchmarks.command_line import progress, run_script
from benchmarks.tables import markdown_table, quick_note, section
from fuselearn import FusionClassifier, ShareGradientBoostingClassifier
from fuselearn.datasets import fetch_views, make_views
from fuselearn.inspection import feature_stability

N_VIEWS, N_COLUMNS, PLANTED = 3, 40, 4
CORRELATIONS = (0.5, 0.0)
HALVES, THRESHOLDS = 50, (0.6, 0.75, 0.9)


def planted(seed, correlation, n_rows=300):
    """Return rows, classes, the columns that have an influence, and views."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_VIEWS * N_COLUMNS))
    for column in range(X.shape[1]):
        if column % N_COLUMNS:
            X[:, column] = correlation * X[:, column - 1] + np.sqrt(1 - correlation**2) * X[:, column]
    views = {f"view{view}": slice(view * N_COLUMNS, (view + 1) * N_COLUMNS) for view in range(N_VIEWS)}
    columns = np.concatenate([own.start + rng.choice(N_COLUMNS, PLANTED, replace=False) for own in views.values()])
    scores = X[:, columns] @ rng.choice([-1.0, 1.0], len(columns))
    return X, (scores + rng.logistic(size=n_rows) > 0).astype(int), columns, views


def l1_frequencies(X, y, seed):
    """Return in how many halves of the rows each column has a coefficient."""
    rng, counts = np.random.default_rng(seed), np.zeros(X.shape[1])
    for _ in range(HALVES):
        rows = rng.choice(len(X), len(X) // 2, replace=False)
        scaled = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0)
        counts += LogisticRegression(l1_ratio=1.0, solver="liblinear", C=0.1).fit(scaled, y[rows]).coef_[0] != 0
    return counts / HALVES


def selections(X, y, views, seed):
    """Yield the name of a method, the columns that it selects, and processor time."""
    models = {
        "FusionClassifier": FusionClassifier(views=views),
        "FusionClassifier of linear machines": FusionClassifier(views=views, learners="linear"),
        "gradient boosting": ShareGradientBoostingClassifier(views=views, n_estimators=60, max_leaf_nodes=8),
    }
    for name, model in models.items():
        started = time.process_time()
        # Importances, which the selection does not depend on, take longest by explanations.
        found = feature_stability(model, X, y, n_subsamples=5, measure="permutation", random_state=seed)
        yield f"feature_stability, {name}", found.selected, time.process_time() - started
    started = time.process_time()
    model = FusionClassifier(views=views, learners="linear", random_state=seed).fit(X[::2], y[::2])
    drops = permutation_importance(model, X[1::2], y[1::2], n_repeats=10, random_state=seed)
    selected = drops.importances_mean > 2 * drops.importances_std
    yield "permutation importance", selected, time.process_time() - started
    started = time.process_time()
    frequencies = l1_frequencies(X, y, seed)
    for threshold in THRESHOLDS:
        yield f"L1 stability selection, {threshold}", frequencies >= threshold, time.process_time() - started


def found_by(correlation, seed):
    """Return the recall, share of false ones and processor time of each method on one draw."""
    X, y, columns, views = planted(seed, correlation)
    results = {}
    for name, selected, seconds in selections(X, y, views, seed):
        right = np.isin(np.flatnonzero(selected), columns).sum()
        false = (selected.sum() - right) / max(selected.sum(), 1)
        results[name] = (right / len(columns), false, seconds)
    return results


def selection_rows(results):
    """Return the rows of the table of selections, from lists of what `found_by` returns for each correlation."""
    rows = []
    for name in results[0][0]:
        means = [np.mean([of_draw[name] for of_draw in draws], axis=0) for draws in results]
        cells = [f"{value:.2f}" for of_correlation in means for value in of_correlation[:2]]
        rows.append((name, *cells, f"{np.mean([of_correlation[2] for of_correlation in means]):.1f}"))
    return rows


def explanation_times():
    """Return rows of the time of explanations, after a first call that compiles."""
    data = make_views(800, views={"a": 24, "b": 23, "c": 23}, random_state=0)
    sets = [("400 × 70, two classes", data.X[:400], data.y[:400], data.views, data.X[400:])]
    try:
        tcga = fetch_views("breast_tcga")
        sets.append(("breast_tcga, 100 × 526, three classes", tcga.X, tcga.y, tcga.views, tcga.X[:100]))
    except (OSError, ValueError):
        pass
    rows = []
    for name, X, y, views, explained in sets:
        progress(f"features: explanations of {name}")
        model = FusionClassifier(views=views, random_state=0).fit(X, y)
        model.explain(explained[:2])
        started = time.process_time()
        explanation = model.explain(explained)
        seconds = time.process_time() - started
        sums = explanation.column_base + explanation.column_values.sum(axis=1)
        rows.append((name, f"{seconds:.1f}", f"{np.abs(sums - model.decision_function(explained)).max():.0e}"))
    return rows


def report(options):
    """Return the section of the report, as Markdown."""
    runs, results = (1 if options.quick else 20), []
    for correlation in CORRELATIONS:
        results.append([])
        for seed in range(runs):
            progress(f"features: columns correlated by {correlation}, run {seed + 1} of {runs}")
            results[-1].append(found_by(correlation, seed))
    header = ("selection", "recall, correlated", "false ones", "recall, independent", "false ones", "CPU s")
    return section(
        "Columns that matter",
        f"300 rows, 120 columns, of which 12 have an influence; neighbours correlated by 0.5, or independent; means "
        f"over {runs} draws. Bound on the share of false ones: 0.10.",
        markdown_table(header, selection_rows(results)),
        "Processor time of `FusionClassifier.explain`, and how far columns are from adding up to the decision:",
        markdown_table(("rows", "seconds", "error of sums"), explanation_times()),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
