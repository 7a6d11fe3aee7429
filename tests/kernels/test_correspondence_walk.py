"""Where the walk through the bands begins, widens, is limited and ends, against Algorithm 1 written out."""

import warnings

import numpy as np
import pytest

from fuselearn.kernels import cartesian_correspondence, tomographic_correspondence
from fuselearn.kernels import correspondence as walk
from fuselearn.kernels.correspondence import TomographicSettings, WalkRecord, matched_by_density
from fuselearn.kernels.meta_objects import MetaObjects, read_matching
from tests.kernels.test_correspondence import least_of, seed_of
from tests.naive import tomographic as naive


def random_views(seed, n_views, most=6, discrete=False, n_classes=1):
    """Kernels of a few points on a line and their labels, views of one object among them."""
    rng = np.random.default_rng(seed)
    kernels, labels = [], []
    for _ in range(n_views):
        sizes = rng.integers(1, most + 1, n_classes)
        points = rng.normal(size=(sizes.sum(), 1)) * 3
        points = points.round() if discrete else points
        kernels.append(points @ points.T)
        labels.append(np.repeat(np.arange(n_classes), sizes))
    return kernels, labels


def random_matches(rng, labels, n_known):
    """Matches of some objects of class 0, in some of the views each."""
    sizes = [np.count_nonzero(column == 0) for column in labels]
    known = np.column_stack([rng.permutation(max(sizes))[:n_known] for _ in labels])
    known[known >= np.array(sizes)] = -1
    known[rng.random(known.shape) < 0.2] = -1
    return known


def assert_same(kernels, labels, *, random_state=0, reference=0, **settings):
    """Our result and the naive one, of the views in the order in which the walk has them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "crossing='full' was as 'sample'")
        found, classes = tomographic_correspondence(
            kernels, labels, random_state=random_state, reference=reference, **settings
        )
    order = [reference, *(view for view in range(len(kernels)) if view != reference)]
    known = settings.pop("known", None)
    expected = naive.correspondence(
        [kernels[view] for view in order],
        [labels[view] for view in order],
        known=None if known is None else known[:, order],
        seed=seed_of(random_state),
        **settings,
    )
    assert [tuple(row) for row in found[:, order].tolist()] == expected[0]
    assert classes.tolist() == expected[1]
    return found


@pytest.mark.parametrize("crossing", ["sample", "full", "corners"])
@pytest.mark.parametrize("n_views", [2, 3, 4])
def test_small_problems_as_written_out(n_views, crossing):
    for seed in range(16):
        rng = np.random.default_rng(seed)
        kernels, labels = random_views(seed, n_views, discrete=seed % 3 == 0, n_classes=1 + seed % 2)
        known = random_matches(rng, labels, 4) if seed % 4 else None
        least = least_of(labels, known)
        for spare in (0, 1, 2, 6, np.inf):
            settings = {
                "known": known,
                "crossing": crossing,
                "band": int(rng.integers(1, 6)),
                "l2": bool(seed % 5 == 0),
            }
            settings |= {"reference": int(rng.integers(n_views)), "max_meta_objects": least + spare}
            assert_same(kernels, labels, random_state=seed, **settings)


def test_default_settings_are_those_of_the_paper():
    kernels, labels = random_views(1, 3, most=30)
    found = assert_same(kernels, labels)
    for band in (4, 6):  # so that another default would be noticed
        other, _ = tomographic_correspondence(kernels, labels, band=band, random_state=0)
        assert not np.array_equal(found, other)
    known = random_matches(np.random.default_rng(0), labels, 4)
    assert_same(kernels, labels, known=known)


@pytest.mark.parametrize("spare", [0, 1, 2, 30])
def test_random_pairs_as_written_out(spare):
    """A match of all views is there from the start; where it is the only member, the pairing has yet to begin."""
    for seed in range(12):
        _, labels = random_views(seed, 2 + seed % 2, most=7)
        for known in (
            None,
            np.zeros((1, len(labels)), dtype=int),
            random_matches(np.random.default_rng(seed), labels, 3),
        ):
            most = least_of(labels, known) + spare
            found, _ = cartesian_correspondence(labels, known=known, max_meta_objects=most, random_state=seed)
            expected = naive.cartesian(labels, known=known, max_meta_objects=most, seed=seed_of(seed))
            assert [tuple(row) for row in found.tolist()] == expected[0]


def test_random_pairing_of_a_large_class_stops_after_some_passes():
    labels = [np.zeros(20, dtype=int)] * 3
    found, _ = cartesian_correspondence(labels, max_meta_objects=1000, random_state=0)
    assert len(found) == len(naive.cartesian(labels, max_meta_objects=1000, seed=seed_of(0))[0]) < 8 * 20 + 1


@pytest.mark.parametrize(("cap", "most"), [(10, 160), (np.inf, 4_194_304)])
def test_joins_of_a_band_that_are_tried_are_as_many_as_documented(monkeypatch, cap, most):
    asked = []

    class Spied(MetaObjects):
        def joins(self, pairs, starts, ends, squared_radius, most):
            asked.append(most)
            return super().joins(pairs, starts, ends, squared_radius, most)

    monkeypatch.setattr(walk, "MetaObjects", Spied)
    kernels, labels = random_views(1, 2, most=8)
    tomographic_correspondence(kernels, labels, max_meta_objects=cap, random_state=0)
    assert set(asked) == {most}


def test_objects_in_one_place():
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(5, 1))
    for scale in (True, False):
        assert_same([np.ones((6, 6)), spread @ spread.T], [np.zeros(6), np.zeros(5)], scale_kernels=scale)


def full_crossing(cap, band, sizes=(2, 3)):
    """The record of a walk that crosses in full."""
    kernels = [np.outer(np.arange(n), np.arange(n)).astype(float) for n in sizes]
    matching = read_matching([np.zeros(n) for n in sizes], list(sizes), None, cap)
    record = WalkRecord()
    settings = TomographicSettings("full", False, band, reference=0)
    list(matched_by_density(kernels, matching, settings, True, 0, record))
    return record


def test_bands_that_were_crossed_are_counted():
    whole, cut = full_crossing(9, 10), full_crossing(8, 10)
    assert (whole.crossed_in_full, whole.sampled_instead) == (1, 0)
    assert (cut.crossed_in_full, cut.sampled_instead) == (0, 1)
    assert [reached.tolist() for reached in whole.n_reached] == [[2, 3]]
    with pytest.warns(UserWarning, match="in all 1 bands that were crossed"):
        cut.warn(8)
    whole.warn(9)
    WalkRecord(crossed_in_full=1, sampled_instead=4).warn(9)  # no warning: it had an effect once
    WalkRecord().warn(9)
    several = full_crossing(60, 4, sizes=(7, 7))
    assert several.crossed_in_full > 1


def test_a_product_of_more_elements_than_fit_into_memory_is_sampled(monkeypatch):
    assert walk.MOST_CANDIDATES > 10**6
    monkeypatch.setattr(walk, "MOST_CANDIDATES", 5)
    record = full_crossing(None, 10)
    assert (record.crossed_in_full, record.sampled_instead) == (0, 1)


@pytest.mark.parametrize("reference", [3, -1, 1.0, False, "0", None])
def test_what_is_no_number_of_a_view(reference):
    kernels, labels = random_views(0, 3)
    with pytest.raises(ValueError, match="reference must be the number of a view, from 0 to 2; got"):
        tomographic_correspondence(kernels, labels, reference=reference)
