"""A fit with a checkpoint in a process that kills itself at a given point, and leaves nothing but its log."""

import sys
from unittest import mock

import numpy as np

from fuselearn import FusionRegressor
from fuselearn.fusion.fusion_log import FusionLog
from fuselearn.persistence import atomic_write
from tests.fusion.partition_problems import FEW_ROUNDS, problem
from tests.killed_process import killed_at

POINTS = {"after a fit": (FusionLog, "_add"), "while the log is written": (atomic_write.os, "replace")}
"""Functions after or within which the process is killed."""


def fit(kind, log=None):
    """Return a model of few or of many rows, or one of numbers, fitted on rows that are always the same."""
    model, X, y, beside = problem("view labels")
    if kind == "numbers":
        target = np.clip(np.nan_to_num(X[:, 0]), -3, 3)
        return FusionRegressor(views=model.views, learners=["linear", "trees"], random_state=0).fit(
            X, target, checkpoint=log
        )
    # Both are made few or many by their size alone: this process is a new one.
    with (
        mock.patch("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 400 if kind == "many rows" else 5000),
        mock.patch("fuselearn.fusion.local_fusion.boosting_settings", return_value=FEW_ROUNDS),
        mock.patch("fuselearn.fusion.arm_fitting.LANDMARKS", 20),
    ):
        if kind in ("few rows", "few fits"):
            model.set_params(learners=["linear", "trees"], max_fits=8 if kind == "few fits" else None)
            X, y, beside = X[:150], y[:150], {name: values[:150] for name, values in beside.items()}
        return model.fit(X, y, **beside, checkpoint=log)


def main():
    """Fit, and kill this process when the function of the point was called so often."""
    kind, log, point, count = sys.argv[1:]
    with killed_at(*POINTS[point], int(count), returned=point == "after a fit"):
        fit(kind, log)


if __name__ == "__main__":
    main()
