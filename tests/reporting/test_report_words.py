"""Each sentence of a report: when it is said, and when it is not."""

from copy import deepcopy
from pathlib import Path

import pytest

from fuselearn.reporting import sentences as plain_words
from fuselearn.reporting.phrases import counted, listed, percent

NBSP = "\N{NO-BREAK SPACE}"


def record(name, share=None, lost=None):
    return {"name": name, "columns": 5, "share": share, "lost": lost, "shuffled": lost, "shuffled_std": 0.0}


PLAIN = {
    "model": {"name": "ShareBoostClassifier", "wrapped_in": []},
    "data": {
        "rows": 1000,
        "columns": 10,
        "views": 2,
        "labelled": True,
        "many_labels": False,
        "n_labels": None,
        "classes": ["ill", "well"],
        "class_counts": [400, 600],
        "unknown_classes": [],
        "rows_left_out": 0,
    },
    "training": {
        "rows": 500,
        "likeness": None,
        "error_bound": None,
        "noise_rates": None,
        "out_of_sample_score": None,
    },
    "quality": {
        "score": 0.9,
        "low": 0.88,
        "high": 0.92,
        "right": 900,
        "rows": 1000,
        "baseline": 0.6,
        "baseline_class": "well",
        "p_value": 1e-9,
        "balanced_accuracy": 0.89,
        "balanced_high": 0.91,
        "chance": 0.5,
    },
    "per_class": None,
    "leaderboard": None,
    "views": {
        "records": [record("rna", 0.7, 0.2), record("age", 0.3, 0.001)],
        "baseline": 0.9,
        "score_name": "accuracy",
        "rows": 1000,
        "of": 1000,
    },
    "redundancy": {"most": [{"first": "rna", "second": "age", "alike": 0.1}]},
    "rounds": {"n": 50, "planned": 50, "ended_early": False, "staged": None},
    "margins": {"rows": 1000},
    "missingness": {
        "complete": 1.0,
        "empty_rows": 0,
        "records": [{"view": "rna", "present": 1.0, "gaps": 0.0}, {"view": "age", "present": 1.0, "gaps": 0.0}],
    },
    "suspects": {"confident": 0, "labels": 1000, "total": 0},
    "calibration": {"stated": 0.91, "observed": 0.9},
}


def said(rule, **changes):
    """What a rule says of the plain summary with some values changed; a key with dots reaches into it."""
    summary = deepcopy(PLAIN)
    for path, value in changes.items():
        *parts, last = path.split("__")
        place = summary
        for part in parts:
            place = place[part]
        place[last] = value
    return rule(summary)


def test_a_plain_fit_needs_no_caution():
    assert plain_words.words_of(deepcopy(PLAIN))["careful"] == []


def test_what_was_fused():
    assert said(plain_words.what_was_fused) == "ShareBoostClassifier fuses 2 views of 10 columns: “rna” and “age”."
    one = said(plain_words.what_was_fused, data__views=1, views__records=[record("rna")])
    assert one == "ShareBoostClassifier reads one view, “rna”, of 10 columns."
    assert "(inside Pipeline)" in said(plain_words.what_was_fused, model__wrapped_in=["Pipeline"])


def test_what_is_told_apart():
    assert said(plain_words.what_is_told_apart) == "It tells 2 classes apart: “ill” and “well”."
    assert "any of 6 labels" in said(plain_words.what_is_told_apart, data__many_labels=True, data__n_labels=6)


def test_which_rows():
    assert said(plain_words.which_rows) == "This report shows it on 1,000 rows, after training on 500."
    assert said(plain_words.which_rows, training__rows=None) == "This report shows it on 1,000 rows."


