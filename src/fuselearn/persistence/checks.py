"""Arrays, trees and votes of a model from a file, whose numbers must not lead outside of them.

Compiled code walks trees and adds up votes without checking bounds: a node, column or class of too high a number would
read or write foreign memory, and a circle would never end. A checksum shows that a file is whole, not who wrote it. So
these numbers are checked before the model predicts anything, here for saved models and run logs alike. What skops
builds by calling scikit-learn's compiled types is checked in the tree of the file, before it is built.
"""

import io
import json
import math
import warnings
import zipfile
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.lib import format as npy

from fuselearn.persistence.container import Json
from fuselearn.persistence.schema import id_of
from fuselearn.typing import AnyArray, BoolArray, IntArray

ENSEMBLE = {"estimators_", "winning_views_", "view_columns_", "preprocessors_", "class_prior_"}
"""Attributes of an ensemble that predicts by votes."""
TREE_KINDS = {
    "feature": "i",
    "cut_bin": "i",
    "threshold": "f",
    "missing_left": "b",
    "left": "i",
    "right": "i",
    "code": "i",
}
"""Arrays of a tree, and the kind of their numbers."""
MAX_EDGES = 254
"""Edges between the bins of a column, which are numbered by a byte with one left for missing values."""
SKLEARN_TREE = "sklearn.tree._tree.Tree"
HISTOGRAM_TREE = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
SKLEARN_TREES = (SKLEARN_TREE, HISTOGRAM_TREE)
UNCHECKED_BY_THEIR_ENSEMBLE = ("sklearn.ensemble._forest", "sklearn.ensemble._gb")
"""Ensembles that count the columns once, and then hand the rows to trees that do not."""
MAX_EMPTY_ITEMS = 10_000_000
"""Items of an array whose items take no bytes."""


def check_model(model: Any) -> None:
    """Refuse a model that was built from a file and holds trees, classes or columns out of range."""
    parts = list(_parts(model))
    # Every tree comes before any ensemble, since to know the width of a view its preprocessing is run.
    for check in (_check_own_trees, _check_votes):
        for part in parts:
            try:
                check(part)
            except (KeyError, TypeError, AttributeError, IndexError) as error:
                raise ValueError(
                    f"it has a {type(part).__name__} that is not whole ({type(error).__name__}: {error})"
                ) from None


def check_hypothesis(hypothesis: Any, n_columns: int, n_classes: int) -> None:
    """Refuse a hypothesis of ours that reads columns its view lacks, or votes for classes that do not exist."""
    name, public_id = type(hypothesis).__name__, id_of(type(hypothesis))
    if public_id not in HYPOTHESES:
        raise ValueError(f"it has a {name} for a hypothesis")
    if hypothesis.plan.n_columns != n_columns:
        raise ValueError(f"it has a {name} of {hypothesis.plan.n_columns} columns on a view of {n_columns}")
    check_plan(hypothesis.plan, n_columns)
    HYPOTHESES[public_id](hypothesis, n_columns, n_classes)


def check_plan(plan: Any, n_columns: int) -> None:
    """Refuse a plan that is not one of ours, or not for a view of so many columns."""
    public_id = id_of(type(plan))
    if public_id not in PLANS or plan.n_columns != n_columns:
        raise ValueError(f"it has a {type(plan).__name__} for the plan of a view of {n_columns} columns")
    PLANS[public_id](plan, n_columns)


def check_children(inner: BoolArray, left: IntArray, right: IntArray, feature: IntArray, n_columns: int) -> None:
    """Refuse a tree unless the children of its inner nodes come after them and exist, so that every way down ends."""
    if inner.ndim != 1 or not len(inner):
        raise ValueError("it has a tree without nodes")
    numbers = np.arange(len(inner))
    for child in (left, right):
        child = child.astype(np.int64)
        if np.any(inner & ((child <= numbers) | (child >= len(inner)))):
            raise ValueError("it has a tree whose nodes lead out of it, or in a circle")
    feature = feature.astype(np.int64)
    if np.any(inner & ((feature < 0) | (feature >= n_columns))):
        raise ValueError(f"it has a tree that reads columns beyond the {n_columns} it was fitted on")


