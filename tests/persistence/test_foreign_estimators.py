"""Fitted estimators of scikit-learn: whole ones pass the checks of a load, and those with one wrong part do not."""

from copy import copy, deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree

from fuselearn.persistence.foreign_checks import _check_histogram_tree, _parts, check_objects

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
X[:, 2] = rng.integers(0, 4, 60)
SUMS = X[:, 0] + (X[:, 2] % 2)
TWO, THREE = (SUMS > 0.5).astype(int), np.digitize(SUMS, [0, 1])
FOUR = np.digitize(SUMS, [0, 0.5, 1])
SMALL = {"n_estimators": 3, "max_depth": 2, "random_state": 0}
CUTS = {"max_iter": 2, "min_samples_leaf": 5}

WHOLE = {
    "tree": DecisionTreeClassifier(max_depth=2).fit(X, TWO),
    "one leaf": DecisionTreeClassifier().fit(X, np.zeros(60)),
    "tree of numbers": DecisionTreeRegressor(max_depth=2).fit(X, SUMS),
    "forest": RandomForestClassifier(**SMALL).fit(X, THREE),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, max_features=2).fit(X, TWO),
    "isolation": IsolationForest(n_estimators=3, max_features=2, random_state=0).fit(X),
    "ada": AdaBoostClassifier(n_estimators=2).fit(X, TWO),
    "boosting": GradientBoostingClassifier(**SMALL).fit(X, TWO),
    "boosting three": GradientBoostingClassifier(**SMALL).fit(X, THREE),
    "boosting from zero": GradientBoostingClassifier(init="zero", **SMALL).fit(X, THREE),
    "boosting from another": GradientBoostingClassifier(init=LogisticRegression(), **SMALL).fit(X, TWO),
    "boosting numbers": GradientBoostingRegressor(**SMALL).fit(X, SUMS),
    "histograms": HistGradientBoostingClassifier(**CUTS).fit(X, TWO),
    "histograms three": HistGradientBoostingClassifier(**CUTS, categorical_features=[2]).fit(X, THREE),
    "svc": SVC().fit(X, TWO),
    "svc three": SVC().fit(X, THREE),
    "svc four": SVC().fit(X, FOUR),
    "svc of a sparse matrix": SVC().fit(sparse.csr_matrix(X), THREE),
    "svc of kernels": SVC(kernel="precomputed").fit(X @ X.T, TWO),
    "svc of a function": SVC(kernel=linear_kernel).fit(X, TWO),
    "svr": SVR().fit(X, SUMS),
    "svr of nothing": SVR(epsilon=100).fit(X, SUMS),
    "svr of kernels of nothing": SVR(kernel="precomputed", epsilon=100).fit(X @ X.T, SUMS),
    "one class": OneClassSVM().fit(X),
    "neighbours": KNeighborsClassifier(algorithm="kd_tree").fit(X, TWO),
    "neighbours in balls": KNeighborsClassifier(algorithm="ball_tree").fit(X, TWO),
    "neighbours of none": NearestNeighbors(algorithm="brute").fit(X),
    "rows": sparse.csr_matrix(np.eye(2, 4)),
    "columns": sparse.csc_array(np.eye(2, 4)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_fitted_estimator_passes(name):
    check_objects([WHOLE[name]])


@pytest.mark.parametrize("name", [name for name in WHOLE if hasattr(WHOLE[name], "fit")])
def test_one_that_is_not_fitted_passes(name):
    check_objects([type(WHOLE[name])(**WHOLE[name].get_params(deep=False))])


# Where parts are found


class Holder:
    """An object of no package that is known."""

    def __init__(self, part):
        self.part = part

    def get_arrays(self):
        raise AssertionError("a method of it was called")


def objects_array(part):
    array = np.empty((1, 2), dtype=object)
    array[0, 1] = part
    return array


BROKEN = copy(WHOLE["neighbours of none"])
BROKEN._y = np.zeros(3)


@pytest.mark.parametrize(
    "held",
    [
        lambda part: part,
        lambda part: {"a": part},
        lambda part: [1, part],
        lambda part: (part, 1),
        lambda part: {part},
        lambda part: frozenset([part]),
        objects_array,
        Holder,
        lambda part: Holder([{"a": (objects_array(part),)}]),
    ],
    ids=["itself", "dict", "list", "tuple", "set", "frozenset", "array", "object", "deep"],
)
def test_a_part_is_found_wherever_it_is_held(held):
    with pytest.raises(ValueError, match="neighbours of other rows than it has classes for"):
        check_objects([held(BROKEN)])


def test_parts_are_looked_at_once_and_circles_end():
    part, row = Holder(1), np.ones(3)
    assert sum(found is part for found in _parts([part, part, {"a": part}])) == 1
    assert sum(found is row for found in _parts([row, Holder(row)])) == 1
    part.part = [part]
    check_objects([part])


@pytest.mark.parametrize("name", ["predict", "get_params", "fit"])
def test_a_method_is_not_replaced(name):
    machine = copy(WHOLE["svc"])
    setattr(machine, name, np.positive)
    with pytest.raises(ValueError, match=f"a SVC whose method '{name}' is replaced"):
        check_objects([machine])
    other = Holder(1)
    other.get_arrays = np.positive  # what the caller trusts by name
    check_objects([other])


# One wrong part


def parts(**changes):
    """Return an edit that sets attributes: to a value, or to what a function makes of the attribute."""

    def edit(estimator):
        for name, change in changes.items():
            setattr(estimator, name, change(getattr(estimator, name, None)) if callable(change) else change)

    return edit


def put(place, number):
    """Return what an array is with a number at a place."""

    def changed(array):
        array = array.copy()
        array[place] = number
        return array

    return changed


def inside(name, edit):
    """Return an edit of what an attribute holds."""

    def outer(estimator):
        part = getattr(estimator, name)
        edit(part)

    return outer


def member(place, **changes):
    """Return an edit of one of the estimators of an ensemble."""
    return lambda ensemble: parts(**changes)(ensemble.estimators_[place])


def another_tree(estimator):
    estimator.tree_ = Tree(3, np.array([2]), 1)


def without_the_first(coefficients):
    coefficients = coefficients.copy()
    coefficients.data[0] = 0
    coefficients.eliminate_zeros()
    return coefficients


SIZE, COLUMNS, AROUND = "another size than its nodes", "other columns than the model", "other columns than the ensemble"
STAGE, ELSE, OUTPUTS = "in a stage", "something else than trees", "another number of outputs than of classes"
BEGINS, FIT = "begins with a model of other outputs, or with an unknown one", "do not fit"
COUNTS_MORE, COUNTS_OTHER = "counts more support vectors", "counts other support vectors"
PROBABILITIES, SUPPORT = "probabilities do not fit its classes", "support is not among the rows"

WRONG = [
    ("tree", parts(tree_=LogisticRegression()), "it has a LogisticRegression for a tree"),
    ("tree", another_tree, SIZE),
    ("tree", parts(n_features_in_=2), COLUMNS),
    ("tree", lambda tree: delattr(tree, "n_features_in_"), r"that is not whole \(KeyError: 'n_features_in_'\)"),
    ("forest", parts(n_features_in_=4), AROUND),
    ("forest", parts(estimators_=lambda trees: [LogisticRegression(), WHOLE["bagging"].estimators_[0]]), AROUND),
    ("forest", parts(estimators_features_=[np.arange(2)] * 3, n_features_in_=2), AROUND),
    ("bagging", parts(estimators_features_=lambda features: [*features[:2], np.arange(3)]), AROUND),
    ("isolation", parts(estimators_features_=lambda features: [*features[:2], np.arange(3)]), AROUND),
    ("boosting", parts(estimators_=lambda trees: np.tile(trees, 50)), "other than 1 trees in a stage"),
    ("boosting", parts(estimators_=lambda trees: trees.ravel()), STAGE),
    ("boosting", parts(estimators_=lambda trees: trees[:, :, None]), STAGE),
    ("boosting", parts(estimators_=lambda trees: trees.tolist()), STAGE),
    ("boosting three", parts(estimators_=lambda trees: trees[:, :2]), "other than 3 trees in a stage"),
    ("boosting numbers", parts(estimators_=lambda trees: trees[:, [0, 0]]), STAGE),
    ("boosting", parts(estimators_=put((1, 0), WHOLE["svr"])), ELSE),
    ("boosting", parts(n_trees_per_iteration_=2), OUTPUTS),
    ("boosting", parts(estimators_=put((1, 0), DecisionTreeRegressor(max_depth=2).fit(X[:, :2], SUMS))), AROUND),
    ("boosting", inside("_loss", parts(is_multiclass=True)), BEGINS),
    ("boosting three", parts(_loss=lambda _: WHOLE["boosting"]._loss), BEGINS),
    ("boosting", parts(init_=None), BEGINS),
    ("boosting", parts(init_="one"), BEGINS),
    ("boosting three", parts(init_="one"), BEGINS),
    ("boosting three", parts(init_=WHOLE["svc three"]), BEGINS),
    ("boosting", inside("init_", parts(n_outputs_=2)), BEGINS),
    ("boosting numbers", inside("init_", parts(n_outputs_=2)), BEGINS),
    ("boosting three", inside("init_", parts(n_outputs_=2)), BEGINS),
    ("boosting three", inside("init_", parts(n_outputs_=0)), BEGINS),
    ("boosting three", inside("init_", parts(_strategy="stratified")), BEGINS),
    ("boosting three", inside("init_", parts(n_classes_=2)), BEGINS),
    ("boosting three", inside("init_", parts(class_prior_=np.ones(2))), BEGINS),
    ("boosting three", parts(init_=DummyClassifier(strategy="prior").fit(X, TWO)), BEGINS),
    ("histograms", parts(_in_fit=True), "reads other columns than it was fitted on"),
    ("histograms", parts(_preprocessor=LogisticRegression()), "reads other columns than it was fitted on"),
    ("histograms", parts(n_trees_per_iteration_=2), "another number of trees in a stage than of outputs"),
    ("histograms", parts(_predictors=lambda stages: [*stages, stages[0] * 2]), "another number of trees in a stage"),
    ("histograms", parts(_predictors=lambda stages: [stages[0], [3]]), "it has a int for a tree"),
    ("svc", parts(_impl="nu_svc"), "with the attribute _impl, which no fit sets"),
    ("svc", parts(_sparse_kernels=[]), "with the attribute _sparse_kernels, which no fit sets"),
    ("svc", parts(_dual_coef_=lambda a: a[:, 1:]), "coefficients do not fit"),
    ("svc three", parts(_dual_coef_=lambda a: a[:1], dual_coef_=lambda a: a[:1]), "coefficients do not fit"),
    ("svc", parts(dual_coef_=lambda a: a[:, 1:]), "dual_coef_ do not fit"),
    ("svc", parts(support_vectors_=lambda a: a[:, :2]), "vectors do not fit"),
    ("svc", parts(support_vectors_=lambda a: a[1:]), "vectors do not fit"),
    ("svc three", parts(_intercept_=lambda a: a[:2]), "intercepts do not fit"),
    ("svr", parts(_intercept_=lambda a: a[:0]), "intercepts do not fit"),
    ("svc three", parts(_n_support=lambda a: a[:2]), "numbers of support vectors do not fit"),
    ("svr", parts(dual_coef_=lambda a: a[[0, 0]], _dual_coef_=lambda a: a[[0, 0]]), "coefficients do not fit"),
    (
        "svc",
        parts(
            classes_=np.array([0]),
            _dual_coef_=lambda a: a[:0],
            dual_coef_=lambda a: a[:0],
            _intercept_=lambda a: a[:0],
            _n_support=lambda a: a[:1],
        ),
        "of less than two classes",
    ),
    ("svc", parts(_n_support=lambda a: np.array([-1, a.sum() + 1])), COUNTS_MORE),
    ("svc", parts(_n_support=lambda a: a + 1), COUNTS_MORE),
    ("svr", parts(_n_support=lambda a: a + 1), COUNTS_MORE),
    ("svr", parts(_n_support=put(1, -1)), COUNTS_MORE),
    ("svc", parts(_n_support=lambda a: a - 1), COUNTS_OTHER),
    ("svc", parts(_probA=np.ones(2), _probB=np.ones(2)), PROBABILITIES),
    ("svc three", parts(_probA=np.ones(1), _probB=np.ones(1)), PROBABILITIES),
    ("svc", parts(_probA=np.ones(1), _probB=np.ones(0)), PROBABILITIES),
    ("svc", parts(_probA=np.ones(0), _probB=np.ones(1)), PROBABILITIES),
    ("svc of a sparse matrix", parts(_dual_coef_=without_the_first), "fewer coefficients than"),
    ("svc of kernels", parts(support_=put(0, -1)), SUPPORT),
    ("svc of kernels", parts(support_=put(0, 60)), SUPPORT),
    ("svc of kernels", parts(_sparse=True, _dual_coef_=lambda a: sparse.csr_matrix(a)), SUPPORT),
    ("svc of a function", parts(support_=put(0, 60)), SUPPORT),
    ("svc of a function", parts(_BaseLibSVM__Xfit=lambda rows: rows[:9]), SUPPORT),
    ("svc of a function", parts(shape_fit_=(9, 3)), SUPPORT),
    ("svc of a function", lambda machine: vars(machine).update(kernel=np.multiply), "a function of NumPy's"),
    ("neighbours", parts(_y=lambda y: y[1:]), "neighbours of other rows than it has classes for"),
    ("rows", parts(indices=put(1, 4)), "a sparse matrix with values outside of it"),
    ("columns", parts(indices=put(1, 2)), "a sparse matrix with values outside of it"),
]


@pytest.mark.parametrize(
    ("name", "edit", "words"), WRONG, ids=[f"{number} {name}" for number, (name, *_) in enumerate(WRONG)]
)
def test_an_estimator_with_a_wrong_part_is_refused(name, edit, words):
    wrong = deepcopy(WHOLE[name])
    edit(wrong)
    with pytest.raises(ValueError, match=words):
        check_objects([wrong])


def test_the_first_row_may_support():
    machine = deepcopy(WHOLE["svc of kernels"])
    machine.support_[:2] = 0, 59
    check_objects([machine])


# Histograms


def test_columns_that_change_their_places_are_refused():
    """Every column is read once, but not by the steps that make as many columns as they get."""
    damaged = deepcopy(WHOLE["histograms three"])
    encoded, numbers = damaged._preprocessor.transformers_[:2]
    for masks in ([[2], [1], [0]], [[], [0, 1], [2]]):
        masks = [np.isin(np.arange(3), columns) for columns in masks]
        damaged._preprocessor.transformers_ = [
            (*encoded[:2], masks[0]),
            (*numbers[:2], masks[1]),
            ("remainder", "drop", masks[2]),
        ]
        with pytest.raises(ValueError, match="reads other columns than it was fitted on"):
            check_objects([damaged])


@pytest.mark.parametrize("place", [0, 1])
def test_only_an_encoder_and_a_function_keep_the_columns(place):
    damaged = deepcopy(WHOLE["histograms three"])
    steps = [list(step) for step in damaged._preprocessor.transformers_]
    steps[place][1] = LogisticRegression()
    damaged._preprocessor.transformers_ = [tuple(step) for step in steps]
    with pytest.raises(ValueError, match="reads other columns than it was fitted on"):
        check_objects([damaged])


NODE = np.dtype(
    [(name, np.int32) for name in ("left", "right", "feature_idx", "is_leaf", "is_categorical", "bitset_idx")]
)
FIELDS = {"left": [1, 3, 0, 0, 0], "right": [2, 4, 0, 0, 0], "is_leaf": [0, 0, 1, 1, 1]}


def histogram_tree(shape=(2, 8), **fields):
    """Return a tree of two splits, both of categories, and two sets of bits."""
    nodes = np.zeros(5, NODE)
    for name, values in {**FIELDS, "is_categorical": [1, 1, 0, 0, 0], "bitset_idx": [1, 0, 0, 0, 0], **fields}.items():
        nodes[name] = values
    return {"nodes": nodes, "raw_left_cat_bitsets": np.zeros(shape), "binned_left_cat_bitsets": np.zeros((2, 8))}


def test_a_tree_says_whether_it_cuts_by_categories():
    assert _check_histogram_tree(histogram_tree(), 1) is True
    assert _check_histogram_tree(histogram_tree(is_categorical=[0, 1, 0, 0, 0]), 1) is True
    assert _check_histogram_tree(histogram_tree(is_categorical=0, bitset_idx=9), 1) is False
    # What a leaf says of categories is not read.
    assert _check_histogram_tree(histogram_tree(is_categorical=[0, 0, 1, 1, 1], bitset_idx=9), 1) is False


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (2, 7)},
        {"shape": (2, 9)},
        {"shape": (2,)},
        {"shape": (2, 8, 1)},
        {"shape": (1, 8)},
        {"shape": (0, 8)},
        {"bitset_idx": [2, 0, 0, 0, 0]},
        {"bitset_idx": [0, 2, 0, 0, 0]},
        {"bitset_idx": [0, 8, 0, 0, 0]},
        {"is_categorical": [0, 1, 0, 0, 0], "bitset_idx": [0, 2, 0, 0, 0]},
    ],
)
def test_categories_out_of_range_are_refused(changes):
    with pytest.raises(ValueError, match="it has a tree whose categories are out of range"):
        _check_histogram_tree(histogram_tree(**changes), 1)
    tree = histogram_tree(**changes)
    tree["raw_left_cat_bitsets"], tree["binned_left_cat_bitsets"] = np.zeros((2, 8)), tree["raw_left_cat_bitsets"]
    with pytest.raises(ValueError, match="it has a tree whose categories are out of range"):
        _check_histogram_tree(tree, 1)
