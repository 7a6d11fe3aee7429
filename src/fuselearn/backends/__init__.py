"""Where a round's reductions run. `protocol` says what a round may ask of the rows."""

from fuselearn.backends.local import LocalRows
from fuselearn.backends.protocol import Arm, Rows, Tally, Trial

__all__ = ["Arm", "LocalRows", "Rows", "Tally", "Trial"]
