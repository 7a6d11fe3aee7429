"""Prediction from votes, for every classifier that is an ensemble of hypotheses on views."""

from collections.abc import Callable, Iterator

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from fuselearn.backends.partitioned.dask_collections import predict_lazily
from fuselearn.backends.protocol import PredictsByDecision, ReadsNewRows
from fuselearn.boosting.ensemble import Ensemble, predict_early
from fuselearn.boosting.vote_explanation import VotesToExplain
from fuselearn.data import encode_known
from fuselearn.data.view_table import to_host
from fuselearn.explanation.explained_rows import ExplainedRows, ExplainsRows
from fuselearn.learners.protocol import Hypothesis
from fuselearn.numeric.threads import Threads
from fuselearn.numeric.votes import codes_of, probabilities
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, TableLike, Transformer


class VotePrediction(ExplainsRows, ReadsNewRows, PredictsByDecision):
    """Mixin that predicts from `estimators_`, `estimator_weights_` and `winning_views_`."""

    n_jobs: int | None
    view_names_: list[str]
    view_columns_: list[IntArray]
    preprocessors_: list[Transformer | None]
    estimators_: list[Hypothesis | None]
    estimator_weights_: FloatArray
    winning_views_: IntArray
    class_prior_: FloatArray

    @property
    def view_order_(self) -> IntArray:
        """Numbers of the views in the order in which `predict` reads them: largest Σ|α| first, ties by number.

        Views without a vote are never read, and are not in it.
        """
        check_is_fitted(self)
        return self._ensemble().view_order

    def predict(self, X: TableLike) -> AnyArray:
        """Predict classes, from as few views as decide them.

        A row's views are read in the order `view_order_`, until the votes of those that are left cannot change the
        outcome any more. The classes are those of `decision_function`, ties included; see `views_used` for what was
        read. Of views that are not needed only whether they are present is looked at. (A scikit-learn classifier or
        transformer may round differently when it is given fewer rows at a time.)

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
        table = self._read_rows(X)
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            return self.classes_[predict_early(self._ensemble(), table, threads)]

    def views_used(self, X: TableLike) -> BoolArray:
        """Return the views that each row's prediction needs: the others need not have been measured.

        `predict` reads views in the order `view_order_`, and stops at a row when the lead of a class is larger than
        Σ|α| of all hypotheses on views that the row has and that were not read. Without its other views a row is
        predicted the same.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        bool ndarray of shape (n_samples, n_views)
            True where the view was read. A view that is absent in a row, or that has no vote, is not used. Rows that
            are decided by the last view, or by a tie, use all views that they have.

        Examples
        --------
        >>> from fuselearn import ShareBoostClassifier
        >>> from fuselearn.datasets import load_digit_views
        >>> X, views, y = load_digit_views(return_tuple=True)
        >>> model = ShareBoostClassifier(views=views).fit(X[:1000], y[:1000] >= 5)
        >>> used = model.views_used(X[1000:])

        Views in the order in which they are read, and the share of the rows that the first k of them decide:

        >>> order = model.view_order_
        >>> [model.view_names_[number] for number in order]
        ['profiles', 'edges', 'fourier', 'pixels']
        >>> [float((~used[:, order[k:]].any(axis=1)).mean().round(2)) for k in range(1, len(order) + 1)]
        [0.0, 0.52, 0.99, 1.0]
        """
        table = self._read_rows(X)
        used = np.empty((len(table), len(self.view_names_)), dtype=bool)
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            predict_early(self._ensemble(), table, threads, used)
        return used

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the votes of the ensemble.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Votes for ``classes_[1]`` less those for ``classes_[0]``. With more classes of shape
            (n_samples, n_classes): the votes for each. A row that no hypothesis sees gets the prior's.
        """
        if self._is_lazy(X):
            return predict_lazily(self, "decision_function", X)
        return self._from_decision(X, lambda decision: decision)

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Predict class probabilities by softmax(2·decision), which is not calibrated.

        Wrap the classifier in :class:`sklearn.calibration.CalibratedClassifierCV` where probabilities matter.

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
        return self._from_decision(X, probabilities)

    def staged_decision_function(self, X: TableLike) -> Iterator[FloatArray]:
        """Yield `decision_function` after each round; unlike there, all rows are kept prepared until the last round.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Votes of the rounds so far.
        """
        table = self._read_rows(X)
        ensemble = self._ensemble()
        stages = ensemble.staged_votes(table)
        next(stages)  # before the first round
        for votes, has_vote in stages:
            yield ensemble.decision(votes.copy(), has_vote)

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
        for decision in self.staged_decision_function(X):
            yield self.classes_[codes_of(decision)]

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
        for decision in self.staged_decision_function(X):
            yield probabilities(decision)

    def margins(self, X: TableLike, y: ArrayLike) -> FloatArray:
        """Return how clearly each row is classified: (votes of its class - largest other) / Σ|α|.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : array of shape (n_samples,)
            Their classes.

        Returns
        -------
        ndarray of shape (n_samples,)
            In [-1, 1], positive where `y` is predicted; 0 where no hypothesis sees the row.
        """
        table = self._read_rows(X)
        y = np.asarray(to_host(y))
        if y.shape != (len(table),):
            raise ValueError(f"y must hold a label for each of the {len(table)} rows of X; got shape {y.shape}.")
        codes = encode_known(y, self.classes_, "y")
        total = np.abs(self.estimator_weights_).sum()
        margins = np.empty(len(table))

        def receive(rows: slice, votes: FloatArray, has_vote: BoolArray) -> None:
            places = np.arange(len(votes))
            votes_of_class = votes[places, codes[rows]]
            votes[places, codes[rows]] = -np.inf
            difference = (votes_of_class - votes.max(axis=1)) / (total if total > 0 else 1.0)
            margins[rows] = np.clip(difference, -1.0, 1.0)  # sums of rounded weights can be a last digit beyond

        self._ensemble().vote_in_blocks(table, receive)
        return margins

    def _from_decision(self, X: TableLike, value: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return `value` of the decision of all rows, some rows at a time: only the result grows with their number."""
        table = self._read_rows(X)
        ensemble = self._ensemble()
        shape = value(ensemble.decision(np.zeros((1, ensemble.n_classes)), np.ones(1, dtype=bool))).shape[1:]
        values = np.empty((len(table), *shape))

        def receive(rows: slice, votes: FloatArray, has_vote: BoolArray) -> None:
            values[rows] = value(ensemble.decision(votes, has_vote))

        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            ensemble.vote_in_blocks(table, receive, threads)
        return values

    def _rows_to_explain(self, X: TableLike) -> ExplainedRows:
        """Return rows and ensemble as an explanation needs them."""
        return VotesToExplain(self._ensemble(), self.view_names_, self._read_rows(X))

    def _ensemble(self) -> Ensemble:
        """Return the ensemble of the fitted hypotheses."""
        return Ensemble(
            self.view_names_,
            self.view_columns_,
            self.preprocessors_,
            self.estimators_,
            self.estimator_weights_,
            self.winning_views_,
            self.class_prior_,
        )
