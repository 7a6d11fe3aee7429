"""Public data sets in several views, from a folder of one's own or from where they are published.

Most of these sets state no licence, so none is part of this package. Whatever its source, a set is first brought into
the form its file would have (a dict of arrays: `view_<name>` and `y`; or `X`, `feature_groups` and `Y`; or `kernels`
and `y`), and one function arranges that form for the user. So both sources give the same layout.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile

import numpy as np
from sklearn.datasets import fetch_olivetti_faces, fetch_openml, load_iris, load_wine
from sklearn.utils import Bunch

from fuselearn.datasets.view_blocks import side_by_side
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

DATA_FOLDER_VARIABLE = "FUSELEARN_DATA"
MFEAT_VIEWS = {"fou": (14, 76), "fac": (12, 216), "kar": (16, 64), "pix": (40979, 240), "zer": (22, 47), "mor": (18, 6)}
# Embryos that were not photographed from one side have zeros there.
ZERO_MEANS_MISSING = ("bdgp",)
# The brightest pixel of the original 8-bit faces: scikit-learn divides by it.
BRIGHTEST_FACE_PIXEL = 242

DataHome: TypeAlias = str | os.PathLike[str] | None
Arrays: TypeAlias = dict[str, AnyArray]
"""Arrays of a data set, by the names they have in its file."""


def fetch_views(name: str, *, data_home: DataHome = None) -> Bunch:
    """Load a public data set in several views.

    It is read from ``<name>/<name>.npz`` in the folder that the environment variable ``FUSELEARN_DATA`` names. Where
    there is none, it is fetched from its public source, if scikit-learn can reach one.

    Parameters
    ----------
    name : str
        Name of the set:

        ================ ===== =========================================== ================ ============
        name             rows  views                                       y or Y           also from
        ================ ===== =========================================== ================ ============
        bdgp             2500  visual1000, visual500                       5 classes
        breast_tcga      150   mrna, mirna, protein                        3 classes
        cal500           502   spectral, mfcc                              174 labels
        dtd10            1200  red, green, blue                            10 classes
        emotions         593   timbre, rhythm                              6 labels         OpenML
        football_kernels 248   9 kernels instead of views                  20 classes
        heart_statlog    270   features                                    2 classes        OpenML
        ionosphere       351   features                                    2 classes        OpenML
        iris             150   features                                    3 classes        scikit-learn
        mfeat            2000  fou, fac, kar, pix, zer, mor                10 classes       OpenML
        msrc_v1          210   cm, hog, gist, lbp, cent                    7 classes
        olivetti         400   features                                    40 classes       figshare
        pima_diabetes    768   features                                    2 classes        OpenML
        scene            2407  L_mean, L_var, U_mean, U_var, V_mean, V_var 6 labels         OpenML
        sonar            208   features                                    2 classes        OpenML
        wine             178   features                                    3 classes        scikit-learn
        yeast            2417  expression, phylogenetic                    14 labels        OpenML
        ================ ===== =========================================== ================ ============
    data_home : str, path or None, default=None
        Folder where fetched files are kept; None is scikit-learn's own folder. Files of ``FUSELEARN_DATA`` stay there.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        The data set, with these attributes.

        X : float64 ndarray of shape (n_samples, n_features)
            The views side by side, columns in the order of the file. A view that was not observed is NaN: in `bdgp`, a
            view that is all zero in a row is one (1,203 and 201 of the rows; 25 have neither).
        views : dict of name to slice
            The argument `views` of an estimator. The only view of a set is named "features". The columns of
            `cal500` are not sorted by view: there, the values are int arrays.
        y : ndarray of shape (n_samples,)
            Classes. In a multi-label set there is `Y` instead.
        Y : int8 ndarray of shape (n_samples, n_labels)
            1 where an object has the label.
        label_names : str ndarray of shape (n_labels,)
            Names of the labels, in multi-label sets.
        kernels : float64 ndarray of shape (n_kernels, n_samples, n_samples)
            Kernel matrices, in `football_kernels`, instead of `X` and `views`; `kernel_names` names them.
        name : str
            Name of the set.
        anything else
            Further arrays of the file, under their own names: such as `feature_names`, `y_glasses` of `olivetti`,
            `is_train` of `yeast` and `scene`, and `test_mrna`, `test_mirna` and `test_labels` of `breast_tcga`.

    Raises
    ------
    ValueError
        If there is no set of this name, or its file has another layout.
    OSError
        If the set is not in the folder and cannot be fetched.

    Notes
    -----
    Fetched sets lack what only the files hold: `y_glasses` and `is_train`. Do not rely on the order of the rows of
    `yeast` and `scene`: OpenML has another one. Fetched features have OpenML's names.

    Examples
    --------
    >>> from fuselearn.datasets import fetch_views
    >>> data = fetch_views("iris")
    >>> data.X.shape, data.views
    ((150, 4), {'features': slice(0, 4, None)})
    """
    if not isinstance(name, str) or name not in PUBLIC_SOURCES:
        raise ValueError(f"name must be one of {', '.join(PUBLIC_SOURCES)}; got {name!r}.")
    if not isinstance(data_home, str | os.PathLike | None):
        raise ValueError(f"data_home must be the path of a folder or None; got {data_home!r}.")
    path = _path_in_folder(name)
    if path is not None and path.exists():
        return _arrange(name, _read(path), origin=path)
    advice = _advice(name, path)
    source = PUBLIC_SOURCES[name]
    if source is None:
        raise FileNotFoundError(f"{name!r} has no public source that can be fetched from here. {advice}")
    try:
        arrays = source(data_home=data_home)
    except (OSError, ValueError) as error:
        raise OSError(f"{name!r} could not be fetched ({error}). {advice}") from error
    return _arrange(name, arrays, origin="the fetched set")


def _path_in_folder(name: str) -> Path | None:
    """Return the path of a set's file in the user's folder, or None where no folder is set."""
    setting = os.environ.get(DATA_FOLDER_VARIABLE)
    if not setting:
        return None
    folder = Path(setting).expanduser()
    if not folder.is_dir():
        raise NotADirectoryError(
            f"The environment variable {DATA_FOLDER_VARIABLE} must name a folder that holds <name>/<name>.npz; "
            f"there is no folder {str(folder)!r}."
        )
    return folder / name / f"{name}.npz"


def _advice(name: str, path: Path | None) -> str:
    """Return what a user can do who lacks a set."""
    state = "not set" if path is None else f"{str(path.parents[1])!r}, without that file,"
    public = ", ".join(other for other, source in PUBLIC_SOURCES.items() if source is not None)
    return (
        f"Set the environment variable {DATA_FOLDER_VARIABLE} to a folder that holds {name}/{name}.npz, plain arrays; "
        f"it is {state} now. Without such a folder there are {public}."
    )


def _read(path: Path) -> Arrays:
    """Read the arrays of a file, without pickles."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} must be an .npz file of plain arrays, without pickles: {error}") from error