def test_score_in_words():
    text = said(plain_words.score_in_words)
    assert f"900 of 1,000 rows correctly: an accuracy of 90.0{NBSP}%" in text
    assert f"between 88.0{NBSP}% and 92.0{NBSP}%" in text
    # Of training rows nothing follows for others.
    assert "between" not in said(plain_words.score_in_words, training__likeness="same")
    assert said(plain_words.score_in_words, quality=None) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "This is better than always answering “well”"),
        ({"quality__p_value": 0.3}, "cannot show that this differs"),
        ({"quality__score": 0.5}, "This is worse than"),
    ],
)
def test_against_the_usual_class(changes, words):
    assert words in said(plain_words.against_the_usual_class, **changes)


def test_score_of_labels_in_words():
    found = {"score": 0.645, "baseline": 0.325, "labels_judged": 6}
    text = said(plain_words.score_of_labels_in_words, data__many_labels=True, quality=found)
    assert "6 labels" in text
    assert "0.645" in text
    assert "0.325" in text
    nothing = {"score": None, "baseline": None, "labels_judged": 0}
    text = said(plain_words.score_of_labels_in_words, data__many_labels=True, quality=nothing)
    assert "no score can be told" in text
    assert said(plain_words.score_of_labels_in_words) is None


def test_weakest_class_is_named_where_it_stands_out():
    def classes(recall, rows=100):
        recalls = [0.9, 0.9, recall]
        return [{"class": f"c{n}", "rows": rows, "recall": one} for n, one in enumerate(recalls)]

    assert "“c2” is found least often" in said(plain_words.weakest_class, per_class=classes(0.6))
    assert said(plain_words.weakest_class, per_class=classes(0.87)) is None
    assert said(plain_words.weakest_class, per_class=classes(0.8, rows=12)) is None  # few rows show little
    assert said(plain_words.weakest_class, per_class=classes(0.6)[1:]) is None  # of two, the other is the stronger


def test_place_on_the_leaderboard():
    board = {
        "of": "methods",
        "score": "accuracy",
        "columns": ["method", "accuracy"],
        "rows": [["stacking", 0.98], ["iboost", 0.9]],
    }
    text = said(plain_words.place_on_the_leaderboard, leaderboard=board)
    assert text == "Of 2 methods compared, stacking has the best mean accuracy, 0.980; next is iboost with 0.900."
    assert said(plain_words.place_on_the_leaderboard) is None
    assert said(plain_words.place_on_the_leaderboard, leaderboard={**board, "of": "arms"}) is None


def test_no_labels_no_quality():
    assert "no quality can be told" in said(plain_words.no_quality, data__labelled=False)
    assert said(plain_words.no_quality) is None
    assert "overfitting would not be seen" in said(plain_words.labels_missing, data__labelled=False)
    assert said(plain_words.labels_missing) is None


def test_most_missed_view():
    text = said(plain_words.most_missed_view)
    assert text == f"“rna” is missed most: without it the accuracy falls from 90.0{NBSP}% to 70.0{NBSP}%."
    hardly = [record("rna", 0.7, 0.001), record("age", 0.3, 0.0)]
    assert "No single view is missed" in said(plain_words.most_missed_view, views__records=hardly)
    assert said(plain_words.most_missed_view, views__records=[record("rna", 1.0)]) is None
    # Three rows more or less are no finding, but nothing is known to be unimportant either.
    text = said(plain_words.most_missed_view, views__rows=15)
    assert text.startswith("There are too few rows to tell which views are missed: without “rna” the accuracy falls")
    assert text.endswith("which is 3 rows.")


def test_views_not_missed():
    assert said(plain_words.views_not_missed).startswith("“age” is hardly missed")
    both = [record("rna", 0.5, 0.2), record("age", 0.5, 0.2)]
    assert said(plain_words.views_not_missed, views__records=both) is None
    assert said(plain_words.views_not_missed, views__rows=15) is None
    unclear = [record("rna", 0.5, 0.2), record("age", 0.5, 0.07)]
    assert said(plain_words.views_not_missed, views__records=unclear, views__rows=50) is None


