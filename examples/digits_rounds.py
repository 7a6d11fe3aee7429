"""Accuracy against the number of rounds, with clean and with wrong labels (S1, figures 2 and 3)
=============================================================================================

Four views of the handwritten digits that ship with scikit-learn; the labels that a method is trained on are right, or
30 % of them are wrong, independently in each view. Accuracies are means over random 60/40 splits, as in S1. They are
compared with a strong learner per view: the sum of the decision values of one SVM for each view, trained on that view's
labels.

S1: Peng, Barbu, Seetharaman, Fan, Wu, Palaniappan. ShareBoost: Boosting for Multi-view Learning with Performance
Guarantees. ECML PKDD 2011.

Run it with ``python examples/digits_rounds.py --output digits_rounds.png``.

The full run takes minutes; this is its figure.

.. image:: /images/digits_rounds.png
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier, add_label_noise
from fuselearn.datasets import load_digit_views
from fuselearn.exceptions import NoEdgeWarning

# Okabe and Ito's colours, with a line style each: distinct for everyone, and in print.
STYLES = {
    "ShareBoost": ("#0072B2", "-"),
    "rShareBoost": ("#D55E00", "--"),
    "iBoost": ("#000000", ":"),
    "SVM sum": ("#009E73", "-."),
}


def methods(views, rounds, seed):
    """Return the three kinds of boosting, by the names of S1."""
    common = {"views": views, "n_estimators": rounds, "random_state": seed}
    return {
        "ShareBoost": ShareBoostClassifier(**common),
        "rShareBoost": ShareBoostClassifier(view_policy="exp3p", **common),
        "iBoost": IndependentBoostClassifier(**common),
    }


def staged_scores(model, X, y, rounds):
    """Return the test accuracy after each round; a run that ended early keeps its last."""
    scores = [np.mean(predicted == y) for predicted in model.staged_predict(X)]
    scores += [scores[-1] if scores else model.score(X, y)] * (rounds - len(scores))
    return np.array(scores)


def svm_sum_score(X, labels, X_test, y_test, views):
    """Return the test accuracy of one SVM per view, their decision values summed."""
    total = 0.0
    for columns, view_labels in zip(views.values(), labels.T):
        svm = make_pipeline(StandardScaler(), SVC()).fit(X[:, columns], view_labels)
        total = total + svm.decision_function(X_test[:, columns])
    return np.mean(svm.classes_[total.argmax(axis=1)] == y_test)


def study(noise, rounds, splits):
    """Return the accuracy of each method after each round; a dict of arrays of shape (splits, rounds)."""
    X, views, y = load_digit_views(return_tuple=True)
    scores = {name: [] for name in STYLES}
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(X)), train_size=0.6, stratify=y, random_state=seed)
        labels, _ = add_label_noise(y[train], len(views), noise, random_state=seed)
        for name, model in methods(views, rounds, seed).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoEdgeWarning)
                model.fit(X[train], y[train], view_labels=labels)
            scores[name].append(staged_scores(model, X[test], y[test], rounds))
        scores["SVM sum"].append(np.full(rounds, svm_sum_score(X[train], labels, X[test], y[test], views)))
    return {name: np.array(runs) for name, runs in scores.items()}


def draw(results, output):
    """Draw one panel per kind of labels, with bands of two standard errors."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(results), figsize=(9, 3.4), sharey=True, layout="constrained")
    for panel, (noise, scores) in zip(np.atleast_1d(panels), results.items()):
        for name, runs in scores.items():
            colour, style = STYLES[name]
            rounds = np.arange(1, runs.shape[1] + 1)
            mean = runs.mean(axis=0)
            error = 2 * runs.std(axis=0) / np.sqrt(len(runs))
            panel.plot(rounds, mean, style, color=colour, label=name)
            panel.fill_between(rounds, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
        panel.set_title("clean labels" if noise == 0 else f"{noise:.0%} of each view's labels wrong")
        panel.set_xlabel("rounds")
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(panels)[0].set_ylabel("test accuracy")
    np.atleast_1d(panels)[0].legend(frameon=False, loc="lower right")
    figure.savefig(output, dpi=130)
    plt.close(figure)


def main(arguments=None):
    """Print the accuracies, and save the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path("digits_rounds.png"))
    options = parser.parse_args(arguments)
    results = {noise: study(noise, options.rounds, options.splits) for noise in (0.0, 0.3)}
    for noise, scores in results.items():
        print(f"{noise:.0%} of each view's labels wrong, mean of {options.splits} splits ± standard error:")
        for name, runs in scores.items():
            first, last = runs[:, 0], runs[:, -1]
            error = last.std() / np.sqrt(len(last))
            print(
                f"  {name:12} after round 1: {first.mean():.3f}, best: {runs.mean(axis=0).max():.3f}, "
                f"after {runs.shape[1]}: {last.mean():.3f} ± {error:.3f}"
            )
    draw(results, options.output)
    print(f"Figure: {options.output}")
    return results


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/digits_rounds.png"
