"""A kernel machine on the probabilities that machines of the views give."""

import numpy as np
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.classifiers.calibration import fit_sigmoid
from fuselearn.classifiers.view_model import fit_view_model
from fuselearn.ensembles.base import BaseLastWord
from fuselearn.ensembles.cross_fitting import check_cv, fit_and_cross_fit, make_folds, outputs_of
from fuselearn.estimators import check_positive


class SuperKernelClassifier(BaseLastWord):
    """A support vector machine per view, and one more on the probabilities that they give: super-kernel fusion.

    This is the fusion of Wu et al. [1]_ that S3 [2]_ compares with. All machines have an RBF kernel. Those of the views
    standardise their columns; their margins become probabilities by Platt's sigmoid, fitted on rows that a machine was
    not fitted on. The last machine, which learns how views depend on each other, is trained on these probabilities.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    C : float, default=1.0
        Of all machines.
    cv : int or splitter, default=5
        How rows are held out. An int is a number of stratified folds, the same for all views.
    n_jobs : int, default=None
        Threads, over the views and folds. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Shuffles the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_prior_ : ndarray of shape (n_classes,)
        What a row without any view gets, and what the last machine sees of a view that is absent.
    estimators_ : list of Pipeline
        The machine of each view, fitted on all rows that have it.
    sigmoids_ : list of ndarray of shape (n_problems, 2)
        Slope and offset of each view's sigmoids: one for two classes, else one per class.
    final_estimator_ : SVC
        The last machine.
    view_names_ : list of str
    view_columns_ : list of ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where `X` is a data frame.

    Notes
    -----
    S3 chooses the width of the kernels and C by cross-validation. Here the width follows from the columns
    (``gamma="scale"``); C can be searched with :class:`sklearn.model_selection.GridSearchCV`.

    References
    ----------
    .. [1] Wu, Chang, Chang, Smith. Optimal Multimodal Fusion for Multimedia Data Analysis. ACM Multimedia 2004.
    .. [2] Barbu, Iqbal, Peng. Classifier Fusion Using Shared Sampling Distribution for Boosting. ICDM 2005.

    Examples
    --------
    >>> from fuselearn import SuperKernelClassifier
    >>> from fuselearn.datasets import load_digit_views
    >>> X, views, y = load_digit_views(return_tuple=True)
    >>> model = SuperKernelClassifier(views=views, random_state=0).fit(X[:500], y[:500])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    def __init__(self, *, views=None, C=1.0, cv=5, n_jobs=None, random_state=None):
        self.views = views
        self.C = C
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _classifiers(self):
        return [SVC()]

    def _check_settings(self):
        check_positive("C", self.C)
        check_cv(self.cv)

    def _fit(self, rows, seed):
        n_classes = len(rows.classes)
        folds = make_folds(self.cv, rows.agreed, rows.classes, seed)
        machine = make_pipeline(StandardScaler(), SVC(C=self.C))
        models, margins = fit_and_cross_fit(
            rows, [machine] * len(rows.names), folds, seed, _margins, n_classes, self.n_jobs
        )
        sigmoids = [
            _fit_sigmoids(view_margins, codes, rows.weights) for view_margins, codes in zip(margins, rows.codes)
        ]
        last = fit_view_model(
            "the last machine",
            SVC(C=self.C, break_ties=True),  # decision values and predictions then name the same class
            _probabilities(margins, sigmoids, rows.class_prior()),
            rows.agreed,
            rows.classes,
            rows.weights,
        )
        return {
            "estimators_": [model.estimator for model in models],
            "sigmoids_": sigmoids,
            "final_estimator_": last.estimator,
        }

    def _last_word(self):
        return self.final_estimator_

    def _table(self, blocks):
        margins = outputs_of(self._view_models(), blocks, _margins, len(self.classes_), self.n_jobs)
        return _probabilities(margins, self.sigmoids_, self.class_prior_), blocks.present.any(axis=1)


def _margins(model, rows):
    return model.values(rows)


def _fit_sigmoids(margins, codes, weights):
    """Slope and offset for each class against the others; for two classes, for the second one only."""
    heard = ~np.isnan(margins[:, 0])
    n_classes = margins.shape[1]
    problems = [1] if n_classes == 2 else range(n_classes)
    if not heard.any():
        return np.zeros((len(problems), 2))
    weights = None if weights is None else weights[heard]
    return np.array([fit_sigmoid(margins[heard, code], codes[heard] == code, weights) for code in problems])


def _probabilities(margins, sigmoids, prior):
    """What the last machine sees: P(second class) of each view, or for more classes P of each, which sum to 1."""
    columns = []
    for view_margins, view_sigmoids in zip(margins, sigmoids):
        own, otherwise = (view_margins[:, 1:], prior[1:]) if len(prior) == 2 else (view_margins, prior)
        values = expit(own * view_sigmoids[:, 0] + view_sigmoids[:, 1])
        if len(prior) > 2:
            values /= values.sum(axis=1, keepdims=True)
        columns.append(np.where(np.isnan(own), otherwise, values))
    return np.hstack(columns)
