"""Rows in partitions: what a run asks of them, and how a partition answers.

All that a partition does to its weights is done row by row, and all sums of weights that votes follow from are exact
(`numeric.exact_sums`). So it does not matter how the rows were partitioned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fuselearn.backends.local import ArmRows, RowOrders
from fuselearn.backends.partitioned.partitions import Answer, Partitions
from fuselearn.backends.partitioned.row_source import PartitionReader, RawPartition
from fuselearn.backends.partitioned.storage import ArrayStore, StoredRows
from fuselearn.backends.protocol import Arm, Tally, Trial
from fuselearn.data import ViewBlocks
from fuselearn.learners.protocol import Hypothesis, Learner, Plan, PreparedRows, Statistic, run_reductions
from fuselearn.numeric.exact_sums import in_units, limb_sums, scale_by_outcome, sums_of_limbs
from fuselearn.numeric.row_draws import BLOCK_ROWS, block_sums, counts_in_blocks, draw_blocks
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.votes import ABSENT, RIGHT, WRONG, mark_outcomes
from fuselearn.typing import AnyArray, FloatArray, IntArray

N_OUTCOMES = 3


@dataclass(frozen=True)
class DrawSettings:
    """How rows are drawn in a round: `n_draws` of them, by `seed`; out of bag, those drawn are not judged on."""

    seed: int
    n_draws: int
    out_of_bag: bool


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows that are drawn by an arm's weights, from which each partition finds its own; see `numeric.row_draws`.

    `before` holds, for each partition, the whole weight of its first row's block that is in earlier partitions.
    """

    seed: np.random.SeedSequence
    n_draws: int
    totals: IntArray
    n_in_blocks: IntArray
    before: IntArray


@dataclass(frozen=True)
class BlockWeights:
    """Asks for the whole weights of all blocks of rows, and for what each partition has of its last block."""

    arm: int


@dataclass(frozen=True)
class Sum:
    """Asks for a learner's statistic of the rows that have an arm's view; of those drawn, where there is a draw."""

    arm: int
    statistic: Statistic
    draw: Draw | None


@dataclass(frozen=True)
class Judge:
    """Asks for the weight of each outcome of a hypothesis; a `WeightUpdate` refers to it by its token.

    Rows of `draw`, on which the hypothesis was fitted, count as absent.
    """

    arm: int
    hypothesis: Hypothesis | None
    token: int
    draw: Draw | None


@dataclass(frozen=True)
class WeightUpdate:
    """Factors for the weights of right, wrong and absent rows: the same everywhere, to the last bit."""

    arm: int
    hypothesis: Hypothesis | None
    token: int
    right: float
    wrong: float
    absent: float
    draw: Draw | None


Question: TypeAlias = Sum | Judge | BlockWeights


