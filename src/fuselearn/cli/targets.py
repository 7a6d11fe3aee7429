"""The target of a file and other columns of classes: which type their cells mean, and whether they can be learnt.

They are checked before anything is fitted, so that a refusal names the column, the row and the remedy.
"""

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow
from pyarrow import compute, types

from fuselearn.cli.console import Notes, refuse
from fuselearn.cli.csv_files import USUAL_WORDS, na_hint, reads_as_number
from fuselearn.cli.odd_cells import are_few, with_points
from fuselearn.cli.spellings import SHOWN, spellings_in_words
from fuselearn.cli.text_columns import THOUSANDS, comma_number, number_hint, with_thousands
from fuselearn.typing import AnyArray, BoolArray, FloatArray

if TYPE_CHECKING:
    from fuselearn.cli.files import OpenedFile

MANY_CLASSES = 20
FEW_CLASSES = 10
"""Classes of text that may well be numbers with a unit, as those of doses."""
TRUTH = {spelling for word in ("true", "false") for spelling in (word, word.title(), word.upper())}
"""Spellings of true and false in CSV."""
LARGEST = 2**63
"""Beyond all whole numbers that a column can hold."""


def rows_with_target(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """Return the mask of the rows that have a class."""
    known = compute.is_valid(column)
    if types.is_floating(column.type):
        known = compute.and_(known, compute.fill_null(compute.invert(compute.is_nan(column)), False))
    return known


def as_meant(
    table: pyarrow.Table, opened: "OpenedFile", labels: list[str], task: str, group: str | None = None
) -> pyarrow.Table:
    """Return a table whose columns of `labels`, the target first, are classes or numbers, as their cells are meant.

    A target of measured numbers may have a few odd cells, as any other column of numbers. Text among whole numbers is a
    class, unless numbers are to be predicted.
    """
    target = labels[0]
    if group is not None:
        opened.odd_cells.note_blanks(table.column(group), group, "group")
    for name in labels:
        opened.odd_cells.note_blanks(table.column(name), name)
    known = table
    for name in labels:
        some = opened.odd_cells.without_numbers_for_nothing(table.column(name))
        known = known.set_column(known.column_names.index(name), name, some)
    known = as_spelled(known, labels, opened.source.decimal)
    # Where the others are text, such a label may be a code, as 09 is none of 9.
    is_text = types.is_string(known.schema.field(target).type)
    table = as_spelled(table, labels, opened.source.decimal) if is_text else known
    if task == "classification" or not types.is_string(table.schema.field(target).type):
        return table
    if opened.source.decimal == ".":
        _refuse_commas(table.column(target).drop_null().to_pylist(), target, opened.source.name)
    numbers = opened.odd_cells.measured(table.column(target), target, whole=task == "regression")
    return table.set_column(table.column_names.index(target), target, numbers)


def _refuse_commas(cells: list[str], name: str, path: str) -> None:
    """Refuse a target of numbers with commas, whether these separate thousands or are decimal signs."""
    where = f"{path} has numbers with a comma in the target {name!r}, such as"
    separated = with_thousands(cells)
    if separated is not None:
        refuse(
            f"{where} {separated!r}, where it separates thousands; write them without it, as "
            f"{separated.strip().replace(',', '')}."
        )
    number = comma_number(cells)
    if number is None:
        return
    may_be_thousands = all(THOUSANDS.fullmatch(text) for text in cells if "," in text)
    plain = f"write {number.strip().replace(',', '')} if it separates thousands, "
    refuse(
        f"{where} {number!r}; {plain if may_be_thousands else ''}add --decimal , if it is the decimal sign, or --task "
        "classification if each of them is a class."
    )


def as_spelled(table: pyarrow.Table, names: list[str], decimal: str) -> pyarrow.Table:
    """Return a table whose columns of classes are numbers where the texts would be spelled alike, in any format.

    So 1 and 2 are numbers, and 01 and 02 stay what they are, but for white space around them. The columns hold the same
    classes and get one type. Those that a file has as measured numbers, or as true or false, are left as they are.
    """
    columns = {name: _spelled(table.column(name)) for name in names}
    if not all(types.is_string(column.type) for column in columns.values()):
        return table
    columns = {name: compute.utf8_trim_whitespace(column) for name, column in columns.items()}
    plain = {name: with_points(column, decimal) for name, column in columns.items()}
    kind = _kind_as_spelled(
        {text for column in plain.values() for text in compute.unique(column.drop_null()).to_pylist()}
    )
    for name, column in (columns if kind is None else plain).items():
        table = table.set_column(table.column_names.index(name), name, column.cast(kind or pyarrow.string()))
    return table


def _spelled(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """Return classes as texts, where they can be spelled in one way only."""
    kind = column.type
    if types.is_integer(kind) or types.is_decimal(kind) or types.is_date(kind) or types.is_null(kind):
        return column.cast(pyarrow.string())
    return column


def classes_of(column: pyarrow.ChunkedArray, name: str, path: str) -> AnyArray:
    """Return labels, none of which is missing, as an array."""
    kind = column.type
    if types.is_binary(kind) or types.is_large_binary(kind):
        refuse(f"{path} is not UTF-8 in the target {name!r}; save it as UTF-8 text, or say what it is with --encoding.")
    if types.is_nested(kind):
        refuse(f"{path} has nested values ({kind}) in the target {name!r}; it must hold one class a row.")
    values = np.array(column.to_pylist())
    return values.astype(str) if values.dtype.kind not in "biufU" else values


def numbers_to_predict(y: AnyArray, name: str, path: str, task: str, notes: Notes | None) -> FloatArray | None:
    """Return the target as numbers where these are to be predicted, else None; a guess is noted.

    With "auto" these are numbers with fractions, as scikit-learn has it; whole numbers are classes.
    """
    fractions = y[y != np.round(y)] if y.dtype.kind == "f" else y[:0]
    if task == "classification" or (task == "auto" and not len(fractions)):
        return None
    numbers = as_numbers(y, name, path)
    if len(np.unique(numbers)) < 2:
        refuse(f"{path} has one number only in the target {name!r}; there must be several to learn from.")
    if task == "auto" and notes is not None:
        notes.add(
            f"The target {name!r} has measured numbers, such as {fractions[0]:g}: they are predicted as numbers "
            "(--task regression; --task classification is for classes)."
        )
    return numbers


def as_numbers(y: AnyArray, name: str, path: str) -> FloatArray:
    """Return a target as finite numbers, or refuse it."""
    if len(y) == 0:
        refuse(f"{path} has no value in the target {name!r}; every row needs its number to be learnt from.")
    try:
        numbers: FloatArray = np.asarray(y, dtype=np.float64)
    except ValueError:
        words = [text for text in y.tolist() if not reads_as_number(text)]
        hint = number_hint(list(dict.fromkeys(words)))
        is_advice = hint is not None and not hint.endswith("?")
        what = f". They look like {hint}" if is_advice else f"; fix these cells{na_hint(words)}"
        refuse(
            f"{path} has text in the target {name!r}, such as {words[0][:40]!r}, in {len(words)} of {len(y)} rows, but "
            f"--task regression predicts numbers{what} (see also --decimal)."
        )
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0]) + 1
        refuse(f"{path} has {numbers[row - 1]} in the target {name!r}, row {row} of those with a value.")
    return numbers


