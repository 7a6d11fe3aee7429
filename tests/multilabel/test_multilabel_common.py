"""scikit-learn's own checks, over the multi-label ensembles and their base model."""

from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fuselearn import MSSBoostClassifier, NSBoostClassifier, RSBagClassifier
from fuselearn.multilabel import RbfSVC

TWO_VIEWS = [slice(0, 1), slice(1, None)]


@parametrize_with_checks(
    [
        # With a seed: sums of leaf values may differ in the last bit, which a check wants to see in probabilities too.
        kind(estimator, views=views, n_estimators=10, data_ratio=0.5, feature_ratio=0.8, random_state=0)
        for kind in (MSSBoostClassifier, NSBoostClassifier, RSBagClassifier)
        for estimator, views in ((None, None), (DecisionTreeClassifier(max_depth=2), None), (None, TWO_VIEWS))
    ]
    + [MSSBoostClassifier(LogisticRegression(), n_estimators=10, pool_size=5)]
    # A check wants equal results of equal problems to the seventh digit, which takes a finer tolerance.
    + [RbfSVC(tol=1e-10), RbfSVC(gamma=0.1, tol=1e-10)],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
