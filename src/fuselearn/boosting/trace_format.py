"""Rounds, hypotheses and plans as JSON, and back. No pickle: what is read is built from a fixed list of types.

Types are named by their public ids, as in a saved model. Numbers keep all their bits: JSON writes a float with as many
digits as are needed to read it back, and arrays are written as bytes.

Compiled code walks trees and adds up votes without looking at bounds. A log has a checksum, which shows that it was
written whole, but not by whom. So a trace is checked (`check_trace`) before any of it meets the rows, and of foreign
types it may hold only those of the estimators that the user gave for this run.
"""

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from fuselearn.boosting.rounds import Round, Trace, Update
from fuselearn.learners import GaussianNB, LeastSquares, SklearnLearner, Stump, Tree
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import ConstantHypothesis, Learner, Plan
from fuselearn.learners.score_learners import ScoreHypothesis, Standardisation
from fuselearn.learners.sklearn_learner import AsGiven, EstimatorHypothesis
from fuselearn.learners.tree_growth import TreeHypothesis
from fuselearn.persistence.model_file import dump, foreign_types, read_model
from fuselearn.persistence.model_types import Trust, id_of, native
from fuselearn.persistence.validation import described, validate_object
from fuselearn.typing import AnyArray, Estimator

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
MAX_ARMS = 10_000
"""Arms of a view, each of which is a learner that somebody wrote down."""
LARGEST_NUMBER = 2**63
"""Beyond every seed and number of rounds."""


class Encoder:
    """Turns what a run recorded into what JSON can hold.

    A plan is written once, under a number; hypotheses refer to it by that.

    Parameters
    ----------
    trust : Trust
        Foreign types that may be written, since they may be read again.
    plans : sequence of Plan, default=()
        Plans that were written before.

    Attributes
    ----------
    plans : list of Plan
        The plans that were written, by number.
    """

    def __init__(self, trust: Trust, plans: Sequence[Plan] = ()) -> None:
        self.trust = trust
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
            return written_array(value)
        if type(value) in TYPES.values():
            return self._fields(value)
        if hasattr(value, "get_params"):
            return {"model": base64.b64encode(dump(value, self.trust)).decode()}
        raise ValueError(f"a {type(value).__qualname__} of {type(value).__module__} cannot be written to a run log")

    def _fields(self, value: Any) -> dict[str, Any]:
        """Return the fields of a plan or hypothesis, behind the id of its type."""
        return {"type": id_of(type(value))} | {
            field.name: self.value(getattr(value, field.name)) for field in fields(value)
        }


class Decoder:
    """Builds again what `Encoder` wrote.

    Parameters
    ----------
    trust : Trust
        Foreign types that may be built.

    Attributes
    ----------
    plans : list of Plan
        The plans that were read so far, by number.
    """

    def __init__(self, trust: Trust) -> None:
        self.trust = trust
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
            return read_array(written)
        if "model" in written:
            return read_model(base64.b64decode(written["model"]), self.trust)[1]
        recorded = TYPES[written["type"]]
        built = recorded(**{field.name: self.value(written[field.name]) for field in fields(recorded)})
        validate_object(built)
        return built


def written_array(array: AnyArray) -> dict[str, Any]:
    """Return an array of numbers as a JSON value."""
    content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"array": content, "kind": array.dtype.str, "shape": array.shape}


def read_array(written: dict[str, Any]) -> AnyArray:
    """Return the array of numbers that `written_array` wrote."""
    dtype: np.dtype[Any] = np.dtype(written["kind"])
    if dtype.kind not in ARRAY_KINDS:
        raise ValueError(f"it holds an array of {dtype}")
    return native(np.frombuffer(base64.b64decode(written["array"]), dtype)).reshape(written["shape"])


def trust_in(estimators: Iterable[Estimator | None]) -> Trust:
    """Return the trust in the foreign types that a run's own estimators and transformers are of."""
    names = [foreign_types(estimator) for estimator in estimators if estimator is not None]
    return Trust([name for names_of_one in names for name in names_of_one])


