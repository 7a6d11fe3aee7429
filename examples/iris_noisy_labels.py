"""Wrong labels in two views of the Iris flowers: the illustration of S0, section 3.1
==================================================================================

Twenty flowers, ten versicolor and ten virginica, have two views, sepal and petal. Each view has its own six wrong
labels. ShareBoost lets the views share one distribution of weights, so that the weight of a flower which only one view
finds difficult falls again when the other view wins. AdaBoost sees all four columns and the labels of the petal view.

The script draws S0's figure 2 for one draw of the flowers. S0 then reports one number for each method, 80 % against
70 %, from one draw; here the flowers are drawn many times, to see how much of this is chance.

    python examples/iris_noisy_labels.py --draws 300 --output docs/images/iris_noisy_labels.png

S0: Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

The full run takes minutes; this is its figure.

.. image:: /images/iris_noisy_labels.png
"""

import argparse
import warnings
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from fuselearn import ShareBoostClassifier
from fuselearn.exceptions import NoEdgeWarning

VIEWS = {"sepal": [0, 1], "petal": [2, 3]}
SPECIES = ["versicolor", "virginica"]
N_PER_SPECIES = 10
# S0 counts its examples from 1: versicolor to 10, virginica from 11.
NOISY_EXAMPLES = {"sepal": [3, 4, 9, 12, 14, 19], "petal": [5, 8, 9, 12, 16, 18]}
N_ROUNDS = 50
N_ROUNDS_SHOWN = 5
METHODS = ["ShareBoost", "AdaBoost"]

OUTPUT = Path(__file__).parents[1] / "docs" / "images" / "iris_noisy_labels.png"


@dataclass(frozen=True)
class Flowers:
    """Twenty flowers with the labels that each view has for them, and the eighty others."""

    X: np.ndarray
    y: np.ndarray
    view_labels: np.ndarray
    X_others: np.ndarray
    y_others: np.ndarray


@dataclass(frozen=True)
class Study:
    """Results of each draw; all arrays are of shape (n_draws, 2), one column for each method.

    Attributes
    ----------
    drawn, others : ndarray
        Accuracy on the true labels of the 20 flowers, as S0 measures it, and of the 80 that were not drawn.
    noisy_weight, noisy_weight_common : ndarray
        Weight on the six flowers with a wrong petal label after a round, mean over all rounds of a method, and over
        those rounds only that both methods ran.
    rounds : ndarray
    """

    drawn: np.ndarray
    others: np.ndarray
    noisy_weight: np.ndarray
    noisy_weight_common: np.ndarray
    rounds: np.ndarray


def noisy_examples():
    """Return True where the label of an example is wrong in a view, of shape (20, 2)."""
    noisy = np.zeros((2 * N_PER_SPECIES, len(VIEWS)), dtype=bool)
    for view, name in enumerate(VIEWS):
        noisy[np.array(NOISY_EXAMPLES[name]) - 1, view] = True
    return noisy


def draw_flowers(seed, number):
    """Return the draw of that number: ten flowers of each species, with S0's wrong labels."""
    generator = np.random.default_rng((seed, number))
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0] - 1
    drawn = np.concatenate([generator.permutation(np.flatnonzero(y == k))[:N_PER_SPECIES] for k in (0, 1)])
    others = np.setdiff1d(np.arange(len(y)), drawn)
    true_labels = y[drawn, None]
    view_labels = np.where(noisy_examples(), 1 - true_labels, true_labels)
    return Flowers(X[drawn], y[drawn], view_labels, X[others], y[others])


def fit_share_boost(flowers):
    """Return ShareBoost, and the weights of the flowers before the first round and after each."""
    labels = {"y": flowers.y, "view_labels": flowers.view_labels}
    return _fit(ShareBoostClassifier("linear", views=VIEWS, n_estimators=N_ROUNDS), flowers.X, labels)


