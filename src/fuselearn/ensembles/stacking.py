"""A classifier on what the classifiers of the views say."""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.classifiers.checks import (
    check_classifier,
    check_one_column_per_class,
    check_values,
    check_weights_taken,
    is_frozen,
    seeded_clone,
)
from fuselearn.classifiers.view_model import estimators_for, fit_view_model
from fuselearn.ensembles.base import BaseLastWord
from fuselearn.ensembles.cross_fitting import check_cv, fit_and_cross_fit, make_folds, outputs_of
from fuselearn.estimators import check_choice

STACK_METHODS = ("predict", "decision_function")


class ViewStackingClassifier(BaseLastWord):
    """One classifier per view, and a last one that learns from what they say.

    This is stacked generalisation [1]_. The last classifier is trained on what classifiers say of rows that they were
    not fitted on. On labels, with support vector machines on both levels, this is the Stacking of S0 [2]_ and S1.

    Parameters
    ----------
    estimator : classifier, list or dict
        One classifier for all views, a list with one per view, or a dict of view name to classifier. Clones are fitted,
        each on the rows that have its view. A model that was fitted before, on other rows, is taken as it is when it
        comes in a :class:`sklearn.frozen.FrozenEstimator`.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    final_estimator : classifier or None, default=None
        None is a support vector machine, ``SVC(break_ties=True)``, as in S0 and S1; for decision values behind a
        ``StandardScaler()``.
    stack_method : {"predict", "decision_function"}, default="predict"
        What the last classifier sees of each view: the class that it names, as a column of 0 and 1 per class; or its
        decision values, one column for two classes and else one per class, which are 2p - 1 for classifiers that have
        probabilities only.
    cv : int or splitter, default=5
        How rows are held out. An int is a number of stratified folds, the same for all views.
    n_jobs : int, default=None
        Threads, over the views and folds. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Shuffles the folds, and seeds the classifiers whose own `random_state` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_prior_ : ndarray of shape (n_classes,)
        What a row without any view gets.
    estimators_ : list of classifier
        The classifier of each view, fitted on all rows that have it.
    final_estimator_ : classifier
        The last classifier.
    view_names_ : list of str
    view_columns_ : list of ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where `X` is a data frame.

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
        estimator,
        *,
        views=None,
        final_estimator=None,
        stack_method="predict",
        cv=5,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.views = views
        self.final_estimator = final_estimator
        self.stack_method = stack_method
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_settings(self):
        check_choice("stack_method", self.stack_method, STACK_METHODS)
        check_cv(self.cv)
        if self.final_estimator is not None:
            check_classifier(self.final_estimator, "final_estimator")
            if is_frozen(self.final_estimator):
                raise ValueError("final_estimator is frozen, but it has to learn from what the views say.")

    def _fit(self, rows, seed):
        estimators = estimators_for(self.estimator, rows)
        if self.stack_method == "decision_function":
            for name, estimator in zip(rows.names, estimators):
                check_values(estimator, f"estimator for the view {name!r}", "stack_method='decision_function'")
        last = self._unfitted_last_word()
        check_one_column_per_class(last, "final_estimator", len(rows.classes))
        if rows.weights is not None:
            check_weights_taken(last, "final_estimator")
        folds = make_folds(self.cv, rows.agreed, rows.classes, seed)
        models, said = fit_and_cross_fit(rows, estimators, folds, seed, self._output(), len(rows.classes), self.n_jobs)
        silent = np.array([np.isnan(view_said).any() for view_said in said])
        model = fit_view_model(
            "final_estimator",
            seeded_clone(last, seed, len(estimators), 0),
            self._stacked(said, silent),
            rows.agreed,
            rows.classes,
            rows.weights,
        )
        return {
            "estimators_": [model.estimator for model in models],
            "final_estimator_": model.estimator,
            "_sometimes_silent": silent,
        }

    def _unfitted_last_word(self):
        if self.final_estimator is not None:
            return self.final_estimator
        machine = SVC(break_ties=True)  # so that decision values and predictions name the same class
        return machine if self.stack_method == "predict" else make_pipeline(StandardScaler(), machine)

    def _output(self):
        return _labels if self.stack_method == "predict" else _decision_values

    def _stacked(self, said, silent):
        """The table that the last classifier sees."""
        marks = [np.isnan(view_said[:, :1]) for view_said, is_silent in zip(said, silent) if is_silent]
        if self.stack_method == "decision_function" and said[0].shape[1] == 2:
            said = [view_said[:, 1:] for view_said in said]
        return np.hstack([np.nan_to_num(view_said) for view_said in said] + marks)

    def _last_word(self):
        return self.final_estimator_

    def _table(self, blocks):
        said = outputs_of(self._view_models(), blocks, self._output(), len(self.classes_), self.n_jobs)
        return self._stacked(said, self._sometimes_silent), blocks.present.any(axis=1)


def _labels(model, rows):
    return (model.predicted(rows)[:, None] == np.arange(model.n_classes)).astype(np.float64)


def _decision_values(model, rows):
    return model.values(rows)
