"""Rows on a GPU. Weights stay there; a round brings back three sums per arm, and the hypotheses.

All arms of a round are fitted side by side: what each asks for is started before the first answer is waited for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from fuselearn.backends.gpu.arrays import Arrays, GpuArray, on_its_gpu
from fuselearn.backends.gpu.cuda_kernels import fused_kernels
from fuselearn.backends.gpu.gpu_table import GpuTable, GpuView
from fuselearn.backends.gpu.prepared_rows import GpuBins, GpuColumns, GpuWeights, PreparedRows, cannot_run_on_gpu
from fuselearn.backends.protocol import Arm, Plans, Tally, Trial
from fuselearn.data import View
from fuselearn.learners.binning import Binning
from fuselearn.learners.protocol import Hypothesis, Learner, Plan, Statistic, Sums, ViewQuestion, run_reduction
from fuselearn.learners.score_learners import ColumnSums, Standardisation
from fuselearn.learners.sklearn_learner import AsGiven
from fuselearn.numeric.row_draws import draw_counts
from fuselearn.numeric.threads import Threads
from fuselearn.typing import FloatArray, IntArray


class GpuRows:
    """Rows on a GPU; see `fuselearn.backends.protocol.Rows`.

    Fused kernels are used where CuPy is installed (and `use_fused`), else plain operations of the array's own library.
    Sums are taken in double precision and in a fixed order: the same fit gives the same model, bit for bit. The other
    parameters are those of `LocalRows`; the views are `GpuView`, and threads are not used.
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        weights: FloatArray,
        n_classes: int,
        *,
        threads: Threads,
        seed: int,
        plans: Plans,
        shared: bool = True,
        resample: bool = False,
        out_of_bag: bool = False,
        use_fused: bool = True,
    ) -> None:
        for arm in arms:
            check_learner(arm.learner)
        self._fused = fused_kernels(_gpu_table(arms[0].view).arrays) if use_fused else None
        self.arrays = arrays = self._table(arms[0].view).arrays
        self._gpu_weights = GpuWeights(arrays) if self._fused is None else self._fused.weights(arrays)
        self._n_rows = len(weights)
        self._n_draws = int(np.count_nonzero(weights))
        self._n_classes = n_classes
        self._seed = seed
        self._resample = resample
        self._out_of_bag = out_of_bag
        self._plans = plans
        self._prepared: dict[tuple[int, tuple[int, int], int | str], PreparedRows] = {}
        # Rows are kept by the classes of the first arm: arms that share its labels then read them end to end.
        self._order = np.argsort(arms[0].codes, kind="stable")
        orders: dict[tuple[int, int], RowOrder] = {}
        with arrays.current():
            self._arms = [_ArmRows.of(arm, self._order, n_classes, arrays, orders) for arm in arms]
            gpu_weights = arrays.from_host((weights / weights.sum())[self._order])
        self._shared = shared
        self._distributions = [gpu_weights] * len(arms)
        self._outcomes: dict[int, GpuArray | None] = {}
        self._tallies: dict[int, Tally] = {}

    @on_its_gpu
    def weights(self, arm: int) -> FloatArray:
        """Return the arm's current weights, on the host; see `Rows.weights`."""
        weights = np.empty(self._n_rows)
        weights[self._order] = self.arrays.to_host(self._distributions[arm])
        return weights

    @on_its_gpu
    def try_arms(self, arms: list[int], round_number: int) -> list[Trial]:
        """Fit each of the arms under its weights; see `Rows.try_arms`."""
        drawn = [self._draw(arm, round_number) if self._resample else None for arm in arms]
        hypotheses = self._fit(arms, drawn)
        sums = [
            self._start_judging(arm, hypothesis, excluded if self._out_of_bag else None)
            for arm, hypothesis, excluded in zip(arms, hypotheses, drawn)
        ]
        return [
            Trial(hypothesis, self._tally(arm, arm_sums)) for arm, hypothesis, arm_sums in zip(arms, hypotheses, sums)
        ]

    @on_its_gpu
    def judge(self, arm: int, hypothesis: Hypothesis | None, round_number: int) -> Tally:
        """Weigh the outcomes of a hypothesis that was fitted before; see `Rows.judge`."""
        drawn = self._draw(arm, round_number) if self._out_of_bag else None
        return self._tally(arm, self._start_judging(arm, hypothesis, drawn))

    @on_its_gpu
    def reweight(self, arm: int, right: float, wrong: float, absent: float) -> None:
        """Multiply the arm's weights by outcome, and normalise; see `Rows.reweight`."""
        outcome, tally = self._outcomes[arm], self._tallies[arm]
        if outcome is None:  # no row has the view: all weights stay as they are
            return
        # The sum follows from the tally: no second pass.
        total = right * tally.right + wrong * tally.wrong + absent * tally.absent
        factors = right / total, wrong / total, absent / total
        weights = self._gpu_weights.multiplied(self._distributions[arm], outcome, *factors)
        if self._shared:
            self._distributions = [weights] * len(self._arms)
        else:
            self._distributions[arm] = weights

    def _fit(self, arms: Sequence[int], drawn: Sequence[IntArray | None]) -> list[Hypothesis | None]:
        """Return the hypotheses of the arms; None where no row with weight has an arm's view."""
        hypotheses: list[Hypothesis | None] = [None] * len(arms)
        fits: list[_ArmFit] = []
        for place, (arm, arm_drawn) in enumerate(zip(arms, drawn)):
            weights = self._weights_to_fit(arm, arm_drawn)
            if weights is None:
                continue
            plan = self._plan(arm)
            sums = self._arms[arm].learner.sums(plan, self._n_classes)
            fits.append(_ArmFit(place, sums, next(sums), self._prepare(arm, plan), plan, weights))
        while fits:
            totals = [fit.prepared.total(fit.plan, fit.statistic, fit.weights) for fit in fits]
            for fit, total in list(zip(fits, totals)):
                try:
                    fit.statistic = fit.sums.send(np.ascontiguousarray(self.arrays.to_host(total)))
                except StopIteration as end:
                    hypotheses[fit.place] = end.value
                    fits.remove(fit)
        return hypotheses

    def _weights_to_fit(self, arm: int, drawn: IntArray | None) -> GpuArray | None:
        """Return the weights of the rows that have the arm's view, in its order; None where all are 0."""
        arm_rows, weights = self._arms[arm], self._distributions[arm]
        if drawn is not None:
            # Drawing a row twice is giving it twice the weight.
            weights = self.arrays.from_host(drawn[self._order] / self._n_draws)
        if arm_rows.order.places is None and drawn is None:
            return weights
        if arm_rows.order.places is not None:
            weights = self.arrays.take(weights, arm_rows.order.weight_places)
        return weights if len(arm_rows.order.rows) and float(self.arrays.sum(weights)) > 0 else None

    def _table(self, view: View) -> GpuTable:
        """Return the table of a view, as one of the library that is used."""
        table = _gpu_table(view)
        return table if self._fused is None else self._fused.table(table)

    def _plan(self, arm: int) -> Plan:
        """Return the plan of the arm's view; sums over its columns are taken on the GPU."""
        arm_rows = self._arms[arm]
        view, learner = arm_rows.view, arm_rows.learner
        key = (arm_rows.view_number, learner.preparation)
        if key not in self._plans:

            def answer(question: ViewQuestion) -> Any:
                if isinstance(question, ColumnSums):
                    return self._columns(arm).column_sums(question.centres)
                return question.merged([question(view, 0)])

            planning = learner.planning(view.name, view.n_columns, len(view), np.random.SeedSequence(self._seed))
            self._plans[key] = run_reduction(planning, answer)
        return self._plans[key]

    def _prepare(self, arm: int, plan: Plan) -> PreparedRows:
        """Return the rows of the arm's view as a plan prepares them, which is done once."""
        if isinstance(plan, Standardisation):
            return self._columns(arm)  # values as they were given serve every plan
        if not isinstance(plan, Binning):  # a round of a model that was fitted on the host
            learner = plan.estimator_name if isinstance(plan, AsGiven) else type(plan).__name__
            raise cannot_run_on_gpu(f"{learner}, of which the model has rounds,")
        arm_rows = self._arms[arm]
        key = (arm_rows.view_number, arm_rows.key, id(plan))
        if key not in self._prepared:
            make_bins = GpuBins if self._fused is None else self._fused.bins
            table, order = self._table(arm_rows.view), arm_rows.order
            self._prepared[key] = make_bins(table, arm_rows.view, plan, order.rows, order.starts)
        return self._prepared[key]

    def _columns(self, arm: int) -> GpuColumns:
        """Return the rows of the arm's view as they were given."""
        arm_rows = self._arms[arm]
        key = (arm_rows.view_number, arm_rows.key, "columns")
        if key not in self._prepared:
            make_columns = GpuColumns if self._fused is None else self._fused.columns
            table, order = self._table(arm_rows.view), arm_rows.order
            self._prepared[key] = make_columns(table, arm_rows.view, order.rows, order.starts)
        return cast(GpuColumns, self._prepared[key])

    def _start_judging(self, arm: int, hypothesis: Hypothesis | None, drawn: IntArray | None) -> GpuArray | None:
        """Note the outcome of each row, and return the weights by outcome, which may still be computed."""
        order = self._arms[arm].order
        if hypothesis is None:
            self._outcomes[arm] = None
            return None
        excluded = None
        if drawn is not None:
            excluded = self.arrays.from_host(drawn[self._order] > 0)
        predicted = self._prepare(arm, hypothesis.plan).predict(hypothesis)
        self._outcomes[arm], sums = self._gpu_weights.outcomes(
            predicted, order.gpu_codes, order.places, excluded, self._distributions[arm]
        )
        return sums

    def _tally(self, arm: int, sums: GpuArray | None) -> Tally:
        tally = Tally(0.0, 0.0, 1.0) if sums is None else Tally(*self.arrays.to_host(sums).tolist())
        self._tallies[arm] = tally
        return tally

    def _draw(self, arm: int, round_number: int) -> IntArray:
        """Return how often rows are drawn by the arm's weights, on the host; the same as of rows in memory."""
        seed = np.random.SeedSequence(self._seed, spawn_key=(round_number, arm))
        return draw_counts(self.weights(arm), self._n_draws, seed)


