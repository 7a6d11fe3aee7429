"""The page of a report: safe, self-contained, readable by all, and saved completely."""

import json
import re
import sys
from copy import copy
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from fuselearn import FitReport, ShareBoostClassifier
from fuselearn.reporting import render
from fuselearn.reporting.fit_report import page_environment
from tests.reporting.report_pages import HOSTILE, Page


@pytest.mark.parametrize("labelled", [True, False])
def test_every_link_leads_somewhere(labelled, unequal, fusion):
    X, y = unequal[0][300:], unequal[1][300:]
    noisy = copy(fusion)
    noisy.noise_rates_ = np.array([0.1])
    page = Page(FitReport(noisy, X, y if labelled else None).html)
    assert any("The views contradict about" in text for text in page.text)
    targets = {attributes["href"][1:] for tag, attributes in page.elements if tag == "a"}
    assert targets <= set(page.ids())
    # Training labels are judged with or without labels of these rows.
    assert "suspects" in targets


def test_names_with_html_in_them_are_text():
    rng = np.random.default_rng(0)
    columns = [f"{HOSTILE}{n}" for n in range(6)]
    X = pd.DataFrame(rng.normal(size=(80, 6)), columns=columns)
    y = np.array([f"{HOSTILE} yes", f"{HOSTILE} no"])[(X.iloc[:, 0] > 0).to_numpy().astype(int)]
    views = {f"{HOSTILE} view {n}": columns[3 * n : 3 * n + 3] for n in range(2)}
    model = ShareBoostClassifier(views=views, n_estimators=5).fit(X[:40], y[:40])
    made = FitReport(
        model,
        X[40:],
        y[40:],
        ids=[f"{HOSTILE} {n}" for n in range(40)],
        title=HOSTILE,
        comparison=[{"method": HOSTILE, "score": 0.5}, {"method": "other", "score": 0.4}],
        note={HOSTILE: HOSTILE},
    )
    page = Page(made.html)
    assert page.tags.count("script") == 2
    assert page.tags.count("title") == 1
    assert not {"img", "b", "iframe", "object"} & set(page.tags)
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert json.loads(page.scripts[0]) == made.summary
    assert HOSTILE in "".join(page.text)
    # The frame of a notebook holds the page as the text of an attribute.
    frame = Page(made._repr_html_())
    assert frame.tags == ["iframe"]
    assert frame.elements[0][1]["srcdoc"] == made.html


def test_the_page_loads_nothing(report):
    page = Page(report.html)
    for tag, attributes in page.elements:
        assert "src" not in attributes
        if "href" in attributes:
            assert attributes["href"].startswith("#") or attributes["href"] == "data:,"
        assert tag != "link" or attributes["rel"] == "icon"
    assert "@import" not in report.html
    assert "url(" not in report.html
    policy = next(attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")


def test_the_page_can_be_read_by_all(report):
    page = Page(report.html)
    ids = page.ids()
    assert len(set(ids)) == len(ids)
    assert dict(page.elements)["html"] == {"lang": "en"}
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    # Sections are named by their headings; a reader of landmarks must be able to tell them from the tables in them.
    landmarks = re.findall(r'<h2 id="[^"]+"[^>]*>([^<]+)</h2>', report.html)
    landmarks += [attributes["aria-label"] for _, attributes in page.elements if attributes.get("role") == "region"]
    assert len(set(landmarks)) == len(landmarks) > 12
    for tag, attributes in page.elements:
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
        for reference in ("aria-labelledby", "aria-controls"):
            assert attributes.get(reference, ids[0]) in ids
        if attributes.get("role") in ("img", "region"):
            assert attributes["aria-label"].strip()
        if tag == "th":
            assert attributes["scope"] in ("col", "row")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(theme):
    style = (files("fuselearn.reporting") / "templates" / "report.css").read_text(encoding="utf-8")
    blocks = re.findall(r':root(?:\[data-theme="dark"\])? \{(.*?)\}', style, re.S)
    colours = dict(re.findall(r"--([\w-]+): ([^;]+);", blocks[0] if theme == "light" else blocks[1]))
    rgb = {name: parse(value) for name, value in colours.items()}
    for text in ("text", "muted", "accent", "wrong"):
        for behind in ("page", "surface", "sunken"):
            assert contrast(rgb[text], rgb[behind]) >= 4.5, (text, behind)
    for text in ("text", "accent"):
        assert contrast(rgb[text], rgb["warn-soft"]) >= 4.5
    shades = re.findall(r"linear-gradient\(rgb\(var\(--([\w-]+)\) / ([\d.]+)\)", style)
    assert len(shades) >= 12
    for name, alpha in shades:
        mixed = float(alpha) * rgb[name] + (1 - float(alpha)) * rgb["surface"]
        assert contrast(rgb["text"], mixed) >= 4.5, (name, alpha)


def test_both_ways_to_dark_have_the_same_colours():
    style = (files("fuselearn.reporting") / "templates" / "report.css").read_text(encoding="utf-8")
    chosen = re.search(r':root\[data-theme="dark"\] \{(.*?)\}', style, re.S)[1]
    by_system = re.search(r':root:not\(\[data-theme="light"\]\) \{(.*?)\}', style, re.S)[1]
    assert chosen.split() == by_system.split()


def parse(colour):
    if colour.startswith("#"):
        return np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)], dtype=float)
    return np.array([float(part) for part in colour.split()])


