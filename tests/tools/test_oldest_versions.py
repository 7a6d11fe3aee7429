"""The oldest versions that are tested are the ones that are claimed."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = ("app", "serve", "dask", "excel", "datasets", "test")
"""The extras that `pip install '.[test]'` installs."""
HELD_BACK = {"pyparsing"}
"""Packages that those need, in versions of their time."""


@pytest.fixture(scope="module")
def claimed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    bounds = (re.fullmatch(r"([\w-]+)(?:\[.*\])?(?:>=([\d.]+))?", line).groups() for line in requirements)
    return {name: bound for name, bound in bounds if name != "fuselearn"}


@pytest.fixture(scope="module")
def tested():
    lines = (ROOT / "tools" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.removesuffix(".*").split("==") for line in lines if not line.startswith("#"))


def test_each_lower_bound_is_the_version_that_is_tested(claimed, tested):
    assert tested.keys() - HELD_BACK == claimed.keys()
    for name, bound in claimed.items():
        assert [*bound.split("."), "0"][: len(tested[name].split("."))] == tested[name].split("."), name


def test_the_documentation_names_these_versions(claimed):
    text = " ".join((ROOT / "docs" / "production.md").read_text(encoding="utf-8").split())
    named = {"scikit-learn": "scikit-learn", "NumPy": "numpy", "SciPy": "scipy", "numba": "numba", "pandas": "pandas"}
    for word, name in {**named, "polars": "polars", "pyarrow": "pyarrow", "Dask": "dask"}.items():
        assert re.search(rf"{word} {re.escape(claimed[name])}\b", text), word
