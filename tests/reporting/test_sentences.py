"""Each sentence that describes a model: when it is written, and when it is not."""

from pathlib import Path

import pytest

from fuselearn.reporting import sentences
from fuselearn.reporting.sentences import counted, listed, percent
from tests.reporting.plain_summary import NBSP, record, sentence


def test_what_was_fused():
    text = sentence(sentences.what_was_fused)
    assert text == "ShareBoostClassifier fuses 2 views with 10 columns in total: “rna” and “age”."
    text = sentence(sentences.what_was_fused, data__views=1, views__records=[record("rna")])
    assert text == "ShareBoostClassifier uses one view, “rna”, with 10 columns."
    assert "(inside Pipeline)" in sentence(sentences.what_was_fused, model__wrapped_in=["Pipeline"])


def test_what_is_predicted():
    assert sentence(sentences.what_is_predicted) == "It predicts one of 2 classes: “ill” and “well”."
    assert "any of 6 labels" in sentence(sentences.what_is_predicted, data__many_labels=True, data__n_labels=6)
    assert sentence(sentences.what_is_predicted, data__classes=["ill"]) == "It knows only one class, “ill”."


def test_which_rows():
    text = sentence(sentences.which_rows)
    assert text == "This report is based on 1,000 rows; the model was trained on 500."
    assert sentence(sentences.which_rows, training__rows=None) == "This report is based on 1,000 rows."


def test_accuracy():
    text = sentence(sentences.headline_score)
    assert f"900 of 1,000 rows correctly, an accuracy of 90.0{NBSP}%" in text
    assert f"confidence interval is 88.0{NBSP}% to 92.0{NBSP}%" in text
    # Nothing follows from training rows for others.
    assert "interval" not in sentence(sentences.headline_score, training__likeness="same")
    assert sentence(sentences.headline_score, quality=None) is None


BALANCED = {"quality__name": "balanced accuracy", "quality__score": 0.89, "quality__baseline": 0.5}


def test_balanced_accuracy():
    text = sentence(sentences.headline_score, **BALANCED)
    assert f"it predicts 89.0{NBSP}% correctly, on average over the classes: this is its balanced accuracy." in text
    assert "interval" in text


def test_other_scores_where_classes_are_unequal():
    assert sentence(sentences.other_scores) is None
    text = sentence(sentences.other_scores, quality__unequal_classes=True)
    assert f"the balanced accuracy is 89.0{NBSP}% (guessing: 50.0{NBSP}%), and the area under the ROC curve" in text
    assert "is 0.930 (guessing: 0.5)." in text
    assert f"Of the rows of “ill”, the rarer class, 80.0{NBSP}% are found (recall); of those predicted" in text
    assert text.endswith(f"predicted to be “ill”, 70.0{NBSP}% are (precision).")
    text = sentence(sentences.other_scores, **BALANCED, quality__unequal_classes=True, quality__area_under_curve=None)
    assert f"900 of 1,000 rows are predicted correctly, an accuracy of 90.0{NBSP}%." in text
    text = sentence(sentences.other_scores, quality__unequal_classes=True, quality__of_class=None)
    assert f"On average over the classes, 80.0{NBSP}% of the rows of a class are found (recall), and" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (BALANCED, "better than always predicting the same class, whose balanced accuracy is 50.0"),
        ({}, "This is significantly better than always predicting “well”"),
        ({"quality__p_value": 0.3}, "does not differ significantly from always predicting “well”"),
        ({"quality__score": 0.5}, "This is significantly worse than"),
        ({"training__likeness": "same"}, "For comparison: always predicting “well”"),
    ],
)
def test_against_usual_class(changes, words):
    assert words in sentence(sentences.against_usual_class, **changes)


def test_average_precision():
    scored = {"score": 0.645, "baseline": 0.325, "labels_judged": 6}
    text = sentence(sentences.average_precision, data__many_labels=True, quality=scored)
    assert "6 labels" in text
    assert "0.645" in text
    assert "0.325" in text
    without = {"score": None, "baseline": None, "labels_judged": 0}
    text = sentence(sentences.average_precision, data__many_labels=True, quality=without)
    assert "there is no score" in text
    assert sentence(sentences.average_precision) is None


def test_weakest_class_is_named_if_it_stands_out():
    def classes(recall, rows=100):
        return [{"class": f"c{n}", "rows": rows, "recall": value} for n, value in enumerate([0.9, 0.9, recall])]

    assert "“c2” has the lowest recall" in sentence(sentences.weakest_class, per_class=classes(0.6))
    assert sentence(sentences.weakest_class, per_class=classes(0.87)) is None
    assert sentence(sentences.weakest_class, per_class=classes(0.8, rows=12)) is None  # few rows show little
    assert sentence(sentences.weakest_class, per_class=classes(0.6)[1:]) is None  # of two, the other is the stronger


