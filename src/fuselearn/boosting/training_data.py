"""The user's training data, checked and taken apart."""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from fuselearn.backends.gpu.arrays import on_host
from fuselearn.backends.partitioned.training_data import read_parted_rows
from fuselearn.backends.protocol import check_installed, kind_of, make_arms, rows_of, source_of
from fuselearn.data import (
    ViewBlocks,
    check_presence,
    check_sample_weight,
    check_view_labels,
    encode_labels,
    encode_view_labels,
    fit_transformer,
    read_table,
    resolve_views,
    transformed,
)
from fuselearn.numeric.exact_sums import fingerprint, joined


@dataclass(frozen=True)
class TrainingRows:
    """The rows and what is said of them.

    Attributes
    ----------
    blocks : ViewBlocks
        Rows of weight 0 have no view.
    columns : list of intp ndarray
    classes : ndarray of shape (n_classes,)
    codes : list of int32 ndarray of shape (n_rows,)
        Class of each row by each view's own labels; the same array for all views that share them.
    weights : ndarray of shape (n_rows,)
    one_label_column : bool
        Whether all views have the same labels.
    features : dict
        ``n_features_in_`` and, for a data frame, ``feature_names_in_``.
    kind : {"local", "device"}
        Where the rows are.
    """

    blocks: ViewBlocks
    columns: list
    classes: np.ndarray
    codes: list
    weights: np.ndarray
    one_label_column: bool
    features: dict
    kind: str = "local"

    @property
    def names(self):
        return [view.name for view in self.blocks]

    @property
    def n_counted(self):
        """Number of rows with weight."""
        return int(np.count_nonzero(self.weights))

    @property
    def equal_weights(self):
        """Whether all rows count alike."""
        return bool(np.ptp(self.weights) == 0)

    def fingerprint(self):
        """The rows, their labels and weights in a few words, by which other data are told apart."""
        view = self.blocks.views[0]
        table = replace(view, columns=np.arange(view.table.shape[1]), rows=None)
        content = joined([(len(block), fingerprint(block)) for _, _, block in table.blocks()])
        codes = self.codes[:1] if self.one_label_column else self.codes
        return {
            "rows": len(table),
            "kind of numbers": view.table.kind if self.kind == "device" else str(view.table.dtype),
            "view_labels": not self.one_label_column,
            "content of X": f"{content:016x}",
            "labels": f"{fingerprint(np.column_stack(codes)):016x}",
            "sample_weight": f"{fingerprint(self.weights[:, None]):016x}",
        }

    def check_learners(self, learners, settings):
        """Refuse learners that these rows cannot be fitted with; on the host every learner can be."""
        if self.kind == "device":
            from fuselearn.backends.gpu.rows import check_learner

            for learner in (learner for several in learners for learner in several):
                check_learner(learner)

    def fit_transformers(self, transformers):
        """Transformers of the views, fitted on the rows that have them; None where a view has none."""
        return [
            fit_transformer(view, transformer, self.labels_of(number))
            for number, (view, transformer) in enumerate(zip(self.blocks, transformers))
        ]

    def views(self, preprocessors):
        """The views, transformed."""
        return [transformed(view, fitted) for view, fitted in zip(self.blocks, preprocessors)]

    @contextmanager
    def rows(self, views, learners, trace, *, threads, shared):
        """The rows as a run uses them, at their starting weights.

        Parameters
        ----------
        views : list
            As `views` returned them.
        learners : list of list of learner
            Of each view.
        trace : Trace
            Its plans are used, and new ones are added to them.
        threads : Threads
        shared : bool
            Whether all arms share their weights.
        """
        yield rows_of(self.kind)(
            make_arms(views, learners, self.codes),
            self.weights,
            len(self.classes),
            threads=threads,
            seed=trace.seed,
            plans=trace.plans,
            shared=shared,
            resample=trace.settings.resample,
            out_of_bag=trace.settings.out_of_bag,
        )

    def labels_of(self, view_number):
        """Labels of the rows in which a view is present."""
        return self.classes[self.codes[view_number][self.blocks.present[:, view_number]]]

    def class_prior(self):
        """Weight of each class; a row on which its views disagree counts in parts."""
        present = self.blocks.present
        shares = self.weights / np.maximum(present.sum(axis=1), 1)
        prior = sum(
            np.bincount(codes[here], shares[here], minlength=len(self.classes))
            for codes, here in zip(self.codes, present.T)
        )
        return prior / prior.sum()


def read_training_rows(model, X, y, sample_weight, view_labels, *, reset):
    """Check `fit`'s arguments and resolve the views of `model`.

    Parameters
    ----------
    model : estimator
        Its `views` are resolved. It is not changed.
    reset : bool
        Whether the columns of `X` may differ from those that the model was fitted on.
    """
    kind = kind_of(X)
    check_installed(kind)
    if kind in ("dask", "files"):
        return read_parted_rows(model, source_of(kind, X, y, sample_weight, view_labels), reset=reset)
    if kind == "device":
        from fuselearn.backends.gpu.table import device_blocks, labels_on_host, read_device_table

        blocks_of = device_blocks
        table, y, features = read_device_table(model, X, y, reset=reset)
        sample_weight = labels_on_host(sample_weight, table, "sample_weight")
        view_labels = labels_on_host(view_labels, table, "view_labels")
    else:
        blocks_of = ViewBlocks.of
        # What is said of rows on the host may be on a device all the same: it is read here.
        y, sample_weight, view_labels = map(on_host, (y, sample_weight, view_labels))
        table, y, features = read_table(model, X, y, reset=reset)
    names, columns = resolve_views(model.views, X, table.shape[1])
    classes, codes = encode_labels(y)
    weights = check_sample_weight(sample_weight, table)
    # Sums of very large weights overflow, and those of very small ones vanish.
    weights = np.ones(len(table)) if weights is None else weights / weights.max()
    if view_labels is not None:
        view_labels = check_view_labels(view_labels, len(table), names)
    counted = weights > 0
    blocks = blocks_of(table, names, columns, None if counted.all() else counted)
    check_presence(blocks.present, names, counted)
    if view_labels is None:
        if len(np.unique(codes[counted])) < 2:
            raise ValueError("The rows with a positive sample_weight are all of one class; y needs two.")
        codes = [codes] * len(names)
    else:
        codes = encode_view_labels(view_labels, classes, names, blocks.present)
    return TrainingRows(blocks, columns, classes, codes, weights, view_labels is None, features, kind)
