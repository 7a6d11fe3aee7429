"""What a model must not depend on: the order of X in memory, the origin of its columns, the unit of its weights."""

import inspect
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

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
    TomographicClassifier,
    ViewStackingClassifier,
    ViewStackingRegressor,
    ViewVotingClassifier,
    ViewVotingRegressor,
    all_estimators,
)
from fuselearn.multilabel import RbfSVC

VIEWS = {"left": slice(0, 3), "right": slice(3, 6)}
N_TRAIN = 120
SCALED_SVC = make_pipeline(StandardScaler(), SVC())
SUBSPACES = {"views": VIEWS, "n_estimators": 12, "data_ratio": 0.5, "feature_ratio": 0.8, "random_state": 0}
NOT_FITTED = dict.fromkeys(("TableClassifier", "TableRegressor"), "it passes what it prepared to one of the others")
SCALED_SVR = make_pipeline(StandardScaler(), SVR())
ESTIMATORS = {
    "share": ShareBoostClassifier(views=VIEWS, n_estimators=15),
    "share, stumps": ShareBoostClassifier("stump", views=VIEWS, n_estimators=15),
    "share, trees": ShareBoostClassifier("tree", views=VIEWS, n_estimators=15),
    "share, linear": ShareBoostClassifier("linear", views=VIEWS, n_estimators=15),
    "gradients": ShareGradientBoostingClassifier(views=VIEWS, n_estimators=15, min_samples_leaf=10),
    "gradients per view": ShareGradientBoostingClassifier(
        views=VIEWS, trees="per_view", n_estimators=15, min_samples_leaf=10
    ),
    "gradients of numbers": ShareGradientBoostingRegressor(views=VIEWS, n_estimators=15, min_samples_leaf=10),
    "independent": IndependentBoostClassifier(views=VIEWS, n_estimators=15),
    "voting": ViewVotingClassifier(SCALED_SVC, views=VIEWS),
    "stacking": ViewStackingClassifier(SCALED_SVC, views=VIEWS, cv=2, random_state=0),
    "stacking on values": ViewStackingClassifier(
        SCALED_SVC, views=VIEWS, cv=2, stack_method="decision_function", random_state=0
    ),
    "concatenated": ConcatenatedClassifier(SCALED_SVC, views=VIEWS, random_state=0),
    "super-kernel": SuperKernelClassifier(views=VIEWS, cv=2, random_state=0),
    "fusion": FusionClassifier(views=VIEWS, max_fits=6, random_state=0),
    "fusion of numbers": FusionRegressor(views=VIEWS, learners=["linear", "rbf"], max_fits=6, random_state=0),
    "voting of numbers": ViewVotingRegressor(SCALED_SVR, views=VIEWS),
    "stacking of numbers": ViewStackingRegressor(SCALED_SVR, views=VIEWS, cv=2, random_state=0),
    "concatenated numbers": ConcatenatedRegressor(SCALED_SVR, views=VIEWS, random_state=0),
    "tomographic": TomographicClassifier(views=VIEWS, random_state=0),
    "tomographic, rbf": TomographicClassifier(views=VIEWS, kernel="rbf", random_state=0),
    "augmented": AugmentedKernelClassifier(views=VIEWS),
    "augmented, laplacian": AugmentedKernelClassifier(views=VIEWS, kernel="laplacian"),
    "mkl": MKLClassifier(views=VIEWS),
    "mkl, linear": MKLClassifier(views=VIEWS, kernel="linear", weights="mkl"),
    "mssboost": MSSBoostClassifier(**SUBSPACES),
    "nsboost": NSBoostClassifier(**SUBSPACES),
    "rsbag": RSBagClassifier(**SUBSPACES),
    "rbf svc": RbfSVC(),
    "consensus": LabelConsensus(views=VIEWS, cv=2, n_passes=1, random_state=0),
}
ONE_MEAN = {"mssboost", "nsboost", "rsbag", "rbf svc"}
"""Their gamma="scale" is that of SVC: by the variance of all values about one mean, which grows where the columns are
moved apart."""
IN_UNITS_OF_WEIGHTS = {
    "rbf svc": "weights are factors on its C, as those of SVC",
    "gradients": "min_samples_leaf and l2_regularization count weights as the user gave them",
    "gradients per view": "as above",
    "gradients of numbers": "as above",
}
WEIGHTED = [
    name
    for name, model in ESTIMATORS.items()
    if "sample_weight" in inspect.signature(model.fit).parameters and name not in IN_UNITS_OF_WEIGHTS
]


