"""Fitted models written to files and read from them."""

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fuselearn.persistence.atomic_write import write_atomically
from fuselearn.persistence.container import (
    SCHEMA,
    Json,
    header_for,
    header_of,
    pack,
    pack_plainly,
    read_bytes,
    unpack,
    warn_of_other_versions,
)
from fuselearn.persistence.public_ids import DEFINED_IN
from fuselearn.persistence.schema import id_of, read_schema, write_schema

DESCRIBED = (
    "fuselearn_version",
    "format",
    "model",
    "created",
    "n_features",
    "feature_names",
    "views",
    "classes",
    "note",
)
"""Keys of a header that `describe` returns, with the versions of the other packages."""


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    trusted: Any = (),
    note: dict[str, Any] | None = None,
    overwrite: bool = True,
) -> Path:
    """Write a fitted model to a file, from which :func:`fuselearn.load` reads it again.

    The file holds the model, its settings, and what it knows of the data: feature names, views, classes. It does not
    hold the training data, except for what a model keeps of them in order to predict, such as support vectors. It is
    written in whole or not at all, and only after it was read back: a model that could not be loaded again is refused
    here. It names types of fuselearn by public ids, so that later versions can read it.

    Parameters
    ----------
    model : estimator
        Any estimator of fuselearn, or a pipeline or search around one.
    path : str or Path
        The file to write. By custom its name ends in ``.fuse``.
    trusted : list of type or of str, default=()
        Types of other packages that the model holds, or their full names, like ``"xgboost.sklearn.XGBClassifier"``.
        `load` will have to be given them, too.
    note : dict, default=None
        Anything to keep with the model that JSON can hold; :func:`fuselearn.persistence.describe` returns it.
    overwrite : bool, default=True
        Whether a file that is at `path` is replaced. Without it, one that appears meanwhile stays as it is, and the
        model is kept under another name beside it, which is the error's `filename2`.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    ValueError
        The model holds something that cannot be saved, such as a lambda. Nothing is written then.
    OSError
        The file cannot be written. It is a `FileExistsError` where there is one that may not be overwritten.

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
    header = header_for(model, note) | {"model": id_of(type(model)) or type(model).__name__}
    kind = type(model).__name__
    members = _dumped(model)
    try:
        content = pack(header, write_schema(members))
        _read_model(content, names)
    except ForeignType as error:
        raise ValueError(f"The {kind} was not saved: {error}. {_advice_on_types(error.names)}") from None
    except Exception as error:
        raise ValueError(f"The {kind} was not saved, since it could not be loaded again: {error}.") from error
    with write_atomically(path, "wb", overwrite=overwrite) as file:
        file.write(content)
    return Path(path)


def load(path: str | os.PathLike[str], *, trusted: Any = ()) -> Any:
    """Read a model that :func:`fuselearn.save` wrote.

    Nothing in the file is run. Its types have to be on a list: those of fuselearn, the estimators of scikit-learn,
    arrays. A file does not prove its origin, though: who can change it can make the model predict anything.

    Parameters
    ----------
    path : str or Path
        A file that :func:`fuselearn.save` wrote.
    trusted : list of type or of str, default=()
        Further types that the file may hold, or their full names. Loading may run their code.

    Returns
    -------
    estimator
        The model. It predicts bit for bit what the saved one did, and `fit` with ``warm_start=True`` goes on with it.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is not a saved model, is damaged, was changed, was written by a newer version, or holds a type that is not
        on the list.

    Warns
    -----
    SavedByOtherVersionWarning
        It was saved with another minor version of scikit-learn.

    Examples
    --------
    >>> import os, tempfile
    >>> import fuselearn
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> views = {"sepal": [0, 1], "petal": [2, 3]}
    >>> model = fuselearn.ShareBoostClassifier(views=views, n_estimators=10).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = fuselearn.save(model, os.path.join(folder, "iris.fuse"))
    ...     again = fuselearn.load(path)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    from fuselearn.persistence.allowed import ForeignType, trusted_names

    names = trusted_names(trusted)
    content = read_bytes(path)
    try:
        header, model = _read_model(content, names)
    except ForeignType as error:
        raise ValueError(
            f"{path} was not loaded: {error}. That is neither fuselearn's nor on its list. If you trust that code and "
            f"whoever made the file, allow it: load(path, trusted={error.names!r})."
        ) from None
    except Exception as error:
        raise ValueError(f"{path} was not loaded: {_words(error)}. {_advice(error)}") from error
    warn_of_other_versions(path, header, stacklevel=2)
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header of a saved model's file. Nothing of the model is built.

    Parameters
    ----------
    path : str or Path
        A file that :func:`fuselearn.save` wrote.

    Returns
    -------
    dict
        `fuselearn_version`, `format`, `versions` (of other packages), `model` (name of its class), `created`,
        `n_features`, `feature_names`, `views` (name to list of column names, or of numbers where columns have no
        names), `classes` and `note`. What a model does not have is None. It is what the file claims: only `load`
        checks the checksum.

    Examples
    --------
    >>> import os, tempfile
    >>> import fuselearn
    >>> from fuselearn.persistence import describe
    >>> model = fuselearn.ShareBoostClassifier(views=[[0], [1]], n_estimators=2)
    >>> model = model.fit([[0, 1], [1, 0], [2, 1], [3, 3]], ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     header = describe(fuselearn.save(model, os.path.join(folder, "small.fuse")))
    >>> header["model"], header["views"], header["classes"]
    ('ShareBoostClassifier', {'view0': [0], 'view1': [1]}, ['no', 'yes'])
    """
    content = read_bytes(path)
    try:
        header = header_of(content)
    except Exception as error:
        raise ValueError(f"{path} was not read: {_words(error)}. {_advice(error)}") from error
    return {key: header.get(key) for key in DESCRIBED} | {"versions": header.get("versions")}


def _dumped(model: Any) -> dict[str, bytes]:
    """Return the members of the archive that skops makes of a model."""
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


def _culprit(value: Any, place: tuple[str, ...]) -> tuple[tuple[str, ...], Any]:
    """Return where the innermost part of a model that cannot be saved is, and the part."""
    import skops.io

    parts: Iterable[tuple[Any, Any]]
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


def _advice_on_types(names: list[str]) -> str:
    """Return what to do about types that are not on the list."""
    unimportable = [name for name in names if "<" in name or name.startswith("__main__.")]
    if unimportable:
        return (
            "A lambda, or what is defined in a script or inside a function, cannot be found again when the model is "
            "loaded. Use column names, numbers, slices or sklearn.compose.make_column_selector for views, and "
            "functions of an installed module elsewhere."
        )
    return f"If that code may run where the model is loaded, say so here and there: trusted={names!r}."


def _read_model(content: bytes, trusted: set[str]) -> tuple[Json, Any]:
    """Return the header and the model of a file's content; `trusted` are full names of types."""
    header, members = unpack(content)
    schema = read_schema(members)
    if schema.get("__loader__") != "ObjectNode" or _class_name(header["model"]) != schema["__class__"]:
        raise ValueError(f"its tree is not that of a {header['model']}")
    return header, _built(schema, members, trusted)


def _class_name(model: str) -> str:
    """Return the name of the class that a header names, by its public id if it is ours."""
    return DEFINED_IN.get(model, model).rpartition(":")[2]


def _built(schema: Json, members: dict[str, bytes], trusted: set[str]) -> Any:
    """Build the model, once all its types are known to be on the list."""
    import skops.io
    from sklearn.exceptions import InconsistentVersionWarning

    from fuselearn.persistence.allowed import audit
    from fuselearn.persistence.checks import check_model

    # Written anew, so that skops reads exactly what was checked here.
    plain = pack_plainly(members | {SCHEMA: json.dumps(schema).encode()})
    allowed = audit(schema, members, lambda: skops.io.get_untrusted_types(data=plain), trusted)
    with warnings.catch_warnings():
        # We say so once, in words of our own, for the whole file.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = skops.io.loads(plain, trusted=allowed)
    check_model(model)
    return model


def _words(error: Exception) -> str:
    """Return what is wrong with a file, in words."""
    if type(error) is ValueError:
        return str(error).rstrip(".")
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return "there is not enough memory for it"
    return f"its content makes no model ({type(error).__name__}: {str(error)[:200]})"


def _advice(error: Exception) -> str:
    """Return what to do about a file that was refused."""
    if "newer" in str(error):
        return "Nothing of it was read."
    return "Nothing of it was run. Copy it again from where it came, or save the model anew with fuselearn.save."
