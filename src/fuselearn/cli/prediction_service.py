"""Answers of a server: the rows of a request in, predictions or explanations out, without anything of the web.

Rows come as CSV or as JSON. JSON is written as the CSV that it stands for, so that both are read as a file is by
``fuselearn predict``: the same words are missing values, the same texts are refused, in the same words.
"""

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fuselearn._version import __version__
from fuselearn.cli.console import Notes, Refusal, raising_refusals, refuse, refusing
from fuselearn.cli.files import NOT_OF_FILES, open_file, reading
from fuselearn.cli.model_columns import FOR_REQUESTS, ModelColumns, check_ids, names_in_order
from fuselearn.cli.predict import COVERAGE, predicted_table
from fuselearn.cli.saved_models import fitted_source
from fuselearn.cli.targets import text_of

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.typing import FloatArray

NAME = "the request"
"""What messages call the table."""
CHUNK_ROWS = 10_000
SHOWN_COLUMNS = 10
"""Columns of a row that an explanation names, those of the largest contributions."""
MOST_EXPLAINED = 200
"""Rows of a request for explanations, which take many times as long as predictions."""
WARM_ROWS = 300
"""Rows of a first prediction: so many that compiled loops are used, and loaded, for all of them."""

OPTIONS = re.compile(", or add --na-values .* if that stands for nothing|; say what it is with --encoding")
"""Parts of refusals that name options of a command, which a client cannot give."""


