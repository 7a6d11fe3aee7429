"""Saved models as commands use them."""

import warnings
from pathlib import Path

from fuselearn.cli.files import FORMATS
from fuselearn.cli.outputs import writing
from fuselearn.cli.refusal import one_line, refuse, refusing


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