def check_can_be_written(learners: Sequence[Learner]) -> None:
    """Refuse learners whose hypotheses could not be written down, before any of them is fitted."""
    for learner in learners:
        if isinstance(learner, SklearnLearner):
            try:
                dump(learner.estimator, Trust(True))
            except ValueError as error:
                raise ValueError(f"checkpoint cannot keep what {learner.estimator!r:.100} learns: {error}") from None
        elif type(learner) not in (GaussianNB, LeastSquares, Stump, Tree):
            raise ValueError(
                "checkpoint keeps what the learners of fuselearn.learners and the classifiers of scikit-learn learn; "
                f"it cannot keep that of {learner!r:.100}."
            )


def check_trace(trace: Trace, widths: Sequence[int | None], n_classes: int) -> None:
    """Refuse a trace with arms, columns, classes or nodes out of range.

    `widths` are the numbers of columns of the views; None for those that only their preprocessing knows, which
    `check_widths` looks at once the rows are there.
    """
    check_start(trace.seed, trace.horizon)
    arms_of_views = trace.settings.arms_of_views
    if len(arms_of_views) != len(widths) or not all(_is_number(count, MAX_ARMS) and count for count in arms_of_views):
        raise ValueError(f"it has arms for {len(arms_of_views)} views; there are {len(widths)} views")
    check_widths(trace, widths)
    n_arms = trace.n_arms
    for round_ in trace.rounds:
        _check_round(round_, n_arms)
    updates = [update for round_ in trace.rounds for update in round_.updates]
    # Each once, however many rounds share it.
    for hypothesis in {id(update.hypothesis): update.hypothesis for update in updates}.values():
        if hypothesis is not None:
            hypothesis.validate_votes(n_classes)


def check_start(seed: object, horizon: object) -> None:
    """Refuse a seed and a number of rounds that no run begins with."""
    if not _is_number(seed, LARGEST_NUMBER) or not _is_number(horizon, LARGEST_NUMBER) or not horizon:
        raise ValueError("its seed and number of rounds are not whole numbers")


def check_widths(trace: Trace, widths: Sequence[int | None]) -> None:
    """Refuse plans and hypotheses of other columns than their views have; None for a width that is not known."""
    for (view, *_), plan in trace.plans.items():
        if not _is_number(view, len(widths)):
            raise ValueError(f"it has a plan of the view {described(view)}; there are {len(widths)} views")
        _check_width(plan, widths[view])
    width_of_arm = [width for width, count in zip(widths, trace.settings.arms_of_views) for _ in range(count)]
    for round_ in trace.rounds:
        for update in round_.updates:
            if not _is_number(update.arm, len(width_of_arm)):
                raise ValueError(f"it has the arm {described(update.arm)}; there are {len(width_of_arm)} arms")
            if update.hypothesis is not None:
                _check_width(update.hypothesis.plan, width_of_arm[update.arm])


def _check_width(plan: Plan, n_columns: int | None) -> None:
    """Refuse a plan of another number of columns."""
    if n_columns is not None and plan.n_columns != n_columns:
        raise ValueError(f"it has a {type(plan).__name__} of {plan.n_columns} columns for a view of {n_columns}")


def _check_round(round_: Round, n_arms: int) -> None:
    """Refuse a round with arms, votes or errors out of range."""
    if not any(update is round_.winner for update in round_.updates) and round_.winner not in round_.updates:
        raise ValueError("it has a round whose winner is not among its hypotheses")
    for update in round_.updates:
        if type(update.alpha) not in (int, float) or not math.isfinite(update.alpha):
            raise ValueError(f"it has the vote {described(update.alpha)}, which is not a finite number")
    unknown = [arm for arm in round_.arm_errors if not _is_number(arm, n_arms)]
    if unknown:
        raise ValueError(f"it has an error of the arm {described(unknown[0])}; there are {n_arms} arms")
    if not all(type(value) in (int, float) for value in (round_.error, round_.normaliser, *round_.arm_errors.values())):
        raise ValueError("it has errors that are not numbers")
    if round_.probabilities is not None and np.shape(round_.probabilities) != (n_arms,):
        raise ValueError(f"its probabilities are not one for each of {n_arms} arms")


def _is_number(value: object, limit: int) -> bool:
    """Return whether a value is a whole number from 0 to below a limit."""
    return type(value) is int and 0 <= value < limit