class RequestError(Exception):
    """What is wrong with a request, with the status that HTTP has for it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class PredictionService:
    """A loaded model that answers requests.

    `note` is what ``fuselearn fit`` saved with the model; `max_rows` is the most rows of a request.
    """

    model: Any
    note: dict[str, Any] = field(default_factory=dict)
    allow_missing_columns: bool = False
    max_rows: int = 10_000

    def warm(self) -> None:
        """Predict made-up rows, so that the first request finds everything compiled and loaded."""
        import numpy as np

        model = getattr(self.model, "model_", self.model)
        n_columns = getattr(model, "n_features_in_", 0)
        with names_in_order():
            model.predict(np.random.default_rng(0).normal(size=(WARM_ROWS, n_columns)))

    def describe(self) -> dict[str, Any]:
        """Return what a client has to know: columns by view, classes, the id."""
        model = getattr(self.model, "model_", self.model)
        columns = getattr(self.model, "columns_", None)
        if columns is not None:
            views = {name: list(map(str, names)) for name, names in columns.views.items()}
        else:
            names = [str(name) for name in getattr(model, "feature_names_in_", [])]
            numbers = zip(getattr(model, "view_names_", []), getattr(model, "view_columns_", []))
            views = {view: [names[number] for number in of_view] for view, of_view in numbers} if names else {}
        return {
            "fuselearn_version": __version__,
            "model": type(model).__name__,
            "task": "classification" if hasattr(model, "classes_") else "regression",
            "classes": [text_of(label) for label in getattr(model, "classes_", [])],
            "interval_coverage": COVERAGE if hasattr(model, "predict_interval") else None,
            "target": self.note.get("target"),
            "id": self.note.get("id"),
            "n_columns": int(getattr(model, "n_features_in_", 0)) if columns is None else len(columns.kinds_),
            "views": views,
            "explains": hasattr(model, "explain"),
            "max_rows": self.max_rows,
        }

    def predict(self, content: bytes, kind: str, encoding: str = "utf-8") -> tuple["pyarrow.Table", list[str]]:
        """Return a table as ``fuselearn predict`` writes it, and notes, for rows of a kind: "csv" or "json"."""
        with _refusals():
            columns, table, identifier, notes = self._read(content, kind, encoding)
            return predicted_table(columns, table, identifier), notes

    def explain(self, content: bytes, kind: str, encoding: str = "utf-8") -> dict[str, Any]:
        """Return how much each view, and the columns that count most, add to the decision of each row."""
        model = getattr(self.model, "model_", self.model)
        if not hasattr(model, "explain"):
            raise RequestError(501, f"{type(model).__name__} does not explain its predictions.")
        with _refusals():
            columns, table, identifier, notes = self._read(content, kind, encoding)
            predictions = predicted_table(columns, table, identifier).column("prediction").to_pylist()
            X = columns.matrix(table)
            if len(X) > MOST_EXPLAINED:
                raise RequestError(413, f"At most {MOST_EXPLAINED} rows are explained at a time; got {len(X)}.")
            with names_in_order(), refusing(ValueError, TypeError, what=NAME):
                explanation = model.explain(X)
            ids = None if identifier is None else table.column(identifier).to_pylist()
            labels = [text_of(label) for label in getattr(model, "classes_", [])]
            rows = [
                {
                    **({} if ids is None else {"id": ids[row]}),
                    "prediction": predictions[row],
                    "base": _numbers(explanation.base, labels),
                    "views": {
                        view: _numbers(value, labels)
                        for view, value in zip(model.view_names_, explanation.view_values[row])
                    },
                    **(
                        {}
                        if explanation.column_values is None
                        else {"columns": self._column_parts(columns, explanation.column_values[row], labels)}
                    ),
                }
                for row in range(len(X))
            ]
        return {"explanations": rows, "notes": [*notes, *explanation.notes]}

    def _column_parts(self, columns: ModelColumns, values: "FloatArray", labels: list[str]) -> dict[str, Any]:
        """Return the largest contributions of columns; a column of text has those of all its categories."""
        import numpy as np

        totals: dict[str, Any] = {}
        for name, value in zip(columns.source_columns(), values):
            totals[name] = totals.get(name, 0.0) + value
        largest = sorted(totals, key=lambda name: -float(np.abs(totals[name]).max()))[:SHOWN_COLUMNS]
        return {name: _numbers(totals[name], labels) for name in largest}

    def _read(
        self, content: bytes, kind: str, encoding: str
    ) -> tuple[ModelColumns, "pyarrow.Table", str | None, list[str]]:
        """Return the rows of a request: the columns that the model takes, a table of them, its id, and notes."""
        import pyarrow

        notes = Notes(quiet=True)
        if kind == "json":
            content, encoding = self._csv_of(content), "utf-8"
        else:
            _check_encoding(content, encoding)
        delimiter = "," if kind == "json" else _delimiter_of(content)
        source = fitted_source(self.model, self.note, NAME, "csv", delimiter, encoding, None, strict=True)
        if delimiter == ",":
            source = replace(source, decimal=".")
        with open_file(source, io.BytesIO(content)) as opened:
            identifier = self.note.get("id") if self.note.get("id") in opened.names else None
            reserved = [name for name in (identifier, self.note.get("target")) if name]
            columns = ModelColumns(self.model, opened.names, NAME, reserved, self.allow_missing_columns, FOR_REQUESTS)
            columns.note_missing(notes)
            names, types = columns.to_read(identifier)
            tables, n_rows = [], 0
            with reading(NAME, "csv"):
                for table in opened.batches(names, types, CHUNK_ROWS, columns.verbatim(identifier)):
                    n_rows += table.num_rows
                    if n_rows > self.max_rows:
                        raise RequestError(
                            413, f"The request has more than {self.max_rows} rows; send fewer at a time."
                        )
                    tables.append(table)
            for remark in opened.remarks:
                notes.add(remark)
        if not n_rows:
            refuse(f"{NAME} has no rows.")
        table = pyarrow.concat_tables(tables)
        if identifier is not None:
            check_ids(table.column(identifier), identifier, NAME, FOR_REQUESTS)
        columns.note_unknown(table, notes)
        return columns, table, identifier, notes.lines

    def _csv_of(self, content: bytes) -> bytes:
        """Return JSON as the CSV that it stands for: a list of objects, or an object whose "rows" is one."""
        rows = _parsed(content)
        if isinstance(rows, _Repeated):
            raise RequestError(400, f"{NAME} has {rows.name!r} more than once.")
        if isinstance(rows, dict):
            rows = rows.get("rows")
        if not isinstance(rows, list):
            raise RequestError(400, 'JSON must be a list of objects, or {"rows": [...]}, one object for each row.')
        if not rows:
            raise RequestError(422, f"{NAME} has no rows.")
        if len(rows) > self.max_rows:
            raise RequestError(413, f"The request has more than {self.max_rows} rows; send fewer at a time.")
        names: dict[str, None] = {}
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise RequestError(400, f"Row {number} is not an object of column names and values.")
            if isinstance(row, _Repeated):
                raise RequestError(400, f"Row {number} has the column {row.name!r} more than once; send one value.")
            names.update(dict.fromkeys(row))
        # Any other column is left out: a request must not make a table that is much larger than itself.
        known = self._known_columns()
        chosen = [name for name in names if known is None or name in known]
        if not chosen:
            raise RequestError(422, f"{NAME} has none of the columns that the model was fitted on.")
        text = io.StringIO()
        # Quotes tell a row of one empty cell from a blank line.
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if len(chosen) == 1 else csv.QUOTE_MINIMAL)
        writer.writerow(chosen)
        for number, row in enumerate(rows, 1):
            writer.writerow([_cell(row.get(name), name, number) for name in chosen])
        try:
            return text.getvalue().encode()
        except UnicodeEncodeError:
            raise RequestError(400, "The request has half of a character of two halves (a lone surrogate).") from None

    def _known_columns(self) -> set[str] | None:
        """Return the names that mean something to the model; None where it knows none."""
        columns = getattr(self.model, "columns_", None)
        names = getattr(self.model, "feature_names_in_", None) if columns is None else columns.kinds_
        if names is None:
            return None
        return {str(name) for name in names} | {str(name) for name in (self.note.get("id"),) if name}


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what a command would refuse into errors of the request."""
    try:
        with raising_refusals():
            yield
    except Refusal as refusal:
        raise RequestError(422, OPTIONS.sub("", str(refusal))) from None


