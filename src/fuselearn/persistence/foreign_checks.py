"""Arrays and fitted estimators of other packages, whose numbers must not lead outside of them.

That a caller trusts scikit-learn's SVC does not mean that the file is sound: libsvm, trees and boosting read memory by
the sizes and numbers that a model holds, and check few of them. Bytes of arrays are checked before they are read; what
was built is checked before anything is called on it, where we know how: trees, forests, gradient boosting, support
vector machines, sparse matrices.
"""

import inspect
import io
import json
import math
import zipfile
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.lib import format as npy

from fuselearn.persistence.container import Json
from fuselearn.persistence.model_types import MAX_EMPTY_ITEMS, TREE, check_compressed, id_of
from fuselearn.persistence.validation import DAMAGED, check_children, check_names, described_error, validate_object
from fuselearn.typing import AnyArray

BAGGING = ("sklearn.ensemble._bagging.", "sklearn.ensemble._iforest.")
"""Ensembles that give each member columns of its own."""
SEARCH_TREES = ("sklearn.neighbors._kd_tree.", "sklearn.neighbors._ball_tree.")
HISTOGRAM_TREE = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"


def check_objects(objects: list[Any]) -> None:
    """Refuse objects that were built from a file, if anything in them is out of range."""
    parts = list(_parts(objects))
    # What is inside comes after what holds it.
    for part in reversed(parts):
        try:
            if id_of(type(part)) is not None:
                if not isinstance(part, tuple):
                    check_names(type(part), vars(part).keys())
                validate_object(part)
            _check_hides_nothing(part)
            _check_part(part)
        except DAMAGED as error:
            raise ValueError(f"it has a {type(part).__name__} that is not whole ({described_error(error)})") from None


def _check_hides_nothing(part: Any) -> None:
    """Refuse an object of scikit-learn with an attribute that stands for one of its methods."""
    if not type(part).__module__.startswith("sklearn."):
        return
    for name in getattr(part, "__dict__", {}):
        if hasattr(type(inspect.getattr_static(type(part), name, None)), "__get__"):
            raise ValueError(f"it has a {type(part).__name__} whose method {name!r:.60} is replaced")


def check_array(content: bytes, kind: str = "ndarray") -> None:
    """Refuse bytes that are not one whole array in NumPy's format, of one value if its type is that of a number.

    NumPy would take an archive or a pickle for an array as well, and allocates the size that is declared before it
    finds out whether so much is there.
    """
    if not content.startswith(b"\x93NUMPY"):
        raise ValueError("is not an array")
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        shape, _, dtype = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version](file)
    except KeyError:
        raise ValueError("is of a version of NumPy's format that fuselearn.save does not use") from None
    except Exception as error:  # NumPy parses it as Python's literals, which fails in many ways
        raise ValueError(f"has a header that cannot be read ({error})") from None
    if dtype.hasobject:
        raise ValueError("holds Python objects, which only a pickle can hold")
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"has the shape {shape}")
    # A type that is not that of the values would cast them, after they were checked.
    if kind != "ndarray" and (shape != () or dtype.type.__name__ != kind):
        raise ValueError(f"holds {dtype} of shape {shape}, and not one {kind[:40]}")
    items, available = math.prod(shape), len(content) - file.tell()
    if items * dtype.itemsize != available or (not dtype.itemsize and items > MAX_EMPTY_ITEMS):
        raise ValueError(f"declares {items * dtype.itemsize:,} bytes and has {available:,}")


