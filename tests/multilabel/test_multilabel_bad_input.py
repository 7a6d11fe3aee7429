"""Settings and labels of the ensembles that are refused, in words that name them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import MultiLabelBinarizer

from fuselearn import MSSBoostClassifier
from tests.multilabel.related_labels import SMALL, X, Y, every_ensemble


@pytest.mark.parametrize("n_models", [0, 13, 2.5, "all"])
def test_pruning_to_what_is_not_there(n_models):
    with pytest.raises(ValueError, match="n_models must be"):
        MSSBoostClassifier(**SMALL).fit(X, Y).prune(n_models)


def test_labels_as_sets():
    sets = [{name for name, has in zip("abcde", row) if has} for row in Y]
    with pytest.raises(ValueError, match=r"list of label sets.*MultiLabelBinarizer"):
        MSSBoostClassifier(**SMALL).fit(X, sets)
    with pytest.raises(ValueError, match=r"list of label sets.*MultiLabelBinarizer"):
        MSSBoostClassifier(**SMALL).fit(X, [sorted(labels) for labels in sets])
    for sparse_output in (False, True):
        indicator = MultiLabelBinarizer(sparse_output=sparse_output).fit_transform(sets)
        model = MSSBoostClassifier(**SMALL).fit(X, indicator)
        assert_array_equal(model.label_weights_, MSSBoostClassifier(**SMALL).fit(X, Y).label_weights_)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = MSSBoostClassifier(**SMALL).fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="y must be an indicator"):
        model.fit(X[:, :5], Y + 1)
    assert_array_equal(model.decision_function(X), before)


NO_POSITIVES = np.c_[Y, np.zeros(300, dtype=int)]
NO_NEGATIVES = np.c_[np.ones(300, dtype=int), Y]


@every_ensemble
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be an integer of at least 1; got 0"),
        ({"n_estimators": -1}, ValueError, "n_estimators must be an integer of at least 1; got -1"),
        ({"n_estimators": 2.5}, ValueError, "n_estimators must be an integer of at least 1; got 2.5"),
        ({"data_ratio": 0}, ValueError, r"data_ratio must be in \(0, 1\], or 'auto'; got 0"),
        ({"data_ratio": 1.2}, ValueError, r"data_ratio must be in \(0, 1\], or 'auto'; got 1.2"),
        ({"data_ratio": "half"}, ValueError, r"data_ratio must be in \(0, 1\], or 'auto'; got 'half'"),
        ({"feature_ratio": -0.1}, ValueError, r"feature_ratio must be in \(0, 1\], or 'auto'; got -0.1"),
        ({"feature_ratio": np.nan}, ValueError, r"feature_ratio must be in \(0, 1\], or 'auto'; got nan"),
        ({"feature_ratio": True}, ValueError, r"feature_ratio must be in \(0, 1\], or 'auto'; got True"),
        ({"pool_size": 0}, ValueError, "pool_size must be an integer of at least 1; got 0"),
        ({"significance": 0}, ValueError, r"significance must be in \(0, 1\], where 1 is no test; got 0"),
        ({"significance": "2.5 %"}, ValueError, r"significance must be in \(0, 1\].*; got '2.5 %'"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None, a number of threads"),
        ({"verbose": -1}, ValueError, "verbose must be an integer of at least 0; got -1"),
        ({"views": {"a": [99]}}, ValueError, "View 'a' asks for column 99, but X has n_features=20"),
        (
            {"estimator": NearestCentroid},
            TypeError,
            r"estimator must be an instance, not a class; pass NearestCentroid\(\)",
        ),
        ({"estimator": LinearRegression()}, TypeError, "estimator must be a classifier; got LinearRegression"),
        ({"estimator": "svm"}, TypeError, "estimator must be a scikit-learn classifier"),
    ],
)
def test_settings_that_mean_nothing(kind, settings, error, message):
    with pytest.raises(error, match=message):
        kind(**settings).fit(X, Y)


@every_ensemble
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Y + 1, "y must be an indicator matrix that holds 0 and 1 only; got .*2.* in row 0, column"),
        (2 * Y - 1, "y must be an indicator matrix that holds 0 and 1 only; got .*-1"),
        (Y * 0.5, "y must be an indicator matrix that holds 0 and 1 only; got .*0.5"),
        (np.where(Y, "a", "b"), "y must be an indicator matrix that holds 0 and 1 only; got .*'[ab]'"),
        (NO_POSITIVES, r"1 of 6 have no positive row: 'label5' \(column 5\)"),
        (NO_NEGATIVES, r"1 of 6 have no negative row: 'label0' \(column 0\)"),
        (pd.DataFrame(NO_POSITIVES, columns=list("abcdef")), r"have no positive row: 'f' \(column 5\)"),
        (np.zeros((300, 0)), r"y must have at least one label; got shape \(300, 0\)"),
        (Y[:-1], "inconsistent numbers of samples"),
        (np.arange(300) % 3, "Only binary classification is supported. The type of the target is multiclass"),
        (np.zeros(300), "y must hold at least two classes; it has one class only"),
        (np.where(Y, np.nan, 0.0), "contains NaN"),
    ],
)
def test_labels_that_are_none(kind, labels, message):
    with pytest.raises(ValueError, match=message):
        kind(**SMALL).fit(X, labels)
