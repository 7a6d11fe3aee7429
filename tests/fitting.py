"""Fit a learner on its own, as a round does."""

import numpy as np

from fuselearn.data import View
from fuselearn.learners.protocol import fit_sums
from fuselearn.numeric.threads import SERIAL


def fit_learner(learner, X, codes, weights, n_classes, threads=SERIAL, seed=0):
    """Hypothesis of a learner on all rows of one view."""
    X = np.asarray(X)
    view = View("view", X, np.arange(X.shape[1]), None)
    learner.check()
    learner.check_rows(view)
    plan = learner.plan(view, np.random.SeedSequence(seed))
    prepared = plan.prepare(view, threads)
    codes = np.asarray(codes, dtype=np.int32)
    weights = np.asarray(weights, dtype=float)
    if learner.needs_rows:
        return learner.fit_rows(
            plan, prepared, codes, weights, n_classes, seed=np.random.SeedSequence(seed), drawn=None
        )
    return fit_sums(learner, plan, prepared, codes, weights, n_classes, threads=threads)
