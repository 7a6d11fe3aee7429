"""The one reader of training data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn import LabelConsensus
from fuselearn.data import read_regression_data, read_training_data
from fuselearn.data.folds import encode_groups

rng = np.random.default_rng(0)
X, y = rng.normal(size=(12, 4)), np.array(["no", "yes"] * 6)
MODEL = LabelConsensus(views={"a": [0, 1], "b": [2, 3]})


def absent(rows, columns, table=X):
    changed = table.copy()
    changed[np.ix_(rows, columns)] = np.nan
    return changed


def test_one_label_column():
    data = read_training_data(MODEL, absent([3], [2, 3]), y)
    assert len(data) == data.n_rows_given == 12
    assert data.names == ["a", "b"]
    assert [columns.tolist() for columns in data.columns] == [[0, 1], [2, 3]]
    assert data.classes.tolist() == ["no", "yes"]
    assert data.label_columns == ["y"]
    assert not data.has_view_labels
    assert not data.weighted
    assert data.groups is None
    assert_array_equal(data.weights, 1)
    assert_array_equal(data.codes[:, 0], y == "yes")
    assert_array_equal(data.view_codes()[:, 0], y == "yes")
    assert_array_equal(data.view_codes()[:, 1], np.where(np.arange(12) == 3, -1, y == "yes"))
    assert_array_equal(data.majority(), y == "yes")
    assert_allclose(data.class_prior(), 0.5)
    assert_array_equal(data.votes(), np.column_stack([y == "no", y == "yes"]))
    assert data.features == {"n_features_in_": 4}


def test_label_columns_of_views():
    view_labels = np.column_stack([y, y[::-1]])
    data = read_training_data(MODEL, absent([3], [2, 3]), y, view_labels=view_labels)
    assert data.label_columns == ["a", "b"]
    assert data.has_view_labels
    assert data.codes[3].tolist() == [1, -1]
    assert_array_equal(data.codes, data.view_codes())
    assert_array_equal(data.majority(), data.codes[:, 0])  # a tie goes to the first view
    assert_allclose(data.votes().sum(axis=1), 1)
    assert data.votes()[0].tolist() == [0.5, 0.5]
    assert_allclose(data.class_prior(), [5.5 / 12, 6.5 / 12])
    one_view = read_training_data(LabelConsensus(views={"y": [0]}), X, y, view_labels=y[:, None])
    assert one_view.has_view_labels


@pytest.mark.parametrize("unit", [1.0, 2.0**-900, 2.0**900, 2.0**1020])
def test_weights_are_in_units_of_their_mean(unit):
    weights = np.where(np.arange(12) < 4, 0.0, np.arange(12.0) + 1)  # 5 to 12, whose sum overflows in the last unit
    data = read_training_data(MODEL, X, y, weights * unit)
    assert_array_equal(data.weights, (weights / 12) / (weights[4:] / 12).mean())
    largest = read_training_data(MODEL, X, y, weights * unit, largest_weight_is_one=True)
    assert_array_equal(largest.weights, weights / 12)


@pytest.mark.parametrize("drop", [False, True])
def test_rows_of_weight_zero(drop):
    weights = np.where(np.arange(12) < 4, 0.0, 2.0)
    data = read_training_data(MODEL, absent([0, 1], [0, 1, 2, 3]), y, weights, drop_unused=drop)
    assert data.weighted
    assert data.n_rows_given == 12
    if drop:
        assert_array_equal(data.row_numbers, np.arange(4, 12))
        assert data.blocks.present.all()
        assert_array_equal(data.weights, 1)
        assert_array_equal(data.blocks.views[0].table, X[4:])
    else:
        assert len(data) == 12
        assert_array_equal(data.blocks.present.any(axis=1), weights > 0)
    spread = data.over_all_rows(np.arange(len(data), dtype=float))
    assert_array_equal(np.isnan(spread), drop & (weights == 0))
    assert_array_equal(data.over_all_rows(data.codes, fill=-1)[4:], data.codes[-8:])
    assert_allclose(data.class_prior(), 0.5)


def test_rows_of_hardly_any_weight():
    weights = np.r_[1e-12, np.ones(11)]
    assert len(read_training_data(MODEL, X, y, weights, drop_unused=True)) == 12
    assert len(read_training_data(MODEL, X, y, weights, negligible_weight=1e-9, drop_unused=True)) == 11


def test_rows_without_any_label_are_dropped():
    view_labels = np.where(np.arange(12)[:, None] < 3, None, np.column_stack([y, y]).astype(object))
    kept = read_training_data(MODEL, X, y, view_labels=view_labels, optional_labels=True)
    assert_array_equal(kept.codes[:3], -1)
    dropped = read_training_data(MODEL, X, y, view_labels=view_labels, optional_labels=True, drop_unused=True)
    assert_array_equal(dropped.row_numbers, np.arange(3, 12))


@pytest.mark.parametrize("groups", [[7] * 6 + [3] * 6, ["x"] * 6 + ["a"] * 6, pd.Series(["x"] * 6 + ["a"] * 6)])
def test_groups_are_numbered_by_their_first_row(groups):
    assert_array_equal(read_training_data(MODEL, X, y, groups=groups).groups, np.repeat([0, 1], 6))


def test_groups_that_are_whole_numbers_are_numbered_as_names_are():
    generator = np.random.default_rng(3)
    groups, rows = generator.integers(-50, 50, 300), np.sort(generator.choice(300, 200, replace=False))
    numbers = encode_groups(groups, 300, rows)
    assert_array_equal(numbers, encode_groups(groups.astype(str), 300, rows))
    assert_array_equal(numbers, encode_groups(groups.tolist(), 300, rows))
    assert numbers[0] == 0
    assert_array_equal(np.unique(numbers), np.arange(len(set(groups[rows]))))


def test_columns_of_data_frames():
    model = LabelConsensus(views={"a": ["p", "q"], "b": slice("r", "s")})
    for library in (pd, pl):
        data = read_training_data(model, library.DataFrame(dict(zip("pqrs", X.T))), y)
        assert data.features["feature_names_in_"].tolist() == list("pqrs")
        assert [columns.tolist() for columns in data.columns] == [[0, 1], [2, 3]]
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(12)}, "y must hold at least two classes; it has one class only"),
        ({"y": np.linspace(0, 1, 12)}, "Unknown label type"),
        ({"y": y[:5]}, r"inconsistent numbers of samples: \[12, 5\]"),
        ({"X": absent([2, 5], [0, 1, 2, 3])}, "absent .* in 2 of the rows of X, the first being row 2"),
        ({"X": absent(range(12), [2, 3])}, "The view 'b' is absent .* in every row of X that counts"),
        ({"sample_weight": np.zeros(12)}, "sample_weight is zero for every row; at least one row must count"),
        ({"sample_weight": -np.ones(12)}, "sample_weight holds negative weights, the least -1.0"),
        ({"sample_weight": np.full(12, np.inf)}, "sample_weight holds NaN or infinity"),
        ({"sample_weight": np.ones((12, 2))}, r"sample_weight must be 1-D, a weight per row; got shape \(12, 2\)"),
        ({"sample_weight": ["a"] * 12}, "sample_weight must hold numbers"),
        ({"sample_weight": np.ones(5)}, r"inconsistent numbers of samples: \[12, 5\]"),
        ({"sample_weight": y == "no"}, "rows of X with a positive sample_weight are all of one class, 'no'"),
        ({"view_labels": y}, r"view_labels must have shape \(n_samples, n_views\) = \(12, 2\)"),
        ({"groups": np.zeros(12)}, "groups puts all rows of X that count into one group"),
        ({"groups": np.zeros(3)}, r"groups must have one entry for each of the 12 rows of X; got shape \(3,\)"),
        ({"groups": np.r_[np.nan, np.arange(11)]}, "groups has no value for row 0"),
        ({"groups": [[1]] * 11 + [None]}, "groups must have one entry|groups has no value"),
    ],
)
def test_messages(arguments, message):
    with pytest.raises(ValueError, match=message):
        read_training_data(MODEL, **{"X": X, "y": y, **arguments})


def outlier_in(column, value=1e20):
    table = X.copy()
    table[5, column] = value
    return table


def test_a_gross_outlier_is_named():
    with pytest.warns(UserWarning, match=r"X has 1 gross outlier, .*: 1e\+20 in column 2, row 5\. One can decide the"):
        data = read_training_data(MODEL, outlier_in(2), y)
    assert data.blocks.views[1].table[5, 2] == 1e20
    frame = pd.DataFrame(outlier_in(2), columns=["a", "b", "income", "d"])
    with pytest.warns(UserWarning, match="1e\\+20 in column 'income', row 5"):
        read_training_data(MODEL, frame, y)


def test_a_clipped_outlier_is_the_nearest_of_the_others():
    with pytest.warns(UserWarning, match="Each counts as the nearest of the others"):
        data = read_training_data(MODEL, outlier_in(2), y, clip_outliers=True)
    assert data.blocks.views[0].table[5, 2] == np.delete(X[:, 2], 5).max()
    assert read_training_data(MODEL, X, y, clip_outliers=True).blocks.views[0].table is X


def test_only_a_few_columns_with_outliers_are_named():
    table = rng.normal(size=(12, 9))
    table[3], table[4, 0] = 1e30, -1e30
    with pytest.warns(UserWarning, match="10 gross outliers.*column 4, row 3; and in 4 more columns"):
        read_training_data(LabelConsensus(), table, y)


def test_outliers_in_rows_that_do_not_count_are_no_outliers():
    weights = (np.arange(12) != 5).astype(float)
    data = read_training_data(MODEL, outlier_in(2), y, weights)
    assert data.ranges is not None
    assert data.ranges[3, 2] == np.delete(X[:, 2], 5).max()
    with pytest.warns(UserWarning, match="row 7"):
        read_training_data(MODEL, np.roll(outlier_in(2), 2, axis=0), y, weights)


class Regressor(LabelConsensus):
    """A regressor by its name: what is read depends on nothing else of it."""


TARGET = np.linspace(-3.0, 8.0, 12)
REGRESSOR = Regressor(views={"a": [0, 1], "b": [2, 3]})


def test_data_of_a_regression():
    weights = np.where(np.arange(12) < 3, 0.0, np.arange(12.0))
    data = read_regression_data(REGRESSOR, absent([0, 1], [0, 1, 2, 3]), TARGET, weights, list("aabbccddeeff"))
    assert len(data) == 12
    assert data.n_counted == 9
    assert data.names == ["a", "b"]
    assert [columns.tolist() for columns in data.columns] == [[0, 1], [2, 3]]
    assert_array_equal(data.target, TARGET)
    assert_array_equal(data.weights, weights / 11)
    assert data.weighted
    assert_array_equal(data.groups, np.repeat(np.arange(6), 2))
    assert_array_equal(data.blocks.present.any(axis=1), weights > 0)
    assert data.features == {"n_features_in_": 4}


@pytest.mark.parametrize(
    "target",
    [
        np.arange(12),
        np.arange(12).astype(np.float32),
        list(range(12)),
        np.array([*range(11), 11.0], dtype=object),
        pd.Series(range(12), dtype="Int64"),
        pl.Series(range(12)),
        np.arange(12) > 5,
    ],
)
def test_targets_are_double_precision_numbers(target):
    data = read_regression_data(REGRESSOR, pd.DataFrame(X, columns=list("pqrs")), target)
    assert data.target.dtype == np.float64
    assert_array_equal(data.target, np.asarray(target, dtype=float))
    assert data.features["feature_names_in_"].tolist() == list("pqrs")
    assert_array_equal(data.weights, 1)
    assert not data.weighted
    assert data.groups is None


def changed_target(row, value, dtype=object):
    target = TARGET.astype(dtype)
    target[row] = value
    return target


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": changed_target(7, np.nan, float)}, "y must hold finite numbers; got nan in row 7. Leave rows without"),
        ({"y": changed_target(2, -np.inf, float)}, "y must hold finite numbers; got -inf in row 2"),
        ({"y": changed_target(5, None)}, "y must hold finite numbers; got None in row 5"),
        ({"y": changed_target(5, np.nan)}, "y must hold finite numbers; got nan in row 5"),
        ({"y": changed_target(0, [1])}, r"y must hold finite numbers; got \[1\] in row 0"),
        ({"y": changed_target(0, 10**400)}, "y must hold finite numbers; got 1000"),
        ({"y": pd.Series([*range(11), None], dtype="Int64")}, "y must hold finite numbers; got (<NA>|nan) in row 11"),
        ({"y": pl.Series([*range(11), None])}, "y must hold finite numbers; got nan in row 11"),
        ({"y": pd.date_range("2026-01-01", periods=12)}, "y must hold finite numbers; got .* in row 0"),
        ({"y": np.arange(12).astype("datetime64[ns]")}, "y must hold finite numbers; got 1970-01-01.* in row 0"),
        ({"y": np.arange(12).astype("timedelta64[ns]")}, "y must hold finite numbers; got 0 nanoseconds in row 0"),
        ({"y": y}, "y must hold numbers; got the text 'no' in row 0. For labels that are classes, use Classifier"),
        ({"y": changed_target(3, "3.5")}, "y must hold numbers; got the text '3.5' in row 3"),
        ({"y": pl.Series(y.tolist())}, "y must hold numbers; got the text 'no' in row 0"),
        ({"model": MODEL, "y": y}, "For labels that are classes, use a classifier"),
        ({"y": TARGET[:5]}, r"inconsistent numbers of samples: \[12, 5\]"),
        ({"y": np.column_stack([TARGET, TARGET])}, "y should be a 1d array"),
        ({"y": TARGET + 1j}, "Complex data not supported"),
        ({"X": absent([2, 5], [0, 1, 2, 3])}, "absent .* in 2 of the rows of X, the first being row 2"),
        ({"X": absent(range(12), [2, 3])}, "The view 'b' is absent .* in every row of X that counts"),
        ({"X": outlier_in(1, np.inf)}, "Input X contains infinity"),
        ({"sample_weight": np.zeros(12)}, "sample_weight is zero for every row; at least one row must count"),
        ({"groups": np.zeros(12)}, "groups puts all rows of X that count into one group"),
        ({"groups": np.r_[np.nan, np.arange(11)]}, "groups has no value for row 0"),
    ],
)
def test_messages_of_a_regression(arguments, message):
    with pytest.raises(ValueError, match=message):
        read_regression_data(**{"model": REGRESSOR, "X": X, "y": TARGET, **arguments})


def test_gross_outliers_of_a_regression():
    with pytest.warns(UserWarning, match=r"X has 1 gross outlier, .*: 1e\+20 in column 2, row 5\. One can decide the"):
        read_regression_data(REGRESSOR, outlier_in(2), TARGET)
    target = changed_target(4, 1e20, float)
    with pytest.warns(UserWarning, match=r"y has 1 gross outlier, .*: 1e\+20 in row 4\. .* or leave their rows out"):
        read_regression_data(REGRESSOR, X, target)
    read_regression_data(REGRESSOR, X, target, np.arange(12) != 4)  # a row that does not count
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        read_regression_data(REGRESSOR, X, TARGET[:, None])
