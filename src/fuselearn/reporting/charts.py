"""The marks of the charts of a report, computed here and drawn as SVG by the templates.

A report does not use the matplotlib displays of :mod:`fuselearn.inspection`, but draws all its charts as inline SVG,
for reasons that pictures cannot serve: the page needs neither matplotlib when it is made nor any file beside it; a
chart of paths has a few kilobytes where a picture has fifty; its colours are those of the style sheet, so that one page
serves light and dark themes and print; and its words are text of the page, which stays readable on a phone, is found by
a search and is read by screen readers. The displays are for papers, where a fixed size and matplotlib's file formats
are needed. No part of a report is drawn in any other way.

A chart is drawn on a square of :data:`SIDE` units that the page stretches to any width; lines keep their thickness, and
ticks and titles are placed beside the drawing, in percent of its sides.
"""

import math
from collections.abc import Sequence

from fuselearn.reporting.report_rows import Record

SIDE = 1000
N_SHADES = 8
"""Shades of a heat map above the empty one."""
N_STRENGTHS = 4
"""Shades of a lane of rounds."""
MAX_MATRIX_WITH_NUMBERS = 20
"""Rows of a matrix that is written as a table of numbers; larger ones are drawn."""
MAX_LANES = 20
MAX_FEATURE_GROUPS = 10
"""Views whose columns are drawn as bars."""


def draw_charts(summary: Record) -> Record:
    """Return the marks of all charts of a summary."""
    charts = _draw_rounds(summary["rounds"]) if summary["rounds"] else {}
    if summary["margins"]:
        charts["margins"] = histogram(summary["margins"]["counts"], summary["margins"]["edges"], cut=0.0)
    if summary["calibration"]:
        bins = summary["calibration"]["bins"]
        charts["reliability"] = reliability(bins)
        counts = {round(record["from"] * 10): record["rows"] for record in bins}
        charts["confidence"] = histogram(
            [counts.get(number, 0) for number in range(10)], [number / 10 for number in range(11)]
        )
    if summary["confusion"] and len(summary["confusion"]["classes"]) > MAX_MATRIX_WITH_NUMBERS:
        shares = [[value / (sum(row) or 1) for value in row] for row in summary["confusion"]["counts"]]
        charts["confusion"] = heat_map(shares)
    if summary["redundancy"] and len(summary["redundancy"]["views"]) > MAX_MATRIX_WITH_NUMBERS:
        charts["redundancy"] = heat_map(summary["redundancy"]["matrix"], faintest=0.05)
    if summary["leaderboard"] and summary["leaderboard"]["score"]:
        charts["board"] = _draw_leaderboard(summary["leaderboard"])
    if summary["features"]:
        charts["features"] = feature_bars(summary["features"])
    return charts


def line_chart(
    x: Sequence[int],
    y: Sequence[float],
    *,
    second: Sequence[float] | None = None,
    y_as_percent: bool = False,
    marks: Sequence[tuple[float, float]] = (),
) -> Record:
    """Return a line, or two of the same scale, with its axes, and dots at the points `marks`."""
    across, upward = Scale(min(x), max(x)), Scale(*padded_range([*y, *(second or ())]))
    if len(x) == 1:
        marks = [(x[0], y[0])]
    lines = [
        " ".join(f"{across.right(left)} {upward.up(height)}" for left, height in zip(x, heights)) if len(x) > 1 else ""
        for heights in (y, second or ())
    ]
    return {
        "line": f"M{lines[0]}" if lines[0] else "",
        "second": f"M{lines[1]}" if lines[1] else "",
        "dots": [[across.right(left), upward.up(height)] for left, height in marks],
        "x_ticks": [[across.percent(tick), f"{tick:,g}"] for tick in ticks(across.low, across.high, whole=True)],
        "y_ticks": upward_ticks(upward, y_as_percent),
        "grid": horizontal_lines(upward),
    }


