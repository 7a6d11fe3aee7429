"""Real objects seen through several views, to try things on."""

from fuselearn.datasets.digit_views import load_digit_views

__all__ = ["load_digit_views"]
