"""Files that are there in whole or not at all, and that take no other file's place unless they may.

While a file is written it has a temporary name beside the final one, and is locked. A temporary file that nobody has
locked was left by a process that was killed; the next writer of the same file removes it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO, Any, Literal

try:
    import fcntl
except ImportError:  # Windows, which lets nobody remove a file that is open
    fcntl = None  # type: ignore[assignment]

LONGEST = 200
"""Bytes of a name that a temporary or another name keeps: with what is added it fits into the usual limit of 255."""


@contextmanager
def write_atomically(
    path: str | os.PathLike[str],
    mode: Literal["w", "wb"] = "w",
    *,
    overwrite: bool = True,
    encoding: str | None = None,
    newline: str | None = None,
) -> Iterator[IO[Any]]:
    """Open a file that is at `path` when the block ends without an error.

    Everything is written to a temporary file in the same folder. When the block ends it is forced to disk and renamed.
    When the block fails or is interrupted, it is removed, and a file that was at `path` stays as it was. A device or a
    pipe is written to directly.

    Parameters
    ----------
    path : str or Path
        The file to write. A link is followed. The file has the permissions that `open` would give it.
    mode : {"w", "wb"}, default="w"
        Text or bytes.
    overwrite : bool, default=True
        Whether a file that is at `path` when the block ends is replaced.
    encoding : str, default=None
        Encoding of text; None is UTF-8.
    newline : str, default=None
        Line ends of text, as in `open`.

    Yields
    ------
    file
        The open file. Its `name` is the path of the temporary file, for writers that want a path.

    Raises
    ------
    FileExistsError
        There is a file at `path` that may not be overwritten. Nothing is lost: what was written has another name in
        the same folder, which is the error's `filename2`.

    Examples
    --------
    >>> import os, tempfile
    >>> from fuselearn.persistence import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "predictions.csv")
    ...     with write_atomically(path) as file:
    ...         _ = file.write("id,prediction\\n")
    ...     os.listdir(folder)
    ['predictions.csv']
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb'; got {mode!r}.")
    if mode == "w" and encoding is None:
        encoding = "utf-8"
    target = Path(os.path.realpath(path))
    before = _mode_of(target)
    if before is not None and not stat.S_ISREG(before):
        with open(target, mode, encoding=encoding, newline=newline) as file:
            yield file
        return
    temporary, lock = _reserve(target)
    try:
        with open(temporary, mode, encoding=encoding, newline=newline) as file:
            yield file
            if not file.closed:
                file.flush()
                os.fsync(file.fileno())
        if before is not None and overwrite:
            os.chmod(temporary, stat.S_IMODE(before))
        if overwrite:
            os.replace(temporary, target)
        else:
            _give_new_name(temporary, target)
    except BaseException:
        # Once it has its final name, the temporary one may already be another writer's.
        if lock is None or _is_at(lock, temporary):
            with suppress(OSError):
                os.unlink(temporary)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _force_folder_to_disk(target.parent)


def _mode_of(target: Path) -> int | None:
    """Return the mode of what is at a path, None for nothing. Refuse a place that cannot be written to."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: the folder {target.parent} does not exist.")
    if not target.exists():
        return None
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{target} may not be written to; change its permissions or name another file.")
    return target.stat().st_mode


def _reserve(target: Path) -> tuple[Path, int | None]:
    """Make the temporary file for a target, and return it with the descriptor that keeps it locked, if any."""
    beginning = f".{_cut(target.name)}"
    for number in count():
        temporary = target.with_name(f"{beginning}.{number}.part")
        _remove_abandoned(temporary)
        with suppress(FileExistsError, BlockingIOError):
            lock = _make_locked(temporary)
            break
    for further in count(number + 1):
        if not _remove_abandoned(target.with_name(f"{beginning}.{further}.part")):
            break
    return temporary, lock


def _make_locked(path: Path) -> int | None:
    """Make a file that does not exist, and return a descriptor that has it locked; None where there are no locks."""
    # The system's umask applies to what os.open makes, as it does for a plain open.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    if fcntl is None:
        os.close(descriptor)
        return None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise  # another writer looks whether it is abandoned, and will remove it
        except OSError:
            pass  # a file system without locks, on which nothing is ever taken for abandoned
        if not _is_at(descriptor, path):
            raise FileExistsError(f"{path} was taken for abandoned before it was locked")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _remove_abandoned(path: Path) -> bool:
    """Remove a temporary file that no process is writing; return whether one was removed."""
    if fcntl is None:
        try:
            os.unlink(path)
        except OSError:
            return False
        return True
    try:
        # What is not a plain file was not left by a writer, and opening it must not wait.
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(descriptor, path):
            return False
        os.unlink(path)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Check whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return False


def _give_new_name(temporary: Path, target: Path) -> None:
    """Rename a file to a name that is free; where it is taken, to one beside it, and raise an error that has both."""
    try:
        _rename_exclusively(temporary, target)
    except FileExistsError:
        for number in count(2):
            kept = target.with_name(f"{_cut(target.stem)}-{number}{target.suffix}")
            with suppress(FileExistsError):
                _rename_exclusively(temporary, kept)
                break
        words = "the file exists; what was to be written there is kept under another name"
        raise FileExistsError(errno.EEXIST, words, str(target), None, str(kept)) from None


def _rename_exclusively(source: Path, destination: Path) -> None:
    """Rename a file unless there is one of that name; of several processes that try it at a time, one succeeds."""
    if os.name == "nt":
        os.rename(source, destination)  # which replaces nothing there
        return
    try:
        os.link(source, destination)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: an empty file reserves the name.
        os.close(os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        os.replace(source, destination)
    else:
        os.unlink(source)


def _cut(name: str) -> str:
    """Return as much of a name as leaves room for what is added to it."""
    return os.fsencode(name)[:LONGEST].decode(errors="ignore")


def _force_folder_to_disk(folder: Path) -> None:
    """Make the new name survive a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