def histogram(counts: Sequence[int], edges: Sequence[float], cut: float | None = None) -> Record:
    """Return the bars of a histogram, those whose middle lies below `cut` separately."""
    across, upward = Scale(edges[0], edges[-1]), Scale(0, max([*counts, 1]))
    gap = 2
    bars = {"below": "", "above": ""}
    for count, left, right in zip(counts, edges[:-1], edges[1:]):
        if not count:
            continue
        height = max(4, upward.right(count))  # visible, however small it is beside the others
        start, stop = across.right(left) + gap, across.right(right) - gap
        side = "below" if cut is not None and (left + right) / 2 < cut else "above"
        bars[side] += f"M{start} {SIDE}V{SIDE - height}H{stop}V{SIDE}Z"
    return {
        **bars,
        "x_ticks": [[across.percent(tick), f"{tick:g}"] for tick in ticks(edges[0], edges[-1], 4)],
        "y_ticks": upward_ticks(upward),
        "grid": horizontal_lines(upward),
    }


def reliability(bins: Sequence[Record]) -> Record:
    """Return stated probability against observed share, with whiskers, and the diagonal where both agree."""
    unit = Scale(0, 1)
    total = sum(record["rows"] for record in bins)
    return {
        "dots": [
            [unit.right(record["stated"]), unit.up(record["observed"]), _dot_size(record["rows"] / total)]
            for record in bins
        ],
        "whiskers": "".join(
            f"M{unit.right(record['stated'])} {unit.up(record['low'])}V{unit.up(record['high'])}" for record in bins
        ),
        "diagonal": f"M0 {SIDE}L{SIDE} 0",
        "x_ticks": [[unit.percent(tick), f"{tick:g}"] for tick in ticks(0, 1)],
        "y_ticks": upward_ticks(unit),
        "grid": horizontal_lines(unit),
    }


def feature_bars(features: Record) -> Record:
    """Return the bars of the features of each view, in shares of the longest one, and what is not drawn."""
    groups = features["groups"][:MAX_FEATURE_GROUPS]
    longest = max(record["share"] for group in groups for record in group["records"])
    drawn = [
        {**group, "records": [{**record, "length": record["share"] / longest} for record in group["records"]]}
        for group in groups
        if group["records"]
    ]
    n_drawn = sum(len(group["records"]) for group in drawn)
    return {"groups": drawn, "n": n_drawn, "left": features["used"] - n_drawn}


def strip(shares: Sequence[float]) -> list[str]:
    """Return one lane of rounds: a path for each strength, with a block for each stretch of rounds of that share."""
    paths = [""] * N_STRENGTHS
    n = len(shares)
    for number, share in enumerate(shares):
        if share > 0:
            left, right = round(SIDE * number / n), round(SIDE * (number + 1) / n)
            paths[min(N_STRENGTHS, math.ceil(share * N_STRENGTHS)) - 1] += f"M{left} 0H{right}V{SIDE}H{left}Z"
    return paths


def heat_map(matrix: Sequence[Sequence[float | None]], faintest: float = 0.0) -> Record:
    """Return the cells of a matrix with values in [0, 1]: a path for each shade, and the number of cells of a side.

    It is for matrices with too many cells to write numbers in them; cells up to `faintest` are empty.
    """
    paths = [""] * N_SHADES
    for down, row in enumerate(matrix):
        for across, value in enumerate(row):
            if value and value > faintest:
                paths[shade(value) - 1] += f"M{across} {down}h1v1h-1z"
    return {"paths": paths, "n": len(matrix)}


def shade(share: float) -> int:
    """Return the shade of a share above 0, from 1 to :data:`N_SHADES`."""
    return max(1, min(N_SHADES, math.ceil(share * N_SHADES - 1e-9)))


