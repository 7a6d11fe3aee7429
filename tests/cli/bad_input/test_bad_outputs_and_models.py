"""Outputs and models that cannot be used: one line that says why, and nothing half-written."""

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
from pyarrow import csv, parquet

import fuselearn
from fuselearn.reporting import fit_report
from tests.cli.bad_input.refusals import FIT, N_ROWS, columns, refused, write
from tests.cli.command_line import run


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
    predict(path, "--strict", words=["'many' in row 2 of the column 'image_1'", "numbers"])
    path.write_text("date," + head + "x,a,1,2,3,4,5\nx,b,1,2,3,many,5\n")
    predict(path, "--strict", words=["'many' in row 2 of the column 'image_0'"])
    path.write_text(head + "a,1,2,3,4,5\nb,1,2,3,4,-inf\n")
    predict(path, words=["infinite value in the column 'image_1', row 2"])
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
    predict(path, words=["'many' in the column 'rna_0'", "where there were numbers at fit"])


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
    fit_report.page_environment.cache_clear()  # an earlier report of this process has imported it
    monkeypatch.setitem(sys.modules, "jinja2", None)
    output = tmp_path / "report.html"
    refused(run("report", fitted, "--data", data, "--output", output), "jinja2", "pip install 'fuselearn[app]'")
    assert not output.exists()


def test_messages_stay_in_one_line(tmp_path, fit):
    path = tmp_path / "data.csv"
    path.write_text('"rna_1\nmore",image_1,kind\n1,2,x\nwrong,4,y\n5,6,x\n')
    fit(path, "--target", "sort", words=["--target names the column 'sort'"])
    fit(path, "--target", "kind", "--strict", words=["'wrong'"])
