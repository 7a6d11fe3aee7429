"""Wrong labels, and the classes that views and label columns agree on."""

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fuselearn import progress
from fuselearn.arguments import check_count, check_jobs, check_random_state
from fuselearn.classifiers.adapter import check_values, view_estimators
from fuselearn.classifiers.cross_fitting import (
    CrossFitting,
    Fold,
    Report,
    as_folds,
    check_class_sizes,
    check_cv,
    read_cv,
    stratified_folds,
)
from fuselearn.classifiers.view_model import ViewModel
from fuselearn.consensus.expectation_maximisation import Agreement, agree
from fuselearn.data import TrainingData, note_features, read_training_data
from fuselearn.data.labels import NO_LABEL
from fuselearn.persistence.validation import check_array, check_classes, check_index, check_views
from fuselearn.records import Records
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, RandomState, TableLike, Views


class LabelConsensus(BaseEstimator):
    """Find wrong labels by what the views and the label columns agree on.

    Every view fits a classifier on its labels and gives out-of-fold decision values of all objects. Expectation
    maximisation then estimates together what the true classes are, how much the values of each view count, and how
    often each label column is wrong. The views learn again from the labels agreed on, and so on for a few passes.

    Parameters
    ----------
    estimator : None, classifier, list or dict, default=None
        Classifier with `decision_function` or `predict_proba`: one for all views, a list with one per view, or a dict
        of view name to classifier. None is an RBF support vector machine on standardised columns, with their means in
        gaps and with classes of equal weight.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A selector is what
        :class:`~sklearn.compose.ColumnTransformer` takes. None is one view of all columns. Views may overlap: for
        several annotators of one table, give each a view of all columns, and their labels as `view_labels`.
    cv : int, splitter, iterable or None, default=5
        Number of folds, over which every class is dealt out evenly and anew in each pass; with `groups`, folds of whole
        groups. None is 5. Or a splitter, which is given the groups, or an iterable of (training rows, held-out rows);
        every row must be held out exactly once.
    n_passes : int, default=3
        How often the views' classifiers are fitted: first on the given labels, then on those agreed on.
    n_jobs : int or None, default=None
        Number of threads, over the views and folds. The result is the same for any number.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of classifiers whose own `random_state` is None.
    verbose : int, default=0
        1 prints a line for each fit, with its pass and view.

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
        The classes, in sorted order.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view.
    n_iter_ : int
        Iterations of the last expectation maximisation.
    converged_ : bool
        Whether the last expectation maximisation converged.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns, where `X` is a data frame.

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
    >>> y[7] = 2  # a setosa, labelled as a virginica
    >>> consensus = LabelConsensus(views={"sepal": [0, 1], "petal": [2, 3]}, random_state=0).fit(X, y)
    >>> worst = consensus.suspects(1)[0]
    >>> worst["row"], worst["given"], worst["proposed"]
    (7, 2, 0)
    >>> int(consensus.labels_[7])
    0
    """

    # Those in files of earlier versions have neither.
    _index: AnyArray | None = None
    verbose: int | None = None

    def __init__(
        self,
        estimator: Any = None,
        *,
        views: Views = None,
        cv: Any = 5,
        n_passes: int = 3,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.cv = cv
        self.n_passes = n_passes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: TableLike, y: ArrayLike, view_labels: ArrayLike = None, groups: ArrayLike = None) -> Self:
        """Estimate which labels are wrong.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there; it then counts for nothing, and its label is
            not read.
        y : array of shape (n_samples,)
            The labels.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row; NaN or None where it gave none. With it, `y` supplies `classes_` only.
        groups : array of shape (n_samples,), default=None
            Rows that belong together, such as all pictures of a person, have the same entry: a number or a name. They
            are held out together, so that no label is judged by others of its group. None takes all rows for
            independent.

        Returns
        -------
        self
            The fitted consensus.
        """
        check_count("n_passes", self.n_passes)
        check_jobs(self.n_jobs)
        check_count("verbose", self.verbose or 0, least=0)
        check_cv(self.cv)
        data = read_training_data(self, X, y, None, view_labels, groups, optional_labels=True)
        folds = read_cv(self.cv, data, _first_labels(data.codes))
        codes = data.view_codes()
        if isinstance(folds, int):
            _check_class_sizes_of_views(folds, data, codes)
        estimators = view_estimators(self.estimator, data, _default_estimator())
        for name, estimator in zip(data.names, estimators):
            check_values(estimator, f"estimator for the view {name!r}", type(self).__name__)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        # Class codes instead of labels, since some classifiers insist on them.
        cross_fitting = CrossFitting.of(data, estimators, encoded=True, n_jobs=self.n_jobs)
        for pass_number in range(self.n_passes):
            report = partial(self._report, pass_number)
            values = _out_of_fold_values(cross_fitting, data, codes, folds, (seed, pass_number), report)
            agreement = agree(values, data.codes)
            agreed = agreement.posterior.argmax(axis=1)
            codes = np.where(data.blocks.present, agreed[:, None], NO_LABEL)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        self._publish(data, agreement, agreed)
        return self

    def suspects(self, n: int | None = None) -> Records:
        """Return the labels that are probably wrong, the most suspect first.

        Parameters
        ----------
        n : int or None, default=None
            How many. None gives all labels that are more probably wrong than right.

        Returns
        -------
        Records
            A table with one row per label; iterating gives records, `to_pandas()` a data frame. Columns are ``"row"``,
            the row number in `X`; ``"index"``, where `X` was a pandas data frame with an index other than 0, 1, 2 …;
            ``"column"``, the label column, ``"y"`` or the name of the view; ``"given"``, the label; ``"proposed"``, the
            most probable other class; ``"probability"``, that the label is wrong.
        """
        check_is_fitted(self)
        return suspect_labels(self.posterior_, self._given_codes, self.classes_, self.label_columns_, n, self._index)

    def validate(self) -> None:
        """Refuse a consensus, read from a file, whose labels, classes and rows do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The consensus holds labels of other classes or rows.
        """
        check_views(self)
        if "classes_" not in vars(self):
            return
        n_classes, n_columns = check_classes(self), len(self.label_columns_)
        n_rows = len(check_array(self, "posterior_", np.float64, (None, n_classes), finite=False))
        check_array(self, "_given_codes", np.integer, (n_rows, n_columns), at_least=-1, below=n_classes)
        check_array(self, "noise_rates_", np.float64, (n_columns,), finite=False)
        check_index(self, n_rows)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def _report(self, pass_number: int, done: int, total: int, text: str) -> None:
        """Report a fit of a view's classifier."""
        n_done, n_fits = pass_number * total + done, self.n_passes * total
        text = f"{n_done} of {n_fits} fits, pass {pass_number + 1}, {text}"
        progress.report(self, n_done, n_fits, text, printed=bool(self.verbose))

    def _publish(self, data: TrainingData, agreement: Agreement, agreed: IntArray) -> None:
        """Set the fitted attributes."""
        note_features(self, data.features)
        self.classes_, self.view_names_, self.view_columns_ = data.classes, data.names, data.columns
        self.label_columns_ = data.label_columns
        self.posterior_ = agreement.posterior
        self.labels_ = data.classes[agreed]
        self.confidence_ = agreement.posterior.max(axis=1)
        self.noise_rates_ = agreement.noise_rates
        self.class_noise_rates_ = _missed_shares(agreement.posterior, data.codes)
        self.common_rate_ = agreement.common_rate
        self.view_weights_ = agreement.view_weights
        self.n_iter_, self.converged_ = agreement.n_iter, agreement.converged
        # For `suspects`.
        self._given_codes, self._index = data.codes, data.index


