"""Models of all kinds, ready to be fitted and saved, and a way to forge their files."""

import json
import math
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fuselearn import (
    AugmentedKernelClassifier,
    ConcatenatedClassifier,
    ConcatenatedRegressor,
    FusionClassifier,
    FusionRegressor,
    IndependentBoostClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    NSBoostClassifier,
    RSBagClassifier,
    ShareBoostClassifier,
    ShareGradientBoostingClassifier,
    ShareGradientBoostingRegressor,
    SuperKernelClassifier,
    TableClassifier,
    TomographicClassifier,
    ViewStackingClassifier,
    ViewStackingRegressor,
    ViewVotingClassifier,
    ViewVotingRegressor,
    load,
)
from fuselearn.fusion.base_models import catalogue
from fuselearn.kernels import GramLookup
from fuselearn.multilabel import RbfSVC
from fuselearn.persistence import describe
from fuselearn.persistence.container import ARRAYS, FOREIGN, MODEL, SCHEMA, pack, unpack

VIEWS = {"a": [0, 1, 2], "b": slice(3, 6), "c": [6, 7, 8]}
DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(90, 9))
SUMS = X[:, 0] + X[:, 4] + X[:, 8] + 0.3 * DRAWS.normal(size=90)
TWO, THREE = (SUMS > 0).astype(int), np.array(["low", "mid", "high"])[np.digitize(SUMS, [-0.8, 0.8])]
INTERACTION = (X[:, 0] * X[:, 4] > 0).astype(int)
LABELS = np.column_stack([SUMS > 0, X[:, 1] > 0, X[:, 7] > 0.2]).astype(int)
ONE_VIEW_EACH = np.where(np.repeat(np.eye(3, dtype=bool)[np.arange(90) % 3], 3, axis=1), X, np.nan)
NUMBERED = np.column_stack([np.arange(90.0), X[:, :2]])
SMALL_TREES = {"n_estimators": 4, "max_leaf_nodes": 5, "min_samples_leaf": 5, "random_state": 0}

