"""Noise injection, comparison of methods on the same splits, and tables of results."""

from fuselearn.evaluation.noise import add_feature_noise, add_label_noise
from fuselearn.evaluation.result_table import Table

__all__ = ["Table", "add_feature_noise", "add_label_noise"]
