"""The log of a fusion's fit, from which a fit that was killed goes on.

Whatever a fusion computes follows from the data and the fitted base models, so these are what is kept: on few rows with
the out-of-fold values of each fit, on many rows the boosted trees of each fold, beside which all else takes little
time. Each is written in the closed format of saved models, and is checked like one when it is read. The file is that of
`fuselearn.boosting.checkpoint`.
"""

import base64
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from fuselearn._version import __version__
from fuselearn.boosting.checkpoint import RunLog, described_setting
from fuselearn.boosting.trace_format import check_start, trust_in
from fuselearn.data import TrainingData
from fuselearn.data.training_data import RegressionData
from fuselearn.data.view_table import Features, to_host
from fuselearn.fusion.base_models import ArmFit, FittedModel
from fuselearn.fusion.base_models.catalogue import Learners, check_models
from fuselearn.numeric.exact_sums import fingerprint, joined
from fuselearn.persistence.model_file import dump, read_model
from fuselearn.persistence.model_types import Trust
from fuselearn.persistence.validation import check_array, check_integer
from fuselearn.typing import AnyArray, FloatArray, IntArray

GROWTH = 0.25
"""The file is written anew when it has grown by this share."""
SECONDS = 10.0
"""It is also written when a fit is done so long after the last time."""
EVERY = 1

Key: TypeAlias = tuple[int | str | None, ...]
"""What tells a fit from all others of a run."""


class LoggedFit(BaseEstimator):
    """A fit of a base model, as a log keeps it.

    Parameters
    ----------
    model : FittedModel
        The fitted model.
    out_of_fold, within_groups : ndarray of shape (n_rows, n_targets) or None, default=None
        Values of the training rows, on few rows; the second is None where it is the first.
    n_fits : int, default=1
        Number of fits of the arm that differ.
    scored : ndarray of shape (n_rows, n_targets) or None, default=None
        Values for scores; None where they are those out of fold.
    """

    def __init__(
        self,
        model: Any = None,
        out_of_fold: FloatArray | None = None,
        within_groups: FloatArray | None = None,
        n_fits: int = 1,
        scored: FloatArray | None = None,
    ) -> None:
        self.model = model
        self.out_of_fold = out_of_fold
        self.within_groups = within_groups
        self.n_fits = n_fits
        self.scored = scored

    def validate(self) -> None:
        """Refuse values that are not numbers of rows, or arrays of different numbers of rows.

        Raises
        ------
        ValueError
            If parts do not fit together.
        """
        check_integer(self, "n_fits", least=1)
        if self.out_of_fold is not None:
            shape = check_array(self, "out_of_fold", np.float64, (None, None), finite=False).shape
            for name in ("within_groups", "scored"):
                if getattr(self, name) is not None:
                    check_array(self, name, np.float64, shape, finite=False)


class _Entry(NamedTuple):
    """A fit that is kept, as the content of a file, and what tells it from others."""

    key: Key
    content: str


class ArmColumns(NamedTuple):
    """What base models of a log must fit: the number of columns of X, and of views."""

    n_features: int
    n_views: int

    @classmethod
    def of(cls, data: "TrainingData | RegressionData | FusionRows") -> "ArmColumns":
        """Return what base models of some rows must fit."""
        return cls(int(data.features["n_features_in_"]), len(data.names))

    def check(self, view: int | None, columns: IntArray, model: Any) -> None:
        """Refuse a model of other columns than those of an arm."""
        check_models([(view, columns)], [[model]], self.n_features, self.n_views)