def width_after(transformer: Any, n_columns: int) -> int:
    """Return the number of columns of a view as its hypotheses get it, after its preprocessing."""
    if transformer is None:
        return n_columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return int(np.shape(transformer.transform(np.ones((1, n_columns))))[1])
        except Exception:  # a row of ones need not be one that it takes
            pass
        try:
            return len(transformer.get_feature_names_out())
        except Exception:
            raise ValueError(
                f"it has a {type(transformer).__name__} for preprocessing that does not say how many columns it makes"
            ) from None


def _parts(model: Any) -> Iterator[Any]:
    """Yield every object with attributes that a model holds, itself included."""
    waiting, seen = [model], {}
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
            yield part
            waiting.extend(vars(part).values())


def _check_own_trees(part: Any) -> None:
    """Refuse a tree or forest of ours with nodes out of range, wherever the model holds it."""
    public_id = id_of(type(part))
    if public_id == "learners.TreeHypothesis":
        _check_tree_nodes(part, part.plan.n_columns)
    elif public_id == "numeric.Forest":
        _check_forest(part)


def _check_votes(part: Any) -> None:
    """Refuse an ensemble that votes for classes, or reads columns, that do not exist."""
    attributes = getattr(part, "__dict__", {})
    n_columns = attributes.get("n_features_in_")
    if "view_columns_" in attributes and type(n_columns) is int:
        for columns in map(np.asarray, attributes["view_columns_"]):
            if columns.ndim != 1 or columns.dtype.kind != "i" or np.any((columns < 0) | (columns >= n_columns)):
                raise ValueError(f"it has a view with columns beyond the {n_columns} it was fitted on")
    if attributes.keys() >= ENSEMBLE:
        _check_ensemble(attributes)


def _check_ensemble(attributes: dict[str, Any]) -> None:
    """Refuse an ensemble whose rounds, views and classes do not fit together."""
    n_classes = len(attributes["classes_"])
    if np.shape(attributes["class_prior_"]) != (n_classes,):
        raise ValueError("it has an ensemble whose number of classes is not that of its class names")
    hypotheses, views = list(attributes["estimators_"]), np.asarray(attributes["winning_views_"])
    if views.shape != (len(hypotheses),) or np.shape(attributes["estimator_weights_"]) != views.shape:
        raise ValueError("it has an ensemble whose number of rounds is not that of its hypotheses")
    view_columns = attributes["view_columns_"]
    widths: dict[int, int] = {}
    for hypothesis, view in zip(hypotheses, views.tolist()):
        # What is not ours was trusted by the caller.
        if hypothesis is None or not type(hypothesis).__module__.startswith("fuselearn."):
            continue
        if type(view) is not int or not 0 <= view < len(view_columns):
            raise ValueError(f"it has a hypothesis of the view {view!r:.20}, but only {len(view_columns)} views")
        if view not in widths:
            widths[view] = width_after(attributes["preprocessors_"][view], len(view_columns[view]))
        check_hypothesis(hypothesis, widths[view], n_classes)


def _check_tree_nodes(tree: Any, n_columns: int) -> None:
    """Refuse a tree hypothesis whose arrays differ in length or kind, or whose nodes are out of range."""
    arrays = {name: getattr(tree, name) for name in TREE_KINDS}
    if any(array.dtype.kind != TREE_KINDS[name] for name, array in arrays.items()):
        raise ValueError("it has a tree whose nodes are of another kind of numbers")
    if len({array.shape for array in arrays.values()}) > 1:
        raise ValueError("it has a tree of arrays that differ in length")
    check_children(arrays["feature"] >= 0, arrays["left"], arrays["right"], arrays["feature"], n_columns)


