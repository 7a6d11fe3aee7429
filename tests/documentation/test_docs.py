"""The documentation says what is there: names, files and links are right, and its examples run as printed.

Whether the site builds without a warning is for ``sphinx-build -W`` to say, which ``.ci/run`` runs.
"""

import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import pytest
import typer.main

import fuselearn
from fuselearn.cli.app import make_app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = sorted(file.stem for file in (ROOT / "examples").glob("*.py"))
GENERATED = ("_build", "api", "gallery")
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in GENERATED)
GUIDE = [page for page in PAGES if page.parent.name == "guide"]


def name_of(page):
    return str(page.relative_to(DOCS))


def extension(name):
    """A module of `docs/_ext`."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WITH_EXAMPLES = ("index.md", "tour.md", "fusion.md", "gradient_boosting.md", "production.md", "extension.md")
SLOW_PAGES = {"index.md", "guide/wrong_labels.md"}
"""Pages whose examples take seconds; those of the README show the same and run in any case."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.long if name_of(page) in SLOW_PAGES else (), id=name_of(page))
        for page in (*map(DOCS.joinpath, WITH_EXAMPLES), *GUIDE)
    ],
)
def test_examples_of_a_page(page):
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("#"):
            continue
        file = (page.parent / target.partition("#")[0]).resolve()
        if file.parent == DOCS / "gallery":
            # The page of an example is made when the site is built.
            assert file.stem in EXAMPLES, f"{name_of(page)} links to the example {file.stem}, which is not there."
        else:
            assert file.exists(), f"{name_of(page)} links to {target}, which is not there."


def test_readers_of_a_clone_are_told_where_the_gallery_is():
    """Its pages are not in the repository, so that links to them lead somewhere only on the site."""
    assert "`gallery/NAME.rst` is the output of `examples/NAME.py`" in (DOCS / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [*GUIDE, DOCS / "fusion.md"], ids=name_of)
def test_a_page_of_the_guide_says_when_not(page):
    assert re.search(
        r"^## (When not|When one table is not|What not|When not to)", page.read_text("utf-8"), re.MULTILINE
    )


def test_every_page_is_in_the_table_of_contents():
    contents = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^(?:[\w ]+ <)?([a-z_/A-Z]+)>?$", contents, re.MULTILINE))
    missing = {name_of(page).removesuffix(".md") for page in PAGES} - {"index"} - listed
    assert not missing, f"docs/index.md has no line for {sorted(missing)} in its tables of contents."


def test_files_and_names_of_the_papers_page():
    text = (DOCS / "papers.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", text))
    assert len(files) > 20
    sources = {str(file.relative_to(ROOT / "src" / "fuselearn")): file for file in (ROOT / "src").rglob("*.py")}
    beside = {file for file in files if file.startswith(("tests/", "examples/"))}
    assert files - beside <= set(sources)
    assert all((ROOT / file).is_file() for file in beside)
    words = {word for file in sources.values() for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))}
    for name in re.findall(r"`([A-Za-z_]+)(?:\[[^`]*|\([^`]*)?`", text):
        assert name in words, f"papers.md names {name}, which is not in the code."
    for file, name in re.findall(r"`([a-z_]+/[a-z_]+\.py)`, `(\w+)`", text):
        if file in beside:
            continue
        assert re.search(rf"\b(def|class) {name}\b", sources[file].read_text("utf-8")), f"{file} has no {name}."
    for name, file in re.findall(r"`(\w+)` in `([a-z_]+/[a-z_]+\.py)`", text):
        assert re.search(rf"\b(def|class) {name}\b", sources[file].read_text("utf-8")), f"{file} has no {name}."


def test_api_pages_have_all_public_names():
    pages = extension("api_pages")
    front = pages.front_page()
    assert "FusionClassifier" in front
    for name in fuselearn.__all__:
        if name == "__version__":
            continue
        assert re.search(rf"^   (fuselearn\.)?{name}$", front, re.MULTILINE), name
    for package in pages.packages():
        text = pages.package_page(package)
        for name in pages.public_names(getattr(fuselearn, package)):
            assert re.search(rf"(^   {name}$|`fuselearn\.{name}`)", text, re.MULTILINE), f"{package}: {name}"


def test_the_catalogue_has_every_name_and_command():
    text = (DOCS / "catalogue.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([^`]+)`", text))
    modules = {name for name in fuselearn.__all__ if inspect.ismodule(getattr(fuselearn, name))}
    names = {name for name in fuselearn.__all__ if name[0] != "_"} - modules
    commands = {f"fuselearn {name}" for name in typer.main.get_command(make_app()).commands}
    assert len(commands) > 10
    assert sorted((names | commands) - listed) == []
    missing = {name for name in listed if re.fullmatch("[A-Z]\\w+", name)} - names - {"GramLookup"}
    missing |= {name for name in listed if name.startswith("fuselearn ")} - commands
    assert sorted(missing) == []


def test_gallery_orders_every_example():
    order = extension("gallery_order")
    assert set(order.QUESTIONS) <= set(EXAMPLES)
    assert sorted(["zebra.py", "cluster.py", "first_five_minutes.py"], key=order.by_question) == [
        "first_five_minutes.py",
        "cluster.py",
        "zebra.py",
    ]


def test_pictures_are_small():
    for file in (DOCS / "images").glob("*.svg"):
        assert file.stat().st_size < 100_000, file.name
        assert "http://www.w3.org/2000/svg" in file.read_text(encoding="utf-8")
