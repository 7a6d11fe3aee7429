"""The records in the documentation: every experiment, of one commit, the page that is made of them, and its counts."""

import re
from pathlib import Path

import pytest

from fuselearn import __version__
from fuselearn.papers.experiments import EXPERIMENTS
from fuselearn.papers.reproduction import load_record, page_of

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "reproduction"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the documentation is not here")


@pytest.fixture(scope="module")
def records():
    found = [load_record(FOLDER, name) for name in EXPERIMENTS]
    assert all(found)
    return found


def test_all_experiments_were_run_in_full_by_the_same_code(records):
    assert {path.stem for path in FOLDER.glob("*.json")} == set(EXPERIMENTS)
    assert len({record.revision for record in records}) == 1
    assert {record.version for record in records} == {__version__}
    assert not any(record.missing for record in records)


def test_the_page_and_its_figures_are_those_of_the_records(records):
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == page_of(records)
    drawn = {figure for record in records for figure in record.figures}
    assert drawn == {path.name for path in FOLDER.glob("*.png")}


def test_other_pages_have_the_counts_of_the_page():
    page, faq, catalogue = (
        " ".join((DOCS / name).read_text(encoding="utf-8").split())
        for name in ("reproduction/README.md", "faq.md", "catalogue.md")
    )
    found = re.search(
        r"(\d+) claims of five papers.*?: (\d+) hold, (\d+) are refuted, (\d+) are not shown, (\d+) c", page
    )
    claims, hold, refuted, open_ones, untested = found.groups()
    assert (
        f"Of {claims}, {hold} hold, {refuted} are refuted, and {untested} cannot be tested. For {open_ones} our" in faq
    )
    assert f"of {claims} claims {hold} hold, {refuted} are refuted, {open_ones} are not shown" in catalogue
