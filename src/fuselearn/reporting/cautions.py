"""Warnings of a report: what to be careful about, each derived by a rule from the numbers of a summary.

A rule is a function of the summary that returns a sentence, or None if there is nothing to warn about. It comes with
the section of the page that has the details. As in `sentences.py`, a warning claims no more than the rows can show.
"""

from fuselearn.reporting.report_rows import Record
from fuselearn.reporting.sentences import MIN_ROWS_OF_CLASS, NORMAL, Rule, counted, listed, percent, quoted, rows_used

MIN_ROWS = 100
"""Rows below which every figure is uncertain."""
IMBALANCE = 4.0
"""Ratio of the largest to the smallest class above which accuracy alone misleads."""
REDUNDANT = 0.9
"""Redundancy above which two views carry nearly the same information."""
MAX_CONFIDENCE_GAP = 0.05
"""Difference of mean probability and accuracy that is not worth a warning."""


def warn(summary: Record) -> list[dict[str, str]]:
    """Return the warnings: ``"text"``, and ``"section"``, the part of the page with the details."""
    return [
        {"text": text, "section": section} for rule, section in CAUTION_RULES if (text := rule(summary)) is not None
    ]


# The rows and labels of the report


def training_rows_given(summary: Record) -> str | None:
    """Warn if the rows are, or may be, the training rows."""
    likeness = summary["training"]["likeness"]
    if likeness == "same":
        return (
            "These look like the rows that the model was trained on. Scores on training rows do not show how it "
            "performs on new rows: use rows that it has not seen."
        )
    if likeness == "alike":
        return (
            "There are exactly as many rows as the model was trained on. If they are the same rows, the scores do not "
            "show how it performs on new ones."
        )
    return None


def labels_missing(summary: Record) -> str | None:
    """Warn if there are no labels."""
    if summary["data"]["labelled"]:
        return None
    return "Without labels, wrong predictions, wrong labels and overfitting cannot be detected."


def few_rows(summary: Record) -> str | None:
    """Warn if there are few rows."""
    quality = summary["quality"]
    if quality is None or quality["rows"] >= MIN_ROWS:
        return None
    verb = "is" if quality["rows"] == 1 else "are"
    return f"There {verb} only {counted(quality['rows'], 'row')}, so every figure here is uncertain."


def unlabelled_rows(summary: Record) -> str | None:
    """Warn if rows of the file have no label."""
    n_rows = summary["data"]["rows_left_out"]
    if not n_rows:
        return None
    verbs = ("has", "is") if n_rows == 1 else ("have", "are")
    return f"{counted(n_rows, 'row')} of the file {verbs[0]} no label and {verbs[1]} not used here."


def unknown_classes(summary: Record) -> str | None:
    """Warn if rows belong to classes that the model does not know."""
    unknown = summary["data"]["unknown_classes"]
    if not unknown:
        return None
    n_rows = sum(record["rows"] for record in unknown)
    belong, count = ("belongs", "counts") if n_rows == 1 else ("belong", "count")
    noun = "a class that the model has" if len(unknown) == 1 else "classes that the model has"
    names = listed([record["class"] for record in unknown])
    return f"{counted(n_rows, 'row')} {belong} to {noun} never seen, {names}, and {count} as wrong."


def rare_classes(summary: Record) -> str | None:
    """Warn if classes have few rows."""
    data = summary["data"]
    if data["class_counts"] is None:
        return None
    pairs = list(zip(data["classes"], data["class_counts"]))
    only = [name for name, count in pairs if count == data["rows"]]
    if len(pairs) > 1 and only:
        return f"All rows belong to class {quoted(only[0])}; the report shows nothing about the others."
    rare = [name for name, count in pairs if count < MIN_ROWS_OF_CLASS]
    if not rare:
        return None
    subject = f"Class {listed(rare)} has" if len(rare) == 1 else f"{len(rare)} classes, {listed(rare)}, have"
    return f"{subject} fewer than {MIN_ROWS_OF_CLASS} rows here, too few to assess."


def imbalance(summary: Record) -> str | None:
    """Warn if accuracy is dominated by a large class."""
    counts = [count for count in summary["data"]["class_counts"] or [] if count]
    if len(counts) < 2 or max(counts) < IMBALANCE * min(counts):
        return None
    quality = summary["quality"]
    sizes = f"the largest has {max(counts) / min(counts):.0f} times as many rows as the smallest"
    if quality["name"] != "accuracy":
        return f"Classes are imbalanced: {sizes}. Look at each class."
    return (
        f"Classes are imbalanced: {sizes}. Look at the balanced accuracy, {percent(quality['balanced_accuracy'])} "
        f"where guessing gives {percent(quality['chance'])}, and at each class."
    )


