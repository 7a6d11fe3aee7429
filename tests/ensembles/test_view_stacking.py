"""Stacking and super-kernel fusion against slow loops and scikit-learn's own stacking and calibration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_fit2d_1feature

from fuselearn import LabelConsensus, SuperKernelClassifier, ViewStackingClassifier, load, save
from fuselearn.classifiers.cross_fitting import CrossFitting
from fuselearn.classifiers.fitted_classifiers import FittedSVC
from tests.ensembles.view_problems import FOLDS, VIEWS, Problem, all_kinds, fit_svc, on_columns, problems
from tests.naive import fusion as naive

GROUPS = np.repeat(np.arange(30), 3)
"""Three rows in a row belong together."""


def test_stacked_decision_values_are_scikit_learns_stacking():
    problem = Problem()
    members = [(name, on_columns(columns, SVC())) for name, columns in VIEWS.items()]
    last = make_pipeline(StandardScaler(), SVC())
    reference = StackingClassifier(members, last, cv=FOLDS, stack_method="decision_function").fit(problem.X, problem.y)
    model = ViewStackingClassifier(SVC(), views=VIEWS, cv=FOLDS, stack_method="decision_function")
    problem.fit(model)
    assert_allclose(model.decision_function(problem.X), reference.decision_function(problem.X))
    assert_array_equal(model.predict(problem.X), reference.predict(problem.X))


class KeepsTheTable(KNeighborsClassifier):
    def fit(self, X, y):
        self.table_, self.labels_ = X.copy(), y.copy()
        return super().fit(X, y)


@pytest.mark.long
@settings(max_examples=6)
@given(problems, st.sampled_from(["predict", "decision_function"]))
def test_the_last_classifier_sees_rows_that_models_were_not_fitted_on(problem, method):
    folds = list(FOLDS.split(problem.X, problem.agreed()))
    table = naive.stack(
        problem.blocks,
        problem.labels,
        fit_svc,
        folds,
        problem.K,
        "values" if method == "decision_function" else "labels",
    )
    if method == "decision_function" and problem.K == 2:
        table = table[:, 1::2]
    table = np.hstack([table, ~problem.present[:, ~problem.present.all(axis=0)]])
    model = ViewStackingClassifier(SVC(), views=VIEWS, cv=FOLDS, final_estimator=KeepsTheTable(), stack_method=method)
    problem.fit(model)
    assert_allclose(model.final_estimator_.table_, table, atol=1e-12)
    assert_array_equal(model.final_estimator_.labels_, problem.agreed())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_super_kernel_is_a_machine_on_calibrated_machines(n_classes):
    """scikit-learn fits the same machines and sigmoids; only the held-out probabilities are not to be had from it."""
    problem = Problem(n_classes=n_classes)
    model = problem.fit(SuperKernelClassifier(views=VIEWS, cv=FOLDS))
    machine = make_pipeline(StandardScaler(), SVC())
    inner, outer = [], []
    for block, sigmoids in zip(problem.blocks, model.sigmoids_):
        calibrated = CalibratedClassifierCV(machine, ensemble=False, cv=FOLDS).fit(block, problem.y)
        inner.append(calibrated.predict_proba(block)[:, 1 if n_classes == 2 else 0 :])
        margins = cross_val_predict(machine, block, problem.y, cv=FOLDS, method="decision_function")
        values = 1 / (1 + np.exp(-(margins.reshape(len(block), -1) * sigmoids[:, 0] + sigmoids[:, 1])))
        outer.append(values if n_classes == 2 else values / values.sum(axis=1, keepdims=True))
    table, _ = model._final_table(model._blocks(problem.X))
    assert_allclose(table, np.hstack(inner), atol=2e-3)
    last = SVC(break_ties=True).fit(np.hstack(outer), problem.y)
    assert_allclose(model.decision_function(problem.X), last.decision_function(table), atol=1e-9)
    assert_array_equal(model.predict(problem.X), last.predict(table))


@pytest.mark.parametrize("model", all_kinds(random_state=0)[2:4] + all_kinds(random_state=0)[5:])
def test_a_view_that_is_silent_in_a_fold_or_in_all(model):
    """Few rows have the view, so that some folds leave it none or one class to learn from."""
    problem = Problem(n_classes=2)
    X = problem.X.copy()
    X[4:, 5] = np.nan
    model = clone(model).fit(X, problem.y)
    assert np.isfinite(model.decision_function(problem.X)).all()
    X[np.ix_(problem.y == 1, [5])] = np.nan
    assert clone(model).fit(X, problem.y).score(X, problem.y) > 0.7


def test_other_splitters():
    problem = Problem()
    model = problem.fit(ViewStackingClassifier(SVC(), views=VIEWS, cv=KFold(4)))
    assert model.score(problem.X, problem.y) > 0.8


def stackings(**options):
    return [ViewStackingClassifier(SVC(), views=VIEWS, **options), SuperKernelClassifier(views=VIEWS, **options)]


@pytest.mark.parametrize("model", stackings(cv=3, random_state=0), ids=lambda model: type(model).__name__)
def test_rows_of_a_group_are_held_out_together(model, monkeypatch):
    problem = Problem(n=90)
    folds = []
    run = CrossFitting.run

    def spy(self, codes, folds_of_views, *rest):
        folds.extend(folds_of_views[0][1:])  # the first is of all rows
        return run(self, codes, folds_of_views, *rest)

    monkeypatch.setattr(CrossFitting, "run", spy)
    model = clone(model).fit(problem.X, problem.y, groups=GROUPS)
    assert len(folds) == 3
    for train, test in folds:
        assert not np.intersect1d(GROUPS[train], GROUPS[test]).size
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(90))
    assert model.score(problem.X, problem.y) > 0.8


def test_a_nearest_neighbour_learns_nothing_from_rows_of_its_group():
    """Rows of a group are copies with the label of the group, which says nothing of other groups."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 3)
    X, y = rng.normal(size=(40, 2))[group], rng.permutation(np.arange(40) % 2)[group]
    model = ViewStackingClassifier(KNeighborsClassifier(1), final_estimator=KeepsTheTable(), random_state=0)

    def out_of_fold_accuracy(**options):
        table = clone(model).fit(X, y, **options).final_estimator_.table_
        return (table[:, 1] == y).mean()

    assert out_of_fold_accuracy() > 0.9
    assert 0.2 < out_of_fold_accuracy(groups=group) < 0.8


