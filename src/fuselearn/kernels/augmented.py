"""Fusion without any correspondence: the direct sum of kernels."""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from fuselearn.data import TrainingData
from fuselearn.kernels.base import BaseKernelFusion, Items, object_numbers, uses_learning
from fuselearn.kernels.composition import ItemKernels
from fuselearn.kernels.machines import Problem
from fuselearn.kernels.view_kernels import Kernel
from fuselearn.typing import ArrayLike, FloatArray, TableLike, Views


class AugmentedKernelClassifier(BaseKernelFusion):
    """Support vector machine on the direct sum of the views' kernels.

    Every observation of every view is a training example of its own, with no kernel between views. It is the method
    that S4 [1]_ compares with.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    kernel : str, callable, GramLookup or dict, default="linear"
        Kernel of each view, see :class:`TomographicClassifier`.
    weights : "uniform", dict or array, default="uniform"
        Weight of each view's kernel, 1 by default.
    C : float, default=1.0
        Penalty of the support vector machine.
    n_jobs : int, default=None
        Threads for kernels and classes. The model is the same for any number.
    verbose : int, default=0
        1 prints a line for each of the steps: kernels, items, weights, machines.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class among the training rows: the decision on a row without any view.
    kernel_weights_ : ndarray of shape (n_views,)
        Weight of each view's kernel.
    kernel_scales_ : ndarray of shape (n_views,)
        Number that each kernel was divided by: 1.
    kernels_ : list of object
        Kernel of each view, with its width.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of `X` that each view has.
    support_ : list of ndarray
        Rows of `X` that the decision depends on, for each view.
    support_rows_ : list of ndarray of shape (n_support, n_columns of the view)
        Values of these rows in the view.
    dual_coef_ : list of ndarray of shape (n_problems, n_support)
        Coefficients of these rows, for each pair of classes.
    intercept_ : ndarray of shape (n_problems,)
        Intercept for each pair of classes.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns, if `X` was a data frame.

    See Also
    --------
    TomographicClassifier : Puts objects of different views together.

    Notes
    -----
    A test object that several views saw is at the sum of its places in the views' spaces, so its decision value is
    the sum over them and one intercept, as in S4. The intercept was fitted to examples of one view, which is why the
    decision can be far off where kernels are not centred. Those by the names "linear", "rbf" and "laplacian" are, about
    the means of the training rows; for a linear kernel about the origin, as S4 has it, pass the function
    :func:`sklearn.metrics.pairwise.linear_kernel`. An object that one view saw is decided as the examples were.

    References
    ----------
    .. [1] D. Windridge and F. Yan, Kernel combination via debiased object correspondence analysis, Information Fusion
       27 (2016).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import AugmentedKernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AugmentedKernelClassifier(views=[slice(0, 2), slice(2, 4)], kernel="rbf").fit(X, y)
    >>> round(model.score(X, y), 2)
    0.91
    """

    _items_have_all_views = False

    def __init__(
        self,
        *,
        views: Views = None,
        kernel: Kernel | Mapping[str, Kernel] = "linear",
        weights: str | Mapping[str, float] | Sequence[float] | FloatArray = "uniform",
        C: float = 1.0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.views = views
        self.kernel = kernel
        self.weights = weights
        self.C = C
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None, view_labels: ArrayLike = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Training rows. A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
            Class of each row.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows. C times the weight, in units of the mean over rows that have one, is the penalty of a
            row: twice the weights are the same weights. Rows of weight 0 are left out.
        view_labels : array of shape (n_samples, n_views), default=None
            Label of each row by each view, where they disagree; `y` then supplies `classes_` only. An
            observation has the label that its own view gives it.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight, view_labels)

    def _check_settings(self) -> None:
        super()._check_settings()
        if uses_learning(self.weights):
            raise ValueError(
                f"weights={self.weights!r} needs kernels between the same objects, and the augmented kernel has none "
                "between views; use 'uniform', numbers, or TomographicClassifier."
            )

    def _items(self, data: TrainingData, grams: list[FloatArray]) -> Items:
        objects = object_numbers(data.blocks.present)
        rows, views = np.nonzero(objects >= 0)
        single = np.full((len(rows), objects.shape[1]), -1)
        single[np.arange(len(single)), views] = objects[rows, views]
        return Items(single, data.view_codes()[rows, views], data.weights[rows], {})

    def _view_weights(
        self, weights: str | FloatArray, kernels: ItemKernels, problems: list[Problem], upper: FloatArray
    ) -> FloatArray:
        return np.ones(len(kernels.grams)) if isinstance(weights, str) else weights
