"""Any scikit-learn classifier as a weak learner, and the learners that an `estimator` argument means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuselearn.classifiers.adapter import check_classifier, is_frozen, seeded_clone, takes_nan, weight_parameter
from fuselearn.data import View
from fuselearn.learners.protocol import ConstantHypothesis, Hypothesis, Learner, Plan
from fuselearn.learners.score_learners import GaussianNB, LeastSquares
from fuselearn.learners.tree import Stump, Tree
from fuselearn.numeric.row_draws import draw_counts
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.persistence.validation import check_array
from fuselearn.typing import Classifier, FloatArray, IntArray

LEARNERS_BY_NAME: dict[str, type[Learner]] = {
    "gaussian_nb": GaussianNB,
    "stump": Stump,
    "tree": Tree,
    "linear": LeastSquares,
}


class SklearnLearner(Learner):
    """A scikit-learn classifier, fitted anew in each round.

    It is given the weights as `sample_weight`, scaled to mean 1, where its `fit` takes them; a pipeline passes them to
    its last step. A classifier that takes none is fitted on rows drawn by the weights instead.

    Parameters
    ----------
    estimator : classifier
        The classifier. It is never changed; clones are fitted.
    """

    needs_rows = True

    def __init__(self, estimator: Classifier) -> None:
        self.estimator = estimator

    @property
    def preparation(self) -> tuple[str, str, bool]:
        """Key of the rows, which are shared by learners that take the same ones."""
        return ("as given", type(self.estimator).__name__, takes_nan(self.estimator))

    def check_rows(self, view: View) -> None:
        """Refuse rows with gaps that the classifier does not take; see `Learner.check_rows`."""
        self.plan(view, None).prepare(view)

    def plan(self, view: View, seed: np.random.SeedSequence | None) -> "AsGiven":
        """Return the plan, for which nothing has to be known; see `Learner.plan`."""
        return AsGiven(view.n_columns, type(self.estimator).__name__, takes_nan(self.estimator))

    def fit_rows(
        self,
        plan: "AsGiven",
        prepared: FloatArray,
        codes: IntArray,
        weights: FloatArray,
        n_classes: int,
        *,
        seed: np.random.SeedSequence,
        drawn: IntArray | None,
    ) -> Hypothesis:
        """Fit a clone of the classifier; see `Learner.fit_rows`."""
        weight_name = weight_parameter(self.estimator)
        fit_parameters: dict[str, FloatArray] = {}
        if drawn is None and weight_name is None:
            drawn = np.repeat(np.arange(len(weights)), draw_counts(weights / weights.sum(), len(weights), seed))
        if drawn is not None:
            prepared, codes = prepared[drawn], codes[drawn]
        else:
            if not weights.all():
                # Rows without weight are dropped, whatever the classifier makes of zeros.
                rows = np.flatnonzero(weights)
                prepared, codes, weights = prepared[rows], codes[rows], weights[rows]
            fit_parameters = {str(weight_name): weights / weights.mean()}
        # Some classifiers want their classes to be 0, 1, … without a gap.
        classes, local_codes = np.unique(codes, return_inverse=True)
        if len(classes) == 1:
            return ConstantHypothesis(plan, int(classes[0]))
        estimator = seeded_clone(self.estimator, seed, only_unset=False)
        estimator.fit(prepared, local_codes, **fit_parameters)
        return EstimatorHypothesis(plan, estimator, classes.astype(np.int32))


@dataclass(frozen=True)
class AsGiven(Plan):
    """No preparation: the classifier sees the columns as they are.

    Attributes
    ----------
    n_columns : int
        Number of columns of the view.
    estimator_name : str
        Class of the classifier, for messages.
    takes_nan : bool
        Whether the classifier takes NaN.
    """

    n_columns: int
    estimator_name: str
    takes_nan: bool

    def prepare(self, view: View, threads: Threads = SERIAL) -> FloatArray:
        """Return the rows of a view, and refuse gaps that the classifier does not take."""
        rows = view.array()
        if not self.takes_nan and np.isnan(rows).any():
            raise ValueError(
                f"The view {view.name!r} has NaN inside rows in which it is present, which {self.estimator_name} does "
                "not take. Impute them with preprocess, e.g. preprocess=SimpleImputer(), or use a learner of "
                "fuselearn.learners."
            )
        return rows


@dataclass(frozen=True, eq=False)
class EstimatorHypothesis(Hypothesis):
    """A fitted scikit-learn classifier.

    Attributes
    ----------
    plan : AsGiven
        Checks the rows.
    estimator : fitted classifier
        Its classes are 0, 1, …, the places of `codes`.
    codes : int32 ndarray
        Class codes that it was fitted on.
    """

    plan: AsGiven
    estimator: Classifier
    codes: IntArray

    def validate_votes(self, n_classes: int) -> None:
        """Refuse codes of other classes; see `Hypothesis.validate_votes`."""
        check_array(self, "codes", np.integer, (None,), at_least=0, below=n_classes)

    def predict_prepared(self, prepared: FloatArray, threads: Threads = SERIAL) -> IntArray:
        """Return the class codes that the classifier predicts, and refuse any others."""
        predicted = np.asarray(self.estimator.predict(prepared))
        known = predicted.dtype.kind in "iuf" and np.isin(predicted, np.arange(len(self.codes))).all()
        if predicted.shape != (len(prepared),) or not known:
            raise ValueError(
                f"{self.plan.estimator_name}.predict must return one of the classes it was fitted on, 0 to "
                f"{len(self.codes) - 1}, for each of {len(prepared)} rows; got {predicted.dtype} values of shape "
                f"{predicted.shape}, e.g. {predicted.ravel()[:3].tolist()}."
            )
        return self.codes[predicted.astype(np.intp)]


def as_learner(estimator: Any) -> Learner:
    """Return the learner that an `estimator` argument means.

    Parameters
    ----------
    estimator : None, str, Learner or scikit-learn classifier
        None is ``GaussianNB()``; a string is one of ``"gaussian_nb"``, ``"stump"``, ``"tree"``, ``"linear"``; a
        scikit-learn classifier becomes a `SklearnLearner`.

    Returns
    -------
    Learner
        The learner.

    Examples
    --------
    >>> as_learner("stump")
    Stump()
    """
    if estimator is None:
        return GaussianNB()
    if isinstance(estimator, str):
        if estimator not in LEARNERS_BY_NAME:
            raise ValueError(f"estimator must be one of {list(LEARNERS_BY_NAME)}, or an object; got {estimator!r}.")
        return LEARNERS_BY_NAME[estimator]()
    if isinstance(estimator, Learner):
        return estimator
    check_classifier(estimator, expected="a scikit-learn classifier or a learner")
    if is_frozen(estimator):
        raise ValueError(
            "estimator is frozen, but a weak learner is fitted anew in each round; pass it without FrozenEstimator."
        )
    return SklearnLearner(estimator)


def as_learners(estimator: Any) -> list[Learner] | dict[str, list[Learner]]:
    """Return the learners that an `estimator` argument names, checked: a list for all views, or one per view.

    Examples
    --------
    >>> as_learners({"rna": "stump", "image": ["stump", "tree"]})
    {'rna': [Stump()], 'image': [Stump(), Tree()]}
    >>> as_learners(None)
    [GaussianNB()]
    """
    if isinstance(estimator, Mapping):
        return {name: _as_list(choice, f" for the view {name!r}") for name, choice in estimator.items()}
    return _as_list(estimator)


def _as_list(choice: Any, of_view: str = "") -> list[Learner]:
    """Return the learners that one choice names, a single one or a list of them."""
    choices = list(choice) if isinstance(choice, list | tuple) else [choice]
    if not choices:
        raise ValueError(f"estimator is an empty list{of_view}; name at least one learner.")
    learners = [as_learner(estimator) for estimator in choices]
    for learner in learners:
        learner.check()
    return learners
