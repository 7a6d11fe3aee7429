"""Training data of a boosting run: in memory, on a GPU, or in partitions that this process may never see."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from fuselearn.backends.partitioned.partitioned_data import BoostingEstimator, PartitionedData, read_partitioned_data
from fuselearn.backends.protocol import (
    RowLocation,
    Rows,
    check_installed,
    make_arms,
    open_row_source,
    row_location,
    rows_class,
    to_host,
)
from fuselearn.boosting.trace import Trace
from fuselearn.data import TrainingData, View, fit_transformer, read_training_data, transformed
from fuselearn.data.training_data import IN_MEMORY, TableReader
from fuselearn.learners.protocol import Learner
from fuselearn.numeric.exact_sums import fingerprint, joined
from fuselearn.numeric.execution import Threads
from fuselearn.typing import ArrayLike, FloatArray, IntArray, TableLike, Transformer


class BoostingData:
    """Rows that are all in one place: this process or a GPU.

    Parameters
    ----------
    data : TrainingData
        The rows as they were read. Rows of weight 0 have no view.
    location : {"local", "gpu"}
        Where the rows are.
    """

    def __init__(self, data: TrainingData, location: RowLocation) -> None:
        self.names, self.columns, self.classes, self.features = data.names, data.columns, data.classes, data.features
        self.one_label_column = not data.has_view_labels
        # Sums of very large weights overflow, and those of very small ones vanish.
        self._data = replace(data, weights=data.weights / data.weights.max())
        self._location = location
        # Codes of absent views are never read. They are 0, as in the fingerprints of logs.
        self._codes = _columns(np.maximum(data.codes, 0), len(self.names))

    @property
    def n_counted(self) -> int:
        """Number of rows with weight."""
        return int(np.count_nonzero(self._data.weights))

    @property
    def equal_weights(self) -> bool:
        """Whether all rows have the same weight."""
        return bool(np.ptp(self._data.weights) == 0)

    def class_prior(self) -> FloatArray:
        """Return the weight of each class, with sum 1."""
        return self._data.class_prior()

    def fingerprint(self) -> dict[str, int | bool | str]:
        """Return the rows, their labels and weights in a few words, by which other data are recognised."""
        view = self._data.blocks.views[0]
        table = replace(view, columns=np.arange(view.table.shape[1]), rows=None)
        content = joined([(len(block), fingerprint(block)) for _, _, block in table.blocks()])
        codes = self._codes[:1] if self.one_label_column else self._codes
        return {
            "rows": len(table),
            "kind of numbers": str(getattr(view.table, "kind", None) or view.table.dtype),
            "view_labels": not self.one_label_column,
            "content of X": f"{content:016x}",
            "labels": f"{fingerprint(np.column_stack(codes)):016x}",
            "sample_weight": f"{fingerprint(self._data.weights[:, None]):016x}",
        }

    def check_learners(self, learners: Sequence[Sequence[Learner]]) -> None:
        """Refuse learners that these rows cannot be fitted with; in memory every learner can be."""
        if self._location == "gpu":
            from fuselearn.backends.gpu.gpu_rows import check_learner

            for view_learners in learners:
                for learner in view_learners:
                    check_learner(learner)

    def fit_transformers(self, transformers: Sequence[Transformer | None]) -> list[Transformer | None]:
        """Return the transformers of the views, fitted on the rows that have them; None where a view has none."""
        present = self._data.blocks.present
        return [
            fit_transformer(view, transformer, self.classes[codes[present[:, number]]])
            for number, (view, transformer, codes) in enumerate(zip(self._data.blocks, transformers, self._codes))
        ]

    def views(self, preprocessors: Sequence[Transformer | None]) -> list[View]:
        """Return the views, transformed."""
        return [transformed(view, fitted) for view, fitted in zip(self._data.blocks, preprocessors)]

    @contextmanager
    def rows(
        self,
        views: Sequence[View],
        learners: Sequence[Sequence[Learner]],
        trace: Trace,
        *,
        threads: Threads,
        shared: bool,
    ) -> Iterator[Rows]:
        """Yield the rows as a run uses them, at their starting weights.

        Parameters
        ----------
        views : list of View
            As `views` returned them.
        learners : list of list of Learner
            Learners of each view.
        trace : Trace
            Its plans are used, and new ones are added to them.
        threads : Threads
            Threads that work on the rows.
        shared : bool
            Whether all arms share their weights.
        """
        yield rows_class(self._location)(
            make_arms(views, learners, self._codes),
            self._data.weights,
            len(self.classes),
            threads=threads,
            seed=trace.seed,
            plans=trace.plans,
            shared=shared,
            resample=trace.settings.resample,
            out_of_bag=trace.settings.out_of_bag,
        )


def read_boosting_data(
    model: BoostingEstimator,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    view_labels: ArrayLike,
    *,
    reset: bool,
) -> BoostingData | PartitionedData:
    """Check the arguments of `fit` and resolve the views of a model, which is not changed.

    With `reset`, the columns of `X` may differ from those that the model was fitted on.
    """
    location = row_location(X)
    check_installed(location)
    if location in ("dask", "files"):
        return read_partitioned_data(model, open_row_source(location, X, y, sample_weight, view_labels), reset=reset)
    reader = IN_MEMORY
    if location == "gpu":
        from fuselearn.backends.gpu.gpu_table import gpu_view_blocks, labels_to_host, read_gpu_table

        reader = TableReader(read_gpu_table, labels_to_host, gpu_view_blocks)
    else:
        # Labels of rows in memory may be on a GPU all the same.
        y, sample_weight, view_labels = map(to_host, (y, sample_weight, view_labels))
    data = read_training_data(model, X, y, sample_weight, view_labels, reset=reset, reader=reader)
    return BoostingData(data, location)


def _columns(codes: IntArray, n_views: int) -> list[IntArray]:
    """Return a contiguous column of codes per view, the same array for all views that share their labels."""
    if codes.shape[1] == 1:
        return [np.ascontiguousarray(codes[:, 0])] * n_views
    return [np.ascontiguousarray(column) for column in codes.T]
