"""Write a fitted model to a file.

Read a fitted model from a file.
"""

import io
import json
import os
import warnings
import zipfile
from pathlib import Path

from fuselearn.persistence.atomic_write import write_atomically
from fuselearn.persistence.container import SCHEMA, header_of, pack, pack_plainly, parse_schema, read_bytes, unpack
from fuselearn.persistence.header import check_header, header_for, warn_of_other_versions
from fuselearn.persistence.schema import check_shape, put_in_order


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
        raise ValueError(f"The {kind} was not saved: {error}. {_advice_on_types(error.names)}") from None
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


def _advice_on_types(names):
    nowhere = [name for name in names if "<" in name or name.startswith("__main__.")]
    if nowhere:
        return (
            "A lambda, or what is defined in a script or inside a function, cannot be found again when the model is "
            "loaded. Use column names, numbers, slices or sklearn.compose.make_column_selector for views, and "
            "functions of an installed module elsewhere."
        )
    return f"If that code may run where the model is loaded, say so here and there: trusted={names!r}."


TOLD = ("fuselearn_version", "format", "model", "created", "n_features", "feature_names", "views", "classes", "note")
"""Keys of a header that `describe` returns, with the versions of the other packages."""


def load(path, *, trusted=()):
    """Read a model that :func:`fuselearn.save` wrote.

    Nothing in the file is run. Its types have to be on a list: those of fuselearn, the estimators of scikit-learn,
    arrays. A file tells nothing of its origin, though: who can change it can make the model predict anything.

    Parameters
    ----------
    path : str or Path
    trusted : list of type or of str, default=()
        Further types that the file may hold, or their full names. Loading may run their code.

    Returns
    -------
    estimator
        It predicts bit for bit what the saved one did, and `fit` with ``warm_start=True`` goes on with it.

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
        header, model = read_model(content, names)
    except ForeignType as error:
        raise ValueError(
            f"{path} was not loaded: {error}. That is neither fuselearn's nor on its list. If you trust that code and "
            f"whoever made the file, allow it: load(path, trusted={error.names!r})."
        ) from None
    except Exception as error:
        raise ValueError(f"{path} was not loaded: {_words(error)}. {_advice(error)}") from error
    warn_of_other_versions(path, header, stacklevel=2)
    return model


def describe(path):
    """Read what a saved model's file says of itself. Nothing of the model is built.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
        `fuselearn_version`, `format`, `versions` (of other packages), `model` (name of its class), `created`,
        `n_features`, `feature_names`, `views` (name to list of column names, or of numbers where columns have no
        names), `classes` and `note`. What a model does not have is None. It is what the file says: only `load`
        looks at the checksum.

    Examples
    --------
    >>> import os, tempfile
    >>> import fuselearn
    >>> from fuselearn.persistence import describe
    >>> model = fuselearn.ShareBoostClassifier(views=[[0], [1]], n_estimators=2)
    >>> model = model.fit([[0, 1], [1, 0], [2, 1], [3, 3]], ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = describe(fuselearn.save(model, os.path.join(folder, "small.fuse")))
    >>> told["model"], told["views"], told["classes"]
    ('ShareBoostClassifier', {'view0': [0], 'view1': [1]}, ['no', 'yes'])
    """
    content = read_bytes(path)
    try:
        header = header_of(content)
        check_header(header)
    except Exception as error:
        raise ValueError(f"{path} was not read: {_words(error)}. {_advice(error)}") from error
    return {key: header.get(key) for key in TOLD} | {"versions": header.get("versions")}


def read_model(content, trusted):
    """Header and model of a file's content.

    Parameters
    ----------
    content : bytes
    trusted : set of str
        Full names of types that the caller trusts.
    """
    header = header_of(content)
    check_header(header)  # a newer file may well be packed in another way
    header, members = unpack(content)
    check_header(header)
    schema = parse_schema(members)
    check_shape(schema)
    if schema.get("__loader__") != "ObjectNode" or schema["__class__"] != header["model"]:
        raise ValueError(f"its tree is not that of a {header['model']}")
    return header, _built(schema, members, trusted)


def _built(schema, members, trusted):
    """The model, once all its types are known to be on the list."""
    import skops.io
    from sklearn.exceptions import InconsistentVersionWarning

    from fuselearn.persistence.allowed import audit
    from fuselearn.persistence.checks import check_votes

    # Written anew, so that skops reads exactly what was looked at here.
    plain = pack_plainly(members | {SCHEMA: json.dumps(schema).encode()})
    allowed = audit(schema, members, lambda: skops.io.get_untrusted_types(data=plain), trusted)
    with warnings.catch_warnings():
        # We say so once, in words of our own, for the whole file.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = skops.io.loads(plain, trusted=allowed)
    check_votes(model)
    return model


def _words(error):
    if type(error) is ValueError:
        return str(error).rstrip(".")
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return "there is not enough memory for it"
    return f"its content makes no model ({type(error).__name__}: {str(error)[:200]})"


def _advice(error):
    if "newer" in str(error):
        return "Nothing of it was read."
    return "Nothing of it was run. Copy it again from where it came, or save the model anew with fuselearn.save."
