"""Types that a saved model may hold beside fuselearn's own, which `public_ids` lists.

- Arrays, sparse matrices and NumPy's random generators are plain: what a file says of them is checked before compiled
  code reads it. NumPy takes a position within the state of a generator as it is given, and reads there.
- Types of other packages are built only if the caller trusts them by name (`Trust`). Along with any type of
  scikit-learn comes what its estimators are made of (`PARTS`), since only they can make use of it.
"""

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import sklearn

from fuselearn.typing import AnyArray

MAX_EMPTY_ITEMS = 10_000_000
"""Items of an array whose items take no bytes."""
DTYPE = re.compile(
    r"\|b1|[<|][iu][1248]|<f[248]|<c(?:8|16)|<U\d{1,9}|\|S\d{1,9}|<[mM]8(?:\[(?:\d{1,9})?[a-zA-Z]{1,2}\])?"
)
"""Types of the values of an array, all of them plain."""
LAST_CHARACTER = 0x10FFFF
SPARSE = ("csr_matrix", "csr_array", "csc_matrix", "csc_array")
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
POSITIONS = {"pos": 624, "buffer_pos": 4}
"""Names of positions in a state, and the largest of each."""
TREE = "sklearn.tree._tree.Tree"
PARTS = {
    TREE,
    "sklearn._loss._loss",
    "sklearn._loss.link",
    "sklearn._loss.loss",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.dummy.DummyClassifier",
    "sklearn.dummy.DummyRegressor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.linear_model._base.LinearModel",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._sgd_fast",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.preprocessing._encoders.OrdinalEncoder",
    "sklearn.preprocessing._label.LabelBinarizer",
    "sklearn.preprocessing._label.LabelEncoder",
    "sklearn.svm._classes.LinearSVC",
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.DecisionTreeRegressor",
    "sklearn.tree._classes.ExtraTreeClassifier",
    "sklearn.tree._classes.ExtraTreeRegressor",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
}
"""Types, or modules of types, that hold data only, and that estimators of scikit-learn make when they are fitted."""


def check_compressed(data: Any, indices: Any, indptr: Any, n_lines: int, n_in_line: int) -> None:
    """Refuse a compressed sparse matrix whose numbers lead outside of it."""
    arrays = (data, indices, indptr)
    if any(type(array) is not np.ndarray or array.ndim != 1 for array in arrays):
        raise ValueError("it has a sparse matrix that is not made of arrays")
    if data.dtype.kind not in "biuf" or indices.dtype.kind != "i" or indptr.dtype != indices.dtype:
        raise ValueError("it has a sparse matrix of other numbers than every fit makes")
    if len(indptr) != n_lines + 1 or indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("it has a sparse matrix whose rows do not follow each other")
    if len(data) != len(indices) or indptr[-1] != len(data):
        raise ValueError("it has a sparse matrix of another size than its values")
    if len(indices) and (indices.min() < 0 or indices.max() >= n_in_line):
        raise ValueError("it has a sparse matrix with values outside of it")


def checked_list(written: Any, length: int | None = None) -> list[Any]:
    """Return a list of JSON, of a length where one is given; refuse anything else."""
    if type(written) is not list or len(written) != (len(written) if length is None else length):
        raise ValueError("its tree has a node that is not made as fuselearn.save makes it")
    return written


def dtype_named(name: Any) -> np.dtype[Any]:
    """Return a type of plain values by its name."""
    if type(name) is str and DTYPE.fullmatch(name):
        with suppress(TypeError):  # of an unknown unit of time, or of very long texts
            return np.dtype(name)
    raise ValueError(f"its tree has an array of {name!r:.40}, which is not one of plain numbers or text")


def size_of(shape: Any) -> int:
    """Return the number of items of an array of a shape."""
    if any(type(length) is not int or not 0 <= length < 2**62 for length in checked_list(shape)) or len(shape) > 8:
        raise ValueError("its tree has an array of a shape that is none")
    return math.prod(shape)


def native(array: AnyArray) -> AnyArray:
    """Return a copy in the byte order of this machine, of values that their type can have."""
    if array.dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
        raise ValueError("its tree has truth values that are neither true nor false")
    if array.dtype.kind == "U" and np.any(array.view("<u4") > LAST_CHARACTER):
        raise ValueError("its tree has text of unknown characters")
    return array.astype(array.dtype.newbyteorder("="))


