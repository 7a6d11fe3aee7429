"""S2's table 2 and figures 5 to 8 as tables, and the costs of its section 4.4."""

import numpy as np

from fuselearn.evaluation.leaderboard import half_interval, paired_tests
from fuselearn.evaluation.result_table import Cell, Table
from fuselearn.multilabel.theorems import speedup
from fuselearn.papers.model_shared_boosting import ENSEMBLES, FEW_MODELS, TEST_SHARE, Comparison, Run
from fuselearn.papers.verdicts import sign_test
from fuselearn.typing import BoolArray, FloatArray


def method_table(comparison: Comparison) -> Table:
    """Return mean AP, time, models and size of every method (S2 table 2)."""
    rows = []
    for method in comparison.runs[0].precisions:
        scores = comparison.mean_precisions(method)
        rows.append(
            (
                method,
                scores.mean(),
                _half_width(scores),
                _mean(comparison, "fit_seconds", method),
                _mean(comparison, "predict_seconds", method),
                comparison.runs[0].n_models[method],
                round(_mean(comparison, "sizes", method)),
            )
        )
    return Table(
        f"{comparison.name}: the six methods (S2 table 2)",
        ("method", "mean AP", "± (95 %)", "fit, CPU s", "predict, CPU s", "models", "model size"),
        rows,
        note=f"Mean of {len(comparison.runs)} splits. Model size: support vectors × features.",
    )


def sharing_table(comparison: Comparison, n_models: int = FEW_MODELS) -> Table:
    """Return the ensembles' mean AP after a few models, and paired tests of MSSBoost against each (S2 figure 5)."""
    place = min(n_models, comparison.curves("MSSBoost").shape[1]) - 1
    ours = comparison.curves("MSSBoost")[:, place]
    rows = []
    for name in ENSEMBLES:
        scores = comparison.curves(name)[:, place]
        ahead: int | None = None
        p_plain: float | None = None
        p_corrected: float | None = None
        if name != "MSSBoost":
            tests = paired_tests(ours, scores, TEST_SHARE)
            ahead, p_plain, p_corrected = int(np.count_nonzero(ours > scores)), tests.t, tests.corrected
        rows.append((name, scores.mean(), _half_width(scores), ahead, p_plain, p_corrected))
    return Table(
        f"{comparison.name}: mean AP after {place + 1} models (S2 figure 5)",
        ("method", "mean AP", "± (95 %)", "MSSBoost ahead in", "p, paired t", "p, corrected"),
        rows,
        note=f"{len(ours)} splits. Corrected: Nadeau and Bengio's variance, for splits that share rows.",
        decimals={"p, paired t": 5, "p, corrected": 5},
    )


def speed_table(comparison: Comparison) -> Table:
    """Return how many models reach 100 % and 90 % of the baseline, and the time to predict with these (S2 figure 6)."""
    baseline = comparison.mean_precisions("Baseline").mean()
    seconds = _mean(comparison, "predict_seconds", "Baseline")
    curve = comparison.curves("MSSBoost").mean(axis=0)
    stages = np.mean([run.stage_seconds for run in comparison.runs], axis=0)
    rows: list[tuple[Cell, ...]] = [("Baseline", None, baseline, seconds, 1.0)]
    for share in (1.0, 0.9):
        reached = np.flatnonzero(curve >= share * baseline)
        row: tuple[Cell, ...] = (None,) * 4
        if len(reached):
            first = reached[0]
            row = (int(first) + 1, curve[first], stages[first], seconds / stages[first])
        rows.append((f"MSSBoost ({share:.0%})", *row))
    return Table(
        f"{comparison.name}: time to predict the test rows (S2 figure 6)",
        ("method", "models", "mean AP", "predict, CPU s", "times faster"),
        rows,
        note="The first models that together reach so much of the baseline's mean AP; none where they do not.",
    )


