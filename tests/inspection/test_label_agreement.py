"""Margins and suspect labels, against slow versions and known answers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from fuselearn import MSSBoostClassifier, ShareBoostClassifier
from fuselearn.inspection import margin_distribution, suspects
from fuselearn.inspection.label_agreement import staged_margins
from tests.inspection.example_models import COLUMNS, MODELS, VIEWS, make_rows


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins(name, n_classes):
    X, y = make_rows(150, n_classes, seed=2)
    model = clone(MODELS[name]).fit(X[:100], y[:100])
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
    X[0] = np.nan  # without any view its margin is 0
    staged = staged_margins(model, X, y, range(1, model.n_iter_ + 1))
    np.testing.assert_allclose(staged[-1], model.margins(X, y), atol=1e-12)
    for margins in staged:
        assert np.abs(margins).max() <= 1 + 1e-12
        assert margins[0] == 0
    # After the first round a row is all right, all wrong, or without a vote.
    assert set(np.unique(staged[0].round(9))) <= {-1.0, 0.0, 1.0}
    without_vote = np.isnan(X[:, list(COLUMNS.values())[model.winning_views_[0]]]).all(axis=1)
    np.testing.assert_array_equal(staged[0] == 0, without_vote)


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
