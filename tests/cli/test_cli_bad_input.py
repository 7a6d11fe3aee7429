"""Bad input to the command line: one line that says what and how to mend it, exit code 1, nothing half-written."""

import builtins
import errno
import json
import os
import pickle
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from typer.testing import CliRunner

import fuselearn
from fuselearn.cli.app import app

N_ROWS = 40


def run(*arguments, **settings):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "80"}, **settings)


def refused(result, *words):
    """The last line of stderr says all the words; nothing is on stdout, and nothing was raised."""
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("fuselearn: ")
    assert [line for line in result.stderr.splitlines() if line.startswith("fuselearn: ")] == [last]
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in last


def columns(**others):
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    table = {"patient": [f"p{number}" for number in range(N_ROWS)]}
    table |= {f"rna_{number}": rng.normal(size=N_ROWS) + y for number in range(3)}
    table |= {f"image_{number}": rng.normal(size=N_ROWS) + y for number in range(2)}
    table["kind"] = np.array(["well", "ill"])[y]
    return table | others


def write(folder, name="data.csv", **others):
    path = folder / name
    csv.write_csv(pa.table(columns(**others)), path)
    return path


FIT = ["--target", "kind", "--id", "patient", "--method", "shareboost", "--set", "n_estimators=3"]


@pytest.fixture
def data(tmp_path):
    return write(tmp_path)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    result = run("fit", write(folder), *FIT, "--output", folder / "model.fuse")
    assert result.exit_code == 0, result.output
    return folder / "model.fuse"


@pytest.fixture
def fit(tmp_path):
    """Fit, and see that a refusal leaves nothing behind."""

    def call(data, *arguments, words, **settings):
        before = set(tmp_path.iterdir())
        refused(run("fit", data, *arguments, "--output", tmp_path / "model.fuse", **settings), *words)
        assert set(tmp_path.iterdir()) == before

    return call


@pytest.fixture
def predict(tmp_path, fitted):
    """Predict, and see that a refusal leaves nothing behind."""

    def call(data, *arguments, words, model=fitted, output="predictions.csv", **settings):
        before = set(tmp_path.iterdir())
        refused(run("predict", model, data, *arguments, "--output", tmp_path / output, **settings), *words)
        assert set(tmp_path.iterdir()) == before

    return call