def test_place_on_leaderboard():
    board = {
        "of": "methods",
        "score": "accuracy",
        "columns": ["method", "accuracy"],
        "rows": [["stacking", 0.98], ["iboost", 0.9]],
    }
    text = sentence(sentences.place_on_leaderboard, leaderboard=board)
    assert text == "Of 2 methods compared, stacking has the best mean accuracy, 0.980, followed by iboost with 0.900."
    assert sentence(sentences.place_on_leaderboard) is None
    assert sentence(sentences.place_on_leaderboard, leaderboard={**board, "of": "arms"}) is None


def test_no_quality():
    assert "quality cannot be measured" in sentence(sentences.no_quality, data__labelled=False)
    assert sentence(sentences.no_quality) is None


def test_most_important_view():
    text = sentence(sentences.most_important_view)
    assert text == f"“rna” matters most: without it the accuracy falls from 90.0{NBSP}% to 70.0{NBSP}%."
    hardly = [record("rna", 0.7, 0.001), record("age", 0.3, 0.0)]
    assert "No single view is essential" in sentence(sentences.most_important_view, views__records=hardly)
    assert sentence(sentences.most_important_view, views__records=[record("rna", 1.0)]) is None
    # Rows of unknown classes count in the score of all rows, but not in this one.
    text = sentence(sentences.most_important_view, views__rows=900, views__of=900)
    assert "without it the accuracy on the 900 rows of classes that the model knows falls from 90.0" in text
    text = sentence(sentences.most_important_view, views__rows=300, views__of=900)
    assert "accuracy on 300 rows drawn from the 900 rows of classes that the model knows falls" in text
    # A few rows more or less show neither that a view matters nor that it does not.
    text = sentence(sentences.most_important_view, views__rows=15)
    assert text.startswith("There are too few rows to tell which views matter: without “rna” the accuracy falls")
    assert text.endswith("a difference of 3 rows.")


def test_dispensable_views():
    assert sentence(sentences.dispensable_views) == "Dropping “age” hardly changes the score on these rows."
    both = [record("rna", 0.5, 0.2), record("age", 0.5, 0.2)]
    assert sentence(sentences.dispensable_views, views__records=both) is None
    assert sentence(sentences.dispensable_views, views__rows=15) is None
    unclear = [record("rna", 0.5, 0.2), record("age", 0.5, 0.07)]
    assert sentence(sentences.dispensable_views, views__records=unclear, views__rows=50) is None
    three = [record("rna", 0.5, 0.2), record("age", 0.3, 0.0), record("sex", 0.2, 0.001)]
    text = sentence(sentences.dispensable_views, views__records=three)
    assert text == "Dropping “age” or “sex” alone hardly changes the score on these rows."
    text = sentence(sentences.dispensable_views, views__records=[*three, record("job", 0.0, 0.0)])
    assert text == "Dropping any one of “age”, “sex” and “job” hardly changes the score on these rows."


def test_view_weights():
    text = sentence(sentences.view_weights)
    assert text == f"The model gives most weight to “rna” (70{NBSP}%) and “age” (30{NBSP}%)."
    equal = [record("rna", 0.5), record("age", 0.5)]
    assert "about the same weight" in sentence(sentences.view_weights, views__records=equal)
    unused = [record("rna", 1.0), record("age", 0.0)]
    assert "age" not in sentence(sentences.view_weights, views__records=unused)
    assert sentence(sentences.view_weights, views__records=[record("rna"), record("age")]) is None


def test_single_view():
    assert sentence(sentences.single_view) is None
    assert "only one view" in sentence(sentences.single_view, data__views=1)


def test_largest_contributions():
    features = {"kind": "columns", "explained": "decisions", "total": 9, "used": 9}
    features["largest"] = [{"name": name, "share": 0.2} for name in "abc"]
    assert sentence(sentences.largest_contributions) is None
    assert sentence(sentences.largest_contributions, features=features) == (
        f"Of 9 columns, “a”, “b” and “c” contribute most to the decisions: together 60{NBSP}% of all contributions."
    )
    features["used"] = 3
    assert "“a” contributes most to the decisions: 20" in sentence(sentences.largest_contributions, features=features)
    features["total"] = features["used"] = 1
    assert sentence(sentences.largest_contributions, features=features) is None


def test_every_rule_is_tested_here():
    text = Path(__file__).read_text(encoding="utf-8")
    names = [rule.__name__ for rules in sentences.DESCRIPTION_RULES.values() for rule in rules]
    assert [name for name in names if f"sentences.{name}" not in text] == []


def test_numbers_and_names():
    assert percent(0.9996) == f"99.9{NBSP}%"
    assert percent(1.0) == f"100.0{NBSP}%"
    assert percent(0.0002) == f"less than 0.1{NBSP}%"
    assert percent(0.0) == f"0.0{NBSP}%"
    assert percent(-0.00001) == f"0.0{NBSP}%"
    assert counted(1, "row") == "1 row"
    assert listed(["a"]) == "“a”"
    assert listed([f"a rather long name {n}" for n in range(50)]).endswith("and 46 more")
    assert listed(range(10)).count("“") == 10
