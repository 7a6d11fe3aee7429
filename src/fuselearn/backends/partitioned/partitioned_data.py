"""Training data in partitions that this process may never see: checked, and known as far as a run has to know it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from fuselearn.backends.partitioned.partitioned_rows import DrawSettings, PartitionedRows, PartitionRecipe
from fuselearn.backends.partitioned.row_source import (
    PartitionReader,
    PartitionSummary,
    RowSource,
    answer_questions,
    fingerprint_partition,
    sum_weights,
    summarise,
)
from fuselearn.backends.protocol import PlanKey, Plans
from fuselearn.data import View, per_view, resolve_views
from fuselearn.data.labels import check_are_classes, check_classes, check_some_weight, check_two_classes
from fuselearn.data.training_data import ViewEstimator
from fuselearn.data.view_table import Features, RowLocation, check_same_features, check_views_present
from fuselearn.learners.protocol import Hypothesis, Learner, Plan, ViewQuestion, run_reductions
from fuselearn.learners.sklearn_learner import as_learners
from fuselearn.numeric.exact_sums import joined, sums_of_limbs
from fuselearn.numeric.threads import Threads
from fuselearn.typing import ArrayLike, FloatArray, IntArray, TableLike, Transformer


class BoostingEstimator(ViewEstimator, Protocol):
    """An estimator with the parameters that decide whether it can be fitted on partitions."""

    estimator: Any
    preprocess: Any


class RecordedUpdate(Protocol):
    """A reweighting of an earlier round."""

    @property
    def arm(self) -> int:
        """Number of the arm."""

    @property
    def hypothesis(self) -> Hypothesis | None:
        """Hypothesis of the arm."""


class RecordedRound(Protocol):
    """An earlier round of a run."""

    @property
    def updates(self) -> Sequence[RecordedUpdate]:
        """Reweightings of the round."""


class RecordedSettings(Protocol):
    """Settings of a boosting run; see `fuselearn.boosting.rounds.RunSettings`."""

    @property
    def resample(self) -> bool:
        """Whether hypotheses are fitted on rows drawn by the weights."""

    @property
    def error(self) -> str:
        """Rows that judge a hypothesis."""


class RecordedRun(Protocol):
    """The record of a boosting run so far; see `fuselearn.boosting.rounds.Trace`."""

    @property
    def settings(self) -> RecordedSettings:
        """Settings of the run."""

    @property
    def seed(self) -> int:
        """Seed of all draws."""

    @property
    def plans(self) -> Plans:
        """Plans of the views, to which new ones are added."""

    @property
    def rounds(self) -> Sequence[RecordedRound]:
        """Rounds so far."""


class PartitionedData:
    """Training data in partitions, with the interface of `fuselearn.boosting.boosting_data.BoostingData`."""

    def __init__(
        self, source: RowSource, summaries: Sequence[PartitionSummary], reader: PartitionReader, features: Features
    ) -> None:
        self._source, self._summaries, self._reader = source, summaries, reader
        self.names, self.columns, self.classes = reader.names, reader.columns, reader.classes
        self.features = features
        self.one_label_column = not source.has_view_labels
        self._weight_sums: Sequence[tuple[IntArray, IntArray]] | None = None

    @property
    def n_counted(self) -> int:
        """Number of rows with weight."""
        return sum(summary.n_weighted for summary in self._summaries)

    @property
    def equal_weights(self) -> bool:
        """True where all rows have the same weight."""
        summaries = [summary for summary in self._summaries if summary.n_rows]
        least = min(summary.least_weight for summary in summaries)
        return bool(least == max(summary.largest_weight for summary in summaries))

    def class_prior(self) -> FloatArray:
        """Return the weight of each class, with sum 1."""
        prior = np.array(sums_of_limbs(np.sum([class_sums for _, class_sums in self._summed_weights()], axis=0)))
        return prior / prior.sum()

    def fingerprint(self) -> dict[str, int | bool | str]:
        """Return the rows, their labels and weights in a few words, by which other data are recognised."""
        of_partitions = self._source.map(fingerprint_partition, self._reader)
        n_rows = [summary.n_rows for summary in self._summaries]
        content, labels, weights = (f"{joined(zip(n_rows, numbers)):016x}" for numbers in zip(*of_partitions))
        return {
            "rows": sum(n_rows),
            "kind of numbers": ", ".join(sorted(_number_formats(self._summaries))),
            "view_labels": not self.one_label_column,
            "content of X": content,
            "labels": labels,
            "sample_weight": weights,
        }

    def check_learners(self, learners: Sequence[Sequence[Learner]]) -> None:
        """Check nothing: learners were checked before the rows were read (see `_check_settings`)."""

    def fit_transformers(self, transformers: Sequence[Transformer | None]) -> list[Transformer | None]:
        """Return None for each view: transformers were refused before (see `_check_settings`)."""
        return [None] * len(self.names)

    def views(self, preprocessors: Sequence[Transformer | None]) -> list[View]:
        """Return the views, without any rows."""
        table = np.empty((0, self._source.n_features))
        return [View(name, table, columns, None) for name, columns in zip(self.names, self.columns)]

    @contextmanager
    def rows(
        self,
        views: Sequence[View],
        learners: Sequence[Sequence[Learner]],
        trace: RecordedRun,
        *,
        threads: Threads,
        shared: bool,
    ) -> Iterator[PartitionedRows]:
        """Plan the views, prepare the partitions where they are, and yield them; see `BoostingData.rows`."""
        arms = [(number, learner) for number, view_learners in enumerate(learners) for learner in view_learners]
        self._make_plans(arms, trace)
        new_plans = [trace.plans[number, learner.preparation] for number, learner in arms]
        plans_of_arms = _plans_of_arms(new_plans, trace.rounds)
        plans = list({id(plan): plan for arm_plans in plans_of_arms for plan in arm_plans}.values())
        number_of = {id(plan): number for number, plan in enumerate(plans)}
        [total_weight] = sums_of_limbs(np.sum([weight for weight, _ in self._summed_weights()], axis=0))
        recipe = PartitionRecipe(
            self._reader,
            total_weight,
            arms,
            plans,
            [[number_of[id(plan)] for plan in arm_plans] for arm_plans in plans_of_arms],
            len(self.classes),
            shared,
            trace.settings.resample,
            np.cumsum([0, *(summary.n_rows for summary in self._summaries)]).tolist(),
        )
        draw_settings = None
        if trace.settings.resample:
            draw_settings = DrawSettings(trace.seed, self.n_counted, trace.settings.error == "out_of_bag")
        partitions = self._source.load_partitions(recipe, threads)
        try:
            learners_and_plans = [(learner, plan) for (_, learner), plan in zip(arms, new_plans)]
            yield PartitionedRows(partitions, learners_and_plans, recipe, draw_settings)
        finally:
            partitions.close()

    def _summed_weights(self) -> Sequence[tuple[IntArray, IntArray]]:
        """Return the exact sums of each partition; they come with the answers to other questions where possible."""
        if self._weight_sums is None:
            self._weight_sums = self._source.map(sum_weights, self._reader)
        return self._weight_sums

    def _make_plans(self, arms: Sequence[tuple[int, Learner]], trace: RecordedRun) -> None:
        """Make the plans that are missing, all of them in the same passes over the partitions."""
        n_present = np.array([summary.n_present for summary in self._summaries])
        n_before = np.cumsum(n_present, axis=0) - n_present
        planning = {}
        for number, learner in arms:
            key = (number, learner.preparation)
            if key not in trace.plans and key not in planning:
                planning[key] = learner.planning(
                    self.names[number],
                    len(self.columns[number]),
                    int(n_present[:, number].sum()),
                    np.random.SeedSequence(trace.seed),
                )

        def answer_all(questions: Mapping[PlanKey, ViewQuestion]) -> dict[PlanKey, object]:
            by_partition = [
                [(key[0], question, int(first[key[0]])) for key, question in questions.items()] for first in n_before
            ]
            results = self._source.map(answer_questions, self._reader, each=by_partition)
            self._weight_sums = [weight_sums for weight_sums, _ in results]
            answers = zip(*(answers for _, answers in results))
            return {
                key: question.merged(list(of_partitions))
                for (key, question), of_partitions in zip(questions.items(), answers)
            }

        for key, plan in run_reductions(planning, answer_all).items():
            if plan is not None:
                trace.plans[key] = plan


def open_source(
    location: RowLocation,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    view_labels: ArrayLike = None,
    groups: ArrayLike = None,
) -> RowSource:
    """Return the partitions of Dask collections or of files.

    `location` is where the rows are, as `fuselearn.data.view_table.row_location` has it.
    """
    if location == "dask":
        _check_installed("distributed", "dask", "Dask collections")
        from fuselearn.backends.partitioned.dask_collections import DaskSource

        return DaskSource(X, y, sample_weight, view_labels, groups)
    _check_installed("pyarrow", "app", "Parquet files")
    from fuselearn.backends.partitioned.parquet import ParquetSource

    return ParquetSource(X, y, sample_weight, view_labels, groups)


def _check_installed(module: str, extra: str, rows: str) -> None:
    """Refuse rows whose library is not installed, naming the extra that brings it."""
    if find_spec(module) is None:
        raise ImportError(f"To fit on {rows}, install {module}: pip install 'fuselearn[{extra}]'.")


def read_partitioned_data(model: BoostingEstimator, source: RowSource, *, reset: bool) -> PartitionedData:
    """Check the partitions of a source and resolve the views of a model, which is not changed.

    With `reset`, the columns may differ from those that the model was fitted on.
    """
    names, columns, features = resolve_source(model, source, reset=reset)
    _check_settings(model, source, names)
    summaries, reader = read_summaries(source, names, columns)
    return PartitionedData(source, summaries, reader, features)


def resolve_source(
    model: ViewEstimator, source: RowSource, *, reset: bool
) -> tuple[list[str], list[IntArray], Features]:
    """Return the names and columns of a model's views, and the columns of a source, before any row is read."""
    features: Features = {"n_features_in_": source.n_features}
    if source.column_names is not None:
        features["feature_names_in_"] = np.asarray(source.column_names, dtype=object)
    if not reset:
        check_same_features(model, features)
    names, columns = resolve_views(model.views, source.empty_table, source.n_features)
    source.check_view_labels(names)
    return names, columns, features


