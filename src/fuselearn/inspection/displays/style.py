"""The look of all pictures, and the axes they are drawn into.

A picture is meant for one column of a paper: 3.4 inches wide, 8 point text. The colours are those of Okabe and Ito,
which colour-blind readers can distinguish; line styles, markers and hatches repeat the distinction for print without
colour. The style applies while a Display draws and no longer: the user's own settings are not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

COLUMN_WIDTH = 3.4
"""Inches."""

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#767676"
PALE = "#D9D9D9"

PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (2, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx")

TEXT, SMALL = 8, 7

MAX_SHAPES = 5000
"""Shapes of one kind that are drawn as vectors; more are drawn as pixels, or an SVG has many megabytes."""

SETTINGS = {
    "font.size": TEXT,
    "axes.labelsize": TEXT,
    "axes.titlesize": TEXT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.6,
    "axes.linewidth": 0.6,
    "axes.grid": False,
    "figure.dpi": 200,
}


class Display(Protocol):
    """Attributes that every Display has after `plot`."""

    ax_: Axes
    figure_: Figure


def pyplot() -> ModuleType:
    """Return matplotlib.pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: install it with pip install 'fuselearn[app]'.") from error
    return plt


@contextmanager
def drawing(display: Display, ax: Axes | None, height: float, width: float = COLUMN_WIDTH) -> Iterator[Axes]:
    """Yield the axes to draw into, given or new ones of `width` × `height` inches; set `ax_` and `figure_`."""
    plt = pyplot()
    if ax is not None and not hasattr(ax, "get_figure"):
        raise TypeError(f"ax must be one matplotlib Axes or None; got {type(ax).__name__}.")
    with plt.rc_context(SETTINGS):
        if ax is None:
            _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        display.ax_, display.figure_ = ax, cast("Figure", ax.get_figure())
        ax.spines[["top", "right"]].set_visible(False)
        # Given axes already have labels of their own size.
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_fontsize(TEXT)
        # Ticks are made when the picture is rendered, after this context, so their size is set now.
        ax.tick_params(labelsize=SMALL, length=2.5, width=0.6, pad=2)
        yield ax


def line_style(number: int, marker: bool = True) -> dict[str, Any]:
    """Return colour, line style and marker of a series; no two of the first 49 are alike."""
    turn = number + number // len(PALETTE)
    style = {"color": PALETTE[number % len(PALETTE)], "linestyle": LINE_STYLES[turn % len(LINE_STYLES)]}
    return style | ({"marker": MARKERS[turn % len(MARKERS)]} if marker else {})


def short_name(name: object, longest: int = 24) -> str:
    """Return a user's name as a label: on one line, shortened in the middle, and without any markup."""
    text = " ".join(str(name).split()) or "–"
    if len(text) > longest:
        text = f"{text[: longest * 2 // 3].rstrip()}…{text[len(text) - longest // 3 + 1 :].lstrip()}"
    # Between two dollar signs matplotlib sees mathematics, and a label that begins with _ is not in the legend.
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def short_names(names: Iterable[object], longest: int = 24) -> list[str]:
    """Return several names as labels, long enough to differ."""
    names = list(names)
    labels = [short_name(name, longest) for name in names]
    if len(set(labels)) < len(set(map(str, names))) and longest < 200:
        return short_names(names, 2 * longest)
    return labels


def lanes_height(
    n_lanes: int, lane: float, around: float, least: float = 1.3, most: float = 7.5
) -> tuple[float, float]:
    """Return the height of a picture with so many lanes, and the size of labels that fits them."""
    height = min(max(n_lanes * lane + around, least), most)
    points = (height - around) / max(n_lanes, 1) * 72
    return height, min(SMALL, max(3.5, 0.85 * points))


def whole_ticks(axis: Axis, most: int = 6) -> None:
    """Put ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1))


def colour_bar(display: Display, image: ScalarMappable, height: float, label: str) -> None:
    """Add a narrow colour bar beside the axes, as high as they are."""
    bar = display.figure_.colorbar(image, ax=display.ax_, pad=0.02, fraction=0.08, aspect=max(10, 8 * height))
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL, length=2, width=0.6)
    bar.set_label(label, fontsize=SMALL, labelpad=3)


def light_grid(ax: Axes, axis: Literal["x", "y", "both"] = "y") -> None:
    """Draw thin grid lines behind everything."""
    ax.grid(axis=axis, color=PALE, linewidth=0.5)
    ax.set_axisbelow(True)
