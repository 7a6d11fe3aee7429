"""Those who hold the parts of the rows, and how their answers are put together."""

from abc import ABC, abstractmethod

import numpy as np

from fuselearn.numeric.threads import SERIAL


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
