"""Rows to predict, wherever they are: what all boosting estimators do before their own part begins."""

from typing import cast

from sklearn.utils.validation import check_is_fitted

from fuselearn.backends.protocol import row_location, to_host
from fuselearn.data.view_table import read_new_rows
from fuselearn.typing import Estimator, FloatArray, TableLike


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