def check_target(y: AnyArray, name: str, path: str, notes: Notes | None = None) -> None:
    """Refuse a target of which no class can be learnt, and note one that seems to be measured."""
    if len(y) == 0:
        refuse(f"{path} has no value in the target {name!r}; every row needs its class to be learnt from.")
    classes = np.unique(y)
    if len(classes) < 2:
        refuse(
            f"{path} has one class only in the target {name!r}, {text_of(classes[0])!r}; there must be rows of at "
            "least two."
        )
    if y.dtype.kind == "f" and not np.equal(y, np.round(y)).all():
        refuse(
            f"{path} has measured numbers in the target {name!r}, such as {y[y != np.round(y)][0]:g}; to "
            "predict classes cut them into some first, to predict the numbers add --task regression."
        )
    words = classes[[not reads_as_number(text) for text in classes.tolist()]] if y.dtype.kind == "U" else classes[:0]
    n_words = int(np.isin(y, words).sum())
    if notes is not None and 0 < len(words) < len(classes) and are_few(n_words, len(y)):
        notes.add(
            f"Warning: the target {name!r} has {str(words[0])!r} among numbers, in {n_words} of {len(y)} rows: a class "
            f"of its own here. Fix the cells if it is not meant to be{na_hint(words.tolist())}."
        )
    if notes is not None and y.dtype.kind == "U":
        _note_odd_classes(y, classes, words, name, notes)
    many = len(classes) > MANY_CLASSES or (len(classes) > 10 and len(y) < 5 * len(classes))
    if many and y.dtype.kind in "iuf" and notes is not None:
        notes.add(
            f"Warning: the target {name!r} has {len(classes)} different numbers, from {text_of(classes[0])} to "
            f"{text_of(classes[-1])}, and each of them is a class here. To predict the number itself, add "
            "--task regression."
        )
    hint = number_hint(classes.tolist()) if y.dtype.kind == "U" and len(classes) > FEW_CLASSES else None
    shown = str((words if len(words) else classes)[0])[:40]
    if len(classes) > max(MANY_CLASSES, len(y) / 2):
        where = f"{path} has {len(classes)} classes in {len(y)} rows of the target {name!r}"
        if hint is not None:
            refuse(f"{where}, such as {shown!r}: {hint.rstrip('?')}{'?' if hint.endswith('?') else '.'}")
        refuse(f"{where}; is it an id or a measured number? Name the column of classes.")
    if hint is not None and notes is not None:
        notes.add(
            f"Warning: the target {name!r} has {len(classes)} different texts, such as {shown!r}, and each of them is "
            f"a class here. They look like {hint}{'' if hint.endswith('?') else '.'}"
        )
    if notes is not None and not (many and y.dtype.kind in "iuf"):
        _note_single_rows(y, name, notes)


