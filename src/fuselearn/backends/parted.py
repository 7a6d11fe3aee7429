"""Rows in parts: in files, or on the workers of a cluster."""

from fuselearn.backends.part import Judge, Step, Sum
from fuselearn.backends.protocol import Tally, Trial
from fuselearn.driving import drive_together
from fuselearn.numeric.exact_sums import UNIT, sums_of_limbs


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
