"""What a fused model has learnt: which views it uses, and which it needs
======================================================================

Four views of the digits that ship with scikit-learn, and a fifth of pure noise. A bandit chooses one view in each round
of boosting (rShareBoost, S1). The first figure shows which view was drawn when, and with which probability. The second
shows how important a view is: its share of the vote, and the accuracy that is lost on digits held out when it is absent
or shuffled. These are not the same. Noise can be learnt by heart, so it has a good share of the vote; that nothing is
lost without it shows on digits held out only. And of views that are much alike, none is missed much.

S1: Peng, Barbu, Seetharaman, Fan, Wu, Palaniappan. ShareBoost: Boosting for Multi-view Learning with Performance
Guarantees. ECML PKDD 2011.

Run it with ``python examples/inspect_views.py --folder figures``.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from fuselearn import ShareBoostClassifier
from fuselearn.datasets import load_digit_views
from fuselearn.inspection import ViewImportanceDisplay, ViewSelectionDisplay, redundancy, view_importance

METHODS = ("permutation", "drop", "share")


def load_views(seed):
    """Return the digits in four views, and a fifth of noise with as many columns as the edges."""
    X, views, y = load_digit_views(return_tuple=True)
    noise = np.random.default_rng(seed).normal(size=(len(X), 32))
    return np.hstack([X, noise]), {**views, "noise": slice(X.shape[1], X.shape[1] + 32)}, y


def main(arguments=None):
    """Print the importance of each view, and save both figures."""
    parser = argparse.ArgumentParser(description="What a fused model has learnt of the digits.")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None, help="for the figures (default: a new temporary one)")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="inspect_views_")) if options.folder is None else options.folder
    folder.mkdir(parents=True, exist_ok=True)

    X, views, y = load_views(options.seed)
    X, X_test, y, y_test = train_test_split(X, y, train_size=0.6, stratify=y, random_state=options.seed)
    model = ShareBoostClassifier(
        views=views, view_policy="exp3p", n_estimators=options.rounds, random_state=options.seed
    ).fit(X, y)

    importances = {
        method: view_importance(model, X_test, y_test, method=method, random_state=options.seed) for method in METHODS
    }
    print(f"Accuracy on digits held out: {importances['drop'].baseline:.3f}")
    print(f"{'view':12}{'rounds':>8}{'share':>8}{'absent':>8}{'shuffled':>10}")
    rounds = np.bincount(model.winning_views_, minlength=len(views))
    for number, name in enumerate(model.view_names_):
        share, absent, shuffled = (importances[method].mean[number] for method in ("share", "drop", "permutation"))
        print(f"{name:12}{rounds[number]:8d}{share:8.3f}{absent:8.3f}{shuffled:10.3f}")
    alike = redundancy(model, X_test).records()[0]
    print(f"Most alike are {alike['first']} and {alike['second']}: {alike['redundancy']:.2f}, where 1 is the same.")

    files = {
        folder / "view_selection.png": ViewSelectionDisplay.from_estimator(model),
        folder / "view_importance.png": ViewImportanceDisplay.from_results(*importances.values()),
    }
    for file, display in files.items():
        display.figure_.savefig(file)
    print("Figures: " + ", ".join(map(str, files)))
    return model, importances, alike


if __name__ == "__main__":
    main()
