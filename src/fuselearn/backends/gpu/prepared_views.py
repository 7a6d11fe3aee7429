"""Rows of a view on a device, for learners that standardise their columns, in plain array operations.

Values are kept as they were given, sorted by class, and standardised in double precision whenever they are read: so
sums are those of `fuselearn.numeric` but for the order of their additions, also for tables in single precision.

Rows of a view on a device, for learners that bin their columns, in plain array operations.

What a round does to weights on a device, in plain array operations; see `fuselearn.numeric.weights`.
"""

import numpy as np

from fuselearn.numeric.weights import ABSENT, RIGHT, TIE, WRONG
from fuselearn.reductions import drive

VALUES_AT_A_TIME = 2**23
"""Values that are standardised at a time, in double precision."""


class DeviceColumns:
    """Rows of a view, sorted by class.

    Parameters
    ----------
    table : DeviceTable
    view : View
    rows : intp ndarray of shape (n_rows,)
        Rows of the table, sorted by class.
    starts : intp ndarray of shape (n_classes + 1,)
        Where each class starts among them.
    """

    def __init__(self, table, view, rows, starts):
        self.arrays = table.arrays
        self.name = view.name
        self.n_rows, self.n_columns = len(rows), view.n_columns
        self.starts = starts
        self._hold(table, view.columns, rows)

    def plan(self, learner, seed):
        """What a learner that standardises makes of the view: all that it asks for are sums of the columns."""
        planning = learner.planning(self.name, self.n_columns, self.n_rows, seed)
        return drive(planning, lambda question: self.column_sums(question.centres))

    def column_sums(self, centres):
        """Number of values, Σ (x - centre) and Σ (x - centre)² of each column, as NumPy arrays."""
        weights = self.arrays.full(self.n_rows, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):  # who asks looks at what came out
            moments = self.arrays.to_host(self._moments(centres, np.ones(self.n_columns), weights)).sum(axis=0)
        return moments[1:].reshape(3, self.n_columns)

    def total(self, plan, statistic, weights):
        """Sums that a learner asks for, under weights of the rows; on the device.

        Rooms beside each other do not know each other's classes, so a statistic is known by its kind.
        """
        kind = getattr(statistic, "kind", type(statistic).__name__)
        if kind == "class moments":
            return self._moments(plan.means, plan.scales, weights)
        if kind == "cross products":
            return self._products(plan, statistic.n_classes, weights)
        raise TypeError(f"Rows on a device have no {kind}; give X as a NumPy array for this learner.")

    def predict(self, hypothesis):
        """Class code of each row, on the device, by the rule of `fuselearn.numeric.moments`."""
        arrays, parts = self.arrays, []
        squares, slopes, column_constants = (
            arrays.from_host(np.ascontiguousarray(part.T))
            for part in (hypothesis.squares, hypothesis.slopes, hypothesis.column_constants)
        )
        constants = hypothesis.constants + (0.0 if self.gaps else hypothesis.column_constants.sum(axis=1))
        constants = arrays.from_host(constants)
        for start, stop in self._blocks(0, self.n_rows):
            z, observed = self._standardised(hypothesis.plan.means, hypothesis.plan.scales, start, stop)
            scores = arrays.matmul(z * z, squares) + arrays.matmul(z, slopes)
            if self.gaps:
                scores = scores + arrays.matmul(observed, column_constants)
            parts.append(_codes_of_largest(arrays, scores + constants))
        return arrays.joined(parts)

    def _hold(self, table, columns, rows):
        arrays = self.arrays
        numbers = arrays.from_host(rows)
        self._values = table.columns(columns, numbers)
        self.gaps = any(
            bool(arrays.any(arrays.isnan(self._given(start, stop)))) for start, stop in self._blocks(0, self.n_rows)
        )

    def _given(self, start, stop):
        """Some rows as they were given."""
        return self._values[start:stop, :]

    def _blocks(self, first, last):
        step = max(1, VALUES_AT_A_TIME // self.n_columns)
        for start in range(first, last, step):
            yield start, min(start + step, last)

    def _standardised(self, means, scales, start, stop):
        """Standardised values, 0 where there is a gap, and where there is none as 0.0 and 1.0 (None without gaps)."""
        arrays = self.arrays
        z = (arrays.double(self._given(start, stop)) - arrays.from_host(means)) / arrays.from_host(scales)
        if not self.gaps:
            return z, None
        gap = arrays.isnan(z)
        return arrays.where(gap, arrays.xp.zeros_like(z), z), arrays.double(~gap)

    def _moments(self, means, scales, weights):
        """Moments of each class, as `fuselearn.numeric.moments.weighted_moments` gives them."""
        arrays, rows = self.arrays, []
        for first, last in zip(self.starts[:-1].tolist(), self.starts[1:].tolist()):
            sums = arrays.full(1 + 3 * self.n_columns, 0.0)
            for start, stop in self._blocks(first, last):
                z, observed = self._standardised(means, scales, start, stop)
                w = weights[start:stop]
                whole = arrays.total(w)[None]
                here = arrays.matmul(w, observed) if self.gaps else whole * arrays.full(self.n_columns, 1.0)
                sums = sums + arrays.joined([whole, here, arrays.matmul(w, z), arrays.matmul(w, z * z)])
            rows.append(sums[None, :])
        return arrays.joined(rows)

    def _products(self, plan, n_classes, weights):
        """Products of the rows behind a 1, as `fuselearn.numeric.least_squares.cross_products` gives them."""
        arrays = self.arrays
        targets = np.arange(1 if n_classes == 2 else 0, n_classes)
        width = 1 + self.n_columns
        products = arrays.full((width, width + len(targets)), 0.0)
        for code, (first, last) in enumerate(zip(self.starts[:-1].tolist(), self.starts[1:].tolist())):
            signs = arrays.from_host(np.where(targets == code, 1.0, -1.0))
            for start, stop in self._blocks(first, last):
                z, _ = self._standardised(plan.means, plan.scales, start, stop)
                ones = arrays.full((stop - start, 1), 1.0)
                left = arrays.transposed(arrays.joined([arrays.transposed(ones), arrays.transposed(z)]))
                right = arrays.joined(
                    [arrays.transposed(left), arrays.transposed(ones * signs[None, :])]  # columns, one after the other
                )
                weighted = arrays.transposed(left * weights[start:stop][:, None])
                products = products + arrays.matmul(weighted, arrays.transposed(right))
        return products


def _codes_of_largest(arrays, scores):
    """Code of the largest score in each row; one score alone is that of class 1 against class 0."""
    if scores.shape[1] == 1:
        return arrays.codes(scores[:, 0] > TIE)
    best, code = scores[:, 0], arrays.full(scores.shape[0], 0, "int32")
    for k in range(1, scores.shape[1]):
        larger = scores[:, k] > best + TIE
        best = arrays.where(larger, scores[:, k], best)
        code = arrays.where(larger, arrays.codes(larger) * k, code)
    return code


ONES_AT_A_TIME = 2**24
"""Entries of the table of zeros and ones by which weights are sorted into bins."""


class DeviceBins:
    """Rows of a view as bins, sorted by class.

    Parameters
    ----------
    table : DeviceTable
    view : View
        As given: its own rows place the edges, as on this machine.
    plan : Binning
    rows : intp ndarray of shape (n_rows,)
        Rows of the table, sorted by class.
    starts : intp ndarray of shape (n_classes + 1,)
        Where each class starts among them.
    """

    def __init__(self, table, view, plan, rows, starts):
        self.arrays = arrays = table.arrays
        self.n_rows, self.n_columns = len(rows), plan.n_columns
        self.n_bins, self.missing_bin = plan.n_bins, plan.missing_bin
        self.starts = starts
        numbers = arrays.from_host(rows)
        columns = []
        for number, column in enumerate(view.columns.tolist()):
            values = arrays.double(arrays.take(table.values[:, column], numbers))
            edges = arrays.from_host(np.ascontiguousarray(plan.edges[number]))
            missing = arrays.isnan(values)
            bins = arrays.codes(arrays.below(edges, arrays.where(missing, arrays.xp.zeros_like(values), values)))
            columns.append(arrays.bytes_of(arrays.where(missing, arrays.codes(missing) * plan.missing_bin, bins)))
        self._hold(columns)

    def total(self, plan, statistic, weights):
        """Sums that a learner asks for, under weights of the rows; on the device. See `DeviceColumns.total`."""
        kind = getattr(statistic, "kind", type(statistic).__name__)
        if kind == "class histograms":
            return self._histograms(weights)
        if kind == "node histograms":
            return self._node_histograms(statistic.tree, statistic.nodes, weights)
        raise TypeError(f"Binned rows on a device have no {kind}; give X as a NumPy array for this learner.")

    def predict(self, hypothesis):
        """Class code of each row, on the device."""
        return self.arrays.take(self.arrays.from_host(hypothesis.code), self._leaves(hypothesis))

    def _hold(self, columns):
        self._columns = columns

    def _histograms(self, weights):
        """Of shape (n_columns, n_bins, n_classes), as `fuselearn.numeric.tree_histograms.class_histograms`."""
        return self._sorted_into_bins(self._by_class(weights))

    def _node_histograms(self, tree, nodes, weights):
        """Of shape (n_nodes, n_columns, n_bins, n_classes), as `fuselearn.numeric.tree_histograms.node_histograms`."""
        leaves = self._leaves(tree)
        nothing = self.arrays.xp.zeros_like(weights)
        return self.arrays.joined(
            [
                self._sorted_into_bins(self._by_class(self.arrays.where(leaves == node, weights, nothing)))[None, ...]
                for node in nodes
            ]
        )

    def _by_class(self, weights):
        """The weights as one column per class, 0 in the rows of others."""
        arrays, columns = self.arrays, []
        for first, last in zip(self.starts[:-1].tolist(), self.starts[1:].tolist()):
            parts = [arrays.full(first, 0.0), weights[first:last], arrays.full(self.n_rows - last, 0.0)]
            columns.append(arrays.joined(parts)[None, :])
        return arrays.transposed(arrays.joined(columns))

    def _sorted_into_bins(self, class_weights):
        """Σ of the class weights in each bin of each column, by a product with a table of zeros and ones.

        Libraries count into bins by additions in no fixed order, and the standard has none.
        """
        arrays = self.arrays
        numbers = arrays.from_host(np.arange(self.n_bins, dtype=np.int32))[:, None]
        step = max(1, ONES_AT_A_TIME // self.n_bins)
        histograms = []
        for column in self._columns:
            histogram = 0.0
            for start in range(0, self.n_rows, step):
                stop = min(start + step, self.n_rows)
                ones = arrays.double(arrays.codes(column[start:stop])[None, :] == numbers)
                histogram = histogram + arrays.matmul(ones, class_weights[start:stop, :])
            histograms.append(histogram[None, ...])
        return arrays.joined(histograms)

    def _leaves(self, tree):
        """Number of the leaf that each row ends in. Children have higher numbers than their parent."""
        arrays = self.arrays
        leaves = arrays.full(self.n_rows, 0, "int32")
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            bins = arrays.codes(self._columns[int(tree.feature[node])])
            goes_left = bins <= int(tree.cut_bin[node])
            if tree.missing_left[node]:
                goes_left = goes_left | (bins == self.missing_bin)
            else:
                goes_left = goes_left & (bins != self.missing_bin)
            step = arrays.where(
                goes_left,
                arrays.codes(goes_left) * int(tree.left[node]),
                arrays.codes(~goes_left) * int(tree.right[node]),
            )
            leaves = arrays.where(leaves == node, step, leaves)
        return leaves


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
