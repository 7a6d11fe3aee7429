"""The example of CONTRIBUTING: a method of one's own among those that `compare` knows."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.neighbors import NearestCentroid
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn import ShareBoostClassifier, compare


class NearestCentroidVote(ClassifierMixin, BaseEstimator):
    """A vote of one nearest-centroid classifier per view.

    Parameters
    ----------
    views : dict of str to list of int or None, default=None
        Columns of each view; `compare` fills them in where they are None.
    """

    def __init__(self, *, views=None):
        self.views = views

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        self.view_columns_ = list((self.views or {"all": slice(None)}).values())
        self.estimators_ = [NearestCentroid().fit(X[:, columns], y) for columns in self.view_columns_]
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        votes = [model.predict(X[:, columns]) for model, columns in zip(self.estimators_, self.view_columns_)]
        counts = np.array([[(vote == label).sum() for label in self.classes_] for vote in np.transpose(votes)])
        return self.classes_[counts.argmax(axis=1)]


def test_a_method_of_ones_own_is_compared_on_the_same_splits():
    X, y = load_iris(return_X_y=True)
    views = {"sepal": [0, 1], "petal": [2, 3]}
    methods = {"centroids": NearestCentroidVote(), "shareboost": ShareBoostClassifier(n_estimators=10)}
    result = compare(X, y, views=views, methods=methods, runs=3, random_state=0)
    assert result.scores.shape == (2, 3)
    assert {"centroids", "shareboost"} == set(result.methods)
    assert result.scores.min() > 0.7
