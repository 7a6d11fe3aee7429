"""Rows of gradient boosting in partitions, as the rounds of a run ask them: one run, or those of a cross-fitting."""

from __future__ import annotations

from collections.abc import Sequence

from fuselearn.backends.partitioned.partitions import Partitions
from fuselearn.boosting.gradient.gradient_data import FoldPlan, GradientData
from fuselearn.boosting.gradient.gradient_folds import FoldOfView, StartRun
from fuselearn.boosting.gradient.gradient_rounds import GradientRows
from fuselearn.boosting.gradient.gradient_rows import (
    BlockSettings,
    FinishedTree,
    LeafHistograms,
    NumberLeaves,
    Question,
    TreeRequest,
)
from fuselearn.boosting.gradient.growth import HistogramLeaves
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.numeric.threads import Threads
from fuselearn.typing import IntArray


class PartitionedGradientRows:
    """Rows in partitions; see `fuselearn.boosting.gradient.gradient_rounds.GradientRows`.

    Each question is a round trip. What has no answer waits for the next question, and the root of the next tree is
    asked for together with the losses before it. `updates` are those of earlier runs on the same partitions.
    """

    def __init__(
        self,
        partitions: Partitions,
        settings: BlockSettings,
        growth: GrowthSettings,
        updates: list[tuple[FinishedTree | NumberLeaves, ...] | StartRun] | None = None,
    ) -> None:
        self._partitions, self._settings, self._growth = partitions, settings, growth
        self._updates = [] if updates is None else updates
        self._n_earlier = len(self._updates)
        self._waiting: list[NumberLeaves] = []
        self._root: tuple[LeafHistograms, tuple[IntArray, ...]] | None = None

    def ask(
        self,
        rounds: Sequence[Sequence[FinishedTree]],
        questions: Sequence[Question],
        next_tree: TreeRequest | None = None,
    ) -> list[tuple[IntArray, ...]]:
        """Add the trees of all rounds so far to the scores, and answer questions; see `GradientRows.ask`."""
        notes = [question for question in questions if isinstance(question, NumberLeaves)]
        if len(notes) == len(questions):
            self._waiting += notes
            return [() for _ in notes]
        if self._root is not None and list(questions) == [self._root[0]]:
            return [self._root[1]]
        self._add_rounds(rounds)
        root = [] if next_tree is None else [LeafHistograms(next_tree, (), (0,))]
        answers = self._partitions.ask(self._updates, [*self._waiting, *questions, *root])[len(self._waiting) :]
        self._waiting = []
        if root:
            self._root = root[0], answers.pop()
        return answers

    def leaves(self, request: TreeRequest, rounds: Sequence[Sequence[FinishedTree]]) -> HistogramLeaves:
        """Return the leaves of a new tree; see `GradientRows.leaves`."""
        return HistogramLeaves(
            request,
            self._settings.columns(request.view),
            self._growth,
            lambda questions: self.ask(rounds, questions),
            expands_ahead=True,
        )

    def _add_rounds(self, rounds: Sequence[Sequence[FinishedTree]]) -> None:
        """Make updates of new rounds; a tree whose leaves have yet to be noted comes with that question."""
        for trees in rounds[len(self._updates) - self._n_earlier :]:
            notes = {note.finished.request.token: note for note in self._waiting}
            self._updates.append(tuple(notes.get(tree.request.token, tree) for tree in trees))
            self._waiting = []


class PartitionedFoldRuns:
    """Rows in partitions, in their bins; see `fuselearn.boosting.gradient.gradient_data.FoldRuns`."""

    side_by_side = False

    def __init__(self, partitions: Partitions, data: GradientData, plan: FoldPlan) -> None:
        self._partitions, self._data, self._plan = partitions, data, plan
        self._updates: list[tuple[FinishedTree | NumberLeaves, ...] | StartRun] = []

    def start(self, rows: FoldOfView, growth: GrowthSettings, threads: Threads) -> GradientRows:
        """Return the rows at the scores before the first round of a run; see `FoldRuns.start`."""
        plan = self._plan.plan(rows)
        # Updates are known by their number. Of those of earlier runs nothing is needed to make a lost partition again.
        self._updates = [()] * len(self._updates)
        self._updates.append(StartRun(rows, plan.baseline))
        return PartitionedGradientRows(self._partitions, self._data.block_settings(plan), growth, self._updates)
