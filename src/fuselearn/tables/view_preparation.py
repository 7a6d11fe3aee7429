"""One view on its way from the columns of a table to a block of numbers: text encoded, then steps by name."""

import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fuselearn.data.table_columns import padded_text
from fuselearn.exceptions import level_of_caller
from fuselearn.persistence.validation import check_contents, check_texts, is_fitted
from fuselearn.tables.fitted_steps import (
    COLUMN_ENCODINGS,
    ENCODINGS,
    STEPS,
    TOO_LARGE,
    DateEncoding,
    GapFilling,
    OneHotEncoding,
    Projection,
    Scaling,
    TargetMeanEncoding,
)
from fuselearn.tables.target_means import cross_fitted_means
from fuselearn.typing import AnyArray, BoolArray, FloatArray

PREPROCESSING_STEPS = "none, standard, robust, pca:SHARE (such as pca:0.95) and pca:NUMBER (such as pca:20)"
"""The steps that a view may be put through, in words."""


def is_preprocessing_step(name: Any) -> bool:
    """Check whether there is a step of a name.

    Parameters
    ----------
    name : str
        What a user gave.

    Returns
    -------
    bool
        True for "none", "standard", "robust" and ``pca:`` with a share or a number.

    Examples
    --------
    >>> from fuselearn.tables import is_preprocessing_step
    >>> is_preprocessing_step("pca:0.9"), is_preprocessing_step("pca:2.5")
    (True, False)
    """
    return name in ("none", "standard", "robust") or _components(name) is not None


