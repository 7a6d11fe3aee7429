"""Views of tables as matrices, whatever the data frame."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fuselearn
from fuselearn import ShareBoostClassifier
from fuselearn.tables import TableClassifier, ViewColumns, absent_views, is_preprocessing_step, lost_columns
from fuselearn.tables.view_preparation import make_steps
from tests.cli.patients import N_ROWS, patients

VIEWS = {"place": ["site"], "rna": [f"rna_{number}" for number in range(4)]}


@pytest.fixture(scope="module")
def table():
    return patients()


@pytest.fixture(scope="module")
def y(table):
    return np.array(table.column("outcome").to_pylist())


def test_any_data_frame_and_any_order_of_columns(table, y):
    model = TableClassifier(ShareBoostClassifier(n_estimators=5), views=VIEWS).fit(table, y)
    expected = model.predict_proba(table)
    shuffled = table.select(sorted(table.column_names))
    for other in (shuffled, table.to_pandas(), pl.from_arrow(table), table.to_pandas().convert_dtypes()):
        np.testing.assert_array_equal(model.predict_proba(other), expected)
    with pytest.raises(TypeError, match="data frame"):
        model.predict(np.zeros((2, 8)))


def test_onehot_of_text(table, y):
    columns = ViewColumns(VIEWS)
    matrix = columns.fit_transform(table, y)
    sites = np.array(table.column("site").to_pylist())
    np.testing.assert_array_equal(matrix[:, :3], sites[:, None] == np.array(["east", "north", "south"]))
    np.testing.assert_array_equal(columns.transform(table), matrix)
    assert list(columns.get_feature_names_out()[:3]) == ["place: site=east", "place: site=north", "place: site=south"]
    other = table.to_pandas().head(3).assign(site=["north", "west", None])
    expected = [[0, 1, 0], [0, 0, 0], [np.nan] * 3]  # one that is not known is none of them; a missing one is missing
    np.testing.assert_array_equal(columns.transform(other)[:, :3], expected)
    assert columns.unknown_categories(other) == {"site": ["west"]}


def test_target_means_are_cross_fitted(table, y):
    columns = ViewColumns({"place": ["site"]}, categorical="target", random_state=0)
    training = columns.fit_transform(table, y)
    again = columns.transform(table)
    # A row of the file gets the mean over all rows of its category; one of the training rows, of other rows only.
    assert len(np.unique(again)) == 3
    assert len(np.unique(training)) > 3
    rare = pd.DataFrame({"site": [f"s{number}" for number in range(N_ROWS)]})
    blind = ViewColumns({"place": ["site"]}, categorical="target", random_state=0)
    leaked = blind.fit_transform(rare, y)[:, 0]
    # Categories of one row say nothing: none may have learnt its own label.
    assert np.ptp(leaked) < 0.05
    unknown = blind.transform(pd.DataFrame({"site": ["new"]}))[0, 0]
    assert unknown == pytest.approx(np.mean(y == blind.preparations_["place"].encoders_["site"].classes[1]))


def test_target_encoding_of_three_classes(table):
    columns = ViewColumns(VIEWS, categorical="target", random_state=0)
    matrix = columns.fit_transform(table, np.array(["a", "b", "c"] * (N_ROWS // 3)))
    assert list(columns.get_feature_names_out()[:3]) == ["place: site~a", "place: site~b", "place: site~c"]
    np.testing.assert_allclose(matrix[:, :3].sum(axis=1), 1, atol=0.01)
    np.testing.assert_allclose(columns.transform(table)[:, :3].sum(axis=1), 1, atol=0.01)


def test_steps():
    assert [type(step).__name__ for step in make_steps(["none", "robust", "standard"], 0)] == [
        "RobustScaler",
        "StandardScaler",
    ]
    assert make_steps(["pca:3"], 0)[-1].n_components == 3
    assert make_steps(["pca:0.5"], 0)[-1].n_components == 0.5
    assert all(map(is_preprocessing_step, ["none", "standard", "robust", "pca:2", "pca:0.9"]))
    assert not any(map(is_preprocessing_step, ["pca", "pca:0", "pca:1.5", "pca:x", "scaled", 3]))


def test_views_and_columns_that_a_table_lacks(table, y):
    names = ["site", "rna_0", "rna_1"]
    assert absent_views(VIEWS, ["site"]) == ["rna"]
    assert lost_columns(VIEWS, names) == {"rna": ["rna_2", "rna_3"]}
    columns = ViewColumns(VIEWS).fit(table, y)
    assert np.isnan(columns.transform(table.select(["site"]))[:, 3:]).all()
    with pytest.raises(ValueError, match="The view 'rna' lacks the column 'rna_2' and 1 more"):
        columns.transform(table.select(names))
    with pytest.raises(ValueError, match="X has none of the columns that the model was fitted on, such as 'site'"):
        columns.transform(table.select(["outcome"]))


def test_columns_that_the_matrix_comes_from():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 4)), columns=["a", "b", "c", "d"])
    table["site"] = np.array(["north", "south", "east"])[np.arange(30) % 3]
    views = {"first": ["a", "site", "b"], "second": ["c", "d"]}
    y = np.arange(30) % 2
    columns = ViewColumns(views).fit(table, y)
    assert columns.source_columns() == ["a", "site", "site", "site", "b", "c", "d"]
    projected = ViewColumns(views, preprocess={"second": ["pca:2"]}, random_state=0).fit(table, y)
    # Even where there are as many components as columns.
    assert projected.source_columns()[-2:] == ["second: component_0", "second: component_1"]
    assert len(projected.source_columns()) == projected.transform(table).shape[1]


def test_dates_become_year_month_weekday_and_days():
    """As Python's calendar has them, for dates before and after 1970, with times and gaps."""
    rng = np.random.default_rng(0)
    first = datetime.datetime(1910, 3, 1)
    moments = [first + datetime.timedelta(days=int(day), hours=6) for day in rng.integers(0, 60_000, 200)]
    moments[7] = None
    table = pl.DataFrame({"seen": moments, "dose": np.arange(200.0)})
    y = np.arange(200) % 2
    columns = ViewColumns({"visit": ["seen", "dose"]})
    matrix = columns.fit_transform(table, y)
    assert columns.preparations_["visit"].feature_names_ == [
        "seen~year",
        "seen~month",
        "seen~weekday",
        "seen~days",
        "dose",
    ]
    start = min(moment for moment in moments if moment).date()
    for row, moment in zip(matrix, moments):
        if moment is None:
            assert np.isnan(row[:4]).all()
            continue
        expected = [moment.year, moment.month, moment.weekday(), (moment.date() - start).days + 0.25]
        np.testing.assert_allclose(row[:4], expected, rtol=0, atol=1e-9)
    for frame in (table.to_pandas(), table.to_arrow(), table.with_columns(pl.col("seen").dt.replace_time_zone("UTC"))):
        np.testing.assert_array_equal(columns.transform(frame), matrix)
    with pytest.raises(ValueError, match="not the dates that the model was fitted on"):
        columns.transform(table.with_columns(seen=pl.lit("soon")))


