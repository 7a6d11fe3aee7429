"""`predict` reads as few views as settle a row, and says what the full sum of votes says."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.boosting import ensemble
from fuselearn.data import View
from fuselearn.datasets import load_digit_views
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.learners import GaussianNB
from fuselearn.learners.protocol import ConstantHypothesis
from fuselearn.learners.score_learners import ScoreHypothesis
from fuselearn.numeric.votes import codes_of
from tests.naive import early_exit as naive

KINDS = [ShareBoostClassifier, IndependentBoostClassifier]
VOTES = {
    "as fitted": lambda rng, alphas: alphas,
    "any": lambda rng, alphas: rng.normal(size=len(alphas)),
    # Sums of these tie in rational numbers, and do or do not tie once rounded, as the order will have it.
    "tenths": lambda rng, alphas: rng.integers(-3, 7, size=len(alphas)) / 10,
    "equal": lambda rng, alphas: np.full(len(alphas), 0.1),
    "one view": lambda rng, alphas: np.where(np.arange(len(alphas)) == 0, 9.0, rng.normal(size=len(alphas))),
    "none": lambda rng, alphas: np.zeros(len(alphas)),
    "huge and tiny": lambda rng, alphas: rng.choice([1e16, 1.0, -1.0, 1e-16], size=len(alphas)),
}


class Problem:
    """A fitted model with votes of a chosen kind, and rows that lack some views, or all."""

    def __init__(self, seed, kind, learner, n_classes, n_views, n_rounds, absent, overlap, votes):
        rng = np.random.default_rng(seed)
        n = 60
        y = np.arange(n) % n_classes
        widths = rng.integers(1, 4, n_views)
        strength = rng.uniform(0.1, 1.5, n_views)
        X = np.hstack([rng.normal(size=(n, p)) + s * y[:, None] for p, s in zip(widths, strength)])
        ends = np.cumsum(widths)
        views = [list(range(end - p, end)) for p, end in zip(widths, ends.tolist())]
        if overlap and n_views > 1:
            views[-1] = [*views[-1], 0]
        model = kind(learner, views=views, n_estimators=n_rounds, learning_rate=0.5)
        if kind is ShareBoostClassifier:
            model.set_params(view_policy="uniform", random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoEdgeWarning)
            model.fit(X, y)
        model.estimator_weights_ = VOTES[votes](rng, model.estimator_weights_)
        if absent:
            for view in views:
                X[np.ix_(rng.random(n) < 0.35, view)] = np.nan
            X[:2] = np.nan
            X[rng.random(X.shape) < 0.05] = np.nan
        self.model, self.X, self.y, self.views = model, X, y, views

    def answers(self):
        """One list a row: the class that each round predicts, or None."""
        columns = [
            (hypothesis.predict(self.X[:, self.views[view]]), np.isnan(self.X[:, self.views[view]]).all(axis=1))
            for hypothesis, view in zip(self.model.estimators_, self.model.winning_views_)
        ]
        return [[None if lacks[i] else int(codes[i]) for codes, lacks in columns] for i in range(len(self.X))]


def problems(votes, max_rounds):
    return st.builds(
        Problem,
        seed=st.integers(0, 2**32 - 1),
        kind=st.sampled_from(KINDS),
        learner=st.sampled_from(["gaussian_nb", "stump", "linear", ["stump", "gaussian_nb"]]),
        n_classes=st.sampled_from([2, 3, 5]),
        n_views=st.sampled_from([1, 2, 3, 5]),
        n_rounds=st.integers(1, max_rounds),
        absent=st.booleans(),
        overlap=st.booleans(),
        votes=st.sampled_from(votes),
    )


def full(model, X):
    """Classes by all votes in the order of the rounds."""
    return model.classes_[codes_of(model.decision_function(X))]


@given(problems(sorted(VOTES), 12))
@settings(max_examples=3 * settings().max_examples)
def test_predicts_what_the_full_votes_say(problem):
    model, X = problem.model, problem.X
    assert_array_equal(model.predict(X), full(model, X))
    alphas, prior = model.estimator_weights_.tolist(), model.class_prior_.tolist()
    expected = [naive.predicted(answers, alphas, prior) for answers in problem.answers()]
    assert_array_equal(model.predict(X), model.classes_[expected])
    assert_array_equal([model.predict(row)[0] for row in X[:5, None]], model.predict(X)[:5])


@pytest.mark.long
@given(problems(["as fitted", "any", "one view"], 5))
@settings(max_examples=60)
def test_reads_no_view_too_many_and_none_too_few(problem):
    model = problem.model
    alphas, views = model.estimator_weights_.tolist(), model.winning_views_.tolist()
    order = naive.reading_order(alphas, views, len(problem.views))
    assert model.view_order_.tolist() == order
    used = model.views_used(problem.X)
    assert used.shape == (len(problem.X), len(problem.views))
    rows = list(range(0, len(problem.X), 3))
    answers = problem.answers()
    needed = [naive.views_needed(answers[i], alphas, views, order, len(model.classes_)) for i in rows]
    assert [set(np.flatnonzero(used[i])) for i in rows] == needed


@given(problems(["tenths", "equal", "none", "huge and tiny"], 5))
def test_ties_read_enough_views(problem):
    """Where rounding may matter a view more than needed in rational numbers may be read, and none less."""
    model = problem.model
    alphas, views = model.estimator_weights_.tolist(), model.winning_views_.tolist()
    used, answers = model.views_used(problem.X), problem.answers()
    for i in range(0, len(problem.X), 3):
        needed = naive.views_needed(answers[i], alphas, views, model.view_order_.tolist(), len(model.classes_))
        assert needed <= set(np.flatnonzero(used[i]))


@given(problems(sorted(VOTES), 12), st.sampled_from(["absent", "other values"]))
def test_what_is_not_used_does_not_matter(problem, instead):
    model, X = problem.model, problem.X
    used = model.views_used(X)
    keep = np.zeros(X.shape, dtype=bool)
    for view, needed in zip(problem.views, used.T):
        keep[np.ix_(needed, view)] = True
    # Views that a row lacks stay absent: to measure them might change the outcome.
    lacks = np.isnan(X)
    other = np.where(lacks, np.nan, np.random.default_rng(0).normal(scale=9, size=X.shape))
    changed = np.where(keep, X, np.nan if instead == "absent" else other)
    assert_array_equal(model.predict(changed), model.predict(X))
    assert not (used & np.column_stack([lacks[:, view].all(axis=1) for view in problem.views])).any()


@pytest.mark.long
@given(problems(sorted(VOTES), 12), st.sampled_from([1, 2]))
def test_blocks_and_threads_do_not_matter(problem, n_jobs):
    model, X = problem.model, problem.X
    results = [getattr(model, name)(X) for name in ("predict", "views_used", "decision_function", "predict_proba")]
    margins = model.margins(X, problem.y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ensemble, "CHUNK_ROWS", 7)
        patch.setattr(ensemble, "VOTERS_AT_A_TIME", 2)
        patch.setattr(ensemble, "BLOCK_ROWS", 21)
        model.set_params(n_jobs=n_jobs)
        for name, whole in zip(("predict", "views_used", "decision_function", "predict_proba"), results):
            assert_array_equal(getattr(model, name)(X), whole)
        assert_array_equal(model.margins(X, problem.y), margins)


def constant_votes(rounds, n_classes=2):
    """A model whose round t says, on its view, always the same: rounds are (view, class code, alpha)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model = ShareBoostClassifier(views=[[0], [1], [2]], n_estimators=1).fit(X, np.arange(40) % n_classes)
    plan = model.estimators_[0].plan
    model.estimators_ = [None if code is None else ConstantHypothesis(plan, code) for _, code, _ in rounds]
    model.winning_views_ = np.array([view for view, _, _ in rounds])
    model.estimator_weights_ = np.array([alpha for _, _, alpha in rounds])
    return model, X


