"""Nine kernels whose objects are not matched."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from fuselearn.papers import many_kernels as study
from fuselearn.papers.verdicts import Effort


def made_up(name):
    """Return three kernels of 60 objects in ten clubs, the first of which tells the clubs."""
    rng = np.random.default_rng(0)
    clubs = np.repeat(np.arange(10), 6)
    centres = rng.normal(size=(10, 4))
    rows = [centres[clubs] + noise * rng.normal(size=(60, 4)) for noise in (0.1, 1.0, 2.0)]
    return Bunch(kernels=np.array([view @ view.T for view in rows]), y=clubs)


def test_every_fusion_has_an_accuracy(monkeypatch):
    monkeypatch.setattr(study, "fetch_views", made_up)
    outcome = study.run(Effort(quick=True))
    assert [finding.claim for finding in outcome.findings] == list(study.CLAIMS.values())
    (table,) = outcome.tables
    assert table.column("fusion") == study.FUSIONS
    assert all(0 <= accuracy <= 100 for accuracy in table.column("test"))
    again = study.many_kernels(trials=2)
    assert_array_equal(again.test, study.many_kernels(trials=2).test)


def test_arguments():
    with pytest.raises(ValueError, match="trials must be"):
        study.many_kernels(trials=0)
