"""The archive of a saved model, with its header.

Members go into the archive and come out; nothing is too large, and nothing was changed on the way. The header says
which model it is, of which views and classes, and which versions wrote it.
"""

import functools
import hashlib
import io
import json
import os
import re
import stat
import zipfile
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias
from warnings import warn

from fuselearn._version import __version__
from fuselearn.exceptions import SavedByOtherVersionWarning

Json: TypeAlias = dict[str, Any]
"""A JSON object."""

FORMAT = 2
"""Number of the format that is written and read."""
HEADER, MODEL, ARRAYS = "fuselearn.json", "model.json", "arrays.bin"
"""Members of every file: what it is, the tree of the model, and the bytes of its arrays."""
FOREIGN, SCHEMA = "foreign/", "schema.json"
"""Folder of the foreign objects of a model, and the tree of them that skops writes there."""
HEADER_KEYS = {
    "checksum",
    "classes",
    "created",
    "feature_names",
    "foreign",
    "format",
    "fuselearn_version",
    "model",
    "n_features",
    "note",
    "versions",
    "views",
}
PACKAGES = ("scikit-learn", "numpy", "scipy", "skops")
MIN_ALLOWANCE, MAX_GROWTH = 64 * 2**20, 100
"""An archive may unpack to this many bytes, and this many times its own size on top."""
TEXT_ALLOWANCE, TEXT_GROWTH = 4 * 2**20, 50
"""The same for the header and for the tree: text takes much more memory once it is read."""
MAX_TEXT = 512 * 2**20
FEW_MARKS, BYTES_PER_MARK = 50_000, 6
"""Text may have this many brackets, colons and commas, and on top one in so many bytes. A tree has one in nine or more;
what is nothing but brackets takes thirty times its size in memory."""
QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
MAX_WORDS = 200
DATE = (1980, 1, 1, 0, 0, 0)
"""Date of every member: a file says when it was made in its header only."""


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file. A folder, a device and a missing file are an `OSError`."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist.") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; name the file that fuselearn.save wrote.")
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} is not a regular file; name the file that fuselearn.save wrote.")
    return path.read_bytes()


def header_of(content: bytes) -> Json:
    """Return the header of an archive, of a format and version that can be read. Nothing else is unpacked."""
    with _opened(content) as archive:
        header = _parsed(_member(archive, HEADER, _text_allowance(len(content))), "header")
    check_header(header)
    return header


def unpack(content: bytes) -> tuple[Json, dict[str, bytes]]:
    """Return the header of an archive whose checksum is right, and its other members by name."""
    header = header_of(content)  # a newer file may well be packed in another way
    with _opened(content) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise ValueError("two of its members have the same name")
        declared = sum(info.file_size for info in infos)
        if declared > MIN_ALLOWANCE + MAX_GROWTH * len(content):
            raise ValueError(f"it would unpack to {declared:,} bytes, far more than a model of its size")
        if missing := [name for name in (MODEL, ARRAYS) if name not in names]:
            raise ValueError(f"it has no {missing[0]}")
        if unknown := [name for name in names if name not in (HEADER, MODEL, ARRAYS) and not name.startswith(FOREIGN)]:
            raise ValueError(f"it has the member {unknown[0]!r:.60}, which fuselearn.save never writes")
        members = {
            name: _member(archive, name, _text_allowance(len(content)) if name.endswith(".json") else declared)
            for name in names
            if name != HEADER
        }
    if header.get("checksum") != checksum(header, members):
        raise ValueError("its checksum is wrong: it was damaged or changed after it was saved")
    return header, members


def pack(header: Json, members: dict[str, bytes]) -> bytes:
    """Return the archive of members and of a header, to which the checksum is added."""
    members = {HEADER: _as_text(header | {"checksum": checksum(header, members)}), **members}
    packed = _packed(members, zipfile.ZIP_DEFLATED)
    declared = sum(map(len, members.values()))
    text = max(len(content) for name, content in members.items() if name.endswith(".json"))
    if declared > MIN_ALLOWANCE + MAX_GROWTH * len(packed) or text > _text_allowance(len(packed)):
        # What shrinks too well would be taken for a bomb.
        packed = _packed(members, zipfile.ZIP_STORED)
    return packed