def test_the_order_of_the_rounds_decides_rounded_ties():
    # 0.1 + 0.2 + 0.3 is above 0.6 in this order only; views are read in another.
    assert 0.1 + 0.2 + 0.3 > 0.6 >= 0.3 + 0.2 + 0.1
    model, X = constant_votes([(0, 1, 0.1), (1, 1, 0.2), (2, 1, 0.3), (0, 0, 0.6)])
    assert model.predict(X[:1]) == 1
    model, X = constant_votes([(2, 1, 0.3), (1, 1, 0.2), (0, 1, 0.1), (0, 0, 0.6)])
    assert model.predict(X[:1]) == 0
    assert model.views_used(X).all()


def test_a_true_tie_goes_to_the_first_class():
    model, X = constant_votes([(0, 2, 0.5), (1, 1, 0.5)], n_classes=3)
    assert_array_equal(model.predict(X), 1)
    assert_array_equal(model.views_used(X), [[True, True, False]] * 40)


def test_votes_against_a_class_are_counted():
    # The last view may still vote against the leader, which brings it below the others.
    model, X = constant_votes([(0, 1, 1.0), (1, 1, -0.9), (2, 0, 0.05)])
    assert_array_equal(model.predict(X), 1)
    assert_array_equal(model.views_used(X), [[True, False, False]] * 40)
    model, X = constant_votes([(0, 1, 1.0), (1, 1, -0.9), (2, 0, 0.15)])
    assert_array_equal(model.predict(X), 0)
    assert model.views_used(X).all()


def test_a_vote_of_weight_zero_counts_as_a_vote():
    """A row that is seen by hypotheses without weight is a tie, not one for the prior."""
    model, X = constant_votes([(0, 1, 0.0)])
    model.class_prior_ = np.array([0.2, 0.8])
    assert_array_equal(model.predict(X), 0)
    X[:, 0] = np.nan
    assert_array_equal(model.predict(X), 1)
    assert not model.views_used(X).any()


def test_a_round_without_a_hypothesis_has_no_vote():
    model, X = constant_votes([(0, 0, 0.2), (1, None, 0.5), (2, 1, 0.1)])
    assert model.view_order_.tolist() == [0, 2]
    assert_array_equal(model.views_used(X), [[True, False, False]] * 40)


