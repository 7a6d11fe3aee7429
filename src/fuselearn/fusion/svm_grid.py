"""The support vector machine of S0's, S1's and S3's comparisons, with its grid."""

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.settings import check_count, check_flag, check_jobs


def tuned_svm(*, standardise=True, points=5, cv=10, n_jobs=None):
    """Support vector machine whose kernel width and C are chosen by cross-validation within the rows it is fitted on.

    S0 §5 and S3 §4: a Gaussian kernel exp(-‖x - x′‖² / σ²), σ and C in [10⁻², 10²], ten-fold cross-validation. They
    name the ranges and not the points; these are powers of ten.

    Parameters
    ----------
    standardise : bool, default=True
        Whether columns are brought to mean 0 and variance 1 first. The papers do not say; σ is in absolute numbers, so
        that without it the grid may lie far from the data.
    points : int, default=5
        Number of values of σ, and of C, evenly spaced in their logarithm.
    cv : int or splitter, default=10
    n_jobs : int, default=None
        Processes, over the grid and folds.

    Returns
    -------
    :class:`sklearn.model_selection.GridSearchCV`
        Not fitted. σ is ``gamma ** -0.5`` of its ``best_estimator_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ViewVotingClassifier
    >>> from fuselearn.fusion import tuned_svm
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ViewVotingClassifier(tuned_svm(points=3, cv=3), views={"sepal": [0, 1], "petal": [2, 3]}).fit(X, y)
    >>> [search.best_params_["svc__C"] for search in model.estimators_]
    [1.0, 100.0]
    """
    check_flag("standardise", standardise)
    check_count("points", points)
    check_jobs(n_jobs)
    values = np.logspace(-2, 2, points) if points > 1 else np.ones(1)
    machine = make_pipeline(StandardScaler() if standardise else "passthrough", SVC())
    grid = {"svc__C": values.tolist(), "svc__gamma": (values**-2.0).tolist()}
    return GridSearchCV(machine, grid, cv=cv, n_jobs=n_jobs)
