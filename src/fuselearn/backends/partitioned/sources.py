"""Where the parts of the rows come from."""

from abc import ABC, abstractmethod


class Source(ABC):
    """The rows that a fit was given, in parts.

    Attributes
    ----------
    kind : str
        In words, for messages: "Dask collections".
    n_features : int
    column_names : list of str or None
    header : object
        Stands for X where views are resolved.
    has_view_labels : bool
    """

    kind: str
    n_features: int
    column_names: list | None
    header: object
    has_view_labels: bool

    @abstractmethod
    def check_view_labels(self, names):
        """Refuse view labels that do not have a column for each view."""

    @abstractmethod
    def map(self, function, *arguments, each=None):
        """``[function(raw, *arguments, one) for raw, one in zip(parts, each)]``, without the last where `each` is None.

        The rows are read anew: between two calls nothing is kept of them.
        """

    @abstractmethod
    def place(self, blueprint, threads):
        """Build all parts and leave them where they are; returns their `Crew`."""
