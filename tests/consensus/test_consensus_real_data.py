"""LabelConsensus on public data in several views; skipped where FUSELEARN_DATA does not name them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import LabelConsensus, add_label_noise
from fuselearn.datasets import fetch_views

VIEWS = ("fou", "kar", "zer")


def svm_sum(X, views, labels_of_views, X_test):
    """Sum of the decision values of an SVM per view."""
    total = 0.0
    for columns, labels in zip(views.values(), labels_of_views):
        machine = make_pipeline(StandardScaler(), SVC(class_weight="balanced")).fit(X[:, columns], labels)
        total = total + machine.decision_function(X_test[:, columns])
    return total > 0


def test_digits_of_which_each_view_has_wrong_labels(real_data):
    """300 of the digits, at least 5 or not, 30 % of the labels of each view wrong; the mean of three splits."""
    real_data("mfeat")
    data = fetch_views("mfeat")
    truth = (data.y >= 5).astype(int)
    views = {name: data.views[name] for name in VIEWS}
    figures = []
    for seed in range(3):
        train, test = train_test_split(np.arange(2000), train_size=300, random_state=seed, stratify=truth)
        view_labels, _ = add_label_noise(truth[train], 3, 0.3, random_state=seed)
        X = data.X[train]
        model = LabelConsensus(views=views, random_state=seed).fit(X, truth[train], view_labels)
        assert_allclose(model.noise_rates_, 0.3, atol=0.07)
        majority = (view_labels.sum(axis=1) >= 2).astype(int)
        assert np.mean(model.labels_ == truth[train]) > np.mean(majority == truth[train]) + 0.1
        candidates = [view_labels.T, [majority] * 3, [model.labels_] * 3, [truth[train]] * 3]
        figures.append([np.mean(svm_sum(X, views, one, data.X[test]) == truth[test]) for one in candidates])
    own, majority, consensus, clean = np.mean(figures, axis=0)
    assert consensus > majority + 0.01
    assert majority > own
    assert consensus > 0.93
    assert clean > consensus


def test_digits_with_clean_labels(real_data):
    real_data("mfeat")
    data = fetch_views("mfeat")
    rows = np.random.default_rng(0).permutation(2000)[:500]
    views = {name: data.views[name] for name in VIEWS}
    model = LabelConsensus(views=views, random_state=0).fit(data.X[rows], data.y[rows])
    assert np.mean(model.labels_ == data.y[rows]) > 0.98
    assert model.noise_rates_[0] < 0.03


@pytest.mark.parametrize("rate", [0.1, 0.2])
def test_tumours_with_one_column_of_labels(real_data, rate):
    real_data("breast_tcga")
    data = fetch_views("breast_tcga")
    labels, flipped = add_label_noise(data.y, 1, rate, random_state=0)
    model = LabelConsensus(views=data.views, random_state=0).fit(data.X, labels[:, 0])
    assert_allclose(model.noise_rates_, [rate], atol=0.06)
    assert np.mean(model.labels_ == data.y) > 1 - rate + 0.05
    found = [flipped[record["row"], 0] for record in model.suspects(10)]
    assert np.mean(found) >= 0.9


def test_embryos_that_lack_views(real_data):
    real_data("bdgp")
    data = fetch_views("bdgp")
    seen = np.flatnonzero(~np.isnan(data.X).all(axis=1))
    rows = np.random.default_rng(0).permutation(seen)[:400]
    X, truth = data.X[rows], data.y[rows]
    labels, flipped = add_label_noise(truth, 1, 0.2, random_state=0)
    model = LabelConsensus(views=data.views, n_passes=2, random_state=0).fit(X, labels[:, 0])
    assert np.isnan(X).any()
    found = [flipped[record["row"], 0] for record in model.suspects(40)]
    assert np.mean(found) > 0.2 + 0.2  # chance is 0.2
