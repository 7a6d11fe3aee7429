"""Rows of a view on a device, for learners that bin their columns, in plain array operations."""

import numpy as np

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
        """Of shape (n_columns, n_bins, n_classes), as `fuselearn.numeric.histograms.class_histograms`."""
        return self._sorted_into_bins(self._by_class(weights))

    def _node_histograms(self, tree, nodes, weights):
        """Of shape (n_nodes, n_columns, n_bins, n_classes), as `fuselearn.numeric.histograms.node_histograms`."""
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