class PartitionedRows:
    """Rows in partitions; see `fuselearn.backends.protocol.Rows`.

    A round asks the partitions two or more times: for what the learners want to know, all arms at once, and for the
    outcomes of their hypotheses; before that for the weights of blocks of rows, where rows are drawn by them. The
    updates of the weights go with the next question.
    """

    def __init__(
        self,
        partitions: Partitions,
        arms: Sequence[tuple[Learner, Plan]],
        recipe: PartitionRecipe,
        draw_settings: DrawSettings | None = None,
    ) -> None:
        self._partitions = partitions
        self._arms = arms
        self._recipe = recipe
        self._n_classes = recipe.n_classes
        self._draw_settings = draw_settings
        self._out_of_bag = draw_settings is not None and draw_settings.out_of_bag
        self._updates: list[WeightUpdate] = []
        self._judged: dict[int, tuple[Judge, Tally]] = {}
        self._n_judged = 0

    def try_arms(self, arms: list[int], round_number: int) -> list[Trial]:
        """Fit each of the arms under its weights; see `Rows.try_arms`."""
        fits = {}
        for arm in arms:
            learner, plan = self._arms[arm]
            fits[arm] = learner.sums(plan, self._n_classes)
        draws = self._draw(arms, round_number)
        hypotheses = run_reductions(fits, lambda statistics: self._sums(statistics, draws))
        tallies = self._judge(hypotheses, draws if self._out_of_bag else {})
        return [Trial(hypotheses[arm], tally) for arm, tally in zip(arms, tallies)]

    def judge(self, arm: int, hypothesis: Hypothesis | None, round_number: int) -> Tally:
        """Weigh the outcomes of a hypothesis that was fitted before; see `Rows.judge`."""
        [tally] = self._judge({arm: hypothesis}, self._draw([arm], round_number) if self._out_of_bag else {})
        return tally

    def reweight(self, arm: int, right: float, wrong: float, absent: float) -> None:
        """Multiply the arm's weights by outcome, and normalise; see `Rows.reweight`."""
        judged, tally = self._judged[arm]
        # The sum follows from the tally: no second pass.
        total = right * tally.right + wrong * tally.wrong + absent * tally.absent
        factors = right / total, wrong / total, absent / total
        self._updates.append(WeightUpdate(arm, judged.hypothesis, judged.token, *factors, judged.draw))

    def weights(self, arm: int) -> FloatArray:
        """Refuse: the weights stay with the partitions."""
        raise TypeError("The weights of rows in partitions are not in one place; pass the rows in memory.")

    def _draw(self, arms: Sequence[int], round_number: int) -> dict[int, Draw]:
        """Draw rows by the weights of each arm, where the run does so."""
        settings = self._draw_settings
        if settings is None:
            return {}
        # Arms that share their weights share the sums of them.
        asked = list(arms)[:1] if self._recipe.shared else list(arms)
        answers = dict(zip(asked, self._partitions.ask(self._updates, [BlockWeights(arm) for arm in asked])))
        draws = {}
        for arm in arms:
            totals, tails = answers[asked[0] if self._recipe.shared else arm]
            seed = np.random.SeedSequence(settings.seed, spawn_key=(round_number, arm))
            n_in_blocks = draw_blocks(totals, settings.n_draws, seed)
            draws[arm] = Draw(seed, settings.n_draws, totals, n_in_blocks, self._weights_before(tails))
        return draws

    def _weights_before(self, tails: IntArray) -> IntArray:
        """Return what earlier partitions have of the block of each partition's first row; `tails`, of their last."""
        before, first_rows = np.zeros_like(tails), self._recipe.first_rows
        for number, first in enumerate(first_rows[:-1]):
            # All that an earlier partition has of this block is in its own last block, and its rows may begin there.
            for earlier in range(number - 1, -1, -1):
                if first % BLOCK_ROWS == 0 or first_rows[earlier + 1] <= first - first % BLOCK_ROWS:
                    break
                before[number] += tails[earlier]
        return before

    def _sums(self, statistics: Mapping[int, Statistic], draws: Mapping[int, Draw]) -> dict[int, AnyArray]:
        """Return the statistics that arms ask for, except those of views that no row with weight has."""
        questions = [Sum(arm, statistic, draws.get(arm)) for arm, statistic in statistics.items()]
        answers = zip(statistics, self._partitions.ask(self._updates, questions))
        return {arm: total for arm, (seen, total) in answers if seen[0]}

    def _judge(self, hypotheses: Mapping[int, Hypothesis | None], draws: Mapping[int, Draw]) -> list[Tally]:
        """Weigh the outcomes of hypotheses; rows of `draws` are not judged on."""
        questions = []
        for arm, hypothesis in hypotheses.items():
            self._n_judged += 1
            questions.append(Judge(arm, hypothesis, self._n_judged, draws.get(arm)))
        tallies = []
        for question, (limbs,) in zip(questions, self._partitions.ask(self._updates, questions)):
            wrong, absent, right = sums_of_limbs(limbs)
            tallies.append(Tally(right, wrong, absent))
            self._judged[question.arm] = question, tallies[-1]
        return tallies


@dataclass(frozen=True)
class PartitionRecipe:
    """All that is needed to make a partition of the rows that the user gave.

    `total_weight` is that of all partitions. `plans_of_arms` holds the numbers of the plans that hypotheses of each arm
    may have; the first is that of new hypotheses. `first_rows` are the numbers of the first row of each partition, and
    that of all rows.
    """

    reader: PartitionReader
    total_weight: float
    arms: list[tuple[int, Learner]]
    plans: list[Plan]
    plans_of_arms: list[list[int]]
    n_classes: int
    shared: bool
    resample: bool
    first_rows: list[int]

    def later_bytes(self, n_rows: int) -> int:
        """Return the memory that a partition takes besides during the rounds: each arm's outcomes, and rows drawn."""
        return len(self.arms) * n_rows * (1 + 8 * self.resample)

    def build(self, raw: RawPartition, store: ArrayStore | None = None, threads: Threads = SERIAL) -> Partition:
        """Prepare a partition; its arrays are kept in a store."""
        blocks = self.reader.view_blocks(raw)
        codes = self.reader.class_codes(raw, blocks)
        weights = self.reader.scaled_weights(raw) / self.total_weight
        return Partition(self, raw.number, blocks, codes, weights, ArrayStore() if store is None else store, threads)


