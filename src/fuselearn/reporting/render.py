"""From a summary to one HTML page that needs nothing else: style and script are in it, and no network is asked."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from fuselearn.reporting import charts
from fuselearn.reporting.phrases import percent, shortened

TEMPLATES = files("fuselearn.reporting") / "templates"
MOST_CELLS_WITH_NUMBERS = 20
"""Rows of a matrix that is written as a table; larger ones are drawn."""
MOST_LANES = 20


def render(summary):
    """The page of a summary.

    Parameters
    ----------
    summary : dict
        What :func:`summarize` returns.

    Returns
    -------
    str
        HTML. Whatever a column, a class or a row is called is shown as text.
    """
    script = _text("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            summary=summary,
            charts=drawings_of(summary),
            style=_text("report.css"),
            script=script,
            script_digest=digest,
        )
    )


def drawings_of(summary):
    """Marks of all charts of a summary."""
    found = {}
    rounds = summary["rounds"]
    if rounds and rounds.get("views"):
        lanes = sorted(rounds["views"], key=lambda view: -view["share"])
        shown = lanes if len(lanes) <= MOST_LANES else [view for view in lanes if view["wins"]][:MOST_LANES]
        found["lanes"] = [{**view, "paths": charts.strip(view["strip"])} for view in shown]
        found["lanes_left"] = len(lanes) - len(shown)
        # Rounds are counted from 1, but the strip begins where the first one does.
        found["round_ticks"] = [
            [100 * (one - 0.5) / rounds["n"], f"{one:,g}"] for one in charts.ticks(1, rounds["n"], whole=True)
        ]
        errors = rounds["errors"]
        found["errors"] = charts.line_chart(errors["rounds"], errors["values"], y_as_percent=True)
    if rounds and rounds.get("staged"):
        staged = rounds["staged"]
        found["staged"] = charts.line_chart(
            staged["rounds"], staged["scores"], y_as_percent=True, marks=[(staged["best_round"], staged["best"])]
        )
    if rounds and rounds.get("loss"):
        found["loss"] = charts.line_chart(rounds["loss"]["rounds"], rounds["loss"]["values"])
    if summary["margins"]:
        found["margins"] = charts.histogram(summary["margins"]["counts"], summary["margins"]["edges"], cut=0.0)
    if summary["calibration"]:
        bins = summary["calibration"]["bins"]
        found["reliability"] = charts.reliability(bins)
        counts = {round(one["from"] * 10): one["rows"] for one in bins}
        found["confidence"] = charts.histogram(
            [counts.get(number, 0) for number in range(10)], [number / 10 for number in range(11)]
        )
    if summary["confusion"] and len(summary["confusion"]["classes"]) > MOST_CELLS_WITH_NUMBERS:
        shares = [[value / (sum(row) or 1) for value in row] for row in summary["confusion"]["counts"]]
        found["confusion"] = charts.heat_map(shares)
    if summary["redundancy"] and len(summary["redundancy"]["views"]) > MOST_CELLS_WITH_NUMBERS:
        found["redundancy"] = charts.heat_map(summary["redundancy"]["matrix"], faintest=0.05)
    board = summary["leaderboard"]
    if board and board["score"]:
        found["board"] = _whiskers(board)
    return found


def _whiskers(board):
    """Score and interval of each method, in percent of the range that all of them need."""
    columns = board["columns"]
    place = columns.index(board["score"])
    ends = [columns.index(name) if name in columns else place for name in ("low", "high")]
    values = [row[one] for row in board["rows"] for one in (place, *ends) if row[one] is not None]
    scale = charts.Scale(*charts.roomy(values or [0.0, 1.0]))
    rows = []
    for row in board["rows"][:MOST_LANES]:
        if row[place] is None:
            continue
        low, high = (row[place] if row[one] is None else row[one] for one in ends)
        name = " · ".join(str(row[columns.index(part)]) for part in ("view", "learner") if part in columns)
        rows.append(
            {
                "name": name or str(row[0]),
                "score": row[place],
                "at": scale.percent(row[place]),
                "low": scale.percent(low),
                "width": round(scale.percent(high) - scale.percent(low), 2),
                "has_interval": high > low,
            }
        )
    return {"rows": rows, "ticks": [[scale.percent(one), f"{one:g}"] for one in charts.ticks(scale.low, scale.high, 3)]}


@cache
def _environment():
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("A report needs jinja2: pip install 'fuselearn[app]'.") from error
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (TEMPLATES / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "shortened": shortened, "number": number}
    environment.globals |= {"shade": charts.shade, "most_cells": MOST_CELLS_WITH_NUMBERS}
    return environment


def number(value, decimals=3):
    """A number of a table: whole ones with thousands set apart, others rounded, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:z.{decimals}f}"


def _text(name):
    return (TEMPLATES / name).read_text(encoding="utf-8")
