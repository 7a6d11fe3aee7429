"""One view on its way from the columns of a file to a block of numbers.

Steps that a view may be put through, by name.
"""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

TARGET_FOLDS = 5


class ViewPreparation(BaseEstimator):
    """Encode the text of a view, then put it through its steps.

    A column of numbers stays as it is. A column of text becomes a column per category, or a column per class with the
    mean target of the category (one column where there are two classes). A row in which the whole view is missing
    stays missing: all its numbers are NaN.

    Parameters
    ----------
    columns : list of str
    categories : list of str
        Those of the columns that are text.
    categorical : {"onehot", "target"}
    preprocess : sequence of str
        Names of steps.
    fill_gaps : bool
        Whether a missing number of a row that has the view becomes the column's mean.
    random_state : int or None

    Attributes
    ----------
    encoders_ : dict of column name to fitted encoder
    steps_ : list of fitted transformer
    feature_names_ : list of str
        Names of the columns of the block.
    """

    def __init__(
        self, columns, *, categories=(), categorical="onehot", preprocess=(), fill_gaps=False, random_state=None
    ):
        self.columns = columns
        self.categories = categories
        self.categorical = categorical
        self.preprocess = preprocess
        self.fill_gaps = fill_gaps
        self.random_state = random_state

    def fit_transform(self, values, y):
        """Fit, and give the block of the training rows.

        The target means of these are cross-fitted: no row sees its own label.

        Parameters
        ----------
        values : dict of column name to ndarray of shape (n_rows,)
            Floats with NaN, or objects with None.
        y : ndarray of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows, n_numbers)
        """
        self.encoders_, parts, names = {}, [], []
        for column in self.columns:
            if column not in self.categories:
                parts.append(values[column][:, None])
                names.append(column)
                continue
            known = _known(values[column])
            encoder = self._encoder(column, y[known])
            texts = values[column][known][:, None]
            encoded = (
                encoder.fit_transform(texts, y[known]) if self.categorical == "target" else encoder.fit_transform(texts)
            )
            self.encoders_[column] = encoder
            parts.append(_spread(encoded, known))
            names += self._encoded_names(column, encoder, encoded.shape[1])
        block = np.hstack(parts)
        present = ~np.isnan(block).all(axis=1)
        if not present.any():
            raise ValueError("it is empty in every row; leave it out")
        self.steps_ = make_steps(self.preprocess, self.random_state)
        if self.fill_gaps:
            self.steps_.insert(0, SimpleImputer(keep_empty_features=True))
        if not self.steps_:
            self.feature_names_ = names
            return block
        own = block[present]
        for step in self.steps_:
            own = step.fit_transform(own)
        made = own.shape[1]
        self.feature_names_ = names if made == len(names) else [f"component_{number}" for number in range(made)]
        return _spread(own, present)

    def transform(self, values):
        """The block of any rows. A category that was not seen is none of the known ones."""
        block = np.hstack([self._encoded(column, values[column]) for column in self.columns])
        if not self.steps_:
            return block
        present = ~np.isnan(block).all(axis=1)
        if not present.any():
            return np.full((len(block), len(self.feature_names_)), np.nan)
        own = block[present]
        for step in self.steps_:
            own = step.transform(own)
        return _spread(own, present)

    def unknown(self, column, texts):
        """Those of some texts that a column did not have when it was fitted."""
        (categories,) = self.encoders_[column].categories_
        return sorted({text for text in texts if text is not None}.difference(categories))

    def _encoder(self, column, y):
        if self.categorical == "onehot":
            return OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        most = max(np.unique(y, return_counts=True)[1], default=0)
        if most < 2 or len(np.unique(y)) < 2:
            raise ValueError(
                f"the column {column!r} has {len(y)} values, too few of different classes for their mean target; "
                "encode it onehot, or leave it out"
            )
        folds = StratifiedKFold(min(TARGET_FOLDS, most), shuffle=True, random_state=self.random_state)
        # TODO(scikit-learn 1.9 at least): a splitter is all that it takes.
        if TargetEncoder().get_params()["random_state"] is None:
            return TargetEncoder(cv=folds.n_splits, random_state=self.random_state)
        return TargetEncoder(cv=folds)

    def _encoded(self, column, values):
        if column not in self.categories:
            return values[:, None]
        known, encoder = _known(values), self.encoders_[column]
        if not known.any():
            return np.full((len(values), self._width(encoder)), np.nan)
        return _spread(encoder.transform(values[known][:, None]), known)

    def _width(self, encoder):
        return len(encoder.get_feature_names_out())

    def _encoded_names(self, column, encoder, width):
        if self.categorical == "onehot":
            return [f"{column}={category}" for category in encoder.categories_[0]]
        return [column] if width == 1 else [f"{column}~{label}" for label in encoder.classes_]


def _known(texts):
    return np.array([text is not None for text in texts], dtype=bool)


def _spread(values, rows):
    """Values of some rows, with NaN in the others."""
    if rows.all():
        return np.asarray(values, dtype=np.float64)
    spread = np.full((len(rows), values.shape[1]), np.nan)
    spread[rows] = values
    return spread


KNOWN = "none, standard, robust, pca:SHARE (such as pca:0.95) and pca:NUMBER (such as pca:20)"


def is_step(name):
    """Whether a step of this name is known."""
    return name in ("none", "standard", "robust") or _components(name) is not None


def make_steps(names, seed):
    """Unfitted transformers for names.

    Parameters
    ----------
    names : sequence of str
        "standard" has mean 0 and variance 1; "robust" median 0 and quartile range 1; "pca:0.95" standardises and takes
        the components that hold 95 % of the variance, "pca:20" the first 20. Gaps are filled by means before PCA.
    seed : int or None

    Examples
    --------
    >>> make_steps(["standard"], 0)
    [StandardScaler()]
    """
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import RobustScaler, StandardScaler

    steps = []
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


def _components(name):
    """Number, or share of the variance, that ``pca:…`` names; None if it names neither."""
    kind, sign, amount = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind != "pca" or not sign:
        return None
    try:
        if amount.isdigit():
            return int(amount) or None
        return float(amount) if 0 < float(amount) < 1 else None
    except ValueError:
        return None