class ViewPreparation(BaseEstimator):
    """Encode the text of a view, then put it through its steps.

    A column of numbers stays as it is. A column of text becomes a column per category, or a column per class with the
    mean target of the category (one column where there are two classes). A row in which the whole view is missing
    stays missing: all its numbers are NaN.

    Parameters
    ----------
    columns : list of str
        Columns of the view.
    categories : list of str, default=()
        Those of the columns that are text, or dates.
    categorical : {"onehot", "target"}, default="onehot"
        How text is encoded.
    preprocess : sequence of str, default=()
        Names of steps.
    fill_gaps : bool, default=False
        Whether a missing number of a row that has the view becomes the column's mean.
    random_state : int or None, default=None
        Seed of the folds for target means, and of randomised PCA.

    Attributes
    ----------
    encoders_ : dict of str to OneHotEncoding, TargetMeanEncoding or DateEncoding
        Column name to what was learnt of its texts or dates.
    steps_ : list of GapFilling, Scaling or Projection
        What the steps have learnt, in their order.
    feature_names_ : list of str
        Names of the columns of the block.
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        categories: Sequence[str] = (),
        categorical: str = "onehot",
        preprocess: Sequence[str] = (),
        fill_gaps: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.columns = columns
        self.categories = categories
        self.categorical = categorical
        self.preprocess = preprocess
        self.fill_gaps = fill_gaps
        self.random_state = random_state

    def fit_transform(
        self, values: dict[str, AnyArray], y: AnyArray, dates: Collection[str] = (), groups: AnyArray | None = None
    ) -> FloatArray:
        """Fit, and return the block of the training rows, whose target means are cross-fitted, by `groups` if given.

        `values` maps a column name to floats with NaN, or to texts with None, or for `dates` to days with None.
        """
        self.encoders_: dict[str, OneHotEncoding | TargetMeanEncoding | DateEncoding] = {}
        parts: list[FloatArray] = []
        names: list[str] = []
        texts = set(self.categories)
        for column in self.columns:
            if column not in texts:
                parts.append(values[column][:, None])
                names.append(column)
                continue
            known = _is_known(values[column])
            if column in dates:
                self.encoders_[column] = DateEncoding.of(values[column][known])
                parts.append(self._encoded(column, values[column]))
                names += self.encoders_[column].names(column)
                continue
            stripped = _stripped(values[column][known], column)
            encoder, encoded = self._fit_encoder(column, stripped, y[known], None if groups is None else groups[known])
            self.encoders_[column] = ENCODINGS[type(encoder).__name__].of(encoder)
            parts.append(_spread(encoded, known))
            names += self.encoders_[column].names(column)
        block = np.hstack(parts)
        present = ~np.asarray(np.isnan(block).all(axis=1))
        if not present.any():
            raise ValueError("it is empty in every row; leave it out")
        self.steps_: list[GapFilling | Scaling | Projection] = []
        steps = make_steps(self.preprocess, self.random_state)
        if self.fill_gaps:
            from sklearn.impute import SimpleImputer

            steps.insert(0, SimpleImputer(keep_empty_features=True))
        if not steps:
            self.feature_names_ = names
            return block
        rows = block[present]
        for step in steps:
            rows = self._fit_step(step, rows)
        width = rows.shape[1]
        self.feature_names_ = names if width == len(names) else [f"component_{number}" for number in range(width)]
        return _spread(rows, present)

    def transform(self, values: dict[str, AnyArray]) -> FloatArray:
        """Return the block of any rows. A category that was not seen is none of the known ones."""
        texts = set(self.categories)
        block = np.hstack(
            [
                self._encoded(column, values[column]) if column in texts else values[column][:, None]
                for column in self.columns
            ]
        )
        if not self.steps_:
            return block
        present = ~np.asarray(np.isnan(block).all(axis=1))
        if not present.any():
            return np.full((len(block), len(self.feature_names_)), np.nan)
        rows = block[present]
        for step in self.steps_:
            rows = step.transform(rows)
        return _spread(rows, present)

    @property
    def target_means(self) -> list[str]:
        """Return the columns whose texts became the mean target of their category."""
        return [column for column, encoder in self.encoders_.items() if isinstance(encoder, TargetMeanEncoding)]

    def unknown(self, column: str, texts: AnyArray) -> list[str]:
        """Return the texts that a column did not have when it was fitted."""
        encoder = self.encoders_[column]
        known = encoder.categories if not isinstance(encoder, DateEncoding) else texts
        return sorted(text for text in {*texts} - {None, *known} if text.strip() not in known)

    def validate(self) -> None:
        """Raise an error in words where columns, encoders and steps do not agree."""
        if not is_fitted(self):
            return
        columns, categories, encoders, steps, names = check_contents(
            self,
            {
                "columns": (list, tuple),
                "categories": (list, tuple),
                "encoders_": dict,
                "steps_": list,
                "feature_names_": list,
            },
        )
        for what, texts in {"columns": columns, "columns of text": categories, "names of numbers": names}.items():
            check_texts(what, texts)
        if not columns or not set(categories) <= set(columns) or set(encoders) != set(categories):
            raise ValueError("the columns of text are not those of the view, or lack what was learnt of them")
        width = len(columns)
        for column in columns:
            if column in encoders:
                encoder = encoders[column]
                if type(encoder) not in COLUMN_ENCODINGS:
                    raise ValueError(f"the column {column!r} has a {type(encoder).__name__} for its text")
                encoder.validate()
                width += encoder.width - 1
        for step in steps:
            if type(step) not in STEPS.values():
                raise ValueError(f"there is a step that is a {type(step).__name__}")
            step.validate()
            if step.shape[0] != width:
                raise ValueError(f"a step takes {step.shape[0]} columns, where there are {width}")
            width = step.shape[1]
        if len(names) != width:
            raise ValueError(f"there are {len(names)} names for {width} columns of numbers")

    def _fit_step(self, step: Any, rows: FloatArray) -> FloatArray:
        """Fit a step and keep what it has learnt; return its rows."""
        with warnings.catch_warnings():
            # An empty column has no scale, and numbers near the largest have none either: that is told below.
            warnings.simplefilter("ignore", RuntimeWarning)
            changed: FloatArray = step.fit_transform(rows)
        fitted = STEPS[type(step).__name__].of(step)
        # A variance that overflows is taken for none by scikit-learn, which then does not scale at all.
        overflows = (changed, *vars(fitted).values(), getattr(step, "var_", 0.0))
        if any(np.isinf(array).any() for array in overflows):
            raise ValueError(TOO_LARGE.format(np.nanmax(np.abs(rows))))
        self.steps_.append(fitted)
        return changed

    def _fit_encoder(
        self, column: str, texts: AnyArray, y: AnyArray, groups: AnyArray | None
    ) -> tuple[Any, FloatArray]:
        """Return a fitted encoder of a column of text, and the columns that it makes of the training rows."""
        if self.categorical == "target":
            return cross_fitted_means(column, texts, y, groups, self.random_state)
        # What only a fit needs takes a tenth of the time in which a few rows are predicted.
        from sklearn.preprocessing import OneHotEncoder

        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        return encoder, encoder.fit_transform(texts[:, None])

    def _encoded(self, column: str, texts: AnyArray) -> FloatArray:
        """Return the numbers of a column of text."""
        known = _is_known(texts)
        return _spread(self.encoders_[column].transform(texts[known]), known)


def _is_known(texts: AnyArray) -> BoolArray:
    """Return the mask of the texts that are not missing."""
    return np.array([text is not None for text in texts], dtype=bool)


def _stripped(texts: AnyArray, name: str) -> AnyArray:
    """Return texts without white space around them; a warning names two that thereby become one."""
    padded = padded_text(texts)
    if padded is not None:
        warnings.warn(
            f"The column {name!r} has {padded!r} beside {padded.strip()!r}: they count as one category, since white "
            "space around a text is not part of it.",
            stacklevel=level_of_caller(),
        )
    return np.array([*(text.strip() for text in texts), None], dtype=object)[:-1]


def _spread(values: FloatArray, rows: BoolArray) -> FloatArray:
    """Return the values of some rows, with NaN in the others."""
    if rows.all():
        return np.asarray(values, dtype=np.float64)
    spread = np.full((len(rows), values.shape[1]), np.nan)
    spread[rows] = values
    return spread


def make_steps(names: Sequence[str], seed: int | None) -> list[Any]:
    """Return unfitted transformers for names.

    "standard" has mean 0 and variance 1; "robust" median 0 and quartile range 1; "pca:0.95" standardises and takes the
    components that hold 95 % of the variance, "pca:20" the first 20. Gaps are filled by means before PCA.

    Examples
    --------
    >>> make_steps(["standard"], 0)
    [StandardScaler()]
    """
    if not names:
        return []
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import RobustScaler, StandardScaler

    steps: list[Any] = []
    for name in names:
        if name == "standard":
            steps.append(StandardScaler())
        elif name == "robust":
            steps.append(RobustScaler())
        elif name != "none":
            components = _components(name)
            solver = "full" if isinstance(components, float) else "auto"
            steps += [
                SimpleImputer(keep_empty_features=True),
                StandardScaler(),
                PCA(components, svd_solver=solver, random_state=seed),
            ]
    return steps


def _components(name: Any) -> int | float | None:
    """Return the number, or share of the variance, that ``pca:…`` names; None if it names neither."""
    kind, sign, amount = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind != "pca" or not sign:
        return None
    try:
        if amount.isdigit():
            return int(amount) or None
        return float(amount) if 0 < float(amount) < 1 else None
    except ValueError:
        return None
