"""What the kernel classifiers share: kernels per view, machines on items, decisions that do without absent views."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn.data import (
    ViewBlocks,
    check_on_host,
    check_presence,
    encode_labels,
    note_features,
    per_view,
    read_table,
    resolve_views,
)
from fuselearn.estimators import PredictsByDecision, check_jobs, check_positive
from fuselearn.kernels.machines import PlacedKernels, fit_machines, problems_of
from fuselearn.kernels.mkl_weights import LEARNT, check_weights
from fuselearn.kernels.view_kernels import ViewKernel
from fuselearn.numeric.votes import one_against_one, prior_votes

CHUNK_ROWS = 2048


@dataclass(frozen=True)
class KernelRows:
    """Training rows, and the kernels of their views.

    Attributes
    ----------
    names : list of str
    columns : list of intp ndarray
    blocks : ViewBlocks
    classes : ndarray of shape (n_classes,)
    codes : int32 ndarray of shape (n_rows,)
    kernels : list of ViewKernel
    grams : list of ndarray
        Kernel matrix of each view, between the rows that have it, divided by `scales`.
    scales : ndarray of shape (n_views,)
    """

    names: list
    columns: list
    blocks: ViewBlocks
    classes: np.ndarray
    codes: np.ndarray
    kernels: list
    grams: list
    scales: np.ndarray

    def objects(self):
        """Number of each row's object in each view, -1 where the view is absent; of shape (n_rows, n_views)."""
        present = self.blocks.present
        return np.where(present, np.cumsum(present, axis=0) - 1, -1)

    def rows_of(self, view):
        """Rows that have a view."""
        return np.flatnonzero(self.blocks.present[:, view])


