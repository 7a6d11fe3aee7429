"""The report: its numbers, its page, and what it refuses."""

import json
import re
import sys
from copy import copy
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, precision_recall_fscore_support
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fuselearn
from fuselearn import (
    AugmentedKernelClassifier,
    ConcatenatedClassifier,
    FitReport,
    FusionClassifier,
    IndependentBoostClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    ShareBoostClassifier,
    TomographicClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from fuselearn.datasets import load_digit_views
from fuselearn.reporting import charts, quality, render, summarize
from fuselearn.reporting import view_summary as view_worth
from fuselearn.reporting.render import _environment

HOSTILE = '</script><img src=x onerror="window.hit=1">\'&<b>'
VIEWS = {"sepal": [0, 1], "petal": [2, 3]}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.fixture(scope="module")
def fitted(iris):
    X, y = iris
    return ShareBoostClassifier(views=VIEWS, n_estimators=15).fit(X[:75], y[:75])


@pytest.fixture(scope="module")
def report(iris, fitted):
    X, y = iris
    return FitReport(fitted, X[75:], y[75:], ids=[f"plant {n}" for n in range(75)], title="Iris")


class Page(HTMLParser):
    """Elements of a page: tag, attributes, and the text of scripts."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.scripts, self.text, self._inside = [], [], [], None
        self.feed(html)
        self.tags = [tag for tag, _ in self.elements]

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.text.append(data)

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


# Numbers


def test_numbers_are_those_of_scikit_learn(iris, fitted, report):
    X, y = iris[0][75:], iris[1][75:]
    predicted, found = fitted.predict(X), report.summary
    assert found["quality"]["score"] == accuracy_score(y, predicted)
    assert found["quality"]["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert found["quality"]["baseline"] == max(np.mean(y == label) for label in fitted.classes_)
    assert found["confusion"]["counts"] == confusion_matrix(y, predicted).tolist()
    precision, recall, f1, rows = precision_recall_fscore_support(y, predicted)
    for number, one in enumerate(found["per_class"]):
        assert one["precision"] == pytest.approx(precision[number])
        assert one["recall"] == pytest.approx(recall[number])
        assert one["f1"] == pytest.approx(f1[number])
        assert one["rows"] == rows[number]
    assert found["margins"]["negative"] == pytest.approx(np.mean(fitted.margins(X, y) < 0))
    assert sum(found["margins"]["counts"]) == 75
    assert found["rounds"]["staged"]["last"] == found["quality"]["score"]
    wins = [view["wins"] for view in found["rounds"]["views"]]
    assert wins == np.bincount(fitted.winning_views_, minlength=2).tolist()


def test_wilson_interval_and_sign_test():
    # Wilson 1927, by the closed formula.
    n, k, z = 50, 45, 1.959963984540054
    centre = (k / n + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(k / n * (1 - k / n) / n + z**2 / (4 * n**2))
    assert quality.share_interval(np.arange(n) < k) == pytest.approx((centre - half, centre + half))
    first, second = np.array([True] * 6 + [False]), np.array([False] * 6 + [False])
    assert quality.sign_test(first, second) == pytest.approx(2 / 2**6)
    assert quality.sign_test(first, first) == 1.0


def test_calibration_counts_rows_and_gaps():
    probabilities = np.array([[0.95, 0.05], [0.95, 0.05], [0.55, 0.45], [0.0, 1.0]])
    predicted = np.array([0, 0, 0, 1])
    found = quality.calibration(np.array([0, 1, 0, 1]), predicted, probabilities, np.array([0, 1]))
    assert [one["rows"] for one in found["bins"]] == [1, 3]
    assert found["bins"][1]["observed"] == pytest.approx(2 / 3)
    assert found["bins"][1]["stated"] == pytest.approx((0.95 + 0.95 + 1.0) / 3)
    assert found["error"] == pytest.approx((0.45 + 3 * abs(2 / 3 - 2.9 / 3)) / 4)
    # What is stated is the probability of the predicted class, be it the largest or not.
    found = quality.calibration(np.array([0, 1]), np.array([1, 1]), probabilities[:2], np.array([0, 1]))
    assert found["stated"] == pytest.approx(0.05)
    assert found["observed"] == 0.5


def test_the_interval_of_balanced_accuracy_covers_it_about_as_often_as_it_should():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [200, 60, 20])
    true = np.mean([0.9, 0.7, 0.5])
    hits = 0
    for _ in range(1000):
        found = quality.score_of(y, np.where(rng.random(280) < np.array([0.9, 0.7, 0.5])[y], y, 9), 0)
        hits += found["balanced_low"] <= true <= found["balanced_high"]
    assert 920 <= hits <= 980


def test_classes_without_rows_or_predictions_have_no_figures():
    found = quality.per_class(np.array(["a", "a"]), np.array(["a", "b"]), ["a", "b", "c"])
    assert found[1]["recall"] is None
    assert found[1]["precision"] == 0.0
    assert found[2]["f1"] is None


def test_a_flipped_label_is_the_first_suspect(iris, fitted):
    X, y = iris[0][75:], iris[1][75:].copy()
    row = int(np.flatnonzero(y == "setosa")[3])
    y[row] = "virginica"
    found = FitReport(fitted, X, y, ids=[f"plant {n}" for n in range(75)]).summary["suspects"]["records"][0]
    assert found["row"] == row
    assert found["id"] == f"plant {row}"
    assert (found["given"], found["proposed"]) == ("virginica", "setosa")


def test_rows_keep_their_numbers_beside_classes_that_are_unknown(iris, fitted):
    X, y = iris[0][75:], iris[1][75:].astype(object)
    y[:5] = "daisy"
    row = int(np.flatnonzero(y == "setosa")[2])
    y[row] = "virginica"
    found = FitReport(fitted, X, y).summary
    assert found["suspects"]["records"][0]["row"] == row
    assert found["data"]["unknown_classes"] == [{"class": "daisy", "rows": 5}]
    assert found["per_class"][-1]["class"] == "daisy"
    assert found["quality"]["score"] < 0.95
    assert any("never saw, “daisy”" in one["text"] for one in found["words"]["careful"])


def test_training_rows_are_found_out(iris, fitted):
    X, y = iris
    assert FitReport(fitted, X[:75], y[:75]).summary["training"]["likeness"] == "same"
    assert FitReport(fitted, X[75:], y[75:]).summary["training"]["likeness"] is None
    assert FitReport(fitted, X[:70], y[:70]).summary["training"]["likeness"] is None
    machine = MKLClassifier(views=VIEWS).fit(X[:75], y[:75])
    assert FitReport(machine, X[:75], y[:75]).summary["training"]["likeness"] == "same"
    assert FitReport(machine, X[75:], y[75:]).summary["training"]["likeness"] is None


def test_halves_of_a_stratified_split_are_only_alike():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 4)) + y[:, None]
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(X[::2], y[::2])
    assert FitReport(model, X[1::2], y[1::2]).summary["training"]["likeness"] == "alike"


# A model that takes classes of unequal size for equally important


@pytest.fixture(scope="module")
def unequal():
    rng = np.random.default_rng(1)
    y = (rng.random(900) < 0.12).astype(int)
    X = rng.normal(size=(900, 4)) + np.array([1.2, 0, 0.8, 0]) * y[:, None]
    return X, np.array(["well", "ill"])[y]


@pytest.fixture(scope="module")
def fusion(unequal):
    X, y = unequal
    return FusionClassifier(views=VIEWS, max_fits=6, random_state=0).fit(X[:300], y[:300])


@pytest.fixture(scope="module")
def of_fusion(unequal, fusion):
    return FitReport(fusion, unequal[0][300:], unequal[1][300:]).summary


def test_training_rows_of_a_fusion_are_found_out(unequal, fusion, of_fusion):
    X, y = unequal[0][:300], unequal[1][:300]
    assert FitReport(fusion, X, y).summary["training"]["likeness"] == "same"
    assert of_fusion["training"]["likeness"] is None
    order = np.random.default_rng(0).permutation(300)
    found = FitReport(fusion, X[order], y[order]).summary
    assert found["training"]["likeness"] == "alike"
    assert any("exactly as many rows" in one["text"] for one in found["words"]["careful"])
    # Other rows with the same labels.
    rng = np.random.default_rng(2)
    other = rng.normal(size=(300, 4)) + np.array([1.2, 0, 0.8, 0]) * (y == "ill")[:, None]
    assert FitReport(fusion, other, y).summary["training"]["likeness"] == "alike"
    assert FitReport(fusion, X, np.where(y == "ill", "well", "ill")).summary["training"]["likeness"] is None


def test_probabilities_are_those_of_what_is_predicted(unequal, fusion, of_fusion):
    X, y = unequal[0][300:], unequal[1][300:]
    predicted, chances = fusion.predict(X), fusion.predict_proba(X)
    assert np.mean(predicted != fusion.classes_[chances.argmax(axis=1)]) > 0.05  # what this test is about
    stated = np.mean([row[fusion.classes_ == label][0] for row, label in zip(chances, predicted)])
    assert of_fusion["calibration"]["stated"] == pytest.approx(stated)
    assert of_fusion["calibration"]["observed"] == pytest.approx(np.mean(predicted == y))
    assert of_fusion["margins"]["negative"] == pytest.approx(np.mean(predicted != y))
    records = of_fusion["suspects"]["records"]
    assert len(records) > 5
    assert all(predicted[record["row"]] != record["given"] for record in records)
    assert all(record["margin"] < 0 for record in records)


def test_a_promise_is_held_against_the_same_score(unequal, fusion, of_fusion):
    assert of_fusion["training"]["out_of_sample_score"] == pytest.approx(
        balanced_accuracy_score(unequal[1][:300], fusion.classes_[(fusion.out_of_sample_decision_ > 0).astype(int)]),
        abs=0.1,
    )
    assert not any("In training" in one["text"] for one in of_fusion["words"]["careful"])
    board = of_fusion["leaderboard"]
    assert board["score"] == "balanced accuracy"
    assert "balanced accuracy" in board["columns"]
    assert "Balanced accuracy of each arm" in board["note"]


@pytest.mark.parametrize("labelled", [True, False])
def test_every_link_leads_somewhere(labelled, unequal, fusion):
    X, y = unequal[0][300:], unequal[1][300:]
    noisy = copy(fusion)
    noisy.noise_rates_ = np.array([0.1])
    page = Page(FitReport(noisy, X, y if labelled else None).html)
    assert any("The views contradict about" in text for text in page.text)
    targets = {attributes["href"][1:] for tag, attributes in page.elements if tag == "a"}
    assert targets <= set(page.ids())
    assert ("suspects" in targets) == labelled


def test_what_the_file_had_is_told_instead_of_what_the_model_saw(iris, fitted):
    X, y = iris[0][75:].copy(), iris[1][75:]
    X[:15, :2] = np.nan
    facts = {"columns_per_view": {"sepal": 7, "petal": 1}, "gaps_per_view": {"sepal": 0.6, "petal": 0.1}}
    note = {"id": "plant", "file": facts | {"rows_left_out": 4}}
    found = FitReport(fitted, X, y, note=note).summary
    assert [record["columns"] for record in found["views"]["records"]] == [7, 1]
    assert [record["columns"] for record in found["missingness"]["records"]] == [7, 1]
    # A fifth of the rows has no sepals: of the other cells a half is empty.
    assert [record["gaps"] for record in found["missingness"]["records"]] == pytest.approx([0.5, 0.1])
    assert found["data"]["columns"] == 8
    assert found["note"] == [["id", "plant"]]
    assert "4 rows of the file have no label and are left out." in [one["text"] for one in found["words"]["careful"]]
    for odd in (None, "x", {"columns_per_view": {"sepal": 1}, "gaps_per_view": 3, "rows_left_out": "many"}):
        plain = FitReport(fitted, X, y, note={"file": odd}).summary
        assert plain["data"]["columns"] == 4
        assert plain["data"]["rows_left_out"] == 0


def test_slow_predictions_are_made_of_fewer_rows(unequal, fusion, monkeypatch):
    X, y = unequal
    monkeypatch.setattr(view_worth, "PATIENCE", 0.0)
    made = FitReport(fusion, X, y)
    views = made.summary["views"]
    assert (views["rows"], views["of"], views["hurried"], views["shuffles"]) == (100, 900, True, 0)
    assert all(record["lost"] is not None and record["shuffled"] is None for record in views["records"])
    assert "on 100 rows drawn from 900, no more since predictions take long" in made.html
    assert "Views were not shuffled" in made.html


def test_missing_views_are_counted(iris, fitted):
    X, y = iris[0][75:].copy(), iris[1][75:]
    X[:15, :2] = np.nan
    X[:3, 2:] = np.nan
    found = FitReport(fitted, X, y).summary["missingness"]
    assert found["complete"] == pytest.approx(60 / 75)
    assert found["empty_rows"] == 3
    assert [one["rows"] for one in found["patterns"]] == [60, 12, 3]


def test_a_view_that_no_row_has_is_not_judged(iris, fitted):
    X, y = iris[0][75:].copy(), iris[1][75:]
    X[:, :2] = np.nan
    found = FitReport(fitted, X, y).summary
    assert found["views"]["records"][0]["lost"] is None
    assert found["views"]["records"][1]["lost"] > 0.2
    assert not any("hardly missed" in text for text in found["words"]["views"])
    assert "The view “sepal” is missing in every row here." in [one["text"] for one in found["words"]["careful"]]


def test_weighted_training_rows_are_not_passed_over(iris):
    X, y = iris
    weights = np.where(y[:75] == "setosa", 2.0, 1.0)
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(X[:75], y[:75], sample_weight=weights)
    assert FitReport(model, X[:75], y[:75]).summary["training"]["likeness"] == "alike"


def test_a_report_of_the_same_rows_says_the_same(iris, fitted, report):
    X, y = iris
    again = FitReport(fitted, X[75:], y[75:], ids=[f"plant {n}" for n in range(75)], title="Iris").summary
    assert {**again, "created": ""} == {**report.summary, "created": ""}


def test_data_frames_give_the_same_numbers(iris):
    X, y = iris
    names = [f"column {n}" for n in range(4)]
    views = {"sepal": names[:2], "petal": names[2:]}
    frames = pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)
    found = []
    for frame in frames:
        model = ShareBoostClassifier(views=views, n_estimators=10).fit(frame[:75], y[:75])
        found.append(FitReport(model, frame[75:], y[75:]).summary)
    assert found[0]["words"] == found[1]["words"]
    assert found[0]["views"] == found[1]["views"]
    assert found[0]["views"]["records"][0]["first_columns"] == names[:2]


def test_a_summary_is_plain_json(report):
    assert json.loads(json.dumps(report.summary, allow_nan=False)) == report.summary


# Kinds of models


@pytest.mark.parametrize(
    "model",
    [
        IndependentBoostClassifier(views=VIEWS, n_estimators=5),
        ShareBoostClassifier(views=VIEWS, n_estimators=5, view_policy="exp3p", random_state=0),
        ShareBoostClassifier(n_estimators=5),
        ViewVotingClassifier(SVC(), views=VIEWS),
        ViewStackingClassifier(SVC(), views=VIEWS),
        ConcatenatedClassifier(SVC(), views=VIEWS),
        MKLClassifier(views=VIEWS),
        TomographicClassifier(views=VIEWS),
        AugmentedKernelClassifier(views=VIEWS),
        make_pipeline(StandardScaler(), ShareBoostClassifier(views=VIEWS, n_estimators=5)),
        GridSearchCV(ShareBoostClassifier(views=VIEWS, n_estimators=5), {"learning_rate": [0.5, 1.0]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_kind_of_model_has_a_report(model, iris):
    X, y = iris
    model.fit(X[:75], y[:75])
    for labels in (y[75:], None):
        made = FitReport(model, X[75:], labels)
        assert made.html.endswith("</html>")
        json.dumps(made.summary, allow_nan=False)
        if labels is not None:
            assert made.summary["quality"]["score"] == pytest.approx(np.mean(model.predict(X[75:]) == labels))


def test_many_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    Y = (X[:, :3] > 0.3).astype(int)
    model = MSSBoostClassifier(views={"a": slice(0, 6), "b": slice(6, 12)}, n_estimators=10, feature_ratio=0.5)
    model.set_params(random_state=0).fit(X[:100], Y[:100])
    made = FitReport(model, X[100:], Y[100:])
    assert made.summary["quality"]["score"] > made.summary["quality"]["baseline"]
    assert [one["rows"] for one in made.summary["labels"]] == Y[100:].sum(axis=0).tolist()
    assert made.summary["confusion"] is None
    assert "Average precision" in made.html
    assert any("several labels" in reason for reason in made.summary["left_out"])
    with pytest.raises(ValueError, match=r"of shape \(100, 3\); got shape \(100,\)"):
        FitReport(model, X[100:], Y[100:, 0])


def test_without_labels_nothing_is_said_about_quality(iris, fitted):
    found = FitReport(fitted, iris[0][75:])
    for section in ("quality", "per_class", "confusion", "calibration", "margins", "suspects"):
        assert found.summary[section] is None
    assert found.summary["rounds"]["staged"] is None
    assert "no quality can be told" in found.html
    assert "accuracy on" not in found.html
    assert "so score, classes, confusions" in found.html


def test_one_row(iris, fitted):
    made = FitReport(fitted, iris[0][:1], iris[1][:1])
    assert "1 row only" in made.html


def test_a_leaderboard_from_a_comparison(iris, fitted):
    X, y = iris
    comparison = fuselearn.compare(X, y, views=VIEWS, methods=["shareboost", "view:sepal"], runs=2, random_state=0)
    made = FitReport(fitted, X[75:], y[75:], comparison=comparison)
    board = made.summary["leaderboard"]
    assert [row[0] for row in board["rows"]] == comparison.methods
    assert board["score"] == "accuracy"
    for other in (comparison.summary, comparison.table, comparison.summary.records()):
        assert FitReport(fitted, X[75:], y[75:], comparison=other).summary["leaderboard"]["rows"] == board["rows"]
    assert "Of 2 methods compared" in made.html


def test_the_arms_of_a_model_are_a_leaderboard(iris, fitted):
    X, y = iris
    fitted = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(X[:75], y[:75])
    fitted.leaderboard_ = [
        {"arm": 0, "view": "sepal", "learner": "stump", "score": 0.7, "weight": 0.2, "fits": 5},
        {"arm": 1, "view": "petal", "learner": "tree", "score": 0.9, "weight": 0.8, "fits": 5},
    ]
    made = FitReport(fitted, X[75:], y[75:])
    assert made.summary["leaderboard"]["of"] == "arms"
    assert made.summary["leaderboard"]["rows"][0][1] == "petal"
    assert "petal · tree" in made.html


# The page


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
    assert "Likeness of 50 views" in made.html


def test_many_rows_are_sampled_and_it_says_so():
    rng = np.random.default_rng(0)
    n = 200_000
    y = (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 4)).astype(np.float32) + y[:, None]
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(X[:1000], y[:1000])
    made = FitReport(model, X, y)
    assert made.summary["quality"]["rows"] == n
    assert made.summary["quality"]["score"] == pytest.approx(model.score(X, y))
    assert made.summary["views"]["rows"] == 2_000
    assert made.summary["rounds"]["staged"]["rows"] == 5_000
    assert "5,000 rows drawn from 200,000" in made.html
    assert len(made.html.encode()) < 500_000


def test_code_to_reproduce_is_python(report):
    code = report.summary["reproduce"]["code"]
    compile(code, "code", "exec")
    assert "'petal': [2, 3]" in code
    assert "n_estimators=15" in code
    assert "resample" not in code  # a default


def test_the_command_of_the_fit_is_shown(iris, fitted):
    note = {"command": "fuselearn fit iris.csv --target kind"}
    assert FitReport(fitted, iris[0], note=note).summary["reproduce"]["command"].startswith(note["command"])


def test_charts():
    assert charts.ticks(0.83, 0.97) == [0.85, 0.875, 0.9, 0.925, 0.95]
    assert charts.ticks(1, 1) == [1.0]
    assert charts.ticks(1, 3, whole=True) == [1.0, 2.0, 3.0]
    drawn = charts.histogram([0, 4, 2], [-1.0, -0.5, 0.0, 1.0], cut=0.0)
    assert drawn["below"].count("M") == 1
    assert drawn["above"].startswith("M502 1000V500H998")
    assert charts.strip([1.0, 0.0, 0.3, 0.0])[3] == "M0 0H250V1000H0Z"
    assert charts.strip([1.0, 0.0, 0.3, 0.0])[1] == "M500 0H750V1000H500Z"
    assert charts.line_chart([1], [0.5])["dots"] == [[500, 500]]
    assert charts.line_chart([1, 2], [0.0, 1.0])["line"] == "M0 931 1000 69"
    assert charts.heat_map([[1.0, 0.0], [0.01, None]])["paths"][0] == "M0 1h1v1h-1z"


# Files and refusals


def test_save_never_overwrites_unasked(report, tmp_path):
    path = tmp_path / "report.html"
    assert report.save(path) == path
    assert path.read_text(encoding="utf-8") == report.html
    with pytest.raises(FileExistsError, match=r"exists; give force=True"):
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
    _environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'fuselearn\[app\]'"):
        render(report.summary)


def test_bad_input_is_refused_in_words(iris, fitted):
    X, y = iris
    with pytest.raises(NotFittedError):
        FitReport(ShareBoostClassifier(), X, y)
    with pytest.raises(TypeError, match=r"model must be a fitted classifier with views.*got SVC"):
        FitReport(SVC().fit(X, y), X, y)
    with pytest.raises(TypeError, match="got LabelConsensus"):
        FitReport(LabelConsensus(views=VIEWS, random_state=0).fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"y must hold a label for each of the 150 rows of X; got shape \(75,\)"):
        FitReport(fitted, X, y[:75])
    with pytest.raises(ValueError, match="ids must name each of the 150 rows of X; got 3"):
        FitReport(fitted, X, y, ids=["a", "b", "c"])
    with pytest.raises(ValueError, match="y has no label in 1 rows, the first being row 4"):
        FitReport(fitted, X, np.where(np.arange(150) == 4, None, y))
    with pytest.raises(ValueError, match="X has no rows"):
        FitReport(fitted, X[:0])
    with pytest.raises(TypeError, match="title must be a string or None; got 3"):
        FitReport(fitted, X, title=3)
    with pytest.raises(TypeError, match="note must be a dict or None; got 'x'"):
        FitReport(fitted, X, note="x")
    with pytest.raises(TypeError, match=r"comparison must be a result of fuselearn\.compare.*got int"):
        FitReport(fitted, X, comparison=3)


def test_summarize_draws_by_its_seed():
    X, views, y = load_digit_views(return_tuple=True)
    model = ShareBoostClassifier(views=views, n_estimators=3).fit(X[:300], y[:300])
    first, second, other = (summarize(model, X[300:], y[300:], random_state=seed)["views"] for seed in (0, None, 1))
    assert first == second
    assert first != other


def test_templates_are_part_of_the_package():
    names = {file.name for file in (files("fuselearn.reporting") / "templates").iterdir()}
    assert {"page.html.jinja", "report.css", "report.js"} <= names


def test_repr(report):
    assert repr(report) == "<FitReport: Iris, 75 rows>"
