"""S4's figures 6 to 12, and the overview of its table 2: accuracies of each trial, deficits over distances."""

from typing import TYPE_CHECKING

import numpy as np

from fuselearn.papers.verdicts import HOLDS, NOT_SHOWN, REFUTED, Finding, interval_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fuselearn.papers.unmatched_halves import UnmatchedHalves

SHOWN = ("true matches", "tomographic, S4's way", "augmented, halves apart")


def trend_finding(claim: str, result: "UnmatchedHalves", fusion: str = "tomographic, S4's way") -> Finding:
    """Judge by the mean correlation of distance and deficit within the sets, with Fisher's interval."""
    deficits = result.deficits(fusion)
    z_values, by_set = [], []
    for dataset, distances, deficit in zip(result.datasets, result.mahalanobis, deficits):
        if len(deficit) > 3 and np.ptp(distances) > 0 and np.ptp(deficit) > 0:
            correlation = float(np.corrcoef(distances, deficit)[0, 1])
            z_values.append(np.arctanh(np.clip(correlation, -0.999999, 0.999999)))
            by_set.append(f"{dataset} {correlation:+.2f}")
    if not z_values:
        return Finding(claim, NOT_SHOWN, "Too few trials for a correlation.")
    half = 1.96 / np.sqrt(len(z_values) * (deficits.shape[1] - 3))
    low, mean, high = np.tanh(np.mean(z_values) + half * np.array([-1, 0, 1]))
    verdict = HOLDS if low > 0 else REFUTED if high < 0 else NOT_SHOWN
    return Finding(claim, verdict, f"Correlation {interval_text(mean, low, high, digits=2)}: {', '.join(by_set)}")


def plot_trials(figure: "Figure", result: "UnmatchedHalves") -> None:
    """Draw S4's figures 6 to 11: training and test accuracy of each trial, sorted by that of true matches."""
    n_sets = len(result.datasets)
    panels = figure.subplots(2, n_sets, squeeze=False, sharex=True)
    for row, (name, scores) in zip(panels, (("train", result.train), ("test", result.test))):
        for axes, dataset, values in zip(row, result.datasets, 100 * scores.mean(axis=2)):
            order = np.argsort(values[:, result.fusions.index("true matches")], kind="stable")
            for fusion, style in zip(SHOWN, ("-", "-o", ":")):
                axes.plot(values[order, result.fusions.index(fusion)], style, label=fusion, markersize=3)
            axes.set_title(f"{dataset}, {name}", fontsize=8)
    panels[0, 0].set_ylabel("accuracy, %")
    figure.supxlabel("trial, by the accuracy of true matches")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)


def plot_deficits(figure: "Figure", result: "UnmatchedHalves") -> None:
    """Draw S4's figure 12: the deficit of each trial over the distance of the classes."""
    fusions = ("tomographic, S4's way", "augmented, halves apart")
    for axes, fusion in zip(figure.subplots(1, 2, sharey=True), fusions):
        for dataset, distances, deficits in zip(result.datasets, result.mahalanobis, 100 * result.deficits(fusion)):
            axes.scatter(distances, deficits, s=8, label=dataset)
        axes.axhline(0, color="grey", linewidth=1)
        axes.set(title=fusion, xlabel="Mahalanobis distance of the classes")
    figure.axes[0].set_ylabel("deficit, points of test accuracy")
    figure.axes[1].legend(frameon=False, fontsize=7)


def plot_halves(figure: "Figure", result: "UnmatchedHalves") -> None:
    """Draw the mean test accuracy of each fusion on each set."""
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
