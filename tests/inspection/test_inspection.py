"""Numbers about fitted models, against slow versions and known answers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fuselearn
from fuselearn import (
    AugmentedKernelClassifier,
    ConcatenatedClassifier,
    FusionClassifier,
    IndependentBoostClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    ShareBoostClassifier,
    SuperKernelClassifier,
    TomographicClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from fuselearn.inspection import (
    correspondence,
    margin_distribution,
    missingness,
    redundancy,
    suspects,
    view_importance,
)
from fuselearn.inspection.margins import staged_margins

VIEWS = {"signal": slice(0, 3), "noise": slice(3, 8), "weak": slice(8, 10)}
COLUMNS = {"signal": range(3), "noise": range(3, 8), "weak": range(8, 10)}
MODELS = {
    "share": ShareBoostClassifier(views=VIEWS, n_estimators=12),
    "exp3p": ShareBoostClassifier(views=VIEWS, n_estimators=30, view_policy="exp3p", random_state=0),
    "independent": IndependentBoostClassifier(views=VIEWS, n_estimators=12),
    "voting": ViewVotingClassifier(LogisticRegression(), views=VIEWS, voting="sum"),
    "stacking": ViewStackingClassifier(LogisticRegression(), views=VIEWS, stack_method="decision_function"),
    "concatenated": ConcatenatedClassifier(LogisticRegression(), views=VIEWS),
    "takes NaN": ConcatenatedClassifier(HistGradientBoostingClassifier(max_iter=10), views=VIEWS),
    "super kernel": SuperKernelClassifier(views=VIEWS),
    "mkl": MKLClassifier(views=VIEWS, kernel="linear", weights="mkl"),
    "tomographic": TomographicClassifier(views=VIEWS, random_state=0),
    "augmented": AugmentedKernelClassifier(views=VIEWS),
}


def make_rows(n=240, n_classes=2, seed=0):
    """One view that tells the classes, one of pure noise, one that tells a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, 10))
    X[:, :3] += 1.6 * np.eye(n_classes, 3)[y]
    X[:, 8] += 0.4 * y
    return X, y


@pytest.fixture(scope="module")
def rows():
    return make_rows()


@pytest.fixture(scope="module")
def fitted(rows):
    X, y = rows
    return {name: model.fit(X[:120], y[:120]) for name, model in MODELS.items()}


@pytest.fixture(scope="module")
def labelled():
    """Several labels that follow from two of the views."""
    X, _ = make_rows(300)
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0, X[:, 8] > 0.2]).astype(int)
    settings = {"n_estimators": 30, "feature_ratio": 1.0, "data_ratio": 0.5, "random_state": 0}
    return X, Y, MSSBoostClassifier(LogisticRegression(), views=VIEWS, **settings).fit(X[:150], Y[:150])


# What a view is worth


def test_share_is_what_boosting_recorded(fitted):
    for name in ("share", "exp3p", "independent"):
        found = view_importance(fitted[name])
        np.testing.assert_array_equal(found.mean, fitted[name].view_importances_)
        assert found.baseline is None
        assert found.per_repeat.shape == (1, 3)
        np.testing.assert_array_equal(found.std, 0)


def test_share_of_kernels_is_that_of_their_weights(fitted):
    weights = fitted["mkl"].kernel_weights_
    np.testing.assert_allclose(view_importance(fitted["mkl"]).mean, weights / weights.sum())


def test_share_of_several_labels_is_the_mean_of_theirs(labelled):
    _, _, model = labelled
    shares = np.zeros((3, 3))
    for weights, features in zip(model.label_weights_, model.estimators_features_):
        [view] = [number for number, columns in enumerate(COLUMNS.values()) if set(features) <= set(columns)]
        shares[:, view] += np.abs(weights)
    expected = np.mean([label / label.sum() for label in shares], axis=0)
    found = view_importance(model)
    np.testing.assert_allclose(found.mean, expected)
    np.testing.assert_allclose(found.mean.sum(), 1)
    assert found.mean[1] < min(found.mean[0], found.mean[2])