FILES = {
    "header only": ("rna_1,rna_2,kind\n", ["has no rows"]),
    "empty first line": ("\n1,2,3\n", ["empty first line"]),
    "semicolons": ("rna_1;rna_2;kind\n1;2;x\n", ["one column", "delimiter seems to be ';'", "--delimiter ';'"]),
    "tabs": ("rna_1\trna_2\tkind\n1\t2\tx\n", ["one column", "a tab", "--delimiter"]),
    "duplicate columns": ("rna_1,rna_1,kind\n1,2,x\n", ["the column 'rna_1' 2 times", "its own name"]),
    "target absent": ("rna_1,rna_2\n1,2\n", ["--target names the column 'kind'", "rna_1, rna_2"]),
    "one class": ("rna_1,rna_2,kind\n1,2,x\n3,4,x\n", ["one class only", "'x'", "at least two"]),
    "no target at all": ("rna_1,rna_2,kind\n1,2,\n3,4,\n", ["no value in the target 'kind'"]),
    "measured target": ("rna_1,rna_2,kind\n1,2,0.5\n3,4,1.25\n", ["measured numbers in the target", "cut them"]),
    "target only": ("kind\nx\ny\n", ["no columns beside the target"]),
    "text among numbers": ("rna_1,rna_2,kind\n1,2,x\n3,high,y\n5,6,x\n", ["'rna_2'", "'high' in row 2", "mend"]),
    "decimal commas": ('rna_1,rna_2,kind\n1,"2,5",x\n3,"1,5",y\n', ["decimal comma", "'rna_2'", "a point"]),
    "infinite": ("rna_1,rna_2,kind\n1,2,x\n3,inf,y\n", ["infinite value in the column 'rna_2', row 2"]),
    "ragged rows": ("rna_1,rna_2,kind\n1,2,x\n3,y\n", ["Expected 3 columns, got 2", "Every row needs a cell"]),
    "dates": ("rna_1,rna_2,kind\n1,2020-01-01,x\n3,2021-01-01,y\n", ["dates or times", "'rna_2'", "number"]),
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
    path.write_text(content)
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
    (tmp_path / "data.xlsx").write_text("1")
    fit(tmp_path / "data.xlsx", *FIT, words=["suffix '.xlsx'", ".csv", "--format"])
    fit(tmp_path / "data.xlsx", *FIT, "--format", "excel", words=["--format must be csv", "'excel'"])


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


VIEWS = {
    "unknown view": (["--method", "view:sound"], ["--method 'view:sound' is not known"]),
    "glob of nothing": (["--view", "a=sound_*"], ["no column of the data matches 'sound_*' of the view 'a'"]),
    "name that is near": (["--view", "a=rna_01"], ["'rna_01'", "Did you mean 'rna_1'?"]),
    "no glob": (["--view", "rna"], ["--view takes NAME=GLOB", "'rna'"]),
    "twice": (["--view", "a=rna_*", "--view", "a=image_*"], ["--view names 'a' more than once"]),
    "target in a view": (["--view", "a=rna_*,kind"], ["the view 'a' has 'kind', which is the target"]),
    "id in a view": (["--view", "a=patient"], ["the view 'a' has 'patient', which is the id"]),
    "both": (["--view", "a=rna_*", "--views", "views.toml"], ["cannot be given both"]),
    "no file": (["--views", "nowhere.toml"], ["nowhere.toml cannot be read: No such file"]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name, data, fit):
    arguments, words = VIEWS[name]
    fit(data, *FIT, *arguments, words=words)


TOML = {
    "[views\n": ["is not TOML", "line 1"],
    "a = 1\n": ["needs a table [views]"],
    "[views]\n": ["needs a table [views]"],
    '[views]\na = "rna_*"\n[other]\nb = 1\n': ["unknown key 'other'"],
    "[views]\na = 3\n": ["must give the view 'a' a glob"],
    '[views.a]\ncolumn = "rna_*"\n': ["unknown setting 'column' for the view 'a'", "did you mean 'columns'?"],
    '[views.a]\ncolumns = "rna_*"\nlearner = "magic"\n': ["the learner 'magic'", "stump"],
    '[views.a]\ncolumns = "rna_*"\npreprocess = "pca:2.5"\n': ["the preprocess 'pca:2.5'", "pca:0.95"],
    '[views.a]\ncolumns = "rna_*"\npreprocess = 3\n': ["the preprocess 3", "standard"],
    '[views.a]\ncolumns = "rna_*"\ncategorical = "maybe"\n': ["categorical = 'maybe'", "onehot"],
    '[views]\na = "rna_*"\na = "image_*"\n': ["is not TOML"],
}


@pytest.mark.parametrize("content", TOML)
def test_views_files(content, data, tmp_path, fit):
    (tmp_path / "views.toml").write_text(content)
    fit(data, *FIT, "--views", tmp_path / "views.toml", words=["--views", "views.toml", *TOML[content]])


def test_more_components_than_columns(data, tmp_path, fit):
    (tmp_path / "views.toml").write_text('[views.a]\ncolumns = "rna_*"\npreprocess = "pca:20"\n')
    fit(data, *FIT, "--views", tmp_path / "views.toml", words=["The view 'a' cannot be used", "n_components=20"])


def test_views_file_that_is_not_text(data, tmp_path, fit):
    (tmp_path / "views.toml").write_bytes(b"\xff\xfe\x00")
    fit(data, *FIT, "--views", tmp_path / "views.toml", words=["cannot be read", "UTF-8"])


def test_learner_for_a_method_that_has_none(data, tmp_path, fit):
    (tmp_path / "views.toml").write_text('[views.a]\ncolumns = "rna_*"\nlearner = "stump"\n')
    fit(data, "--target", "kind", "--method", "mkl", "--views", tmp_path / "views.toml", words=["'a'", "mkl has none"])
    usual = ["--target", "kind", "--views", tmp_path / "views.toml"]
    fit(data, *usual, words=["'a'", "fusion has none per view", "add --method shareboost"])


OPTIONS = {
    "method": (["--method", "sharebost"], ["--method 'sharebost' is not known", "'shareboost'"]),
    "set key": (["--set", "n_estimator=5"], ["--set n_estimator", "did you mean n_estimators"]),
    "set type": (["--set", "learning_rate=fast"], ["--set learning_rate must be a number", "'fast'"]),
    "set whole": (["--set", "warm_start=yes"], ["--set warm_start must be true or false", "'yes'"]),
    "set form": (["--set", "resample"], ["--set takes KEY=VALUE", "'resample'"]),
    "set elsewhere": (["--set", "random_state=3"], ["--set random_state", "use --seed"]),
    "set twice": (["--set", "n_estimators=5"], ["--set n_estimators is given more than once"]),
    "set value": (["--set", "learning_rate=-1"], ["learning_rate must be", "-1"]),
    "set object": (["--method", "svm_sum", "--set", "estimator=magic"], ["--set estimator", "extra_trees"]),
    "jobs": (["--jobs", "-3"], ["--jobs must be a number of threads", "-3"]),
    "no jobs": (["--jobs", "0"], ["--jobs must be a number of threads"]),
    "seed": (["--seed", "-1"], ["--seed must be between 0 and"]),
    "id absent": (["--id", "number"], ["--id names the column 'number'"]),
    "target is near": (["--target", "kinds"], ["--target names the column 'kinds'", "Did you mean 'kind'?"]),
    "id is target": (["--id", "kind"], ["--id and --target both name 'kind'"]),
    "categorical": (["--categorical", "both"], ["--categorical must be onehot", "'both'"]),
    "class weight": (["--class-weight", "heavy"], ["--class-weight must be auto", "'heavy'"]),
    "weights": (["--class-weight", "balanced", "--method", "augmented"], ["augmented takes no weights"]),
    "weights of fusion": (["--class-weight", "none", "--method", "fusion"], ["balances the classes by itself"]),
    "balanced fusion": (["--class-weight", "balanced", "--method", "fusion"], ["by itself", "--method shareboost"]),
    "labels": (["--label-columns", "rna=mine"], ["--label-columns has no column for the view 'image'"]),
    "labels of nobody": (["--label-columns", "rna=kind,sound=kind"], ["the view 'sound'", "rna, image"]),
    "too few labels": (["--label-columns", "kind"], ["names 1 columns, but there are 2 views"]),
    "label column absent": (["--label-columns", "kind,mine"], ["--label-columns names the column 'mine'"]),
    "group absent": (["--group", "persons"], ["--group names the column 'persons'"]),
    "group is target": (["--group", "kind"], ["--group and --target both name 'kind'"]),
    "group elsewhere": (["--group", "patient"], ["--group: shareboost does not judge", "--method fusion"]),
    "delimiter": (["--delimiter", "ab"], ["--delimiter must be one character"]),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name, data, fit):
    arguments, words = OPTIONS[name]
    usual = FIT[:4] if "--method" in arguments else FIT
    fit(data, *usual, *arguments, words=words)


def test_method_that_cannot_have_view_labels(data, fit):
    arguments = ["--target", "kind", "--id", "patient", "--method", "mkl", "--label-columns", "kind,kind"]
    fit(data, *arguments, words=["mkl takes one column of labels"])


def test_gaps_in_label_columns(tmp_path, fit):
    path = write(tmp_path, other=[None, *["well"] * (N_ROWS - 1)])
    fit(path, *FIT, "--label-columns", "kind,other", words=["label column 'other'", "fill or drop"])


def test_gaps_in_groups(tmp_path, fit):
    path = write(tmp_path, person=["a", "b", None, *["c"] * (N_ROWS - 3)])
    arguments = [*FIT[:4], "--method", "fusion", "--group", "person"]
    fit(path, *arguments, words=["group column 'person'", "row 3"])


def test_one_group_only(tmp_path, fit):
    path = write(tmp_path, person=["a"] * N_ROWS)
    fit(path, *FIT[:4], "--method", "fusion", "--group", "person", words=["one group only in the column 'person'"])


def test_usage_is_exit_code_2(data):
    for arguments in (["fit", data], ["predict"], ["fit", data, *FIT], ["inspect"], ["fit", data, "--speed", "9"]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Usage" in result.stderr


def test_output_is_checked_before_anything_is_read(tmp_path):
    nowhere = tmp_path / "nowhere.csv"
    (tmp_path / "there.fuse").write_text("mine")
    for output, words in [
        (tmp_path / "there.fuse", ["there.fuse exists", "--force"]),
        (tmp_path, ["is a folder"]),
        (tmp_path / "no" / "model.fuse", ["the folder", "does not exist"]),
        (tmp_path / "model.csv", ["is named as data", "model.fuse"]),
        ("-", ["standard output"]),
    ]:
        refused(run("fit", nowhere, *FIT, "--output", output), "--output", *words)
    refused(run("predict", nowhere, nowhere, "--output", tmp_path / "there.fuse"), "suffix '.fuse'")
    (tmp_path / "there.csv").write_text("mine")
    refused(run("predict", nowhere, nowhere, "--output", tmp_path / "there.csv"), "there.csv exists", "--force")
    refused(run("report", nowhere, "--data", nowhere, "--output", tmp_path / "page.pdf"), "ends in .html")
    assert (tmp_path / "there.fuse").read_text() == (tmp_path / "there.csv").read_text() == "mine"


def test_data_is_not_overwritten_even_by_force(data, fitted):
    before = data.read_bytes()
    refused(run("predict", fitted, data, "--output", data, "--force"), "is also what is read")
    assert data.read_bytes() == before


def test_no_permission_to_write(data, tmp_path, fit, predict, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode, **settings: not mode & os.W_OK)
    fit(data, *FIT, words=["no permission to write", "folder of yours"])
    predict(data, words=["no permission to write", "folder of yours"])


def test_no_permission_to_read(data, tmp_path, fit, predict, fitted, monkeypatch):
    own_open = builtins.open

    def guarded(path, *arguments, **settings):
        if str(path) in (str(data), str(fitted)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return own_open(path, *arguments, **settings)

    monkeypatch.setattr(builtins, "open", guarded)
    fit(data, *FIT, words=["data.csv cannot be read: no permission"])
    with monkeypatch.context() as patched:
        patched.setattr("fuselearn.persistence.model_file.read_bytes", guarded)
        predict(data, words=["model.fuse cannot be read: no permission"])


def test_full_disk(data, tmp_path, fit, predict, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    fit(data, *FIT, words=["model.fuse was not written: the disk is full", "make room"])
    predict(data, words=["predictions.csv was not written: the disk is full", "make room"])
    predict(data, output="predictions.parquet", words=["predictions.parquet was not written: the disk is full"])


def test_model_and_data_mixed_up(data, tmp_path, fitted, fit, predict):
    fit(fitted, *FIT, words=["saved model", "not a table"])
    predict(fitted, words=["saved model", "not a table"])
    predict(data, model=data, words=["is named as data, not as a model"])
    other = tmp_path / "data.fuse"
    other.write_bytes(data.read_bytes())
    predict(data, model=other, words=["data.fuse"])
    refused(run("inspect", other), "data.fuse")


def test_models_that_are_none(data, tmp_path, predict):
    path = tmp_path / "model.fuse"
    path.write_bytes(pickle.dumps({"a": 1}))
    predict(data, model=path, words=["model.fuse", "pickle"])
    path.write_bytes(b"")
    predict(data, model=path, words=["model.fuse", "empty"])
    predict(data, model=tmp_path / "nowhere.fuse", words=["nowhere.fuse does not exist", "fuselearn fit"])
    predict(data, model=tmp_path, words=["is a folder"])
    predict(data, model="-", words=["MODEL must be a file"])


def test_damaged_and_newer_models(data, tmp_path, fitted, predict):
    path = tmp_path / "model.fuse"
    path.write_bytes(fitted.read_bytes()[:-100])
    predict(data, model=path, words=["model.fuse"])
    with zipfile.ZipFile(fitted) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "fuselearn.json":
                content = json.dumps(json.loads(content) | {"fuselearn_version": "999.0"}).encode()
            new.writestr(name, content)
    predict(data, model=path, words=["model.fuse", "999.0", "newer"])
    refused(run("inspect", path), "newer")
    refused(run("report", path, "--data", data, "--output", tmp_path / "report.html"), "newer")


def test_columns_that_predict_misses(tmp_path, fitted, predict):
    table = pa.table(columns())
    csv.write_csv(table.drop_columns(["rna_1"]), tmp_path / "data.csv")
    predict(tmp_path / "data.csv", words=["lacks the column 'rna_1' of the view 'rna'", "--allow-missing-columns"])
    csv.write_csv(table.select(["patient", "kind"]), tmp_path / "data.csv")
    predict(tmp_path / "data.csv", words=["none of the columns that the model was fitted on", "rna_0"])
    predict(write(tmp_path), "--id", "number", words=["--id names the column 'number'"])


def test_values_that_predict_cannot_use(tmp_path, predict):
    path = tmp_path / "data.csv"
    head = "patient,rna_0,rna_1,rna_2,image_0,image_1\n"
    path.write_text(head + "a,1,2,3,4,5\nb,1,2,3,4,many\n")
    predict(path, words=["'many' in line 3 of the column 'image_1'", "numbers"])
    path.write_text("date," + head + "x,a,1,2,3,4,5\nx,b,1,2,3,many,5\n")
    predict(path, words=["'many' in line 3 of the column 'image_0'"])
    path.write_text(head + "a,1,2,3,4,5\nb,1,2,3,4,-inf\n")
    predict(path, words=["'image_1' has an infinite value"])
    path.write_text(head + "a,1,2,3,4,5\n,1,2,3,4,5\n")
    predict(path, words=["rows without a value in the id 'patient'"])
    path.write_text(head + "a,1,2,3,4,5\nb,1,2\n")
    predict(path, words=["Expected 6 columns, got 3", "Every row needs a cell"])
    path.write_text(head)
    predict(path, words=["has no rows"])
    path.write_bytes((head + "ä,1,2,3,4,5\n").encode("latin-1"))
    predict(path, words=["not UTF-8", "--encoding latin-1"])
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table(columns(rna_0=["many"] * N_ROWS)), path)
    predict(path, words=["string in the column 'rna_0', which must hold numbers"])


def test_blanks_in_names_of_views(tmp_path, fit):
    path = tmp_path / "data.csv"
    path.write_text("kind, rna_1, rna_2\nx, 2, 1\ny, 3, 4\n")
    fit(path, "--target", "kind", "--view", "a=rna_1", words=["'rna_1'", "There is ' rna_1'", "blanks"])


@pytest.mark.parametrize("name", ["prediction", "probability_ill"])
def test_ids_that_predictions_would_overwrite(name, tmp_path, fit, predict, fitted):
    path = write(tmp_path, **{name: np.arange(N_ROWS)})
    usual = ["--target", "kind", "--id", name, "--view", "a=rna_*"]
    fit(path, *usual, words=[f"--id names {name!r}", "another name"])
    predict(path, "--id", name, words=[f"--id names {name!r}", "another name"])
    noted = tmp_path / "noted.fuse"
    fuselearn.save(fuselearn.load(fitted), noted, note={"id": name})
    predict(path, model=noted, words=[f"--id names {name!r}", "another name"])


def test_options_of_predict(data, predict, fitted):
    predict(data, "--chunk-rows", "0", words=["--chunk-rows must be at least 1"])
    predict(data, "--output-format", "excel", words=["--output-format must be csv"])
    refused(run("predict", fitted, data, "--json"), "--json", "--output")


def test_reports_on_other_classes(tmp_path, fitted):
    path = write(tmp_path, kind=["new"] * N_ROWS)
    output = tmp_path / "report.html"
    refused(run("report", fitted, "--data", path, "--output", output), "the class 'new'", "'ill'")
    path = write(tmp_path, kind=[None] * N_ROWS)
    refused(run("report", fitted, "--data", path, "--output", output), "no value in the target 'kind'")
    refused(run("report", fitted, "--data", path, "--target", "sort", "--output", output), "--target names the column")
    refused(run("report", fitted, "--data", path, "--id", "kind", "--output", output), "--id and --target both name")
    assert not output.exists()


def test_missing_template_engine(data, tmp_path, fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    output = tmp_path / "report.html"
    refused(run("report", fitted, "--data", data, "--output", output), "jinja2", "pip install 'fuselearn[app]'")
    assert not output.exists()


def test_messages_stay_in_one_line(tmp_path, fit):
    path = tmp_path / "data.csv"
    path.write_text('"rna_1\nmore",image_1,kind\n1,2,x\nwrong,4,y\n5,6,x\n')
    fit(path, "--target", "sort", words=["--target names the column 'sort'"])
    fit(path, "--target", "kind", words=["'wrong'"])
