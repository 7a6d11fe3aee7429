"""``fuselearn serve`` over the loopback interface: requests a second, latency, and malformed requests.

``python -m benchmarks.serving MODEL ROWS.csv`` serves a model in a process of its own, sends it one row and 100 rows at
a time over connections that are kept open, by one and by four clients, then malformed requests, of which none may
crash it or be answered with 500.
"""

import argparse
import csv
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.machine import description

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
def served(model: str) -> Iterator[int]:
    """Serve a model in another process, and yield its port."""
    command = [sys.executable, "-c", "from fuselearn.cli import main; main()", "serve", model, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            line = next((line for line in process.stderr or [] if "Serving" in line), "")
            yield int(line.split("http://127.0.0.1:")[1].split(";")[0])
        finally:
            process.terminate()


def main() -> None:
    """Print a table, and the statuses of malformed requests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("rows")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--malformed", type=int, default=10_000)
    options = parser.parse_args()
    with open(options.rows, newline="") as file:
        records = [
            {name: _value(cell) for name, cell in record.items()} for _, record in zip(range(100), csv.DictReader(file))
        ]
    print(description())
    with served(options.model) as port:
        latencies(port, json.dumps(records[:1]).encode(), 20, 1)
        for n_rows in (1, 100):
            rows = (records * -(-n_rows // len(records)))[:n_rows]
            for clients in (1, 4):
                times, seconds = latencies(port, json.dumps(rows).encode(), options.requests, clients)
                middle, late = 1000 * np.quantile(times, [0.5, 0.99])
                print(
                    f"{n_rows} rows, {clients} clients: {len(times) / seconds:.0f} requests a second, "
                    f"median {middle:.1f} ms, p99 {late:.1f} ms"
                )
        counts = statuses(port, options.malformed, list(records[0]))
        alive = send(port, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    print(f"{options.malformed} malformed requests: {dict(sorted(counts.items()))}; then /health: {alive}")
    assert counts[500] == 0
    assert alive == 200


def _value(cell: str) -> float | str | None:
    """Return a cell of CSV as JSON would have it."""
    try:
        return float(cell)
    except ValueError:
        return cell or None


if __name__ == "__main__":
    main()
