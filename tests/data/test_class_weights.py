"""`class_weight` as weights of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_sample_weight

from fuselearn.data import ClassWeights, class_weighted
from fuselearn.data.class_weights import given_class_weights
from fuselearn.data.labels import are_unequal
from fuselearn.numeric.exact_sums import limb_sums, sums_of_limbs

CLASSES = np.array(["a", "b", "c"])


def random_rows(seed, n_rows=40):
    generator = np.random.default_rng(seed)
    codes = np.r_[0, 1, 2, generator.integers(0, 3, n_rows)].astype(np.int32)
    weights = generator.random(len(codes)) ** 3
    weights[5:][generator.random(len(codes) - 5) < 0.2] = 0.0
    return codes, weights / weights.max()


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 3, "b": 0.25, "c": 1.0}, {"c": 10}, {}])
def test_weights_are_those_of_scikit_learn(class_weight):
    codes, _ = random_rows(0)
    expected = compute_sample_weight(class_weight, CLASSES[codes])
    weights, largest = class_weighted(codes, CLASSES, np.ones(len(codes)), class_weight)
    assert largest == pytest.approx(expected.max(), rel=1e-15)
    assert_allclose(weights, expected / expected.max(), rtol=1e-15)
    assert weights.max() == 1.0


@given(st.integers(0, 2**32 - 1))
def test_balanced_classes_weigh_the_same(seed):
    codes, weights = random_rows(seed)
    balanced, _ = class_weighted(codes, CLASSES, weights, "balanced")
    totals = np.bincount(codes, balanced)
    assert_allclose(totals, totals[0], rtol=1e-12)
    assert balanced.max() == 1.0
    for code in range(3):
        ratio = balanced[(codes == code) & (weights > 0)] / weights[(codes == code) & (weights > 0)]
        assert_allclose(ratio, ratio[0], rtol=1e-15)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 43), max_size=5), st.sampled_from(["balanced", {"b": 7.0}]))
def test_partitions_do_not_matter(seed, cuts, class_weight):
    codes, weights = random_rows(seed)
    parts = list(zip(np.split(codes, sorted(cuts)), np.split(weights, sorted(cuts))))
    limbs = sum(limb_sums(part_weights, part_codes, 3) for part_codes, part_weights in parts)
    largest = [
        max(part_weights[part_codes == code].max(initial=0) for part_codes, part_weights in parts) for code in range(3)
    ]
    factors = ClassWeights.of(class_weight, CLASSES, np.array(sums_of_limbs(limbs)), np.array(largest))
    in_parts = np.concatenate([factors.of_rows(*part) for part in parts])
    weighted, largest = class_weighted(codes, CLASSES, weights, class_weight)
    assert_array_equal(in_parts, weighted)
    assert largest == factors.largest


def test_factors_keep_the_weight_of_all_rows():
    totals = np.array([30.0, 5.0, 15.0])
    balanced = ClassWeights.of("balanced", CLASSES, totals, np.ones(3))
    assert_allclose(balanced.factors * totals, 50 / 3)
    assert balanced.largest == balanced.factors.max()
    assert ClassWeights.of(None, CLASSES, totals, np.ones(3)).factors.tolist() == [1, 1, 1]


def test_a_class_without_weight_is_passed_over():
    codes, weights = np.array([0, 0, 0, 1, 2]), np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    assert_allclose(class_weighted(codes, CLASSES, weights, "balanced")[0], [1 / 3, 1 / 3, 1 / 3, 1, 0])


def test_rows_without_a_class_keep_their_share():
    weights, _ = class_weighted(np.array([0, -1, 1, 2]), CLASSES, np.array([1.0, 0.0, 1.0, 1.0]), {"a": 2})
    assert_array_equal(weights, [1, 0, 0.5, 0.5])


def test_without_class_weight_nothing_changes():
    codes, weights = random_rows(1)
    unchanged, largest = class_weighted(codes, CLASSES, weights, None)
    assert unchanged is weights
    assert largest == 1.0


def test_classes_are_numbers_or_truth_values_too():
    codes = np.array([0, 1, 1])
    assert_array_equal(class_weighted(codes, np.array([3, 7]), np.ones(3), {7: 2})[0], [0.5, 1, 1])
    assert_array_equal(class_weighted(codes, np.array([False, True]), np.ones(3), {True: 2})[0], [0.5, 1, 1])
    assert_array_equal(class_weighted(codes, np.array([3.0, 7.0]), np.ones(3), {7: np.float32(2)})[0], [0.5, 1, 1])


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"d": 1, "a": 2, "e": 1}, r"class_weight names classes that y does not have: 'd', 'e'; the classes are \['a'"),
        ({"a": 0}, "class_weight gives the class 'a' the weight 0; a number above 0 is needed"),
        ({"a": -1.0}, "the weight -1.0; a number above 0"),
        ({"a": np.nan}, "the weight nan; a number above 0"),
        ({"a": np.inf}, "the weight inf; a number above 0"),
        ({"a": "2"}, "the weight '2'; a number above 0"),
        ("equal", "class_weight must be None, 'balanced' or a dict of class to weight; got 'equal'"),
        ([1, 2, 3], r"class_weight must be None, 'balanced' or a dict of class to weight; got \[1, 2, 3\]"),
    ],
)
def test_messages(class_weight, message):
    with pytest.raises(ValueError, match=message):
        class_weighted(*random_rows(0)[:1], CLASSES, np.ones(43), class_weight)


def test_weights_as_given():
    np.testing.assert_array_equal(given_class_weights(None, CLASSES), np.ones(3))
    np.testing.assert_array_equal(given_class_weights({CLASSES[1]: 2}, CLASSES), [1, 2, 1])
    assert given_class_weights("balanced", CLASSES) is None
    with pytest.raises(ValueError, match="class_weight must be None"):
        given_class_weights(2.0, CLASSES)


@pytest.mark.parametrize(
    ("counts", "unequal"), [([60, 41], False), ([60, 40], True), ([5, 5, 5], False), ([9, 0], False), ([9, 0, 1], True)]
)
def test_unequal_classes(counts, unequal):
    assert are_unequal(counts) is unequal
