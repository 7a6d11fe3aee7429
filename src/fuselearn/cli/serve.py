"""``fuselearn serve``: a model behind HTTP, for programs and for a browser."""

import socket
from typing import Annotated

import typer

from fuselearn.cli.console import Notes, check_count, interrupts, refuse, tell
from fuselearn.cli.options import AllowMissingColumns, Model, Trust
from fuselearn.cli.saved_models import load_model

MEBIBYTE = 2**20
BACKLOG = 1024
"""Connections that wait for the server."""


def serve(
    model: Model,
    port: Annotated[int, typer.Option(help="Port; 0 chooses a free one.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Host name by which clients may address the server, repeated.")
    ] = None,
    max_rows: Annotated[int, typer.Option(help="Most rows of a request.")] = 10_000,
    max_megabytes: Annotated[int, typer.Option(help="Most megabytes of a request.")] = 16,
    threads: Annotated[int, typer.Option(help="Number of requests that are computed at the same time.")] = 1,
    trust: Trust = None,
    allow_missing_columns: AllowMissingColumns = False,
) -> None:
    """Answer requests over HTTP: POST rows as CSV or JSON to /predict, or open the address in a browser.

    Only this machine can reach it unless --host says otherwise. It does not ask for passwords: let other machines in
    only behind a proxy that does.
    """
    if not 0 <= port <= 65535:
        refuse(f"--port must be between 0 and 65535; got {port}.")
    for option, value in (("--max-rows", max_rows), ("--max-megabytes", max_megabytes), ("--threads", threads)):
        check_count(option, value)
    try:
        import uvicorn

        from fuselearn.cli.web_app import LOOPBACK, make_web_app, server_settings
    except ModuleNotFoundError as missing:
        refuse(f"serve needs {missing.name}, which is not installed: pip install 'fuselearn[serve]'")
    from fuselearn.cli.prediction_service import PredictionService

    loaded, note = load_model(model, Notes(quiet=False), trust)
    service = PredictionService(loaded, note, allow_missing_columns, max_rows)
    service.warm()
    is_local = host in (*LOOPBACK, "::1")
    hosts = (*(name.lower() for name in allow_host or ()), *LOOPBACK) if is_local or allow_host else ()
    app = make_web_app(service, max_body=max_megabytes * MEBIBYTE, threads=threads, hosts=hosts)
    try:
        listener = listen(host, port)
    except OSError as error:
        refuse(f"{host}:{port} cannot be listened on: {error.strerror}; name another --port or --host.")
    interrupts.saved("the server has stopped")
    with listener:
        shown = f"[{host}]" if ":" in host else host
        tell(f"Serving {model} at http://{shown}:{listener.getsockname()[1]}; Ctrl-C stops it.")
        uvicorn.Server(server_settings(app)).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; its connections send at once what is written to them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    # Each answer is written in two pieces. Unless told otherwise, the system keeps the second one back until the client
    # has acknowledged the first, which takes the client 40 ms. Connections inherit the option.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
