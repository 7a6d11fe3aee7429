"""Base models: how they are fitted, what they say of a row, how large they are.

What a base model is learned on: a balanced bootstrap sample and a random subspace (S2 Alg. 1 steps 1b to 1d).

The columns of a base model, as dense rows, whatever the table is.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from fuselearn.learners.sklearn_learner import check_classifier
from fuselearn.multilabel.rbf_svc import RbfSVC, kernel_gamma, machine_values
from fuselearn.numeric.execution import SERIAL, Scratch

NOTHING = 1e-10
"""An output below it is rounding: outputs are up to 1. (Machines that are evaluated here know their own rounding.)"""


def base_estimator(estimator):
    """The classifier that base models are clones of, checked: one with real-valued outputs."""
    if estimator is None:
        return RbfSVC()
    check_classifier(estimator)
    if not hasattr(estimator, "predict_proba") and not hasattr(estimator, "decision_function"):
        raise TypeError(
            f"estimator must have predict_proba or decision_function, since base models give real-valued outputs; got "
            f"{estimator!r}, which has neither."
        )
    return estimator


def fit_sample(estimator, table, sample, generator, scratch):
    """Fit a clone of the estimator on a sample (S2 Alg. 1 step 1e); its classes are 0 and 1."""
    model = seeded(clone(estimator), generator)
    drawn = np.concatenate([sample.positives, sample.negatives])
    if isinstance(model, RbfSVC):
        # A row drawn c times has the optimum of a row whose bound is c times as large.
        rows, counts = np.unique(drawn, return_counts=True)
        signs = np.where(np.isin(rows, sample.positives), 1.0, -1.0)
        values = np.ascontiguousarray(table.sample(rows, sample.columns), dtype=np.float64)
        return model.fit_signs(values, signs, counts.astype(np.float64), scratch)
    return fit_rows(model, table.sample(drawn, sample.columns), np.arange(len(drawn)) < len(sample.positives))


def fit_rows(model, values, has_label):
    """Fit an unfitted model on rows with and without a label."""
    if _is_rbf_machine(model) and isinstance(model.gamma, str) and not issparse(values):
        # As a number, since our product needs it too; it is the one that scikit-learn would take.
        model.set_params(gamma=kernel_gamma(model.gamma, values))
    return model.fit(values, has_label.astype(np.int64))


def scores(model, values, *, single=False, scratch=None):
    """What a model says of rows: 2p - 1 where it has probabilities, else its decision values.

    `single` lets a kernel machine of ours be off by 1e-6 or so for twice the speed. Sparse rows are for a model that
    was fitted on such.
    """
    if not issparse(values) and (isinstance(model, RbfSVC) or _is_rbf_machine(model)):
        gamma = model.gamma_ if isinstance(model, RbfSVC) else model.gamma
        said = machine_values(model, np.asarray(values, dtype=np.float64), gamma, single=single, scratch=scratch)
    elif hasattr(model, "predict_proba"):
        said = np.asarray(model.predict_proba(values), dtype=np.float64)
        if said.ndim == 2 and said.shape[1] == 2:
            said = _without_rounding(2.0 * said[:, 1] - 1.0)
    else:
        said = _without_rounding(np.asarray(model.decision_function(values), dtype=np.float64))
    n_rows = values.shape[0]
    if said.shape != (n_rows,) or not np.isfinite(said).all():
        raise ValueError(
            f"estimator must give each of {n_rows} rows a finite number; {type(model).__name__} gave an array of "
            f"shape {said.shape}{'' if np.isfinite(said).all() else ' with NaN or infinity in it'}."
        )
    return said


def outputs(model, values, *, single=False, scratch=None):
    """h of each row, in [-1, 1] (S2 section 2 asks for |h| ≤ 1)."""
    return np.clip(scores(model, values, single=single, scratch=scratch), -1.0, 1.0)


def outputs_of_table(model, table, columns, out, *, threads=SERIAL, single=False, scratch=None):
    """h of every row of a table, into `out`; the result does not depend on the threads."""
    chunk = table.chunks(columns)
    config = get_config()  # scikit-learn keeps it per thread

    def work(first, last):
        with config_context(**config):
            for number in range(first, last):
                rows, values = chunk(number)
                out[rows] = outputs(model, values, single=single, scratch=scratch)

    threads.share(table.n_chunks, work)


def size(model, n_features):
    """Numbers that a model keeps: support vectors × features (S2 section 6.2), tree nodes, or coefficients.

    Returns
    -------
    int, or None for a model that has none of these
    """
    if isinstance(model, Pipeline):
        return size(model[-1], n_features)
    if hasattr(model, "support_vectors_"):
        return model.support_vectors_.shape[0] * n_features
    if hasattr(model, "tree_"):
        return int(model.tree_.node_count)
    if hasattr(model, "coef_"):
        return int(np.size(model.coef_))
    return None


@dataclass(frozen=True)
class Candidate:
    """A base model with its outputs on the training rows.

    Attributes
    ----------
    model : fitted classifier
    columns : intp ndarray
    source_label : int
        Label that it was learned on.
    outputs : ndarray of shape (n_rows,)
    """

    model: object
    columns: np.ndarray
    source_label: int
    outputs: np.ndarray


@dataclass(frozen=True)
class Trainer:
    """Makes candidates. One is determined by its slot, its generation and its label, not by when it is made.

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

    estimator: object
    table: object
    signs: np.ndarray
    view_columns: list
    data_ratio: float
    feature_ratio: float
    seed: int
    scratch: Scratch

    def sample(self, slot, generation, label):
        """The sample of a candidate, and the generator for what else it draws."""
        generator = np.random.default_rng([self.seed, slot, generation])
        columns = self.view_columns[(slot + generation) % len(self.view_columns)]
        has_label = self.signs[label] > 0
        drawn: Sample = draw_sample(generator, has_label, self.data_ratio, columns, self.feature_ratio)
        return drawn, generator

    def train(self, slot, generation, label, threads=SERIAL):
        """The candidate of a slot's generation, learned on a label."""
        sample, generator = self.sample(slot, generation, label)
        model = fit_sample(self.estimator, self.table, sample, generator, self.scratch)
        said = np.empty(len(self.table))
        options = {"threads": threads, "single": True, "scratch": self.scratch}
        outputs_of_table(model, self.table, sample.columns, said, **options)
        return Candidate(model, sample.columns, label, said)


