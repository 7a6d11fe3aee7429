"""The order of the gallery: questions that most people have first, studies of the papers last."""

QUESTIONS = (
    "first_five_minutes",
    "noisy_sensors",
    "missing_omics",
    "suspect_labels",
    "unmatched_biometrics",
    "hundreds_of_tags",
    "grid_search",
    "cluster",
    "inspect_views",
)


def by_question(filename):
    """Sort key of an example's file name."""
    name = filename.removesuffix(".py")
    return (QUESTIONS.index(name) if name in QUESTIONS else len(QUESTIONS), name)
