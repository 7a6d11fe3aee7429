"""Files that a command writes: in whole or not at all, and in the place of another one with ``--force`` only."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from fuselearn.cli.console import refuse, refuse_standard_output, refusing
from fuselearn.cli.interrupts import interrupts


def check_output(output: str, force: bool, *inputs: str) -> None:
    """Refuse, before any work, a path that cannot be written to, or is one of the inputs, or exists without `force`."""
    if not output:
        refuse("--output is empty; name a file.")
    path = Path(output)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    except NotADirectoryError:
        refuse(f"--output: {_file_in_the_way(path)} is a file, not a folder; name another folder.")
    except PermissionError:
        _refuse_permission(output)
    except (OSError, ValueError) as error:  # a name that is too long, a loop of links, a null byte
        refuse(f"--output: {output} cannot be written: {getattr(error, 'strerror', None) or error}; name another file.")
    if mode is not None and stat.S_ISDIR(mode):
        refuse(f"--output: {output} is a folder; name a file.")
    if output.endswith((os.sep, os.altsep or os.sep)):
        refuse(f"--output: {output} is the name of a folder; name a file.")
    folder = path.absolute().parent
    if not folder.is_dir():
        refuse(f"--output: the folder {folder} does not exist; make it, or name another.")
    if mode is not None:
        if any(name != "-" and os.path.exists(name) and os.path.samefile(path, name) for name in inputs):
            refuse(f"--output: {output} is also what is read; name another file.")
        # Nothing is lost in a terminal, a pipe or /dev/null.
        if not force and not (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
            refuse(f"--output: {output} exists; add --force to overwrite it.")
    if not os.access(folder, os.W_OK | os.X_OK) or (mode is not None and not os.access(path, os.W_OK)):
        _refuse_permission(output)


@contextmanager
def writing(output: str) -> Iterator[None]:
    """Say in one line why a file could not be written. An interrupt unwinds the block, which leaves no half a file."""
    try:
        with interrupts.unwinding():
            yield
    except BrokenPipeError:
        raise  # the reader has enough, as head does: no matter for a message
    except FileExistsError as error:
        kept = Path(output).with_name(Path(error.filename2).name)
        refuse(
            f"--output: {output} appeared while the command ran, and stays as it is; what was to be written is whole "
            f"and kept as {kept}. Rename that one, or add --force next time to overwrite."
        )
    except OSError as error:
        if output == "-":
            refuse_standard_output(error)
        if error.errno == errno.ENOSPC:
            refuse(f"{output} was not written: the disk is full; make room, or name a file on another disk.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            refuse(f"{output} was not written: no permission; name a file in a folder of yours.")
        refuse(f"{output} was not written: {error.strerror or error}.")


def save_model(model: Any, path: str, note: dict[str, Any], *, force: bool) -> list[str]:
    """Save a model with the command line's note; return the types that one has to trust in order to load it."""
    from fuselearn.persistence import describe, save

    with writing(path), refusing(ValueError, TypeError, what=f"{path} was not written"):
        save(model, path, note=note, overwrite=force)
        return list(describe(path)["foreign"])


def size_of(path: str) -> str:
    """Return the size of a file in words."""
    size = os.path.getsize(path)
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1000))} kB"


def _file_in_the_way(path: Path) -> Path:
    """Return the part of a path that is a file where a folder would have to be."""
    return next((folder for folder in path.parents if folder.exists() and not folder.is_dir()), path.parent)


def _refuse_permission(output: str) -> NoReturn:
    """Refuse a place that may not be written to."""
    refuse(f"--output: no permission to write {output}; name a file in a folder of yours.")