def pack_plainly(members: dict[str, bytes]) -> bytes:
    """Return an archive of members as skops reads it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, DATE), content)
    return buffer.getvalue()


def parse_tree(members: dict[str, bytes], name: str) -> Json:
    """Return the tree in a member of an archive, parsed and nothing more."""
    if name not in members:
        raise ValueError(f"it has no {name}")
    return _parsed(members[name], "tree")


def checksum(header: Json, members: dict[str, bytes]) -> str:
    """Return the SHA-256 of the header, but for its checksum, and of all members with their names."""
    signed = {key: value for key, value in header.items() if key != "checksum"}
    digest = hashlib.sha256(json.dumps(signed, sort_keys=True).encode())
    for name in sorted(members):
        encoded = name.encode("utf-8", "surrogatepass")
        digest.update(f"\n{len(encoded)} {len(members[name])}\n".encode() + encoded)
        digest.update(members[name])
    return f"sha256:{digest.hexdigest()}"


def header_for(model: Any, note: dict[str, Any] | None) -> Json:
    """Return the header of a model's file, with the caller's note, all of which can be written as JSON."""
    if note is not None and not isinstance(note, dict):
        raise TypeError(f"note must be a dict or None; got {note!r}.")
    try:
        note = json.loads(json.dumps(note, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"note must hold only what JSON can: dicts, lists, text, numbers. {error}.") from None
    fusing = _fusing_estimator(model)
    names = getattr(fusing, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    count = getattr(fusing, "n_features_in_", None)
    return {
        "format": FORMAT,
        "fuselearn_version": __version__,
        "versions": {package: _installed(package) for package in PACKAGES},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": type(model).__name__,
        "n_features": None if count is None else int(count),
        "feature_names": names,
        "views": _views(fusing, names),
        "classes": _classes(model),
        "note": note,
    }


def check_header(header: Json) -> None:
    """Refuse a file of a format or a version that is newer than this one."""
    number = header.get("format")
    if type(number) is not int or number < 1:
        raise ValueError(f"its header has the format {number!r:.40}; {FORMAT} would be right")
    if number < FORMAT:
        raise ValueError(
            f"it is of format {number}, which could make the reader run code, and is no longer read; fit and save the "
            "model anew"
        )
    written_by = header.get("fuselearn_version")
    if type(written_by) is not str or type(header.get("model")) is not str:
        raise ValueError("its header does not say which model it is, and which version wrote it")
    if number > FORMAT or _version_numbers(written_by) > _version_numbers(__version__):
        raise ValueError(
            f"it was written by fuselearn {written_by[:40]} (format {number}), which is newer than this one, "
            f"{__version__} (format {FORMAT}); install fuselearn>={written_by[:40]}"
        )
    foreign = header.get("foreign")
    if type(foreign) is not list or not all(type(name) is str for name in foreign):
        raise ValueError("its header does not say which foreign types it holds")
    if unknown := sorted(header.keys() - HEADER_KEYS):
        raise ValueError(f"its header has the key {unknown[0]!r:.40}, which fuselearn.save never writes")


def warn_of_other_versions(path: str | os.PathLike[str], header: Json, stacklevel: int) -> None:
    """Warn where the file was written with another minor version of scikit-learn."""
    versions = header.get("versions")
    written_with = versions.get("scikit-learn") if isinstance(versions, dict) else None
    here = _installed("scikit-learn")
    if not isinstance(written_with, str) or _version_numbers(written_with)[:2] != _version_numbers(here)[:2]:
        warn(
            f"{path} was saved with scikit-learn {str(written_with)[:40]}, and this is {here}: parts of the model that "
            "are scikit-learn's may not work, or predict otherwise. Fit it anew, or install that version.",
            SavedByOtherVersionWarning,
            stacklevel=stacklevel + 1,
        )


def _opened(content: bytes) -> zipfile.ZipFile:
    """Open an archive that is in memory."""
    if not content:
        raise ValueError("it is empty")
    if content[:1] == b"\x80":
        raise ValueError("it looks like a pickle, which runs code when it is read; save the model with fuselearn.save")
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except Exception as error:
        what = "it is cut off or damaged" if content[:2] == b"PK" else "it is not a saved model"
        raise ValueError(f"{what} ({_shortened(error)})") from error


def _shortened(error: Exception) -> str:
    """Return an error's words as far as they fit: zip quotes names, which in a damaged file may be of any length."""
    words = str(error)
    return words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}…"