class Partition:
    """Consecutive rows, prepared for every arm; all that is as long as the rows is in a store."""

    def __init__(
        self,
        recipe: PartitionRecipe,
        number: int,
        blocks: ViewBlocks,
        codes: list[IntArray],
        weights: FloatArray,
        store: ArrayStore,
        threads: Threads = SERIAL,
    ) -> None:
        self.n_updates = 0
        self.n_rows = len(blocks)
        self._number, self._first_row = number, recipe.first_rows[number]
        self._drawn: dict[int, Draw] = {}
        self._store = store
        self._recipe = recipe
        self._plan_number = {id(plan): number for number, plan in enumerate(recipe.plans)}
        self._tokens: dict[int, int] = {}
        self._array_names: list[tuple[str | None, str]] = []
        self._prepared: dict[tuple[int, bool, int], StoredRows] = {}
        orders: RowOrders = {}
        stored: dict[tuple[int, int], tuple[tuple[str | None, str], ArmRows]] = {}
        for arm, (view_number, learner) in enumerate(recipe.arms):
            arm_rows = ArmRows.of(Arm(blocks.views[view_number], view_number, learner, codes[view_number]), orders)
            self._array_names.append(self._store_rows(arm_rows, stored))
            for number in recipe.plans_of_arms[arm]:
                key = (view_number, learner.rows_by_class, number)
                if key not in self._prepared:
                    prepared = recipe.plans[number].prepare(arm_rows.view, threads)
                    self._prepared[key] = StoredRows(store, "prepared{}_{:d}_{}".format(*key), prepared)
            if arm == 0 or not recipe.shared:
                store.put(f"weights{self._distribution(arm)}", weights.copy())

    def update(self, updates: Sequence[WeightUpdate], first: int, threads: Threads = SERIAL) -> None:
        """Make those of the updates, the first of them numbered `first`, that were not made yet."""
        for update in updates[self.n_updates - first :]:
            outcome = self._outcome(update, threads)
            scale_by_outcome(outcome, self.weights(update.arm), update.right, update.wrong, update.absent)
            self.n_updates += 1

    def answer(self, questions: Sequence[Question], threads: Threads = SERIAL) -> list[Answer]:
        """Return the answer to each question, to be added to those of the other partitions."""
        weights_in_units: dict[int, IntArray] = {}
        answers = []
        for question in questions:
            if isinstance(question, Sum):
                answers.append(self._sum(question, weights_in_units, threads))
            elif isinstance(question, Judge):
                answers.append(self._judge(question, threads))
            else:
                answers.append(self._block_weights(question.arm))
        return answers

    def weights(self, arm: int) -> FloatArray:
        """Return the arm's weights, which may be changed in place."""
        return self._store.get(f"weights{self._distribution(arm)}")

    def _distribution(self, arm: int) -> int:
        """Return the number of the weights that an arm has."""
        return 0 if self._recipe.shared else arm

    def _store_rows(
        self, arm_rows: ArmRows, stored: dict[tuple[int, int], tuple[tuple[str | None, str], ArmRows]]
    ) -> tuple[str | None, str]:
        """Store the rows and codes of an arm, once for all arms that share them; returns their names."""
        key = (id(arm_rows.rows), id(arm_rows.codes))
        if key not in stored:
            in_order = len(arm_rows.rows) == self.n_rows and np.array_equal(arm_rows.rows, np.arange(self.n_rows))
            number = len(stored)
            if not in_order:
                self._store.put(f"rows{number}", arm_rows.rows)
            self._store.put(f"codes{number}", arm_rows.codes)
            # The arrays themselves are kept so that no other gets the same identity.
            stored[key] = (None if in_order else f"rows{number}", f"codes{number}"), arm_rows
        return stored[key][0]

    def _rows_and_codes(self, arm: int) -> tuple[IntArray | None, IntArray]:
        """Return the rows of an arm, None where these are all rows in their order, and their class codes."""
        rows, codes = self._array_names[arm]
        return None if rows is None else self._store.get(rows), self._store.get(codes)

    def _prepared_rows(self, arm: int, plan_number: int) -> PreparedRows:
        view_number, learner = self._recipe.arms[arm]
        return self._prepared[view_number, learner.rows_by_class, plan_number].get()

    def _sum(self, question: Sum, weights_in_units: dict[int, IntArray], threads: Threads) -> Answer:
        """Return whether a row with weight has the arm's view, and the statistic."""
        arm, statistic = question.arm, question.statistic
        rows, codes = self._rows_and_codes(arm)
        # Drawing a row twice is giving it twice the weight.
        draw = question.draw
        weights: AnyArray = self.weights(arm) if draw is None else self._drawn_counts(arm, draw) / draw.n_draws
        prepared = self._prepared_rows(arm, self._recipe.plans_of_arms[arm][0])
        if getattr(statistic, "adds_weights", False):
            distribution = self._distribution(arm)
            if draw is not None:
                weights = in_units(weights)
            else:
                if distribution not in weights_in_units:
                    weights_in_units[distribution] = in_units(weights)
                weights = weights_in_units[distribution]
        if rows is not None:
            weights = weights[rows]
        # Weights below the unit of exact sums are nothing to these.
        seen = bool(weights[:1].any()) or bool(weights.any())
        return np.array([seen], dtype=np.int64), statistic(prepared, codes, weights, threads)

    def _judge(self, question: Judge, threads: Threads) -> Answer:
        """Return the weight of each outcome, as limbs."""
        outcome = self._outcome(question, threads)
        # WRONG, ABSENT, RIGHT are -1, 0, 1.
        return (limb_sums(self.weights(question.arm), outcome + np.int8(1), N_OUTCOMES),)

    def _block_weights(self, arm: int) -> Answer:
        """Return the whole weight of each block of rows, and, by partition, that of its last block here."""
        whole = in_units(self.weights(arm))
        first_rows = self._recipe.first_rows
        sums = block_sums(whole, self._first_row, -(-first_rows[-1] // BLOCK_ROWS))
        tails = np.zeros(len(first_rows) - 1, dtype=np.int64)
        if len(whole):
            tails[self._number] = sums[(self._first_row + len(whole) - 1) // BLOCK_ROWS]
        return sums, tails

    def _drawn_counts(self, arm: int, draw: Draw) -> IntArray:
        """Return how often each row was drawn; kept until the next draw of the arm."""
        known = self._drawn.get(arm)
        if known is None or not _is_same_draw(known, draw):
            whole, before = in_units(self.weights(arm)), int(draw.before[self._number])
            counts = counts_in_blocks(whole, self._first_row, before, draw.totals, draw.n_in_blocks, draw.seed)
            self._store.put(f"drawn{arm}", counts)
            self._drawn[arm] = draw
        return self._store.get(f"drawn{arm}")

    def _outcome(self, judged: Judge | WeightUpdate, threads: Threads) -> IntArray:
        """Return the outcome of a hypothesis on each row; kept until the next one of the arm is judged."""
        arm, hypothesis, token = judged.arm, judged.hypothesis, judged.token
        if self._tokens.get(arm) == token:
            return self._store.get(f"outcome{arm}")
        outcome = np.full(self.n_rows, ABSENT, dtype=np.int8)
        if hypothesis is not None:
            rows, codes = self._rows_and_codes(arm)
            number = self._plan_number[id(hypothesis.plan)]
            predicted = hypothesis.predict_prepared(self._prepared_rows(arm, number), threads)
            if rows is None:
                outcome[:] = np.where(predicted == codes, np.int8(RIGHT), np.int8(WRONG))
            else:
                mark_outcomes(predicted, codes, rows, outcome)
        if judged.draw is not None:
            outcome[self._drawn_counts(arm, judged.draw) > 0] = ABSENT
        self._store.put(f"outcome{arm}", outcome)
        self._tokens[arm] = token
        return outcome


def _is_same_draw(one: Draw, other: Draw) -> bool:
    """Return whether two draws, which may be copies, are of the same round and arm."""
    return one.seed.spawn_key == other.seed.spawn_key
