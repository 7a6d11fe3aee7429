"""Fusion with wrong labels: S0's tables 1 to 5, and S1's tables 1 and 2.

Labels of the training rows are flipped independently for each view, on all views or on two of them. Boosting methods
take the labels of each view; methods that need one column get the majority of the views' labels, and once more the
labels of the first view. Views are trained by Gaussian naive Bayes in boosting, and by RBF SVMs in voting and stacking.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.metrics.pairwise import linear_kernel

from fuselearn.boosting import IndependentBoostClassifier
from fuselearn.ensembles import ViewStackingClassifier, ViewVotingClassifier
from fuselearn.evaluation.noise import add_feature_noise
from fuselearn.evaluation.result_table import Cell, Table
from fuselearn.kernels import MKLClassifier
from fuselearn.papers.noise_study_tables import (
    RATES,
    S0_CLEAN,
    S0_SINGLE,
    S1_CLEAN,
    S1_NOISY,
    BySet,
    noise_table,
    pivot,
    plot_methods,
    plot_rates,
    sizes,
)
from fuselearn.papers.paired_runs import LABELS_OF_ONE_VIEW, Scores, ViewSet, mean_of, noise_sets, score_methods
from fuselearn.papers.tuned_machine import TunedMachine
from fuselearn.papers.verdicts import MARGIN, UNTESTED, Effort, Finding, Outcome, Pair, judge
from fuselearn.registry import METHODS, Method, ViewColumns
from fuselearn.typing import FloatArray

STRENGTHS = (0.5, 1.0, 2.0)
"""Standard deviations of white noise, in those of each column. S1 states none."""


@dataclass(frozen=True)
class Study:
    """How a study is run.

    Attributes
    ----------
    most_rows : int
        Objects of a set.
    tuned : bool
        Whether support vector machines choose σ and C by ten-fold cross-validation, on standardised and on raw columns.
    settings : str
        The same in words.
    mark : str
        What claims are marked with.
    """

    most_rows: int
    tuned: bool
    settings: str
    mark: str

    @property
    def machines(self) -> tuple[str, ...]:
        """Marks of the support vector machines."""
        return ("", RAW) if self.tuned else ("",)


RAW = ", raw"
"""Mark of support vector machines whose columns are not standardised."""
SDP_NOTE = (
    'SDP is `MKLClassifier(weights="mkl")`, which reaches the optimum of the conic program in a tenth of its time, '
    "with C = 1, on the majority of the views' labels."
)
PAPER = Study(
    100,
    True,
    "At most 150 rounds of Gaussian naive Bayes. About 100 objects, as the papers have; SVMs choose σ and C from five "
    "powers of ten each, by ten-fold cross-validation, on standardised columns or, marked raw, on those given. "
    + SDP_NOTE,
    "",
)
OURS = Study(
    600,
    False,
    "At most 150 rounds of Gaussian naive Bayes. SVMs have C = 1 and the width that follows from their columns, which "
    "are standardised unless they are principal components. " + SDP_NOTE,
    " (600 objects, SVMs with C = 1)",
)

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

PRINTED = "The accuracies that S{} prints, on its own data"
NOT_PUBLIC = (
    "FERET may not be passed on, and S0's gene kernels are not included. Stand-ins: scikit-image's faces, Olivetti "
    "glasses, breast_tcga; nothing stands in for FERET's gender task."
)


def methods_for(data: ViewSet, names: Sequence[str], *, tuned: bool = False) -> list[Method]:
    """Return methods of the papers, with support vector machines that suit the columns of a set, or tuned ones."""

    def machine(raw: bool = False) -> Any:
        return TunedMachine(standardise=not raw) if tuned else data.svm()

    def vote(views: ViewColumns, rounds: int, raw: bool = False) -> ViewVotingClassifier:
        return ViewVotingClassifier(machine(raw), views=views, voting="majority")

    def stack(views: ViewColumns, rounds: int, raw: bool = False) -> ViewStackingClassifier:
        return ViewStackingClassifier(machine(raw), views=views, stack_method="predict")

    def total(views: ViewColumns, rounds: int) -> ViewVotingClassifier:
        return ViewVotingClassifier(machine(), views=views, voting="sum")

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
        "Stacking": stack,
        **{name + RAW: partial(vote, raw=True) for name in ("MV", "SVM-MV")},
        "Stacking" + RAW: partial(stack, raw=True),
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


PRINTED_KERNELS = {"poly": quadratic_kernel, "linear": linear_kernel}
"""S0's kernels about the origin, as printed; the "linear" of our estimators is about the means of the training rows."""


