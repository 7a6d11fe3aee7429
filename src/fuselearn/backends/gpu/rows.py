"""Rows on a GPU. Weights stay there; a round brings back three sums per arm, and the hypotheses.

All arms of a round are fitted side by side: what each asks for is started before the first answer is waited for.
"""

from dataclasses import dataclass

import numpy as np

from fuselearn.backends.gpu.arrays import on_its_device
from fuselearn.backends.gpu.fused import fused
from fuselearn.backends.gpu.prepared_views import DeviceBins, DeviceColumns, DeviceWeights
from fuselearn.backends.protocol import Tally, Trial
from fuselearn.data import View
from fuselearn.numeric.weights import draw_rows

PREPARATIONS = ("standardised", "binned")
"""Kinds of preparation that rows on a device have."""


class DeviceRows:
    """Rows on a device; see `fuselearn.backends.protocol.Rows`.

    Fused kernels are used where CuPy is there, else plain operations of the array's own library. Sums are taken in
    double precision and in a fixed order: the same fit gives the same model, bit for bit.

    Parameters
    ----------
    arms, weights, n_classes, threads, seed, plans, shared, resample, out_of_bag
        As for `LocalRows`. The views are `DeviceView`; threads are not used.
    use_fused : bool, default=True
        Whether to use the fused kernels where they can be.
    """

    def __init__(
        self,
        arms,
        weights,
        n_classes,
        *,
        threads,
        seed,
        plans,
        shared=True,
        resample=False,
        out_of_bag=False,
        use_fused=True,
    ):
        for arm in arms:
            check_learner(arm.learner)
        self._fused = fused(arms[0].view.table.arrays) if use_fused else None
        self.arrays = arrays = self._table(arms[0].view).arrays
        self._weighing = DeviceWeights(arrays) if self._fused is None else self._fused.weights(arrays)
        self._n_rows = len(weights)
        self._n_draws = np.count_nonzero(weights)
        self._n_classes = n_classes
        self._seed = seed
        self._resample = resample
        self._out_of_bag = out_of_bag
        self._plans = plans
        self._prepared = {}
        # Rows are kept by the classes of the first arm: arms that share its labels then read them end to end.
        self._order = np.argsort(arms[0].codes, kind="stable")
        placed = {}
        with arrays.current():
            self._arms = [_PlacedArm.of(arm, self._order, n_classes, arrays, placed) for arm in arms]
            weights = arrays.from_host((weights / weights.sum())[self._order])
        self._shared = shared
        self._distributions = [weights] * len(arms)
        self._judged = [None] * len(arms)

    @on_its_device
    def weights(self, arm):
        """The arm's current weights as a NumPy array of shape (n_rows,), in the order of the table."""
        weights = np.empty(self._n_rows)
        weights[self._order] = self.arrays.to_host(self._distributions[arm])
        return weights

    @on_its_device
    def try_arms(self, arms, round_number):
        drawn = [self._draw(arm, round_number) if self._resample else None for arm in arms]
        hypotheses = self._fit(arms, drawn)
        judged = [
            self._start_judging(arm, hypothesis, excluded if self._out_of_bag else None)
            for arm, hypothesis, excluded in zip(arms, hypotheses, drawn)
        ]
        return [Trial(hypothesis, self._tally(arm, sums)) for arm, hypothesis, sums in zip(arms, hypotheses, judged)]

    @on_its_device
    def judge(self, arm, hypothesis, round_number):
        drawn = self._draw(arm, round_number) if self._out_of_bag else None
        return self._tally(arm, self._start_judging(arm, hypothesis, drawn))

    @on_its_device
    def reweight(self, arm, right, wrong, absent):
        outcome, tally = self._judged[arm]
        # What the sum will be is known before: no second pass.
        total = right * tally.right + wrong * tally.wrong + absent * tally.absent
        factors = right / total, wrong / total, absent / total
        if outcome is None:  # no row has the view: all weights stay as they are
            return
        weights = self._weighing.multiplied(self._distributions[arm], outcome, *factors)
        if self._shared:
            self._distributions = [weights] * len(self._arms)
        else:
            self._distributions[arm] = weights

    def _fit(self, arms, drawn):
        """Hypotheses of the arms; None where no row with weight has an arm's view."""
        hypotheses, fitting = [None] * len(arms), []
        for place, (arm, rows) in enumerate(zip(arms, drawn)):
            weights = self._weights_to_fit(arm, rows)
            if weights is None:
                continue
            plan = self._plan(arm)
            sums = self._arms[arm].learner.sums(plan, self._n_classes)
            fitting.append(_Fitting(place, sums, next(sums), self._prepare(arm, plan), plan, weights))
        while fitting:
            totals = [one.prepared.total(one.plan, one.statistic, one.weights) for one in fitting]
            for one, total in list(zip(fitting, totals)):
                try:
                    one.statistic = one.sums.send(np.ascontiguousarray(self.arrays.to_host(total)))
                except StopIteration as end:
                    hypotheses[one.place] = end.value
                    fitting.remove(one)
        return hypotheses

    def _weights_to_fit(self, arm, drawn):
        """Weights of the rows that have the arm's view, in its order; None where all are 0."""
        placed, weights = self._arms[arm], self._distributions[arm]
        if drawn is not None:
            # Drawing a row twice is giving it twice the weight.
            counts = np.bincount(drawn, minlength=self._n_rows) / self._n_draws
            weights = self.arrays.from_host(counts[self._order])
        if placed.places is None and drawn is None:
            return weights
        if placed.places is not None:
            weights = self.arrays.take(weights, placed.home_rows)
        return weights if len(placed.codes) and float(self.arrays.total(weights)) > 0 else None

    def _table(self, view):
        """The table of a view, in the words of the library that is used."""
        return view.table if self._fused is None else self._fused.table(view.table)

    def _plan(self, arm):
        placed = self._arms[arm]
        key = (placed.view_number, placed.learner.preparation)
        if key not in self._plans:
            seed = np.random.SeedSequence(self._seed)
            if placed.learner.preparation[0] == "standardised":
                self._plans[key] = self._columns(arm).plan(placed.learner, seed)
            else:
                self._plans[key] = placed.learner.plan(placed.view, seed)
        return self._plans[key]

    def _prepare(self, arm, plan):
        if plan.kind not in PREPARATIONS:  # a round of a model that goes on here after it was fitted on the host
            made_by = getattr(plan, "estimator_name", type(plan).__name__)
            raise _not_on_a_device(f"{made_by}, of which the model has rounds,")
        if plan.kind == "standardised":
            return self._columns(arm)  # values as they were given serve every plan
        placed = self._arms[arm]
        key = (placed.view_number, placed.key, id(plan))
        if key not in self._prepared:
            kind = DeviceBins if self._fused is None else self._fused.bins
            self._prepared[key] = kind(self._table(placed.view), placed.view, plan, placed.rows, placed.starts)
        return self._prepared[key]

    def _columns(self, arm):
        placed = self._arms[arm]
        key = (placed.view_number, placed.key, "columns")
        if key not in self._prepared:
            kind = DeviceColumns if self._fused is None else self._fused.columns
            self._prepared[key] = kind(self._table(placed.view), placed.view, placed.rows, placed.starts)
        return self._prepared[key]

    def _start_judging(self, arm, hypothesis, drawn):
        placed = self._arms[arm]
        if hypothesis is None:
            self._judged[arm] = None
            return None
        excluded = None
        if drawn is not None:
            mask = np.zeros(self._n_rows, dtype=bool)
            mask[drawn] = True
            excluded = self.arrays.from_host(mask[self._order])
        predicted = self._prepare(arm, hypothesis.plan).predict(hypothesis)
        outcome, sums = self._weighing.judged(
            predicted, placed.device_codes, placed.places, excluded, self._distributions[arm]
        )
        self._judged[arm] = outcome
        return sums

    def _tally(self, arm, sums):
        tally = Tally(0.0, 0.0, 1.0) if sums is None else Tally(*self.arrays.to_host(sums).tolist())
        self._judged[arm] = (self._judged[arm], tally)
        return tally

    def _draw(self, arm, round_number):
        generator = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(round_number, arm)))
        return draw_rows(self.weights(arm), self._n_draws, generator)


