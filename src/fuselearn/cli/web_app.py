"""The web application of ``fuselearn serve``: routes, limits, formats, and a page to try the model in the browser."""

import base64
import csv
import functools
import hashlib
import html
import io
import json
import logging
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fuselearn.cli.columns import INTERVAL_ENDS
from fuselearn.cli.prediction_service import PredictionService, RequestError

KINDS = {"application/json": "json", "text/csv": "csv"}
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names by which a server of this machine alone is called. Any other is that of a page which tries to get at it."""
MOST_CONNECTIONS = 500
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
ID, PROBABILITY = "id", "probability_"
SHOWN_CLASSES = 20
MOST_OF_NOTES = 4000
"""Characters of notes in a header: proxies take 8,000 of all headers together."""
MOST_OF_NOTE = 500
log = logging.getLogger("fuselearn.serve")


def make_web_app(
    service: PredictionService, *, max_body: int = 16 * 2**20, threads: int = 1, hosts: tuple[str, ...] = LOOPBACK
) -> ASGIApp:
    """Return the application of a model.

    `max_body` is the most bytes of a request, `threads` how many requests are computed at a time. Requests to other
    names than `hosts` are refused; where there are none, any name will do.
    """
    description = service.describe()
    page, digests = _page(description)
    policy = f"default-src 'none'; connect-src 'self'; script-src {digests[0]}; style-src {digests[1]}; base-uri 'none'"
    limiter = anyio.CapacityLimiter(threads)

    async def answer(request: Request, answered: Callable[..., Response]) -> Response:
        """Read the body of a request, and compute the answer in a thread."""
        kind, encoding = _format_of(request)
        content = await _body(request, max_body)
        wants_csv = _wants_csv(request, kind)
        return await anyio.to_thread.run_sync(
            functools.partial(answered, content, kind, encoding, wants_csv), limiter=limiter
        )

    def predictions(content: bytes, kind: str, encoding: str, as_csv: bool) -> Response:
        """Return the predictions of the rows."""
        table, notes = service.predict(content, kind, encoding)
        if as_csv:
            return _csv(table, notes)
        identifier = next(iter(table.column_names)) if table.column_names[0] != "prediction" else None
        names = [name for name in table.column_names if name != identifier]
        beside = {
            "probabilities": [name for name in names if name.startswith(PROBABILITY)],
            "interval": [name for name in names if name in INTERVAL_ENDS],
        }
        records = [
            {
                **({} if identifier is None else {ID: row[identifier]}),
                "prediction": row["prediction"],
                **{
                    key: {name.removeprefix(PROBABILITY): row[name] for name in names}
                    for key, names in beside.items()
                    if names
                },
            }
            for row in table.to_pylist()
        ]
        return _json({"predictions": records, "notes": notes})

    def explanations(content: bytes, kind: str, encoding: str, as_csv: bool) -> Response:
        """Return the explanations of the rows, as JSON."""
        return _json(service.explain(content, kind, encoding))

    async def predict(request: Request) -> Response:
        return await answer(request, predictions)

    async def explain(request: Request) -> Response:
        return await answer(request, explanations)

    async def health(request: Request) -> Response:
        return _json({"status": "ok", "model": description["model"], "version": description["fuselearn_version"]})

    async def model(request: Request) -> Response:
        return _json({**description, "max_body_bytes": max_body})

    async def index(request: Request) -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    app = Starlette(
        routes=[
            Route("/", index),
            Route("/health", health),
            Route("/model", model),
            Route("/predict", predict, methods=["POST"]),
            Route("/explain", explain, methods=["POST"]),
        ],
        exception_handlers={
            RequestError: _request_error,
            HTTPException: _http_error,
            ClientDisconnect: _gone,
            Exception: _failure,
        },
    )
    return _Checked(app, hosts)


def server_settings(app: ASGIApp) -> uvicorn.Config:
    """Return the settings of a server: no web sockets, no log of requests, 503 where too many come at a time."""
    return uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
    )


class _Checked:
    """An application that answers to its own names only, and whose answers all have `HEADERS`."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        name = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        name = name if name.endswith("]") else name.rpartition(":")[0] or name
        if self._hosts and name.lower() not in self._hosts:
            response = _error(421, f"This server answers to {', '.join(self._hosts)} only; see --allow-host.")
            await response(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _format_of(request: Request) -> tuple[str, str]:
    """Return the kind of the rows of a request, and their encoding."""
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        raise RequestError(415, "The request is compressed; send it as it is.")
    name, *settings = request.headers.get("content-type", "").split(";")
    kind = KINDS.get(name.strip().lower())
    if kind is None:
        raise RequestError(415, f"Content-Type must be {' or '.join(KINDS)}; got {name.strip()[:60]!r}.")
    found = [
        value.strip().strip('"') for key, _, value in (item.partition("=") for item in settings) if "charset" in key
    ]
    return kind, found[0] if found and kind == "csv" else "utf-8"


def _wants_csv(request: Request, kind: str) -> bool:
    """Return whether the answer is to be CSV: as the request accepts it, else as its own rows are."""
    accepted = request.headers.get("accept", "").lower()
    if "text/csv" in accepted or "application/json" in accepted:
        return "application/json" not in accepted
    return kind == "csv"


async def _body(request: Request, most: int) -> bytes:
    """Return the body of a request, of which no more than `most` bytes are read."""
    too_large = RequestError(413, f"The request has more than {most} bytes; send fewer rows at a time.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        raise too_large
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise too_large
    return bytes(content)


def _json(value: Any, status: int = 200) -> Response:
    """Return an answer as JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode(errors="backslashreplace"), status, media_type="application/json")


def _csv(table: Any, notes: list[str]) -> Response:
    """Return a table as CSV; notes have no place in it, and come in a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns)))
    return Response(text.getvalue().encode(), media_type="text/csv", headers={"X-Notes": header_of(notes)})


