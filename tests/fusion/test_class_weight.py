"""`class_weight` of FusionClassifier: it moves the decision, and nothing else."""

from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

import fuselearn
from fuselearn import FusionClassifier
from fuselearn.fusion import calibration_and_scores
from fuselearn.fusion.calibration_and_scores import arm_score, scores_of
from tests.fusion.fusion_data import MODEL, table


def with_rare_class(n_classes=2):
    """Rows of which the last class is rare, some without a view and one without any."""
    rows, labels = table(240, n_classes, distance=0.8)
    kept = (labels < n_classes - 1) | (np.arange(240) % 24 == n_classes - 1)
    rows, labels = rows[kept], labels[kept]
    rows[::7, :3] = np.nan
    rows[3::7, 3:5] = np.nan
    return rows, labels


NEW = table(150, 3, seed=5, distance=0.8)[0]
NEW[:20, :3] = np.nan
NEW[20:40, 3:] = np.nan
NEW[40] = np.nan


@pytest.fixture(scope="module", params=[2, 3])
def models(request):
    """The models without weights, with balanced ones and with given ones, and their rows and labels."""
    rows, labels = with_rare_class(request.param)
    weights = (None, "balanced", {0: 2.0, request.param - 1: 5})
    model = clone(MODEL).set_params(learners=["linear", "trees"], max_fits=16)
    return {str(w): clone(model).set_params(class_weight=w).fit(rows, labels) for w in weights}, rows, labels


def test_only_the_decision_moves(models):
    by_name, _, _ = models
    plain = by_name["None"]
    for model in by_name.values():
        assert_array_equal(model.predict_proba(NEW), plain.predict_proba(NEW))
        assert_array_equal(model.arm_weights_, plain.arm_weights_)
        assert_array_equal(model.class_prior_, plain.class_prior_)
    given = list(by_name.values())[2]
    assert_allclose(plain.class_weights_, 1.0)
    assert_allclose(by_name["balanced"].class_weights_, 1 / plain.class_prior_)
    assert_array_equal(given.class_weights_, [2, 5] if len(plain.classes_) == 2 else [2, 1, 5])


def test_predictions_are_the_largest_weight_times_probability(models):
    for model in models[0].values():
        probabilities = model.predict_proba(NEW)
        # Rounded: with balanced weights, all classes are equal for the row without any view.
        weighted = np.round(model.class_weights_ * probabilities, 12)
        assert_array_equal(model.predict(NEW), weighted.argmax(axis=1))
        decision = np.log(probabilities) + np.log(model.class_weights_)
        if decision.shape[1] == 2:
            assert_allclose(model.decision_function(NEW), decision[:, 1] - decision[:, 0], rtol=1e-9, atol=1e-9)
        else:
            # Logits are known up to a number for each row.
            z = model.decision_function(NEW) - np.log(model.class_weights_)
            assert_allclose(softmax(z, axis=1), probabilities, rtol=1e-12)
    assert (models[0]["None"].predict(NEW) != models[0]["balanced"].predict(NEW)).any()


def test_a_row_without_any_view_has_the_logits_of_the_prior(models):
    nothing = np.full((1, 6), np.nan)
    for model in models[0].values():
        assert_allclose(model.predict_proba(nothing)[0], model.class_prior_)
        logits = np.log(model.class_prior_) + np.log(model.class_weights_)
        expected = logits[1] - logits[0] if len(logits) == 2 else logits
        assert_allclose(model.decision_function(nothing)[0], expected, atol=1e-12)
    assert models[0]["None"].predict(nothing) == models[0]["None"].class_prior_.argmax()


def test_logits_are_linear_in_the_values_of_the_arms(models):
    model = models[0]["None"]
    calibration, generator = model._calibration, np.random.default_rng(0)
    n_classes, n_patterns = len(model.classes_), len(calibration.patterns)
    assert n_patterns > 3
    first, second = generator.normal(size=(2, n_patterns, n_classes))
    covered = np.ones(n_patterns, dtype=bool)
    zero, one, other, both = (
        calibration.logits(values, covered, calibration.patterns)
        for values in (0 * first, first, second, first + second)
    )
    assert_allclose(one + other - zero, both, atol=1e-12)
    assert_allclose(zero, calibration.intercepts)
    assert_allclose(one - zero, calibration.slopes[:, None] * first, atol=1e-12)


