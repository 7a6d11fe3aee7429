"""The protocol of a learner, its plan of a view, and its hypotheses.

Fitting is written as a generator that yields statistics of the rows and is sent their totals:

    def sums(self, plan, n_classes):
        moments = yield ClassMoments(n_classes)
        return ...  # a hypothesis

So a learner never holds rows. Whoever runs the generator (`run_reduction`) decides where they are: in this process, cut
into blocks for threads, or spread over a cluster whose workers each send their part of the sum. A learner that cannot
be fitted from sums (any scikit-learn classifier) is given the rows instead, and declares this by `needs_rows`. What a
learner has to know about a view before the first round is asked for in the same way (`planning`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from fuselearn.data import View
from fuselearn.numeric.exact_sums import in_own_units
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.persistence.validation import check_integer
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray

PreparedRows: TypeAlias = Any
"""Rows of a view as a plan prepared them; only the plan's own statistics and hypotheses know their type."""

QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")
NameT = TypeVar("NameT")


class Statistic(Protocol):
    """A sum over prepared rows that a learner asks for in a round.

    One that only adds up weights has a true attribute `adds_weights`. It is given whole numbers in their place, of one
    unit for all rows, and its total is one of whole numbers too: exact, and the same whatever the order of the rows. A
    GPU sums the statistics of the learners of this package, which it knows by their types, and those in floats.
    """

    def __call__(self, prepared: PreparedRows, codes: IntArray, weights: AnyArray, threads: Threads = ...) -> AnyArray:
        """Return the sum over prepared rows with these class codes and weights."""


class ViewQuestion(Protocol):
    """A question about a view, answered for each partition of its rows."""

    def __call__(self, view: View, first: int) -> Any:
        """Return the answer for a partition; `first` rows that have the view stand before it."""

    def merged(self, answers: list[Any]) -> Any:
        """Return the answer for all rows from those of several partitions, in the order of these."""


class Plan(ABC):
    """Knowledge about a view since its learner first looked at it, by which rows are prepared.

    Attributes
    ----------
    n_columns : int
        Number of columns of the view.
    """

    n_columns: int

    @abstractmethod
    def prepare(self, view: View, threads: Threads = SERIAL) -> PreparedRows:
        """Prepare rows for the statistics of a learner.

        Parameters
        ----------
        view : View
            The view, with the rows to prepare.
        threads : Threads, default=SERIAL
            Threads to use.

        Returns
        -------
        object
            The rows in the form that the learner's statistics take.
        """

    def read(self, view: View) -> PreparedRows:
        """Prepare rows for the prediction of a hypothesis.

        Parameters
        ----------
        view : View
            The view, with the rows to predict.

        Returns
        -------
        object
            The rows in the form that `Hypothesis.predict_read` takes.
        """
        return self.prepare(view)


class Hypothesis(ABC):
    """A fitted weak learner. It predicts class codes, 0 to n_classes - 1, from the columns of its view.

    Attributes
    ----------
    plan : Plan
        Preparation of the view, shared by all hypotheses of an arm.
    """

    plan: Plan

    def validate_votes(self, n_classes: int) -> None:
        """Refuse a hypothesis, read from a file, that votes for classes which do not exist.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Raises
        ------
        ValueError
            It would vote for another class. Whatever adds up votes does not look.
        """

    @abstractmethod
    def predict_prepared(self, prepared: PreparedRows, threads: Threads = SERIAL) -> IntArray:
        """Predict rows that `plan.prepare` returned.

        Parameters
        ----------
        prepared : object
            The rows.
        threads : Threads, default=SERIAL
            Threads to use.

        Returns
        -------
        int32 ndarray of shape (n_rows,)
            Class codes.
        """

    def predict_read(self, rows: PreparedRows) -> IntArray:
        """Predict rows that `plan.read` returned.

        Parameters
        ----------
        rows : object
            The rows.

        Returns
        -------
        int32 ndarray of shape (n_rows,)
            Class codes.
        """
        return self.predict_prepared(rows)

    def predict(self, X: ArrayLike) -> IntArray:
        """Predict rows of an array.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            The columns of the view, preprocessed where the view is.

        Returns
        -------
        int32 ndarray of shape (n_rows,)
            Class codes.
        """
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.plan.n_columns:
            raise ValueError(
                f"X must be 2-D with the {self.plan.n_columns} columns of the view that this hypothesis was fitted on, "
                f"preprocessed where the view is; got shape {X.shape}."
            )
        return self.predict_read(self.plan.read(View("", X, np.arange(X.shape[1]), None)))


