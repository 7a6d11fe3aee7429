"""Different spellings of what may be one text, which count as classes or categories of their own."""

from collections.abc import Mapping

from fuselearn.cli.console import counted

SHOWN = 3
"""Texts that a note lists."""


def spellings_in_words(counts: Mapping[str, int]) -> str | None:
    """Return in words which texts differ in case or blanks only, with their rows; None where there are none.

    Texts that differ in the white space around them only are told elsewhere: they count as one.

    Examples
    --------
    >>> spellings_in_words({"ill": 20, "ILL": 2, "well": 30})
    "'ill' (20 rows) beside 'ILL' (2 rows)"
    """
    alike: dict[str, dict[str, int]] = {}
    for text, count in counts.items():
        spellings = alike.setdefault(" ".join(text.split()).casefold(), {})
        spellings[text.strip()] = spellings.get(text.strip(), 0) + count
    several = [spellings for spellings in alike.values() if len(spellings) > 1]
    if not several:
        return None
    shown = [_most_frequent_first(spellings) for spellings in several[:SHOWN]]
    return ", ".join(shown) + (f", and {len(several) - SHOWN} more" if len(several) > SHOWN else "")


def _most_frequent_first(spellings: Mapping[str, int]) -> str:
    """Return spellings of one text in words."""
    by_count = sorted(spellings.items(), key=lambda pair: (-pair[1], pair[0]))
    return " beside ".join(f"{text[:40]!r} ({counted(count, 'row')})" for text, count in by_count)