def test_dates_of_objects_and_dates_that_are_missing():
    day = datetime.date(2024, 2, 29)
    table = pd.DataFrame({"seen": [day, None, day], "dose": [1.0, 2.0, 3.0]})
    columns = ViewColumns({"visit": ["seen", "dose"]}).fit(table, [0, 1, 0])
    assert columns.kinds_["seen"] == "date"
    np.testing.assert_array_equal(columns.transform(table)[0], [2024, 2, 3, 0, 1])
    none = columns.transform(pd.DataFrame({"seen": [None], "dose": [1.0]}))
    assert np.isnan(none[0, :4]).all()
    assert columns.source_columns() == ["seen"] * 4 + ["dose"]


def test_a_model_with_dates_is_saved_and_loaded(tmp_path):
    table = pl.DataFrame({"seen": [datetime.date(2020, 1 + n % 12, 1) for n in range(24)], "dose": np.arange(24.0)})
    y = np.arange(24) % 12 < 6
    model = TableClassifier(ShareBoostClassifier(n_estimators=3), views={"visit": ["seen", "dose"]}).fit(table, y)
    fuselearn.save(model, tmp_path / "model.fuse")
    again = fuselearn.load(tmp_path / "model.fuse")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize("categorical", ["onehot", "target"])
def test_white_space_around_a_text_is_not_part_of_it(categorical):
    y = [0, 1] * 10
    plain = pd.DataFrame({"town": ["north", "south"] * 10, "x": range(20)})
    padded = plain.assign(town=["north ", "south"] * 9 + ["north", " south"])
    expected = ViewColumns(categorical=categorical, random_state=0).fit(plain, y)
    columns = ViewColumns(categorical=categorical, random_state=0)
    with pytest.warns(UserWarning, match="'town' has ' south' beside 'south': they count as one category"):
        columns.fit(padded, y)
    assert np.array_equal(columns.transform(padded), expected.transform(plain))
    assert columns.unknown_categories(padded) == {}
    assert columns.unknown_categories(plain.assign(town=" west")) == {"town": [" west"]}


def test_categories_of_earlier_versions_keep_their_white_space():
    from fuselearn.tables.fitted_steps import OneHotEncoding

    encoding = OneHotEncoding([" a", "a", "b "])
    encoded = encoding.transform(np.array([" a", "a", "a ", "b ", "b"], dtype=object))
    assert encoded.argmax(axis=1).tolist()[:4] == [0, 1, 1, 2]
    assert encoded[4].tolist() == [0, 0, 0]


def test_columns_alone_need_no_target(table):
    columns = ViewColumns({"rna": "rna_*"})
    expected = table.select([name for name in table.column_names if name.startswith("rna_")]).to_pandas().to_numpy()
    np.testing.assert_array_equal(columns.fit_transform(table, None), expected)
