"""FusionClassifier against its peers, on real data in several views and with wrong labels.

Usage: ``FUSELEARN_DATA=... python -m benchmarks.fusion [--quick] [--keep FILE]
[--calibration | --not_looked_at | --growth]``

Without a further option it compares methods on the public grid: six sets, three regimes of wrong labels, ten runs. Sets
that cannot be loaded and peers that are not installed are left out, and the report says so.
"""

import hashlib
import sys
import time
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from threadpoolctl import threadpool_limits

from benchmarks import fusion_calibration, fusion_growth
from benchmarks.command_line import Options, parser, progress
from benchmarks.fusion_methods import OURS, STACKING, methods, peer_versions, remark_on_packages
from benchmarks.fusion_sets import (
    FLIPPED,
    GRID,
    LOOKED_AT,
    MOST_COLUMNS,
    MOST_OBJECTS,
    NEVER_SEEN,
    REGIMES,
    SETTLED,
    TEST_BY_TRAIN,
    Labels,
    available,
    noisy_labels,
    split,
    without,
)
from benchmarks.tables import at_least, at_most, markdown_table, number, quick_note, section
from fuselearn import fusion as fusion_package
from fuselearn.evaluation.leaderboard import interval, mean_ranks
from fuselearn.evaluation.result_store import CellStore

LEAST_LEAD, MOST_BEHIND = 2.0, 3.0
"""In points of balanced accuracy: over the best single peer, and behind the best peer of a cell."""
PACKAGES = ("classifiers", "consensus", "data", "fusion", "numeric")
"""Packages whose source decides what FusionClassifier does."""
PROTOCOL = (
    f"Balanced accuracy on clean test labels, in percent. At most {MOST_OBJECTS} objects, 60 % to train on; views "
    f"standardised, those of more than {MOST_COLUMNS} columns reduced to principal components of 95 % of the variance. "
    f"Labels are clean, or {FLIPPED:.0%} of them are flipped: the same ones in all views (common), or in each view "
    "separately (own). There FusionClassifier gets each view's labels, the others their majority. "
    "Where rows belong together, as the ten pictures of a person in olivetti do, the two methods that use out-of-fold "
    "values get the groups: FusionClassifier by `groups`, LightGBM stacking by folds of whole groups."
)


@dataclass(frozen=True)
class Results:
    """Scores and CPU seconds of every fit, by method, set, regime and run; several tasks of a set are averaged.

    Attributes
    ----------
    methods, sets : list of str
    scores, seconds : ndarray of shape (n_methods, n_sets, n_regimes, n_runs)
        Balanced accuracy in percent, and CPU seconds of the fit alone.
    """

    methods: list
    sets: list
    scores: np.ndarray
    seconds: np.ndarray

    def cells(self):
        """Return the scores by method, cell (a set under a regime) and run."""
        return self.scores.reshape(len(self.methods), -1, self.scores.shape[-1])

    def cell_names(self):
        """Return the names of the cells, in the order of `cells`."""
        return [f"{name}, {regime}" for name in self.sets for regime in REGIMES]

    def peers(self):
        """Return the numbers of the methods that are not ours."""
        return [k for k, name in enumerate(self.methods) if name != OURS]


def measure(sets, n_runs, store):
    """Fit every method on every set, regime and run, unless the store has the fit already.

    Parameters
    ----------
    sets : dict of name to dict of task to Objects
    n_runs : int
    store : CellStore
        Keys are task, regime, run and the method with its source.

    Returns
    -------
    Results
    """
    fitters, source = methods(), source_of_ours()
    warm_up(fitters)
    for run in range(n_runs):
        progress(f"fusion: run {run + 1} of {n_runs}")
        for tasks in sets.values():
            for task, objects in tasks.items():
                _measure_task(task, objects, run, fitters, source, store)
    shape = (len(fitters), len(sets), len(REGIMES), n_runs)
    scores, seconds = np.empty(shape), np.empty(shape)
    for place in np.ndindex(shape):
        method, tasks = list(fitters)[place[0]], list(sets.values())[place[1]]
        results = [store[_key(task, REGIMES[place[2]], place[3], method, source)] for task in tasks]
        scores[place] = 100 * np.mean([cell["score"] for cell in results])
        seconds[place] = np.mean([cell["seconds"] for cell in results])
    return Results(list(fitters), list(sets), scores, seconds)


