"""Prediction from the trees of gradient boosting: classes, probabilities or numbers, and the views that they need."""

from collections.abc import Callable, Iterator

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from fuselearn.backends.partitioned.dask_collections import predict_lazily
from fuselearn.backends.protocol import ReadsNewRows
from fuselearn.boosting.gradient.raw_scores import RawScores, decision_values, in_chunks
from fuselearn.boosting.gradient.tree_explanation import TreeRowsToExplain
from fuselearn.boosting.gradient.tree_format import BoostedTrees
from fuselearn.data import ViewBlocks
from fuselearn.data.categories import Categories
from fuselearn.data.lacking_frames import with_absent_views
from fuselearn.explanation.explained_rows import ExplainedRows, ExplainsRows
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.votes import codes_of
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray, TableLike


class TreePrediction(ExplainsRows, ReadsNewRows):
    """Mixin that predicts from `trees_` and `baseline_`; see `TreeClassification` and `TreeRegression`."""

    n_jobs: int | None
    view_names_: list[str]
    view_columns_: list[IntArray]
    categories_: Categories | None
    trees_: BoostedTrees
    baseline_: FloatArray

    @property
    def view_order_(self) -> IntArray:
        """Numbers of the views in the order in which `predict` of a classifier reads them.

        With ``trees="per_view"`` the view with the largest sum over its trees of the range of leaf values comes first,
        ties by number. With ``trees="joint"`` views are read together, and stand in their order. Views without a tree
        or without a split are never read, and are not in it.
        """
        check_is_fitted(self)
        return self._raw().view_order

    def views_used(self, X: TableLike) -> BoolArray:
        """Return the views that each row's prediction needs: the others need not have been measured.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        bool ndarray of shape (n_samples, n_views)
            True where a row has a view that some tree reads.
        """
        return self._views_read(self._read_rows(X))

    def _views_read(self, table: FloatArray) -> BoolArray:
        """Return the views of rows that some tree reads."""
        read = np.zeros(len(self.view_names_), dtype=bool)
        read[self._raw().view_order] = True
        return ViewBlocks.of(table, self.view_names_, self.view_columns_).present & read

    def _from_raw_scores(self, X: TableLike, value: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return `value` of the raw scores of all rows, some at a time: only the result grows with their number."""
        table, raw = self._read_rows(X), self._raw()
        values = np.empty((len(table), *value(np.zeros((1, raw.n_outputs))).shape[1:]))

        def receive(rows: slice, block: FloatArray) -> None:
            values[rows] = value(raw.of_block(block))

        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            in_chunks(table, receive, threads)
        return values

    def _staged_raw_scores(self, X: TableLike) -> Iterator[FloatArray]:
        """Yield the raw scores of rows after each round, in an array that is used again."""
        table = self._read_rows(X)
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            yield from self._raw().staged(table, threads)

    def _rows_to_explain(self, X: TableLike) -> ExplainedRows:
        """Return rows and trees as an explanation needs them."""
        return TreeRowsToExplain(self._raw(), self.trees_, self.baseline_, self._read_rows(X))

    def _raw(self) -> RawScores:
        """Return the trees as prediction needs them."""
        return RawScores(self.trees_, self.baseline_, self.view_names_, self.view_columns_)

    def _encoded(self, X: TableLike) -> TableLike:
        """Return a table with codes in place of categories."""
        return X if self.categories_ is None else self.categories_.encode(with_absent_views(self, X))


class TreeClassification(TreePrediction):
    """Mixin that predicts classes from `trees_`, `baseline_` and `classes_`."""

    classes_: AnyArray

    def predict(self, X: TableLike) -> AnyArray:
        """Predict classes, with ``trees="per_view"`` from as few views as decide them.

        A row's views are then read in the order `view_order_`, until the leaves of those that are left cannot change
        the outcome any more. The classes are those of `decision_function`, ties included; see `views_used` for what was
        read.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict. Of a Dask collection a Dask collection is returned, which is computed when it is asked for.
            An array of CuPy or of torch on a GPU is copied to the host.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of each row, on the host.
        """
        if self._is_lazy(X):
            return predict_lazily(self, "predict", X)
        return self.classes_[self._codes(self._read_rows(X))]

    def views_used(self, X: TableLike) -> BoolArray:
        """Return the views that each row's prediction needs: the others need not have been measured.

        With ``trees="per_view"``, `predict` reads views in the order `view_order_`, and stops at a row when the lead of
        a class is larger than what all trees of views that the row has and that were not read can take from it. Without
        its other views a row is predicted the same. With ``trees="joint"`` all views are read that a row has and that
        have a split.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        bool ndarray of shape (n_samples, n_views)
            True where the view was read. A view that is absent in a row, or that no tree reads, is not used. Rows that
            are decided by the last view, or by a tie, use all views that they have.

        Examples
        --------
        >>> from fuselearn import ShareGradientBoostingClassifier
        >>> from fuselearn.datasets import load_digit_views
        >>> X, views, y = load_digit_views(return_tuple=True)
        >>> model = ShareGradientBoostingClassifier(views=views, trees="per_view", n_estimators=20)
        >>> used = model.fit(X[:1000], y[:1000] >= 5).views_used(X[1000:])

        Views in the order in which they are read, and the share of the rows that the first k of them decide:

        >>> order = model.view_order_
        >>> [model.view_names_[number] for number in order]
        ['pixels', 'profiles', 'edges']
        >>> [float((~used[:, order[k:]].any(axis=1)).mean().round(2)) for k in range(1, len(order) + 1)]
        [0.48, 0.98, 1.0]
        """
        table = self._read_rows(X)
        if not np.any(self.trees_.view >= 0):
            return self._views_read(table)
        used = np.zeros((len(table), len(self.view_names_)), dtype=bool)
        self._codes(table, used)
        return used

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the raw scores.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Log odds of ``classes_[1]``. With more classes of shape (n_samples, n_classes): the raw score of each, whose
            softmax are the probabilities.
        """
        if self._is_lazy(X):
            return predict_lazily(self, "decision_function", X)
        return self._from_raw_scores(X, decision_values)

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Predict class probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probability of each class, in the order of `classes_`.
        """
        if self._is_lazy(X):
            return predict_lazily(self, "predict_proba", X)
        return self._from_raw_scores(X, class_probabilities)

    def staged_decision_function(self, X: TableLike) -> Iterator[FloatArray]:
        """Yield `decision_function` after each round.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Raw scores by the rounds so far.
        """
        for scores in self._staged_raw_scores(X):
            yield decision_values(scores.copy())

    def staged_predict(self, X: TableLike) -> Iterator[AnyArray]:
        """Yield `predict` after each round.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,)
            The class of each row by the rounds so far.
        """
        for scores in self._staged_raw_scores(X):
            yield self.classes_[codes_of(decision_values(scores))]

    def staged_predict_proba(self, X: TableLike) -> Iterator[FloatArray]:
        """Yield `predict_proba` after each round.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Probability of each class by the rounds so far.
        """
        for scores in self._staged_raw_scores(X):
            yield class_probabilities(scores)

    def _codes(self, table: FloatArray, used: BoolArray | None = None) -> IntArray:
        """Return the class codes of rows, and fill which views were read, where it is asked for."""
        raw, codes = self._raw(), np.empty(len(table), dtype=np.intp)

        def receive(rows: slice, block: FloatArray) -> None:
            codes[rows] = raw.classes_of_block(block, None if used is None else used[rows])

        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            in_chunks(table, receive, threads)
        return codes


class TreeRegression(TreePrediction):
    """Mixin that predicts numbers from `trees_` and `baseline_`."""

    def predict(self, X: TableLike) -> FloatArray:
        """Predict the target.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict. Of a Dask collection a Dask collection is returned, which is computed when it is asked for.
            An array of CuPy or of torch on a GPU is copied to the host.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted target of each row, on the host.
        """
        if self._is_lazy(X):
            return predict_lazily(self, "predict", X)
        return self._from_raw_scores(X, decision_values)

    def staged_predict(self, X: TableLike) -> Iterator[FloatArray]:
        """Yield `predict` after each round.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,)
            The predicted target of each row by the rounds so far.
        """
        for scores in self._staged_raw_scores(X):
            yield decision_values(scores.copy())


def class_probabilities(scores: FloatArray) -> FloatArray:
    """Return the class probabilities of raw scores, of which a single column are log odds."""
    if scores.shape[1] == 1:
        return expit(np.hstack([-scores, scores]))
    return softmax(scores, axis=1)