def is_selector_setting(setting: Any) -> bool:
    """Return whether a setting of a column selector is None, text or a list of text."""
    if type(setting) is list:
        return all(type(item) is str for item in setting)
    return setting is None or type(setting) is str


def generator_state(value: Any) -> dict[str, Any] | None:
    """Return the state of a `RandomState` or `Generator` as plain values; None for anything else."""
    if type(value) is np.random.RandomState:
        return dict(value.get_state(legacy=False))
    if type(value) is np.random.Generator and type(value.bit_generator).__name__ in BIT_GENERATORS:
        return dict(value.bit_generator.state)
    return None


def generator_from(kind: Any, state: Any) -> np.random.RandomState | np.random.Generator:
    """Return a generator in a state that was read from a file."""
    if kind not in ("RandomState", "Generator") or type(state) is not dict:
        raise ValueError("its tree has a random generator of an unknown kind")
    name = state.get("bit_generator")
    if name not in BIT_GENERATORS or (kind == "RandomState" and name != "MT19937"):
        raise ValueError("its tree has a random generator of an unknown kind")
    _check_state(state, depth=0)
    try:
        if kind == "RandomState":
            legacy = np.random.RandomState(0)
            legacy.set_state(state)
            return legacy
        bits = getattr(np.random, name)(0)
        bits.state = state
        return np.random.Generator(bits)
    except (TypeError, LookupError, OverflowError) as error:
        raise ValueError(f"its tree has a random generator without a state ({error})") from None


def _check_state(state: dict[str, Any], depth: int) -> None:
    """Refuse a state whose numbers, arrays or positions are not those of a generator."""
    for name, value in state.items():
        if type(value) is dict and depth == 0:
            _check_state(value, depth + 1)
        elif name in POSITIONS and not (type(value) is int and 0 <= value <= POSITIONS[name]):
            raise ValueError("its tree has a random generator at a position outside of its state")
        elif type(value) is np.ndarray and not (value.ndim == 1 and value.dtype.kind == "u" and len(value) <= 624):
            raise ValueError("its tree has a random generator whose state is not whole")
        elif type(value) not in (int, float, str, np.ndarray, bool):
            raise ValueError("its tree has a random generator whose state is not made of numbers")


class Trust:
    """The types that a caller trusts.

    Parameters
    ----------
    trusted : list of type or of str, or bool
        Types or their full names, ``"sklearn.svm.SVC"`` as well as ``"sklearn.svm._classes.SVC"``; True for all.
    """

    def __init__(self, trusted: Any) -> None:
        self.everything = trusted is True
        if trusted is True or trusted is False:
            trusted = ()
        if isinstance(trusted, str | type) or callable(trusted):
            trusted = [trusted]
        try:
            self.names = {
                item if isinstance(item, str) else f"{item.__module__}.{item.__qualname__}" for item in list(trusted)
            }
        except (TypeError, AttributeError):
            raise TypeError(
                "trusted must be True, or a list of types or of their full names, like ['sklearn.svm.SVC']; got "
                f"{trusted!r:.200}."
            ) from None
        self._parts = any(name.startswith("sklearn.") for name in self.names)

    def accepts(self, name: str) -> bool:
        """Return whether a type may be built."""
        if self.everything or name in self.names or public_name(name) in self.names:
            return True
        return self._parts and (name in PARTS or name.rpartition(".")[0] in PARTS)


def public_name(name: str) -> str:
    """Return the name under which scikit-learn exports a type; other names as they are."""
    module, _, kind = name.rpartition(".")
    if module.partition(".")[0] != "sklearn" or "._" not in module:
        return name
    package = module.partition("._")[0]
    # The name may be from a file that nobody trusts: of all modules, only these are imported for it.
    if package.removeprefix("sklearn.") not in sklearn.__all__:
        return name
    exported = vars(import_module(package)).get(kind)
    return f"{package}.{kind}" if getattr(exported, "__module__", None) == module else name


def names_to_trust(names: Iterable[str]) -> list[str]:
    """Return the names that a caller has to give, so that all of these types may be built.

    Private types come along with the public ones of scikit-learn, and are left out.
    """
    wanted = {public_name(name) for name in names}
    if any(name.startswith("sklearn.") and "._" not in name for name in wanted):
        wanted -= {name for name in wanted if "._" in name and (name in PARTS or name.rpartition(".")[0] in PARTS)}
    return sorted(wanted)
