"""``fuselearn serve``: predictions over HTTP, by a real client, and requests that are not as they should be."""

import csv
import http.client
import io
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import pyarrow as pa
import pytest
import uvicorn
from pyarrow import csv as arrow_csv
from sklearn.linear_model import LogisticRegression

from benchmarks.serving import send, statuses
from fuselearn.cli.console import Notes
from fuselearn.cli.prediction_service import PredictionService, RequestError, _delimiter_of
from fuselearn.cli.saved_models import load_model
from fuselearn.cli.serve import listen
from fuselearn.cli.web_app import header_of, make_web_app, server_settings
from tests.cli.command_line import run
from tests.cli.patients import patients

CSV, JSON = {"Content-Type": "text/csv"}, {"Content-Type": "application/json"}
PATIENT = {"patient": "p7", "rna_0": 0.5, "rna_1": None, "rna_2": 1, "rna_3": "NA", "site": "south"}


@contextmanager
def serving(service, **settings):
    """Serve in a thread, and yield the port."""
    server = uvicorn.Server(server_settings(make_web_app(service, **settings)))
    with listen("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Model that the command line has fitted."""
    folder = tmp_path_factory.mktemp("model")
    arrow_csv.write_csv(patients(), folder / "data.csv")
    views = ["--view", "rna=rna_*", "--view", "image=image_*", "--view", "site=site"]
    usual = ["--target", "outcome", "--id", "patient", "--method", "shareboost", "--set", "n_estimators=5"]
    result = run("fit", folder / "data.csv", *usual, *views, "--output", folder / "model.fuse")
    assert result.exit_code == 0, result.output
    return folder / "model.fuse"


@pytest.fixture(scope="module")
def service(model):
    service = PredictionService(*load_model(str(model), Notes(quiet=True), None), max_rows=50)
    service.warm()
    return service


@pytest.fixture(scope="module")
def port(service):
    with serving(service, max_body=20_000) as port:
        yield port


def call(port, path, body=None, headers=None, method=None):
    """Return status, headers and body of the answer to a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method or ("GET" if body is None else "POST"), path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()
    finally:
        connection.close()


def test_csv_is_predicted_as_the_command_line_does(port, model, tmp_path):
    rows = tmp_path / "rows.csv"
    arrow_csv.write_csv(patients().slice(0, 20), rows)
    status, headers, text = call(port, "/predict", rows.read_bytes(), CSV)
    assert (status, headers["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert text == run("predict", model, rows).stdout


def test_json_says_the_same_as_csv(port):
    table = patients().slice(0, 5).to_pylist()
    status, _, text = call(port, "/predict", json.dumps(table).encode(), JSON)
    answer = json.loads(text)
    assert (status, answer["notes"]) == (200, [])
    status, _, text = call(port, "/predict", json.dumps({"rows": table}).encode(), {**JSON, "Accept": "text/csv"})
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [record["id"] for record in answer["predictions"]] == [line["patient"] for line in lines]
    assert [record["prediction"] for record in answer["predictions"]] == [line["prediction"] for line in lines]
    for record, line in zip(answer["predictions"], lines):
        assert record["probabilities"] == {name: float(line[f"probability_{name}"]) for name in ("ill", "well")}


def test_a_number_has_an_interval_and_no_probabilities(tmp_path):
    arrow_csv.write_csv(patients().select(["patient", "rna_0", "rna_1", "rna_2", "image_0"]), tmp_path / "data.csv")
    usual = ["--target", "rna_0", "--id", "patient", "--set", "learners=linear"]
    assert run("fit", tmp_path / "data.csv", *usual, "--output", tmp_path / "model.fuse").exit_code == 0
    service = PredictionService(*load_model(str(tmp_path / "model.fuse"), Notes(quiet=True), None))
    assert service.describe()["task"] == "regression"
    with serving(service) as port:
        body = (tmp_path / "data.csv").read_bytes()
        status, _, text = call(port, "/predict", body, {**CSV, "Accept": "application/json"})
        assert status == 200
        record = json.loads(text)["predictions"][0]
        assert list(record) == ["id", "prediction", "interval"]
        assert record["interval"]["lower"] < record["prediction"] < record["interval"]["upper"]
        assert call(port, "/predict", body, CSV)[2].startswith("patient,prediction,lower,upper\n")
        assert "It predicts rna_0, with an interval that is to hold 90% of the numbers." in call(port, "/")[2]


def test_csv_of_a_model_with_decimal_commas(tmp_path):
    """Semicolons go with the decimal sign of the fit, commas with a point: as programs write CSV in either place."""
    lines = [f"{number / 7:.3f};{number % 3};{'ab'[number % 2]}".replace(".", ",") for number in range(40)]
    (tmp_path / "data.csv").write_text("\n".join(["x;z;kind", *lines]) + "\n")
    how = ["--delimiter", ";", "--decimal", ",", "--method", "shareboost", "--set", "n_estimators=2"]
    model = tmp_path / "model.fuse"
    assert run("fit", tmp_path / "data.csv", "--target", "kind", *how, "--output", model).exit_code == 0
    service = PredictionService(*load_model(str(model), Notes(quiet=True), None))
    answers = [
        service.predict(body, kind)[0]
        for body, kind in (
            (b"x;z\n0,5;1\n1,25;2\n", "csv"),
            (b"x,z\n0.5,1\n1.25,2\n", "csv"),
            (b"x\tz\n0,5\t1\n1,25\t2\n", "csv"),
            (b'[{"x": 0.5, "z": 1}, {"x": 1.25, "z": 2}]', "json"),
        )
    ]
    assert all(answer.equals(answers[0]) for answer in answers)
    with pytest.raises(RequestError, match=r"'0\.5' in row 1 of the column 'x', which must hold numbers"):
        service.predict(b"x;z\n0.5;1\n", "csv")


def test_a_view_may_be_missing_and_is_noted(port):
    status, _, text = call(port, "/predict", json.dumps([PATIENT]).encode(), JSON)
    assert status == 200
    assert json.loads(text)["notes"] == [
        "the request has no column of the view 'image': it is taken as missing in every row."
    ]


def test_notes_of_csv_are_in_a_header(port):
    _, headers, _ = call(port, "/predict", b"patient,site\np1,n\xc3\xb6rd\n", CSV)
    assert headers["X-Notes"].isascii()
    rna, image, site = json.loads(headers["X-Notes"])
    assert rna == "the request has no column of the view 'rna': it is taken as missing in every row."
    assert "'image'" in image
    assert "such as 'nörd'" in site
    body = patients().slice(0, 2).to_pylist()
    _, headers, _ = call(port, "/predict", json.dumps(body).encode(), {**JSON, "Accept": "text/csv"})
    assert headers["X-Notes"] == "[]"


def test_notes_in_a_header_are_cut():
    notes = json.loads(header_of(["\x7f\ud800\n", "x" * 10_000, *[f"note {number}" for number in range(1000)]]))
    assert notes[:2] == ["\x7f\ud800\n", "x" * 500 + "…"]
    assert notes[2] == "note 0"
    assert notes[-1] == f"{1002 - len(notes) + 1} more; ask for JSON to read them."
    header = header_of(["\x7f\n", *["🙂" * 1000] * 100])
    assert len(header) < 4100
    assert header.isprintable()


@pytest.mark.parametrize(
    ("body", "headers", "status", "message"),
    [
        (b"patient,rna_0\np1,0.5\n", CSV, 422, "lacks the column 'rna_1'"),
        (b"patient,size\np1,0.5\n", CSV, 422, "none of the columns"),
        (b"site\nnorth\nnorth,1\n", CSV, 422, "cannot be read as csv"),
        (b"site\n", CSV, 422, "has no rows"),
        (b"site\n" + b"north\n" * 51, CSV, 413, "more than 50 rows"),
        (b"site\n" + b"n" * 20_000, CSV, 413, "more than 20000 bytes"),
        (b"site\nnorth\n", {**CSV, "Content-Encoding": "gzip"}, 415, "compressed"),
        (b"site\nnorth\n", {}, 415, "Content-Type must be application/json or text/csv"),
        (b'[{"site": NaN}]', JSON, 400, "NaN is not JSON"),
        (b'[{"site": ["north"]}]', JSON, 400, "a list in the column 'site'"),
        (b'[{"site": "\\ud800"}]', JSON, 400, "lone surrogate"),
        (b"[" * 10_000, JSON, 400, "nested too deeply"),
        (b'{"rows": 3}', JSON, 400, "list of objects"),
        (b"[3]", JSON, 400, "Row 1 is not an object"),
        (b"[]", JSON, 422, "no rows"),
        (b"[{}]", JSON, 422, "none of the columns"),
        (json.dumps([{"site": None}] * 51).encode(), JSON, 413, "more than 50 rows"),
        (json.dumps([{**PATIENT, "rna_2": "much"}]).encode(), JSON, 422, "'much'"),
        (b'[{"site": "north", "site": "south"}]', JSON, 400, "Row 1 has the column 'site' more than once"),
        (b'[{}, {"site": 1, "rna_0": 2, "rna_0": 2}]', JSON, 400, "Row 2 has the column 'rna_0' more than once"),
        (b'{"rows": [], "rows": [{"site": "north"}]}', JSON, 400, "has 'rows' more than once"),
        (b'[{"rna_0": 0.5}]', JSON, 422, "send it in each row, with null"),
        (json.dumps([PATIENT, {**PATIENT, "patient": None}]).encode(), JSON, 422, "give each row one, or leave"),
        (json.dumps([PATIENT, {**PATIENT, "rna_2": "inf"}]).encode(), JSON, 422, "column 'rna_2', row 2; send null"),
        (json.dumps([PATIENT, {**PATIENT, "rna_2": 9}]).replace("9", "1e999").encode(), JSON, 422, "'rna_2', row 2"),
        (json.dumps([{**PATIENT, "rna_2": "unknown"}]).encode(), JSON, 422, "fix the cell, or leave it empty."),
        ("site\nnörd\n".encode("latin-1"), CSV, 400, "Content-Type: text/csv; charset=latin-1"),
        (b"site\nnorth\n", {"Content-Type": "text/csv; charset=nope"}, 415, "The charset 'nope' of Content-Type"),
        (b"site\nnorth\n", {"Content-Type": "text/csv; charset=punycode"}, 415, "'punycode' of Content-Type"),
    ],
)
def test_what_is_wrong_is_said_in_words(port, body, headers, status, message):
    answered, _, text = call(port, "/predict", body, headers)
    assert (answered, message in json.loads(text)["error"]) == (status, True), text
    assert "--" not in text  # a client has no options


def test_pages_and_methods_that_do_not_exist(port):
    assert call(port, "/nowhere")[0] == 404
    assert call(port, "/predict")[0] == 405
    assert call(port, "/health", b"", CSV)[0] == 405


def test_health_and_model(port):
    assert json.loads(call(port, "/health")[2])["status"] == "ok"
    told = json.loads(call(port, "/model")[2])
    assert told["classes"] == ["ill", "well"]
    assert (told["target"], told["id"], told["n_columns"]) == ("outcome", "patient", 8)
    assert told["views"]["image"] == ["image_0", "image_1", "image_2"]
    assert (told["max_rows"], told["max_body_bytes"]) == (50, 20_000)


def test_a_model_without_explanations_says_so():
    table = patients().to_pandas()
    names = ["rna_0", "image_0"]
    plain = PredictionService(LogisticRegression().fit(table[names], table["outcome"]))
    answer, _ = plain.predict(b'[{"rna_0": 1, "image_0": 2}]', "json")
    assert answer.column_names == ["prediction", "probability_ill", "probability_well"]
    with pytest.raises(RequestError, match="LogisticRegression does not explain its predictions") as error:
        plain.explain(b'[{"rna_0": 1, "image_0": 2}]', "json")
    assert error.value.status == 501


def test_explanations_add_up_by_view_and_name_the_largest_columns(port, service):
    status, _, text = call(port, "/explain", json.dumps([PATIENT]).encode(), JSON)
    assert status == 200, text
    [row] = json.loads(text)["explanations"]
    assert row["id"] == "p7"
    assert list(row["views"]) == ["rna", "image", "site"]
    assert row["views"]["image"] == 0.0  # the row does not have it
    table = pa.table({name: [value] for name, value in PATIENT.items()} | {"rna_3": [None]})
    [decision] = service.model.decision_function(table)
    assert row["base"] + sum(row["views"].values()) == pytest.approx(decision)
    assert set(row.get("columns", {})) <= {*patients().column_names}


def test_few_rows_are_explained_at_a_time(service, monkeypatch):
    monkeypatch.setattr("fuselearn.cli.prediction_service.MOST_EXPLAINED", 1)
    with pytest.raises(RequestError, match="At most 1 rows are explained at a time; got 2"):
        service.explain(b"site\nnorth\nsouth\n", "csv")


def test_other_names_of_the_server_are_refused(service):
    request = "GET /health HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n"
    with serving(service) as port:
        names = ("127.0.0.1", f"127.0.0.1:{port}", "localhost", "[::1]:80", "elsewhere.example", "127.0.0.1.evil")
        answered = [send(port, request.format(name).encode()) for name in names]
    assert answered == [200, 200, 200, 200, 421, 421]
    with serving(service, hosts=()) as port:
        assert send(port, request.format("elsewhere.example").encode()) == 200


def test_the_page_shows_names_as_text(service, monkeypatch):
    told = {**service.describe(), "target": "<script>alert(1)</script>", "classes": ["{{script}}", "<b>"]}
    monkeypatch.setattr(service, "describe", lambda: told)
    with serving(service) as port:
        _, headers, page = call(port, "/")
    assert page.count("<script>") == 1
    assert "&lt;script&gt;alert(1)" in page
    assert "{{script}}, &lt;b&gt;" in page
    assert "unsafe-inline" not in headers["Content-Security-Policy"]
    assert "image_0,image_1" in page


def test_malformed_requests_do_no_harm(port):
    answered = statuses(port, 300, [*patients().column_names])
    assert not {status for status in answered if status >= 500 and status != 501}, answered
    assert answered[400] > 20
    assert call(port, "/health")[0] == 200


@pytest.mark.long
def test_thousands_of_malformed_requests_do_no_harm(port):
    answered = statuses(port, 10_000, [*patients().column_names], seed=1)
    assert not {status for status in answered if status >= 500 and status != 501}, answered
    assert call(port, "/health")[0] == 200


@pytest.mark.long
def test_the_command_serves_until_it_is_stopped(model):
    command = [sys.executable, "-c", "from fuselearn.cli import main; main()", "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            line = process.stderr.readline()
            assert line.startswith(f"Serving {model} at http://127.0.0.1:"), line
            port = int(line.split("127.0.0.1:")[1].split(";")[0])
            assert call(port, "/predict", b"site\nnorth\n", CSV)[0] == 200
        finally:
            process.terminate()
        assert process.wait(30) != 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "70000"], "--port must be between 0 and 65535; got 70000."),
        (["--max-rows", "0"], "--max-rows must be at least 1; got 0."),
    ],
)
def test_bad_options_are_refused(model, options, message):
    result = run("serve", model, *options)
    assert (result.exit_code, result.stderr) == (1, f"fuselearn: {message}\n")


def test_a_port_that_is_taken_is_refused(model, port):
    result = run("serve", model, "--port", port)
    assert result.exit_code == 1
    assert f"127.0.0.1:{port} cannot be listened on" in result.stderr


def test_answers_are_sent_at_once():
    """Else the second half of each waits until the client has acknowledged the first, for 40 ms."""
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()) as client:
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert connection.getpeername() == client.getsockname()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_in_quoted_names_are_parts_of_them(delimiter):
    first_line = delimiter.join(["id", '"a, kg; or\tlb"', "b"])
    assert _delimiter_of(f"{first_line}\n1{delimiter}2{delimiter}3\n".encode()) == delimiter