def read_summaries(
    source: RowSource, names: list[str], columns: list[IntArray], regressor: str | None = None
) -> tuple[Sequence[PartitionSummary], PartitionReader]:
    """Check all partitions, and return what has to be known of each, and how they are read.

    `regressor` names the model where labels are numbers to predict.
    """
    summaries = source.map(summarise, names, columns, regressor)
    _check_rows(summaries, names)
    classes = np.empty(0)
    if regressor is None:
        classes = np.unique(np.concatenate([summary.labels for summary in summaries if len(summary.labels)]))
        # Each label thrice: scikit-learn warns of targets that are nearly all distinct.
        check_are_classes(np.repeat(classes, 3))
        check_classes(classes)
        if not source.has_view_labels:
            weighted_labels = np.concatenate([summary.weighted_labels for summary in summaries if summary.n_weighted])
            check_two_classes(np.searchsorted(classes, weighted_labels), classes)
    largest_weight = max(summary.largest_weight for summary in summaries)
    return summaries, PartitionReader(names, columns, classes, largest_weight)


def _plans_of_arms(new_plans: Sequence[Plan], rounds: Sequence[RecordedRound]) -> list[list[Plan]]:
    """Return the plans of each arm: that of new hypotheses, then others that hypotheses of earlier rounds have."""
    plans_of_arms = [[plan] for plan in new_plans]
    for earlier_round in rounds:
        for update in earlier_round.updates:
            arm_plans = plans_of_arms[update.arm]
            plan = None if update.hypothesis is None else update.hypothesis.plan
            if plan is not None and all(plan is not known for known in arm_plans):
                arm_plans.append(plan)
    return plans_of_arms