def _check_forest(forest: Any) -> None:
    """Refuse a forest whose arrays differ in length, or whose nodes are out of range."""
    if type(forest.n_columns) is not int:
        raise ValueError("it has a forest that does not say how many columns it reads")
    roots, feature, threshold, left, values = (
        getattr(forest, name) for name in ("roots", "feature", "threshold", "left", "values")
    )
    if any(array.dtype.kind != "i" for array in (roots, feature, left)):
        raise ValueError("it has a forest whose node numbers are not whole numbers")
    if not feature.shape == threshold.shape == left.shape or values.ndim != 2 or len(values) != len(feature):
        raise ValueError("it has a forest of arrays that differ in length")
    left = left.astype(np.int64)
    check_children(feature >= 0, left, left + 1, feature, forest.n_columns)
    if roots.ndim != 1 or np.any((roots < 0) | (roots >= len(feature))):
        raise ValueError("it has a forest whose trees begin outside of it")


def _check_tree(tree: Any, n_columns: int, n_classes: int) -> None:
    """Refuse a tree with nodes, columns or classes out of range."""
    _check_tree_nodes(tree, n_columns)
    _check_codes(tree.code, n_classes)


def _check_scores(scores: Any, n_columns: int, n_classes: int) -> None:
    """Refuse scores of other classes or columns."""
    forms = (scores.squares, scores.slopes, scores.column_constants)
    _check_floats(*forms, scores.constants)
    n_forms = 1 if n_classes == 2 else n_classes
    for form in forms:
        if form.shape != (n_forms, n_columns):
            raise ValueError(f"it has scores of shape {form.shape} for {n_classes} classes and {n_columns} columns")
    if scores.constants.shape != (n_forms,):
        raise ValueError(f"it has scores that are not of {n_classes} classes and {n_columns} columns")


def _check_estimator(hypothesis: Any, n_columns: int, n_classes: int) -> None:
    """Refuse a fitted classifier that stands for other classes."""
    _check_codes(hypothesis.codes, n_classes)


def _check_constant(hypothesis: Any, n_columns: int, n_classes: int) -> None:
    """Refuse a constant that is no class."""
    _check_codes(np.array([hypothesis.code]), n_classes)


def _check_codes(codes: AnyArray, n_classes: int) -> None:
    """Refuse codes that are not of classes."""
    if codes.ndim != 1 or codes.dtype.kind != "i" or np.any((codes < 0) | (codes >= n_classes)):
        raise ValueError(f"it has a hypothesis that votes for other classes than the {n_classes} it was fitted on")


def _check_as_given(plan: Any, n_columns: int) -> None:
    """Accept a plan that prepares nothing."""


def _check_binning(plan: Any, n_columns: int) -> None:
    """Refuse bins of other columns, or more than a byte can number."""
    _check_floats(plan.edges)
    edges, n_edges = plan.edges, plan.n_edges
    if edges.ndim != 2 or n_edges.shape != (n_columns,) or len(edges) != n_columns or n_edges.dtype.kind != "i":
        raise ValueError("it has bins of other columns than those of the view")
    if edges.shape[1] > MAX_EDGES or np.any((n_edges < 0) | (n_edges > edges.shape[1])):
        raise ValueError("it has bins that are out of range")


def _check_standardisation(plan: Any, n_columns: int) -> None:
    """Refuse means and scales of other columns."""
    _check_floats(plan.means, plan.scales, plan.largest_variances)
    if not plan.means.shape == plan.scales.shape == plan.largest_variances.shape == (n_columns,):
        raise ValueError("it has means and scales of other columns than those of the view")


def _check_floats(*arrays: AnyArray) -> None:
    """Refuse arrays that are not of double precision, as every fit makes them."""
    if any(array.dtype != np.float64 for array in arrays):
        raise ValueError("it has numbers that are not of double precision, as those of every fit are")


HYPOTHESES = {
    "learners.ConstantHypothesis": _check_constant,
    "learners.EstimatorHypothesis": _check_estimator,
    "learners.ScoreHypothesis": _check_scores,
    "learners.TreeHypothesis": _check_tree,
}
"""Public id of a hypothesis, and its check."""
PLANS = {
    "learners.AsGiven": _check_as_given,
    "learners.Binning": _check_binning,
    "learners.Standardisation": _check_standardisation,
}
"""Public id of a plan, and its check."""


