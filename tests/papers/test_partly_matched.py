"""Digits in three views of which some matches are known."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal

from fuselearn.papers import partly_matched as partly
from tests.papers.results import same


def test_objects_are_cut_apart_but_for_those_that_are_matched():
    generator = np.random.RandomState(0)
    X, y = generator.normal(size=(10, 5)), np.arange(10)
    views = {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 5)}
    matched = y < 4
    rows, labels = partly.unmatch(X, y, views, matched, generator)
    assert rows.shape == (4 + 3 * 6, 5)
    for number in y:
        own = rows[labels == number]
        assert len(own) == (1 if matched[number] else 3)
        # Each value is there once, in a row that holds whole views.
        assert_array_equal((~np.isnan(own)).sum(axis=0), 1)
        assert_array_equal(np.nansum(own, axis=0), X[number])
    present = ~np.isnan(rows)
    assert_array_equal(present[:, 0], present[:, 1])
    assert_array_equal(present[:, 3], present[:, 4])


def test_shares_are_of_each_class_and_grow():
    y = np.repeat([0, 1, 2], [30, 10, 20])
    ranks = partly._ranks_in_class(y, np.random.RandomState(0))
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        assert_array_equal(np.bincount(y[ranks < share], minlength=3), np.round(share * np.array([30, 10, 20])))


def test_partly_matched_digits(real_data):
    real_data("mfeat")
    settings = {"trials": 2, "train_size": 100, "shares": (0, 0.5), "kernel": "linear"}
    result = partly.partly_matched(**settings)
    assert result.matched.shape == (2, 2, 2)
    assert result.absent.shape == (2, 3, 3, 2)
    assert (result.matched > 0.8).all()
    # All the views are better than what is left of them.
    complete, lacking, never = result.absent.mean(axis=(0, 1, 3))
    assert complete > never
    assert complete > lacking > 0.5
    # Without any match known, the same machine is in both tables.
    assert_array_equal(result.matched[0, 0], result.absent[0, 0, 0])
    assert result.table().column("known matches") == (0.0, 50.0, 0.0, 50.0)
    assert result.absent_table().column("absent view") == ("fou", "kar", "zer") * 2
    with parallel_config(backend="threading"):  # processes take seconds to start
        assert same(result, partly.partly_matched(**settings, n_jobs=2))
    with pytest.raises(ValueError, match="train_size must leave 700 of the 2000 objects to test; got 1500"):
        partly.partly_matched(train_size=1500)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trials": 1}, "trials must be an integer of at least 2; got 1"),
        ({"train_size": 5}, "train_size must be an integer of at least 20; got 5"),
        ({"kernel": "cosine"}, r"kernel must be one of \['linear', 'rbf'\]; got 'cosine'"),
        ({"shares": (0.1, 0.5)}, r"shares must be numbers from 0 to 1, the first of them 0; got \(0\.1, 0\.5\)"),
        ({"shares": 0.5}, "shares must be numbers from 0 to 1"),
        ({"shares": (0, 2)}, "shares must be numbers from 0 to 1"),
    ],
)
def test_bad_settings_of_partly_matched(settings, message):
    with pytest.raises(ValueError, match=message):
        partly.partly_matched(**settings)
