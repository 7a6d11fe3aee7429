"""The arms of a fusion on many rows: fitted one after the other, and weighted by the log loss of their values.

They are tried in this order: a linear machine, which is all but free; boosted trees of all views, which know most; a
machine of landmarks; linear machines of single views; boosted trees of single views, each in one fold first, and in
the others if that lowers the loss; and learners that are fitted on a subsample. Arms that hardly lower the loss go.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fuselearn.backends.partitioned.partitions import Answer, Partitions
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.catalogue import ALL_VIEWS, LEAST_ROWS
from fuselearn.fusion.base_models.kernel_machines import Scale
from fuselearn.fusion.base_models.ridge_features import (
    LANDMARK_STRENGTHS,
    LINEAR_STRENGTHS,
    ColumnMoments,
    FoldSums,
    RidgeFeatures,
    RidgeFit,
    RidgeModel,
    RidgeSums,
    draw_landmarks,
    fit_ridge,
    scale_of,
    seconds_of_features,
    single_view_places,
    sum_bits,
)
from fuselearn.fusion.base_models.subsampled_models import ArmRows, check_classifiers, fit_without_folds
from fuselearn.fusion.base_models.support_vector_machines import MOST_ROWS as MOST_SVM_ROWS
from fuselearn.fusion.fusion_options import BoostingArms, FusionLog, FusionOptions
from fuselearn.fusion.fusion_rows import (
    ArmValues,
    FittedArm,
    FusionFrame,
    Overview,
    TakenRows,
    TakeRows,
    draw_rows,
    having_of,
    learnt_labels,
    pattern_bits,
)
from fuselearn.fusion.log_loss_weights import (
    FittedArms,
    LossSums,
    MeanSquares,
    Penalty,
    Stack,
    Weighing,
    logits_of,
    weigh,
    weigh_and_drop,
)
from fuselearn.fusion.time_plan import TRIED_ROWS, TimePlan
from fuselearn.typing import Classifier, FloatArray, IntArray

BY_SUMS = ("linear", "rbf", "boosting")
"""Built-in learners that learn from all rows."""
LANDMARKS = 400
WIDTHS = (1.0, 4.0)
"""Landmarks of the RBF machine, and factors of squared distances over their mean; the better one is taken."""
SUBSAMPLE_ROWS = 2**15
"""Rows that learners are fitted on which cannot work by sums."""
JUDGED_ROWS = 20_000
"""Rows that scores of arms, patterns of views and the rates of wrong labels are estimated from, at most."""
MOST_LINEAR_VIEWS = 16
"""Views up to which each has a linear machine of its own."""
LEAST_GAIN, LEAST_NATS = 5e-4, 3.0
"""Share of the loss in the first fold, and log likelihood, that boosted trees of a view must bring to be fitted in the
other folds."""
LEAST_RISE = 0.2
"""Log likelihood that an arm must bring to stay. Chance would bring more, but linear machines cost next to nothing, and
small weights of several are better than none (0.0 to 0.2 points of AUC, movies at 20,000 rows)."""


class ArmFitting:
    """Fits the arms of a run, one after the other; the blocks keep their out-of-fold values.

    Parameters
    ----------
    rows : Partitions
        Blocks of all rows (`FusionBlock`).
    frame : FusionFrame
        What they have in common.
    options : FusionOptions
        Settings.
    boosting : callable
        Makes what fits boosted trees; called when the first are fitted.
    log : FusionLog or None
        Keeps the fitted models of folds.
    """

    def __init__(
        self,
        rows: Partitions,
        frame: FusionFrame,
        options: FusionOptions,
        boosting: Callable[[], BoostingArms],
        log: FusionLog | None,
    ) -> None:
        self._rows, self._frame, self._options = rows, frame, options
        self._boosting, self._log = boosting, log
        self._boosted: BoostingArms | None = None
        self.arms: list[FittedArm] = []
        self.updates: list[Any] = []
        self.n_fits, self.interrupted = 0, False
        self.plan = TimePlan(options.budget, frame.n_views)
        self._sums: FoldSums | None = None
        self._seconds: dict[str, float] = {}
        self._squares: list[float] = []
        self._trees: dict[tuple[int | None, int], FittedModel] = {}
        self._look()

    def ask(self, *questions: Any) -> list[Answer]:
        """Return the sums over all blocks that answer questions."""
        return self._rows.ask(self.updates, questions)

    def take(self, most: int, stream: int, *, with_table: bool = True, arms: tuple[int, ...] = ()) -> TakenRows:
        """Return a subsample of at most so many rows."""
        rows = draw_rows(self._frame.n_rows, most, self._options.seed + stream)
        [answer] = self.ask(TakeRows(rows, with_table=with_table, arms=arms))
        return TakenRows.of(answer)

    def run(self) -> FittedArms:
        """Fit all arms as far as the budget allows, and weigh them."""
        check_classifiers(self._options.learners, self._frame, self.ask)
        # Boosted trees of single views come last of all that is built in: they have to show that they pay.
        steps = [
            ("linear", self._fit_linear),
            ("boosting", self._boost_all_views),
            ("rbf", self._fit_landmarks),
            ("linear", self._fit_linear_views),
            ("boosting", self._boost_views),
        ]
        try:
            for step in (step for learner, step in steps if learner in self._options.learners.values()):
                step()
            self._fit_others()
        except KeyboardInterrupt:
            if not self.arms:
                raise
            self.interrupted = True
            warnings.warn(
                f"Interrupted: the model has the {len(self.arms)} base models that were fitted.",
                InterruptedFitWarning,
                stacklevel=4,
            )
        if not self.arms:
            raise ValueError(
                f"learners={list(self._options.learners)}: in the subsample that they are fitted on, the rows of each "
                f"view are of one class. Add one of {list(BY_SUMS)}, which learn from all rows."
            )
        return FittedArms(self.arms, *self._weigh_and_drop())

    def _name(self, learner: str) -> str:
        """Return the name that the user gave to a built-in learner."""
        return next(name for name, wanted in self._options.learners.items() if wanted == learner)

    def _look(self) -> None:
        """Look at all rows for the first time: classes, views, and patterns of views."""
        present = self.take(JUDGED_ROWS, 0, with_table=False).present
        observed, counts = np.unique(pattern_bits(present), return_counts=True)
        self.patterns = tuple(observed[np.argsort(-counts, kind="stable")][:64].tolist())
        [(weights, self._rows_of_views, self.rows_of_patterns)] = self.ask(Overview(self.patterns))
        self.prior = (weights + 1) / (weights + 1).sum()
        self.log_prior = np.log(self.prior)
        self._marked = [view for view, n_rows in enumerate(self._rows_of_views) if n_rows < self._frame.n_rows]
        self._views = [view for view, n_rows in enumerate(self._rows_of_views) if n_rows >= LEAST_ROWS]
        self._features: RidgeFeatures | None = None

    @property
    def _target_means(self) -> FloatArray:
        """Means of what the ridges learn."""
        return 2 * self.prior[1:] - 1 if len(self.prior) == 2 else self.prior

    @property
    def _score_means(self) -> FloatArray:
        """Scores of the prior, as boosted trees have them."""
        if len(self.prior) == 2:
            return np.array([self.log_prior[1] - self.log_prior[0]])
        return self.log_prior - self.log_prior.mean()

    def _may_fit(self, learner: str, view: int | None, seconds: float = 0.0) -> bool:
        """Return whether an arm that takes so long may be fitted; the first one may in any case."""
        return self.plan.may_fit(self._describe(learner, view), seconds, is_first=not self.arms)

    def _describe(self, learner: str, view: int | None) -> str:
        """Return the words for an arm."""
        return f"{learner} on {self._view_name(view)!r}"

    def _add(self, arm: FittedArm, number: int | None = None) -> None:
        """Let the blocks compute the out-of-fold values of an arm; `number` replaces an earlier one."""
        number = len(self.arms) if number is None else number
        self.updates.append(ArmValues(number, arm))
        again = arm.view is None and not arm.complete_only
        [(squares, weight)] = self.plan.measured_prediction(
            lambda: self.ask(MeanSquares((number,))), self._frame.n_rows, again=again
        )
        # An interrupt before this leaves the arms as they were.
        self.arms[number:], self._squares[number:] = [arm], [float(squares[0] / weight[0])]
        stack, _ = self._start(tuple(range(len(self.arms))))
        self.plan.measure_pass(lambda: self.ask(LossSums(stack)))
        if self.plan.is_limited and len(self.arms) == 1 and self._frame.n_classes > 1:
            taken = self.take(TRIED_ROWS, 5, with_table=False, arms=(0,))
            self.plan.measure_judging(logits_of(stack.scores(taken.values)), taken.codes)

    def _report(self, description: str, n_fits: int = 1) -> None:
        """Tell the user what was fitted."""
        self.n_fits += n_fits
        if self._options.report is not None:
            self._options.report(self.n_fits, None, f"fit {self.n_fits}: {description}")

    # Ridges

    def _linear_features(self) -> RidgeFeatures:
        """Return standardised columns and marks of the views that some rows lack."""
        if self._features is None:
            [(sums,)] = self.ask(ColumnMoments())
            centre = sums[1] / np.maximum(sums[0], np.finfo(float).tiny)
            [(sums,)] = self.ask(ColumnMoments(centre))
            spread = np.sqrt(sums[2] / np.maximum(sums[0], np.finfo(float).tiny))
            used = self._frame.used_columns
            marked: list[IntArray] = [np.searchsorted(used, self._frame.columns[view]) for view in self._marked]
            scale = scale_of(centre, spread)
            self._features = RidgeFeatures(scale, marked, np.empty((0, len(used) + len(marked))), 0.0)
        return self._features

    def _ridge_sums(self, features: Sequence[RidgeFeatures]) -> list[FoldSums]:
        """Return the sums of some features over all rows."""
        bits = sum_bits(self._frame.n_rows)
        answers = self.ask(*(RidgeSums(of_features, bits) for of_features in features))
        return [FoldSums(*(np.ldexp(sums.astype(np.float64), -bits) for sums in answer)) for answer in answers]

    def _fit_linear(self) -> None:
        """Fit a linear machine of all views."""
        name, frame = self._name("linear"), self._frame
        if not self._may_fit(name, None):
            return
        features = self._linear_features()
        [self._sums] = self._ridge_sums([features])
        fit = fit_ridge(self._sums, LINEAR_STRENGTHS)
        self._add_ridge(None, name, frame.used_columns, features, fit, frame.n_rows)

    def _fit_linear_views(self) -> None:
        """Fit a linear machine of each view, by the sums of all of them."""
        frame, name, used = self._frame, self._name("linear"), self._frame.used_columns
        if self._sums is None or not 1 < frame.n_views <= MOST_LINEAR_VIEWS:
            return
        places, scale = single_view_places(frame, self._marked), self._linear_features().scale
        for view in self._views:
            if not self._may_fit(name, view):
                continue
            own = np.searchsorted(used, frame.columns[view])
            view_scale = Scale(scale.centre[own], scale.divisor[own], scale.size[own], scale.largest)
            features = RidgeFeatures(view_scale, [], np.empty((0, len(own))), 0.0)
            fit = fit_ridge(self._sums.of(places[view], view), LINEAR_STRENGTHS)
            self._add_ridge(view, name, frame.columns[view], features, fit, int(self._rows_of_views[view]))

    def _fit_landmarks(self) -> None:
        """Fit a machine of the kernel values of landmarks, of all views."""
        features, name, frame = self._linear_features(), self._name("rbf"), self._frame
        rows = self.take(LANDMARKS, 1).table
        candidates = [draw_landmarks(features, rows, width) for width in WIDTHS]
        # Sums for each width, and the values of the better one.
        seconds = (len(WIDTHS) + 1) * seconds_of_features(candidates[0], rows) * frame.n_rows
        if not self._may_fit(name, None, seconds if self.plan.is_limited else 0.0):
            return
        fits = [fit_ridge(sums, LANDMARK_STRENGTHS) for sums in self._ridge_sums(candidates)]
        best = int(np.argmin([fit.loss for fit in fits]))
        self._add_ridge(None, name, frame.used_columns, candidates[best], fits[best], frame.n_rows)

    def _add_ridge(
        self, view: int | None, learner: str, columns: IntArray, features: RidgeFeatures, fit: RidgeFit, n_learnt: int
    ) -> None:
        """Add an arm of a ridge: the model for new rows is that of all rows."""
        fold_models: list[FittedModel | None] = [RidgeModel(features, coefficients) for coefficients in fit.of_folds]
        model, name, means = RidgeModel(features, fit.of_all), self._view_name(view), self._target_means
        self._add(FittedArm(view, name, learner, columns, fold_models, [model], means, n_learnt))
        self._report(f"{learner} on {name!r}")

    def _view_name(self, view: int | None) -> str:
        """Return the name of a view, or what stands for all of them."""
        if view is None and self._frame.n_views > 1:
            return ALL_VIEWS
        return self._frame.names[view or 0]

    # Boosted trees

    def _boost_all_views(self) -> None:
        """Fit boosted trees of all views in every fold."""
        if self._may_fit(self._name("boosting"), None):
            self._add(self._boosted_arm(None, range(self._frame.n_folds)))

    def _boost_views(self) -> None:
        """Fit boosted trees of single views, of each in one fold first, and in the others if they lower the loss."""
        if self._frame.n_views < 2:
            return
        before: float | None = None
        if not self.plan.is_limited:
            # All of them side by side; within a time limit, none ahead of its turn.
            n_views = int(min(len(self._views), self._options.budget.fits_left()))
            trials: list[tuple[int | None, int]] = [(view, 0) for view in self._views[:n_views]]
            self._trees.update(zip(trials, self._boost(trials)))
        for view in self._views:
            if not self._may_fit(self._name("boosting"), view):
                continue
            before = self._fold_loss() if before is None else before
            trial = self._boosted_arm(view, [0])
            number, is_whole = len(self.arms), False
            try:
                self._add(trial)
                after = self._fold_loss()
                if before - after > max(LEAST_NATS, LEAST_GAIN * before):
                    others = self._boosted_arm(view, range(1, self._frame.n_folds)).fold_models[1:]
                    models = [trial.fold_models[0], *others]
                    fitted = [model for model in models if model is not None]
                    self._add(replace(trial, fold_models=models, models=fitted), number)
                    before, is_whole = after, True
            finally:
                if not is_whole:  # also after an interrupt; the next one takes its number
                    del self.arms[number:], self._squares[number:]

    def _boosted_arm(self, view: int | None, folds: Sequence[int]) -> FittedArm:
        """Return an arm of boosted trees, fitted without each of some folds."""
        frame, name = self._frame, self._name("boosting")
        fitted = self._boost([(view, fold) for fold in folds])
        models: list[FittedModel | None] = [None] * frame.n_folds
        for fold, model in zip(folds, fitted):
            models[fold] = model
        view_name = self._view_name(view)
        # Trees of a view that pay are fitted in one fold first, and count once.
        self._report(f"{name} on {view_name!r}, {len(folds)} of {frame.n_folds} folds", n_fits=int(0 in folds))
        n_learnt = frame.n_rows if view is None else int(self._rows_of_views[view])
        return FittedArm(
            view, view_name, name, np.arange(frame.n_features), models, fitted, self._score_means, n_learnt
        )

    def _boost(self, pairs: Sequence[tuple[int | None, int]]) -> list[FittedModel]:
        """Return boosted trees for pairs of a view and a fold, fitted side by side as far as they are not known."""
        name, log, trees = self._name("boosting"), self._log, self._trees
        for view, fold in pairs:
            if log is not None and (known := log.get(view, name, fold)) is not None:
                trees[view, fold] = known
        wanted = [pair for pair in pairs if pair not in trees]
        if not wanted:
            return [trees.pop(pair) for pair in pairs]
        if self._boosted is None:
            self._boosted = self._boosting()
        boosted, limited, end = self._boosted, self.plan.is_limited, self.plan.deadline_of_boosting()

        def keep(pair: tuple[int | None, int], model: FittedModel) -> None:
            trees[pair] = model
            in_time = boosted.deadline is None or time.monotonic() < boosted.deadline
            if log is not None and in_time:  # what was cut short is not to be taken for a whole
                log.add(pair[0], name, pair[1], model)

        for start in range(0, len(wanted), step := boosted.n_at_a_time if limited else len(wanted)):
            some = wanted[start : start + step]
            if limited:  # each fold gets its share of what is left
                now = time.monotonic()
                boosted.deadline = now + (end - now) * len(some) / (len(wanted) - start)
            boosted.fit_all(some, keep)
        return [trees.pop(pair) for pair in pairs]

    # Learners that are fitted on a subsample

    def _fit_others(self) -> None:
        """Fit the other learners on a subsample, of each view and of all views."""
        given = self._options.learners.items()
        learners = {name: learner for name, learner in given if not isinstance(learner, str) or learner not in BY_SUMS}
        if not learners:
            return
        taken = self.take(SUBSAMPLE_ROWS, 2)
        sources: list[int | None] = [*self._views, *([None] if self._frame.n_views > 1 else [])]
        for name, learner in learners.items():
            for view in sources:
                # That of the next view takes about as long as that of the last one.
                if not self._may_fit(name, view, self._seconds.get(name, 0.0)):
                    continue
                started, n_times = time.monotonic(), 1
                if not self._fit_subsampled(view, name, learner, taken):  # after one fold
                    self.plan.budget.leave_out(self._describe(name, view))
                    n_times = self._frame.n_folds
                self._seconds[name] = n_times * (time.monotonic() - started)

    def _fit_subsampled(self, view: int | None, name: str, learner: str | Classifier, taken: TakenRows) -> bool:
        """Fit a learner of a view, or of all views, on the rows of a subsample that have it; return whether there was
        time for all folds."""
        frame = self._frame
        columns = frame.used_columns if view is None else frame.columns[view]
        rows = np.flatnonzero(having_of(view, True, taken.present))
        if learner == "svm":
            rows = rows[draw_rows(len(rows), MOST_SVM_ROWS, self._options.seed + 3)]
        codes = learnt_labels(taken.codes[rows], taken.weights[rows], frame.n_classes)[0]
        if len(rows) < LEAST_ROWS or (frame.n_classes > 1 and len(np.unique(codes)) < 2):
            return True
        view_name, means = self._view_name(view), self._target_means
        table = taken.table[np.ix_(rows, np.searchsorted(frame.used_columns, columns))]

        def models_of(n_folds: int) -> Iterator[FittedModel | None]:
            some = ArmRows(f"{name} of the view {view_name!r}", rows, table, taken, frame.n_folds, n_folds)
            return self._models_without_folds(learner, some)

        made = self.plan.cross_fit(models_of, frame.n_folds, needed=not self.arms)
        if made is None:
            return False
        self._report(self._describe(name, view))
        fitted = [model for model in made if model is not None]
        # Fewer models than folds are each of several folds.
        models = [made[fold * len(made) // frame.n_folds] for fold in range(frame.n_folds)]
        self._add(FittedArm(view, view_name, name, columns, models, fitted, means, len(rows), True))
        return True

    def _models_without_folds(self, learner: str | Classifier, rows: ArmRows) -> Iterator[FittedModel | None]:
        """Yield models of rows of a subsample, without each fold."""
        return fit_without_folds(learner, rows, self._options.classes, self._options.seed + len(self.arms))

    # Weights

    def _start(self, arms: tuple[int, ...]) -> tuple[Stack, Penalty]:
        """Return weights to start from, and their ridge."""
        squares = np.array([self._squares[arm] for arm in arms])
        intercepts = self._score_means
        weights = np.divide(0.5, np.sqrt(squares), out=np.zeros(len(arms)), where=squares > 0) / len(arms)
        return Stack(arms, weights, intercepts), Penalty(squares, intercepts)

    def _losses(self, stack: Stack, only_fold: int | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the loss of a stack by fold, with gradients and curvatures."""
        [(losses, gradients, curvatures)] = self.ask(LossSums(stack, only_fold=only_fold))
        return losses, gradients, curvatures

    def _fold_loss(self) -> float:
        """Return the least loss in the first fold, with all arms so far."""
        return weigh(partial(self._losses, only_fold=0), *self._start(tuple(range(len(self.arms))))).loss

    def _weigh_and_drop(self) -> tuple[Weighing, Penalty]:
        """Weigh all arms, and leave out those that hardly lower the loss."""
        return weigh_and_drop(self._losses, *self._start(tuple(range(len(self.arms)))), LEAST_RISE)
