"""Which labels are wrong, and what the truth probably is.

Labels that are probably wrong, as records.
"""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fuselearn.classifiers.cross_fitting import CrossFitting, read_cv
from fuselearn.consensus.expectation_maximisation import agree
from fuselearn.consensus.training_data import check_rows_per_class, estimators_of_views, read_labelled_rows, view_tables
from fuselearn.data import note_features
from fuselearn.estimators import check_count, check_jobs


class LabelConsensus(BaseEstimator):
    """Find wrong labels by what the views and the label columns agree on.

    Every view fits a classifier on its labels and says how sure it is of the objects that the classifier has not seen.
    Expectation maximisation then estimates together what the true classes are, how much each view's word is worth, and
    how often each label column is wrong. The views learn again from the labels agreed on, and so on for a few passes.

    Parameters
    ----------
    estimator : None, classifier or dict, default=None
        Classifier with `decision_function` or `predict_proba`, one for all views, or a dict per view. None is an RBF
        support vector machine on standardised columns, with their means in gaps and with classes of equal weight.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A selector is what
        :class:`~sklearn.compose.ColumnTransformer` takes. None is one view of all columns. Views may overlap: for
        several annotators of one table, give each a view of all columns, and their labels as `view_labels`.
    cv : int, splitter or list, default=5
        Number of folds, in which every class is dealt out evenly and anew in each pass; or a splitter, or a list of
        (training rows, held-out rows), that holds out every row once.
    n_passes : int, default=3
        How often the views' classifiers are fitted: first on the given labels, then on those agreed on.
    n_jobs : int, default=None
        Threads. The result is the same for any number.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of classifiers whose own `random_state` is None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The most probable class of each object.
    confidence_ : ndarray of shape (n_samples,)
        Its probability: what to pass as `sample_weight` to a classifier that is trained on `labels_`.
    posterior_ : ndarray of shape (n_samples, n_classes)
        Probability of each class for each object, in the order of `classes_`.
    noise_rates_ : ndarray of shape (n_label_columns,)
        Estimated share of the labels of each column that are wrong.
    class_noise_rates_ : ndarray of shape (n_label_columns, n_classes)
        The same for objects of each true class: how often each column misses it. NaN for a class without objects.
    common_rate_ : float
        Estimated share of objects of which all columns have the same wrong label, because they copy one source. 0 where
        there is one column.
    label_columns_ : list of str
        ``["y"]``, or with `view_labels` the names of the views.
    view_weights_ : ndarray of shape (n_views,)
        How much the decision values of each view count beside the others', per standard deviation.
    classes_ : ndarray of shape (n_classes,)
    view_names_ : list of str
    view_columns_ : list of ndarray
    n_iter_ : int
        Iterations of the last expectation maximisation.
    converged_ : bool
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    fuselearn.consensus.agree : The expectation maximisation on arrays.
    fuselearn.add_label_noise : Wrong labels on purpose.

    Notes
    -----
    A label column has a rate for each true class, and a wrong label is any of the other classes alike. Objects that are
    hard for all views and objects with wrong labels look the same, so one label column with many wrong labels, few
    objects and weak views leave the rates uncertain. Several label columns, or more objects, settle it.

    References
    ----------
    .. [1] Dawid, Skene. Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm. Applied
       Statistics 1979.
    .. [2] Raykar, Yu, Zhao, Valadez, Florin, Bogoni, Moy. Learning From Crowds. JMLR 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import LabelConsensus
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2  # a setosa that somebody took for a virginica
    >>> consensus = LabelConsensus(views={"sepal": [0, 1], "petal": [2, 3]}, random_state=0).fit(X, y)
    >>> worst = consensus.suspects(1)[0]
    >>> worst["row"], worst["given"], worst["proposed"]
    (7, 2, 0)
    >>> int(consensus.labels_[7])
    0
    """

    def __init__(self, estimator=None, *, views=None, cv=5, n_passes=3, n_jobs=None, random_state=None):
        self.estimator = estimator
        self.views = views
        self.cv = cv
        self.n_passes = n_passes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y, view_labels=None):
        """Estimate which labels are wrong.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there; it then says nothing, and its label is not
            looked at.
        y : array of shape (n_samples,)
            The labels.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row; NaN or None where it gave none. With it, `y` supplies `classes_` only.

        Returns
        -------
        self
        """
        check_count("n_passes", self.n_passes)
        check_jobs(self.n_jobs)
        data = read_labelled_rows(self, X, y, view_labels)
        cv = read_cv(self.cv, data.first_labels())
        check_rows_per_class(data, cv)
        estimators = estimators_of_views(self.estimator, data.names, len(data.classes))
        tables = view_tables(data.blocks, estimators)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        cross_fitting = CrossFitting(estimators, tables, data.blocks.present, len(data.classes), cv, seed, self.n_jobs)
        learnt = data.codes_of_views()
        for pass_number in range(self.n_passes):
            found = agree(cross_fitting.values(learnt, pass_number), data.codes)
            agreed = found.posterior.argmax(axis=1)
            learnt = np.where(data.blocks.present, agreed[:, None], -1)
        self._publish(data, found, agreed)
        return self

    def suspects(self, n=None):
        """Labels that are probably wrong, the most suspect first.

        Parameters
        ----------
        n : int or None, default=None
            How many. None gives all labels that are more probably wrong than right.

        Returns
        -------
        list of dict
            One record per label, which ``pandas.DataFrame`` and ``polars.DataFrame`` take as they are:
            ``"row"``, the row number in `X`; ``"column"``, the label column, ``"y"`` or the name of the view;
            ``"given"``, the label; ``"proposed"``, the most probable other class; ``"probability"``, that the label is
            wrong.
        """
        check_is_fitted(self)
        return suspect_labels(self.posterior_, self._given_codes, self.classes_, self.label_columns_, n)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def _publish(self, data, found, agreed):
        note_features(self, data.features)
        self.classes_, self.view_names_, self.view_columns_ = data.classes, data.names, data.columns
        self.label_columns_ = data.column_names
        self.posterior_ = found.posterior
        self.labels_ = data.classes[agreed]
        self.confidence_ = found.posterior.max(axis=1)
        self.noise_rates_ = found.noise_rates
        self.class_noise_rates_ = _shares_missed(found.posterior, data.codes)
        self.common_rate_ = found.common_rate
        self.view_weights_ = found.view_weights
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        # What `suspects` has to know of the labels.
        self._given_codes = data.codes