def label_table(comparison: Comparison) -> Table:
    """Return the average precision of each label, and the sign test of MSSBoost over the labels (S2 figure 7)."""
    precisions = {name: comparison.label_precisions(name) for name in ENSEMBLES}
    n_borrowed = np.sum([_borrowing_labels(run) for run in comparison.runs], axis=0)
    order = np.lexsort((-comparison.label_frequencies, n_borrowed == 0))
    rows = [
        (
            comparison.label_names[label],
            comparison.label_frequencies[label],
            int(n_borrowed[label]),
            *(precisions[name][label] for name in ENSEMBLES),
        )
        for label in order
    ]
    notes = []
    for name in ("NSBoost", "RSBag"):
        ahead, behind, n_labels = labels_ahead(comparison, name)
        p_value = sign_test(ahead, behind)
        notes.append(f"MSSBoost is above {name} on {ahead} of {n_labels} labels (sign test, p = {p_value:.4f}).")
    notes.append(
        f"Of {len(comparison.runs)} runs those in which a label uses models of others; labels of none come last."
    )
    return Table(
        f"{comparison.name}: average precision of each label (S2 figure 7)",
        ("label", "frequency", "runs with others' models", *ENSEMBLES),
        rows,
        note=" ".join(notes),
    )


def labels_ahead(comparison: Comparison, rival: str) -> tuple[int, int, int]:
    """Return on how many labels MSSBoost is above a rival, below it, and how many labels there are.

    A label that the test rows of no run have is not counted.
    """
    gains = comparison.label_precisions("MSSBoost") - comparison.label_precisions(rival)
    gains = gains[np.isfinite(gains)]
    return int(np.count_nonzero(gains > 0)), int(np.count_nonzero(gains < 0)), len(gains)


def cost_table(comparison: Comparison) -> Table:
    """Return by what factor S2 §4.4 says MSSBoost is faster than the baseline, and what was measured."""
    n_labels = len(comparison.label_names)
    rows: list[tuple[Cell, ...]] = []
    for number, run in enumerate(comparison.runs):
        expected = speedup(n_labels, run.n_models["MSSBoost"], *run.ratios)
        learned, predicted, size = (
            getattr(run, quantity)["Baseline"] / getattr(run, quantity)["MSSBoost"]
            for quantity in ("fit_seconds", "predict_seconds", "sizes")
        )
        rows.append((number, *run.ratios, expected.learning, learned, expected.prediction, predicted, size))
    return Table(
        f"{comparison.name}: times faster than the baseline, as S2 §4.4 counts it and measured",
        ("run", "r_d", "r_f", "fit, §4.4", "fit", "predict, §4.4", "predict", "model size"),
        rows,
        note="§4.4: L/((T + L)·r_d²·r_f) for learning kernel machines, L/(T·r_d·r_f) for predicting. The search of the "
        "ratios is not counted, nor are the outputs of base models on all rows, which take most of a fit.",
        decimals={"r_d": 2, "r_f": 2, "fit, §4.4": 1, "fit": 1, "predict, §4.4": 1, "predict": 1, "model size": 1},
    )


def sharing_matrix(comparison: Comparison, *, run: int = 0, n_models: int = 30) -> tuple[FloatArray, list[str]]:
    """Return the (n_labels, n_models) weights of a run's first models, and each one's own label (S2 figure 8)."""
    weights, sources = comparison.runs[run].weights[:n_models].T, comparison.runs[run].sources[:n_models]
    return weights, [comparison.label_names[source] for source in sources]


def _borrowing_labels(run: Run) -> BoolArray:
    """Return True for each label that uses a base model of another one."""
    foreign = run.weights != 0
    foreign[np.arange(len(foreign)), run.sources] = False
    return foreign.any(axis=0)


def _mean(comparison: Comparison, quantity: str, method: str) -> float:
    """Return the mean of a quantity of a method over the runs."""
    return float(np.mean([getattr(run, quantity)[method] for run in comparison.runs]))


def _half_width(values: FloatArray) -> float | None:
    """Return half of the 95 % confidence interval of a mean, None for one value."""
    return None if len(values) < 2 else half_interval(values)
