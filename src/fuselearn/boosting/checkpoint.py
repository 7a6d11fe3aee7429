"""The log of a run on disk, from which a run that was killed goes on, and what identifies the run.

The weights or scores of the rows follow from the data and the rounds so far, so the rounds are all that has to be kept:
about a kilobyte each for stumps, more for learners with numbers for each column and class. A log is text, one JSON
value per line: the format; the run it belongs to; how the run began; plans and rounds in the order in which they came;
the number of rounds, and a checksum of all before.

`RunLog` is the file, whatever the rounds are. `EnsembleLog` is that of rounds of weak learners;
`fuselearn.boosting.gradient.gradient_log` has that of gradient boosting.
"""

import json
import os
import re
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from fuselearn._version import __version__
from fuselearn.boosting.boosting_data import RunData
from fuselearn.boosting.rounds import RunSettings, Trace
from fuselearn.boosting.trace_format import Decoder, Encoder, check_trace
from fuselearn.learners.protocol import Learner
from fuselearn.persistence import write_atomically
from fuselearn.persistence.model_types import Trust
from fuselearn.typing import IntArray, Transformer

FORMAT: dict[str, Any] = {"fuselearn": "run log", "format": 1}
ADVICE = "Name another file as checkpoint, or remove this one to begin anew."
UNREADABLE = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
"""Errors of reading a log that was never written by `RunLog`."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
RunTrace = TypeVar("RunTrace", bound=Sized)
"""What a run recorded, as long as it has rounds."""
Written = TypeVar("Written")
"""What the writer of lines has to remember of those before."""


class CannotBeKeptError(ValueError):
    """A round holds something that cannot be written to a log."""


class StoredRun(NamedTuple):
    """What a log holds.

    Attributes
    ----------
    lines : list of bytes
        Its lines, but for the last.
    identity : dict of str to JSON value
        Settings and data of the run.
    start : JSON value
        How the run began.
    values : list of JSON value
        What came after, line by line.
    n_rounds : int
        Number of rounds, as the last line counts them.
    exhausted : bool
        Whether no further round is possible.
    """

    lines: list[bytes]
    identity: dict[str, Any]
    start: Any
    values: list[Any]
    n_rounds: int
    exhausted: bool


class RunLog(ABC, Generic[RunTrace, Written]):
    """The log of one run, kept in step with its trace. A subclass turns its rounds into JSON values, and back.

    Parameters
    ----------
    path : str or path-like
        The file.
    every : int
        Number of rounds after which the file is written anew.
    written : Written
        What the subclass remembers of the lines so far.
    """

    def __init__(self, path: str | os.PathLike[str], every: int, written: Written) -> None:
        self._path = Path(path)
        self._every = int(every)
        self._content = _LogContent([], written, 0)

    @abstractmethod
    def _new_values(self, trace: RunTrace, n_rounds: int, written: Written) -> tuple[list[Any], Written]:
        """Return what a trace has after some rounds as JSON values, a line each, and what is to be remembered then."""

    def note(self, trace: RunTrace) -> None:
        """Write the file where a new round makes it due."""
        # The first at once: what cannot be written shows itself there, not after many rounds.
        if len(trace) == 1 or len(trace) % self._every == 0:
            self.write(trace)

    def write(self, trace: RunTrace, exhausted: bool = False) -> None:
        """Bring the file up to date; `exhausted` marks that no further round is possible.

        When the disk is full, the run goes on without.
        """
        self._content = self._extended(trace)
        try:
            self._put(self._content.lines, self._content.n_rounds, exhausted)
        except OSError as error:
            warnings.warn(
                f"checkpoint: {self._path} could not be written ({error}). The fit goes on, and the log stays as "
                f"it was before round {len(trace)}.",
                UserWarning,
                stacklevel=2,
            )

    def _begin(self, identity: dict[str, Any], start: dict[str, Any], written: Written) -> None:
        """Write the log of a run that has not begun; its settings and data must be JSON values."""
        lines = [_line(FORMAT), _line({"run": identity}), _line({"start": start})]
        self._content = _LogContent(lines, written, 0)
        self._put(lines, 0, exhausted=False)

    def _stored(self) -> StoredRun | None:
        """Return what the file holds; None where there is no file."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        lines = self._checked_lines(content)
        with self._reading():
            _, run, start, *values, end = map(json.loads, lines)
            return StoredRun(
                lines[:-1], dict(run["run"]), start["start"], values, end["rounds"], bool(end["exhausted"])
            )

    def _continue(self, stored: StoredRun, trace: RunTrace, written: Written) -> None:
        """Go on with the lines of a log, from which a trace was read."""
        if stored.n_rounds != len(trace):
            raise ValueError(f"it has {len(trace)} rounds, but its last line counts {stored.n_rounds}")
        self._content = _LogContent(stored.lines, written, len(trace))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn errors of reading a log that was never written by `RunLog` into words."""
        try:
            yield
        except UNREADABLE as error:
            raise ValueError(f"checkpoint: {self._path} cannot be read: {error}. {ADVICE}") from error

    def _extended(self, trace: RunTrace) -> "_LogContent[Written]":
        """Return the lines so far with those of new plans and rounds."""
        content = self._content
        try:
            values, written = self._new_values(trace, content.n_rounds, content.written)
            lines = [*content.lines, *map(_line, values)]
        except (TypeError, ValueError) as error:
            raise CannotBeKeptError(
                f"checkpoint cannot keep what was learnt in the first {len(trace)} rounds: {error}. Use another "
                "estimator, or fit without checkpoint."
            ) from error
        return _LogContent(lines, written, len(trace))

    def _put(self, lines: list[bytes], n_rounds: int, exhausted: bool) -> None:
        """Replace the file by these lines and the last one, which counts and sums them."""
        body = b"".join(lines)
        end = {"rounds": n_rounds, "exhausted": bool(exhausted), "checksum": _checksum(body)}
        with write_atomically(self._path, "wb") as file:
            file.write(body)
            file.write(_line(end))

    def _checked_lines(self, content: bytes) -> list[bytes]:
        """Return the lines of a file that is a whole log of this format."""
        lines = content.splitlines(keepends=True)
        try:
            first = json.loads(lines[0])
        except (IndexError, RecursionError, ValueError):
            first = None
        if not isinstance(first, dict) or first.get("fuselearn") != FORMAT["fuselearn"]:
            raise ValueError(f"checkpoint: {self._path} exists and is not a run log of fuselearn. {ADVICE}")
        if first != FORMAT:
            raise ValueError(
                f"checkpoint: {self._path} is a run log of format {first.get('format')!r}; this version reads format "
                f"{FORMAT['format']}. {ADVICE}"
            )
        try:
            whole = json.loads(lines[-1])["checksum"] == _checksum(b"".join(lines[:-1]))
        except (KeyError, RecursionError, TypeError, ValueError):
            whole = False
        if not whole:
            raise ValueError(f"checkpoint: {self._path} is damaged: its checksum does not match its content. {ADVICE}")
        return lines

    def _check_identity(self, stored: StoredRun, identity: dict[str, Any]) -> None:
        """Refuse the log of another run than that of these settings and data."""
        for name in identity | stored.identity:
            before, now = stored.identity.get(name), identity.get(name)
            # A run without a seed of its own goes on with the one it drew.
            if before != now and not (name == "random_state" and None in (before, now)):
                raise ValueError(
                    f"checkpoint: {self._path} is the log of another run: {name} was {_short(before)}, and is now "
                    f"{_short(now)}. {ADVICE}"
                )


class EnsembleLog(RunLog[Trace, Encoder]):
    """The log of a run of weak learners.

    Parameters
    ----------
    path, every
        As for `RunLog`.
    identity : dict of str to JSON value
        Settings and data of the run. A log of another run is refused.
    trust : Trust
        Foreign types that the log may hold.
    """

    def __init__(self, path: str | os.PathLike[str], every: int, identity: dict[str, Any], trust: Trust) -> None:
        super().__init__(path, every, Encoder(trust))
        self._identity, self._trust = identity, trust

    def begin(self, trace: Trace, preprocessors: Sequence[Transformer | None]) -> None:
        """Write the log of a run that has not begun; refuses what could not be read again."""
        encoder = Encoder(self._trust)
        start = {
            "seed": trace.seed,
            "horizon": trace.horizon,
            "one_label_column": trace.one_label_column,
            "equal_weights": trace.equal_weights,
            "preprocessors": [encoder.value(preprocessor) for preprocessor in preprocessors],
        }
        self._begin(self._identity, start, encoder)

    def resume(
        self, settings: RunSettings, view_columns: list[IntArray], n_classes: int
    ) -> tuple[Trace, list[Transformer | None], bool] | None:
        """Return (trace, preprocessors, exhausted) of the log at the path; None where there is no file.

        Hypotheses must read columns of `view_columns`, and vote for one of `n_classes` classes.
        """
        stored = self._stored()
        if stored is None:
            return None
        self._check_identity(stored, self._identity)
        with self._reading():
            decoder = Decoder(self._trust)
            start = stored.start
            trace = Trace(settings, start["seed"], start["horizon"])
            trace.one_label_column, trace.equal_weights = start["one_label_column"], start["equal_weights"]
            preprocessors = [decoder.value(written) for written in start["preprocessors"]]
            for value in stored.values:
                if "plan" in value:
                    view_number, *preparation = value["of"]
                    trace.plans[view_number, tuple(preparation)] = decoder.plan(value["plan"])
                else:
                    trace.rounds.append(decoder.round(value["round"]))
            self._continue(stored, trace, Encoder(self._trust, decoder.plans))
            if len(preprocessors) != len(view_columns):
                raise ValueError(f"it has {len(preprocessors)} preprocessors for {len(view_columns)} views")
            widths = [
                None if transformer is not None else len(columns)
                for transformer, columns in zip(preprocessors, view_columns)
            ]
            check_trace(trace, widths, n_classes)
        return trace, preprocessors, stored.exhausted

    def _new_values(self, trace: Trace, n_rounds: int, written: Encoder) -> tuple[list[Any], Encoder]:
        """Return new plans and rounds as JSON values."""
        encoder = Encoder(self._trust, written.plans)
        values: list[Any] = [
            {"of": [key[0], *key[1]], "plan": encoder.plan(plan)}
            for key, plan in trace.plans.items()
            if not encoder.knows(plan)
        ]
        values += [{"round": encoder.round(round_)} for round_ in trace.rounds[n_rounds:]]
        return values, encoder


@dataclass(frozen=True)
class _LogContent(Generic[Written]):
    """Lines of a log and what they hold.

    A log goes from one to the next in a single assignment: an interrupt leaves lines and count of the rounds in step.
    """

    lines: list[bytes]
    written: Written
    n_rounds: int


def check_checkpoint(checkpoint: Any) -> None:
    """Refuse a place for the log that cannot be written to, before any work is done."""
    if not isinstance(checkpoint, str | os.PathLike):
        raise TypeError(f"checkpoint must be None or the path of a file; got {checkpoint!r:.200}.")
    path = Path(checkpoint)
    if path.is_dir():
        raise IsADirectoryError(f"checkpoint must be the path of a file; {path} is a folder.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"checkpoint is {path}, but the folder {path.absolute().parent} does not exist.")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise PermissionError(f"checkpoint is {path}, which may not be written to; name another file.")
        return
    try:
        with tempfile.NamedTemporaryFile(dir=path.absolute().parent, prefix=".fuselearn-"):
            pass
    except OSError as error:
        raise type(error)(f"checkpoint is {path}, but no file can be made in its folder: {error}") from None


def identity_of(
    model: Any,
    data: RunData,
    settings: RunSettings,
    learners: list[list[Learner]],
    transformers: Sequence[Transformer | None],
    seed: int,
) -> dict[str, Any]:
    """Return the settings and data that make a run this run, as JSON values that can be kept and compared.

    The number of rounds is not among them, since a run may be made longer.
    """
    names = data.features.get("feature_names_in_")
    views = {name: columns.tolist() for name, columns in zip(data.names, data.columns)}
    return {
        "fuselearn": __version__,
        "model": type(model).__name__,
        "view_policy": described_setting(settings.view_policy),
        "learning_rate": settings.learning_rate,
        "resample": settings.resample,
        "error": settings.error,
        "estimator": [[described_setting(learner) for learner in view_learners] for view_learners in learners],
        "preprocess": [described_setting(transformer) for transformer in transformers],
        "random_state": None if model.random_state is None else seed,
        "views": views,
        "feature names": None if names is None else [str(name) for name in names],
        "classes": [repr(label) for label in data.classes.tolist()],
        **data.fingerprint(),
    }


def described_setting(setting: Any) -> str:
    """Return a setting in words that are the same in another process.

    Estimators are described by class and settings, arrays in full, and objects of the user's own by class and
    attributes where their `__repr__` says nothing about them.
    """
    if hasattr(setting, "get_params") and not isinstance(setting, type):
        return _described_by(setting, setting.get_params(deep=False))
    if isinstance(setting, list | tuple):
        return f"[{', '.join(map(described_setting, setting))}]"
    if isinstance(setting, np.ndarray):
        return f"array({setting.tolist()!r})"
    has_plain_repr: bool = getattr(type(setting), "__repr__", None) is object.__repr__  # the address in memory
    if has_plain_repr:
        return _described_by(setting, getattr(setting, "__dict__", {}))
    return ADDRESS.sub("", repr(setting))


def _described_by(setting: Any, attributes: dict[str, Any]) -> str:
    """Return a setting as its class with some attributes."""
    described = (f"{name}={described_setting(value)}" for name, value in sorted(attributes.items()))
    return f"{type(setting).__qualname__}({', '.join(described)})"


def _line(value: Any) -> bytes:
    """Return a JSON value as a line."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _checksum(content: bytes) -> str:
    """Return the checksum of the lines of a log."""
    return blake2b(content, digest_size=16).hexdigest()


def _short(value: Any) -> str:
    """Return a value as text, short enough for a message."""
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"
