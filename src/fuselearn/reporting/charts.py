"""Where the marks of a chart go.

A chart is drawn on a square of :data:`SIDE` units that the page stretches to any width; lines keep their thickness and
words are not part of the drawing, so they stay readable on a phone. Colours are left to the style sheet, which has two
sets of them.
"""

import math

SIDE = 1000
SHADES = 8
"""Steps of a heat map, 0 being empty."""


def ticks(low, high, about=5, whole=False):
    """Round numbers from `low` to `high`; only whole ones where these count something.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(1, 5, whole=True)
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    if not high > low:
        return [float(low)]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((factor * power for factor in (1, 2, 2.5, 5, 10)), key=lambda one: abs(one - raw))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if whole:
        step = max(1.0, math.ceil(step))
        first, last = math.ceil(low / step), math.floor(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]


class Scale:
    """From values to units of the drawing.

    Parameters
    ----------
    low, high : float
        What lies at the left or lower end, and at the other.
    """

    def __init__(self, low, high):
        self.low, self.high = float(low), float(high)

    def share(self, value):
        """Position from 0 to 1."""
        span = self.high - self.low
        return min(1.0, max(0.0, (value - self.low) / span)) if span > 0 else 0.5

    def right(self, value):
        return round(SIDE * self.share(value))

    def up(self, value):
        return SIDE - self.right(value)

    def percent(self, value):
        return round(100 * self.share(value), 2)


def line_chart(x, y, *, y_as_percent=False, marks=()):
    """A line with its axes.

    Parameters
    ----------
    x : list of int
        Rounds.
    y : list of float
    y_as_percent : bool, default=False
    marks : list of (x, y)
        Points that get a dot.
    """
    across, upward = Scale(min(x), max(x)), Scale(*roomy(y))
    points = " ".join(f"{across.right(one)} {upward.up(other)}" for one, other in zip(x, y))
    if len(x) == 1:
        marks = [(x[0], y[0])]
    return {
        "line": f"M{points}" if len(x) > 1 else "",
        "dots": [[across.right(one), upward.up(other)] for one, other in marks],
        "x_ticks": [[across.percent(one), f"{one:,g}"] for one in ticks(across.low, across.high, whole=True)],
        "y_ticks": _y_ticks(upward, y_as_percent),
        "grid": _grid(upward),
    }


def histogram(counts, edges, cut=None):
    """Bars of a histogram; those whose middle lies below `cut` are told apart."""
    across, upward = Scale(edges[0], edges[-1]), Scale(0, max([*counts, 1]))
    bars = []
    for count, left, right in zip(counts, edges[:-1], edges[1:]):
        if not count:
            continue
        # One that is there is seen, however small it is beside the others.
        height = max(4, upward.right(count))
        gap = 2
        start, stop = across.right(left) + gap, across.right(right) - gap
        below = cut is not None and (left + right) / 2 < cut
        bars.append({"d": f"M{start} {SIDE}V{SIDE - height}H{stop}V{SIDE}Z", "below": below})
    return {
        "below": "".join(bar["d"] for bar in bars if bar["below"]),
        "above": "".join(bar["d"] for bar in bars if not bar["below"]),
        "x_ticks": [[across.percent(one), f"{one:g}"] for one in ticks(edges[0], edges[-1], 4)],
        "y_ticks": _y_ticks(upward, False),
        "grid": _grid(upward),
    }


def reliability(bins):
    """Stated probability against observed share, with whiskers, and the diagonal where both agree."""
    unit = Scale(0, 1)
    total = sum(one["rows"] for one in bins)
    points = [[unit.right(one["stated"]), unit.up(one["observed"]), _size_of(one["rows"] / total)] for one in bins]
    whiskers = "".join(f"M{unit.right(one['stated'])} {unit.up(one['low'])}V{unit.up(one['high'])}" for one in bins)
    return {
        "dots": points,
        "whiskers": whiskers,
        "diagonal": f"M0 {SIDE}L{SIDE} 0",
        "x_ticks": [[unit.percent(one), f"{one:g}"] for one in ticks(0, 1)],
        "y_ticks": _y_ticks(unit, False),
        "grid": _grid(unit),
    }


def strip(shares):
    """One lane of rounds: a block for each stretch of them, in steps of strength.

    Returns
    -------
    list of path
        For the strengths 1 to 4, the last one being all of the stretch.
    """
    steps = 4
    paths = [""] * steps
    n = len(shares)
    for number, share in enumerate(shares):
        if share > 0:
            left, right = round(SIDE * number / n), round(SIDE * (number + 1) / n)
            paths[min(steps - 1, math.ceil(share * steps) - 1)] += f"M{left} 0H{right}V{SIDE}H{left}Z"
    return paths


def heat_map(matrix, faintest=0.0):
    """Cells of a matrix in shades, for matrices with too many cells to write numbers in.

    Parameters
    ----------
    matrix : list of list of float or None
        In [0, 1].
    faintest : float, default=0.0
        Up to which cells are left empty.

    Returns
    -------
    dict
        ``paths``, one per shade; ``n``, cells along a side, which is the size of the drawing.
    """
    paths = [""] * SHADES
    for down, row in enumerate(matrix):
        for across, value in enumerate(row):
            if value and value > faintest:
                paths[shade(value) - 1] += f"M{across} {down}h1v1h-1z"
    return {"paths": paths, "n": len(matrix)}


def shade(share):
    """Step of a share above 0, from 1 to :data:`SHADES`."""
    return max(1, min(SHADES, math.ceil(share * SHADES - 1e-9)))


def roomy(values):
    """A range with some room around the values."""
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.05 * (abs(high) or 1.0)
    return low - room, high + room


def _size_of(share):
    """How large a dot is that stands for a share of the rows."""
    return "few" if share < 0.02 else "some" if share < 0.2 else "many"


def _grid(upward):
    return "".join(f"M0 {upward.up(one)}H{SIDE}" for one in ticks(upward.low, upward.high, 4))


def _y_ticks(upward, as_percent):
    places = ticks(upward.low, upward.high, 4)
    return [[upward.percent(one), f"{100 * one:g} %" if as_percent else f"{one:,g}"] for one in places]
