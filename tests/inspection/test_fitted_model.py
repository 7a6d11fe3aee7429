"""Every kind of rows gives the same numbers, and other models and rows are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fuselearn
from fuselearn import LabelConsensus
from fuselearn.inspection import margin_distribution, missingness, redundancy, suspects, view_importance
from tests.inspection.example_models import COLUMNS, MODELS, VIEWS, make_rows


@pytest.mark.long
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("name", ["share", "voting", "mkl"])
def test_data_frames_give_the_same_numbers(frame, name):
    X, y = make_rows(120, seed=1)
    names = [f"column {number}" for number in range(10)]
    table = frame(dict(zip(names, X.T)))
    views = {view: [names[column] for column in columns] for view, columns in COLUMNS.items()}
    model = clone(MODELS[name]).set_params(views=views).fit(table, y)
    plain = clone(MODELS[name]).fit(X, y)
    for method in ("drop", "permutation"):
        ours, expected = (
            view_importance(fitted, rows, y, method=method, random_state=0)
            for fitted, rows in ((model, table), (plain, X))
        )
        np.testing.assert_allclose(ours.mean, expected.mean)
    np.testing.assert_allclose(redundancy(model, table).matrix, redundancy(plain, X).matrix)
    np.testing.assert_allclose(margin_distribution(model, table, y), margin_distribution(plain, X, y))
    # A frame is stored by columns and an array by rows, and BLAS adds up their products in another order: decision
    # values agree up to rounding, and whether they differ at all depends on the processor.
    expected = suspects(plain, X, y, n=5)
    assert suspects(model, table, y, n=5) == [
        record | {"probability": pytest.approx(record["probability"], rel=1e-9)} for record in expected
    ]
    assert missingness(model, table).records() == missingness(plain, X).records()
    assert list(model.feature_names_in_) == names  # the model itself keeps them
    labels = pd.Series(np.where(y == 1, "well", "ill"))
    named = clone(MODELS[name]).set_params(views=views).fit(table, labels)
    np.testing.assert_allclose(margin_distribution(named, table, labels), margin_distribution(model, table, y))
    assert {record["given"] for record in suspects(named, table, labels, n=120)} == {"ill", "well"}


def test_other_models_and_rows_are_refused(fitted, rows, labelled):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), clone(MODELS["share"])).fit(X, y)
    with pytest.raises(ValueError, match="Pipeline has no view_names_; model must be a fitted classifier of fuselearn"):
        view_importance(pipeline)
    with pytest.raises(ValueError, match="SVC has no view_names_"):
        redundancy(SVC().fit(X, y), X)
    with pytest.raises(ValueError, match="X has 9 features, but ShareBoostClassifier is expecting 10"):
        margin_distribution(fitted["share"], X[:, :9], y)
    with pytest.raises(ValueError, match=r"y must have shape \(240,\)"):
        view_importance(fitted["share"], X, y[:9], method="drop")
    with pytest.raises(ValueError, match="labels that are not among the classes: 7"):
        view_importance(fitted["share"], X, np.where(y == 1, 7, 0), method="drop")
    with pytest.raises(ValueError, match=r"y must have shape \(300, 3\)"):
        margin_distribution(labelled[2], labelled[0], labelled[1][:, 0])
    with pytest.raises(ValueError, match="holds 0 and 1 only"):
        suspects(labelled[2], labelled[0], 2 * labelled[1])
    consensus = LabelConsensus(LogisticRegression(), views=VIEWS, cv=2, random_state=0).fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="LabelConsensus has no predict_proba"):
        suspects(consensus, X, y)


def test_every_public_name_is_there():
    assert fuselearn.inspection.view_importance is view_importance
    assert all(hasattr(fuselearn.inspection, name) for name in fuselearn.inspection.__all__)