def test_loudest_view():
    text = said(plain_words.loudest_view)
    assert text == f"The model gives most weight to “rna” (70{NBSP}%) and “age” (30{NBSP}%)."
    same = [record("rna", 0.5), record("age", 0.5)]
    assert "about the same weight" in said(plain_words.loudest_view, views__records=same)
    silent = [record("rna", 1.0), record("age", 0.0)]
    assert "age" not in said(plain_words.loudest_view, views__records=silent)
    assert said(plain_words.loudest_view, views__records=[record("rna"), record("age")]) is None


def test_only_view():
    assert said(plain_words.only_view) is None
    assert "one view" in said(plain_words.only_view, data__views=1)


def test_training_rows_given():
    assert said(plain_words.training_rows_given) is None
    assert "These look like the rows" in said(plain_words.training_rows_given, training__likeness="same")
    assert "If they are the same rows" in said(plain_words.training_rows_given, training__likeness="alike")


def test_few_rows():
    assert said(plain_words.few_rows) is None
    assert said(plain_words.few_rows, quality__rows=30).startswith("There are 30 rows only")
    assert said(plain_words.few_rows, quality__rows=1).startswith("There is 1 row only")


def test_rows_left_out():
    assert said(plain_words.rows_left_out) is None
    assert said(plain_words.rows_left_out, data__rows_left_out=1) == "1 row of the file has no label and is left out."


def test_rare_classes():
    assert said(plain_words.rare_classes) is None
    assert said(plain_words.rare_classes, data__class_counts=[3, 997]).startswith("Class “ill” has fewer than 10")
    assert "All rows are of class “ill”" in said(plain_words.rare_classes, data__class_counts=[1000, 0])
    assert "All rows are of class “well”" in said(plain_words.rare_classes, data__class_counts=[0, 1000])
    assert said(plain_words.rare_classes, data__class_counts=None) is None


def test_imbalance():
    assert said(plain_words.imbalance) is None
    text = said(plain_words.imbalance, data__class_counts=[100, 900])
    assert "9 times" in text
    assert f"89.0{NBSP}%" in text


def test_unknown_classes():
    assert said(plain_words.unknown_classes) is None
    text = said(plain_words.unknown_classes, data__unknown_classes=[{"class": "odd", "rows": 1}])
    assert text == "1 row is of classes that the model never saw, “odd”, and counts as wrong."


def test_missing_views():
    assert said(plain_words.missing_views) is None
    some = [{"view": "rna", "present": 0.5, "gaps": 0.0}, {"view": "age", "present": 0.9, "gaps": 0.0}]
    text = said(plain_words.missing_views, missingness__records=some, missingness__complete=0.4)
    assert text == f"Every view is there in 40.0{NBSP}% of the rows; “rna” in 50.0{NBSP}%."
    some[0]["present"] = 0.0
    text = said(plain_words.missing_views, missingness__records=some, missingness__complete=0.0)
    assert text == "The view “rna” is missing in every row here."


def test_rows_without_views():
    assert said(plain_words.rows_without_views) is None
    assert said(plain_words.rows_without_views, missingness__empty_rows=2).startswith("2 rows have no view at all")


def test_gaps():
    assert said(plain_words.gaps) is None
    some = [{"view": "rna", "present": 1.0, "gaps": 0.2}]
    assert f"20.0{NBSP}% of its cells" in said(plain_words.gaps, missingness__records=some)


def test_suspected_label_noise():
    assert said(plain_words.suspected_label_noise) is None
    assert said(plain_words.suspected_label_noise, suspects__confident=3).startswith("3 labels are contradicted")
    # A model that is sure and wrong half of the time says nothing about labels.
    assert said(plain_words.suspected_label_noise, suspects__confident=500) is None
    text = said(plain_words.suspected_label_noise, training__noise_rates={"rna": 0.1, "age": 0.01})
    assert text == f"About 10.0{NBSP}% of the training labels of “rna” are estimated to be wrong."
    assert said(plain_words.suspected_label_noise, training__noise_rates={"y": 0.001}) is None
    # Without a second opinion, classes that overlap look like wrong labels.
    text = said(plain_words.suspected_label_noise, training__noise_rates={"y": 0.083})
    assert (
        text
        == f"The views contradict about 8.3{NBSP}% of the training labels: these are wrong, or the classes overlap."
    )


