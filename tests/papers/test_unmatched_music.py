"""S4's unmatched music, on the songs of CAL500."""

import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.papers.unmatched_music import S4_TEST, TAGS, unmatched_music


def test_music(real_data):
    real_data("cal500")
    result = unmatched_music(trials=2)
    assert result.test.shape == (2, 2, len(result.fusions))
    # S4 §4.3: 339 and 160 of 502 songs have the tags.
    assert_allclose(result.majority, [339 / 502, 342 / 502])
    assert result.fusions[-1] == "average of single views"
    singles = [result.fusions.index(name) for name in ("mfcc alone", "spectral alone")]
    assert_allclose(result.test[..., -1], result.test[..., singles].mean(axis=-1))
    rows = {(row["tag"], row["fusion"]): row for row in result.table().records()}
    for tag, published in S4_TEST.items():
        for fusion, (mean, _) in published.items():
            assert rows[tag, fusion]["S4 test"] == mean
    with parallel_config(backend="threading"):  # processes take seconds to start
        parallel = unmatched_music(TAGS[:1], trials=2, n_jobs=2)
    assert_array_equal(parallel.test, result.test[:1])
    assert_array_equal(parallel.train, result.train[:1])
    with pytest.raises(ValueError, match=r"tags must be names of labels of cal500, .*; got \['Jazz hands'\]"):
        unmatched_music(["Jazz hands"])


def test_bad_settings_of_music():
    with pytest.raises(ValueError, match="trials must be an integer of at least 1; got 0"):
        unmatched_music(trials=0)
