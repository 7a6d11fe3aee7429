"""Matrices between classes, on values of arms that take a class for its neighbours."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fuselearn
from fuselearn import FusionClassifier
from fuselearn.fusion import class_matrices, fusion_options, local_fusion
from fuselearn.fusion.class_matrices import SampledValues, fit_class_matrices
from fuselearn.fusion.log_loss_weights import Stack, plain_sum
from tests.fusion.many_rows import VIEWS
from tests.naive.fusion_sums import corrections


def ordered(n=600, n_classes=4, seed=0):
    """Rows whose classes are grades of what all columns measure."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return y[:, None] + rng.normal(size=(n, 6)) * 1.5, y


def problem(n=90, n_classes=3, n_arms=2, shared=True, seed=0):
    """A stack, and values of arms: what they say of a class belongs to the next one, unless it is their own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    shares = np.eye(n_classes)[y]
    told = shares + (np.roll(shares, 1, axis=1) if shared else 0)
    values = np.array([told + rng.normal(size=told.shape) for _ in range(n_arms)])
    weights, folds = rng.uniform(0.5, 2.0, n), rng.integers(3, size=n).astype(np.int8)
    stack = Stack(tuple(range(n_arms)), np.linspace(0.5, 1.0, n_arms), np.log(shares.mean(axis=0)))
    return stack, SampledValues.of(values, shares, weights, folds, 3)


@pytest.mark.parametrize("strength", [3.0, 300.0])
def test_matrices_are_those_of_a_general_minimiser(strength, monkeypatch):
    monkeypatch.setattr(class_matrices, "STRENGTHS", (strength,))
    monkeypatch.setattr(class_matrices, "LEAST_NATS", -np.inf)
    monkeypatch.setattr(class_matrices, "LEAST_GAIN", -np.inf)
    stack, sample = problem(60)
    found, _ = fit_class_matrices(stack, (stack,) * 3, sample)
    arguments = sample.values, sample.targets, sample.weights, stack.weights, stack.intercepts, strength
    matrices, intercepts = corrections(*arguments)
    assert_allclose(found.matrices, matrices, atol=1e-4)
    assert_allclose(found.intercepts, intercepts, atol=1e-4)


def test_matrices_without_a_fold_are_next_to_those_of_the_other_folds(monkeypatch):
    monkeypatch.setattr(class_matrices, "STRENGTHS", (30.0,))
    stack, sample = problem(900)
    _, without = fit_class_matrices(stack, (stack,) * 3, sample)
    for fold, found in enumerate(without):
        emptied = sample.weights.copy()
        emptied[sample.fold(fold)] = 1e-9
        others, _ = fit_class_matrices(stack, (stack,) * 3, replace(sample, weights=emptied))
        assert_allclose(found.matrices, others.matrices, atol=0.03)


def test_they_are_kept_where_they_pay_and_only_there():
    stack, sample = problem(900)
    found, without = fit_class_matrices(stack, (stack,) * 3, sample)
    every = slice(0, 900)
    assert sample.loss(found, every) < 0.95 * sample.loss(stack, every)
    assert all(of_fold.matrices is not None for of_fold in without)
    # Values that tell of their own class are weighted well enough by one number: the true one is 1.
    stack, sample = problem(900, shared=False)
    stack = replace(stack, weights=np.ones(2))
    found, without = fit_class_matrices(stack, (stack,) * 3, sample)
    assert found is stack
    assert without == (stack,) * 3


@pytest.mark.parametrize(("most", "n_matrices"), [(100, 3), (21, 1), (11, 0)])
def test_many_classes_have_one_matrix_or_none(most, n_matrices, monkeypatch):
    monkeypatch.setattr(class_matrices, "MOST_PARAMETERS", most)
    stack, sample = problem(600, n_arms=3)
    found, _ = fit_class_matrices(stack, (stack,) * 3, sample)
    if not n_matrices:
        assert found.matrices is None
        return
    relative = found.matrices / stack.weights[:, None, None]
    assert (np.ptp(relative, axis=0).max() < 1e-12) == (n_matrices == 1)


def test_time_that_is_up_leaves_the_weights():
    stack, sample = problem(300)
    assert fit_class_matrices(stack, (stack,) * 3, sample, lambda: False)[0] is stack


def test_matrices_multiply_values_and_absent_ones_count_as_nothing():
    rng = np.random.default_rng(0)
    values, matrices = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 3, 3))
    stack = Stack((0, 1), np.ones(2), np.zeros(3), matrices)
    assert_allclose(stack.scores(values), values[0] @ matrices[0] + values[1] @ matrices[1])
    values[0, 2] = np.nan
    sums, covered = plain_sum(values, matrices, (5, 3))
    assert_allclose(sums[2], values[1, 2] @ matrices[1])
    assert covered.all()


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 100)
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.LANDMARKS", 30)
    settings = fusion_options.boosting_settings
    monkeypatch.setattr(local_fusion, "boosting_settings", lambda n, seed: replace(settings(n, seed), n_rounds=5))


@pytest.mark.usefixtures("few_are_many")
def test_a_fusion_of_grades_has_matrices_and_is_the_same_for_any_blocks(monkeypatch, tmp_path):
    X, y = ordered()
    X[::7, :3] = np.nan
    model = FusionClassifier(views=VIEWS, random_state=0).fit(X, y)
    assert model.arm_matrices_.shape == (len(model.arms_), 4, 4)
    assert_array_equal(model.arm_matrices_.any(axis=(1, 2)), model.arm_weights_ > 0)
    monkeypatch.setattr(local_fusion.make_blocks, "__defaults__", (37,))
    other = FusionClassifier(views=VIEWS, random_state=0).fit(X, y)
    assert_allclose(other.arm_matrices_, model.arm_matrices_, rtol=1e-9, atol=1e-9)
    assert_allclose(other.out_of_sample_decision_, model.out_of_sample_decision_, rtol=1e-9, atol=1e-9)
    # Predictions are by the matrices, also after a file.
    fuselearn.save(model, tmp_path / "model.fuselearn")
    loaded = fuselearn.load(tmp_path / "model.fuselearn")
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    model.arm_matrices_ = None
    assert np.abs(loaded.predict_proba(X) - model.predict_proba(X)).max() > 0.01


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("matrices", [np.zeros((2, 4, 4)), np.full((5, 4, 4), np.nan), "none"])
def test_matrices_of_other_arms_are_refused(matrices):
    X, y = ordered(300)
    model = FusionClassifier(views=VIEWS, learners="linear", random_state=0).fit(X, y)
    model.validate()
    model.arm_matrices_ = matrices
    with pytest.raises(ValueError, match="arm_matrices_"):
        model.validate()


@pytest.mark.usefixtures("few_are_many")
def test_two_classes_have_none():
    X, y = ordered(300, 2)
    model = FusionClassifier(views=VIEWS, learners="linear", random_state=0).fit(X, y)
    assert model.arm_matrices_ is None
    model.arm_matrices_ = np.zeros((len(model.arms_), 2, 2))
    with pytest.raises(ValueError, match="matrices"):
        model.validate()
