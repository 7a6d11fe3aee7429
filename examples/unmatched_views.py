"""A classifier from two laboratories that measured different objects
==================================================================

One laboratory measured six properties of some wines, another the seven others of other wines; no wine was in both. To
classify a wine that has all thirteen, one can use either laboratory's machine, add the two machines' decisions, or
combine wines into meta-objects, where they are equally dense (tomographic, S4) or at random within their class
(cartesian). For comparison, one laboratory measured everything, of as many wines as each of the two. Which properties a
laboratory has, and which wines, is drawn at random.

A second picture shows the reason that S4 gives: the sum of two views' densities of a class has ridges along the axes,
where no object of the class is, and deconvolution removes them (S4 figure 2).

S4: Windridge, Yan. Kernel Combination via Debiased Object Correspondence Analysis. Information Fusion 27 (2016).

Run it with ``python examples/unmatched_views.py --output unmatched_views.png --bias-output axial_bias.png``.

The full run takes minutes; this is its figure.

.. image:: /images/unmatched_views.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import AugmentedKernelClassifier, TomographicClassifier, stack_unpaired
from fuselearn.papers.axial_bias import axial_bias
from fuselearn.papers.gaussian_illustration import gaussian_illustration

# Numbers of wines that a laboratory measured.
SIZES = (6, 9, 15, 24, 36, 54)

PLANE_SEED = 3

# Okabe and Ito's colours, with a line style each: distinct for everyone, and in print.
STYLES = {
    "as many whole wines": ("#000000", ":"),
    "tomographic": ("#0072B2", "-"),
    "cartesian": ("#56B4E9", (0, (5, 1))),
    "two machines, decisions added": ("#009E73", "-."),
    "augmented kernel": ("#D55E00", "--"),
    "one laboratory": ("#999999", (0, (1, 1))),
}


def accuracies(X, y, size, seed):
    """Return the test accuracy of each way, for laboratories of `size` wines each."""
    generator = np.random.RandomState(seed)
    X = X[:, generator.permutation(X.shape[1])]
    first, rest = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=generator)
    second, test = train_test_split(rest, train_size=size, stratify=y[rest], random_state=generator)
    half = X.shape[1] // 2
    sources = {"first": (X[first, :half], y[first]), "second": (X[second, half:], y[second])}
    X_train, views, y_train = stack_unpaired(sources)
    scores = {}
    for name, model in {
        "tomographic": TomographicClassifier(views=views, random_state=seed),
        "cartesian": TomographicClassifier(views=views, correspondence="cartesian", random_state=seed),
        "augmented kernel": AugmentedKernelClassifier(views=views),
    }.items():
        # The scaler leaves NaN alone, so that the views a wine lacks stay absent.
        scores[name] = make_pipeline(StandardScaler(), model).fit(X_train, y_train).score(X[test], y[test])
    singles, added = [], 0.0
    for columns, (rows, labels) in zip(views.values(), sources.values()):
        machine = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(rows, labels)
        singles.append(machine.score(X[test][:, columns], y[test]))
        added = added + machine.decision_function(X[test][:, columns])
    scores["one laboratory"] = np.mean(singles)
    scores["two machines, decisions added"] = np.mean(np.unique(y)[added.argmax(axis=1)] == y[test])
    matched = make_pipeline(StandardScaler(), TomographicClassifier(views=views)).fit(X[first], y[first])
    scores["as many whole wines"] = matched.score(X[test], y[test])
    return [scores[name] for name in STYLES]


def study(trials, sizes=SIZES):
    """Return the test accuracies, an array of shape (ways, sizes, trials)."""
    X, y = load_wine(return_X_y=True)
    return np.array([[accuracies(X, y, size, seed) for seed in range(trials)] for size in sizes]).transpose(2, 0, 1)


def draw(results, sizes, output):
    """Draw meta-objects and boundaries on the left, accuracy against the number of wines on the right."""
    import matplotlib.pyplot as plt

    figure, (plane, panel) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=(1, 1.25))
    picture = gaussian_illustration(trials=1, random_state=PLANE_SEED)
    draw_plane(plane, picture)
    for (name, (colour, style)), runs in zip(STYLES.items(), results):
        mean, error = runs.mean(axis=1), 2 * runs.std(axis=1) / np.sqrt(runs.shape[1])
        panel.plot(sizes, mean, linestyle=style, color=colour, label=name)
        panel.fill_between(sizes, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
    panel.set_xscale("log")
    panel.set_xticks(sizes, labels=[str(size) for size in sizes])
    panel.minorticks_off()
    panel.set_xlabel("wines that each laboratory measured")
    panel.set_ylabel("test accuracy on whole wines")
    panel.set_title("two laboratories, no wine in both", fontsize=10)
    panel.grid(alpha=0.3)
    panel.legend(frameon=False, loc="lower right", fontsize=8)
    for axes in (plane, panel):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(output, dpi=130)
    plt.close(figure)


def draw_plane(axes, picture):
    """Draw vectors, the meta-objects that were made of their ordinates, and boundaries (S4 figures 3 to 5)."""
    from matplotlib.lines import Line2D

    colours = np.array(["#CC79A7", "#E69F00"])
    meta_objects, meta_labels = picture.meta_objects["tomographic"], picture.meta_labels["tomographic"]
    axes.scatter(*meta_objects.T, s=12, color=colours[meta_labels], alpha=0.35, linewidths=0)
    axes.scatter(*picture.points.T, s=26, color=colours[picture.labels], edgecolors="black", linewidths=0.8)
    lines = {"true matches": STYLES["as many whole wines"]}
    lines |= {"tomographic": STYLES["tomographic"], "augmented": STYLES["augmented kernel"]}
    for name, (colour, style) in lines.items():
        axes.contour(*picture.axes, picture.decisions[name], levels=[0], colors=colour, linestyles=[style])
    handles = [Line2D([], [], color=colour, linestyle=style, label=name) for name, (colour, style) in lines.items()]
    handles += [
        Line2D([], [], marker="o", markeredgecolor="black", color="white", markerfacecolor="#999999", label="objects"),
        Line2D([], [], marker="o", markersize=4, color="white", markerfacecolor="#BBBBBB", label="meta-objects"),
    ]
    axes.legend(handles=handles, framealpha=0.8, edgecolor="none", fontsize=8, loc="lower left")
    axes.set_xlabel("first view")
    axes.set_ylabel("second view")
    axes.set_title("two views of 20 objects, matches forgotten", fontsize=10)


def draw_bias(result, output):
    """Draw S4's figures 1 and 2: the views' densities of a class, their sum, and the deconvolved sum."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
    for marginal, name, style in zip(result.marginals, ("x", "y"), ("-", "--")):
        panels[0].plot(result.axis, marginal, style, color="#0072B2" if name == "x" else "#D55E00", label=name)
    panels[0].legend(frameon=False)
    panels[0].set_title("density of the class by each view", fontsize=10)
    panels[0].spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks([])
    outside = result.outside[0]
    for panel, density, name, share in zip(
        panels[1:], (result.added, result.deconvolved), ("added", "deconvolved"), outside
    ):
        panel.pcolormesh(result.axis, result.axis, density.T, cmap="cividis", rasterized=True)
        panel.contour(
            result.axis, result.axis, result.inside.T.astype(float), levels=[0.5], colors="white", linewidths=1
        )
        panel.scatter(*result.points.T, s=2, color="white", alpha=0.5, linewidths=0)
        panel.set_title(f"{name}: {share:.0%} lies outside the class", fontsize=10)
        panel.set_aspect("equal")
    figure.savefig(output, dpi=130)
    plt.close(figure)


def main(arguments=None):
    """Print the accuracies, and save both figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--output", type=Path, default=Path("unmatched_views.png"))
    parser.add_argument("--bias-output", type=Path, default=Path("axial_bias.png"))
    options = parser.parse_args(arguments)
    if options.trials < 2:
        parser.error(f"--trials must be at least 2; got {options.trials}.")
    results = study(options.trials)
    print(f"Test accuracy on whole wines, mean of {options.trials} trials, for each number of wines in a laboratory:")
    print(f"  {'':30}" + "".join(f"{size:7d}" for size in SIZES))
    for name, runs in zip(STYLES, results):
        print(f"  {name:30}" + "".join(f"{mean:7.3f}" for mean in runs.mean(axis=1)))
    draw(results, SIZES, options.output)
    bias = axial_bias(trials=1)
    draw_bias(bias, options.bias_output)
    print(f"Figures: {options.output}, {options.bias_output}")
    return results, bias


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/unmatched_views.png"
