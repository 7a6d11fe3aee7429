"""S2's experiments with a verdict on each claim; the experiments themselves are in `model_shared_boosting`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed

from fuselearn.datasets import fetch_views
from fuselearn.evaluation.result_table import Table
from fuselearn.papers.model_shared_boosting import (
    FEW_MODELS,
    METHODS,
    TEST_SHARE,
    Comparison,
    compare_methods,
    label_table,
    method_table,
    sharing_matrix,
    sharing_table,
    speed_table,
    synthetic_curves,
    synthetic_table,
)
from fuselearn.papers.verdicts import Effort, Finding, Outcome, Pair, judge, judge_number, reason
from fuselearn.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETS = ("yeast", "scene")
BAGGED_RUNS = 2
# S2 table 2: mean AP, training seconds, models; TREC and Consumer.
S2_TABLE = {
    "Baseline": (0.448, 5898, 39, 0.332, 5158, 33),
    "Bagging": (0.449, 41290, 390, 0.339, 52369, 330),
    "Subspace": (0.321, 27, 39, 0.267, 9, 33),
    "RSBag": (0.416, 68, 100, 0.313, 23, 100),
    "NSBoost": (0.437, 94, 100, 0.321, 31, 100),
    "MSSBoost": (0.456, 94, 100, 0.341, 31, 100),
}
SYNTHETIC_CLAIMS = {
    "early": "S2 §6.1: with 5 stumps MSSBoost has a lower test error than NSBoost",
    "reach": "S2 §6.1: 5 stumps of MSSBoost are as good as 12 of NSBoost, within 0.01",
    "bag": "S2 §6.1: with 20 stumps RSBag is behind MSSBoost",
}
REAL_CLAIMS = {
    "few NSBoost": f"S2 §6.2.2: with {FEW_MODELS} models MSSBoost is ahead of NSBoost",
    "few RSBag": f"S2 §6.2.2: with {FEW_MODELS} models MSSBoost is ahead of RSBag",
    "all NSBoost": "S2 table 2: with all models MSSBoost is ahead of NSBoost",
    "all RSBag": "S2 table 2: with all models MSSBoost is ahead of RSBag",
    "Baseline": "S2 table 2: MSSBoost is as good as one SVM per label on all rows, within 0.01",
    "faster": "S2 table 2: training MSSBoost takes less time than one SVM per label",
    "predicts": "S2 figure 6: MSSBoost predicts ten times as fast as one SVM per label, with all its models",
    "smaller": "S2 table 2: MSSBoost's model is smaller than one SVM per label",
    "ninety": "S2 figure 6: MSSBoost reaches 90 % of the baseline's mean AP, and predicts faster then",
}


def run_synthetic(effort: Effort) -> Outcome:
    """Rerun S2's figure 4, on points in the plane with three overlapping labels."""
    # New points for each run, where S2 splits one draw of them: the runs are then independent.
    seeds = range(effort.seed, effort.seed + effort.count(full=40, quick=8))
    drawn = Parallel(n_jobs=effort.n_jobs)(delayed(synthetic_curves)(runs=1, random_state=seed) for seed in seeds)
    curves = {name: np.concatenate([errors[name] for errors in drawn]) for name in drawn[0]}
    shared, separate, bag = (1 - curves[name] for name in ("MSSBoost", "NSBoost", "RSBag"))
    findings = [
        judge(SYNTHETIC_CLAIMS["early"], [Pair("5 stumps", shared[:, 4], separate[:, 4])]),
        judge(SYNTHETIC_CLAIMS["reach"], [Pair("5 and 12", shared[:, 4], separate[:, 11])], margin=0.01),
        judge(SYNTHETIC_CLAIMS["bag"], [Pair("20 stumps", shared[:, -1], bag[:, -1])]),
    ]
    return Outcome(
        [synthetic_table(curves)], findings, {"synthetic_labels": lambda figure: _plot_errors(figure, curves)}
    )


def run_real(effort: Effort) -> Outcome:
    """Rerun S2's table 2 and figures 5 to 8, on yeast and scene."""
    runs = effort.count(full=10, quick=3)
    rows = slice(0, 800) if effort.quick else slice(None)
    methods = tuple(name for name in METHODS if name != "Bagging")
    comparisons, bagged, missing = [], [], {}
    for name in SETS:
        try:
            data = fetch_views(name)
        except OSError as error:
            missing[name] = reason(error)
            continue
        settings = {"label_names": data.label_names, "n_jobs": effort.n_jobs, "random_state": effort.seed}
        X, Y = data.X[rows], data.Y[rows]
        comparisons.append(compare_methods(X, Y, name=name, methods=methods, runs=runs, **settings))
        if not effort.quick:
            # Ten machines per label on all rows take longer than all else together, so they get the first splits only.
            few = compare_methods(X, Y, name=f"{name}, bagging", methods=("Bagging",), runs=BAGGED_RUNS, **settings)
            bagged.append(method_table(few))
    if not comparisons:
        raise FileNotFoundError("; ".join(missing.values()))
    tables = [_published_table(), *bagged]
    for comparison in comparisons:
        tables += [
            method_table(comparison),
            sharing_table(comparison),
            speed_table(comparison),
            label_table(comparison),
        ]
    figures = {
        "shared_models": lambda figure: _plot_precisions(figure, comparisons),
        "shared_weights": lambda figure: _plot_weights(figure, comparisons),
    }
    return Outcome(tables, _findings(comparisons), figures, missing)


