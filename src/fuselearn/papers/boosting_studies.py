"""Three studies of shared boosting: noisy flowers (S0), accuracy over rounds (S1), and the cost of a round (S1).

S0 §3.1 draws twenty Iris flowers once, with three of ten labels wrong in each view, and reports 80 % accuracy for BSSD
against AdaBoost's 70 % on the true labels. Here the flowers are drawn many times; ``examples/iris_noisy_labels.py``
draws S0's figure 2. S1's figures 2 and 3 show accuracy over the number of base classifiers, and its §6 and §7 claim
that drawing one of M views a round takes a fraction 1/M of the time.
"""

import time
import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score

from fuselearn.boosting import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.datasets import make_views
from fuselearn.evaluation.cells import Protocol
from fuselearn.evaluation.noise import add_label_noise
from fuselearn.evaluation.result_table import Table
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.papers.paired_runs import ViewSet, noise_sets, view_set
from fuselearn.papers.verdicts import MARGIN, Effort, Finding, Outcome, Pair, judge, judge_number
from fuselearn.typing import AnyArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOWER_VIEWS = {"sepal": [0, 1], "petal": [2, 3]}
PETAL = 1
PER_SPECIES = 10
# S0 counts from 1: versicolor to 10, virginica from 11.
WRONG_FLOWERS = {"sepal": [3, 4, 9, 12, 14, 19], "petal": [5, 8, 9, 12, 16, 18]}
FLOWER_ROUNDS = 50
S0_ACCURACY = (0.80, 0.70)
FLOWER_CLAIMS = {
    "drawn": "S0 §3.1: with wrong labels, shared weights (BSSD) classify the 20 flowers better than AdaBoost does",
    "gap": "S0 §3.1: the gap is ten points (80 % against 70 %), or more",
    "others": "The same on the 80 flowers that were not drawn (ours: S0 tests on the training flowers)",
    "weight": "S0 §3.1: shared weights put less weight on the flowers whose petal label is wrong",
}

ROUNDS = 150
MARKS = (1, 10, 50, ROUNDS)
METHODS = ("ShareBoost", "rShareBoost", "iBoost")
NOISES = (0.0, 0.3)
CURVE_CLAIMS = {
    "noise": f"S1 figures 2 and 3: over its rounds, rShareBoost is as good as ShareBoost, within {MARGIN:g} ({{}})",
    "more": "S1 figures 2 and 3: more base classifiers help ShareBoost, round 150 against round 1 ({})",
    "more random": "S1 figures 2 and 3: more base classifiers help rShareBoost, round 150 against round 1 ({})",
}

ALLOWED_COST = 1.25
"""Factor above 1/M of the time that still counts as 1/M."""
COST_CLAIMS = {
    "fits": "S1 §6: rShareBoost fits 1/M of ShareBoost's base classifiers in a round",
    "large": "S1 §7: rShareBoost takes 1/M of ShareBoost's processor time, up to a quarter more, where there are many "
    "objects",
    "small": "The same on sets of some hundred objects, as S1's are",
}

Curves: TypeAlias = dict[tuple[str, float], FloatArray]
"""Accuracies of shape (n_runs, n_methods, ROUNDS), by set and share of wrong labels."""


def run_flowers(effort: Effort) -> Outcome:
    """Fit BSSD and AdaBoost to many draws of the flowers."""
    draws = effort.count(full=300, quick=60)
    results = Parallel(n_jobs=effort.n_jobs)(delayed(_flower_draw)(effort.seed, number) for number in range(draws))
    drawn, others, weight = np.moveaxis(np.array(results), 2, 0)
    labels: tuple[tuple[str, FloatArray, tuple[float | None, float | None]], ...] = (
        ("accuracy, the 20 flowers drawn", drawn, S0_ACCURACY),
        ("accuracy, the 80 others", others, (None, None)),
        ("weight on petal's 6 wrong labels, rounds that both ran", weight, (None, None)),
    )
    rows = [
        (label, values[:, 0].mean(), values[:, 1].mean(), np.diff(values[:, ::-1]).mean(), *published)
        for label, values, published in labels
    ]
    table = Table(
        "Noisy flowers (S0 §3.1)",
        ("mean over the draws", "BSSD", "AdaBoost", "difference", "S0: BSSD", "S0: AdaBoost"),
        rows,
        f"{draws} draws of 10 versicolor and 10 virginica; least squares as the weak learner, at most {FLOWER_ROUNDS} "
        "rounds; AdaBoost has all columns and the labels of the petal view. S0's is one draw.",
    )
    findings = [
        judge(FLOWER_CLAIMS["drawn"], [Pair("20 flowers", *drawn.T)]),
        judge(FLOWER_CLAIMS["gap"], [Pair("gap less 0.10", drawn[:, 0] - 0.1, drawn[:, 1])]),
        judge(FLOWER_CLAIMS["others"], [Pair("80 flowers", *others.T)]),
        judge(FLOWER_CLAIMS["weight"], [Pair("weight saved", weight[:, 1], weight[:, 0])]),
    ]
    differences = drawn[:, 0] - drawn[:, 1]
    return Outcome([table], findings, {"noisy_flowers": lambda figure: _plot_differences(figure, differences)})


