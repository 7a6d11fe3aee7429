"""The log of a run on disk, from which a run that was killed goes on.

The weights of the rows follow from the data and the rounds so far, so the rounds are all that has to be kept: about a
kilobyte each for stumps, more for learners with numbers for each column and class. A log is text, a JSON value a line:
what it is; which run it belongs to; how the run began; plans and rounds in the order in which they came; how many
rounds there are, and a checksum of all before.

What makes a run the same run: its settings and its data, in words that can be kept and compared.
"""

import json
import os
import re
import tempfile
import warnings
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral
from pathlib import Path

import numpy as np

from fuselearn._version import __version__
from fuselearn.boosting.trace import Trace
from fuselearn.boosting.trace_format import Decoder, Encoder, check_trace
from fuselearn.persistence import write_atomically

FORMAT = {"fuselearn": "run log", "format": 1}
ADVICE = "Name another file as checkpoint, or remove this one to begin anew."


class CannotBeKeptError(ValueError):
    """A round holds what no log can."""


@dataclass(frozen=True)
class _Written:
    """Lines of a log and what they hold.

    A log goes from one to the next in a single assignment: an interrupt leaves lines and count of the rounds in step.
    """

    lines: list
    encoder: Encoder
    n_rounds: int


class RunLog:
    """The log of one run, kept in step with its trace.

    Parameters
    ----------
    path : str or path-like
    every : int
        The file is written anew when as many rounds have come.
    identity : dict of str to JSON value
        What makes this run this run: its settings and its data. A log of another one is refused.
    """

    def __init__(self, path, every, identity):
        self._path = Path(path)
        self._every = int(every)
        self._identity = identity
        self._written = _Written([], Encoder(), 0)

    def begin(self, trace, preprocessors):
        """Write the log of a run that has not begun; refuses what could not be read again."""
        encoder = self._written.encoder
        start = {
            "seed": trace.seed,
            "horizon": trace.horizon,
            "one_label_column": trace.one_label_column,
            "equal_weights": trace.equal_weights,
            "preprocessors": [encoder.value(preprocessor) for preprocessor in preprocessors],
        }
        lines = [_line(FORMAT), _line({"run": self._identity}), _line({"start": start})]
        self._written = _Written(lines, encoder, 0)
        self._put(lines, 0, exhausted=False)

    def resume(self, settings, view_columns, n_classes):
        """(trace, preprocessors, exhausted) of the log at the path; None where there is none.

        Parameters
        ----------
        settings : RunSettings
        view_columns : list of intp ndarray
            Columns of each view. What a hypothesis reads, and votes for, must be there.
        n_classes : int
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        lines = self._checked_lines(content)
        try:
            self._check_identity(json.loads(lines[1])["run"])
            found = self._read(lines, settings)
            check_trace(*found[:2], [len(columns) for columns in view_columns], n_classes)
        except _AnotherRunError as error:
            raise ValueError(str(error)) from None
        except UNREADABLE as error:
            raise ValueError(f"checkpoint: {self._path} cannot be read: {error}. {ADVICE}") from error
        return found

    def note(self, trace):
        """Hear of a new round."""
        # The first at once: what cannot be written shows itself there, not after many rounds.
        if len(trace) == 1 or len(trace) % self._every == 0:
            self.write(trace)

    def write(self, trace, exhausted=False):
        """Bring the file up to date. When the disk is full, the run goes on without.

        Parameters
        ----------
        exhausted : bool
            Whether no further round is possible.
        """
        self._written = self._grown(trace)
        try:
            self._put(self._written.lines, self._written.n_rounds, exhausted)
        except OSError as error:
            warnings.warn(
                f"checkpoint: {self._path} could not be written ({error}). The fit goes on, and the log stays as "
                f"it was before round {len(trace)}.",
                UserWarning,
                stacklevel=2,
            )

    def _grown(self, trace):
        """The lines so far with those of new plans and rounds."""
        lines, encoder = list(self._written.lines), Encoder(self._written.encoder.plans)
        rounds = trace.rounds[self._written.n_rounds :]
        try:
            for key, plan in trace.plans.items():
                if not encoder.knows(plan):
                    lines.append(_line({"of": [key[0], *key[1]], "plan": encoder.plan(plan)}))
            lines.extend(_line({"round": encoder.round(round_)}) for round_ in rounds)
        except (TypeError, ValueError) as error:
            raise CannotBeKeptError(
                f"checkpoint cannot keep what was learnt in the first {len(trace)} rounds: {error}. Use another "
                "estimator, or fit without checkpoint."
            ) from error
        return _Written(lines, encoder, self._written.n_rounds + len(rounds))

    def _put(self, lines, n_rounds, exhausted):
        body = b"".join(lines)
        end = {"rounds": n_rounds, "exhausted": bool(exhausted), "checksum": _checksum(body)}
        with write_atomically(self._path, "wb") as file:
            file.write(body)
            file.write(_line(end))

    def _checked_lines(self, content):
        lines = content.splitlines(keepends=True)
        try:
            first = json.loads(lines[0])
        except (IndexError, RecursionError, ValueError):
            first = None
        if not isinstance(first, dict) or first.get("fuselearn") != FORMAT["fuselearn"]:
            raise ValueError(f"checkpoint: {self._path} is there and is not a run log of fuselearn. {ADVICE}")
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
            raise ValueError(f"checkpoint: {self._path} is damaged: its checksum is not that of its content. {ADVICE}")
        return lines

    def _check_identity(self, written):
        for name in self._identity | written:
            before, now = written.get(name), self._identity.get(name)
            # A run without a seed of its own goes on with the one it drew.
            if before != now and not (name == "random_state" and None in (before, now)):
                raise _AnotherRunError(
                    f"checkpoint: {self._path} is the log of another run: {name} was {_short(before)}, and is now "
                    f"{_short(now)}. {ADVICE}"
                )

    def _read(self, lines, settings):
        decoder = Decoder()
        start = json.loads(lines[2])["start"]
        trace = Trace(settings, start["seed"], start["horizon"])
        trace.one_label_column, trace.equal_weights = start["one_label_column"], start["equal_weights"]
        preprocessors = [decoder.value(written) for written in start["preprocessors"]]
        for line in lines[3:-1]:
            written = json.loads(line)
            if "plan" in written:
                view_number, *preparation = written["of"]
                trace.plans[view_number, tuple(preparation)] = decoder.plan(written["plan"])
            else:
                trace.rounds.append(decoder.round(written["round"]))
        end = json.loads(lines[-1])
        if end["rounds"] != len(trace):
            raise ValueError(f"it has {len(trace)} rounds and says that it has {end['rounds']}")
        self._written = _Written(lines[:-1], Encoder(decoder.plans), len(trace))
        return trace, preprocessors, bool(end["exhausted"])


class _AnotherRunError(Exception):
    """A log is sound, and not of this run."""


UNREADABLE = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
"""What comes of reading a log that was never written by `RunLog`."""


def check_checkpoint(checkpoint, every):
    """Refuse a place for the log that cannot be written to, before any work is done."""
    if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
        raise ValueError(f"checkpoint_every must be an integer of at least 1, a number of rounds; got {every!r}.")
    if checkpoint is None:
        return
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


def _line(value):
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _checksum(content):
    return blake2b(content, digest_size=16).hexdigest()


def _short(value):
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def identity_of(model, data, settings, learners, transformers, seed):
    """Dict of name to JSON value; the number of rounds is not in it, since a run may be made longer.

    Parameters
    ----------
    model : estimator
    data : TrainingRows or PartedRows
    settings : RunSettings
    learners : list of list of learner
    transformers : list of transformer or None
    seed : int
    """
    names = data.features.get("feature_names_in_")
    views = {name: columns.tolist() for name, columns in zip(data.names, data.columns)}
    return {
        "fuselearn": __version__,
        "model": type(model).__name__,
        "view_policy": _described(settings.view_policy),
        "learning_rate": settings.learning_rate,
        "resample": settings.resample,
        "error": settings.error,
        "estimator": [[_described(learner) for learner in several] for several in learners],
        "preprocess": [_described(transformer) for transformer in transformers],
        "random_state": None if model.random_state is None else seed,
        "views": views,
        "feature names": None if names is None else [str(name) for name in names],
        "classes": [repr(label) for label in data.classes.tolist()],
        **data.fingerprint(),
    }


def _described(thing):
    """A setting in words that are the same in another process: estimators by class and settings, arrays in full.

    Objects of the user's own are told by class and attributes where their `__repr__` says nothing of them.
    """
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        settings = sorted(thing.get_params(deep=False).items())
        return f"{type(thing).__qualname__}({', '.join(f'{name}={_described(value)}' for name, value in settings)})"
    if isinstance(thing, list | tuple):
        return f"[{', '.join(map(_described, thing))}]"
    if isinstance(thing, np.ndarray):
        return f"array({thing.tolist()!r})"
    if type(thing).__repr__ is object.__repr__:  # which tells the address in memory and nothing else
        settings = sorted(getattr(thing, "__dict__", {}).items())
        return f"{type(thing).__qualname__}({', '.join(f'{name}={_described(value)}' for name, value in settings)})"
    return ADDRESS.sub("", repr(thing))
