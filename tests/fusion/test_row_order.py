"""A fusion of many rows is the same, but for chance, in whatever order the rows are; tests call some hundreds many."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn import FusionClassifier
from fuselearn.fusion import fusion_options, local_fusion

K, N = 3, 1200
VIEWS = {"a": [0, 1, 2], "b": [3, 4, 5]}


@pytest.fixture(autouse=True)
def some_are_many(monkeypatch):
    settings = fusion_options.boosting_settings
    monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 100)
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.LANDMARKS", 30)
    monkeypatch.setattr(local_fusion, "boosting_settings", lambda n, seed: replace(settings(n, seed), n_rounds=6))
    # As many rows for each that is drawn as there are classes, or a multiple of it.
    monkeypatch.setattr("fuselearn.fusion.fusion_run.CONSENSUS_ROWS", N // K)
    monkeypatch.setattr("fuselearn.fusion.pattern_values.MOST_OWN_NUMBERS", N)
    monkeypatch.setattr("fuselearn.fusion.pattern_values.LEAST_MASKED_ROWS", N // K)
    monkeypatch.setattr("fuselearn.fusion.pattern_values.MOST_MASKED_ROWS", N // K)


def rows(rng, y, spread=1.0):
    directions = np.random.default_rng(5).normal(size=(K, 6)) * np.array([1.5, 0.7, 1.5])[:, None]
    return rng.normal(size=(len(y), 6)) + spread * directions[y]


def wrong(rng, y, rate):
    """Labels of which a share is wrong."""
    return np.where(rng.random(y.shape) < rate, (y + rng.integers(1, K, y.shape)) % K, y)


def in_turn_and_shuffled(n=N):
    y = np.arange(n) % K
    return y, np.random.default_rng(1).permutation(y)


def test_rates_of_wrong_labels_do_not_depend_on_the_order_of_the_rows():
    rates, accuracies = [], []
    for y in in_turn_and_shuffled():
        rng = np.random.default_rng(0)
        X = rows(rng, y)
        given = np.column_stack([wrong(rng, y, 0.3) for _ in VIEWS])
        model = FusionClassifier(views=VIEWS, random_state=0).fit(X, y, view_labels=given)
        rates.append(model.noise_rates_)
        accuracies.append((model.posterior_.argmax(axis=1) == y).mean())
        assert_allclose(model.class_prior_, 1 / K, atol=0.08)
    assert_allclose(rates, 0.3, atol=0.08)
    assert_allclose(*accuracies, atol=0.05)


def test_suspects_do_not_depend_on_the_order_of_the_rows():
    for y in in_turn_and_shuffled():
        rng = np.random.default_rng(0)
        X = rows(rng, y, 2.0)
        given = wrong(rng, y, 0.1)
        model = FusionClassifier(views=VIEWS, random_state=0).fit(X, given)
        suspects = [record["row"] for record in model.suspects()]
        assert (given != y)[suspects].mean() > 0.8
        assert 0.5 * N * 0.1 < len(suspects) < 1.5 * N * 0.1
        assert_allclose(model.noise_rates_, 0.1, atol=0.04)


def test_prediction_sets_do_not_depend_on_the_order_of_the_rows():
    y_new = np.random.default_rng(2).integers(K, size=4000)
    X_new = rows(np.random.default_rng(3), y_new, 0.5)
    for y in in_turn_and_shuffled():
        X = rows(np.random.default_rng(0), y, 0.5)
        model = FusionClassifier(views=VIEWS, random_state=0, consensus=False).fit(X, y)
        own = model._out_of_fold.own
        assert len(own.logits) == N // K
        assert_allclose(own.targets.mean(axis=0), 1 / K, atol=0.08)
        sets = model.predict_set(X_new, coverage=0.9)
        assert_allclose(sets[np.arange(len(y_new)), y_new].mean(), 0.9, atol=0.04)
