"""Sentences that describe a model and its quality, each derived by a rule from the numbers of a summary.

A rule is a function of the summary that returns a sentence, or None if it does not apply. A sentence must not claim
more than the rows can show: differences are mentioned if a test finds them, and causes are stated as possibilities.
The warnings of a report follow the same pattern in `cautions.py`.
"""

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import TypeAlias

from fuselearn.reporting.report_rows import Record

Rule: TypeAlias = Callable[[Record], str | None]

MIN_ROWS_OF_CLASS = 10
"""Rows of a class below which its recall shows little."""
CONSIDERABLE_LOSS = 0.02
"""Score lost without a view that is considerable, if it is no accident."""
MAX_NAMED_VIEWS = 3
NORMAL = NormalDist()


def describe(summary: Record) -> dict[str, list[str]]:
    """Return the sentences about what was fused, how good it is and which views matter."""
    return {
        section: [sentence for rule in rules if (sentence := rule(summary)) is not None]
        for section, rules in DESCRIPTION_RULES.items()
    }


# What was fused


def what_was_fused(summary: Record) -> str:
    """Name the model and its views."""
    data, model = summary["data"], summary["model"]
    views = listed([record["name"] for record in summary["views"]["records"]])
    around = f" (inside {' in '.join(reversed(model['wrapped_in']))})" if model["wrapped_in"] else ""
    columns = counted(data["columns"], "column")
    if data["views"] == 1:
        return f"{model['name']}{around} uses one view, {views}, with {columns}."
    return f"{model['name']}{around} fuses {data['views']} views with {columns} in total: {views}."


def what_is_predicted(summary: Record) -> str:
    """Name the classes, or count the labels."""
    data = summary["data"]
    if data["many_labels"]:
        return f"It gives each row any of {counted(data['n_labels'], 'label')}."
    if len(data["classes"]) == 1:
        return f"It knows only one class, {listed(data['classes'])}."
    return f"It predicts one of {len(data['classes'])} classes: {listed(data['classes'])}."


def which_rows(summary: Record) -> str:
    """Count the rows of the report and of the training data."""
    n_rows, n_training_rows = summary["data"]["rows"], summary["training"]["rows"]
    trained = f"; the model was trained on {n_training_rows:,}" if n_training_rows else ""
    return f"This report is based on {counted(n_rows, 'row')}{trained}."


# How good it is


def no_quality(summary: Record) -> str | None:
    """State that there are no labels."""
    if summary["data"]["labelled"]:
        return None
    return "No labels were given, so quality cannot be measured: the report describes the model, not how good it is."


def headline_score(summary: Record) -> str | None:
    """State the score that the model is made for, accuracy or balanced accuracy, with its interval."""
    quality = summary["quality"]
    if quality is None or summary["data"]["many_labels"]:
        return None
    if quality["name"] == "accuracy":
        sentence = (
            f"It predicts {quality['right']:,} of {counted(quality['rows'], 'row')} correctly, an accuracy of "
            f"{percent(quality['score'])}."
        )
    else:
        sentence = (
            f"Of the rows of a class it predicts {percent(quality['score'])} correctly, on average over the classes: "
            "this is its balanced accuracy."
        )
    if summary["training"]["likeness"] == "same":
        return sentence
    return (
        f"{sentence} The 95\N{NO-BREAK SPACE}% confidence interval is {percent(quality['low'])} to "
        f"{percent(quality['high'])}."
    )


def average_precision(summary: Record) -> str | None:
    """State the mean average precision of a multi-label model."""
    quality = summary["quality"]
    if quality is None or not summary["data"]["many_labels"]:
        return None
    if quality["score"] is None:
        return "Every label is given to all of these rows or to none, so there is no score."
    return (
        f"Its mean average precision over {counted(quality['labels_judged'], 'label')} is {quality['score']:.3f}; "
        f"ranking the rows at random would reach {quality['baseline']:.3f}."
    )


def against_usual_class(summary: Record) -> str | None:
    """Compare with always predicting the most frequent class."""
    quality = summary["quality"]
    if quality is None or summary["data"]["many_labels"]:
        return None
    if quality["name"] == "accuracy":
        baseline = (
            f"always predicting {quoted(quality['baseline_class'])}, which is right for "
            f"{percent(quality['baseline'])} of the rows"
        )
    else:
        baseline = f"always predicting the same class, whose balanced accuracy is {percent(quality['baseline'])}"
    if summary["training"]["likeness"] == "same":
        return f"For comparison: {baseline}."
    if quality["p_value"] >= 0.05:
        return f"On these rows this does not differ significantly from {baseline}."
    if quality["score"] < quality["baseline"]:
        return f"This is significantly worse than {baseline}."
    return f"This is significantly better than {baseline}."


