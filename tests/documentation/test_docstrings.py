"""Every example in a docstring, and in the README, runs as printed."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import fuselearn

# A module without examples is found by its text: its import is for other tests.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(fuselearn.__path__, "fuselearn.")
    if ">>> " in Path(module.module_finder.find_spec(module.name).origin).read_text(encoding="utf-8")
)
README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.long
def test_examples_of_the_readme():
    outcome = doctest.testfile(str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_public_names_exist():
    for name in fuselearn.__all__:
        assert getattr(fuselearn, name) is not None
    assert set(fuselearn.__all__) == set(dir(fuselearn))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = fuselearn.nothing