def check_sklearn_tree(name: str, node: Json, owners: list[Json], members: dict[str, bytes]) -> None:
    """Refuse the node of one of `SKLEARN_TREES` whose numbers are out of range; `owners` are the nodes around it."""
    try:
        n_columns = _columns_of(owners)
        (_check_decision_tree if name == SKLEARN_TREE else _check_histogram_tree)(node, n_columns, members)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"it has a tree that is not whole ({type(error).__name__}: {error})") from None


def check_array(content: bytes) -> None:
    """Refuse bytes that are not one whole array in NumPy's format.

    NumPy would take an archive or a pickle for an array as well, and allocates the size that is declared before it
    finds out whether so much is there.
    """
    if not content.startswith(b"\x93NUMPY"):
        raise ValueError("is not in NumPy's format")
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, _, dtype = read(file)
    except KeyError:
        raise ValueError("is of a version of NumPy's format that fuselearn.save does not use") from None
    except Exception as error:  # NumPy parses it as Python's literals, which fails in many ways
        raise ValueError(f"has a header that cannot be read ({error})") from None
    if dtype.hasobject:
        raise ValueError("holds Python objects, which only a pickle can hold")
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"has the shape {shape}")
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


def _columns_of(owners: list[Json]) -> int:
    """Return the number of columns of the rows that a tree is given."""
    counts = [
        (owner["__module__"], json.loads(owner["content"]["content"]["n_features_in_"]["content"]))
        for owner in owners
        if owner["__loader__"] == "ObjectNode" and "n_features_in_" in (owner.get("content") or {}).get("content", {})
    ]
    n_columns = counts[-1][1]
    binding = {count for module, count in counts if module in UNCHECKED_BY_THEIR_ENSEMBLE} | {n_columns}
    if len(binding) > 1 or type(n_columns) is not int:
        raise ValueError("it has a tree of other columns than the ensemble around it")
    return n_columns


def _check_decision_tree(node: Json, n_columns: int, members: dict[str, bytes]) -> None:
    """Refuse a tree of scikit-learn's forests and boosting."""
    arguments = node["__reduce__"]["args"]["content"]
    if json.loads(arguments[0]["content"]) != n_columns:
        raise ValueError("it has a tree of other columns than the model around it")
    state = node["content"]["content"]
    nodes, values = _array(state["nodes"], members), _array(state["values"], members)
    if json.loads(state["node_count"]["content"]) != len(nodes) or len(values) != len(nodes):
        raise ValueError("it has a tree of another size than its nodes")
    inner = nodes["left_child"] != -1
    check_children(inner, nodes["left_child"], nodes["right_child"], nodes["feature"], n_columns)


def _check_histogram_tree(node: Json, n_columns: int, members: dict[str, bytes]) -> None:
    """Refuse a tree of scikit-learn's histogram boosting."""
    state = node["content"]["content"]
    nodes = _array(state["nodes"], members)
    inner = nodes["is_leaf"] == 0
    check_children(inner, nodes["left"], nodes["right"], nodes["feature_idx"], n_columns)
    categorical = inner & (nodes["is_categorical"] != 0)
    for bitsets in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
        shape = _array(state[bitsets], members).shape
        if categorical.any() and (
            len(shape) != 2 or shape[1] != 8 or nodes["bitset_idx"][categorical].max() >= shape[0]
        ):
            raise ValueError("it has a tree whose categories are out of range")


def _array(node: Json, members: dict[str, bytes]) -> AnyArray:
    """Return the array of a node."""
    if node["__loader__"] != "NdArrayNode" or node.get("type") != "numpy":
        raise ValueError("it has a tree with a value that is not an array")
    array: AnyArray = np.load(io.BytesIO(members[node["file"]]), allow_pickle=False)
    return array
