"""Predictions on their way out: CSV and TSV, Parquet and Feather, chunk by chunk."""

import csv
import io
import sys
from contextlib import contextmanager
from pathlib import Path

from fuselearn.cli.files import FORMATS, KINDS
from fuselearn.cli.refusal import refuse


def output_kind(output, kind):
    """Format of an output: as said, or by its suffix; standard output is CSV."""
    if kind is not None and kind not in KINDS:
        refuse(f"--output-format must be {', '.join(KINDS[:-1])} or {KINDS[-1]}; got {kind!r}.")
    if kind is None and output == "-":
        return "csv"
    found = kind or FORMATS.get(Path(output).suffix.lower())
    if found is None:
        refuse(
            f"--output: {output} has the suffix {Path(output).suffix!r}; known are {', '.join(FORMATS)}, or name the "
            "kind with --output-format."
        )
    return found


def check_id_name(name):
    """Refuse an id that has the name of a column that predictions have."""
    if name == "prediction" or name.startswith("probability_"):
        refuse(f"--id names {name!r}, which predict writes itself; give the column another name.")


@contextmanager
def prediction_file(output, kind):
    """Open a file for predictions, which is there in whole when the block ends well, and otherwise not at all.

    Standard output is written as the chunks come.

    Parameters
    ----------
    output : str
    kind : {"csv", "tsv", "parquet", "feather"}

    Yields
    ------
    callable of an Arrow table
        Writes a chunk. All of them have the same columns.
    """
    writer = TextWriter if kind in ("csv", "tsv") else ArrowWriter
    if output == "-":
        sys.stdout.flush()
        with writer(sys.stdout.buffer, kind) as opened:
            yield opened.write
        sys.stdout.buffer.flush()
        return
    from fuselearn.persistence.atomic import write_atomically

    with write_atomically(output, "wb") as file, writer(file, kind) as opened:
        yield opened.write


class TextWriter:
    """CSV or TSV: cells that hold a delimiter or a quote are quoted."""

    def __init__(self, file, kind):
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
        self._writer = csv.writer(self._text, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
        self._begun = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._text.flush()
        self._text.detach()  # the file stays open: it is closed by whoever opened it

    def write(self, table):
        if not self._begun:
            self._writer.writerow(table.column_names)
            self._begun = True
        columns = [_as_text(column) for column in table.columns]
        self._writer.writerows(zip(*columns))


class ArrowWriter:
    """Parquet, with a row group for each chunk, or Feather, with a batch for each."""

    def __init__(self, file, kind):
        self._file, self._kind, self._writer = file, kind, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._writer is not None:
            self._writer.close()

    def write(self, table):
        if self._writer is None:
            from pyarrow import ipc, parquet

            make = parquet.ParquetWriter if self._kind == "parquet" else ipc.new_file
            self._writer = make(self._file, table.schema)
        self._writer.write_table(table)


def _as_text(column):
    values = column.to_pylist()
    return [str(value).lower() for value in values] if values and isinstance(values[0], bool) else values
