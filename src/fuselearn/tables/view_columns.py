"""Views of a table with names, text and gaps, as the matrix of numbers that an estimator takes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fuselearn.data import check_one_table, per_view, resolve_views
from fuselearn.data.folds import group_names
from fuselearn.persistence.validation import check_contents, check_texts, is_fitted
from fuselearn.tables.column_values import (
    BOOLEAN,
    DATE,
    ENCODED,
    NUMBER,
    TEXT,
    kind_of,
    missing_values,
    values_of,
    warn_of_text,
)
from fuselearn.tables.fitted_steps import Projection
from fuselearn.tables.view_preparation import ViewPreparation
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, TableLike, Views


class ViewColumns(TransformerMixin, BaseEstimator):
    """Views of a table with numbers and text, side by side in one matrix of numbers.

    It knows the columns by name: their order in a table does not matter, and a table may have others. A view of which
    a table has no column is missing there, that is NaN.

    Parameters
    ----------
    views : None, dict of name to selector, or list of selectors
        Columns of each view: names, globs such as ``"rna_*"``, a list of these, or any other selector that estimators
        take. None is one view of all columns.
    categorical : {"onehot", "target"} or dict per view, default="onehot"
        What becomes of text: a column per category, or the category's mean target, cross-fitted: that of a training
        row is learnt of other rows, with groups of other groups. White space around a text is not part of it.
    preprocess : list of str or dict per view, default=()
        Names of steps: "standard", "robust", "pca:0.95", "pca:20".
    fill_gaps : bool, default=False
        Whether a missing number of a row that has the view becomes the column's mean.
    random_state : int or None, default=None
        Seed of the folds for target means, and of randomised PCA.

    Attributes
    ----------
    kinds_ : dict of str to {"number", "boolean", "text", "date"}
        Column name to what it held at fit.
    preparations_ : dict of str to ViewPreparation
        View name to its fitted encoders and steps.
    views_ : dict of str to int ndarray
        View name to the columns of the matrix that make it: the `views` of an estimator.
    feature_names_in_ : ndarray of str
        Columns that are used, each once.
    n_features_in_ : int
        Number of columns that are used.

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn.tables import ViewColumns
    >>> table = pd.DataFrame({"age": [61, 48], "sex": ["f", "m"], "dose": [0.5, 2.0]})
    >>> columns = ViewColumns({"person": ["age", "sex"], "drug": ["dose"]})
    >>> columns.fit_transform(table, ["ill", "well"])
    array([[61. ,  1. ,  0. ,  0.5],
           [48. ,  0. ,  1. ,  2. ]])
    >>> columns.views_
    {'person': array([0, 1, 2]), 'drug': array([3])}
    """

    def __init__(
        self,
        views: Views = None,
        *,
        categorical: str | Mapping[str, str] = "onehot",
        preprocess: Sequence[str] | Mapping[str, Sequence[str]] = (),
        fill_gaps: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.views = views
        self.categorical = categorical
        self.preprocess = preprocess
        self.fill_gaps = fill_gaps
        self.random_state = random_state

    def fit(self, X: TableLike, y: ArrayLike, groups: ArrayLike = None) -> Self:
        """Fit on a table; :meth:`fit_transform` also returns the matrix of the training rows.

        Parameters
        ----------
        X : data frame or Arrow table
            Training rows.
        y, groups : array of shape (n_samples,)
            Their classes, and groups of rows or None, as :meth:`fit_transform` takes them.

        Returns
        -------
        self
            The fitted transformer.
        """
        self.fit_transform(X, y, groups)
        return self

    def fit_transform(self, X: TableLike, y: ArrayLike, groups: ArrayLike = None) -> FloatArray:
        """Fit, and return the matrix of the training rows, in which target means are cross-fitted.

        Parameters
        ----------
        X : data frame or Arrow table
            Training rows.
        y : array of shape (n_samples,)
            Their classes.
        groups : array of shape (n_samples,), default=None
            Rows that belong together, such as those of a person: a target mean is learnt of rows of other groups only.

        Returns
        -------
        ndarray of shape (n_samples, n_numbers)
            The views side by side.
        """
        table = _as_frame(X)
        if y is not None and np.ndim(y) and len(y) != len(table):
            raise ValueError(f"X has {len(table)} rows and y {len(y)} values; each row needs its own.")
        names_of_groups = None if groups is None else group_names(groups, len(table))
        names, numbers = resolve_views(self.views, X, len(table.columns))
        views = {name: [table.columns[number] for number in members] for name, members in zip(names, numbers)}
        used = list(dict.fromkeys(column for columns in views.values() for column in columns))
        series = {column: table.get_column(column) for column in used}
        self.kinds_ = {column: kind_of(series[column]) for column in used}
        values = {column: values_of(series[column], kind) for column, kind in self.kinds_.items()}
        encodings = per_view("categorical", self.categorical, names)
        warn_of_text(
            {column: values[column] for column, kind in self.kinds_.items() if kind == TEXT},
            {column for name, encoding in zip(names, encodings) if encoding != "target" for column in views[name]},
        )
        self.preparations_: dict[str, ViewPreparation] = {}
        self.views_: dict[str, IntArray] = {}
        blocks: list[FloatArray] = []
        start = 0
        choices = zip(
            names,
            encodings,
            per_view("preprocess", self.preprocess, names),
        )
        for name, categorical, preprocess in choices:
            preparation = ViewPreparation(
                views[name],
                categories=[column for column in views[name] if self.kinds_[column] in ENCODED],
                categorical=categorical or "onehot",
                preprocess=tuple(preprocess or ()),
                fill_gaps=self.fill_gaps,
                random_state=self.random_state,
            )
            with _named_view(name):
                dates = [column for column in views[name] if self.kinds_[column] == DATE]
                blocks.append(preparation.fit_transform(values, np.asarray(y), dates, names_of_groups))
            self.preparations_[name] = preparation
            self.views_[name] = np.arange(start, start + blocks[-1].shape[1])
            start += blocks[-1].shape[1]
        self.feature_names_in_ = np.array(used, dtype=object)
        self.n_features_in_ = len(used)
        return np.hstack(blocks)

    def transform(self, X: TableLike) -> FloatArray:
        """Return the matrix of any rows.

        Parameters
        ----------
        X : data frame or Arrow table
            A view of which it has no column is missing. One of which it has some needs them all.

        Returns
        -------
        ndarray of shape (n_samples, n_numbers)
            The views side by side.
        """
        check_is_fitted(self)
        table = _as_frame(X)
        absent = self.check_columns(table.columns)
        values = {
            column: missing_values(len(table), kind) if column in absent else values_of(table.get_column(column), kind)
            for column, kind in self.kinds_.items()
        }
        blocks: list[FloatArray] = []
        for name, preparation in self.preparations_.items():
            with _named_view(name):
                blocks.append(preparation.transform(values))
        return np.hstack(blocks)

    def check_columns(self, names: Collection[str]) -> set[str]:
        """Return the columns that are missing because their views are; a view that lacks single columns is an error.

        Parameters
        ----------
        names : list of str
            Columns of a table.

        Returns
        -------
        set of str
            Columns that the table lacks.
        """
        lost = lost_columns(self.named_views_, names)
        if lost:
            name, columns = next(iter(lost.items()))
            more = f" and {len(columns) - 1} more" if len(columns) > 1 else ""
            raise ValueError(f"The view {name!r} lacks the column {columns[0]!r}{more}, which the model was fitted on.")
        present = set(names)
        absent = [column for column in self.kinds_ if column not in present]
        if len(absent) == len(self.kinds_):
            raise ValueError(f"X has none of the columns that the model was fitted on, such as {absent[0]!r}.")
        return set(absent)

    @property
    def named_views_(self) -> dict[str, list[str]]:
        """Columns of each view by name, whatever selected them."""
        return {name: list(preparation.columns) for name, preparation in self.preparations_.items()}

    def validate(self) -> None:
        """Check what a fit left, before anything else is called, as :func:`fuselearn.load` does.

        Raises
        ------
        ValueError
            Where views, kinds of columns and preparations do not agree.
        """
        if not is_fitted(self):
            return  # settings only, such as those that a TableClassifier keeps
        kinds, preparations, matrix_columns, names, n_names = check_contents(
            self,
            {
                "kinds_": dict,
                "preparations_": dict,
                "views_": dict,
                "feature_names_in_": np.ndarray,
                "n_features_in_": int,
            },
        )
        check_texts("names of columns", list(kinds))
        check_texts("names of views", list(preparations))
        if not preparations or not all(kind in (NUMBER, BOOLEAN, TEXT, DATE) for kind in kinds.values()):
            raise ValueError("there are no views, or columns of an unknown kind")
        if names.ndim != 1 or names.tolist() != list(kinds) or n_names != len(kinds):
            raise ValueError("the names of the columns are not those whose kinds are known")
        if list(preparations) != list(matrix_columns):
            raise ValueError("the views differ from those that were prepared")
        start = 0
        for name, preparation in preparations.items():
            numbers = matrix_columns[name]
            if type(preparation) is not ViewPreparation:
                raise ValueError(f"the view {name!r} has a {type(preparation).__name__} for its preparation")
            if not is_fitted(preparation):
                raise ValueError(f"the preparation of the view {name!r} was not fitted")
            preparation.validate()
            columns = preparation.columns
            if not kinds.keys() >= set(columns):
                raise ValueError(f"the view {name!r} was prepared with other columns")
            if set(preparation.categories) != {column for column in columns if kinds[column] in ENCODED}:
                raise ValueError(f"the view {name!r} was prepared with other columns of text")
            width = len(preparation.feature_names_)
            if type(numbers) is not np.ndarray or numbers.dtype.kind != "i" or numbers.shape != (width,):
                raise ValueError(f"the view {name!r} does not have the {width} columns of numbers that it makes")
            if np.any(numbers != np.arange(start, start + width)):
                raise ValueError(f"the columns of numbers of the view {name!r} are not in their order")
            start += width

    def unknown_categories(self, X: TableLike) -> dict[str, list[str]]:
        """Return the texts of a table that its columns did not have at fit.

        Parameters
        ----------
        X : data frame or Arrow table
            Any rows.

        Returns
        -------
        dict of str to list of str
            Column name to texts; without the columns that have none.
        """
        table = _as_frame(X)
        present, unknown = set(table.columns), {}
        for preparation in self.preparations_.values():
            for column in preparation.categories:
                if column in present and self.kinds_[column] == TEXT:
                    unknown[column] = preparation.unknown(column, values_of(table.get_column(column), TEXT))
        return {column: texts for column, texts in unknown.items() if texts}

    def source_columns(self) -> list[str]:
        """Return the column of the table that each column of the matrix comes from.

        Returns
        -------
        list of str
            Column names; "view: component_0", … for the components of a view, which come from all its columns.
        """
        names: list[str] = []
        for view, preparation in self.preparations_.items():
            if any(isinstance(step, Projection) for step in preparation.steps_):
                names += [f"{view}: component_{number}" for number in range(len(preparation.feature_names_))]
                continue
            for column in preparation.columns:
                encoder = preparation.encoders_.get(column)
                names += [column] * (1 if encoder is None else len(encoder.names(column)))
        return names

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns of the matrix, as "view: column".

        Parameters
        ----------
        input_features : None
            Not used, present for scikit-learn's interface.

        Returns
        -------
        ndarray of str
            A name for each column.
        """
        names = [f"{name}: {feature}" for name, made in self.preparations_.items() for feature in made.feature_names_]
        return np.array(names, dtype=object)


