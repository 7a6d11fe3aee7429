"""The rounds of gradient boosting: which view's trees join, and when the run ends.

All views read one gradient per row. In a round a view grows as many trees as a row has scores, on the gradients at the
start of the round. Under a policy whose arms compete, every view does so, and the one whose trees lower the regularised
loss most joins; under one that draws, the view that is drawn. The scores of the rows follow from the trees that joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fuselearn.bandits.protocol import Policy, PolicyState
from fuselearn.boosting.gradient.gradient_rows import FinishedTree, LossSums, Question, TreeRequest
from fuselearn.boosting.gradient.growth import Leaves, grow_tree
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.boosting.rounds import POLICY_STREAM
from fuselearn.numeric.gradient_histograms import first_of_largest
from fuselearn.numeric.gradients import ALL_VIEWS, HELD_OUT, TRAINING
from fuselearn.typing import FloatArray, IntArray

LEAST_IMPROVEMENT = 1e-7
"""Decrease of the loss on held-out rows, as a share of the first one, that counts as one."""


@dataclass(frozen=True)
class GradientRound:
    """A round of the run.

    Attributes
    ----------
    view : int
        View whose trees joined; -1 for trees that read all views.
    trees : tuple of FinishedTree
        A tree for each score of a row.
    training_loss, held_out_loss : float
        Mean losses after the round; that of held-out rows is NaN where there are none.
    """

    view: int
    trees: tuple[FinishedTree, ...]
    training_loss: float
    held_out_loss: float


@dataclass
class GradientTrace:
    """The rounds of a run, from which it can be continued.

    Attributes
    ----------
    seed : int
        Seed of all draws.
    horizon : int
        Number of rounds that the first fit planned for.
    initial_losses : tuple of float or None
        Mean losses of training and held-out rows before the first round; None before they are known.
    rounds : list of GradientRound
        The rounds so far.
    """

    seed: int
    horizon: int
    initial_losses: tuple[float, float] | None = None
    rounds: list[GradientRound] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rounds)

    @property
    def training_losses(self) -> FloatArray:
        """Mean losses of the training rows, before the first round and after each."""
        first = [] if self.initial_losses is None else [self.initial_losses[0]]
        return np.array(first + [round_.training_loss for round_ in self.rounds])

    @property
    def held_out_losses(self) -> FloatArray:
        """The same of the held-out rows."""
        first = [] if self.initial_losses is None else [self.initial_losses[1]]
        return np.array(first + [round_.held_out_loss for round_ in self.rounds])

    @property
    def best_length(self) -> int:
        """Number of rounds after which the loss on held-out rows was least; all of them where there are no such rows.

        Of equal losses the first counts.
        """
        losses = self.held_out_losses
        return int(losses.argmin()) if len(losses) and np.isfinite(losses).all() else len(self)

    def stopped_improving(self, n_rounds: int) -> bool:
        """Return whether the last rounds lowered the loss on held-out rows no further."""
        losses = self.held_out_losses
        if len(losses) <= n_rounds or not np.isfinite(losses).all():
            return False
        return bool(losses[-n_rounds:].min() > losses[:-n_rounds].min() - LEAST_IMPROVEMENT * losses[0])


class GradientRows(Protocol):
    """The rows of a run, in memory, in partitions or on a GPU."""

    def ask(
        self,
        rounds: Sequence[Sequence[FinishedTree]],
        questions: Sequence[Question],
        next_tree: TreeRequest | None = None,
    ) -> list[tuple[IntArray, ...]]:
        """Add the trees of all rounds so far to the scores, and return the answers summed over all rows.

        `next_tree` is what will probably be grown next, where this is known: what its root needs may be asked for
        together with the questions.
        """

    def leaves(self, request: TreeRequest, rounds: Sequence[Sequence[FinishedTree]]) -> Leaves:
        """Return the leaves of a new tree."""


@dataclass(frozen=True)
class RunSettings:
    """Settings of a run.

    Attributes
    ----------
    view_policy : Policy or None
        Policy that chooses views; None for trees that all read the same (see `view`).
    n_views : int
        Number of views.
    n_label_columns : int
        Number of label columns: one, or one for each view.
    growth : GrowthSettings
        How trees grow.
    n_outputs : int
        Scores of a row.
    loss_units : ndarray of shape (2,)
        Units of the two words of a sum of losses, in weights as the user gave them.
    weights : ndarray of shape (n_label_columns, 3)
        Weight of the rows of each role, by label column.
    n_iter_no_change : int or None
        Rounds without a decrease of the loss on held-out rows after which the run ends; None for no end.
    view : int, default=-1
        Without a policy, the view that all trees read; -1 for trees of all views.
    """

    view_policy: Policy | None
    n_views: int
    n_label_columns: int
    growth: GrowthSettings
    n_outputs: int
    loss_units: FloatArray
    weights: FloatArray
    n_iter_no_change: int | None
    view: int = ALL_VIEWS


class GradientRun:
    """A run of gradient boosting.

    Parameters
    ----------
    rows : GradientRows
        The rows, at the scores before the first round.
    settings : RunSettings
        The settings.
    trace : GradientTrace
        Rounds so far, to which new ones are added.
    """

    def __init__(self, rows: GradientRows, settings: RunSettings, trace: GradientTrace) -> None:
        self._rows, self._settings, self._trace = rows, settings, trace
        self._n_trees = 0
        self._policy: PolicyState | None = None
        if settings.view_policy is not None:
            seed = np.random.SeedSequence(trace.seed, spawn_key=(POLICY_STREAM,))
            self._policy = settings.view_policy.start(settings.n_views, trace.horizon, seed)
            losses = trace.training_losses
            for number, round_ in enumerate(trace.rounds):
                self._policy.pull()
                self._policy.update(round_.view, _reward(losses[number], losses[number + 1]))

    def run(self, n_rounds: int, after_round: Callable[[], bool | None]) -> None:
        """Add rounds to the trace, up to a number of them or to where nothing is left to learn.

        `after_round` is called after each round, and ends the run where it returns True.
        """
        trace = self._trace
        if trace.initial_losses is None:
            trace.initial_losses = self._losses([], is_last=n_rounds < 1)
        while len(trace) < n_rounds and not self._ended():
            views = [self._settings.view] if self._policy is None else self._policy.pull()
            view, trees, has_split = self._best_trees(views)
            competes = self._settings.view_policy is None or self._settings.view_policy.competes
            if competes and not has_split:
                return
            training_loss, held_out_loss = self._losses([trees], is_last=len(trace) + 1 >= n_rounds)
            if self._policy is not None:
                self._policy.update(view, _reward(float(trace.training_losses[-1]), training_loss))
            trace.rounds.append(GradientRound(view, trees, training_loss, held_out_loss))
            if after_round():
                return

    def _ended(self) -> bool:
        """Return whether the loss on held-out rows has stopped falling."""
        n_rounds = self._settings.n_iter_no_change
        return n_rounds is not None and self._trace.stopped_improving(n_rounds)

    def _best_trees(self, views: Sequence[int]) -> tuple[int, tuple[FinishedTree, ...], bool]:
        """Let views grow trees on the shared gradients.

        Returns the view whose trees lower the regularised loss most, these trees, and whether any tree of a view has a
        split: that of the winner may be a single leaf, where having the view says more than what is in it.
        """
        scores, trees_of_views = [], []
        for view in views:
            grown = [self._grow(view, output) for output in range(self._settings.n_outputs)]
            trees_of_views.append(tuple(finished for finished, _ in grown))
            score = sum(score for _, score in grown)
            policy = self._settings.view_policy
            scores.append(policy.value(view, score) if policy is not None and policy.competes else score)
        best = first_of_largest(np.array(scores))
        has_split = any(finished.tree.n_leaves > 1 for trees in trees_of_views for finished in trees)
        return views[best], trees_of_views[best], has_split

    def _grow(self, view: int, output: int) -> tuple[FinishedTree, float]:
        """Grow a tree."""
        request = self._request(len(self._trace), view, output)
        self._n_trees += 1
        return grow_tree(self._rows.leaves(request, self._updates()), request, self._settings.growth)

    def _request(self, n_rounds: int, view: int, output: int) -> TreeRequest:
        """Return what the next tree is: that of a view for a score, after some rounds."""
        return TreeRequest(self._n_trees, n_rounds, output, view, view if self._settings.n_label_columns > 1 else 0)

    def _losses(self, new: Sequence[tuple[FinishedTree, ...]], *, is_last: bool) -> tuple[float, float]:
        """Return the mean losses of training and held-out rows, after the rounds so far and the new one."""
        settings = self._settings
        updates = [*self._updates(), *new]
        questions = [LossSums(len(updates), column) for column in range(settings.n_label_columns)]
        next_tree = None
        if not is_last and (settings.view_policy is None or settings.view_policy.competes):
            next_tree = self._request(len(updates), settings.view if settings.view_policy is None else 0, 0)
        sums = np.array([answer for (answer,) in self._rows.ask(updates, questions, next_tree)])
        totals, weights = settings.loss_units @ sums.sum(axis=0), settings.weights.sum(axis=0)
        held_out = totals[HELD_OUT] / weights[HELD_OUT] if weights[HELD_OUT] > 0 else np.nan
        return float(totals[TRAINING] / weights[TRAINING]), float(held_out)

    def _updates(self) -> list[tuple[FinishedTree, ...]]:
        """Return the trees of the rounds so far."""
        return [round_.trees for round_ in self._trace.rounds]


def _reward(before: float, after: float) -> float:
    """Return the relative decrease of the loss, between 0 and 1."""
    return min(max(1.0 - after / before, 0.0), 1.0) if before > 0 else 0.0
