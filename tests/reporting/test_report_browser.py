"""The report in a real browser: it renders without a complaint, sorts, switches its colours, fits a phone, prints.

A copy of the page gets a script of the test at its end, which clicks and measures and leaves what it finds in the page;
the browser then prints the page as it stands. One visit answers many questions, because a browser takes long to start.
"""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fuselearn import FitReport, FusionRegressor, ShareBoostClassifier
from fuselearn.reporting import RegressionReport
from fuselearn.reporting.fit_report import render

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
AXE = next(
    (
        path
        for path in map(Path, [os.environ.get("AXE_CORE", "axe.js"), "node_modules/axe-core/axe.min.js"])
        if path.is_file()
    ),
    None,
)
"""The accessibility checker, which is not part of the repository."""
HOSTILE = '<img src=x onerror="window.hit=1"></script><script>window.hit=2</script>\'&'

pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(BROWSERS)} is installed")


@pytest.fixture(scope="module")
def page():
    """A report with everything in it, and with HTML in its names."""
    rng = np.random.default_rng(0)
    n = 400
    columns = [f"{name}_{number}" for name in ("rna", "image", HOSTILE) for number in range(40)]
    y = np.array(["ill", "well", HOSTILE])[rng.integers(3, size=n)]
    X = rng.normal(size=(n, 120)) + 0.4 * (np.unique(y, return_inverse=True)[1])[:, None]
    X[:60, 40:80] = np.nan
    X = pd.DataFrame(X, columns=columns)
    views = {name: [column for column in columns if column.startswith(name)] for name in ("rna", "image", HOSTILE)}
    model = ShareBoostClassifier(views=views, n_estimators=30).fit(X[200:], y[200:])
    y[:20] = np.roll(y[:20], 1)
    board = [{"method": f"a method with a long name {n}", "score": 0.5 + n / 50, "low": 0.4} for n in range(9)]
    ids = [f"patient number {n}" for n in range(200)]
    return FitReport(model, X[:200], y[:200], ids=ids, comparison=board, title=f"Report {HOSTILE}").html


@pytest.fixture(scope="module")
def of_numbers():
    """A report on predicted numbers, with long names and views that rows lack."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = X[:, 0] - X[:, 3] + 0.1 * rng.normal(size=200)
    X[:60, 3:] = np.nan
    views = {"a view with quite a long name": [0, 1, 2], HOSTILE: [3, 4, 5]}
    model = FusionRegressor(views=views, learners=["linear"], random_state=0).fit(X[100:], y[100:])
    ids = [f"house number {n} of a long street" for n in range(100)]
    note = {"command": ["fuselearn", "fit", "a file with a long name.csv", *["--drop", "a column"] * 9], "seed": 3}
    return RegressionReport(model, X[:100], y[:100], ids=ids, note=note).html


def browse(tmp_path, text, *options):
    """Open a page; what the browser makes of it, and what it complains of."""
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    # A sandbox needs rights that containers do not give; the page is our own.
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr",
        "--virtual-time-budget=5000",
        *options,
        path.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, encoding="utf-8")
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def ask(tmp_path, page, script, *options, before=""):
    """Return what a script finds in the page; it fills `found`."""
    # The page runs no script but its own, so the test takes that rule away from its copy.
    rule = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', page)
    page = page.replace(rule[0], f"<script>{before}</script>") if rule else page
    tail = (
        f"<script>(async () => {{ const found = {{}}; {script}; const last = document.createElement('pre');"
        "last.id = 'found'; last.textContent = JSON.stringify(found); document.body.append(last); })();</script>"
    )
    printed, complaints = browse(tmp_path, page.replace("</body>", f"{tail}</body>"), "--dump-dom", *options)
    assert complaints == []
    found = re.search(r'<pre id="found">(.*?)</pre>', printed, re.S)
    assert found, "the script of the test did not come to its end"
    return json.loads(html.unescape(found[1]))


QUESTIONS = """
found.names = {};
found.names.hit = window.hit ?? null;
found.names.images = document.images.length;
found.names.title = document.querySelector("h1").textContent;
found.names.views = [...document.querySelectorAll("#t-views td.name")].map((cell) => cell.textContent);
found.names.scripts = document.querySelectorAll("main script").length;

found.sort = {};
const table = document.getElementById("t-suspects");
const column = (number) => [...table.tBodies[0].rows].map((row) => row.cells[number].textContent);
const heads = [...table.tHead.rows[0].cells];
const press = (name) => {
  const head = heads.find((cell) => cell.textContent === name);
  const button = head.querySelector("button");
  button.focus();
  found.sort.focus = document.activeElement === button;
  button.click();
  return [heads.indexOf(head), head.getAttribute("aria-sort")];
};
found.sort.marked = heads.filter((head) => head.hasAttribute("aria-sort")).map((head) => head.textContent);
let [place, order] = press("Row");
found.sort.rows = [order, column(place)];
[place, order] = press("Row");
found.sort.back = [order, column(place)];
[place, order] = press("Id");
found.sort.ids = [order, column(place)];
found.sort.sorted = heads.filter((head) => head.hasAttribute("aria-sort")).length;
const board = document.getElementById("t-leaderboard");
board.tHead.rows[0].cells[0].querySelector("button").click();
found.sort.methods = [...board.tBodies[0].rows].map((row) => row.cells[0].textContent.trim());