def _note_odd_classes(y: AnyArray, classes: AnyArray, words: AnyArray, name: str, notes: Notes) -> None:
    """Note classes of text that often stand for nothing, and those that differ in the spelling of a number only."""
    nothing = [word for word in words.tolist() if word in USUAL_WORDS]
    n_rows = int(np.isin(y, nothing).sum())
    if len(words) == len(classes) >= len(nothing) + 2 and nothing and are_few(n_rows, len(y)):
        which = "a class of its own" if len(nothing) == 1 else "classes of their own"
        notes.add(
            f"Warning: the target {name!r} has {' and '.join(map(repr, nothing))} in {n_rows} of {len(y)} rows: "
            f"{which} here. Fix the cells if that is not meant{na_hint(nothing)}."
        )
    alike = spellings_in_words(class_counts(y))
    if alike is not None:
        notes.add(
            f"Warning: the target {name!r} has {alike}: classes of their own here, which differ in case or blanks "
            "only. If they are one, spell them alike in the file."
        )
    spellings: dict[float, str] = {}
    for text in classes.tolist():
        number = _finite_number(text)
        if number is not None and spellings.setdefault(number, text) != text:
            notes.add(
                f"Warning: the target {name!r} has {spellings[number]!r} beside {text!r}: two classes here. Spell them "
                "alike if they are one."
            )
            return


def _note_single_rows(y: AnyArray, name: str, notes: Notes) -> None:
    """Note classes of one row, which may be misspelled."""
    single = [text for text, count in class_counts(y).items() if count == 1]
    if not single:
        return
    which, have = _classes_in_words(single), "has 1 row" if len(single) == 1 else "have 1 row each"
    notes.add(
        f"Warning: {which} of the target {name!r} {have}, too few to learn from and to judge by. If misspelled, fix it "
        "in the file."
    )


