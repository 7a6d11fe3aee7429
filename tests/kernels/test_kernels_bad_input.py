"""Every mistake in a kernel, a label or a setting is refused in words that name it."""

import builtins

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from fuselearn import AugmentedKernelClassifier, MKLClassifier, TomographicClassifier, stack_unpaired
from fuselearn.kernels import (
    GramLookup,
    augmented_kernel,
    cartesian_correspondence,
    composite_kernel,
    composite_test_kernel,
    tomographic_correspondence,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 4))
Y = np.arange(20) % 2
VIEWS = {"face": [0, 1], "iris": [2, 3]}
GRAM = X @ X.T
LABELS = [Y, Y]


def changed(table, row, column, value):
    table = np.array(table, dtype=float)
    table[row, column] = value
    return table


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (GRAM[:, :5], r"kernels\[0\] must be a square matrix; got shape \(20, 5\)"),
        (changed(GRAM, 1, 3, 9.0), r"kernels\[0\] must be symmetric; entry \(1, 3\) is 9 "),
        (-GRAM, r"kernels\[0\] must be positive semi-definite; its least eigenvalue is -"),
        (changed(GRAM, 2, 2, np.nan), r"kernels\[0\] holds NaN or infinity"),
        (np.empty((0, 0)), r"kernels\[0\] has no objects"),
        ([["a"]], r"kernels\[0\] must be a matrix of numbers"),
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        lambda kernel: tomographic_correspondence([kernel, GRAM], LABELS),
        lambda kernel: composite_kernel([kernel, GRAM], [[0, 0]]),
        lambda kernel: augmented_kernel([kernel, GRAM]),
    ],
)
def test_what_is_not_a_kernel(use, kernel, message):
    with pytest.raises(ValueError, match=message):
        use(kernel)


def test_a_kernel_that_is_saved_in_single_precision_is_one():
    for n_objects in (60, 500):
        thin = RNG.normal(size=(n_objects, 2)).astype(np.float32)
        saved = rbf_kernel(thin.astype(float)).astype(np.float32)
        direct_sum = augmented_kernel([thin @ thin.T, rbf_kernel(thin, gamma=0.1), saved])
        assert direct_sum.shape == (3 * n_objects, 3 * n_objects)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([Y, Y.astype(str)], "labels differ in kind between views"),
        ([Y, np.zeros(20, dtype=int)], "The view 'view1' has no object of the class 1"),
        ([Y, Y[:4]], r"labels of the view 'view1' must have shape \(20,\); got shape \(4,\)"),
        ([Y], "labels must hold an array for each of the 2 views; got 1"),
        ([Y, np.where(Y, np.nan, 0.0)], "labels holds NaN"),
        (
            [Y, np.array(["a", 1] * 10, dtype=object)],
            r"labels of the view 'view1' are of several kinds, \['int', 'str'\]",
        ),
        ([Y, np.array(["a", None] * 10, dtype=object)], "are of several kinds"),
    ],
)
def test_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        tomographic_correspondence([GRAM, GRAM], labels)


def test_one_label_array_for_all_views():
    both, _ = tomographic_correspondence([GRAM, GRAM], Y, random_state=0)
    each, _ = tomographic_correspondence([GRAM, GRAM], [Y, Y], random_state=0)
    assert np.array_equal(both, each)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ([[0, 1]], r"known puts objects of different classes together: \[0, 1\]"),
        ([[0, 0], [2, 0]], "known has object 0 of the view 'view1' more than once"),
        ([[0, 20]], "known must hold -1 or numbers below 20 for the view 'view1'; got 20"),
        ([[0, -2], [2, 4]], "known must hold -1 or numbers below 20 for the view 'view1'; got -2"),
        ([[0, 0, 0]], r"known must be an integer array of shape \(n_known, 2\)"),
        ([[0.5, 1.0]], "known must be an integer array"),
    ],
)
def test_known(known, message):
    with pytest.raises(ValueError, match=message):
        tomographic_correspondence([GRAM, GRAM], LABELS, known=known)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"crossing": "some"}, r"crossing must be one of \['sample', 'full', 'corners'\]; got 'some'"),
        ({"band": 0}, "band must be an integer of at least 1; got 0"),
        ({"l2": 1}, "l2 must be True or False; got 1"),
        ({"scale_kernels": "yes"}, "scale_kernels must be True or False"),
        ({"max_meta_objects": 19}, "max_meta_objects=19 is too few .* at least 20"),
        ({"max_meta_objects": 2.5}, "max_meta_objects must be an integer"),
    ],
)
def test_settings_of_correspondence(settings, message):
    with pytest.raises(ValueError, match=message):
        tomographic_correspondence([GRAM, GRAM], LABELS, **settings)
    unmatched, views, y = stack_unpaired([(X[:, :2], Y), (X[:, 2:], Y)])
    with pytest.raises(ValueError, match=message):
        TomographicClassifier(views=views, **settings).fit(unmatched, y)


