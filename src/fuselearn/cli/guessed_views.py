"""Views that are guessed from the prefixes of the columns, where the user names none."""

import re

MOST_GUESSED = 12
"""Views that may be guessed: names of genes have hundreds of prefixes."""
MOST_SINGLE = 10
"""Of so many columns one may be alone with its prefix."""


def guessed_views(columns: list[str]) -> tuple[dict[str, list[str]], str]:
    """Return views by prefixes of the names, where few of them cover nearly all columns, and how they were found."""
    # A column without a name is the row number that some programs write.
    named = [column for column in columns if column.strip()]
    n_blank = len(columns) - len(named)
    which = "a column without a name is" if n_blank == 1 else f"{n_blank} columns without a name are"
    omission = f" ({which} left out)" if n_blank else ""
    groups: dict[str, list[str]] = {}
    for column in named:
        groups.setdefault(_prefix(column.strip()), []).append(column)
    large = {name: members for name, members in groups.items() if len(members) > 1}
    single = [column for members in groups.values() if len(members) == 1 for column in members]
    if not large or len(large) + bool(single) < 2:
        return {"all": named}, f"no prefixes to guess views from: one view of all columns{omission}"
    if len(large) > MOST_GUESSED or len(single) > max(1, len(named) // MOST_SINGLE):
        example = next(iter(large))
        return {"all": named}, (
            f"one view of all columns{omission}, as their prefixes make {len(large)} groups and leave {len(single)} "
            f"columns alone; name views with --view, such as --view {example}='{example}*'"
        )
    if single:
        large["other"] = [*large.pop("other", []), *single]
    return large, f"guessed from the columns' prefixes{omission}"


def _prefix(name: str) -> str:
    """Return the text before the first ``_``, ``.`` or ``-``; before the first digit where there is none of these."""
    delimiter = r"[_.\-]" if re.search(r"[_.\-]", name) else r"\d"
    return re.split(delimiter, name, maxsplit=1)[0] or name
