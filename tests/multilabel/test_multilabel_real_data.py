"""What S2 claims of sharing, on real sets."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

from fuselearn import MSSBoostClassifier, NSBoostClassifier, RSBagClassifier


@pytest.mark.parametrize("n_splits", [3, pytest.param(5, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["yeast", "scene"])
def test_sharing_helps_when_models_are_few(real_data, name, n_splits):
    """35 models and S2's pool of 39 candidates: mean AP of MSSBoost is above NSBoost's and RSBag's (S2 figure 5)."""
    data = real_data(name)
    X, Y = data["X"].astype(float), data["Y"].astype(int)
    settings = {"n_estimators": 35, "data_ratio": 0.1, "pool_size": 39}
    scores = []
    for seed in range(n_splits):
        X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=0.75, random_state=seed)
        models = (
            kind(random_state=seed, **settings) for kind in (MSSBoostClassifier, NSBoostClassifier, RSBagClassifier)
        )
        scores.append(
            [average_precision_score(Y_test, model.fit(X_train, Y_train).decision_function(X_test)) for model in models]
        )
    shared, alone, bagged = np.mean(scores, axis=0)
    assert shared > alone
    assert shared > bagged


def test_loss_bounds_the_errors_of_scene(real_data):
    data = real_data("scene")
    X, Y = data["X"].astype(float), data["Y"].astype(int)
    X, Y = X[::2], Y[::2]
    model = MSSBoostClassifier(n_estimators=25, random_state=0).fit(X, Y)
    assert (np.diff(model.loss_curve_) <= 1e-9).all()
    for stage, loss in zip(model.staged_predict(X), model.loss_curve_[1:], strict=True):
        assert np.count_nonzero(stage != Y) <= loss / np.log(2)
