"""Each warning of a report: when it is given, and when it is not."""

from copy import deepcopy
from pathlib import Path

from fuselearn.reporting import cautions
from tests.reporting.plain_summary import NBSP, PLAIN, sentence


def test_a_plain_fit_needs_no_caution():
    assert cautions.warn(deepcopy(PLAIN)) == []


def test_training_rows_given():
    assert sentence(cautions.training_rows_given) is None
    assert "These look like the rows" in sentence(cautions.training_rows_given, training__likeness="same")
    assert "If they are the same rows" in sentence(cautions.training_rows_given, training__likeness="alike")


def test_labels_missing():
    assert "overfitting cannot be detected" in sentence(cautions.labels_missing, data__labelled=False)
    assert sentence(cautions.labels_missing) is None


def test_few_rows():
    assert sentence(cautions.few_rows) is None
    assert sentence(cautions.few_rows, quality__rows=30).startswith("There are only 30 rows")
    assert sentence(cautions.few_rows, quality__rows=1).startswith("There is only 1 row")


def test_unlabelled_rows():
    assert sentence(cautions.unlabelled_rows) is None
    text = sentence(cautions.unlabelled_rows, data__rows_left_out=1)
    assert text == "1 row of the file has no label and is not used here."


def test_rare_classes():
    assert sentence(cautions.rare_classes) is None
    assert sentence(cautions.rare_classes, data__class_counts=[3, 997]).startswith("Class “ill” has fewer than 10")
    assert "All rows belong to class “ill”" in sentence(cautions.rare_classes, data__class_counts=[1000, 0])
    assert "All rows belong to class “well”" in sentence(cautions.rare_classes, data__class_counts=[0, 1000])
    assert sentence(cautions.rare_classes, data__class_counts=None) is None
    text = sentence(cautions.rare_classes, data__classes=["a", "b", "c"], data__class_counts=[3, 2, 995])
    assert text.startswith("2 classes, “a” and “b”, have fewer than 10 rows")


def test_imbalance():
    assert sentence(cautions.imbalance) is None
    text = sentence(cautions.imbalance, data__class_counts=[100, 900])
    assert "9 times" in text
    assert f"89.0{NBSP}%" in text


def test_unknown_classes():
    assert sentence(cautions.unknown_classes) is None
    text = sentence(cautions.unknown_classes, data__unknown_classes=[{"class": "odd", "rows": 1}])
    assert text == "1 row belongs to a class that the model has never seen, “odd”, and counts as wrong."
    two = [{"class": "odd", "rows": 1}, {"class": "new", "rows": 2}]
    text = sentence(cautions.unknown_classes, data__unknown_classes=two)
    assert text == "3 rows belong to classes that the model has never seen, “odd” and “new”, and count as wrong."


def test_missing_views():
    assert sentence(cautions.missing_views) is None
    records = [{"view": "rna", "present": 0.5, "gaps": 0.0}, {"view": "age", "present": 0.9, "gaps": 0.0}]
    text = sentence(cautions.missing_views, missingness__records=records, missingness__complete=0.4)
    assert text == f"Only 40.0{NBSP}% of the rows have every view; “rna” is present in 50.0{NBSP}%."
    records[0]["present"] = 0.0
    text = sentence(cautions.missing_views, missingness__records=records, missingness__complete=0.0)
    assert text == "The view “rna” is missing in every row."


def test_rows_without_views():
    assert sentence(cautions.rows_without_views) is None
    assert sentence(cautions.rows_without_views, missingness__empty_rows=2).startswith("2 rows have no view at all")
    assert sentence(cautions.rows_without_views, missingness__empty_rows=1).startswith("1 row has no view at all")


def test_gaps():
    assert sentence(cautions.gaps) is None
    records = [{"view": "rna", "present": 1.0, "gaps": 0.2}]
    assert f"20.0{NBSP}% of its cells" in sentence(cautions.gaps, missingness__records=records)


def test_label_noise():
    assert sentence(cautions.label_noise) is None
    text = sentence(cautions.label_noise, suspects__confident=3)
    assert text.startswith(f"The model is at least 95{NBSP}% certain that each of 3 labels is wrong. Check them")
    assert "that 1 label is wrong. Check it" in sentence(cautions.label_noise, suspects__confident=1)
    # A model that is confident and wrong half of the time is no evidence against labels.
    assert sentence(cautions.label_noise, suspects__confident=500) is None
    text = sentence(cautions.label_noise, training__noise_rates={"rna": 0.1, "age": 0.01})
    assert text == f"About 10.0{NBSP}% of the training labels of “rna” are estimated to be wrong."
    assert sentence(cautions.label_noise, training__noise_rates={"y": 0.001}) is None
    # Without a second opinion, classes that overlap look like wrong labels.
    text = sentence(cautions.label_noise, training__noise_rates={"y": 0.083})
    assert text.startswith(f"The views contradict about 8.3{NBSP}% of the training labels: these labels are wrong, or")