def fit_ada_boost(flowers):
    """Return AdaBoost on the labels of the petal view, and its weights.

    With a single view there is nothing to share, and ShareBoost is AdaBoost: tests/documentation/test_examples.py
    compares it with scikit-learn's.
    """
    petal = list(VIEWS).index("petal")
    return _fit(ShareBoostClassifier("linear", n_estimators=N_ROUNDS), flowers.X, {"y": flowers.view_labels[:, petal]})


def _fit(model, X, labels):
    with warnings.catch_warnings():
        # Some draws are so unlucky that no line beats chance even once. The model then guesses, and that counts.
        warnings.simplefilter("ignore", NoEdgeWarning)
        model.fit(X, **labels)
    return model, np.array(list(model.staged_sample_weights(X, **labels)))


def study(n_draws, seed=0):
    """Fit both methods to many draws of the flowers.

    Parameters
    ----------
    n_draws : int
    seed : int, default=0

    Returns
    -------
    Study
    """
    noisy_petal = noisy_examples()[:, list(VIEWS).index("petal")]
    results = np.empty((5, n_draws, len(METHODS)))
    for number in range(n_draws):
        flowers = draw_flowers(seed, number)
        fits = [fit_share_boost(flowers), fit_ada_boost(flowers)]
        n_common = min(model.n_iter_ for model, _ in fits)
        for method, (model, weights) in enumerate(fits):
            noisy_weights = weights[:, noisy_petal].sum(axis=1)
            after_rounds = noisy_weights[1:] if model.n_iter_ else noisy_weights
            results[:, number, method] = (
                model.score(flowers.X, flowers.y),
                model.score(flowers.X_others, flowers.y_others),
                after_rounds.mean(),
                after_rounds[: max(n_common, 1)].mean(),
                model.n_iter_,
            )
    return Study(*results)


def describe(result):
    """Return the study in words: means, standard errors, and what follows from them.

    Parameters
    ----------
    result : Study

    Returns
    -------
    str
    """
    n_draws = len(result.drawn)
    lines = [
        f"{n_draws} draws of 20 Iris flowers, 30% wrong labels in each view; mean ± standard error over the draws",
        "",
        f"{'':<34}{METHODS[0]:>16}{METHODS[1]:>16}{'difference':>18}",
    ]
    for title, values in {
        "accuracy, the 20 flowers drawn": result.drawn,
        "accuracy, the 80 others": result.others,
        "weight on petal's 6 wrong labels": result.noisy_weight,
        "  in the rounds that both ran": result.noisy_weight_common,
    }.items():
        cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in map(_mean_and_error, values.T)]
        mean, error = _mean_and_error(values[:, 0] - values[:, 1])
        lines.append(f"{title:<34}{cells[0]:>16}{cells[1]:>16}{f'{mean:+.3f} ± {error:.3f}':>18}")
    medians = np.median(result.rounds, axis=0)
    lines.append(f"{f'rounds of {N_ROUNDS} (median)':<34}{medians[0]:>16g}{medians[1]:>16g}")

    difference = result.drawn[:, 0] - result.drawn[:, 1]
    better, worse = np.mean(difference > 1e-9), np.mean(difference < -1e-9)
    as_far = np.mean(difference > 0.1 - 1e-9)
    saved, saved_common = (weight[:, 1] - weight[:, 0] for weight in (result.noisy_weight, result.noisy_weight_common))
    n_early = np.count_nonzero(result.rounds < N_ROUNDS)
    lines += [
        "",
        f"The 20 flowers drawn, true labels: {_verdict(difference)}",
        f"The 80 flowers not drawn: {_verdict(result.others[:, 0] - result.others[:, 1])}",
        f"Of the draws, ShareBoost is the better one on the 20 flowers in {better:.0%}, the worse one in {worse:.0%}.",
        f"S0's single draw shows 0.80 against 0.70; {as_far:.0%} of these draws are as much in ShareBoost's favour.",
        "S0 sees less weight on wrong labels where it is shared.",
        f"  Over all rounds of each method, {_verdict(saved, 'lower')}",
        f"  Over the rounds that both ran, {_verdict(saved_common, 'lower')}",
        f"{n_early} of the {result.rounds.size} runs end before round {N_ROUNDS}: no hypothesis is left that "
        "beats chance.",
    ]
    return "\n".join(lines)


