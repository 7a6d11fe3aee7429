"""Base models of the multi-label ensembles: their samples and subspaces, their fit, and their outputs.

A base model is learned on a balanced bootstrap sample of the rows and a random subspace of the columns (S2 Alg. 1 steps
1b to 1e). Its columns are read as dense rows, whatever the table is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from fuselearn.classifiers.adapter import check_classifier, gives_values, keep_sklearn_config, seeded_clone
from fuselearn.multilabel.rbf_svc import RbfSVC, kernel_gamma, machine_values
from fuselearn.numeric.execution import Scratch
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import BoolArray, Classifier, FloatArray, IntArray, TableLike

ROUNDING = 1e-10
"""An output below it is rounding: outputs are up to 1."""
CHUNK_ROWS = 4096
"""Rows of a subspace that are made dense together."""


def base_estimator(estimator: Classifier | None) -> Classifier:
    """Return the classifier that base models are clones of, checked to have real-valued outputs."""
    if estimator is None:
        return RbfSVC(max_vectors="auto")
    check_classifier(estimator)
    if not gives_values(estimator):
        raise TypeError(
            f"estimator must have predict_proba or decision_function, since base models give real-valued outputs; got "
            f"{estimator!r}, which has neither."
        )
    return estimator


class SubspaceTable:
    """A table of which each base model reads a few columns.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_rows, n_features)
        A sparse table is never made dense as a whole.
    """

    def __init__(self, X: TableLike) -> None:
        self.is_sparse: bool = issparse(X)
        self._X = X.tocsc() if self.is_sparse else X

    def __len__(self) -> int:
        return self._X.shape[0]

    @property
    def n_chunks(self) -> int:
        """Number of chunks that the rows are read in."""
        return -(-len(self) // CHUNK_ROWS)

    def rows(self, rows: IntArray) -> "SubspaceTable":
        """Return the table of a subset of the rows."""
        return SubspaceTable(self._X[rows])

    def sample(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return a subset of the rows and columns, as an array of shape (n_rows, n_columns)."""
        if self.is_sparse:
            return self._X[:, columns].tocsr()[rows].toarray()
        return self._X[np.ix_(rows, columns)]

    def columns(self, columns: IntArray, *, sparse: bool = False) -> Any:
        """Return all rows of a subset of the columns, dense unless `sparse` and the table is."""
        if not self.is_sparse:
            return np.take(self._X, columns, axis=1)
        return self._X[:, columns].tocsr() if sparse else self._X[:, columns].toarray()

    def chunks(self, columns: IntArray, *, sparse: bool = False) -> Callable[[int], tuple[slice, Any]]:
        """Return a function of a chunk's number that returns its rows, as a slice and as values of the columns."""
        table = self._X[:, columns].tocsr() if self.is_sparse else self._X

        def chunk(number: int) -> tuple[slice, Any]:
            rows = _rows_of_chunk(number, len(self))
            if not self.is_sparse:
                return rows, np.take(table[rows], columns, axis=1)
            return rows, table[rows] if sparse else table[rows].toarray()

        return chunk

    def chunk_tables(self) -> Callable[[int], tuple[slice, "SubspaceTable"]]:
        """Return a function of a chunk's number that returns its rows, as a slice and as a table."""
        table = self._X.tocsr() if self.is_sparse else self._X

        def chunk(number: int) -> tuple[slice, SubspaceTable]:
            rows = _rows_of_chunk(number, len(self))
            return rows, SubspaceTable(table[rows])

        return chunk


@dataclass(frozen=True)
class Sample:
    """Rows and columns of a base model.

    Attributes
    ----------
    positives, negatives : intp ndarray
        Row numbers, drawn with replacement; as many of either.
    columns : intp ndarray
        Column numbers, drawn without replacement, in ascending order.
    """

    positives: IntArray
    negatives: IntArray
    columns: IntArray


