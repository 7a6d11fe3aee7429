"""The same table in every format, and by standard input: the same model and predictions, or a refusal in words."""

import datetime
import gzip
import io
import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from fuselearn.cli.typed_files import shortest_decimals
from tests.cli.bad_input.refusals import refused
from tests.cli.command_line import run

N_ROWS = 48
FORMATS = ("csv", "tsv", "csv.gz", "parquet", "feather", "-", "- parquet", "- feather")
"""Suffixes of files; "-" is standard input, as CSV or as another format."""
FIT = ("--target", "kind", "--method", "shareboost", "--set", "n_estimators=4", "--set", "estimator=stump")


def numbers(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=N_ROWS) + np.arange(N_ROWS) % 2


def gaps(values, every=5):
    return [None if number % every == 3 else value for number, value in enumerate(values)]


def table(kind=None, **columns):
    y = np.array(["a", "b"])[np.arange(N_ROWS) % 2]
    return pa.table({"base_0": numbers(), "base_1": numbers(1), **columns, "kind": y if kind is None else kind})


def write(content, folder, name, suffix):
    """Write a table; return the words that name it on the command line, and what standard input is to be."""
    text = io.BytesIO()
    if suffix in ("parquet", "- parquet"):
        parquet.write_table(content, text, row_group_size=20)
    elif suffix in ("feather", "- feather"):
        feather.write_feather(content, text, chunksize=20)
    else:
        csv.write_csv(content, text, csv.WriteOptions(delimiter="\t" if suffix == "tsv" else ","))
    if suffix.startswith("-"):
        return ["-", *(["--format", suffix[2:]] if suffix[2:] else [])], {"input": text.getvalue()}
    path = folder / f"{name}.{suffix}"
    path.write_bytes(gzip.compress(text.getvalue()) if suffix == "csv.gz" else text.getvalue())
    return [path], {}


def fitted(content, folder, suffix, *arguments):
    """Fit to a table in a format; return the model's path, or what was said where it was refused."""
    words, settings = write(content, folder, "train", suffix)
    path = folder / f"model_{suffix.replace(' ', '_')}.fuse"
    result = run("fit", *words, *FIT, *arguments, "--output", path, "--force", "--json", **settings)
    assert result.exit_code in (0, 1), result.output
    if result.exit_code == 1:
        refused(result)
        return result.stderr.splitlines()[-1]
    return path


def predicted(model, content, folder, suffix, *arguments):
    """Predict a table in a format; return the predictions and the notes, or what was said where it was refused."""
    words, settings = write(content, folder, "test", suffix)
    path = folder / "predictions.parquet"
    result = run("predict", model, *words, *arguments, "--output", path, "--force", "--json", **settings)
    if result.exit_code == 1:
        refused(result)
        return result.stderr.splitlines()[-1], None
    assert result.exit_code == 0, result.output
    return parquet.read_table(path), [note.partition("has")[2] for note in json.loads(result.stdout)["notes"]]


