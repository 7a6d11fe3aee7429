"""The multi-label ensembles equal the slow loops of `tests.naive.mssboost`: candidates, weights, losses, F."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from fuselearn import MSSBoostClassifier, NSBoostClassifier, RSBagClassifier
from fuselearn.multilabel import RbfSVC
from fuselearn.multilabel import pool as pool_of_candidates
from fuselearn.multilabel.mssboost import boosted_rounds
from fuselearn.multilabel.pool import JointLoss, Pool, related
from fuselearn.multilabel.ratios import RATIOS
from fuselearn.multilabel.rsbag import strength_and_correlation
from fuselearn.multilabel.subspace_models import Candidate
from fuselearn.numeric.logistic import least_losses
from fuselearn.numeric.threads import SERIAL, Threads
from tests.naive import mssboost as naive

KINDS = ("real", "signs", "coarse", "nearly right", "nothing")


class RandomTrainer:
    """Candidates of made-up outputs, in place of fitted base models."""

    def __init__(self, Y, seed, kind):
        self.Y, self.seed, self.kind = Y, seed, kind

    def outputs(self, slot, generation):
        rng = np.random.default_rng([self.seed, slot, generation])
        y = 2.0 * self.Y[:, slot % self.Y.shape[1]] - 1
        if self.kind == "nothing" and generation % 2:
            return np.zeros(len(y))
        h = 0.5 * y * rng.random() + rng.normal(size=len(y))
        if self.kind == "nearly right":  # separates its label but for a few rows: margins grow without end
            h = y * rng.uniform(0.2, 1, len(y))
            h[rng.integers(len(y))] *= -1
        if self.kind == "signs":
            h = np.where(h > 0, 1.0, -1.0)
        if self.kind == "coarse":
            h = np.round(h)
        return np.clip(h, -1, 1)

    def train(self, slot, generation, label, threads=SERIAL):
        return Candidate(None, None, label, self.outputs(slot, generation))


def random_labels(seed, n_rows, n_labels):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_rows, n_labels)) < rng.uniform(0.1, 0.9, n_labels)).astype(int)
    Y[0], Y[1] = 0, 1
    return Y


def as_signs(Y):
    return np.ascontiguousarray(np.where(Y.T > 0, 1, -1).astype(np.int8))


def run(trainer, n_rounds, *, pool_size=None, threads=SERIAL, **settings):
    """Rounds as the estimators run them."""
    joint = JointLoss(as_signs(trainer.Y))
    settings = {"significance": 0.025, "shared": True} | settings
    rounds = boosted_rounds(trainer, joint, threads, pool_size=pool_size, **settings)
    weights, losses, labels = [], [joint.total], []
    for candidate, given_weights in islice(rounds, n_rounds):
        joint.add(given_weights, candidate.outputs, threads)
        weights.append(given_weights)
        losses.append(joint.total)
        labels.append(candidate.source_label)
    return {"weights": np.array(weights), "losses": np.array(losses), "F": (joint.margins * joint.signs).T}, labels


def assert_equal_runs(ours, expected):
    assert_allclose(ours["losses"], expected["losses"], rtol=1e-9)
    assert_allclose(ours["weights"], expected["weights"], rtol=1e-6, atol=1e-9)
    assert_allclose(ours["F"], expected["F"], rtol=1e-6, atol=1e-8)


trainers = st.builds(
    lambda seed, n_rows, n_labels, kind: RandomTrainer(random_labels(seed, n_rows, n_labels), seed, kind),
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(8, 40),
    n_labels=st.integers(1, 4),
    kind=st.sampled_from(KINDS),
)


@given(trainers, st.booleans(), st.sampled_from([0.025, 0.5, 1.0]))
@settings(max_examples=2 * settings().max_examples)
def test_rounds(trainer, shared, significance):
    n_labels = trainer.Y.shape[1]
    ours, labels = run(trainer, 6, significance=significance, shared=shared)
    expected = naive.boost(trainer.outputs, range(n_labels), trainer.Y, 6, significance=significance, shared=shared)
    assert_array_equal(labels, expected["slots"])  # a pool of one slot per label: the slot is the label
    assert_equal_runs(ours, expected)


@given(trainers, st.integers(2, 4))
def test_several_newton_steps(trainer, newton_steps):
    ours, labels = run(trainer, 4, newton_steps=newton_steps)
    expected = naive.boost(trainer.outputs, range(trainer.Y.shape[1]), trainer.Y, 4, newton_steps=newton_steps)
    assert_array_equal(labels, expected["slots"])
    assert_equal_runs(ours, expected)


@given(trainers, st.booleans(), st.integers(1, 3))
def test_rounds_of_a_larger_pool(trainer, shared, more):
    n_labels = trainer.Y.shape[1]
    sources = [slot % n_labels for slot in range(n_labels + more)]
    ours, labels = run(trainer, 5, pool_size=len(sources), shared=shared)
    expected = naive.boost(trainer.outputs, sources, trainer.Y, 5, shared=shared)
    assert_array_equal(labels, np.array(sources)[expected["slots"]])
    assert_equal_runs(ours, expected)


@given(trainers)
def test_rounds_of_a_smaller_pool(trainer):
    """With sharing it does not matter to the loop which label a candidate comes from."""
    n_slots = max(1, trainer.Y.shape[1] - 1)
    ours, _ = run(trainer, 5, pool_size=n_slots)
    assert_equal_runs(ours, naive.boost(trainer.outputs, range(n_slots), trainer.Y, 5))


@given(trainers, st.booleans())
def test_the_joint_loss_never_rises_and_bounds_the_errors(trainer, shared):
    """S2 Theorem 2, in natural logarithms; twenty rounds, also with candidates made to overshoot."""
    ours, _ = run(trainer, 20, significance=1.0, shared=shared)
    assert (np.diff(ours["losses"]) <= 1e-12 * ours["losses"][0]).all()
    errors = np.count_nonzero((ours["F"] > 0) != (trainer.Y > 0))
    assert errors <= ours["losses"][-1] / np.log(2)


@pytest.mark.parametrize("scale", [30.0, 300.0, 3000.0])
def test_large_margins_do_not_overflow(scale):
    """F as large as this makes p 0 or 1: steps are enormous, and safe all the same."""
    Y = random_labels(0, 60, 3)
    signs = as_signs(Y)
    rng = np.random.default_rng(1)
    start = rng.normal(size=60)
    joint = JointLoss(signs)
    joint.add(np.full(3, scale), start)
    expected = [naive.label_loss(start, Y[:, label], np.zeros(60), scale) for label in range(3)]
    assert_allclose(joint.losses, expected, rtol=1e-12)
    h = np.clip(rng.normal(size=60), -1, 1)
    pool = Pool(joint, [Candidate(None, None, 0, h)], significance=1.0, shared=True)
    winner = pool.best()
    weights = np.zeros(3) if winner is None else winner.weights
    wanted = [naive.safe_weight(h, Y[:, label], scale * start) for label in range(3)]
    assert_allclose(weights, wanted, rtol=1e-6)
    before = joint.total
    joint.add(weights, h)
    assert joint.total <= before


@pytest.mark.parametrize(("margin", "joins"), [(20.0, True), (30.0, False)])
def test_what_hardly_lowers_a_loss_of_nearly_0_does_not_join(margin, joins):
    signs = as_signs(np.arange(8)[:, None] % 2)
    joint = JointLoss(signs)
    joint.add(np.array([margin]), signs[0].astype(float))
    pool = Pool(joint, [Candidate(None, None, 0, signs[0].astype(float))], significance=1.0, shared=True)
    assert joint.total > 0
    assert (pool.best() is not None) == joins


@given(trainers, st.integers(0, 4))
@settings(max_examples=60)
def test_leaving_candidates_out_changes_nothing(trainer, n_rounds):
    """The bound of generalised self-concordance is below every exact loss, and the pruned winner is the winner."""
    joint = JointLoss(as_signs(trainer.Y))
    n_labels = trainer.Y.shape[1]
    for number in range(n_rounds):
        joint.add(np.random.default_rng(number).normal(size=n_labels) * 3, trainer.outputs(50 + number, 0))
    candidates = [trainer.train(slot, 2, slot % n_labels) for slot in range(3 * n_labels)]
    options = {"significance": 1.0, "shared": True}
    full = Pool(joint, candidates, prune=False, **options)
    pruned = Pool(joint, candidates, prune=True, **options)
    winner, winner_pruned = full.best(), pruned.best()
    assert (winner is None) == (winner_pruned is None)
    if winner is not None:
        assert winner.slot == winner_pruned.slot
        assert_array_equal(winner.weights, winner_pruned.weights)
    assert full.n_evaluated == len(candidates) >= pruned.n_evaluated
    newton = np.divide(full._slopes, full._curvatures, out=np.zeros_like(full._slopes), where=full._curvatures > 0)
    bounds = least_losses(newton, full._slopes, full._curvatures, joint.n_floored, joint.losses)
    F = (joint.margins * joint.signs).T
    for number, candidate in enumerate(candidates):
        for label in range(n_labels):
            a = naive.safe_weight(candidate.outputs, trainer.Y[:, label], F[:, label])
            exact = naive.label_loss(candidate.outputs, trainer.Y[:, label], F[:, label], a)
            assert bounds[number, label] <= exact + 1e-9 * (1 + exact)


def test_bounds_do_leave_candidates_out():
    Y = random_labels(3, 500, 12)
    trainer = RandomTrainer(Y, 3, "real")
    joint = JointLoss(as_signs(Y))
    candidates = [trainer.train(slot, 0, slot) for slot in range(12)]
    pool = Pool(joint, candidates, significance=0.025, shared=True)
    pool.best()
    assert pool.n_evaluated < 12


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 60),
    share=st.floats(0, 1),
    significance=st.sampled_from([0.001, 0.025, 0.3, 1.0]),
)
def test_relation(seed, n_rows, share, significance):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_rows, 3)) < 0.4).astype(int)
    Y[0], Y[1] = 0, 1
    h = np.where(rng.random(n_rows) < share, Y[:, 0] - 0.5, rng.normal(size=n_rows))
    found = related(h > 0, as_signs(Y), Y.sum(axis=0).astype(float), significance)
    assert_array_equal(found, [naive.is_related(h, y, significance) for y in Y.T])


def test_equal_candidates_go_to_the_first_slot():
    Y = random_labels(0, 50, 2)
    h = np.random.default_rng(0).uniform(-1, 1, 50)
    candidates = [Candidate(None, None, label, h) for label in (0, 1, 0)]
    assert Pool(JointLoss(as_signs(Y)), candidates, significance=1.0, shared=True).best().slot == 0


def all_but_equal(step):
    """Labels and two candidates of nearly the same loss, the worse one first; the gap, as a part of 1 + loss."""
    Y = random_labels(4, 200, 1)
    signs = as_signs(Y)
    h = np.clip(0.5 * signs[0] + np.random.default_rng(0).normal(size=200), -1, 1)
    other = h.copy()
    other[np.flatnonzero(signs[0] > 0)[0]] -= step

    def loss_with(outputs):
        a = naive.safe_weight(outputs, Y[:, 0], np.zeros(200))
        return naive.label_loss(outputs, Y[:, 0], np.zeros(200), a)

    worse, better = sorted((h, other), key=loss_with, reverse=True)
    losses = np.array([[loss_with(worse)], [loss_with(better)]])
    candidates = [Candidate(None, None, 0, outputs) for outputs in (worse, better)]
    return signs, candidates, losses, (losses[0, 0] - losses[1, 0]) / (1 + losses[1, 0])


@pytest.mark.parametrize(("step", "winner"), [(3e-11, 0), (3e-9, 1)])
def test_candidates_that_rounding_tells_apart_are_equals(step, winner):
    signs, candidates, _, gap = all_but_equal(step)
    assert (1e-14 < gap < 5e-13) if winner == 0 else (2e-12 < gap < 1e-10)
    assert Pool(JointLoss(signs), candidates, significance=1.0, shared=True).best().slot == winner


def test_a_bound_may_be_off_by_rounding(monkeypatch):
    """The better of two candidates that are all but equal wins, though its bound came out above its loss."""
    signs, candidates, losses, gap = all_but_equal(3e-8)
    assert 1e-11 < gap < 3e-10
    joint = JointLoss(signs)
    bounds = losses + 5e-10 * (1 + joint.total) * np.array([[0.0], [1.0]])
    monkeypatch.setattr(pool_of_candidates, "least_losses", lambda *_: bounds)
    assert Pool(joint, candidates, significance=1.0, shared=True).best().slot == 1


@pytest.mark.parametrize(("start", "halvings"), [(4.0, 0), (6.0, 1), (8.0, 4), (9.0, 5), (10.0, None), (12.0, None)])
def test_a_step_that_overshoots_is_halved(start, halvings):
    """40 rows that are right and far inside, one that is wrong, and a model that helps it: S2's step is too long."""
    y = np.r_[np.ones(40), 0]
    h = -np.r_[np.full(40, 0.02), 1.0]
    joint = JointLoss(as_signs(y[:, None]))
    joint.add(np.array([start]), np.ones(41))
    winner = Pool(joint, [Candidate(None, None, 0, h)], significance=1.0, shared=True).best()
    newton = naive.newton_weight(h, y, np.full(41, start))
    assert_allclose(naive.safe_weight(h, y, np.full(41, start)), 0.0 if halvings is None else newton / 2**halvings)
    if halvings is None:
        assert winner is None
    else:
        assert_allclose(winner.weights, newton / 2**halvings, rtol=1e-9)


