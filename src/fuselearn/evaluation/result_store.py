"""Results of single fits on disk, so that a comparison that was interrupted goes on where it was.

A file of JSON lines: first what is compared, then one line per finished cell. A line is written at once and in one
piece; one that was cut off by a crash is passed over, and its cell is computed again.

When are two settings the same? By what they are, not by how they print: arrays are shortened and functions show an
address when printed.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType

from joblib import hash as content_hash


class CellStore:
    """Finished cells, kept in a file where one is named.

    Parameters
    ----------
    path : str or Path or None
        None keeps them in memory only.
    header : dict
        What is compared. A file of another comparison is refused.
    """

    def __init__(self, path, header):
        self._path = None if path is None else Path(path)
        self._cells = {}
        if self._path is None:
            return
        if self._path.is_dir():
            raise ValueError(f"resume must name a file; {str(self._path)!r} is a folder.")
        if self._path.exists() and b"\n" in self._path.read_bytes():
            self._read(header)
        else:  # nothing there yet, or the very first line was cut off
            self._path.unlink(missing_ok=True)
            self._append({"comparison": header})

    @staticmethod
    def seed_of(path):
        """Seed of the comparison that a file keeps, None where there is none."""
        try:
            with Path(path).open(encoding="utf-8") as file:
                return json.loads(file.readline())["comparison"]["seed"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def __contains__(self, key):
        return _name(key) in self._cells

    def __getitem__(self, key):
        return self._cells[_name(key)]

    def __len__(self):
        return len(self._cells)

    def add(self, key, cell):
        """Keep a finished cell.

        Parameters
        ----------
        key : tuple of str or int
        cell : dict
            What JSON can hold.
        """
        self._cells[_name(key)] = cell
        if self._path is not None:
            self._append({"key": list(key), "cell": cell})

    def _read(self, header):
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
            before = dict(json.loads(lines[0])["comparison"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"resume names {str(self._path)!r}, which is not a file of a comparison.") from None
        for name, value in header.items():
            if before.get(name) != value:
                raise ValueError(
                    f"resume names {str(self._path)!r}, a comparison with {name} = {before.get(name)!r}, but now it is "
                    f"{value!r}. Name another file, or set it back."
                )
        for line in lines[1:]:
            try:
                entry = json.loads(line)
                self._cells[_name(entry["key"])] = entry["cell"]
            except (ValueError, KeyError, TypeError):
                continue  # cut off
        if not self._path.read_bytes().endswith(b"\n"):
            self._write("\n")

    def _append(self, entry):
        self._write(json.dumps(entry) + "\n")

    def _write(self, text):
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


def _name(key):
    return json.dumps(list(key))


def fingerprint(thing):
    """A short text that is the same for the same settings, also in another process.

    Examples
    --------
    >>> from sklearn.svm import SVC, NuSVC
    >>> fingerprint(SVC(C=2)) == fingerprint(SVC(C=2)), fingerprint(SVC()) == fingerprint(SVC(C=2))
    (True, False)
    """
    return content_hash(_described(thing))


def _described(thing):
    """Estimators by class and settings, functions by their code, everything else as it is."""
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        settings = {name: _described(value) for name, value in sorted(thing.get_params(deep=False).items())}
        return (type(thing).__module__, type(thing).__qualname__, settings)
    if isinstance(thing, FunctionType):
        kept = [cell.cell_contents for cell in thing.__closure__ or ()]
        code = thing.__code__
        constants = [value for value in code.co_consts if not hasattr(value, "co_code")]
        inner = [value.co_code for value in code.co_consts if hasattr(value, "co_code")]
        return ("function", code.co_code, repr(constants), code.co_names, inner, _described([kept, thing.__defaults__]))
    if isinstance(thing, Mapping):
        return {str(name): _described(value) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_described(value) for value in thing]
    return thing
