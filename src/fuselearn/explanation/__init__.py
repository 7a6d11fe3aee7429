"""Explanations of rows: Shapley values of views, and of columns in trees, linear machines and product kernels."""

from fuselearn.explanation.explanation import Explanation

__all__ = ["Explanation"]
