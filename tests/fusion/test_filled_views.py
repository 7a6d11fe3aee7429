"""Arms of all views with absent ones filled in: what they count by, and values that patterns are calibrated by."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import log_loss

from fuselearn import FusionClassifier, load, save
from fuselearn.fusion import calibration_and_scores, fusion_classifier
from fuselearn.fusion.arm_weights import weighted_sum
from fuselearn.fusion.base_models.absent_views import fit_view_imputer
from fuselearn.fusion.filled_views import DOUBT, ENOUGH_ROWS, MULTIPLES, CountedViews, predict_filled_rows
from fuselearn.fusion.pattern_values import listed_patterns
from fuselearn.numeric.threads import Threads
from tests.fusion.fusion_data import ONE_PASS, VIEWS, table
from tests.naive import fusion_arms as naive

ALL_PATTERNS = np.array(list(product([True, False], repeat=3))[:-1])


def without(X, present):
    """Rows without the views that are not present."""
    X = X.copy()
    for view, columns in enumerate(VIEWS.values()):
        X[np.ix_(~present[:, view], np.arange(6)[columns])] = np.nan
    return X


def drawn_views(n, seed=0, share=0.4):
    present = np.random.default_rng(seed).random((n, 3)) > share
    present[:, 0] |= ~present.any(axis=1)
    return present


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def fitted(request):
    """A model, and what its calibration was fitted to."""
    X, y = table(70, request.param, distance=0.8)
    told = {}

    def noted(result, arms, data, most, original=fusion_classifier.fit_pattern_calibration):
        told.update(result=result, arms=arms, data=data)
        return original(result, arms, data, most)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fusion_classifier, "fit_pattern_calibration", noted)
        model = clone(ONE_PASS).fit(without(X, drawn_views(70)), y)
    return SimpleNamespace(model=model, **told)


def in_sample(model, data, row):
    """A function that gives values of a training row by the models that saw it, with all its views and with some."""

    def again(arm, left):
        values = []
        for views in (data.blocks.present[row], np.array(left)):
            cells = without(data.blocks.views[0].table[[row]].astype(float), views[None] & data.blocks.present[[row]])
            filled = model._imputer.filled(cells, views[None])[:, model._arm_columns[arm][1]]
            means = [one.predict(np.ascontiguousarray(filled))[0] for one in model.estimators_[arm]]
            values.append(np.mean(means, axis=0) - model._arm_offsets[arm])
        return values

    return again


@pytest.mark.parametrize("enough", [5.0, ENOUGH_ROWS])
def test_values_of_a_pattern_are_those_of_rows_with_no_other_views(fitted, enough, monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.filled_views.ENOUGH_ROWS", enough)
    model, result, arms, data = fitted.model, fitted.result, fitted.arms, fitted.data
    present, views_of_arms = data.blocks.present, [arm.view for arm in arms]
    row_weights = np.where(np.arange(70) % 7 == 0, 0.0, np.linspace(0.5, 1.5, 70))
    counted = CountedViews(result, arms, present, result.filled, row_weights)
    assert len(result.filled.rows) == 70
    arguments = (present, result.arm_values, views_of_arms, result.weights, counted.factors)
    for pattern in ALL_PATTERNS[::2]:
        values, rows, weights = counted.of_pattern(pattern)
        expected = {}
        for row in np.flatnonzero(row_weights > 0).tolist():
            value = naive.left_of_row(row, pattern, *arguments, in_sample(model, data, row))
            if value is not None:
                expected[row] = value
        whole = {row for row in expected if all(there or not asked for there, asked in zip(present[row], pattern))}
        lacking = enough - sum(row_weights[row] for row in whole)
        others = sum(row_weights[row] for row in expected if row not in whole)
        share = min(1.0, max(0.0, lacking) / others) if others else 0.0
        assert set(rows.tolist()) == {row for row in expected if row in whole or share > 0}
        assert len(set(rows.tolist())) == len(rows)
        for value, row, weight in zip(values, rows.tolist(), weights):
            assert_allclose(value, expected[row], atol=1e-5)  # some are kept in single precision
            assert weight == pytest.approx(row_weights[row] * (1.0 if row in whole else share))


def test_factors_make_the_likelihood_of_rows_with_as_many_views_largest(fitted):
    result, arms, data = fitted.result, fitted.arms, fitted.data
    present, weights = data.blocks.present, 10 * np.linspace(0.5, 1.5, 70)
    rng, factors = np.random.default_rng(0), []
    for spoilt in (0.0, 3.0):
        # Arms of all views that say nothing of rows with one view.
        values = result.arm_values.copy()
        for number, arm in enumerate(arms):
            if arm.view is None:
                alone = present.sum(axis=1) == 1
                values[number, alone] += spoilt * rng.normal(size=values[number, alone].shape)
        changed = replace(result, arm_values=values)
        factors.append(CountedViews(changed, arms, present, result.filled, weights).factors)
        assert factors[-1][3] == 1
        for count in (1, 2):
            expected = naive.factor_of_count(
                count, present, values, [arm.view for arm in arms], result.weights, result.class_targets, weights,
                MULTIPLES, DOUBT,
            )  # fmt: skip
            assert factors[-1][count] == pytest.approx(expected)
    assert factors[1][1] < min(factors[0][1], 1 / 3)
    nobody = CountedViews(result, arms, present, result.filled, np.zeros(70))
    assert_allclose(nobody.factors, np.arange(4) / 3)


def test_probabilities_follow_from_the_arms_and_their_factors(fitted):
    model = fitted.model
    n_classes = len(model.classes_)
    new = np.vstack([without(table(4, n_classes, seed=1)[0], np.tile(views, (4, 1))) for views in ALL_PATTERNS])
    present = np.repeat(ALL_PATTERNS, 4, axis=0)
    values = np.full((len(model.arms_), len(new), 1 if n_classes == 2 else n_classes), np.nan)
    filled = model._imputer.filled(new, present)
    for number, (view, columns) in enumerate(model._arm_columns):
        for row in range(len(new)):
            if view is None or present[row, view]:
                cells = np.ascontiguousarray((filled if view is None else new)[[row]][:, columns])
                said = np.mean([one.predict(cells)[0] for one in model.estimators_[number]], axis=0)
                values[number, row] = said - model._arm_offsets[number]
    slopes, intercepts = naive.calibration_of_rows(model._calibration, present)
    for row in range(len(new)):
        known = [k for k, views in enumerate(model._calibration.patterns) if not (views & ~present[row]).any()]
        best = min(known, key=lambda k: (-model._calibration.patterns[k].sum(), model._calibration.slopes[k]))
        factor = model._calibration.joint_factors[best]
        factors = [factor if view is None else 1.0 for view, _ in model._arm_columns]
        weights = model.arm_weights_ * factors
        combined = naive.weighted_sum(values[:, [row]], weights)[0]
        # As if those that count less, or not at all, agreed with the others.
        combined = combined * model.arm_weights_.sum() / weights.sum()
        combined = np.array([-combined[0], combined[0]]) if n_classes == 2 else combined
        expected = softmax(slopes[row] * combined + intercepts[row])
        assert_allclose(model.predict_proba(new[[row]])[0], expected, atol=1e-9)
    assert_allclose(model.predict_proba(new).sum(axis=1), 1)


def test_factors_of_rows_multiply_weights():
    rng = np.random.default_rng(0)
    values, weights, factors = rng.normal(size=(3, 8, 2)), np.array([0.2, 0.5, 0.3]), rng.random((3, 8))
    values[0, :3] = values[1, 2:5] = np.nan
    sums, covered = weighted_sum(values, weights, factors)
    for row in range(8):
        one = naive.weighted_sum(values[:, [row]], weights * factors[:, row])[0]
        assert_allclose(sums[row], one * weights.sum() / (weights * factors[:, row]).sum())
    assert covered.all()
    assert_array_equal(weighted_sum(values, weights, [1.0, 1.0, 1.0])[0], weighted_sum(values, weights)[0])


def test_complete_rows_have_no_factors(model, tmp_path):
    assert model._calibration.joint_factors is None
    assert model._imputer is None
    path = tmp_path / "model.fuse"
    save(model, path)
    assert load(path)._calibration.joint_factors is None


def test_factors_are_saved_and_checked(fitted, tmp_path):
    model, path = fitted.model, tmp_path / "model.fuse"
    save(model, path)
    assert_array_equal(load(path)._calibration.joint_factors, model._calibration.joint_factors)
    for factors, words in ((model._calibration.joint_factors[1:], "has the shape"), (-np.ones(7), "out of range")):
        with pytest.raises(ValueError, match=words):
            replace(model._calibration, joint_factors=factors).validate()


def test_nothing_is_predicted_again_without_arms_of_all_views(fitted):
    result, arms, data = fitted.result, fitted.arms, fitted.data
    unfitted = replace(result, models=[[] if arm.view is None else of for arm, of in zip(arms, result.models)])
    imputer, patterns = fit_view_imputer(data.blocks, None), listed_patterns(data.blocks.present)
    assert predict_filled_rows(unfitted, arms, data, patterns, imputer, Threads(1)) is None
    one, two = (predict_filled_rows(result, arms, data, patterns, imputer, Threads(n)) for n in (1, 2))
    assert_array_equal(one.predicted, two.predicted)


def interacting(n, seed):
    """Rows of four views, of which two say the class together and none does alone."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    X = np.hstack([hidden[:, [k % 2]] + 0.1 * rng.normal(size=(n, 2)) for k in range(4)])
    return X, (hidden[:, 0] * hidden[:, 1] > 0).astype(int)


