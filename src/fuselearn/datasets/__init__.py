"""Data sets in several views: generated, built in, or fetched."""

from fuselearn.datasets.faces import face_views, fetch_glasses_views, load_face_views
from fuselearn.datasets.image_views import load_colour_patches, load_digit_views
from fuselearn.datasets.label_generators import make_overlapping_labels, make_shared_labels
from fuselearn.datasets.paper_folders import load_gene_kernels, load_vistex
from fuselearn.datasets.public import fetch_views
from fuselearn.datasets.synthetic_views import make_correlated_gaussians, make_views

__all__ = [
    "face_views",
    "fetch_glasses_views",
    "fetch_views",
    "load_colour_patches",
    "load_digit_views",
    "load_face_views",
    "load_gene_kernels",
    "load_vistex",
    "make_correlated_gaussians",
    "make_overlapping_labels",
    "make_shared_labels",
    "make_views",
]
