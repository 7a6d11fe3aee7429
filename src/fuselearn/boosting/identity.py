"""What makes a run the same run: its settings and its data, in words that can be kept and compared."""

import re

import numpy as np

from fuselearn._version import __version__

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def identity_of(model, data, settings, learners, transformers, seed):
    """Dict of name to JSON value; the number of rounds is not in it, since a run may be made longer.

    Parameters
    ----------
    model : estimator
    data : TrainingRows or PartedRows
    settings : RunSettings
    learners : list of list of learner
    transformers : list of transformer or None
    seed : int
    """
    names = data.features.get("feature_names_in_")
    views = {name: columns.tolist() for name, columns in zip(data.names, data.columns)}
    return {
        "fuselearn": __version__,
        "model": type(model).__name__,
        "view_policy": _described(settings.view_policy),
        "learning_rate": settings.learning_rate,
        "resample": settings.resample,
        "error": settings.error,
        "estimator": [[_described(learner) for learner in several] for several in learners],
        "preprocess": [_described(transformer) for transformer in transformers],
        "random_state": None if model.random_state is None else seed,
        "views": views,
        "feature names": None if names is None else [str(name) for name in names],
        "classes": [repr(label) for label in data.classes.tolist()],
        **data.fingerprint(),
    }


def _described(thing):
    """A setting in words that are the same in another process: estimators by class and settings, arrays in full.

    Objects of the user's own are told by class and attributes where their `__repr__` says nothing of them.
    """
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        settings = sorted(thing.get_params(deep=False).items())
        return f"{type(thing).__qualname__}({', '.join(f'{name}={_described(value)}' for name, value in settings)})"
    if isinstance(thing, list | tuple):
        return f"[{', '.join(map(_described, thing))}]"
    if isinstance(thing, np.ndarray):
        return f"array({thing.tolist()!r})"
    if type(thing).__repr__ is object.__repr__:  # which tells the address in memory and nothing else
        settings = sorted(getattr(thing, "__dict__", {}).items())
        return f"{type(thing).__qualname__}({', '.join(f'{name}={_described(value)}' for name, value in settings)})"
    return ADDRESS.sub("", repr(thing))