def test_bounds_where_curvatures_are_floored():
    """Rows far inside have less curvature than the floor says; with the floor's the bound would be above the loss."""
    n_rows, F = 1000, 16.0
    y, h = np.ones(n_rows), np.ones(n_rows)
    joint = JointLoss(as_signs(y[:, None]))
    joint.add(np.array([F]), h)
    assert joint.n_floored[0] == n_rows
    slope, curvature = joint.residuals.sum(), joint.curvatures.sum()
    newton = np.array([[slope / curvature]])
    bounds = least_losses(newton, np.array([[slope]]), np.array([[curvature]]), joint.n_floored, joint.losses)
    exact = naive.label_loss(h, y, np.full(n_rows, F), newton[0, 0])
    assert bounds[0, 0] <= exact
    floored = least_losses(newton, np.array([[slope]]), np.array([[curvature]]), np.zeros(1), joint.losses)
    assert floored[0, 0] > exact + 1e-3 * joint.total  # so it is needed


class Recorder(RandomTrainer):
    """Notes which candidates are asked for; those of `silent` slots say nothing."""

    def __init__(self, Y, seed, silent):
        super().__init__(Y, seed, "real")
        self.silent, self.asked = silent, []

    def outputs(self, slot, generation):
        self.asked.append((slot, generation))
        return np.zeros(len(self.Y)) if slot in self.silent else super().outputs(slot, generation)


