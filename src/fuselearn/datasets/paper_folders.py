"""Data of the papers that are public by name but not passed on with fuselearn, read from a folder of yours."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from fuselearn.arguments import check_count, check_random_state
from fuselearn.datasets.image_views import CHANNELS, draw_patches
from fuselearn.datasets.view_blocks import check_components, image_package, principal_components, side_by_side
from fuselearn.typing import FloatArray, RandomState

IMAGES = (".ppm", ".png", ".jpg", ".tif", ".bmp")
MATRICES = (".npy", ".csv", ".txt")
LABELS = "labels"


def load_gene_kernels(folder: str | Path, *, variance: float = 0.9) -> Bunch:
    """Load kernel matrices of genes, such as S0's BLAST, Smith-Waterman and expression kernels, as views.

    Parameters
    ----------
    folder : str or Path
        Folder with a square matrix in a file for each kernel (``blast.csv``, ``smith_waterman.npy``, …) and
        ``labels.csv``, ``labels.txt`` or ``labels.npy`` with a class for each gene. Text files have values separated
        by commas or spaces, and no header.
    variance : float, default=0.9
        Part of each kernel's variance that its principal components explain, as in S0 §5.1.2.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        `X`, the principal components side by side; `y`, the classes; `views`, kernel name to columns; `kernels`, kernel
        name to matrix, for :class:`fuselearn.kernels.GramLookup`.

    References
    ----------
    S0: Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.
    """
    if not 0 < variance <= 1:
        raise ValueError(f"variance must be above 0 and at most 1; got {variance!r}.")
    paths = _files(folder, MATRICES, "kernel matrices")
    labels = [path for path in paths if path.stem == LABELS]
    if len(labels) != 1:
        raise FileNotFoundError(f"folder must hold one file of labels, such as labels.csv; {folder} has {len(labels)}.")
    y = np.load(labels[0]) if labels[0].suffix == ".npy" else np.loadtxt(labels[0], dtype=str)
    kernels = {path.stem: _matrix(path, len(y)) for path in paths if path.stem != LABELS}
    if not kernels:
        raise FileNotFoundError(f"folder must hold a file for each kernel beside its labels; {folder} has none.")
    X, views, _ = side_by_side({name: _components(kernel, variance) for name, kernel in kernels.items()})
    return Bunch(X=X, y=y, views=views, kernels=kernels)


def load_vistex(
    folder: str | Path,
    textures: Sequence[str] | None = None,
    *,
    patch_size: int = 16,
    n_patches: int = 72,
    n_components: int | None = 100,
    random_state: RandomState = 0,
) -> Bunch:
    """Load patches of VisTex textures in three views, their red, green and blue channel, as S3 has them.

    Parameters
    ----------
    folder : str or Path
        Folder with colour pictures, such as ``Bark.0000.ppm``. VisTex is at the MIT Media Laboratory.
    textures : list of str or None, default=None
        Names of files without their ending, two or more; None is all.
    patch_size : int, default=16
        Height and width of a patch, in pixels.
    n_patches : int, default=72
        Number of patches of each picture.
    n_components : int or None, default=100
        Number of principal components of each channel, as of :func:`load_colour_patches`; None gives the pixels.
    random_state : int, RandomState or None, default=0
        Seed of the choice of patches.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        `X`, `y` (the texture) and `views`, as of :func:`load_colour_patches`.

    References
    ----------
    S3: Barbu, Iqbal, Peng. Classifier Fusion Using Shared Sampling Distribution for Boosting. ICDM 2005.
    """
    check_count("patch_size", patch_size, 2)
    check_count("n_patches", n_patches)
    check_components(n_components)
    paths = {path.stem: path for path in _files(folder, IMAGES, "colour pictures")}
    names = list(paths) if textures is None else [str(name) for name in textures]
    absent = [name for name in names if name not in paths]
    if absent or len(names) < 2:
        raise ValueError(f"textures must be two or more of {sorted(paths)}; got {names}.")
    read = image_package("skimage.io", needed_by="load_vistex").imread
    generator = check_random_state(random_state)
    patches = np.concatenate(
        [draw_patches(name, np.asarray(read(paths[name]))[..., :3], patch_size, n_patches, generator) for name in names]
    )
    order = generator.permutation(len(patches))
    channels = patches[order].transpose(2, 0, 1) / 255
    X, views, feature_names = side_by_side(
        {name: principal_components(channel, n_components) for name, channel in zip(CHANNELS, channels)}
    )
    return Bunch(X=X, y=np.repeat(names, n_patches)[order], views=views, feature_names=feature_names)


def _files(folder: str | Path, endings: tuple[str, ...], what: str) -> list[Path]:
    """Return the files of a folder with one of the endings, sorted."""
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"folder must name a folder of {what}; there is none at {str(folder)!r}.")
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in endings)
    if not found:
        raise FileNotFoundError(f"folder must hold {what} ({', '.join(endings)}); {str(folder)!r} has none.")
    return found


def _matrix(path: Path, n_genes: int) -> FloatArray:
    """Return a square matrix, made symmetric."""
    if path.suffix == ".npy":
        matrix = np.load(path).astype(float)
    else:
        delimiter = "," if "," in path.read_text(encoding="utf-8").partition("\n")[0] else None
        matrix = np.loadtxt(path, delimiter=delimiter, ndmin=2)
    if matrix.shape != (n_genes, n_genes) or not np.isfinite(matrix).all():
        raise ValueError(f"{path.name} must be a matrix of finite numbers, {n_genes} × {n_genes}; got {matrix.shape}.")
    return (matrix + matrix.T) / 2


def _components(kernel: FloatArray, variance: float) -> FloatArray:
    """Return the first kernel principal components, as many as explain a part of the variance."""
    centre = np.eye(len(kernel)) - 1 / len(kernel)
    values, vectors = np.linalg.eigh(centre @ kernel @ centre)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    total = values.sum()
    if not total > 0:
        return np.zeros((len(kernel), 1))
    n_kept = int(np.searchsorted(np.cumsum(values) / total, variance - 1e-12)) + 1
    return vectors[:, :n_kept] * np.sqrt(values[:n_kept])
