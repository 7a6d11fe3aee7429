"""Fusion with wrong labels: S0's tables 1 to 5, and S1's tables 1 and 2.

Labels of the training rows are flipped independently for each view, on all views or on two of them. Boosting methods
take the labels of each view; methods that need one column get the majority of the views' labels, and once more the
labels of the first view. Views are trained by Gaussian naive Bayes in boosting, and by RBF SVMs in voting and stacking.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fuselearn.boosting import IndependentBoostClassifier
from fuselearn.ensembles import ViewStackingClassifier, ViewVotingClassifier
from fuselearn.evaluation.result_table import Cell, Table
from fuselearn.kernels import MKLClassifier
from fuselearn.papers.paired_runs import LABELS_OF_ONE_VIEW, Scores, ViewSet, mean_of, noise_sets, score_methods
from fuselearn.papers.verdicts import MARGIN, UNTESTED, Effort, Finding, Outcome, Pair, judge
from fuselearn.registry import METHODS, Method, ViewColumns
from fuselearn.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATES = (0.1, 0.2, 0.3)
SETTINGS = (
    "At most 150 rounds of Gaussian naive Bayes. SVMs have C = 1 and the width that follows from their columns, which "
    "are standardised unless they are principal components; S0 and S1 choose both by ten-fold cross-validation, which "
    'would take hours. SDP is `MKLClassifier(weights="mkl")`, which reaches the optimum of the conic program in a '
    "tenth of its time, on the majority of the views' labels."
)
MOST_ROWS = 600

S0_METHODS = ("BSSD", "BISD", "AdaBoost-MV", "AdaBoost-Ca", "MV", "Stacking", "SDP", "SVM sum (not in S0)")
SDP_KERNELS = {
    "SDP, Poly Gauss Gauss": ("poly", "rbf", "rbf"),
    "SDP, Poly Linear Gauss": ("poly", "linear", "rbf"),
}
"""Kernels of the views in the other SDP rows of S0's table 1, in order; further views have Gaussian ones."""
S0_CLEAN_METHODS = (*S0_METHODS[:-1], *SDP_KERNELS, S0_METHODS[-1])
S1_METHODS = (
    "ShareBoost",
    "rShareBoost",
    "iBoost",
    "SDP",
    "AdaBoost-MV",
    "AdaBoost-Ca",
    "SVM-MV",
    "Stacking",
    "SVM sum (not in S1)",
)
SVM_SUM = S1_METHODS[-1]
BOOSTED = ("ShareBoost", "rShareBoost", "iBoost", "AdaBoost-MV", "AdaBoost-Ca")

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
PRINTED = "The accuracies that S{} prints, on its own data"
NOT_PUBLIC = (
    "FERET and CYGD's kernels are not public. Stand-ins: scikit-image's faces, Olivetti glasses, breast_tcga; nothing "
    "stands in for FERET's gender task."
)


BySet: TypeAlias = dict[str, Scores]


def methods_for(data: ViewSet, names: Sequence[str]) -> list[Method]:
    """Return methods of the papers, with support vector machines that suit the columns of a set."""

    def vote(views: ViewColumns, rounds: int) -> ViewVotingClassifier:
        return ViewVotingClassifier(data.svm(), views=views, voting="majority")

    def total(views: ViewColumns, rounds: int) -> ViewVotingClassifier:
        return ViewVotingClassifier(data.svm(), views=views, voting="sum")

    makers: dict[str, Callable[[ViewColumns, int], Any]] = {
        "BSSD": METHODS["bssd"].make,
        "BISD": lambda views, rounds: IndependentBoostClassifier(views=views, n_estimators=rounds, resample=True),
        "ShareBoost": METHODS["shareboost"].make,
        "rShareBoost": METHODS["rshareboost"].make,
        "iBoost": METHODS["iboost"].make,
        "AdaBoost-MV": METHODS["adaboost_vote"].make,
        "AdaBoost-Ca": METHODS["adaboost_concatenated"].make,
        "MV": vote,
        "SVM-MV": vote,
        "Stacking": lambda views, rounds: ViewStackingClassifier(data.svm(), views=views, stack_method="predict"),
        "SDP": METHODS["mkl"].make,
        **{name: _sdp_with(kernels) for name, kernels in SDP_KERNELS.items()},
        "SVM sum (not in S0)": total,
        "SVM sum (not in S1)": total,
    }
    # S0 and S1 have one label an object for SDP.
    return [Method(name, makers[name], one_label=name.startswith("SDP")) for name in names]