def suspect_labels(
    posterior: FloatArray,
    codes: IntArray,
    classes: AnyArray,
    columns: list[str],
    n: int | None,
    index: AnyArray | None = None,
) -> Records:
    """Return the labels that are probably wrong, the most suspect first, as `LabelConsensus.suspects` does.

    Parameters
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
        p(true class | everything known).
    codes : int ndarray of shape (n_rows, n_columns)
        Class by each label column; -1 where a column has no label.
    classes : ndarray of shape (n_classes,)
        Labels of the classes.
    columns : list of str
        Names of the label columns.
    n : int or None
        How many. None gives all labels that are more probably wrong than right.
    index : ndarray of shape (n_rows,) or None, default=None
        Names of the rows.

    Returns
    -------
    Records
        With the columns ``"row"``, with an index ``"index"``, ``"column"``, ``"given"``, ``"proposed"`` and
        ``"probability"``.
    """
    if n is not None:
        check_count("n", n, least=0)
    rows, column_numbers = np.nonzero(codes >= 0)
    given = codes[rows, column_numbers]
    probability = 1 - posterior[rows, given]
    order = np.argsort(-probability, kind="stable")
    order = order[probability[order] > 0.5] if n is None else order[:n]
    others = posterior[rows[order]].copy()
    others[np.arange(len(order)), given[order]] = -1
    return Records(
        {
            "row": rows[order],
            **({} if index is None else {"index": index[rows[order]]}),
            "column": [columns[column] for column in column_numbers[order]],
            "given": classes[given[order]],
            "proposed": classes[others.argmax(axis=1)],
            "probability": probability[order],
        }
    )