class FusionLog(RunLog[list[_Entry], int]):
    """The log of a fit.

    Parameters
    ----------
    path : str or path-like
        The file. One that is there must be the log of some fit.
    learners : dict
        Learners by name. Of foreign types the log may hold those of the classifiers among them.
    """

    def __init__(self, path: str | os.PathLike[str], learners: Learners) -> None:
        super().__init__(path, EVERY, 0)
        self._trust: Trust = trust_in(learner for learner in learners.values() if not isinstance(learner, str))
        self._found = self._stored()
        self._entries: list[_Entry] = []
        self._places: dict[Key, int] = {}
        self._written_bytes, self._new_bytes = 0, 0
        self._written_at = time.monotonic()
        self._expected: ArmColumns | None = None

    @property
    def seed(self) -> int | None:
        """Seed of the fit whose log was there; None where there was none."""
        if self._found is None:
            return None
        with self._reading():
            check_start(self._found.start["seed"], 1)
            return int(self._found.start["seed"])

    def open(self, identity: dict[str, Any], seed: int, expected: ArmColumns) -> None:
        """Go on with the log that was there, or begin one.

        Parameters
        ----------
        identity : dict of str to JSON value
            Settings and data of the fit. A log of another one is refused.
        seed : int
            Seed of all draws.
        expected : ArmColumns
            What base models must fit.
        """
        self._expected = expected
        stored = self._found
        if stored is None:
            self._begin(identity, {"seed": seed}, 0)
            return
        self._check_identity(stored, identity)
        with self._reading():
            for value in stored.values:
                entry = _Entry(_read_key(value["fit"]), value["model"])
                if type(entry.content) is not str or entry.key in self._places:
                    raise ValueError(f"it has the fit {entry.key!r:.100} twice, or without a model")
                self._places[entry.key] = len(self._entries)
                self._entries.append(entry)
            self._continue(stored, self._entries, len(self._entries))
        self._written_bytes = sum(len(entry.content) for entry in self._entries)

    def get(self, view: int | None, learner: str, fold: int) -> FittedModel | None:
        """Return the model of a fold that an earlier fit on many rows made; None where there is none."""
        assert self._expected is not None
        logged = self._get(("fold", view, learner, fold))
        if logged is None:
            return None
        with self._reading():
            self._expected.check(view, np.arange(self._expected.n_features), logged.model)
        model: FittedModel = logged.model
        return model

    def add(self, view: int | None, learner: str, fold: int, model: FittedModel) -> None:
        """Keep the model of a fold of a fit on many rows."""
        self._add(("fold", view, learner, fold), LoggedFit(model))

    def arm_fit(self, key: Key, targets: FloatArray, view: int | None, columns: IntArray) -> tuple[ArmFit, int] | None:
        """Return a fit that was made before on the same targets on few rows, and the number of fits that differ.

        Parameters
        ----------
        key : tuple
            Numbers of the pass, the arm and the fit.
        targets : ndarray of shape (n_rows, n_targets)
            What the arm learns.
        view : int or None
            View of the arm.
        columns : intp ndarray
            Columns of the arm.
        """
        assert self._expected is not None
        logged = self._get((*key, f"{fingerprint(targets):016x}"))
        if logged is None:
            return None
        with self._reading():
            self._expected.check(view, columns, logged.model)
            if logged.out_of_fold is None or logged.out_of_fold.shape != targets.shape:
                raise ValueError(f"it has a fit {key} of other rows than there are")
        within = logged.out_of_fold if logged.within_groups is None else logged.within_groups
        return ArmFit(logged.out_of_fold, within, logged.model, logged.scored), int(logged.n_fits)

    def keep_arm_fit(self, key: Key, targets: FloatArray, fit: ArmFit, n_fits: int) -> None:
        """Keep a fit on few rows; see `arm_fit`."""
        within = None if fit.within_groups is fit.out_of_fold else fit.within_groups
        logged = LoggedFit(fit.model, fit.out_of_fold, within, n_fits, fit.scored)
        self._add((*key, f"{fingerprint(targets):016x}"), logged)

    def finish(self) -> None:
        """Bring the file up to date at the end of a fit."""
        if self._new_bytes:
            self.write(self._entries)
            self._new_bytes = 0

    def _get(self, key: Key) -> LoggedFit | None:
        """Return a fit that is kept; None where there is none."""
        place = self._places.get(key)
        if place is None:
            return None
        with self._reading():
            _, logged = read_model(base64.b64decode(self._entries[place].content), self._trust)
            if type(logged) is not LoggedFit:
                raise ValueError(f"it has a {type(logged).__name__} for a fit")
        return logged

    def _add(self, key: Key, logged: LoggedFit) -> None:
        """Keep a fit, and write the file where it is due."""
        if key in self._places:
            return
        content = base64.b64encode(self._kept(lambda: dump(logged, self._trust))).decode()
        self._places[key] = len(self._entries)
        self._entries.append(_Entry(key, content))
        self._new_bytes += len(content)
        now = time.monotonic()
        # The first at once: what cannot be written shows itself there.
        if self._new_bytes >= GROWTH * self._written_bytes or now - self._written_at >= SECONDS:
            self.write(self._entries)
            self._written_bytes, self._new_bytes, self._written_at = self._written_bytes + self._new_bytes, 0, now

    def _kept(self, make: Callable[[], bytes]) -> bytes:
        """Return the content of a fit; one that cannot be written ends the fit in words."""
        try:
            return make()
        except ValueError as error:
            raise ValueError(f"checkpoint cannot keep what was learnt: {error} Fit without checkpoint.") from error

    def _new_values(self, trace: list[_Entry], n_rounds: int, written: int) -> tuple[list[Any], int]:
        """Return new fits as JSON values."""
        values = [{"fit": list(entry.key), "model": entry.content} for entry in trace[n_rounds:]]
        return values, len(trace)