@dataclass(frozen=True)
class Candidate:
    """A base model with its outputs on the training rows.

    Attributes
    ----------
    model : fitted classifier
    columns : intp ndarray
        Columns that it reads.
    source_label : int
        Label that it was learned on.
    outputs : ndarray of shape (n_rows,)
    """

    model: Classifier
    columns: IntArray
    source_label: int
    outputs: FloatArray


@dataclass(frozen=True)
class Trainer:
    """Trains candidates. One is determined by its slot, its generation and its label, not by when it is trained.

    Attributes
    ----------
    estimator : classifier
    table : SubspaceTable
    signs : int8 ndarray of shape (n_labels, n_rows)
    view_columns : list of intp ndarray
        A base model draws its columns inside one view. The views take turns: that of a slot's first candidate is the
        slot's number, and each further generation goes one on.
    data_ratio, feature_ratio : float
    seed : int
    scratch : Scratch
    """

    estimator: Classifier
    table: SubspaceTable
    signs: IntArray
    view_columns: list[IntArray]
    data_ratio: float
    feature_ratio: float
    seed: int
    scratch: Scratch

    def sample(self, slot: int, generation: int, label: int) -> tuple[Sample, np.random.Generator]:
        """Return the sample of a candidate, and the generator for its further draws."""
        generator = np.random.default_rng([self.seed, slot, generation])
        columns = self.view_columns[(slot + generation) % len(self.view_columns)]
        has_label = self.signs[label] > 0
        return draw_sample(generator, has_label, self.data_ratio, columns, self.feature_ratio), generator

    def train(self, slot: int, generation: int, label: int, threads: Threads = SERIAL) -> Candidate:
        """Train the candidate of a slot's generation on a label."""
        sample, generator = self.sample(slot, generation, label)
        model = fit_sample(self.estimator, self.table, sample, generator, self.scratch)
        outputs = np.empty(len(self.table))
        fill_outputs(model, self.table, sample.columns, outputs, threads=threads, single=True, scratch=self.scratch)
        return Candidate(model, sample.columns, label, outputs)


def train_all(trainer: Trainer, requests: Sequence[tuple[int, int, int]], threads: Threads) -> list[Candidate]:
    """Train candidates of (slot, generation, label) side by side; a single one divides its rows among the threads."""
    if len(requests) == 1:
        return [trainer.train(*requests[0], threads)]

    @keep_sklearn_config
    def train(request: tuple[int, int, int]) -> Candidate:
        return trainer.train(*request)

    return threads.map(train, requests)


def draw_sample(
    generator: np.random.Generator, has_label: BoolArray, data_ratio: float, columns: IntArray, feature_ratio: float
) -> Sample:
    """Draw N·r_d/2 rows with the label, as many without it, and M·r_f columns, rounded and at least 1 each."""
    n_drawn = max(1, round(len(has_label) * data_ratio / 2))
    n_columns = max(1, round(len(columns) * feature_ratio))
    positives, negatives = np.flatnonzero(has_label), np.flatnonzero(~has_label)
    return Sample(
        positives[generator.integers(len(positives), size=n_drawn)],
        negatives[generator.integers(len(negatives), size=n_drawn)],
        np.sort(generator.choice(columns, n_columns, replace=False)),
    )


def fit_sample(
    estimator: Classifier, table: SubspaceTable, sample: Sample, generator: np.random.Generator, scratch: Scratch
) -> Classifier:
    """Fit a clone of the estimator on a sample (S2 Alg. 1 step 1e); its classes are 0 and 1."""
    model = seeded_clone(estimator, generator, only_unset=False)
    drawn = np.concatenate([sample.positives, sample.negatives])
    if isinstance(model, RbfSVC):
        # A row drawn c times has the optimum of a row whose bound is c times as large.
        rows, counts = np.unique(drawn, return_counts=True)
        signs = np.where(np.isin(rows, sample.positives), 1.0, -1.0)
        values = np.ascontiguousarray(table.sample(rows, sample.columns), dtype=np.float64)
        return model.fit_signs(values, signs, counts.astype(np.float64), scratch)
    return fit_rows(model, table.sample(drawn, sample.columns), np.arange(len(drawn)) < len(sample.positives))


