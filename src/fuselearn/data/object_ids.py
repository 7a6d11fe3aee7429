"""Ids of objects, by which tables of several views are joined: what they must be, and which rows of two tables match.

Ids are compared as they are spelled. What could be the same object under another spelling, as 007 and 7, is refused:
a guess would join rows of different objects, and silence would take a view for missing. One table may have both p3 and
P3, since codes may differ in case on purpose, as long as the other tables have both, too. Two ids that differ in what
nobody sees, such as blanks or the Unicode of an ü, are never two objects on purpose, and no table may have them.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np

from fuselearn.data.labels import is_missing_value
from fuselearn.typing import IntArray

SHOWN = 3
"""Ids that a message lists."""
DASH, MINUS, INVISIBLE = "-", "\N{MINUS SIGN}", "Cf"
"""What all dashes count as, one that Unicode calls a symbol, and its category of characters that are not seen."""


@dataclass(frozen=True, eq=False)
class ObjectIds:
    """The ids of a table's rows, each once.

    Parameters
    ----------
    owner : str
        What a message calls the table.
    texts : list of str
        The ids as they are spelled.
    kind : {"text", "numbers"} or None
        What the table holds them as; None for a file that has no types, such as CSV.
    """

    owner: str
    texts: list[str]
    kind: str | None

    @classmethod
    def of(cls, values: Sequence[Any], owner: str, on: str, *, typed: bool = True) -> Self:
        """Return the ids of a table.

        Parameters
        ----------
        values : sequence
            The column of ids.
        owner : str
            What a message calls the table.
        on : str
            Name of the column.
        typed : bool, default=True
            Whether the types of the values are those that the table has.

        Returns
        -------
        ObjectIds
            The ids.

        Raises
        ------
        ValueError
            If an id is missing, occurs twice, or is a fraction.

        Examples
        --------
        >>> ObjectIds.of([7, 8], "labels.parquet", "patient").texts
        ['7', '8']
        """
        fraction = next((row for row, value in enumerate(values) if _is_fraction(value)), None)
        if fraction is not None:
            raise ValueError(
                f"{owner} has the fraction {values[fraction]} in row {fraction + 1} of the column {on!r}; ids are text "
                "or whole numbers."
            )
        texts = [_text(value) for value in values]
        if None in texts:
            raise ValueError(
                f"{owner} has no id in row {texts.index(None) + 1} of the column {on!r}; every row needs one."
            )
        known = [text for text in texts if text is not None]
        check_distinct(known, owner, on)
        numbers = [not isinstance(value, str) for value in values]
        if typed and any(numbers) and not all(numbers):
            text, number = known[numbers.index(False)], known[numbers.index(True)]
            raise ValueError(f"{owner} has both text, such as {text!r}, and numbers, such as {number}, in {on!r}.")
        kind = ("numbers" if numbers and numbers[0] else "text") if typed else None
        return cls(owner, known, kind)

    def places(self) -> dict[str, int]:
        """Return the row of each id."""
        return {text: row for row, text in enumerate(self.texts)}


@dataclass
class SeenIds:
    """The ids of a table whose rows come in parts, of which each may occur once."""

    texts: dict[str, None] = field(default_factory=dict)
    """In the order of the rows, so that a message quotes the same ones whenever it is given."""
    _looks: dict[str, str] = field(default_factory=dict)
    """Ids that look like another text, by that text."""

    def add(self, texts: Sequence[str], owner: str, on: str) -> None:
        """Refuse ids of which one occurs twice, in these rows or before, or looks as another one does."""
        before = len(self.texts)
        earlier = {text for text in texts if text in self.texts}
        self.texts.update(dict.fromkeys(texts))
        if len(self.texts) - before < len(texts):
            twice = [text for text, count in Counter(texts).items() if count > 1 or text in earlier]
            shown = ", ".join(map(repr, twice[:SHOWN])) + (", …" if len(twice) > SHOWN else "")
            ids = "1 id" if len(twice) == 1 else f"{len(twice)} ids"
            raise ValueError(
                f"{owner} has more than one row of {ids} in the column {on!r}: {shown}; leave one row of each."
            )
        for text in texts:
            look = _look(text)
            if look != text and self._looks.setdefault(look, text) != text:
                _refuse_alike(self._looks[look], text, owner, on)
        for look, text in self._looks.items():
            if look in self.texts:
                _refuse_alike(look, text, owner, on)


def check_distinct(texts: Sequence[str], owner: str, on: str) -> None:
    """Refuse ids of which one occurs twice, or looks as another one does."""
    SeenIds().add(texts, owner, on)


def matching_rows(ids: ObjectIds, of_view: ObjectIds, places: dict[str, int]) -> IntArray:
    """Return the row of a view's table for each id; -1 where it has none.

    Parameters
    ----------
    ids : ObjectIds
        Objects that are looked for.
    of_view : ObjectIds
        Those that the view's table has.
    places : dict of str to int
        ``of_view.places()``, which is made once.

    Returns
    -------
    intp ndarray
        Rows of the view's table.

    Raises
    ------
    ValueError
        If one table has texts and the other numbers, or an id of one is an id of the other in another spelling.

    Examples
    --------
    >>> rna = ObjectIds.of(["a", "b"], "rna.csv", "patient")
    >>> matching_rows(ObjectIds.of(["b", "c"], "labels.csv", "patient"), rna, rna.places())
    array([ 1, -1])
    """
    if ids.kind and of_view.kind and ids.kind != of_view.kind:
        raise ValueError(
            f"The ids are {ids.kind} in {ids.owner}, such as {_shown(ids.texts, ids.kind)}, and {of_view.kind} in "
            f"{of_view.owner}, such as {_shown(of_view.texts, of_view.kind)}; give them the same type."
        )
    rows = np.array([places.get(text, -1) for text in ids.texts], dtype=np.intp)
    absent = [text for text, row in zip(ids.texts, rows.tolist()) if row < 0]
    if absent:
        _check_spelling(absent, ids, of_view)
    return rows


def check_common(ids: Sequence[str], owner: str, of_view: ObjectIds, on: str) -> None:
    """Refuse two tables of which no id is in both, by the first few of each."""
    if ids and of_view.texts and set(ids).isdisjoint(of_view.texts):
        raise ValueError(
            f"No id of {owner} is in {of_view.owner}: {on!r} holds {_shown(ids, 'text')}, … in the first and "
            f"{_shown(of_view.texts, 'text')}, … in the second; name the column that holds the same ids in both."
        )


def _check_spelling(absent: list[str], ids: ObjectIds, of_view: ObjectIds) -> None:
    """Refuse ids that the view's table seems to have in another spelling."""
    others = {_plain(text): text for text in of_view.texts}
    pairs = [(text, others[plain]) for text in absent if (plain := _plain(text)) in others]
    if pairs:
        shown = ", ".join(" and ".join(_told_apart(*pair)) for pair in pairs[:SHOWN])
        count = "1 id is" if len(pairs) == 1 else f"{len(pairs)} ids are"
        raise ValueError(
            f"{count} spelled differently in {ids.owner} and {of_view.owner}: {shown}; spell them alike in both."
        )