Planning: TypeAlias = Generator[ViewQuestion, Any, Plan]
"""Yields questions about a view, is sent the answers, returns a plan."""
Sums: TypeAlias = Generator[Statistic, AnyArray, Hypothesis]
"""Yields statistics of the rows, is sent their totals, returns a hypothesis."""


class Learner(ABC, BaseEstimator):
    """Settings for fitting one view under weights. Fitting never changes them.

    Attributes
    ----------
    needs_rows : bool
        Whether it is fitted from rows instead of sums.
    rows_by_class : bool
        Whether its sums are quicker over rows that are sorted by class. The same for learners that share a preparation.
    plan_type : type or None
        Class of its plans, by which a GPU knows how to prepare the rows; None for a learner that fits on the host only.
    """

    needs_rows: ClassVar[bool] = False
    rows_by_class: ClassVar[bool] = False
    plan_type: ClassVar[type[Plan] | None] = None

    def check(self) -> None:
        """Refuse settings that mean nothing, before any row is read."""

    def plan(self, view: View, seed: np.random.SeedSequence | None) -> Plan:
        """Look at a view whose rows are all here.

        Parameters
        ----------
        view : View
            The view.
        seed : SeedSequence or None
            Seed of what is drawn for the plan.

        Returns
        -------
        Plan
            All that is needed to prepare any rows of the view.
        """
        planning = self.planning(view.name, len(view.columns), len(view), seed)
        return run_reduction(planning, lambda question: question.merged([question(view, 0)]))

    def planning(self, name: str, n_columns: int, n_rows: int, seed: np.random.SeedSequence | None) -> Planning:
        """Make a plan from the answers to questions about a view.

        This is a generator. A question is answered for each partition of the rows, ``question(view, first)``, where
        `first` is the number of rows before it in which the view is present; ``question.merged`` puts the answers
        together, in the order of the partitions. Learners that have to see all rows at once override `plan` instead.

        Parameters
        ----------
        name : str
            Name of the view, for error messages.
        n_columns : int
            Number of its columns.
        n_rows : int
            Number of rows in which it is present.
        seed : SeedSequence or None
            Seed of what is drawn for the plan.

        Returns
        -------
        generator
            Yields questions, is sent their answers, and returns the plan.
        """
        raise TypeError(f"{type(self).__name__} looks at all rows of a view at once.")

    @property
    @abstractmethod
    def preparation(self) -> tuple[Hashable, ...]:
        """Key of the prepared rows of a view: learners with equal preparations share them."""

    def sums(self, plan: Any, n_classes: int) -> Sums:
        """Fit a hypothesis from sums over the rows.

        Parameters
        ----------
        plan : Plan
            Plan of the view, as `plan` returned it.
        n_classes : int
            Number of classes.

        Returns
        -------
        generator
            Yields statistics of the rows, is sent their totals, and returns the hypothesis.
        """
        raise TypeError(f"{type(self).__name__} is fitted from rows, not from sums.")

    def sums_on(self, threads: Threads, plan: Any, n_classes: int) -> Sums:
        """Fit from sums, as `sums` does, by threads that are free between two statistics."""
        return self.sums(plan, n_classes)

    def check_rows(self, view: View) -> None:
        """Refuse rows that cannot be fitted, before any round is run. Only a learner that needs rows is asked.

        Parameters
        ----------
        view : View
            The view that the learner is to be fitted on.
        """

    def fit_rows(
        self,
        plan: Any,
        prepared: PreparedRows,
        codes: IntArray,
        weights: FloatArray,
        n_classes: int,
        *,
        seed: np.random.SeedSequence,
        drawn: IntArray | None,
    ) -> Hypothesis:
        """Fit a hypothesis on the rows themselves.

        Parameters
        ----------
        plan : Plan
            Plan of the view, as `plan` returned it.
        prepared : object
            Rows as the plan prepared them.
        codes : int32 ndarray of shape (n_rows,)
            Class of each row.
        weights : ndarray of shape (n_rows,)
            Weight of each row.
        n_classes : int
            Number of classes.
        seed : SeedSequence
            Seed of the round and arm.
        drawn : int ndarray or None
            Numbers of the rows that were drawn where the round resamples, else None.

        Returns
        -------
        Hypothesis
            The fitted hypothesis.
        """
        raise TypeError(f"{type(self).__name__} is fitted from sums, not from rows.")

    def vc_dimension(self, n_columns: int) -> int | None:
        """Return the VC dimension of the hypotheses, for two classes.

        Parameters
        ----------
        n_columns : int
            Number of columns of the view.

        Returns
        -------
        int or None
            None where it is not known.
        """
        return None