def test_share_of_overlapping_views_is_split():
    X, _ = make_rows(100)
    Y = np.column_stack([X[:, 0] + X[:, 3] > 0, X[:, 3] > 0]).astype(int)
    views = [slice(0, 3), slice(0, 3), slice(3, 6)]
    model = MSSBoostClassifier(LogisticRegression(), views=views, n_estimators=9, feature_ratio=1.0, random_state=0)
    model.fit(X, Y)
    shares = []
    for weights in np.abs(model.label_weights_).T:
        alone = sum(weight for weight, columns in zip(weights, model.estimators_features_) if columns[0] == 3)
        shares.append([(1 - alone / weights.sum()) / 2] * 2 + [alone / weights.sum()])
    assert 0 < shares[0][2] < 1
    np.testing.assert_allclose(view_importance(model).mean, np.mean(shares, axis=0))


@pytest.mark.parametrize("name", ["voting", "stacking", "concatenated", "super kernel"])
def test_what_a_model_lacks_is_named(fitted, name):
    with pytest.raises(ValueError, match=r"has no view_importances_; use method='drop'"):
        view_importance(fitted[name])


@pytest.mark.parametrize("name", MODELS)
def test_drop_and_permutation_are_the_slow_ones(fitted, rows, name):
    model = fitted[name]
    X, y = rows[0][120:], rows[1][120:]
    dropped = view_importance(model, X, y, method="drop")
    assert dropped.baseline == model.score(X, y)
    for number, columns in enumerate(COLUMNS.values()):
        without = X.copy()
        without[:, columns] = np.nan
        assert dropped.mean[number] == pytest.approx(model.score(X, y) - model.score(without, y), abs=1e-12)
    shuffled = view_importance(model, X, y, method="permutation", n_repeats=3, random_state=0)
    assert shuffled.per_repeat.shape == (3, 3)
    np.testing.assert_allclose(shuffled.mean, shuffled.per_repeat.mean(axis=0))
    np.testing.assert_allclose(shuffled.std, shuffled.per_repeat.std(axis=0))
    signal, noise, weak = shuffled.mean
    assert signal > 0.1
    assert signal > weak
    assert abs(noise) < 0.06


def test_permutation_of_a_view_is_of_whole_rows():
    """Two columns that tell the class together and not apart: shuffled one by one, other rows would come about."""
    seen = []

    class Spy(ShareBoostClassifier):
        def predict(self, X):
            seen.append(np.array(X))
            return super().predict(X)

    X, y = make_rows(60)
    model = Spy(views=VIEWS, n_estimators=3).fit(X, y)
    view_importance(model, X, y, method="permutation", n_repeats=2, random_state=0)
    original, *changed = seen
    assert len(changed) == 6
    for number, table in enumerate(changed):
        columns = list(COLUMNS.values())[number % 3]
        others = np.setdiff1d(range(10), columns)
        np.testing.assert_array_equal(table[:, others], original[:, others])
        assert not np.array_equal(table[:, columns], original[:, columns])
        assert sorted(map(tuple, table[:, columns])) == sorted(map(tuple, original[:, columns]))
    assert not np.array_equal(changed[0], changed[3])


def test_a_view_of_pure_noise_is_worth_nothing():
    X, y = make_rows(3000)
    model = ConcatenatedClassifier(LogisticRegression(), views=VIEWS).fit(X[:1500], y[:1500])
    found = view_importance(model, X[1500:], y[1500:], method="permutation", n_repeats=10, random_state=0)
    assert abs(found.mean[1]) < 0.01
    assert found.mean[0] > 0.2
    assert [record["view"] for record in found.records()] == ["signal", "weak", "noise"]


def test_models_that_take_no_nan_get_column_means(labelled):
    X, Y, model = labelled
    found = view_importance(model, X[150:], Y[150:], method="drop")
    without = X[150:].copy()
    without[:, 0:3] = without[:, 0:3].mean(axis=0)
    before, after = (np.mean(model.predict(table) == Y[150:]) for table in (X[150:], without))
    assert found.baseline == pytest.approx(before)
    assert found.mean[0] == pytest.approx(before - after)
    assert found.mean[0] > 0.1


