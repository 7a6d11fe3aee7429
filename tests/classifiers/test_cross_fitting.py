"""Folds, and out-of-fold outputs of the models of views."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from fuselearn import LabelConsensus
from fuselearn.classifiers.cross_fitting import CrossFitting, as_folds, read_cv, shuffled_folds, stratified_folds
from fuselearn.classifiers.view_model import ViewModel, fit_view_model
from fuselearn.consensus.label_consensus import _out_of_fold_values
from fuselearn.data import read_training_data


@given(st.lists(st.integers(0, 3), min_size=2, max_size=60), st.integers(2, 6))
def test_folds_deal_out_every_class_evenly(codes, n_folds):
    codes = np.array(codes)
    fold_of = stratified_folds(codes, n_folds, np.random.default_rng(0))
    for code in np.unique(codes):
        counts = np.bincount(fold_of[codes == code], minlength=n_folds)
        assert counts.max() - counts.min() <= 1
    counts = np.bincount(fold_of, minlength=n_folds)
    assert counts.max() - counts.min() <= 1


def test_values_of_views_have_the_same_size_where_they_are_present():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(60)[:, None] % 2, 2, axis=1)
    tables = [rng.normal(size=(60, 3)) + codes[:, :1], rng.normal(size=(40, 3))]
    estimators = [SVC(), LogisticRegression(C=1e-4)]  # values of very different size
    X = np.full((60, 6), np.nan)
    X[:, :3], X[:40, 3:] = tables
    data = read_training_data(LabelConsensus(views=[[0, 1, 2], [3, 4, 5]]), X, codes[:, 0])
    cross_fitting = CrossFitting.of(data, estimators, encoded=True)
    values = _out_of_fold_values(cross_fitting, data, data.view_codes(), 5, (0, 0), lambda *_: None)
    assert_allclose((values[:, 0] ** 2).mean(), 1)
    assert_allclose((values[:40, 1] ** 2).mean(), 1)
    assert_array_equal(values[40:, 1], 0)


def test_values_of_classes_have_mean_zero_whatever_the_classifier():
    X, y = np.arange(20.0)[:, None], np.arange(20) // 10
    for model in (SVC(), LogisticRegression(), GaussianNB()):
        values = fit_view_model("the view 'a'", model, X, y, np.array([0, 1]), None).centred_values(X)
        assert_allclose(values.sum(axis=1), 0, atol=1e-12)
        assert_array_equal(values.argmax(axis=1), model.predict(X))


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())
def test_folds_of_groups_are_whole_and_of_like_size(seed, n_folds, unlabelled):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(30), rng.integers(1, 5, 30))
    codes = rng.integers(-1 if unlabelled else 0, 3, len(groups))
    fold_of = stratified_folds(codes, n_folds, np.random.default_rng(0), groups)
    for group in range(30):
        assert len(np.unique(fold_of[groups == group])) == 1
    counts = np.bincount(fold_of, minlength=n_folds)
    assert counts.min() > 0
    assert counts.max() - counts.min() <= 12
    for (train, test), fold in zip(as_folds(fold_of, n_folds), range(n_folds)):
        assert_array_equal(test, np.flatnonzero(fold_of == fold))
        assert not np.intersect1d(groups[train], groups[test]).size


def test_shuffled_folds_are_those_of_scikit_learn():
    codes = np.arange(50) % 3
    expected = StratifiedKFold(4, shuffle=True, random_state=7).split(np.zeros((50, 1)), codes)
    for folds, pair in zip(shuffled_folds(4, codes, None, 7), expected):
        for rows, wanted in zip(folds, pair):
            assert_array_equal(rows, wanted)


def test_outputs_are_of_models_that_saw_neither_the_row_nor_its_group():
    """A nearest neighbour knows the group of every row that it was fitted on."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 4)
    X = groups[:, None] + 0.01 * rng.normal(size=(80, 1))
    data = read_training_data(LabelConsensus(), X, groups % 2, groups=groups)
    folds = shuffled_folds(4, data.codes[:, 0], data.groups, 0)
    fitting = CrossFitting.of(data, [KNeighborsClassifier(1)])

    models, outputs = fitting.run(data.view_codes(), [folds], ViewModel.values, 2, lambda view, fold: (view, fold))
    assert [len(view_models) for view_models in models] == [4]
    for model, (train, test) in zip(models[0], folds):
        assert_array_equal(np.sort(model.estimator._fit_X[:, 0]), np.sort(X[train, 0]))
        assert_array_equal(outputs[0][test], model.values(X[test]))
        assert not np.isin(groups[test], np.round(model.estimator._fit_X[:, 0]).astype(int)).any()


