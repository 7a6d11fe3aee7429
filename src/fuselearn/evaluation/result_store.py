"""Results of single fits on disk, so that a comparison that was interrupted goes on where it was.

A file of JSON lines: first what is compared, then one line per finished cell. A line is written at once and in one
piece; one that was cut off by a crash is passed over, and its cell is computed again.

Two settings are the same by what they are, not by how they print: printed arrays are shortened, and printed functions
show an address.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeAlias

from joblib import hash as content_hash

from fuselearn.persistence import write_atomically

Key: TypeAlias = tuple[str | int, ...]


class CellStore:
    """Finished cells, kept in a file where one is named.

    Parameters
    ----------
    path : str or Path or None
        None keeps them in memory only.
    header : dict
        What is compared. A file of another comparison is refused.
    """

    def __init__(self, path: str | Path | None, header: Mapping[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._cells: dict[str, Any] = {}
        if self._path is None:
            return
        if self._path.is_dir():
            raise ValueError(f"resume must name a file; {str(self._path)!r} is a folder.")
        if self._path.exists() and b"\n" in self._path.read_bytes():
            self._read(self._path, header)
        else:  # nothing there yet, or the very first line was cut off
            with write_atomically(self._path) as file:
                file.write(_line({"comparison": header}))

    @staticmethod
    def seed_of(path: str | Path) -> int | None:
        """Return the seed of the comparison that a file keeps, None where there is none."""
        try:
            with Path(path).open(encoding="utf-8") as file:
                return json.loads(file.readline())["comparison"]["seed"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def __contains__(self, key: Key) -> bool:
        return _name(key) in self._cells

    def __getitem__(self, key: Key) -> Any:
        return self._cells[_name(key)]

    def __len__(self) -> int:
        return len(self._cells)

    def add(self, key: Key, cell: Any) -> None:
        """Keep a finished cell, which must be something that JSON can hold."""
        self._cells[_name(key)] = cell
        if self._path is not None:
            _append(self._path, _line({"key": list(key), "cell": cell}))

    def _read(self, path: Path, header: Mapping[str, Any]) -> None:
        """Take over the cells of a file, which must be of the same comparison."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            before = dict(json.loads(lines[0])["comparison"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"resume names {str(path)!r}, which is not a file of a comparison.") from None
        for name, value in header.items():
            if before.get(name) != value:
                raise ValueError(
                    f"resume names {str(path)!r}, a comparison with {name} = {before.get(name)!r}, but now it is "
                    f"{value!r}. Name another file, or set it back."
                )
        for line in lines[1:]:
            try:
                entry = json.loads(line)
                self._cells[_name(entry["key"])] = entry["cell"]
            except (ValueError, KeyError, TypeError):
                continue  # cut off
        if not path.read_bytes().endswith(b"\n"):
            _append(path, "\n")


def fingerprint(thing: object) -> str:
    """Return a short text that is the same for the same settings, also in another process.

    Examples
    --------
    >>> from sklearn.svm import SVC, NuSVC
    >>> fingerprint(SVC(C=2)) == fingerprint(SVC(C=2)), fingerprint(SVC()) == fingerprint(SVC(C=2))
    (True, False)
    """
    return content_hash(_description(thing))


def _name(key: Key) -> str:
    """Return a key as text, alike for lists and tuples."""
    return json.dumps(list(key))


def _line(entry: Mapping[str, Any]) -> str:
    """Return an entry as a line of JSON."""
    return json.dumps(entry) + "\n"


def _append(path: Path, text: str) -> None:
    """Add text to a file, and wait until it is on the disk."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _description(thing: Any) -> Any:
    """Return estimators by class and settings, functions by their code, everything else as it is."""
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        settings = {name: _description(value) for name, value in sorted(thing.get_params(deep=False).items())}
        return (type(thing).__module__, type(thing).__qualname__, settings)
    if isinstance(thing, FunctionType):
        enclosed = [cell.cell_contents for cell in thing.__closure__ or ()]
        code = thing.__code__
        constants = [value for value in code.co_consts if not hasattr(value, "co_code")]
        inner = [value.co_code for value in code.co_consts if hasattr(value, "co_code")]
        rest = _description([enclosed, thing.__defaults__])
        return ("function", code.co_code, repr(constants), code.co_names, inner, rest)
    if isinstance(thing, Mapping):
        return {str(name): _description(value) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_description(value) for value in thing]
    return thing
