"""Cells of text as numbers, dates, or true or false; the few that are none of these are odd, and count as missing.

A column of a file without types is text as soon as one of its cells is: "not recorded" among 500 ages. Such a column is
read as what nearly all its cells are. What the others hold is counted and quoted in one remark, or refused with
``--strict``, so that no cell is lost without a word.
"""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow
from pyarrow import compute, types

from fuselearn.cli.console import refuse
from fuselearn.cli.csv_files import FALSE, NOTHING, TRUE, na_hint, without_words_for_nothing
from fuselearn.cli.dates import date_of
from fuselearn.cli.text_columns import DECIMAL_COMMA, WITH_SEPARATORS, spelled_otherwise
from fuselearn.data.table_columns import padded_text
from fuselearn.typing import BoolArray

if TYPE_CHECKING:
    from fuselearn.cli.files import Source

FEW = 10
"""A column may have one odd cell for so many others."""
LEAST_ODD = 3
"""Odd cells that are too many for a column in which no other cell could be read."""
QUOTED = 5
"""Odd cells that a remark quotes."""
KEPT = 1000
"""Different odd cells that are counted one by one; a file of any size may have more."""
HEXADECIMAL = r"^0[xX][0-9a-fA-F]{1,16}$"
"""Whole numbers as pyarrow reads them from CSV where it is asked for no type."""
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$"
SEVERAL_SEPARATORS = re.compile(r"[-+]?\d{1,3}([.,]\d{3})+[.,]\d+")
"""Such a number shows that what may be decimal signs in other cells separate thousands."""
DATES = pyarrow.timestamp("us")
WORDS = {"double": "numbers", "bool": "true or false", str(DATES): "dates"}
SINGULAR = {"numbers": "a number", "true or false": "true or false", "dates": "a date"}


