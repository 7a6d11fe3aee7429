"""Rows in parts: in files, or on the workers of a cluster.

Those who hold the parts of the rows, and how their answers are put together.
"""

from abc import ABC, abstractmethod

import numpy as np

from fuselearn.backends.partitioned.partition import Judge, Step, Sum
from fuselearn.backends.protocol import Tally, Trial
from fuselearn.numeric.exact_sums import UNIT, sums_of_limbs
from fuselearn.numeric.execution import SERIAL
from fuselearn.reductions import drive_together


class PartedRows:
    """Rows in parts; see `fuselearn.backends.protocol.Rows`.

    A round asks the parts two or more times: for what the learners want to know, all arms at once, and for what their
    hypotheses are worth. The steps by which the weights change go with the next question.

    Parameters
    ----------
    crew : Crew
    arms : list of (learner, plan)
    n_classes : int
    """

    def __init__(self, crew, arms, n_classes):
        self._crew = crew
        self._arms = arms
        self._n_classes = n_classes
        self._steps = []
        self._judged = [None] * len(arms)
        self._n_judged = 0

    def try_arms(self, arms, round_number):
        asking = {arm: self._arms[arm][0].sums(self._arms[arm][1], self._n_classes) for arm in arms}
        hypotheses = drive_together(asking, self._sums)
        return [Trial(hypotheses[arm], tally) for arm, tally in zip(arms, self._judge(hypotheses))]

    def judge(self, arm, hypothesis, round_number):
        [tally] = self._judge({arm: hypothesis})
        return tally

    def reweight(self, arm, right, wrong, absent):
        hypothesis, token, tally = self._judged[arm]
        # What the sum will be is known before: no second pass.
        total = right * tally.right + wrong * tally.wrong + absent * tally.absent
        self._steps.append(Step(arm, hypothesis, token, right / total, wrong / total, absent / total))

    def _sums(self, statistics):
        """Totals of the statistics that arms ask for; without those that no row with weight has the view of."""
        questions = [Sum(arm, statistic) for arm, statistic in statistics.items()]
        answers = zip(statistics, self._crew.ask(self._steps, questions))
        return {arm: total * UNIT if total.dtype.kind == "i" else total for arm, (seen, total) in answers if seen[0]}

    def _judge(self, hypotheses):
        questions = []
        for arm, hypothesis in hypotheses.items():
            self._n_judged += 1
            questions.append(Judge(arm, hypothesis, self._n_judged))
        tallies = []
        for question, (limbs,) in zip(questions, self._crew.ask(self._steps, questions)):
            wrong, absent, right = sums_of_limbs(limbs)
            tallies.append(Tally(right, wrong, absent))
            self._judged[question.arm] = question.hypothesis, question.token, tallies[-1]
        return tallies


class Crew(ABC):
    """Holds the parts of a run, wherever they are."""

    @abstractmethod
    def ask(self, steps, questions):
        """Let all parts take steps, then answer questions.

        Parameters
        ----------
        steps : list of Step
            All steps of the run so far. Parts that have taken some of them take the others.
        questions : list of Sum or Judge

        Returns
        -------
        list of tuple of ndarray
            For each question its sums over all parts.
        """

    @abstractmethod
    def close(self):
        """Give back what the parts take."""


class CrewHere(Crew):
    """Parts in this process, one after the other.

    Parameters
    ----------
    parts : list of Part
    threads : Threads
    clean_up : callable
        Called by `close`.
    """

    def __init__(self, parts, threads=SERIAL, clean_up=lambda: None):
        self._parts = parts
        self._threads = threads
        self._clean_up = clean_up

    def ask(self, steps, questions):
        def work(number):
            self._parts[number].take(steps, 0)
            return number, self._parts[number].answer(questions)

        return totals([folded(dict(self._threads.map(work, range(len(self._parts)))))])

    def close(self):
        self._clean_up()


def folded(answers):
    """Answers of some parts in as few arrays as have to be kept apart.

    Sums of whole numbers are exact, and can be added at once. Those of floats are kept by part, so that they can be
    added in the order of the parts, whoever holds which.

    Parameters
    ----------
    answers : dict of part number to list of tuple of ndarray

    Returns
    -------
    list of tuple of dict of part number to ndarray
    """
    lowest = min(answers)
    result = []
    for of_question in zip(*(answers[number] for number in sorted(answers))):
        kinds = []
        for arrays in zip(*of_question):
            if arrays[0].dtype.kind == "i":
                kinds.append({lowest: np.sum(arrays, axis=0) if len(arrays) > 1 else arrays[0]})
            else:
                kinds.append(dict(zip(sorted(answers), arrays)))
        result.append(tuple(kinds))
    return result


def totals(foldings):
    """Sums over all parts, of the foldings of those who hold some."""
    result = []
    for of_question in zip(*foldings):
        sums = []
        for kinds in zip(*of_question):
            by_part = {number: array for one in kinds for number, array in one.items()}
            sums.append(sum(by_part[number] for number in sorted(by_part)))
        result.append(tuple(sums))
    return result
