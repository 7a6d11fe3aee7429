"""Learners that a view may have, by name."""

BOOSTED = ("gaussian_nb", "stump", "tree", "linear")
"""Those that boosting has of its own."""
LEARNERS = (*BOOSTED, "logistic", "svm", "forest", "extra_trees")


def make_learner(name, boosting, seed):
    """What the `estimator` of a method takes for a name.

    Parameters
    ----------
    name : str
        One of `LEARNERS`.
    boosting : bool
        Whether the method boosts weak learners. Others get a classifier of scikit-learn, after means in gaps and
        standardising where it needs them.
    seed : int
    """
    if boosting and name in BOOSTED:
        return name
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    if name in ("stump", "tree"):
        return DecisionTreeClassifier(max_depth=1 if name == "stump" else None, random_state=seed)
    if name in ("forest", "extra_trees"):
        return (RandomForestClassifier if name == "forest" else ExtraTreesClassifier)(random_state=seed)
    classifier = {
        "gaussian_nb": GaussianNB,
        "linear": RidgeClassifier,
        "logistic": lambda: LogisticRegression(max_iter=1000),
        "svm": SVC,
    }[name]()
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), classifier)
