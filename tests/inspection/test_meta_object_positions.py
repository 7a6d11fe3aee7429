"""Positions of unmatched objects and of their meta-objects."""

import numpy as np
import pytest

import fuselearn
from fuselearn import TomographicClassifier
from fuselearn.inspection import correspondence


@pytest.fixture(scope="module")
def unmatched():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 12)
    points = rng.normal(size=(24, 2)) + 2 * y[:, None]
    sources = {"first": (points[:, :1], y), "second": (points[::-1, 1:], y[::-1])}
    X, views, y = fuselearn.stack_unpaired(sources)
    return X, TomographicClassifier(views=views, random_state=0).fit(X, y)


def test_correspondence_shows_rows_that_were_put_together(unmatched):
    X, model = unmatched
    found = correspondence(model, X, label=1)
    expected = [[X[first, 0], X[second, 1]] for first, second in model.meta_objects_]
    np.testing.assert_array_equal(found.meta_objects, expected)
    np.testing.assert_array_equal(found.objects[0], X[:24, 0])
    np.testing.assert_array_equal(found.object_rows[1], range(24, 48))
    of_class = X[12:24, 0]
    squared = [(a - b) ** 2 for i, a in enumerate(of_class) for b in of_class[:i]]
    np.testing.assert_allclose(found.distances[0], np.sort(squared) / model.kernel_scales_[0], atol=1e-9)
    assert set(found.bands) <= set(found.distances[0])
    assert found.bands[-1] == found.distances[0][-1]
    across, up, leads = found.boundary
    point = np.array([[across[7], up[90]]])
    assert leads[1, 90, 7] == pytest.approx(2 * model.decision_function(point)[0])


def test_views_of_several_columns_lie_along_their_first_component(rows, fitted):
    X, model = rows[0][:120], fitted["tomographic"]
    found = correspondence(model, X, views=["noise", "signal"])
    centred = X[:, :3] - X[:, :3].mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    expected = u[:, 0] * s[0] / np.sqrt(model.kernel_scales_[0])
    np.testing.assert_allclose(np.abs(found.objects[1]), np.abs(expected), atol=1e-8)
    assert found.boundary is None


def test_correspondence_refuses(unmatched, fitted, rows):
    X, model = unmatched
    with pytest.raises(ValueError, match="MKLClassifier has no meta_objects_"):
        correspondence(fitted["mkl"], rows[0])
    with pytest.raises(ValueError, match="X must be the rows that the model was fitted on"):
        correspondence(model, X[::-1])
    with pytest.raises(ValueError, match="X must be the rows that the model was fitted on"):
        correspondence(model, X[:30])
    with pytest.raises(ValueError, match=r"views must be two of \['first', 'second'\]"):
        correspondence(model, X, views=["first", "third"])
    with pytest.raises(ValueError, match=r"label must be one of the classes \[0, 1\]; got 5"):
        correspondence(model, X, label=5)