class BaseKernelFusion(PredictsByDecision, ClassifierMixin, BaseEstimator):
    """Template of a support vector machine on kernels of several views.

    A subclass says what the machine is trained on (`_items`), how kernels are brought to one scale (`_scale`), and how
    much each of them counts (`_weigh`).
    """

    _trained_on_whole_objects = True
    """Whether an item has as many views as a test object, so that a sum over fewer has to be scaled up."""

    def fit(self, X, y):
        """Fit the machine.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        self._check_settings()
        table, y, features = read_table(self, X, y, reset=True)
        names, columns = resolve_views(self.views, X, table.shape[1])
        weights = check_weights(getattr(self, "weights", "uniform"), names)
        chosen = per_view("kernel", self.kernel, names, complete=True)
        classes, codes = encode_labels(y)
        blocks = ViewBlocks.of(table, names, columns)
        check_presence(blocks.present, names, np.ones(len(table), dtype=bool))
        for view in blocks:
            _check_whole(view)
        kernels = [ViewKernel.fitted(view.name, kernel, view.array()) for view, kernel in zip(blocks, chosen)]
        self._check_rows(names, blocks, classes, codes)
        grams = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(kernel.gram)(view.array()) for kernel, view in zip(kernels, blocks)
        )
        scales = np.array([self._scale(gram) for gram in grams])
        for gram, scale in zip(grams, scales):
            gram /= scale
        rows = KernelRows(names, columns, blocks, classes, codes, kernels, grams, scales)
        places, item_codes, item_weights, seen = self._items(rows)
        placed, problems = PlacedKernels(grams, places), problems_of(item_codes, len(classes))
        upper = self.C * item_weights
        weights = self._weigh(weights, placed, problems, upper)
        machines = fit_machines(placed.combined(weights), problems, upper, n_jobs=self.n_jobs)
        self._publish(rows, features, placed, weights, machines)
        for name, value in seen.items():
            setattr(self, name, value)
        return self

    def decision_function(self, X):
        """Signed distance to the separating surface, in the scale of the margin.

        A view that a row lacks drops out of the sum over the views, and those that are there are scaled up by the
        share of the weights that is missing. A row without any view gets the prior.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Positive means ``classes_[1]``. With more classes of shape (n_samples, n_classes): how many of the others
            each class beats, and how clearly.
        """
        check_is_fitted(self)
        check_on_host(X, "X", type(self).__name__)
        table = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        starts = range(0, len(table), CHUNK_ROWS)
        return np.concatenate([self._decide(table[start : start + CHUNK_ROWS], start) for start in starts])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # One view that is absent leaves nothing of a row.
        tags.input_tags.allow_nan = self.views is not None
        return tags

    def _check_settings(self):
        check_positive("C", self.C)
        check_jobs(self.n_jobs)

    def _check_rows(self, names, blocks, classes, codes):
        """Refuse rows that this kind of fusion cannot work on, before any kernel is computed."""

    @abstractmethod
    def _items(self, rows):
        """What the machine is trained on.

        Returns
        -------
        places : intp ndarray of shape (n_items, n_views)
        codes : int ndarray of shape (n_items,)
        weights : ndarray of shape (n_items,)
            How much each item counts.
        seen : dict
            Fitted attributes to set.
        """

    def _scale(self, gram):
        """What a kernel matrix is divided by."""
        return 1.0

    @abstractmethod
    def _weigh(self, weights, placed, problems, upper):
        """Weight of each view's scaled kernel, from the checked setting."""

    def _publish(self, rows, features, placed, weights, machines):
        note_features(self, features)
        self.classes_, self.view_names_, self.view_columns_ = rows.classes, rows.names, rows.columns
        self.class_prior_ = np.bincount(rows.codes) / len(rows.codes)
        self.kernels_ = rows.kernels
        self.kernel_scales_ = rows.scales
        self.kernel_weights_ = weights
        self.intercept_ = machines.intercepts
        self.support_, self.support_rows_, self.dual_coef_ = [], [], []
        for view, coefficients in zip(rows.blocks, placed.on_objects(machines.coefficients)):
            # Sums over meta-objects: a view's object that no machine leans on is not kept.
            kept = np.flatnonzero(coefficients.any(axis=0))
            values = view.array()
            self.support_.append(kept if view.rows is None else view.rows[kept])
            self.support_rows_.append(np.ascontiguousarray(values[kept]))
            self.dual_coef_.append(coefficients[:, kept])

    def _decide(self, table, start):
        """Decision values of some rows, the first being row `start` of `X`."""
        blocks = ViewBlocks.of(table, self.view_names_, self.view_columns_)
        sums = np.zeros((len(table), len(self.intercept_)))
        for number, view in enumerate(blocks):
            _check_whole(view, start)
            if len(view) and len(self.support_[number]):
                values = self.kernels_[number].between(view.array(), self.support_rows_[number])
                factor = self.kernel_weights_[number] / self.kernel_scales_[number]
                rows = slice(None) if view.rows is None else view.rows
                sums[rows] += factor * (values @ self.dual_coef_[number].T)
        heard = blocks.present @ self.kernel_weights_
        silent = heard == 0
        if self._trained_on_whole_objects:
            sums *= (self.kernel_weights_.sum() / np.where(silent, 1.0, heard))[:, None]
        values = sums + self.intercept_
        votes = prior_votes(self.class_prior_)
        if len(votes) == 2:
            return np.where(silent, votes[1] - votes[0], values[:, 0])
        return np.where(silent[:, None], votes, one_against_one(values, len(votes)))


def uses_learning(weights):
    """Whether the setting `weights` asks for learning them."""
    return isinstance(weights, str) and weights in LEARNT


def _check_whole(view, start=0):
    """Refuse a row that has a view in parts: a kernel needs all its columns. The first row is row `start` of `X`."""
    values = view.array()
    broken = np.isnan(values).any(axis=1)
    if broken.any():
        row = np.flatnonzero(broken)[0]
        row = start + (row if view.rows is None else view.rows[row])
        raise ValueError(
            f"The view {view.name!r} has NaN among its columns in row {row} of X. A kernel needs all of them; "
            "impute them, or set all of them to NaN where the view is absent."
        )