def test_overfitting():
    staged = {"best_round": 20, "best": 0.95, "last": 0.9, "p_value": 0.001, "rows": 1000}
    assert "peaks at round 20" in said(plain_words.overfitting, rounds__staged=staged)
    assert said(plain_words.overfitting, rounds__staged={**staged, "p_value": 0.2}) is None
    assert said(plain_words.overfitting, rounds__staged={**staged, "last": 0.945}) is None
    text = said(plain_words.overfitting, training__error_bound=0.01)
    assert f"at most 1.0{NBSP}% of its training rows, but on 10.0{NBSP}% of these" in text
    assert said(plain_words.overfitting, training__error_bound=0.07) is None
    assert said(plain_words.overfitting, training__error_bound=0.01, training__likeness="same") is None


def test_worse_than_promised():
    assert said(plain_words.worse_than_promised) is None
    assert said(plain_words.worse_than_promised, training__out_of_sample_score=0.91) is None
    text = said(plain_words.worse_than_promised, training__out_of_sample_score=0.97)
    assert f"a balanced accuracy of 97.0{NBSP}% on rows it had not seen; here it is 89.0{NBSP}%." in text
    # What was estimated from 15 rows of a class is no promise.
    few = {"training__out_of_sample_score": 0.97, "training__class_shares": [0.03, 0.97]}
    assert said(plain_words.worse_than_promised, **few) is None
    assert said(plain_words.worse_than_promised, **few | {"training__rows": 50_000}) == text
    # Accuracy is another score.
    promised = {"training__out_of_sample_score": 0.91, "quality__score": 0.7, "quality__high": 0.72}
    assert said(plain_words.worse_than_promised, **promised) is None


def test_redundant_views():
    assert said(plain_words.redundant_views) is None
    assert said(plain_words.redundant_views, redundancy=None) is None
    pairs = [{"first": "rna", "second": "age", "alike": 0.97}]
    assert "“rna” and “age” say nearly the same" in said(plain_words.redundant_views, redundancy__most=pairs)


def test_probabilities_off():
    assert said(plain_words.probabilities_off) is None
    assert "too sure" in said(plain_words.probabilities_off, calibration__stated=0.99)
    assert "too modest" in said(plain_words.probabilities_off, calibration__stated=0.6)
    # A gap that the rows leave open is none.
    assert said(plain_words.probabilities_off, calibration__stated=0.97, quality__high=0.98) is None
    assert said(plain_words.probabilities_off, calibration=None) is None


def test_ended_early():
    assert said(plain_words.ended_early) is None
    assert said(plain_words.ended_early, rounds=None) is None
    assert "ended after 50 rounds of 200" in said(
        plain_words.ended_early, rounds__ended_early=True, rounds__planned=200
    )


def test_rows_drawn():
    assert said(plain_words.rows_drawn) is None
    assert "300 at the least" in said(plain_words.rows_drawn, views__rows=300)


def test_every_rule_is_tested_here():
    rules = [rule for rules in plain_words.PARTS.values() for rule in rules] + [rule for rule, _ in plain_words.CAREFUL]
    text = Path(__file__).read_text(encoding="utf-8")
    assert [rule.__name__ for rule in rules if f"plain_words.{rule.__name__}" not in text] == []


def test_phrases():
    assert percent(0.9996) == f"99.9{NBSP}%"
    assert percent(1.0) == f"100.0{NBSP}%"
    assert percent(0.0002) == f"less than 0.1{NBSP}%"
    assert percent(0.0) == f"0.0{NBSP}%"
    assert percent(-0.00001) == f"0.0{NBSP}%"
    assert counted(1, "row") == "1 row"
    assert listed(["a"]) == "“a”"
    assert listed([f"a rather long name {n}" for n in range(50)]).endswith("and 46 more")
    assert listed(range(10)).count("“") == 10
