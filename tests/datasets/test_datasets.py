import gzip
import shutil
import sys
from collections import Counter
from urllib.request import OpenerDirector, install_opener

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.utils import Bunch

from fuselearn import datasets, stack_views
from fuselearn.datasets import (
    face_views,
    fetch_glasses_views,
    fetch_views,
    load_colour_patches,
    load_digit_views,
    load_face_views,
)
from tests.recorded.replay import RECORDED, RecordedOpenML


@pytest.fixture(scope="module")
def digits():
    return load_digit_views()


def test_views_tile_the_columns_as_stack_views_does(digits):
    X, views = stack_views({name: digits.X[:, columns] for name, columns in digits.views.items()})
    np.testing.assert_array_equal(X, digits.X)
    assert views == digits.views


def test_rows_are_the_digits_of_scikit_learn(digits):
    original = load_digits()
    np.testing.assert_array_equal(digits.y, original.target)
    np.testing.assert_array_equal(digits.X[:, digits.views["pixels"]], original.data)


def test_features_are_named_after_their_view(digits):
    assert len(digits.feature_names) == len(set(digits.feature_names)) == digits.X.shape[1]
    for name, columns in digits.views.items():
        width = columns.stop - columns.start
        assert digits.feature_names[columns] == [f"{name}_{i}" for i in range(width)]
        assert name in digits.DESCR


def test_tuple_holds_the_same(digits):
    X, views, y = load_digit_views(return_tuple=True)
    np.testing.assert_array_equal(X, digits.X)
    np.testing.assert_array_equal(y, digits.y)
    assert views == digits.views


def test_values_are_finite_and_vary(digits):
    assert digits.X.dtype == np.float64
    assert np.isfinite(digits.X).all()
    assert digits.X[:, digits.views["fourier"].start :].std(axis=0).min() > 0
    assert np.unique(digits.X[:, digits.views["fourier"]], axis=1).shape[1] == 34


@pytest.mark.parametrize("name", ["pixels", "fourier", "profiles", "edges"])
def test_each_view_alone_tells_digits_apart(digits, name):
    view = digits.X[:, digits.views[name]]
    score = GaussianNB(var_smoothing=1e-3).fit(view[::2], digits.y[::2]).score(view[1::2], digits.y[1::2])
    assert score > 0.7


