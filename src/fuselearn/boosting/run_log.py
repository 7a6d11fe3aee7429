"""The log of a run on disk, from which a run that was killed goes on.

The weights of the rows follow from the data and the rounds so far, so the rounds are all that has to be kept: about a
kilobyte each. A log is text, a JSON value a line: what it is; which run it belongs to; how the run began; plans and
rounds in the order in which they came; how many rounds there are, and a checksum of all before.
"""

import json
import os
from hashlib import blake2b
from pathlib import Path

from fuselearn.boosting.encoding import Decoder, Encoder
from fuselearn.boosting.trace import Trace
from fuselearn.persistence import write_atomically

FORMAT = {"fuselearn": "run log", "format": 1}
ADVICE = "Name another file as checkpoint, or remove this one to begin anew."


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
        self._every = every
        self._identity = identity
        self._encoder = Encoder()
        self._lines = []
        self._n_rounds = 0

    def begin(self, trace, preprocessors):
        """Write the log of a run that has not begun; refuses what could not be read again."""
        start = {
            "seed": trace.seed,
            "horizon": trace.horizon,
            "one_label_column": trace.one_label_column,
            "equal_weights": trace.equal_weights,
            "preprocessors": [self._encoder.value(preprocessor) for preprocessor in preprocessors],
        }
        self._lines = [_line(FORMAT), _line({"run": self._identity}), _line({"start": start})]
        self.write(trace)

    def resume(self, settings):
        """(trace, preprocessors, exhausted) of the log at the path; None where there is none.

        Parameters
        ----------
        settings : RunSettings
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        lines = self._checked_lines(content)
        self._check_identity(json.loads(lines[1])["run"])
        try:
            found = self._read(lines, settings)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"checkpoint: {self._path} cannot be read: {error}. {ADVICE}") from error
        self._lines = lines[:-1]
        self._n_rounds = len(found[0])
        return found

    def note(self, trace):
        """Hear of a new round."""
        if len(trace) - self._n_rounds >= self._every:
            self.write(trace)

    def write(self, trace, exhausted=False):
        """Bring the file up to date.

        Parameters
        ----------
        exhausted : bool
            Whether no further round is possible.
        """
        for key, plan in trace.plans.items():
            if not self._encoder.knows(plan):
                self._lines.append(_line({"of": [key[0], *key[1]], "plan": self._encoder.plan(plan)}))
        for round_ in trace.rounds[self._n_rounds :]:
            self._lines.append(_line({"round": self._encoder.round(round_)}))
        self._n_rounds = len(trace)
        body = b"".join(self._lines)
        end = {"rounds": len(trace), "exhausted": exhausted, "checksum": _checksum(body)}
        with write_atomically(self._path, "wb") as file:
            file.write(body)
            file.write(_line(end))

    def _checked_lines(self, content):
        lines = content.splitlines(keepends=True)
        try:
            first = json.loads(lines[0])
        except (IndexError, ValueError):
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
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise ValueError(f"checkpoint: {self._path} is damaged: its checksum is not that of its content. {ADVICE}")
        return lines

    def _check_identity(self, written):
        for name in self._identity | written:
            before, now = written.get(name), self._identity.get(name)
            # A run without a seed of its own goes on with the one it drew.
            if before != now and not (name == "random_state" and None in (before, now)):
                raise ValueError(
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
        self._encoder = Encoder(decoder.plans)
        return trace, preprocessors, json.loads(lines[-1])["exhausted"]


def check_checkpoint(checkpoint, every):
    """Refuse a place for the log that cannot be written to, before any work is done."""
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
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


def _line(value):
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _checksum(content):
    return blake2b(content, digest_size=16).hexdigest()


def _short(value):
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"
