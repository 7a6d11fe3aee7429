import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.fusion.base_models.ridge_features import (
    LINEAR_STRENGTHS,
    ColumnMoments,
    FoldSums,
    RidgeFeatures,
    RidgeModel,
    RidgeSums,
    draw_landmarks,
    fit_ridge,
    scale_of,
    single_view_places,
    sum_bits,
)
from fuselearn.fusion.fusion_rows import ArmValues, FittedArm, FusionBlock
from fuselearn.fusion.log_loss_weights import LossSums, Stack
from tests.fusion.many_rows import VIEWS, blocks, partitions, table
from tests.naive.fusion_sums import ridge_by_folds


def linear_features(rows, frame, marked):
    [(sums,)] = rows.ask([], [ColumnMoments()])
    centre = sums[1] / sums[0]
    [(sums,)] = rows.ask([], [ColumnMoments(centre)])
    columns = [frame.columns[view] for view in marked]
    scale = scale_of(centre, np.sqrt(sums[2] / sums[0]))
    return RidgeFeatures(scale, columns, np.empty((0, 6 + len(marked))), 0.0)


def sums_of(rows, features, n_rows):
    bits = sum_bits(n_rows)
    [answer] = rows.ask([], [RidgeSums(features, bits)])
    return FoldSums(*(np.ldexp(sums.astype(float), -bits) for sums in answer))