def other_scores(summary: Record) -> str | None:
    """State further scores where classes are unequal: one of them is not enough there."""
    quality = summary["quality"]
    if quality is None or summary["data"]["many_labels"] or not quality["unequal_classes"]:
        return None
    if quality["name"] == "accuracy":
        other = f"the balanced accuracy is {percent(quality['balanced_accuracy'])} (guessing: "
        other += f"{percent(quality['chance'])})"
    else:
        other = f"{quality['right']:,} of {counted(quality['rows'], 'row')} are predicted correctly, an accuracy of "
        other += percent(quality["accuracy"])
    area = quality["area_under_curve"]
    ranked = "" if area is None else f", and the area under the ROC curve is {area:.3f} (guessing: 0.5)"
    found, right, name = percent(quality["recall"]), percent(quality["precision"]), quality["of_class"]
    if name is None:
        each = f"On average over the classes, {found} of the rows of a class are found (recall), and {right} of those "
        each += "predicted to be of it are (precision)."
    else:
        each = f"Of the rows of {quoted(name)}, the rarer class, {found} are found (recall); of those predicted to be "
        each += f"{quoted(name)}, {right} are (precision)."
    return f"Classes are of unequal size: {other}{ranked}. {each}"


def weakest_class(summary: Record) -> str | None:
    """Name the class with the lowest recall, if it stands out."""
    records = [record for record in summary["per_class"] or [] if record["rows"] >= MIN_ROWS_OF_CLASS]
    if len(records) < 3:
        return None
    weakest, score = min(records, key=lambda record: record["recall"]), summary["quality"]["score"]
    # One class is always the lowest: it is named if it lies further below than the lowest of so many would by chance.
    deviation = (score * (1 - score) / weakest["rows"]) ** 0.5
    if score - weakest["recall"] < max(0.05, NORMAL.inv_cdf(1 - 0.05 / len(records)) * deviation):
        return None
    name = quoted(weakest["class"])
    return f"Class {name} has the lowest recall: {percent(weakest['recall'])} of its rows are predicted correctly."


def place_on_leaderboard(summary: Record) -> str | None:
    """Name the best two methods of a comparison."""
    board = summary["leaderboard"]
    if board is None or board["of"] != "methods" or board["score"] is None or len(board["rows"]) < 2:
        return None
    place = board["columns"].index(board["score"])
    best, second = board["rows"][0], board["rows"][1]
    if best[place] is None:
        return None
    second_score = "" if second[place] is None else f" with {second[place]:.3f}"
    return (
        f"Of {len(board['rows'])} methods compared, {shortened(str(best[0]))} has the best mean {board['score']}, "
        f"{best[place]:.3f}, followed by {shortened(str(second[0]))}{second_score}."
    )


# Which views matter


def single_view(summary: Record) -> str | None:
    """State that there is only one view."""
    return "There is only one view, so there is nothing to compare." if summary["data"]["views"] == 1 else None


def most_important_view(summary: Record) -> str | None:
    """Name the view without which most of the score is lost."""
    views = summary["views"]
    judged = [record for record in views["records"] if record["lost"] is not None]
    if not judged:
        return None
    record = max(judged, key=lambda record: record["lost"])
    name, before, after = quoted(record["name"]), views["baseline"], views["baseline"] - record["lost"]
    # The score that all rows have stands beside it, and counts rows of other classes as wrong.
    where = "" if views["of"] == summary["data"]["rows"] else f" on {rows_used(views, summary['data']['rows'])}"
    loss = f"the {views['score_name']}{where} falls from {percent(before)} to {percent(after)}"
    if _is_unclear(record, views):
        n_rows = round(record["lost"] * views["rows"])
        return (
            f"There are too few rows to tell which views matter: without {name} {loss}, a difference of "
            f"{counted(n_rows, 'row')}."
        )
    if not _is_needed(record, views):
        return "No single view is essential: without any one of them the score on these rows hardly changes."
    return f"{name} matters most: without it {loss}."


def dispensable_views(summary: Record) -> str | None:
    """Name the views without which the score hardly changes, if there are others."""
    views = summary["views"]
    judged = [record for record in views["records"] if record["lost"] is not None]
    dispensable = [
        record["name"] for record in judged if not _is_needed(record, views) and not _is_unclear(record, views)
    ]
    if not dispensable or not any(_is_needed(record, views) for record in judged):
        return None
    which = f"any one of {listed(dispensable)}" if len(dispensable) > 2 else " or ".join(map(quoted, dispensable))
    alone = " alone" if len(dispensable) == 2 else ""
    return f"Dropping {which}{alone} hardly changes the score on these rows."