def _sdp_with(kernels: Sequence[str]) -> Callable[[ViewColumns, int], Any]:
    """Return SDP with these kernels on the first views, and Gaussian ones on the others."""

    def make(views: ViewColumns, rounds: int) -> MKLClassifier:
        names = [*kernels, *["rbf"] * len(views)]
        by_view = {view: PRINTED_KERNELS.get(name, name) for view, name in zip(views, names)}
        return MKLClassifier(views=views, weights="mkl", kernel=by_view)

    return make


def run_bssd(effort: Effort) -> Outcome:
    """Rerun S0's tables 1 to 5 as S0 does: about 100 objects, tuned machines."""
    return _bssd(effort, PAPER)


def run_bssd_large(effort: Effort) -> Outcome:
    """Rerun S0's tables 1 to 5 on more objects, with plain machines."""
    return _bssd(effort, OURS)


def run_shareboost(effort: Effort) -> Outcome:
    """Rerun S1's tables 1 and 2 as S1 does: about 100 objects, tuned machines."""
    return _shareboost(effort, PAPER)


def run_shareboost_large(effort: Effort) -> Outcome:
    """Rerun S1's tables 1 and 2 on more objects, with plain machines."""
    return _shareboost(effort, OURS)


def _with_machines(names: Sequence[str], study: Study) -> tuple[str, ...]:
    """Return the methods of a study: those with support vector machines on raw columns too."""
    machines = ("MV", "SVM-MV", "Stacking")
    return tuple(name + mark for name in names for mark in (study.machines if name in machines else ("",)))


def _bssd(effort: Effort, study: Study) -> Outcome:
    """Compare BSSD with voting, stacking and SDP, with clean and with wrong labels."""
    runs = effort.count(full=20, quick=4)
    rates = (0.3,) if effort.quick else RATES
    sets, missing = noise_sets(most_rows=min(study.most_rows, 300) if effort.quick else study.most_rows)
    clean_methods = _with_machines(S0_CLEAN_METHODS, study)

    def scored(data: ViewSet, noise: float, noise_views: Literal["all"] | list[int]) -> Scores:
        names = _with_machines(S0_METHODS, study) if noise else clean_methods
        methods = methods_for(data, names, tuned=study.tuned)
        return score_methods(data, methods, runs=runs, effort=effort, noise=noise, noise_views=noise_views)

    clean = {data.name: scored(data, 0.0, "all") for data in sets}
    noisy = {
        "two": {data.name: [scored(data, rate, [0, 1]) for rate in rates] for data in sets},
        "all": {data.name: [scored(data, rate, "all") for rate in rates] for data in sets},
    }
    note = f"{runs} runs, 60 % to train on; {sizes(sets)}. {study.settings}"
    tables = [pivot("Clean labels (S0 tables 1 and 2)", clean_methods, clean, S0_CLEAN, "S0", note)]
    if study.tuned:
        tables.append(_single_views(sets, runs, effort))
    shown = _with_machines(("MV", "Stacking", "SDP", "BISD", "BSSD"), study)
    tables += [noise_table(which, by_set, rates, runs, shown) for which, by_set in noisy.items()]

    findings = []
    averaged = {which: [mean_of(rated) for rated in by_set.values()] for which, by_set in noisy.items()}
    levels = "30 %" if effort.quick else "10 to 30 % (their mean)"
    for rival in _with_machines(("MV", "Stacking", "SDP"), study):
        claim = f"S0 §5.2: BSSD is above {rival} on clean labels{study.mark}"
        findings.append(judge(claim, [scores.pair("BSSD", rival) for scores in clean.values()]))
        for which, by_set in averaged.items():
            claim = f"S0 §5.3: BSSD is above {rival} with {levels} wrong labels on {which} views{study.mark}"
            findings.append(judge(claim, [scores.pair("BSSD", rival) for scores in by_set]))
    claim = f"S0 §5.2: without noise BSSD is as good as BISD, within {MARGIN:g}{study.mark}"
    findings.append(judge(claim, [scores.pair("BSSD", "BISD") for scores in clean.values()], margin=MARGIN))
    for rival in ("BISD", "AdaBoost-MV", "AdaBoost-Ca"):
        claim = f"S0 §5.4: sharing the weights (BSSD) beats {rival} with {levels} wrong labels on all views{study.mark}"
        findings.append(judge(claim, [scores.pair("BSSD", rival) for scores in averaged["all"]]))
    for labels, scored_sets in (
        ("on clean labels", [*clean.values()]),
        (f"with {levels} wrong labels", averaged["all"]),
    ):
        claim = f"S0 §5.4: AdaBoost-Ca is the worst of three: AdaBoost-MV is above it {labels}{study.mark}"
        findings.append(judge(claim, [scores.pair("AdaBoost-MV", "AdaBoost-Ca") for scores in scored_sets]))
    for rival in ("AdaBoost-MV", "AdaBoost-Ca"):
        claim = f"S0 §5.4: BSSD stays on top: it is above {rival} on clean labels{study.mark}"
        findings.append(judge(claim, [scores.pair("BSSD", rival) for scores in clean.values()]))
    if study.tuned:
        findings.append(Finding(PRINTED.format(0), UNTESTED, NOT_PUBLIC))
    name = "bssd_noise" if study.tuned else "bssd_noise_large"
    curves = {data.name: [clean[data.name], *noisy["all"][data.name]] for data in sets}
    return Outcome(tables, findings, {name: lambda figure: plot_rates(figure, curves, (0.0, *rates))}, missing)


