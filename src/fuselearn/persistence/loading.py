"""Read a fitted model from a file."""

import json
import warnings

from fuselearn.persistence.container import SCHEMA, header_of, pack_plainly, parse_schema, read_bytes, unpack
from fuselearn.persistence.header import check_header, warn_of_other_versions
from fuselearn.persistence.schema import check_shape

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
    from fuselearn.persistence.votes import check_votes

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