def view_weights(summary: Record) -> str | None:
    """Name the views with the largest weight in the model."""
    records = [record for record in summary["views"]["records"] if record["share"] is not None]
    if len(records) < 2:
        return None
    records = sorted(records, key=lambda record: -record["share"])
    if records[0]["share"] - records[-1]["share"] < 0.02:
        return "The model gives every view about the same weight."
    shares = [
        f"{quoted(record['name'])} ({percent(record['share'], 0)})" for record in records if record["share"] >= 0.005
    ]
    return f"The model gives most weight to {joined(shares[:MAX_NAMED_VIEWS])}."


# Which columns matter


def largest_contributions(summary: Record) -> str | None:
    """Name the columns, or views, that contribute most to the decisions."""
    features = summary["features"]
    if features is None:
        return None
    kind = features["kind"]
    largest = features["largest"][: 1 if features["used"] <= MAX_NAMED_VIEWS else MAX_NAMED_VIEWS]
    names = joined([quoted(record["name"]) for record in largest])
    share = percent(sum(record["share"] for record in largest), 0)
    which = f"Of {counted(features['total'], kind[:-1])}, {names}"
    if features["total"] == 1:
        return None
    if len(largest) == 1:
        return f"{which} contributes most to the {features['explained']}: {share} of all contributions."
    return f"{which} contribute most to the {features['explained']}: together {share} of all contributions."


def about_contributions(features: Record) -> str:
    """Return the caption of the features: what was averaged, over which rows, and what it does not say."""
    rows = counted(features["rows"], "row")
    drawn = "" if features["rows"] == features["of"] else f" drawn from {features['of']:,}"
    hurried = ", because explanations are slow" if features["hurried"] else ""
    sampled = " Some contributions are estimated from drawn orders." if features["sampled"] else ""
    return (
        f"Share of each {features['kind'][:-1]} in the mean absolute contributions (Shapley values) to the "
        f"{features['explained']} on {rows}{drawn}{hurried}.{sampled} They describe the model: {features['kind']} that "
        "say the same share what they say, and none need be a cause."
    )


def _is_needed(record: Record, views: Record) -> bool:
    """Return True if more rows become wrong without the view than change by accident."""
    return record["lost"] >= 0.005 and record["lost"] * views["rows"] >= 4


def _is_unclear(record: Record, views: Record) -> bool:
    """Return True if a considerable score is lost without the view, but on so few rows that it may be an accident."""
    return record["lost"] >= CONSIDERABLE_LOSS and not _is_needed(record, views)


DESCRIPTION_RULES: dict[str, tuple[Rule, ...]] = {
    "fused": (what_was_fused, what_is_predicted, which_rows),
    "good": (
        no_quality,
        headline_score,
        average_precision,
        against_usual_class,
        other_scores,
        weakest_class,
        place_on_leaderboard,
    ),
    "views": (single_view, most_important_view, dispensable_views, view_weights),
    "features": (largest_contributions,),
}


# Numbers and names as they stand in a sentence


def percent(share: float, decimals: int = 1) -> str:
    """Return a share in percent; a share that is not exactly 0 or 1 is not shown as 0 or 100."""
    shown = f"{100 * share:z.{decimals}f}"
    smallest = 10.0**-decimals
    if share < 1 and float(shown) == 100:
        shown = f"{100 - smallest:.{decimals}f}"
    elif share > 0 and float(shown) == 0:
        shown = f"less than {smallest:g}"
    return f"{shown}\N{NO-BREAK SPACE}%"


def shortened(name: str, longest: int = 40) -> str:
    """Return a name that fits into a sentence."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def rows_used(part: Record, n_all_rows: int) -> str:
    """Return from which rows a part of a report was computed, as its caption says; nothing if it was from all.

    ``part["rows"]`` of ``part["of"]`` rows were drawn, which are those of the classes that the model knows.

    Examples
    --------
    >>> rows_used({"rows": 200, "of": 900}, 900)
    '200 rows drawn from 900'
    >>> rows_used({"rows": 53, "of": 53}, 80)
    'the 53 rows of classes that the model knows'
    """
    rows = counted(part["rows"], "row")
    if part["of"] == n_all_rows:
        return "" if part["rows"] == n_all_rows else f"{rows} drawn from {n_all_rows:,}"
    known = f"the {counted(part['of'], 'row')} of classes that the model knows"
    return known if part["rows"] == part["of"] else f"{rows} drawn from {known}"


def quoted(name: object) -> str:
    """Return a name in quotes, short enough for a sentence."""
    return f"“{shortened(str(name))}”"


def listed(names: Sequence[object]) -> str:
    """Return names in quotes; of many, the first ones and the number of the others."""
    items = list(map(quoted, names))
    most = 12 if sum(map(len, items)) <= 80 else 6
    if len(items) > most:
        return f"{', '.join(items[: most - 2])} and {len(items) - most + 2} more"
    return joined(items)


def joined(items: Sequence[str]) -> str:
    """Return items with commas, and "and" before the last."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
