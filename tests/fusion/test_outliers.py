"""Cells that must be errors do not decide a fusion, in training rows or in new ones."""

import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from fuselearn import FusionClassifier
from tests.fusion.fusion_data import ONE_PASS, X_NEW, X, same, y

WINE_VIEWS = [slice(0, 6), slice(6, 13)]
OUTLIERS = "ignore:X has .* gross outlier:UserWarning"


def wine_split(seed=0):
    wine = load_wine()
    return train_test_split(wine.data, wine.target, train_size=0.5, random_state=seed, stratify=wine.target)


def score_on_wine(spoil, **settings):
    X_train, X_test, y_train, y_test = wine_split()
    model = FusionClassifier(views=WINE_VIEWS, random_state=0, **settings).fit(spoil(X_train), y_train)
    assert np.isfinite(model.predict_proba(X_test)).all()
    return model.score(X_test, y_test)


@cache
def clean_score_on_wine(learners):
    return score_on_wine(lambda table: table, learners=learners, consensus=False)


@cache
def score_on_wine_with_gaps():
    return score_on_wine(with_share(np.nan))


def with_one(value, row=3, column=8):
    def spoil(table):
        table = table.copy()
        table[row, column] = value
        return table

    return spoil


def with_share(value, share=0.05):
    def spoil(table):
        table = table.copy()
        table[np.random.default_rng(5).random(table.shape) < share] = value
        return table

    return spoil


@pytest.mark.thinned(3)
@pytest.mark.filterwarnings(OUTLIERS)
@pytest.mark.parametrize("learner", ["default", "svm", "rbf", "linear", "trees"])
@pytest.mark.parametrize("value", [1e20, -1e308])
def test_one_wrong_cell_costs_next_to_nothing(learner, value):
    if learner == "svm":
        model = FusionClassifier(views=WINE_VIEWS, learners=learner, consensus=False, random_state=0)
        X_train, X_test, y_train, y_test = wine_split()
        clean = clone(model).fit(X_train, y_train == 1).score(X_test, y_test == 1)
        spoilt = model.fit(with_one(value)(X_train), y_train == 1).score(X_test, y_test == 1)
    else:
        clean = clean_score_on_wine(learner)
        spoilt = score_on_wine(with_one(value), learners=learner, consensus=False)
    assert spoilt > clean - 0.012  # one row of 89


@pytest.mark.filterwarnings(OUTLIERS)
@pytest.mark.parametrize("value", [1e30, 1e308])
def test_a_twentieth_of_wrong_cells_costs_about_as_much_as_gaps(value):
    assert score_on_wine(with_share(value)) > score_on_wine_with_gaps() - 0.035


@pytest.mark.long
@pytest.mark.filterwarnings(OUTLIERS)
@pytest.mark.parametrize("spoil", [with_one(1e20), with_share(1e30), with_share(1e308)])
def test_wrong_cells_of_digits(digits, spoil):
    order = np.random.default_rng(0).permutation(len(digits.X))
    train, test = order[:300], order[300:]
    scores = [
        FusionClassifier(views=digits.views, random_state=0)
        .fit(table, digits.y[train])
        .score(digits.X[test], digits.y[test])
        for table in (digits.X[train], spoil(digits.X[train]))
    ]
    assert scores[1] > scores[0] - 0.03


def test_the_warning_names_the_column_and_the_cell():
    table = X.copy()
    table[7, 3] = 1e20
    with pytest.warns(UserWarning, match=r"1 gross outlier.*1e\+20 in column 3, row 7\. Each counts as the nearest"):
        spoilt = clone(ONE_PASS).fit(table, y)
    table[7, 3] = np.delete(X[:, 3], 7).max()
    same(spoilt, clone(ONE_PASS).fit(table, y))


def test_a_wrong_cell_of_a_new_row_counts_as_the_nearest_ordinary_value(model):
    rows, ordinary = X_NEW.copy(), X_NEW.copy()
    rows[::2, 1], ordinary[::2, 1] = 1e25, X[:, 1].max()
    rows[::3, 4], ordinary[::3, 4] = -1e308, X[:, 4].min()
    assert_array_equal(model.predict_proba(rows), model.predict_proba(ordinary))
    assert_array_equal(model.decision_function(rows[:1]), model.decision_function(ordinary[:1]))


def test_far_values_that_are_no_outliers_are_read_as_they_are(model):
    far, farther = X_NEW.copy(), X_NEW.copy()
    far[:, 0], farther[:, 0] = 30.0, 60.0
    assert (model.decision_function(far) != model.decision_function(farther)).any()


def test_rows_of_no_weight_are_not_judged():
    table = X.copy()
    table[7, 3] = 1e20
    weights = np.ones(len(y))
    weights[7] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spoilt = clone(ONE_PASS).fit(table, y, sample_weight=weights)
    same(spoilt, clone(ONE_PASS).fit(X, y, sample_weight=weights))


def test_columns_of_any_size_give_the_same_model():
    model = FusionClassifier(views=WINE_VIEWS, random_state=0, consensus=False)
    X_train, X_test, y_train, _ = wine_split()
    expected = clone(model).fit(X_train, y_train).predict(X_test)
    for size in (2.0**-1000, 2.0**-600, 2.0**600, 2.0**1000):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            predicted = model.fit(size * X_train, y_train).predict(size * X_test)
        assert (predicted == expected).mean() > 0.97, size
