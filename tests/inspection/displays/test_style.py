"""The look of all pictures."""

import matplotlib

from fuselearn.inspection.displays import style


def luminance(colour):
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_are_dark_enough_for_paper():
    assert len(set(style.PALETTE)) == len(style.PALETTE)
    assert all(luminance(colour) < 0.75 for colour in style.PALETTE)


def test_series_differ_without_colour():
    looks = [style.line_style(number) for number in range(49)]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 49
    shapes = [(str(look["linestyle"]), look["marker"]) for look in looks[:7]]
    assert len(set(shapes)) == 7


def test_names_are_short_distinct_and_literal():
    assert style.short_name("rna") == "rna"
    assert style.short_name("a\nb") == "a b"
    assert len(style.short_name("x" * 100)) <= 25
    assert style.short_name("$x$") == r"\$x\$"
    assert style.short_name("_hidden").strip() == "_hidden"
    names = [f"{'x' * 30}{number}{'y' * 30}" for number in range(3)]
    assert len(set(style.short_names(names))) == 3
