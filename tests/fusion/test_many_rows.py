"""FusionClassifier on many rows; tests call a few hundred many."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import fuselearn
from fuselearn import FusionClassifier, FusionRegressor
from fuselearn.data.folds import Folds
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion import arm_fitting, fused_arms, fusion_options, local_fusion
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesArms, BoostedTreesModel
from fuselearn.fusion.base_models.ridge_features import LINEAR_STRENGTHS, RidgeModel
from fuselearn.fusion.fusion_rows import draw_rows
from fuselearn.numeric.threads import Threads
from tests.fusion.many_rows import VIEWS, table
from tests.naive.fusion_sums import ridge_by_folds

SEED = 3


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 100)
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.LANDMARKS", 30)
    # Fewer rounds than of many rows, so that tests are quick.
    settings = fusion_options.boosting_settings
    monkeypatch.setattr(local_fusion, "boosting_settings", lambda n, seed: replace(settings(n, seed), n_rounds=6))


def drawn_seed():
    return int(np.random.RandomState(SEED).randint(np.iinfo(np.int32).max))


def fusion(**settings):
    return FusionClassifier(views=VIEWS, random_state=SEED, **settings)


def same(one, other, rows, tolerance=0.0):
    for name in ("arm_weights_", "out_of_sample_decision_", "posterior_", "noise_rates_", "view_importances_"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=tolerance, atol=tolerance, err_msg=name)
    assert_allclose(one.decision_function(rows), other.decision_function(rows), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_learns_and_its_probabilities_are_calibrated(n_classes):
    X, y = table(800, n_classes, missing=0.2)
    X_new, y_new = table(2000, n_classes, seed=5, missing=0.2)
    model = fusion().fit(X, y)
    p = model.predict_proba(X_new)
    assert_allclose(p.sum(axis=1), 1)
    assert_array_equal(model.predict(X_new), p.argmax(axis=1))
    accuracy = (p.argmax(axis=1) == y_new).mean()
    assert abs(accuracy - p.max(axis=1).mean()) < 0.04
    assert abs(accuracy - model.out_of_sample_score_) < 0.05
    assert {learner for _, learner in model.arms_} == {"boosting", "linear", "rbf"}
    assert {"accuracy", "balanced_accuracy", "roc_auc"} == set(model.out_of_sample_scores_)


def test_the_leaderboard_says_how_many_rows_an_arm_learnt_from(monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.SUBSAMPLE_ROWS", 150)
    X, y = table(300, missing=0.3)
    board = fusion(learners=["linear", "trees"]).fit(X, y).leaderboard_
    rows = {(view, learner): n for view, learner, n in zip(board["view"], board["learner"], board["rows"], strict=True)}
    assert rows["all views", "linear"] == 300
    assert rows["a", "linear"] == (~np.isnan(X[:, 0])).sum()
    assert max(n for (_, learner), n in rows.items() if learner == "trees") <= 150


@pytest.mark.parametrize("fusion_of", [FusionClassifier, FusionRegressor])
def test_the_leaderboard_counts_fits_of_arms_without_weight(fusion_of, tmp_path):
    X, y = table(300)
    X[:, 5] = np.random.default_rng(0).normal(size=300)  # the third view knows nothing
    model = fusion_of(views=VIEWS, learners=["linear", "trees"], random_state=SEED).fit(X, y)
    assert (model.arm_weights_ == 0).any()
    assert [bool(models) for models in model.estimators_] == (model.arm_weights_ > 0).tolist()
    board = model.leaderboard_
    counts = dict(zip(zip(board["view"], board["learner"]), board["fits"], strict=True))
    assert counts == {arm: 1 if arm[1] == "linear" else 5 for arm in model.arms_}
    fuselearn.save(model, tmp_path / "model.fuse")
    loaded = fuselearn.load(tmp_path / "model.fuse")
    assert_array_equal(loaded.leaderboard_["fits"], board["fits"])
    del loaded._arm_fits  # as files of earlier versions have it
    loaded.validate()
    assert loaded.leaderboard_["fits"].min() == 0


def test_few_rows_say_so_too(monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 10_000)
    X, y = table(120, missing=0.3)
    monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MOST_KERNEL_ROWS", 100)
    board = fusion(learners={"machine": "linear", "forest": "trees"}).fit(X, y).leaderboard_
    present = [int((~np.isnan(X[:, columns]).all(axis=1)).sum()) for columns in VIEWS.values()]
    rows = dict(zip(zip(board["view"], board["learner"]), board["rows"]))
    for name, n_rows in zip(VIEWS, present):
        assert rows[name, "machine"] == min(n_rows, 100)
        assert rows[name, "forest"] == n_rows


def test_out_of_fold_values_are_those_of_models_without_the_fold():
    X, y = table(300)
    model = FusionClassifier(learners=["linear"], consensus=False, random_state=SEED).fit(X, y)
    folds = Folds.of(5, drawn_seed()).numbers(300)
    features = np.column_stack([np.clip((X - X.mean(axis=0)) / X.std(axis=0), -5, 5), np.ones(300)])
    _, values, _ = ridge_by_folds(features, 2.0 * y[:, None] - 1, np.ones(300), folds, LINEAR_STRENGTHS)
    decision = model.out_of_sample_decision_
    slope, intercept = np.polyfit(values[:, 0], decision, 1)
    assert slope > 1
    assert_allclose(decision, slope * values[:, 0] + intercept, rtol=1e-6, atol=1e-6)


def test_boosted_trees_of_a_fold_have_not_seen_it(monkeypatch):
    # Labels of the rows of a fold are changed: only the models of the other folds change.
    X, y = table(300)
    models = []
    fit_all = BoostedTreesArms.fit_all

    def noted(self, pairs, keep):
        fitted = fit_all(self, pairs, keep)
        models.append(fitted)
        return fitted

    monkeypatch.setattr(BoostedTreesArms, "fit_all", noted)
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.ArmFitting._boost_views", lambda self: None)
    folds = Folds.of(5, drawn_seed()).numbers(300)
    changed = np.where((folds == 2) & (np.arange(300) % 2 == 0), 1 - y, y)
    for labels in (y, changed):
        fusion(learners="boosting").fit(X, labels)
    before, after = models
    n_rounds = min(before[2].n_rounds, after[2].n_rounds)
    # The labels of the held-out fold decide when to stop, and nothing else.
    assert_array_equal(
        before[2].trees.value[: before[2].trees.starts[n_rounds]],
        after[2].trees.value[: after[2].trees.starts[n_rounds]],
    )
    assert not np.array_equal(before[1].trees.value[:30], after[1].trees.value[:30])


def test_the_model_is_the_same_for_any_number_of_threads():
    X, y = table(300, 3, missing=0.2)
    expected = fusion().fit(X, y)
    for n_jobs in (2, 3):
        same(expected, fusion(n_jobs=n_jobs).fit(X, y), X)


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, [1] * 5), (2, [2, 2, 1]), (8, [5])])
def test_within_a_time_limit_folds_go_side_by_side_as_threads_allow(n_jobs, expected, monkeypatch):
    """Those of a time share a deadline; without a limit all are given at once."""
    X, y = table(300, 3, missing=0.2)
    fit_all, calls = BoostedTreesArms.fit_all, []

    def noted(self, pairs, keep):
        calls.append((len(pairs), self.deadline))
        return fit_all(self, pairs, keep)

    monkeypatch.setattr(BoostedTreesArms, "fit_all", noted)
    limited = fusion(learners="boosting", n_jobs=n_jobs, time_limit=10_000).fit(X, y)
    assert [n_pairs for n_pairs, _ in calls[: len(expected)]] == expected
    deadlines = [deadline for _, deadline in calls[: len(expected)]]
    assert deadlines == sorted(set(deadlines))
    calls.clear()
    same(limited, fusion(learners="boosting", n_jobs=n_jobs).fit(X, y), X)
    assert calls[0] == (5, None)


def test_threads_share_out_the_rows_to_predict(monkeypatch):
    X, y = table(300, 3, missing=0.2)
    model = fusion(learners=["linear", "boosting"]).fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr(fused_arms, "ROWS_TO_PREDICT", 64)
    counts = []

    class Noted(Threads):
        def map(self, function, items):
            counts.append((self.count, len(items)))
            return super().map(function, items)

    monkeypatch.setattr(fused_arms, "Threads", Noted)
    serial = model.predict_proba(X)
    assert_allclose(serial, whole, rtol=1e-12)
    assert_array_equal(model.set_params(n_jobs=3).predict_proba(X), serial)
    assert counts == [(1, 5), (3, 5)]


def test_the_model_is_the_same_for_any_blocks(monkeypatch):
    X, y = table(400, missing=0.2)
    whole = fusion().fit(X, y)
    for block_rows in (37, 150):
        monkeypatch.setattr(local_fusion.make_blocks, "__defaults__", (block_rows,))
        same(whole, fusion().fit(X, y), X, 1e-9)


def test_groups_are_held_out_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 6)
    y = rng.integers(2, size=60)[groups]
    # Columns tell the group, and nothing of the class: only a model that saw others of the group knows.
    X = rng.normal(size=(60, 6))[groups] + 0.01 * rng.normal(size=(360, 6))
    assert fusion().fit(X, y).out_of_sample_score_ > 0.8
    model = fusion().fit(X, y, groups=groups)
    assert model.out_of_sample_score_ < 0.7
    renamed = fusion().fit(X, y, groups=[f"person {group}" for group in groups])
    same(model, renamed, X)


def test_two_groups_are_two_folds():
    X, y = table(200)
    model = fusion(learners=["linear", "boosting"]).fit(X, y, groups=np.arange(200) % 2)
    boosted = [
        len(models)
        for models, (_, learner) in zip(model.estimators_, model.arms_, strict=True)
        if learner == "boosting"
    ]
    assert max(boosted) <= 2


def test_missing_views_lower_the_confidence():
    X, y = table(1500, missing=0.3, seed=2)
    model = fusion().fit(X, y)
    X_new, _ = table(500, seed=8)
    poor = X_new.copy()
    poor[:, :5] = np.nan
    sure, unsure = (model.predict_proba(rows).max(axis=1).mean() for rows in (X_new, poor))
    assert unsure < sure - 0.1
    nothing = model.predict_proba(np.full((1, 6), np.nan))
    assert_allclose(nothing[0], model.class_prior_)


def test_a_row_of_weight_0_takes_no_part():
    X, y = table(300)
    odd = np.vstack([X, 1e3 * np.ones((4, 6))])
    weights = np.append(np.ones(300), np.zeros(4))
    model = fusion().fit(odd, np.append(y, [0, 1, 0, 1]), sample_weight=weights)
    plain = fusion().fit(X, y)
    assert_allclose(model.decision_function(X), plain.decision_function(X), rtol=1e-9)
    assert np.isnan(model.out_of_sample_decision_[300:]).all()


def test_the_unit_of_weights_does_not_matter_but_their_ratio_does():
    X, y = table(400)
    weights = np.where(np.arange(400) < 200, 1.0, 3.0)
    model = fusion().fit(X, y, sample_weight=weights)
    same(model, fusion().fit(X, y, sample_weight=1e-3 * weights), X, 1e-6)
    # Half of the rows have other labels: the heavy half is believed.
    y[:200] = 1 - y[:200]
    contradicted = fusion(consensus=False).fit(X, y, sample_weight=weights)
    assert (contradicted.predict(X[200:]) == y[200:]).mean() > 0.7


def test_view_labels_are_combined():
    X, y = table(600)
    rng = np.random.default_rng(0)
    labels = np.column_stack([np.where(rng.random(600) < rate, 1 - y, y) for rate in (0.05, 0.3, 0.3)]).astype(float)
    labels[rng.random(600) < 0.2, 1] = np.nan
    model = fusion().fit(X, y, view_labels=labels)
    assert model.label_columns_ == list(VIEWS)
    assert model.noise_rates_[0] < 0.15 < model.noise_rates_[1]
    assert (model.posterior_.argmax(axis=1) == y).mean() > 0.9
    assert (model.predict(X) == y).mean() > 0.8


def test_wrong_labels_are_suspected():
    X, y = table(600)
    wrong = np.random.default_rng(0).random(600) < 0.15
    model = fusion().fit(3 * X, np.where(wrong, 1 - y, y))
    found = [record["row"] for record in model.suspects(40)]
    assert wrong[found].mean() > 0.7
    assert not fusion(consensus=False).fit(X, y).noise_rates_.any()


def test_classifiers_are_fitted_on_a_subsample_in_the_same_folds(monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.arm_fitting.SUBSAMPLE_ROWS", 200)
    X, y = table(400, 3)
    model = fusion(learners={"logistic": LogisticRegression(), "trees": "trees"}).fit(X, y)
    assert {learner for _, learner in model.arms_} == {"logistic", "trees"}
    assert max(model.leaderboard_["rows"]) == 200
    assert (model.predict(X) == y).mean() > 0.6
    # A gap is found wherever it is, before anything is fitted.
    X[np.setdiff1d(np.arange(400), draw_rows(400, 200, drawn_seed() + 2))[0], 4] = np.nan
    monkeypatch.setattr(arm_fitting.ArmFitting, "_fit_others", None)
    with pytest.raises(ValueError, match=r"'logistic' does not take NaN, but column 4 of X.* 'b', has it in 1 of"):
        fusion(learners={"logistic": LogisticRegression()}).fit(X, y)


def test_support_vector_machines_are_allowed():
    X, y = table(300)
    model = fusion(learners=["svm"]).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.75


@pytest.mark.parametrize("n_rows", [80, 300])
def test_boosting_by_name(n_rows):
    X, y = table(n_rows)
    model = fusion(learners=["boosting", "linear"], max_fits=5).fit(X, y)
    assert {learner for _, learner in model.arms_} == {"boosting", "linear"}
    assert (model.predict(X) == y).mean() > 0.7


def test_trees_of_a_view_that_bring_nothing_are_fitted_once(monkeypatch):
    pairs_fitted = []
    fit_all = BoostedTreesArms.fit_all
    monkeypatch.setattr(
        BoostedTreesArms, "fit_all", lambda self, pairs, keep: pairs_fitted.extend(pairs) or fit_all(self, pairs, keep)
    )
    X, y = table(400)
    X[:, 5] = np.random.default_rng(0).normal(size=400)
    fusion().fit(X, y)
    assert sum(view is None for view, _ in pairs_fitted) == 5
    assert sum(view == 2 for view, _ in pairs_fitted) == 1


def test_limits(monkeypatch):
    X, y = table(300)
    one = fusion(max_fits=1).fit(X, y)
    assert {learner for _, learner in one.arms_} == {"linear"}
    two = fusion(max_fits=2).fit(X, y)
    assert ("all views", "boosting") in two.arms_
    assert "rbf" not in dict(map(reversed, two.arms_))
    with pytest.warns(InterruptedFitWarning, match=r"time_limit=1e-09: .* boosting on 'all views', rbf on .*'b'"):
        late = fusion(time_limit=1e-9).fit(X, y)
    assert late.arms_ == [("all views", "linear")]
    for max_fits in (1, 4, 6, 8):
        assert fusion(max_fits=max_fits).fit(X, y).n_fits_ == max_fits


def test_an_interrupt_keeps_what_is_fitted(monkeypatch):
    X, y = table(300)

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(arm_fitting.ArmFitting, "_fit_landmarks", interrupt)
    with pytest.warns(InterruptedFitWarning, match="base models"):
        model = fusion().fit(X, y)
    assert ("all views", "boosting") in model.arms_
    monkeypatch.setattr(arm_fitting.ArmFitting, "_fit_linear", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fusion().fit(X, y)


def test_the_prior_of_view_labels_is_that_of_what_they_agree_on():
    X, _ = table(600)
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.2).astype(int)
    X[:, :3] += 3 * y[:, None]
    # Each column turns a third of the zeros into ones, so that as many labels are ones.
    labels = np.column_stack([np.where((y == 0) & (rng.random(600) < 0.35), 1, y) for _ in VIEWS])
    model = fusion(class_weight="balanced").fit(X, y, view_labels=labels)
    mean = model.predict_proba(X).mean(axis=0)
    assert_allclose(model.class_prior_, mean, atol=0.03)
    assert model.class_prior_[1] < 0.3 < labels.mean()
    assert_allclose(model.predict_proba(np.full((1, 6), np.nan))[0], model.class_prior_)


def test_weights_enter_the_judging_of_labels():
    X, y = table(600)
    rng = np.random.default_rng(1)
    heavy = rng.random(600) < 0.5
    wrong = rng.random(600) < np.where(heavy, 0.02, 0.4)
    given = np.where(wrong, 1 - y, y)
    plain = fusion().fit(2 * X, given).noise_rates_[0]
    weighted = fusion().fit(2 * X, given, sample_weight=np.where(heavy, 20.0, 1.0)).noise_rates_[0]
    assert weighted < 0.5 * plain


def test_ties_of_labels_hardly_count_for_classifiers():
    X, y = table(600)
    rng = np.random.default_rng(2)
    views = {"one": [0, 1, 2], "two": [3, 4, 5]}
    labels = np.column_stack([np.where(rng.random(600) < 0.3, 1 - y, y) for _ in views])
    model = FusionClassifier(views=views, learners="trees", random_state=SEED).fit(X, y, view_labels=labels)
    values = [
        fitted.predict(X[:, views[name]])
        for (name, _), models in zip(model.arms_, model.estimators_)
        if name in views
        for fitted in models
    ]
    assert abs(np.mean(values)) < 0.15


def test_scores_without_any_signal_are_those_of_chance():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 10)
    y = rng.integers(2, size=60)[groups]
    model = fusion(learners="linear").fit(np.ones((600, 6)), y, groups=groups)
    assert model.out_of_sample_scores_["roc_auc"] == 0.5


def test_no_arm_is_left():
    X, _ = table(400)
    y = np.arange(400) == 7
    learners = {"logistic": LogisticRegression()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fuselearn.fusion.arm_fitting.SUBSAMPLE_ROWS", 20)
        with pytest.raises(ValueError, match=r"learners=\['logistic'\].*one class\. Add one of \['linear'"):
            fusion(learners=learners).fit(X, y)


@pytest.mark.parametrize("place", ["_fold_loss", "ask"])
def test_an_interrupt_leaves_no_arm_of_some_folds(monkeypatch, place):
    X, y = table(300)
    original = getattr(arm_fitting.ArmFitting, place)

    def interrupt(self, *questions):
        # The first trees of a single view, in one fold, are being tried.
        is_trial = len(self.updates) and any(model is None for model in self.updates[-1].arm.fold_models)
        if is_trial:
            raise KeyboardInterrupt
        return original(self, *questions)

    monkeypatch.setattr(arm_fitting.ArmFitting, place, interrupt)
    real_run = arm_fitting.ArmFitting._weigh_and_drop

    def resume(self):
        monkeypatch.setattr(arm_fitting.ArmFitting, place, original)
        return real_run(self)

    monkeypatch.setattr(arm_fitting.ArmFitting, "_weigh_and_drop", resume)
    with pytest.warns(InterruptedFitWarning, match="base models"):
        model = fusion().fit(X, y)
    assert ("all views", "boosting") in model.arms_
    assert not [view for view, learner in model.arms_ if learner == "boosting" and view in VIEWS]
    assert len(model.arms_) == len(model.arm_weights_)


def test_names_that_would_be_mistaken():
    X, y = table(300)
    with pytest.raises(ValueError, match="'all views', which stands for all of them"):
        FusionClassifier(views={"all views": [0, 1], "b": [2]}).fit(X, y)
    with pytest.raises(ValueError, match="learners has 'linear' twice"):
        fusion(learners={"one": "linear", "two": "linear"}).fit(X, y)


def test_a_saved_model_predicts_the_same(tmp_path):
    X, _ = table(400)
    y = (X[:, 0] - X[:, 0].mean()) * (X[:, 3] - X[:, 3].mean()) > 0  # which no machine of sums knows
    model = fusion().fit(X, y)
    kinds = {type(fitted) for models in model.estimators_ for fitted in models}
    assert kinds <= {RidgeModel, BoostedTreesModel}
    assert BoostedTreesModel in kinds
    fuselearn.save(model, tmp_path / "model.fuse")
    loaded = fuselearn.load(tmp_path / "model.fuse")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    loaded._complete_only = loaded._complete_only[1:]
    with pytest.raises(ValueError, match="_complete_only"):
        loaded.validate()


def test_verbose_tells_what_is_fitted(capsys):
    X, y = table(200)
    fusion(verbose=1).fit(X, y)
    printed = capsys.readouterr().out
    assert "linear on 'all views'" in printed
    assert "boosting on 'all views', fold 5 of 5: " in printed
    assert "rounds, the last with a loss of 0." in printed


@pytest.mark.long
def test_scikit_learn_checks_pass_on_many_rows(monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 2)
    # Folds depend on the number of rows: a weight of 2 is not the row twice.
    expected = {"check_sample_weight_equivalence_on_dense_data": "folds of other rows"}
    for check in check_estimator(
        FusionClassifier(random_state=0), expected_failed_checks=expected, on_skip=None, on_fail=None
    ):
        assert check["status"] in ("passed", "xfail", "skipped"), (check["check_name"], check["exception"])
