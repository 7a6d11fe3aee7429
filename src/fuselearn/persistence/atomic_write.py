"""Files that are there in whole or not at all."""

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def write_atomically(path, mode="w", *, encoding=None, newline=None):
    """Open a file that takes the place of `path` when the block ends well.

    What is written goes to a temporary file in the same folder. When the block ends it is forced to disk and renamed.
    When the block fails or is interrupted, it is removed, and a file that was at `path` is as it was. A device or a
    pipe is written to directly.

    Parameters
    ----------
    path : str or Path
        A link is followed. The file has the permissions that `open` would give it.
    mode : {"w", "wb"}, default="w"
    encoding : str, default=None
        Of text; None is UTF-8.
    newline : str, default=None
        As in `open`.

    Yields
    ------
    file
        Its `name` is the path of the temporary file, for writers that want a path.

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
    unfinished = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    # The system's umask applies to what os.open makes, as it does for a plain open.
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    os.close(descriptor)
    try:
        with open(unfinished, mode, encoding=encoding, newline=newline) as file:
            yield file
            if not file.closed:
                file.flush()
                os.fsync(file.fileno())
        if before is not None:
            os.chmod(unfinished, stat.S_IMODE(before))
        os.replace(unfinished, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
    _force_folder_to_disk(target.parent)


def _mode_of(target):
    """Mode of what is at a path, None for nothing. Refuses a place that cannot be written to."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: the folder {target.parent} does not exist.")
    if not target.exists():
        return None
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{target} may not be written to; change its permissions or name another file.")
    return target.stat().st_mode


def _force_folder_to_disk(folder):
    """Make the new name survive a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
