"""Rounds, hypotheses and plans as JSON, and back. No pickle: what is read is built from a fixed list of types.

Types are named by their public ids, as in a saved model. Numbers keep all their bits: JSON writes a float with as many
digits as are needed to read it back, and arrays are written as bytes.

Compiled code walks trees and adds up votes without looking at bounds. A log has a checksum, which shows that it was
written whole, but not by whom. So a trace is checked (`check_trace`) before any of it meets the rows.
"""

import base64
import math
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from fuselearn.boosting.trace import Round, Trace, Update
from fuselearn.learners import GaussianNB, LeastSquares, SklearnLearner, Stump, Tree
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import ConstantHypothesis, Learner, Plan
from fuselearn.learners.sklearn_learner import AsGiven, EstimatorHypothesis
from fuselearn.learners.standardisation import ScoreHypothesis, Standardisation
from fuselearn.learners.tree import TreeHypothesis
from fuselearn.persistence import load, save
from fuselearn.persistence.checks import check_hypothesis, check_plan, width_after
from fuselearn.persistence.schema import id_of
from fuselearn.typing import Estimator, Transformer

TYPES: dict[str | None, type[Any]] = {
    id_of(recorded): recorded
    for recorded in (
        AsGiven,
        Binning,
        ConstantHypothesis,
        EstimatorHypothesis,
        ScoreHypothesis,
        Standardisation,
        TreeHypothesis,
    )
}
"""Plans and hypotheses that can be written down, by public id."""
ARRAY_KINDS = "biuf"