def _findings(comparisons: Sequence[Comparison]) -> list[Finding]:
    """Return the verdicts on the claims about real sets."""
    findings = []
    for when, place in (("few", FEW_MODELS - 1), ("all", -1)):
        for rival in ("NSBoost", "RSBag"):
            pairs = [
                Pair(data.name, data.curves("MSSBoost")[:, place], data.curves(rival)[:, place], TEST_SHARE)
                for data in comparisons
            ]
            findings.append(judge(REAL_CLAIMS[f"{when} {rival}"], pairs))
    pairs = [
        Pair(data.name, data.mean_precisions("MSSBoost"), data.mean_precisions("Baseline"), TEST_SHARE)
        for data in comparisons
    ]
    findings.append(judge(REAL_CLAIMS["Baseline"], pairs, margin=0.01))
    for claim, quantity, least in (
        ("faster", "fit_seconds", 1),
        ("predicts", "predict_seconds", 10),
        ("smaller", "sizes", 1),
    ):
        ratios = {
            data.name: np.mean(
                [getattr(run, quantity)["Baseline"] / getattr(run, quantity)["MSSBoost"] for run in data.runs]
            )
            for data in comparisons
        }
        evidence = ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
        is_true = bool(min(ratios.values()) > least)
        findings.append(judge_number(REAL_CLAIMS[claim], is_true, f"Baseline by MSSBoost: {evidence}."))
    findings.append(_ninety_percent(comparisons))
    return findings


def _ninety_percent(comparisons: Sequence[Comparison]) -> Finding:
    """Return the verdict on how soon MSSBoost reaches 90 % of the baseline."""
    evidence, reached = [], True
    for data in comparisons:
        n_models, times_faster = (speed_table(data).column(column)[2] for column in ("models", "times faster"))
        if isinstance(times_faster, float):
            evidence.append(f"{data.name} {n_models} models, {times_faster:.0f} times faster")
        else:
            evidence.append(f"{data.name} does not reach it")
        reached &= isinstance(times_faster, float) and times_faster > 1
    return judge_number(REAL_CLAIMS["ninety"], reached, f"{', '.join(evidence)}.")


def _published_table() -> Table:
    """Return S2's own numbers."""
    columns = ("method", "TREC mean AP", "TREC fit s", "TREC models", "Consumer mean AP", "Consumer fit s")
    rows = [(method, *row) for method, row in S2_TABLE.items()]
    return Table(
        "What S2 prints in its table 2",
        (*columns, "Consumer models"),
        rows,
        "TRECVID 2005 and the Consumer photographs are not public. Yeast (14 labels) and scene (6) stand in for them "
        "below, so only how methods stand to each other can be compared.",
    )


def _plot_errors(figure: "Figure", curves: Mapping[str, FloatArray]) -> None:
    """Draw S2's figure 4: test error over the number of stumps."""
    axes = figure.subplots()
    for (name, errors), style in zip(curves.items(), (":", "--", "-")):
        axes.plot(np.arange(1, errors.shape[1] + 1), errors.mean(axis=0), style, label=name)
    axes.set(xlabel="stumps", ylabel="test error")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


def _plot_precisions(figure: "Figure", comparisons: Sequence[Comparison]) -> None:
    """Draw S2's figure 5: mean AP over the number of models, and the baseline."""
    for axes, data in zip(figure.subplots(1, len(comparisons), squeeze=False)[0], comparisons):
        for name, style in (("RSBag", ":"), ("NSBoost", "--"), ("MSSBoost", "-")):
            curve = data.curves(name).mean(axis=0)
            axes.plot(np.arange(1, len(curve) + 1), curve, style, label=name)
        axes.axhline(data.mean_precisions("Baseline").mean(), color="grey", linewidth=1, label="Baseline")
        axes.set(title=data.name, xlabel="models", ylabel="mean AP")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)


def _plot_weights(figure: "Figure", comparisons: Sequence[Comparison]) -> None:
    """Draw S2's figure 8: the weights of the first 30 models for each label."""
    for axes, data in zip(figure.subplots(1, len(comparisons), squeeze=False)[0], comparisons):
        weights, _ = sharing_matrix(data)
        largest = np.abs(weights).max()
        axes.imshow(weights, cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto")
        axes.set_yticks(range(len(data.label_names)), data.label_names, fontsize=7)
        axes.set(title=data.name, xlabel="base model")
