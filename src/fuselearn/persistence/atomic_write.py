"""Files that are written in whole or not at all."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal


@contextmanager
def write_atomically(
    path: str | os.PathLike[str],
    mode: Literal["w", "wb"] = "w",
    *,
    encoding: str | None = None,
    newline: str | None = None,
) -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` when the block ends without an error.

    Everything is written to a temporary file in the same folder. When the block ends it is forced to disk and renamed.
    When the block fails or is interrupted, it is removed, and a file that was at `path` stays as it was. A device or a
    pipe is written to directly.

    Parameters
    ----------
    path : str or Path
        The file to write. A link is followed. The file has the permissions that `open` would give it.
    mode : {"w", "wb"}, default="w"
        Text or bytes.
    encoding : str, default=None
        Encoding of text; None is UTF-8.
    newline : str, default=None
        Line ends of text, as in `open`.

    Yields
    ------
    file
        The open file. Its `name` is the path of the temporary file, for writers that want a path.

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
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    # The system's umask applies to what os.open makes, as it does for a plain open.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    os.close(descriptor)
    try:
        with open(temporary, mode, encoding=encoding, newline=newline) as file:
            yield file
            if not file.closed:
                file.flush()
                os.fsync(file.fileno())
        if before is not None:
            os.chmod(temporary, stat.S_IMODE(before))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
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


def _force_folder_to_disk(folder: Path) -> None:
    """Make the new name survive a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