def note_few_for_folds(y: AnyArray, n_folds: int, name: str, notes: Notes) -> None:
    """Note classes that some folds have no row of; those of one row are noted in any case."""
    few = [text for text, count in class_counts(y).items() if 1 < count < n_folds]
    if few:
        have, its = ("has", "its") if len(few) == 1 else ("have", "their")
        notes.add(
            f"Warning: {_classes_in_words(few)} of the target {name!r} {have} fewer rows than the {n_folds} folds of "
            f"the fit: {its} out-of-fold figures tell little."
        )


def _classes_in_words(texts: list[str]) -> str:
    """Return classes in words, the first few by name."""
    shown = ", ".join(repr(text[:40]) for text in texts[:SHOWN]) + (", …" if len(texts) > SHOWN else "")
    return f"the class {shown}" if len(texts) == 1 else f"{len(texts)} classes ({shown})"


def model_labels(
    column: pyarrow.ChunkedArray, classes: AnyArray, name: str, path: str, *, spelled: bool, decimal: str = "."
) -> AnyArray:
    """Return labels as the model has them, of which none may become another: a file may have 1 where another had 1.0.

    `spelled` says that the column is CSV, read as text, so that its type is open.
    """
    if spelled and classes.dtype.kind not in "UO":
        column = as_spelled(pyarrow.table({name: column}), [name], decimal).column(name)
    y = classes_of(column, name, path)
    if classes.dtype.kind == "U":
        # A model that another program fitted may have white space in its classes; those of files have none around them.
        known = set(classes.tolist())
        y = np.array([text if text in known else text.strip() for text in y.astype(str).tolist()])
    elif classes.dtype.kind not in ("O", y.dtype.kind):
        values = y if y.dtype.kind != "U" or classes.dtype.kind == "b" else _numbers(y)
        if values is None or values.dtype.kind == "U":
            _refuse_label(y[0], classes, name, path)
        converted = values.astype(classes.dtype)
        changed: BoolArray = converted != values
        if changed.any():
            _refuse_label(y[changed][0], classes, name, path)
        y = converted
    unknown = sorted(set(y.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        _refuse_label(unknown[0], classes, name, path)
    return y


def class_counts(y: AnyArray) -> dict[str, int]:
    """Return the number of rows of each class, by the class as text."""
    classes, counts = np.unique(y, return_counts=True)
    return {text_of(label): int(count) for label, count in zip(classes, counts)}


def text_of(label: Any) -> str:
    """Return a class as it stands in names of columns and in JSON."""
    label = label.item() if hasattr(label, "item") else label
    return str(label).lower() if isinstance(label, bool) else str(label)


def _kind_as_spelled(texts: set[str]) -> pyarrow.DataType | None:
    """Return the type of classes that are spelled so; None is text."""
    if not texts or texts <= TRUTH:
        return pyarrow.bool_() if texts else None
    numbers = {text: number for text in texts if (number := _finite_number(text)) is not None}
    if len(numbers) < len(texts):
        return None
    if not all(number.is_integer() for number in numbers.values()):
        return pyarrow.float64()  # measured: the target is refused, in words that say so
    if all(abs(number) < LARGEST and str(int(number)) == text for text, number in numbers.items()):
        return pyarrow.int64()
    return pyarrow.float64() if all(str(number) == text for text, number in numbers.items()) else None


def _finite_number(text: str) -> float | None:
    """Return a finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _numbers(y: AnyArray) -> FloatArray | None:
    """Return texts as numbers; None where one of them is not."""
    numbers = [_finite_number(text) for text in y.tolist()]
    return None if None in numbers else np.array(numbers, dtype=np.float64)


def _refuse_label(label: Any, classes: AnyArray, name: str, path: str) -> NoReturn:
    """Refuse a class that the model does not know."""
    label = label.item() if hasattr(label, "item") else label
    refuse(
        f"{path} has the class {label!r} in the target {name!r}; the model's classes are {classes.tolist()[:10]}. "
        "Spell it as one of these, or leave these rows out."
    )
