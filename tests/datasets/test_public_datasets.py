import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.utils import Bunch

from fuselearn import ShareBoostClassifier
from fuselearn.datasets import fetch_views, public

OPENML_NAMES = ("heart_statlog", "ionosphere", "mfeat", "pima_diabetes", "scene", "sonar", "yeast")
FILE_ONLY = ("bdgp", "breast_tcga", "cal500", "dtd10", "football_kernels", "msrc_v1")
N_ROWS = 6
# The data_id, features and target that OpenML has for each set.
OPENML = {
    12: (216, ["1", "2", "3", "10", "1", "2"]),
    14: (76, ["1", "2", "3", "10", "1", "2"]),
    16: (64, ["1", "2", "3", "10", "1", "2"]),
    18: (6, ["1", "2", "3", "10", "1", "2"]),
    22: (47, ["1", "2", "3", "10", "1", "2"]),
    40979: (240, ["1", "2", "3", "10", "1", "2"]),
    37: (8, ["tested_positive", "tested_negative"] * 3),
    40: (60, ["Rock", "Mine"] * 3),
    53: (13, ["present", "absent"] * 3),
    59: (34, ["g", "b"] * 3),
    40595: (294, [["TRUE", "FALSE", "FALSE", "FALSE", "TRUE", "FALSE"]] * 6),
    40597: (103, [["FALSE"] * 6 + ["TRUE"] * 8] * 6),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write sets into an empty folder that FUSELEARN_DATA names."""
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))

    def write(name, **arrays):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / f"{name}.npz", **arrays)

    return write


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("FUSELEARN_DATA", raising=False)


@pytest.fixture
def openml(monkeypatch):
    """Stand in for OpenML; a list of the calls that were made."""
    calls = []

    def fetch_openml(**arguments):
        calls.append(arguments)
        n_features, target = OPENML[arguments["data_id"]]
        target = np.array(target, dtype=object)
        return Bunch(
            data=_numbers(n_features, arguments["data_id"]),
            target=target,
            feature_names=[f"V{i}" for i in range(n_features)],
            target_names=["class"] if target.ndim == 1 else [f"label{i}" for i in range(target.shape[1])],
        )

    monkeypatch.setattr(public, "fetch_openml", fetch_openml)
    return calls


def _numbers(n_columns, seed=0):
    return np.random.default_rng(seed).normal(size=(N_ROWS, n_columns))


def layout(data):
    """All but the values: the keys, the shapes, the kinds and the views."""
    arrays = {key: (value.shape, value.dtype.kind) for key, value in data.items() if isinstance(value, np.ndarray)}
    return arrays, data.get("views"), data.name


# From a folder


def test_views_stand_side_by_side_in_the_order_of_the_file(folder):
    second, first = _numbers(3, 1).astype(np.float32), _numbers(2, 2)
    folder("msrc_v1", view_hog=second, view_cm=first, y=np.arange(N_ROWS))
    data = fetch_views("msrc_v1")
    assert data.name == "msrc_v1"
    assert data.views == {"hog": slice(0, 3), "cm": slice(3, 5)}
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X, np.hstack([second, first]))
    np.testing.assert_array_equal(data.y, np.arange(N_ROWS))


def test_the_only_view_is_called_features(folder):
    folder("sonar", view_all=_numbers(3), y=np.array(list("RMRMRM")))
    data = fetch_views("sonar")
    assert data.views == {"features": slice(0, 3)}
    np.testing.assert_array_equal(data.y, list("RMRMRM"))


def test_groups_of_columns_become_views(folder):
    groups = np.array(["early", "early", "late"])
    names = np.array(["rock", "jazz"])
    folder("yeast", X=_numbers(3), Y=np.ones((N_ROWS, 2), np.uint8), label_names=names, feature_groups=groups)
    data = fetch_views("yeast")
    assert data.views == {"early": slice(0, 2), "late": slice(2, 3)}
    assert data.Y.dtype == np.int8
    np.testing.assert_array_equal(data.label_names, names)
    assert "y" not in data


def test_groups_that_are_mixed_keep_the_order_of_the_columns(folder):
    groups = np.array(["b", "a", "b", "a"])
    X = _numbers(4)
    folder("cal500", X=X, Y=np.eye(N_ROWS, 2), label_names=np.array(["p", "q"]), feature_groups=groups)
    data = fetch_views("cal500")
    np.testing.assert_array_equal(data.X, X)
    assert list(data.views) == ["b", "a"]
    np.testing.assert_array_equal(data.views["b"], [0, 2])
    np.testing.assert_array_equal(data.views["a"], [1, 3])
    model = ShareBoostClassifier(views=data.views, n_estimators=2).fit(data.X, data.Y[:, 0])
    np.testing.assert_array_equal(model.view_columns_[1], [1, 3])


def test_other_arrays_keep_their_names(folder):
    glasses, held_out = np.array([0, 1] * 3), _numbers(2)
    folder("olivetti", view_pixels=_numbers(4), y=np.arange(N_ROWS), y_glasses=glasses, test_mrna=held_out)
    data = fetch_views("olivetti")
    np.testing.assert_array_equal(data.y_glasses, glasses)
    np.testing.assert_array_equal(data.test_mrna, held_out)
    assert set(data) == {"X", "views", "y", "name", "y_glasses", "test_mrna"}


def test_kernels(folder):
    kernels = np.stack([np.eye(N_ROWS), np.ones((N_ROWS, N_ROWS))]).astype(np.float32)
    folder("football_kernels", kernels=kernels, kernel_names=np.array(["k1", "k2"]), y=np.arange(N_ROWS))
    data = fetch_views("football_kernels")
    assert set(data) == {"kernels", "kernel_names", "y", "name"}
    assert data.kernels.dtype == np.float64
    np.testing.assert_array_equal(data.kernels, kernels)


@pytest.mark.parametrize(("name", "missing"), [("bdgp", True), ("msrc_v1", False)])
def test_a_view_of_zeros_is_missing_where_that_is_what_it_means(folder, name, missing):
    first, second = np.ones((N_ROWS, 2)), np.ones((N_ROWS, 3))
    first[1] = second[4] = 0
    second[2, 0] = 0
    folder(name, view_visual1000=first, view_visual500=second, y=np.arange(N_ROWS))
    expected = np.hstack([first, second])
    if missing:
        expected[1, :2] = expected[4, 2:] = np.nan
    np.testing.assert_array_equal(fetch_views(name).X, expected)


def test_a_file_comes_before_the_public_source(folder, openml):
    folder("sonar", view_all=_numbers(3), y=np.arange(N_ROWS))
    assert fetch_views("sonar").X.shape == (N_ROWS, 3)
    assert fetch_views("pima_diabetes").X.shape == (N_ROWS, 8)
    assert [call["data_id"] for call in openml] == [37]


# From the public source


@pytest.mark.parametrize("name", OPENML_NAMES)
def test_openml_is_asked_without_pandas_and_keeps_files_where_told(name, no_folder, openml, tmp_path):
    fetch_views(name, data_home=tmp_path)
    assert len(openml) == (6 if name == "mfeat" else 1)
    for call in openml:
        assert call.pop("data_id") in OPENML
        assert call == {"data_home": tmp_path, "as_frame": False, "parser": "liac-arff"}


@pytest.mark.parametrize("name", OPENML_NAMES)
def test_openml_and_file_give_the_same_layout(name, folder, openml):
    fetched = fetch_views(name)
    arrays = {"feature_names": np.array([f"c{i}" for i in range(fetched.X.shape[1])])}
    if name in ("yeast", "scene"):
        groups = {"yeast": {"expression": 79, "phylogenetic": 24}}.get(name) or dict.fromkeys(fetched.views, 49)
        Y = fetched.Y.astype(np.uint8)
        arrays |= {"X": fetched.X.astype(np.float32), "Y": Y, "label_names": np.array(["label"] * Y.shape[1])}
        arrays |= {"feature_groups": np.repeat(list(groups), list(groups.values()))}
    elif name == "mfeat":
        widths = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
        arrays = {f"view_{view}": _numbers(width) for view, width in widths.items()} | {"y": np.arange(N_ROWS)}
    else:
        y = {"sonar": ["R", "M"], "ionosphere": ["g", "b"]}.get(name, [1, 0])
        arrays |= {"view_all": fetched.X, "y": np.array(y * 3)}
    folder(name, **arrays)
    assert layout(fetch_views(name)) == layout(fetched)


@pytest.mark.parametrize(
    ("name", "classes"),
    [("heart_statlog", [2, 1]), ("pima_diabetes", [1, 0]), ("sonar", ["R", "M"]), ("ionosphere", ["g", "b"])],
)
def test_classes_of_openml_are_named_as_in_the_file(name, classes, no_folder, openml):
    np.testing.assert_array_equal(fetch_views(name).y, classes * 3)


def test_digits_of_openml_are_those_of_the_file(no_folder, openml):
    data = fetch_views("mfeat")
    np.testing.assert_array_equal(data.y, [0, 1, 2, 9, 0, 1])
    for view, data_id in {"fou": 14, "fac": 12, "kar": 16, "pix": 40979, "zer": 22, "mor": 18}.items():
        expected = _numbers(OPENML[data_id][0], data_id)
        np.testing.assert_array_equal(data.X[:, data.views[view]], expected)


def test_labels_of_openml_are_zeros_and_ones(no_folder, openml):
    np.testing.assert_array_equal(fetch_views("scene").Y, [[1, 0, 0, 0, 1, 0]] * N_ROWS)


@pytest.mark.parametrize(
    ("name", "data_id", "n_features", "target", "message"),
    [
        ("sonar", 40, 59, ["Rock", "Mine"] * 3, "should have 60 features; it has 59"),
        ("sonar", 40, 60, ["Rock", "Sand"] * 3, "should have the classes Rock, Mine; it also has .*Sand"),
        ("mfeat", 22, 47, ["2", "1", "3", "10", "1", "2"], "should have the same digits as the first view"),
        ("yeast", 40597, 103, [["0"] * 7 + ["1"] * 7] * 6, "should be TRUE or FALSE; they are"),
    ],
)
def test_another_set_at_openml_is_refused(name, data_id, n_features, target, message, no_folder, openml, monkeypatch):
    monkeypatch.setitem(OPENML, data_id, (n_features, target))
    with pytest.raises(OSError, match=rf"'{name}' could not be fetched \(.*{data_id} {message}"):
        fetch_views(name)


def test_faces_have_their_original_pixels(no_folder, monkeypatch, tmp_path):
    pixels = np.array([[0, 1, 121, 242], [3, 200, 77, 5]])
    faces = Bunch(data=(pixels / 242).astype(np.float32), target=np.array([0, 1]))
    homes = []
    monkeypatch.setattr(public, "fetch_olivetti_faces", lambda data_home: homes.append(data_home) or faces)
    data = fetch_views("olivetti", data_home=tmp_path)
    assert homes == [tmp_path]
    assert data.views == {"features": slice(0, 4)}
    np.testing.assert_array_equal(data.X, pixels)
    np.testing.assert_array_equal(data.y, [0, 1])


@pytest.mark.parametrize(("name", "load"), [("iris", load_iris), ("wine", load_wine)])
def test_built_in_sets_need_nothing(name, load, no_folder):
    data = fetch_views(name)
    np.testing.assert_array_equal(data.X, load().data)
    np.testing.assert_array_equal(data.y, load().target)
    np.testing.assert_array_equal(data.feature_names, load().feature_names)


# What goes wrong


@pytest.mark.parametrize("name", ["mnist", "", "../iris", None, 3, ["iris"]])
def test_an_unknown_name_is_told_the_known_ones(name):
    with pytest.raises(ValueError, match=r"name must be one of bdgp, .*, yeast; got "):
        fetch_views(name)


def test_a_wrong_data_home_is_refused(no_folder):
    with pytest.raises(ValueError, match="data_home must be the path of a folder or None; got 3"):
        fetch_views("sonar", data_home=3)


@pytest.mark.parametrize("name", FILE_ONLY)
def test_a_set_without_public_source_says_what_the_folder_should_hold(name, no_folder):
    with pytest.raises(OSError, match=rf"FUSELEARN_DATA to a folder that holds {name}/{name}\.npz.* not set") as error:
        fetch_views(name)
    assert "heart_statlog, ionosphere, iris, mfeat, olivetti, pima_diabetes, scene, sonar" in str(error.value)


def test_the_folder_is_named_where_it_lacks_the_file(folder, tmp_path):
    with pytest.raises(OSError, match=r"holds bdgp/bdgp\.npz") as error:
        fetch_views("bdgp")
    assert str(tmp_path) in str(error.value)


def test_without_network_the_reason_is_given(no_folder, monkeypatch):
    def fetch_openml(**_):
        raise ConnectionError("the cable is cut")

    monkeypatch.setattr(public, "fetch_openml", fetch_openml)
    with pytest.raises(OSError, match=r"'sonar' could not be fetched \(the cable is cut\).*sonar/sonar\.npz"):
        fetch_views("sonar")


def test_a_folder_that_is_not_there_is_an_error_and_not_a_download(monkeypatch, tmp_path, openml):
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match=r"there is no folder .*nowhere"):
        fetch_views("sonar")
    assert openml == []


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"view_all": np.ones((3, 2))}, "needs an array y or Y; .* has view_all"),
        ({"y": np.arange(3)}, "needs arrays view_<name>, or X and feature_groups, or kernels; .* has y"),
        ({"view_all": np.ones((3, 2)), "y": np.arange(4)}, "3 rows of all and 4 labels"),
        ({"kernels": np.ones((1, 3, 3)), "y": np.arange(4)}, "3 rows of kernels and 4 labels"),
        ({"view_all": np.ones((3, 2)), "Y": np.full((3, 2), 2)}, "must hold zeros and ones"),
        (
            {"X": np.ones((3, 2)), "Y": np.eye(3), "feature_groups": np.array(["a"])},
            "2 columns of X and 1 feature_groups",
        ),
        ({"view_all": np.array([[1, "a", None]]), "y": np.arange(1)}, "plain arrays, without pickles"),
    ],
)
def test_a_file_that_is_not_what_it_should_be(folder, arrays, message):
    folder("sonar", **arrays)
    with pytest.raises(ValueError, match=message):
        fetch_views("sonar")


def test_a_file_that_is_no_archive(folder, tmp_path):
    (tmp_path / "sonar").mkdir()
    (tmp_path / "sonar" / "sonar.npz").write_text("nothing")
    with pytest.raises(ValueError, match=r"sonar\.npz must be an \.npz file of plain arrays"):
        fetch_views("sonar")


# The real ones


@pytest.mark.parametrize("name", sorted(public.PUBLIC_SOURCES))
def test_real_set(real_data, name):
    arrays = real_data(name)
    data = fetch_views(name)
    blocks = [array for key, array in arrays.items() if key.startswith("view_")]
    if name == "football_kernels":
        np.testing.assert_array_equal(data.kernels, arrays["kernels"])
        assert data.kernels.shape == (9, 248, 248)
        return
    raw = np.hstack(blocks) if blocks else arrays["X"]
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(np.nan_to_num(data.X), raw)
    columns = np.arange(data.X.shape[1])
    seen = np.concatenate([columns[selector] for selector in data.views.values()])
    np.testing.assert_array_equal(np.sort(seen), columns)
    for block, selector in zip(blocks, data.views.values()):
        assert data.X[:, selector].shape == block.shape
    target = data.Y if "Y" in arrays else data.y
    assert len(target) == len(data.X)
    assert set(data) >= {key for key in arrays if not key.startswith("view_")}


def test_real_missing_views(real_data):
    real_data("bdgp")
    data = fetch_views("bdgp")
    missing = {name: np.isnan(data.X[:, columns]).all(axis=1) for name, columns in data.views.items()}
    assert {name: rows.sum() for name, rows in missing.items()} == {"visual1000": 201, "visual500": 1203}
    for name, columns in data.views.items():
        assert np.isnan(data.X[:, columns]).any(axis=1).sum() == missing[name].sum()


@pytest.mark.parametrize("name", [*OPENML_NAMES, "iris", "wine"])
def test_real_sets_have_the_layout_that_is_expected_of_openml(real_data, name, openml, monkeypatch):
    real_data(name)
    real = fetch_views(name)
    monkeypatch.delenv("FUSELEARN_DATA")
    fetched = fetch_views(name)
    assert fetched.views == real.views
    assert set(real) - set(fetched) <= {"is_train"}
    assert set(fetched) <= set(real)
    target = "Y" if "Y" in real else "y"
    assert fetched[target].dtype == real[target].dtype
    assert fetched[target].shape[1:] == real[target].shape[1:]
    assert set(np.unique(fetched[target])) <= set(np.unique(real[target]))
