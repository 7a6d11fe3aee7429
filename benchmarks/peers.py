"""fuselearn against other boosting libraries, in time and in accuracy.

Usage: ``python -m benchmarks.peers [--quick] [--mumbo-python PATH]``

LightGBM is left out where it is not installed, MuMBo where ``--mumbo-python`` names no interpreter, and the digits
where the environment variable FUSELEARN_DATA names no folder.
"""

import json
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks.command_line import progress, run_script
from benchmarks.data import DATA_FOLDER_VARIABLE, clustered_views, mfeat
from benchmarks.tables import markdown_table, number, quick_note, section
from fuselearn import IndependentBoostClassifier, ShareBoostClassifier

try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None

MUMBO_SCRIPT = Path(__file__).with_name("mumbo.py")
N_TRAIN = 1_400
"""Training rows of the digits: 70 of 100."""


@dataclass(frozen=True)
class Outcome:
    """One method on one split: CPU seconds of the fit, accuracy on the test rows, rounds that were run."""

    seconds: float
    accuracy: float
    rounds: int


@dataclass(frozen=True)
class Task:
    """Data with one split. Nothing is standardised: trees do not care, and naive Bayes does it itself."""

    X: np.ndarray
    y: np.ndarray
    views: dict
    train: np.ndarray
    test: np.ndarray

    def outcome(self, model):
        """Fit and score a scikit-learn classifier."""
        X, y = self.X[self.train], self.y[self.train]
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        with warnings.catch_warnings():
            # LightGBM names the columns of a bare array, then complains that another one has no names.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            accuracy = float(model.score(self.X[self.test], self.y[self.test]))
        return Outcome(seconds, accuracy, _n_rounds(model))

    def outcome_of_mumbo(self, interpreter, n_rounds):
        """Fit and score MuMBo, by another Python."""
        view_starts = [view.start for view in self.views.values()] + [self.X.shape[1]]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "task.npz"
            np.savez(path, X=self.X, y=self.y, train=self.train, test=self.test, view_starts=view_starts)
            command = [interpreter, str(MUMBO_SCRIPT), str(path), str(n_rounds)]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return Outcome(**json.loads(answer.stdout))


def _n_rounds(model):
    if LGBMClassifier is not None and isinstance(model, LGBMClassifier):
        return model.booster_.num_trees()
    return len(model.estimators_)


def our_methods(views, n_rounds):
    """Return the classifiers of this library, by name."""
    common = {"views": views, "n_estimators": n_rounds, "random_state": 0}
    return {
        "ShareBoost, naive Bayes": ShareBoostClassifier("gaussian_nb", **common),
        "ShareBoost, stumps": ShareBoostClassifier("stump", **common),
        "ShareBoost, trees": ShareBoostClassifier("tree", **common),
        "rShareBoost, stumps": ShareBoostClassifier("stump", view_policy="exp3p", **common),
        "rShareBoost, trees": ShareBoostClassifier("tree", view_policy="exp3p", **common),
        "iBoost, stumps": IndependentBoostClassifier("stump", **common),
        "iBoost, trees": IndependentBoostClassifier("tree", **common),
    }


def lightgbm_methods(n_rounds):
    """Return LightGBM on the concatenation, with stumps as here and with its defaults."""
    if LGBMClassifier is None:
        return {}
    common = {"n_estimators": n_rounds, "n_jobs": 1, "random_state": 0, "verbose": -1}
    return {
        "LightGBM, 2 leaves, concatenated": LGBMClassifier(num_leaves=2, **common),
        "LightGBM, 31 leaves, concatenated": LGBMClassifier(**common),
    }


def adaboost(n_rounds):
    """Return scikit-learn's AdaBoost of stumps, on the concatenation."""
    stump = DecisionTreeClassifier(max_depth=1)
    return {"AdaBoost, stumps, concatenated": AdaBoostClassifier(stump, n_estimators=n_rounds, random_state=0)}