def contrast(first, second):
    """Of WCAG 2."""

    def luminance(colour):
        share = colour / 255
        linear = np.where(share <= 0.03928, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.long
def test_wide_tables_and_many_classes_stay_small():
    rng = np.random.default_rng(0)
    n, n_classes = 400, 100
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 1000)) + rng.normal(size=(n_classes, 1000))[y]
    columns = [f"column {n} of a table with rather long names for its columns" for n in range(1000)]
    X = pd.DataFrame(X, columns=columns)
    views = {f"view {v} with a name that is not short either": columns[20 * v : 20 * v + 20] for v in range(50)}
    model = ShareBoostClassifier(views=views, n_estimators=8).fit(X[:200], y[:200])
    made = FitReport(model, X[200:], y[200:])
    assert len(made.html.encode()) < 3_000_000
    page = Page(made.html)
    assert page.tags.count("svg") < 100
    assert "Confusion matrix of 100 classes" in made.html
    assert "Similarity of 50 views" in made.html


@pytest.mark.parametrize("careful", [[], [{"section": "calibration", "text": "It is over-confident."}]])
def test_probabilities_are_called_badly_calibrated_where_the_warnings_say_so(unequal, fusion, careful):
    # The mean gap over the rows is above 5 % by chance alone in most reports of 80 rows.
    summary = FitReport(fusion, unequal[0][300:380], unequal[1][300:380]).summary
    summary["words"]["careful"] = careful
    summary["calibration"]["error"] = 0.2
    text = " ".join(Page(render(summary)).text)
    assert ("not well calibrated" in text) == bool(careful)


def test_captions_tell_unknown_classes_from_a_sample(iris, fitted):
    X, y = iris[0][75:], iris[1][75:].astype(object)
    y[:27] = "daisy"
    made = FitReport(fitted, X, y)
    text = " ".join(" ".join(Page(made.html).text).split())
    used = "the 48 rows of classes that the model knows"
    assert f"if the view is missing at prediction, on {used}." in text
    assert f"On {used}; the dot marks the best" in text
    assert f"Computed from {used}." in text
    assert "drawn from" not in text
    assert "random sample" not in text
    # Of none of the rows the model knows the class.
    y[:] = "daisy"
    words = FitReport(fitted, X, y).summary["words"]
    assert not any("random sample" in caution["text"] for caution in words["careful"])


def test_one_row_is_not_rows(unequal, fusion):
    text = " ".join(" ".join(Page(FitReport(fusion, unequal[0][:1], unequal[1][:1]).html).text).split())
    assert "accuracy on 1 row" in text
    assert "1 rows" not in text


def test_save_never_overwrites_unasked(report, tmp_path):
    path = tmp_path / "report.html"
    assert report.save(path) == path
    assert path.read_text(encoding="utf-8") == report.html
    with pytest.raises(FileExistsError, match=r"exists; pass force=True"):
        report.save(path)
    report.save(str(path), force=True)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        report.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report.save(tmp_path / "nowhere" / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_half_a_character_in_a_name_does_not_hinder_saving(iris, fitted, tmp_path):
    FitReport(fitted, iris[0], title="odd \ud800 title").save(tmp_path / "report.html")
    assert "odd \\ud800 title" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_without_jinja_the_extra_is_named(report, monkeypatch):
    page_environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'fuselearn\[app\]'"):
        render(report.summary)
    made = FitReport.__new__(FitReport)
    made.summary = report.summary
    words = made._repr_html_()
    assert "pip install" in words
    assert report.summary["words"]["fused"][0].partition(":")[0] in words


def test_templates_are_part_of_the_package():
    names = {file.name for file in (files("fuselearn.reporting") / "templates").iterdir()}
    assert {"page.html.jinja", "report.css", "report.js"} <= names


def test_repr(report):
    assert repr(report) == "<FitReport: Iris, 75 rows>"
