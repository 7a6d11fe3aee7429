"""Ensembles whose hypotheses vote for classes that there are, and read columns that there are.

Compiled code adds up the votes without looking at bounds: a class of too high a number would be written to foreign
memory, a column of too high a number read from it. How many of both there are is known to the ensemble only, and a
hypothesis may be in several, so these are looked at once the model is built, before it predicts anything.

Trees whose node numbers lead nowhere else than into the tree.

Compiled code walks them without looking at bounds. A file that says otherwise could make a prediction read foreign
memory or never end, so a tree is built only after its numbers were looked at.

Arrays in an archive: as large as they say, and of numbers or text.
"""

import io
import json
import math
import warnings
import zipfile
from types import FunctionType, ModuleType

import numpy as np
from numpy.lib import format as npy

ENSEMBLE = {"estimators_", "winning_views_", "view_columns_", "preprocessors_", "class_prior_"}
"""Attributes of an ensemble that predicts by votes."""


def check_votes(model):
    """Refuse a model that holds an ensemble with classes or columns out of range.

    Parameters
    ----------
    model : estimator
        Built from a file, and not used yet.
    """
    for part in _parts(model):
        kept = getattr(part, "__dict__", {})
        try:
            if "view_columns_" in kept and type(kept.get("n_features_in_")) is int:
                _check_columns(kept["view_columns_"], kept["n_features_in_"])
            if kept.keys() >= ENSEMBLE:
                _check_ensemble(kept)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(
                f"it has a {type(part).__name__} that is not whole ({type(error).__name__}: {error})"
            ) from None


def _parts(model):
    """Everything that a model holds, itself included."""
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


def _check_columns(view_columns, n_columns):
    for columns in view_columns:
        columns = np.asarray(columns)
        if columns.ndim != 1 or columns.dtype.kind != "i" or np.any((columns < 0) | (columns >= n_columns)):
            raise ValueError(f"it has a view with columns beyond the {n_columns} it was fitted on")


def _check_ensemble(kept):
    n_classes = len(kept["classes_"])
    if np.shape(kept["class_prior_"]) != (n_classes,):
        raise ValueError("it has an ensemble of another number of classes than it names")
    hypotheses, views = list(kept["estimators_"]), np.asarray(kept["winning_views_"])
    if views.shape != (len(hypotheses),) or np.shape(kept["estimator_weights_"]) != views.shape:
        raise ValueError("it has an ensemble of other rounds than hypotheses")
    widths = {}
    for hypothesis, view in zip(hypotheses, views.tolist()):
        # What is not ours was trusted by the caller.
        if hypothesis is None or not type(hypothesis).__module__.startswith("fuselearn."):
            continue
        if type(view) is not int or not 0 <= view < len(kept["view_columns_"]):
            raise ValueError(f"it has a hypothesis of the view {view!r:.20}, which it has not")
        if view not in widths:
            widths[view] = width_after(kept["preprocessors_"][view], len(kept["view_columns_"][view]))
        check_hypothesis(hypothesis, widths[view], n_classes)


def check_hypothesis(hypothesis, n_columns, n_classes):
    """Refuse a hypothesis that reads other columns than its view has, or votes for other classes than there are."""
    name = type(hypothesis).__name__
    if name not in CHECKS:
        raise ValueError(f"it has a {name} for a hypothesis")
    if hypothesis.plan.n_columns != n_columns:
        raise ValueError(f"it has a {name} of {hypothesis.plan.n_columns} columns on a view of {n_columns}")
    CHECKS[name](hypothesis, n_columns, n_classes)


def width_after(transformer, n_columns):
    """Columns of a view as its hypotheses get it."""
    if transformer is None:
        return n_columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.shape(transformer.transform(np.ones((1, n_columns))))[1]
        except Exception:  # a row of ones need not be one that it takes
            pass
        try:
            return len(transformer.get_feature_names_out())
        except Exception:
            raise ValueError(
                f"it has a {type(transformer).__name__} for preprocessing that does not say how many columns it makes"
            ) from None


