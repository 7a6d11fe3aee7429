"""The machine that S0, S1 and S3 tune is scikit-learn's grid search over scikit-learn's machines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from fuselearn.papers.tuned_machine import TunedMachine
from fuselearn.registry import tuned_svm

X, y = load_breast_cancer(return_X_y=True)
ROWS = np.random.default_rng(0).permutation(len(y))[:60]


@pytest.mark.parametrize("columns", [slice(0, 10), slice(10, 20)])
def test_grid_search(columns):
    """The same highest accuracy, and the machine of that σ and C."""
    rows, labels = X[ROWS, columns], y[ROWS]
    ours = TunedMachine(points=5).fit(rows, labels)
    theirs = tuned_svm(points=5).fit(rows, labels)
    scores = theirs.cv_results_["mean_test_score"]
    same = [
        score
        for score, chosen in zip(scores, theirs.cv_results_["params"])
        if np.isclose(chosen["svc__C"], ours.C_) and np.isclose(chosen["svc__gamma"], ours.sigma_**-2)
    ]
    assert len(same) == 1
    assert same[0] >= scores.max() - 1.01 / 60  # the scaler of each fold differs a little from that of all rows


def test_machine_of_the_pair():
    raw = TunedMachine(standardise=False, points=3, folds=4).fit(X[ROWS], y[ROWS])
    expected = SVC(C=raw.C_, gamma=raw.sigma_**-2).fit(X[ROWS], y[ROWS])
    assert_allclose(raw.decision_function(X), expected.decision_function(X), atol=5e-3)
    assert (raw.predict(X[:50]) == (raw.decision_function(X[:50]) > 0)).all()


def test_settings():
    with pytest.raises(ValueError, match="points must be"):
        TunedMachine(points=0).fit(X, y)
    with pytest.raises(ValueError, match="y must hold two classes; it has 1"):
        TunedMachine().fit(X, np.ones(len(y)))