def test_importance_is_the_same_for_any_number_of_threads(fitted, rows):
    settings = {"method": "permutation", "random_state": 3}
    one, two = (view_importance(fitted["share"], *rows, n_jobs=n_jobs, **settings) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.per_repeat, two.per_repeat)
    other = view_importance(fitted["share"], *rows, method="permutation", random_state=4)
    assert not np.array_equal(one.per_repeat, other.per_repeat)


def test_scoring_is_what_scikit_learn_takes(fitted, rows):
    X, y = rows
    named = view_importance(fitted["share"], X, y, method="drop", scoring="roc_auc")
    assert named.baseline > fitted["share"].score(X, y)
    own = view_importance(fitted["share"], X, y, method="drop", scoring=lambda model, X, y: 7.0)
    np.testing.assert_array_equal(own.mean, 0)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("name", ["share", "voting", "mkl"])
def test_data_frames_give_the_same_numbers(frame, name):
    X, y = make_rows(120, seed=1)
    names = [f"column {number}" for number in range(10)]
    table = frame(dict(zip(names, X.T)))
    views = {view: [names[column] for column in columns] for view, columns in COLUMNS.items()}
    model = MODELS[name].__class__(**{**MODELS[name].get_params(deep=False), "views": views}).fit(table, y)
    plain = MODELS[name].__class__(**MODELS[name].get_params(deep=False)).fit(X, y)
    for method in ("drop", "permutation"):
        ours, expected = (
            view_importance(one, rows, y, method=method, random_state=0) for one, rows in ((model, table), (plain, X))
        )
        np.testing.assert_allclose(ours.mean, expected.mean)
    np.testing.assert_allclose(redundancy(model, table).matrix, redundancy(plain, X).matrix)
    np.testing.assert_allclose(margin_distribution(model, table, y), margin_distribution(plain, X, y))
    assert suspects(model, table, y, n=5) == suspects(plain, X, y, n=5)
    assert missingness(model, table).records() == missingness(plain, X).records()
    assert list(model.feature_names_in_) == names  # the model has not forgotten them
    labels = pd.Series(np.where(y == 1, "well", "ill"))
    told = MODELS[name].__class__(**{**MODELS[name].get_params(deep=False), "views": views}).fit(table, labels)
    np.testing.assert_allclose(margin_distribution(told, table, labels), margin_distribution(model, table, y))
    assert {record["given"] for record in suspects(told, table, labels, n=120)} == {"ill", "well"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "shap"}, "method must be one of"),
        ({"method": "drop"}, "method='drop' needs held-out X and y"),
        ({"method": "permutation", "n_repeats": 0}, "n_repeats must be an integer of at least 1; got 0"),
        ({"n_jobs": 0}, "n_jobs must be None"),
        ({"method": "drop", "scoring": "accurracy"}, "a name that scikit-learn knows; got 'accurracy'"),
        ({"method": "drop", "scoring": 3}, "scoring must be None, a name or a function"),
    ],
)
def test_importance_refuses(fitted, arguments, message):
    with pytest.raises(ValueError, match=message):
        view_importance(fitted["share"], **arguments)


def test_other_models_and_rows_are_refused(fitted, rows, labelled):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), MODELS["share"]).fit(X, y)
    with pytest.raises(ValueError, match="Pipeline has no view_names_; model must be a fitted classifier of fuselearn"):
        view_importance(pipeline)
    with pytest.raises(ValueError, match="SVC has no view_names_"):
        redundancy(SVC().fit(X, y), X)
    with pytest.raises(ValueError, match="X has 9 features, but ShareBoostClassifier is expecting 10"):
        margin_distribution(fitted["share"], X[:, :9], y)
    with pytest.raises(ValueError, match=r"y must have shape \(240,\)"):
        view_importance(fitted["share"], X, y[:9], method="drop")
    with pytest.raises(ValueError, match="labels that are not among the classes: 7"):
        view_importance(fitted["share"], X, np.where(y == 1, 7, 0), method="drop")
    with pytest.raises(ValueError, match=r"y must have shape \(300, 3\)"):
        margin_distribution(labelled[2], labelled[0], labelled[1][:, 0])
    with pytest.raises(ValueError, match="holds 0 and 1 only"):
        suspects(labelled[2], labelled[0], 2 * labelled[1])
    consensus = LabelConsensus(LogisticRegression(), views=VIEWS, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="LabelConsensus has no predict_proba"):
        suspects(consensus, X, y)


