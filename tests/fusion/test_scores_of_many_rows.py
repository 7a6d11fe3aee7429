"""Scores of a fusion of many rows: those of its decisions, out of sample; tests call some hundreds many."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

from fuselearn import FusionClassifier
from fuselearn.fusion import fusion_options, local_fusion
from tests.fusion.many_rows import VIEWS, table


@pytest.fixture(autouse=True)
def some_are_many(monkeypatch):
    settings = fusion_options.boosting_settings
    monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 100)
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.LANDMARKS", 30)
    monkeypatch.setattr(local_fusion, "boosting_settings", lambda n, seed: replace(settings(n, seed), n_rounds=6))


def fusion(**settings):
    return FusionClassifier(views=VIEWS, random_state=3, **settings)


def scores_of(model, codes, decision):
    """Accuracy, balanced accuracy and area of out-of-sample decisions of two classes."""
    predicted = (decision > 0).astype(int)
    return accuracy_score(codes, predicted), balanced_accuracy_score(codes, predicted), roc_auc_score(codes, decision)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_with_several_label_columns_they_are_those_of_decisions_by_the_consensus(class_weight):
    rng = np.random.default_rng(0)
    X, y = table(3000, seed=1)
    # Each annotator misses two of five rows of a class.
    labels = np.repeat(y[:, None], 3, axis=1)
    labels[(rng.random(labels.shape) < 0.4) & (labels == 1)] = 0
    given = (labels.mean(axis=1) > 0.5).astype(int)
    train, new = slice(0, 1000), slice(1000, None)
    model = fusion(class_weight=class_weight, learners="linear").fit(X[train], y[train], view_labels=labels[train])
    ours = list(model.out_of_sample_scores_.values())
    assert model.out_of_sample_score_ == ours[class_weight == "balanced"]
    assert_allclose(ours, scores_of(model, given[train], model.out_of_sample_decision_), atol=0.01)
    assert_allclose(ours, scores_of(model, given[new], model.decision_function(X[new])), atol=0.04)


def test_with_missing_views_they_are_those_of_decisions_by_pattern(monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.fusion_run.LEAST_PATTERN_ROWS", 50)
    X, y = table(1200, missing=0.4, seed=2)
    # Rows that lack a view are mostly of one class.
    X[np.ix_((y == 1) & (np.random.default_rng(0).random(1200) < 0.8), VIEWS["b"])] = np.nan
    kept = ~np.isnan(X).all(axis=1)
    X, y = X[kept], y[kept]
    model = fusion().fit(X, y)
    ours = list(model.out_of_sample_scores_.values())
    assert_allclose(ours, scores_of(model, y, model.out_of_sample_decision_), atol=0.015)


@pytest.mark.parametrize("n_seeds", [6, pytest.param(40, marks=pytest.mark.long)])
def test_labels_without_any_signal_do_not_show_in_the_calibration_of_small_patterns(monkeypatch, n_seeds):
    monkeypatch.setattr("fuselearn.fusion.fusion_run.LEAST_PATTERN_ROWS", 20)
    scores, in_sample = [], []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 6))
        X[np.isnan(table(300, missing=0.5, seed=seed)[0])] = np.nan
        # As many of each class: by chance alone, the more frequent one is right in more than half of the rows.
        y = rng.permutation(np.arange(300) % 2)
        model = fusion(learners="linear").fit(
            np.where(np.isnan(X), np.nan, np.random.default_rng(seed).normal(size=X.shape)), y
        )
        scores.append(model.out_of_sample_score_)
        in_sample.append(np.mean((model.out_of_sample_decision_ > 0) == y))
    assert np.mean(scores) < 0.52
    assert np.mean(in_sample) > np.mean(scores) + 0.02