@dataclass(frozen=True, eq=False)
class ConstantHypothesis(Hypothesis):
    """One class for all rows: what is left when all weight is on one class."""

    plan: Plan
    code: int

    def validate_votes(self, n_classes: int) -> None:
        """Refuse a class that does not exist; see `Hypothesis.validate_votes`."""
        check_integer(self, "code", below=n_classes)

    def predict_prepared(self, prepared: PreparedRows, threads: Threads = SERIAL) -> IntArray:
        """Predict the one class for every row."""
        return np.full(len(prepared), self.code, dtype=np.int32)


def fit_sums(
    learner: Learner,
    plan: Plan,
    prepared: PreparedRows,
    codes: IntArray,
    weights: FloatArray,
    n_classes: int,
    *,
    threads: Threads = SERIAL,
) -> Hypothesis:
    """Fit a learner from sums over rows that are all here.

    Parameters
    ----------
    learner : Learner
        A learner that is fitted from sums.
    plan : Plan
        Its plan of the view.
    prepared : object
        Rows as the plan prepared them.
    codes : int32 ndarray of shape (n_rows,)
        Class of each row.
    weights : ndarray of shape (n_rows,)
        Weight of each row; they are not all 0, and their sum is 1 at most, but for rounding.
    n_classes : int
        Number of classes.
    threads : Threads, default=SERIAL
        Threads to use.

    Returns
    -------
    Hypothesis
        The fitted hypothesis.
    """
    whole_weights = cache(lambda: in_own_units(weights))
    return run_reduction(
        learner.sums_on(threads, plan, n_classes),
        lambda statistic: statistic(
            prepared, codes, whole_weights() if getattr(statistic, "adds_weights", False) else weights, threads
        ),
    )


def run_reduction(
    reduction: Generator[QuestionT, AnswerT, ResultT],
    answer: Callable[[QuestionT], AnswerT],
) -> ResultT:
    """Answer each question that a generator yields, and return its result.

    Examples
    --------
    >>> def mean():
    ...     total = yield sum
    ...     return total / (yield len)
    >>> run_reduction(mean(), lambda question: question([1, 2, 6]))
    3.0
    """
    try:
        question = next(reduction)
        while True:
            question = reduction.send(answer(question))
    except StopIteration as end:
        return end.value


def run_reductions(
    reductions: dict[NameT, Generator[QuestionT, AnswerT, ResultT]],
    answer_all: Callable[[dict[NameT, QuestionT]], dict[NameT, AnswerT]],
) -> dict[NameT, ResultT | None]:
    """Run several generators side by side, and return the result of each by its name.

    `answer_all` is given the next question of each and returns the answers. It may leave a name out: that generator is
    not continued, and its result is None.
    """
    results: dict[NameT, ResultT | None] = dict.fromkeys(reductions)
    questions: dict[NameT, QuestionT] = {}

    def advance(name: NameT, answer: Any) -> None:
        try:
            questions[name] = reductions[name].send(answer)
        except StopIteration as end:
            results[name] = end.value

    for name in reductions:
        advance(name, None)
    while questions:
        answers = answer_all(questions)
        questions = {}
        for name, answer in answers.items():
            advance(name, answer)
    return results
