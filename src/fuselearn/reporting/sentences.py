"""What a report says in words, by rules from its numbers.

Each rule is a function of the summary that returns a sentence, or None where it has nothing to say. A sentence must not
claim more than the rows can show: differences are named where a test finds them, and a cause is named as a possibility.
Rules of :data:`CAREFUL` come with the section of the page that has the details.
"""

from statistics import NormalDist

from fuselearn.reporting.phrases import counted, has, joined, listed, percent, shortened, verb_be

FEW_ROWS = 100
FEW_ROWS_OF_A_CLASS = 10
IMBALANCE = 4.0
"""Times that the largest class outnumbers the smallest, from which on accuracy alone misleads."""
ALIKE = 0.9
"""Redundancy from which on two views say nearly the same."""
CONFIDENCE_GAP = 0.05
MUCH = 0.02
"""Score lost without a view that nobody would call little."""
MOST_NAMED = 3
NORMAL = NormalDist()


def words_of(summary):
    """All sentences of a summary.

    Returns
    -------
    dict
        ``"fused"``, ``"good"``, ``"views"``: lists of sentences; ``"careful"``: list of dicts with ``"text"`` and
        ``"section"``, the part of the page that it is about.
    """
    said = {part: [text for rule in rules if (text := rule(summary))] for part, rules in PARTS.items()}
    said["careful"] = [
        {"text": text, "section": section} for rule, section in CAREFUL if (text := rule(summary)) is not None
    ]
    return said


# What was fused


def what_was_fused(summary):
    data, model = summary["data"], summary["model"]
    views = listed([record["name"] for record in summary["views"]["records"]])
    around = f" (inside {' in '.join(reversed(model['wrapped_in']))})" if model["wrapped_in"] else ""
    if data["views"] == 1:
        return f"{model['name']}{around} reads one view, {views}, of {counted(data['columns'], 'column')}."
    return f"{model['name']}{around} fuses {data['views']} views of {counted(data['columns'], 'column')}: {views}."


def what_is_told_apart(summary):
    data = summary["data"]
    if data["many_labels"]:
        return f"It gives each row any of {counted(data['n_labels'], 'label')}."
    return f"It tells {len(data['classes'])} classes apart: {listed(data['classes'])}."


def which_rows(summary):
    n, trained_on = summary["data"]["rows"], summary["training"]["rows"]
    trained = f", after training on {trained_on:,}" if trained_on else ""
    return f"This report shows it on {counted(n, 'row')}{trained}."


# How good it is


def score_in_words(summary):
    found = summary["quality"]
    if found is None or summary["data"]["many_labels"]:
        return None
    right = (
        f"It predicts {found['right']:,} of {counted(found['rows'], 'row')} correctly: an accuracy of "
        f"{percent(found['score'])}."
    )
    if summary["training"]["likeness"] == "same":
        return right
    return (
        f"{right} On more rows like these it would lie between {percent(found['low'])} and {percent(found['high'])} "
        "(95\N{NO-BREAK SPACE}% interval)."
    )


def against_the_usual_class(summary):
    found = summary["quality"]
    if found is None or summary["data"]["many_labels"]:
        return None
    usual = f"always answering “{shortened(found['baseline_class'])}”, which is right in {percent(found['baseline'])}"
    if found["p_value"] >= 0.05:
        return f"These rows cannot show that this differs from {usual}."
    if found["score"] < found["baseline"]:
        return f"This is worse than {usual}."
    return f"This is better than {usual}: more than chance explains."


def score_of_labels_in_words(summary):
    found = summary["quality"]
    if found is None or not summary["data"]["many_labels"]:
        return None
    if found["score"] is None:
        return "No label is both there and not there in these rows, so no score can be told."
    return (
        f"Over {counted(found['labels_judged'], 'label')} its mean average precision is {found['score']:.3f}; "
        f"rows ranked at random would reach {found['baseline']:.3f}."
    )


def weakest_class(summary):
    records = [one for one in summary["per_class"] or [] if one["rows"] >= FEW_ROWS_OF_A_CLASS]
    if len(records) < 3:
        return None
    weakest, score = min(records, key=lambda record: record["recall"]), summary["quality"]["score"]
    # Some class is always the lowest: it is named where it lies further below than the lowest of so many would.
    spread = (score * (1 - score) / weakest["rows"]) ** 0.5
    if score - weakest["recall"] < max(0.05, NORMAL.inv_cdf(1 - 0.05 / len(records)) * spread):
        return None
    return f"Class “{shortened(weakest['class'])}” is found least often: {percent(weakest['recall'])} of its rows."