def _measure_task(task, objects, run, fitters, source, store):
    missing = [
        (regime, method)
        for regime in REGIMES
        for method in fitters
        if _key(task, regime, run, method, source) not in store
    ]
    if not missing:
        return
    rows = split(objects, run)
    for regime, method in missing:
        labels = noisy_labels(rows, regime, run)
        start = time.process_time()
        predict = fitters[method](rows.X, labels, rows.views, run)
        seconds = time.process_time() - start
        score = float(balanced_accuracy_score(rows.y_test, predict(rows.X_test)))
        store.add(_key(task, regime, run, method, source), {"score": score, "seconds": seconds})


def _key(task, regime, run, method, source):
    return task, regime, run, f"{method} {source}" if method == OURS else method


def source_of_ours():
    """Return a hash of FusionClassifier's source, so that fits of a changed one are not mixed with others."""
    package = Path(fusion_package.__file__).parents[1]
    files = sorted(path for name in PACKAGES for path in (package / name).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def warm_up(fitters):
    """Fit everything once, so that loops are compiled and libraries loaded before the clock starts."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
    for fit in fitters.values():
        fit(X, Labels(y, np.column_stack([y, y])), {"one": slice(0, 3), "two": slice(3, 6)}, 0)(X)


def comparison_table(results):
    """Return the mean score of every method in every cell; the best is bold."""
    means = results.cells().mean(axis=2)
    rows = [
        (name, *(_bold(f"{mean:.1f}", mean == column.max()) for mean in column))
        for name, column in zip(results.cell_names(), means.T)
    ]
    return markdown_table(("set, labels", *results.methods), rows)


def short_table(results):
    """Return the same with a row per set: clean / common / own."""
    means = results.scores.mean(axis=3)
    rows = [
        (name, *(" / ".join(f"{mean:.1f}" for mean in by_set[k]) for by_set in means))
        for k, name in enumerate(results.sets)
    ]
    return markdown_table(("set: clean / common / own", *results.methods), rows)


def summary_table(results):
    """Return the mean score, mean rank over the cells and mean score by regime, a row per method."""
    means = results.cells().mean(axis=2)
    ranks, by_regime = mean_ranks(means), results.scores.mean(axis=(1, 3))
    rows = [
        (name, f"{means[k].mean():.2f}", f"{ranks[k]:.2f}", *(f"{mean:.2f}" for mean in by_regime[k]))
        for k, name in enumerate(results.methods)
    ]
    return markdown_table((f"over {means.shape[1]} cells", "mean", "mean rank", *REGIMES), rows)


def lead(results):
    """Return FusionClassifier less the best single peer, over runs of the mean over cells, as Markdown paragraphs."""
    by_run = results.cells().mean(axis=1)
    ours, means = results.methods.index(OURS), by_run.mean(axis=1)
    best = max(results.peers(), key=lambda peer: means[peer])
    differences = by_run[ours] - by_run[best]
    ranks = mean_ranks(results.cells().mean(axis=2))
    places = [1 + int(np.sum(means > means[ours])), 1 + int(np.sum(ranks < ranks[ours]))]
    return [
        f"FusionClassifier is number {places[0]} of {len(means)} in mean balanced accuracy and number {places[1]} in "
        f"mean rank. The best single peer is {results.methods[best]}; FusionClassifier less it, in points: "
        f"{differences.mean():+.2f}, 95 % paired interval over {len(differences)} runs {_both_intervals(differences)}. "
        f"{at_least(differences.mean(), LEAST_LEAD).capitalize()} (goal 4)."
    ]


def behind(results):
    """Return the cells in which a peer is ahead of FusionClassifier, as Markdown paragraphs.

    That peer is chosen by these very scores, among several, so that it is flattered.
    """
    cells, ours = results.cells(), results.methods.index(OURS)
    rows, n_worse = [], 0
    for name, scores in zip(results.cell_names(), cells.swapaxes(0, 1)):
        best = max(results.peers(), key=lambda peer, scores=scores: scores[peer].mean())
        differences = scores[ours] - scores[best]
        if differences.mean() >= 0:
            continue
        worse = differences.mean() < -MOST_BEHIND and interval(differences, 0.0)[1] < 0
        n_worse += worse
        rows.append(
            (
                name,
                results.methods[best],
                f"{differences.mean():+.2f}",
                _interval(differences, 0.0),
                _interval(differences, TEST_BY_TRAIN),
                "**yes**" if worse else "no",
            )
        )
    if not rows:
        return [f"It is behind the best peer in none of the {cells.shape[1]} cells."]
    header = ("behind in", "best peer there", "points", "paired", "corrected", f"worse by more than {MOST_BEHIND:g}")
    return [
        f"It is behind that cell's best peer in {len(rows)} of {cells.shape[1]} cells. Worse by more than "
        f"{MOST_BEHIND:g} means: the mean is, and the plain paired interval is below 0. Such cells: "
        f"{at_most(n_worse, 0)}.",
        markdown_table(header, rows),
    ]


def seconds_part(results):
    """Return the CPU seconds of a fit by set and method, as Markdown paragraphs."""
    means = results.seconds.mean(axis=(2, 3))
    rows = [
        *((name, *(number(value) for value in means[:, k])) for k, name in enumerate(results.sets)),
        ("mean", *(number(value) for value in means.mean(axis=1))),
    ]
    table = markdown_table(("fit, CPU s", *results.methods), rows)
    if STACKING not in results.methods:
        return [table]
    ours, stacking = means[results.methods.index(OURS)], means[results.methods.index(STACKING)]
    return [
        table,
        f"FusionClassifier's time as part of that of {STACKING}, both on one thread: "
        f"{at_most(ours.mean() / stacking.mean(), 1)}; in the worst set {number((ours / stacking).max())}.",
    ]


def _bold(text, is_bold):
    return f"**{text}**" if is_bold else text


def _both_intervals(differences):
    return f"{_interval(differences, 0.0)}, with Nadeau and Bengio's variance {_interval(differences, TEST_BY_TRAIN)}"


def _interval(differences, test_by_train):
    low, high = interval(differences, test_by_train)
    return f"{low:+.2f} to {high:+.2f}"


def grid_report(options, keep=None):
    """Return the section of the public grid, as Markdown."""
    sets, missing = available(GRID)
    n_runs = 2 if options.quick else 10
    results = measure(sets, n_runs, open_store(keep))
    return section(
        "FusionClassifier on the public grid",
        f"{PROTOCOL} {n_runs} runs. dtd10 is the mean of five pairs of classes.",
        *without(missing),
        *remark_on_packages(),
        comparison_table(results),
        summary_table(results),
        *lead(results),
        *behind(results),
        *seconds_part(results),
        *quick_note(options),
    )


def further_report(options, keep=None):
    """Return the section of sets that are not in the grid, as Markdown."""
    n_runs, store = (2 if options.quick else 5), open_store(keep)
    parts = []
    for remark, wanted in (
        ("**Sets on which defaults of FusionClassifier were chosen**, so that they flatter it:", SETTLED),
        ("**Tasks that were looked at** when calibration was designed, and not before:", LOOKED_AT),
        ("**Tasks that were not looked at before**; their objects were, with other classes or labels:", NEVER_SEEN),
    ):
        sets, missing = available(wanted)
        results = measure(sets, n_runs, store)
        parts += [remark, *without(missing), short_table(results), summary_table(results)]
        parts += [*lead(results), *behind(results)]
    return section(
        "FusionClassifier on sets outside the grid",
        f"{PROTOCOL} {n_runs} runs. Sets of one view have their columns dealt to three views at random.",
        *remark_on_packages(),
        *parts,
        *quick_note(options),
    )


def open_store(path):
    """Return the store of finished fits, in a file where one is named; it must have the same versions and protocol."""
    versions = {package: version(package) for package in ("fuselearn", "scikit-learn", "numpy")}
    versions |= {name.lower(): number for name, number in peer_versions().items()}
    header = {"protocol": PROTOCOL, "versions": versions}
    try:
        return CellStore(path, header)
    except ValueError as error:
        sys.exit(f"--keep: {error}")


def main():
    """Parse the command line and print the section asked for."""
    command_line = parser(__doc__.splitlines()[0])
    help_on_keep = "keep finished fits in this file of JSON lines, and go on from it (grid and --not_looked_at)"
    command_line.add_argument("--keep", metavar="FILE", help=help_on_keep)
    which = command_line.add_mutually_exclusive_group()
    which.add_argument("--calibration", action="store_true", help="expected calibration error instead of the grid")
    which.add_argument("--not_looked_at", action="store_true", help="sets that are not in the grid, instead of it")
    which.add_argument("--growth", action="store_true", help="time and accuracy by number of rows, instead of the grid")
    arguments = command_line.parse_args()
    options = Options(arguments.quick, arguments.mumbo_python)
    # LightGBM names the columns of a bare array, then complains that another one has no names.
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    with threadpool_limits(1):
        if arguments.calibration:
            print(fusion_calibration.report(options))
        elif arguments.growth:
            print(fusion_growth.report(options))
        elif arguments.not_looked_at:
            print(further_report(options, arguments.keep))
        else:
            print(grid_report(options, arguments.keep))


if __name__ == "__main__":
    main()