def quadratic_kernel(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return S0's polynomial kernel (x·y + 1)². (The "poly" of scikit-learn is of degree 3 and scales x·y.)"""
    products: FloatArray = X @ Y.T + 1
    return products**2


def _sdp_with(kernels: Sequence[str]) -> Callable[[ViewColumns, int], Any]:
    """Return SDP with these kernels on the first views, and Gaussian ones on the others."""

    def make(views: ViewColumns, rounds: int) -> MKLClassifier:
        names = [*kernels, *["rbf"] * len(views)]
        by_view = {view: quadratic_kernel if name == "poly" else name for view, name in zip(views, names)}
        return MKLClassifier(views=views, weights="mkl", kernel=by_view)

    return make


def run_bssd(effort: Effort) -> Outcome:
    """Rerun S0's tables 1 to 5: BSSD against voting, stacking and SDP, with clean and with wrong labels."""
    runs = effort.count(full=20, quick=4)
    rates = (0.3,) if effort.quick else RATES
    sets, missing = noise_sets(most_rows=300 if effort.quick else MOST_ROWS)

    def scored(data: ViewSet, noise: float, noise_views: Literal["all"] | list[int]) -> Scores:
        methods = methods_for(data, S0_METHODS if noise else S0_CLEAN_METHODS)
        return score_methods(data, methods, runs=runs, effort=effort, noise=noise, noise_views=noise_views)

    clean = {data.name: scored(data, 0.0, "all") for data in sets}
    noisy = {
        "two": {data.name: [scored(data, rate, [0, 1]) for rate in rates] for data in sets},
        "all": {data.name: [scored(data, rate, "all") for rate in rates] for data in sets},
    }
    note = f"{runs} runs, 60 % to train on; {_sizes(sets)}. {SETTINGS}"
    tables = [_pivot("Clean labels (S0 tables 1 and 2)", S0_CLEAN_METHODS, clean, S0_CLEAN, "S0", note)]
    tables += [_noise_table(which, by_set, rates, runs) for which, by_set in noisy.items()]

    findings = []
    averaged = {which: [mean_of(rated) for rated in by_set.values()] for which, by_set in noisy.items()}
    levels = "30 %" if effort.quick else "10 to 30 % (their mean)"
    for rival in ("MV", "Stacking", "SDP"):
        claim = f"S0 §5.2: BSSD is above {rival} on clean labels"
        findings.append(judge(claim, [scores.pair("BSSD", rival) for scores in clean.values()]))
        for which, by_set in averaged.items():
            claim = f"S0 §5.3: BSSD is above {rival} with {levels} wrong labels on {which} views"
            findings.append(judge(claim, [scores.pair("BSSD", rival) for scores in by_set]))
    claim = f"S0 §5.2: without noise BSSD is as good as BISD, within {MARGIN:g}"
    findings.append(judge(claim, [scores.pair("BSSD", "BISD") for scores in clean.values()], margin=MARGIN))
    for rival in ("BISD", "AdaBoost-MV", "AdaBoost-Ca"):
        claim = f"S0 §5.4: sharing the weights (BSSD) beats {rival} with {levels} wrong labels on all views"
        findings.append(judge(claim, [scores.pair("BSSD", rival) for scores in averaged["all"]]))
    findings.append(Finding(PRINTED.format(0), UNTESTED, NOT_PUBLIC))
    curves = {data.name: [clean[data.name], *noisy["all"][data.name]] for data in sets}
    return Outcome(tables, findings, {"bssd_noise": lambda figure: _plot_rates(figure, curves, (0.0, *rates))}, missing)


def run_shareboost(effort: Effort) -> Outcome:
    """Rerun S1's tables 1 and 2: ShareBoost and rShareBoost against six others, clean and with 30 % wrong labels."""
    runs = effort.count(full=20, quick=5)
    sets, missing = noise_sets(most_rows=MOST_ROWS, whole=() if effort.quick else ("mfeat",))
    # The large set has fewer runs: kernel methods take seconds there.
    counts = {
        data.name: min(runs, effort.count(full=10, quick=5)) if len(data.y) > MOST_ROWS else runs for data in sets
    }
    clean, noisy = (
        {
            data.name: score_methods(
                data, methods_for(data, S1_METHODS), noise=noise, runs=counts[data.name], effort=effort
            )
            for data in sets
        }
        for noise in (0.0, 0.3)
    )
    listed = ", ".join(f"{name} {count}" for name, count in counts.items())
    note = f"60 % to train on; runs: {listed}; {_sizes(sets)}. {SETTINGS}"
    published = [{name: dict(zip(S1_METHODS, row)) for name, row in table.items()} for table in (S1_CLEAN, S1_NOISY)]
    noisy_rows = [row for method in S1_METHODS for row in (method, f"{method}, {LABELS_OF_ONE_VIEW}")]
    tables = [
        _pivot("Clean labels (S1 table 1)", S1_METHODS, clean, published[0], "S1", note),
        _pivot("30 % wrong labels in each view (S1 table 2)", noisy_rows, noisy, published[1], "S1", note),
    ]

    findings = []
    for rival in (
        "iBoost",
        "AdaBoost-MV",
        "AdaBoost-Ca",
        f"AdaBoost-Ca, {LABELS_OF_ONE_VIEW}",
        "SDP",
        f"SDP, {LABELS_OF_ONE_VIEW}",
        "SVM-MV",
        "Stacking",
    ):
        claim = f"S1 table 2: with 30 % wrong labels, ShareBoost is above {rival}"
        findings.append(judge(claim, [scores.pair("ShareBoost", rival) for scores in noisy.values()]))
    for labels, by_set in (("on clean labels", clean), ("with 30 % wrong labels", noisy)):
        claim = f"S1 §6: rShareBoost is as good as ShareBoost {labels}, within {MARGIN:g}"
        pairs = [scores.pair("rShareBoost", "ShareBoost") for scores in by_set.values()]
        findings.append(judge(claim, pairs, margin=MARGIN))
    claim = "S1 table 1: SDP is behind ShareBoost on clean labels"
    findings.append(judge(claim, [scores.pair("ShareBoost", "SDP") for scores in clean.values()]))
    findings += _on_mfeat(clean, noisy, missing)
    findings.append(Finding(PRINTED.format(1), UNTESTED, NOT_PUBLIC))
    claim = "S1 §6: with white noise on the columns instead, every method does better, and their order stays"
    findings.append(Finding(claim, UNTESTED, "S1 states neither the strength of the noise nor the accuracies."))
    return Outcome(tables, findings, {"shareboost_noise": lambda figure: _plot_methods(figure, clean, noisy)}, missing)


def _on_mfeat(clean: BySet, noisy: BySet, missing: Mapping[str, str]) -> list[Finding]:
    """Return the verdicts on the claims about mfeat alone."""
    ahead = "On mfeat with 30 % wrong labels, ShareBoost and rShareBoost are both above iBoost and AdaBoost-Ca"
    beaten = "Not in the papers: on mfeat {}, a plain sum of SVMs, one per view, is above every boosting of naive Bayes"
    conditions = {"with 30 % wrong labels": noisy, "with clean labels": clean}
    if "mfeat" in missing:
        claims = (ahead, *(beaten.format(labels) for labels in conditions))
        return [Finding(claim, UNTESTED, f"Needs mfeat: {missing['mfeat']}.") for claim in claims]

    def pair(scores: Scores, first: str, second: str) -> Pair:
        where = f"{first} {scores.mean(first):.3f} against {second} {scores.mean(second):.3f}"
        return scores.pair(first, second, where.replace(" (not in S1)", ""))

    pairs = [
        pair(noisy["mfeat"], first, second)
        for first in ("ShareBoost", "rShareBoost")
        for second in ("iBoost", "AdaBoost-Ca")
    ]
    findings = [judge(ahead, pairs, every=True)]
    for labels, by_set in conditions.items():
        pairs = [pair(by_set["mfeat"], SVM_SUM, boosted) for boosted in BOOSTED]
        findings.append(judge(beaten.format(labels), pairs, every=True))
    return findings


def _pivot(
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


def _noise_table(which: str, by_set: Mapping[str, Sequence[Scores]], rates: Sequence[float], runs: int) -> Table:
    """Return the accuracies under wrong labels on two or all views, beside S0's."""
    methods = ("MV", "Stacking", "SDP", "BISD", "BSSD")
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


def _sizes(sets: Sequence[ViewSet]) -> str:
    """Return the number of objects of each set in words."""
    return "objects: " + ", ".join(f"{data.name} {len(data.y)}" for data in sets)


def _plot_rates(figure: "Figure", curves: Mapping[str, Sequence[Scores]], rates: Sequence[float]) -> None:
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


def _plot_methods(figure: "Figure", clean: BySet, noisy: BySet) -> None:
    """Draw the accuracy of each method, clean and noisy, a panel for each set."""
    panels = figure.subplots(1, len(clean), sharey=True, squeeze=False)[0]
    places = range(len(S1_METHODS))
    for axes, name in zip(panels, clean):
        for scores, colour, label in ((clean[name], "#0072B2", "clean"), (noisy[name], "#D55E00", "30 % wrong")):
            means, widths = ([number(method) for method in S1_METHODS] for number in (scores.mean, scores.half_width))
            axes.errorbar(means, places, xerr=widths, fmt="o", color=colour, markersize=4, capsize=2, label=label)
        axes.set(title=name, xlabel="test accuracy")
        axes.set_xlim(right=1.02)
        axes.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(places, [method.partition(" (")[0] for method in S1_METHODS])
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