def ticks(low: float, high: float, about: int = 5, whole: bool = False) -> list[float]:
    """Return round numbers from `low` to `high`, only whole ones if these count something.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(1, 5, whole=True)
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    if not high > low:
        return [float(low)]
    raw_step = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw_step))
    step = min((factor * power for factor in (1, 2, 2.5, 5, 10)), key=lambda step: abs(step - raw_step))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if whole:
        step = max(1.0, math.ceil(step))
        first, last = math.ceil(low / step), math.floor(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]


class Scale:
    """A linear map of values, from `low` at the left or lower end to `high` at the other, to units of the drawing."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = float(low), float(high)

    def share(self, value: float) -> float:
        """Return the position from 0 to 1."""
        span = self.high - self.low
        return min(1.0, max(0.0, (value - self.low) / span)) if span > 0 else 0.5

    def right(self, value: float) -> int:
        """Return the units from the left."""
        return round(SIDE * self.share(value))

    def up(self, value: float) -> int:
        """Return the units from the top, for an axis that points upwards."""
        return SIDE - self.right(value)

    def percent(self, value: float) -> float:
        """Return the position in percent."""
        return round(100 * self.share(value), 2)


def padded_range(values: Sequence[float]) -> tuple[float, float]:
    """Return a range with some space around the values."""
    low, high = min(values), max(values)
    padding = 0.08 * (high - low) or 0.05 * (abs(high) or 1.0)
    return low - padding, high + padding


def _draw_rounds(rounds: Record) -> Record:
    """Return lanes of the views, and lines of the winner's error, the score and the losses."""
    charts: Record = {}
    if rounds.get("views"):
        lanes = sorted(rounds["views"], key=lambda view: -view["share"])
        shown = lanes if len(lanes) <= MAX_LANES else [view for view in lanes if view["wins"]][:MAX_LANES]
        charts["lanes"] = [{**view, "paths": strip(view["strip"])} for view in shown]
        charts["lanes_left"] = len(lanes) - len(shown)
        # Rounds are counted from 1, but the lane begins where the first round does.
        charts["round_ticks"] = [
            [100 * (tick - 0.5) / rounds["n"], f"{tick:,g}"] for tick in ticks(1, rounds["n"], whole=True)
        ]
    if rounds.get("errors"):
        errors = rounds["errors"]
        charts["errors"] = line_chart(errors["rounds"], errors["values"], y_as_percent=True)
    if rounds.get("losses"):
        losses = rounds["losses"]
        charts["losses"] = line_chart(losses["rounds"], losses["training"], second=losses["held_out"])
    if rounds.get("staged"):
        staged = rounds["staged"]
        best = (staged["best_round"], staged["best"])
        charts["staged"] = line_chart(staged["rounds"], staged["scores"], y_as_percent=True, marks=[best])
    if rounds.get("loss"):
        charts["loss"] = line_chart(rounds["loss"]["rounds"], rounds["loss"]["values"])
    return charts


def _draw_leaderboard(board: Record) -> Record:
    """Return score and interval of each method, in percent of the range that all of them need."""
    columns = board["columns"]
    place = columns.index(board["score"])
    ends = [columns.index(name) if name in columns else place for name in ("low", "high")]
    values = [row[column] for row in board["rows"] for column in (place, *ends) if row[column] is not None]
    scale = Scale(*padded_range(values or [0.0, 1.0]))
    rows = []
    for row in board["rows"][:MAX_LANES]:
        if row[place] is None:
            continue
        low, high = (row[place] if row[end] is None else row[end] for end in ends)
        name = " · ".join(str(row[columns.index(column)]) for column in ("view", "learner") if column in columns)
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
    return {"rows": rows, "ticks": [[scale.percent(tick), f"{tick:g}"] for tick in ticks(scale.low, scale.high, 3)]}


def _dot_size(share: float) -> str:
    """Return the size of a dot that stands for a share of the rows."""
    return "few" if share < 0.02 else "some" if share < 0.2 else "many"


def horizontal_lines(upward: Scale) -> str:
    """Return horizontal lines at the ticks of `upward_ticks`."""
    return "".join(f"M0 {upward.up(tick)}H{SIDE}" for tick in ticks(upward.low, upward.high, 4))


def upward_ticks(upward: Scale, as_percent: bool = False) -> list[list[float | str]]:
    """Return position and text of the ticks of an axis that points upwards."""
    places = ticks(upward.low, upward.high, 4)
    return [[upward.percent(tick), f"{100 * tick:g} %" if as_percent else f"{tick:,g}"] for tick in places]
