"""Fusion without any correspondence: the direct sum of kernels."""

import numpy as np

from fuselearn.kernels.base import BaseKernelFusion, uses_learning


class AugmentedKernelClassifier(BaseKernelFusion):
    """Support vector machine on the direct sum of the views' kernels.

    Every observation of every view is a training example of its own, with no kernel between views. The method that S4
    [1]_ compares with.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    kernel : str, callable, GramLookup or dict, default="linear"
        See :class:`TomographicClassifier`.
    weights : "uniform", dict or array, default="uniform"
        Weight of each view's kernel, 1 by default.
    C : float, default=1.0
    n_jobs : int, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_weights_ : ndarray of shape (n_views,)
    support_, support_rows_, dual_coef_ : list of ndarray
        See :class:`TomographicClassifier`.
    intercept_ : ndarray of shape (n_problems,)

    Notes
    -----
    A test object that several views saw is at the sum of its places in the views' spaces, so its decision value is
    the sum over them and one intercept, as in S4. The intercept was fitted to examples of one view, which is why this
    can be far off where kernels are not centred. An object that one view saw is decided as the examples were.

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
    0.9
    """

    _trained_on_whole_objects = False

    def __init__(self, *, views=None, kernel="linear", weights="uniform", C=1.0, n_jobs=None):
        self.views = views
        self.kernel = kernel
        self.weights = weights
        self.C = C
        self.n_jobs = n_jobs

    def _check_settings(self):
        super()._check_settings()
        if uses_learning(self.weights):
            raise ValueError(
                f"weights={self.weights!r} needs kernels between the same objects, which the augmented kernel has not; "
                "use 'uniform', numbers, or TomographicClassifier."
            )

    def _items(self, rows):
        objects = rows.objects()
        row_numbers, views = np.nonzero(objects >= 0)
        places = np.full((len(row_numbers), objects.shape[1]), -1)
        places[np.arange(len(places)), views] = objects[row_numbers, views]
        return places, rows.codes[row_numbers], np.ones(len(places)), {}

    def _weigh(self, weights, placed, problems, upper):
        return np.ones(len(placed.grams)) if isinstance(weights, str) else weights
