"""How clearly rows are classified, against the votes of each class counted one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn import ShareBoostClassifier
from fuselearn.exceptions import NoEdgeWarning
from tests.boosting.iris_views import VIEWS, X, y


@pytest.mark.parametrize("n_rounds", [1, 9])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_margins_are_leads_as_a_share_of_all_votes(n_classes, n_rounds, scale):
    keep = y >= 3 - n_classes
    rows, labels = X[keep], y[keep]
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=n_rounds).fit(rows, labels)
    model.estimator_weights_ = scale * model.estimator_weights_
    expected = []
    for row, label in zip(rows, labels):
        votes = dict.fromkeys(model.classes_.tolist(), 0.0)
        for hypothesis, alpha, view in zip(model.estimators_, model.estimator_weights_, model.winning_views_):
            [code] = hypothesis.predict(row[None, model.view_columns_[view]])
            votes[model.classes_[code]] += alpha
        others = max(vote for other, vote in votes.items() if other != label)
        expected.append((votes[label] - others) / np.abs(model.estimator_weights_).sum())
    margins = model.margins(rows, labels)
    assert_allclose(margins, expected, atol=1e-12)
    assert margins.min() < 0
    if n_rounds > 1:
        assert len(np.unique(margins.round(6))) > 4


def test_margins_where_all_agree_are_not_above_1():
    """Votes of rounds added one by one may be more than their sum in another order, by rounding."""
    labels = np.arange(20) % 2
    model = ShareBoostClassifier("stump", n_estimators=12, view_policy="uniform", random_state=0)
    model.fit(labels[:, None] + 0.0, labels)
    rng = np.random.default_rng(0)
    n_rounded_up = 0
    for _ in range(60):
        model.estimator_weights_ = rng.random(12)
        n_rounded_up += np.cumsum(model.estimator_weights_)[-1] > np.abs(model.estimator_weights_).sum()
        assert model.margins([[0.0], [1.0]], [0, 1]).max() <= 1
        assert model.margins([[0.0], [1.0]], [1, 0]).min() >= -1
    assert n_rounded_up > 5


def test_without_votes_no_row_has_a_margin():
    with pytest.warns(NoEdgeWarning):
        model = ShareBoostClassifier(views=VIEWS, n_estimators=3).fit(np.zeros_like(X), y)
    assert model.margins(X, y).tolist() == [0.0] * len(y)
    assert model.arm_probabilities_ is None
    with pytest.raises(ValueError, match=r"y must hold a label for each of the 150 rows of X; got shape \(10,\)"):
        model.margins(X, y[:10])
    with pytest.raises(ValueError, match=r"got shape \(150, 1\)"):
        model.margins(X, y[:, None])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rows", [1, 2, 40])
def test_answers_have_the_shape_of_the_rows(n_classes, n_rows):
    keep = y >= 3 - n_classes
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=3).fit(X[keep], y[keep])
    assert model.decision_function(X[:n_rows]).shape == ((n_rows,) if n_classes == 2 else (n_rows, 3))
    assert model.predict_proba(X[:n_rows]).shape == (n_rows, n_classes)
