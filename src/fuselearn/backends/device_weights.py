"""What a round does to weights on a device, in plain array operations; see `fuselearn.numeric.weights`."""

from fuselearn.numeric.weights import ABSENT, RIGHT, WRONG


class DeviceWeights:
    """Operations on the weights of all rows.

    Parameters
    ----------
    arrays : Arrays
    """

    def __init__(self, arrays):
        self.arrays = arrays

    def judged(self, predicted, codes, places, excluded, weights):
        """Outcome of each row, and the weight of each outcome.

        Parameters
        ----------
        predicted, codes : int32 array of shape (n_present,)
            Classes of the rows that have the arm's view.
        places : int array of shape (n_rows,) or None
            Place of each row among those, -1 where the view is absent. None: all rows, in their order.
        excluded : bool array of shape (n_rows,) or None
            Rows that count as absent.
        weights : array of shape (n_rows,)

        Returns
        -------
        outcome : int array of shape (n_rows,)
        sums : array of shape (3,)
            Of the rows that are right, wrong and absent, on the device.
        """
        arrays = self.arrays
        right = arrays.codes(predicted == codes)
        outcome = RIGHT * right + WRONG * (1 - right)
        if places is not None:
            here = arrays.codes(places >= 0)
            outcome = arrays.take(outcome, arrays.where(places >= 0, places, places * 0)) * here
        if excluded is not None:
            outcome = arrays.where(excluded, outcome * ABSENT, outcome)
        nothing = arrays.xp.zeros_like(weights)
        sums = [arrays.total(arrays.where(outcome == kind, weights, nothing)) for kind in (RIGHT, WRONG, ABSENT)]
        return outcome, arrays.joined([part[None] for part in sums])

    def multiplied(self, weights, outcome, right, wrong, absent):
        """Weights times the factor of their outcome."""
        arrays = self.arrays
        return arrays.where(
            outcome == RIGHT, weights * right, arrays.where(outcome == WRONG, weights * wrong, weights * absent)
        )