# How alike views are


def naive_alignment(A, B):
    """Debiased CKA from whole kernel matrices, term by term (Song et al. equation 5)."""

    def hsic(K, L):
        n = len(K)
        K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
        ones = np.ones(n)
        first = np.trace(K @ L)
        second = (ones @ K @ ones) * (ones @ L @ ones) / ((n - 1) * (n - 2))
        third = 2 / (n - 2) * (ones @ K @ L @ ones)
        return (first + second - third) / (n * (n - 3))

    A, B = ((table - table.mean(axis=0)) / table.std(axis=0) for table in (A, B))
    K, L = A @ A.T, B @ B.T
    return max(hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L)), 0.0)


@pytest.mark.parametrize("widths", [(3, 4), (60, 5), (60, 90)])
def test_redundancy_is_the_slow_one(widths):
    rng = np.random.default_rng(sum(widths))
    A = rng.normal(size=(40, widths[0]))
    B = 0.4 * A[:, :1] + rng.normal(size=(40, widths[1])) * 3 + 100
    found = redundancy([slice(0, widths[0]), slice(widths[0], None)], np.hstack([A, B]))
    assert found.matrix[0, 1] == pytest.approx(naive_alignment(A, B), abs=1e-10)
    np.testing.assert_array_equal(found.matrix, found.matrix.T)
    np.testing.assert_array_equal(np.diag(found.matrix), 1)


def test_a_copy_is_redundant_and_noise_is_not():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 4))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    whitened = (A - A.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(A.T, ddof=0)).T)
    X = np.hstack([A, A, 1e6 - 5 * A, rng.normal(size=(80, 500)), np.ones((80, 2)), whitened, whitened @ turn])
    views = [slice(0, 4), slice(4, 8), slice(8, 12), slice(12, 512), slice(512, 514), slice(514, 518), slice(518, None)]
    matrix = redundancy(views, X).matrix
    assert matrix[0, 1] == matrix[0, 2] == 1.0
    assert matrix[0, 3] < 0.15
    np.testing.assert_array_equal(matrix[4], [0, 0, 0, 0, 1, 0, 0])
    assert matrix[5, 6] == pytest.approx(1.0, abs=1e-9)
    assert ((matrix >= 0) & (matrix <= 1)).all()


def test_redundancy_is_of_rows_that_have_both():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 3))
    B = A + rng.normal(size=(50, 3))
    X = np.hstack([A, B, A])
    X[:20, 3:6] = np.nan
    X[3:, 6:] = np.nan
    found = redundancy({"a": slice(0, 3), "b": slice(3, 6), "c": slice(6, 9)}, X)
    assert found.matrix[0, 1] == pytest.approx(naive_alignment(A[20:], B[20:]))
    assert np.isnan(found.matrix[0, 2])
    assert np.isnan(found.matrix[1, 2])
    np.testing.assert_array_equal(found.n_rows, [[50, 30, 3], [30, 30, 0], [3, 0, 3]])
    records = found.records()
    assert records[0]["first"] == "a"
    assert records[0]["second"] == "b"
    assert records[1] == {"first": "a", "second": "c", "redundancy": None, "rows": 3}


def test_many_rows_are_sampled_alike(monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6000, 3))
    X = np.hstack([A, A + rng.normal(size=(6000, 3))])
    views = [slice(0, 3), slice(3, 6)]
    everybody = redundancy(views, X)
    monkeypatch.setattr("fuselearn.inspection.redundancy.MOST_ROWS", 3000)
    some = redundancy(views, X)
    assert some.matrix[0, 1] != everybody.matrix[0, 1]
    assert some.matrix[0, 1] == pytest.approx(everybody.matrix[0, 1], abs=0.03)
    assert redundancy(views, X).matrix[0, 1] == some.matrix[0, 1]
    assert some.n_rows[0, 1] == 6000


