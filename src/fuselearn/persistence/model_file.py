"""Fitted models written to files and read from them."""

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuselearn.exceptions import UntrustedTypeError
from fuselearn.persistence.atomic_write import write_atomically
from fuselearn.persistence.container import (
    ARRAYS,
    FOREIGN,
    MODEL,
    SCHEMA,
    Json,
    header_for,
    header_of,
    pack,
    pack_plainly,
    parse_tree,
    read_bytes,
    unpack,
    warn_of_other_versions,
)

if TYPE_CHECKING:
    from fuselearn.persistence.model_types import Trust
    from fuselearn.persistence.object_tree import Writer

DESCRIBED = (
    "fuselearn_version",
    "format",
    "model",
    "created",
    "n_features",
    "feature_names",
    "foreign",
    "views",
    "classes",
    "note",
)
"""Keys of a header that `describe` returns, with the versions of the other packages."""


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    trusted: Any = True,
    note: dict[str, Any] | None = None,
    overwrite: bool = True,
) -> Path:
    """Write a fitted model to a file, from which :func:`fuselearn.load` reads it again.

    The file holds the model, its settings, and what it knows of the data: feature names, views, classes. It does not
    hold the training data, except for what a model keeps of them in order to predict, such as support vectors. It is
    written in whole or not at all, and only after it was read back: a model that could not be loaded again is refused
    here. It names types of fuselearn by public ids, so that later versions can read it. Types of other packages that
    the model holds, such as a classifier of scikit-learn, are named in its header, and `load` opens it only for who
    trusts them.

    Parameters
    ----------
    model : estimator
        Any estimator of fuselearn, or a pipeline or search around one.
    path : str or Path
        The file to write. By custom its name ends in ``.fuse``.
    trusted : list of type or of str, or True, default=True
        Types of other packages that the file may hold; a model that holds others is refused. True for any.
    note : dict, default=None
        Anything to keep with the model that JSON can hold; :func:`fuselearn.persistence.describe` returns it.
    overwrite : bool, default=True
        Whether a file that is at `path` is replaced; otherwise that is a ``FileExistsError``.

    Returns
    -------
    Path
        The file that was written.

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
    from fuselearn.persistence.model_types import Trust

    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise TypeError(f"model must be a fitted estimator; got {model!r:.200}.")
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a Path; got {path!r:.200}.")
    content = dump(model, Trust(trusted), note)
    with write_atomically(path, "wb", overwrite=overwrite) as file:
        file.write(content)
    return Path(path)


def load(path: str | os.PathLike[str], *, trusted: Any = ()) -> Any:
    """Read a model that :func:`fuselearn.save` wrote.

    Only fuselearn's own types, arrays and plain values are built, and what was built is checked before the model is
    returned; nothing of it is called. A model that holds types of other packages is refused, unless they are trusted.
    To trust a type means: the file decides what its methods do when the model is used, and scikit-learn has types whose
    methods write files, read them or run code in them. A file does not prove its origin, either: who can change it can
    make the model predict anything.

    Parameters
    ----------
    path : str or Path
        A file that :func:`fuselearn.save` wrote.
    trusted : list of type or of str, or True, default=()
        Types of other packages that the file may hold, or their names, like ``"sklearn.svm.SVC"``; True for any. The
        refusal of a file names what it needs. Fitted trees, forests, gradient boosting and support vector machines of
        scikit-learn are checked as well once they are built, since damaged ones would crash.

    Returns
    -------
    estimator
        The model. It predicts bit for bit what the saved one did, and `fit` with ``warm_start=True`` goes on with it.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is not a saved model, is damaged, was changed, or was written by another version.
        An ``UntrustedTypeError`` of :mod:`fuselearn.exceptions`, with `names`: it holds types that are not trusted.

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
    from fuselearn.persistence.model_types import Trust

    trust = Trust(trusted)
    content = read_bytes(path)
    try:
        header, model = read_model(content, trust)
    except UntrustedTypeError as error:
        raise UntrustedTypeError(
            error.names,
            f"{path} was not loaded: {error}. Only types of fuselearn are built without being asked: what the methods "
            "of others do, the file decides, and some of them can run code. If you trust whoever made the file, say "
            f"load(path, trusted={error.names!r}).",
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
        `n_features`, `feature_names`, `foreign` (names of types of other packages, which `load` asks to be trusted),
        `views` (name to list of column names, or of numbers where columns have no names), `classes` and `note`. What a
        model does not have is None. It is what the file claims: only `load` checks the checksum.

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


def dump(model: Any, trust: "Trust", note: dict[str, Any] | None = None) -> bytes:
    """Return a model as the content of a file, which was read back."""
    from fuselearn.persistence.model_types import id_of, names_to_trust
    from fuselearn.persistence.object_tree import Writer

    header = header_for(model, note)
    kind = type(model).__name__
    writer = Writer()
    try:
        tree = writer.write(model)
        members = {MODEL: json.dumps(tree, separators=(",", ":"), allow_nan=False).encode(), ARRAYS: writer.arrays}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The {kind} was not saved: {error}.") from None
    foreign, names = _written_foreign(model, writer)
    header |= {"model": id_of(type(model)) or kind, "foreign": names_to_trust(names)}
    if refused := [name for name in names if not trust.accepts(name)]:
        raise UntrustedTypeError(
            names_to_trust(refused),
            f"The {kind} was not saved: it holds {', '.join(names_to_trust(refused))}, which trusted does not name.",
        )
    content = pack(header, members | foreign)
    try:
        read_model(content, trust)
    except Exception as error:
        raise ValueError(f"The {kind} was not saved, since it could not be loaded again: {error}.") from error
    return content


def foreign_types(estimator: Any) -> list[str]:
    """Return the full names of the types of other packages that an estimator holds."""
    from fuselearn.persistence.object_tree import Writer

    writer = Writer()
    writer.write(estimator)
    return _written_foreign(estimator, writer)[1]


def read_model(content: bytes, trust: "Trust") -> tuple[Json, Any]:
    """Return the header and the model of a file's content."""
    from fuselearn.persistence.model_types import id_of
    from fuselearn.persistence.object_tree import Reader

    header, members = unpack(content)
    tree = parse_tree(members, MODEL)
    foreign = {name.removeprefix(FOREIGN): member for name, member in members.items() if name.startswith(FOREIGN)}
    if bool(foreign) != bool(header["foreign"]):
        raise ValueError("its header names other foreign types than it holds")
    objects = _built_foreign(foreign, header, trust) if foreign else []
    model = Reader(members[ARRAYS], objects).read(tree)
    if header["model"] != (id_of(type(model)) or type(model).__name__) or not hasattr(type(model), "get_params"):
        raise ValueError(f"its tree is not that of a {header['model'][:60]}")
    return header, model


def _written_foreign(model: Any, writer: "Writer") -> tuple[dict[str, bytes], list[str]]:
    """Return the members that skops makes of foreign objects, and the full names of their types."""
    if not writer.foreign:  # most models: skops, which imports much, is not needed
        return {}, []
    import skops.io

    from fuselearn.persistence.foreign_tree import foreign_names, read_schema, unimportable_name, write_schema

    try:
        with zipfile.ZipFile(io.BytesIO(skops.io.dumps(writer.foreign))) as archive:
            members = write_schema({name: archive.read(name) for name in archive.namelist()})
    except Exception as error:
        place, value = _culprit(model, ())
        raise ValueError(
            f"The {type(model).__name__} was not saved: {'.'.join(place) or 'it'} holds {value!r:.100}, of "
            f"{type(value).__module__}.{type(value).__qualname__}, which cannot be saved ({str(error)[:200]}). "
            "Use plain lists, dicts with text or numbers as keys, arrays and estimators instead."
        ) from error
    schema = read_schema(members)
    if (culprit := unimportable_name(schema, writer.places)) is not None:
        raise ValueError(
            f"The {type(model).__name__} was not saved: it holds {culprit}. A lambda, or what is defined in a "
            "script or inside a function, cannot be found again when the model is loaded. Use column names, numbers, "
            "slices or sklearn.compose.make_column_selector for views, and functions of an installed module elsewhere."
        )
    return {f"{FOREIGN}{name}": content for name, content in members.items()}, foreign_names(schema)


def _built_foreign(members: dict[str, bytes], header: Json, trust: "Trust") -> list[Any]:
    """Build the foreign objects, once all their types are known to be trusted, and check them."""
    import skops.io
    from sklearn.exceptions import InconsistentVersionWarning

    from fuselearn.persistence.foreign_checks import check_objects
    from fuselearn.persistence.foreign_tree import audit, foreign_names, read_schema
    from fuselearn.persistence.model_types import names_to_trust

    schema = read_schema(members)
    if schema.get("__loader__") != "ListNode":
        raise ValueError("its foreign objects are not a list")
    if names_to_trust(foreign_names(schema)) != header["foreign"]:
        raise ValueError("its header names other foreign types than it holds")
    # Written anew, so that skops reads exactly what was checked here.
    plain = pack_plainly(members | {SCHEMA: json.dumps(schema).encode()})
    allowed = audit(schema, members, lambda: skops.io.get_untrusted_types(data=plain), trust)
    with warnings.catch_warnings():
        # We say so once, in words of our own, for the whole file.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        objects: list[Any] = skops.io.loads(plain, trusted=allowed)
    check_objects(objects)
    return objects


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