@pytest.mark.parametrize("cv", ["pairs", "generator", "masks", GroupKFold(4), LeaveOneGroupOut()])
def test_any_cv_of_scikit_learn(cv):
    problem = Problem()
    groups = np.repeat(np.arange(6), 15)
    pairs = list(GroupKFold(3).split(problem.X, problem.y, groups))
    masks = [tuple(np.isin(np.arange(90), part) for part in pair) for pair in pairs]
    splits = {"pairs": pairs, "generator": (pair for pair in pairs), "masks": masks}
    for model in stackings(cv=splits.get(cv, cv) if isinstance(cv, str) else cv):
        if cv == "generator":
            model.set_params(cv=(pair for pair in pairs))
        assert model.fit(problem.X, problem.y, groups=groups).score(problem.X, problem.y) > 0.8


def test_an_iterable_is_the_splitter_that_made_it():
    problem = Problem(n_classes=3, absent=True)
    for by_splitter, by_pairs in zip(stackings(cv=FOLDS), stackings(cv=list(FOLDS.split(problem.X, problem.y)))):
        expected = problem.fit(by_splitter).decision_function(problem.X)
        assert_array_equal(problem.fit(by_pairs).decision_function(problem.X), expected)


def test_an_iterable_has_rows_of_x_whatever_their_weights():
    problem = Problem()
    weights = np.where(np.arange(90) % 4 == 0, 0.0, 1.0)
    used = np.flatnonzero(weights)
    position = np.cumsum(weights > 0) - 1
    splits = list(FOLDS.split(problem.X, problem.y))
    of_used = [tuple(position[part[weights[part] > 0]] for part in pair) for pair in splits]
    for all_rows, used_rows in zip(stackings(cv=splits), stackings(cv=of_used)):
        all_rows.fit(problem.X, problem.y, sample_weight=weights)
        used_rows.fit(problem.X[used], problem.y[used], sample_weight=weights[used])
        assert_array_equal(all_rows.decision_function(problem.X), used_rows.decision_function(problem.X))


