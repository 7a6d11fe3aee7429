"""Trees whose node numbers lead nowhere else than into the tree.

Compiled code walks them without looking at bounds. A file that says otherwise could make a prediction read foreign
memory or never end, so a tree is built only after its numbers were looked at.
"""

import io
import json

import numpy as np

SKLEARN_TREE = "sklearn.tree._tree.Tree"
HISTOGRAM_TREE = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
OUR_TREE = "fuselearn.learners.growing.TreeHypothesis"
OUR_FOREST = "fuselearn.numeric.randomised_trees.Forest"
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