def test_a_view_that_says_nothing_alone_is_not_believed():
    X, y = interacting(240, 0)
    rng = np.random.default_rng(1)
    present = rng.random((240, 4)) > 0.4
    present[np.arange(240), rng.integers(4, size=240)] = True
    X[~np.repeat(present, 2, axis=1)] = np.nan
    views = {name: [2 * k, 2 * k + 1] for k, name in enumerate("abcd")}
    model = FusionClassifier(views=views, max_fits=15, random_state=0).fit(X, y)
    new, labels = interacting(600, 2)
    new[:, 2:] = np.nan
    assert log_loss(labels, model.predict_proba(new)) < np.log(2) + 0.03


def test_patterns_that_no_training_row_has_are_calibrated():
    X, y = interacting(120, 0)
    X[:12, :2] = np.nan
    views = {name: [2 * k, 2 * k + 1] for k, name in enumerate("abcd")}
    model = FusionClassifier(views=views, max_fits=12, random_state=0).fit(X, y)
    known = {tuple(pattern) for pattern in model._calibration.patterns.tolist()}
    assert known == set(product([True, False], repeat=4)) - {(False,) * 4}
    assert_array_equal(model._calibration.patterns[0], True)
    # Two views that say the class together are believed more than one.
    pair, alone = (
        model._calibration.pattern_of(np.array([those], dtype=bool))[0] for those in ([1, 1, 0, 0], [1, 0, 0, 0])
    )
    assert model._calibration.slopes[pair] > 2 * model._calibration.slopes[alone]


@pytest.mark.parametrize("seed", [0, 1])
def test_complete_rows_are_as_sure_as_they_may_be(seed, monkeypatch):
    """Rows with views filled in, in whose values arms of all views are less sure, do not calibrate them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1700, 6))
    y = (X[:, 0] + X[:, 2] + X[:, 4] + rng.normal(size=1700) > 0).astype(int)
    train = without(X[:200], drawn_views(200, seed, share=0.5))
    losses = []
    for least in (calibration_and_scores.LEAST_COMPLETE, np.inf):
        monkeypatch.setattr(calibration_and_scores, "LEAST_COMPLETE", least)
        model = FusionClassifier(views=VIEWS, learners="linear", consensus=False, random_state=0).fit(train, y[:200])
        losses.append(log_loss(y[200:], model.predict_proba(X[200:])))
    assert losses[0] < losses[1]
