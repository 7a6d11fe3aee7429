"""Accuracy over the number of base classifiers: S1's figures 2 and 3."""

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import accuracy_score

from fuselearn.boosting import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.evaluation.cells import Protocol
from fuselearn.evaluation.noise import add_label_noise
from fuselearn.evaluation.result_table import Table
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.papers.paired_runs import GroupsApart, noise_sets
from fuselearn.papers.verdicts import Outcome, Pair, judge

ROUNDS = 150
MARKS = (1, 10, 50, ROUNDS)
METHODS = ("ShareBoost", "rShareBoost", "iBoost")
NOISES = (0.0, 0.3)
MARGIN = 0.02
CLAIMS = {
    "noise": f"S1 figures 2 and 3: over its rounds, rShareBoost is as good as ShareBoost, within {MARGIN:g} ({{}})",
    "more": "S1 figures 2 and 3: more base classifiers help ShareBoost, round 150 against round 1 ({})",
    "more random": "S1 figures 2 and 3: more base classifiers help rShareBoost, round 150 against round 1 ({})",
}


def run(effort):
    """Fit ShareBoost, rShareBoost and iBoost, and test them after each round.

    Parameters
    ----------
    effort : Effort

    Returns
    -------
    Outcome
    """
    runs = effort.count(full=20, quick=4)
    sets, missing = noise_sets(most_rows=600)
    curves = {}
    for data in sets:
        for noise in NOISES:
            done = Parallel(n_jobs=effort.n_jobs)(
                delayed(_curves)(data, noise, effort.seed, number) for number in range(runs)
            )
            curves[data.name, noise] = np.array(done)
    rows = [
        (name, f"{noise:.0%}", method, *values[:, place][:, np.array(MARKS) - 1].mean(axis=0))
        for (name, noise), values in curves.items()
        for place, method in enumerate(METHODS)
    ]
    table = Table(
        "Accuracy after so many rounds (S1 figures 2 and 3)",
        ("set", "wrong labels", "method", *(f"after {mark}" for mark in MARKS)),
        rows,
        f"Mean of {runs} runs, 60 % to train on, at most 600 objects of a set. Where a run ended early, because no "
        f"view beat chance or one made no error, its last accuracy goes on. S1 prints curves, no numbers.",
    )
    findings = []
    share = (1 - 0.6) / 0.6
    for noise in NOISES:
        labels = f"{noise:.0%} wrong labels"
        chosen = [(name, values) for (name, own), values in curves.items() if own == noise]
        pairs = [Pair(name, values[:, 1].mean(axis=1), values[:, 0].mean(axis=1), share) for name, values in chosen]
        findings.append(judge(CLAIMS["noise"].format(labels), pairs, margin=MARGIN))
        for place, claim in enumerate(("more", "more random")):
            pairs = [Pair(name, values[:, place, -1], values[:, place, 0], share) for name, values in chosen]
            findings.append(judge(CLAIMS[claim].format(labels), pairs))
    return Outcome([table], findings, {"boosting_curves": lambda figure: _plot(figure, curves)}, missing)


def _curves(data, noise, seed, number):
    """Accuracy after each round, of shape (n_methods, ROUNDS), on one split."""
    protocol = Protocol(1, 0.6) if data.groups is None else GroupsApart(1, 0.6, groups=data.groups)
    ((train, test),) = protocol.splits(data.y, number, seed)
    state = int(np.random.SeedSequence([seed, number]).generate_state(1)[0] % 2**31)
    labels = {"y": data.y[train]}
    if noise:
        labels["view_labels"], _ = add_label_noise(data.y[train], len(data.views), noise, random_state=state)
    common = {"views": data.views, "n_estimators": ROUNDS, "random_state": state}
    models = (
        ShareBoostClassifier(**common),
        ShareBoostClassifier(view_policy="exp3p", **common),
        IndependentBoostClassifier(**common),
    )
    curves = np.empty((len(models), ROUNDS))
    for curve, model in zip(curves, models):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoEdgeWarning)
            model.fit(data.X[train], **labels)
        stages = [accuracy_score(data.y[test], said) for said in model.staged_predict(data.X[test])]
        stages = stages or [model.score(data.X[test], data.y[test])]
        curve[:] = [*stages, *[stages[-1]] * (ROUNDS - len(stages))]
    return curves


def _plot(figure, curves):
    names = list(dict.fromkeys(name for name, _ in curves))
    panels = figure.subplots(len(NOISES), len(names), sharex=True, sharey="row", squeeze=False)
    for row, noise in zip(panels, NOISES):
        for axes, name in zip(row, names):
            for method, curve, style in zip(METHODS, curves[name, noise].mean(axis=0), ("-", "--", ":")):
                axes.plot(np.arange(1, ROUNDS + 1), curve, style, label=method)
            axes.set_title(f"{name}, {noise:.0%} wrong", fontsize=10)
            axes.grid(alpha=0.3)
        row[0].set_ylabel("test accuracy")
    for axes in panels[-1]:
        axes.set_xlabel("base classifiers")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
