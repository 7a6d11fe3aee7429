"""What a view has learnt of its columns, as plain data: encodings of text, filled gaps, scales and components.

scikit-learn fits them; what is kept are its numbers, in types of ours that a saved model can hold. Each gives bit for
bit the columns that scikit-learn's own would give, and can be checked by :meth:`validate` before anything is called.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fuselearn.persistence.validation import check_texts
from fuselearn.typing import AnyArray, FloatArray

TOO_LARGE = "it has numbers too large to calculate with, such as {:.3g}; write them in a larger unit"


@dataclass(frozen=True, eq=False)
class OneHotEncoding:
    """A column for each category; a text that is none of them is 0 in all.

    Parameters
    ----------
    categories : list of str
        In alphabetical order, each once.
    """

    categories: list[str]

    @classmethod
    def of(cls, encoder: Any) -> Self:
        """Return what scikit-learn's `OneHotEncoder` of one column has learnt."""
        return cls([str(category) for category in encoder.categories_[0]])

    @property
    def width(self) -> int:
        """Return the number of columns that it makes."""
        return len(self.categories)

    def names(self, column: str) -> list[str]:
        """Return the names of its columns."""
        return [f"{column}={category}" for category in self.categories]

    def transform(self, texts: AnyArray) -> FloatArray:
        """Return the columns of texts, none of which is missing."""
        codes = _codes(texts, self.categories)
        known = np.flatnonzero(codes >= 0)
        encoded = np.zeros((len(texts), self.width))
        encoded[known, codes[known]] = 1.0
        return encoded

    def validate(self) -> None:
        """Raise an error in words where the categories are not different texts."""
        _check_categories(self.categories)


@dataclass(frozen=True, eq=False)
class TargetMeanEncoding:
    """The mean target of a category: a column for each class, or one, of the second class, where there are two.

    Parameters
    ----------
    categories : list of str
        In alphabetical order, each once.
    means : float ndarray of shape (n_columns, n_categories)
        Smoothed means of the categories.
    overall_means : float ndarray of shape (n_columns,)
        Means of all rows, for a text that is none of the categories.
    classes : ndarray of shape (n_classes,)
        The classes, in the order of the columns; none where the target is a number.
    """

    categories: list[str]
    means: FloatArray
    overall_means: FloatArray
    classes: AnyArray

    @classmethod
    def of(cls, encoder: Any) -> Self:
        """Return what scikit-learn's `TargetEncoder` of one column has learnt."""
        return cls(
            [str(category) for category in encoder.categories_[0]],
            np.array(encoder.encodings_, dtype=np.float64),
            np.array(encoder.target_mean_, dtype=np.float64).reshape(-1),
            np.array([] if encoder.classes_ is None else encoder.classes_),
        )

    @property
    def width(self) -> int:
        """Return the number of columns that it makes."""
        return len(self.means)

    def names(self, column: str) -> list[str]:
        """Return the names of its columns."""
        return [column] if self.width == 1 else [f"{column}~{label}" for label in self.classes]

    def transform(self, texts: AnyArray) -> FloatArray:
        """Return the columns of texts, none of which is missing."""
        # The last row, which code -1 takes, is for texts that are not known.
        means = np.vstack([self.means.T, self.overall_means])
        return means[_codes(texts, self.categories)]

    def validate(self) -> None:
        """Raise an error in words where categories, means and classes do not agree."""
        _check_categories(self.categories)
        _check_numbers("mean targets", self.means, 2)
        _check_numbers("overall mean targets", self.overall_means, 1)
        if type(self.classes) is not np.ndarray or self.classes.ndim != 1:
            raise ValueError("the classes of mean targets are not an array of one dimension")
        n_classes = len(self.classes)
        width = n_classes if n_classes > 2 else 1
        if n_classes == 1 or self.means.shape != (width, len(self.categories)) or self.overall_means.shape != (width,):
            raise ValueError(
                f"mean targets of {len(self.categories)} categories and {n_classes} classes have the shapes "
                f"{self.means.shape} and {self.overall_means.shape}"
            )