def test_settings_of_composition():
    with pytest.raises(ValueError, match=r"meta_objects must be an integer array of shape \(n_meta, 1\)"):
        composite_kernel([GRAM], [[0, 1]])
    with pytest.raises(ValueError, match=r"names an object of kernels\[0\] that is not among its 20"):
        composite_kernel([GRAM], [[20]])
    with pytest.raises(ValueError, match="weights must be 1 numbers of at least 0"):
        composite_kernel([GRAM], [[0]], weights=[-1.0])
    with pytest.raises(ValueError, match="a row for each test object"):
        composite_test_kernel([GRAM[:3], GRAM[:2]], [[0, 0]])
    with pytest.raises(ValueError, match="kernels must be a list"):
        composite_kernel("linear", [[0]])
    with pytest.raises(ValueError, match="labels must be a list"):
        cartesian_correspondence(3)


@pytest.mark.parametrize("kind", [TomographicClassifier, AugmentedKernelClassifier, MKLClassifier])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "gauss"}, "kernel for the view 'face' is 'gauss'; it must be one of"),
        ({"kernel": {"face": "rbf"}}, "kernel has nothing for the view 'iris'"),
        ({"kernel": {"face": "rbf", "ear": "rbf"}}, "kernel names the view 'ear'"),
        ({"kernel": lambda A, B: 1.0}, r"must return a matrix of shape \(20, 20\).*returned shape \(\)"),
        ({"kernel": lambda A, B: -(A @ B.T)}, "The kernel of the view 'face' must be positive semi-definite"),
        ({"kernel": GramLookup(GRAM)}, "one column of object numbers; got 2 columns"),
        ({"C": 0}, "C must be a number above 0; got 0"),
        ({"n_jobs": 0}, "n_jobs must be None"),
        ({"weights": "best"}, "weights must be 'uniform', 'mkl', 'sdp', or a number"),
        ({"weights": [1.0]}, r"for each of the views \['face', 'iris'\]"),
        ({"weights": [0.0, 0.0]}, "not all of them 0"),
        ({"weights": {"face": 1.0}}, "weights has nothing for the view 'iris'"),
        ({"views": {"face": [7]}}, "View 'face' asks for column 7"),
    ],
)
def test_settings_of_classifiers(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**{"views": VIEWS, **settings}).fit(X, Y)


def test_settings_of_one_classifier():
    with pytest.raises(TypeError, match="kernel for the view 'face' is 3; it must be the name of a kernel"):
        MKLClassifier(views=VIEWS, kernel=3).fit(X, Y)
    with pytest.raises(ValueError, match=r"norm must be a number of at least 1; got 0\.5"):
        MKLClassifier(views=VIEWS, norm=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="weights='sdp' is defined for norm=1; got norm=2"):
        MKLClassifier(views=VIEWS, weights="sdp", norm=2).fit(X, Y)
    with pytest.raises(ValueError, match="weights='mkl' needs kernels between the same objects"):
        AugmentedKernelClassifier(views=VIEWS, weights="mkl").fit(X, Y)
    with pytest.raises(ValueError, match=r"correspondence must be one of \['tomographic', 'cartesian'\]"):
        TomographicClassifier(views=VIEWS, correspondence="full").fit(X, Y)
    with pytest.raises(ValueError, match="keep_marginals must be True or False"):
        TomographicClassifier(views=VIEWS, keep_marginals=None).fit(X, Y)


