"""A model that takes the tables that people have."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def _fitted_model_has(name):
    def check(self):
        getattr(getattr(self, "model_", None) or self.model, name)  # raises the error that names what is missing
        return True

    return check


class TableClassifier(ClassifierMixin, BaseEstimator):
    """Columns of a table, turned into views, and a classifier of these. It is what ``fuselearn fit`` saves.

    Parameters
    ----------
    columns : ViewColumns
    model : classifier
        Where it has a setting `views` that is None, it gets those of the columns.

    Attributes
    ----------
    columns_ : fitted ViewColumns
    model_ : fitted classifier
        Of the matrix that ``columns_.transform`` makes.
    classes_ : ndarray of shape (n_classes,)
    view_names_ : list of str
    view_columns_ : list of ndarray
        Columns of each view, as numbers of `feature_names_in_`.
    feature_names_in_ : ndarray of str
    n_features_in_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn import ShareBoostClassifier
    >>> from fuselearn.tables.table_classifier import TableClassifier
    >>> from fuselearn.tables.view_columns import ViewColumns
    >>> table = pd.DataFrame({"age": [61, 48, 66, 39], "dose": [0.5, 2.0, 1.5, 0.1]})
    >>> columns = ViewColumns({"person": ["age"], "drug": ["dose"]})
    >>> model = TableClassifier(columns, ShareBoostClassifier()).fit(table, ["ill", "well", "ill", "well"])
    >>> model.predict(pd.DataFrame({"age": [70]}))
    array(['ill'], dtype='<U4')
    """

    def __init__(self, columns, model):
        self.columns = columns
        self.model = model

    @classmethod
    def of(cls, columns, model):
        """Put together what was fitted before."""
        # The settings are clones: what is fitted is kept once.
        whole = cls(clone(columns), clone(model))
        whole._note(columns, model)
        return whole

    def fit(self, X, y, **settings):
        """Fit the columns and the model.

        Parameters
        ----------
        X : data frame or Arrow table
        y : array of shape (n_samples,)
        **settings
            For the model's `fit`, such as `sample_weight`.

        Returns
        -------
        self
        """
        columns, model = clone(self.columns), clone(self.model)
        y = np.asarray(y)
        matrix = columns.fit_transform(X, y)
        if model.get_params(deep=False).get("views", 0) is None:
            model.set_params(views=columns.views_)
        self._note(columns, model.fit(matrix, y, **settings))
        return self

    def matrix(self, X):
        """The numbers that the model takes, of shape (n_samples, n_numbers)."""
        check_is_fitted(self)
        return self.columns_.transform(X)

    def predict(self, X):
        """Predict the classes of the rows of a table."""
        return self.model_.predict(self.matrix(X))

    @available_if(_fitted_model_has("predict_proba"))
    def predict_proba(self, X):
        """Class probabilities, of shape (n_samples, n_classes)."""
        return self.model_.predict_proba(self.matrix(X))

    @available_if(_fitted_model_has("decision_function"))
    def decision_function(self, X):
        """Decision values; see the model."""
        return self.model_.decision_function(self.matrix(X))

    @property
    def view_importances_(self):
        """Share of each view, where the model knows it."""
        return self.model_.view_importances_

    def _note(self, columns, model):
        self.columns_, self.model_ = columns, model
        self.classes_ = model.classes_
        self.feature_names_in_, self.n_features_in_ = columns.feature_names_in_, columns.n_features_in_
        numbers = {column: number for number, column in enumerate(columns.feature_names_in_)}
        self.view_names_ = list(columns.views)
        self.view_columns_ = [np.array([numbers[column] for column in own]) for own in columns.views.values()]
