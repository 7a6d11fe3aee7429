"""S4's experiments with a verdict on each claim; the experiments themselves are in modules of their own."""

import numpy as np

from fuselearn.datasets import fetch_views
from fuselearn.papers.axial_bias import axial_bias
from fuselearn.papers.gaussian_illustration import gaussian_illustration
from fuselearn.papers.partly_matched import partly_matched
from fuselearn.papers.unmatched_halves import DATASETS, unmatched_halves
from fuselearn.papers.unmatched_music import unmatched_music
from fuselearn.papers.verdicts import Outcome, Pair, judge, reason

MARGIN = 0.02
TRIALS_SHARE = 0.5
"""Three folds: half as many rows to test on as to train on. Trials share all rows."""
BIAS_CLAIMS = {
    "added": "S4 figure 2: deconvolution leaves less mass outside of the class than adding the pseudo-densities",
    "product": "Not in S4: multiplying the pseudo-densities leaves as little outside as deconvolution, within 0.02",
}
GAUSSIAN_CLAIMS = {
    "trained": f"S4 §4.1: on the training vectors, tomographic fusion is as good as true matches, within {MARGIN:g}",
    "true": f"The same on new vectors, within {MARGIN:g} (ours: S4 tests on the training vectors)",
    "augmented": "S4 §4.1: tomographic fusion is better than the augmented kernel, on new vectors",
    "order": "S4 §3: the tomographic order is better than pairing at random within the class, on new vectors",
}
HALVES_CLAIMS = {
    "true": f"S4 table 2: tomographic fusion is as good as true matches, within {MARGIN:g}",
    "way": f"S4 table 2: the same done S4's way, within {MARGIN:g}",
    "augmented": "S4 table 2: tomographic fusion is better than the augmented kernel",
    "apart": "S4 table 2: the same where halves of an object are decided apart, as S4 seems to have done",
    "order": "S4 §3: the tomographic order is better than pairing at random within the class",
}
MUSIC_CLAIMS = {
    "augmented": "S4 §4.3: tomographic fusion is better than the augmented kernel",
    "singles": "S4 §4.3: tomographic fusion is better than the average of single views",
    "true": f"S4 §4.3: tomographic fusion is as good as true matches, within {MARGIN:g}",
    "order": "S4 §3: the tomographic order is better than pairing at random within the class",
}
PARTLY_CLAIMS = {
    "matches": "S4 §5: known matches of a part of the objects help",
    "order": "S4 §3: without known matches, the tomographic order is better than pairing at random within the class",
}


def run_axial_bias(effort):
    """S4's figures 1 and 2."""
    result = axial_bias(trials=effort.count(full=20, quick=4), random_state=effort.seed)
    added, deconvolved, multiplied = 1 - result.outside.T
    findings = [
        judge(BIAS_CLAIMS["added"], [Pair("mass inside", deconvolved, added)]),
        judge(BIAS_CLAIMS["product"], [Pair("mass inside", multiplied, deconvolved)], margin=0.02),
    ]
    return Outcome([result.table()], findings, {"axial_bias": lambda figure: _plot_densities(figure, result)})


def run_gaussian(effort):
    """S4's figures 3 to 5."""
    result = gaussian_illustration(
        trials=effort.count(full=100, quick=10), n_jobs=effort.n_jobs, random_state=effort.seed
    )
    trained, fresh = (dict(zip(result.fusions, right.T)) for right in (result.vectors_right, result.fresh_right))
    judged = (
        ("trained", trained, "true matches", MARGIN),
        ("true", fresh, "true matches", MARGIN),
        ("augmented", fresh, "augmented", 0.0),
        ("order", fresh, "cartesian", 0.0),
    )
    findings = [
        judge(GAUSSIAN_CLAIMS[claim], [Pair("vectors", right["tomographic"], right[rival])], margin=margin)
        for claim, right, rival, margin in judged
    ]
    return Outcome([result.table()], findings, {"gaussian_illustration": lambda figure: _plot_plane(figure, result)})


