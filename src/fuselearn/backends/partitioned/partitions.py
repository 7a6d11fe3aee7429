"""Partitions of the rows of a run, which answer the questions that it asks of them, wherever they are.

A run asks questions of all its rows and adds up the answers of their partitions. What it has found out since the
beginning, such as weights or trees, changes the state of the rows; these updates are numbered and go with the next
question. So a partition that was lost can be made again: from its rows, a recipe, and all updates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from fuselearn.backends.partitioned.storage import ArrayStore
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import AnyArray

if TYPE_CHECKING:
    from fuselearn.backends.partitioned.row_source import RawPartition

PARTITIONS_AT_A_TIME = 8
"""Partitions for each thread whose answers are held before they are added up."""

Answer: TypeAlias = tuple[AnyArray, ...]
"""Arrays that answer a question, to be added to those of the other partitions."""
FoldedAnswers: TypeAlias = list[tuple[dict[int, AnyArray], ...]]
"""For each question and each array of its answer, sums by the number of the partition, or the lowest of several."""


class AnsweringRows(Protocol):
    """Rows of a partition, prepared for the questions of a run.

    Attributes
    ----------
    n_updates : int
        Number of the updates that were made.
    """

    n_updates: int

    def update(self, updates: Sequence[Any], first: int, threads: Threads = ...) -> None:
        """Make those of the updates, the first of them numbered `first`, that were not made yet."""

    def answer(self, questions: Sequence[Any], threads: Threads = ...) -> list[Answer]:
        """Return the answer to each question, to be added to those of the other partitions."""


class Recipe(Protocol):
    """All that is needed to prepare a partition of the rows that the user gave."""

    @property
    def plans(self) -> Sequence[Any]:
        """Objects that updates and questions refer to, which need not travel with each of them."""

    def build(self, raw: RawPartition, store: ArrayStore | None = None, threads: Threads = ...) -> AnsweringRows:
        """Prepare a partition; its arrays are kept in a store."""

    def later_bytes(self, n_rows: int) -> int:
        """Return the memory that a partition takes during the rounds, besides that of its store when it is built."""


class Partitions(ABC):
    """All partitions of a run, wherever they are."""

    @abstractmethod
    def ask(self, updates: Sequence[Any], questions: Sequence[Any]) -> list[Answer]:
        """Update all partitions, and return the answers to questions, summed over all partitions.

        `updates` are all those of the run so far; a partition makes those that it has not made yet.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the memory and files of the partitions."""


class LocalPartitions(Partitions):
    """Partitions in this process, shared out to threads; `clean_up` is called by `close`."""

    def __init__(
        self,
        partitions: Sequence[AnsweringRows],
        threads: Threads = SERIAL,
        clean_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._partitions = partitions
        self._threads = threads
        self._clean_up = clean_up

    def ask(self, updates: Sequence[Any], questions: Sequence[Any]) -> list[Answer]:
        """Update all partitions, and answer questions; see `Partitions.ask`."""

        def work(number: int) -> tuple[int, list[Answer]]:
            self._partitions[number].update(updates, 0)
            return number, self._partitions[number].answer(questions)

        at_a_time = PARTITIONS_AT_A_TIME * self._threads.count
        numbers = range(len(self._partitions))
        batches = [numbers[start : start + at_a_time] for start in range(0, len(numbers), at_a_time)]
        return add_answers([fold_answers(dict(self._threads.map(work, batch))) for batch in batches])

    def close(self) -> None:
        """Free the memory and files of the partitions."""
        self._clean_up()


def fold_answers(answers: Mapping[int, list[Answer]]) -> FoldedAnswers:
    """Add the answers of some partitions, by number, as far as the order of additions does not matter.

    Sums of whole numbers are exact, and are added at once. Those of floats are kept by partition, so that they can be
    added in the order of the partitions, whoever holds which.
    """
    lowest = min(answers)
    folded: FoldedAnswers = []
    for answers_to_question in zip(*(answers[number] for number in sorted(answers))):
        sums = []
        for arrays in zip(*answers_to_question):
            if arrays[0].dtype.kind == "i":
                sums.append({lowest: np.sum(arrays, axis=0) if len(arrays) > 1 else arrays[0]})
            else:
                sums.append(dict(zip(sorted(answers), arrays)))
        folded.append(tuple(sums))
    return folded


def add_answers(folded_answers: Sequence[FoldedAnswers]) -> list[Answer]:
    """Return the sums over all partitions, from the folded answers of each worker."""
    answers: list[Answer] = []
    for answers_to_question in zip(*folded_answers):
        sums = []
        for by_worker in zip(*answers_to_question):
            by_partition = {number: array for arrays in by_worker for number, array in arrays.items()}
            sums.append(sum(by_partition[number] for number in sorted(by_partition)))
        answers.append(tuple(sums))
    return answers
