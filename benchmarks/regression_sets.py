"""Rows in several views with a number to predict, real and drawn; for `regression.py`."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from benchmarks.command_line import progress
from benchmarks.data import DATA_FOLDER_VARIABLE

MOST_TEST_ROWS = 5_000


@dataclass(frozen=True)
class NumberSet:
    """Rows with a number to predict.

    Attributes
    ----------
    X : float64 ndarray of shape (n_rows, n_columns)
    y : float64 ndarray of shape (n_rows,)
    views : dict of name to int ndarray
        Columns of each view.
    n_training : int
        Number of rows to train on; of the others at most `MOST_TEST_ROWS` are predicted.
    """

    X: np.ndarray
    y: np.ndarray
    views: dict
    n_training: int


def _side_by_side(parts, y, n_training):
    """Return a set of the tables of its views."""
    ends = np.cumsum([0, *(part.shape[1] for part in parts.values())])
    views = {name: np.arange(start, stop) for name, start, stop in zip(parts, ends, ends[1:])}
    return NumberSet(np.column_stack(list(parts.values())), y, views, n_training)


def diamonds(n_rows):
    """Return the logarithm of the price of diamonds, in views other than the price."""
    path = Path(os.environ.get(DATA_FOLDER_VARIABLE, "")) / "diamonds" / "diamonds.npz"
    with np.load(path) as data:
        parts = {name: data[f"view_{name}"].astype(float) for name in ("size", "cut", "colour")}
        y = np.log(data["target_price"].astype(float))
    return _side_by_side(parts, y, n_rows)


def diabetes(n_rows):
    """Return scikit-learn's diabetes: what is known of the person, and what was measured of the blood."""
    X, y = load_diabetes(return_X_y=True)
    return NumberSet(X, y, {"person": np.arange(4), "blood": np.arange(4, 10)}, n_rows)


def housing(n_rows, seed=0):
    """Draw prices of houses that depend on place, house and people as those of California do, roughly."""
    draws = np.random.default_rng(seed)
    n = n_rows + 5000
    place = np.column_stack([draws.uniform(32, 42, n), draws.uniform(-124, -114, n)])
    coast = np.abs(place[:, 1] + 124 - (42 - place[:, 0]))
    cities = sum(np.exp(-((place - centre) ** 2).sum(axis=1)) for centre in ([34, -118], [37.7, -122.3], [38.6, -121]))
    income = draws.lognormal(1.2, 0.45, n) * (1 + 0.3 * cities)
    rooms = np.clip(3 + 0.4 * income + draws.normal(0, 1, n), 1, None)
    bedrooms = 0.2 * rooms + draws.normal(0, 0.15, n)
    house = np.column_stack([draws.integers(1, 52, n), rooms, bedrooms])
    people = np.column_stack([income, draws.lognormal(7, 0.7, n), draws.lognormal(1, 0.3, n)])
    value = 0.45 * income + 1.2 * cities - 0.06 * coast + 0.004 * house[:, 0] * (cities > 0.3)
    value -= 0.2 * np.log(people[:, 2]) * income / 3
    y = np.minimum(value + 0.4 * draws.standard_t(5, n) + 1, 5.0)
    return _side_by_side({"place": place, "house": house, "people": people}, y, n_rows)


def synthetic(n_rows, seed=0):
    """Draw three views of ten columns; the target depends on all of them, in lines, curves and a product."""
    draws = np.random.default_rng(seed)
    parts = {name: draws.standard_normal((n_rows + 2000, 10)) for name in "abc"}
    y = parts["a"][:, 0] - 0.5 * parts["a"][:, 1] + np.sin(2 * parts["b"][:, 0]) + 0.5 * parts["b"][:, 1] ** 2
    y += parts["c"][:, 0] * parts["a"][:, 2] + parts["c"][:, 1] + 0.7 * draws.standard_normal(len(y))
    return _side_by_side(parts, y, n_rows)


SETS = {
    "diabetes": partial(diabetes, 331),
    "synthetic, 600 rows": partial(synthetic, 600),
    "housing, 1,000 rows": partial(housing, 1_000),
    "diamonds, 1,000 rows": partial(diamonds, 1_000),
    "synthetic, 10,000 rows": partial(synthetic, 10_000),
    "housing, 20,000 rows": partial(housing, 20_000),
    "diamonds, 20,000 rows": partial(diamonds, 20_000),
}
QUICK = ("diabetes", "synthetic, 600 rows")


def available(names):
    """Return those of the `SETS` that can be loaded, by name, and the names of the others."""
    loaded, missing = {}, []
    for name in names:
        try:
            loaded[name] = SETS[name]()
        except OSError as error:
            progress(f"regression: without {name}: {error}")
            missing.append(name)
    return loaded, missing


def split(data, seed):
    """Return training rows, test rows, and the targets of both."""
    return train_test_split(
        data.X,
        data.y,
        train_size=data.n_training,
        test_size=min(len(data.y) - data.n_training, MOST_TEST_ROWS),
        random_state=seed,
    )
