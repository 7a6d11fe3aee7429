"""A classifier on the outputs of the classifiers of the views."""

from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.arguments import check_choice, check_count, check_jobs
from fuselearn.classifiers.adapter import (
    check_classifier,
    check_one_column_per_class,
    check_takes_weights,
    check_values,
    is_frozen,
    seeded_clone,
    view_estimators,
)
from fuselearn.classifiers.cross_fitting import check_cv
from fuselearn.classifiers.fitted_classifiers import FittedSVC
from fuselearn.classifiers.view_model import Output, ViewModel, fit_view_model, view_outputs
from fuselearn.data import TrainingData, ViewBlocks
from fuselearn.ensembles.base import BaseStacking
from fuselearn.typing import BoolArray, Classifier, FloatArray, IntArray, RandomState, Views

STACK_METHODS = ("predict", "decision_function")


class ViewStackingClassifier(BaseStacking):
    """One classifier per view, and a final one that learns from their outputs.

    This is stacked generalisation [1]_. The final classifier is trained on out-of-fold outputs. On labels, with support
    vector machines on both levels, this is the Stacking of S0 [2]_ and S1.

    Parameters
    ----------
    estimator : classifier, list or dict
        One classifier for all views, a list with one per view, or a dict of view name to classifier. Clones are fitted,
        each on the rows that have its view. A model that was fitted before, on other rows, is used as it is when it
        comes in a :class:`sklearn.frozen.FrozenEstimator`.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    final_estimator : classifier or None, default=None
        None is a support vector machine, ``SVC(break_ties=True)``, as in S0 and S1; for decision values behind a
        ``StandardScaler()``.
    stack_method : {"predict", "decision_function"}, default="predict"
        What the final classifier sees of each view: the predicted class, as a column of 0 and 1 per class; or the
        decision values, one column for two classes and else one per class, which are 2p - 1 for classifiers that have
        probabilities only.
    cv : int, splitter, iterable or None, default=5
        How rows are held out. An int is a number of stratified folds, the same for all views; with `groups`, folds of
        whole groups. None is 5. A splitter is given the groups; an iterable has pairs (training rows, held-out rows).
        Every row must be held out exactly once.
    n_jobs : int or None, default=None
        Number of threads, over the views and folds. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Shuffles the folds, and seeds the classifiers whose own `random_state` is None.
    verbose : int, default=0
        1 prints a line for each fit, with its view.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    class_prior_ : ndarray of shape (n_classes,)
        Class probabilities of a row without any view.
    estimators_ : list of classifier
        The classifier of each view, fitted on all rows that have it.
    final_estimator_ : classifier
        The final classifier; of the default one its numbers, a FittedSVC.
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
    Where a view is absent its columns are 0. Each view that is absent in some training row has one more column, which
    is 1 there.

    References
    ----------
    .. [1] Wolpert. Stacked generalization. Neural Networks 5, 1992.
    .. [2] Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from fuselearn import ViewStackingClassifier
    >>> from fuselearn.datasets import load_digit_views
    >>> X, views, y = load_digit_views(return_tuple=True)
    >>> model = ViewStackingClassifier(SVC(), views=views, random_state=0).fit(X[:500], y[:500])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        views: Views = None,
        final_estimator: Any = None,
        stack_method: str = "predict",
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.final_estimator = final_estimator
        self.stack_method = stack_method
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        check_jobs(self.n_jobs)
        check_count("verbose", self.verbose or 0, least=0)
        check_choice("stack_method", self.stack_method, STACK_METHODS)
        check_cv(self.cv)
        if self.final_estimator is not None:
            check_classifier(self.final_estimator, "final_estimator")
            if is_frozen(self.final_estimator):
                raise ValueError(
                    "final_estimator is frozen, but it has to learn from the outputs of the views; pass it without "
                    "FrozenEstimator."
                )

    def _fit(self, data: TrainingData, majority: IntArray, seed: int) -> dict[str, Any]:
        estimators = view_estimators(self.estimator, data)
        if self.stack_method == "decision_function":
            for name, estimator in zip(data.names, estimators):
                check_values(estimator, f"estimator for the view {name!r}", "stack_method='decision_function'")
        final_estimator = self._unfitted_final_classifier()
        check_one_column_per_class(final_estimator, "final_estimator", len(data.classes))
        if data.weighted:
            check_takes_weights(final_estimator, "final_estimator")
        fitted, outputs = self._cross_fit(data, majority, estimators, self._output(), seed)
        has_gaps = np.array([np.isnan(view_output).any() for view_output in outputs])
        final_model = fit_view_model(
            "final_estimator",
            seeded_clone(final_estimator, (seed, len(estimators), 0)),
            self._stacked(outputs, has_gaps),
            majority,
            data.classes,
            data.weights if data.weighted else None,
        )
        final = FittedSVC.of(final_model.estimator) if self.final_estimator is None else final_model.estimator
        return {"estimators_": fitted, "final_estimator_": final, "_outputs_with_gaps": has_gaps}

    def _unfitted_final_classifier(self) -> Classifier:
        """Return the user's final classifier, or the default."""
        if self.final_estimator is not None:
            return self.final_estimator
        machine = SVC(break_ties=True)  # so that decision values and predictions name the same class
        return machine if self.stack_method == "predict" else make_pipeline(StandardScaler(), machine)

    def _output(self) -> Output:
        """Return the function that makes the columns of a view."""
        return ViewModel.predicted_indicators if self.stack_method == "predict" else ViewModel.values

    def _stacked(self, outputs: list[FloatArray], has_gaps: BoolArray) -> FloatArray:
        """Return the table that the final classifier sees: the outputs, and a mark of the gaps of each view."""
        marks = [np.isnan(view_output[:, :1]) for view_output, gaps in zip(outputs, has_gaps) if gaps]
        if self.stack_method == "decision_function" and outputs[0].shape[1] == 2:
            outputs = [view_output[:, 1:] for view_output in outputs]
        return np.hstack([np.nan_to_num(view_output) for view_output in outputs] + marks)

    def _final_classifier(self) -> Classifier:
        fitted: Classifier = self.final_estimator_
        return fitted

    def _final_table(self, blocks: ViewBlocks) -> tuple[FloatArray, BoolArray]:
        outputs = view_outputs(self._view_models(), blocks, self._output(), len(self.classes_), self.n_jobs)
        return self._stacked(outputs, self._outputs_with_gaps), blocks.has_view
