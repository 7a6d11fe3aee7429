"""Training data in parts that this process may never see: checked, and made known as far as a run has to know it."""

from contextlib import contextmanager

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from fuselearn.backends.partitioned.partition import Blueprint
from fuselearn.backends.partitioned.raw_partition import Header, Reading, answers_of, facts_of, fingerprints_of, weigh
from fuselearn.backends.partitioned.rows import PartedRows
from fuselearn.data import per_view, resolve_views
from fuselearn.learners.per_view import learners_of_views
from fuselearn.numeric.exact_sums import joined, sums_of_limbs
from fuselearn.reductions import drive_together


class PartedTrainingRows:
    """What is known of rows in parts. It has the interface of `TrainingRows`.

    Parameters
    ----------
    source : Source
        Where the parts come from.
    facts : list of Facts
        Of the parts.
    reading : Reading
    features : dict
    """

    def __init__(self, source, facts, reading, features):
        self._source, self._facts, self._reading = source, facts, reading
        self.names, self.columns, self.classes = reading.names, reading.columns, reading.classes
        self.features = features
        self.one_label_column = not source.has_view_labels
        self.n_counted = sum(one.n_counted for one in facts)
        least, largest = zip(*(one.weights for one in facts if one.n_rows))
        self.equal_weights = bool(min(least) == max(largest))
        self._weighed = None

    def class_prior(self):
        prior = np.array(sums_of_limbs(sum(classes for _, classes in self._weights_of_parts())))
        return prior / prior.sum()

    def fingerprint(self):
        parts = self._source.map(fingerprints_of, self._reading)
        n_rows = [one.n_rows for one in self._facts]
        numbers = (f"{joined(zip(n_rows, of_parts)):016x}" for of_parts in zip(*parts))
        kinds = sorted({one.kind for one in self._facts if one.n_rows})
        about = {"rows": sum(n_rows), "kind of numbers": ", ".join(kinds), "view_labels": not self.one_label_column}
        return about | dict(zip(("content of X", "labels", "sample_weight"), numbers))

    def fit_transformers(self, transformers):
        """None for each view: transformers were refused before (see `_check_settings`)."""
        return [None] * len(self.names)

    def views(self, preprocessors):
        return [Header(name, len(columns)) for name, columns in zip(self.names, self.columns)]

    @contextmanager
    def rows(self, views, learners, trace, *, threads, shared):
        """Plan the views, prepare the parts where they are, and hand them over; see `TrainingRows.rows`."""
        arms = self._arms(learners)
        self._plan(arms, trace)
        own = [trace.plans[number, learner.preparation] for number, learner in arms]
        plans_of_arms = [[plan] for plan in own]
        for round_ in trace.rounds:
            for update in round_.updates:
                plan = getattr(update.hypothesis, "plan", None)
                if plan is not None and all(plan is not known for known in plans_of_arms[update.arm]):
                    plans_of_arms[update.arm].append(plan)
        plans = list({id(plan): plan for several in plans_of_arms for plan in several}.values())
        number_of = {id(plan): number for number, plan in enumerate(plans)}
        [total_weight] = sums_of_limbs(sum(weight for weight, _ in self._weights_of_parts()))
        blueprint = Blueprint(
            self._reading,
            total_weight,
            arms,
            plans,
            [[number_of[id(plan)] for plan in several] for several in plans_of_arms],
            len(self.classes),
            shared,
        )
        crew = self._source.place(blueprint, threads)
        try:
            yield PartedRows(crew, [(learner, plan) for (_, learner), plan in zip(arms, own)], len(self.classes))
        finally:
            crew.close()

    def check_learners(self, learners, settings):
        """Nothing: they were checked before the rows were read (see `_check_settings`)."""

    def _weights_of_parts(self):
        """What `weigh` says of each part; it is asked along with other things where that is possible."""
        if self._weighed is None:
            self._weighed = self._source.map(weigh, self._reading)
        return self._weighed

    def _arms(self, learners):
        return [(number, learner) for number, several in enumerate(learners) for learner in several]

    def _plan(self, arms, trace):
        """Make the plans that there are not yet, all of them in the same passes over the parts."""
        present = np.array([one.present for one in self._facts])
        before = np.cumsum(present, axis=0) - present
        asking = {}
        for number, learner in arms:
            key = (number, learner.preparation)
            if key not in trace.plans and key not in asking:
                asking[key] = learner.planning(
                    self.names[number],
                    len(self.columns[number]),
                    int(present[:, number].sum()),
                    np.random.SeedSequence(trace.seed),
                )

        def answer_all(questions):
            asked = [
                [(key[0], question, int(first[key[0]])) for key, question in questions.items()] for first in before
            ]
            self._weighed, answers = zip(*self._source.map(answers_of, self._reading, each=asked))
            return {
                key: question.merged(list(of_parts))
                for (key, question), of_parts in zip(questions.items(), zip(*answers))
            }

        trace.plans.update(drive_together(asking, answer_all))


