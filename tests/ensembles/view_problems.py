"""Random problems of three views, and every kind of ensemble, for the tests of the ensembles."""

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from fuselearn import (
    ConcatenatedClassifier,
    SuperKernelClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
    add_label_noise,
)
from tests.naive import fusion as naive

FOLDS = StratifiedKFold(3, shuffle=True, random_state=1)
WIDTHS = (2, 3, 1)
VIEWS = {"a": slice(0, 2), "b": slice(2, 5), "c": [5]}


class Problem:
    """Three random views, their labels and absences."""

    def __init__(self, seed=0, n_classes=2, absent=False, own_labels=False, n=90):
        rng = np.random.default_rng(seed)
        self.K = n_classes
        self.y = np.arange(n) % n_classes
        self.blocks = [rng.normal(size=(n, p)) + 0.8 * self.y[:, None] * rng.choice([-1, 1], p) for p in WIDTHS]
        self.present = np.ones((n, 3), dtype=bool)
        if absent:
            self.present = rng.random((n, 3)) > 0.25
            self.present[np.arange(n), rng.integers(0, 3, n)] = True
            for block, here in zip(self.blocks, self.present.T):
                block[~here] = np.nan
        self.X = np.hstack(self.blocks)
        self.labels = np.repeat(self.y[:, None], 3, axis=1)
        self.view_labels = None
        if own_labels:
            self.labels = self.view_labels = add_label_noise(self.y, 3, 0.2, random_state=seed)[0]

    def fit(self, model, **options):
        return model.fit(self.X, self.y, view_labels=self.view_labels, **options)

    def agreed(self):
        rows = [[label if here else None for label, here in zip(*row)] for row in zip(self.labels, self.present)]
        return np.array([naive.majority(row, self.K) for row in rows])


problems = st.builds(
    Problem,
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 3]),
    absent=st.booleans(),
    own_labels=st.booleans(),
)


def all_kinds(views=VIEWS, **options):
    return [
        ViewVotingClassifier(SVC(), views=views, **options),
        ViewVotingClassifier(LogisticRegression(), views=views, voting="sum", **options),
        ViewStackingClassifier(SVC(), views=views, cv=3, **options),
        ViewStackingClassifier(GaussianNB(), views=views, cv=3, stack_method="decision_function", **options),
        ConcatenatedClassifier(SVC(), views=views, **options),
        SuperKernelClassifier(views=views, cv=3, **options),
    ]


by_kind = pytest.mark.parametrize("model", all_kinds(random_state=0), ids=lambda model: type(model).__name__)


def fit_svc(X, y):
    return in_plain_form(SVC().fit(X, y))


def fit_naive_bayes(X, y):
    return in_plain_form(GaussianNB().fit(X, y))


def in_plain_form(model):
    def values(X):
        if not hasattr(model, "decision_function"):
            return 2 * model.predict_proba(X) - 1
        decision = model.decision_function(X)
        return np.column_stack([-decision, decision]) if decision.ndim == 1 else decision

    return model.predict, values


def on_columns(columns, estimator):
    return make_pipeline(ColumnTransformer([("view", "passthrough", columns)]), estimator)


def as_codes(decision):
    return (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)


class NamesOnly(ClassifierMixin, BaseEstimator):
    """A classifier that gives labels and nothing else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]