def missing_views(summary: Record) -> str | None:
    """Warn if rows lack views."""
    missingness = summary["missingness"]
    if missingness is None or missingness["complete"] >= 1.0:
        return None
    absent = [record["view"] for record in missingness["records"] if record["present"] == 0]
    if absent:
        subject = "The view" if len(absent) == 1 else "The views"
        return f"{subject} {listed(absent)} {'is' if len(absent) == 1 else 'are'} missing in every row."
    rarest = min(missingness["records"], key=lambda record: record["present"])
    return (
        f"Only {percent(missingness['complete'])} of the rows have every view; {quoted(rarest['view'])} is "
        f"present in {percent(rarest['present'])}."
    )


def rows_without_views(summary: Record) -> str | None:
    """Warn if rows have no view at all."""
    missingness = summary["missingness"]
    if missingness is None or not missingness["empty_rows"]:
        return None
    n_rows = missingness["empty_rows"]
    verb, whose = ("has", "its prediction rests") if n_rows == 1 else ("have", "their predictions rest")
    joint = (summary["rounds"] or {}).get("joint")
    basis = "the sides of the splits that missing values go to" if joint else "the frequencies of the classes alone"
    return f"{counted(n_rows, 'row')} {verb} no view at all; {whose} on {basis}."


def gaps(summary: Record) -> str | None:
    """Warn if a view has many empty cells."""
    missingness = summary["missingness"]
    worst = max(missingness["records"], key=lambda record: record["gaps"], default=None) if missingness else None
    if worst is None or worst["gaps"] < 0.05:
        return None
    return (
        f"{quoted(worst['view'])} has gaps: {percent(worst['gaps'])} of its cells are empty in the rows that have it."
    )


def label_noise(summary: Record) -> str | None:
    """Warn if labels of the training data, or of these rows, look wrong."""
    rates = summary["training"]["noise_rates"]
    if rates:
        column, rate = max(rates.items(), key=lambda pair: pair[1] or 0.0)
        if rate is not None and rate >= 0.02:
            if len(rates) == 1:
                return (
                    f"The views contradict about {percent(rate)} of the training labels: these labels are wrong, or "
                    "the classes overlap."
                )
            where = "" if column == "y" else f" of {quoted(column)}"
            return f"About {percent(rate)} of the training labels{where} are estimated to be wrong."
    suspects = summary["suspects"]
    # A model that is often confident and wrong is no evidence against labels.
    if suspects is None or not 0 < suspects["confident"] <= 0.1 * suspects["labels"]:
        return None
    n_labels = suspects["confident"]
    which, them = ("1 label is", "it") if n_labels == 1 else (f"each of {n_labels:,} labels is", "them")
    return (
        f"The model is at least 95\N{NO-BREAK SPACE}% certain that {which} wrong. Check {them}: the model may be wrong "
        "instead."
    )


# The fit


def overfitting(summary: Record) -> str | None:
    """Warn if fewer rounds, or training rows, give a better score."""
    staged = (summary["rounds"] or {}).get("staged")
    if staged and staged["best"] - staged["last"] >= 0.01 and staged["p_value"] < 0.01:
        n_all_rows = summary["data"]["rows"]
        where = "these rows" if staged["of"] == n_all_rows else rows_used(staged, n_all_rows)
        return (
            f"The score on {where} peaks at round {staged['best_round']:,} ({percent(staged['best'])}) and then "
            f"falls to {percent(staged['last'])}: fewer rounds may do better. Choose their number on other rows."
        )
    bound, quality = summary["training"]["error_bound"], summary["quality"]
    if bound is None or quality is None or summary["training"]["likeness"] == "same" or "accuracy" not in quality:
        return None
    if 1 - quality["accuracy_high"] - min(bound, 1.0) < 0.05:
        return None
    wrong = 1 - quality["accuracy"]
    return (
        f"The model is wrong on at most {percent(bound)} of its training rows, but on {percent(wrong)} "
        "of these: it overfits, or these rows differ from its training data."
    )