def _check_tree(tree, n_columns, n_classes):
    _check_codes(tree.code, n_classes)
    if np.any(tree.feature >= n_columns):
        raise ValueError(f"it has a tree that looks at columns beyond the {n_columns} of its view")
    edges, n_edges = tree.plan.edges, tree.plan.n_edges
    if edges.shape[:1] != n_edges.shape or edges.ndim != 2 or np.any((n_edges < 0) | (n_edges > edges.shape[1])):
        raise ValueError("it has a tree whose bins are out of range")


def _check_scores(scores, n_columns, n_classes):
    n_forms = 1 if n_classes == 2 else n_classes
    for form in (scores.squares, scores.slopes, scores.column_constants):
        if form.shape != (n_forms, n_columns):
            raise ValueError(f"it has scores of shape {form.shape} for {n_classes} classes and {n_columns} columns")
    plan = scores.plan
    if scores.constants.shape != (n_forms,) or not plan.scales.shape == plan.means.shape == (n_columns,):
        raise ValueError(f"it has scores that are not of {n_classes} classes and {n_columns} columns")


def _check_estimator(hypothesis, n_columns, n_classes):
    _check_codes(hypothesis.codes, n_classes)


def _check_constant(hypothesis, n_columns, n_classes):
    _check_codes(np.array([hypothesis.code]), n_classes)


def _check_codes(codes, n_classes):
    if codes.ndim != 1 or codes.dtype.kind != "i" or np.any((codes < 0) | (codes >= n_classes)):
        raise ValueError(f"it has a hypothesis that votes for other classes than the {n_classes} there are")


CHECKS = {
    "TreeHypothesis": _check_tree,
    "ScoreHypothesis": _check_scores,
    "EstimatorHypothesis": _check_estimator,
    "ConstantHypothesis": _check_constant,
}


SKLEARN_TREE = "sklearn.tree._tree.Tree"
HISTOGRAM_TREE = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
OUR_TREE = "fuselearn.learners.tree_growth.TreeHypothesis"
OUR_FOREST = "fuselearn.numeric.forest.Forest"
TREES = (SKLEARN_TREE, HISTOGRAM_TREE, OUR_TREE, OUR_FOREST)
UNCHECKED_BY_THEIR_ENSEMBLE = ("sklearn.ensemble._forest", "sklearn.ensemble._gb")
"""Ensembles that count the columns once, and then hand the rows to trees that do not."""


def check_tree(name, node, owners, members):
    """Refuse a tree whose numbers are out of range.

    Parameters
    ----------
    name : str
        Full name of its type, one of `TREES`.
    node : dict
        The node of the tree.
    owners : list of dict
        The nodes around it, outermost first.
    members : dict of name to bytes
        Of which the arrays are what they say.
    """
    try:
        if name == OUR_TREE:
            _check_ours(node, members)
        elif name == OUR_FOREST:
            _check_forest(node, members)
        else:
            n_columns = _columns_of(owners)
            (_check_sklearn if name == SKLEARN_TREE else _check_histogram)(node, n_columns, members)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"has a tree that is not whole ({type(error).__name__}: {error})") from None


def _check_sklearn(node, n_columns, members):
    arguments = node["__reduce__"]["args"]["content"]
    if json.loads(arguments[0]["content"]) != n_columns:
        raise ValueError("has a tree of other columns than the model around it")
    parts = node["content"]["content"]
    nodes, values = _array(parts["nodes"], members), _array(parts["values"], members)
    if json.loads(parts["node_count"]["content"]) != len(nodes) or len(values) != len(nodes):
        raise ValueError("has a tree of another size than its nodes")
    inner = nodes["left_child"] != -1
    check_links(inner, nodes["left_child"], nodes["right_child"], nodes["feature"], n_columns)


def _check_histogram(node, n_columns, members):
    parts = node["content"]["content"]
    nodes = _array(parts["nodes"], members)
    inner = nodes["is_leaf"] == 0
    check_links(inner, nodes["left"], nodes["right"], nodes["feature_idx"], n_columns)
    categorical = inner & (nodes["is_categorical"] != 0)
    for bitsets in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
        shape = _array(parts[bitsets], members).shape
        if categorical.any() and (
            len(shape) != 2 or shape[1] != 8 or nodes["bitset_idx"][categorical].max() >= shape[0]
        ):
            raise ValueError("has a tree whose categories are out of range")