@pytest.mark.parametrize("significance", [0.025, 1.0])
def test_a_candidate_that_serves_no_label_is_drawn_again(significance):
    trainer = Recorder(random_labels(1, 60, 3), 1, silent={1})
    _, labels = run(trainer, 8, significance=significance)
    drawn = {slot: [generation for asked, generation in trainer.asked if asked == slot] for slot in range(3)}
    assert drawn[1] == list(range(11))  # the first and ten more: then the last one stays
    assert all(generations == list(range(len(generations))) for generations in drawn.values())
    assert 1 not in labels


def test_slots_take_turns_when_nothing_lowers_the_loss():
    trainer = Recorder(random_labels(1, 60, 3), 1, silent={0, 1, 2})
    ours, labels = run(trainer, 7)
    assert labels == [0, 1, 2, 0, 1, 2, 0]
    assert not ours["weights"].any()
    assert len(trainer.asked) == (3 + 6) * 11
    assert_array_equal(naive.boost(trainer.outputs, range(3), trainer.Y, 7)["slots"], labels)


def test_a_smaller_pool_brings_in_every_label():
    trainer = RandomTrainer(random_labels(0, 60, 7), 0, "real")
    seen = []
    train = trainer.train
    trainer.train = lambda slot, generation, label, threads=SERIAL: seen.append(label) or train(slot, generation, label)
    run(trainer, 12, pool_size=3, significance=1.0)
    assert seen == [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("shared", [True, False])
def test_threads_change_no_bit(shared):
    trainer = RandomTrainer(random_labels(5, 3000, 9), 5, "real")
    alone, _ = run(trainer, 8, shared=shared)
    with Threads(3) as threads:
        together, _ = run(trainer, 8, shared=shared, threads=threads)
    for name, values in alone.items():
        assert_array_equal(values, together[name])


# The estimators themselves: base models are fitted here by scikit-learn, on samples drawn by the oracle.


def data(n_rows=150, n_columns=12, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    scores = X @ rng.normal(size=(n_columns, n_labels)) + rng.normal(size=(n_rows, n_labels))
    return X, (scores > np.quantile(scores, [0.5, 0.6, 0.7, 0.8][:n_labels], axis=0).diagonal()).astype(int)


def oracle_draws(X, Y, estimator, random_state, data_ratio, feature_ratio):
    """Outputs of the candidate of a slot and generation, on all rows."""
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

    def draw(slot, generation):
        rng = np.random.default_rng([seed, slot, generation])
        y = Y[:, slot % Y.shape[1]]
        positives, negatives = naive.balanced_bootstrap(rng, y, data_ratio)
        columns = np.sort(rng.choice(X.shape[1], max(1, round(X.shape[1] * feature_ratio)), replace=False))
        rows = np.concatenate([positives, negatives])
        model = estimator().fit(X[rows][:, columns], y[rows])
        if hasattr(model, "predict_proba"):
            return 2 * model.predict_proba(X[:, columns])[:, 1] - 1
        return np.clip(model.decision_function(X[:, columns]), -1, 1)

    return draw


def tree():
    return DecisionTreeClassifier(max_depth=2, random_state=0)


class TreeOfOneSeed(DecisionTreeClassifier):
    """A tree that has no `random_state` to be set: features of a split are tried in the same order."""

    def __init__(self):
        super().__init__(max_depth=2, random_state=0)


MODELS = {
    "tree": (TreeOfOneSeed(), tree, 1e-9),
    "svc": (SVC(), SVC, 1e-5),
    "ours": (RbfSVC(tol=1e-8), lambda: SVC(tol=1e-8), 1e-5),
}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", [MSSBoostClassifier, NSBoostClassifier, RSBagClassifier])
def test_estimators(kind, name):
    estimator, expected_estimator, tolerance = MODELS[name]
    X, Y = data()
    model = kind(estimator, n_estimators=9, data_ratio=0.4, feature_ratio=0.3, random_state=2).fit(X, Y)
    draw = oracle_draws(X, Y, expected_estimator, 2, 0.4, 0.3)
    if kind is RSBagClassifier:
        expected = naive.bag(draw, range(4), Y, 9)
    else:
        expected = naive.boost(draw, range(4), Y, 9, shared=kind is MSSBoostClassifier)
    assert_array_equal(model.source_labels_, expected["slots"])
    assert_allclose(model.label_weights_, expected["weights"], rtol=tolerance, atol=tolerance)
    assert_allclose(model.loss_curve_, expected["losses"], rtol=tolerance)
    assert_allclose(model.decision_function(X), expected["F"], rtol=tolerance, atol=5 * tolerance)


@pytest.mark.parametrize("kind", [MSSBoostClassifier, NSBoostClassifier])
def test_decision_functions_that_begin_at_the_log_odds(kind):
    X, Y = data()
    settings = {"n_estimators": 5, "data_ratio": 0.4, "feature_ratio": 0.3, "random_state": 2, "fit_intercept": True}
    model = kind(TreeOfOneSeed(), **settings).fit(X, Y)
    draw = oracle_draws(X, Y, tree, 2, 0.4, 0.3)
    expected = naive.boost(draw, range(4), Y, 5, shared=kind is MSSBoostClassifier, intercept=True)
    assert_array_equal(model.source_labels_, expected["slots"])
    assert_allclose(model.label_weights_, expected["weights"], rtol=1e-9, atol=1e-9)
    assert_allclose(model.loss_curve_, expected["losses"], rtol=1e-9)
    assert_allclose(model.decision_function(X), expected["F"], rtol=1e-9, atol=1e-9)


def test_none_is_our_setting_with_the_default_base_model_and_the_papers_with_another():
    X, Y = data()
    ours = MSSBoostClassifier(n_estimators=4, feature_ratio=0.5, random_state=0).fit(X, Y)
    assert_allclose(ours.intercepts_, np.log(Y.mean(axis=0) / (1 - Y.mean(axis=0))))
    assert ours.estimators_[0].max_vectors == "auto"
    same = MSSBoostClassifier(
        RbfSVC(max_vectors="auto"), n_estimators=4, feature_ratio=0.5, pool_size=39, fit_intercept=True, random_state=0
    )
    assert_array_equal(same.fit(X, Y).loss_curve_, ours.loss_curve_)
    papers = MSSBoostClassifier(RbfSVC(), n_estimators=4, feature_ratio=0.5, random_state=0).fit(X, Y)
    assert_array_equal(papers.intercepts_, 0.0)
    assert_array_equal(RSBagClassifier(n_estimators=4, random_state=0).fit(X, Y).intercepts_, 0.0)


@pytest.mark.long
@pytest.mark.parametrize("name", ["tree", "ours"])
@pytest.mark.parametrize(("data_ratio", "feature_ratio"), [("auto", "auto"), ("auto", 0.5), (0.3, "auto")])
def test_automatic_ratios(name, data_ratio, feature_ratio):
    estimator, expected_estimator, tolerance = MODELS[name]
    X, Y = data(n_rows=120, n_labels=2)
    model = RSBagClassifier(estimator, data_ratio=data_ratio, feature_ratio=feature_ratio, n_estimators=1).set_params(
        random_state=5
    )
    model.fit(X, Y)
    seed = int(check_random_state(5).randint(np.iinfo(np.int32).max))
    choices = [RATIOS if ratio == "auto" else (ratio,) for ratio in (data_ratio, feature_ratio)]
    (chosen, scores) = naive.smallest_ratios(X, Y, expected_estimator, seed, *choices)
    assert (model.data_ratio_, model.feature_ratio_) == chosen
    for pair, score in model.ratio_scores_.items():  # those that it tried, the smallest first
        assert_allclose(score, scores[pair], rtol=1e3 * tolerance)


def test_the_bag_is_boosting_with_the_weights_of_the_paper():
    """S2 section 4.1, remark: candidates in turn, weight 1 for their own label."""
    X, Y = data()
    common = {"n_estimators": 8, "data_ratio": 0.4, "feature_ratio": 0.3, "random_state": 1}
    bag = RSBagClassifier(**common).fit(X, Y)
    assert_array_equal(bag.label_weights_, np.eye(4)[np.arange(8) % 4])
    # The first candidates of the pool are those of the bag's first turn.
    boosted = NSBoostClassifier(significance=1.0, pool_size=4, **common).fit(X, Y)
    first_model = {label: boosted.estimators_[i] for i, label in reversed(list(enumerate(boosted.source_labels_)))}
    for label, model in first_model.items():
        assert_array_equal(model.support_vectors_, bag.estimators_[label].support_vectors_)


@given(seed=st.integers(0, 2**32 - 1), n_models=st.integers(1, 9), n_rows=st.integers(2, 50), skill=st.floats(0, 1))
def test_strength_and_correlation(seed, n_models, n_rows, skill):
    """S2 Theorem 1 (Breiman 2001, theorem 2.3): with the empirical measure its bound always holds."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    H = np.where(rng.random((n_models, n_rows)) < skill, 2 * y - 1, rng.choice([-1, 1], (n_models, n_rows)))
    ours = strength_and_correlation(H, 2 * y - 1)
    strength, correlation, bound = naive.strength_and_correlation(H, y)
    assert_allclose([ours.strength, ours.correlation], [strength, correlation], rtol=1e-9, atol=1e-12)
    if bound is None:
        assert not ours.strength > 0
        assert np.isnan(ours.bound)
    else:
        assert_allclose(ours.bound, bound, rtol=1e-9, atol=1e-12)
        assert ours.error <= bound + 1e-12
