"""The protocol of a policy, and of its state during a run."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import inf, log
from numbers import Real
from typing import Any, TypeAlias, cast

import numpy as np

from fuselearn.data import per_view
from fuselearn.typing import FloatArray

Costs: TypeAlias = Mapping[str, float] | tuple[float, ...] | None
"""Costs of views by name, or of arms in their order; None where all are the same."""
REWARDS = ("loss", "logarithmic")


class Policy(ABC):
    """Rule by which the arm of a round is chosen.

    Attributes
    ----------
    competes : bool
        Whether the arms that are pulled compete, and only one with an edge may win. Otherwise the one arm that is
        pulled joins the ensemble whatever its edge.
    reward : {"loss", "logarithmic"}
        What a round is worth: 1 - Z (S1 equation 8), or min(1, -ln Z), where Z is the factor by which it lowered the
        loss.
    costs : dict of str to float, tuple of float or None
        Costs of the views by name, or of the arms in their order. With them, a round is worth its reward per cost.
    """

    competes: bool = False
    reward: str = "loss"
    costs: Costs = None

    def check(self) -> None:
        """Refuse settings that mean nothing, before any round is run."""

    def with_costs(self, view_names: Sequence[str], arms_of_views: Sequence[int]) -> "Policy":
        """Return the policy with the cost of each arm, from those of the views by name.

        Parameters
        ----------
        view_names : sequence of str
            Names of the views.
        arms_of_views : sequence of int
            Number of arms of each view.

        Returns
        -------
        Policy
            The same, where it has no costs.
        """
        if self.costs is None:
            return self
        costs = self.costs
        if isinstance(costs, Mapping):
            by_view = per_view("costs", dict(costs), list(view_names), complete=True)
            costs = tuple(float(cost) for cost, count in zip(by_view, arms_of_views) for _ in range(count))
        if len(costs) != sum(arms_of_views):
            raise ValueError(f"costs must have one number for each of {sum(arms_of_views)} arms; got {costs!r}.")
        return cast(Policy, replace(cast(Any, self), costs=tuple(costs)))

    def value(self, arm: int, reward: float) -> float:
        """Return what the reward of an arm is worth to this policy.

        Parameters
        ----------
        arm : int
            Number of the arm.
        reward : float
            1 - Z of the round.

        Returns
        -------
        float
            Between 0 and 1 where `reward` is: the reward, or its logarithmic form, times the least cost by the arm's.
        """
        if self.reward == "logarithmic":
            reward = min(1.0, -log(1 - reward)) if reward < 1 else 1.0
        if self.costs is None:
            return reward
        if isinstance(self.costs, Mapping):
            raise ValueError("costs by the names of views are of no use to arms by number; call with_costs first.")
        return reward * min(self.costs) / self.costs[arm]

    @abstractmethod
    def start(self, n_arms: int, horizon: int, seed: np.random.SeedSequence | None) -> "PolicyState":
        """Return the state at the beginning of a run.

        Parameters
        ----------
        n_arms : int
            Number of arms.
        horizon : int
            Number of rounds that the run was planned for.
        seed : SeedSequence or None
            Seed of the policy's draws.

        Returns
        -------
        PolicyState
            The state before the first round.
        """


class PolicyState(ABC):
    """A policy in the middle of a run.

    Attributes
    ----------
    probabilities : ndarray of shape (n_arms,) or None
        Probabilities of the arms in the next pull; None for a policy that does not draw.
    """

    probabilities: FloatArray | None = None

    @abstractmethod
    def pull(self) -> list[int]:
        """Choose the arms of this round.

        Returns
        -------
        list of int
            Numbers of the arms to try: several where they compete, else one.
        """

    def update(self, arm: int, reward: float) -> None:
        """Receive the reward of the winner of the round. A policy that does not learn ignores it.

        Parameters
        ----------
        arm : int
            Number of the winning arm.
        reward : float
            Between 0 and 1: 1 - Z of the round.
        """


def draw(probabilities: Sequence[float] | FloatArray, generator: np.random.Generator) -> int:
    """Return an arm number drawn with these probabilities."""
    uniform = generator.random()
    cumulative = 0.0
    for arm, probability in enumerate(probabilities):
        cumulative += probability
        if uniform < cumulative:
            return arm
    return len(probabilities) - 1  # the probabilities sum to a little less than 1


def short_repr(policy: Any) -> str:
    """Return a policy with its settings, without the reward and costs that nobody gave; its `__repr__`."""
    settings = [
        f"{field.name}={getattr(policy, field.name)!r}"
        for field in fields(policy)
        if field.name not in ("reward", "costs") or getattr(policy, field.name) != field.default
    ]
    return f"{type(policy).__name__}({', '.join(settings)})"


def check_rewards(policy: Policy) -> None:
    """Refuse a kind of reward that does not exist, and costs that are not numbers above 0."""
    name = type(policy).__name__
    if policy.reward not in REWARDS:
        raise ValueError(f"{name}'s reward must be one of {list(REWARDS)}; got {policy.reward!r}.")
    costs = policy.costs
    if costs is None:
        return
    if not isinstance(costs, Mapping | tuple) or not costs:
        raise ValueError(f"{name}'s costs must be None, a dict of view name to cost, or a tuple; got {costs!r}.")
    for cost in costs.values() if isinstance(costs, Mapping) else costs:
        if isinstance(cost, bool) or not (isinstance(cost, Real) and 0 < cost < inf):
            raise ValueError(f"{name}'s costs must be finite numbers above 0; got {cost!r}.")