def place_on_the_leaderboard(summary):
    board = summary["leaderboard"]
    if board is None or board["of"] != "methods" or board["score"] is None or len(board["rows"]) < 2:
        return None
    place = board["columns"].index(board["score"])
    best, second = board["rows"][0], board["rows"][1]
    if best[place] is None:
        return None
    return (
        f"Of {len(board['rows'])} methods compared, {shortened(str(best[0]))} has the best mean {board['score']}, "
        f"{best[place]:.3f}; next is {shortened(str(second[0]))}{_with(second[place])}."
    )


def no_quality(summary):
    if summary["data"]["labelled"]:
        return None
    return "No labels were given, so no quality can be told: this report shows what the model is, not how good it is."


# Which views matter


def most_missed_view(summary):
    found = summary["views"]
    judged = [record for record in found["records"] if record["lost"] is not None]
    if not judged:
        return None
    record = max(judged, key=lambda one: one["lost"])
    if _is_unclear(record, found):
        n = round(record["lost"] * found["rows"])
        return (
            f"There are too few rows to tell which views are missed: without “{shortened(record['name'])}” the "
            f"{found['score_name']} falls from {percent(found['baseline'])} to "
            f"{percent(found['baseline'] - record['lost'])}, which is {counted(n, 'row')}."
        )
    if not _is_missed(record, found):
        return "No single view is missed much: without any one of them the score on these rows hardly changes."
    return (
        f"“{shortened(record['name'])}” is missed most: without it the {found['score_name']} falls from "
        f"{percent(found['baseline'])} to {percent(found['baseline'] - record['lost'])}."
    )


def views_not_missed(summary):
    found = summary["views"]
    judged = [record for record in found["records"] if record["lost"] is not None]
    idle = [one["name"] for one in judged if not _is_missed(one, found) and not _is_unclear(one, found)]
    if not idle or not any(_is_missed(one, found) for one in judged):
        return None
    verb = "is" if len(idle) == 1 else "are each"
    return f"{listed(idle)} {verb} hardly missed on these rows when left out alone."


def loudest_view(summary):
    records = [record for record in summary["views"]["records"] if record["share"] is not None]
    if len(records) < 2:
        return None
    records = sorted(records, key=lambda one: -one["share"])
    if records[0]["share"] - records[-1]["share"] < 0.02:
        return "The model gives every view about the same weight."
    shares = [f"“{shortened(one['name'])}” ({percent(one['share'], 0)})" for one in records if one["share"] >= 0.005]
    return f"The model gives most weight to {joined(shares[:MOST_NAMED])}."


def only_view(summary):
    return "There is one view, so there is nothing to weigh." if summary["data"]["views"] == 1 else None


# What to be careful about


def training_rows_given(summary):
    likeness = summary["training"]["likeness"]
    if likeness == "same":
        return (
            "These look like the rows that the model was trained on. Its scores on them say nothing about new rows: "
            "give rows that it has not seen."
        )
    if likeness == "alike":
        return (
            "There are exactly as many rows as the model was trained on. If they are the same rows, the scores say "
            "nothing about new ones."
        )
    return None


def labels_missing(summary):
    if summary["data"]["labelled"]:
        return None
    return "There are no labels, so wrong predictions, wrong labels and overfitting would not be seen here."


def few_rows(summary):
    found = summary["quality"]
    if found is None or found["rows"] >= FEW_ROWS:
        return None
    return f"There {verb_be(found['rows'])} {counted(found['rows'], 'row')} only, so every figure here is uncertain."


def rows_left_out(summary):
    n = summary["data"]["rows_left_out"]
    return f"{counted(n, 'row')} of the file {has(n)} no label and {verb_be(n)} left out." if n else None


def rare_classes(summary):
    data = summary["data"]
    if data["class_counts"] is None:
        return None
    pairs = list(zip(data["classes"], data["class_counts"]))
    only = [name for name, count in pairs if count == data["rows"]]
    if len(pairs) > 1 and only:
        return f"All rows are of class “{shortened(only[0])}”; nothing is shown of the others."
    rare = [name for name, count in pairs if count < FEW_ROWS_OF_A_CLASS]
    if not rare:
        return None
    noun = "Class" if len(rare) == 1 else f"{len(rare)} classes,"
    return f"{noun} {listed(rare)} {has(len(rare))} fewer than {FEW_ROWS_OF_A_CLASS} rows here, too few to judge by."


