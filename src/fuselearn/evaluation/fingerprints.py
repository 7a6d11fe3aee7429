"""When are two settings the same? By what they are, not by how they print: arrays are shortened and functions show an
address when printed."""

from collections.abc import Mapping
from types import FunctionType

from joblib import hash as content_hash


def fingerprint(thing):
    """A short text that is the same for the same settings, also in another process.

    Examples
    --------
    >>> from sklearn.svm import SVC, NuSVC
    >>> fingerprint(SVC(C=2)) == fingerprint(SVC(C=2)), fingerprint(SVC()) == fingerprint(SVC(C=2))
    (True, False)
    """
    return content_hash(_described(thing))


def _described(thing):
    """Estimators by class and settings, functions by their code, everything else as it is."""
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        settings = {name: _described(value) for name, value in sorted(thing.get_params(deep=False).items())}
        return (type(thing).__module__, type(thing).__qualname__, settings)
    if isinstance(thing, FunctionType):
        kept = [cell.cell_contents for cell in thing.__closure__ or ()]
        code = thing.__code__
        constants = [value for value in code.co_consts if not hasattr(value, "co_code")]
        inner = [value.co_code for value in code.co_consts if hasattr(value, "co_code")]
        return ("function", code.co_code, repr(constants), code.co_names, inner, _described([kept, thing.__defaults__]))
    if isinstance(thing, Mapping):
        return {str(name): _described(value) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_described(value) for value in thing]
    return thing