def test_gaps_count_as_the_mean_of_their_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X[:, 3:] += X[:, :3]
    with_gap = X.copy()
    with_gap[4, 1] = np.nan
    filled = X.copy()
    filled[4, 1] = np.delete(X[:, 1], 4).mean()
    views = [slice(0, 3), slice(3, 6)]
    assert redundancy(views, with_gap).matrix[0, 1] == pytest.approx(redundancy(views, filled).matrix[0, 1])


# Margins


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins(name, n_classes):
    X, y = make_rows(150, n_classes, seed=2)
    model = MODELS[name].__class__(**MODELS[name].get_params(deep=False)).fit(X[:100], y[:100])
    margins = margin_distribution(model, X[100:], y[100:])
    assert margins.shape == (50,)
    assert np.abs(margins).max() <= 1
    right = model.predict(X[100:]) == y[100:]
    clear = np.abs(margins) > 1e-9
    np.testing.assert_array_equal(margins[clear] > 0, right[clear])
    if hasattr(model, "margins"):
        np.testing.assert_array_equal(margins, model.margins(X[100:], y[100:]))
    else:
        for margin, chances, label in zip(margins, model.predict_proba(X[100:]), y[100:]):
            assert margin == pytest.approx(chances[label] - max(np.delete(chances, label)))


@pytest.fixture(scope="module")
def unequal():
    rng = np.random.default_rng(1)
    y = rng.choice(3, size=500, p=[0.8, 0.15, 0.05])
    X = rng.normal(size=(500, 10))
    X[:, 0] += y == 1
    X[:, 4] += 2 * (y == 2)
    return X, y, FusionClassifier(views=VIEWS, max_fits=6, random_state=0).fit(X[:250], y[:250])


def test_margins_of_unequal_classes_are_positive_where_the_class_is_predicted(unequal):
    X, y, model = unequal
    predicted = model.predict(X)
    assert (predicted != model.predict_proba(X).argmax(axis=1)).any()  # what this test is about
    margins = margin_distribution(model, X, y)
    np.testing.assert_array_equal(margins > 0, predicted == y)
    assert np.abs(margins).max() <= 1
    np.testing.assert_allclose(margin_distribution(model, X[:7], y[:7]), margins[:7])


def test_a_label_that_would_be_predicted_is_not_suspect(unequal):
    X, y, model = unequal
    predicted, chances = model.predict(X), model.predict_proba(X)
    doubt = 1 - chances[np.arange(len(y)), y]
    expected = np.flatnonzero((doubt > 0.5) & (predicted != y))
    assert len(expected) < np.sum(doubt > 0.5)
    found = suspects(model, X, y)
    assert sorted(record["row"] for record in found) == expected.tolist()
    assert suspects(model, X, y, n=len(expected)) == found
    assert len(suspects(model, X, y, n=500)) == 500


def test_margins_of_several_labels(labelled):
    X, Y, model = labelled
    expected = np.zeros(len(X))
    decision = model.decision_function(X)
    for row in range(len(X)):
        for label in range(3):
            total = np.abs(model.label_weights_[:, label]).sum()
            expected[row] += (1 if Y[row, label] else -1) * decision[row, label] / total / 3
    np.testing.assert_allclose(margin_distribution(model, X, Y), expected)
    staged = staged_margins(model, X, Y, [1, 30])
    np.testing.assert_allclose(staged[1], expected)
    first = np.abs(model.label_weights_[0])
    one = next(iter(model.staged_decision_function(X)))
    by_label = np.where(Y == 1, one, -one) / np.where(first > 0, first, np.inf)
    np.testing.assert_allclose(staged[0], by_label.mean(axis=1))