class OddCells:
    """The cells of a file that are not what the others of their columns are, counted as its rows are read."""

    def __init__(self, source: "Source") -> None:
        self._source = source
        self._counts: dict[str, Counter[str]] = {}
        self._kinds: dict[str, str] = {}
        self._n_read: Counter[str] = Counter()
        self._padded: dict[str, tuple[str, str]] = {}
        self._to_come: dict[str, tuple[str, datetime]] = {}
        self._words = pyarrow.array([*NOTHING, *source.na_values])

    @property
    def remarks(self) -> list[str]:
        """Return one line about all odd cells, and lines about labels with blanks, and dates that are to come."""
        of_columns = [
            f"{self._source.name} has {text!r} beside {text.strip()!r} in the column {name!r}: they count as one "
            f"{what}, since white space around a text is not part of it."
            for name, (text, what) in self._padded.items()
        ] + [
            f"Warning: {self._source.name}: {text!r} in {name!r} is read as {moment:%Y-%m-%d}, which is to come: %y "
            "means 1969 to 2068. Write years with four digits if that is not meant."
            for name, (text, moment) in self._to_come.items()
        ]
        total = sum(counts.total() for counts in self._counts.values())
        if not total:
            return of_columns
        quotes = [
            f"{text[:40]!r}{f' ({count} times)' if count > 1 else ''} in {name!r}"
            for name, counts in self._counts.items()
            for text, count in counts.most_common(QUOTED)
        ]
        kinds = sorted(set(self._kinds.values()))
        shown = ", ".join(quotes[:QUOTED]) + (", …" if len(quotes) > QUOTED else "")
        commas = self._source.decimal == "." and any(
            DECIMAL_COMMA.fullmatch(text) for counts in self._counts.values() for text in counts
        )
        comma = ", or --decimal , if the comma is the decimal sign" if commas else ""
        if total == 1:
            cell = SINGULAR.get(kinds[0], kinds[0])
            what = f"1 cell is not {cell}, unlike the others of the column, and counts as missing"
        else:
            what = f"{total} cells are not {' or '.join(kinds)} as the others of the column and count as missing"
        return [
            *of_columns,
            f"Warning: {self._source.name}: {what}: {shown}. Add --strict to refuse such cells{comma}.",
        ]

    def note_blanks(self, labels: pyarrow.ChunkedArray, name: str, what: str = "class") -> None:
        """Note that a column of labels, or of groups, has some that differ in the white space around them only."""
        if types.is_string(labels.type):
            padded = padded_text(compute.unique(labels.drop_null()).to_pylist())
            if padded is not None:
                self._padded[name] = padded, what

    def typed(self, table: pyarrow.Table, kinds: Mapping[str, pyarrow.DataType], first_row: int = 1) -> pyarrow.Table:
        """Return a table whose columns of text are of the given types, with nothing for odd cells."""
        columns = [
            self._as(column, name, kinds[name], first_row) if name in kinds and types.is_string(column.type) else column
            for name, column in zip(table.column_names, table.columns)
        ]
        return pyarrow.table(columns, names=table.column_names)

    def check_read(self) -> None:
        """Refuse a column of which nothing was read, as its cells are numbers or dates that are spelled otherwise.

        However few they are, they are what the model would have to know.
        """
        for name, cells in self._counts.items():
            if self._n_read.get(name) == 0 and all(spelled_otherwise(cell, self._kinds[name]) for cell in cells):
                self._refuse_column(name)

    def settled(self, table: pyarrow.Table, names: list[str]) -> pyarrow.Table:
        """Return a table in which columns of text that are numbers or dates, but for a few odd cells, are that."""
        columns = dict(zip(table.column_names, table.columns))
        for name in names:
            texts = columns[name]
            if not types.is_string(texts.type):
                continue
            for kind in (DATES, pyarrow.float64()) if name in self._source.formats else (pyarrow.float64(), DATES):
                values, odd = self._read(texts, name, kind)
                if are_few(int(odd.sum()), len(values) - values.null_count + int(odd.sum())):
                    self._note(texts, odd, name, kind, 1)
                    columns[name] = values
                    break
        return pyarrow.table(list(columns.values()), names=table.column_names)

    def measured(self, texts: pyarrow.ChunkedArray, name: str, *, whole: bool) -> pyarrow.ChunkedArray:
        """Return texts as numbers, but for a few odd ones, where these have fractions or may be `whole`; else as is."""
        values, odd = self._read(texts, name, pyarrow.float64())
        known = values.drop_null().to_numpy()
        if not are_few(int(odd.sum()), len(known) + int(odd.sum())) or not (whole or (known != np.round(known)).any()):
            return texts
        self._note(texts, odd, name, values.type, 1)
        return values

    def without_numbers_for_nothing(self, labels: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
        """Return labels without those that are a number for nothing, however it is spelled."""
        if not self._source.na_values or not types.is_string(labels.type):
            return labels
        values, odd = self._read(labels, "", pyarrow.float64())
        known = compute.or_(values.is_valid(), pyarrow.array(odd))
        return compute.if_else(known, labels, None)

    def _as(
        self, texts: pyarrow.ChunkedArray, name: str, kind: pyarrow.DataType, first_row: int
    ) -> pyarrow.ChunkedArray:
        """Return a column of texts in a type, with nothing for odd cells, which are noted."""
        if types.is_string(kind):
            return texts
        values, odd = self._read(texts, name, kind)
        self._note(texts, odd, name, kind, first_row)
        self._n_read[name] += len(values) - values.null_count
        n_odd, n_read = self._counts[name].total() if name in self._counts else 0, self._n_read[name]
        if n_odd >= (FEW if n_read else LEAST_ODD) and n_odd >= n_read:
            self._refuse_column(name)
        return values

    def _refuse_column(self, name: str) -> NoReturn:
        """Refuse a column that is not what it was at fit."""
        cell, n_odd = next(iter(self._counts[name])), self._counts[name].total()
        n_cells = n_odd + self._n_read[name]
        such = f", and such text in {n_odd} of its first {n_cells} cells" if n_cells > 1 else ""
        is_comma = self._source.decimal == "." and DECIMAL_COMMA.fullmatch(cell)
        advice = "Add --decimal , if the comma is the decimal sign" if is_comma else "See --decimal and --date-format"
        refuse(
            f"{self._source.name} has {cell[:40]!r} in the column {name!r}{such}, where there were "
            f"{self._kinds[name]} at fit; is it the same column? {advice}{na_hint([cell])}."
        )

    def _read(
        self, texts: pyarrow.ChunkedArray, name: str, kind: pyarrow.DataType
    ) -> tuple[pyarrow.ChunkedArray, BoolArray]:
        """Return the values of texts, and the mask of the odd ones."""
        trimmed = compute.utf8_trim_whitespace(texts)
        trimmed = compute.if_else(compute.is_in(trimmed, value_set=self._words), None, trimmed)
        if types.is_timestamp(kind):
            return self._dates(trimmed, name)
        if types.is_boolean(kind):
            return _truth(trimmed)
        return self._numbers(trimmed)

    def _numbers(self, texts: pyarrow.ChunkedArray) -> tuple[pyarrow.ChunkedArray, BoolArray]:
        """Return texts as numbers, without those for nothing, and the mask of the odd ones."""
        texts = with_points(texts, self._source.decimal)
        try:
            return self._known(texts.cast(pyarrow.float64())), np.zeros(len(texts), dtype=bool)
        except pyarrow.ArrowInvalid:
            plain = compute.replace_substring(texts, "\N{MINUS SIGN}", "-")
            is_whole = compute.fill_null(compute.match_substring_regex(plain, HEXADECIMAL), False)
            if compute.any(is_whole).as_py():
                whole = compute.if_else(is_whole, plain, None).cast(pyarrow.int64()).cast(pyarrow.string())
                plain = compute.coalesce(whole, plain)
            is_number = compute.match_substring_regex(plain, NUMBER)
            odd = compute.fill_null(compute.invert(is_number), False)
            known = compute.if_else(is_number, compute.utf8_ltrim(plain, "+"), None)
            return self._known(known.cast(pyarrow.float64())), odd.to_numpy()

    def _known(self, numbers: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
        """Return numbers without those for nothing: -999.0 is -999, too."""
        return without_words_for_nothing(pyarrow.table({"": numbers}), None, self._source.na_values).column("")

    def _dates(self, texts: pyarrow.ChunkedArray, name: str) -> tuple[pyarrow.ChunkedArray, BoolArray]:
        """Return texts as dates, by the formats given or as ISO writes them, and the mask of the odd ones."""
        whole = texts.combine_chunks()
        encoded = whole.dictionary_encode()
        formats = self._source.formats.get(name, self._source.formats.get("", ()))
        of_text = [date_of(text, formats) for text in encoded.dictionary.to_pylist()]
        moments = pyarrow.array(of_text, DATES).take(encoded.indices)
        if any("%y" in date_format for date_format in formats):
            now = datetime.now()
            to_come = [
                (text, moment)
                for text, moment in zip(encoded.dictionary.to_pylist(), of_text)
                if moment is not None and moment > now
            ]
            if to_come:
                self._to_come.setdefault(name, to_come[0])
        odd = compute.and_(compute.is_null(moments), compute.is_valid(whole))
        return pyarrow.chunked_array([moments]), odd.to_numpy(zero_copy_only=False)

    def _note(
        self, texts: pyarrow.ChunkedArray, odd: BoolArray, name: str, kind: pyarrow.DataType, first_row: int
    ) -> None:
        """Note the odd cells of a column, or refuse the first one where the file is read strictly."""
        if not odd.any():
            return
        cells = [text.strip() for text in texts.filter(pyarrow.array(odd)).to_pylist()]
        words = WORDS.get(str(kind), str(kind))
        several = next((number for number, text in enumerate(cells) if self._is_contradiction(text, kind)), None)
        if several is not None:
            refuse(
                f"{self._source.name} has {cells[several][:40]!r} in row {np.flatnonzero(odd)[several] + first_row} of "
                f"the column {name!r}: {WITH_SEPARATORS}, in every cell of the column."
            )
        if self._source.strict or types.is_boolean(kind):
            refuse(
                f"{self._source.name} has {cells[0][:40]!r} in row {int(np.argmax(odd)) + first_row} of the column "
                f"{name!r}, which must hold {words}; fix the cell, or leave it empty{na_hint(cells[:1])}."
            )
        counts = self._counts.setdefault(name, Counter())
        self._kinds[name] = words
        for text, count in Counter(cells).items():
            counts[text if text in counts or len(counts) < KEPT else "…"] += count

    def _is_contradiction(self, text: str, kind: pyarrow.DataType) -> bool:
        """Check whether an odd cell shows that the decimal sign of others, or a number of them, was misread."""
        if not types.is_floating(kind) or SEVERAL_SEPARATORS.fullmatch(text) is None:
            return False
        # 1.234,5 is missing among numbers with a decimal comma, but nothing beside it is misread.
        return self._source.decimal == "." or text.count(",") != 1 or text.rfind(".") > text.rfind(",")


def with_points(texts: pyarrow.ChunkedArray, decimal: str) -> pyarrow.ChunkedArray:
    """Return texts whose decimal sign is a point; where it was a comma, a point is none of a number."""
    if decimal == ".":
        return texts
    return compute.replace_substring(compute.replace_substring(texts, ".", "\0"), ",", ".")


def are_few(n_odd: int, n_cells: int) -> bool:
    """Check whether so many of the cells of a column, without the empty ones, may be odd."""
    return n_odd <= max(1, n_cells // FEW) and n_odd < n_cells - n_odd


def _truth(texts: pyarrow.ChunkedArray) -> tuple[pyarrow.ChunkedArray, BoolArray]:
    """Return texts as true or false, and the mask of the odd ones; 1 and 0 are these, too."""
    is_true = compute.is_in(texts, value_set=pyarrow.array([*TRUE, "1", "1.0"]))
    is_false = compute.is_in(texts, value_set=pyarrow.array([*FALSE, "0", "0.0"]))
    known = compute.or_(is_true, is_false)
    odd = compute.and_(compute.invert(known), compute.is_valid(texts))
    return compute.if_else(known, is_true, None), odd.to_numpy()
