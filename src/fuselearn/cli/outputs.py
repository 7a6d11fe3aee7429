"""Files that a command writes: where they may go, and how they come to be there in whole or not at all.

Saved models as commands use them.
"""

import errno
import os
import warnings
from contextlib import contextmanager
from pathlib import Path

from fuselearn.cli.errors import one_line, refuse, refusing
from fuselearn.cli.files import FORMATS


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


def load_model(path, notes):
    """Load a model, and what the command line noted when it saved it.

    What is not a model ends the command in one line.

    Parameters
    ----------
    path : str
    notes : Notes
        Is told what is odd about the file.

    Returns
    -------
    model : TableClassifier or estimator
    note : dict
        Empty for a model that a program saved.
    """
    described = describe_model(path)
    from fuselearn.exceptions import SavedByOtherVersionWarning
    from fuselearn.persistence import load

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SavedByOtherVersionWarning)
            model = load(path)
    except PermissionError:
        _refuse_permission(path)
    except (ValueError, TypeError, OSError) as error:
        refuse(_named(path, error))
    for warning in caught:
        notes.tell(f"Warning: {warning.message}")
    note = described.get("note")
    return model, note if isinstance(note, dict) else {}


def save_model(model, path, note):
    """Save a model with what the command line has to note."""
    from fuselearn.persistence import save

    with writing(path), refusing(ValueError, TypeError, what=f"{path} was not written"):
        save(model, path, note=note)


def describe_model(path):
    """What the header of a model file says."""
    file = Path(path)
    if path == "-":
        refuse("MODEL must be a file; a model cannot come from standard input.")
    if file.is_dir():
        refuse(f"{path} is a folder; name a file that fuselearn fit made.")
    if not file.exists():
        refuse(f"{path} does not exist; name a file that fuselearn fit made.")
    if file.suffix.lower() in FORMATS:
        refuse(f"{path} is named as data, not as a model; the model comes first: MODEL, then the data.")
    from fuselearn.persistence import describe

    try:
        return describe(path)
    except PermissionError:
        _refuse_permission(path)
    except (ValueError, TypeError, OSError) as error:
        refuse(_named(path, error))


def _refuse_permission(path):
    refuse(f"{path} cannot be read: no permission; ask its owner, or copy it to where you may read it.")


def _named(path, error):
    told = one_line(error)
    return told if str(path) in told or Path(path).name in told else f"{path} is not a model that can be used: {told}"
