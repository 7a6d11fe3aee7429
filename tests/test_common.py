"""scikit-learn's own checks, over every estimator, with one view and with two."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier

TWO_VIEWS = [slice(0, 1), slice(1, None)]


@parametrize_with_checks(
    [
        kind(estimator, views=views, n_estimators=10)
        for kind in (ShareBoostClassifier, IndependentBoostClassifier)
        for views in (None, TWO_VIEWS)
        for estimator in (None, "stump", "tree", "linear")
    ]
    + [
        ShareBoostClassifier(views=TWO_VIEWS, n_estimators=10, view_policy="exp3p", random_state=0),
        ShareBoostClassifier(views=TWO_VIEWS, n_estimators=10, resample=True, random_state=0),
    ],
    expected_failed_checks=lambda model: (
        # Drawing n rows by the weights and drawing 2n rows of a table that holds each twice are different draws.
        {"check_sample_weight_equivalence_on_dense_data": "draws depend on the number of rows"}
        if model.resample
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
