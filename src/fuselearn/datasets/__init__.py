"""Objects seen through several views, to try things on: built in, made up, or fetched."""

from fuselearn.datasets.digit_views import load_digit_views
from fuselearn.datasets.overlapping_labels import make_overlapping_labels
from fuselearn.datasets.public import fetch_views

__all__ = ["fetch_views", "load_digit_views", "make_overlapping_labels"]