def _without_rounding(said):
    """Values with 0 for what rounding leaves of nothing: a Newton step would make it as large as any other output."""
    said[np.abs(said) < NOTHING] = 0.0
    return said


def _is_rbf_machine(model):
    """Whether it is scikit-learn's SVC with nothing that our product would miss."""
    return type(model) is SVC and model.kernel == "rbf" and not hasattr(model, "predict_proba")


def seeded(model, generator):
    """Give every `random_state` in a model a number of its own."""
    names = sorted(name for name in model.get_params() if name == "random_state" or name.endswith("__random_state"))
    return model.set_params(**{name: int(generator.integers(2**31)) for name in names})


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

    positives: np.ndarray
    negatives: np.ndarray
    columns: np.ndarray


def draw_sample(generator, has_label, data_ratio, columns, feature_ratio):
    """Draw N·r_d/2 rows with the label, as many without it, and M·r_f columns.

    Parameters
    ----------
    generator : numpy.random.Generator
    has_label : bool ndarray of shape (n_rows,)
    data_ratio, feature_ratio : float
        r_d and r_f. Numbers of rows and columns are rounded, and at least 1.
    columns : intp ndarray
        Columns to choose from.

    Returns
    -------
    Sample

    Examples
    --------
    >>> import numpy as np
    >>> has_label = np.arange(20) < 4
    >>> sample = draw_sample(np.random.default_rng(0), has_label, 0.5, np.arange(10), 0.2)
    >>> sample.positives, sample.negatives
    (array([3, 2, 2, 1, 1]), array([ 4,  5,  4,  6, 17]))
    >>> len(sample.columns)
    2
    """
    n_drawn = max(1, round(len(has_label) * data_ratio / 2))
    n_columns = max(1, round(len(columns) * feature_ratio))
    positives, negatives = np.flatnonzero(has_label), np.flatnonzero(~has_label)
    return Sample(
        positives[generator.integers(len(positives), size=n_drawn)],
        negatives[generator.integers(len(negatives), size=n_drawn)],
        np.sort(generator.choice(columns, n_columns, replace=False)),
    )


CHUNK_ROWS = 4096
"""Rows of a subspace that are made dense together."""


class SubspaceTable:
    """A table of which base models read some columns each.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_rows, n_features)
        A sparse table is never made dense as a whole.
    """

    def __init__(self, X):
        self.is_sparse = issparse(X)
        self._X = X.tocsc() if self.is_sparse else X

    def __len__(self):
        return self._X.shape[0]

    @property
    def n_chunks(self):
        return -(-len(self) // CHUNK_ROWS)

    def sample(self, rows, columns):
        """Some rows of some columns, as an array of shape (n_rows, n_columns)."""
        if self.is_sparse:
            return self._X[:, columns].tocsr()[rows].toarray()
        return self._X[np.ix_(rows, columns)]

    def columns(self, columns, *, sparse=False):
        """All rows of some columns, as an array; a sparse table leaves them so if `sparse`."""
        if not self.is_sparse:
            return np.take(self._X, columns, axis=1)
        return self._X[:, columns].tocsr() if sparse else self._X[:, columns].toarray()

    def chunks(self, columns, *, sparse=False):
        """A function of a chunk's number that gives (slice of rows, those rows of the columns); `sparse` as above."""
        table = self._X[:, columns].tocsr() if self.is_sparse else self._X

        def chunk(number):
            rows = _rows_of(number, len(self))
            if not self.is_sparse:
                return rows, np.take(table[rows], columns, axis=1)
            return rows, table[rows] if sparse else table[rows].toarray()

        return chunk

    def chunk_tables(self):
        """A function of a chunk's number that gives (slice of rows, table of those rows)."""
        table = self._X.tocsr() if self.is_sparse else self._X

        def chunk(number):
            rows = _rows_of(number, len(self))
            return rows, SubspaceTable(table[rows])

        return chunk

    def rows(self, rows):
        """The table of some rows."""
        return SubspaceTable(self._X[rows])


def _rows_of(number, n_rows):
    return slice(number * CHUNK_ROWS, min((number + 1) * CHUNK_ROWS, n_rows))
