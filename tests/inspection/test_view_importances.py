"""Importance of views, against slow versions and known answers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import ConcatenatedClassifier, MSSBoostClassifier, ShareBoostClassifier
from fuselearn.inspection import view_importance
from tests.inspection.example_models import COLUMNS, MODELS, VIEWS, make_rows


def test_share_is_what_boosting_recorded(fitted):
    for name in ("share", "exp3p", "independent"):
        found = view_importance(fitted[name])
        np.testing.assert_array_equal(found.mean, fitted[name].view_importances_)
        assert found.baseline is None
        assert found.per_repeat.shape == (1, 3)
        np.testing.assert_array_equal(found.std, 0)


def test_share_of_kernels_is_that_of_their_weights(fitted):
    weights = fitted["mkl"].kernel_weights_
    np.testing.assert_allclose(view_importance(fitted["mkl"]).mean, weights / weights.sum())


def test_share_of_several_labels_is_the_mean_of_theirs(labelled):
    _, _, model = labelled
    shares = np.zeros((3, 3))
    for weights, features in zip(model.label_weights_, model.estimators_features_):
        [view] = [number for number, columns in enumerate(COLUMNS.values()) if set(features) <= set(columns)]
        shares[:, view] += np.abs(weights)
    expected = np.mean([label / label.sum() for label in shares], axis=0)
    found = view_importance(model)
    np.testing.assert_allclose(found.mean, expected)
    np.testing.assert_allclose(found.mean.sum(), 1)
    assert found.mean[1] < min(found.mean[0], found.mean[2])


def test_share_of_overlapping_views_is_split():
    X, _ = make_rows(100)
    Y = np.column_stack([X[:, 0] + X[:, 3] > 0, X[:, 3] > 0]).astype(int)
    views = [slice(0, 3), slice(0, 3), slice(3, 6)]
    model = MSSBoostClassifier(LogisticRegression(), views=views, n_estimators=9, feature_ratio=1.0, random_state=0)
    model.fit(X, Y)
    shares = []
    for weights in np.abs(model.label_weights_).T:
        alone = sum(weight for weight, columns in zip(weights, model.estimators_features_) if columns[0] == 3)
        shares.append([(1 - alone / weights.sum()) / 2] * 2 + [alone / weights.sum()])
    assert 0 < shares[0][2] < 1
    np.testing.assert_allclose(view_importance(model).mean, np.mean(shares, axis=0))


@pytest.mark.parametrize("name", ["voting", "stacking", "concatenated", "super kernel"])
def test_what_a_model_lacks_is_named(fitted, name):
    with pytest.raises(ValueError, match=r"has no view_importances_; use method='drop'"):
        view_importance(fitted[name])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", MODELS)
def test_drop_and_permutation_are_the_slow_ones(fitted, rows, name):
    model = fitted[name]
    X, y = rows[0][120:], rows[1][120:]
    dropped = view_importance(model, X, y, method="drop")
    assert dropped.baseline == model.score(X, y)
    for number, columns in enumerate(COLUMNS.values()):
        without = X.copy()
        without[:, columns] = np.nan
        assert dropped.mean[number] == pytest.approx(model.score(X, y) - model.score(without, y), abs=1e-12)
    shuffled = view_importance(model, X, y, method="permutation", n_repeats=3, random_state=0)
    assert shuffled.per_repeat.shape == (3, 3)
    np.testing.assert_allclose(shuffled.mean, shuffled.per_repeat.mean(axis=0))
    np.testing.assert_allclose(shuffled.std, shuffled.per_repeat.std(axis=0))
    signal, noise, weak = shuffled.mean
    assert signal > 0.1
    assert signal > weak
    # The augmented machine cannot do without the noise: every view has examples of its own.
    assert abs(noise) < (0.1 if name == "augmented" else 0.06)


def test_permutation_of_a_view_is_of_whole_rows():
    """Columns shuffled one by one would give rows that do not exist."""
    seen = []

    class Spy(ShareBoostClassifier):
        def predict(self, X):
            seen.append(np.array(X))
            return super().predict(X)

    X, y = make_rows(60)
    model = Spy(views=VIEWS, n_estimators=3).fit(X, y)
    view_importance(model, X, y, method="permutation", n_repeats=2, random_state=0)
    original, *changed = seen
    assert len(changed) == 6
    for number, table in enumerate(changed):
        columns = list(COLUMNS.values())[number % 3]
        others = np.setdiff1d(range(10), columns)
        np.testing.assert_array_equal(table[:, others], original[:, others])
        assert not np.array_equal(table[:, columns], original[:, columns])
        assert sorted(map(tuple, table[:, columns])) == sorted(map(tuple, original[:, columns]))
    assert not np.array_equal(changed[0], changed[3])


def test_a_view_of_pure_noise_is_useless():
    X, y = make_rows(3000)
    model = ConcatenatedClassifier(LogisticRegression(), views=VIEWS).fit(X[:1500], y[:1500])
    found = view_importance(model, X[1500:], y[1500:], method="permutation", n_repeats=10, random_state=0)
    assert abs(found.mean[1]) < 0.01
    assert found.mean[0] > 0.2
    assert [record["view"] for record in found.records()] == ["signal", "weak", "noise"]


def test_models_that_take_no_nan_get_column_means(labelled):
    X, Y, model = labelled
    found = view_importance(model, X[150:], Y[150:], method="drop")
    without = X[150:].copy()
    without[:, 0:3] = without[:, 0:3].mean(axis=0)
    before, after = (np.mean(model.predict(table) == Y[150:]) for table in (X[150:], without))
    assert found.baseline == pytest.approx(before)
    assert found.mean[0] == pytest.approx(before - after)
    assert found.mean[0] > 0.1


def test_importance_is_the_same_for_any_number_of_threads(fitted, rows):
    settings = {"method": "permutation", "random_state": 3}
    one, two = (view_importance(fitted["share"], *rows, n_jobs=n_jobs, **settings) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.per_repeat, two.per_repeat)
    other = view_importance(fitted["share"], *rows, method="permutation", random_state=4)
    assert not np.array_equal(one.per_repeat, other.per_repeat)


def test_scoring_is_what_scikit_learn_takes(fitted, rows):
    X, y = rows
    named = view_importance(fitted["share"], X, y, method="drop", scoring="roc_auc")
    assert named.baseline > fitted["share"].score(X, y)
    own = view_importance(fitted["share"], X, y, method="drop", scoring=lambda model, X, y: 7.0)
    np.testing.assert_array_equal(own.mean, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "shap"}, "method must be one of"),
        ({"method": "drop"}, "method='drop' needs held-out X and y"),
        ({"method": "permutation", "n_repeats": 0}, "n_repeats must be an integer of at least 1; got 0"),
        ({"n_jobs": 0}, "n_jobs must be None"),
        ({"method": "drop", "scoring": "hit_rate"}, "the name of a scikit-learn scorer; got 'hit_rate'"),
        ({"method": "drop", "scoring": 3}, "scoring must be None, a name or a function"),
    ],
)
def test_importance_refuses(fitted, arguments, message):
    with pytest.raises(ValueError, match=message):
        view_importance(fitted["share"], **arguments)