def test_out_of_sample_decisions_follow_the_weights(models):
    by_name, _, _ = models
    plain, balanced = by_name["None"], by_name["balanced"]
    shift = np.log(balanced.class_weights_)
    if len(shift) == 2:
        shift = shift[1] - shift[0]
    assert_allclose(balanced.out_of_sample_decision_, plain.out_of_sample_decision_ + shift, atol=1e-12)


def test_scores_are_named(models):
    for name, model in models[0].items():
        metric = "balanced_accuracy" if name == "balanced" else "accuracy"
        assert model.out_of_sample_metric_ == metric
        assert model.out_of_sample_score_ == model.out_of_sample_scores_[metric]
        assert set(model.out_of_sample_scores_) == {"accuracy", "balanced_accuracy", "roc_auc"}
        assert metric in model.leaderboard_.columns
    plain, balanced = models[0]["None"], models[0]["balanced"]
    assert plain.out_of_sample_scores_["roc_auc"] == balanced.out_of_sample_scores_["roc_auc"]
    assert plain.out_of_sample_scores_["accuracy"] > balanced.out_of_sample_scores_["accuracy"]
    assert plain.out_of_sample_scores_["balanced_accuracy"] < balanced.out_of_sample_scores_["balanced_accuracy"]


def test_arms_of_the_leaderboard_are_judged_by_weighted_decisions(monkeypatch):
    rows, labels = with_rare_class()
    offsets = []

    def judging(metric, codes, values, weights, given):
        offsets.append(given)
        return arm_score(metric, codes, values, weights, given)

    monkeypatch.setattr(calibration_and_scores, "arm_score", judging)
    model = clone(MODEL).set_params(learners=["linear"], max_fits=6)
    for class_weight in (None, "balanced", {0: 2.0, 1: 5.0}):
        offsets.clear()
        fitted = clone(model).set_params(class_weight=class_weight).fit(rows, labels)
        assert len(offsets) == len(fitted.arms_)
        for given in offsets:
            assert_allclose(given, np.log(fitted.class_prior_ * fitted.class_weights_), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_those_of_scikit_learn(n_classes):
    generator = np.random.default_rng(0)
    codes = generator.choice(n_classes, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum(), size=200)
    logits, weights = generator.normal(size=(200, n_classes)) + np.eye(n_classes)[codes], np.arange(n_classes) / 3
    scores, predicted = scores_of(codes, logits, weights), (logits + weights).argmax(axis=1)
    assert scores["accuracy"] == pytest.approx(accuracy_score(codes, predicted))
    assert scores["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(codes, predicted))
    probabilities = softmax(logits, axis=1)
    area = roc_auc_score(codes, probabilities[:, 1] if n_classes == 2 else probabilities, multi_class="ovr")
    assert scores["roc_auc"] == pytest.approx(area)
    assert "roc_auc" not in scores_of(np.zeros(5, dtype=int), logits[:5], weights)


def test_an_arm_alone_is_judged_by_its_own_decisions():
    generator = np.random.default_rng(0)
    codes = (generator.random(400) < 0.1).astype(int)
    values = 0.3 * generator.normal(size=(400, 1)) + 0.3 * (2 * codes[:, None] - 1)
    log_prior = np.log([0.9, 0.1])
    accuracy = arm_score("accuracy", codes, values, np.ones(400), log_prior)
    assert accuracy >= max(np.mean(codes == 0), np.mean((values[:, 0] > 0) == codes))
    balanced = arm_score("balanced_accuracy", codes, values, np.ones(400), np.zeros(2))
    assert balanced == pytest.approx(balanced_accuracy_score(codes, values[:, 0] > 0))
    assert np.isnan(arm_score("accuracy", codes, np.full((400, 1), np.nan), np.ones(400), log_prior))
    some = np.where(np.arange(400)[:, None] % 2, values, np.nan)
    assert arm_score("accuracy", codes, some, np.ones(400), log_prior) == pytest.approx(
        arm_score("accuracy", codes[1::2], values[1::2], np.ones(200), log_prior)
    )


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("heavy", "class_weight must be None, 'balanced' or a dict of class to weight; got 'heavy'"),
        ([1, 2], r"class_weight must be None, 'balanced' or a dict of class to weight; got \[1, 2\]"),
        ({7: 2}, r"class_weight names classes that y does not have: 7; the classes are \[0, 1\]"),
        ({0: 0}, "class_weight gives the class 0 the weight 0; a number above 0 is needed"),
        ({0: -1.0}, "class_weight gives the class 0 the weight -1.0; a number above 0 is needed"),
        ({0: np.nan}, "the weight nan; a number above 0"),
    ],
)
def test_bad_weights_are_refused_before_anything_is_fitted(class_weight, message, monkeypatch):
    monkeypatch.setattr("fuselearn.fusion.fusion_classifier.make_arms", None)
    rows, labels = table(40)
    with pytest.raises(ValueError, match=message):
        clone(MODEL).set_params(class_weight=class_weight).fit(rows, labels)


