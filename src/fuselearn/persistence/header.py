"""What a file says of itself: which model, of which views and classes, made by which versions."""

import json
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from warnings import warn

from fuselearn._version import __version__
from fuselearn.exceptions import SavedByOtherVersionWarning

FORMAT = 1
"""Of the files that are written. A file of a higher one is refused."""
KEYS = {
    "checksum",
    "classes",
    "created",
    "feature_names",
    "format",
    "fuselearn_version",
    "model",
    "n_features",
    "note",
    "versions",
    "views",
}
PACKAGES = ("scikit-learn", "numpy", "scipy", "skops")


def header_for(model, note):
    """Header of a model's file.

    Parameters
    ----------
    model : estimator
    note : dict or None
        What the caller wants to keep.

    Returns
    -------
    dict
        All of it can be written as JSON.
    """
    if note is not None and not isinstance(note, dict):
        raise TypeError(f"note must be a dict or None; got {note!r}.")
    try:
        note = json.loads(json.dumps(note, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"note must hold only what JSON can: dicts, lists, text, numbers. {error}.") from None
    inner = _within(model)
    names = getattr(inner, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    count = getattr(inner, "n_features_in_", None)
    return {
        "format": FORMAT,
        "fuselearn_version": __version__,
        "versions": {package: _installed(package) for package in PACKAGES},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": type(model).__name__,
        "n_features": None if count is None else int(count),
        "feature_names": names,
        "views": _views(inner, names),
        "classes": _classes(model),
        "note": note,
    }


def check_header(header):
    """Refuse a file of a format or a version that is newer than this one."""
    told = header.get("format")
    if type(told) is not int or told < 1:
        raise ValueError(f"its header has the format {told!r}; {FORMAT} would be right")
    written_by = header.get("fuselearn_version")
    if type(written_by) is not str or type(header.get("model")) is not str:
        raise ValueError("its header does not say which model it is, and which version wrote it")
    if told > FORMAT or _numbers(written_by) > _numbers(__version__):
        raise ValueError(
            f"it was written by fuselearn {written_by[:40]} (format {told}), which is newer than this one, "
            f"{__version__} (format {FORMAT}); install fuselearn>={written_by[:40]}"
        )
    if unknown := sorted(header.keys() - KEYS):
        raise ValueError(f"its header has the key {unknown[0]!r:.40}, which fuselearn.save never writes")


def warn_of_other_versions(path, header, stacklevel):
    """Warn where the file was written with another minor version of scikit-learn."""
    versions = header.get("versions")
    told = versions.get("scikit-learn") if isinstance(versions, dict) else None
    here = _installed("scikit-learn")
    if not isinstance(told, str) or _numbers(told)[:2] != _numbers(here)[:2]:
        warn(
            f"{path} was saved with scikit-learn {str(told)[:40]}, and this is {here}: parts of the model that are "
            "scikit-learn's may not work, or predict otherwise. Fit it anew, or install that version.",
            SavedByOtherVersionWarning,
            stacklevel=stacklevel + 1,
        )


def _within(model):
    """The estimator that knows the views: inside a search, or at the end of a pipeline."""
    while not hasattr(model, "view_names_"):
        steps = getattr(model, "steps", None)
        inner = getattr(model, "best_estimator_", steps[-1][1] if steps else None)
        if inner is None:
            break
        model = inner
    return model


def _views(model, names):
    views = getattr(model, "view_names_", None)
    columns = getattr(model, "view_columns_", None)
    if views is None or columns is None:
        return None
    return {
        str(view): [int(column) if names is None else names[column] for column in some]
        for view, some in zip(views, columns)
    }


def _classes(model):
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    if not hasattr(classes, "tolist"):  # one array per label
        return [_plain(getattr(some, "tolist", lambda some=some: some)()) for some in classes]
    return _plain(classes.tolist())


def _plain(value):
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text):
    """Major, minor and patch number of a version."""
    numbers = [int(number[:9]) for number in re.findall(r"\d+", str(text).partition("+")[0][:40])[:3]]
    return tuple(numbers + [0] * (3 - len(numbers)))
