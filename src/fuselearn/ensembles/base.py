"""Templates of the view ensembles: reading the data, rows without any view, and final classifiers."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fuselearn import progress
from fuselearn.arguments import check_random_state
from fuselearn.backends.protocol import PredictsByDecision
from fuselearn.classifiers.adapter import takes_nan
from fuselearn.classifiers.cross_fitting import CrossFitting, Fold, Report, check_class_sizes, read_cv, shuffled_folds
from fuselearn.classifiers.view_model import Output, ViewModel, known_model
from fuselearn.data import TrainingData, ViewBlocks, note_features, read_new_rows, read_training_data
from fuselearn.data.labels import check_two_classes
from fuselearn.numeric.votes import prior_votes
from fuselearn.persistence.validation import check_classes, check_views
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, Classifier, FloatArray, IntArray, TableLike, Views


class BaseViewEnsemble(PredictsByDecision, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Template of a classifier that combines models of several views.

    A subclass learns (`_fit`) and decides on rows that have a view (`_decide`).
    """

    estimator: Any
    views: Views
    random_state: Any
    verbose: int | None = None  # models in files of earlier versions have none

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None, view_labels: ArrayLike = None) -> Self:
        """Fit the models.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
            The class of each row.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, in any unit: every model that is fitted gets them scaled to a mean of 1. Rows of weight
            0 take no part, except that their classes are among `classes_`.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row, where the views do not agree on what a row is. With it, `y` supplies
            `classes_` only: a view's model learns from its own column, and a model that sees all views from the
            majority of the row's columns (a tie goes to the first view that names one of the tied classes).

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit_from(X, y, sample_weight, view_labels, None)

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return decision values of the classes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Positive means ``classes_[1]``. With more classes of shape (n_samples, n_classes). A row without any view
            gets the prior.
        """
        decision, decided = self._decide(self._blocks(X))
        votes = prior_votes(self.class_prior_)
        decision[~decided] = votes[1] - votes[0] if decision.ndim == 1 else votes
        return decision

    def validate(self) -> None:
        """Refuse an ensemble, read from a file, whose views and classes do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The ensemble has other views, classes or classifiers than those it was fitted with.
        """
        check_views(self)
        if "classes_" not in vars(self):
            return
        check_classes(self)
        estimators = vars(self).get("estimators_")
        if estimators is not None and (type(estimators) is not list or len(estimators) != len(self.view_names_)):
            raise ValueError("it has other classifiers than views")

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        # With one view, a row whose view is absent has nothing left.
        tags.input_tags.allow_nan = self.views is not None or all(map(takes_nan, self._classifiers()))
        return tags

    def _fit_from(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike, view_labels: ArrayLike, groups: ArrayLike
    ) -> Self:
        """Check the settings, read the training data, learn, and set the fitted attributes."""
        self._check_settings()
        data = read_training_data(self, X, y, sample_weight, view_labels, groups, drop_unused=True)
        majority = data.majority()
        check_two_classes(majority, data.classes, "majority labels of view_labels")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fitted = self._fit(data, majority, seed)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        note_features(self, data.features)
        self.classes_: AnyArray = data.classes
        self.view_names_, self.view_columns_ = data.names, data.columns
        self.class_prior_ = data.class_prior()
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def _classifiers(self) -> list[Any]:
        """Return the classifiers that the user gave, for the tags."""
        given = self.estimator
        if isinstance(given, dict):
            return list(given.values())
        return list(given) if isinstance(given, list | tuple) else [given]

    @abstractmethod
    def _check_settings(self) -> None:
        """Refuse settings that mean nothing."""

    @abstractmethod
    def _fit(self, data: TrainingData, majority: IntArray, seed: int) -> dict[str, Any]:
        """Return the fitted attributes to set; `majority` is the class code of each row for a model of all views."""

    @abstractmethod
    def _decide(self, blocks: ViewBlocks) -> tuple[FloatArray, BoolArray]:
        """Return decision values of rows, and a mask of those on which some model decides."""

    def _blocks(self, X: TableLike) -> ViewBlocks:
        """Return the views of rows to predict."""
        check_is_fitted(self)
        return ViewBlocks.of(read_new_rows(self, X), self.view_names_, self.view_columns_)

    def _report(self, done: int, total: int, text: str) -> None:
        """Report a fit of a view's classifier."""
        progress.report(self, done, total, f"{done} of {total} fits, {text}", printed=bool(self.verbose))

    def _view_models(self) -> list[ViewModel]:
        """Return the fitted classifier of each view, in the class codes of the ensemble."""
        return [
            known_model(f"the view {name!r}", estimator, self.classes_)
            for name, estimator in zip(self.view_names_, self.estimators_)
        ]