def check_sparse(content: bytes, allowance: int) -> None:
    """Refuse bytes that are not a sparse matrix as SciPy saves it, or that unpack to more than so many bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > allowance:
                raise ValueError("unpacks to far more than a model of its size")
            arrays = {info.filename: archive.read(info) for info in infos}
    except (ValueError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"is not a sparse matrix ({error})") from None
    for array in arrays.values():
        check_array(array)
    try:
        loaded = {name.removesuffix(".npy"): np.load(io.BytesIO(array)) for name, array in arrays.items()}
        kind, shape = loaded["format"].item().decode(), loaded["shape"].tolist()
        if kind not in ("csr", "csc"):
            raise ValueError(f"is a sparse matrix of the format {kind!r:.20}; csr and csc can be loaded")
        n_lines, n_in_line = shape if kind == "csr" else shape[::-1]
        check_compressed(loaded["data"], loaded["indices"], loaded["indptr"], n_lines, n_in_line)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"is not a sparse matrix ({error})") from None


def check_tree_arguments(node: Json, members: dict[str, bytes]) -> None:
    """Refuse the arguments with which a tree of scikit-learn is made, if it would read beyond them."""
    try:
        n_columns, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
        counts = np.load(io.BytesIO(members[n_classes["file"]]), allow_pickle=False)
        numbers = [json.loads(argument["content"]) for argument in (n_columns, n_outputs)]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"it has a tree that is not whole ({type(error).__name__})") from None
    if any(type(number) is not int or number < 1 for number in numbers) or counts.dtype.kind != "i":
        raise ValueError("it has a tree whose numbers of columns and outputs are none")
    if counts.shape != (numbers[1],) or counts.min() < 1:
        raise ValueError("it has a tree with another number of outputs than it has classes for")


def _parts(objects: Any) -> Iterator[Any]:
    """Yield every object that others hold, themselves included, each once."""
    waiting, seen = [objects], {}
    while waiting:
        part = waiting.pop()
        if isinstance(part, type | FunctionType | ModuleType | str | bytes | int | float | None) or id(part) in seen:
            continue
        seen[id(part)] = part  # kept, so that no other gets its number
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            waiting.extend(part.ravel().tolist() if part.dtype == object else ())
        if hasattr(part, "__dict__"):
            waiting.extend(vars(part).values())
        yield part


def _check_part(part: Any) -> None:
    """Refuse an object of scikit-learn or SciPy whose numbers are out of range."""
    kind = type(part)
    name = f"{kind.__module__}.{kind.__qualname__}"
    attributes = getattr(part, "__dict__", {})
    if "tree_" in attributes and name.startswith("sklearn.tree."):
        _check_decision_tree(attributes)
    elif name.startswith("sklearn.ensemble._gb."):
        _check_gradient_boosting(attributes)
    elif name.startswith("sklearn.ensemble._hist_gradient_boosting.gradient_boosting."):
        _check_histogram_boosting(attributes)
    elif name.startswith("sklearn.ensemble.") and "estimators_" in attributes:
        _check_columns_of_members(attributes, bagging=name.startswith(BAGGING))
    elif name.startswith("sklearn.svm._classes.") and "_n_support" in attributes:
        _check_libsvm(name, attributes)
    elif name.startswith("sklearn.neighbors._") and "_fit_X" in attributes and "_y" in attributes:
        _check_neighbours(attributes)
    elif name.startswith(SEARCH_TREES) and hasattr(kind, "get_arrays"):
        _check_search_tree(part)
    elif name.startswith("scipy.sparse."):
        lines, in_line = part.shape if part.format == "csr" else part.shape[::-1]
        check_compressed(part.data, part.indices, part.indptr, lines, in_line)


def _check_decision_tree(attributes: dict[str, Any]) -> None:
    """Refuse a decision tree with nodes or columns out of range."""
    tree = attributes["tree_"]
    if f"{type(tree).__module__}.{type(tree).__qualname__}" != TREE:
        raise ValueError(f"it has a {type(tree).__name__} for a tree")
    if not 1 <= tree.node_count <= tree.capacity:
        raise ValueError("it has a tree of another size than its nodes")
    if tree.n_features != attributes["n_features_in_"]:
        raise ValueError("it has a tree of other columns than the model around it")
    left = np.asarray(tree.children_left)
    check_children(left != -1, left, np.asarray(tree.children_right), np.asarray(tree.feature), tree.n_features)


def _check_columns_of_members(attributes: dict[str, Any], *, bagging: bool = False) -> None:
    """Refuse an ensemble that hands its rows to trees of other columns, which do not count them."""
    features = attributes.get("estimators_features_") if bagging else None
    members = attributes["estimators_"]
    # NumPy would take an estimator with a length, such as a pipeline, for a list, and ask for its items.
    for number, member in enumerate(members.ravel().tolist() if type(members) is np.ndarray else members):
        if "tree_" not in getattr(member, "__dict__", {}):
            continue
        n_columns = attributes["n_features_in_"] if features is None else len(features[number])
        if vars(member)["n_features_in_"] != n_columns:
            raise ValueError("it has a tree of other columns than the ensemble around it")


def _check_gradient_boosting(attributes: dict[str, Any]) -> None:
    """Refuse gradient boosting with another number of trees a stage than it has outputs."""
    if "estimators_" not in attributes:
        return
    _check_columns_of_members(attributes)
    n_classes = len(attributes.get("classes_", ()))
    n_outputs = n_classes if n_classes > 2 else 1
    trees = attributes["estimators_"]
    if type(trees) is not np.ndarray or trees.ndim != 2 or trees.shape[1] != n_outputs:
        raise ValueError(f"it has gradient boosting with other than {n_outputs} trees in a stage")
    if any("tree_" not in getattr(tree, "__dict__", {}) for tree in trees.ravel().tolist()):
        raise ValueError("it has gradient boosting of something else than trees")
    if attributes.get("n_trees_per_iteration_", n_outputs) != n_outputs:
        raise ValueError("it has gradient boosting with another number of outputs than of classes")
    if not _begins_with(attributes["init_"], vars(attributes["_loss"]), attributes["_loss"], n_outputs):
        raise ValueError("it has gradient boosting that begins with a model of other outputs, or with an unknown one")


def _begins_with(initial: Any, of_loss: dict[str, Any], loss: Any, n_outputs: int) -> bool:
    """Return whether gradient boosting begins with a matrix of so many columns: trees are added to it unchecked."""
    if "is_multiclass" in of_loss:
        return False
    if n_outputs > 1 and type(loss).__name__ != "HalfMultinomialLoss":
        return False
    if initial is None or type(initial) is str:
        return initial == "zero"
    if type(initial).__name__ not in ("DummyClassifier", "DummyRegressor"):
        # One number a row is made of any other; of several classes, we do not know how many there would be.
        return n_outputs == 1
    told = vars(initial)
    if told["n_outputs_"] != 1 or n_outputs == 1:
        return bool(told["n_outputs_"] == 1)
    return told["_strategy"] == "prior" and told["n_classes_"] == n_outputs == len(told["class_prior_"])


def _check_histogram_boosting(attributes: dict[str, Any]) -> None:
    """Refuse histogram boosting with trees, categories or outputs out of range."""
    if "_predictors" not in attributes:
        return
    n_columns = attributes["n_features_in_"]
    categorical = vars(attributes["_bin_mapper"])["is_categorical_"]
    if "_in_fit" in attributes or not _keeps_columns(attributes["_preprocessor"], n_columns):
        raise ValueError("it has histogram boosting that reads other columns than it was fitted on")
    for stage in attributes["_predictors"]:
        if len(stage) != attributes["n_trees_per_iteration_"]:
            raise ValueError("it has histogram boosting with another number of trees in a stage than of outputs")
        for tree in stage:
            if f"{type(tree).__module__}.{type(tree).__qualname__}" != HISTOGRAM_TREE:
                raise ValueError(f"it has a {type(tree).__name__} for a tree")
            if _check_histogram_tree(vars(tree), n_columns) and not (
                type(categorical) is np.ndarray and categorical.shape == (n_columns,) and categorical.any()
            ):
                raise ValueError("it has a tree of categories, where histogram boosting knows none")


def _keeps_columns(transformer: Any, n_columns: int) -> bool:
    """Return whether what histogram boosting does first, to encode categories, makes as many columns as it gets."""
    if transformer is None:
        return True
    if type(transformer).__name__ != "ColumnTransformer":
        return False
    encoded, numbers, *rest = vars(transformer)["transformers_"]  # an empty rest is not listed by scikit-learn 1.6
    masks = [np.asarray(part[2], dtype=bool) for part in (encoded, numbers, *rest)]
    return (
        all(mask.shape == (n_columns,) for mask in masks)
        and not np.any(np.sum(masks, axis=0) != 1)
        and not np.any(masks[2:])
        and type(encoded[1]).__name__ == "OrdinalEncoder"
        and type(numbers[1]).__name__ == "FunctionTransformer"
    )


def _check_histogram_tree(attributes: dict[str, Any], n_columns: int) -> bool:
    """Refuse a tree of scikit-learn's histogram boosting; return whether it cuts by categories."""
    nodes: AnyArray = attributes["nodes"]
    inner = nodes["is_leaf"] == 0
    check_children(inner, nodes["left"], nodes["right"], nodes["feature_idx"], n_columns)
    categorical = inner & (nodes["is_categorical"] != 0)
    for bitsets in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
        shape = attributes[bitsets].shape
        if categorical.any() and (
            len(shape) != 2 or shape[1] != 8 or nodes["bitset_idx"][categorical].max() >= shape[0]
        ):
            raise ValueError("it has a tree whose categories are out of range")
    return bool(categorical.any())


