"""Methods by name, and the list of all estimators."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

import fuselearn
from fuselearn.registry import (
    DEFAULT,
    LIBRARY_METHODS,
    METHODS,
    PAPER_METHODS,
    UNMATCHED_METHODS,
    Method,
    all_estimators,
    find_method,
    resolve_methods,
)

VIEWS = {"a": [0, 1], "b": [2, 3]}
GRADIENT = ("gradient", "gradient_views")


def test_all_estimators_are_the_public_classes_that_can_be_fitted():
    pairs = all_estimators()
    assert [name for name, _ in pairs] == sorted(name for name, _ in pairs)
    assert len(pairs) == 22
    for name, kind in pairs:
        assert getattr(fuselearn, name) is kind
        assert issubclass(kind, BaseEstimator)
        assert kind.__name__ == name
    assert fuselearn.all_estimators() == pairs


@pytest.mark.parametrize("name", [*METHODS, *UNMATCHED_METHODS, *PAPER_METHODS, "view:a"])
def test_a_method_makes_an_estimator_of_the_views_with_a_seed(name):
    method = find_method(name, list(VIEWS), unmatched=name not in PAPER_METHODS)
    estimator = method.estimator(VIEWS, 7, seed=3)
    assert method.name == name
    assert estimator.views == (VIEWS if method.only_view is None else {"a": [0, 1]})
    settings = estimator.get_params()
    assert all(settings[key] == 3 for key in settings if key.rpartition("__")[2] == "random_state")
    assert all(settings[key] == 7 for key in settings if key.rpartition("__")[2] == "n_estimators")


def test_methods_of_views_that_are_not_matched_are_for_fitting_only():
    with pytest.raises(ValueError, match="methods names 'tomographic', which is not known"):
        find_method("tomographic", list(VIEWS))
    assert "tomographic" not in {method.name for method in resolve_methods("all", list(VIEWS))}


def test_the_methods_are_those_of_the_default_or_all():
    assert [method.name for method in resolve_methods("default", ["a"])] == [*DEFAULT, "view:a"]
    installed = [name for name in LIBRARY_METHODS if name == "forest" or find_spec(name)]
    assert [method.name for method in resolve_methods("all", ["a"])] == [*METHODS, *installed, "view:a"]


def test_an_estimator_of_the_user_gets_the_views_where_it_has_none():
    given = {"plain": LogisticRegression(), "boosting": fuselearn.ShareBoostClassifier()}
    plain, boosting = resolve_methods(given, list(VIEWS))
    assert isinstance(plain, Method)
    assert isinstance(plain.estimator(VIEWS, None, 0), LogisticRegression)
    assert boosting.estimator(VIEWS, None, 5).views == VIEWS
    assert boosting.estimator(VIEWS, None, 5).random_state == 5
    assert given["boosting"].views is None


def test_names_and_estimators_are_mixed():
    methods = resolve_methods(["fusion", LogisticRegression(), "view:b"], list(VIEWS))
    assert [method.name for method in methods] == ["fusion", "LogisticRegression", "view:b"]
    assert isinstance(methods[0].estimator(VIEWS, None, 0), fuselearn.FusionClassifier)
    given = {"ours": "fusion", "theirs": LogisticRegression(), "one": "view:b", "other": "view:b"}
    methods = resolve_methods(given, list(VIEWS))
    assert [method.name for method in methods] == list(given)
    assert [method.only_view for method in methods] == [None, None, "b", "b"]
    with pytest.raises(ValueError, match="'LogisticRegression' more than once; a dict gives"):
        resolve_methods([LogisticRegression(), LogisticRegression(C=3)], list(VIEWS))
    with pytest.raises(TypeError, match="it must be a name or an unfitted estimator"):
        resolve_methods(["fusion", 3], list(VIEWS))


@pytest.mark.parametrize("name", LIBRARY_METHODS)
def test_methods_of_other_libraries(name):
    if name != "forest":
        pytest.importorskip(name)
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = np.where(X[:, 0] + X[:, 3] > 0, "yes", "no")
    X[::7, :2] = np.nan
    estimator = find_method(name, list(VIEWS)).estimator(VIEWS, 20, seed=3)
    settings = estimator.get_params()
    assert all(settings[key] == 3 for key in settings if key.rpartition("__")[2] == "random_state")
    assert estimator.fit(X, y).score(X, y) > 0.8
    with pytest.raises(ValueError, match=f"methods names '{name}', which is not known"):
        find_method(name, list(VIEWS), unmatched=True)


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match="methods names 'xgboost', which is not installed: pip install xgboost"):
        find_method("xgboost", list(VIEWS)).estimator(VIEWS, 20, seed=3)


def test_methods_that_use_the_labels_of_each_view():
    assert find_method("shareboost", list(VIEWS)).takes_view_labels(VIEWS)
    assert not find_method("adaboost_concatenated", list(VIEWS)).takes_view_labels(VIEWS)
    assert not find_method("mkl", list(VIEWS)).takes_view_labels(VIEWS)
    assert find_method("gradient_views", list(VIEWS)).takes_view_labels(VIEWS)
    assert not find_method("gradient", list(VIEWS)).takes_view_labels(VIEWS)


def test_gradient_boosting_has_its_own_number_of_rounds_and_kind_of_trees():
    joint, per_view = (find_method(name, list(VIEWS)).estimator(VIEWS, None, 0) for name in GRADIENT)
    assert joint.n_estimators == per_view.n_estimators == fuselearn.ShareGradientBoostingClassifier().n_estimators
    assert (joint.trees, per_view.trees) == ("joint", "per_view")
    assert find_method("shareboost", list(VIEWS)).estimator(VIEWS, None, 0).n_estimators == 150
    assert set(GRADIENT) <= set(DEFAULT)


FIT = """
import sys
from fuselearn.cli import main

sys.argv = ["fuselearn", "fit", sys.argv[1], "--target", "y", "--output", sys.argv[2], "--json"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
packages = ["dask", "distributed", "matplotlib", "skops"]
ours = ["backends.gpu", "backends.partitioned.dask_cluster", "backends.partitioned.parquet"]
ours += ["ensembles", "evaluation", "kernels", "multilabel", "papers", "reporting"]
packages += ["fuselearn." + name for name in ours]
print("IMPORTED", [name for name in packages if name in sys.modules])
"""


@pytest.mark.long
def test_to_fit_the_default_method_imports_nothing_of_the_others(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 4))
    lines = [",".join([*map(str, row), "yes" if sum(row) > 0 else "no"]) for row in rows.tolist()]
    (tmp_path / "data.csv").write_text("\n".join(["a_1,a_2,b_1,b_2,y", *lines]) + "\n")
    command = [sys.executable, "-c", FIT, str(tmp_path / "data.csv"), str(tmp_path / "model.fuse")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "IMPORTED []"
