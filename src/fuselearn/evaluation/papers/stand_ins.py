"""Public sets that stand in for the ones of the papers, which are not public.

S0 and S1: FERET faces (face, gender, glasses; 101 pictures) and CYGD yeast genes (100 genes). S3: VisTex textures.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from fuselearn.datasets import fetch_glasses_views, fetch_views, load_digit_views, load_face_views
from fuselearn.evaluation.papers.outcome import reason
from fuselearn.evaluation.papers.paired_runs import ViewSet
from fuselearn.views import resolve_views

STANDS_FOR = {
    "faces": "FERET, faces against blacked-out faces: scikit-image's 100 faces and 100 pieces of backgrounds; "
    "eigenfaces, Canny edges and wavelets instead of three poses",
    "glasses": "FERET, glasses: the 400 Olivetti faces with S0's own three views, people kept apart",
    "breast_tcga": "CYGD, membrane proteins: 150 tumours, subtype LumA against the others, in mRNA, miRNA and protein",
    "mfeat": "no set of the papers (the usual multi-view set): 2,000 digits, 5 or more against less, six views",
    "digits": "no set of the papers: scikit-learn's digits, 5 or more against less, four views",
}
"""What each set of the noise studies is, and what it stands for. Nothing stands in for FERET's gender task."""


def noise_sets(*, most_rows=None, whole=()):
    """The sets that are there, and why the others are not.

    Parameters
    ----------
    most_rows : int or None, default=None
        Objects to draw, in proportion to the classes, where a set has more.
    whole : sequence of str, default=()
        Sets to leave whole.

    Returns
    -------
    sets : list of ViewSet
    missing : dict of name to str
    """
    sets, missing = [], {}
    for name, load in LOADERS.items():
        try:
            data = _loaded(load)
        # OSError: neither in the folder nor to be fetched. ImportError: scikit-image or PyWavelets is not installed.
        except (OSError, ImportError) as error:
            missing[name] = reason(error)
            continue
        sets.append(data if most_rows is None or name in whole else drawn(data, most_rows))
    return sets, missing


@cache
def _loaded(load):
    # Several experiments have the same sets, and describing 400 faces takes seconds.
    return load()


def drawn(data, most_rows, seed=0):
    """A part of a set, each class in proportion. Sets whose rows come in groups stay whole."""
    if len(data.y) <= most_rows or data.groups is not None:
        return data
    generator = np.random.default_rng(seed)
    share = most_rows / len(data.y)
    rows = np.concatenate(
        [
            generator.permutation(np.flatnonzero(data.y == label))[: round(share * np.sum(data.y == label))]
            for label in np.unique(data.y)
        ]
    )
    rows.sort()
    return replace(data, X=data.X[rows], y=data.y[rows])


def view_set(name, data, y, groups=None, *, components=False):
    """A set of :mod:`fuselearn.datasets` with labels of one's own."""
    names, columns = resolve_views(data.views, data.X, data.X.shape[1])
    return ViewSet(name, data.X, np.asarray(y), dict(zip(names, columns)), groups, components)


def _faces():
    data = load_face_views()
    return view_set("faces", data, data.y, components=True)


def _glasses():
    data = fetch_glasses_views()
    return view_set("glasses", data, data.y, data.groups, components=True)


def _breast_tcga():
    data = fetch_views("breast_tcga")
    return view_set("breast_tcga", data, data.y == "LumA")


def _mfeat():
    data = fetch_views("mfeat")
    return view_set("mfeat", data, data.y.astype(int) >= 5)


def _digits():
    data = load_digit_views()
    return view_set("digits", data, data.y >= 5)


LOADERS = {"faces": _faces, "glasses": _glasses, "breast_tcga": _breast_tcga, "mfeat": _mfeat, "digits": _digits}