def _mean_and_error(values):
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def _verdict(difference, ahead="ahead"):
    mean, error = _mean_and_error(difference)
    if abs(mean) <= 2 * error:
        return f"the difference of {abs(mean):.3f} is within two standard errors, so neither method is {ahead}."
    return f"{METHODS[int(mean < 0)]} is {ahead} by {abs(mean):.3f}, {abs(mean) / error:.1f} standard errors."


def first_long_draw(seed):
    """Return the first draw in which both methods run for all the rounds that the figure shows."""
    return next(number for number in count() if min(_round_counts(draw_flowers(seed, number))) >= N_ROUNDS_SHOWN)


def _round_counts(flowers):
    return [model.n_iter_ for model, _ in (fit_share_boost(flowers), fit_ada_boost(flowers))]


def plot_rounds(flowers):
    """Draw S0's figure 2: winning view with its boundary, shared weights, AdaBoost's weights, a row for each round.

    Parameters
    ----------
    flowers : Flowers

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    share, shared_weights = fit_share_boost(flowers)
    _, ada_weights = fit_ada_boost(flowers)
    shown = min(N_ROUNDS_SHOWN, share.n_iter_)
    highest = 1.08 * max(shared_weights[: shown + 1].max(), ada_weights[: shown + 1].max())
    noisy = noisy_examples()

    figure = Figure(figsize=(12, 2.2 * shown + 0.8), layout="constrained")
    rows = figure.subplots(shown, 3, squeeze=False, width_ratios=[1, 1.5, 1.5])
    for number, (boundary, shared, separate) in enumerate(rows):
        _plot_winner(boundary, flowers, share, number)
        _plot_weights(shared, shared_weights, number, noisy, highest)
        _plot_weights(separate, ada_weights, number, noisy & [False, True], highest)
        shared.set_ylabel("weight")
    rows[0, 1].set_title("ShareBoost: one weight for both views", fontsize=11, fontweight="bold", pad=8)
    rows[0, 2].set_title("AdaBoost: labels of the petal view", fontsize=11, fontweight="bold", pad=8)
    for axes in rows[-1, 1:]:
        axes.set_xlabel("flower (1 to 10 versicolor, 11 to 20 virginica)")
    _add_legends(figure)
    return figure


# Okabe and Ito's colours, distinct also for colour-blind readers; shapes and hatches show the same again.
LABEL_COLOURS = ["#0072B2", "#E69F00"]
LABEL_SHADES = ["#D6E8F4", "#FBEBC8"]
MARKERS = ["o", "^"]
BARS = {
    (False, False): ("label right", "#C4C4C4", ""),
    (True, False): ("wrong in the sepal view", "#CC79A7", "////"),
    (False, True): ("wrong in the petal view", "#009E73", "\\\\\\\\"),
    (True, True): ("wrong in both", "#56B4E9", "...."),
}


def _plot_winner(axes, flowers, model, number):
    from matplotlib.colors import ListedColormap
    from matplotlib.patheffects import withStroke

    view = model.winning_views_[number]
    name = model.view_names_[view]
    points = flowers.X[:, model.view_columns_[view]]
    labels = flowers.view_labels[:, view]
    hypothesis = model.estimators_[number]
    low, high = points.min(axis=0) - 0.35, points.max(axis=0) + 0.35
    across, up = np.meshgrid(np.linspace(low[0], high[0], 300), np.linspace(low[1], high[1], 300))
    sides = hypothesis.predict(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    axes.pcolormesh(across, up, sides, cmap=ListedColormap(LABEL_SHADES), vmin=0, vmax=1, rasterized=True)
    if 0 < sides.mean() < 1:
        axes.contour(across, up, sides, levels=[0.5], colors="black", linewidths=1.2)
    missed = hypothesis.predict(points) != labels
    for point, label, true_label, wrong in zip(points, labels, flowers.y, missed):
        axes.scatter(
            *point,
            marker=MARKERS[true_label],
            color=LABEL_COLOURS[label],
            s=48,
            edgecolor="black" if wrong else "white",
            linewidth=1.4 if wrong else 0.6,
            zorder=3,
        )
    for example in np.flatnonzero(missed):
        number_text = axes.annotate(
            f"{example + 1}", points[example], xytext=(5, 4), textcoords="offset points", fontsize=8, zorder=4
        )
        number_text.set_path_effects([withStroke(linewidth=2, foreground="white")])
    error = model.estimator_errors_[number]
    axes.set_title(f"Round {number + 1}: {name} wins, error {error:.2f}", fontsize=10, loc="left")
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_xlabel(f"{name} length (cm)", fontsize=8, labelpad=1)
    axes.set_ylabel(f"{name} width (cm)", fontsize=8)
    axes.tick_params(labelsize=8)


def _plot_weights(axes, weights, number, noisy, highest):
    axes.set(xlim=(0.3, 20.7), ylim=(0, highest))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_xticks(range(1, 21))
    axes.set_yticks(np.arange(0, highest, 0.05))
    if number + 1 >= len(weights):
        axes.text(0.5, 0.5, "the run has ended", transform=axes.transAxes, ha="center", color="#555555")
        return
    before, after = weights[number], weights[number + 1]
    examples = np.arange(1, len(after) + 1)
    for kind, (_, colour, hatch) in BARS.items():
        chosen = (noisy == kind).all(axis=1)
        axes.bar(examples[chosen], after[chosen], color=colour, hatch=hatch, edgecolor="white", linewidth=0)
    axes.hlines(before, examples - 0.45, examples + 0.45, colors="black", linewidth=1.4)
    axes.axvline(N_PER_SPECIES + 0.5, color="#888888", linewidth=0.8, linestyle=":")


def _add_legends(figure):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def point(label, **style):
        return Line2D([], [], linestyle="", markersize=7, label=label, **style)

    flowers = [
        *(point(f"is {name}", marker=mark, color="#777777") for name, mark in zip(SPECIES, MARKERS)),
        *(point(f"labelled {name}", marker="s", color=colour) for name, colour in zip(SPECIES, LABEL_COLOURS)),
        point("hypothesis and label differ", marker="o", markerfacecolor="white", color="black"),
    ]
    bars = [
        *(
            Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=label)
            for label, colour, hatch in BARS.values()
        ),
        Line2D([], [], color="black", linewidth=1.4, label="weight before the round"),
    ]
    # A legend fills its columns first; alternating puts the flowers into the first row and the bars into the second.
    handles = [handle for pair in zip(flowers, bars) for handle in pair]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, frameon=False, fontsize=9)


def main(arguments=None):
    """Print the study and save the figure."""
    parser = argparse.ArgumentParser(description="ShareBoost against AdaBoost on Iris flowers with wrong labels.")
    parser.add_argument("--draws", type=int, default=300, help="draws of the 20 flowers (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="PNG", help="where to save the figure")
    options = parser.parse_args(arguments)
    if options.draws < 2:
        parser.error(f"--draws must be at least 2 for a standard error; got {options.draws}.")

    print(describe(study(options.draws, options.seed)))
    number = first_long_draw(options.seed)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    plot_rounds(draw_flowers(options.seed, number)).savefig(options.output, dpi=100, pil_kwargs={"optimize": True})
    print(
        f"\nThe figure shows draw {number}, the first in which both run for {N_ROUNDS_SHOWN} rounds: {options.output}"
    )


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/iris_noisy_labels.png"
