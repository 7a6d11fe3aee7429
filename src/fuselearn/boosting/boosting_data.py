"""Training data of a boosting run: in memory, on a GPU, or in partitions that this process may never see."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fuselearn.backends.local import LocalRows
from fuselearn.backends.partitioned.partitioned_data import (
    BoostingEstimator,
    PartitionedData,
    open_source,
    read_partitioned_data,
)
from fuselearn.backends.protocol import Arm, Rows
from fuselearn.boosting.rounds import OUT_OF_BAG, Trace
from fuselearn.data import TrainingData, View, fit_transformer, read_training_data, transformed
from fuselearn.data.training_data import IN_MEMORY, TableReader
from fuselearn.data.view_table import PARTITIONED, RowLocation, row_location, to_host
from fuselearn.learners.protocol import Learner
from fuselearn.numeric.exact_sums import fingerprint, joined
from fuselearn.numeric.threads import Threads
from fuselearn.typing import ArrayLike, IntArray, TableLike, Transformer

if TYPE_CHECKING:
    from fuselearn.backends.gpu.gpu_rows import GpuRows


@dataclass(frozen=True)
class BoostingData(TrainingData):
    """Rows that are all in one place: this process or a GPU. Rows of weight 0 have no view.

    Attributes
    ----------
    location : {"local", "gpu"}
        Where the rows are.
    """

    location: RowLocation

    @property
    def one_label_column(self) -> bool:
        """True if all views have the same labels."""
        return not self.has_view_labels

    @property
    def equal_weights(self) -> bool:
        """True if all rows have the same weight."""
        return bool(np.ptp(self.weights) == 0)

    def fingerprint(self) -> dict[str, int | bool | str]:
        """Return the rows, their labels and weights in a few words, by which other data are recognised."""
        view = self.blocks.views[0]
        table = replace(view, columns=np.arange(view.table.shape[1]), rows=None)
        content = joined([(len(block), fingerprint(block)) for _, _, block in table.blocks()])
        codes = self._codes_of_views()[:1] if self.one_label_column else self._codes_of_views()
        return {
            "rows": len(table),
            "kind of numbers": str(view.table.dtype),
            "view_labels": not self.one_label_column,
            "content of X": f"{content:016x}",
            "labels": f"{fingerprint(np.column_stack(codes)):016x}",
            "sample_weight": f"{fingerprint(self.weights[:, None]):016x}",
        }

    def check_learners(self, learners: Sequence[Sequence[Learner]]) -> None:
        """Refuse learners that these rows cannot be fitted with; in memory every learner can be."""
        if self.location == "gpu":
            from fuselearn.backends.gpu.gpu_rows import check_learner

            for view_learners in learners:
                for learner in view_learners:
                    check_learner(learner)

    def fit_transformers(self, transformers: Sequence[Transformer | None]) -> list[Transformer | None]:
        """Return the transformers of the views, fitted on the rows that have them; None where a view has none."""
        present = self.blocks.present
        return [
            None
            if transformer is None  # not its truth: an ensemble of transformers has no length before it is fitted
            else fit_transformer(view, transformer, self.classes[codes[present[:, number]]])
            for number, (view, transformer, codes) in enumerate(
                zip(self.blocks.views, transformers, self._codes_of_views())
            )
        ]

    def views(self, preprocessors: Sequence[Transformer | None]) -> list[View]:
        """Return the views, transformed."""
        return [
            view if preprocessor is None else transformed(view, preprocessor)
            for view, preprocessor in zip(self.blocks.views, preprocessors)
        ]

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
        yield _rows_type(self.location)(
            _checked_arms(views, learners, self._codes_of_views()),
            self.weights,
            len(self.classes),
            threads=threads,
            seed=trace.seed,
            plans=trace.plans,
            shared=shared,
            resample=trace.settings.resample,
            out_of_bag=trace.settings.error == OUT_OF_BAG,
        )

    def _codes_of_views(self) -> list[IntArray]:
        """Return a contiguous column of codes per view, the same array for all views that share their labels."""
        # Codes of absent views are never read. They are 0, as in the fingerprints of logs.
        codes = np.maximum(self.codes, 0)
        if codes.shape[1] == 1:
            return [np.ascontiguousarray(codes[:, 0])] * len(self.names)
        return [np.ascontiguousarray(column) for column in codes.T]


RunData: TypeAlias = BoostingData | PartitionedData


def read_boosting_data(
    model: BoostingEstimator,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    view_labels: ArrayLike,
    *,
    reset: bool,
) -> RunData:
    """Check the arguments of `fit` and resolve the views of a model, which is not changed.

    With `reset`, the columns of `X` may differ from those that the model was fitted on.
    """
    location = row_location(X)
    if location in PARTITIONED:
        source = open_source(location, X, y, sample_weight, view_labels)
        return read_partitioned_data(model, source, reset=reset)
    reader = IN_MEMORY
    if location == "gpu":
        from fuselearn.backends.gpu.gpu_table import gpu_view_blocks, labels_to_host, read_gpu_table

        reader = TableReader(read_gpu_table, labels_to_host, gpu_view_blocks)
    else:
        # Labels of rows in memory may be on a GPU all the same.
        y, sample_weight, view_labels = map(to_host, (y, sample_weight, view_labels))
    data = read_training_data(
        model, X, y, sample_weight, view_labels, reset=reset, reader=reader, largest_weight_is_one=True
    )
    return BoostingData(**vars(data), location=location)


def _rows_type(location: RowLocation) -> "type[LocalRows] | type[GpuRows]":
    """Return the class of rows that are all in one place."""
    if location == "gpu":
        from fuselearn.backends.gpu.gpu_rows import GpuRows

        return GpuRows
    return LocalRows


def _checked_arms(views: Sequence[View], learners: Sequence[Sequence[Learner]], codes: Sequence[IntArray]) -> list[Arm]:
    """Return the arms, view by view, whose learners take the rows of their view; `codes` are by view."""
    arms = []
    for number, view in enumerate(views):
        for learner in learners[number]:
            if learner.needs_rows:
                learner.check_rows(view)
            arms.append(Arm(view, number, learner, codes[number]))
    return arms