def test_margins_of_one_label():
    X, y = make_rows(100)
    labels = np.where(y == 1, "yes", "no")
    model = MSSBoostClassifier(LogisticRegression(), n_estimators=5, feature_ratio=1.0, random_state=0).fit(X, labels)
    margins = margin_distribution(model, X, labels)
    np.testing.assert_array_equal(margins > 0, model.predict(X) == labels)
    assert suspects(model, X, labels, n=1)[0]["column"] == "y"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_staged_margins_end_where_margins_do(n_classes):
    X, y = make_rows(150, n_classes)
    X[:40, :3] = np.nan
    X[40:60, 3:] = np.nan
    model = ShareBoostClassifier(views=VIEWS, n_estimators=15).fit(X, y)
    X[0] = np.nan  # nobody hears of it: margin 0
    staged = staged_margins(model, X, y, range(1, model.n_iter_ + 1))
    np.testing.assert_allclose(staged[-1], model.margins(X, y), atol=1e-12)
    for margins in staged:
        assert np.abs(margins).max() <= 1 + 1e-12
        assert margins[0] == 0
    # After the first round a row is all right, all wrong, or not heard of.
    assert set(np.unique(staged[0].round(9))) <= {-1.0, 0.0, 1.0}
    unheard = np.isnan(X[:, list(COLUMNS.values())[model.winning_views_[0]]]).all(axis=1)
    np.testing.assert_array_equal(staged[0] == 0, unheard)


# Labels that are not believed


def test_suspects_are_labels_the_model_does_not_believe(fitted, rows):
    X, y = rows[0][120:], rows[1][120:].copy()
    sure = np.argsort(-np.abs(fitted["share"].decision_function(X)))
    right = fitted["share"].predict(X) == y
    flipped = sure[right[sure]][:3]
    y[flipped] = 1 - y[flipped]
    ids = [f"patient {row}" for row in range(120)]
    found = suspects(fitted["share"], X, y, ids=ids)
    chances = fitted["share"].predict_proba(X)
    expected = [row for row in range(120) if chances[row, y[row]] < 0.5]
    assert sorted(record["row"] for record in found) == expected
    assert set(flipped) <= {record["row"] for record in found}
    doubts = [record["probability"] for record in found]
    assert doubts == sorted(doubts, reverse=True)
    for record in found:
        row = record["row"]
        assert record == {
            "row": row,
            "id": f"patient {row}",
            "column": "y",
            "given": y[row],
            "proposed": 1 - y[row],
            "probability": pytest.approx(chances[row, 1 - y[row]]),
        }
        assert type(record["given"]) is int
    assert suspects(fitted["share"], X, y, n=2, ids=ids) == found[:2]
    assert len(suspects(fitted["share"], X, y, n=500)) == 120
    assert suspects(fitted["share"], X, y, n=0) == []
    assert "id" not in suspects(fitted["share"], X, y, n=1)[0]


def test_nothing_speaks_against_the_label_of_a_row_without_views(fitted, rows):
    X, y = rows[0][120:].copy(), rows[1][120:]
    X[:10] = np.nan
    assert len(suspects(fitted["share"], X, y, n=500)) == 110
    assert min(record["row"] for record in suspects(fitted["share"], X, y, n=500)) == 10


def test_suspects_of_several_labels(labelled):
    X, Y, model = labelled
    Y = Y.copy()
    row = int(np.abs(model.decision_function(X)).min(axis=1).argmax())
    Y[row, 2] = 1 - Y[row, 2]
    chances = model.predict_proba(X)
    found = suspects(model, X, Y)
    assert len(found) == np.sum(np.where(Y == 1, chances, 1 - chances) < 0.5)
    record = next(record for record in found if (record["row"], record["column"]) == (row, "label2"))
    assert record["given"] == Y[row, 2]
    assert record["proposed"] == 1 - Y[row, 2]


def test_suspects_refuse(fitted, rows):
    with pytest.raises(ValueError, match="n must be an integer of at least 0; got -1"):
        suspects(fitted["share"], *rows, n=-1)
    with pytest.raises(ValueError, match="ids must name each of the 240 rows of X"):
        suspects(fitted["share"], *rows, ids=["a"])


# Which rows have which views


