"""Objects seen through several views, to try things on: built in, made up, or fetched."""

from fuselearn.datasets.colour_patches import load_colour_patches
from fuselearn.datasets.correlated_gaussians import make_correlated_gaussians
from fuselearn.datasets.digit_views import load_digit_views
from fuselearn.datasets.faces import fetch_glasses_views, load_face_views
from fuselearn.datasets.image_descriptors import face_views
from fuselearn.datasets.label_generators import make_overlapping_labels, make_shared_labels
from fuselearn.datasets.public import fetch_views
from fuselearn.datasets.synthetic_views import make_views

__all__ = [
    "face_views",
    "fetch_glasses_views",
    "fetch_views",
    "load_colour_patches",
    "load_digit_views",
    "load_face_views",
    "make_correlated_gaussians",
    "make_overlapping_labels",
    "make_shared_labels",
    "make_views",
]
