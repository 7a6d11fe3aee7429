"""Seeds, weights, gaps and checks of scikit-learn classifiers."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import FusionClassifier, ShareBoostClassifier, ViewStackingClassifier, ViewVotingClassifier
from fuselearn.classifiers.adapter import (
    check_classifier,
    keep_sklearn_config,
    seeded_clone,
    takes_nan,
    weight_parameter,
)
from fuselearn.numeric.threads import Threads

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
X += 0.7 * y[:, None]
WEIGHTS = rng.uniform(0.1, 3, 60)
VIEWS = {"a": [0, 1], "b": [2, 3]}


# Seeds


def random_states(estimator):
    return {name: value for name, value in estimator.get_params().items() if name.endswith("random_state")}


def test_every_random_state_that_is_none_gets_a_number():
    estimator = BaggingClassifier(DecisionTreeClassifier(random_state=3))
    first, again, other = (random_states(seeded_clone(estimator, seed)) for seed in ((1, 2), (1, 2), (1, 3)))
    assert first == again != other
    assert first["estimator__random_state"] == 3
    assert isinstance(first["random_state"], int)
    assert estimator.random_state is None
    changed = random_states(seeded_clone(estimator, (1, 2), only_unset=False))
    assert None not in changed.values()
    assert changed["estimator__random_state"] != 3


def test_seeds_of_all_kinds():
    forest = RandomForestClassifier(3)
    sequence = np.random.SeedSequence((4, 5))
    assert random_states(seeded_clone(forest, (4, 5))) == random_states(seeded_clone(forest, sequence))
    drawn = [random_states(seeded_clone(forest, np.random.default_rng(0))) for _ in range(2)]
    assert drawn[0] == drawn[1] == {"random_state": int(np.random.default_rng(0).integers(2**31))}
    assert random_states(seeded_clone(SVC(), 7))["random_state"] is not None
    assert seeded_clone(GaussianNB(), 7).get_params() == GaussianNB().get_params()


def test_a_frozen_classifier_stays_as_it_is():
    frozen = FrozenEstimator(RandomForestClassifier(3, random_state=None).fit(X, y))
    assert seeded_clone(frozen, 0).estimator is frozen.estimator


# Weights


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SVC(), "sample_weight"),
        (KNeighborsClassifier(), None),
        (make_pipeline(StandardScaler(), SVC()), "svc__sample_weight"),
        (make_pipeline(StandardScaler(), make_pipeline(SVC())), "pipeline__svc__sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (GridSearchCV(SVC(), {"C": [1]}), "sample_weight"),
        (GridSearchCV(make_pipeline(SVC()), {"svc__C": [1]}), "svc__sample_weight"),
        (GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}), None),
    ],
)
def test_the_name_under_which_fit_takes_weights(estimator, name):
    assert weight_parameter(estimator) == name


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requesting(classifier=None):
    """A pipeline whose last step requests the weights; a scaler in it has none."""
    return make_pipeline(MinMaxScaler(), (classifier or LogisticRegression()).set_fit_request(sample_weight=True))


@pytest.mark.usefixtures("routing")
def test_the_name_with_metadata_routing():
    assert weight_parameter(requesting()) == "sample_weight"
    assert weight_parameter(make_pipeline(requesting())) == "sample_weight"
    assert weight_parameter(GridSearchCV(requesting(), {"logisticregression__C": [1.0]})) == "sample_weight"
    assert weight_parameter(make_pipeline(MinMaxScaler(), LogisticRegression())) is None
    refusing = LogisticRegression().set_fit_request(sample_weight=False)
    assert weight_parameter(make_pipeline(MinMaxScaler(), refusing)) is None
    assert weight_parameter(make_pipeline(KNeighborsClassifier())) is None
    assert weight_parameter(LogisticRegression()) == "sample_weight"


ROUTED = {
    "boosting": lambda estimator: ShareBoostClassifier(estimator, views=VIEWS, n_estimators=3, random_state=0),
    "boosting in threads": lambda estimator: ShareBoostClassifier(
        estimator, views=VIEWS, n_estimators=3, n_jobs=2, random_state=0
    ),
    "voting": lambda estimator: ViewVotingClassifier(estimator, views=VIEWS, voting="sum", random_state=0),
    "stacking": lambda estimator: ViewStackingClassifier(
        estimator, views=VIEWS, final_estimator=clone(estimator), cv=3, n_jobs=2, random_state=0
    ),
    "fusion": lambda estimator: FusionClassifier(views=VIEWS, learners=estimator, consensus=False, random_state=0),
    "fusion in threads": lambda estimator: FusionClassifier(
        views=VIEWS, learners=estimator, consensus=False, n_jobs=2, random_state=0
    ),
}


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=pytest.mark.long if name == "fusion" else (), id=name) for name, make in ROUTED.items()],
)
def test_a_pipeline_that_requests_weights_gets_them(make):
    """With and without routing the same weights reach the last step, so that the models are equal."""
    expected = make(make_pipeline(MinMaxScaler(), LogisticRegression())).fit(X, y, sample_weight=WEIGHTS)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(requesting()).fit(X, y, sample_weight=WEIGHTS)
    assert_array_equal(model.decision_function(X), expected.decision_function(X))
    unweighted = make(make_pipeline(MinMaxScaler(), LogisticRegression())).fit(X, y)
    assert not np.array_equal(model.decision_function(X), unweighted.decision_function(X))


@pytest.mark.usefixtures("routing")
def test_a_pipeline_that_requests_none_is_told_so():
    pipeline = make_pipeline(MinMaxScaler(), LogisticRegression())
    for make in (ROUTED["voting"], ROUTED["fusion"]):
        with pytest.raises(TypeError, match=r"(?s)sample_weight was given, but the .* takes none"):
            make(pipeline).fit(X, y, sample_weight=WEIGHTS)
    ROUTED["boosting"](pipeline).fit(X, y, sample_weight=WEIGHTS)  # by rows drawn by the weights


def test_the_configuration_of_scikit_learn_in_threads():
    def routing_is_on(_):
        return sklearn.get_config()["enable_metadata_routing"]

    with sklearn.config_context(enable_metadata_routing=True), Threads(2) as threads:
        assert threads.map(keep_sklearn_config(routing_is_on), range(4)) == [True] * 4
    assert not sklearn.get_config()["enable_metadata_routing"]


# Gaps and checks


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (SVC(), False),
        (DecisionTreeClassifier(), True),
        (make_pipeline(StandardScaler(), SVC()), False),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), True),
        (make_pipeline(SimpleImputer(), SVC()), True),
        (make_pipeline(StandardScaler(), SimpleImputer(), SVC()), True),
        (make_pipeline("passthrough", SVC()), False),
        (object(), True),
    ],
)
def test_which_classifiers_take_nan(estimator, expected):
    assert takes_nan(estimator) is expected


def test_what_is_not_a_classifier():
    with pytest.raises(TypeError, match=r"The estimator must be an instance, not a class; pass SVC\(\)"):
        check_classifier(SVC)
    with pytest.raises(TypeError, match="The learner must be a scikit-learn classifier; got 3, which has no fit"):
        check_classifier(3, "learner")
    with pytest.raises(TypeError, match="must be a thing; got"):
        check_classifier(3, expected="a thing")
    with pytest.raises(TypeError, match=r"must be a classifier; got LinearRegression.*, which is a regressor"):
        check_classifier(LinearRegression())
    with pytest.raises(ValueError, match="The estimator is frozen but not fitted"):
        check_classifier(FrozenEstimator(SVC()))
