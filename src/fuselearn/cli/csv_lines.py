"""The bytes of CSV before they are cells: unpacked, as UTF-8, and with their lines counted."""

import codecs
import io
import zlib
from typing import IO, Any

import numpy as np

from fuselearn.typing import AnyArray, BoolArray, IntArray


class Rows(io.RawIOBase):
    """The lines below the names, which are counted, without blank ones at the end.

    `blank` are the bytes of a blank line; where there are none, every line is a row. `n_lines` counts line breaks
    outside of quotes, as those inside belong to a cell; at the end `in_quotes` says that a quote was not closed. The
    first line is `first`.
    """

    def __init__(self, stream: IO[bytes], blank: bytes, delimiter: bytes = b",") -> None:
        self._stream, self._blank = stream, blank
        self._cell_ends = np.frombuffer(delimiter + b"\r\n", dtype=np.uint8)
        self._held = b""
        self._last = b"\n"
        self._is_closed_quote = False
        self.first: bytes | None = None
        self.n_lines = 0
        self.in_quotes = False
        self._is_given_up = False

    def give_up(self) -> None:
        """Have no more bytes, whatever is left."""
        self._is_given_up = True

    def readable(self) -> bool:
        """Return True, as every stream that can be read does."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; none at the end."""
        if self._is_given_up:
            return b""
        while True:
            read = decompressed(self._stream.read, size)
            if not read:
                # Blanks may belong to the last cell of a row; its line ends with the first line break.
                end, sign, _ = self._held.partition(b"\n")
                chunk, self._held = end + sign, b""
            else:
                chunk = self._held + read
                text = chunk.rstrip(self._blank) if self._blank else chunk
                chunk, self._held = text, chunk[len(text) :]
            if self.first is None:
                self.first = chunk.partition(b"\n")[0]
            if chunk or not read:
                self._count(chunk)
                return chunk

    def _count(self, chunk: bytes) -> None:
        """Count the lines of a chunk; the end of the file ends a line."""
        if not chunk:
            self.n_lines += self._last != b"\n" or self.in_quotes
        elif self.in_quotes or b'"' in chunk:
            self._count_quoted(chunk)
        else:
            self.n_lines += chunk.count(b"\n")
            self._is_closed_quote = False
        self._last = chunk[-1:] or b"\n"

    def _count_quoted(self, chunk: bytes) -> None:
        """Count the lines of a chunk outside of quotes; a quote inside a cell that has none around it is text."""
        characters = np.frombuffer(chunk, dtype=np.uint8)
        quotes = np.flatnonzero(characters == ord('"'))
        before = characters[quotes - 1]
        if len(quotes) and quotes[0] == 0:
            before[0] = self._last[0]
        # Where quotes open and close in turn, each that opens begins a cell, or doubles the one that closed before it.
        opens = before[self.in_quotes :: 2]
        doubled = opens == ord('"')
        if len(doubled) and quotes[0] == 0 and not self.in_quotes:
            doubled[0] &= self._is_closed_quote
        if not (doubled | np.isin(opens, self._cell_ends)).all():
            quotes = quotes[self._signs(quotes, before)]
        breaks = np.flatnonzero(characters == ord("\n"))
        inside = (np.searchsorted(quotes, breaks) + self.in_quotes) % 2
        self.n_lines += len(breaks) - int(inside.sum())
        self.in_quotes = bool((len(quotes) + self.in_quotes) % 2)
        self._is_closed_quote = not self.in_quotes and len(quotes) > 0 and bool(quotes[-1] == len(chunk) - 1)

    def _signs(self, quotes: IntArray, before: AnyArray) -> BoolArray:
        """Return the mask of the quotes that open or close a cell; the others are text."""
        begins = np.isin(before, self._cell_ends).tolist()
        signs = np.zeros(len(quotes), dtype=bool)
        in_quotes, closed = self.in_quotes, -1 if self._is_closed_quote else -2
        for number, (place, begins_cell) in enumerate(zip(quotes.tolist(), begins)):
            if in_quotes:
                in_quotes, closed = False, place
            elif begins_cell or closed == place - 1:
                in_quotes = True
            else:
                continue
            signs[number] = True
        return signs


def decompressed(read: Any, size: int) -> bytes:
    """Return bytes of a stream that may be compressed; damage is an `OSError` in words."""
    try:
        result: bytes = read(size)
    except (EOFError, zlib.error) as error:
        raise OSError(f"it is damaged or cut off ({error}); copy it again") from None
    return result


class Transcoded(io.RawIOBase):
    """Bytes of another encoding as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = b""
        self._first = True

    def readable(self) -> bool:
        """Return True, as every stream that can be read does."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return the number of bytes."""
        while not self._left:
            read = decompressed(self._stream.read, 1 << 16)
            try:
                text = self._decoder.decode(read, final=not read)
                self._left = (text.removeprefix("\ufeff") if self._first else text).encode()
                self._first = self._first and not text
            except UnicodeError as error:
                reason = getattr(error, "reason", error)
                raise OSError(f"it is not {self._encoding} ({reason}); say what it is with --encoding") from None
            if not read and not self._left:
                return 0
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count