class StageLog:
    """The fits of one stage of a run that has several, such as those of a target and of its residuals, in one log.

    Parameters
    ----------
    log : FusionLog
    targets, weights : ndarray of shape (n_rows,)
        What the stage learns. Fits of another run are used where these are the same.
    """

    def __init__(self, log: FusionLog, targets: FloatArray, weights: FloatArray) -> None:
        self._log = log
        self._stage = f"{fingerprint(np.column_stack([targets, weights])):016x}"

    def get(self, view: int | None, learner: str, fold: int) -> FittedModel | None:
        """Return the model of a fold; see `FusionLog.get`."""
        return self._log.get(view, f"{learner} {self._stage}", fold)

    def add(self, view: int | None, learner: str, fold: int, model: FittedModel) -> None:
        """Keep the model of a fold; see `FusionLog.add`."""
        self._log.add(view, f"{learner} {self._stage}", fold, model)

    def arm_fit(self, key: Key, targets: FloatArray, view: int | None, columns: IntArray) -> tuple[ArmFit, int] | None:
        """Return a fit that was made before; see `FusionLog.arm_fit`."""
        return self._log.arm_fit((self._stage, *key), targets, view, columns)

    def keep_arm_fit(self, key: Key, targets: FloatArray, fit: ArmFit, n_fits: int) -> None:
        """Keep a fit; see `FusionLog.keep_arm_fit`."""
        self._log.keep_arm_fit((self._stage, *key), targets, fit, n_fits)


def open_log(
    checkpoint: str | os.PathLike[str],
    model: Any,
    learners: Learners,
    data: "TrainingData | RegressionData | FusionRows",
    seed: int,
) -> tuple[int, FusionLog]:
    """Return the seed of all draws, which an earlier run may have drawn, and the log of the fit of a model."""
    log = FusionLog(checkpoint, learners)
    # A fit without a seed of its own goes on with the one it drew.
    in_log = log.seed
    log.open(fusion_identity(model, data, seed), seed, ArmColumns.of(data))
    return seed if in_log is None else in_log, log


def _read_key(written: Any) -> Key:
    """Return the key of a fit."""
    if type(written) is not list or not all(type(part) in (int, str, type(None)) for part in written):
        raise ValueError(f"it has the fit {written!r:.100}")
    return tuple(written)


class FusionRows(Protocol):
    """The training data of a fusion, wherever they are."""

    names: list[str]
    columns: list[IntArray]
    classes: AnyArray
    features: Features

    def fingerprint(self) -> dict[str, Any]:
        """Return the rows in a few words, by which other ones are recognised."""


def fusion_identity(model: Any, data: TrainingData | RegressionData | FusionRows, seed: int) -> dict[str, Any]:
    """Return the settings and data that make a fit this fit, as JSON values that can be kept and compared.

    Limits of time and of fits are not among them, since a fit may be made longer, nor is `class_weight`, which moves
    decisions only.

    Parameters
    ----------
    model : FusionClassifier or FusionRegressor
        The estimator.
    data : TrainingData, RegressionData or PartitionedFusionData
        The rows.
    seed : int
        Seed by `random_state`.
    """
    names = data.features.get("feature_names_in_")
    return {
        "fuselearn": __version__,
        "model": type(model).__name__,
        "learners": described_setting(model.learners),
        **({} if isinstance(data, RegressionData) else {"consensus": bool(model.consensus)}),
        "random_state": None if model.random_state is None else seed,
        "views": {name: columns.tolist() for name, columns in zip(data.names, data.columns)},
        "feature names": None if names is None else [str(name) for name in names],
        **({} if isinstance(data, RegressionData) else {"classes": [repr(label) for label in data.classes.tolist()]}),
        **(fingerprint_in_memory(data) if isinstance(data, TrainingData | RegressionData) else data.fingerprint()),
    }


def fingerprint_in_memory(data: TrainingData | RegressionData) -> dict[str, Any]:
    """Return rows in memory in a few words, by which other ones are recognised."""
    table = data.blocks.views[0].table
    if not isinstance(table, np.ndarray):
        table = to_host(table.values)
    groups = np.zeros(0) if data.groups is None else data.groups
    labels = data.target[:, None] if isinstance(data, RegressionData) else data.codes
    return described_content(len(data), [content_hashes(table, labels, data.weights, groups)], [len(data)])


def content_hashes(table: FloatArray, codes: AnyArray, weights: FloatArray, groups: AnyArray) -> tuple[int, ...]:
    """Return numbers that stand for the values, the labels, the weights and the groups of rows in their order."""
    return fingerprint(table), fingerprint(codes), fingerprint(weights[:, None]), fingerprint(groups[:, None])


def described_content(
    n_rows: int, hashes: Sequence[tuple[int, ...]], rows_of_parts: Sequence[int]
) -> dict[str, int | str]:
    """Return all rows that count in a few words, from numbers that stand for consecutive parts of them."""
    whole = [f"{joined(zip(rows_of_parts, numbers)):016x}" for numbers in zip(*hashes)]
    return {"rows that count": n_rows} | dict(zip(("content of X", "labels", "sample_weight", "groups"), whole))