@dataclass(eq=False)
class _Fitting:
    """An arm while its learner still asks for sums."""

    place: int
    sums: object
    statistic: object
    prepared: object
    plan: object
    weights: object


@dataclass(frozen=True)
class _PlacedArm:
    """An arm, and where its rows are.

    Attributes
    ----------
    view : View
    view_number : int
    learner : learner
    key : tuple
        The same for arms whose rows are in the same order.
    rows : intp ndarray of shape (n_present,)
        Rows of the table in which the view is present, sorted by the arm's classes.
    codes : int32 ndarray
        Classes of those rows.
    starts : intp ndarray of shape (n_classes + 1,)
        Where each class starts among them.
    device_codes, home_rows, places : array
        The codes; place of those rows in the order of the weights; and the other way round, -1 where the view is
        absent. The last two are None where both orders are the same.
    """

    view: View
    view_number: int
    learner: object
    key: tuple
    rows: np.ndarray
    codes: np.ndarray
    starts: np.ndarray
    device_codes: object
    home_rows: object
    places: object

    @classmethod
    def of(cls, arm, order, n_classes, arrays, known):
        """Place an arm; `known` holds the places of other arms, which may be the same."""
        key = (id(arm.codes), id(arm.view.rows))
        if key not in known:
            known[key] = _placed(arm, order, n_classes, arrays)
        return cls(arm.view, arm.view_number, arm.learner, key, *known[key])


def _placed(arm, order, n_classes, arrays):
    home_of = np.empty(len(order), dtype=np.intp)
    home_of[order] = np.arange(len(order))
    rows = np.arange(len(arm.codes)) if arm.view.rows is None else arm.view.rows
    rows = rows[np.argsort(arm.codes[rows], kind="stable")]
    codes = arm.codes[rows]
    starts = np.searchsorted(codes, np.arange(n_classes + 1))
    home_rows = home_of[rows]
    if np.array_equal(home_rows, np.arange(len(order))):
        return rows, codes, starts, arrays.from_host(codes), None, None
    places = np.full(len(order), -1, dtype=np.intp)
    places[home_rows] = np.arange(len(rows))
    return rows, codes, starts, arrays.from_host(codes), arrays.from_host(home_rows), arrays.from_host(places)


def check_learner(learner):
    """Refuse a learner that rows on a device cannot be fitted with, before any work is done."""
    preparation = learner.preparation
    if learner.needs_rows or not (isinstance(preparation, tuple) and preparation[0] in PREPARATIONS):
        raise _not_on_a_device(repr(learner))


def _not_on_a_device(who):
    return TypeError(
        f"{who} cannot be fitted on a device; there are 'gaussian_nb', 'stump', 'tree' and 'linear'. Give X as a NumPy "
        "array for other learners."
    )
