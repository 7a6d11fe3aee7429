"""A classifier of tables by column names: `ViewColumns` makes a matrix of them, any estimator learns from it."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fuselearn.persistence.validation import check_contents, is_fitted
from fuselearn.tables.view_columns import ViewColumns
from fuselearn.typing import AnyArray, ArrayLike, Classifier, FloatArray, TableLike


def _model_has(name: str) -> Callable[["TableClassifier"], bool]:
    """Return a check that the classifier inside has a method."""

    def check(self: "TableClassifier") -> bool:
        getattr(getattr(self, "model_", None) or self.model, name)  # raises the error that names what is missing
        return True

    return check


class TableClassifier(ClassifierMixin, BaseEstimator):
    """Columns of a table, turned into views, and a classifier of these. It is what ``fuselearn fit`` saves.

    Parameters
    ----------
    columns : ViewColumns
        Makes a matrix of the columns.
    model : classifier
        Learns from the matrix. Where it has a setting `views` that is None, it gets those of the columns.

    Attributes
    ----------
    columns_ : ViewColumns
        The fitted transformer.
    model_ : classifier
        The fitted classifier of the matrix that ``columns_.transform`` makes.
    classes_ : ndarray of shape (n_classes,)
        Classes of the model.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view, as numbers of `feature_names_in_`.
    feature_names_in_ : ndarray of str
        Columns that are used.
    n_features_in_ : int
        Number of columns that are used.

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn import ShareBoostClassifier, TableClassifier
    >>> from fuselearn.tables import ViewColumns
    >>> table = pd.DataFrame({"age": [61, 48, 66, 39], "dose": [0.5, 2.0, 1.5, 0.1]})
    >>> columns = ViewColumns({"person": ["age"], "drug": ["dose"]})
    >>> model = TableClassifier(columns, ShareBoostClassifier()).fit(table, ["ill", "well", "ill", "well"])
    >>> model.predict(pd.DataFrame({"age": [70]}))
    array(['ill'], dtype='<U4')
    """

    def __init__(self, columns: ViewColumns, model: Classifier) -> None:
        self.columns = columns
        self.model = model

    @classmethod
    def of(cls, columns: ViewColumns, model: Any) -> Self:
        """Return a classifier of columns and a model that were fitted before.

        Parameters
        ----------
        columns : ViewColumns
            Fitted.
        model : classifier
            Fitted on the matrix of the columns.

        Returns
        -------
        TableClassifier
            Fitted.
        """
        # The settings are clones: what is fitted is kept once.
        classifier = cls(clone(columns), clone(model))
        classifier._set_fitted(columns, model)
        return classifier

    def fit(self, X: TableLike, y: ArrayLike, **settings: Any) -> Self:
        """Fit the columns and the model.

        Parameters
        ----------
        X : data frame or Arrow table
            Training rows.
        y : array of shape (n_samples,)
            Their classes.
        **settings
            Arguments of the model's `fit`, such as `sample_weight`.

        Returns
        -------
        self
            The fitted classifier.
        """
        columns, model = clone(self.columns), clone(self.model)
        y = np.asarray(y)
        matrix = columns.fit_transform(X, y)
        if model.get_params(deep=False).get("views", 0) is None:
            model.set_params(views=columns.views_)
        self._set_fitted(columns, model.fit(matrix, y, **settings))
        return self

    def matrix(self, X: TableLike) -> FloatArray:
        """Return the numbers that the model takes.

        Parameters
        ----------
        X : data frame or Arrow table
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples, n_numbers)
            The views side by side.
        """
        check_is_fitted(self)
        return self.columns_.transform(X)

    def predict(self, X: TableLike) -> AnyArray:
        """Predict the classes of the rows of a table.

        Parameters
        ----------
        X : data frame or Arrow table
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Their classes.
        """
        return self.model_.predict(self.matrix(X))

    @available_if(_model_has("predict_proba"))
    def predict_proba(self, X: TableLike) -> FloatArray:
        """Predict class probabilities.

        Parameters
        ----------
        X : data frame or Arrow table
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self.model_.predict_proba(self.matrix(X))

    @available_if(_model_has("decision_function"))
    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the decision values of the model.

        Parameters
        ----------
        X : data frame or Arrow table
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values.
        """
        return self.model_.decision_function(self.matrix(X))

    @property
    def view_importances_(self) -> FloatArray:
        """Share of each view, where the model knows it."""
        return self.model_.view_importances_

    def validate(self) -> None:
        """Check what a fit left, before anything else is called, as :func:`fuselearn.load` does.

        Raises
        ------
        ValueError
            Where the columns and the model do not agree.
        """
        if not is_fitted(self):
            return
        columns, model, classes, view_names, view_columns, names, n_names = check_contents(
            self,
            {
                "columns_": ViewColumns,
                "model_": object,
                "classes_": np.ndarray,
                "view_names_": list,
                "view_columns_": list,
                "feature_names_in_": np.ndarray,
                "n_features_in_": int,
            },
        )
        if not is_fitted(columns):
            raise ValueError("the columns of the table were not fitted")
        columns.validate()
        of_model = getattr(model, "__dict__", {})
        width = sum(map(len, columns.views_.values()))
        if of_model.get("n_features_in_", width) != width:
            raise ValueError(f"the model takes {of_model['n_features_in_']} numbers a row, the views make {width}")
        model_classes = of_model.get("classes_", classes)
        if type(model_classes) is not np.ndarray or model_classes.tolist() != classes.tolist():
            raise ValueError("the classes of the table are not those of the model")
        if names.tolist() != columns.feature_names_in_.tolist() or n_names != columns.n_features_in_:
            raise ValueError("the names of the table's columns are not those of its views")
        number_of = {column: number for number, column in enumerate(names.tolist())}
        numbers = [[number_of[column] for column in members] for members in columns.views.values()]
        if view_names != list(columns.views) or not all(type(members) is np.ndarray for members in view_columns):
            raise ValueError("the views of the table are not those of its columns")
        if [members.tolist() for members in view_columns] != numbers:
            raise ValueError("the columns of the views are not those that they were fitted on")

    def _set_fitted(self, columns: ViewColumns, model: Any) -> None:
        """Set the fitted attributes."""
        self.columns_, self.model_ = columns, model
        self.classes_ = model.classes_
        self.feature_names_in_, self.n_features_in_ = columns.feature_names_in_, columns.n_features_in_
        number_of = {column: number for number, column in enumerate(columns.feature_names_in_)}
        self.view_names_ = list(columns.views)
        self.view_columns_ = [np.array([number_of[column] for column in names]) for names in columns.views.values()]
