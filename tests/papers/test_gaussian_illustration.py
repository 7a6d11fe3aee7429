"""S4's illustration with two Gaussian classes shows what its docstring says."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from fuselearn.papers.gaussian_illustration import gaussian_illustration
from tests.papers.results import same


@pytest.fixture(scope="module")
def illustration():
    return gaussian_illustration(trials=2)


def test_true_matches_of_the_illustration_are_a_plain_machine(illustration):
    machine = SVC(kernel="linear", tol=1e-5).fit(illustration.points, illustration.labels)
    grid = np.column_stack([values.ravel() for values in np.meshgrid(*illustration.axes)])
    decisions = illustration.decisions["true matches"].ravel()
    assert_allclose(decisions, machine.decision_function(grid), atol=0.02)
    place = illustration.fusions.index("true matches")
    assert_array_equal(illustration.items_right[:, place], illustration.vectors_right[:, place])


def test_meta_objects_of_the_illustration_are_of_its_ordinates(illustration):
    for fusion, items in illustration.meta_objects.items():
        for label in (0, 1):
            own = items[illustration.meta_labels[fusion] == label]
            vectors = illustration.points[illustration.labels == label]
            for axis in (0, 1):
                known = np.append(vectors[:, axis], 0.0) if fusion == "augmented" else vectors[:, axis]
                assert np.isin(own[:, axis], known).all()
                assert np.isin(vectors[:, axis], own[:, axis]).all()
    assert len(illustration.meta_objects["augmented"]) == 40
    assert (illustration.meta_objects["augmented"] == 0).sum() == 40


@pytest.mark.long
def test_augmented_kernel_suffers_from_classes_away_from_the_origin():
    illustration = gaussian_illustration(trials=12)
    augmented = illustration.fusions.index("augmented")
    tomographic = illustration.fusions.index("tomographic")
    away = illustration.fresh_right.mean(axis=0)
    near = gaussian_illustration(trials=12, centre=0.0).fresh_right.mean(axis=0)
    assert away[tomographic] > away[augmented] + 0.05
    assert abs(near[tomographic] - near[augmented]) < 0.05


@pytest.mark.long
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.long)])
def test_illustration_does_not_depend_on_the_processes(backend):
    with parallel_config(backend=backend):  # processes take seconds to start
        parallel = gaussian_illustration(trials=3, n_jobs=2)
    assert same(gaussian_illustration(trials=3), parallel)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trials": 1.5}, "trials must be an integer of at least 1; got 1.5"),
        ({"vectors": 1}, "vectors must be an integer of at least 2; got 1"),
        ({"separation": -1}, "separation must be a number above 0; got -1"),
        ({"centre": "here"}, "centre must be a number; got 'here'"),
        ({"n_jobs": 0}, "n_jobs must be None"),
    ],
)
def test_bad_settings_of_the_illustration(settings, message):
    with pytest.raises(ValueError, match=message):
        gaussian_illustration(**settings)
