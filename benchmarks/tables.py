"""Figures as Markdown."""

from fuselearn.evaluation.result_table import wrap_markdown


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
    return wrap_markdown("\n\n".join((f"### {title}", *parts)))


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