def test_no_cv_is_five_folds():
    problem = Problem()
    for five, none in zip(stackings(cv=5, random_state=0), stackings(cv=None, random_state=0)):
        expected = problem.fit(five).decision_function(problem.X)
        assert_array_equal(problem.fit(none).decision_function(problem.X), expected)


def test_a_class_of_fewer_rows_than_folds():
    """It is dealt out as far as it goes; a class of one row cannot be both held out and learnt from."""
    problem = Problem()
    y = np.where(np.arange(90) < 3, 2, problem.y)
    for model in stackings(random_state=0):
        assert_array_equal(model.fit(problem.X, y).classes_, [0, 1, 2])
        with pytest.raises(ValueError, match=r"cv=5 needs at least 2 rows of each class, .* but the class 2 has 1"):
            model.fit(problem.X, np.where(np.arange(90) < 1, 2, problem.y))


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (5, np.arange(90) % 4, "cv=5 needs at least 5 groups, but groups has 4; lower cv"),
        (5, np.zeros(90), "groups puts all rows of X that count into one group"),
        (5, GROUPS[:10], r"groups must have one entry for each of the 90 rows of X; got shape \(10,\)"),
        (5, np.where(np.arange(90) == 7, None, GROUPS), "groups has no value for row 7"),
        (KFold(3), np.arange(90) % 10, "cv has rows of the same group on both sides of a fold"),
        ([(np.arange(90), np.arange(90))], None, "cv has rows on both sides of a fold"),
        ([(np.arange(45), np.arange(45, 90))], None, "cv must hold out every row of X exactly once"),
    ],
)
def test_groups_and_folds_that_cannot_be(cv, groups, message):
    problem = Problem()
    for model in stackings(cv=cv):
        with pytest.raises(ValueError, match=message):
            model.fit(problem.X, problem.y, groups=groups)


@pytest.mark.parametrize(
    "model", [ViewStackingClassifier(SVC()), SuperKernelClassifier(), LabelConsensus()], ids=lambda m: type(m).__name__
)
def test_one_column_and_three_rows_of_a_class(model):
    """The default of five folds passes scikit-learn's check, whose second class has three rows."""
    check_fit2d_1feature(type(model).__name__, model)
    column = np.r_[np.linspace(1, 2, 7, endpoint=False), 2.1, 2.5, 2.9][:, None]
    assert_array_equal(clone(model).fit(column, column[:, 0].astype(int)).classes_, [1, 2])


def test_a_super_kernel_keeps_numbers_only(tmp_path):
    problem = Problem(absent=True)
    model = SuperKernelClassifier(views=VIEWS, cv=2, random_state=0).fit(problem.X, problem.y)
    assert {type(machine) for machine in (*model.estimators_, model.final_estimator_)} == {FittedSVC}
    save(model, tmp_path / "model.fuse")
    loaded = load(tmp_path / "model.fuse")  # nobody is trusted
    assert_array_equal(loaded.decision_function(problem.X), model.decision_function(problem.X))
    stacked = ViewStackingClassifier(SVC(), views=VIEWS, cv=2, random_state=0).fit(problem.X, problem.y)
    assert type(stacked.final_estimator_) is FittedSVC


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("estimators_", lambda value: value[1:], "other classifiers than views"),
        ("estimators_", lambda value: value[::-1], "a machine of other columns"),
        ("estimators_", lambda value: [SVC()] * len(value), "has a SVC, not a FittedSVC"),
        ("sigmoids_", lambda value: value[1:], "other sigmoids"),
        ("sigmoids_", lambda value: [rows.astype(np.float32) for rows in value], "not of double precision"),
        ("final_estimator_", lambda value: SVC(), "is not a FittedSVC but a SVC"),
        ("final_estimator_", lambda value: replace(value, centre=value.centre[1:]), "a final machine of other columns"),
    ],
)
def test_a_super_kernel_whose_parts_do_not_agree(name, change, message):
    problem = Problem()
    model = SuperKernelClassifier(views=VIEWS, cv=2, random_state=0).fit(problem.X, problem.y)
    model.validate()
    setattr(model, name, change(getattr(model, name)))
    with pytest.raises(ValueError, match=message):
        model.validate()
