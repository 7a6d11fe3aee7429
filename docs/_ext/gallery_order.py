"""The order of the gallery: the questions of most people first, studies of the papers last."""

QUESTIONS = (
    "first_five_minutes",
    "three_files",
    "noisy_sensors",
    "missing_omics",
    "prediction_sets",
    "next_view",
    "regression",
    "suspect_labels",
    "unmatched_biometrics",
    "hundreds_of_tags",
    "grid_search",
    "cluster",
    "inspect_views",
)


def by_question(filename: str) -> tuple[int, str]:
    """Return the sort key of an example's file name."""
    name = filename.removesuffix(".py")
    return (QUESTIONS.index(name) if name in QUESTIONS else len(QUESTIONS), name)
