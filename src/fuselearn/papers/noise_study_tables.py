"""What S0 and S1 print, and tables and figures of the noise studies beside it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from fuselearn.evaluation.result_table import Cell, Table
from fuselearn.papers.paired_runs import Scores, ViewSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BySet: TypeAlias = dict[str, Scores]
RATES = (0.1, 0.2, 0.3)
# S0 tables 1 and 2, column A_fus (SDP: three Gaussian kernels); by the set that stands in.
S0_CLEAN = {
    "faces": {
        "MV": 0.700,
        "Stacking": 0.717,
        "SDP": 0.698,
        "SDP, Poly Gauss Gauss": 0.698,
        "SDP, Poly Linear Gauss": 0.698,
        "BISD": 0.750,
        "BSSD": 0.763,
    },
    "glasses": {
        "MV": 0.576,
        "Stacking": 0.672,
        "SDP": 0.457,
        "SDP, Poly Gauss Gauss": 0.439,
        "SDP, Poly Linear Gauss": 0.477,
        "BISD": 0.720,
        "BSSD": 0.740,
    },
    "breast_tcga": {"MV": 0.638, "Stacking": 0.63, "SDP": 0.60, "BISD": 0.60, "BSSD": 0.65},
}
# S0 tables 1 and 2, columns A_V: each view alone.
S0_SINGLE = {
    "faces": {"MV": (0.709, 0.709, 0.700), "BSSD": (0.623, 0.615, 0.564)},
    "glasses": {"MV": (0.560, 0.613, 0.528), "BSSD": (0.591, 0.594, 0.546)},
    "breast_tcga": {"MV": (0.62, 0.58, 0.59), "BSSD": (0.52, 0.55, 0.54)},
}
# S0 tables 3 to 5, at 10, 20 and 30 %: noise on two views (upper halves), and on all three (lower halves).
S0_NOISY: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {
    "two": {
        "faces": {
            "MV": (0.70, 0.71, 0.70),
            "Stacking": (0.70, 0.70, 0.68),
            "SDP": (0.70,) * 3,
            "BSSD": (0.75, 0.75, 0.74),
        },
        "glasses": {
            "MV": (0.59, 0.58, 0.58),
            "Stacking": (0.60, 0.60, 0.57),
            "SDP": (0.56, 0.52, 0.52),
            "BSSD": (0.73, 0.70, 0.67),
        },
    },
    "all": {
        "faces": {
            "MV": (0.70, 0.72, 0.69),
            "Stacking": (0.71, 0.70, 0.69),
            "SDP": (0.70,) * 3,
            "BSSD": (0.74, 0.73, 0.70),
        },
        "glasses": {
            "MV": (0.60, 0.60, 0.59),
            "Stacking": (0.59, 0.60, 0.57),
            "SDP": (0.56, 0.52, 0.52),
            "BSSD": (0.73, 0.67, 0.61),
        },
    },
}
# S1 tables 1 and 2, by the set that stands in.
S1_CLEAN = {
    "faces": (0.76, 0.76, 0.75, 0.70, 0.74, 0.74, 0.70, 0.70),
    "glasses": (0.74, 0.73, 0.72, 0.48, 0.71, 0.70, 0.58, 0.58),
    "breast_tcga": (0.67, 0.66, 0.60, 0.60, 0.62, 0.61, 0.64, 0.63),
}
S1_NOISY = {
    "faces": (0.72, 0.73, 0.65, 0.70, 0.68, 0.65, 0.69, 0.70),
    "glasses": (0.63, 0.64, 0.56, 0.52, 0.58, 0.58, 0.59, 0.58),
    "breast_tcga": (0.56, 0.56, 0.54, 0.54, 0.53, 0.52, 0.53, 0.57),
}


def pivot(
    title: str,
    methods: Sequence[str],
    by_set: BySet,
    published: Mapping[str, Mapping[str, float]],
    paper: str,
    note: str,
) -> Table:
    """Return a row for each method: for each set its mean accuracy with a 95 % interval, and the paper's number."""
    columns = ["method"]
    for name in by_set:
        columns += [name, f"± {name}", *([f"{paper} {name}"] if name in published else [])]
    rows: list[list[Cell]] = []
    for method in methods:
        row: list[Cell] = [method]
        for name, scores in by_set.items():
            row += [scores.mean(method), scores.half_width(method)]
            if name in published:
                row.append(published[name].get(method))
        if any(value is not None for value in row[1:]):
            rows.append(row)
    return Table(title, columns, rows, f"Mean accuracy, ± half of its 95 % interval. {note}")


def noise_table(
    which: str, by_set: Mapping[str, Sequence[Scores]], rates: Sequence[float], runs: int, methods: Sequence[str]
) -> Table:
    """Return the accuracies under wrong labels on two or all views, beside S0's."""
    printed_methods = ("MV", "Stacking", "SDP", "BSSD")
    rows = []
    for name, rated in by_set.items():
        published = S0_NOISY[which].get(name, {})
        for rate, scores in zip(rates, rated):
            place = RATES.index(rate)
            printed = [published[method][place] if method in published else None for method in printed_methods]
            rows.append((name, f"{rate:.0%}", *(scores.mean(method) for method in methods), *printed))
    columns = ("set", "wrong labels", *methods, *(f"S0 {method}" for method in printed_methods))
    halves = "two views (S0 tables 3 to 5, upper halves)", "all views (S0 tables 3 to 5, lower halves)"
    return Table(f"Wrong labels on {halves[which == 'all']}", columns, rows, f"Mean accuracy of {runs} runs.")


def sizes(sets: Sequence[ViewSet]) -> str:
    """Return the number of objects of each set in words."""
    return "objects: " + ", ".join(f"{data.name} {len(data.y)}" for data in sets)


def plot_rates(figure: "Figure", curves: Mapping[str, Sequence[Scores]], rates: Sequence[float]) -> None:
    """Draw accuracy over the share of wrong labels, a panel for each set."""
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for axes, (name, rated) in zip(panels, curves.items()):
        for method, style in (("BSSD", "-o"), ("BISD", "--s"), ("MV", ":^"), ("Stacking", "-.v"), ("SDP", "-x")):
            means = [scores.mean(method) for scores in rated]
            axes.plot([100 * rate for rate in rates], means, style, label=method, markersize=4)
        axes.set(title=name, xlabel="wrong labels in each view, %")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("test accuracy")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)


def plot_methods(figure: "Figure", clean: BySet, noisy: BySet, methods: Sequence[str]) -> None:
    """Draw the accuracy of each method, clean and noisy, a panel for each set."""
    panels = figure.subplots(1, len(clean), sharey=True, squeeze=False)[0]
    places = range(len(methods))
    for axes, name in zip(panels, clean):
        for scores, colour, label in ((clean[name], "#0072B2", "clean"), (noisy[name], "#D55E00", "30 % wrong")):
            means, widths = ([number(method) for method in methods] for number in (scores.mean, scores.half_width))
            axes.errorbar(means, places, xerr=widths, fmt="o", color=colour, markersize=4, capsize=2, label=label)
        axes.set(title=name, xlabel="test accuracy")
        axes.set_xlim(right=1.02)
        axes.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(places, [method.partition(" (")[0] for method in methods])
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