def _check_settings(model: BoostingEstimator, source: RowSource, names: list[str]) -> None:
    """Refuse what cannot be fitted from sums over the partitions, before any of them is read."""
    for name, learners in zip(names, per_view("estimator", as_learners(model.estimator), names, complete=True)):
        for learner in learners:
            if learner.needs_rows:
                estimator = getattr(learner, "estimator", learner)
                raise ValueError(
                    f"estimator is {estimator!r:.100} for the view {name!r}, which has to see all rows at once "
                    f"and cannot be fitted on {source.description}; use 'gaussian_nb', 'stump', 'tree' or 'linear', or "
                    "pass rows in memory."
                )
    for name, transformer in zip(names, per_view("preprocess", model.preprocess, names)):
        if transformer is not None:
            raise ValueError(
                f"preprocess has a transformer for the view {name!r}, which cannot be fitted on {source.description}; "
                "transform the columns beforehand and leave preprocess=None."
            )


def _check_rows(summaries: Sequence[PartitionSummary], names: list[str]) -> None:
    """Check that rows count, that each of them has a view, each view a row, and that all numbers have one format."""
    if not any(summary.n_rows for summary in summaries):
        raise ValueError("X has no rows; at least two are needed.")
    check_some_weight(any(summary.n_weighted for summary in summaries))
    first_without_view, n_before = None, 0
    for summary in summaries:
        if summary.row_without_views is not None and first_without_view is None:
            first_without_view = n_before + summary.row_without_views
        n_before += summary.n_rows
    check_views_present(first_without_view, sum(summary.n_present for summary in summaries) > 0, names)
    formats = _number_formats(summaries)
    if len(formats) > 1:
        raise ValueError(
            f"X holds numbers of different formats in different partitions, {sorted(formats)}; convert them to one."
        )


def _number_formats(summaries: Sequence[PartitionSummary]) -> set[str]:
    return {summary.number_format for summary in summaries if summary.n_rows}
