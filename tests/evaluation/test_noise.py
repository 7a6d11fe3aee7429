"""Label noise and feature noise: as strong as asked, where asked, and seeded."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fuselearn.evaluation import add_feature_noise, add_label_noise

VIEWS = {"rna": [0, 1], "image": slice(2, 4)}


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(loc=5.0, scale=[1.0, 10.0, 0.1, 3.0], size=(4000, 4))


# Labels


@pytest.mark.parametrize("labels", [[0, 1], ["a", "b", "c"], [3.0, 7.0, 8.0, 9.0]])
@pytest.mark.parametrize("shared", [False, True])
def test_the_asked_part_of_each_view_is_flipped(labels, shared):
    y = np.repeat(labels, 50)
    view_labels, flipped = add_label_noise(y, 3, 0.3, shared=shared, random_state=0)
    assert view_labels.shape == flipped.shape == (len(y), 3)
    assert (flipped.sum(axis=0) == round(0.3 * len(y))).all()
    np.testing.assert_array_equal(view_labels != y[:, None], flipped)
    assert set(np.unique(view_labels)) == set(labels)
    assert (flipped == flipped[:, :1]).all() == shared


def test_flips_of_views_are_independent_of_each_other():
    _, flipped = add_label_noise(np.tile([0, 1], 5000), 3, 0.3, random_state=0)
    assert np.abs(np.corrcoef(flipped.T)[np.triu_indices(3, 1)]).max() < 0.04


def test_wrong_classes_are_drawn_evenly():
    view_labels, flipped = add_label_noise(np.repeat([0, 1, 2, 3], 3000), 1, 1.0, random_state=0)
    assert flipped.all()
    for true, rows in enumerate(np.split(view_labels[:, 0], 4)):
        counts = np.bincount(rows, minlength=4)
        assert counts[true] == 0
        assert np.abs(np.delete(counts, true) - 1000).max() < 120


def test_only_the_named_views_get_noise():
    y = np.tile([0, 1], 20)
    view_labels, flipped = add_label_noise(y, 3, 0.5, views=[2, 0], random_state=0)
    assert flipped.sum(axis=0).tolist() == [20, 0, 20]
    np.testing.assert_array_equal(view_labels[:, 1], y)


def test_label_noise_is_seeded():
    y = np.tile([0, 1], 20)
    first, again, other = (add_label_noise(y, 2, 0.5, random_state=seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1, 1]}, "y must hold at least two classes for a label to be flipped; it has 1"),
        ({"n_views": 0}, "n_views must be an integer of at least 1; got 0"),
        ({"rate": 1.5}, r"rate must be in \[0, 1\]; got 1.5"),
        ({"rate": True}, r"rate must be in \[0, 1\]; got True"),
        ({"rate": np.nan}, "rate must be in .*got nan"),
        ({"rate": "x"}, r"rate must be in \[0, 1\]; got 'x'"),
        ({"views": 0}, "views must be 'all' or a list of numbers from 0 to 1; got 0"),
        ({"views": [True]}, "views must be 'all' or a list of numbers"),
        ({"views": [2]}, r"views must be 'all' or a list of numbers from 0 to 1; got \[2\]"),
        ({"views": "rna"}, "views must be 'all' or a list of numbers from 0 to 1; got 'rna'"),
        ({"shared": "yes"}, "shared must be True or False; got 'yes'"),
    ],
)
def test_wrong_settings_of_label_noise_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        add_label_noise(**{"y": [0, 1, 0], "n_views": 2, "rate": 0.3} | arguments)


# Features


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_noise_is_white_and_as_strong_as_asked(X, scale):
    original = X.copy()
    noise = add_feature_noise(X, VIEWS, scale, random_state=0) - X
    np.testing.assert_array_equal(X, original)
    deviations = X.std(axis=0)
    np.testing.assert_allclose(noise.std(axis=0), scale * deviations, rtol=0.05)
    np.testing.assert_allclose(noise.mean(axis=0) / deviations, 0, atol=0.06 * scale)
    correlations = np.corrcoef(np.hstack([noise, X]).T) - np.eye(8)
    assert np.abs(correlations).max() < 0.06


def test_only_the_named_views_are_changed(X):
    noisy = add_feature_noise(X, VIEWS, 1.0, which=["image"], random_state=0)
    changed = noisy != X
    assert not changed[:, :2].any()
    assert changed[:, 2:].all()
    np.testing.assert_array_equal(add_feature_noise(X, VIEWS, 1.0, which=[], random_state=0), X)
    np.testing.assert_array_equal(add_feature_noise(X, VIEWS, 0, random_state=0), X)


def test_noise_of_a_view_does_not_depend_on_the_others(X):
    both = add_feature_noise(X, VIEWS, 1.0, random_state=0)
    for name, columns in VIEWS.items():
        alone = add_feature_noise(X, VIEWS, 1.0, which=[name], random_state=0)
        np.testing.assert_array_equal(alone[:, columns], both[:, columns])


def test_columns_of_no_view_stay_and_those_of_two_get_noise_once(X):
    noisy = add_feature_noise(X, [[0, 1], [1]], 1.0, which=["view1"], random_state=0)
    np.testing.assert_array_equal(noisy[:, [0, 2, 3]], X[:, [0, 2, 3]])
    assert (noisy[:, 1] - X[:, 1]).std() == pytest.approx(X[:, 1].std(), rel=0.05)
    for which in ("all", ["view0"]):
        other = add_feature_noise(X, [[0, 1], [1]], 1.0, which=which, random_state=0)
        np.testing.assert_array_equal(other[:, 1], noisy[:, 1])


def test_no_views_are_one_view(X):
    expected = add_feature_noise(X, VIEWS, 1.0, random_state=0)
    np.testing.assert_array_equal(add_feature_noise(X, None, 1.0, random_state=0), expected)


def test_what_is_absent_stays_absent(X):
    X[::3, :2] = np.nan
    X[:, 2] = np.nan
    noisy = add_feature_noise(X, VIEWS, 1.0, random_state=0)
    np.testing.assert_array_equal(np.isnan(noisy), np.isnan(X))
    known = ~np.isnan(X[:, 1])
    assert (noisy - X)[known, 1].std() == pytest.approx(X[known, 1].std(), rel=0.05)


@pytest.mark.parametrize("value", [0.1, 1e8, -3.3])
def test_a_constant_column_stays_as_it_is(value):
    X = np.column_stack([np.full(7, value), np.arange(7.0)])
    noisy = add_feature_noise(X, None, 1.0, random_state=0)
    np.testing.assert_array_equal(noisy[:, 0], X[:, 0])
    assert (noisy[:, 1] != X[:, 1]).all()


def test_a_column_far_from_zero_has_the_noise_of_its_spread():
    X = 1e8 + np.random.default_rng(0).normal(size=(4000, 1))
    noise = add_feature_noise(X, None, 1.0, random_state=0) - X
    assert noise.std() == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_data_frame_gives_an_array(X, frame):
    table = frame(dict(zip("abcd", X.T)))
    noisy = add_feature_noise(table, {"rna": ["a", "b"], "image": ["c", "d"]}, 1.0, which=["rna"], random_state=0)
    assert isinstance(noisy, np.ndarray)
    np.testing.assert_array_equal(noisy, add_feature_noise(X, VIEWS, 1.0, which=["rna"], random_state=0))
    np.testing.assert_array_equal(table.to_numpy(), X)


def test_single_precision_is_kept(X):
    single = add_feature_noise(X.astype(np.float32), VIEWS, 1.0, random_state=0)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, add_feature_noise(X, VIEWS, 1.0, random_state=0), rtol=1e-4, atol=1e-4)


def test_feature_noise_is_seeded(X):
    first, again, other = (add_feature_noise(X, VIEWS, 1.0, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": -1}, "scale must be a number of at least 0; got -1"),
        ({"scale": "much"}, "scale must be a number of at least 0; got 'much'"),
        ({"scale": np.nan}, "scale must be a number of at least 0; got nan"),
        ({"scale": True}, "scale must be a number of at least 0; got True"),
        (
            {"which": ["face"]},
            r"which must be 'all' or a list of names of the views \['rna', 'image'\]; got \['face'\]",
        ),
        ({"which": "rna"}, "which must be 'all' or a list .*got 'rna'"),
        ({"which": [0]}, r"which must be 'all' or a list .*got \[0\]"),
        ({"views": {"rna": [9]}}, "View 'rna' asks for column 9"),
        ({"X": np.full((3, 4), np.inf)}, "X contains infinity"),
    ],
)
def test_wrong_settings_of_feature_noise_are_refused(X, arguments, message):
    with pytest.raises(ValueError, match=message):
        add_feature_noise(**{"X": X, "views": VIEWS, "scale": 1.0} | arguments)
