"""The small table of records: a sequence, text, HTML, and data frames."""

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from fuselearn import FusionClassifier, LabelConsensus, TableClassifier, compare, load, save
from fuselearn.data import view_table
from fuselearn.records import Records

RECORDS = [{"row": 7, "label": "<i>", "chance": 0.98765}, {"row": 2, "label": "b|c", "chance": None}]


@pytest.fixture
def table():
    return Records({name: [record[name] for record in RECORDS] for name in RECORDS[0]})


@pytest.fixture
def no_frames(monkeypatch):
    """Take away pandas, polars and pyarrow."""
    monkeypatch.setattr(view_table, "find_spec", lambda name: None)


def test_it_is_a_sequence_of_records(table):
    assert len(table) == 2
    assert list(table) == RECORDS == table
    assert table[0] == table[-2] == RECORDS[0]
    assert isinstance(table[:1], Records)
    assert table[:1] == RECORDS[:1]
    assert table[:0] == []
    assert table != RECORDS[:1]
    assert table != 3
    assert table[:] == table
    assert RECORDS[1] in table
    for wrong in (2, -3):
        with pytest.raises(IndexError, match="has 2 rows; got row"):
            table[wrong]


def test_columns_by_name(table):
    assert table.columns == ["row", "label", "chance"]
    assert (table["row"] == np.array([7, 2])).all()
    assert table["row"].dtype.kind == "i"
    assert table["label"].tolist() == ["<i>", "b|c"]
    assert table["chance"].tolist() == [0.98765, None]
    assert Records({"x": ["1", 2]})["x"].tolist() == ["1", 2]
    assert len(Records({"x": []})["x"]) == 0
    with pytest.raises(KeyError, match="has the columns row, label, chance; got 'nothing'"):
        table["nothing"]


@pytest.mark.parametrize("columns", [{}, {"a": [1], "b": [1, 2]}])
def test_columns_must_fit_together(columns):
    with pytest.raises(ValueError, match="at least one, and all of the same length"):
        Records(columns)


def test_text(table):
    assert repr(table).splitlines() == [
        "row  label  chance",
        "---  -----  ------",
        "  7  <i>    0.9877",
        "  2  b|c         –",
    ]
    assert repr(table[:0]).endswith("(no rows)")
    assert repr(Records({"x": range(30)})).endswith("… and 10 more rows")


def test_html_has_no_markup_of_the_values(table):
    page = table._repr_html_()
    assert page.count("<tr>") == 3
    assert "&lt;i&gt;" in page
    assert "<i>" not in page
    assert "and 40 more rows" in Records({"x": range(100)})._repr_html_()


def test_data_frames(table):
    assert table.to_pandas().equals(pd.DataFrame(RECORDS))
    assert pd.DataFrame(table).equals(pd.DataFrame(RECORDS))
    assert table.to_polars().to_dicts() == pl.DataFrame(table).to_dicts() == RECORDS
    assert table.to_arrow().to_pylist() == pa.table(table).to_pylist() == RECORDS


@pytest.mark.parametrize(("method", "remedy"), [("to_pandas", "pandas"), ("to_arrow", r"'fuselearn\[app\]'")])
def test_a_library_that_is_missing_is_named(table, monkeypatch, method, remedy):
    def refuse(name, *rest):
        raise ImportError(name)

    monkeypatch.setattr("fuselearn.records.import_module", refuse)
    with pytest.raises(ImportError, match=f"pip install {remedy}"):
        getattr(table, method)()


def test_tables_of_a_model_without_any_library_of_frames(no_frames, monkeypatch):
    X, y = load_iris(return_X_y=True)
    views = {"sepal": [0, 1], "petal": [2, 3]}
    model = FusionClassifier(views=views, learners="linear", random_state=0).fit(X, y)
    assert isinstance(model.leaderboard_, Records)
    assert model.leaderboard_["view"].tolist()[0] in ("petal", "all views")
    imported = builtins.__import__

    def without_pandas(name, *rest):
        if name.partition(".")[0] == "pandas":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    assert "FusionClassifier" in model._repr_html_()
    result = compare(X, y, views=views, methods=["view:petal", "svm_sum"], runs=2, random_state=0)
    assert isinstance(result.table, Records)
    assert result.table["method"].tolist() == result.methods


@pytest.mark.parametrize("names", ["text", "shuffled", "dates"])
def test_suspects_have_the_index_of_the_frame(names, tmp_path):
    X, y = load_iris(return_X_y=True)
    y[7] = 2
    index = {
        "text": [f"patient {number}" for number in range(150)],
        "shuffled": np.random.default_rng(0).permutation(150),
        "dates": pd.date_range("2024-01-01", periods=150),
    }[names]
    frame = pd.DataFrame(X, columns=list("abcd"), index=index)
    consensus = LabelConsensus(views={"sepal": ["a", "b"], "petal": ["c", "d"]}, random_state=0).fit(frame, y)
    fusion = FusionClassifier(views={"sepal": ["a", "b"], "petal": ["c", "d"]}, learners="linear", random_state=0)
    whole = TableClassifier(clone(fusion).set_params(views=None), views={"sepal": ["a", "b"], "petal": ["c", "d"]})
    for model in (consensus, fusion.fit(frame, y), whole.fit(frame, y)):
        worst = model.suspects(1)[0]
        assert list(worst) == ["row", "index", "column", "given", "proposed", "probability"]
        assert worst["row"] == 7
        assert str(worst["index"]) == str(index[7])
        assert frame.loc[worst["index"]].tolist() == X[7].tolist()
        save(model, tmp_path / "model.fuse", overwrite=True)
        assert load(tmp_path / "model.fuse").suspects(9) == model.suspects(9)


def test_rows_that_are_only_counted_have_no_index():
    X, y = load_iris(return_X_y=True)
    for table in (X, pd.DataFrame(X), pl.DataFrame(X)):
        model = LabelConsensus(random_state=0).fit(table, y)
        assert model.suspects(1).columns == ["row", "column", "given", "proposed", "probability"]


def test_an_index_that_does_not_fit_is_refused():
    X, y = load_iris(return_X_y=True)
    model = LabelConsensus(random_state=0).fit(X, y)
    model._index = np.array(["a"])
    with pytest.raises(ValueError, match="names of rows"):
        model.validate()