def test_classes_may_have_names():
    rows, labels = table(60)
    names = np.array(["no", "yes"])[labels]
    model = clone(MODEL).set_params(class_weight={"yes": 1e6}, learners="linear").fit(rows, names)
    assert set(model.predict(rows)) == {"yes"}
    assert_array_equal(model.class_weights_, [1.0, 1e6])


def test_a_saved_model_keeps_them(tmp_path, models):
    for name, model in models[0].items():
        fuselearn.save(model, tmp_path / f"{name[:4]}.fuse")
        loaded = fuselearn.load(tmp_path / f"{name[:4]}.fuse")
        assert loaded.class_weight == model.class_weight
        assert_array_equal(loaded.predict(NEW), model.predict(NEW))
        assert loaded.out_of_sample_scores_ == model.out_of_sample_scores_
        for attribute, value in (
            ("class_weights_", -model.class_weights_),
            ("class_weights_", model.class_weights_[:1]),
            ("out_of_sample_metric_", "fits"),
        ):
            forged = fuselearn.load(tmp_path / f"{name[:4]}.fuse")
            setattr(forged, attribute, value)
            with pytest.raises(ValueError, match=r"class.weights|neither 'accuracy' nor"):
                forged.validate()


@pytest.fixture(scope="module")
def rare():
    """1,000 rows to learn from and 2,000 others, with 8 % positives, in three views; and a model."""
    X, y = make_classification(
        3000, 24, n_informative=8, n_redundant=4, weights=[0.92], flip_y=0.02, class_sep=0.6, random_state=3
    )
    X, X_test, y, y_test = train_test_split(X, y, train_size=1000, stratify=y, random_state=0)
    views = {"a": slice(0, 8), "b": slice(8, 16), "c": slice(16, 24)}
    model = FusionClassifier(views=views, learners=["linear", "trees"], max_fits=16, random_state=0)
    return model.fit(X, y), X_test, y_test


@pytest.mark.long
def test_a_rare_class_by_accuracy(rare):
    model, X, y = rare
    probabilities, predicted = model.predict_proba(X), model.predict(X)
    assert_array_equal(predicted, probabilities.argmax(axis=1))
    constant = max(np.mean(y), 1 - np.mean(y))
    assert accuracy_score(y, predicted) >= constant
    assert model.out_of_sample_score_ >= constant - 0.01
    assert abs(model.out_of_sample_score_ - accuracy_score(y, predicted)) < 0.03
    # Calibrated for the data as it is.
    assert abs(probabilities[:, 1].mean() - y.mean()) < 0.02
    assert log_loss(y, probabilities) < log_loss(y, np.full(len(y), y.mean()))
    assert (model.leaderboard_["accuracy"] >= constant - 0.02).all()


@pytest.mark.long
def test_a_rare_class_by_balanced_accuracy(rare):
    plain, X, y = rare
    balanced = copy(plain)
    balanced.class_weights_ = 1 / plain.class_prior_  # all that a fit with balanced weights would change
    scores = [balanced_accuracy_score(y, model.predict(X)) for model in (plain, balanced)]
    assert scores[1] > scores[0] + 0.05


@pytest.mark.parametrize("consensus", [True, False])
def test_unequal_classes_of_real_data(consensus):
    X, y = load_breast_cancer(return_X_y=True)
    kept = (y == 1) | (np.arange(len(y)) % 8 == 0)  # a tumour in fourteen
    X, X_test, y, y_test = train_test_split(X[kept], 1 - y[kept], train_size=0.5, stratify=y[kept], random_state=0)
    views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    model = FusionClassifier(views=views, learners="linear", consensus=consensus, random_state=0).fit(X, y)
    assert_array_equal(model.predict(X_test), model.predict_proba(X_test).argmax(axis=1))
    assert model.score(X_test, y_test) > 1 - y_test.mean()
    assert roc_auc_score(y_test, model.decision_function(X_test)) > 0.95