def test_missingness_is_counted(fitted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10))
    for view in COLUMNS.values():
        X[np.ix_(rng.random(60) < 0.3, view)] = np.nan
    X[rng.random(X.shape) < 0.05] = np.nan
    found = missingness(fitted["share"], X)
    patterns = {}
    for row in X:
        here = tuple(name for name, columns in COLUMNS.items() if not np.isnan(row[list(columns)]).all())
        patterns[here] = patterns.get(here, 0) + 1
    assert {tuple(pattern["views"]): pattern["rows"] for pattern in found.patterns} == patterns
    assert [pattern["rows"] for pattern in found.patterns] == sorted(patterns.values(), reverse=True)
    assert sum(pattern["share"] for pattern in found.patterns) == pytest.approx(1)
    for record, (name, columns) in zip(found.records(), COLUMNS.items()):
        block = X[:, columns]
        there = ~np.isnan(block).all(axis=1)
        assert record["view"] == name
        assert record["columns"] == len(columns)
        assert record["present"] == pytest.approx(there.mean())
        assert record["gaps"] == pytest.approx(np.isnan(block[there]).mean())
    assert found.n_rows == 60
    assert missingness(VIEWS, X).records() == found.records()


def test_missingness_of_views_that_nobody_has():
    found = missingness(None, np.full((3, 2), np.nan))
    assert found.records() == [{"view": "view0", "columns": 2, "present": 0.0, "gaps": 0.0}]
    assert found.patterns == [{"views": [], "rows": 3, "share": 1.0}]


# What was put together of unmatched views


@pytest.fixture(scope="module")
def unmatched():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 12)
    points = rng.normal(size=(24, 2)) + 2 * y[:, None]
    sources = {"first": (points[:, :1], y), "second": (points[::-1, 1:], y[::-1])}
    X, views, y = fuselearn.stack_unpaired(sources)
    return X, TomographicClassifier(views=views, random_state=0).fit(X, y)


def test_correspondence_shows_rows_that_were_put_together(unmatched):
    X, model = unmatched
    found = correspondence(model, X, label=1)
    expected = [[X[first, 0], X[second, 1]] for first, second in model.meta_objects_]
    np.testing.assert_array_equal(found.meta_objects, expected)
    np.testing.assert_array_equal(found.objects[0], X[:24, 0])
    np.testing.assert_array_equal(found.object_rows[1], range(24, 48))
    of_class = X[12:24, 0]
    apart = [(a - b) ** 2 for i, a in enumerate(of_class) for b in of_class[:i]]
    np.testing.assert_allclose(found.distances[0], np.sort(apart) / model.kernel_scales_[0], atol=1e-9)
    assert set(found.bands) <= set(found.distances[0])
    assert found.bands[-1] == found.distances[0][-1]
    across, up, leads = found.boundary
    point = np.array([[across[7], up[90]]])
    assert leads[1, 90, 7] == pytest.approx(2 * model.decision_function(point)[0])


def test_views_of_several_columns_lie_along_their_first_component(rows):
    X, y = rows
    model = TomographicClassifier(views=VIEWS, random_state=0).fit(X, y)
    found = correspondence(model, X, views=["noise", "signal"])
    centred = X[:, :3] - X[:, :3].mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    expected = u[:, 0] * s[0] / np.sqrt(model.kernel_scales_[0])
    np.testing.assert_allclose(np.abs(found.objects[1]), np.abs(expected), atol=1e-8)
    assert found.boundary is None


def test_correspondence_refuses(unmatched, fitted, rows):
    X, model = unmatched
    with pytest.raises(ValueError, match="MKLClassifier has no meta_objects_"):
        correspondence(fitted["mkl"], rows[0])
    with pytest.raises(ValueError, match="X must be the rows that the model was fitted on"):
        correspondence(model, X[::-1])
    with pytest.raises(ValueError, match="X must be the rows that the model was fitted on"):
        correspondence(model, X[:30])
    with pytest.raises(ValueError, match=r"views must be two of \['first', 'second'\]"):
        correspondence(model, X, views=["first", "third"])
    with pytest.raises(ValueError, match=r"label must be one of the classes \[0, 1\]; got 5"):
        correspondence(model, X, label=5)


def test_inspection_is_a_room():
    assert fuselearn.inspection.view_importance is view_importance
    assert all(hasattr(fuselearn.inspection, name) for name in fuselearn.inspection.__all__)
