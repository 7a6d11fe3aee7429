"""Automatic ratios of rows and columns."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import MSSBoostClassifier, RSBagClassifier
from fuselearn.multilabel import RbfSVC
from fuselearn.multilabel.ratios import KEPT, RATIOS
from tests.multilabel.related_labels import SMALL, X, Y


def test_automatic_ratios_are_the_same_every_time():
    """Random base models are seeded in the search too, the full ones among them."""
    tree = DecisionTreeClassifier(max_depth=3, max_features=1)
    settings = {"data_ratio": "auto", "feature_ratio": "auto", "n_estimators": 1}
    one, again, other = (RSBagClassifier(tree, random_state=seed, **settings).fit(X, Y) for seed in (0, 0, 1))
    assert one.ratio_scores_ == again.ratio_scores_
    assert one.ratio_scores_["full"] != other.ratio_scores_["full"]


class RecordsRows(LogisticRegression):
    """Notes the rows that it is fitted on."""

    seen: ClassVar = []

    def fit(self, X, y):
        self.seen.append((sparse.issparse(X), X.shape))
        return super().fit(X, y)


def test_automatic_ratios_leave_sparse_rows_sparse(monkeypatch):
    monkeypatch.setattr(RecordsRows, "seen", [])
    settings = {"data_ratio": 0.4, "feature_ratio": "auto", "n_estimators": 1, "random_state": 0}
    model = RSBagClassifier(RecordsRows(), **settings).fit(sparse.csr_matrix(X), Y[:, :2])
    full = [is_sparse for is_sparse, shape in RecordsRows.seen if shape == (150, 20)]
    assert len(full) == 4  # two labels, two halves
    assert all(full)
    dense = RSBagClassifier(RecordsRows(), **settings).fit(X, Y[:, :2])
    assert_allclose(model.ratio_scores_["full"], dense.ratio_scores_["full"], rtol=1e-3)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("estimator", [RbfSVC(tol=1e-6), SVC(tol=1e-6), GaussianNB()])
def test_automatic_ratios_of_sparse_rows(estimator):
    """A machine of ours is libsvm's there; a base model that takes arrays only gets them."""
    settings = {"data_ratio": 0.4, "feature_ratio": "auto", "n_estimators": 1, "random_state": 0}
    thin, dense = (RSBagClassifier(estimator, **settings).fit(rows, Y[:, :2]) for rows in (sparse.csc_matrix(X), X))
    assert list(thin.ratio_scores_) == list(dense.ratio_scores_)
    assert_allclose(list(thin.ratio_scores_.values()), list(dense.ratio_scores_.values()), rtol=1e-3)


@pytest.mark.long
def test_automatic_ratios_are_the_smallest_that_keep_most_of_the_full_model():
    settings = {"data_ratio": "auto", "feature_ratio": "auto", "n_estimators": 2, "random_state": 0}
    model = MSSBoostClassifier(n_jobs=2, **settings).fit(X, Y[:, :2])
    scores = dict(model.ratio_scores_)
    full = scores.pop("full")
    pairs = list(scores)
    assert (model.data_ratio_, model.feature_ratio_) == pairs[-1]
    assert scores[pairs[-1]] >= KEPT * full
    assert all(scores[pair] < KEPT * full for pair in pairs[:-1])
    sizes = [data * feature for data, feature in pairs]
    assert sizes == sorted(sizes)
    alone = MSSBoostClassifier(**settings).fit(X, Y[:, :2])
    assert alone.ratio_scores_ == model.ratio_scores_


def test_one_automatic_ratio_leaves_the_other():
    model = RSBagClassifier(data_ratio="auto", feature_ratio=0.4, n_estimators=5, random_state=0).fit(X, Y)
    assert model.feature_ratio_ == 0.4
    assert model.data_ratio_ in RATIOS
    assert {pair[1] for pair in model.ratio_scores_ if pair != "full"} == {0.4}
    assert RSBagClassifier(**SMALL).fit(X, Y).ratio_scores_ is None


def test_automatic_ratios_need_labels_in_both_halves():
    rare = np.zeros((300, 1), dtype=int)
    rare[0] = 1
    with pytest.raises(ValueError, match=r"data_ratio='auto' .* two halves"):
        RSBagClassifier(data_ratio="auto", random_state=0).fit(X, rare)
