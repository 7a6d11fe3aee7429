"""Models of tables by column names: `ViewColumns` makes a matrix of them, any estimator learns from it."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn.data.training_data import index_of
from fuselearn.data.view_table import check_one_table, data_frame
from fuselearn.explanation import Explanation
from fuselearn.persistence.validation import check_contents, check_index, is_fitted
from fuselearn.records import Records
from fuselearn.tables.view_columns import ViewColumns
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, Classifier, FloatArray, TableLike, Views


def model_has(name: str) -> Callable[["TableModel"], bool]:
    """Return a check that the model inside has a method."""

    def check(self: "TableModel") -> bool:
        # The default is a fusion. What another lacks is named by the error.
        if (inner := getattr(self, "model_", None) or self.estimator) is not None:
            getattr(inner, name)
        return True

    return check


class TableModel(BaseEstimator):
    """Any model on a table with numbers, text, categories and dates: what classifiers and regressors have in common."""

    _former_settings: ClassVar[dict[str, str]] = {"columns": "views", "model": "estimator"}
    """Names that settings have in models which earlier versions saved."""
    _index: AnyArray | None = None

    def __init__(self, estimator: Any = None, *, views: "Views | ViewColumns" = None) -> None:
        self.estimator = estimator
        self.views = views

    @classmethod
    def of(cls, columns: ViewColumns, model: Any) -> Self:
        """Return an estimator of columns and a model that were fitted before.

        Parameters
        ----------
        columns : ViewColumns
            Fitted.
        model : classifier or regressor
            Fitted on the matrix of the columns.

        Returns
        -------
        TableClassifier or TableRegressor
            Fitted.
        """
        # The settings are clones: what is fitted is kept once.
        estimator = cls(clone(model), views=clone(columns))
        estimator._set_fitted(columns, model)
        return estimator

    def fit(self, X: TableLike, y: ArrayLike, **settings: Any) -> Self:
        """Fit the columns and the model.

        Parameters
        ----------
        X : data frame, Arrow table or array
            Training rows.
        y : array of shape (n_samples,)
            Their classes, or the numbers to predict.
        **settings
            Arguments of the model's `fit`, such as `sample_weight`. Where there are `groups`, target means of text are
            learnt of rows of other groups, too.

        Returns
        -------
        self
            The fitted estimator.
        """
        if isinstance(self.estimator, ViewColumns):
            raise TypeError(
                f"estimator is a ViewColumns; it goes after the estimator: {type(self).__name__}(model, views=…)."
            )
        columns = clone(self.views) if isinstance(self.views, ViewColumns) else ViewColumns(self.views)
        named = _is_frame(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if not named:
            check_one_table(X)
            X, y = validate_data(self, X, y, ensure_all_finite="allow-nan")
        y = np.asarray(y)
        matrix = columns.fit_transform(X if named else _frame_of(X), y, settings.get("groups"))
        model = self._new_model()
        if model.get_params(deep=False).get("views", 0) is None:
            model.set_params(views=columns.views_)
        self._set_fitted(columns, model.fit(matrix, y, **settings))
        self._index = index_of(X) if hasattr(self.model_, "posterior_") else None  # for `suspects`
        if not named:
            del self.feature_names_in_
        return self

    def matrix(self, X: TableLike) -> FloatArray:
        """Return the numbers that the model takes.

        Parameters
        ----------
        X : data frame, Arrow table or array
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples, n_numbers)
            The views side by side.
        """
        check_is_fitted(self)
        if not _is_frame(X) and not hasattr(self, "feature_names_in_"):
            X = _frame_of(validate_data(self, X, reset=False, ensure_all_finite="allow-nan"))
        return self.columns_.transform(X)

    def predict(self, X: TableLike) -> AnyArray:
        """Predict the classes, or the numbers, of the rows of a table.

        Parameters
        ----------
        X : data frame, Arrow table or array
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            What the model predicts of them.
        """
        rows = self.matrix(X)
        return self.model_.predict(rows)

    @available_if(model_has("explain"))
    def explain(self, X: TableLike) -> Explanation:
        """Explain the decisions on rows by their views, and by the columns of the table.

        Numbers that were made of one column, such as those of its categories, are taken together. Components of a view
        keep their names.

        Parameters
        ----------
        X : data frame, Arrow table or array
            The rows.

        Returns
        -------
        fuselearn.explanation.Explanation
            Contributions of views and columns.
        """
        rows = self.matrix(X)
        explanation: Explanation = self.model_.explain(rows)
        return explanation.by_names(self.columns_.source_columns())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

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
        columns, model, view_names, view_columns, n_names = check_contents(
            self,
            {
                "columns_": ViewColumns,
                "model_": object,
                "view_names_": list,
                "view_columns_": list,
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
        self._check_classes(of_model)
        check_index(self, len(of_model.get("posterior_", ())))
        names = vars(self).get("feature_names_in_", columns.feature_names_in_)
        if type(names) is not np.ndarray:
            raise ValueError("the names of the table's columns are not an array")
        if names.tolist() != columns.feature_names_in_.tolist() or n_names != columns.n_features_in_:
            raise ValueError("the names of the table's columns are not those of its views")
        number_of = {column: number for number, column in enumerate(names.tolist())}
        numbers = [[number_of[column] for column in members] for members in columns.named_views_.values()]
        if view_names != list(columns.named_views_) or not all(type(members) is np.ndarray for members in view_columns):
            raise ValueError("the views of the table are not those of its columns")
        if [members.tolist() for members in view_columns] != numbers:
            raise ValueError("the columns of the views are not those that they were fitted on")

    def _set_fitted(self, columns: ViewColumns, model: Any) -> None:
        """Set the fitted attributes."""
        self.columns_, self.model_ = columns, model
        self.feature_names_in_, self.n_features_in_ = columns.feature_names_in_, columns.n_features_in_
        number_of = {column: number for number, column in enumerate(columns.feature_names_in_)}
        views = columns.named_views_
        self.view_names_ = list(views)
        self.view_columns_ = [np.array([number_of[column] for column in names]) for names in views.values()]

    def _new_model(self) -> Any:
        """Return an unfitted model."""
        return clone(self.estimator)

    def _check_classes(self, of_model: dict[str, Any]) -> None:
        """Refuse a classifier, read from a file, of other classes than those of its model."""


class TableClassifier(ClassifierMixin, TableModel):
    """Any classifier on a table with numbers, text, categories and dates. It is what ``fuselearn fit`` saves.

    Columns are known by name: their order does not matter, and a table may have others. A view of which a table has no
    column is missing there. Text is encoded within each view, dates become year, month, weekday and elapsed days.

    Parameters
    ----------
    estimator : classifier, default=None
        Learns from the matrix of numbers that the views make. Where it has a setting `views` that is None, it gets
        them. None is ``FusionClassifier()``.
    views : None, dict of name to selector, list of selectors, or ViewColumns, default=None
        Columns of each view, by names, globs such as ``"rna_*"``, or any other selector; None is one view of all
        columns. A `ViewColumns` also says how text is encoded and what each view is put through.

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
        Columns that are used; not there where an array was given.
    n_features_in_ : int
        Number of columns that are used.

    See Also
    --------
    fuselearn.tables.ViewColumns : The way from the columns to the matrix.

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn import ShareBoostClassifier, TableClassifier
    >>> table = pd.DataFrame({"age": [61, 48, 66, 39], "sex": ["f", "m", "f", "m"], "dose": [0.5, 2.0, 1.5, 0.1]})
    >>> views = {"person": ["age", "sex"], "drug": "dose*"}
    >>> model = TableClassifier(ShareBoostClassifier(), views=views).fit(table, ["ill", "well", "ill", "well"])
    >>> model.predict(pd.DataFrame({"age": [70], "sex": ["f"]}))
    array(['ill'], dtype='<U4')
    """

    def __init__(self, estimator: Classifier | None = None, *, views: "Views | ViewColumns" = None) -> None:
        super().__init__(estimator, views=views)

    @available_if(model_has("predict_proba"))
    def predict_proba(self, X: TableLike) -> FloatArray:
        """Predict class probabilities.

        Parameters
        ----------
        X : data frame, Arrow table or array
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        rows = self.matrix(X)
        return self.model_.predict_proba(rows)

    @available_if(model_has("decision_function"))
    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the decision values of the model.

        Parameters
        ----------
        X : data frame, Arrow table or array
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values.
        """
        rows = self.matrix(X)
        return self.model_.decision_function(rows)

    @available_if(model_has("suspects"))
    def suspects(self, n: int | None = None) -> Records:
        """Return training labels that are probably wrong, the most suspect first, as the model judges them.

        Parameters
        ----------
        n : int or None, default=None
            Number of labels; None gives all that are more probably wrong than right.

        Returns
        -------
        Records
            A table with a row for each label: ``"row"`` is the row number in the training table, ``"index"`` its name
            there, where this was a pandas data frame with an index other than 0, 1, 2 and so on.
        """
        check_is_fitted(self)
        found: Records = self.model_.suspects(n)
        if self._index is None:
            return found
        columns = {name: found[name] for name in found.columns}
        rows = columns.pop("row").astype(np.intp)
        return Records({"row": rows, "index": self._index[rows], **columns})

    @available_if(model_has("predict_set"))
    def predict_set(self, X: TableLike, coverage: float = 0.9) -> BoolArray:
        """Predict sets of classes that hold the true one as often as asked for, as the model does.

        Parameters
        ----------
        X : data frame, Arrow table or array
            The rows.
        coverage : float, default=0.9
            Share of rows whose set is to hold the true class.

        Returns
        -------
        bool ndarray of shape (n_samples, n_classes)
            The classes in the set of each row; at least one.
        """
        rows = self.matrix(X)
        sets: BoolArray = self.model_.predict_set(rows, coverage)
        return sets

    @available_if(model_has("set_coverage"))
    def set_coverage(self, coverage: float = 0.9, *, by: str = "class") -> Any:
        """Return how often sets hold the class of training rows that their model has not seen.

        Parameters
        ----------
        coverage : float, default=0.9
            Share of rows whose set is to hold the true class.
        by : {"class", "views"}, default="class"
            What a line of the table is for: a class, or a set of views that rows have.

        Returns
        -------
        Records
            A table.
        """
        check_is_fitted(self)
        return self.model_.set_coverage(coverage, by=by)

    @available_if(model_has("next_view"))
    def next_view(self, X: TableLike, *, costs: Mapping[str, float] | None = None, min_gain: float = 0.005) -> AnyArray:
        """Name the view of each row that is worth measuring next, as the model does.

        Parameters
        ----------
        X : data frame, Arrow table or array
            The rows; a view that was not measured is empty.
        costs : dict of str to float or None, default=None
            Cost of each view, in any unit; None is 1 for each.
        min_gain : float, default=0.005
            Least gain in the probability of being right that a view is measured for.

        Returns
        -------
        object ndarray of shape (n_samples,)
            Names of views; None where nothing is worth measuring.
        """
        rows = self.matrix(X)
        return self.model_.next_view(rows, costs=costs, min_gain=min_gain)

    def _new_model(self) -> Any:
        """Return an unfitted classifier."""
        if self.estimator is not None:
            return clone(self.estimator)
        from fuselearn.fusion import FusionClassifier

        return FusionClassifier()

    def _set_fitted(self, columns: ViewColumns, model: Any) -> None:
        """Set the fitted attributes."""
        super()._set_fitted(columns, model)
        self.classes_ = model.classes_

    def _check_classes(self, of_model: dict[str, Any]) -> None:
        """Refuse a classifier, read from a file, of other classes than those of its model."""
        [classes] = check_contents(self, {"classes_": np.ndarray})
        model_classes = of_model.get("classes_", classes)
        if type(model_classes) is not np.ndarray or model_classes.tolist() != classes.tolist():
            raise ValueError("the classes of the table are not those of the model")


def _is_frame(X: TableLike) -> bool:
    """Check whether rows are in a data frame or an Arrow table, whose columns have names."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def _frame_of(X: FloatArray) -> Any:
    """Return an array as a data frame of any library that is installed."""
    frame = data_frame({f"x{number}": column for number, column in enumerate(X.T)})
    if isinstance(frame, Records):
        raise ImportError(
            "TableClassifier needs pandas, polars or pyarrow: pip install 'fuselearn[app]' brings pyarrow."
        )
    return frame