def check_learner(learner: Learner) -> None:
    """Refuse a learner that rows on a GPU cannot be fitted with, before any work is done."""
    if learner.plan_type is None or not issubclass(learner.plan_type, Standardisation | Binning):
        raise cannot_run_on_gpu(repr(learner))


def _gpu_table(view: View) -> GpuTable:
    return cast(GpuView, view).gpu_table


@dataclass(eq=False)
class _ArmFit:
    """An arm while its learner still asks for sums; `place` is that among the arms of the round."""

    place: int
    sums: Sums
    statistic: Statistic
    prepared: PreparedRows
    plan: Plan
    weights: GpuArray


@dataclass(frozen=True)
class RowOrder:
    """The order in which an arm's rows are kept.

    `rows` are those of the table in which the view is present, sorted by the arm's classes, and `starts` the first of
    each class among them. `weight_places` are the places of those rows in the order of the weights, and `places` the
    other way round, -1 where the view is absent; both are None where the two orders are the same.
    """

    rows: IntArray
    starts: IntArray
    gpu_codes: GpuArray
    weight_places: GpuArray | None
    places: GpuArray | None


OrderKey: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class _ArmRows:
    """An arm and the order of its rows, whose `key` is the same for arms with the same order."""

    view: View
    view_number: int
    learner: Learner
    key: OrderKey
    order: RowOrder

    @classmethod
    def of(
        cls, arm: Arm, weight_order: IntArray, n_classes: int, arrays: Arrays, orders: dict[OrderKey, RowOrder]
    ) -> "_ArmRows":
        """Put the rows of an arm in order; `orders` holds those of other arms, which may be the same."""
        key = (id(arm.codes), id(arm.view.rows))
        if key not in orders:
            orders[key] = _row_order(arm, weight_order, n_classes, arrays)
        return cls(arm.view, arm.view_number, arm.learner, key, orders[key])


def _row_order(arm: Arm, weight_order: IntArray, n_classes: int, arrays: Arrays) -> RowOrder:
    place_of_weight = np.empty(len(weight_order), dtype=np.intp)
    place_of_weight[weight_order] = np.arange(len(weight_order))
    rows = np.arange(len(arm.codes)) if arm.view.rows is None else arm.view.rows
    rows = rows[np.argsort(arm.codes[rows], kind="stable")]
    codes = arm.codes[rows]
    starts = np.searchsorted(codes, np.arange(n_classes + 1))
    weight_places = place_of_weight[rows]
    if np.array_equal(weight_places, np.arange(len(weight_order))):
        return RowOrder(rows, starts, arrays.from_host(codes), None, None)
    places = np.full(len(weight_order), -1, dtype=np.intp)
    places[weight_places] = np.arange(len(rows))
    return RowOrder(rows, starts, arrays.from_host(codes), arrays.from_host(weight_places), arrays.from_host(places))
