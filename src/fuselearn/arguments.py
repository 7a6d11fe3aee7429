"""Arguments of estimators and functions: checks of plain settings, and selectors of columns.

Selectors are resolved by the rules of scikit-learn's ColumnTransformer. Every error names the argument or the view,
what was given and what would be right: with twenty views "index out of range" helps nobody.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from numbers import Integral, Real
from typing import Any

import numpy as np
import sklearn.utils

from fuselearn.typing import IntArray, Selector, TableLike, Views

GLOB = frozenset("*?[")
"""Characters of which one makes a glob of a name."""


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")


def check_positive(name: str, value: object) -> None:
    """Refuse a value that is not a finite number above 0."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ValueError(f"{name} must be a number above 0; got {value!r}.")


def check_flag(name: str, value: object) -> None:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}; got {value!r}.")


def check_jobs(value: object) -> None:
    """Refuse a value that does not give a number of threads."""
    if value is not None and (not isinstance(value, Integral) or value == 0):
        raise ValueError(f"n_jobs must be None, a number of threads, or -1 for all cores; got {value!r}.")


def check_random_state(random_state: object) -> np.random.RandomState:
    """Return the generator of a seed, of a generator or of None, or refuse it; see :mod:`sklearn.utils`."""
    try:
        return sklearn.utils.check_random_state(random_state)
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state must be a whole number from 0 to {2**32 - 1}, a numpy.random.RandomState or None; got "
            f"{random_state!r:.80}."
        ) from None


def resolve_views(views: Views, X: TableLike, n_features: int) -> tuple[list[str], list[IntArray]]:
    """Turn the `views` argument of an estimator into names and column numbers.

    Parameters
    ----------
    views : None, dict of name to selector, or list of selectors or (name, selector) pairs
        None is one view of all columns. A selector is an int, a column name, a glob such as ``"rna_*"``, a list or
        array of these, a slice (of ints, or of names with both ends included), a boolean mask, or a callable that is
        given `X` and returns one of these.
    X : array or data frame as the user gave it
        Column names and callables need it.
    n_features : int
        Number of columns of `X`.

    Returns
    -------
    names : list of str
        Names of the views; "view0", "view1", … where none are given.
    columns : list of intp ndarray
        Column numbers of each view.

    Examples
    --------
    >>> import numpy as np
    >>> resolve_views({"sepal": [0, 1], "petal": slice(2, None)}, np.zeros((5, 4)), 4)
    (['sepal', 'petal'], [array([0, 1]), array([2, 3])])
    """
    header = _Header(X, n_features)
    names: list[str] = []
    columns: list[IntArray] = []
    for name, selector in _named_selectors(views):
        if name in names:
            raise ValueError(f"views has two views named {name!r}; give each view a name of its own.")
        names.append(name)
        columns.append(_resolve(name, selector, X, header))
    return names, columns


def resolve_columns(argument: str, selector: Selector, X: TableLike, n_features: int) -> IntArray:
    """Turn an argument of an estimator that chooses columns into their numbers, in order; there may be none.

    Parameters
    ----------
    argument : str
        Name of the argument, for error messages.
    selector : selector
        As of a view; see `resolve_views`.
    X : array or data frame as the user gave it
        Column names and callables need it.
    n_features : int
        Number of columns of `X`.

    Returns
    -------
    intp ndarray
        Column numbers, each once.

    Examples
    --------
    >>> import numpy as np
    >>> resolve_columns("categorical_features", [-1, 0], np.zeros((5, 4)), 4)
    array([0, 3])
    """
    return np.unique(_columns_of(argument, selector, X, _Header(X, n_features)))


def _named_selectors(views: Views) -> list[tuple[str, Selector]]:
    """Return the views as pairs of name and selector."""
    if views is None:
        return [("view0", slice(None))]
    if isinstance(views, Mapping):
        for name in views:
            if not isinstance(name, str):
                raise TypeError(f"views has the name {name!r}; names of views are strings.")
        pairs = list(views.items())
    elif isinstance(views, list | tuple):
        pairs = [_as_pair(view, number) for number, view in enumerate(views)]
    else:
        raise TypeError(
            "views must be None, a dict of name to columns, or a list of columns, "
            f"e.g. {{'rna': [0, 1], 'image': slice(2, 9)}}; got {views!r}."
        )
    if not pairs:
        raise ValueError("views is empty; pass None for one view of all columns.")
    return pairs


def _as_pair(view: Any, number: int) -> tuple[str, Selector]:
    """Return a list entry as (name, selector). Two strings are the names of two columns, not such a pair."""
    if isinstance(view, tuple) and len(view) == 2 and isinstance(view[0], str) and not isinstance(view[1], str):
        return view
    return f"view{number}", view