@dataclass(frozen=True, eq=False)
class DateEncoding:
    """Year, month, weekday (Monday is 0) of a date, and the days since the first one of the training rows.

    Parameters
    ----------
    first_day : float
        The first date, in days since 1970, with the time of day as a fraction.
    """

    first_day: float

    @classmethod
    def of(cls, days: AnyArray) -> Self:
        """Return what is learnt of dates, in days since 1970, none of which is missing."""
        return cls(float(np.floor(days.astype(np.float64).min())) if len(days) else 0.0)

    @property
    def width(self) -> int:
        """Return the number of columns that it makes."""
        return 4

    def names(self, column: str) -> list[str]:
        """Return the names of its columns."""
        return [f"{column}~{part}" for part in ("year", "month", "weekday", "days")]

    def transform(self, days: AnyArray) -> FloatArray:
        """Return the columns of dates, in days since 1970, none of which is missing."""
        numbers = days.astype(np.float64)
        whole = np.floor(numbers).astype(np.int64)
        months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        return np.column_stack([1970.0 + months // 12, 1.0 + months % 12, (whole + 3.0) % 7, numbers - self.first_day])

    def validate(self) -> None:
        """Raise an error in words where the first date is no number."""
        if type(self.first_day) is not float or not np.isfinite(self.first_day):
            raise ValueError("the first date of a column is not a finite number")


@dataclass(frozen=True, eq=False)
class GapFilling:
    """A gap becomes the mean of its column.

    Parameters
    ----------
    means : float ndarray of shape (n_columns,)
        0 for a column that was empty.
    """

    means: FloatArray

    @classmethod
    def of(cls, imputer: Any) -> Self:
        """Return what scikit-learn's `SimpleImputer` has learnt."""
        return cls(np.array(imputer.statistics_, dtype=np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of columns that it takes, and that it makes."""
        return len(self.means), len(self.means)

    def transform(self, rows: FloatArray) -> FloatArray:
        """Return rows without gaps."""
        filled = np.array(rows)
        gaps = np.isnan(filled)
        filled[gaps] = np.broadcast_to(self.means, filled.shape)[gaps]
        return filled

    def validate(self) -> None:
        """Raise an error in words where the means are not finite numbers."""
        _check_numbers("means for gaps", self.means, 1)


@dataclass(frozen=True, eq=False)
class Scaling:
    """A number becomes its difference from the centre of the column, divided by the column's scale.

    Parameters
    ----------
    centres, scales : float ndarray of shape (n_columns,)
        Means and standard deviations, or medians and quartile ranges; NaN for a column that was empty.
    """

    centres: FloatArray
    scales: FloatArray

    @classmethod
    def of(cls, scaler: Any) -> Self:
        """Return what scikit-learn's `StandardScaler` or `RobustScaler` has learnt."""
        centres = scaler.mean_ if hasattr(scaler, "mean_") else scaler.center_
        return cls(np.array(centres, dtype=np.float64), np.array(scaler.scale_, dtype=np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of columns that it takes, and that it makes."""
        return len(self.centres), len(self.centres)

    def transform(self, rows: FloatArray) -> FloatArray:
        """Return scaled rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = rows - self.centres
            scaled /= self.scales
        if np.isinf(scaled).any():
            raise ValueError(TOO_LARGE.format(rows[np.isinf(scaled)][0]))
        return scaled

    def validate(self) -> None:
        """Raise an error in words where centres and scales do not agree, or a scale is not above 0."""
        _check_numbers("centres", self.centres, 1, gaps=True)
        _check_numbers("scales", self.scales, 1, gaps=True)
        if self.centres.shape != self.scales.shape:
            raise ValueError(f"there are {len(self.centres)} centres and {len(self.scales)} scales of columns")
        if np.any(self.scales <= 0):
            raise ValueError("a column has a scale that is not above 0")


@dataclass(frozen=True, eq=False)
class Projection:
    """Principal components of rows without gaps.

    Parameters
    ----------
    means : float ndarray of shape (n_columns,)
        Means of the columns.
    loadings : float ndarray of shape (n_columns, n_components)
        The components, side by side.
    """

    means: FloatArray
    loadings: FloatArray

    @classmethod
    def of(cls, pca: Any) -> Self:
        """Return what scikit-learn's `PCA` has learnt."""
        # In this order of memory the product has the same bits before and after saving. They are scikit-learn's where
        # its components lie in this order, too, as they do with SciPy before 1.18.
        return cls(np.array(pca.mean_, dtype=np.float64), np.ascontiguousarray(pca.components_.T, dtype=np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of columns that it takes, and that it makes."""
        return self.loadings.shape[0], self.loadings.shape[1]

    def transform(self, rows: FloatArray) -> FloatArray:
        """Return the components of rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            components = rows @ self.loadings
            components -= self.means[None, :] @ self.loadings
        if not np.isfinite(components).all():
            raise ValueError(TOO_LARGE.format(np.abs(rows).max()))
        return components

    def validate(self) -> None:
        """Raise an error in words where means and components do not agree."""
        _check_numbers("means of columns", self.means, 1)
        _check_numbers("components", self.loadings, 2)
        if len(self.means) != len(self.loadings) or self.loadings.shape[1] < 1:
            raise ValueError(f"components of the shape {self.loadings.shape} are for {len(self.means)} columns")


ENCODINGS: dict[str, type[OneHotEncoding] | type[TargetMeanEncoding]] = {
    "OneHotEncoder": OneHotEncoding,
    "TargetEncoder": TargetMeanEncoding,
}
"""Class of scikit-learn that learns from the texts of a column, to the type that is kept."""
COLUMN_ENCODINGS = (OneHotEncoding, TargetMeanEncoding, DateEncoding)
"""What is kept of a column that is not a number."""
STEPS: dict[str, type[GapFilling] | type[Scaling] | type[Projection]] = {
    "SimpleImputer": GapFilling,
    "StandardScaler": Scaling,
    "RobustScaler": Scaling,
    "PCA": Projection,
}
"""Class of scikit-learn that learns from the numbers of a view, to the type that is kept."""


def _codes(texts: AnyArray, categories: list[str]) -> AnyArray:
    """Return the number of the category of each text, without white space around it; -1 for one that is not known."""
    number_of = {category: number for number, category in enumerate(categories)}
    # Categories of earlier versions may have white space, and are found as they are.
    return np.array([number_of.get(text, number_of.get(text.strip(), -1)) for text in texts], dtype=np.intp)


def _check_categories(categories: Any) -> None:
    """Refuse categories that are not different texts."""
    check_texts("categories", categories)
    if not categories or len(set(categories)) < len(categories):
        raise ValueError("categories are empty, or not all different")


def _check_numbers(what: str, array: Any, ndim: int, gaps: bool = False) -> None:
    """Refuse what is not an array of finite numbers, of which some may be NaN where there may be gaps."""
    if type(array) is not np.ndarray or array.dtype != np.float64 or array.ndim != ndim:
        raise ValueError(f"{what} are not an array of {ndim} dimension{'s' if ndim > 1 else ''} in double precision")
    if np.isinf(array).any() or (not gaps and np.isnan(array).any()):
        raise ValueError(f"{what} have values that are not finite")