def test_absent_views_are_not_waited_for():
    model, X = constant_votes([(0, 0, 0.5), (1, 1, 0.4), (2, 1, 0.3)])
    X[0, 2] = np.nan  # 0.5 against 0.4 at most: view 0 settles it
    X[1, :2] = np.nan
    X[2] = np.nan
    assert_array_equal(model.views_used(X)[:4], [[1, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1]])
    assert_array_equal(model.predict(X), full(model, X))


def test_only_open_rows_are_prepared():
    X, views, y = load_digit_views(return_tuple=True)
    model = ShareBoostClassifier("stump", views=views, n_estimators=60).fit(X, y >= 5)
    prepared = np.zeros(4, dtype=int)

    def counting(number):
        def count(rows):
            prepared[number] += len(rows)
            return rows

        return FunctionTransformer(count)

    model.preprocessors_ = [counting(number) for number in range(4)]
    model.predict(X)
    read = prepared.copy()
    used = model.views_used(X)
    assert_array_equal(read, used.sum(axis=0))
    assert read.min() < len(X) == read.max()
    assert_array_equal(model.predict(X), full(model, X))


def test_gaps_in_a_view_that_is_not_needed_do_not_matter():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 4)) + [3, 3, 0.3, 0.3] * y[:, None]
    model = ShareBoostClassifier(LinearDiscriminantAnalysis(), views=[[0, 1], [2, 3]], view_policy="round_robin")
    model.set_params(n_estimators=2, random_state=0).fit(X, y)
    assert model.n_iter_ == 2
    used = model.views_used(X)
    assert used[:, 0].all()
    assert not used[:, 1].any()
    X[5, 3] = np.nan
    model.predict(X)
    with pytest.raises(ValueError, match="view1"):
        model.decision_function(X)
    X[5, :2] = np.nan
    with pytest.raises(ValueError, match="view1"):
        model.predict(X)


def test_the_company_of_rows_with_gaps_does_not_matter():
    """On the edge between two classes the last bit decides, and gaps elsewhere change how it is rounded."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7))
    model = ShareBoostClassifier(n_estimators=1).fit(X, np.arange(60) % 2)
    plan = GaussianNB().plan(View("", X, np.arange(7), None), None)
    company = X[1:].copy()
    company[::2, 3] = np.nan
    for _ in range(30):
        forms = rng.normal(size=(3, 1, 7))
        low, high = -1e3, 1e3
        for _ in range(70):
            middle = (low + high) / 2
            says = ScoreHypothesis(plan, *forms, np.array([middle])).predict(X[:1])[0]
            low, high = (low, middle) if says else (middle, high)
        for constant in (low, high):
            model.estimators_ = [ScoreHypothesis(plan, *forms, np.array([constant]))]
            alone = model.decision_function(X[:1])[0]
            assert model.decision_function(np.vstack([X[:1], company]))[0] == alone
            assert model.predict(np.vstack([X[:1], company]))[0] == (alone > 0)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", ["gaussian_nb", "stump", "tree"])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_digits(kind, learner, n_classes):
    X, views, y = load_digit_views(return_tuple=True)
    labels = y if n_classes == 10 else y >= 5
    model = kind(learner, views=views, n_estimators=25).fit(X[:600], labels[:600])
    for table in (X, np.asfortranarray(X), X.astype(np.float32).astype(np.float64), pd.DataFrame(X).to_numpy()):
        assert_array_equal(model.predict(table), full(model, table))
    strengths = np.bincount(model.winning_views_, np.abs(model.estimator_weights_), minlength=4)
    assert (np.diff(strengths[model.view_order_]) <= 0).all()
    used = model.views_used(X)
    # Views are read one after the other, so who needs a view needs those before it.
    assert (np.diff(used[:, model.view_order_].astype(int), axis=1) <= 0).all()
    assert used[:, model.view_order_[0]].all()


def test_memory_does_not_grow_with_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120_000, 12))
    y = np.arange(400) % 2
    model = ShareBoostClassifier("stump", views=[slice(0, 6), slice(6, 12)], n_estimators=10).fit(X[:400], y)

    def extra_bytes(method, n_rows):
        tracemalloc.start()
        result = method(X[:n_rows])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak - result.nbytes

    for method in (model.decision_function, model.predict_proba):
        method(X[:10])  # what is compiled or imported on the first call is not the rows'
        assert extra_bytes(method, 120_000) < 1.2 * extra_bytes(method, 20_000)
    for method in (model.predict, model.views_used):
        method(X[:10])
        # The class codes, of 8 bytes a row, become classes.
        assert extra_bytes(method, 120_000) - 8 * 120_000 < 1.2 * extra_bytes(method, 20_000)


def test_not_fitted():
    model = ShareBoostClassifier()
    with pytest.raises(NotFittedError):
        model.views_used([[0.0]])
    with pytest.raises(NotFittedError):
        _ = model.view_order_
    assert not hasattr(model, "view_order_")