def _member(archive: zipfile.ZipFile, name: str, allowance: int) -> bytes:
    """Return a member of an archive, of at most so many bytes."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise ValueError(f"it is an archive, but not of a saved model: it has no {name}") from None
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its member {name} is packed in a way that fuselearn.save does not use")
    if info.file_size > allowance:
        raise ValueError(f"its member {name} would unpack to {info.file_size:,} bytes, far more than it should have")
    try:
        with archive.open(info) as file:
            content = file.read(info.file_size)
    except Exception as error:
        raise ValueError(f"its member {name} is cut off or damaged ({_shortened(error)})") from error
    if len(content) != info.file_size:
        raise ValueError(f"its member {name} is cut off")
    return content


def _parsed(text: bytes, what: str) -> Json:
    """Parse a JSON object of bounded structure."""
    # Names may hold any of these marks, so quoted text is taken out before many are too many.
    if _marks(text) > FEW_MARKS and _marks(QUOTED.sub(b"", text)) > FEW_MARKS + len(text) // BYTES_PER_MARK:
        raise ValueError(f"its {what} has far more parts than text of its size")
    try:
        parsed = json.loads(text.decode("utf-8"))
    except RecursionError:
        raise ValueError(f"its {what} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"its {what} is not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise ValueError(f"its {what} must be a JSON object; it is a {type(parsed).__name__}")
    return parsed


def _marks(text: bytes) -> int:
    """Count brackets, colons and commas."""
    return sum(map(text.count, (b"[", b"{", b":", b",")))


def _text_allowance(size: int) -> int:
    """Return the bytes to which text in an archive of a size may unpack."""
    return min(TEXT_ALLOWANCE + TEXT_GROWTH * size, MAX_TEXT)


def _as_text(header: Json) -> bytes:
    """Return a header as it is written."""
    return json.dumps(header, indent=1, sort_keys=True).encode()


def _packed(members: dict[str, bytes], compression: int) -> bytes:
    """Return the archive of members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            # Few bytes do not shrink.
            method = compression if len(content) > 256 else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name, DATE), content, compress_type=method)
    return buffer.getvalue()


def _fusing_estimator(model: Any) -> Any:
    """Return the estimator that knows the views: inside a search, or at the end of a pipeline."""
    while not hasattr(model, "view_names_"):
        steps = getattr(model, "steps", None)
        inner = getattr(model, "best_estimator_", steps[-1][1] if steps else None)
        if inner is None:
            break
        model = inner
    return model


def _views(model: Any, names: list[str] | None) -> dict[str, list[int] | list[str]] | None:
    """Return the columns of each view, by name where columns have names."""
    views = getattr(model, "view_names_", None)
    view_columns = getattr(model, "view_columns_", None)
    if views is None or view_columns is None:
        return None
    return {
        str(view): [int(column) if names is None else names[column] for column in columns]
        for view, columns in zip(views, view_columns)
    }


def _classes(model: Any) -> Any:
    """Return the classes in plain types; a list of lists where there are several labels."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    if not hasattr(classes, "tolist"):  # one array per label
        return [_plain(labels.tolist() if hasattr(labels, "tolist") else labels) for labels in classes]
    return _plain(classes.tolist())


def _plain(value: Any) -> Any:
    """Return what JSON can hold of a value."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


@functools.cache  # reading the description of a package takes longer than writing a small model
def _installed(package: str) -> str | None:
    """Return the installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _version_numbers(text: str | None) -> tuple[int, ...]:
    """Return the major, minor and patch number of a version."""
    numbers = [int(number) for number in re.findall(r"\d+", str(text).partition("+")[0][:40])[:3]]
    return tuple(numbers + [0] * (3 - len(numbers)))