def _text(value: Any) -> str | None:
    """Return an id as it is spelled, None if it is missing."""
    if is_missing_value(value) or value == "":
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))  # as which frames hold whole numbers, once one of them was missing
    return str(value)


def _is_fraction(value: Any) -> bool:
    """Check whether a value is a number with a fraction."""
    return isinstance(value, float | np.floating) and math.isfinite(value) and not float(value).is_integer()


def _look(text: str) -> str:
    """Return a text as one sees it: its characters composed, any dash a hyphen, nothing invisible, no blanks around."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        kinds = {character: unicodedata.category(character) for character in set(text)}
        seen = {
            character: DASH if kind == "Pd" or character == MINUS else character for character, kind in kinds.items()
        }
        text = "".join(seen[character] for character in text if kinds[character] != INVISIBLE)
    return text.strip()


def _plain(text: str) -> str:
    """Return an id without what may differ between two spellings of it.

    That is what is not seen, case, leading zeros and a final .0.
    """
    number = re.sub(r"^(\d+)\.0+$", r"\1", _look(text).casefold())
    return re.sub(r"\d+", lambda digits: digits.group().lstrip("0") or "0", number)


def _told_apart(first: str, second: str) -> tuple[str, str]:
    """Return two ids in quotes, spelled by the codes of their characters where they look the same."""
    return (ascii(first), ascii(second)) if _look(first) == _look(second) else (repr(first), repr(second))


def _refuse_alike(first: str, second: str, owner: str, on: str) -> NoReturn:
    """Refuse two ids of one table that look the same."""
    raise ValueError(
        f"{owner} has two ids that look the same in the column {on!r}: {' and '.join(_told_apart(first, second))}; "
        "spell them alike if they are one object, and leave one row of it, or give each object an id of its own."
    )


def _shown(texts: Sequence[str], kind: str) -> str:
    """Return the first few ids in words."""
    return ", ".join(repr(text) if kind == "text" else text for text in texts[:SHOWN])
