"""Three labels that share their boundaries: what sharing base models saves (S2, figures 1, 3 and 4)
=================================================================================================

Points of a rectangle with three overlapping labels, and stumps as base models. Where a stump may serve all labels
(MSSBoost), about five do what takes twelve where each serves one (NSBoost); taking them as they come (RSBag) is worse.

S2: Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007.

Run it with ``python examples/overlapping_labels.py --output overlapping_labels.png``.

The full run takes minutes; this is its figure.

.. image:: /images/overlapping_labels.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from fuselearn import MSSBoostClassifier, NSBoostClassifier
from fuselearn.datasets import make_overlapping_labels
from fuselearn.papers.model_shared_boosting import synthetic_curves, synthetic_table

# Okabe and Ito's colours, with a line style each: distinct for everyone, and in print.
LABEL_COLOURS = ("#0072B2", "#D55E00", "#009E73")
STYLES = {"MSSBoost": ("#0072B2", "-"), "NSBoost": ("#D55E00", "--"), "RSBag": ("#000000", ":")}
N_SHOWN = 8
"""Stumps of the middle panels, as in S2's figure 3."""


def fit_both(seed):
    """Return MSSBoost and NSBoost with eight stumps, and the test points (S2 figure 3)."""
    X, Y = make_overlapping_labels(random_state=0)
    X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=0.75, random_state=seed)
    settings = {"n_estimators": N_SHOWN, "data_ratio": 0.1, "feature_ratio": 0.5, "random_state": seed}
    models = {
        name: ensemble(DecisionTreeClassifier(max_depth=1), **settings).fit(X_train, Y_train)
        for name, ensemble in (("MSSBoost", MSSBoostClassifier), ("NSBoost", NSBoostClassifier))
    }
    return models, X_test, Y_test


def boundary(model, number):
    """Return the axis and threshold of a stump; None where its sample needed no cut."""
    tree = model.estimators_[number].tree_
    if tree.node_count == 1:
        return None
    return int(model.estimators_features_[number][tree.feature[0]]), float(tree.threshold[0])


def draw_points(axes, X, Y):
    """Draw the test points by their labels (S2 figure 1)."""
    none = ~Y.any(axis=1)
    axes.plot(*X[none].T, ".", color="0.8", markersize=3, label="none")
    for label, marker in zip(range(Y.shape[1]), "osx"):
        has = Y[:, label] == 1
        colour = LABEL_COLOURS[label]
        face = "none" if marker != "x" else colour
        size = 4 + 2.5 * label
        axes.plot(
            *X[has].T,
            marker,
            color=colour,
            markerfacecolor=face,
            markersize=size,
            linewidth=0,
            label=f"label {label + 1}",
        )


def draw_decisions(axes, model, X):
    """Draw the first stumps, numbered, and where each label's decision value is above 0 (S2 figure 3)."""
    low, high = X.min(axis=0), X.max(axis=0)
    grid = np.meshgrid(*(np.linspace(a, b, 200) for a, b in zip(low, high)))
    decision = model.decision_function(np.column_stack([ordinates.ravel() for ordinates in grid]))
    for number in range(len(model.estimators_)):
        cut = boundary(model, number)
        if cut is None:
            continue
        axis, threshold = cut
        line = axes.axvline if axis == 0 else axes.axhline
        line(threshold, color="0.75", linewidth=0.8)
        place = (threshold, high[1]) if axis == 0 else (high[0], threshold)
        axes.annotate(str(number + 1), place, fontsize=7, color="0.4", ha="left", va="bottom")
    for label, colour in enumerate(LABEL_COLOURS):
        values = decision[:, label].reshape(grid[0].shape)
        if values.min() < 0 < values.max():
            axes.contour(*grid, values, levels=[0], colors=[colour], linewidths=2)


def draw(models, X, Y, curves, output):
    """Draw four panels: the points, the decisions with and without sharing, and the error curves."""
    import matplotlib.pyplot as plt

    figure, (first, *decisions, last) = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
    draw_points(first, X, Y)
    first.set_title("test points")
    first.legend(frameon=False, fontsize=7, loc="upper left", ncols=2)
    for axes, (name, model) in zip(decisions, models.items()):
        draw_decisions(axes, model, X)
        error = np.mean(model.predict(X) != Y)
        axes.set_title(f"{name}, {len(model.estimators_)} stumps: error {error:.2f}")
    for axes in (first, *decisions):
        axes.set_xlim(-0.05, 2.15)
        axes.set_ylim(-0.05, 3.25 if axes is not first else 3.7)
    for name, (colour, style) in STYLES.items():
        errors = curves[name]
        number = np.arange(1, errors.shape[1] + 1)
        mean, spread = errors.mean(axis=0), 2 * errors.std(axis=0) / np.sqrt(len(errors))
        last.plot(number, mean, style, color=colour, label=name)
        last.fill_between(number, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    last.set_title(f"test error, {len(curves['MSSBoost'])} splits")
    last.set_xlabel("stumps")
    last.set_ylim(bottom=0)
    last.grid(alpha=0.3)
    last.legend(frameon=False)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)
    plt.close(figure)


def main(arguments=None):
    """Print the errors, and save the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stumps", type=int, default=20)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("overlapping_labels.png"))
    options = parser.parse_args(arguments)
    curves = synthetic_curves(runs=options.splits, n_models=options.stumps)
    print(synthetic_table(curves))
    models, X_test, Y_test = fit_both(seed=0)
    draw(models, X_test, Y_test, curves, options.output)
    print(f"Figure: {options.output}")
    return curves


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/overlapping_labels.png"
