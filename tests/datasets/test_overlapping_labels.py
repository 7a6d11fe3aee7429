import numpy as np
import pytest

from fuselearn.datasets import make_overlapping_labels


def sides(X, Y, label):
    """Left, lower, right and upper end of a label's points."""
    points = X[Y[:, label] == 1]
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


@pytest.fixture(scope="module")
def many():
    return make_overlapping_labels(50_000, random_state=0)


def test_counts_are_those_of_the_paper():
    X, Y = make_overlapping_labels(random_state=0)
    assert X.shape == (1000, 2)
    assert Y.dtype == np.int8
    np.testing.assert_array_equal(Y.sum(axis=0), [200, 200, 400])


@pytest.mark.parametrize(("n_samples", "counts"), [(5, [1, 1, 2]), (50, [10, 10, 20]), (333, [67, 67, 133])])
def test_counts_scale_with_the_number_of_points(n_samples, counts):
    X, Y = make_overlapping_labels(n_samples, random_state=0)
    assert X.shape == (n_samples, 2)
    np.testing.assert_array_equal(Y.sum(axis=0), counts)


@pytest.mark.parametrize("seed", range(5))
def test_some_points_have_several_labels_and_some_have_none(seed):
    _, Y = make_overlapping_labels(random_state=seed)
    n_labels = Y.sum(axis=1)
    assert (n_labels >= 2).sum() > 300
    assert (n_labels == 0).sum() > 500
    # Each label goes with label 3 mostly, but not always; labels 1 and 2 hardly touch.
    for label in (0, 1):
        together = (Y[:, label] & Y[:, 2]).sum()
        assert 150 < together < 200
    assert (Y[:, 0] & Y[:, 1]).sum() < 5


def test_points_are_uniform_in_the_rectangle(many):
    X, _ = many
    counts, _, _ = np.histogram2d(*X.T, bins=(2, 3), range=[(0, 2), (0, 3)])
    assert counts.sum() == len(X)
    np.testing.assert_allclose(counts / len(X), 1 / 6, atol=0.01)


def test_labels_share_their_sides(many):
    X, Y = many
    upper, lower, both = (sides(X, Y, label) for label in range(3))
    close = {"atol": 0.04}
    for side in (0, 2):
        np.testing.assert_allclose([upper[side], lower[side]], both[side], **close)
    np.testing.assert_allclose(upper[3], both[3], **close)
    np.testing.assert_allclose(lower[1], both[1], **close)
    np.testing.assert_allclose(upper[1], lower[3], **close)
    assert lower[3] < both[3] - 0.5


def test_a_label_is_an_ellipse_with_axes_along_the_sides(many):
    X, Y = many
    for label in range(3):
        box = sides(X, Y, label)
        centre, half = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2
        inside = (((X - centre) / half) ** 2).sum(axis=1) < 1
        assert (inside == Y[:, label]).mean() > 0.99


@pytest.mark.parametrize("seed", range(5))
def test_five_axis_parallel_cuts_serve_three_labels(seed):
    """S2 §1: with models shared between labels, five stumps instead of twelve."""
    X, Y = make_overlapping_labels(random_state=seed)
    left, bottom, right, top = sides(X, Y, 2)
    middle = (bottom + top) / 2
    x, y = X.T
    between = (x >= left) & (x <= right)
    boxes = [
        between & (y >= middle) & (y <= top),
        between & (y >= bottom) & (y <= middle),
        between & (y >= bottom) & (y <= top),
    ]
    for box, positive in zip(boxes, Y.T == 1, strict=True):
        assert box[positive].mean() > 0.9
        # An ellipse fills π/4 of its box.
        assert positive[box].mean() == pytest.approx(np.pi / 4, abs=0.08)


def test_random_state_decides():
    X, Y = make_overlapping_labels(100, random_state=3)
    X_again, Y_again = make_overlapping_labels(100, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(Y, Y_again)
    assert not np.array_equal(X, make_overlapping_labels(100, random_state=4)[0])


@pytest.mark.parametrize("n_samples", [4, 0, -10, 100.0, "100", None, True])
def test_a_wrong_number_of_points_is_refused(n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 5; got"):
        make_overlapping_labels(n_samples)