def imbalance(summary):
    counts = [count for count in summary["data"]["class_counts"] or [] if count]
    if len(counts) < 2 or max(counts) < IMBALANCE * min(counts):
        return None
    found = summary["quality"]
    return (
        f"Classes are imbalanced: the largest has {max(counts) / min(counts):.0f} times the rows of the smallest. Look "
        f"at balanced accuracy, {percent(found['balanced_accuracy'])} where guessing gives {percent(found['chance'])}, "
        "and at each class."
    )


def unknown_classes(summary):
    unknown = summary["data"]["unknown_classes"]
    if not unknown:
        return None
    n = sum(one["rows"] for one in unknown)
    return (
        f"{counted(n, 'row')} {verb_be(n)} of classes that the model never saw, "
        f"{listed([one['class'] for one in unknown])}, and {'counts' if n == 1 else 'count'} as wrong."
    )


def missing_views(summary):
    found = summary["missingness"]
    if found is None or found["complete"] >= 1.0:
        return None
    gone = [one["view"] for one in found["records"] if one["present"] == 0]
    if gone:
        noun = "view" if len(gone) == 1 else "views"
        return f"The {noun} {listed(gone)} {verb_be(len(gone))} missing in every row here."
    least = min(found["records"], key=lambda one: one["present"])
    return (
        f"Every view is there in {percent(found['complete'])} of the rows; “{shortened(least['view'])}” in "
        f"{percent(least['present'])}."
    )


def rows_without_views(summary):
    found = summary["missingness"]
    if found is None or not found["empty_rows"]:
        return None
    n = found["empty_rows"]
    return f"{counted(n, 'row')} {has(n)} no view at all; nothing but the frequency of the classes speaks there."


def gaps(summary):
    found = summary["missingness"]
    worst = max(found["records"], key=lambda one: one["gaps"], default=None) if found else None
    if worst is None or worst["gaps"] < 0.05:
        return None
    return (
        f"“{shortened(worst['view'])}” has gaps: {percent(worst['gaps'])} of its cells are empty in rows that have it."
    )


def suspected_label_noise(summary):
    rates = summary["training"]["noise_rates"]
    if rates:
        column, rate = max(rates.items(), key=lambda one: one[1] or 0.0)
        if rate is not None and rate >= 0.02:
            if len(rates) == 1:
                return (
                    f"The views contradict about {percent(rate)} of the training labels: these are wrong, or the "
                    "classes overlap."
                )
            where = "" if column == "y" else f" of “{shortened(column)}”"
            return f"About {percent(rate)} of the training labels{where} are estimated to be wrong."
    found = summary["suspects"]
    # A model that is often sure and wrong says nothing about labels.
    if found is None or not 0 < found["confident"] <= 0.1 * found["labels"]:
        return None
    n = found["confident"]
    return (
        f"{counted(n, 'label')} {verb_be(n)} contradicted with a stated certainty of 95\N{NO-BREAK SPACE}% or more. "
        f"Either the {'label is' if n == 1 else 'labels are'} wrong or the model is; the rows show which."
    )


def overfitting(summary):
    staged = (summary["rounds"] or {}).get("staged")
    if staged and staged["best"] - staged["last"] >= 0.01 and staged["p_value"] < 0.01:
        return (
            f"The score on these rows peaks at round {staged['best_round']:,} ({percent(staged['best'])}) and then "
            f"falls to {percent(staged['last'])}: fewer rounds may do better. Settle it on other rows than these."
        )
    bound, found = summary["training"]["error_bound"], summary["quality"]
    if bound is None or found is None or summary["training"]["likeness"] == "same" or "low" not in found:
        return None
    if 1 - found["high"] - min(bound, 1.0) < 0.05:
        return None
    return (
        f"The model is wrong on at most {percent(bound)} of its training rows, but on {percent(1 - found['score'])} of "
        "these: it has learnt its training rows by heart, or these are of another kind."
    )


