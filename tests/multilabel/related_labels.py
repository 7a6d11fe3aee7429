"""Labels that share their causes, and the ensembles that are tested on them."""

import numpy as np
import pytest

from fuselearn import MSSBoostClassifier, NSBoostClassifier, RSBagClassifier

ENSEMBLES = [MSSBoostClassifier, NSBoostClassifier, RSBagClassifier]
every_ensemble = pytest.mark.parametrize("kind", ENSEMBLES)


def related_labels(n_rows=300, n_columns=20, n_labels=5, seed=0):
    """Labels that share their causes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    causes = X @ rng.normal(size=(n_columns, 3))
    scores = causes @ rng.normal(size=(3, n_labels)) + rng.normal(size=(n_rows, n_labels))
    return X, (scores > np.quantile(scores, 0.7, axis=0)).astype(int)


X, Y = related_labels()
SMALL = {"n_estimators": 12, "feature_ratio": 0.3, "random_state": 0}