def _check_encoding(content: bytes, encoding: str) -> None:
    """Refuse text in another encoding than `Content-Type` says, which is UTF-8 where it says nothing."""
    try:
        known = codecs.lookup(encoding).name not in NOT_OF_FILES
        content.decode(encoding)
    except UnicodeDecodeError as error:
        raise RequestError(
            400,
            f"{NAME} is not {encoding} (byte {error.start + 1} is 0x{error.object[error.start]:02x}); send UTF-8, or "
            "say what it is: Content-Type: text/csv; charset=latin-1.",
        ) from None
    except (LookupError, ValueError):
        known = False
    if not known:
        raise RequestError(
            415, f"The charset {encoding[:60]!r} of Content-Type is not known; utf-8, latin-1, cp1252 and utf-16 are."
        )


def _delimiter_of(content: bytes) -> str:
    """Return what is between the names in the first line of CSV: a comma, else a semicolon or a tab.

    Those inside quotes are parts of names.
    """
    names = b"".join(content.partition(b"\n")[0].split(b'"')[::2])
    return next((delimiter for delimiter in (",", ";", "\t") if delimiter.encode() in names), ",")


class _Repeated(dict[str, Any]):
    """An object of JSON that has a name more than once, of which a reader would take the last value."""

    name: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the names and values of an object of JSON."""
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    repeated = _Repeated(values)
    repeated.name = Counter(name for name, _ in pairs).most_common(1)[0][0]
    return repeated


def _parsed(content: bytes) -> Any:
    """Return the value of a JSON text."""

    def refuse_constant(name: str) -> Any:
        raise RequestError(400, f"{name} is not JSON; a missing value is null.")

    try:
        return json.loads(content, parse_constant=refuse_constant, object_pairs_hook=_object)
    except RecursionError:
        raise RequestError(400, "The JSON is nested too deeply.") from None
    except ValueError as error:  # also text that is not UTF-8, and whole numbers of thousands of digits
        raise RequestError(400, f"The request is not JSON: {str(error)[:200]}.") from None


def _cell(value: Any, name: str, row: int) -> str:
    """Return a value as CSV spells it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    kind = "a list" if isinstance(value, list) else "an object"
    raise RequestError(
        400, f"Row {row} has {kind} in the column {name!r}; a value is a number, text, true, false or null."
    )


def _numbers(value: Any, labels: list[str]) -> Any:
    """Return a number, or one for each class."""
    import numpy as np

    values = np.asarray(value, dtype=float)
    if values.ndim == 0:
        return float(values)
    return dict(zip(labels, values.tolist()))