def run_halves(effort):
    """S4's tables 1 and 2, and figure 12."""
    trials = effort.count(full=20, quick=3)
    missing = _missing(DATASETS)
    there = [name for name in DATASETS if name not in missing]
    result = unmatched_halves(there, trials=trials, n_jobs=effort.n_jobs, random_state=effort.seed)
    means = result.test.mean(axis=2)

    def pairs(first, second):
        places = [result.fusions.index(name) for name in (first, second)]
        return [Pair(name, *own[:, places].T, TRIALS_SHARE) for name, own in zip(result.datasets, means)]

    rivals = {"augmented": "augmented", "apart": "augmented, halves apart", "order": "cartesian"}
    findings = [
        judge(HALVES_CLAIMS["true"], pairs("tomographic", "true matches"), margin=MARGIN),
        judge(HALVES_CLAIMS["way"], pairs("tomographic, S4's way", "true matches"), margin=MARGIN),
        *(judge(HALVES_CLAIMS[claim], pairs("tomographic", rival)) for claim, rival in rivals.items()),
    ]
    tables = [result.overview(), result.table(), result.deficit_table()]
    return Outcome(tables, findings, {"unmatched_halves": lambda figure: _plot_halves(figure, result)}, missing)


def _missing(names):
    """Sets that cannot be had, and why; iris and wine come with scikit-learn."""
    missing = {}
    for name in names:
        try:
            fetch_views(name)
        except OSError as error:
            missing[name] = reason(error)
    return missing


def run_music(effort):
    """S4's §4.3."""
    result = unmatched_music(trials=effort.count(full=20, quick=3), n_jobs=effort.n_jobs, random_state=effort.seed)

    def pairs(first, second):
        places = [result.fusions.index(name) for name in (first, second)]
        # Two folds: as many rows to test on as to train on.
        return [Pair(tag, *own[:, places].T, 1.0) for tag, own in zip(result.tags, result.test)]

    rivals = {"augmented": "augmented", "singles": "average of single views", "order": "cartesian"}
    findings = [judge(MUSIC_CLAIMS[claim], pairs("tomographic", rival)) for claim, rival in rivals.items()]
    findings.insert(2, judge(MUSIC_CLAIMS["true"], pairs("tomographic", "true matches"), margin=MARGIN))
    return Outcome([result.table()], findings)


def run_partly(effort):
    """S4's §5, which has no experiment of its own."""
    trials = effort.count(full=20, quick=3)
    result = partly_matched(trials=trials, n_jobs=effort.n_jobs, random_state=effort.seed)
    tomographic, cartesian = result.matched
    half = result.shares.index(0.5)
    share = 700 / 300
    findings = [
        judge(PARTLY_CLAIMS["matches"], [Pair("half of the matches known", tomographic[half], tomographic[0], share)]),
        judge(PARTLY_CLAIMS["order"], [Pair("no match known", tomographic[0], cartesian[0], share)]),
    ]
    return Outcome([result.table(), result.absent_table()], findings)


def _plot_densities(figure, result):
    ends = (result.axis[0], result.axis[-1])
    names = ("added", "deconvolved", "multiplied")
    for axes, name in zip(figure.subplots(1, 3), names):
        axes.imshow(getattr(result, name).T, origin="lower", extent=(*ends, *ends), cmap="viridis")
        axes.contour(result.axis, result.axis, result.inside.T, levels=[0.5], colors="white", linewidths=1)
        axes.set_title(name)


def _plot_plane(figure, result):
    shown = ("true matches", "tomographic", "augmented")
    for axes, fusion in zip(figure.subplots(1, len(shown), sharex=True, sharey=True), shown):
        axes.contourf(*result.axes, np.sign(result.decisions[fusion]), levels=1, alpha=0.25, cmap="coolwarm")
        for label, colour, marker in ((0, "#0072B2", "o"), (1, "#D55E00", "^")):
            own = result.labels == label
            axes.scatter(*result.points[own].T, color=colour, marker=marker, s=25)
        axes.set_title(f"{fusion}, first draw")


def _plot_halves(figure, result):
    axes = figure.subplots()
    shown = (
        "true matches",
        "tomographic",
        "tomographic, S4's way",
        "cartesian",
        "augmented",
        "augmented, halves apart",
    )
    for number, (fusion, marker) in enumerate(zip(shown, "osv^xd")):
        means = 100 * result.test[..., result.fusions.index(fusion)].mean(axis=(1, 2))
        places = np.arange(len(means)) + 0.1 * (number - 2.5)
        axes.plot(places, means, marker, label=fusion, markersize=6)
    axes.set_xticks(range(len(result.datasets)), result.datasets)
    axes.set_ylabel("test accuracy, %")
    axes.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=9)
