"""Pictures as the tests see them: rendered, and searched for texts that are cut off."""

VIEWS = {"sepal": [0, 1], "petal": [2, 3]}


def rendered(display):
    """Render a display; warnings about missing space or glyphs are errors here."""
    display.figure_.canvas.draw()
    return display


def texts_outside(display):
    """Texts that the edge of the figure cuts."""
    figure = display.figure_
    renderer = figure.canvas.get_renderer()
    width, height = figure.canvas.get_width_height()
    outside = []
    for axes in figure.axes:
        texts = [axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis):
            # Ticks are made beyond the limits too, but not drawn.
            low, high = sorted(axis.get_view_interval())
            texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        texts += axes.get_legend().get_texts() if axes.get_legend() else []
        for text in texts:
            box = text.get_window_extent(renderer)
            if text.get_text() and text.get_visible() and box.width:
                inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
                outside += [] if inside else [text.get_text()]
    return outside