class BaseFinalClassifier(BaseViewEnsemble):
    """Template of an ensemble in which a final classifier, which sees all views in one table, decides.

    A subclass makes the table (`_final_table`) and names the classifier (`_final_classifier`).
    """

    def predict(self, X: TableLike) -> AnyArray:
        """Predict classes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            A row without any view gets the most frequent class.
        """
        blocks = self._blocks(X)
        table, has_view = self._final_table(blocks)
        codes = np.full(len(blocks), self.class_prior_.argmax())
        if has_view.any():
            codes[has_view] = self._final_model().predicted(table[has_view])
        return self.classes_[codes]

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return class probabilities: those of the final classifier, or softmax(2·decision) where it has none.

        The latter are not calibrated.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A row without any view gets the prior.
        """
        blocks = self._blocks(X)
        model = self._final_model()
        if not hasattr(model.estimator, "predict_proba"):
            return super().predict_proba(X)
        table, has_view = self._final_table(blocks)
        values = np.tile(self.class_prior_, (len(blocks), 1))
        if has_view.any():
            values[has_view] = model.probabilities(table[has_view])
        return values

    def _decide(self, blocks: ViewBlocks) -> tuple[FloatArray, BoolArray]:
        table, has_view = self._final_table(blocks)
        model = self._final_model()
        values = np.zeros((len(blocks), len(self.classes_)))
        if has_view.any():
            if model.gives_values:
                values[has_view] = model.values(table[has_view], unknown="least")
            else:
                values[has_view] = 2.0 * model.predicted_indicators(table[has_view]) - 1
        return ((values[:, 1] - values[:, 0]) / 2 if values.shape[1] == 2 else values), has_view

    def _final_model(self) -> ViewModel:
        """Return the final classifier in the class codes of the ensemble."""
        return known_model("the final classifier", self._final_classifier(), self.classes_)

    @abstractmethod
    def _final_classifier(self) -> Classifier:
        """Return the fitted final classifier."""

    @abstractmethod
    def _final_table(self, blocks: ViewBlocks) -> tuple[FloatArray, BoolArray]:
        """Return the table that the final classifier sees, and a mask of the rows that have a view."""


class BaseStacking(BaseFinalClassifier):
    """Template of an ensemble whose final classifier learns from out-of-fold outputs of the views' classifiers."""

    cv: Any
    n_jobs: int | None

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        view_labels: ArrayLike = None,
        groups: ArrayLike = None,
    ) -> Self:
        """Fit the models.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
            The class of each row.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, in any unit: every model that is fitted gets them scaled to a mean of 1. Rows of weight
            0 take no part, except that their classes are among `classes_`.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row, where the views do not agree on what a row is. With it, `y` supplies
            `classes_` only: a view's model learns from its own column, and the final one from the majority of the row's
            columns (a tie goes to the first view that names one of the tied classes).
        groups : array of shape (n_samples,), default=None
            Rows that belong together, such as all pictures of a person, have the same entry: a number or a name. They
            are held out together, as is right for a model that is to predict new persons. None takes all rows for
            independent.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit_from(X, y, sample_weight, view_labels, groups)

    def _cross_fit(
        self,
        data: TrainingData,
        majority: IntArray,
        estimators: list[Classifier],
        output: Output,
        seed: int,
    ) -> tuple[list[Any], list[FloatArray]]:
        """Return the classifier of each view, fitted on all rows, and the out-of-fold outputs of each view."""
        folds = read_cv(self.cv, data, majority)
        if isinstance(folds, int):
            check_class_sizes(folds, majority, data.classes, data.groups)
            folds = shuffled_folds(folds, majority, data.groups, seed)
        return fit_views(data, estimators, folds, output, len(data.classes), seed, self.n_jobs, self._report)


def fit_views(
    data: TrainingData,
    estimators: list[Classifier],
    folds: list[Fold],
    output: Output,
    width: int,
    seed: int,
    n_jobs: int | None,
    report: Report,
) -> tuple[list[Any], list[FloatArray]]:
    """Return the classifier of each view, fitted on all its rows, and its outputs by models of the folds."""
    rows = np.arange(len(data))
    all_folds = [(rows, rows[:0]), *folds]
    models, outputs = CrossFitting.of(data, estimators, n_jobs=n_jobs).run(
        data.view_codes(), [all_folds] * len(estimators), output, width, lambda view, fold: (seed, view, fold), report
    )
    # Every view is present in some row, so that the model of all rows is there.
    return [view_models[0].estimator for view_models in models if view_models[0] is not None], outputs