def fit_rows(model: Any, values: TableLike, has_label: BoolArray) -> Classifier:
    """Fit an unfitted model on rows with and without a label."""
    if _is_rbf_machine(model) and isinstance(model.gamma, str) and not issparse(values):
        # As a number, since our product needs it too; it is the one that scikit-learn would take.
        model.set_params(gamma=kernel_gamma(model.gamma, values))
    return model.fit(values, has_label.astype(np.int64))


def scores(model: Any, values: TableLike, *, single: bool = False, scratch: Scratch | None = None) -> FloatArray:
    """Return a model's scores of rows: 2p - 1 where it has probabilities, else its decision values.

    `single` lets a kernel machine of ours be off by 1e-6 or so for twice the speed. Sparse rows are for a model that
    was fitted on such.
    """
    if not issparse(values) and (isinstance(model, RbfSVC) or _is_rbf_machine(model)):
        gamma = model.gamma_ if isinstance(model, RbfSVC) else model.gamma
        result = machine_values(model, np.asarray(values, dtype=np.float64), gamma, single=single, scratch=scratch)
        result = _without_rounding(result)
    elif hasattr(model, "predict_proba"):
        result = np.asarray(model.predict_proba(values), dtype=np.float64)
        if result.ndim == 2 and result.shape[1] == 2:
            result = _without_rounding(2.0 * result[:, 1] - 1.0)
    else:
        result = _without_rounding(np.asarray(model.decision_function(values), dtype=np.float64))
    n_rows = values.shape[0]
    if result.shape != (n_rows,) or not np.isfinite(result).all():
        raise ValueError(
            f"estimator must give each of {n_rows} rows a finite number; {type(model).__name__} gave an array of "
            f"shape {result.shape}{'' if np.isfinite(result).all() else ' with NaN or infinity in it'}."
        )
    return result


def outputs(
    model: Classifier, values: TableLike, *, single: bool = False, scratch: Scratch | None = None
) -> FloatArray:
    """Return h of each row, in [-1, 1] (S2 section 2 asks for |h| ≤ 1)."""
    return np.clip(scores(model, values, single=single, scratch=scratch), -1.0, 1.0)


def fill_outputs(
    model: Classifier,
    table: SubspaceTable,
    columns: IntArray,
    out: FloatArray,
    *,
    threads: Threads = SERIAL,
    single: bool = False,
    scratch: Scratch | None = None,
) -> None:
    """Write h of every row of a table into `out`; the result does not depend on the threads."""
    chunk = table.chunks(columns)

    @keep_sklearn_config
    def work(first: int, last: int) -> None:
        for number in range(first, last):
            rows, values = chunk(number)
            out[rows] = outputs(model, values, single=single, scratch=scratch)

    threads.share(table.n_chunks, work)


def model_size(model: Any, n_features: int) -> int | None:
    """Count the numbers that a model keeps: support vectors × features (S2 section 6.2), nodes, or coefficients.

    None is for a model that has none of these.
    """
    if isinstance(model, Pipeline):
        return model_size(model[-1], n_features)
    if hasattr(model, "support_vectors_"):
        return model.support_vectors_.shape[0] * n_features
    if hasattr(model, "tree_"):
        return int(model.tree_.node_count)
    if hasattr(model, "coef_"):
        return int(np.size(model.coef_))
    return None


def _rows_of_chunk(number: int, n_rows: int) -> slice:
    """Return the rows of a chunk."""
    return slice(number * CHUNK_ROWS, min((number + 1) * CHUNK_ROWS, n_rows))


def _without_rounding(values: FloatArray) -> FloatArray:
    """Set to 0 what rounding leaves of nothing: a Newton step would make it as large as any other output."""
    values[np.abs(values) < ROUNDING] = 0.0
    return values


def _is_rbf_machine(model: Any) -> bool:
    """Return whether it is scikit-learn's SVC with nothing that our product would miss."""
    return type(model) is SVC and model.kernel == "rbf" and not hasattr(model, "predict_proba")