def _arrange(name: str, arrays: Arrays, origin: str | Path) -> Bunch:
    """Return the data set of the arrays that a file has; `origin` names the file in messages."""
    rest = dict(arrays)
    target = "Y" if "Y" in rest else "y"
    if target not in rest:
        raise ValueError(f"{name!r} needs an array y or Y; {origin} has {', '.join(rest)}.")
    labels = rest.pop(target)
    if target == "Y":
        if not np.isin(labels, (0, 1)).all():
            raise ValueError(f"Y of {name!r} must hold zeros and ones; that of {origin} holds other values.")
        labels = labels.astype(np.int8)

    blocks = {key.removeprefix("view_"): rest.pop(key) for key in arrays if key.startswith("view_")}
    if "kernels" in rest:
        data: dict[str, Any] = {"kernels": rest.pop("kernels").astype(np.float64)}
        _check_rows(name, origin, labels, {"kernels": data["kernels"][0]})
    elif blocks:
        _check_rows(name, origin, labels, blocks)
        data = _of_blocks(blocks, zero_means_missing=name in ZERO_MEANS_MISSING)
    elif "X" in rest and "feature_groups" in rest:
        data = {"X": rest.pop("X").astype(np.float64), "views": _views_of_groups(rest["feature_groups"])}
        _check_rows(name, origin, labels, {"X": data["X"]})
        n_columns, n_groups = data["X"].shape[1], len(rest["feature_groups"])
        if n_columns != n_groups:
            raise ValueError(
                f"{name!r} must name the group of each column; {origin} has {n_columns} columns of X "
                f"and {n_groups} feature_groups."
            )
    else:
        raise ValueError(
            f"{name!r} needs arrays view_<name>, or X and feature_groups, or kernels; {origin} has {', '.join(arrays)}."
        )
    return Bunch(**data, **{target: labels}, name=name, **rest)


def _check_rows(name: str, origin: str | Path, labels: AnyArray, blocks: Arrays) -> None:
    """Refuse blocks that have more or fewer rows than there are labels."""
    for block_name, block in blocks.items():
        if len(block) != len(labels):
            raise ValueError(
                f"{name!r} must have a label for each row; {origin} has {len(block)} rows of {block_name} "
                f"and {len(labels)} labels."
            )


def _of_blocks(blocks: Arrays, *, zero_means_missing: bool) -> dict[str, Any]:
    """Return the table and the views of blocks."""
    tables: dict[str, FloatArray] = {name: block.astype(np.float64) for name, block in blocks.items()}
    if zero_means_missing:
        for table in tables.values():
            table[(table == 0).all(axis=1)] = np.nan
    if len(tables) == 1:
        tables = dict(zip(["features"], tables.values()))
    X, views, _ = side_by_side(tables)
    return {"X": X, "views": views}


def _views_of_groups(groups: AnyArray) -> dict[str, slice | IntArray]:
    """Return one view per group of columns: a slice, or the columns' numbers where others lie between them."""
    views: dict[str, slice | IntArray] = {}
    for group in dict.fromkeys(groups.tolist()):
        columns = np.flatnonzero(groups == group)
        start, end = int(columns[0]), int(columns[-1]) + 1
        views[group] = slice(start, end) if end - start == len(columns) else columns
    return views