@pytest.fixture(scope="module")
def problem():
    """Two classes in two views of whole multiples of 2⁻¹⁰, which float64 holds exactly 1e8 away from the origin."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(320) % 2)
    X = rng.normal(size=(320, 6)) + np.outer(y, [1.4, 0.0, 0.7, 0.0, 1.0, 0.8])
    X[:, 5] += 0.7 * X[:, 1]
    return np.round(X * 1024) / 1024, y


def answers(model, X):
    """Return everything that a fitted model says about rows: numbers, which are compared bit for bit."""
    if isinstance(model, LabelConsensus):
        return model.posterior_
    names = ("predict",) if is_regressor(model) else ("decision_function", "predict_proba")
    values = [np.asarray(getattr(model, name)(X)).reshape(len(X), -1) for name in names if hasattr(model, name)]
    return np.hstack(values)


def accuracy(model, X, y):
    """Return the accuracy on test rows, or on the training rows for a model that answers for those only."""
    if is_regressor(model):
        return np.mean((model.predict(X) > 0.5) == y)
    return np.mean(model.labels_ == y) if isinstance(model, LabelConsensus) else model.score(X, y)


@pytest.mark.parametrize("name", [name for name, _ in all_estimators()])
def test_every_public_estimator_is_here(name):
    assert name in NOT_FITTED or name in {type(estimator).__name__ for estimator in ESTIMATORS.values()}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_order_in_memory_does_not_matter(problem, name):
    X, y = problem
    train, test = X[:N_TRAIN], X[N_TRAIN:]
    every_second = np.repeat(train, 2, axis=1)[:, ::2]
    assert not every_second.flags.c_contiguous
    assert not every_second.flags.f_contiguous
    expected = answers(clone(ESTIMATORS[name]).fit(train, y[:N_TRAIN]), test)
    for given in (np.asfortranarray(train), every_second):
        model = clone(ESTIMATORS[name]).fit(given, y[:N_TRAIN])
        np.testing.assert_array_equal(answers(model, test), expected)
        np.testing.assert_array_equal(answers(model, np.asfortranarray(test)), expected)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("shift", [np.full(6, 1e8), 1e8 * np.array([1.0, -1, 0, 2, -3, 0.5])], ids=["equal", "unequal"])
def test_far_from_the_origin(problem, name, shift):
    X, y = problem
    if name in ONE_MEAN and np.ptp(shift) > 0:
        pytest.skip("gamma='scale' depends on how far the means of the columns are apart")
    assert ((X + shift) - shift == X).all()  # nothing is lost by the shift itself
    near, far = (clone(ESTIMATORS[name]).fit(rows[:N_TRAIN], y[:N_TRAIN]) for rows in (X, X + shift))
    labels = y[:N_TRAIN] if isinstance(near, LabelConsensus) else y[N_TRAIN:]
    expected = accuracy(near, X[N_TRAIN:], labels)
    assert expected > 0.7
    assert accuracy(far, X[N_TRAIN:] + shift, labels) >= expected - 0.02


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", WEIGHTED)
def test_the_unit_of_weights_does_not_matter(problem, name):
    X, y = problem
    train, labels, test = X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=N_TRAIN)
    weights[5] = 0.0
    model = clone(ESTIMATORS[name])
    expected = answers(model.fit(train, labels, sample_weight=weights), test)
    for power in (-900, -40, 40, 900):  # exact, so that nothing but the unit differs
        scaled = clone(model).fit(train, labels, sample_weight=np.ldexp(weights, power))
        np.testing.assert_array_equal(answers(scaled, test), expected)
    huge = clone(model).fit(train, labels, sample_weight=weights * 1e300)
    np.testing.assert_allclose(answers(huge, test), expected, atol=1e-2)
    # The sum of these is beyond the largest number.
    largest = clone(model).fit(train, labels, sample_weight=weights * (1e308 / 3.0))
    # Numbers differ by the rounding of the two factors, which are no powers of two.
    same = partial(np.testing.assert_allclose, atol=1e-3) if is_regressor(model) else np.testing.assert_array_equal
    same(largest.predict(test), huge.predict(test))
