"""The questions that the boosting loop may ask of the rows, and how fitted estimators read and predict new ones.

The loop sees three numbers per arm and round, and never a row. So the rows can be anywhere: in this process, spread
over a cluster, in files or on a GPU. Where a fit runs follows from what is passed in.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, cast

from sklearn.utils.validation import check_is_fitted

from fuselearn.data import View
from fuselearn.data.view_table import read_new_rows, row_location, to_host
from fuselearn.learners.protocol import Hypothesis, Learner, Plan
from fuselearn.numeric.votes import codes_of, probabilities
from fuselearn.typing import AnyArray, Estimator, FloatArray, IntArray, TableLike

PlanKey: TypeAlias = tuple[int, tuple[Hashable, ...]]
Plans: TypeAlias = dict[PlanKey, Plan]
"""Plans of views, by the number of the view and the preparation of the learner."""


class Tally(NamedTuple):
    """Weights W₊, W₋ and W₀ of the rows that a hypothesis gets right, gets wrong, and abstains on.

    Attributes
    ----------
    right : float
        W₊, the weight of the rows whose class it predicts.
    wrong : float
        W₋, the weight of the rows for which it predicts another class.
    absent : float
        W₀, the weight of the rows without its view, or not to be judged on.
    """

    right: float
    wrong: float
    absent: float


class Trial(NamedTuple):
    """A hypothesis that was fitted in a round, and how it did.

    Attributes
    ----------
    hypothesis : Hypothesis or None
        None when no row with weight has the arm's view: it abstains everywhere.
    tally : Tally
        Weights of the rows by outcome.
    """

    hypothesis: Hypothesis | None
    tally: Tally


@dataclass(frozen=True)
class Arm:
    """A view together with a learner, and the labels it believes.

    Parameters
    ----------
    view : View
        The columns that the arm reads, and the rows that have them.
    view_number : int
        Number of the view among all views.
    learner : Learner
        What the arm fits; see `fuselearn.learners.protocol`.
    codes : int32 ndarray of shape (n_rows,)
        Class of each row, by this view's own labels.
    """

    view: View
    view_number: int
    learner: Learner
    codes: IntArray


class Rows(Protocol):
    """The rows of a run and their weights.

    Arms share one weight per row, or each has its own; only the rows know.
    """

    def try_arms(self, arms: list[int], round_number: int) -> list[Trial]:
        """Fit each of the arms under its weights.

        Parameters
        ----------
        arms : list of int
            Numbers of the arms.
        round_number : int
            Number of the round, which all draws depend on.

        Returns
        -------
        list of Trial
            In the order of `arms`.
        """

    def judge(self, arm: int, hypothesis: Hypothesis | None, round_number: int) -> Tally:
        """Weigh the outcomes of a hypothesis that was fitted before.

        Parameters
        ----------
        arm : int
            Number of the arm whose hypothesis it is.
        hypothesis : Hypothesis or None
            None abstains everywhere.
        round_number : int
            Number of the round in which it was fitted.

        Returns
        -------
        Tally
            Weights of the rows by outcome.
        """

    def reweight(self, arm: int, right: float, wrong: float, absent: float) -> None:
        """Multiply the arm's weights by the outcome of its last judged hypothesis on each row, and normalise.

        Parameters
        ----------
        arm : int
            Number of the arm.
        right, wrong, absent : float
            Factors for the rows that are right, wrong and absent.
        """

    def weights(self, arm: int) -> FloatArray:
        """Return the arm's current weights, in the order of the table.

        Parameters
        ----------
        arm : int
            Number of the arm.

        Returns
        -------
        ndarray of shape (n_rows,)
            With sum 1.
        """


class ReadsNewRows:
    """Mixin of a fitted estimator that reads rows to predict."""

    def _is_lazy(self, X: TableLike) -> bool:
        """Return whether predictions for X are to be a collection like X."""
        check_is_fitted(self)
        return row_location(X) == "dask"

    def _read_rows(self, X: TableLike) -> FloatArray:
        """Return new rows as an array on the host."""
        check_is_fitted(self)
        if row_location(X) == "files":
            raise TypeError(
                f"X must hold rows; got the path {X!r:.100}. Only fit reads files: read them first, e.g. with "
                "pandas.read_parquet, some rows at a time where they do not fit into memory."
            )
        return read_new_rows(cast(Estimator, self), self._encoded(to_host(X)))

    def _encoded(self, X: TableLike) -> TableLike:
        """Return a table on the host as numbers, where the estimator takes anything else."""
        return X


class PredictsByDecision:
    """Mixin that predicts from `decision_function` and `classes_`."""

    classes_: AnyArray
    decision_function: Callable[[TableLike], FloatArray]

    def predict(self, X: TableLike) -> AnyArray:
        """Predict classes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of each row.
        """
        # The decision comes first: it refuses a model that is not fitted.
        codes = codes_of(self.decision_function(X))
        return self.classes_[codes]

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Predict class probabilities by softmax(2·decision), which is not calibrated.

        Wrap the classifier in :class:`sklearn.calibration.CalibratedClassifierCV` where probabilities matter.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probability of each class, in the order of `classes_`.
        """
        return probabilities(self.decision_function(X))
