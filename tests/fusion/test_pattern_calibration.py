"""Calibrated probabilities of FusionClassifier, for all patterns of views."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss

from fuselearn import FusionClassifier
from fuselearn.classifiers.cross_fitting import deal_folds
from fuselearn.fusion import calibration_and_scores
from fuselearn.fusion.calibration_and_scores import (
    PatternCalibration,
    _design_effect,
    fit_full_calibration,
    out_of_fold_logits,
    patterns_of_views,
)
from tests.fusion.fusion_data import MODEL, VIEWS, split, table
from tests.naive import fusion_arms as naive


@pytest.mark.long
def test_wrong_labels_are_believed_where_they_explain_more(digits):
    train, test = split(digits, 300)
    labels = digits.y[train].copy()
    labels[::5] = (labels[::5] + 1 + np.arange(60) % 9) % 10
    said = {}
    for name, y in (("wrong", labels), ("clean", digits.y[train])):
        model = FusionClassifier(views=digits.views, random_state=0).fit(digits.X[train], y)
        said[name] = log_loss(digits.y[test], model.predict_proba(digits.X[test]))
    assert said["wrong"] < said["clean"] + 0.1
    # Classes that overlap are no wrong labels.
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    X = rng.normal(size=(600, 4)) + 0.5 * (2 * y - 1)[:, None]
    model = FusionClassifier(views={"a": [0, 1], "b": [2, 3]}, random_state=0).fit(X[:300], y[:300])
    sure = model.predict_proba(X[300:]).max(axis=1).mean()
    assert abs(sure - model.score(X[300:], y[300:])) < 0.05


def test_a_held_out_row_has_no_say_in_its_weights_and_calibration():
    rows, labels = table(90)
    seen = {}

    def noted(fused, arms, rows, most):
        seen["told"] = fused, arms, rows
        return out_of_fold_logits(fused, arms, rows, most)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration_and_scores, "out_of_fold_logits", noted)
        model = clone(MODEL).fit(rows, labels)
    fused, arms, labelled = seen["told"]
    before = out_of_fold_logits(fused, arms, labelled)
    given = labelled.votes().argmax(axis=1)
    assert model.out_of_sample_score_ == accuracy_score(given, before.argmax(axis=1))
    believed = fused.class_targets.copy()
    believed[7] = believed[7][::-1]
    after = out_of_fold_logits(replace(fused, class_targets=believed), arms, labelled)
    _, part_of = deal_folds(90)
    assert_array_equal(after[part_of == part_of[7]], before[part_of == part_of[7]])
    assert (after != before)[part_of != part_of[7]].all()
    # Nor has its label in the weights of the arms.
    codes = labelled.codes.copy()
    codes[7] = 1 - codes[7]
    after = out_of_fold_logits(fused, arms, replace(labelled, codes=codes))
    assert_array_equal(after[part_of == part_of[7]], before[part_of == part_of[7]])
    assert (after != before)[part_of != part_of[7]].any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_and_decisions_follow_from_the_arms(n_classes):
    rows, labels = table(90, n_classes)
    model = clone(MODEL).fit(rows, labels)
    new = table(40, n_classes, seed=1)[0]
    new[:10, :3] = np.nan
    new[10:15, 3:] = np.nan
    new[20, 1] = np.nan
    values = np.full((len(model.arms_), 40, n_classes if n_classes > 2 else 1), np.nan)
    for number, ((view, _), models) in enumerate(zip(model.arms_, model.estimators_)):
        columns = np.arange(6) if view == "all views" else np.arange(6)[VIEWS[view]]
        parts = [np.arange(6)[one] for one in VIEWS.values()] if view == "all views" else [columns]
        for i, row in enumerate(new):
            if not any(np.isnan(row[part]).all() for part in parts):
                values[number, i] = np.mean([one.predict(row[None, columns])[0] for one in models], axis=0)
    combined = naive.weighted_sum(values - model._arm_offsets[:, None], model.arm_weights_)
    combined = np.column_stack([-combined, combined]) if n_classes == 2 else combined
    present = np.column_stack([~np.isnan(new[:, columns]).all(axis=1) for columns in VIEWS.values()])
    slopes, intercepts = naive.calibration_of_rows(model._calibration, present)
    assert len(np.unique(slopes)) > 1  # what is left of a row is worth less
    decision = slopes * combined + intercepts
    assert_allclose(model.predict_proba(new), softmax(decision, axis=1), rtol=1e-6, atol=1e-9)
    assert_allclose(
        model.decision_function(new),
        decision[:, 1] - decision[:, 0] if n_classes == 2 else decision,
        rtol=1e-6,
        atol=1e-8,
    )
    assert_array_equal(model.predict(new), decision.argmax(axis=1))


@pytest.mark.long
def test_probabilities_are_calibrated(digits):
    train, test = split(digits, 400)
    labels = digits.y >= 5
    model = FusionClassifier(views=digits.views, random_state=0).fit(digits.X[train], labels[train])
    said = model.predict_proba(digits.X[test])[:, 1]
    assert model.score(digits.X[test], labels[test]) > 0.97
    error = 0.0
    for low in np.arange(0, 1, 0.1):
        here = (said >= low) & (said < low + 0.1 + (low > 0.85))
        if here.any():
            error += here.mean() * abs(said[here].mean() - labels[test][here].mean())
    assert error < 0.05


@pytest.mark.parametrize("n_seeds", [2, pytest.param(4, marks=pytest.mark.long)])
def test_overlap_is_not_taken_for_wrong_labels_by_probabilities(n_seeds):
    gaps = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        labels = np.arange(1300) % 2
        rows = rng.normal(size=(1300, 4)) + 0.5 * labels[:, None]
        model = FusionClassifier(random_state=0).fit(rows[:300], labels[:300])
        said = model.predict_proba(rows[300:])
        gaps.append(said.max(axis=1).mean() - (said.argmax(axis=1) == labels[300:]).mean())
    assert abs(np.mean(gaps)) < 0.05


@pytest.mark.long
def test_what_is_left_without_the_strong_view_is_believed_less():
    gaps = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        labels = np.arange(1300) % 2
        rows = rng.normal(size=(1300, 4))
        rows[:, 0] += 4.0 * labels
        rows[:, 2] += 0.8 * labels
        model = FusionClassifier(views={"strong": [0, 1], "weak": [2, 3]}, random_state=0).fit(rows[:300], labels[:300])
        rows[300:, :2] = np.nan
        said = model.predict_proba(rows[300:])
        gaps.append(said.max(axis=1).mean() - (said.argmax(axis=1) == labels[300:]).mean())
    assert abs(np.mean(gaps)) < 0.06


@pytest.mark.long
def test_shares_of_classes_are_those_of_rows():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(20), 30)
    y = (person < 6).astype(int)
    X = rng.normal(size=(600, 4)) + 0.3 * y[:, None] + rng.normal(size=(20, 1))[person]
    model = FusionClassifier(views={"a": [0, 1], "b": [2, 3]}, random_state=0).fit(X, y, groups=person)
    assert abs(model.predict_proba(X)[:, 1].mean() - 0.3) < 0.08


@pytest.mark.parametrize("n_groups", [1, 2, 30])
def test_rows_alike_tell_as_much_as_one(n_groups):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), 20)
    one = rng.normal(size=n_groups)
    values = np.column_stack([-one, one])[groups]
    posterior = np.eye(2)[(one + rng.normal(size=n_groups) > 0).astype(int)][groups]
    effect = _design_effect(values, posterior, np.ones(len(groups)), groups)
    assert 15 < effect <= 20 * n_groups / max(1, n_groups - 1) + 1e-9
    assert _design_effect(values, posterior, np.ones(len(groups)), None) == 1
    apart = rng.permutation(len(groups)) if n_groups > 1 else groups
    assert _design_effect(values, posterior, np.ones(len(groups)), apart) < 5 or n_groups == 1


@pytest.mark.parametrize(("times", "grouped", "believed"), [(1, False, False), (10, True, False), (10, False, True)])
def test_rows_repeated_in_a_group_do_not_make_wrong_labels_more_probable(times, grouped, believed):
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 2
    one = 2 * (2 * truth - 1) + rng.normal(size=300)
    given = np.where(np.arange(300) % 5 == 0, 1 - truth, truth)
    values, codes, right = (np.repeat(of, times, axis=0) for of in (np.column_stack([-one, one]), given, truth))
    rows = SimpleNamespace(
        weights=np.ones(len(codes)),
        groups=np.repeat(np.arange(300), times) if grouped else None,
        codes=codes[:, None],
        votes=lambda: np.eye(2)[codes],
    )
    posterior = 0.98 * np.eye(2)[right] + 0.01
    _, what = fit_full_calibration(values, rows, posterior, np.full(2, 0.2))
    assert (what is posterior) == believed


def test_each_row_is_calibrated_by_the_largest_pattern_among_its_views():
    calibration = PatternCalibration(
        patterns=np.array([[True, True, True], [True, True, False], [False, True, False], [True, False, False]]),
        slopes=np.array([2.0, 1.5, 0.7, 0.4]),
        intercepts=np.arange(8.0).reshape(4, 2),
        log_prior=np.log([0.3, 0.7]),
    )
    present = np.array([[1, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1]]) > 0
    covered = np.array([True] * 7 + [False])
    numbers = calibration.pattern_of(present)
    assert_array_equal(numbers, [0, 1, 2, 3, 2, -1, -1, 0])
    values = np.random.default_rng(0).normal(size=(8, 2))
    logits = calibration.logits(values, covered, present)
    for row, number in enumerate(numbers):
        slope, intercepts = calibration.line(present[row], bool(covered[row]))
        assert_allclose(logits[row], slope * values[row] + intercepts)
        if number < 0 or not covered[row]:
            assert_allclose(logits[row], np.log([0.3, 0.7]))
        else:
            assert (slope, intercepts.tolist()) == (calibration.slopes[number], calibration.intercepts[number].tolist())


def test_patterns_are_some_views_but_not_all():
    present = np.array([[True, True, True], [True, True, False], [False, False, False]])
    patterns = {tuple(pattern.tolist()) for pattern in patterns_of_views(present)}
    one_missing_or_alone = {tuple(i == j for j in range(3)) for i in range(3)}
    one_missing_or_alone |= {tuple(i != j for j in range(3)) for i in range(3)}
    assert patterns == one_missing_or_alone
    assert patterns_of_views(present[:, :1]) == []
    assert len(patterns_of_views(np.ones((2, 4), dtype=bool))) == 8
    assert patterns_of_views(np.ones((2, 4), dtype=bool), observed_only=True) == []