def header_of(notes: list[str]) -> str:
    r"""Return notes as a JSON list of ASCII characters, whose last item says how many there was no room for.

    Examples
    --------
    >>> print(header_of(["größe is missing."]))
    ["gr\u00f6\u00dfe is missing."]
    """
    items: list[str] = []
    for note in notes:
        short = note if len(note) <= MOST_OF_NOTE else f"{note[:MOST_OF_NOTE]}…"
        # JSON leaves the control character of deletion as it is; a header may have none.
        item = json.dumps(short).replace("\x7f", "\\u007f")
        if sum(map(len, items)) + len(item) > MOST_OF_NOTES:
            items.append(json.dumps(f"{len(notes) - len(items)} more; ask for JSON to read them."))
            break
        items.append(item)
    return f"[{', '.join(items)}]"


def _error(status: int, message: str) -> Response:
    """Return what is wrong, in words."""
    return _json({"error": message}, status)


async def _request_error(request: Request, error: Exception) -> Response:
    return _error(getattr(error, "status", 400), str(error))


async def _http_error(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 400)
    words = {
        404: "There is no such page; there are /, /health, /model, /predict and /explain.",
        405: "/predict and /explain take POST, all else GET.",
    }
    response = _error(status, words.get(status, str(getattr(error, "detail", error))))
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _gone(request: Request, error: Exception) -> Response:
    return _error(400, "The client has gone.")


async def _failure(request: Request, error: Exception) -> Response:
    log.error("a request to %s failed: %r", request.url.path, error)
    return _error(500, "The server failed on this request, which is a defect; its log says more.")


def _what_it_predicts(description: dict[str, Any]) -> str:
    """Return in words what a model predicts."""
    if description["task"] == "regression":
        coverage = description["interval_coverage"]
        beside = f", with an interval that is to hold {coverage:.0%} of the numbers" if coverage else ""
        return f"{description['target'] or 'a number'}{beside}."
    classes = description["classes"]
    more = f" and {len(classes) - SHOWN_CLASSES} more" if len(classes) > SHOWN_CLASSES else ""
    return f"{description['target'] or 'the class'}: {', '.join(classes[:SHOWN_CLASSES])}{more}."


def _page(description: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the page to try a model, and the digests of its script and style, the only ones that may run."""
    folder = files("fuselearn.cli") / "try_page"
    page, script, style = ((folder / name).read_text("utf-8") for name in ("page.html", "page.js", "page.css"))
    columns = [name for names in description["views"].values() for name in names]
    first = [description["id"]] if description["id"] else []
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([*first, *dict.fromkeys(columns)])
    views = "".join(
        f"<li><b>{html.escape(view)}</b> ({len(names)} column{'' if len(names) == 1 else 's'})</li>"
        for view, names in description["views"].items()
    )
    values = {
        "model": html.escape(description["model"]),
        "predicts": html.escape(_what_it_predicts(description)),
        "views": views,
        "names": html.escape(text.getvalue() if columns else ""),
        "explain": "" if description["explains"] else " hidden",
        "version": html.escape(description["fuselearn_version"]),
        "script": script,
        "style": style,
    }
    # In one pass: what is put in may look like a place itself.
    page = re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], page)
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" for part in (script, style)
    ]
    return page, digests
