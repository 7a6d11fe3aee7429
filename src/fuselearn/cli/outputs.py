"""Files that a command writes: where they may go, and how they come to be there in whole or not at all."""

import errno
import os
from contextlib import contextmanager
from pathlib import Path

from fuselearn.cli.refusal import refuse


def check_output(output, force, *inputs):
    """Refuse, before any work, a path that cannot or should not be written to.

    Parameters
    ----------
    output : str
    force : bool
        Whether a file that is there may be overwritten.
    *inputs : str
        Files that are read, which must not be overwritten in any case.
    """
    path = Path(output)
    if path.is_dir():
        refuse(f"--output: {output} is a folder; name a file.")
    folder = path.absolute().parent
    if not folder.is_dir():
        refuse(f"--output: the folder {folder} does not exist; make it, or name another.")
    if path.exists():
        if any(name != "-" and os.path.exists(name) and os.path.samefile(path, name) for name in inputs):
            refuse(f"--output: {output} is also what is read; name another file.")
        if not force:
            refuse(f"--output: {output} exists; add --force to overwrite it.")
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        refuse(f"--output: no permission to write {output}; name a file in a folder of yours.")


@contextmanager
def writing(output):
    """Tell in one line why a file could not be written."""
    try:
        yield
    except BrokenPipeError:
        raise  # whoever reads has enough, as head does: no matter for a message
    except OSError as error:
        if error.errno == errno.ENOSPC:
            refuse(f"{output} was not written: the disk is full; make room, or name a file on another disk.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            refuse(f"{output} was not written: no permission; name a file in a folder of yours.")
        refuse(f"{output} was not written: {error.strerror or error}.")


def size_of(path):
    """Size of a file in words."""
    size = os.path.getsize(path)
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1000))} kB"
