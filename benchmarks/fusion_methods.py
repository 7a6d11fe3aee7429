"""The methods that `fusion.py` compares, each on one thread and with its own defaults.

A method takes training rows, `Labels`, views and a seed, and returns a function that predicts classes. Classes are 0
and 1. Rows are standardised and reduced already (see `fusion_sets.py`), and no method standardises them again:
principal components on one scale, as an SVM would then see them, are mostly noise.
"""

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


def fusion(X, labels, views, seed):
    """FusionClassifier as it comes; it alone hears each view's own labels."""
    model = FusionClassifier(views=views, random_state=seed)
    return model.fit(X, labels.single, view_labels=labels.per_view, groups=labels.groups).predict


def machine_sum(X, labels, views, seed):
    """Late fusion: an RBF SVM per view, classes balanced; the sign of the sum of their values."""
    machines = [SVC(class_weight="balanced").fit(X[:, view], labels.single) for view in views.values()]

    def predict(rows):
        values = (machine.decision_function(rows[:, view]) for machine, view in zip(machines, views.values()))
        return (sum(values) > 0).astype(int)

    return predict


def machine_of_all(X, labels, views, seed):
    """An RBF SVM on all views side by side, classes balanced."""
    return SVC(class_weight="balanced").fit(X, labels.single).predict


def forest(X, labels, views, seed):
    """A random forest on all views side by side."""
    return RandomForestClassifier(random_state=seed).fit(X, labels.single).predict


def lightgbm(X, labels, views, seed):
    """LightGBM on all views side by side."""
    return _lightgbm(seed).fit(X, labels.single).predict


def xgboost(X, labels, views, seed):
    """XGBoost on all views side by side."""
    return XGBClassifier(n_jobs=1, random_state=seed).fit(X, labels.single).predict


def lightgbm_stacking(X, labels, views, seed):
    """LightGBM per view, stacked by a balanced logistic regression on their values out of five folds."""
    kind = StratifiedKFold if labels.groups is None else StratifiedGroupKFold
    folds = list(kind(5, shuffle=True, random_state=seed).split(X, labels.single, labels.groups))
    unseen = [
        cross_val_predict(_lightgbm(seed), X[:, view], labels.single, cv=folds, method="predict_proba")[:, 1]
        for view in views.values()
    ]
    stacked = LogisticRegression(class_weight="balanced").fit(np.column_stack(unseen), labels.single)
    models = [_lightgbm(seed).fit(X[:, view], labels.single) for view in views.values()]

    def predict(rows):
        values = [model.predict_proba(rows[:, view])[:, 1] for model, view in zip(models, views.values())]
        return stacked.predict(np.column_stack(values))

    return predict


def _lightgbm(seed):
    return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1)


def methods():
    """Name to method, FusionClassifier first; without those whose package is not installed."""
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
"""Of peers that need not be there: name to package, and the classifier or None."""


def peer_versions():
    """Name to version of those of the `PACKAGES` that are installed."""
    return {name: version(package) for name, (package, classifier) in PACKAGES.items() if classifier}


def remark_on_packages(names=tuple(PACKAGES)):
    """Which versions were used and which peers are not installed, as a list of paragraphs."""
    found = peer_versions()
    used = ", ".join(f"{name} {found[name]}" for name in names if name in found)
    absent = " and ".join(name for name in names if name not in found)
    remarks = [f"{used}."] if used else []
    return [*remarks, f"*Left out, since not installed: {absent} (`{INSTALL}`).*"] if absent else remarks