def _default_estimator() -> Any:
    """Return an RBF support vector machine on standardised columns, means in gaps, with classes of equal weight."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), SVC(class_weight="balanced"))


def _first_labels(codes: IntArray) -> IntArray:
    """Return one label of each row, for splitters that stratify; 0 where there is none."""
    first = (codes >= 0).argmax(axis=1)
    return np.maximum(codes[np.arange(len(codes)), first], 0)


def _check_class_sizes_of_views(n_folds: int, data: TrainingData, codes: IntArray) -> None:
    """Check that each view's labels are enough for a number of folds."""
    for name, view_codes in zip(data.names, codes.T):
        check_class_sizes(n_folds, view_codes, data.classes, data.groups, f" in the view {name!r}")
        n_classes = len(np.unique(view_codes[view_codes >= 0]))
        if n_classes < 2:
            raise ValueError(
                f"The labels of the view {name!r} must be of at least two classes, where it is present; there is "
                f"{n_classes}."
            )


def _out_of_fold_values(
    cross_fitting: CrossFitting,
    data: TrainingData,
    codes: IntArray,
    folds: int | list[Fold],
    seed: tuple[int, int],
    report: Report,
) -> FloatArray:
    """Return out-of-fold decision values of all views, of shape (n_rows, n_views, n_classes).

    They have mean 0 in every row and mean square 1 in every view, and are 0 where a view is absent.
    """
    if isinstance(folds, int):
        generators = [np.random.default_rng([*seed, view]) for view in range(codes.shape[1])]
        folds_of_views = [
            as_folds(stratified_folds(view_codes, folds, generator, data.groups), folds)
            for view_codes, generator in zip(codes.T, generators)
        ]
    else:
        folds_of_views = [folds] * codes.shape[1]
    _, outputs = cross_fitting.run(
        codes,
        folds_of_views,
        ViewModel.centred_values,
        len(data.classes),
        lambda view, fold: (*seed, view, fold),
        report,
    )
    values = np.nan_to_num(np.stack(outputs, axis=1))
    for view, view_present in enumerate(data.blocks.present.T):
        size = np.sqrt((values[view_present, view] ** 2).mean())
        if size > 0:
            values[:, view] /= size
    return values


def _missed_shares(posterior: FloatArray, codes: IntArray) -> FloatArray:
    """Return the expected share of the objects of each class that each label column gives another label."""
    shares = np.full((codes.shape[1], posterior.shape[1]), np.nan)
    for column, given in enumerate(codes.T):
        labelled = given >= 0
        members = posterior[labelled].sum(axis=0)
        right = np.bincount(given[labelled], posterior[labelled, given[labelled]], minlength=posterior.shape[1])
        np.divide(members - right, members, out=shares[column], where=members > 0)
    return shares