class Encoder:
    """Turns what a run recorded into what JSON can hold.

    A plan is written once, under a number; hypotheses refer to it by that.

    Attributes
    ----------
    plans : list of Plan
        The plans that were written, by number.
    """

    def __init__(self, plans: Sequence[Plan] = ()) -> None:
        self.plans = list(plans)
        self._numbers = {id(plan): number for number, plan in enumerate(self.plans)}

    def knows(self, plan: Plan) -> bool:
        """Return whether a plan was written before."""
        return id(plan) in self._numbers

    def plan(self, plan: Plan) -> dict[str, Any]:
        """Return a plan that is new as a dict; from now on it has a number."""
        written = self._fields(plan)
        self._numbers[id(plan)] = len(self.plans)
        self.plans.append(plan)
        return written

    def round(self, round_: Round) -> dict[str, Any]:
        """Return a round as a dict."""
        return {
            "winner": [update.arm for update in round_.updates].index(round_.winner.arm),
            "updates": [[update.arm, self.value(update.hypothesis), update.alpha] for update in round_.updates],
            "error": round_.error,
            "normaliser": round_.normaliser,
            "arm_errors": [[arm, error] for arm, error in round_.arm_errors.items()],
            "probabilities": self.value(round_.probabilities),
            "last": bool(round_.last),
        }

    def value(self, value: Any) -> Any:
        """Return a number, text, array, plan, hypothesis, estimator or None as a JSON value."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, Plan) and self.knows(value):
            return {"plan": self._numbers[id(value)]}
        if isinstance(value, np.ndarray) and value.dtype.kind in ARRAY_KINDS:
            content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
            return {"array": content, "kind": value.dtype.str, "shape": value.shape}
        if type(value) in TYPES.values():
            return self._fields(value)
        if hasattr(value, "get_params"):
            return {"model": base64.b64encode(_saved(value)).decode()}
        raise ValueError(f"a {type(value).__qualname__} of {type(value).__module__} cannot be written to a run log")

    def _fields(self, value: Any) -> dict[str, Any]:
        """Return the fields of a plan or hypothesis, behind the id of its type."""
        return {"type": id_of(type(value))} | {
            field.name: self.value(getattr(value, field.name)) for field in fields(value)
        }


class Decoder:
    """Builds again what `Encoder` wrote.

    Attributes
    ----------
    plans : list of Plan
        The plans that were read so far, by number.
    """

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def plan(self, written: dict[str, Any]) -> Plan:
        """Return a plan; from now on it has a number."""
        plan: Plan = self.value(written)
        self.plans.append(plan)
        return plan

    def round(self, written: dict[str, Any]) -> Round:
        """Return a round."""
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

    def value(self, written: Any) -> Any:
        """Return what a JSON value stands for."""
        if not isinstance(written, dict):
            return written
        if "plan" in written and "type" not in written:
            return self.plans[written["plan"]]
        if "array" in written:
            dtype: np.dtype[Any] = np.dtype(written["kind"])
            if dtype.kind not in ARRAY_KINDS:
                raise ValueError(f"it holds an array of {dtype}")
            return np.frombuffer(base64.b64decode(written["array"]), dtype).reshape(written["shape"]).copy()
        if "model" in written:
            return _loaded(base64.b64decode(written["model"]))
        recorded = TYPES[written["type"]]
        return recorded(**{field.name: self.value(written[field.name]) for field in fields(recorded)})


def check_can_be_written(learners: Sequence[Learner]) -> None:
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


def check_trace(
    trace: Trace, preprocessors: Sequence[Transformer | None], view_columns: Sequence[int], n_classes: int
) -> None:
    """Refuse a trace with arms, columns, classes or nodes out of range; `view_columns` counts those of each view."""
    if type(trace.seed) is not int or type(trace.horizon) is not int or trace.horizon < 1:
        raise ValueError("its seed and number of rounds are not whole numbers")
    if len(preprocessors) != len(view_columns):
        raise ValueError(f"it has {len(preprocessors)} preprocessors for {len(view_columns)} views")
    widths = [width_after(transformer, n_columns) for transformer, n_columns in zip(preprocessors, view_columns)]
    for (view, *_), plan in trace.plans.items():
        if not _is_number(view, len(widths)):
            raise ValueError(f"it has a plan of the view {view!r:.20}; there are {len(widths)} views")
        check_plan(plan, widths[view])
    width_of_arm = np.repeat(widths, trace.settings.arms_of_views).tolist()
    for round_ in trace.rounds:
        _check_round(round_, width_of_arm, n_classes)


def _check_round(round_: Round, width_of_arm: list[int], n_classes: int) -> None:
    """Refuse a round with arms, votes, errors or hypotheses out of range."""
    n_arms = len(width_of_arm)
    for update in round_.updates:
        if not _is_number(update.arm, n_arms):
            raise ValueError(f"it has the arm {update.arm!r:.20}; there are {n_arms} arms")
        if type(update.alpha) not in (int, float) or not math.isfinite(update.alpha):
            raise ValueError(f"it has the vote {update.alpha!r:.20}, which is not a finite number")
        if update.hypothesis is not None:
            check_hypothesis(update.hypothesis, width_of_arm[update.arm], n_classes)
    unknown = [arm for arm in round_.arm_errors if not _is_number(arm, n_arms)]
    if unknown:
        raise ValueError(f"it has an error of the arm {unknown[0]!r:.20}; there are {n_arms} arms")
    if not all(type(value) in (int, float) for value in (round_.error, round_.normaliser, *round_.arm_errors.values())):
        raise ValueError("it has errors that are not numbers")
    if round_.probabilities is not None and np.shape(round_.probabilities) != (n_arms,):
        raise ValueError(f"its probabilities are not one for each of {n_arms} arms")


def _is_number(value: object, limit: int) -> bool:
    """Return whether a value is a whole number from 0 to below a limit."""
    return type(value) is int and 0 <= value < limit


def _saved(estimator: Estimator) -> bytes:
    """Return an estimator in the format of `fuselearn.save`."""
    with tempfile.TemporaryDirectory() as folder:
        return save(estimator, Path(folder) / "estimator").read_bytes()


def _loaded(content: bytes) -> Estimator:
    """Return the estimator that `_saved` wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "estimator"
        path.write_bytes(content)
        return load(path)
