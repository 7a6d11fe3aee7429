"""Labels, weights and consensus of FusionClassifier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_1samp
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

from fuselearn import FusionClassifier
from tests.fusion.fusion_data import MODEL, ONE_PASS, X_NEW, Y_NEW, X, same, split, table, y


@pytest.mark.thinned(3)
@pytest.mark.parametrize("labels", [np.array(["no", "yes"])[y], y.astype(bool), np.array([-5, 7])[y]])
def test_classes_of_any_kind(labels, one_pass):
    other = clone(ONE_PASS).fit(X, labels)
    assert_array_equal(other.classes_, np.unique(labels))
    assert_array_equal(other.predict_proba(X_NEW), one_pass.predict_proba(X_NEW))
    assert_array_equal(other.predict(X_NEW), other.classes_[one_pass.predict(X_NEW)])


@pytest.mark.long
def test_ten_classes(digits):
    train, test = split(digits, 300)
    model = FusionClassifier(views=digits.views, max_fits=30, random_state=0).fit(digits.X[train], digits.y[train])
    assert model.score(digits.X[test], digits.y[test]) > 0.95
    assert model.predict_proba(digits.X[test]).shape == (1497, 10)
    assert_allclose(model.predict_proba(digits.X[test]).sum(axis=1), 1)
    assert model.out_of_sample_decision_.shape == (300, 10)
    later = balanced_accuracy_score(digits.y[train], model.out_of_sample_decision_.argmax(axis=1))
    assert abs(model.out_of_sample_score_ - later) < 0.03


@pytest.mark.long
def test_rare_classes_are_found():
    rows, labels = table(800, distance=0.8)
    kept = (labels == 0) | (np.arange(800) % 20 == 1)
    model = clone(MODEL).set_params(class_weight="balanced").fit(rows[kept], labels[kept])
    assert np.mean(labels[kept]) < 0.1
    new, truth = table(400, seed=4, distance=0.8)
    assert balanced_accuracy_score(truth, model.predict(new)) > 0.75
    assert model.out_of_sample_score_ > 0.75
    # Probabilities know that the class is rare.
    assert_allclose(model.predict_proba(rows[kept])[:, 1].mean(), labels[kept].mean(), atol=0.05)


def test_values_are_out_of_sample():
    # Labels that have nothing to do with the rows cannot be told, by no learner.
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 6)), rng.integers(2, size=200)
    model = clone(MODEL).set_params(learners=["rbf", "linear", "trees", DecisionTreeClassifier()]).fit(rows, labels)
    scores = model.leaderboard_["accuracy"]
    # Below one half they may well be: without a row of a class, the mean of the others is on the other side.
    assert scores.max() < 0.62
    assert model.out_of_sample_score_ < 0.62
    assert np.ptp(model.predict_proba(rows)[:, 1]) < 0.9


def test_rows_of_weight_zero_take_no_part(model, one_pass):
    junk = np.vstack([X, 100 + X_NEW])
    labels = np.append(y, 1 - Y_NEW)
    weights = np.append(np.ones(90), np.zeros(60))
    other = clone(MODEL).fit(junk, labels, sample_weight=weights)
    assert_array_equal(other.predict_proba(X_NEW), model.predict_proba(X_NEW))
    assert_array_equal(other.posterior_[:90], model.posterior_)
    assert np.isnan(other.posterior_[90:]).all()
    assert np.isnan(other.out_of_sample_decision_[90:]).all()
    assert all(record["row"] < 90 for record in other.suspects(1000))
    more = clone(ONE_PASS).fit(X, y, sample_weight=np.full(90, 7.0))
    assert_allclose(more.predict_proba(X_NEW), one_pass.predict_proba(X_NEW), rtol=1e-6)


def test_weights_count():
    rows = np.vstack([X, X])
    labels = np.append(y, 1 - y)
    first = np.append(np.full(90, 10.0), np.full(90, 0.1))
    model = clone(MODEL).set_params(consensus=False)
    assert model.fit(rows, labels, sample_weight=first).score(X_NEW, Y_NEW) > 0.75
    assert model.fit(rows, labels, sample_weight=first[::-1]).score(X_NEW, Y_NEW) < 0.25


def test_weights_enter_the_judging_of_labels():
    rows, labels = table(160, distance=2.0)
    spoilt = np.arange(160) >= 100
    given = np.where(spoilt & (np.arange(160) % 5 < 2), 1 - labels, labels)  # 24 of the last 60
    model = clone(MODEL).set_params(learners="linear")

    def noise_rate(weight_of_spoilt):
        return model.fit(rows, given, sample_weight=np.where(spoilt, weight_of_spoilt, 1.0)).noise_rates_[0]

    # The share of the weight that is wrong, not of the rows.
    assert_allclose(noise_rate(0.1), 2.4 / 106, atol=0.04)
    assert_allclose(noise_rate(1.0), 24 / 160, atol=0.04)
    assert_allclose(noise_rate(3.0), 72 / 280, atol=0.06)


@pytest.mark.long
@pytest.mark.parametrize("orders", [3, 8, 50, 300])
def test_weights_of_any_size(orders):
    rows, labels = table(80)
    weights = 10.0 ** np.random.default_rng(0).uniform(-orders, orders, 80)
    for code in (0, 1):  # one heavy row of each class at least
        weights[np.flatnonzero(labels == code)[0]] = weights.max()
    weighted = clone(MODEL).fit(rows, labels, sample_weight=weights)
    heavy = weights > 1e-9 * weights.max()
    expected = clone(MODEL).fit(rows, labels, sample_weight=np.where(heavy, weights / weights.max(), 0))
    assert_array_equal(weighted.predict_proba(rows), expected.predict_proba(rows))
    assert np.isfinite(weighted.predict_proba(rows)).all()


def noisy_columns(labels, rates, seed=0):
    rng = np.random.default_rng(seed)
    flipped = rng.random((len(labels), len(rates))) < rates
    return np.where(flipped, ~labels[:, None], labels[:, None]), flipped


@pytest.mark.long
def test_noise_rates_of_label_columns(digits):
    train, test = split(digits, 300)
    labels = digits.y >= 5
    rates = np.array([0.05, 0.3, 0.15, 0.4])
    columns, _ = noisy_columns(labels[train], rates)
    model = FusionClassifier(views=digits.views, random_state=0)
    model.fit(digits.X[train], labels[train], view_labels=columns)
    assert_allclose(model.noise_rates_, rates, atol=0.06)
    assert model.label_columns_ == list(digits.views)
    assert model.score(digits.X[test], labels[test]) > 0.94
    suspects = model.suspects()
    right = [
        columns[record["row"], model.label_columns_.index(record["column"])] != labels[train][record["row"]]
        for record in suspects
    ]
    assert np.mean(right) > 0.95


def test_with_view_labels_y_gives_the_classes_only():
    columns, _ = noisy_columns(y == 1, [0.1, 0.1, 0.1])
    model = clone(MODEL).fit(X, y == 1, view_labels=columns)
    other = clone(MODEL).fit(X, (y == 1)[::-1], view_labels=columns)
    same(model, other)
    assert model.posterior_.shape == (90, 2)


def test_labels_that_views_did_not_give():
    columns = np.repeat(y[:, None].astype(float), 3, axis=1)
    columns[::2, 0] = np.nan
    columns[1::3, 1] = np.nan
    columns[4] = np.nan
    model = clone(ONE_PASS).fit(X, y, view_labels=columns)
    assert np.isnan(model.posterior_[4]).all()
    assert np.isfinite(np.delete(model.posterior_, 4, axis=0)).all()
    assert not any(record["row"] == 4 for record in model.suspects(1000))
    assert len(model.suspects(1000)) == np.count_nonzero(~np.isnan(columns))
    words = np.where(np.isnan(columns), None, np.array(["no", "yes"], dtype=object)[np.nan_to_num(columns).astype(int)])
    other = clone(ONE_PASS).fit(X, np.array(["no", "yes"])[y], view_labels=words)
    assert_array_equal(other.predict_proba(X_NEW), model.predict_proba(X_NEW))


@pytest.mark.parametrize(("n_rows", "max_fits"), [(300, 12), pytest.param(400, 60, marks=pytest.mark.long)])
def test_suspects_are_wrong_labels(digits, n_rows, max_fits):
    train, test = split(digits, n_rows)
    rng = np.random.default_rng(1)
    flipped = rng.random(n_rows) < 0.2
    labels = np.where(flipped, (digits.y[train] + rng.integers(1, 10, n_rows)) % 10, digits.y[train])
    model = FusionClassifier(views=digits.views, max_fits=max_fits, random_state=0).fit(digits.X[train], labels)
    suspected = np.array([record["row"] for record in model.suspects()])
    assert np.mean(flipped[suspected]) > 0.9
    assert flipped[suspected].sum() > 0.75 * flipped.sum()
    assert_allclose(model.noise_rates_, [0.2], atol=0.05)
    first = model.suspects(20)
    assert [record["row"] for record in first] == suspected[:20].tolist()
    chances = [record["probability"] for record in first]
    assert chances == sorted(chances, reverse=True)
    assert all(record["column"] == "y" and record["given"] == labels[record["row"]] for record in first)
    assert np.mean([record["proposed"] == digits.y[train][record["row"]] for record in first]) > 0.9
    assert model.suspects(0) == []
    assert model.score(digits.X[test], digits.y[test]) > 0.93


def test_without_consensus_labels_are_taken_as_they_are():
    flipped = np.random.default_rng(0).random(90) < 0.2
    labels = np.where(flipped, 1 - y, y)
    model = clone(MODEL).set_params(consensus=False).fit(X, labels)
    assert_array_equal(model.posterior_, np.eye(2)[labels])
    assert_array_equal(model.noise_rates_, [0.0])
    assert model.suspects() == []
    assert model.n_fits_ == sum(map(len, model.estimators_))
    both = clone(MODEL).fit(X, labels)
    assert both.n_fits_ == 2 * sum(map(len, both.estimators_))


@pytest.mark.long
@pytest.mark.parametrize("n_seeds", [2, pytest.param(5, marks=pytest.mark.long)])
def test_consensus_costs_nothing_where_labels_are_right(digits, n_seeds):
    labels = digits.y >= 5
    differences = []
    for seed in range(n_seeds):
        train, test = split(digits, 120, seed)
        scores = [
            balanced_accuracy_score(
                labels[test],
                FusionClassifier(views=digits.views, learners=["rbf", "trees"], consensus=consensus, random_state=seed)
                .fit(digits.X[train], labels[train])
                .predict(digits.X[test]),
            )
            for consensus in (True, False)
        ]
        differences.append(scores[0] - scores[1])
    assert np.mean(differences) > -0.01
    # Without a second pass the two are the same.
    assert not np.any(differences) or ttest_1samp(differences, 0, alternative="less").pvalue > 0.05


def test_many_classes_with_consensus():
    rng = np.random.default_rng(0)
    labels = np.arange(320) % 40
    rows = rng.normal(size=(40, 40))[labels] + 0.3 * rng.normal(size=(320, 40))
    model = FusionClassifier(learners="linear", random_state=0).fit(rows, labels)
    assert model.score(rows, labels) > 0.9


def test_agreement_of_many_rows_does_not_depend_on_their_order():
    rng = np.random.default_rng(0)
    labels = np.arange(12_000) % 2
    rows = rng.normal(size=(12_000, 2)) + 4.0 * labels[:, None]
    model = FusionClassifier(learners="linear", max_fits=2, random_state=0).fit(rows, labels)
    assert model.noise_rates_[0] < 0.05


@pytest.mark.thinned(3)
@pytest.mark.parametrize("share", [0.2, 0.1, 0.05])
def test_trees_alone_find_a_rare_class(share):
    rng = np.random.default_rng(0)
    labels = (rng.random(1000) < share).astype(int)
    rows = rng.normal(size=(1000, 5)) + 2.0 * labels[:, None]
    model = FusionClassifier(learners="trees", random_state=0).fit(rows[:600], labels[:600])
    assert balanced_accuracy_score(labels[600:], model.predict(rows[600:])) > 0.85