def absent_views(views: Mapping[str, Sequence[str]], names: Collection[str]) -> list[str]:
    """Return the views of which a table has no column.

    Parameters
    ----------
    views : dict of str to list of str
        View name to column names.
    names : list of str
        Columns of the table.

    Returns
    -------
    list of str
        Names of views.
    """
    return [name for name, columns in views.items() if set(columns).isdisjoint(names)]


def lost_columns(views: Mapping[str, Sequence[str]], names: Collection[str]) -> dict[str, list[str]]:
    """Return the columns that a table lacks of views of which it has others.

    Parameters
    ----------
    views : dict of str to list of str
        View name to column names.
    names : list of str
        Columns of the table.

    Returns
    -------
    dict of str to list of str
        View name to the columns it lacks.
    """
    present = set(names)
    lost = {name: [column for column in columns if column not in present] for name, columns in views.items()}
    return {name: columns for name, columns in lost.items() if 0 < len(columns) < len(views[name])}


@contextmanager
def _named_view(name: str) -> Iterator[None]:
    """Name the view in an error."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"The view {name!r} cannot be used: {str(error).rstrip('.')}.") from error


def _as_frame(X: TableLike) -> Any:
    """Return a table as narwhals sees it."""
    if getattr(getattr(X, "columns", None), "nlevels", 1) > 1:
        raise ValueError(
            f"X has columns with names of several levels, such as {X.columns[0]!r}; each column needs one name: "
            "X.columns = ['_'.join(map(str, name)) for name in X.columns]."
        )
    check_one_table(X)
    try:
        return nw.from_native(X, eager_only=True)
    except TypeError:
        raise TypeError(
            f"X must be a data frame or an Arrow table, whose columns have names; got {type(X).__name__}."
        ) from None
