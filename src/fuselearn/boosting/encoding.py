"""Rounds, hypotheses and plans as JSON, and back. No pickle: what is read is built from a fixed list of types.

Numbers keep all their bits: JSON writes a float with as many digits as tell it apart, and arrays are written as bytes.
"""

import base64
import tempfile
from dataclasses import fields
from pathlib import Path

import numpy as np

from fuselearn.boosting.trace import Round, Update
from fuselearn.learners import GaussianNB, LeastSquares, SklearnLearner, Stump, Tree
from fuselearn.learners.adapter import AsGiven, EstimatorHypothesis
from fuselearn.learners.binning import Binning
from fuselearn.learners.growing import TreeHypothesis
from fuselearn.learners.protocol import ConstantHypothesis, Plan
from fuselearn.learners.scoring import ScoreHypothesis
from fuselearn.learners.standardisation import Standardisation
from fuselearn.persistence import load, save

TYPES = {
    kind.__name__: kind
    for kind in (
        AsGiven,
        Binning,
        ConstantHypothesis,
        EstimatorHypothesis,
        ScoreHypothesis,
        Standardisation,
        TreeHypothesis,
    )
}
"""Plans and hypotheses that can be written down."""
ARRAY_KINDS = "biuf"


class Encoder:
    """Turns what a run recorded into what JSON can hold.

    A plan is written once, under a number; hypotheses refer to it by that.

    Attributes
    ----------
    plans : list of Plan
        By number.
    """

    def __init__(self, plans=()):
        self.plans = list(plans)
        self._numbers = {id(plan): number for number, plan in enumerate(self.plans)}

    def knows(self, plan):
        return id(plan) in self._numbers

    def plan(self, plan):
        """A plan that is new; from now on it has a number."""
        written = self._fields(plan)
        self._numbers[id(plan)] = len(self.plans)
        self.plans.append(plan)
        return written

    def round(self, round_):
        """A round, as a dict."""
        return {
            "winner": [update.arm for update in round_.updates].index(round_.winner.arm),
            "updates": [[update.arm, self.value(update.hypothesis), update.alpha] for update in round_.updates],
            "error": round_.error,
            "normaliser": round_.normaliser,
            "arm_errors": [[arm, error] for arm, error in round_.arm_errors.items()],
            "probabilities": self.value(round_.probabilities),
            "last": bool(round_.last),
        }

    def value(self, value):
        """A number, text, array, plan, hypothesis or estimator; or None."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, Plan) and self.knows(value):
            return {"plan": self._numbers[id(value)]}
        if isinstance(value, np.ndarray) and value.dtype.kind in ARRAY_KINDS:
            content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
            return {"array": content, "kind": value.dtype.str, "shape": value.shape}
        if TYPES.get(type(value).__name__) is type(value):
            return self._fields(value)
        if hasattr(value, "get_params"):
            return {"model": base64.b64encode(_saved(value)).decode()}
        raise ValueError(f"a {type(value).__qualname__} of {type(value).__module__} cannot be written to a run log")

    def _fields(self, value):
        return {"type": type(value).__name__} | {
            field.name: self.value(getattr(value, field.name)) for field in fields(value)
        }


class Decoder:
    """What `Encoder` wrote, as it was.

    Parameters
    ----------
    plans : list of Plan
        Those that were read so far.
    """

    def __init__(self):
        self.plans = []

    def plan(self, written):
        plan = self.value(written)
        self.plans.append(plan)
        return plan

    def round(self, written):
        updates = tuple(Update(arm, self.value(hypothesis), alpha) for arm, hypothesis, alpha in written["updates"])
        return Round(
            updates[written["winner"]],
            updates,
            written["error"],
            written["normaliser"],
            dict(written["arm_errors"]),
            self.value(written["probabilities"]),
            written["last"],
        )

    def value(self, written):
        if not isinstance(written, dict):
            return written
        if "plan" in written and "type" not in written:
            return self.plans[written["plan"]]
        if "array" in written:
            kind = np.dtype(written["kind"])
            if kind.kind not in ARRAY_KINDS:
                raise ValueError(f"it holds an array of {kind}")
            return np.frombuffer(base64.b64decode(written["array"]), kind).reshape(written["shape"]).copy()
        if "model" in written:
            return _loaded(base64.b64decode(written["model"]))
        kind = TYPES[written["type"]]
        return kind(**{field.name: self.value(written[field.name]) for field in fields(kind)})


def check_can_be_written(learners):
    """Refuse learners whose hypotheses could not be written down, before any of them is fitted."""
    for learner in learners:
        if isinstance(learner, SklearnLearner):
            try:
                _saved(learner.estimator)
            except ValueError as error:
                raise ValueError(f"checkpoint cannot keep what {learner.estimator!r:.100} learns: {error}") from None
        elif type(learner) not in (GaussianNB, LeastSquares, Stump, Tree):
            raise ValueError(
                "checkpoint keeps what the learners of fuselearn.learners and the classifiers of scikit-learn learn; "
                f"it cannot keep that of {learner!r:.100}."
            )


def _saved(estimator):
    """An estimator in the format of `fuselearn.save`."""
    with tempfile.TemporaryDirectory() as folder:
        return save(estimator, Path(folder) / "estimator").read_bytes()


def _loaded(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "estimator"
        path.write_bytes(content)
        return load(path)