def _check_ours(node, members):
    parts = node["content"]["content"]
    names = ("feature", "cut_bin", "threshold", "missing_left", "left", "right", "code")
    arrays = {name: _array(parts[name], members) for name in names}
    if len({array.shape for array in arrays.values()}) > 1:
        raise ValueError("has a tree of arrays that differ in length")
    n_columns = len(_array(parts["plan"]["content"]["content"]["n_edges"], members))
    check_links(arrays["feature"] >= 0, arrays["left"], arrays["right"], arrays["feature"], n_columns)


def _check_forest(node, members):
    parts = node["content"]["content"]
    names = ("roots", "feature", "threshold", "left", "values")
    roots, feature, threshold, left, values = (_array(parts[name], members) for name in names)
    n_columns = json.loads(parts["n_columns"]["content"])
    if type(n_columns) is not int:
        raise ValueError("has a forest that does not say how many columns it reads")
    if any(array.dtype.kind != "i" for array in (roots, feature, left)):
        raise ValueError("has a forest whose node numbers are not whole numbers")
    if not feature.shape == threshold.shape == left.shape or values.ndim != 2 or len(values) != len(feature):
        raise ValueError("has a forest of arrays that differ in length")
    left = left.astype(np.int64)
    check_links(feature >= 0, left, left + 1, feature, n_columns)
    if roots.ndim != 1 or np.any((roots < 0) | (roots >= len(feature))):
        raise ValueError("has a forest whose trees begin outside of it")


def check_links(inner, left, right, feature, n_columns):
    """Children come after their parent and are there; so every way down ends."""
    if inner.ndim != 1 or not len(inner):
        raise ValueError("has a tree without nodes")
    numbers = np.arange(len(inner))
    for child in (left, right):
        child = child.astype(np.int64)
        if np.any(inner & ((child <= numbers) | (child >= len(inner)))):
            raise ValueError("has a tree whose nodes lead out of it, or in a circle")
    feature = feature.astype(np.int64)
    if np.any(inner & ((feature < 0) | (feature >= n_columns))):
        raise ValueError(f"has a tree that looks at columns beyond the {n_columns} it was fitted on")


def _columns_of(owners):
    """Number of columns of the rows that a tree is given."""
    counts = [
        (owner["__module__"], json.loads(owner["content"]["content"]["n_features_in_"]["content"]))
        for owner in owners
        if owner["__loader__"] == "ObjectNode" and "n_features_in_" in (owner.get("content") or {}).get("content", {})
    ]
    binding = {count for module, count in counts if module in UNCHECKED_BY_THEIR_ENSEMBLE} | {counts[-1][1]}
    if len(binding) > 1 or type(counts[-1][1]) is not int:
        raise ValueError("has a tree of other columns than the ensemble around it")
    return counts[-1][1]


def _array(node, members):
    if node["__loader__"] != "NdArrayNode" or node.get("type") != "numpy":
        raise ValueError("has a tree whose parts are not arrays")
    return np.load(io.BytesIO(members[node["file"]]), allow_pickle=False)


MOST_EMPTY_ITEMS = 10_000_000
"""Items of an array whose items take no bytes."""


def check_array(content):
    """Refuse bytes that are not one whole array in NumPy's format.

    NumPy would take an archive or a pickle for an array as well, and makes room for the size that is declared before it
    looks whether so much is there.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    shape : tuple of int
    dtype : dtype
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
    items, there = math.prod(shape), len(content) - file.tell()
    if items * dtype.itemsize != there or (not dtype.itemsize and items > MOST_EMPTY_ITEMS):
        raise ValueError(f"declares {items * dtype.itemsize:,} bytes and has {there:,}")
    return shape, dtype


def check_sparse(content, room):
    """Refuse bytes that are not a sparse matrix as SciPy saves it, or that unpack to more than `room` bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > room:
                raise ValueError("unpacks to far more than a model of its size")
            arrays = {info.filename: archive.read(info) for info in infos}
    except (ValueError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"is not a sparse matrix ({error})") from None
    for array in arrays.values():
        check_array(array)
