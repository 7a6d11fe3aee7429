"""What a model's decision on rows is made of: contributions of views, and of columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from typing import Any, Literal

import numpy as np

from fuselearn.arguments import check_choice, check_count
from fuselearn.data.view_table import data_frame
from fuselearn.typing import AnyArray, FloatArray, IntArray

LISTED_ROWS, LISTED_COLUMNS = 5, 8
"""Rows, and largest contributions of each, in the HTML of a notebook."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Contributions of views and of columns to the decisions on rows.

    Shapley values: the mean, over all orders in which views (or columns) could become known, of what the decision
    changes by. They add up: ``base + view_values.sum(axis=1)`` and ``column_base + column_values.sum(axis=1)`` are the
    decision, to rounding.

    Attributes
    ----------
    view_values : ndarray of shape (n_rows, n_views), with more than two classes (n_rows, n_views, n_classes)
        Contributions of the views; 0 for a view that a row lacks.
    base : float, with more than two classes ndarray of shape (n_classes,)
        Decision on a row without views.
    column_values : ndarray of shape (n_rows, n_features_in_) or (n_rows, n_features_in_, n_classes), or None
        Contributions of the columns, given the views that a row has. None for models that are explained by views only.
    column_base : ndarray of shape (n_rows,) or (n_rows, n_classes), or None
        Decision on a row of which it is known which views it has, but no value.
    decision : ndarray of shape (n_rows,) or (n_rows, n_classes)
        The decisions that are explained: `decision_function`, or `predict` of a regressor.
    view_errors, column_errors : ndarray like the values, or None
        Standard errors of values from drawn orders; None where all values are exact. Sums are exact in any case.
    view_names : list of str
        Names of the views.
    column_names : list of str
        Names of the columns; ``x0``, ``x1``, … where `X` had none.
    view_columns : list of intp ndarray
        Columns of each view.
    classes : ndarray or None
        The classes; None of a regressor.
    notes : list of str
        What is to be known about these values, such as what was sampled.

    Examples
    --------
    >>> from fuselearn import FusionClassifier
    >>> from fuselearn.datasets import make_views
    >>> data = make_views(80, n_views=2, n_features=3, random_state=0)
    >>> model = FusionClassifier(views=data.views, max_fits=6, random_state=0).fit(data.X, data.y)
    >>> explanation = model.explain(data.X[:10])
    >>> explanation.view_values.shape, explanation.column_values.shape
    ((10, 2), (10, 6))
    >>> sums = explanation.base + explanation.view_values.sum(axis=1)
    >>> bool(abs(sums - model.decision_function(data.X[:10])).max() < 1e-9)
    True
    """

    view_values: FloatArray
    base: float | FloatArray
    column_values: FloatArray | None
    column_base: FloatArray | None
    decision: FloatArray
    view_names: list[str]
    column_names: list[str]
    view_columns: list[IntArray]
    classes: AnyArray | None = None
    view_errors: FloatArray | None = None
    column_errors: FloatArray | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.decision)

    def __repr__(self) -> str:
        """Return how much was explained."""
        columns = "no columns" if self.column_values is None else f"{len(self.column_names)} columns"
        return f"Explanation of {len(self)} rows by {len(self.view_names)} views and {columns}"

    def to_frame(self, of: Literal["columns", "views"] | None = None) -> Any:
        """Return the contributions as a data frame with a line per row and view or column.

        Parameters
        ----------
        of : {"columns", "views"} or None, default=None
            Which contributions; None is the columns where there are any, else the views.

        Returns
        -------
        data frame
            Of pandas, without it of polars, else an Arrow table, with the columns ``row``, ``view``, for contributions
            of columns ``column``, with more than two classes ``class``, and ``contribution``. A line without view and
            column has the base.
        """
        return data_frame(self.to_records(of))

    def to_records(self, of: Literal["columns", "views"] | None = None) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists, by name.

        Parameters
        ----------
        of : {"columns", "views"} or None, default=None
            Which contributions; None is the columns where there are any, else the views.

        Returns
        -------
        dict of str to list
            The lists, which are equally long.
        """
        kind = self._kind(of)
        base, values = self._arrays(kind)
        n_rows, n_players = values.shape[:2]
        classes: list[Any] = [None] if values.ndim == 2 else _class_list(self.classes, values.shape[2])
        names = self.column_names if kind == "columns" else self.view_names
        views = self._views_of_columns() if kind == "columns" else self.view_names
        players = n_players + 1
        everything = np.concatenate([base[:, None], values], axis=1)
        frame: dict[str, list[Any]] = {
            "row": np.repeat(np.arange(n_rows), players * len(classes)).tolist(),
            "view": _repeated([None, *views], len(classes), n_rows),
        }
        if kind == "columns":
            frame["column"] = _repeated([None, *names], len(classes), n_rows)
        if values.ndim == 3:
            frame["class"] = classes * (n_rows * players)
        frame["contribution"] = everything.ravel().tolist()
        return frame

    def plot(
        self,
        row: int = 0,
        *,
        of: Literal["columns", "views"] | None = None,
        class_: Any = None,
        n_largest: int = 12,
        ax: Any = None,
    ) -> Any:
        """Draw what the decision on a row is made of.

        Parameters
        ----------
        row : int, default=0
            Number of the row among those that were explained.
        of : {"columns", "views"} or None, default=None
            Which contributions; None is the columns where there are any, else the views.
        class_ : default=None
            With more than two classes, the class whose decision value is drawn; None is the one of the largest value.
        n_largest : int, default=12
            Contributions that are drawn one by one; the others are one bar.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        fuselearn.inspection.ExplanationDisplay
            The display, drawn.
        """
        # Pictures stand above the models that explain: this package must not import them before one is asked for.
        displays = import_module("fuselearn.inspection")
        return displays.ExplanationDisplay.from_explanation(self, row, of=of, class_=class_, n_largest=n_largest, ax=ax)

    def of_row(
        self, row: int = 0, *, of: Literal["columns", "views"] | None = None, class_: Any = None
    ) -> tuple[float, FloatArray, list[str]]:
        """Return base, contributions and names of one row, for one class where there are more than two.

        Parameters
        ----------
        row : int, default=0
            Number of the row among those that were explained.
        of : {"columns", "views"} or None, default=None
            Which contributions; None is the columns where there are any, else the views.
        class_ : default=None
            With more than two classes, the class; None is the one of the largest decision value.

        Returns
        -------
        base : float
            The base.
        values : ndarray
            Contributions.
        names : list of str
            Their names.
        """
        kind = self._kind(of)
        check_count("row", row, least=0)
        if row >= len(self):
            raise ValueError(f"row must be below {len(self)}, the number of rows that were explained; got {row}.")
        base, values = self._arrays(kind)
        names = self.column_names if kind == "columns" else self.view_names
        if values.ndim == 2:
            self._check_class(class_)
            return float(base[row]), values[row], names
        number = self.class_number(row, class_)
        return float(base[row, number]), values[row, :, number], names

    def _check_class(self, class_: Any) -> None:
        """Refuse a class where there is one decision value: it is for the second class, or of a number."""
        if class_ is None or (self.classes is not None and class_ == self.classes[-1]):
            return
        what = "numbers" if self.classes is None else f"the class {self.classes[-1]!r} against {self.classes[0]!r}"
        raise ValueError(f"class_ is for more than two classes; got {class_!r}. These are contributions to {what}.")

    def class_number(self, row: int, class_: Any = None) -> int:
        """Return the number of a class, or of the class of the largest decision value of a row.

        Parameters
        ----------
        row : int
            Number of the row.
        class_ : default=None
            The class; None for that of the largest decision value.

        Returns
        -------
        int
            Its place in `classes`.
        """
        if class_ is None:
            return int(np.argmax(self.decision[row]))
        classes = _class_list(self.classes, self.decision.shape[1])
        if class_ not in classes:
            raise ValueError(f"class_ must be one of {classes}; got {class_!r}.")
        return classes.index(class_)

    def by_names(self, names: list[str]) -> Explanation:
        """Return the explanation with columns of the same name taken together, such as the categories of a text.

        Parameters
        ----------
        names : list of str
            A name for each column.

        Returns
        -------
        Explanation
            Contributions of the names, in the order of their first column; errors are added up.
        """
        if len(names) != len(self.column_names):
            raise ValueError(f"names must have a name for each of the {len(self.column_names)} columns.")
        place_of = {name: place for place, name in enumerate(dict.fromkeys(names))}
        distinct, places = list(place_of), np.array([place_of[name] for name in names])

        def summed(values: FloatArray | None) -> FloatArray | None:
            if values is None:
                return None
            sums = np.zeros((len(values), len(distinct), *values.shape[2:]))
            for column, place in enumerate(places.tolist()):
                sums[:, place] += values[:, column]
            return sums

        return replace(
            self,
            column_values=summed(self.column_values),
            column_errors=summed(self.column_errors),
            column_names=distinct,
            view_columns=[np.unique(places[columns]) for columns in self.view_columns],
        )

    def importances(self, of: Literal["columns", "views"] | None = None) -> FloatArray:
        """Return the mean absolute contribution of each column or view, over rows and classes.

        Parameters
        ----------
        of : {"columns", "views"} or None, default=None
            Which contributions; None is the columns where there are any, else the views.

        Returns
        -------
        ndarray of shape (n_features_in_,) or (n_views,)
            Mean absolute contributions.
        """
        kind = self._kind(of)
        values = np.abs(self._arrays(kind)[1])
        means: FloatArray = values.mean(axis=0) if values.ndim == 2 else values.mean(axis=(0, 2))
        return means

    def _kind(self, of: Literal["columns", "views"] | None) -> Literal["columns", "views"]:
        """Return which contributions are asked for."""
        if of is None:
            return "views" if self.column_values is None else "columns"
        check_choice("of", of, ("columns", "views"))
        return of

    def _arrays(self, kind: Literal["columns", "views"]) -> tuple[FloatArray, FloatArray]:
        """Return the base of each row, and the contributions."""
        if kind == "views":
            return np.broadcast_to(np.asarray(self.base), self.decision.shape), self.view_values
        if self.column_values is None or self.column_base is None:
            raise ValueError("of='columns': this model is explained by views only; see the notes of the explanation.")
        return self.column_base, self.column_values

    def _views_of_columns(self) -> list[str | None]:
        """Return the name of the view that each column is in, or those of several."""
        views: list[list[str]] = [[] for _ in self.column_names]
        for name, columns in zip(self.view_names, self.view_columns):
            for column in columns.tolist():
                views[column].append(name)
        return [" + ".join(names) or None for names in views]

    def _repr_html_(self) -> str:
        """Return tables of the largest contributions to the first rows, for a notebook."""
        kind, tables = self._kind(None), []
        for row in range(min(LISTED_ROWS, len(self))):
            class_ = None
            if self.decision.ndim == 2 and self.classes is not None:
                class_ = self.classes[self.class_number(row)]
            base, values, names = self.of_row(row, of=kind)
            largest = np.argsort(-np.abs(values), kind="stable")[:LISTED_COLUMNS]
            rest = float(values.sum() - values[largest].sum())
            decision = base + float(values.sum())
            title = f"row {row}" + ("" if class_ is None else f", class {class_}")
            lines = [("base", base), *((names[player], float(values[player])) for player in largest)]
            if len(values) > len(largest):
                lines.append((f"{len(values) - len(largest)} others", rest))
            lines.append(("decision", decision))
            cells = "".join(
                f"<tr><td style='text-align:left'>{escape(str(name))}</td><td>{value:+.4g}</td></tr>"
                for name, value in lines
            )
            tables.append(
                f"<table style='display:inline-table;margin-right:1.5em'><caption>{escape(title)}</caption>"
                f"<tbody>{cells}</tbody></table>"
            )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<div><p>{escape(repr(self))}</p>{''.join(tables)}{notes}</div>"


def _class_list(classes: AnyArray | None, count: int) -> list[Any]:
    """Return the classes, or numbers where they have no names."""
    return list(range(count)) if classes is None else list(classes.tolist())


def _repeated(names: list[Any], each: int, times: int) -> list[Any]:
    """Return names, each of them `each` times, and the whole list `times` times."""
    return [name for name in names for _ in range(each)] * times