def test_rows():
    half = X.copy()
    half[5:, :2] = np.nan
    half[2, 3] = np.nan
    for kind in (TomographicClassifier, AugmentedKernelClassifier, MKLClassifier):
        with pytest.raises(ValueError, match="The view 'iris' has NaN among its columns in row 2 of X"):
            kind(views=VIEWS).fit(half, Y)
        model = kind(views=VIEWS).fit(X, Y)
        with pytest.raises(ValueError, match="The view 'iris' has NaN among its columns in row 2 of X"):
            model.predict(half)
        unseen = X.copy()
        unseen[:, :2] = np.nan
        with pytest.raises(ValueError, match="The view 'face' is absent"):
            kind(views=VIEWS).fit(unseen, Y)
    lacking = X.copy()
    lacking[Y == 1, :2] = np.nan
    with pytest.raises(ValueError, match="The view 'face' has no object of the class 1, which other views have"):
        TomographicClassifier(views=VIEWS).fit(lacking, Y)


def test_object_numbers():
    lookup = GramLookup(GRAM)
    with pytest.raises(ValueError, match="A GramLookup of 20 objects was asked for object 20"):
        lookup(np.array([[20.0]]), np.array([[0.0]]))
    with pytest.raises(ValueError, match=r"asked for object 0\.5"):
        lookup(np.array([[0.5]]), np.array([[0.0]]))
    with pytest.raises(ValueError, match="gram must be a square matrix"):
        GramLookup(GRAM[:3])


def test_the_conic_solver_is_named_when_it_is_not_there(monkeypatch):
    real_import = builtins.__import__

    def without_cvxpy(name, *args, **kwargs):
        if name == "cvxpy":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_cvxpy)
    with pytest.raises(ImportError, match=r"pip install 'fuselearn\[sdp\]'"):
        MKLClassifier(views=VIEWS, weights="sdp").fit(X, Y)


def test_kernels_without_end():
    for kind in (TomographicClassifier, AugmentedKernelClassifier, MKLClassifier):
        with pytest.raises(ValueError, match="The kernel of the view 'face' has NaN or infinite values"):
            kind(views=VIEWS, kernel="linear").fit(X * 1e200, Y)
    gram = changed(GRAM, 19, 0, np.nan)
    model = MKLClassifier(kernel=GramLookup(gram)).fit(np.arange(19.0)[:, None], Y[:19])
    with pytest.raises(ValueError, match="has NaN or infinite values"):
        model.predict(np.array([[19.0]]))
    with pytest.raises(ValueError, match="kernels hold NaN"):
        composite_test_kernel([gram], [[0]])
    with pytest.raises(ValueError, match="weights must be 1 numbers"):
        composite_kernel([GRAM], [[0]], weights=[np.inf])
    with pytest.raises(TypeError, match=r"is a matrix of shape \(20, 20\); it must be"):
        MKLClassifier(kernel=GRAM).fit(X, Y)


def test_row_of_a_gap_beyond_the_first_chunk():
    model = MKLClassifier(views=VIEWS).fit(X, Y)
    many = np.tile(X, (110, 1))
    many[2100, 3] = np.nan
    with pytest.raises(ValueError, match="in row 2100 of X"):
        model.predict(many)


def test_settings_without_effect_are_named():
    table, views, y = stack_unpaired({"face": (X[:, :2], Y), "iris": (X[:, 2:], Y)})
    model = TomographicClassifier(views=views, correspondence="cartesian", crossing="full", l2=True, random_state=0)
    with pytest.warns(UserWarning, match="at random, without bands: crossing='full', l2=True has no effect"):
        model.fit(table, y)
    with pytest.warns(UserWarning, match="band=3 has no effect"):
        model.set_params(crossing="sample", l2=False, band=3).fit(table, y)
    model.set_params(band=5).fit(table, y)  # no warning: warnings are errors here
