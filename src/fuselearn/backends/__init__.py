"""Rows of a boosting run, in this process, in partitions or on a GPU; `protocol` names what a round may ask of them."""

from fuselearn.backends.local import LocalRows
from fuselearn.backends.protocol import Arm, Rows, Tally, Trial

__all__ = ["Arm", "LocalRows", "Rows", "Tally", "Trial"]