def test_descriptors_of_images_that_can_be_worked_out_by_hand():
    """One black row in a white image."""
    module = datasets.image_views
    image = np.zeros((1, 8, 8))
    image[0, 2, 4:] = 16.0
    profiles = module._profiles(image)[0]
    np.testing.assert_array_equal(profiles[:8], [0, 0, 64, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(profiles[8:16], [0, 0, 0, 0, 16, 16, 16, 16])
    np.testing.assert_array_equal(profiles[16:24], [3.5, 3.5, 5.5, 3.5, 3.5, 3.5, 3.5, 3.5])
    np.testing.assert_array_equal(profiles[24:], [3.5] * 4 + [2.0] * 4)
    # Zero frequency comes first: all the ink there is.
    assert module._fourier(image)[0, 0] == pytest.approx(np.log1p(64))
    edges = module._edges(image)[0].reshape(2, 2, 8)
    # The upper right quarter has ink that grows downwards (direction 2) above the stroke and upwards (6) below it.
    assert edges[0, 1, 2] == edges[0, 1, 6] == 4 * 8.0
    assert edges[1].sum() == 0


# Faces


@pytest.fixture(scope="module")
def faces():
    return load_face_views()


def stripes(n_images, size=16):
    """Images of one white stripe on black, each in a place of its own."""
    images = np.zeros((n_images, size, size))
    for i in range(n_images):
        images[i, :, 2 + i % (size - 4)] = 200.0 + i
    return images


def test_faces_have_three_views_of_as_many_components(faces):
    assert faces.X.shape == (200, 300)
    assert list(faces.views) == ["eigenfaces", "edges", "wavelets"]
    assert faces.y.tolist() == [1] * 100 + [0] * 100
    assert faces.feature_names[100] == "edges_0"
    assert all(name in faces.DESCR for name in faces.views)
    assert np.isfinite(faces.X).all()


@pytest.mark.parametrize("name", ["eigenfaces", "edges", "wavelets"])
def test_each_view_alone_tells_faces(faces, name):
    view = faces.X[:, faces.views[name]][:, :30]
    score = GaussianNB().fit(view[::2], faces.y[::2]).score(view[1::2], faces.y[1::2])
    assert score > 0.7


def test_views_of_a_face_are_not_turned_copies_of_each_other(faces):
    """All wavelet coefficients would have the principal components of the pixels."""
    strongest = [np.abs(faces.X[:, columns.start]) for columns in faces.views.values()]
    correlations = np.corrcoef(strongest)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 0.9


def test_without_components_a_face_is_its_pixels():
    X, views, y = load_face_views(n_components=None, return_tuple=True)
    assert {name: X[:, columns].shape[1] for name, columns in views.items()} == {
        "pixels": 625,
        "edges": 625,
        "wavelets": 654,
    }
    assert y.sum() == 100
    images = pytest.importorskip("skimage.data").lfw_subset()
    np.testing.assert_allclose(X[:, views["pixels"]], images.reshape(200, -1), atol=1e-12)


def test_components_are_uncorrelated_and_in_order(faces):
    for columns in faces.views.values():
        covariance = np.cov(faces.X[:, columns].T)
        variances = np.diag(covariance)
        np.testing.assert_allclose(covariance, np.diag(variances), atol=1e-9 * variances[0])
        assert (np.diff(variances) <= 0).all()


def test_edges_lie_beside_a_stripe_and_blur_spreads_them():
    images = stripes(3)
    X, views, _ = face_views(images, n_components=None, blur=0)
    edges = X[:, views["edges"]].reshape(3, 16, 16)
    assert set(np.unique(edges)) == {0.0, 1.0}
    for i, edge in enumerate(edges):
        columns = np.flatnonzero(edge.any(axis=0))
        assert np.abs(columns - (2 + i)).max() <= 2
    blurred = face_views(images, n_components=None, blur=1.0)[0][:, views["edges"]]
    assert (blurred > 0).sum() > (edges > 0).sum()


def test_wavelets_see_change_and_not_brightness():
    images = np.zeros((2, 8, 8))
    # The border of the bright part falls between two Haar blocks of the finest level, and inside one of the next.
    images[0, :, :2] = images[1, :, 2:] = 1.0
    X, views, _ = face_views(images, n_components=None, levels=2)
    wavelets, of_negative = X[:, views["wavelets"]]
    np.testing.assert_allclose(of_negative, wavelets, atol=1e-12)
    # Coarse level first: 3 x (2 x 2), then 3 x (4 x 4).
    assert len(wavelets) == 12 + 48
    assert np.count_nonzero(wavelets[:12].round(12)) == 2
    assert np.count_nonzero(wavelets[12:].round(12)) == 0


def test_images_may_be_on_any_scale():
    images = stripes(6)
    expected, _, _ = face_views(images)
    scaled, _, _ = face_views(images.astype(np.float32) * 2 + 7)
    np.testing.assert_allclose(scaled, expected, atol=1e-5)


def test_there_are_no_more_components_than_the_images_span():
    X, views, _ = face_views(stripes(6), n_components=100)
    assert X.shape == (6, 15)
    assert views["wavelets"] == slice(10, 15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"images": np.zeros((3, 64))}, r"images must be of shape \(n_images, height, width\), grey; got .*\(3, 64\)"),
        ({"images": np.ones((3, 8, 8, 3))}, r"grey; got the shape \(3, 8, 8, 3\)"),
        ({"images": np.ones((3, 8, 8))}, "images must not be all of one grey; each pixel is 1"),
        ({"images": np.full((3, 8, 8), np.nan)}, "images contains NaN"),
        ({"n_components": 0}, "n_components must be an integer of at least 1; got 0"),
        ({"sigma": 0}, "sigma must be a number above 0; got 0"),
        ({"blur": -1}, "blur must be a number of at least 0; got -1"),
        ({"levels": 5}, "levels must be at most 4 for images of 16 x 16 pixels; got 5"),
        ({"levels": 1.5}, "levels must be an integer of at least 1; got 1.5"),
    ],
)
def test_wrong_images_and_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        face_views(**{"images": stripes(3)} | arguments)


