"""Time that boosted trees take, against LightGBM with as many trees of as many leaves.

Usage: ``python -m benchmarks.trees [--quick]``

LightGBM is left out where it is not installed.
"""

from functools import partial

import numpy as np

from benchmarks.command_line import progress, run_script
from benchmarks.data import clustered_views
from benchmarks.tables import at_most, markdown_table, milliseconds, number, quick_note, section
from benchmarks.timing import best_times, seconds_per_round
from fuselearn import ShareBoostClassifier
from fuselearn.learners import Tree

try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None

MOST_TIMES = 1.0
"""Time of a fit, in times of LightGBM's."""
LEARNERS = {
    "depth 5, gain ratio": Tree(max_depth=5, impurity_tolerance=0.0),
    "depth 5, Gini": Tree(max_depth=5, impurity_tolerance=0.0, criterion="gini"),
    "default": Tree(),
}
LEARNING_RATE = 0.1
"""Small steps on both sides, so that no run ends before its last round."""


def sizes(options):
    """Return rows, views, columns of each view, and few and many rounds."""
    if options.quick:
        return [(2_000, 1, 60, 2, 10), (5_000, 1, 10, 2, 10)]
    return [(20_000, 3, 100, 20, 150), (20_000, 1, 300, 20, 150), (100_000, 1, 50, 20, 150)]


def mean_leaves(model):
    """Return the mean number of leaves of the trees of a model of ours."""
    return float(np.mean([np.count_nonzero(tree.feature < 0) for tree in model.estimators_]))


def measure(n_rows, n_views, n_columns, few, many, repeats):
    """Time fits of few and of many rounds; LightGBM grows trees of as many leaves as ours have, on all columns.

    Returns
    -------
    list of (name of the learner, its mean number of leaves, dict of ("ours" or "peer", rounds) to Timed)
    """
    X, y, views = clustered_views(n_rows, n_views, n_columns)

    def fit_ours(learner, n_rounds):
        model = ShareBoostClassifier(
            learner, views=views, n_estimators=n_rounds, learning_rate=LEARNING_RATE, n_jobs=1, random_state=0
        )
        return model.fit(X, y)

    def fit_peer(n_leaves, n_rounds):
        model = LGBMClassifier(
            n_estimators=n_rounds, num_leaves=n_leaves, learning_rate=LEARNING_RATE, n_jobs=1, verbose=-1
        )
        return model.fit(X, y)

    figures = []
    for name, learner in LEARNERS.items():
        progress(f"trees: {n_rows} rows, {n_views} views, {name}")
        fit_ours(learner, 2)  # compiles the loops
        leaves = mean_leaves(fit_ours(learner, many))
        works = {("ours", n_rounds): partial(fit_ours, learner, n_rounds) for n_rounds in (few, many)}
        if LGBMClassifier is not None:
            works |= {("peer", n_rounds): partial(fit_peer, round(leaves), n_rounds) for n_rounds in (few, many)}
        figures.append((name, leaves, best_times(works, repeats)))
    return figures


def report(options):
    """Return the section of the report, as Markdown."""
    rows = []
    for n_rows, n_views, n_columns, few, many in sizes(options):
        columns = f"{n_views} × {n_columns}" if n_views > 1 else str(n_columns)
        for name, leaves, times in measure(n_rows, n_views, n_columns, few, many, repeats=1 if options.quick else 3):
            ours = times["ours", many]
            # A round grows one tree in every view.
            our_tree = seconds_per_round(times["ours", few], ours, lambda model: model.n_iter_) / n_views
            row = [f"{n_rows:,} × {columns}, {name}", number(leaves), number(ours.seconds), milliseconds(our_tree)]
            if LGBMClassifier is None:
                row += ["–", "–", "–"]
            else:
                peer = times["peer", many]
                peer_tree = seconds_per_round(times["peer", few], peer, lambda model: model.booster_.num_trees())
                ratio = at_most(ours.seconds / peer.seconds, MOST_TIMES)
                row += [number(peer.seconds), milliseconds(peer_tree), ratio]
            rows.append(row)
    rounds = sizes(options)[0][-1]
    return section(
        "Trees against LightGBM's",
        f"{rounds} rounds, two classes, one thread, CPU seconds of the whole fit, and of one more tree. LightGBM has "
        "as many trees, of as many leaves as ours have in the mean, on all columns. With several views ShareBoost "
        "grows a tree in each of them every round, and keeps the best: together they read all columns.",
        markdown_table(
            ("", "leaves", "ShareBoost, s", "a tree, ms", "LightGBM, s", "a tree, ms", "times LightGBM"), rows
        ),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
