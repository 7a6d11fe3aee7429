"""Folders of the papers' own data: gene kernels and VisTex pictures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import KernelPCA

from fuselearn.datasets import load_gene_kernels, load_vistex
from fuselearn.papers.textures import _vistex_pairs

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(12, 5))


@pytest.fixture
def genes(tmp_path):
    np.savetxt(tmp_path / "blast.csv", ROWS @ ROWS.T, delimiter=",")
    np.savetxt(tmp_path / "expression.txt", np.exp(ROWS @ ROWS.T / 5))
    np.save(tmp_path / "smith_waterman.npy", ROWS[:, :2] @ ROWS[:, :2].T)
    np.savetxt(tmp_path / "labels.txt", np.repeat(["membrane", "other"], 6), fmt="%s")
    return tmp_path


def test_kernels_become_views_of_their_components(genes):
    data = load_gene_kernels(genes, variance=1.0)
    assert list(data.views) == ["blast", "expression", "smith_waterman"]
    assert set(data.y) == {"membrane", "other"}
    expected = np.abs(KernelPCA(5, kernel="precomputed").fit_transform(ROWS @ ROWS.T))
    assert_allclose(np.abs(data.X[:, data.views["blast"]][:, :5]), expected, atol=1e-6)
    assert_allclose(data.kernels["blast"], ROWS @ ROWS.T)
    fewer = load_gene_kernels(genes, variance=0.5)
    assert fewer.X.shape[1] < data.X.shape[1]


def test_folders_without_genes(genes, tmp_path):
    with pytest.raises(FileNotFoundError, match="folder must name a folder of kernel matrices"):
        load_gene_kernels(tmp_path / "absent")
    with pytest.raises(ValueError, match="variance must be above 0"):
        load_gene_kernels(genes, variance=0)
    np.savetxt(genes / "blast.csv", np.ones((3, 3)), delimiter=",")
    with pytest.raises(ValueError, match=r"blast.csv must be a matrix of finite numbers, 12 × 12; got \(3, 3\)"):
        load_gene_kernels(genes)
    (genes / "labels.txt").unlink()
    with pytest.raises(FileNotFoundError, match="folder must hold one file of labels"):
        load_gene_kernels(genes)


def test_textures(tmp_path):
    io = pytest.importorskip("skimage.io")
    for name in ("Bark.0000", "Sand.0001", "Tile.0002", "Water.0003"):
        picture = rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)
        io.imsave(tmp_path / f"{name}.png", picture, check_contrast=False)
    data = load_vistex(tmp_path, ["Bark.0000", "Sand.0001"], patch_size=8, n_patches=10, n_components=4)
    assert data.X.shape == (20, 12)
    assert list(data.views) == ["red", "green", "blue"]
    assert_array_equal(np.unique(data.y, return_counts=True)[1], [10, 10])
    with pytest.raises(ValueError, match="textures must be two or more of"):
        load_vistex(tmp_path, ["Bark.0000", "Glass"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="folder must hold colour pictures"):
        load_vistex(tmp_path / "empty")


def test_pairs_of_textures(tmp_path, monkeypatch):
    io = pytest.importorskip("skimage.io")
    for name in ("Bark.0000", "Sand.0001", "Tile.0002"):
        picture = rng.integers(0, 255, (160, 160, 3), dtype=np.uint8)
        io.imsave(tmp_path / f"{name}.png", picture, check_contrast=False)
    assert [pair.name for pair in _vistex_pairs(tmp_path)] == ["Bark.0000/Sand.0001"]
