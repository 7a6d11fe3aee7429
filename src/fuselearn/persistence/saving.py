"""Write a fitted model to a file."""

import io
import os
import zipfile
from pathlib import Path

from fuselearn.persistence.atomic import write_atomically
from fuselearn.persistence.container import pack
from fuselearn.persistence.header import header_for
from fuselearn.persistence.loading import read_model
from fuselearn.persistence.schema import put_in_order


def save(model, path, *, trusted=(), note=None):
    """Write a fitted model to a file, from which :func:`fuselearn.load` reads it again.

    The file holds the model, its settings, and what it knows of the data: feature names, views, classes. It does not
    hold the training data, but for what a model keeps of them in order to predict, such as support vectors. It is
    written in whole or not at all, and only after it was read back: a model that could not be loaded again is refused
    here.

    Parameters
    ----------
    model : estimator
        Any of fuselearn, or a pipeline or search around one.
    path : str or Path
        A file that is there is replaced. By custom its name ends in ``.fuse``.
    trusted : list of type or of str, default=()
        Types of other packages that the model holds, or their full names, like ``"xgboost.sklearn.XGBClassifier"``.
        `load` will have to be given them, too.
    note : dict, default=None
        What to keep with the model, of what JSON can hold; :func:`fuselearn.persistence.describe` returns it.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        The model holds something that cannot be saved, such as a lambda. Nothing is written then.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import fuselearn
    >>> model = fuselearn.ShareBoostClassifier(views={"a": slice(0, 1), "b": [1]}, n_estimators=2)
    >>> model = model.fit([[0, 1], [1, 0], [2, 1], [3, 3]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fuselearn.save(model, os.path.join(folder, "small.fuse"), note={"project": "demo"}).name
    'small.fuse'
    """
    from fuselearn.persistence.allowed import ForeignType, trusted_names

    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise TypeError(f"model must be a fitted estimator; got {model!r:.200}.")
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a Path; got {path!r:.200}.")
    names = trusted_names(trusted)
    header = header_for(model, note)
    kind = type(model).__name__
    members = _dumped(model)
    try:
        content = pack(header, put_in_order(members))
        read_model(content, names)
    except ForeignType as error:
        raise ValueError(f"The {kind} was not saved: {error}. {_advice(error.names)}") from None
    except Exception as error:
        raise ValueError(f"The {kind} was not saved, since it could not be loaded again: {error}.") from error
    with write_atomically(path, "wb") as file:
        file.write(content)
    return Path(path)


def _dumped(model):
    """Members of the archive that skops makes of a model."""
    import skops.io

    try:
        with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception as error:
        place, value = _culprit(model, ())
        raise ValueError(
            f"The {type(model).__name__} was not saved: {'.'.join(place) or 'it'} holds {value!r:.100}, of "
            f"{type(value).__module__}.{type(value).__qualname__}, which cannot be saved ({str(error)[:200]}). "
            "Use plain lists, dicts with text or numbers as keys, arrays and estimators instead."
        ) from error


def _culprit(value, place):
    """The innermost part of a model that cannot be saved, and where it is."""
    import skops.io

    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    elif hasattr(value, "get_params") or type(value).__module__.startswith("fuselearn."):
        parts = vars(value).items()
    else:
        parts = ()
    for key, part in list(parts) if len(place) < 20 else ():
        try:
            skops.io.dumps(part)
        except Exception:
            return _culprit(part, (*place, str(key)))
    return place, value


def _advice(names):
    nowhere = [name for name in names if "<" in name or name.startswith("__main__.")]
    if nowhere:
        return (
            "A lambda, or what is defined in a script or inside a function, cannot be found again when the model is "
            "loaded. Use column names, numbers, slices or sklearn.compose.make_column_selector for views, and "
            "functions of an installed module elsewhere."
        )
    return f"If that code may run where the model is loaded, say so here and there: trusted={names!r}."
