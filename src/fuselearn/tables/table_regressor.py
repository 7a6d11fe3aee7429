"""A regressor of tables by column names."""

from typing import Any

from sklearn.base import RegressorMixin, clone
from sklearn.utils.metaestimators import available_if

from fuselearn.tables.table_classifier import TableModel, model_has
from fuselearn.tables.view_columns import ViewColumns
from fuselearn.typing import FloatArray, TableLike, Views


class TableRegressor(RegressorMixin, TableModel):
    """Any regressor on a table with numbers, text, categories and dates. It is what ``fuselearn fit`` saves of numbers.

    Parameters
    ----------
    estimator : regressor, default=None
        Learns from the matrix of numbers that the views make. Where it has a setting `views` that is None, it gets
        them. None is ``FusionRegressor()``.
    views : None, dict of name to selector, list of selectors, or ViewColumns, default=None
        Columns of each view, by names, globs such as ``"rna_*"``, or any other selector; None is one view of all
        columns. A `ViewColumns` also says how text is encoded and what each view is put through.

    Attributes
    ----------
    columns_ : ViewColumns
        The fitted transformer.
    model_ : regressor
        The fitted regressor of the matrix that ``columns_.transform`` makes.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view, as numbers of `feature_names_in_`.
    feature_names_in_ : ndarray of str
        Columns that are used; not there where an array was given.
    n_features_in_ : int
        Number of columns that are used.

    See Also
    --------
    TableClassifier : The same for classes.

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn import TableRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> table = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "sex": ["f", "m", "f", "m"]})
    >>> model = TableRegressor(LinearRegression()).fit(table, [1.0, 2.5, 3.0, 4.5])
    >>> model.predict(pd.DataFrame({"age": [60.0], "sex": ["f"]})).round(1)
    array([5.])
    """

    def __init__(self, estimator: Any = None, *, views: "Views | ViewColumns" = None) -> None:
        super().__init__(estimator, views=views)

    @available_if(model_has("predict_interval"))
    def predict_interval(self, X: TableLike, coverage: float = 0.9) -> FloatArray:
        """Return an interval for the number of each row.

        Parameters
        ----------
        X : data frame, Arrow table or array
            Any rows.
        coverage : float, default=0.9
            Share of rows whose number is to be in its interval.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        rows = self.matrix(X)
        return self.model_.predict_interval(rows, coverage)

    def _new_model(self) -> Any:
        """Return an unfitted regressor."""
        if self.estimator is not None:
            return clone(self.estimator)
        from fuselearn.fusion import FusionRegressor

        return FusionRegressor()
