"""The methods that `fusion.py` compares, each on one thread and with its own defaults.

A method takes training rows, `Labels`, views and a seed, and returns a `Fitted`. Classes are 0 and 1. Rows are
standardised and reduced already (see `fusion_sets.py`), and no method standardises them again: principal components on
one scale, as an SVM would then see them, are mostly noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.svm import SVC

from fuselearn import FusionClassifier

try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None
try:
    from xgboost import XGBClassifier
except ImportError:
    XGBClassifier = None

OURS, STACKING = "FusionClassifier", "LightGBM stacking"
INSTALL = "pip install lightgbm xgboost"


@dataclass(frozen=True)
class Fitted:
    """What a fitted method predicts.

    Attributes
    ----------
    balanced : callable
        Takes rows and returns classes that all count alike: for balanced accuracy.
    plain : callable
        Takes rows and returns the most probable classes, as the method's package predicts them: for accuracy.
    proba : callable or None
        Takes rows and returns probabilities; None where the method has none.
    """

    balanced: Callable
    plain: Callable
    proba: Callable | None = None


def fusion(X, labels, views, seed):
    """Fit FusionClassifier with its defaults; it alone gets each view's own labels.

    One fit serves both decisions, since `class_weight` does not change its probabilities.
    """
    model = FusionClassifier(views=views, class_weight="balanced", random_state=seed)
    model.fit(X, labels.single, view_labels=labels.per_view, groups=labels.groups)

    def most_probable(rows):
        return model.classes_[model.predict_proba(rows).argmax(axis=1)]

    return Fitted(model.predict, most_probable, model.predict_proba)


def machine_sum(X, labels, views, seed):
    """Fit an RBF SVM per view, and predict the sign of the sum of their values (late fusion)."""
    balanced = _machines(X, labels.single, views, "balanced")
    return Fitted(balanced, lambda rows: _machines(X, labels.single, views, None)(rows))


def _machines(X, y, views, class_weight):
    machines = [SVC(class_weight=class_weight).fit(X[:, view], y) for view in views.values()]

    def predict(rows):
        values = (machine.decision_function(rows[:, view]) for machine, view in zip(machines, views.values()))
        return (sum(values) > 0).astype(int)

    return predict


def machine_of_all(X, labels, views, seed):
    """Fit an RBF SVM on all views side by side."""
    balanced = SVC(class_weight="balanced").fit(X, labels.single)
    return Fitted(balanced.predict, lambda rows: SVC().fit(X, labels.single).predict(rows))


def forest(X, labels, views, seed):
    """Fit a random forest on all views side by side."""
    return _of_classifier(RandomForestClassifier(random_state=seed).fit(X, labels.single))


def lightgbm(X, labels, views, seed):
    """Fit LightGBM on all views side by side."""
    return _of_classifier(_lightgbm(seed).fit(X, labels.single))


def xgboost(X, labels, views, seed):
    """Fit XGBoost on all views side by side."""
    return _of_classifier(XGBClassifier(n_jobs=1, random_state=seed).fit(X, labels.single))


def _of_classifier(model):
    return Fitted(model.predict, model.predict, model.predict_proba)


def lightgbm_stacking(X, labels, views, seed):
    """Fit LightGBM per view, stacked by a logistic regression on their out-of-fold values (five folds)."""
    splitter = StratifiedKFold if labels.groups is None else StratifiedGroupKFold
    folds = list(splitter(5, shuffle=True, random_state=seed).split(X, labels.single, labels.groups))
    out_of_fold = [
        cross_val_predict(_lightgbm(seed), X[:, view], labels.single, cv=folds, method="predict_proba")[:, 1]
        for view in views.values()
    ]
    values = np.column_stack(out_of_fold)
    balanced = LogisticRegression(class_weight="balanced").fit(values, labels.single)
    plain = LogisticRegression().fit(values, labels.single)
    models = [_lightgbm(seed).fit(X[:, view], labels.single) for view in views.values()]

    def of_views(rows):
        return np.column_stack(
            [model.predict_proba(rows[:, view])[:, 1] for model, view in zip(models, views.values())]
        )

    return Fitted(
        lambda rows: balanced.predict(of_views(rows)),
        lambda rows: plain.predict(of_views(rows)),
        lambda rows: plain.predict_proba(of_views(rows)),
    )


def _lightgbm(seed):
    return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1)


def methods():
    """Return the methods by name, FusionClassifier first, without those whose package is not installed."""
    return {
        OURS: fusion,
        "SVM late fusion": machine_sum,
        "SVM, all views": machine_of_all,
        "random forest": forest,
        **({"LightGBM": lightgbm} if LGBMClassifier else {}),
        **({"XGBoost": xgboost} if XGBClassifier else {}),
        **({STACKING: lightgbm_stacking} if LGBMClassifier else {}),
    }


PACKAGES = {"LightGBM": ("lightgbm", LGBMClassifier), "XGBoost": ("xgboost", XGBClassifier)}
"""Peers that need not be installed: name to package, and the classifier or None."""


def peer_versions():
    """Return the versions of those of the `PACKAGES` that are installed, by name."""
    return {name: version(package) for name, (package, classifier) in PACKAGES.items() if classifier}


def remark_on_packages(names=tuple(PACKAGES)):
    """Return the versions that were used and the peers that are not installed, as a list of paragraphs."""
    versions = peer_versions()
    used = ", ".join(f"{name} {versions[name]}" for name in names if name in versions)
    absent = " and ".join(name for name in names if name not in versions)
    remarks = [f"{used}."] if used else []
    return [*remarks, f"*Left out, since not installed: {absent} (`{INSTALL}`).*"] if absent else remarks
