"""How the papers split their data, by name."""

from dataclasses import dataclass

from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit


@dataclass(frozen=True)
class Protocol:
    """Repeated splits into training and test rows.

    Attributes
    ----------
    runs : int
    train_size : float or None
        Share of the rows to train on.
    folds : int or None
        Instead of one split, a run is a cross-validation of so many folds, and its score their mean.
    n_estimators : int or None
        Rounds of boosting methods.
    """

    runs: int
    train_size: float | None = None
    folds: int | None = None
    n_estimators: int | None = None

    @property
    def test_share(self):
        """Number of test rows by number of training rows."""
        return 1 / (self.folds - 1) if self.folds else (1 - self.train_size) / self.train_size

    def splits(self, y, run, seed):
        """List of (training rows, test rows) of a run, drawn within classes."""
        state = (seed + 7919 * run) % 2**32
        if self.folds:
            splitter = StratifiedKFold(self.folds, shuffle=True, random_state=state)
        else:
            splitter = StratifiedShuffleSplit(1, train_size=self.train_size, random_state=state)
        return list(splitter.split(y, y))


PROTOCOLS = {
    "bssd": Protocol(runs=20, train_size=0.6),
    "shareboost": Protocol(runs=30, train_size=0.6, n_estimators=150),
    "mssboost": Protocol(runs=10, train_size=0.75),
    "shared_distribution": Protocol(runs=10, train_size=0.5, n_estimators=30),
    "tomographic": Protocol(runs=1400, folds=3),
}
"""S0, S1, S2, S3 and S4."""