texts = [["north", "south", 'é,"x"', "two\nlines"][number % 4] for number in range(N_ROWS)]
SAME = {
    "true or false": {"flag": [number % 3 == 0 for number in range(N_ROWS)]},
    "true or false with gaps": {"flag": gaps([number % 3 == 0 for number in range(N_ROWS)])},
    "whole numbers": {"count": pa.array(range(N_ROWS), pa.int16())},
    "whole numbers with gaps": {"count": gaps(range(N_ROWS))},
    "large whole numbers": {"count": [2**53 + number for number in range(N_ROWS)]},
    "larger whole numbers with gaps": {"count": pa.array(gaps([2**63 + 3 * n for n in range(N_ROWS)]), pa.uint64())},
    "numbers": {"x": numbers(2) * 1e-7},
    "numbers with gaps": {"x": pa.array(gaps(numbers(2)))},
    "NaN for a gap": {"x": np.where(np.arange(N_ROWS) % 5 == 3, np.nan, numbers(2))},
    "single precision": {"x": numbers(2).astype(np.float32)},
    "single precision with gaps": {"x": pa.array(gaps(numbers(2).tolist()), pa.float32())},
    "half precision": {"x": numbers(2).astype(np.float16)},
    "decimals": {"x": [Decimal(f"{number:.4f}") for number in numbers(2)]},
    "text": {"site": texts},
    "text with gaps": {"site": gaps(texts)},
    "text with words for nothing": {
        "site": [["north", "NA", "", "south", "  "][number % 5] for number in range(N_ROWS)]
    },
    "long text": {"site": pa.array(texts, pa.large_string())},
    "text of numbers": {"code": [f"{number % 7}.50" for number in range(N_ROWS)]},
    "text of numbers with gaps": {"code": gaps([str(number % 7) for number in range(N_ROWS)])},
    "text of true and false": {"code": [["true", "False", ""][number % 3] for number in range(N_ROWS)]},
    "categories": {"site": pa.array(texts).dictionary_encode()},
    "categories of numbers": {"site": pa.array([n % 5 for n in range(N_ROWS)]).dictionary_encode()},
    "categories with gaps": {"site": pa.array(gaps(texts)).dictionary_encode()},
    "no values": {"base_2": pa.nulls(N_ROWS)},
    "no numbers": {"base_2": pa.nulls(N_ROWS, pa.float64())},
    "no texts": {"base_2": pa.nulls(N_ROWS, pa.string())},
    "no truth": {"base_2": pa.nulls(N_ROWS, pa.bool_())},
    "classes of whole numbers": {"kind": [number % 2 for number in range(N_ROWS)]},
    "classes of text of numbers": {"kind": [str(1 + number % 2) for number in range(N_ROWS)]},
    "classes of codes": {"kind": [f"0{1 + number % 2}" for number in range(N_ROWS)]},
    "classes that are true or false": {"kind": [number % 2 == 0 for number in range(N_ROWS)]},
    "classes as categories": {"kind": pa.array(texts).dictionary_encode()},
    "classes of large numbers": {"kind": pa.array([2**63 + number % 2 for number in range(N_ROWS)], pa.uint64())},
    "classes with gaps": {"kind": gaps(["a", "b"] * (N_ROWS // 2))},
    "classes that are dates": {"kind": [datetime.date(2020, 1, 1 + number % 2) for number in range(N_ROWS)]},
    "dates": {"day": [datetime.date(2020, 1, 1 + number % 9) for number in range(N_ROWS)]},
    "dates as text": {"day": [f"2020-01-{1 + number % 9:02d}" for number in range(N_ROWS)]},
    "times": {"day": [datetime.datetime(2020, 1, 1 + number % 9, number % 24) for number in range(N_ROWS)]},
    "odd cells": {"x": ["odd" if number % 20 == 7 else f"{number % 3}.5" for number in range(N_ROWS)]},
    "words that are given": {"x": [["?", "1.5", "-999", "-"][number % 4] for number in range(N_ROWS)]},
}
REFUSED = {
    "dates of another format": ({"day": [f"0{1 + number % 9}.12.2020" for number in range(N_ROWS)]}, "'day=%d.%m.%Y'"),
    "text among numbers": ({"x": ["1.5", "2.5", "3.5", "many"] * (N_ROWS // 4)}, "'many' in row 4"),
    "a word for nothing among numbers": ({"x": ["1.5", "2.5", "3.5", "?"] * (N_ROWS // 4)}, "--na-values '?'"),
    "infinite": ({"x": [1.5, np.inf, 2.5, 3.5] * (N_ROWS // 4)}, "infinite value in the column 'x', row 2"),
    "decimal commas": ({"x": ["1,5", "2,5"] * (N_ROWS // 2)}, "--decimal ,"),
    "measured classes": ({"kind": [0.5, 1.5] * (N_ROWS // 2)}, "does not predict numbers"),
    "measured classes of decimals": ({"kind": [Decimal("0.5"), Decimal("1.5")] * (N_ROWS // 2)}, "predict numbers"),
}
ONLY_WITH_TYPES = {
    "lists": ({"x": [[1.0, 2.0]] * N_ROWS}, "nested values"),
    "records": ({"x": [{"a": 1}] * N_ROWS}, "nested values"),
    "bytes": ({"x": [b"\x00\xff"] * N_ROWS}, "not UTF-8"),
    "durations": ({"x": pa.array([1] * N_ROWS, pa.duration("s"))}, "times without a date"),
}
WORDS = ("--na-values", "?", "--na-values", "-", "--na-values", "-999.0")


QUICK = ("text with gaps", "single precision", *list(SAME)[::9])
"""Tables of `SAME` that are not left to the long tests."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name not in QUICK)) for name in SAME])
def test_the_same_table_in_every_format(name, tmp_path):
    content = table(**SAME[name])
    words = WORDS if name == "words that are given" else ()
    expected, first = None, None
    suffixes = FORMATS if name in ("text with gaps", "single precision") else ("csv", "parquet", "feather")
    for suffix in suffixes:
        model = fitted(content, tmp_path, suffix, *words)
        assert not isinstance(model, str), model
        first = first or model
        # With every format for the rows to predict, on the model of each.
        for other in suffixes if model == first else ("csv",):
            result, notes = predicted(model, content.drop_columns("kind"), tmp_path, other)
            assert isinstance(result, pa.Table), result
            expected = expected or (result, notes)
            assert result.equals(expected[0]), (suffix, other)
            assert notes == expected[1]
    assert expected[0].num_rows == N_ROWS


@pytest.mark.parametrize("name", REFUSED)
def test_the_same_refusal_in_every_format(name, tmp_path):
    columns, words = REFUSED[name]
    for suffix in ("csv", "parquet", "feather"):
        said = fitted(table(**columns), tmp_path, suffix)
        assert isinstance(said, str)
        assert words in said


@pytest.mark.parametrize("name", ONLY_WITH_TYPES)
def test_types_that_no_view_can_have(name, tmp_path):
    columns, words = ONLY_WITH_TYPES[name]
    for suffix in ("parquet", "feather"):
        said = fitted(table(**columns), tmp_path, suffix)
        assert isinstance(said, str)
        assert words in said


OTHER_TYPES = {
    "2 for true": ({"flag": [0, 2] * (N_ROWS // 2)}, "in row 2 of the column 'flag'"),
    "0.5 for true": ({"flag": [0.5, 1.0] * (N_ROWS // 2)}, "in row 1 of the column 'flag'"),
    "text for true": ({"flag": ["true", "perhaps"] * (N_ROWS // 2)}, "'perhaps' in row 2"),
    "text for numbers": ({"x": ["1.5", "many"] * (N_ROWS // 2)}, "'many' in the column 'x'"),
    "true for numbers": ({"x": [True, False] * (N_ROWS // 2)}, "in the column 'x'"),
    "0 and 1 for false and true": ({"flag": [0, 1] * (N_ROWS // 2)}, None),
    "0.0 and 1.0 for false and true": ({"flag": [0.0, 1.0] * (N_ROWS // 2)}, None),
    "nothing for true": ({"flag": pa.nulls(N_ROWS, pa.int32())}, None),
    "text of numbers for numbers": ({"x": ["1.5", " 2 "] * (N_ROWS // 2)}, None),
    "decimals for numbers": ({"x": [Decimal("1.5"), Decimal("0.1")] * (N_ROWS // 2)}, None),
    "whole numbers for text": ({"site": [1, 2] * (N_ROWS // 2)}, None),
    "categories for text": ({"site": pa.array(["north", "1"] * (N_ROWS // 2)).dictionary_encode()}, None),
    "a word for nothing": ({"x": ["1.5", "?"] * (N_ROWS // 2)}, "--na-values '?'"),
    "blanks": ({"x": ["1.5", " " * 40] * (N_ROWS // 2)}, None),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    flag = [number % 4 < 2 for number in range(N_ROWS)]
    sites = ["north", "south", "1", "east"] * (N_ROWS // 4)
    content = table(flag=flag, x=numbers(2), site=sites)
    return fitted(content, tmp_path_factory.mktemp("model"), "csv")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", OTHER_TYPES)
def test_other_types_at_predict_count_alike_or_are_refused(name, model, tmp_path):
    columns, words = OTHER_TYPES[name]
    content = table(**{"flag": [True, False] * (N_ROWS // 2), "x": numbers(2), "site": ["north"] * N_ROWS, **columns})
    results = [predicted(model, content, tmp_path, suffix) for suffix in ("csv", "parquet", "feather")]
    if words is None:
        assert all(isinstance(result, pa.Table) for result, _ in results), results
        assert all(result.equals(results[0][0]) and notes == results[0][1] for result, notes in results)
        return
    for said, _ in results:
        assert isinstance(said, str)
        assert words in said.replace("of the column 'x', which", "in the column 'x', which"), said


@pytest.mark.parametrize("values", [[1.5, 2.5], [True, False]])
def test_what_is_spelled_in_several_ways_is_no_text(values, model, tmp_path):
    content = table(flag=[True] * N_ROWS, x=numbers(2), site=values * (N_ROWS // 2))
    for suffix in ("parquet", "feather"):
        said, _ = predicted(model, content, tmp_path, suffix)
        assert "'site', which must hold text; write the column as text" in said


def test_notes_of_unknown_texts_are_of_those_that_count(model, tmp_path):
    content = table(flag=[True] * N_ROWS, x=numbers(2), site=[1, 7] * (N_ROWS // 2))
    for suffix in ("csv", "parquet", "feather"):
        _, notes = predicted(model, content, tmp_path, suffix)
        assert notes == [
            " values that the model was not fitted on, in 24 of the first 48 rows, such as '7': they count as none of "
            "the known ones."
        ]


def test_single_precision_is_what_it_is_written_as():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, size=40_000, dtype=np.uint64).astype(np.uint32)
    special = np.array([0.1, 1e-45, 3.4e38, 0.0, -0.0], dtype=np.float32)
    values = np.concatenate([bits.view(np.float32), rng.normal(size=40_000).astype(np.float32), special])
    values = values[~np.isnan(values)]
    expected = pa.array(values).cast(pa.string()).cast(pa.float64()).to_numpy()
    np.testing.assert_array_equal(shortest_decimals(values), expected)
    some = values[:5000]
    np.testing.assert_array_equal(shortest_decimals(some), [float(str(value)) for value in some])


def test_words_for_nothing_are_those_of_the_fit(tmp_path):
    content = table(x=[["?", "1.5", "2.5"][number % 3] for number in range(N_ROWS)])
    for suffix in ("csv", "parquet"):
        model = fitted(content, tmp_path, suffix, "--na-values", "?")
        result, _ = predicted(model, content, tmp_path, suffix)
        assert result.num_rows == N_ROWS
        said, _ = predicted(model, table(x=["-", "1.5"] * (N_ROWS // 2)), tmp_path, suffix)
        assert "--na-values '-'" in said
        more, _ = predicted(model, table(x=["-", "?"] * (N_ROWS // 2)), tmp_path, suffix, "--na-values", "-")
        none, _ = predicted(model, table(x=pa.nulls(N_ROWS)), tmp_path, suffix)
        assert more.equals(none)


def test_ids_of_several_dictionaries_go_into_feather(model, tmp_path):
    ids = [f"p{number}" for number in range(N_ROWS)]
    content = table(
        flag=[True] * N_ROWS, x=numbers(2), site=["north"] * N_ROWS, patient=pa.array(ids).dictionary_encode()
    )
    parquet.write_table(content, tmp_path / "test.parquet", row_group_size=10)
    for suffix in ("feather", "parquet"):
        output = tmp_path / f"predictions.{suffix}"
        result = run(
            "predict", model, tmp_path / "test.parquet", "--id", "patient", "--chunk-rows", 7, "--output", output
        )
        assert result.exit_code == 0, result.output
        read = feather.read_table(output) if suffix == "feather" else parquet.read_table(output)
        assert read.column("patient").to_pylist() == ids


def test_classes_beyond_int64_are_classes_for_compare_too(tmp_path):
    content = table(kind=pa.array([2**63 + number % 2 for number in range(N_ROWS)], pa.uint64()))
    for suffix in ("csv", "parquet", "feather"):
        words, settings = write(content, tmp_path, "train", suffix)
        result = run(
            "compare", *words, "--target", "kind", "--methods", "shareboost", "--runs", 1, "--json", **settings
        )
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize("method", ["shareboost", "mkl", "svm_vote"])
def test_the_largest_numbers_are_refused_in_words(method, tmp_path):
    values = numbers(2)
    values[[3, 8]] = 1e308, -1e308
    path, model = tmp_path / "data.csv", tmp_path / "model.fuse"
    csv.write_csv(table(base_2=values), path)
    result = run("fit", path, "--target", "kind", "--method", method, "--output", model)
    refused(result)
    assert "preprocess=" not in result.stderr
    assert ".py:" not in result.stderr
    csv.write_csv(table(base_2=numbers(2)), path)
    assert run("fit", path, "--target", "kind", "--method", method, "--output", model).exit_code == 0
    csv.write_csv(table(base_2=values), path)
    result = run("predict", model, path)
    assert ".py:" not in result.stderr
    assert result.exit_code == 0 or result.stderr.splitlines()[-1].startswith("fuselearn: ")


@pytest.mark.parametrize("suffix", ["parquet", "feather", "- parquet"])
def test_an_index_without_a_name_is_no_feature_and_one_with_a_name_is(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table().to_pydict()).sort_values("kind")
    content = pa.Table.from_pandas(frame)
    assert "__index_level_0__" in content.column_names
    words, settings = write(content, tmp_path, "train", suffix)
    result = run("fit", *words, *FIT, "--output", tmp_path / "model.fuse", "--json", **settings)
    assert result.exit_code == 0, result.output
    assert "__index" not in result.stdout
    result = run("predict", tmp_path / "model.fuse", *words, **settings)
    assert result.exit_code == 0, result.output
    named = pa.Table.from_pandas(frame.rename_axis("patient"))
    words, settings = write(named, tmp_path, "named", suffix)
    result = run("predict", tmp_path / "model.fuse", *words, "--id", "patient", **settings)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].split(",")[0] == str(frame.index[0])
