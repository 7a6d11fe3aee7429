"""What the labels and the views agree on."""

from fuselearn.consensus.expectation_maximisation import Agreement, agree
from fuselearn.consensus.label_consensus import LabelConsensus

__all__ = ["Agreement", "LabelConsensus", "agree"]