def _openml(data_id: int, n_features: int, data_home: DataHome) -> Bunch:
    """Fetch a set of OpenML, and check its width."""
    # Unlike scikit-learn's default, this parser does not need pandas.
    fetched = fetch_openml(data_id=data_id, data_home=data_home, as_frame=False, parser="liac-arff")
    if fetched.data.shape[1] != n_features:
        raise ValueError(f"OpenML's set {data_id} should have {n_features} features; it has {fetched.data.shape[1]}.")
    return fetched


def _one_view_of_openml(data_id: int, n_features: int, classes: Mapping[str, Any], *, data_home: DataHome) -> Arrays:
    """Fetch one view; `classes` maps OpenML's names of the classes to those of the file."""
    fetched = _openml(data_id, n_features, data_home)
    unknown = sorted(set(fetched.target) - set(classes))
    if unknown:
        raise ValueError(f"OpenML's set {data_id} should have the classes {', '.join(classes)}; it also has {unknown}.")
    return {
        "view_all": fetched.data,
        "y": np.array([classes[label] for label in fetched.target]),
        "feature_names": np.array(fetched.feature_names),
    }


def _labels_of_openml(data_id: int, groups: Mapping[str, int], *, data_home: DataHome) -> Arrays:
    """Fetch a multi-label set; `groups` maps the name of each group of columns to its width."""
    fetched = _openml(data_id, sum(groups.values()), data_home)
    return {
        "X": fetched.data,
        "Y": _zeros_and_ones(data_id, fetched.target),
        "label_names": np.array(fetched.target_names),
        "feature_names": np.array(fetched.feature_names),
        "feature_groups": np.repeat(list(groups), list(groups.values())),
    }


def _zeros_and_ones(data_id: int, answers: AnyArray) -> BoolArray:
    """Return OpenML's answers TRUE and FALSE as booleans."""
    if not np.isin(answers, ("TRUE", "FALSE")).all():
        raise ValueError(f"Labels of OpenML's set {data_id} should be TRUE or FALSE; they are {np.unique(answers)}.")
    return answers == "TRUE"


def _mfeat(*, data_home: DataHome) -> Arrays:
    """Fetch six sets of OpenML, one per view, with the same digits in the same order."""
    arrays: Arrays = {}
    for view, (data_id, n_features) in MFEAT_VIEWS.items():
        fetched = _openml(data_id, n_features, data_home)
        # OpenML numbers the digits 0 to 9 from 1 to 10.
        digits = fetched.target.astype(np.int64) - 1
        if not np.array_equal(digits, arrays.setdefault("y", digits)):
            raise ValueError(f"OpenML's set {data_id} should have the same digits as the first view; it has others.")
        arrays[f"view_{view}"] = fetched.data
    return arrays


def _olivetti(*, data_home: DataHome) -> Arrays:
    """Fetch the faces, with the pixels of the original images."""
    faces = fetch_olivetti_faces(data_home=data_home)
    return {"view_pixels": np.rint(faces.data * BRIGHTEST_FACE_PIXEL), "y": faces.target}


def _iris(*, data_home: DataHome) -> Arrays:
    """Load the flowers of scikit-learn."""
    flowers = load_iris()
    return {
        "view_all": flowers.data,
        "y": flowers.target,
        "feature_names": np.array(flowers.feature_names),
        "class_names": flowers.target_names,
    }


def _wine(*, data_home: DataHome) -> Arrays:
    """Load the wines of scikit-learn."""
    wines = load_wine()
    return {"view_all": wines.data, "y": wines.target, "feature_names": np.array(wines.feature_names)}


# None: no source that scikit-learn can fetch from.
PUBLIC_SOURCES: dict[str, Callable[..., Arrays] | None] = {
    "bdgp": None,
    "breast_tcga": None,
    "cal500": None,
    "dtd10": None,
    "emotions": partial(_labels_of_openml, 40589, {"timbre": 64, "rhythm": 8}),
    "football_kernels": None,
    "heart_statlog": partial(_one_view_of_openml, 53, 13, {"absent": 1, "present": 2}),
    "ionosphere": partial(_one_view_of_openml, 59, 34, {"b": "b", "g": "g"}),
    "iris": _iris,
    "mfeat": _mfeat,
    "msrc_v1": None,
    "olivetti": _olivetti,
    "pima_diabetes": partial(_one_view_of_openml, 37, 8, {"tested_negative": 0, "tested_positive": 1}),
    "scene": partial(
        _labels_of_openml, 40595, dict.fromkeys(("L_mean", "L_var", "U_mean", "U_var", "V_mean", "V_var"), 49)
    ),
    "sonar": partial(_one_view_of_openml, 40, 60, {"Rock": "R", "Mine": "M"}),
    "wine": _wine,
    "yeast": partial(_labels_of_openml, 40597, {"expression": 79, "phylogenetic": 24}),
}