found.missing = {};
const classes = document.getElementById("t-classes");
classes.tBodies[0].rows[0].cells[3].dataset.value = "";
const values = () => [...classes.tBodies[0].rows].map((row) => row.cells[3].dataset.value);
const precision = classes.tHead.rows[0].cells[3].querySelector("button");
precision.click(); found.missing.down = values();
precision.click(); found.missing.up = values();

found.colours = {};
const theme = document.getElementById("theme");
const colours = () => [getComputedStyle(document.body).backgroundColor, theme.getAttribute("aria-label")];
found.colours.before = colours();
theme.click();
found.colours.after = colours();
found.colours.kept = localStorage.getItem("fuselearn-theme");
theme.click();
found.colours.again = colours();

found.filter = {};
const box = document.querySelector("input[aria-controls=t-suspects]");
const shown = () => [...table.tBodies[0].rows].filter((row) => !row.hidden);
const first = shown()[0].cells[0].textContent;
found.filter.all = shown().length;
box.value = first;
box.dispatchEvent(new Event("input"));
found.filter.left = shown().every((row) => row.textContent.includes(first)) && shown().length;
"""


@pytest.fixture(scope="module")
def answers(page, tmp_path_factory):
    """Return the answers of the browser to all `QUESTIONS`, asked one after the other of the same page."""
    return ask(tmp_path_factory.mktemp("browser"), page, QUESTIONS)


def test_the_page_renders_without_complaint(page, tmp_path):
    printed, complaints = browse(tmp_path, page, "--dump-dom")
    assert complaints == []
    # The script has run to its end: the switch is shown, and so is the filter of the table that has one.
    assert '<button type="button" class="theme" id="theme" aria-label="Dark colours">' in printed


def test_the_page_of_numbers_renders_and_sorts(of_numbers, tmp_path):
    script = """
    found.hit = window.hit ?? null;
    const table = document.querySelector("#errors table");
    const errors = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[3].dataset.value));
    table.tHead.rows[0].cells[3].querySelector("button").click();
    found.errors = errors();
    found.dots = document.querySelectorAll("#residuals .dot").length;
    found.theme = document.getElementById("theme").hidden;
    """
    found = ask(tmp_path, of_numbers, script)
    assert found["hit"] is None
    assert found["errors"] == sorted(found["errors"], reverse=True)
    assert found["dots"] == 100
    assert not found["theme"]


def test_a_complaint_would_be_seen(page, tmp_path):
    broken = page.replace("</body>", "<script>nothing.here()</script></body>")
    assert browse(tmp_path, broken, "--dump-dom")[1]  # the page's own rule forbids the script


@pytest.mark.long
def test_names_with_html_are_text(answers):
    found = answers["names"]
    assert found["hit"] is None
    assert found["images"] == 0
    assert found["scripts"] == 0
    assert found["title"] == f"Report {HOSTILE}"
    assert any(HOSTILE in name for name in found["views"])


def test_tables_sort(answers):
    found = answers["sort"]
    assert found["marked"] == ["Probability of being wrong"]
    assert found["focus"]
    rows = [int(row) for row in found["rows"][1]]
    assert len(rows) > 5
    assert found["rows"][0] == "descending"
    assert rows == sorted(rows, reverse=True)
    assert found["back"][0] == "ascending"
    assert [int(row) for row in found["back"][1]] == sorted(rows)
    # "patient number 9" stands before "patient number 10", as people count.
    assert found["ids"] == ["ascending", [f"patient number {row}" for row in sorted(rows)]]
    assert found["sorted"] == 1
    assert found["methods"] == [f"a method with a long name {n}" for n in range(9)]


def test_missing_figures_are_sorted_last(answers):
    found = answers["missing"]
    assert found["down"][-1] == ""
    assert found["up"][-1] == ""
    assert found["up"][:-1] == found["down"][:-1][::-1]


def test_the_colours_switch_and_are_remembered(answers, page, tmp_path):
    found = answers["colours"]
    assert found["before"] == ["rgb(245, 246, 248)", "Dark colours"]
    assert found["after"] == ["rgb(14, 17, 22)", "Light colours"]
    assert found["kept"] == "dark"
    assert found["again"] == found["before"]
    look = "found.theme = document.documentElement.dataset.theme ?? null;"
    kept = ask(tmp_path, page, look, before="localStorage.setItem('fuselearn-theme', 'dark')")
    assert kept["theme"] == "dark"


@pytest.mark.long
def test_the_page_works_where_storage_is_forbidden(page, tmp_path):
    forbid = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    script = """
    document.getElementById("theme").click();
    found.theme = document.documentElement.dataset.theme;
    """
    assert ask(tmp_path, page, script, before=forbid)["theme"] == "dark"


def test_the_filter_hides_rows(answers):
    assert 1 <= answers["filter"]["left"] < answers["filter"]["all"]


@pytest.mark.long
@pytest.mark.parametrize("of", ["page", "of_numbers"])
def test_the_page_does_not_scroll_sideways(of, request, tmp_path):
    page = request.getfixturevalue(of)
    # In frames, since the window of the browser itself does not get as narrow as a phone.
    widths = (375, 800, 1200)
    frames = "".join(
        f'<iframe style="border: 0; width: {width}px; height: 800px" srcdoc="{html.escape(page)}"></iframe>'
        for width in widths
    )
    found = ask(
        tmp_path,
        f"<!doctype html><html><body>{frames}</body></html>",
        """
        found.frames = [];
        for (const frame of document.querySelectorAll("iframe")) {
          if (frame.contentDocument.readyState !== "complete" || frame.contentDocument.URL === "about:blank")
            await new Promise((done) => { frame.onload = done; });
          const inside = frame.contentWindow, page = frame.contentDocument;
          found.frames.push({
            inner: inside.innerWidth,
            height: page.documentElement.scrollHeight,
            scroll: page.documentElement.scrollWidth,
            hints: [...page.querySelectorAll(".scroll")].map((box) =>
              [box.scrollWidth > box.clientWidth + 2, !box.previousElementSibling.hidden]),
            wide: [...page.querySelectorAll("main *")].filter((element) =>
              !element.closest(".scroll, pre, .hidden, svg")
              && element.getBoundingClientRect().right > inside.innerWidth + 1
            ).map((element) => element.outerHTML.slice(0, 100)),
          });
        }
        """,
    )
    assert [frame["inner"] for frame in found["frames"]] == list(widths)
    for frame in found["frames"]:
        assert frame["height"] > 2_000
        assert frame["scroll"] <= frame["inner"]
        assert frame["wide"] == []
        # A table that is cut off says so.
        assert all(cut_off == hinted for cut_off, hinted in frame["hints"])
    assert sum(hinted for _, hinted in found["frames"][0]["hints"]) > (2 if of == "page" else 0)


@pytest.mark.parametrize("width", [390, 1200])
def test_the_copy_button_leaves_the_code_its_room(width, of_numbers, tmp_path):
    # In a frame, since the window of the browser itself does not get as narrow as a phone.
    frame = f'<iframe style="border: 0; width: {width}px; height: 800px" srcdoc="{html.escape(of_numbers)}"></iframe>'
    found = ask(
        tmp_path,
        f"<!doctype html><html><body>{frame}</body></html>",
        """
        const frame = document.querySelector("iframe");
        if (frame.contentDocument.readyState !== "complete" || frame.contentDocument.URL === "about:blank")
          await new Promise((done) => { frame.onload = done; });
        found.boxes = [...frame.contentDocument.querySelectorAll(".code")].map((box) => {
          const code = box.querySelector("pre").getBoundingClientRect();
          const button = box.querySelector("button").getBoundingClientRect();
          return [button.width, button.right > code.left && button.left < code.right
            && button.bottom > code.top && button.top < code.bottom];
        });
        """,
    )
    assert len(found["boxes"]) == 2
    assert all(shown > 20 and not covers for shown, covers in found["boxes"])


@pytest.mark.long
@pytest.mark.skipif(AXE is None, reason="axe-core is not installed: npm install axe-core, or name axe.js by AXE_CORE")
@pytest.mark.parametrize("model", ["boosting", "fusion", "numbers"])
@pytest.mark.parametrize("width", [1280, 500])
def test_axe_finds_no_accessibility_error(model, width, page, of_fusion, of_numbers, tmp_path):
    look = """
    found.wrong = [];
    for (const theme of ["light", "dark"]) {
      document.documentElement.dataset.theme = theme;
      document.getElementById("theme").click();
      document.getElementById("theme").click();
      const result = await axe.run(document);
      found.passed = result.passes.length;
      for (const rule of result.violations) found.wrong.push([theme, rule.id, rule.nodes.map((node) => node.html)]);
    }
    """
    text = {"boosting": page, "fusion": render(of_fusion), "numbers": of_numbers}[model]
    script = AXE.read_text(encoding="utf-8").replace("</script>", r"<\/script>")
    found = ask(tmp_path, text, look, f"--window-size={width},900", "--virtual-time-budget=60000", before=script)
    assert found["passed"] > 30
    assert found["wrong"] == []


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_the_page_prints_whole_and_without_buttons(page, tmp_path):
    dark = page.replace('<html lang="en">', '<html lang="en" data-theme="dark">')
    browse(tmp_path, dark, f"--print-to-pdf={tmp_path / 'page.pdf'}", "--no-pdf-header-footer")
    text = subprocess.run(
        ["pdftotext", "-layout", tmp_path / "page.pdf", "-"], capture_output=True, check=True, timeout=60
    ).stdout.decode()
    for heading in ("What to be careful about", "Suspect labels", "How to reproduce", "Confusion matrix"):
        assert heading in text
    # Every row of the long table, not only those that its box shows on a screen.
    ids = re.findall(r"<td class=\"name\">\s*(patient number \d+)\s*</td>", page)
    assert len(ids) > 15
    assert [name for name in ids if name not in text] == []
    assert "Copy" not in text
    assert "↕" not in text
    assert "Light" not in text