SHARED = {
    learner: (ShareBoostClassifier(learner, views=VIEWS, n_estimators=4, random_state=0), X, y)
    for learner, y in (("gaussian_nb", THREE), ("stump", TWO), ("tree", THREE), ("linear", TWO))
}
POLICIES = {
    policy: (ShareBoostClassifier(views=VIEWS, n_estimators=6, view_policy=policy, random_state=0), X, TWO)
    for policy in ("exp3p", "uniform", "round_robin")
}
MODELS = {
    **SHARED,
    **POLICIES,
    "resampled": (
        ShareBoostClassifier(SVC(), views=VIEWS, n_estimators=3, resample=True, error="out_of_bag", random_state=0),
        X,
        TWO,
    ),
    "learner per view": (
        ShareBoostClassifier(
            {"a": ["stump", LogisticRegression()], "b": DecisionTreeClassifier(max_depth=2), "c": "tree"},
            views=VIEWS,
            n_estimators=6,
            preprocess={"a": PCA(2), "b": StandardScaler()},
        ),
        X,
        THREE,
    ),
    "gaps": (ShareBoostClassifier("tree", views=VIEWS, n_estimators=4), ONE_VIEW_EACH, TWO),
    "independent": (IndependentBoostClassifier("stump", views=VIEWS, n_estimators=4), X, TWO),
    "gradients": (
        ShareGradientBoostingClassifier(views=VIEWS, categorical_features=[8], **SMALL_TREES),
        X,
        THREE,
    ),
    "gradients per view": (
        ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", view_policy="exp3p", **SMALL_TREES),
        ONE_VIEW_EACH,
        TWO,
    ),
    "gradients of numbers": (
        ShareGradientBoostingRegressor(views=VIEWS, monotonic_cst=[1] + [0] * 8, early_stopping=True, **SMALL_TREES),
        X,
        SUMS,
    ),
    "mss": (MSSBoostClassifier(n_estimators=4, data_ratio=0.5, feature_ratio=0.5, random_state=0), X, LABELS),
    "ns": (NSBoostClassifier(n_estimators=4, data_ratio=0.5, feature_ratio=0.5, random_state=0), X, LABELS),
    "bag": (
        RSBagClassifier(DecisionTreeClassifier(), n_estimators=4, data_ratio=0.5, feature_ratio=0.5, random_state=0),
        X,
        LABELS,
    ),
    "rbf": (RbfSVC(), X, TWO),
    "tomographic": (TomographicClassifier(views=VIEWS, random_state=0), ONE_VIEW_EACH, TWO),
    "augmented": (AugmentedKernelClassifier(views=VIEWS), ONE_VIEW_EACH, TWO),
    "kernel dict": (
        MKLClassifier(views=VIEWS, kernel={"a": "rbf", "b": laplacian_kernel, "c": "poly"}, weights="mkl"),
        X,
        THREE,
    ),
    "gram": (
        MKLClassifier(views={"g": [0], "a": [1, 2]}, kernel={"g": GramLookup(X @ X.T), "a": "rbf"}),
        NUMBERED,
        TWO,
    ),
    "voting": (ViewVotingClassifier(SVC(), views=VIEWS), X, THREE),
    "stacking": (ViewStackingClassifier(LogisticRegression(), views=VIEWS), X, TWO),
    "concatenated": (ConcatenatedClassifier(AdaBoostClassifier(n_estimators=3), views=VIEWS), X, TWO),
    "voting of numbers": (ViewVotingRegressor(DecisionTreeRegressor(max_depth=2), views=VIEWS), X, SUMS),
    "stacking of numbers": (ViewStackingRegressor(Ridge(), views=VIEWS, random_state=0), X, SUMS),
    "concatenated numbers": (ConcatenatedRegressor(Ridge(), views=VIEWS), X, SUMS),
    "super kernel": (SuperKernelClassifier(views=VIEWS), X, TWO),
    "fusion": (FusionClassifier(views=VIEWS, random_state=0), X, TWO),
    "fusion of three classes": (FusionClassifier(views=VIEWS, random_state=0), X, THREE),
    "fusion of many rows": (FusionClassifier(views=VIEWS, random_state=0), X, INTERACTION),
    "fusion of many rows with gaps": (
        FusionClassifier(views=VIEWS, learners=["linear", "boosting", "trees"], random_state=0),
        ONE_VIEW_EACH,
        THREE,
    ),
    "fusion with gaps": (FusionClassifier(views=VIEWS, consensus=False, random_state=0), ONE_VIEW_EACH, TWO),
    "fusion of classifiers": (
        FusionClassifier(
            views=VIEWS, learners={"nb": GaussianNB(), "svm": SVC(), "forest": RandomForestClassifier(2)}, max_fits=9
        ),
        X,
        THREE,
    ),
    "fusion of numbers": (FusionRegressor(views=VIEWS, random_state=0), ONE_VIEW_EACH, SUMS),
    "fusion of numbers of many rows": (
        FusionRegressor(views=VIEWS, learners=["linear", "boosting", DecisionTreeRegressor(max_depth=2)]),
        X,
        SUMS,
    ),
    "consensus": (LabelConsensus(GaussianNB(), views=VIEWS, random_state=0), X, TWO),
    "pipeline": (make_pipeline(StandardScaler(), ShareBoostClassifier(views=VIEWS, n_estimators=3)), X, TWO),
    "search": (
        GridSearchCV(
            ShareBoostClassifier(views=VIEWS), {"n_estimators": [2, 3]}, scoring="accuracy", cv=StratifiedKFold(2)
        ),
        X,
        TWO,
    ),
}
CLASSIFIERS = [
    BaggingClassifier(n_estimators=3, max_features=0.5),
    ExtraTreesClassifier(5),
    GaussianProcessClassifier(RBF(2.0)),
    GradientBoostingClassifier(n_estimators=3),
    HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
    MLPClassifier((4,), max_iter=2000, tol=0.01, n_iter_no_change=3, random_state=0),
    RandomForestClassifier(5),
    SGDClassifier(random_state=np.random.RandomState(3)),
    SVC(class_weight={0: 1.0, 1: 2.0}),
    make_pipeline(FunctionTransformer(np.arcsinh), LogisticRegression()),
]

