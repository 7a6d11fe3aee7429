"""``fuselearn serve`` over the loopback interface: requests a second, latency, and malformed requests.

Usage: ``python -m benchmarks.serving [MODEL ROWS.csv] [--quick]``

Serves a model in a process of its own, sends it one row and 100 rows at a time over connections that are kept open, by
one and by four clients, then malformed requests, of which none may crash it or be answered with 500. Without a model it
fits two, of few and of many columns.
"""

import csv
import http.client
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command_line import Options, parser, progress
from benchmarks.fitted_files import fit_fusion, fuselearn
from benchmarks.tables import at_most, markdown_table, milliseconds, quick_note, section
from benchmarks.timing import best_times
from fuselearn.cli.console import Notes
from fuselearn.cli.prediction_service import PredictionService
from fuselearn.cli.saved_models import load_model

N_COLUMNS = (8, 384)
ROWS_OF_REQUESTS, CLIENTS = (1, 100), (1, 4)
N_REQUESTS, N_MALFORMED = 400, 10_000
QUICK_REQUESTS, QUICK_MALFORMED = 20, 200
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

ODD_TEXTS = (
    "",
    "NA",
    "nan",
    "1e999",
    "-inf",
    "0x1p3",
    "١",
    "1,5",
    "true",
    "\x00",
    "\ud800",
    "'",
    '"',
    "a\nb",
    "9" * 400,
)
ODD_VALUES = (None, True, [], {}, [1], 1e308, -1e308, 10**400, 0.1, -0.0, 2**63, *ODD_TEXTS)
TYPES = ("application/json", "text/csv", "text/csv; charset=utf-16", "text/csv; charset=rot13", "TEXT/CSV", "", "*/*")
PATHS = (
    "/predict",
    "/explain",
    "/predict/",
    "/predict?x=%00",
    "/",
    "/health",
    "/model",
    "/..%2f",
    "/\x7f",
    "//predict",
)
METHODS = ("POST", "POST", "POST", "GET", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW")


def malformed_body(rng: np.random.Generator, names: list[str]) -> bytes:
    """Return the body of a request: JSON or CSV of which something is wrong, or bytes."""
    kind = rng.integers(8)
    some = [names[number] for number in rng.integers(len(names), size=rng.integers(1, 6))]
    if kind == 0:
        return rng.bytes(int(rng.integers(0, 300)))
    if kind == 1:
        return b"[" * int(rng.integers(1, 5000)) + b"]" * int(rng.integers(0, 5000))
    if kind == 2:
        return rng.choice([b"", b"null", b"NaN", b"{}", b"[]", b"[[]]", b'{"rows":1}', b'{"rows":[]}', b'[{"a":NaN}]'])
    if kind <= 4:
        rows = [
            {name: ODD_VALUES[rng.integers(len(ODD_VALUES))] for name in some} for _ in range(int(rng.integers(1, 5)))
        ]
        text = json.dumps(rows if kind == 3 else {"rows": rows}).encode()
        return text if rng.random() < 0.6 else text[: int(rng.integers(len(text)))]
    lines = [",".join(some if rng.random() < 0.3 else names)]
    for _ in range(int(rng.integers(0, 4))):
        width = len(names) if rng.random() < 0.6 else int(rng.integers(0, 12))
        cells = rng.choice((*ODD_TEXTS[:10], "0.5", "1", "-3"), size=width)
        lines.append(",".join(cells))
    text = rng.choice(["\n", "\r\n", "\r", "\n\n"]).join(lines).encode("utf-8", "surrogatepass")
    if kind == 7:
        place = int(rng.integers(len(text) + 1))
        text = text[:place] + rng.bytes(int(rng.integers(1, 9))) + text[place:]
    return text


def malformed_request(rng: np.random.Generator, names: list[str]) -> bytes:
    """Return a whole request as it goes over the wire; some are not even HTTP."""
    if rng.random() < 0.05:
        return rng.bytes(int(rng.integers(1, 200))) + b"\r\n\r\n"
    body = malformed_body(rng, names)
    method, path, kind = (str(rng.choice(options)) for options in (METHODS, PATHS, TYPES))
    if rng.random() < 0.6:
        method, path, kind = "POST", "/predict", str(rng.choice(TYPES[:2]))
    length = str(len(body)) if rng.random() < 0.9 else str(rng.choice(["-1", "x", "0", "1e3", "99999999999999999999"]))
    head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}", f"Content-Length: {length}"]
    if rng.random() < 0.1:
        head.append(str(rng.choice(["Content-Encoding: gzip", "Host: elsewhere", "Transfer-Encoding: chunked", "x"])))
    return "\r\n".join([*head, "Connection: close", "", ""]).encode("latin-1") + body