def _check_libsvm(name: str, attributes: dict[str, Any]) -> None:
    """Refuse a support vector machine of libsvm whose sizes do not agree, since libsvm does not look."""
    if hidden := sorted({"_impl", "_sparse_kernels"} & attributes.keys()):
        raise ValueError(f"it has a support vector machine with the attribute {hidden[0]}, which no fit sets")
    classifies = name.endswith("SVC")
    n_classes = len(attributes["classes_"]) if classifies else 2
    n_pairs = n_classes * (n_classes - 1) // 2
    vectors, coefficients = attributes["support_vectors_"], attributes.get("_dual_coef_", attributes["dual_coef_"])
    n_support = attributes["_n_support"]
    n_vectors = len(attributes["support_"])
    by_kernel = attributes["kernel"] == "precomputed" or callable(attributes["kernel"])
    shapes = {
        "the coefficients": (coefficients.shape, (n_classes - 1 if classifies else 1, n_vectors)),
        "dual_coef_": (attributes["dual_coef_"].shape, coefficients.shape),
        # Of a matrix of kernels, rows are known by their numbers, and there are no vectors.
        "the vectors": (vectors.shape, vectors.shape if by_kernel else (n_vectors, attributes["n_features_in_"])),
        "the intercepts": (attributes["_intercept_"].shape, (n_pairs,)),
        "the numbers of support vectors": (n_support.shape, (n_classes,)),
    }
    for what, (shape, wanted) in shapes.items():
        if shape != wanted:
            raise ValueError(f"it has a support vector machine whose {what.removeprefix('the ')} do not fit: {shape}")
    if n_classes < 2:
        raise ValueError("it has a support vector machine of less than two classes")
    _check_rows_of_machine(attributes, coefficients)
    if n_support.min() < 0 or int(n_support[: n_classes if classifies else 1].sum()) > n_vectors:
        raise ValueError("it has a support vector machine that counts more support vectors than it has")
    if classifies and int(n_support.sum()) != n_vectors:
        raise ValueError("it has a support vector machine that counts other support vectors than it has")
    for probabilities in ("_probA", "_probB"):
        if np.shape(attributes.get(probabilities, ())) not in ((0,), (n_pairs,)):
            raise ValueError("it has a support vector machine whose probabilities do not fit its classes")
    if np.shape(attributes.get("_probA", ())) != np.shape(attributes.get("_probB", ())):
        raise ValueError("it has a support vector machine whose probabilities do not fit its classes")


