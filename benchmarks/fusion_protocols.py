"""FusionClassifier by protocols of other people, beside the figures that they published; a part of `fusion.py`."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.command_line import progress
from benchmarks.data import real_views
from benchmarks.fusion_methods import OURS, LGBMClassifier, remark_on_packages
from benchmarks.tables import markdown_table, quick_note, section
from fuselearn import FusionClassifier

STACKING_PACKAGE = "multiviewstacking"
INSTALL = f"pip install {STACKING_PACKAGE}"
SEED_OF_HTAD = 200
"""Seed of the split that `multiviewstacking.load_example_data` makes."""


def classifiers(views, seed, *, balanced):
    """Return the classifiers to compare, by name."""
    weights = "balanced" if balanced else None
    return {
        OURS: FusionClassifier(views=views, class_weight=weights, random_state=seed),
        "random forest": RandomForestClassifier(class_weight=weights, random_state=seed),
        **(
            {"LightGBM": LGBMClassifier(class_weight=weights, n_jobs=1, random_state=seed, verbose=-1)}
            if LGBMClassifier
            else {}
        ),
    }


def balanced_error(y, predicted):
    """Return the mean over classes of the share of wrong answers."""
    return 1 - balanced_accuracy_score(y, predicted)


def diablo_test(n_seeds):
    """Return balanced errors on the 70 test rows of breast_tcga, which lack the protein view, by method and seed."""
    X, y, views, extra = real_views("breast_tcga")
    n_test = len(extra["test_labels"])
    X_test = np.full((n_test, X.shape[1]), np.nan, dtype=X.dtype)
    for name in ("mrna", "mirna"):
        X_test[:, views[name]] = extra[f"test_{name}"]
    y_test = np.unique(extra["test_labels"], return_inverse=True)[1]
    errors = {}
    for seed in range(n_seeds):
        for name, model in classifiers(views, seed, balanced=True).items():
            predicted = model.fit(X, y).predict(X_test)
            errors.setdefault(name, []).append(balanced_error(y_test, predicted))
    return errors


def diablo_folds(n_repeats):
    """Return balanced errors of ten-fold cross-validation on the 150 training rows of breast_tcga, by repeat."""
    X, y, views, _ = real_views("breast_tcga")
    errors = {}
    for seed in range(n_repeats):
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        for name, model in classifiers(views, seed, balanced=True).items():
            progress(f"fusion: breast_tcga in ten folds, repeat {seed + 1}, {name}")
            errors.setdefault(name, []).append(balanced_error(y, cross_val_predict(model, X, y, cv=folds)))
    return errors


def htad():
    """Return the training and test rows of HTAD and its views, from the package multiviewstacking; None without it."""
    found = find_spec(STACKING_PACKAGE)
    if found is None:
        return None
    path = Path(found.origin).parent / "data" / "htad.csv"
    with path.open(encoding="latin-1") as file:
        names = file.readline().strip().split(",")
        lines = [line.strip().split(",") for line in file]
    y = np.unique([line[0] for line in lines], return_inverse=True)[1]
    X = np.array([line[1:] for line in lines], dtype=float)
    n_audio = sum(name.startswith("v1_") for name in names)
    views = {"audio": slice(0, n_audio), "accelerometer": slice(n_audio, X.shape[1])}
    X, X_test, y, y_test = train_test_split(X, y, train_size=0.5, stratify=y, random_state=SEED_OF_HTAD)
    return X, y, X_test, y_test, views


def htad_accuracies(n_seeds):
    """Return accuracies on the test half of HTAD, by method and seed; None without the package."""
    rows = htad()
    if rows is None:
        return None
    X, y, X_test, y_test, views = rows
    accuracies = {}
    for seed in range(n_seeds):
        models = classifiers(views, seed, balanced=False) | _stacks_of_the_package(views, seed)
        for name, model in models.items():
            accuracies.setdefault(name, []).append(float(np.mean(model.fit(X, y).predict(X_test) == y_test)))
    return accuracies


def _stacks_of_the_package(views, seed):
    """Return multiviewstacking as its two tutorials have it; nothing where it does not import."""
    try:
        from multiviewstacking import MultiViewStacking
    except ImportError:
        return {}

    def forest():
        return RandomForestClassifier(n_estimators=50, random_state=123 + seed)

    columns = [list(range(view.start, view.stop)) for view in views.values()]
    return {
        "multiviewstacking, forests": MultiViewStacking(columns, [forest(), forest()], forest()),
        "multiviewstacking, neighbours and naive Bayes": MultiViewStacking(
            columns, [KNeighborsClassifier(3), GaussianNB()], forest(), k=10, random_state=100 + seed
        ),
    }


def cells_scores(n_seeds):
    """Return accuracy and AUC on the authors' test half of cells, by method and seed."""
    X, y, views, extra = real_views("cells")
    train = extra["split"] == "Train"
    scores = {}
    for seed in range(n_seeds):
        for name, model in classifiers(views, seed, balanced=False).items():
            model.fit(X[train], y[train])
            accuracy = float(np.mean(model.predict(X[~train]) == y[~train]))
            scores.setdefault(name, []).append(
                (accuracy, roc_auc_score(y[~train], model.predict_proba(X[~train])[:, 1]))
            )
    return scores


def _in_words(values):
    """Return mean and range of the seeds."""
    values = np.asarray(values)
    if values.min() == values.max():
        return f"{values.mean():.3f}"
    return f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"


def report(options):
    """Return the section of the report, as Markdown."""
    n_seeds = 1 if options.quick else 5
    rows, left_out = [], []
    parts = (
        ("breast_tcga, 70 test rows without protein, balanced error", "DIABLO 0.068", lambda: diablo_test(n_seeds)),
        ("breast_tcga, ten folds, balanced error", "DIABLO 0.052", lambda: diablo_folds(n_seeds)),
    )
    for name, published, work in parts[:1] if options.quick else parts:
        progress(f"fusion: {name}")
        try:
            rows += [(name, published, method, _in_words(values)) for method, values in work().items()]
        except FileNotFoundError:
            left_out.append("breast_tcga")
    progress("fusion: HTAD")
    accuracies = htad_accuracies(n_seeds)
    for method, values in (accuracies or {}).items():
        rows.append(("HTAD, accuracy", "multiviewstacking 0.935", method, _in_words(values)))
    progress("fusion: cells")
    try:
        for method, values in cells_scores(n_seeds).items():
            for column, measure in enumerate(("accuracy", "AUC")):
                rows.append((f"cells, {measure}", "", method, _in_words([value[column] for value in values])))
    except FileNotFoundError:
        left_out.append("cells")
    return section(
        "FusionClassifier by public protocols",
        "Each with the training and test rows of those who published the figure: the 70 test rows of mixOmics, and "
        "stratified ten-fold cross-validation of its 150 training rows; the split of multiviewstacking's example data "
        "(a half to train on, its seed); the training and test cells that the authors of cells name, for which no "
        "figure of this split was found. Where the measure is the balanced error, classes have balanced weights. "
        f"Mean and range of {n_seeds} seeds.",
        *([f"*Left out, since they were not found: {', '.join(sorted(set(left_out)))}.*"] if left_out else []),
        *([f"*Left out: HTAD, which comes with {STACKING_PACKAGE} (`{INSTALL}`).*"] if accuracies is None else []),
        *remark_on_packages(["LightGBM"]),
        *([markdown_table(("protocol", "published", "method", "measured"), rows)] if rows else []),
        *quick_note(options),
    )