def test_glasses_know_people_and_labels(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    images = stripes(12)
    people, glasses = np.repeat(np.arange(4), 3), np.tile([1, 0, 0], 4)
    (tmp_path / "olivetti").mkdir()
    arrays = {"view_pixels": images.reshape(12, -1), "y": people, "y_glasses": glasses}
    np.savez(tmp_path / "olivetti" / "olivetti.npz", **arrays)
    data = fetch_glasses_views(n_components=5)
    np.testing.assert_array_equal(data.y, glasses)
    np.testing.assert_array_equal(data.groups, people)
    np.testing.assert_array_equal(data.X, face_views(images, n_components=5)[0])
    assert list(data.views) == ["eigenfaces", "edges", "wavelets"]
    assert all(name in data.DESCR for name in data.views)


def test_glasses_need_the_file(monkeypatch):
    monkeypatch.delenv("FUSELEARN_DATA", raising=False)
    fetched = Bunch(data=np.ones((2, 4), dtype=np.float32), target=np.array([0, 1]))
    monkeypatch.setattr(datasets.public, "fetch_olivetti_faces", lambda data_home: fetched)
    with pytest.raises(OSError, match=r"does not say who wears spectacles.*olivetti/olivetti\.npz.* y_glasses"):
        fetch_glasses_views()


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_real_glasses(real_data, monkeypatch, tmp_path, step):
    """All faces, or each fourth of them, which takes a fourth of the time."""
    arrays = real_data("olivetti")
    assert arrays["y_glasses"].shape == (400,)
    assert arrays["y_glasses"].sum() == 119
    (tmp_path / "olivetti").mkdir()
    faces = {name: arrays[name][::step] for name in ("view_pixels", "y", "y_glasses")}
    np.savez(tmp_path / "olivetti" / "olivetti.npz", **faces)
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    data = fetch_glasses_views(n_components=50)
    assert data.X.shape == (400 // step, 150)
    assert data.y.sum() == arrays["y_glasses"][::step].sum()
    assert len(np.unique(data.groups)) == 40
    train = data.groups < 20
    edges = data.X[:, data.views["edges"]]
    assert GaussianNB().fit(edges[train], data.y[train]).score(edges[~train], data.y[~train]) > 0.8


# Photographs


@pytest.fixture(scope="module")
def pixels():
    return load_colour_patches(n_components=None)


def test_patches_have_a_view_per_channel(pixels):
    assert pixels.X.shape == (8 * 72, 3 * 256)
    assert pixels.views == {"red": slice(0, 256), "green": slice(256, 512), "blue": slice(512, 768)}
    assert set(Counter(pixels.y.tolist()).values()) == {72}
    assert pixels.X.min() >= 0
    assert pixels.X.max() <= 1
    assert all(name in pixels.DESCR for name in pixels.views)


def test_a_patch_is_a_piece_of_its_photograph():
    cat = pytest.importorskip("skimage.data").chelsea()
    data = load_colour_patches(["coffee", "cat"], patch_size=50, n_patches=54, n_components=None)
    row = data.X[data.y == "cat"][0]
    patch = np.rint(255 * np.stack([row[columns] for columns in data.views.values()], axis=-1)).reshape(50, 50, 3)
    corners = [(top, left) for top in range(0, 300, 50) for left in range(0, 450, 50)]
    places = [corner for corner in corners if (cat[corner[0] :, corner[1] :][:50, :50] == patch).all()]
    assert len(places) == 1


def test_no_two_patches_are_alike(pixels):
    assert len(np.unique(pixels.X, axis=0)) == len(pixels.X)


def test_components_of_patches_are_those_of_each_channel():
    photographs = ["cat", "coffee"]
    pixels = load_colour_patches(photographs, n_components=None)
    X, views, y = load_colour_patches(photographs, n_components=20, return_tuple=True)
    np.testing.assert_array_equal(y, pixels.y)
    for name, columns in views.items():
        channel = pixels.X[:, pixels.views[name]]
        variances = np.linalg.svd(channel - channel.mean(axis=0), compute_uv=False)[:20] ** 2
        np.testing.assert_allclose((X[:, columns] ** 2).sum(axis=0), variances)


def test_patches_depend_on_random_state_only():
    first, again, other = (
        load_colour_patches(["cat", "coffee"], n_components=5, random_state=seed).X for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_channels_together_know_more_than_each(pixels):
    scores = {}
    for name, columns in {**pixels.views, "all": slice(None)}.items():
        view = PCA(50, svd_solver="covariance_eigh").fit_transform(pixels.X[:, columns])
        scores[name] = SVC().fit(view[::2], pixels.y[::2]).score(view[1::2], pixels.y[1::2])
    assert scores.pop("all") > max(scores.values()) + 0.05
    assert min(scores.values()) > 2 / 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"photographs": ["cat"]}, r"photographs must be None or a list of two or more of astronaut, .*\['cat'\]"),
        ({"photographs": ["cat", "dog"]}, "got .*'dog'"),
        ({"photographs": ["cat", "cat"]}, "each once; got"),
        ({"photographs": ["cat", "cat", "coffee"]}, "each once; got"),
        ({"photographs": "cat"}, "got 'cat'"),
        ({"photographs": [["cat"], 3]}, "got "),
        ({"patch_size": 1}, "patch_size must be an integer of at least 2; got 1"),
        ({"n_patches": 0}, "n_patches must be an integer of at least 1; got 0"),
        ({"patch_size": 100}, "n_patches must be at most .* for the photograph 'astronaut' and patch_size=100; got 72"),
        ({"patch_size": 2000}, "n_patches must be at most 0 for the photograph 'astronaut'"),
        ({"n_components": 2.5}, "n_components must be an integer of at least 1; got 2.5"),
    ],
)
def test_wrong_settings_of_patches_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_colour_patches(**arguments)


