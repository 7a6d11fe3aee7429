"""What the boosting loop may ask of the rows.

The loop sees three numbers per arm and round, and never a row. So the rows can be anywhere: in this process,
spread over a cluster, or on a GPU.

Where a fit runs follows from what is passed in.
"""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple, Protocol

import numpy as np

from fuselearn.data import View
from fuselearn.data.table import is_device_array


class Tally(NamedTuple):
    """Weight of the rows that a hypothesis gets right, gets wrong, and abstains on: W₊, W₋, W₀."""

    right: float
    wrong: float
    absent: float


class Trial(NamedTuple):
    """A hypothesis that was fitted in a round, and how it did.

    The hypothesis is None when no row with weight has the arm's view: it abstains everywhere.
    """

    hypothesis: object
    tally: Tally


@dataclass(frozen=True)
class Arm:
    """A view together with a learner, and the labels it believes.

    Attributes
    ----------
    view : View
    view_number : int
    learner : learner, see `fuselearn.learners.protocol`
    codes : int32 ndarray of shape (n_rows,)
        Class of each row, by this view's own labels.
    """

    view: View
    view_number: int
    learner: object
    codes: np.ndarray


class Rows(Protocol):
    """The rows of a run and their weights.

    Arms share one weight per row, or each has its own; only the rows know.
    """

    def try_arms(self, arms, round_number):
        """Fit each of the arms under its weights. Returns a list of `Trial`."""

    def judge(self, arm, hypothesis, round_number):
        """Weigh a hypothesis that was fitted before. Returns its `Tally`."""

    def reweight(self, arm, right, wrong, absent):
        """Multiply the arm's weights by what its last judged hypothesis made of each row, and normalise."""


def kind_of(X):
    """Where the rows of `X` are: "local", "dask", "device" or "files".

    It goes by the module of the type, so that no library is imported that the user does not use; see
    `is_device_array` for what counts as one on a device.

    Examples
    --------
    >>> import numpy as np
    >>> kind_of(np.zeros((2, 2))), kind_of("rows.parquet"), kind_of(["a.parquet", "b.parquet"])
    ('local', 'files', 'files')
    """
    if isinstance(X, str | os.PathLike):
        return "files"
    if isinstance(X, list | tuple) and len(X) and all(isinstance(path, str | os.PathLike) for path in X):
        return "files"
    library = type(X).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        return "dask"
    return "device" if is_device_array(X) else "local"


def check_installed(kind):
    """Refuse a kind of rows whose extra is not installed."""
    for needed, module, extra, what in (
        ("dask", "distributed", "dask", "Dask collections"),
        ("files", "pyarrow", "app", "Parquet files"),
    ):
        if kind == needed and find_spec(module) is None:
            raise ImportError(f"To fit on {what}, install {module}: pip install 'fuselearn[{extra}]'.")


def rows_of(kind):
    """The class of rows that are in one place, "local" or "device"."""
    if kind == "device":
        from fuselearn.backends.gpu.rows import DeviceRows

        return DeviceRows
    from fuselearn.backends.local import LocalRows

    return LocalRows


def source_of(kind, X, y, sample_weight, view_labels):
    """The source of rows that come in parts, "dask" or "files"."""
    if kind == "dask":
        from fuselearn.backends.partitioned.dask_collections import DaskSource

        return DaskSource(X, y, sample_weight, view_labels)
    from fuselearn.backends.partitioned.parquet import FileSource

    return FileSource(X, y, sample_weight, view_labels)


def make_arms(views, learners, codes):
    """Arms in the order of the views, and within a view in that of its learners; each has been checked.

    Parameters
    ----------
    views : sequence of View
    learners : list of list of learner
    codes : list of int32 ndarray of shape (n_rows,)
        Each view's own labels.
    """
    arms = []
    for number, view in enumerate(views):
        for learner in learners[number]:
            learner.check(view)
            arms.append(Arm(view, number, learner, codes[number]))
    return arms
