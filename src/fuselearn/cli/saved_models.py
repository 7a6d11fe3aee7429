"""Model files that a command reads: loaded with the types that the user trusts, or refused in one line."""

import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuselearn.cli.console import Notes, one_line, refuse
from fuselearn.cli.file_kinds import FORMATS, refuse_permission
from fuselearn.cli.files import Source, date_formats, view_files, words_for_nothing
from fuselearn.exceptions import UntrustedTypeError

if TYPE_CHECKING:
    from fuselearn.typing import IntArray

NOTED_TEXTS = ("target", "id", "on", "group", "method", "data", "class_weight", "views", "decimal", "row_order")
NOTED_LISTS = ("command", "settings", "label_columns", "date_format")
NOTED_NUMBERS = ("rows", "seed")
"""Keys of the note that fit saves with a model, whose values are text, lists of text, and whole numbers, or None."""


def load_model(path: str, notes: Notes, trusted: Sequence[str] | None) -> tuple[Any, dict[str, Any]]:
    """Load a model, and the note that the command line saved with it; empty for a model that a program saved."""
    note = describe_model(path).get("note")
    from fuselearn.exceptions import SavedByOtherVersionWarning
    from fuselearn.persistence import load

    with _reading_model(path), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SavedByOtherVersionWarning)
        model = load(path, trusted=list(trusted or []))
    for warning in caught:
        notes.add(f"Warning: {warning.message}")
    return model, _checked_note(note)


def fitted_source(
    model: Any,
    note: dict[str, Any],
    data: str,
    file_format: str | None,
    delimiter: str | None,
    encoding: str,
    na_values: list[str] | None,
    on: str | None = None,
    view: list[str] | None = None,
    decimal: str | None = None,
    date_format: list[str] | None = None,
    strict: bool = False,
) -> Source:
    """Return the table that a command reads for a model, by the options that are given and those of the fit.

    `on` and `view` join a file for each view, for a model that was fitted so.
    """
    plain = Source(
        data,
        file_format,
        delimiter,
        encoding,
        words_of_fit(note, na_values),
        decimal=decimal or note.get("decimal") or ".",
        formats=date_formats(date_format or note.get("date_format")),
        strict=strict,
        of_fit=not date_format,
    )
    if on is None and not view:
        return plain
    if note.get("on") is None:
        refuse(
            "--on and --view are for models that were fitted with --on, on a file for each view; this one takes all "
            "columns from DATA."
        )
    files = view_files(view, on or note["on"])
    known = list(model.columns_.named_views_)
    unknown = next((file.name for file in files if file.name not in known), None)
    if unknown is not None:
        refuse(f"--view names the view {unknown!r}, which the model does not have; its views are {', '.join(known)}.")
    files = tuple(replace(file, needed=_columns_of_file(model, file.name)) for file in files)
    return replace(plain, on=on or note["on"], views=files)


def _columns_of_file(model: Any, view: str) -> tuple[str, ...]:
    """Return the columns that a model has of the file of a view, as the file calls them."""
    return tuple(column.removeprefix(f"{view}: ") for column in model.columns_.named_views_[view])


def words_of_fit(note: dict[str, Any], given: list[str] | None) -> tuple[str, ...]:
    """Return the words that stood for nothing at fit, from the note of a model, and those that are given now."""
    noted = note.get("na_values")
    words = noted if isinstance(noted, list) else []
    texts = [word for word in [*words, *(given or [])] if isinstance(word, str)]
    return words_for_nothing(texts, note.get("decimal") or ".")


def fitted_rows(note: dict[str, Any]) -> "IntArray | None":
    """Return the numbers in the file, from 1 on, of the rows that a model was fitted on; None where no note tells."""
    import numpy as np

    skipped, n_rows = note.get("skipped_rows"), note.get("rows")
    if not isinstance(skipped, list) or not all(isinstance(row, int) for row in skipped) or not n_rows:
        return None
    return np.setdiff1d(np.arange(1, n_rows + len(skipped) + 1), np.array(skipped, dtype=np.intp))


def describe_model(path: str) -> dict[str, Any]:
    """Return the header of a model file."""
    file = Path(path)
    if path == "-":
        refuse("MODEL must be a file; a model cannot come from standard input.")
    if not path:
        refuse("MODEL is empty; name a file that fuselearn fit made.")
    with _reading_model(path):
        if file.is_dir():
            refuse(f"{path} is a folder; name a file that fuselearn fit made.")
        if not file.exists():
            refuse(f"{path} does not exist; name a file that fuselearn fit made.")
    if file.suffix.lower() in FORMATS:
        refuse(f"{path} is named as data, not as a model; the model comes first: MODEL, then the data.")
    from fuselearn.persistence import describe

    with _reading_model(path):
        return describe(path)


def trust_options(names: Sequence[str]) -> str:
    """Return the options that trust types."""
    return " ".join(f"--trust {shlex.quote(name)}" for name in names)


def _checked_note(note: Any) -> dict[str, Any]:
    """Return a note that the command line could have written, otherwise an empty one: any program can write one."""
    if not isinstance(note, dict):
        return {}
    plain = (
        all(isinstance(note.get(key), str | None) for key in NOTED_TEXTS)
        and all(isinstance(note.get(key), int | None) for key in NOTED_NUMBERS)
        and all(_is_list_of_text(note.get(key, [])) for key in NOTED_LISTS)
    )
    return note if plain else {}


def _is_list_of_text(value: Any) -> bool:
    """Check whether a value is a list of names."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


@contextmanager
def _reading_model(path: str) -> Iterator[None]:
    """Say in one line what is wrong with the file of a model."""
    try:
        yield
    except PermissionError:
        refuse_permission(path)
    except (ValueError, TypeError, OSError) as error:
        if isinstance(error, UntrustedTypeError):
            refuse(
                f"{path} was not opened: it holds types that are not fuselearn's. What their methods do, the file "
                "decides, and some of them can run code. If you trust whoever made the file, add "
                f"{trust_options(error.names)}."
            )
        if isinstance(error, OSError) and error.strerror:
            refuse(f"{path} cannot be read: {error.strerror}.")
        message = one_line(error)
        named = path in message or Path(path).name in message
        refuse(message if named else f"{path} is not a model that can be used: {message}")
