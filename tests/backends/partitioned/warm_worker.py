"""Fits a small model in partitions when it is imported.

Workers of the tests are forked from a process that has imported this: so all compiled loops are loaded, and a worker
that replaces another can work at once.
"""

import numpy as np

from fuselearn import ShareBoostClassifier
from fuselearn.backends.partitioned.partitioned_data import read_partitioned_data
from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.backends.partitioned.row_source import RawPartition, RowSource
from fuselearn.boosting import base
from tests.backends.partitioned.partition_problems import NUMBERED, make_rows


class MemorySource(RowSource):
    """Rows in memory, as one partition."""

    description = "rows in memory"
    column_names = None
    has_view_labels = False

    def __init__(self, X, y):
        self.n_features, self.empty_table = X.shape[1], X[:0]
        self._partition = RawPartition.of("partition 0", X, y)

    def check_view_labels(self, names):
        pass

    def map(self, function, *arguments, each=None):
        return [function(self._partition, *arguments, *(() if each is None else each))]

    def load_partitions(self, recipe, threads):
        return LocalPartitions([recipe.build(self._partition)])


def fit(learner, X, y):
    """Fit a model on one partition in this process."""
    model = ShareBoostClassifier(learner, views=NUMBERED, n_estimators=2, random_state=0)
    reader, base.read_boosting_data = base.read_boosting_data, read_from_memory
    try:
        return model.fit(X, y)
    finally:
        base.read_boosting_data = reader


def read_from_memory(model, X, y, sample_weight, view_labels, *, reset):
    """Return the training data of a fit as partitions; see `fuselearn.boosting.boosting_data.read_boosting_data`."""
    return read_partitioned_data(model, MemorySource(X, y), reset=reset)


X, y, _, _ = make_rows(200)
for learner in ("stump", "gaussian_nb"):
    fit(learner, np.ascontiguousarray(X), y)
