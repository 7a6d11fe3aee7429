"""Parquet, as a table or row group by row group."""

import pyarrow
from pyarrow import parquet


class ParquetFile:
    """A Parquet file.

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
        # Without buffering ahead, what is in memory is a batch and the pages it comes from.
        self._file = parquet.ParquetFile(stream, pre_buffer=False)
        self.names = list(self._file.schema_arrow.names)

    def table(self, columns=None, types=None, identifier=None):
        """All rows; `types` are left to who reads them."""
        return self._file.read(columns=columns).combine_chunks()

    def batches(self, columns, types, rows, identifier=None):
        """Yield tables of some columns and at most so many rows; `types` are left to who reads them."""
        for batch in self._file.iter_batches(batch_size=rows, columns=columns):
            yield pyarrow.Table.from_batches([batch]).select(columns)