def _check_rows_of_machine(attributes: dict[str, Any], coefficients: Any) -> None:
    """Refuse a support vector machine that reads kernels of other rows, or more coefficients than it has."""
    kernel, support = attributes["kernel"], attributes["support_"]
    sparse = bool(attributes["_sparse"])
    if sparse and coefficients.data.shape != (math.prod(coefficients.shape),):
        raise ValueError("it has a support vector machine with fewer coefficients than support vectors")
    if kernel == "precomputed" or callable(kernel):
        n_rows = attributes["shape_fit_"][0]
        if isinstance(kernel, np.ufunc):
            raise ValueError("it has a support vector machine whose kernel is a function of NumPy's, which is none")
        if callable(kernel):
            n_rows = min(n_rows, attributes["_BaseLibSVM__Xfit"].shape[0])
        if sparse or (len(support) and not (support.min() >= 0 and support.max() < n_rows)):
            raise ValueError("it has a support vector machine whose support is not among the rows it was fitted on")


def _check_neighbours(attributes: dict[str, Any]) -> None:
    """Refuse neighbours without a class for each of them."""
    if np.shape(attributes["_y"])[0] != attributes["_fit_X"].shape[0]:
        raise ValueError("it has neighbours of other rows than it has classes for")


def _check_search_tree(tree: Any) -> None:
    """Refuse a search tree of neighbours whose nodes, or rows, are outside of it."""
    rows, order, nodes, bounds = map(np.asarray, tree.get_arrays())
    n_rows, n_nodes = len(rows), len(nodes)
    if order.shape != (n_rows,) or not n_rows or order.min() < 0 or order.max() >= n_rows:
        raise ValueError("it has a search tree of other rows than it holds")
    starts, ends = nodes["idx_start"], nodes["idx_end"]
    if not n_nodes or np.any((starts < 0) | (starts > ends) | (ends > n_rows)):
        raise ValueError("it has a search tree whose nodes hold rows out of range")
    if np.any((nodes["is_leaf"] == 0) & (2 * np.arange(n_nodes) + 2 >= n_nodes)):
        raise ValueError("it has a search tree whose nodes lead out of it")
    if bounds.shape[1:] != (n_nodes, rows.shape[1]):
        raise ValueError("it has a search tree of other bounds than nodes")