TABLE = pd.DataFrame(
    {
        "age": np.where(np.arange(90) % 7, X[:, 0], np.nan),
        "dose": X[:, 4],
        "ward": np.where(np.arange(90) % 5, np.array(["north", "south", "east"])[np.arange(90) % 3], None),
        "words": np.array([f"word{number % 40}" for number in range(90)]),
    }
)
TABLE_MODEL = TableClassifier(
    FusionClassifier(random_state=0), views={"person": ["age", "ward"], "drug": ["dose", "words"]}
)


def fitted(name):
    """Return a fitted model of `MODELS`, and its rows, which may be called many."""
    model, rows, y = MODELS[name]
    with patch.object(catalogue, "MANY_ROWS", 50 if "many rows" in name else catalogue.MANY_ROWS):
        return clone(model).fit(rows, y), rows


def load_trusted(path):
    """Load a file of whose foreign types its own header is believed."""
    return load(path, trusted=describe(path)["foreign"])


class SavedFile:
    """The parts of a saved model's file, for editing.

    Attributes
    ----------
    header, tree : dict
        Header, and tree of the model.
    arrays : bytearray
        Bytes of all arrays.
    schema : dict or None
        Tree of the foreign objects, where there are any.
    members : dict of str to bytes
        Other members of the foreign objects, by name.
    """

    def __init__(self, content):
        self.header, members = unpack(content)
        self.tree = json.loads(members.pop(MODEL))
        self.arrays = bytearray(members.pop(ARRAYS))
        self.members = {name.removeprefix(FOREIGN): member for name, member in members.items()}
        self.schema = json.loads(self.members.pop(SCHEMA)) if SCHEMA in self.members else None

    @property
    def content(self):
        """The file, with a checksum that is right."""
        foreign = dict(self.members)
        if self.schema is not None:
            foreign[SCHEMA] = _text(self.schema)
        members = {f"{FOREIGN}{name}": member for name, member in foreign.items()}
        return pack(self.header, {MODEL: _text(self.tree), ARRAYS: bytes(self.arrays), **members})

    def array(self, node):
        """Return a copy of the array of a node of the model's tree."""
        offset, dtype, shape, order = node["array"]
        size = math.prod(shape)
        if not size:
            return np.zeros(shape, dtype)
        return np.frombuffer(bytes(self.arrays), dtype, size, offset).reshape(shape, order=order).copy()

    def put(self, node, array):
        """Write another array for a node."""
        array = np.ascontiguousarray(array)
        node["array"] = [len(self.arrays), array.dtype.str, list(array.shape), "C"]
        self.arrays.extend(array.tobytes())


def _text(tree):
    return tree if isinstance(tree, bytes) else json.dumps(tree).encode()


def forge(path, edit):
    """Change a file by a function of its parts, and make its checksum right again."""
    file = SavedFile(path.read_bytes())
    edit(file)
    path.write_bytes(file.content)


def states(tree, public_id):
    """Yield the attributes of every object of one of our types, as they are written in a model's tree."""
    for node in dicts_in(tree):
        if node.get("object") == public_id:
            yield node["state"]


def foreign_states(schema, name):
    """Yield the attributes of every object of a class, as skops writes them."""
    for node in dicts_in(schema):
        if node.get("__class__") == name and isinstance(node.get("content"), dict):
            yield node["content"]["content"]


def dicts_in(value):
    """Yield every dict in a tree, outer ones first."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from dicts_in(item)
