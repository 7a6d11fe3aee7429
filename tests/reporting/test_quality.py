"""Measures of quality, against closed formulas and simulation."""

import numpy as np
import pytest

from fuselearn.reporting import quality


def test_wilson_interval_and_sign_test():
    # Wilson 1927, by the closed formula.
    n, k, z = 50, 45, 1.959963984540054
    centre = (k / n + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(k / n * (1 - k / n) / n + z**2 / (4 * n**2))
    assert quality.share_interval(np.arange(n) < k) == pytest.approx((centre - half, centre + half))
    first, second = np.array([True] * 6 + [False]), np.array([False] * 6 + [False])
    assert quality.sign_test(first, second) == pytest.approx(2 / 2**6)
    assert quality.sign_test(first, first) == 1.0


def test_calibration_counts_rows_and_gaps():
    probabilities = np.array([[0.95, 0.05], [0.95, 0.05], [0.55, 0.45], [0.0, 1.0]])
    predicted = np.array([0, 0, 0, 1])
    found = quality.calibration(np.array([0, 1, 0, 1]), predicted, probabilities, np.array([0, 1]))
    assert [one["rows"] for one in found["bins"]] == [1, 3]
    assert found["bins"][1]["observed"] == pytest.approx(2 / 3)
    assert found["bins"][1]["stated"] == pytest.approx((0.95 + 0.95 + 1.0) / 3)
    assert found["error"] == pytest.approx((0.45 + 3 * abs(2 / 3 - 2.9 / 3)) / 4)
    # What is stated is the probability of the predicted class, be it the largest or not.
    found = quality.calibration(np.array([0, 1]), np.array([1, 1]), probabilities[:2], np.array([0, 1]))
    assert found["stated"] == pytest.approx(0.05)
    assert found["observed"] == 0.5


def test_the_interval_of_balanced_accuracy_covers_it_about_as_often_as_it_should():
    rng = np.random.default_rng(0)
    sizes, recalls = np.array([200, 60, 20]), np.array([0.9, 0.7, 0.5])
    hits = 0
    for _ in range(1000):
        low, high = quality.balanced_interval(rng.binomial(sizes, recalls) / sizes, sizes)
        hits += low <= np.mean(recalls) <= high
    assert 920 <= hits <= 980
    y = np.repeat([0, 1, 2], sizes)
    predicted = np.where(rng.random(280) < recalls[y], y, 9)
    score = quality.class_score(y, predicted, 0)
    seen = np.array([np.mean(predicted[y == label] == label) for label in range(3)])
    assert score["balanced_accuracy"] == pytest.approx(seen.mean())
    assert (score["balanced_low"], score["balanced_high"]) == quality.balanced_interval(seen, sizes)


def test_classes_without_rows_or_predictions_have_no_figures():
    found = quality.per_class(np.array(["a", "a"]), np.array(["a", "b"]), ["a", "b", "c"])
    assert found[1]["recall"] is None
    assert found[1]["precision"] == 0.0
    assert found[2]["f1"] is None
