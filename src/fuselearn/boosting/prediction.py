"""Prediction from votes, for every classifier that is an ensemble of hypotheses on views."""

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn.boosting.voting import Ensemble
from fuselearn.numeric.decisions import codes_of, probabilities
from fuselearn.numeric.threads import Threads
from fuselearn.prediction import PredictsByDecision
from fuselearn.views import encode_known


class VotePrediction(PredictsByDecision):
    """Mixin that predicts from `estimators_`, `estimator_weights_` and `winning_views_`."""

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
        table = self._checked(X)
        ensemble = self._ensemble()
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            return ensemble.decision(*ensemble.votes(table, threads))

    def staged_decision_function(self, X):
        """Yield `decision_function` after each round."""
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
        y = np.asarray(y)
        if y.shape != (len(table),):
            raise ValueError(f"y must hold a label for each of the {len(table)} rows of X; got shape {y.shape}.")
        codes = encode_known(y, self.classes_, "y")
        votes, _ = self._ensemble().votes(table)
        everyone = np.arange(len(votes))
        own = votes[everyone, codes]
        votes[everyone, codes] = -np.inf
        total = np.abs(self.estimator_weights_).sum()
        return (own - votes.max(axis=1)) / (total if total > 0 else 1.0)

    def _checked(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")

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
