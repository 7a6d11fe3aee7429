"""Rows of a run of gradient boosting that are in memory, whose trees grow in one call or leaf by leaf."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuselearn.boosting.gradient.gradient_rows import FinishedTree, GradientBlock, Question, TreeRequest
from fuselearn.boosting.gradient.growth import HistogramLeaves, WholeTreeLeaves
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.numeric.execution import Scratch
from fuselearn.numeric.growth_arrays import GrowthMemory
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import IntArray

WHOLE_TREE_BYTES = 2**28
"""Memory of histograms up to which a tree grows in one call. Leaf by leaf, leaves without a split give theirs back."""

WHOLE_TREE_LEAVES = 2**13
"""Leaves up to which a tree grows in one call, which looks at all of them before each split."""

THREADED_CELLS = 2**18
"""Cells, rows times columns, below which several threads take longer than one that grows a tree in one call."""


class LocalGradientRows:
    """Rows in memory; see `fuselearn.boosting.gradient.gradient_rounds.GradientRows`."""

    def __init__(self, block: GradientBlock, growth: GrowthSettings, threads: Threads) -> None:
        self._block, self._growth, self._threads = block, growth, threads
        self._scratch = Scratch()

    def ask(
        self,
        rounds: Sequence[Sequence[FinishedTree]],
        questions: Sequence[Question],
        next_tree: TreeRequest | None = None,
    ) -> list[tuple[IntArray, ...]]:
        """Add the trees of all rounds so far to the scores, and answer questions; see `GradientRows.ask`."""
        self._block.update(rounds, 0, self._threads)
        return self._block.answer(questions, self._threads)

    def leaves(self, request: TreeRequest, rounds: Sequence[Sequence[FinishedTree]]) -> HistogramLeaves:
        """Return the leaves of a new tree; see `GradientRows.leaves`."""
        columns, growth = self._block.settings.columns(request.view), self._growth

        def ask(questions: Sequence[Question]) -> list[tuple[IntArray, ...]]:
            return self.ask(rounds, questions)

        self._block.update(rounds, 0, self._threads)
        n_bins, n_leaves = self._block.settings.n_bins, growth.max_leaf_nodes
        histogram_bytes = len(columns) * 3 * n_bins * 8
        if n_leaves * histogram_bytes > WHOLE_TREE_BYTES or n_leaves > WHOLE_TREE_LEAVES:
            return HistogramLeaves(request, columns, growth, ask, expands_ahead=False, threads=self._threads)
        threads = SERIAL if self._block.n_rows * len(columns) < THREADED_CELLS else self._threads
        n_categorical = int(np.count_nonzero(growth.categorical[columns]))
        memory = GrowthMemory(len(columns), n_bins, n_leaves, n_categorical, self._scratch)
        return WholeTreeLeaves(request, self._block, growth, ask, memory, threads)