def is_complete(request: bytes) -> bool:
    """Return whether a request has as many bytes as it declares."""
    head, _, body = request.partition(b"\r\n\r\n")
    found = re.search(rb"Content-Length: (\d{1,18})\r?$", head, re.MULTILINE)
    return b" HTTP/1.1\r\n" in head and b"chunked" not in head and int(found[1] if found else 0) == len(body)


def send(port: int, request: bytes) -> int:
    """Send a request and return the status of the answer; 0 where the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            connection.sendall(request)
            if not is_complete(request):
                connection.shutdown(socket.SHUT_WR)  # else the server waits for what never comes
            answer = connection.recv(4096)
            while b"\r\n" not in answer and (more := connection.recv(4096)):
                answer += more
            while connection.recv(65536):
                pass
        except (ConnectionResetError, BrokenPipeError):
            answer = b""
    found = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    return int(found[1]) if found else 0


def statuses(port: int, count: int, names: list[str], seed: int = 0) -> Counter:
    """Return how often malformed requests were answered with which status."""
    rng = np.random.default_rng(seed)
    return Counter(send(port, malformed_request(rng, names)) for _ in range(count))


def latencies(port: int, body: bytes, requests: int, clients: int) -> tuple[np.ndarray, float]:
    """Return the seconds of each request, and of all together, of clients that each keep a connection open."""
    times: list[float] = []

    def call() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(requests // clients):
            start = time.perf_counter()
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            assert response.status == 200, response.status
            times.append(time.perf_counter() - start)
        connection.close()

    workers = [threading.Thread(target=call) for _ in range(clients)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return np.array(times), time.perf_counter() - start


@contextmanager
def served(model: str | Path) -> Iterator[int]:
    """Serve a model in another process, and yield its port."""
    command = fuselearn("serve", model, "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            line = next((line for line in process.stderr or [] if "Serving" in line), "")
            yield int(line.split("http://127.0.0.1:")[1].split(";")[0])
        finally:
            process.terminate()


def read_records(rows: str | Path) -> list[dict[str, Any]]:
    """Return the first rows of a CSV file as JSON has them, as many as the largest request takes."""
    n_rows = max(ROWS_OF_REQUESTS)
    with open(rows, newline="", encoding="utf-8") as file:
        found = [
            {name: _value(cell) for name, cell in record.items()} for record in islice(csv.DictReader(file), n_rows)
        ]
    return (found * -(-n_rows // len(found)))[:n_rows]


def table_rows(
    name: str, port: int, service: PredictionService, records: list[dict[str, Any]], n_requests: int
) -> list[tuple[str, ...]]:
    """Return the rows of the table for a model that is served at a port, and loaded in this process as well."""
    rows = []
    latencies(port, json.dumps(records[:1]).encode(), 20, 1)
    for n_rows in ROWS_OF_REQUESTS:
        request = f"{name}, {n_rows} {'row' if n_rows == 1 else 'rows'}"
        progress(f"serving: {request}")
        body = json.dumps(records[:n_rows]).encode()
        [processor] = best_times({"": lambda body=body: service.predict(body, "json")}, 20).values()
        rates, medians, late = [], [], []
        for clients in CLIENTS:
            times, seconds = latencies(port, body, n_requests, clients)
            rates.append(f"{len(times) / seconds:,.0f}")
            medians.append(milliseconds(np.median(times)))
            late.append(milliseconds(np.quantile(times, 0.99)))
        rows.append((request, milliseconds(processor.seconds), *map(" / ".join, (rates, medians, late))))
    return rows


def malformed_answers(port: int, count: int, names: list[str]) -> tuple[Counter, bool]:
    """Return how often malformed requests were answered with which status, and whether the server was well after it."""
    progress(f"serving: {count:,} malformed requests")
    try:
        return statuses(port, count, names), send(port, HEALTH) == 200
    except OSError:  # nobody listens any more, or answers
        return Counter(), False


def status_words(counts: Counter) -> str:
    """Return in words how often there was which status, the most frequent first."""
    return ", ".join(
        f"{count:,} times {status}" if status else f"{count:,} times a closed connection without a status"
        for status, count in counts.most_common()
    )


def harm(counts: Counter, is_well: bool, count: int) -> str:
    """Return in words what malformed requests did, and whether that is no harm."""
    crashes = int(not is_well)
    return (
        f"{count:,} malformed requests, of which some are in order after all: "
        f"{status_words(counts) or 'answers not counted'}; afterwards the server was "
        f"{'well' if is_well else '**not well**'}. Answers with status 500, and crashes: "
        f"{at_most(counts[500] + crashes, 0)}."
    )


def report(options: Options, model: str | None = None, rows: str | None = None) -> str:
    """Return the section of the report, as Markdown: of a model and a file of rows, or of two that are made for it."""
    n_requests = QUICK_REQUESTS if options.quick else N_REQUESTS
    n_malformed = QUICK_MALFORMED if options.quick else N_MALFORMED
    lines, answers, sizes = [], None, []
    with tempfile.TemporaryDirectory() as folder:
        files = [(model, rows)] if model else [fit_fusion(Path(folder) / str(width), width) for width in N_COLUMNS]
        for path, table in files:
            loaded, note = load_model(str(path), Notes(quiet=True), None)
            service, records = PredictionService(loaded, note), read_records(table)
            service.warm()
            described = service.describe()
            sizes.append(_size(described, loaded))
            with served(path) as port:
                lines += table_rows(f"{described['n_columns']} columns", port, service, records, n_requests)
                if answers is None:
                    answers = malformed_answers(port, n_malformed, list(records[0]))
    header = (
        "model, rows of a request",
        "processor time, ms",
        f"requests a second, {' / '.join(map(str, CLIENTS))} clients",
        "median, ms",
        "p99, ms",
    )
    return section(
        "A server",
        f"`fuselearn serve` of {' and of '.join(dict.fromkeys(sizes))}, over the loopback interface, connections kept "
        f"open, rows as JSON, {n_requests} requests for each figure; median and p99 are latencies, with as many "
        "clients. Clients and server share the cores. Processor time is that of `PredictionService.predict` alone, "
        "the least of 20 calls.",
        markdown_table(header, lines),
        harm(*answers, n_malformed),
        *quick_note(options),
    )


def main() -> None:
    """Parse the command line and print the section."""
    command_line = parser(__doc__.splitlines()[0])
    command_line.add_argument("model", nargs="?", metavar="MODEL", help="a file of `fuselearn fit` (default: two)")
    command_line.add_argument("rows", nargs="?", metavar="ROWS.csv", help="rows that it can predict")
    arguments = command_line.parse_args()
    if arguments.model and not arguments.rows:
        command_line.error("a model needs rows: MODEL ROWS.csv")
    print(report(Options(arguments.quick, arguments.mumbo_python), arguments.model, arguments.rows))


def _size(described: dict[str, Any], loaded: Any) -> str:
    """Return in words what a model is, with the number of its base models where it has some."""
    base_models = getattr(getattr(loaded, "model_", loaded), "arms_", None)
    return described["model"] + (f" with {len(base_models)} base models" if base_models is not None else "")


def _value(cell: str) -> float | str | None:
    """Return a cell of CSV as JSON would have it."""
    try:
        return float(cell)
    except ValueError:
        return cell or None


if __name__ == "__main__":
    main()