def run_curves(effort: Effort) -> Outcome:
    """Fit ShareBoost, rShareBoost and iBoost, and test them after each round."""
    runs = effort.count(full=20, quick=4)
    sets, missing = noise_sets(most_rows=600)
    curves: Curves = {}
    for data in sets:
        for noise in NOISES:
            curves[data.name, noise] = np.array(
                Parallel(n_jobs=effort.n_jobs)(
                    delayed(_curves)(data, noise, effort.seed, number) for number in range(runs)
                )
            )
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
        f"view that was left beat chance, its last accuracy goes on. S1 prints curves, no numbers.",
    )
    figures = {"boosting_curves": lambda figure: _plot_curves(figure, curves)}
    return Outcome([table], _curve_findings(curves), figures, missing)


def run_cost(effort: Effort) -> Outcome:
    """Count the fits and the processor time of ShareBoost and rShareBoost, with 30 % wrong labels in each view."""
    runs = effort.count(full=10, quick=3)
    sets, missing = noise_sets(most_rows=600)
    made = make_views(
        5_000 if effort.quick else 20_000, n_views=3, n_features=100, strength=1.0, random_state=effort.seed
    )
    large = view_set("made up", made, made.y)
    _costs(large, effort.seed)  # what is compiled on first use is not to be timed
    rows, factors = [], []
    for data in (*sets, large):
        fits, seconds, rounds = np.array([_costs(data, effort.seed + number) for number in range(runs)]).sum(axis=0).T
        n_views = len(data.views)
        fit_ratio = (fits[1] / rounds[1]) / (fits[0] / rounds[0])
        time_ratio = (seconds[1] / rounds[1]) / (seconds[0] / rounds[0])
        factors.append((n_views * fit_ratio, n_views * time_ratio))
        per_round = 1000 * seconds / rounds
        rows.append((data.name, len(data.y), n_views, 1 / n_views, fit_ratio, time_ratio, *per_round, *rounds / runs))
    columns = ("set", "objects", "views M", "1/M", "fits", "time", "ShareBoost ms", "rShareBoost ms")
    table = Table(
        "Cost of a round, rShareBoost by ShareBoost",
        (*columns, "ShareBoost rounds", "rShareBoost rounds"),
        rows,
        f"{runs} fits of at most {ROUNDS} rounds on all rows, one thread, 30 % wrong labels in each view. Fits and "
        "time are ratios of what a round takes; ms are of the processor. Time is not fits: widths of views differ, and "
        "what a round does besides fitting (weights, the draw) weighs in small sets.",
        {"ShareBoost ms": 2, "rShareBoost ms": 2, "ShareBoost rounds": 0, "rShareBoost rounds": 0},
    )
    fit_factors, time_factors = np.array(factors).T
    ratios = [f"{row[0]} {row[5]:.2f} (1/M {row[3]:.2f})" for row in rows]
    findings = [
        judge_number(
            COST_CLAIMS["fits"],
            np.allclose(fit_factors, 1),
            f"Fits of a round, times M: {', '.join(f'{factor:.2f}' for factor in fit_factors)}.",
        ),
        judge_number(COST_CLAIMS["large"], time_factors[-1] <= ALLOWED_COST, f"Ratio of times: {ratios[-1]}."),
        judge_number(
            COST_CLAIMS["small"],
            bool(np.median(time_factors[:-1]) <= ALLOWED_COST),
            f"Ratio of times: {', '.join(ratios[:-1])}.",
        ),
    ]
    return Outcome([table], findings, missing=missing)


def _flower_draw(seed: int, number: int) -> list[tuple[float, float, float]]:
    """Return accuracy on the drawn flowers and on the others, and weight on wrong labels, for both methods."""
    generator = np.random.default_rng((seed, number))
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0] - 1
    drawn = np.concatenate([generator.permutation(np.flatnonzero(y == k))[:PER_SPECIES] for k in (0, 1)])
    others = np.setdiff1d(np.arange(len(y)), drawn)
    wrong = np.zeros((len(drawn), len(FLOWER_VIEWS)), dtype=bool)
    for view, name in enumerate(FLOWER_VIEWS):
        wrong[np.array(WRONG_FLOWERS[name]) - 1, view] = True
    true = y[drawn, None]
    view_labels = np.where(wrong, 1 - true, true)
    # With one view there is nothing to share, and ShareBoost is AdaBoost.
    shared = _fit_flowers(X[drawn], {"y": y[drawn], "view_labels": view_labels}, views=FLOWER_VIEWS)
    separate = _fit_flowers(X[drawn], {"y": view_labels[:, PETAL]})
    common = max(min(shared[0].n_iter_, separate[0].n_iter_), 1)
    return [
        (
            model.score(X[drawn], y[drawn]),
            model.score(X[others], y[others]),
            weights[1 : 1 + common, wrong[:, PETAL]].sum(axis=1).mean() if model.n_iter_ else wrong[:, PETAL].mean(),
        )
        for model, weights in (shared, separate)
    ]