def read_parted_rows(model, source, *, reset):
    """Check the parts of a source and resolve the views of `model`, which is not changed.

    Parameters
    ----------
    source : Source
    reset : bool
        Whether the columns may differ from those that the model was fitted on.
    """
    features = {"n_features_in_": source.n_features}
    if source.column_names is not None:
        features["feature_names_in_"] = np.asarray(source.column_names, dtype=object)
    if not reset:
        _check_same_columns(model, features)
    names, columns = resolve_views(model.views, source.header, source.n_features)
    source.check_view_labels(names)
    _check_settings(model, source, names, columns)
    facts = source.map(facts_of, names, columns)
    _check_rows(facts, names)
    labels = np.unique(np.concatenate([one.labels for one in facts if len(one.labels)]))
    # Each label thrice: scikit-learn wonders about targets of which no two are alike.
    check_classification_targets(np.repeat(labels, 3))
    if len(labels) < 2:
        raise ValueError(f"y must hold at least two classes; it has one class only, {labels.tolist()}.")
    counted = np.unique(np.concatenate([one.counted_labels for one in facts if one.n_counted]))
    if len(counted) < 2 and not source.has_view_labels:
        raise ValueError("The rows with a positive sample_weight are all of one class; y needs two.")
    largest = max(one.weights[1] for one in facts)
    return PartedTrainingRows(source, facts, Reading(names, columns, labels, largest), features)


def _check_settings(model, source, names, columns):
    """Refuse what cannot be fitted from sums over the parts, before any of them is read."""
    for name, columns_of_view, learners in zip(names, columns, learners_of_views(model.estimator, names)):
        for learner in learners:
            if learner.needs_rows:
                raise ValueError(
                    f"estimator is {learner.estimator!r:.100} for the view {name!r}, which has to see all rows at once "
                    f"and cannot be fitted on {source.kind}; use 'gaussian_nb', 'stump', 'tree' or 'linear', or pass "
                    "rows in memory."
                )
            learner.check(Header(name, len(columns_of_view)))
    for name, transformer in zip(names, per_view("preprocess", model.preprocess, names)):
        if transformer is not None:
            raise ValueError(
                f"preprocess has a transformer for the view {name!r}, which cannot be fitted on {source.kind}; "
                "transform the columns beforehand and leave preprocess=None."
            )
    if model.resample:
        raise ValueError(
            f"resample=True draws from the weights of all rows, which {source.kind} do not have in one place; use "
            "resample=False, or pass rows in memory."
        )


def _check_rows(facts, names):
    """Refuse rows that count but that no view describes, and views that no such row has."""
    n_rows = sum(one.n_rows for one in facts)
    if n_rows == 0:
        raise ValueError("X has no rows; at least two are needed.")
    if not any(one.n_counted for one in facts):
        raise ValueError("sample_weight is zero for every row; at least one row must count.")
    before = 0
    for one in facts:
        if one.row_of_nothing is not None:
            raise ValueError(
                f"Every view is absent (all NaN) in some rows of X, the first being row {before + one.row_of_nothing}; "
                "leave such rows out of fit."
            )
        before += one.n_rows
    for name, n_present in zip(names, sum(one.present for one in facts)):
        if n_present == 0:
            raise ValueError(f"The view {name!r} is absent (all NaN) in every row of X; leave it out of views.")
    kinds = {one.kind for one in facts if one.n_rows}
    if len(kinds) > 1:
        raise ValueError(
            f"X holds numbers of different kinds in different parts, {sorted(kinds)}; convert them to one."
        )


def _check_same_columns(model, features):
    if features["n_features_in_"] != model.n_features_in_:
        raise ValueError(
            f"X has {features['n_features_in_']} features, but {type(model).__name__} was fitted on "
            f"{model.n_features_in_}."
        )
    before, now = getattr(model, "feature_names_in_", None), features.get("feature_names_in_")
    if before is not None and now is not None and list(before) != list(now):
        raise ValueError(f"X has the columns {list(now)[:10]}; the model was fitted on {list(before)[:10]}.")