class _Header:
    """The columns of a table, by number and by name."""

    def __init__(self, X: TableLike, n_features: int) -> None:
        self.n_features = n_features
        # pyarrow's `columns` are the data; its `column_names` are what others call `columns`.
        names = getattr(X, "column_names", None)
        names = getattr(X, "columns", None) if names is None else names
        self._names = None if names is None else list(names)
        self._positions: dict[Any, list[int]] | None = None

    def position(self, what: str, key: Any) -> int:
        """Return the number of the column that a key stands for."""
        if isinstance(key, str):
            return self._position_of_name(what, key)
        if isinstance(key, bool | np.bool_) or not isinstance(key, Integral):
            raise TypeError(f"{what} holds {key!r}; columns are chosen by integers, names or a boolean mask.")
        if not -self.n_features <= int(key) < self.n_features:
            raise ValueError(
                f"{what} asks for column {key}, but X has n_features={self.n_features} "
                f"(columns 0 to {self.n_features - 1})."
            )
        return int(key) % self.n_features

    def positions(self, what: str, key: Any) -> list[int]:
        """Return the numbers of the columns that a key stands for: several, for a glob that is not itself a name."""
        if not isinstance(key, str) or not GLOB.intersection(key) or self._names is None or key in self._names:
            return [self.position(what, key)]
        matching = [number for number, name in enumerate(self._names) if fnmatchcase(str(name), key)]
        if not matching:
            raise ValueError(
                f"{what} has the glob {key!r}, which no column of X matches; its columns are {self._shown()}."
            )
        return matching

    def _shown(self) -> str:
        """Return the first names in words."""
        names = self._names or []
        return "[" + ", ".join(map(repr, names[:12])) + (", …]" if len(names) > 12 else "]")

    def _position_of_name(self, what: str, key: str) -> int:
        """Return the number of the column of a name."""
        if self._names is None:
            raise ValueError(
                f"{what} names the column {key!r}, but X is not a data frame; pass a data frame or give column numbers."
            )
        if self._positions is None:
            self._positions = {}
            for position, name in enumerate(self._names):
                self._positions.setdefault(name, []).append(position)
        positions = self._positions.get(key, [])
        if len(positions) > 1:
            raise ValueError(f"{what} names the column {key!r}, which X has {len(positions)} times.")
        if not positions:
            raise ValueError(
                f"{what} names the column {key!r}, which X does not have; its columns are {self._shown()}."
            )
        return positions[0]


def _resolve(name: str, selector: Selector, X: TableLike, header: _Header) -> IntArray:
    """Return the column numbers of a view."""
    columns = _columns_of(f"View {name!r}", selector, X, header)
    if len(columns) == 0:
        raise ValueError(
            f"View {name!r} is empty: its selector {selector!r} picks no column of X, which has "
            f"n_features={header.n_features}."
        )
    repeated = np.flatnonzero(np.bincount(columns) > 1)
    if len(repeated):
        raise ValueError(f"View {name!r} lists column {repeated[0]} more than once.")
    return columns


def _columns_of(what: str, selector: Selector, X: TableLike, header: _Header) -> IntArray:
    """Return the column numbers that a selector stands for; `what` names it in messages."""
    if callable(selector):
        selector = selector(X)
    return _from_slice(what, selector, header) if isinstance(selector, slice) else _from_list(what, selector, header)


def _from_slice(what: str, selector: slice, header: _Header) -> IntArray:
    """Return the column numbers of a slice."""
    if isinstance(selector.start, str) or isinstance(selector.stop, str):
        start = None if selector.start is None else header.position(what, selector.start)
        # As in pandas and ColumnTransformer, a slice of names includes its last one.
        stop = None if selector.stop is None else header.position(what, selector.stop) + 1
        selector = slice(start, stop, selector.step)
    for bound in (selector.start, selector.stop, selector.step):
        if bound is not None and not isinstance(bound, Integral):
            raise TypeError(f"{what} is {selector!r}; a slice takes integers or column names.")
    return np.arange(header.n_features)[selector]


def _from_list(what: str, selector: Any, header: _Header) -> IntArray:
    """Return the column numbers of a key, a list of keys or a boolean mask."""
    if isinstance(selector, str | Integral) and not isinstance(selector, bool):
        selector = [selector]
    try:
        keys = list(selector)
    except TypeError:
        raise TypeError(
            f"{what} is {selector!r}; columns are chosen by integers, names, globs, a slice, a boolean mask or a "
            "callable."
        ) from None
    if keys and all(isinstance(key, bool | np.bool_) for key in keys):
        if len(keys) != header.n_features:
            raise ValueError(f"{what} is a boolean mask of length {len(keys)}, but X has {header.n_features} columns.")
        return np.flatnonzero(keys)
    return np.array([number for key in keys for number in header.positions(what, key)], dtype=np.intp)
