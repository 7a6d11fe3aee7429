"""Made-up data has what was asked for: each setting is measured on the data that it made."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier

from fuselearn import ShareBoostClassifier
from fuselearn.datasets import make_correlated_gaussians, make_shared_labels, make_views

MANY = 20_000
MAKERS = [
    partial(make_views, 60, missing=0.3, noise=0.5, redundancy=0.5),
    partial(make_correlated_gaussians, 60, matched=0.5),
    lambda random_state: dict(zip("XY", make_shared_labels(60, noise=0.5, random_state=random_state))),
]


def separation(X, y, first=0, second=1):
    """Distance of two classes' means in standard deviations within a class: the square root of Mahalanobis' D²."""
    within = np.mean([np.cov(X[y == label].T) for label in np.unique(y)], axis=0).reshape(X.shape[1], -1)
    difference = X[y == first].mean(axis=0) - X[y == second].mean(axis=0)
    return np.sqrt(difference @ np.linalg.pinv(within, rcond=1e-9, hermitian=True) @ difference)


@pytest.mark.parametrize("make", MAKERS)
def test_random_state_decides_all(make):
    first, again, other = make(random_state=3), make(random_state=3), make(random_state=4)
    for key in set(first) & {"X", "y", "Y", "is_matched"}:
        np.testing.assert_array_equal(first[key], again[key])
    assert not np.array_equal(first["X"], other["X"], equal_nan=True)


# make_views


def test_views_and_classes_are_as_asked():
    data = make_views(100, n_classes=3, views={"rna": 4, "image": 2}, random_state=0)
    assert data.X.shape == (100, 6)
    assert data.views == {"rna": slice(0, 4), "image": slice(4, 6)}
    assert data.feature_names == ["rna_0", "rna_1", "rna_2", "rna_3", "image_0", "image_1"]
    assert np.bincount(data.y).tolist() == [34, 33, 33]
    assert np.isfinite(data.X).all()
    unnamed = make_views(10, n_views=2, n_features=1, random_state=0)
    assert unnamed.views == {"view0": slice(0, 1), "view1": slice(1, 2)}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_strength_is_the_distance_of_each_two_classes(n_classes):
    strength = {"a": 0.0, "b": 1.0, "c": 3.0}
    data = make_views(MANY, n_classes=n_classes, views=dict.fromkeys("abc", 4), strength=strength, random_state=0)
    for name, columns in data.views.items():
        for second in range(1, n_classes):
            measured = separation(data.X[:, columns], data.y, 0, second)
            assert measured == pytest.approx(strength[name], abs=0.12)


def test_strength_bounds_the_accuracy_of_a_view():
    data = make_views(MANY, n_views=1, strength=2.0, random_state=0)
    model = LinearDiscriminantAnalysis().fit(data.X, data.y)
    assert model.score(data.X, data.y) == pytest.approx(norm.cdf(1.0), abs=0.01)


def test_noise_takes_strength_away():
    data = make_views(MANY, n_views=2, n_features=3, strength=3.0, noise=[0.0, 2.0], random_state=0)
    assert separation(data.X[:, :3], data.y) == pytest.approx(3.0, abs=0.1)
    assert separation(data.X[:, 3:], data.y) == pytest.approx(3.0 / np.sqrt(5), abs=0.1)


@pytest.mark.parametrize("redundancy", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("strengths", [(2, 2), (1, 1, 1), (3, 1), (0, 2), (3, 2, 1), (2, 0, 0)])
def test_redundancy_is_what_views_know_together(strengths, redundancy):
    s = np.array(strengths, dtype=float)
    data = make_views(
        MANY, n_views=len(s), n_features=2, strength=list(strengths), redundancy=redundancy, random_state=1
    )
    together = separation(data.X, data.y)
    known = s[s > 0]
    R = redundancy * np.minimum.outer(known, known) / np.maximum.outer(known, known)
    np.fill_diagonal(R, 1.0)
    assert together == pytest.approx(np.sqrt(known @ np.linalg.pinv(R, hermitian=True) @ known), abs=0.12)
    if redundancy == 0:
        assert together == pytest.approx(np.linalg.norm(s), abs=0.12)
    if redundancy == 1:
        assert together == pytest.approx(s.max(), abs=0.12)


def test_columns_of_a_view_do_not_correlate_within_a_class():
    data = make_views(MANY, n_classes=3, redundancy=0.8, random_state=0)
    for columns in data.views.values():
        for label in range(3):
            within = np.cov(data.X[data.y == label][:, columns].T)
            np.testing.assert_allclose(within, np.eye(10), atol=0.08)


@pytest.mark.parametrize(
    ("n_samples", "missing"),
    [(1000, 0.2), (1000, [0.9, 0.5, 0.0]), (1000, 2 / 3), (7, [1.0, 0.4, 0.3]), (50, [1.0, 1.0, 0.0]), (10, 0.0)],
)
def test_absent_views_are_counted_and_leave_each_object_one(n_samples, missing):
    data = make_views(n_samples, n_features=2, missing=missing, random_state=0)
    shares = np.broadcast_to(missing, 3)
    absent = np.column_stack([np.isnan(data.X[:, columns]) for columns in data.views.values()]).reshape(n_samples, 3, 2)
    assert (absent.all(axis=2) == absent.any(axis=2)).all()
    absent = absent.all(axis=2)
    assert np.abs(absent.sum(axis=0) - shares * n_samples).max() < 1
    assert not absent.all(axis=1).any()
    if missing == 2 / 3:
        assert (absent.sum(axis=1) == 2).all()


def test_absence_says_nothing_of_the_class():
    data = make_views(MANY, missing=0.4, random_state=0)
    absent = np.isnan(data.X[:, 0])
    assert data.y[absent].mean() == pytest.approx(0.5, abs=0.03)


def test_a_classifier_takes_what_was_made():
    data = make_views(600, strength=3, missing=0.3, random_state=0)
    model = ShareBoostClassifier(views=data.views, n_estimators=20).fit(data.X[:400], data.y[:400])
    assert model.score(data.X[400:], data.y[400:]) > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 1}, "n_samples must be an integer of at least 2; got 1"),
        ({"n_classes": 1}, "n_classes must be an integer of at least 2; got 1"),
        ({"n_classes": 5, "n_features": 3}, "n_features must be an integer of at least 4; got 3"),
        ({"n_classes": 3, "views": {"a": 1}}, r"views\['a'\] must be an integer of at least 2; got 1"),
        ({"views": {}}, "views must be None or a dict of name to number of columns"),
        ({"views": {0: 5}}, "views must be None or a dict .*got {0: 5}"),
        ({"views": [5, 5]}, r"views must be None or a dict .*got \[5, 5\]"),
        ({"n_views": 0}, "n_views must be an integer of at least 1; got 0"),
        ({"strength": -1}, "strength must be a number of at least 0, or such a number per view; got -1"),
        ({"strength": np.inf}, "strength must be a number of at least 0.*got inf"),
        ({"strength": [1, 2]}, "strength must hold a number for each of the 3 views .*; it holds 2"),
        ({"strength": {"view0": 1}}, r"strength must have an entry for each of the views .*; it has \['view0'\]"),
        ({"noise": "much"}, "noise must be a number of at least 0.*got 'much'"),
        ({"noise": True}, "noise must be a number .*got True"),
        ({"redundancy": 1.1}, "redundancy must be a number from 0 to 1; got 1.1"),
        ({"redundancy": np.nan}, "redundancy must be a number from 0 to 1; got nan"),
        ({"missing": 1.5}, "missing must be a number from 0 to 1, or such a number per view; got 1.5"),
        ({"missing": 0.8}, "missing must leave each object a view: .* of the 3 views may sum to 2 .*which sum to 2.4"),
        ({"missing": 0.1, "n_views": 1}, "may sum to 0 at most"),
    ],
)
def test_wrong_settings_of_views_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_views(**arguments)


# make_correlated_gaussians


@pytest.mark.parametrize(
    ("n_views", "correlation"), [(2, [0.7, -0.4]), (2, [1.0, -1.0]), (3, [0.5, -0.5]), (4, [0.0, 0.9])]
)
def test_columns_correlate_as_asked_in_each_class(n_views, correlation):
    data = make_correlated_gaussians(MANY, n_views=n_views, n_features=2, correlation=correlation, random_state=0)
    for label, expected in enumerate(correlation):
        measured = np.cov(data.X[data.y == label].T)
        of_views = np.full((n_views, n_views), expected)
        np.fill_diagonal(of_views, 1.0)
        np.testing.assert_allclose(measured, np.kron(of_views, np.eye(2)), atol=0.06)


def test_separation_is_the_distance_of_each_two_classes():
    wanted = {"view0": 3.0, "view1": 1.0}
    data = make_correlated_gaussians(MANY, n_classes=3, n_features=4, separation=wanted, random_state=0)
    for name, columns in data.views.items():
        for second in (1, 2):
            assert separation(data.X[:, columns], data.y, 0, second) == pytest.approx(wanted[name], abs=0.1)


def test_exchanged_views_leave_each_view_as_it_was():
    make = partial(make_correlated_gaussians, 501, n_views=3, correlation=0.9, random_state=0)
    matched, mixed, half = make(), make(matched=0.0), make(matched=0.5)
    np.testing.assert_array_equal(mixed.y, matched.y)
    for label in (0, 1):
        members = matched.y == label
        for columns in matched.views.values():
            before, after = matched.X[members, columns], mixed.X[members, columns]
            np.testing.assert_array_equal(np.sort(after, axis=0), np.sort(before, axis=0))
        correlations = np.corrcoef(mixed.X[members].T)[0, [2, 4]]
        assert np.abs(correlations).max() < 0.25
    assert matched.is_matched.all()
    assert not mixed.is_matched.any()
    assert half.is_matched.sum() == pytest.approx(250, abs=1)
    kept = (half.X == matched.X).all(axis=1)
    np.testing.assert_array_equal(kept, half.is_matched)
    # Where views were exchanged, no two of them are of one object.
    first_of = {row.tobytes(): i for i, row in enumerate(matched.X[:, 2:4])}
    second_of = {row.tobytes(): i for i, row in enumerate(matched.X[:, 4:6])}
    owners = [(first_of[row[2:4].tobytes()], second_of[row[4:6].tobytes()]) for row in mixed.X]
    assert all(i != first and i != second and first != second for i, (first, second) in enumerate(owners))


def test_matching_matters_where_only_pairs_tell_the_classes():
    make = partial(make_correlated_gaussians, 4000, n_features=1, correlation=[0.9, -0.9], separation=0, random_state=0)
    matched, mixed = make(), make(matched=0.0)
    assert QuadraticDiscriminantAnalysis().fit(matched.X, matched.y).score(matched.X, matched.y) > 0.8
    assert QuadraticDiscriminantAnalysis().fit(mixed.X, mixed.y).score(mixed.X, mixed.y) < 0.55


def test_matching_does_not_matter_where_views_are_alike():
    make = partial(make_correlated_gaussians, 4000, correlation=0.8, random_state=0)
    mixed, test = make(matched=0.0), make(random_state=1)
    apart = LinearDiscriminantAnalysis().fit(mixed.X, mixed.y).score(test.X, test.y)
    together = LinearDiscriminantAnalysis().fit(make().X, make().y).score(test.X, test.y)
    assert apart == pytest.approx(together, abs=0.01)


def test_one_object_cannot_exchange_views():
    data = make_correlated_gaussians(3, matched=0.0, random_state=0)
    sizes = np.bincount(data.y)
    np.testing.assert_array_equal(data.is_matched, sizes[data.y] < 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"correlation": 1.1}, "correlation must be a number from -1 to 1, or such a number per class; got 1.1"),
        ({"correlation": -0.6, "n_views": 3}, "correlation must be a number from -0.5 to 1"),
        ({"correlation": [0.5]}, "correlation must hold a number for each of the 2 classes; it holds 1"),
        ({"correlation": [0.5, "no"]}, r"correlation must be .*got \[0.5, 'no'\]"),
        ({"separation": -1}, "separation must be a number of at least 0, or such a number per view; got -1"),
        ({"matched": 2}, "matched must be a number from 0 to 1; got 2"),
        ({"n_features": 1, "n_classes": 3}, "n_features must be an integer of at least 2; got 1"),
        ({"n_samples": 0}, "n_samples must be an integer of at least 2; got 0"),
    ],
)
def test_wrong_settings_of_gaussians_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_correlated_gaussians(**arguments)


# make_shared_labels


def test_labels_have_as_many_positives_as_asked():
    X, Y = make_shared_labels(101, n_features=7, n_labels=4, positives=0.3, noise=1.0, random_state=0)
    assert X.shape == (101, 7)
    assert Y.dtype == np.int8
    assert set(np.unique(Y)) == {0, 1}
    assert Y.sum(axis=0).tolist() == [30] * 4


@pytest.mark.parametrize(("n_labels", "n_concepts", "per_label"), [(10, 5, 2), (4, 12, 3), (7, 3, 3), (5, 4, 3)])
def test_concepts_are_used_evenly(n_labels, n_concepts, per_label):
    _, _, weights = make_shared_labels(
        50, n_labels=n_labels, n_concepts=n_concepts, concepts_per_label=per_label, return_concepts=True, random_state=0
    )
    used = weights > 0
    assert (used.sum(axis=1) == per_label).all()
    assert np.ptp(used.sum(axis=0)) <= 1
    assert weights[used].min() >= 0.5
    assert weights.max() <= 1.0


def test_labels_are_alike_where_they_share_concepts():
    _, Y, weights = make_shared_labels(5000, n_labels=12, n_concepts=6, return_concepts=True, random_state=0)
    shared = (weights > 0).astype(int) @ (weights > 0).T
    alike = np.corrcoef(Y.T)
    pairs = np.triu_indices(12, 1)
    means = [alike[pairs][shared[pairs] == n].mean() for n in (0, 1)]
    assert means[1] > means[0] + 0.2
    assert means[0] < 0.15


def test_a_label_depends_on_the_columns_of_its_concepts():
    X, Y = make_shared_labels(3000, n_features=8, n_labels=1, n_concepts=1, concepts_per_label=1, random_state=0)
    # A concept is a place: its positives are close together in two columns and spread as all in the others.
    spread = X[Y[:, 0] == 1].std(axis=0)
    assert (spread < 0.75).sum() == 2
    assert (spread > 0.9).sum() == 6


def test_noise_hides_the_labels():
    scores = []
    for noise in (0.0, 1.0):
        X, Y = make_shared_labels(2000, n_features=4, n_labels=3, noise=noise, random_state=0)
        model = KNeighborsClassifier(15).fit(X[:1000], Y[:1000])
        scores.append((model.predict(X[1000:]) == Y[1000:]).mean())
    assert scores[0] > 0.87
    assert scores[1] < scores[0] - 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 1}, "n_samples must be an integer of at least 2; got 1"),
        ({"n_features": 0}, "n_features must be an integer of at least 1; got 0"),
        ({"n_labels": 0}, "n_labels must be an integer of at least 1; got 0"),
        ({"n_concepts": 1}, "concepts_per_label must be at most n_concepts=1; got 2"),
        ({"features_per_concept": 21}, "features_per_concept must be at most n_features=20; got 21"),
        ({"positives": 0}, "positives must leave each label an object with it and one without; got 0, .* 0 of 1000"),
        ({"positives": 1.2}, "positives must be a number from 0 to 1; got 1.2"),
        ({"n_samples": 4, "positives": 0.1}, "which is 0 of 4 objects"),
        ({"noise": -1}, "noise must be a number of at least 0; got -1"),
        ({"return_concepts": "yes"}, "return_concepts must be True or False; got 'yes'"),
    ],
)
def test_wrong_settings_of_labels_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_shared_labels(**arguments)
