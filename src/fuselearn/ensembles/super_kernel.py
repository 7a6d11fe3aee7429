"""A kernel machine on the probabilities that machines of the views give."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.arguments import check_count, check_jobs, check_positive
from fuselearn.classifiers.calibration import fit_sigmoid
from fuselearn.classifiers.cross_fitting import check_cv
from fuselearn.classifiers.fitted_classifiers import ConstantClassifier, FittedSVC
from fuselearn.classifiers.view_model import ViewModel, fit_view_model, view_outputs
from fuselearn.data import TrainingData, ViewBlocks
from fuselearn.ensembles.base import BaseStacking
from fuselearn.persistence.validation import check_part, check_parts
from fuselearn.typing import BoolArray, Classifier, FloatArray, IntArray, RandomState, Views


class SuperKernelClassifier(BaseStacking):
    """A support vector machine per view, and one more on the probabilities that they give: super-kernel fusion.

    This is the fusion of Wu et al. [1]_ that S3 [2]_ compares with. All machines have an RBF kernel. Those of the views
    standardise their columns; their margins become probabilities by Platt's sigmoid, fitted on out-of-fold
    margins. The final machine, which learns how views depend on each other, is trained on these probabilities.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    C : float, default=1.0
        Penalty of all machines.
    cv : int, splitter, iterable or None, default=5
        How rows are held out. An int is a number of stratified folds, the same for all views; with `groups`, folds of
        whole groups. None is 5. A splitter is given the groups; an iterable has pairs (training rows, held-out rows).
        Every row must be held out exactly once.
    n_jobs : int or None, default=None
        Number of threads, over the views and folds. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Shuffles the folds.
    verbose : int, default=0
        1 prints a line for each fit, with its view.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    class_prior_ : ndarray of shape (n_classes,)
        Class probabilities of a row without any view, and what the final machine sees of a view that is absent.
    estimators_ : list of FittedSVC
        The machine of each view, fitted on all rows that have it: its numbers, and `decision_function` and `predict` of
        rows of the view. A ConstantClassifier where these rows are of one class.
    sigmoids_ : list of ndarray of shape (n_problems, 2)
        Slope and offset of each view's sigmoids: one for two classes, else one per class.
    final_estimator_ : FittedSVC
        The final machine.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray
        Names of the columns, where `X` is a data frame.

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

    def __init__(
        self,
        *,
        views: Views = None,
        C: float = 1.0,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.views = views
        self.C = C
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _classifiers(self) -> list[Any]:
        return [SVC()]

    def _check_settings(self) -> None:
        check_jobs(self.n_jobs)
        check_count("verbose", self.verbose or 0, least=0)
        check_positive("C", self.C)
        check_cv(self.cv)

    def _fit(self, data: TrainingData, majority: IntArray, seed: int) -> dict[str, Any]:
        machine = make_pipeline(StandardScaler(), SVC(C=self.C))
        fitted, margins = self._cross_fit(data, majority, [machine] * len(data.names), ViewModel.values, seed)
        weights = data.weights if data.weighted else None
        sigmoids = [
            _fit_sigmoids(view_margins, codes, weights) for view_margins, codes in zip(margins, data.view_codes().T)
        ]
        final_model = fit_view_model(
            "the final machine",
            SVC(C=self.C, break_ties=True),  # decision values and predictions then name the same class
            _probabilities(margins, sigmoids, data.class_prior()),
            majority,
            data.classes,
            weights,
        )
        return {
            "estimators_": [
                machine if isinstance(machine, ConstantClassifier) else FittedSVC.of(machine) for machine in fitted
            ],
            "sigmoids_": sigmoids,
            "final_estimator_": FittedSVC.of(final_model.estimator),
        }

    def validate(self) -> None:
        """Refuse a model, read from a file, whose machines do not fit to its views.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The machines have other columns or classes than the views, or are no machines.
        """
        super().validate()
        if "estimators_" not in vars(self):
            return
        n_classes = len(self.classes_)
        n_problems = 1 if n_classes == 2 else n_classes
        check_parts(self, "estimators_", (FittedSVC, ConstantClassifier))
        for columns, machine in zip(self.view_columns_, self.estimators_):
            if isinstance(machine, FittedSVC) and len(machine.centre) != len(columns):
                raise ValueError("it has a machine of other columns than those of its view")
        sigmoids = check_parts(self, "sigmoids_", (np.ndarray,))
        if [array.shape for array in sigmoids] != [(n_problems, 2)] * len(self.view_names_):
            raise ValueError("it has other sigmoids than views and classes")
        if not all(array.dtype == np.float64 for array in sigmoids):
            raise ValueError("it has sigmoids that are not of double precision")
        if len(check_part(self, "final_estimator_", FittedSVC).centre) != n_problems * len(self.view_names_):
            raise ValueError("it has a final machine of other columns than the views' probabilities")

    def _final_classifier(self) -> Classifier:
        fitted: Classifier = self.final_estimator_
        return fitted

    def _final_table(self, blocks: ViewBlocks) -> tuple[FloatArray, BoolArray]:
        margins = view_outputs(self._view_models(), blocks, ViewModel.values, len(self.classes_), self.n_jobs)
        return _probabilities(margins, self.sigmoids_, self.class_prior_), blocks.has_view


def _fit_sigmoids(margins: FloatArray, codes: IntArray, weights: FloatArray | None) -> FloatArray:
    """Return slope and offset for each class against the others; for two classes, for the second one only."""
    has_margin = ~np.isnan(margins[:, 0])
    n_classes = margins.shape[1]
    problems = [1] if n_classes == 2 else list(range(n_classes))
    if not has_margin.any():
        return np.zeros((len(problems), 2))
    weights = None if weights is None else weights[has_margin]
    return np.array([fit_sigmoid(margins[has_margin, code], codes[has_margin] == code, weights) for code in problems])


def _probabilities(margins: list[FloatArray], sigmoids: list[FloatArray], prior: FloatArray) -> FloatArray:
    """Return what the final machine sees: P(second class) of each view, or for more classes P of each, with sum 1."""
    columns = []
    for view_margins, view_sigmoids in zip(margins, sigmoids):
        inputs, otherwise = (view_margins[:, 1:], prior[1:]) if len(prior) == 2 else (view_margins, prior)
        values = expit(inputs * view_sigmoids[:, 0] + view_sigmoids[:, 1])
        if len(prior) > 2:
            values /= values.sum(axis=1, keepdims=True)
        columns.append(np.where(np.isnan(inputs), otherwise, values))
    return np.hstack(columns)
