"""Files and columns that cannot be used: one line that says why and how to fix it."""

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tests.cli.bad_input.refusals import FIT, N_ROWS, columns, write

FILES = {
    "header only": ("rna_1,rna_2,kind\n", ["has no rows"]),
    "empty first line": ("\n1,2,3\n", ["empty first line"]),
    "semicolons": ("rna_1;rna_2;kind\n1;2;x\n", ["one column", "delimiter seems to be ';'", "--delimiter ';'"]),
    "tabs": ("rna_1\trna_2\tkind\n1\t2\tx\n", ["one column", "a tab", "--delimiter"]),
    "duplicate columns": ("rna_1,rna_1,kind\n1,2,x\n", ["the column 'rna_1' 2 times", "its own name"]),
    "target absent": ("rna_1,rna_2\n1,2\n", ["--target names the column 'kind'", "rna_1, rna_2"]),
    "one class": ("rna_1,rna_2,kind\n1,2,x\n3,4,x\n", ["one class only", "'x'", "at least two"]),
    "no target at all": ("rna_1,rna_2,kind\n1,2,\n3,4,\n", ["no value in the target 'kind'"]),
    "target only": ("kind\nx\ny\n", ["no columns beside the target"]),
    "text among numbers": (
        "rna_1,rna_2,kind\n1,2,x\n3,high,y\n5,6,x\n7,low,y\n",
        ["'rna_2'", "'high' in row 2", "fix"],
    ),
    "decimal commas": ('rna_1,rna_2,kind\n1,"2,5",x\n3,"1,5",y\n', ["a comma", "'rna_2'", "--decimal ,"]),
    "infinite": ("rna_1,rna_2,kind\n1,2,x\n3,inf,y\n", ["infinite value in the column 'rna_2', row 2"]),
    "ragged rows": ("rna_1,rna_2,kind\n1,2,x\n3,y\n", ["Expected 3 columns, got 2", "Every row needs a cell"]),
    "times": ("rna_1,rna_2,kind\n1,10:30:00,x\n3,11:45:00,y\n", ["times without a date", "'rna_2'", "hours"]),
    "CR only": ("rna_1,rna_2,kind\r1,2,x\r3,4,y\r", ["ends its lines with CR only", "usual line ends"]),
    "open quote": ('rna_1,"rna_2,kind\n1,2,x\n3,4,y\n', ["a quote", "not closed"]),
    "open quote of a long file": ('"rna_1,rna_2,kind\n' + "1,2,x\n" * 200 + '"\n', ["a quote", "not closed"]),
    "quote closed by another": ('rna_1,"rna_2,kind\n1,2,x\n3,"4,y\n5,6,x\n', ["line break", "not closed"]),
    "blanks": ("rna_1, rna_2, kind\n1, 2, x\n3, 4, y\n", ["There is ' kind'", "leave out the blanks"]),
    "view nowhere": ("rna_1,image_1,kind\n1,,x\n3,,y\n", ["The view 'image'", "empty in every row; leave it out"]),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path, fit):
    content, words = FILES[name]
    path = tmp_path / "data.csv"
    path.write_text(content, encoding="utf-8")
    view = ["--view", "rna=rna_1", "--view", "image=image_1"] if name == "view nowhere" else []
    fit(path, "--target", "kind", *view, words=words)


def test_missing_and_empty_files_and_folders(tmp_path, fit, predict):
    (tmp_path / "empty.csv").touch()
    for call, arguments in ((fit, FIT), (predict, [])):
        call(tmp_path / "nowhere.csv", *arguments, words=["nowhere.csv does not exist"])
        call(tmp_path / "empty.csv", *arguments, words=["empty.csv is empty"])
        call(tmp_path, *arguments, words=["is a folder; name a file"])


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_empty_standard_input(command, fit, predict):
    {"fit": fit, "predict": predict}[command](
        "-", *(FIT if command == "fit" else []), input=b"", words=["standard input is empty"]
    )


