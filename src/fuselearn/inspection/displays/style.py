"""The look of all pictures, and the axes they are drawn into.

A picture is meant for one column of a paper: 3.4 inches wide, 8 point text. Colours are Okabe and Ito's, which stay
apart for colour-blind readers; line styles, markers and hatches say the same again for print without colour. The style
holds while a Display draws and never beyond: the user's own settings are not touched.
"""

from contextlib import contextmanager

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

MOST_SHAPES = 5000
"""Shapes of one kind that a vector picture holds; more are drawn as pixels, or an SVG has many megabytes."""

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


def pyplot():
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'fuselearn[app]' brings it.") from error
    return plt


@contextmanager
def drawing(display, ax, height, width=COLUMN_WIDTH):
    """Draw in the style of this library, into given axes or new ones.

    Parameters
    ----------
    display : object
        Gets the attributes `ax_` and `figure_`.
    ax : matplotlib Axes or None
        None makes a figure of `width` × `height` inches.
    height, width : float

    Yields
    ------
    matplotlib Axes
    """
    plt = pyplot()
    if ax is not None and not hasattr(ax, "get_figure"):
        raise TypeError(f"ax must be one matplotlib Axes or None; got {type(ax).__name__}.")
    with plt.rc_context(SETTINGS):
        if ax is None:
            _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        display.ax_, display.figure_ = ax, ax.get_figure()
        ax.spines[["top", "right"]].set_visible(False)
        # Given axes have labels of their own size already.
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_size(TEXT)
        # Ticks are made when the picture is drawn, after this context: they are told now.
        ax.tick_params(labelsize=SMALL, length=2.5, width=0.6, pad=2)
        yield ax


def line_style(number, marker=True):
    """Colour, line style and marker of a series; no two of the first 49 are alike."""
    turn = number + number // len(PALETTE)
    style = {"color": PALETTE[number % len(PALETTE)], "linestyle": LINE_STYLES[turn % len(LINE_STYLES)]}
    return style | ({"marker": MARKERS[turn % len(MARKERS)]} if marker else {})


def shown(name, longest=24):
    """A user's name for a label: on one line, its middle left out where it is long, and taken literally."""
    name = " ".join(str(name).split()) or "–"
    if len(name) > longest:
        name = f"{name[: longest * 2 // 3].rstrip()}…{name[len(name) - longest // 3 + 1 :].lstrip()}"
    # Between two dollar signs matplotlib sees mathematics, and a label that begins with _ is not in the legend.
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name


def names_shown(names, longest=24):
    """Several names, long enough to tell them apart."""
    labels = [shown(name, longest) for name in names]
    if len(set(labels)) < len(set(map(str, names))) and longest < 200:
        return names_shown(names, 2 * longest)
    return labels


def lanes_height(n_lanes, lane, around, least=1.3, most=7.5):
    """Height of a picture with so many lanes one below the other, and the size of their labels, which fits them."""
    height = min(max(n_lanes * lane + around, least), most)
    points = (height - around) / max(n_lanes, 1) * 72
    return height, min(SMALL, max(3.5, 0.85 * points))


def whole_ticks(axis, most=6):
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1))


def colour_bar(display, image, height, label):
    """A narrow bar beside the axes, as high as they are."""
    bar = display.figure_.colorbar(image, ax=display.ax_, pad=0.02, fraction=0.08, aspect=max(10, 8 * height))
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL, length=2, width=0.6)
    bar.set_label(label, fontsize=SMALL, labelpad=3)


def light_grid(ax, axis="y"):
    """Thin lines behind everything."""
    ax.grid(axis=axis, color=PALE, linewidth=0.5)
    ax.set_axisbelow(True)