@pytest.mark.parametrize(
    ("load", "module", "package"),
    [
        (load_face_views, "skimage.data", "scikit-image"),
        (load_face_views, "pywt", "PyWavelets"),
        (load_colour_patches, "skimage.data", "scikit-image"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(load, module, package, monkeypatch):
    # None is how Python notes a module that must not be imported.
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"needs {package}, .*pip install 'fuselearn\[datasets\]'"):
        load()


# OpenML's own format, without a network


@pytest.fixture
def openml(monkeypatch, tmp_path):
    monkeypatch.delenv("FUSELEARN_DATA", raising=False)
    handler = RecordedOpenML(tmp_path / "recorded")
    shutil.copytree(RECORDED, handler.folder)
    opener = OpenerDirector()
    opener.add_handler(handler)
    install_opener(opener)
    yield handler
    install_opener(None)


def recorded_values(n_features):
    return (7 * np.arange(6)[:, None] + 3 * np.arange(n_features)) % 11 / 2


@pytest.mark.parametrize(
    ("name", "widths", "y"),
    [
        ("heart_statlog", {"features": 13}, [2, 1] * 3),
        ("ionosphere", {"features": 34}, ["g", "b"] * 3),
        ("mfeat", {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}, [0, 1, 2, 9, 0, 1]),
        ("pima_diabetes", {"features": 8}, [1, 0] * 3),
        ("sonar", {"features": 60}, ["R", "M"] * 3),
    ],
)
def test_a_recorded_answer_becomes_views(name, widths, y, openml, tmp_path):
    data = fetch_views(name, data_home=tmp_path)
    assert {view: data.X[:, columns].shape[1] for view, columns in data.views.items()} == widths
    for view, width in widths.items():
        np.testing.assert_array_equal(data.X[:, data.views[view]], recorded_values(width))
    np.testing.assert_array_equal(data.y, y)


@pytest.mark.parametrize(
    ("name", "widths", "labels"),
    [
        ("emotions", {"timbre": 64, "rhythm": 8}, ["amazed.suprised", "angry.aggresive"]),
        ("scene", dict.fromkeys(("L_mean", "L_var", "U_mean", "U_var", "V_mean", "V_var"), 49), ["Beach", "Urban"]),
        ("yeast", {"expression": 79, "phylogenetic": 24}, ["Class1", "Class14"]),
    ],
)
def test_a_recorded_answer_becomes_labels(name, widths, labels, openml, tmp_path):
    data = fetch_views(name, data_home=tmp_path)
    assert {view: data.X[:, columns].shape[1] for view, columns in data.views.items()} == widths
    np.testing.assert_array_equal(data.X, recorded_values(sum(widths.values())))
    assert data.label_names[[0, -1]].tolist() == labels
    rows, columns = np.indices(data.Y.shape)
    np.testing.assert_array_equal(data.Y, (rows + columns) % 3 == 0)


def test_rhythm_of_emotions_is_what_it_is_called(openml, tmp_path):
    data = fetch_views("emotions", data_home=tmp_path)
    assert all(name.startswith("BH") for name in data.feature_names[data.views["rhythm"]])
    assert all("_Mem40_" in name for name in data.feature_names[data.views["timbre"]])


def test_what_was_fetched_is_not_fetched_again(openml, tmp_path):
    first = fetch_views("sonar", data_home=tmp_path)
    assert openml.asked
    openml.asked.clear()
    np.testing.assert_array_equal(fetch_views("sonar", data_home=tmp_path).X, first.X)
    assert openml.asked == []


def test_a_set_that_openml_does_not_have_is_told(openml, tmp_path):
    shutil.rmtree(openml.folder / "40589")
    with pytest.raises(OSError, match=r"'emotions' could not be fetched \(.*emotions/emotions\.npz"):
        fetch_views("emotions", data_home=tmp_path)


def test_a_download_that_was_cut_off_is_told(openml, tmp_path):
    path = openml.folder / "40" / "data.arff.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-40]))
    with (
        pytest.warns(RuntimeWarning, match="redownloading"),
        pytest.raises(OSError, match=r"'sonar' could not be fetched \(.*md5 checksum"),
    ):
        fetch_views("sonar", data_home=tmp_path)
