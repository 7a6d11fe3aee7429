"""What the fusion classifiers share: reading the data, and what becomes of rows that have no view."""

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn.classifiers.view_model import known_model
from fuselearn.data import ViewBlocks, check_on_host, note_features
from fuselearn.ensembles.training_data import read_training_rows
from fuselearn.estimators import PredictsByDecision, check_jobs
from fuselearn.learners.sklearn_learner import takes_nan
from fuselearn.numeric.votes import prior_votes


class BaseViewFusion(PredictsByDecision, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Template of a classifier that fuses what models of several views say.

    A subclass learns (`_fit`) and decides on rows that have a view (`_decide`).
    """

    def fit(self, X, y, sample_weight=None, view_labels=None):
        """Fit the models.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            Handed to every model that is fitted. Rows of weight 0 take no part, but for their classes, which are among
            `classes_`.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row, where the views do not agree on what a row is. With it, `y` supplies
            `classes_` only: a view's model learns from its own column, and a model that sees all views from the
            majority of the row's columns (a tie goes to the first view that names one of the tied classes).

        Returns
        -------
        self
        """
        check_jobs(self.n_jobs)
        self._check_settings()
        rows = read_training_rows(self, X, y, sample_weight, view_labels)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fitted = self._fit(rows, seed)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        note_features(self, rows.features)
        self.classes_, self.view_names_, self.view_columns_ = rows.classes, rows.names, rows.columns
        self.class_prior_ = rows.class_prior()
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def decision_function(self, X):
        """How much speaks for each class.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Positive means ``classes_[1]``. With more classes of shape (n_samples, n_classes). A row without any view
            gets the prior.
        """
        blocks = self._blocks(X)
        decision, heard = self._decide(blocks)
        votes = prior_votes(self.class_prior_)
        decision[~heard] = votes[1] - votes[0] if decision.ndim == 1 else votes
        return decision

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # One view that is absent leaves nothing of a row.
        tags.input_tags.allow_nan = self.views is not None or all(map(takes_nan, self._classifiers()))
        return tags

    def _classifiers(self):
        """The classifiers that the user gave, for the tags."""
        given = self.estimator
        if isinstance(given, dict):
            return list(given.values())
        return list(given) if isinstance(given, list | tuple) else [given]

    @abstractmethod
    def _check_settings(self):
        """Refuse settings that mean nothing."""

    @abstractmethod
    def _fit(self, rows, seed):
        """Learn from :class:`TrainingRows`; a dict of the fitted attributes to set."""

    @abstractmethod
    def _decide(self, blocks):
        """Decision values of rows, and a mask of those on which some model had its say."""

    def _blocks(self, X):
        check_is_fitted(self)
        check_on_host(X, "X", type(self).__name__)
        table = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        return ViewBlocks.of(table, self.view_names_, self.view_columns_)

    def _view_models(self):
        """The fitted classifier of each view, in the class codes of the fusion."""
        return [
            known_model(f"the view {name!r}", estimator, self.classes_)
            for name, estimator in zip(self.view_names_, self.estimators_)
        ]


class BaseLastWord(BaseViewFusion):
    """Template of a fusion in which one classifier, that sees all views in one table, has the last word.

    A subclass makes the table (`_table`) and says which classifier it is (`_last_word`).
    """

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            A row without any view gets the most frequent class.
        """
        blocks = self._blocks(X)
        table, heard = self._table(blocks)
        codes = np.full(len(blocks), self.class_prior_.argmax())
        if heard.any():
            codes[heard] = self._last_model().predicted(table[heard])
        return self.classes_[codes]

    def predict_proba(self, X):
        """Class probabilities: those of the last classifier, or softmax(2·decision), which is not calibrated, where it
        has none.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        blocks = self._blocks(X)
        model = self._last_model()
        if not hasattr(model.estimator, "predict_proba"):
            return super().predict_proba(X)
        table, heard = self._table(blocks)
        values = np.tile(self.class_prior_, (len(blocks), 1))
        if heard.any():
            values[heard] = model.probabilities(table[heard])
        return values

    def _decide(self, blocks):
        table, heard = self._table(blocks)
        model = self._last_model()
        values = np.zeros((len(blocks), len(self.classes_)))
        if heard.any():
            if model.gives_values:
                values[heard] = model.values(table[heard], unknown="least")
            else:
                values[heard] = 2.0 * (model.predicted(table[heard])[:, None] == np.arange(len(self.classes_))) - 1
        return ((values[:, 1] - values[:, 0]) / 2 if values.shape[1] == 2 else values), heard

    def _last_model(self):
        return known_model("the last classifier", self._last_word(), self.classes_)

    @abstractmethod
    def _last_word(self):
        """The fitted classifier."""

    @abstractmethod
    def _table(self, blocks):
        """What the last classifier sees of rows, and a mask of those that have a view."""