def test_rows_without_a_label_are_held_out_but_not_learnt_from():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    data = read_training_data(LabelConsensus(), X, y)
    codes = np.where(np.arange(40) < 10, -1, y)[:, None]
    folds = as_folds(stratified_folds(y, 4, rng), 4)
    models, outputs = CrossFitting.of(data, [KNeighborsClassifier(1)]).run(
        codes, [folds], ViewModel.values, 2, lambda view, fold: (view, fold)
    )
    assert np.isfinite(outputs[0]).all()
    for model, (train, _) in zip(models[0], folds):
        assert len(model.estimator._fit_X) == np.count_nonzero(train >= 10)


def test_a_fold_without_a_view_or_with_one_class_has_no_output():
    X = np.random.default_rng(0).normal(size=(12, 2))
    X[4:, 1] = np.nan
    y = np.arange(12) % 2
    data = read_training_data(LabelConsensus(views=[[0], [1]]), X, y)
    folds = [(np.arange(4, 12), np.arange(4)), (np.arange(0, 4, 2), np.arange(4, 12))]
    models, outputs = CrossFitting.of(data, [GaussianNB(), GaussianNB()]).run(
        data.view_codes(), [folds, folds], ViewModel.values, 2, lambda view, fold: (view, fold)
    )
    assert models[1][0] is None  # no training row has the second view
    assert models[0][1].abstains  # its training rows are of one class
    assert np.isfinite(outputs[0][:4]).all()
    assert np.isnan(outputs[0][4:]).all()
    assert np.isnan(outputs[1]).all()


@pytest.mark.parametrize("cv", [3, None, "pairs", StratifiedKFold(3)])
def test_the_number_of_folds_or_their_rows(cv):
    data = read_training_data(LabelConsensus(), np.arange(12.0)[:, None], np.arange(12) % 2)
    pairs = list(StratifiedKFold(3).split(np.zeros(12), np.arange(12) % 2))
    folds = read_cv(pairs if cv == "pairs" else cv, data, data.codes[:, 0])
    if cv is None or cv == 3:
        assert folds == (5 if cv is None else 3)
    else:
        for fold, pair in zip(folds, pairs):
            assert_array_equal(fold[0], pair[0])
            assert_array_equal(fold[1], pair[1])


class ListSplitter:
    """A splitter of the user's own: without groups, and with lists of numbers or masks."""

    def __init__(self, *, masks=False):
        self.masks = masks

    def split(self, X, y):
        for number in range(3):
            mask = [row % 3 == number for row in range(len(y))]
            train, test = [not held_out for held_out in mask], mask
            yield (train, test) if self.masks else (np.flatnonzero(train).tolist(), np.flatnonzero(test).tolist())


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("iterable", [False, True])
def test_folds_may_be_lists_of_numbers_or_masks(masks, iterable):
    data = read_training_data(LabelConsensus(), np.arange(12.0)[:, None], np.arange(12) % 2)
    cv = ListSplitter(masks=masks)
    folds = read_cv(cv.split(None, np.zeros(12)) if iterable else cv, data, data.codes[:, 0])
    for number, (train, test) in enumerate(folds):
        assert_array_equal(train, np.flatnonzero(np.arange(12) % 3 != number))
        assert_array_equal(test, np.flatnonzero(np.arange(12) % 3 == number))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([1, 2, 3], r"cv must have pairs \(training rows, held-out rows\); got \[1, 2, 3\]"),
        ([([0, 1], [12])], r"cv must have numbers from 0 to 11, or masks, of the 12 rows; got \[12\]"),
        ([([0.5, 1.5], [2])], r"cv must have numbers from 0 to 11, or masks, of the 12 rows; got \[0.5, 1.5\]"),
        ([([True, False], [2])], r"cv must have numbers from 0 to 11, or masks, of the 12 rows; got \[True, False\]"),
    ],
)
def test_folds_that_are_not_of_the_rows_are_refused(cv, message):
    data = read_training_data(LabelConsensus(), np.arange(12.0)[:, None], np.arange(12) % 2)
    with pytest.raises(ValueError, match=message):
        read_cv(cv, data, data.codes[:, 0])
