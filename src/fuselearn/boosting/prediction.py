"""Prediction from votes, for every classifier that is an ensemble of hypotheses on views."""

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn.backends.gpu.arrays import on_host
from fuselearn.backends.partitioned.dask_collections import predict_lazily
from fuselearn.backends.protocol import kind_of
from fuselearn.boosting.early_exit import predict_early
from fuselearn.boosting.voting import Ensemble
from fuselearn.data import encode_known
from fuselearn.estimators import PredictsByDecision
from fuselearn.numeric.execution import Threads
from fuselearn.numeric.votes import codes_of, probabilities


class VotePrediction(PredictsByDecision):
    """Mixin that predicts from `estimators_`, `estimator_weights_` and `winning_views_`."""

    @property
    def view_order_(self):
        """Numbers of the views in the order in which `predict` reads them: largest Σ|α| first, ties by number.

        Views without a vote are never read, and are not in it.
        """
        check_is_fitted(self)
        return self._ensemble().view_order

    def predict(self, X):
        """Predict classes, from as few views as settle them.

        A row's views are read in the order `view_order_`, until the votes of those that are left cannot change the
        outcome any more. The classes are those of `decision_function`, ties included; see `views_used` for what was
        read. Values of views that are not needed are not looked at, but for whether there are any. (A scikit-learn
        classifier or transformer may round differently when it is given fewer rows at a time.)

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Of a Dask collection a Dask collection is returned, which is computed when it is asked for. An array of CuPy
            or of torch on a GPU is copied to the host.

        Returns
        -------
        ndarray of shape (n_samples,)
            On the host.
        """
        if self._is_lazy(X):
            return predict_lazily(self, "predict", X)
        table = self._checked(X)
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            return self.classes_[predict_early(self._ensemble(), table, threads)]

    def views_used(self, X):
        """Which views each row's prediction needs, and so which need not have been measured.

        `predict` reads views in the order `view_order_`, and stops at a row when the lead of a class is larger than
        Σ|α| of all hypotheses on views that the row has and that were not read. Without its other views a row is
        predicted the same.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

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
        table = self._checked(X)
        used = np.empty((len(table), len(self.view_names_)), dtype=bool)
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            predict_early(self._ensemble(), table, threads, used)
        return used

    def decision_function(self, X):
        """Votes of the ensemble.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Votes for ``classes_[1]`` less those for ``classes_[0]``. With more classes of shape
            (n_samples, n_classes): the votes for each. A row that no hypothesis sees gets the prior's.
        """
        if self._is_lazy(X):
            return predict_lazily(self, "decision_function", X)
        return self._from_decision(X, lambda decision: decision)

    def predict_proba(self, X):
        """Class probabilities by a logistic link, softmax(2·decision), which is not calibrated.

        Wrap the classifier in :class:`sklearn.calibration.CalibratedClassifierCV` where probabilities matter.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        if self._is_lazy(X):
            return predict_lazily(self, "predict_proba", X)
        return self._from_decision(X, probabilities)

    def staged_decision_function(self, X):
        """Yield `decision_function` after each round. All rows are kept prepared until the last, unlike there."""
        table = self._checked(X)
        ensemble = self._ensemble()
        for votes, heard in ensemble.staged_votes(table):
            yield ensemble.decision(votes.copy(), heard)

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for decision in self.staged_decision_function(X):
            yield self.classes_[codes_of(decision)]

    def staged_predict_proba(self, X):
        """Yield `predict_proba` after each round."""
        for decision in self.staged_decision_function(X):
            yield probabilities(decision)

    def margins(self, X, y):
        """How clearly each row is classified: (votes of its class - largest other) / Σ|α|.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)
            In [-1, 1], positive where `y` is predicted; 0 where no hypothesis sees the row.
        """
        table = self._checked(X)
        y = np.asarray(on_host(y))
        if y.shape != (len(table),):
            raise ValueError(f"y must hold a label for each of the {len(table)} rows of X; got shape {y.shape}.")
        codes = encode_known(y, self.classes_, "y")
        total = np.abs(self.estimator_weights_).sum()
        margins = np.empty(len(table))

        def receive(rows, votes, heard):
            everyone = np.arange(len(votes))
            own = votes[everyone, codes[rows]]
            votes[everyone, codes[rows]] = -np.inf
            margins[rows] = (own - votes.max(axis=1)) / (total if total > 0 else 1.0)

        self._ensemble().vote_in_blocks(table, receive)
        return margins

    def _from_decision(self, X, value):
        """`value` of the decision of all rows, some rows at a time: only the result grows with their number."""
        table = self._checked(X)
        ensemble = self._ensemble()
        shape = value(ensemble.decision(np.zeros((1, ensemble.n_classes)), np.ones(1, dtype=bool))).shape[1:]
        values = np.empty((len(table), *shape))

        def receive(rows, votes, heard):
            values[rows] = value(ensemble.decision(votes, heard))

        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            ensemble.vote_in_blocks(table, receive, threads)
        return values

    def _is_lazy(self, X):
        """Whether what is said of X is to be a collection like X."""
        check_is_fitted(self)
        return kind_of(X) == "dask"

    def _checked(self, X):
        check_is_fitted(self)
        if kind_of(X) == "files":
            raise TypeError(
                f"X must hold rows; got the path {X!r:.100}. Only fit reads files: read them first, e.g. with "
                "pandas.read_parquet, some rows at a time where they do not fit into memory."
            )
        checks = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
        return validate_data(self, on_host(X), reset=False, **checks)

    def _ensemble(self):
        return Ensemble(
            self.view_names_,
            self.view_columns_,
            self.preprocessors_,
            self.estimators_,
            self.estimator_weights_,
            self.winning_views_,
            self.class_prior_,
        )