def test_unknown_suffix(tmp_path, fit):
    (tmp_path / "data.docx").write_text("1")
    fit(tmp_path / "data.docx", *FIT, words=["suffix '.docx'", ".csv", "--format"])
    fit(tmp_path / "data.docx", *FIT, "--format", "word", words=["--format must be csv", "'word'"])
    (tmp_path / "data.xls").write_text("1")
    fit(tmp_path / "data.xls", *FIT, words=["save or export it as .xlsx, CSV UTF-8"])
    (tmp_path / "data.xlsx").write_text("1")
    fit(tmp_path / "data.xlsx", *FIT, words=["is not an Excel workbook"])


def test_other_encodings_are_named(tmp_path, fit):
    text = "rna_1,image_1,kind\n1,2,schön\n3,4,x\n"
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode("latin-1"))
    fit(path, "--target", "kind", words=["not UTF-8", "--encoding"])
    path.write_bytes(text.replace("rna", "rñä").encode("latin-1"))
    fit(path, "--target", "kind", words=["not UTF-8 (byte 0xf1)", "--encoding latin-1"])
    path.write_bytes(text.encode("utf-16"))
    fit(path, "--target", "kind", words=["utf-16", "--encoding utf-16"])
    fit(path, "--target", "kind", "--encoding", "klingon", words=["--encoding 'klingon' is not known"])
    path.write_bytes(text.encode("latin-1"))
    fit(path, "--target", "kind", "--encoding", "utf-16", words=["is not utf-16", "--encoding"])


def test_parquet_that_is_cut_off(tmp_path, fit, predict):
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table(columns()), path)
    path.write_bytes(path.read_bytes()[:-200])
    fit(path, *FIT, words=["cannot be read as parquet", "cut off"])
    predict(path, words=["cannot be read as parquet", "cut off"])


def test_feather_that_is_cut_off(tmp_path, fit):
    path = tmp_path / "data.feather"
    feather.write_feather(pa.table(columns()), path)
    path.write_bytes(path.read_bytes()[:300])
    fit(path, *FIT, words=["cannot be read as feather", "cut off"])


def test_one_format_under_the_name_of_another(tmp_path, fit):
    parquet.write_table(pa.table(columns()), tmp_path / "data.csv")
    fit(tmp_path / "data.csv", *FIT, words=["data.csv is parquet, not csv", "--format parquet"])


def test_nested_columns(tmp_path, fit):
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table(columns(rna_9=[[1.0, 2.0]] * N_ROWS)), path)
    fit(path, *FIT, words=["nested values", "'rna_9'", "a column of its own"])
    parquet.write_table(pa.table(columns(kind=[["a"]] * N_ROWS)), path)
    fit(path, *FIT, words=["nested values", "the target 'kind'"])


def test_text_that_never_repeats(tmp_path, fit):
    path = write(tmp_path, rna_name=[f"text {number}" for number in range(N_ROWS)])
    fit(path, *FIT, words=["'rna_name'", "40 different values", "--id"])
    fit(path, *FIT, "--categorical", "none", words=["'rna_name'", "numbers only"])
    path = write(tmp_path, rna_name=[f"text {number}" for number in range(101)] * 1, **long_columns(101))
    fit(path, *FIT, words=["101 different values", "--categorical target"])


def test_too_few_values_for_target_means(tmp_path, fit):
    path = write(tmp_path, rna_site=["north", *[None] * (N_ROWS - 1)])
    fit(path, *FIT, "--categorical", "target", words=["'rna_site' has 1 values", "encode it onehot"])


def long_columns(n_rows):
    return {name: (list(values) * 3)[:n_rows] for name, values in columns().items()}


def test_too_many_classes(tmp_path, fit):
    path = write(tmp_path, number=[number % 30 for number in range(N_ROWS)])
    fit(path, "--target", "number", "--view", "a=rna_*", words=["30 classes in 40 rows", "an id"])