def below_out_of_fold_score(summary: Record) -> str | None:
    """Warn if the score is clearly below the out-of-fold score of the training."""
    training, quality = summary["training"], summary["quality"]
    expected = training["out_of_sample_score"]
    if expected is None or quality is None or "accuracy" not in quality:
        return None
    metric = training["out_of_sample_metric"]
    score, high = quality[metric], quality["accuracy_high" if metric == "accuracy" else "balanced_high"]
    half_width = ((high - score) ** 2 + _half_width_of_expected(training) ** 2) ** 0.5
    # Both half widths are of 95 %; as for overfitting, 99 % is required before the rows are blamed.
    if expected - score <= half_width * NORMAL.inv_cdf(0.995) / NORMAL.inv_cdf(0.975) + 0.01:
        return None
    return (
        f"The out-of-fold {metric.replace('_', ' ')} in training was {percent(expected)}; on these rows it is "
        f"{percent(score)}. They may differ from the training data."
    )


def _half_width_of_expected(training: Record) -> float:
    """Return the half width of the 95 % interval of the out-of-fold score; of balanced accuracy the rarest class counts
    most."""
    shares = [share for share in training.get("class_shares") or [] if share]
    if not shares or not training["rows"]:
        return 0.0
    expected = min(max(training["out_of_sample_score"], 0.05), 0.95)
    if training["out_of_sample_metric"] == "accuracy":
        shares = [1.0]
    variance = sum(expected * (1 - expected) / (share * training["rows"]) for share in shares) / len(shares) ** 2
    return NORMAL.inv_cdf(0.975) * variance**0.5


def redundant_views(summary: Record) -> str | None:
    """Warn if two views carry nearly the same information."""
    redundancy = summary["redundancy"]
    pairs = [pair for pair in (redundancy["most"] if redundancy else []) if pair["alike"] >= REDUNDANT]
    if not pairs:
        return None
    first = pairs[0]
    names = f"{quoted(first['first'])} and {quoted(first['second'])}"
    others = ""
    if len(pairs) > 1:
        others = f", and so {'is' if len(pairs) == 2 else 'are'} {counted(len(pairs) - 1, 'other pair')}"
    return (
        f"{names} are largely redundant (similarity {first['alike']:.2f}){others}: one view of a pair may suffice, and "
        "the importance of each is understated."
    )


def miscalibration(summary: Record) -> str | None:
    """Warn if probabilities are too high or too low."""
    calibration = summary["calibration"]
    if calibration is None or abs(calibration["stated"] - calibration["observed"]) < MAX_CONFIDENCE_GAP:
        return None
    low, high = summary["quality"]["accuracy_low"], summary["quality"]["accuracy_high"]
    if low <= calibration["stated"] <= high:
        return None
    word = "over-confident" if calibration["stated"] > calibration["observed"] else "under-confident"
    remedy = "Calibrate the probabilities before you use them."
    if summary["model"]["calibrated"]:
        remedy = "They were calibrated on out-of-fold training rows, from which these rows may differ."
    return (
        f"The model is {word} on these rows: its probabilities average {percent(calibration['stated'])}, but "
        f"{percent(calibration['observed'])} of its predictions are right. {remedy}"
    )


def ended_early(summary: Record) -> str | None:
    """Warn if boosting stopped before the planned number of rounds."""
    rounds = summary["rounds"]
    if not rounds or not rounds.get("ended_early") or rounds.get("stopped"):
        return None
    why = "no view was better than chance any more, or the fit was interrupted"
    if "losses" in rounds:
        why = "no tree could be split any further, or the fit was interrupted"
    return f"Boosting ended after {rounds['n']:,} of {counted(rounds['planned'], 'round')}: {why}."


def sampled_rows(summary: Record) -> str | None:
    """State that charts show a sample of the rows."""
    staged = (summary["rounds"] or {}).get("staged")
    # Rows of classes that the model does not know are left out of these, which is no sampling.
    parts = [part for part in (summary["views"], staged, summary["margins"]) if part]
    sizes = [part["rows"] for part in parts if part["rows"] < part["of"]]
    if not summary["data"]["labelled"] or not sizes:
        return None
    return (
        f"Some charts show a random sample of the rows (at least {min(sizes):,}), as their captions say; scores are "
        "computed from all rows."
    )


CAUTION_RULES: tuple[tuple[Rule, str], ...] = (
    (training_rows_given, "quality"),
    (labels_missing, "left-out"),
    (few_rows, "quality"),
    (unlabelled_rows, "quality"),
    (unknown_classes, "classes"),
    (rare_classes, "classes"),
    (imbalance, "classes"),
    (missing_views, "missingness"),
    (rows_without_views, "missingness"),
    (gaps, "missingness"),
    (label_noise, "suspects"),
    (overfitting, "rounds"),
    (below_out_of_fold_score, "quality"),
    (redundant_views, "views"),
    (miscalibration, "calibration"),
    (ended_early, "rounds"),
    (sampled_rows, "views"),
)