def worse_than_promised(summary):
    promised, found = summary["training"]["out_of_sample_score"], summary["quality"]
    if promised is None or found is None or "balanced_high" not in found:
        return None
    here = found["balanced_accuracy"]
    doubt = ((found["balanced_high"] - here) ** 2 + _doubt_of_promise(summary["training"]) ** 2) ** 0.5
    # Both ends are of 95 %; as for overfitting, 99 % is asked for before rows are blamed.
    if promised - here <= doubt * NORMAL.inv_cdf(0.995) / NORMAL.inv_cdf(0.975) + 0.01:
        return None
    return (
        f"In training the model estimated a balanced accuracy of {percent(promised)} on rows it had not seen; here it "
        f"is {percent(here)}. These rows may be of another kind."
    )


def redundant_views(summary):
    found = summary["redundancy"]
    pairs = [pair for pair in (found["most"] if found else []) if pair["alike"] >= ALIKE]
    if not pairs:
        return None
    first = pairs[0]
    more = f", and {counted(len(pairs) - 1, 'other pair')}" if len(pairs) > 1 else ""
    return (
        f"“{shortened(first['first'])}” and “{shortened(first['second'])}” say nearly the same (likeness "
        f"{first['alike']:.2f}){more}: one may do for both, and the importance of each is understated."
    )


def probabilities_off(summary):
    found = summary["calibration"]
    if found is None or abs(found["stated"] - found["observed"]) < CONFIDENCE_GAP:
        return None
    low, high = summary["quality"]["low"], summary["quality"]["high"]
    if low <= found["stated"] <= high:
        return None
    word = "too sure of itself" if found["stated"] > found["observed"] else "too modest"
    return (
        f"The model is {word}: its probabilities average {percent(found['stated'])}, but {percent(found['observed'])} "
        "of the predictions are right. Calibrate them before they are used as probabilities."
    )


def ended_early(summary):
    rounds = summary["rounds"]
    if not rounds or not rounds.get("ended_early"):
        return None
    return (
        f"Boosting ended after {counted(rounds['n'], 'round')} of {rounds['planned']:,}: a view made no error, no "
        "view beat chance any more, or the fit was interrupted."
    )


def rows_drawn(summary):
    views = summary["views"]
    staged = (summary["rounds"] or {}).get("staged")
    drawn = [
        one["rows"] for one in (views, staged, summary["margins"]) if one and one["rows"] < summary["data"]["rows"]
    ]
    if not drawn or summary["data"]["rows"] <= min(drawn) or not summary["data"]["labelled"]:
        return None
    return (
        f"Some charts are drawn from a random sample of the rows ({min(drawn):,} at the least) and say so; scores are "
        "of all rows."
    )


PARTS = {
    "fused": (what_was_fused, what_is_told_apart, which_rows),
    "good": (
        no_quality,
        score_in_words,
        score_of_labels_in_words,
        against_the_usual_class,
        weakest_class,
        place_on_the_leaderboard,
    ),
    "views": (only_view, most_missed_view, views_not_missed, loudest_view),
}
CAREFUL = (
    (training_rows_given, "quality"),
    (labels_missing, "left-out"),
    (few_rows, "quality"),
    (rows_left_out, "quality"),
    (unknown_classes, "classes"),
    (rare_classes, "classes"),
    (imbalance, "classes"),
    (missing_views, "missingness"),
    (rows_without_views, "missingness"),
    (gaps, "missingness"),
    (suspected_label_noise, "suspects"),
    (overfitting, "rounds"),
    (worse_than_promised, "quality"),
    (redundant_views, "views"),
    (probabilities_off, "calibration"),
    (ended_early, "rounds"),
    (rows_drawn, "views"),
)


def _doubt_of_promise(training):
    """How far a balanced accuracy that was estimated on the training rows may be off: the rarest class counts most."""
    shares = [share for share in training.get("class_shares") or [] if share]
    if not shares or not training["rows"]:
        return 0.0
    promised = min(max(training["out_of_sample_score"], 0.05), 0.95)
    variance = sum(promised * (1 - promised) / (share * training["rows"]) for share in shares) / len(shares) ** 2
    return NORMAL.inv_cdf(0.975) * variance**0.5


def _is_missed(record, views):
    """Whether more rows turn wrong without the view than come and go by accident."""
    net = record["lost"] * views["rows"]
    return record["lost"] >= 0.005 and net >= 4


def _is_unclear(record, views):
    """Whether much is lost without the view, but by so few rows that it may be an accident."""
    return record["lost"] >= MUCH and not _is_missed(record, views)


def _with(score):
    return "" if score is None else f" with {score:.3f}"