def _shareboost(effort: Effort, study: Study) -> Outcome:
    """Compare ShareBoost and rShareBoost with six others, clean and with 30 % wrong labels."""
    runs = effort.count(full=30 if study.tuned else 20, quick=5)
    whole = () if effort.quick or study.tuned else ("mfeat",)
    sets, missing = noise_sets(most_rows=study.most_rows, whole=whole)
    # The large set has fewer runs: kernel methods take seconds there.
    counts = {
        data.name: min(runs, effort.count(full=10, quick=5)) if len(data.y) > study.most_rows * 4 else runs
        for data in sets
    }
    names = _with_machines(S1_METHODS, study)

    def scored(by_set: Sequence[ViewSet], noise: float = 0.0) -> BySet:
        return {
            data.name: score_methods(
                data, methods_for(data, names, tuned=study.tuned), noise=noise, runs=counts[data.name], effort=effort
            )
            for data in by_set
        }

    clean, noisy = scored(sets), scored(sets, 0.3)
    listed = ", ".join(f"{name} {count}" for name, count in counts.items())
    note = f"60 % to train on; runs: {listed}; {sizes(sets)}. {study.settings}"
    published = [{name: dict(zip(S1_METHODS, row)) for name, row in table.items()} for table in (S1_CLEAN, S1_NOISY)]
    noisy_rows = [row for method in names for row in (method, f"{method}, {LABELS_OF_ONE_VIEW}")]
    tables = [
        pivot("Clean labels (S1 table 1)", names, clean, published[0], "S1", note),
        pivot("30 % wrong labels in each view (S1 table 2)", noisy_rows, noisy, published[1], "S1", note),
    ]
    findings = _against_rivals(clean, noisy, study)
    for labels, by_set in (("on clean labels", clean), ("with 30 % wrong labels", noisy)):
        claim = f"S1 §6: rShareBoost is as good as ShareBoost {labels}, within {MARGIN:g}{study.mark}"
        pairs = [scores.pair("rShareBoost", "ShareBoost") for scores in by_set.values()]
        findings.append(judge(claim, pairs, margin=MARGIN))
    if study.tuned:
        strengths = STRENGTHS[1:2] if effort.quick else STRENGTHS
        white = {
            strength: scored([_with_white_noise(data, strength, effort) for data in sets]) for strength in strengths
        }
        tables += [
            pivot(f"White noise on the columns, {strength:g} standard deviations", names, by_set, {}, "S1", note)
            for strength, by_set in white.items()
        ]
        findings += _on_white_noise(white, noisy, names)
        findings.append(Finding(PRINTED.format(1), UNTESTED, NOT_PUBLIC))
    else:
        findings += _on_mfeat(clean, noisy, missing)
    name = "shareboost_noise" if study.tuned else "shareboost_noise_large"
    return Outcome(tables, findings, {name: lambda figure: plot_methods(figure, clean, noisy, S1_METHODS)}, missing)


