"""Methods compared cell by cell, and tables of what came out; a part of `fusion.py`."""

import time
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks import fusion_calibration
from benchmarks.command_line import progress
from benchmarks.fusion_methods import OURS, STACKING, methods
from benchmarks.fusion_sets import FLIPPED, REGIMES, TEST_BY_TRAIN, Labels, noisy_labels, split
from benchmarks.fusion_store import source_of_ours
from benchmarks.tables import at_least, at_most, markdown_table, number
from fuselearn.evaluation.leaderboard import interval, mean_ranks

LEAST_LEAD, MOST_BEHIND = 2.0, 3.0
"""In points of balanced accuracy: over the best single peer, and behind the best peer of a cell."""


@dataclass(frozen=True)
class Results:
    """Scores and CPU seconds of every fit, by method, set, regime and run; several tasks of a set are averaged.

    Attributes
    ----------
    methods, sets, regimes : list of str
    scores, accuracies, seconds : ndarray of shape (n_methods, n_sets, n_regimes, n_runs)
        Balanced accuracy of decisions that all classes count alike for, and accuracy of the most probable classes, both
        in percent; CPU seconds of the fit alone.
    errors, errors_by_chance, errors_as_given : ndarray of shape (n_methods, n_sets, n_regimes)
        Expected calibration error of the test rows of all runs together; that of a model of the same confidence that is
        exactly right; and that by test labels of which as many are wrong as of the training labels, where these are
        the same for all views. NaN without probabilities.
    """

    methods: list
    sets: list
    regimes: list
    scores: np.ndarray
    accuracies: np.ndarray
    seconds: np.ndarray
    errors: np.ndarray
    errors_by_chance: np.ndarray
    errors_as_given: np.ndarray

    def cells(self):
        """Return the scores by method, cell (a set under a regime) and run."""
        return self.scores.reshape(len(self.methods), -1, self.scores.shape[-1])

    def cell_names(self):
        """Return the names of the cells, in the order of `cells`."""
        return [f"{name}, {regime}" for name in self.sets for regime in self.regimes]

    def peers(self):
        """Return the numbers of the methods that are not ours."""
        return [k for k, name in enumerate(self.methods) if name != OURS]


def chosen_methods(only_peers=False, left_out=()):
    """Return the installed methods, without FusionClassifier where only peers are asked for."""
    return {name: fit for name, fit in methods().items() if name not in left_out and not (only_peers and name == OURS)}


def measure(sets, n_runs, store, *, regimes=REGIMES, prepare=split, fitters=None):
    """Fit every method on every set, regime and run, unless the store has the fit already.

    Parameters
    ----------
    sets : dict of name to dict of task to Objects
    n_runs : int
    store : CellStore
        Keys are task, regime, run and the method with its source.
    regimes : sequence of str
    prepare : callable
        Takes the objects and the run, and returns a `Split`.
    fitters : dict of name to callable or None
        The methods; None takes all that are installed.

    Returns
    -------
    Results
    """
    fitters, source = methods() if fitters is None else fitters, source_of_ours()
    warm_up(fitters)
    for run in range(n_runs):
        progress(f"fusion: run {run + 1} of {n_runs}")
        for tasks in sets.values():
            for task, objects in tasks.items():
                _measure_task(task, objects, run, regimes, prepare, fitters, source, store)
    shape = (len(fitters), len(sets), len(regimes), n_runs)
    scores, accuracies, seconds = np.empty(shape), np.empty(shape), np.empty(shape)
    errors = np.full((3, *shape[:3]), np.nan)
    for place in np.ndindex(shape[:3]):
        method, tasks, regime = list(fitters)[place[0]], list(sets.values())[place[1]], regimes[place[2]]
        found = [[store[_key(task, regime, run, method, source)] for task in tasks] for run in range(n_runs)]
        for values, name, factor in ((scores, "score", 100), (accuracies, "accuracy", 100), (seconds, "seconds", 1)):
            values[place] = [factor * np.mean([cell[name] for cell in cells]) for cells in found]
        if found[0][0]["gaps"] is not None:
            errors[:, *place] = _calibration(found)
    return Results(list(fitters), list(sets), list(regimes), scores, accuracies, seconds, *errors)


def _measure_task(task, objects, run, regimes, prepare, fitters, source, store):
    missing = [
        (regime, method)
        for regime in regimes
        for method in fitters
        if _key(task, regime, run, method, source) not in store
    ]
    if not missing:
        return
    rows = prepare(objects, run)
    for regime, method in missing:
        labels = noisy_labels(rows, regime, run)
        start = time.process_time()
        fitted = fitters[method](rows.X, labels, rows.views, run)
        seconds = time.process_time() - start
        cell = {
            "score": float(balanced_accuracy_score(rows.y_test, fitted.balanced(rows.X_test))),
            "accuracy": float(np.mean(fitted.plain(rows.X_test) == rows.y_test)),
            "seconds": seconds,
            "n_test": len(rows.y_test),
            "gaps": None,
        }
        if fitted.proba is not None:
            probabilities = fitted.proba(rows.X_test)
            confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == rows.y_test
            gaps, variances = fusion_calibration.bin_gaps(confidence, right)
            # Of two classes, a label that is wrong is the other one. The chance is counted instead of drawn.
            as_given = right * (1 - FLIPPED) + ~right * FLIPPED if regime == "common" else right
            gaps_as_given, _ = fusion_calibration.bin_gaps(confidence, as_given)
            cell |= {"gaps": gaps.tolist(), "variances": variances.tolist(), "gaps_as_given": gaps_as_given.tolist()}
        store.add(_key(task, regime, run, method, source), cell)


