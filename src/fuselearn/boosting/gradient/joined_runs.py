"""Runs of a cross-fitting on partitions that are far away: they go on at the same time, and ask questions together.

A tree asks about six questions, one after the other. Where each is a round trip to a cluster, the runs of all folds
take hardly longer than one of them if they share these trips. Each run waits in a thread of its own until all others
have asked something, too. Sums of whole numbers do not depend on who asks what together, so the trees are the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from fuselearn.backends.partitioned.partitions import Answer, Partitions
from fuselearn.backends.partitioned.row_source import RawPartition
from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.boosting.gradient.gradient_data import FoldPlan, GradientData
from fuselearn.boosting.gradient.gradient_folds import FoldOfView, StartRun
from fuselearn.boosting.gradient.gradient_rounds import GradientRows
from fuselearn.boosting.gradient.gradient_rows import GradientBlock
from fuselearn.boosting.gradient.partitioned_gradient_rows import PartitionedGradientRows
from fuselearn.boosting.gradient.splitting import GrowthSettings
from fuselearn.numeric.threads import SERIAL, Threads

if TYPE_CHECKING:
    from fuselearn.boosting.gradient.partitioned_gradient_data import GradientRecipe

ALL_RUNS = -1
Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class OfRun:
    """An update or a question of one of several runs."""

    run: int
    content: Any


class JoinedBlock:
    """Rows of a partition at the states of several runs; see `partitions.AnsweringRows`.

    An update of None is one of a run that has ended; one of `ALL_RUNS` ends all runs so far.
    """

    def __init__(self, new_block: Callable[[], GradientBlock]) -> None:
        self.n_updates = 0
        self._new_block = new_block
        self._blocks: dict[int, GradientBlock] = {}

    def update(self, updates: Sequence[OfRun | None], first: int, threads: Threads = SERIAL) -> None:
        """Make those of the updates, the first of them numbered `first`, that were not made yet."""
        for update in updates[self.n_updates - first :]:
            if update is not None and update.run == ALL_RUNS:
                self._blocks = {}
            elif update is not None:
                if isinstance(update.content, StartRun):
                    self._blocks[update.run] = self._new_block()
                block = self._blocks[update.run]
                block.update([update.content], block.n_updates, threads)
            self.n_updates += 1

    def answer(self, questions: Sequence[OfRun], threads: Threads = SERIAL) -> list[Answer]:
        """Return the answer to each question, to be added to those of the other partitions."""
        return [self._blocks[question.run].answer([question.content], threads)[0] for question in questions]


@dataclass(frozen=True)
class JoinedRecipe:
    """A recipe for blocks of several runs, which share the bins of the rows; their arrays are in memory."""

    recipe: GradientRecipe

    @property
    def plans(self) -> Sequence[Any]:
        """Objects that updates and questions refer to; see `Recipe.plans`."""
        return self.recipe.plans

    def build(self, raw: RawPartition, store: ArrayStore | None = None, threads: Threads = SERIAL) -> JoinedBlock:
        """Prepare a partition; see `Recipe.build`."""
        part, settings, binning = self.recipe.reader.part(raw), self.recipe.settings, self.recipe.binning
        bins = binning.prepare(part.view, threads).bins
        # Of the table nothing else is needed.
        part = replace(part, view=replace(part.view, table=part.view.table[:0]))
        return JoinedBlock(lambda: part.block(settings, binning, ArrayStore(), bins=bins))

    def later_bytes(self, n_rows: int) -> int:
        """Return the memory that a partition takes later; see `Recipe.later_bytes`."""
        return self.recipe.later_bytes(n_rows)


class JoinedRuns:
    """Rows in partitions that are far away, in their bins; see `fuselearn.boosting.gradient.gradient_data.FoldRuns`."""

    side_by_side = True

    def __init__(self, partitions: Partitions, data: GradientData, plan: FoldPlan) -> None:
        self._partitions, self._data, self._plan = partitions, data, plan
        self._condition = threading.Condition()
        self._active: set[int] = set()
        self._updates: list[OfRun | None] = []
        self._n_sent: dict[int, int] = {}
        self._asked: dict[int, tuple[Sequence[Any], Sequence[Any]]] = {}
        self._answers: dict[int, list[Answer] | BaseException] = {}
        self._is_stopped = False
        self._of_thread = threading.local()

    def start(self, rows: FoldOfView, growth: GrowthSettings, threads: Threads) -> GradientRows:
        """Return the rows at the scores before the first round of a run; see `FoldRuns.start`."""
        plan, run = self._plan.plan(rows), getattr(self._of_thread, "run", None)
        if run is None:  # a run by itself
            run = 0
            self._begin(1)
        updates = [StartRun(rows, plan.baseline)]
        of_run = _PartitionsOfRun(self, run)
        return PartitionedGradientRows(of_run, self._data.block_settings(plan), growth, updates)  # type: ignore[arg-type]

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        """Return what work returns for each task, which starts at most one run."""

        def of_run(run: int) -> Result:
            self._of_thread.run = run
            try:
                return work(tasks[run])
            finally:
                self._of_thread.run = None
                self._leave(run)

        self._begin(len(tasks))
        # Threads that wait for each other most of the time, however many may compute.
        with ThreadPoolExecutor(len(tasks)) as pool:
            try:
                return list(pool.map(of_run, range(len(tasks))))
            except BaseException:
                self._stop()
                raise

    def ask(self, run: int, updates: Sequence[Any], questions: Sequence[Any]) -> list[Answer]:
        """Wait until all runs have asked, and return the answers to the questions of one of them."""
        with self._condition:
            self._asked[run] = updates, questions
            self._ask_if_all_wait()
            while run not in self._answers and not self._is_stopped:
                self._condition.wait()
            answers = InterruptedError("The runs were stopped.") if self._is_stopped else self._answers.pop(run)
        if isinstance(answers, BaseException):
            raise answers
        return answers

    def _begin(self, n_runs: int) -> None:
        """Begin so many runs; of those before nothing is needed to make a lost partition again."""
        self._updates = [*[None] * len(self._updates), OfRun(ALL_RUNS, None)]
        self._active, self._n_sent = set(range(n_runs)), dict.fromkeys(range(n_runs), 0)
        self._asked, self._answers, self._is_stopped = {}, {}, False

    def _stop(self) -> None:
        """Let all runs end at their next question: the user has interrupted them, or one of them has failed."""
        with self._condition:
            self._is_stopped = True
            self._condition.notify_all()

    def _leave(self, run: int) -> None:
        """Let the others go on without a run."""
        with self._condition:
            self._active.discard(run)
            self._ask_if_all_wait()

    def _ask_if_all_wait(self) -> None:
        """Ask the questions of all runs, if none of them does anything else."""
        if self._is_stopped or not self._asked or self._asked.keys() != self._active:
            return
        questions: list[OfRun] = []
        for run, (updates, asked) in sorted(self._asked.items()):
            self._updates += [OfRun(run, update) for update in updates[self._n_sent[run] :]]
            self._n_sent[run] = len(updates)
            questions += [OfRun(run, question) for question in asked]
        try:
            answers = self._partitions.ask(self._updates, questions)
        except BaseException as error:
            self._answers = dict.fromkeys(self._asked, error)
        else:
            for run, (_, asked) in sorted(self._asked.items()):
                self._answers[run], answers = answers[: len(asked)], answers[len(asked) :]
        self._asked = {}
        self._condition.notify_all()


class _PartitionsOfRun(Partitions):
    """The partitions, as one of several runs asks them."""

    def __init__(self, runs: JoinedRuns, run: int) -> None:
        self._runs, self._run = runs, run

    def ask(self, updates: Sequence[Any], questions: Sequence[Any]) -> list[Answer]:
        """Ask together with the other runs; see `Partitions.ask`."""
        return self._runs.ask(self._run, updates, questions)

    def close(self) -> None:
        """Do nothing: the other runs need the partitions."""