def outcomes(tasks, methods, n_rounds, mumbo_python):
    """Fit and score every method on every task.

    Returns
    -------
    dict of name to list of Outcome
    """
    results = {name: [] for name in methods}
    for task in tasks:
        for name, model in methods.items():
            progress(f"peers: {name}")
            results[name].append(task.outcome(model))
        if mumbo_python is not None:
            progress("peers: MuMBo")
            results.setdefault("MuMBo, stumps", []).append(task.outcome_of_mumbo(mumbo_python, n_rounds))
    return results


def table(results):
    """Return mean accuracy and median CPU seconds, compared with ShareBoost of stumps, as a Markdown table."""
    ours = np.median([outcome.seconds for outcome in results["ShareBoost, stumps"]])
    rows = []
    for name, by_task in results.items():
        seconds = np.median([outcome.seconds for outcome in by_task])
        accuracy = np.mean([outcome.accuracy for outcome in by_task])
        n_rounds = [outcome.rounds for outcome in by_task]
        rounds = " to ".join(str(n) for n in sorted({min(n_rounds), max(n_rounds)}))
        rows.append((name, number(seconds), number(seconds / ours), f"{accuracy:.3f}", rounds))
    header = ("method", "fit, CPU s", "times ShareBoost, stumps", "accuracy", "rounds run")
    return markdown_table(header, rows)


def synthetic_part(options):
    """Measure time on the synthetic data, as Markdown paragraphs."""
    n_rows, n_rounds, repeats = (2_000, 20, 1) if options.quick else (20_000, 150, 2)
    X, y, views = clustered_views(n_rows + n_rows // 4, n_views=3, n_columns=100)
    train, test = np.split(np.arange(len(y)), [n_rows])
    task = Task(X, y, views, train, test)
    methods = {**our_methods(views, n_rounds), **lightgbm_methods(n_rounds)}
    results = outcomes([task] * repeats, methods, n_rounds, mumbo_python=None)
    if options.mumbo_python is not None:
        progress("peers: MuMBo")
        results["MuMBo, stumps"] = [task.outcome_of_mumbo(options.mumbo_python, n_rounds)]
    return [f"Synthetic: {n_rows:,} rows, 3 views of 100 columns, {n_rounds} rounds.", table(results)]


def digits_part(options):
    """Measure time and accuracy on the digits, as Markdown paragraphs."""
    data = mfeat()
    if data is None:
        return [f"Digits: skipped, since {DATA_FOLDER_VARIABLE} names no folder that holds `mfeat/mfeat.npz`."]
    X, y, views = data
    n_rounds, n_splits = (20, 1) if options.quick else (150, 5)
    tasks = [
        Task(X, y, views, *train_test_split(np.arange(len(y)), train_size=N_TRAIN, stratify=y, random_state=split))
        for split in range(n_splits)
    ]
    methods = {**our_methods(views, n_rounds), **adaboost(n_rounds), **lightgbm_methods(n_rounds)}
    return [
        f"Digits (mfeat): 5 and above against the rest, {len(views)} views, {N_TRAIN:,} training and "
        f"{len(y) - N_TRAIN:,} test rows, {n_rounds} rounds. Splits: {n_splits}; median time, mean accuracy.",
        table(outcomes(tasks, methods, n_rounds, options.mumbo_python)),
    ]


def report(options):
    """Return the section of the report, as Markdown."""
    X, y, views = clustered_views(5_000, n_views=3, n_columns=10)
    for model in our_methods(views, n_rounds=2).values():
        model.fit(X, y)  # compiles the loops
    left_out = []
    if LGBMClassifier is None:
        left_out.append("LightGBM is left out: it is not installed.")
    if options.mumbo_python is None:
        left_out.append("MuMBo is left out: no interpreter was given with `--mumbo-python`.")
    return section(
        "Other libraries",
        "One thread each, CPU seconds of the whole fit.",
        *left_out,
        *synthetic_part(options),
        *digits_part(options),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