def _calibration(cells_of_runs):
    """Return the calibration error of all test rows of a set, that by chance alone, and that by labels as the training
    labels are; the means of its tasks."""
    errors = []
    for cells in zip(*cells_of_runs):
        n_rows = sum(cell["n_test"] for cell in cells)
        gaps, variances, as_given = (
            np.sum([cell[name] for cell in cells], axis=0) for name in ("gaps", "variances", "gaps_as_given")
        )
        # The mean distance of a normal deviate from 0 is √(2/π) of its standard deviation.
        by_chance = np.sqrt(2 / np.pi * variances)
        errors.append(np.array([np.abs(gaps).sum(), by_chance.sum(), np.abs(as_given).sum()]) / n_rows)
    return np.mean(errors, axis=0)


def _key(task, regime, run, method, source):
    return task, regime, run, f"{method} {source}" if method == OURS else method


def warm_up(fitters):
    """Fit everything once, so that loops are compiled and libraries loaded before the clock starts."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
    for fit in fitters.values():
        fit(X, Labels(y, np.column_stack([y, y])), {"one": slice(0, 3), "two": slice(3, 6)}, 0).balanced(X)


def comparison_table(results):
    """Return the mean score of every method in every cell; the best is bold."""
    means = results.cells().mean(axis=2)
    rows = [
        (name, *(_bold(f"{mean:.1f}", mean == column.max()) for mean in column))
        for name, column in zip(results.cell_names(), means.T)
    ]
    return markdown_table(("set, labels", *results.methods), rows)


def short_table(results):
    """Return the same with a row per set and the regimes side by side."""
    means = results.scores.mean(axis=3)
    rows = [
        (name, *(" / ".join(f"{mean:.1f}" for mean in by_set[k]) for by_set in means))
        for k, name in enumerate(results.sets)
    ]
    return markdown_table((f"set: {' / '.join(results.regimes)}", *results.methods), rows)


def summary_table(results):
    """Return the mean score, mean rank over the cells and mean score by regime, a row per method."""
    means = results.cells().mean(axis=2)
    ranks, by_regime = mean_ranks(means), results.scores.mean(axis=(1, 3))
    rows = [
        (name, f"{means[k].mean():.2f}", f"{ranks[k]:.2f}", *(f"{mean:.2f}" for mean in by_regime[k]))
        for k, name in enumerate(results.methods)
    ]
    return markdown_table((f"over {means.shape[1]} cells", "mean", "mean rank", *results.regimes), rows)


def accuracy_part(results):
    """Return the accuracy of the most probable classes and the calibration error by method, as Markdown paragraphs."""
    means = results.accuracies.mean(axis=3)
    ranks = mean_ranks(means.reshape(len(means), -1))
    rows = []
    for k, name in enumerate(results.methods):
        errors = results.errors[k]
        calibration = [""] * 5
        if not np.isnan(errors).any():
            worst = np.unravel_index(errors.argmax(), errors.shape)
            chance = results.errors_by_chance[k][worst]
            as_given = results.errors_as_given[k]
            calibration = [f"{errors.mean():.3f}", _worst(errors, results), f"{chance:.3f}"]
            calibration += [f"{as_given.mean():.3f}", _worst(as_given, results)]
        by_regime = means[k].mean(axis=0)
        rows.append(
            (name, f"{means[k].mean():.2f}", f"{ranks[k]:.2f}", *(f"{mean:.2f}" for mean in by_regime), *calibration)
        )
    header = (
        "accuracy",
        "mean",
        "mean rank",
        *results.regimes,
        "ECE, mean",
        "ECE, worst cell",
        "there by chance alone",
        "as given, mean",
        "as given, worst cell",
    )
    ours = results.methods.index(OURS)
    place = 1 + int(np.sum(ranks < ranks[ours]))
    n_above, n_above_as_given = (
        int(np.sum(errors[ours] > fusion_calibration.MOST_ERROR))
        for errors in (results.errors, results.errors_as_given)
    )
    return [
        "Accuracy of the most probable class, in percent, from the same fits; SVMs are fitted once more, without class "
        "weights, and so is the logistic regression of the stack. ECE: expected calibration error of the test rows of "
        "all runs together, of the methods that have probabilities. As given: by test labels of which as many are "
        "wrong as of the training labels, where all views share them: of such labels a model learns its probabilities.",
        markdown_table(header, rows),
        f"FusionClassifier is number {place} of {len(ranks)} in mean rank by accuracy. Cells with an error above "
        f"{fusion_calibration.MOST_ERROR}: {at_most(n_above, 0)}; by labels as given: {n_above_as_given}.",
    ]


def _worst(errors, results):
    """Return the largest of the errors by set and regime, and its cell."""
    worst = np.unravel_index(errors.argmax(), errors.shape)
    return f"{errors[worst]:.3f} ({results.sets[worst[0]]}, {results.regimes[worst[1]]})"


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