def test_columns_are_standardised():
    X, y = table(missing=0.3)
    X[:, 5] = 7.0
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    frame, rows, _ = partitions(X, y, 3, weights=weights)
    scaled = linear_features(rows, frame, []).coordinates(X)
    for column in range(5):
        given = ~np.isnan(X[:, column])
        share = weights[given] / weights[given].sum()
        inside = np.abs(X[given, column] - share @ X[given, column])
        assert (scaled[~given, column] == 0).all()
        spread = np.sqrt(share @ inside**2)
        assert_allclose(np.abs(scaled[given, column]), np.minimum(inside / spread, 5.0), rtol=1e-9)
    assert_allclose(scaled[:, 5], 0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ridges_of_sums_are_those_refitted_without_each_fold(n_classes):
    X, y = table(200, n_classes, missing=0.2)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    frame, rows, folds = partitions(X, y, 3, weights=weights)
    features = linear_features(rows, frame, [0, 1, 2])
    shares = np.eye(n_classes)[y]
    targets = 2 * shares[:, 1:] - 1 if n_classes == 2 else shares
    strength, values, coefficients = ridge_by_folds(
        features(X), targets, weights / weights.mean(), folds, LINEAR_STRENGTHS
    )
    fit = fit_ridge(sums_of(rows, features, len(X)), LINEAR_STRENGTHS)
    assert fit.strength == strength
    assert_allclose(fit.of_all, coefficients, atol=1e-8)
    found = np.empty(targets.shape)
    for fold, of_fold in enumerate(fit.of_folds):
        found[folds == fold] = (features(X) @ of_fold)[folds == fold]
    assert_allclose(found, values, atol=1e-8)


def test_the_machine_of_a_view_is_among_the_sums_of_all_views():
    X, y = table(200, missing=0.3)
    frame, rows, folds = partitions(X, y, 2)
    features = linear_features(rows, frame, [0, 1, 2])
    sums = sums_of(rows, features, len(X))
    for view, columns in enumerate(VIEWS.values()):
        having = ~np.isnan(X[:, columns]).all(axis=1)
        own = np.column_stack([features.scale(X)[:, columns], np.ones(len(X))])[having]
        targets, ones = 2.0 * y[having, None] - 1, np.ones(int(having.sum()))
        strength, _, coefficients = ridge_by_folds(own, targets, ones, folds[having], LINEAR_STRENGTHS)
        fit = fit_ridge(sums.of(single_view_places(frame, [0, 1, 2])[view], view), LINEAR_STRENGTHS)
        assert fit.strength == strength
        assert_allclose(fit.of_all, coefficients, atol=1e-8)


def test_sums_do_not_depend_on_the_blocks():
    X, y = table(300, missing=0.2)
    frame, rows, _ = partitions(X, y, 1)
    features = linear_features(rows, frame, [0])
    landmarks = draw_landmarks(features, X[:40], 1.0)
    for chosen in (features, landmarks):
        one = sums_of(rows, chosen, len(X))
        several = sums_of(partitions(X, y, 7)[1], chosen, len(X))
        assert_allclose(several.products, one.products, rtol=1e-9, atol=1e-9)
        assert_allclose(several.moments, one.moments, rtol=1e-9, atol=1e-9)


def test_a_weight_of_2_is_the_row_twice():
    X, y = table(60)
    heavy = np.arange(60) % 3 == 0
    frame, made, folds = blocks(X, y)
    features = linear_features(LocalPartitions(made), frame, [])
    twice = np.concatenate([np.arange(60), np.flatnonzero(heavy)])
    present = np.ones((60, 3), dtype=bool)
    weighted = FusionBlock(frame, X, present, y[:, None], 1.0 + heavy, folds, 0)
    repeated = FusionBlock(frame, X[twice], present[twice % 60], y[twice, None], np.ones(80), folds[twice], 0)
    one, other = (sums_of(LocalPartitions([block]), features, 80) for block in (weighted, repeated))
    assert_allclose(one.products, other.products, atol=1e-9)
    assert_allclose(one.moments, other.moments, atol=1e-9)
    values = np.random.default_rng(0).normal(size=(60, 1))
    weighted.keep_values(0, values)
    repeated.keep_values(0, values[twice])
    question = LossSums(Stack((0,), np.ones(1), np.zeros(1)))
    for first, second in zip(question(weighted), question(repeated), strict=True):
        assert_allclose(first, second, atol=1e-9)


def test_values_of_a_fold_come_from_the_model_without_it():
    X, y = table(150, missing=0.2)
    frame, made, folds = blocks(X, y, 2)
    scale = scale_of(np.zeros(3), np.ones(3))
    features = RidgeFeatures(scale, [], np.empty((0, 3)), 0.0)
    models = [RidgeModel(features, np.full((4, 1), fold + 1.0)) for fold in range(3)]
    arm = FittedArm(0, "a", "linear", frame.columns[0], [*models[:2], None], models, np.array([0.5]), 150)
    for block in made:
        block.update([ArmValues(0, arm)], 0)
    values = np.concatenate([block.values(0) for block in made])
    having = ~np.isnan(X[:, :3]).all(axis=1)
    expected = (features(X[:, :3]).sum(axis=1) * (folds + 1) - 0.5) * having * (folds < 2)
    assert_allclose(values[:, 0], expected, rtol=1e-12)


def test_landmarks_are_features():
    X, _ = table(50, missing=0.3)
    features = draw_landmarks(
        RidgeFeatures(scale_of(np.zeros(6), np.ones(6)), [np.arange(3)], np.empty((0, 7)), 0.0), X, 1.0
    )
    found = features(X[:5])
    assert found.shape == (5, features.n_features)
    assert (found[:, -1] == 1).all()
    points = features.coordinates(X[:5])
    for row in range(5):
        distances = ((points[row] - features.landmarks) ** 2).sum(axis=1)
        assert_allclose(found[row, :-1], np.exp(-features.gamma * distances), rtol=1e-9)
    assert_array_equal(points[:, 6], ~np.isnan(X[:5, :3]).all(axis=1))
    RidgeModel(features, np.zeros((features.n_features, 1))).validate()


@pytest.mark.parametrize(
    "change",
    [
        {"coefficients": np.zeros((3, 1))},
        {"coefficients": "text"},
        {"features": None},
        {"marked": [np.array([9])]},
        {"marked": [np.array([0.5])]},
        {"landmarks": np.zeros((2, 5))},
        {"gamma": -1.0},
    ],
)
def test_a_forged_machine_is_refused(change):
    features = RidgeFeatures(scale_of(np.zeros(3), np.ones(3)), [np.arange(2)], np.empty((0, 4)), 0.0)
    model = RidgeModel(features, np.zeros((5, 1)))
    model.validate()
    for name, value in change.items():
        object.__setattr__(model if hasattr(model, name) else features, name, value)
    with pytest.raises(ValueError):
        model.validate()