def test_overfitting():
    staged = {"best_round": 20, "best": 0.95, "last": 0.9, "p_value": 0.001, "rows": 1000, "of": 1000}
    assert "on these rows peaks at round 20" in sentence(cautions.overfitting, rounds__staged=staged)
    text = sentence(cautions.overfitting, rounds__staged={**staged, "rows": 900, "of": 900})
    assert text.startswith("The score on the 900 rows of classes that the model knows peaks at round 20")
    assert sentence(cautions.overfitting, rounds__staged={**staged, "p_value": 0.2}) is None
    assert sentence(cautions.overfitting, rounds__staged={**staged, "last": 0.945}) is None
    text = sentence(cautions.overfitting, training__error_bound=0.01)
    assert f"at most 1.0{NBSP}% of its training rows, but on 10.0{NBSP}% of these" in text
    assert sentence(cautions.overfitting, training__error_bound=0.07) is None
    assert sentence(cautions.overfitting, training__error_bound=0.01, training__likeness="same") is None


def test_below_out_of_fold_score():
    assert sentence(cautions.below_out_of_fold_score) is None
    assert sentence(cautions.below_out_of_fold_score, training__out_of_sample_score=0.91) is None
    text = sentence(cautions.below_out_of_fold_score, training__out_of_sample_score=0.97)
    assert f"balanced accuracy in training was 97.0{NBSP}%; on these rows it is 89.0{NBSP}%." in text
    # An estimate from 15 rows of a class shows little.
    few = {"training__out_of_sample_score": 0.97, "training__class_shares": [0.03, 0.97]}
    assert sentence(cautions.below_out_of_fold_score, **few) is None
    assert sentence(cautions.below_out_of_fold_score, **few | {"training__rows": 50_000}) == text
    accuracy = {"training__out_of_sample_score": 0.97, "training__out_of_sample_metric": "accuracy"}
    text = sentence(cautions.below_out_of_fold_score, **accuracy, training__class_shares=[0.03, 0.97])
    assert f"The out-of-fold accuracy in training was 97.0{NBSP}%; on these rows it is 90.0{NBSP}%." in text
    # Accuracy is another score.
    scores = {"training__out_of_sample_score": 0.91, "quality__score": 0.7, "quality__high": 0.72}
    assert sentence(cautions.below_out_of_fold_score, **scores) is None


def test_redundant_views():
    assert sentence(cautions.redundant_views) is None
    assert sentence(cautions.redundant_views, redundancy=None) is None
    pair = {"first": "rna", "second": "age", "alike": 0.97}
    text = sentence(cautions.redundant_views, redundancy__most=[pair])
    assert text.startswith("“rna” and “age” are largely redundant (similarity 0.97): ")
    text = sentence(cautions.redundant_views, redundancy__most=[pair, pair, pair])
    assert "(similarity 0.97), and so are 2 other pairs: " in text


def test_miscalibration():
    assert sentence(cautions.miscalibration) is None
    text = sentence(cautions.miscalibration, calibration__stated=0.99)
    assert "is over-confident" in text
    assert text.endswith("Calibrate the probabilities before you use them.")
    text = sentence(cautions.miscalibration, calibration__stated=0.99, model__calibrated=True)
    assert text.endswith("They were calibrated on out-of-fold training rows, from which these rows may differ.")
    assert "is under-confident" in sentence(cautions.miscalibration, calibration__stated=0.6)
    # A gap within the interval of the accuracy is none.
    assert sentence(cautions.miscalibration, calibration__stated=0.97, quality__accuracy_high=0.98) is None
    assert sentence(cautions.miscalibration, calibration=None) is None


def test_ended_early():
    assert sentence(cautions.ended_early) is None
    assert sentence(cautions.ended_early, rounds=None) is None
    text = sentence(cautions.ended_early, rounds__ended_early=True, rounds__planned=200)
    assert "ended after 50 of 200 rounds" in text


def test_sampled_rows():
    assert sentence(cautions.sampled_rows) is None
    assert "at least 300" in sentence(cautions.sampled_rows, views__rows=300)
    # Rows of classes that the model does not know are left out, which is no sample.
    known = {"views__rows": 53, "views__of": 53, "margins": {"rows": 53, "of": 53}}
    assert sentence(cautions.sampled_rows, **known) is None
    assert sentence(cautions.sampled_rows, views__rows=0, views__of=0, margins=None) is None
    assert "at least 40" in sentence(cautions.sampled_rows, **known | {"views__rows": 40})


def test_every_rule_is_tested_here():
    text = Path(__file__).read_text(encoding="utf-8")
    names = [rule.__name__ for rule, _ in cautions.CAUTION_RULES]
    assert [name for name in names if f"cautions.{name}" not in text] == []