def _fit_flowers(X: FloatArray, labels: dict[str, Any], **settings: Any) -> tuple[ShareBoostClassifier, FloatArray]:
    """Return a fitted model, and the weights of the flowers before the first round and after each."""
    model = ShareBoostClassifier("linear", n_estimators=FLOWER_ROUNDS, **settings)
    with warnings.catch_warnings():
        # In some draws no line beats chance even once. The model then guesses, and that counts.
        warnings.simplefilter("ignore", NoEdgeWarning)
        model.fit(X, **labels)
    return model, np.array(list(model.staged_sample_weights(X, **labels)))


def _plot_differences(figure: "Figure", differences: FloatArray) -> None:
    """Draw how often BSSD is how far ahead of AdaBoost."""
    axes = figure.subplots()
    steps = np.round(differences / 0.05).astype(int)
    values, counts = np.unique(steps, return_counts=True)
    axes.bar(values * 0.05, counts, width=0.04, color="#0072B2")
    axes.axvline(S0_ACCURACY[0] - S0_ACCURACY[1], color="#D55E00", linestyle="--", label="S0's one draw")
    axes.axvline(differences.mean(), color="black", label=f"mean {differences.mean():+.3f}")
    axes.set(xlabel="accuracy of BSSD less that of AdaBoost, 20 flowers", ylabel="draws")
    axes.legend(frameon=False)


def _curves(data: ViewSet, noise: float, seed: int, number: int) -> FloatArray:
    """Return the accuracy after each round, of shape (n_methods, ROUNDS), on one split."""
    ((train, test),) = Protocol(1, 0.6).splits(data.y, number, seed, data.groups)
    state = int(np.random.SeedSequence([seed, number]).generate_state(1)[0] % 2**31)
    labels: dict[str, Any] = {"y": data.y[train]}
    if noise:
        labels["view_labels"], _ = add_label_noise(data.y[train], len(data.views), noise, random_state=state)
    common: dict[str, Any] = {"views": data.views, "n_estimators": ROUNDS, "random_state": state}
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
        stages = [accuracy_score(data.y[test], predicted) for predicted in model.staged_predict(data.X[test])]
        stages = stages or [model.score(data.X[test], data.y[test])]
        curve[:] = [*stages, *[stages[-1]] * (ROUNDS - len(stages))]
    return curves


def _curve_findings(curves: Curves) -> list[Finding]:
    """Return the verdicts on the claims about the curves."""
    findings = []
    share = (1 - 0.6) / 0.6
    for noise in NOISES:
        labels = f"{noise:.0%} wrong labels"
        by_set = [(name, values) for (name, rate), values in curves.items() if rate == noise]
        pairs = [Pair(name, values[:, 1].mean(axis=1), values[:, 0].mean(axis=1), share) for name, values in by_set]
        findings.append(judge(CURVE_CLAIMS["noise"].format(labels), pairs, margin=MARGIN))
        for place, claim in enumerate(("more", "more random")):
            pairs = [Pair(name, values[:, place, -1], values[:, place, 0], share) for name, values in by_set]
            findings.append(judge(CURVE_CLAIMS[claim].format(labels), pairs))
    return findings


def _plot_curves(figure: "Figure", curves: Curves) -> None:
    """Draw accuracy over rounds, a panel for each set and share of wrong labels."""
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


def _costs(data: ViewSet, seed: int) -> list[tuple[int, float, int]]:
    """Return base classifiers fitted, processor seconds and rounds, of ShareBoost and rShareBoost."""
    view_labels, _ = add_label_noise(data.y, len(data.views), 0.3, random_state=seed)
    costs = []
    for policy in ("best", "exp3p"):
        model = ShareBoostClassifier(
            views=data.views, n_estimators=ROUNDS, view_policy=policy, n_jobs=1, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoEdgeWarning)
            # What is prepared once is not part of a round: a fit of one round is taken off, and that round with it.
            short = _fit_seconds(ShareBoostClassifier(**{**model.get_params(), "n_estimators": 1}), data, view_labels)
            seconds = _fit_seconds(model, data, view_labels) - short
        fits = int(np.count_nonzero(~np.isnan(model.arm_errors_[1:])))
        costs.append((fits, max(seconds, 0.0), len(model.arm_errors_) - 1))
    return costs


def _fit_seconds(model: ShareBoostClassifier, data: ViewSet, view_labels: AnyArray) -> float:
    """Fit a model, and return the processor seconds that it took."""
    start = time.process_time()
    model.fit(data.X, data.y, view_labels=view_labels)
    return time.process_time() - start