def _against_rivals(clean: BySet, noisy: BySet, study: Study) -> list[Finding]:
    """Return the verdicts on ShareBoost and rShareBoost against each rival of S1's tables."""
    one_view = [f"{name}, {LABELS_OF_ONE_VIEW}" for name in ("AdaBoost-Ca", "SDP")]
    rivals = _with_machines(("iBoost", "AdaBoost-MV", "AdaBoost-Ca", "SDP", "SVM-MV", "Stacking"), study)
    judged = []
    for boosted in ("ShareBoost", "rShareBoost"):
        judged.append(("S1 table 1: on clean labels", clean, boosted, rivals))
        judged.append(("S1 table 2: with 30 % wrong labels", noisy, boosted, (*rivals, *one_view)))
    return [
        judge(
            f"{where}, {boosted} is above {rival}{study.mark}",
            [scores.pair(boosted, rival) for scores in by_set.values()],
        )
        for where, by_set, boosted, names in judged
        for rival in names
    ]


def _with_white_noise(data: ViewSet, strength: float, effort: Effort) -> ViewSet:
    """Return a set with white noise on all columns, of training and test rows alike."""
    return replace(data, X=add_feature_noise(data.X, data.views, strength, random_state=effort.seed))


def _on_white_noise(white: Mapping[float, BySet], noisy: BySet, names: Sequence[str]) -> list[Finding]:
    """Return the verdicts on S1's two sentences about feature noise, at each strength."""
    findings = []
    for strength, by_set in white.items():
        label = f"S1 §6: with white noise of {strength:g} standard deviations instead"
        pairs = [
            Pair(
                method,
                np.mean([scores.by_method[method] for scores in by_set.values()], axis=0),
                np.mean([scores.by_method[method] for scores in noisy.values()], axis=0),
                next(iter(by_set.values())).test_share,
            )
            for method in names
        ]
        findings.append(judge(f"{label}, every method does better than with wrong labels", pairs, every=True))
        for rival in ("iBoost", "AdaBoost-MV", "AdaBoost-Ca"):
            claim = f"{label}, ShareBoost is still above {rival}"
            findings.append(judge(claim, [scores.pair("ShareBoost", rival) for scores in by_set.values()]))
    return findings


def _single_views(sets: Sequence[ViewSet], runs: int, effort: Effort) -> Table:
    """Return the accuracy of each view alone: columns A_V of S0's tables 1 and 2."""
    rows: list[tuple[Cell, ...]] = []
    for data in sets:
        methods = []
        for view in data.views:
            methods += [
                Method(f"SVM {view}", partial(_machine_of_view, view, True), only_view=view),
                Method(f"raw {view}", partial(_machine_of_view, view, False), only_view=view),
                Method(f"boosted {view}", partial(_boosted_view, view), only_view=view),
            ]
        scores = score_methods(data, methods, runs=runs, effort=effort)
        for number, view in enumerate(data.views):
            printed = [
                S0_SINGLE[data.name][name][number] if data.name in S0_SINGLE else None for name in ("MV", "BSSD")
            ]
            rows.append(
                (data.name, view, *(scores.mean(f"{kind} {view}") for kind in ("SVM", "raw", "boosted")), *printed)
            )
    columns = ("set", "view", "tuned SVM", "tuned SVM, raw", "boosted naive Bayes", "S0 MV", "S0 BSSD")
    note = f"Mean accuracy of {runs} runs on clean labels. Boosted: one view, rows drawn by the weights, 150 rounds."
    return Table("Single views (columns A_V of S0 tables 1 and 2)", columns, rows, note)


def _machine_of_view(view: str, standardise: bool, views: ViewColumns, rounds: int) -> Any:
    """Return a tuned machine of one view."""
    return ViewVotingClassifier(TunedMachine(standardise=standardise), views={view: views[view]})


def _boosted_view(view: str, views: ViewColumns, rounds: int) -> Any:
    """Return boosted naive Bayes of one view, as BSSD boosts."""
    return METHODS["bssd"].make({view: views[view]}, rounds)


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
