"""Figures as Markdown."""

import re
import textwrap

LINE_LENGTH = 120
LIST_ITEM = re.compile(r"([-+*#>]|\d+[.)])(\s|$)")
"""Start of a line that Markdown takes for more than text."""


def markdown_table(header, rows):
    """Return a Markdown table; the first column is text, the others are numbers, aligned to the right.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequence of str
    """
    alignment = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, alignment, *rows))


def section(title, *parts):
    """Return a section of the report: its title, paragraphs and tables."""
    return "\n\n".join((f"### {title}", *map(wrapped, parts)))


def wrapped(paragraph):
    """Return a paragraph in lines of at most 120 characters; a table and a heading stay as they are.

    Examples
    --------
    >>> [len(line) for line in wrapped("word " * 23 + "four - four").splitlines()]
    [114, 11]
    """
    if paragraph.lstrip().startswith(("|", "#", "<!--")):
        return paragraph
    lines = textwrap.wrap(paragraph, LINE_LENGTH, break_long_words=False, break_on_hyphens=False)
    for number in range(len(lines) - 1, 0, -1):
        while LIST_ITEM.match(lines[number]) and " " in lines[number - 1]:
            lines[number - 1], word = lines[number - 1].rsplit(" ", 1)
            lines[number] = f"{word} {lines[number]}"
    return "\n".join(lines)


def at_least(measured, target):
    """Return in words a ratio that must not be below its target."""
    return _verdict("≥", measured, target, met=measured >= target)


def at_most(measured, target):
    """Return in words a ratio that must not be above its target."""
    return _verdict("≤", measured, target, met=measured <= target)


def _verdict(sign, measured, target, *, met):
    return f"target {sign} {target:g}, measured {number(measured)}: {'met' if met else '**missed**'}"


def number(value):
    """Return a number with three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def milliseconds(seconds):
    """Return seconds as milliseconds, in text."""
    return number(1e3 * seconds)


def quick_note(options):
    """Return a warning under the tables of a quick run, as a list of paragraphs."""
    if not options.quick:
        return []
    return ["*Quick run on small data: it shows that the script works; the targets are meant for the full sizes.*"]
