"""Estimators that fit rows in memory only say so of a Dask collection or a file."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import (
    ConcatenatedClassifier,
    FusionClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    RSBagClassifier,
    ShareBoostClassifier,
    ShareGradientBoostingClassifier,
    TomographicClassifier,
    ViewVotingClassifier,
    compare,
)

X, y = np.arange(40.0).reshape(20, 2), np.arange(20) // 10
IN_MEMORY = [
    MKLClassifier(),
    TomographicClassifier(views=[[0], [1]]),
    ViewVotingClassifier(LogisticRegression()),
    ConcatenatedClassifier(LogisticRegression()),
    LabelConsensus(),
    MSSBoostClassifier(),
    RSBagClassifier(),
]


@pytest.mark.parametrize("model", IN_MEMORY, ids=lambda model: type(model).__name__)
def test_they_say_where_rows_may_be(model):
    array = pytest.importorskip("dask.array").from_array(X, chunks=(10, 2))
    words = f"{type(model).__name__} takes rows in memory, but X is a Dask collection. Read them, e.g. with X.compute"
    with pytest.raises(TypeError, match=words):
        model.fit(array, y)
    with pytest.raises(TypeError, match="takes rows in memory, but X is files"):
        model.fit("rows.parquet", y)
    model.fit(X, np.column_stack([y, 1 - y]) if isinstance(model, MSSBoostClassifier | RSBagClassifier) else y)
    if hasattr(model, "predict"):
        with pytest.raises(TypeError, match="takes rows in memory, but X is a Dask collection"):
            model.predict(array)


def test_compare_says_so_too():
    array = pytest.importorskip("dask.array").from_array(X, chunks=(10, 2))
    with pytest.raises(TypeError, match="compare takes rows in memory, but X is a Dask collection"):
        compare(array, y)


@pytest.mark.parametrize(
    "model",
    [
        FusionClassifier(max_fits=2),
        ShareBoostClassifier(n_estimators=1),
        ShareGradientBoostingClassifier(n_estimators=1),
        MSSBoostClassifier(),
        LabelConsensus(),
        ViewVotingClassifier(LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("seed", ["x", -1, 0.5, np.random.default_rng(0)])
def test_a_random_state_that_is_none_is_named(model, seed):
    with pytest.raises(ValueError, match="random_state must be a whole number from 0 to 4294967295, a "):
        type(model)(**{**model.get_params(deep=False), "random_state": seed}).fit(X, y)
