"""Models of all kinds, ready to be fitted and saved, and a way to forge their files."""

import json

import numpy as np
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
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    AugmentedKernelClassifier,
    ConcatenatedClassifier,
    FusionClassifier,
    IndependentBoostClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    NSBoostClassifier,
    RSBagClassifier,
    ShareBoostClassifier,
    SuperKernelClassifier,
    TomographicClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from fuselearn.kernels import GramLookup
from fuselearn.multilabel import RbfSVC
from fuselearn.persistence.container import pack, unpack

VIEWS = {"a": [0, 1, 2], "b": slice(3, 6), "c": [6, 7, 8]}
DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(90, 9))
SUMS = X[:, 0] + X[:, 4] + X[:, 8] + 0.3 * DRAWS.normal(size=90)
TWO, THREE = (SUMS > 0).astype(int), np.array(["low", "mid", "high"])[np.digitize(SUMS, [-0.8, 0.8])]
LABELS = np.column_stack([SUMS > 0, X[:, 1] > 0, X[:, 7] > 0.2]).astype(int)
ONE_VIEW_EACH = np.where(np.repeat(np.eye(3, dtype=bool)[np.arange(90) % 3], 3, axis=1), X, np.nan)
NUMBERED = np.column_stack([np.arange(90.0), X[:, :2]])

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
    "super kernel": (SuperKernelClassifier(views=VIEWS), X, TWO),
    "fusion": (FusionClassifier(views=VIEWS, random_state=0), X, TWO),
    "fusion of three classes": (FusionClassifier(views=VIEWS, random_state=0), X, THREE),
    "fusion with gaps": (FusionClassifier(views=VIEWS, consensus=False, random_state=0), ONE_VIEW_EACH, TWO),
    "fusion of classifiers": (
        FusionClassifier(
            views=VIEWS, learners={"nb": GaussianNB(), "svm": SVC(), "forest": RandomForestClassifier(2)}, max_fits=9
        ),
        X,
        THREE,
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


def forge(path, edit):
    """Change a file by a function of its header, tree and members, and make its checksum right again."""
    header, members = unpack(path.read_bytes())
    schema = json.loads(members.pop("schema.json"))
    edit(header, schema, members)
    path.write_bytes(pack(header, {"schema.json": json.dumps(schema).encode(), **members}))
