"""Feather (the Arrow file format), as a table or batch by batch."""

import pyarrow
from pyarrow import feather, ipc


class FeatherFile:
    """A Feather file, of version 2 or of version 1, which has one batch only.

    Parameters
    ----------
    source : Source
    stream : binary file
    kind : str

    Attributes
    ----------
    names : list of str
    """

    def __init__(self, source, stream, kind):
        self.source, self.kind = source, kind
        self._first_version = stream.read(4) == b"FEA1"
        stream.seek(0)
        if self._first_version:
            self._table = feather.read_table(stream)
            self.names = list(self._table.column_names)
        else:
            self._reader = ipc.open_file(stream)
            self.names = list(self._reader.schema.names)

    def table(self, columns=None, types=None, identifier=None):
        """All rows; `types` are left to who reads them."""
        table = self._table if self._first_version else self._reader.read_all()
        return (table if columns is None else table.select(columns)).combine_chunks()

    def batches(self, columns, types, rows, identifier=None):
        """Yield tables of some columns and at most so many rows; `types` are left to who reads them."""
        if self._first_version:
            tables = [self._table]
        else:
            tables = (
                pyarrow.Table.from_batches([self._reader.get_batch(number)])
                for number in range(self._reader.num_record_batches)
            )
        for table in tables:
            for start in range(0, table.num_rows, rows):
                yield table.slice(start, rows).select(columns)