def _shares_missed(posterior, codes):
    """Expected share of the objects of each class that each label column gives another label."""
    shares = np.full((codes.shape[1], posterior.shape[1]), np.nan)
    for column, given in enumerate(codes.T):
        labelled = given >= 0
        members = posterior[labelled].sum(axis=0)
        found = np.bincount(given[labelled], posterior[labelled, given[labelled]], minlength=posterior.shape[1])
        np.divide(members - found, members, out=shares[column], where=members > 0)
    return shares


def suspect_labels(posterior, codes, classes, columns, n):
    """Labels that are probably wrong, the most suspect first.

    Parameters
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
        p(true class | everything known).
    codes : int ndarray of shape (n_rows, n_columns)
        Class by each label column; -1 where a column has no label.
    classes : ndarray of shape (n_classes,)
    columns : list of str
        Names of the label columns.
    n : int or None
        How many. None gives all labels that are more probably wrong than right.

    Returns
    -------
    list of dict
        With the keys ``"row"``, ``"column"``, ``"given"``, ``"proposed"`` and ``"probability"``.
    """
    if n is not None:
        check_count("n", n, least=0)
    rows, places = np.nonzero(codes >= 0)
    given = codes[rows, places]
    probability = 1 - posterior[rows, given]
    order = np.argsort(-probability, kind="stable")
    order = order[probability[order] > 0.5] if n is None else order[:n]
    others = posterior[rows[order]].copy()
    others[np.arange(len(order)), given[order]] = -1
    return [
        {"row": row, "column": columns[place], "given": label, "proposed": proposed, "probability": wrong}
        for row, place, label, proposed, wrong in zip(
            rows[order].tolist(),
            places[order].tolist(),
            classes[given[order]].tolist(),
            classes[others.argmax(axis=1)].tolist(),
            probability[order].tolist(),
        )
    ]
