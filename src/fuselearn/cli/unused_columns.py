"""Columns that no view has, and those that several views have: both may be a mistake in the globs of views."""

from collections import Counter
from typing import TYPE_CHECKING

from fuselearn.cli.console import Notes, counted

if TYPE_CHECKING:
    from fuselearn.cli.choices import ViewChoice
    from fuselearn.cli.files import OpenedFile

MOST_NAMED = 6
"""Columns that a note names."""


def note_unused(opened: "OpenedFile", choices: "dict[str, ViewChoice]", excluded: set[str], notes: Notes) -> None:
    """Note columns that are in no view, though nothing says that they are not to be."""
    used = {column for choice in choices.values() for column in choice.columns}
    # A file that is joined has qualified names, and DATA, where views are of it, both kinds of names.
    of_views = {f"{view}: ": choice.path for view, choice in choices.items() if choice.path is not None}
    for prefix, path in of_views.items():
        if path == opened.source.name:
            used |= {column.removeprefix(prefix) for column in used if column.startswith(prefix)}
    unused = []
    for name in opened.names:
        prefix = next((prefix for prefix in of_views if name.startswith(prefix)), "")
        is_copy = of_views.get(prefix) == opened.source.name
        is_excluded = name in excluded or name.removeprefix(prefix) in excluded
        if name.strip() and not (is_copy or is_excluded or name in used):
            unused.append(name)
    if unused:
        are = "is" if len(unused) == 1 else "are"
        notes.add(f"{counted(len(unused), 'column')} {are} in no view and left out: {_few_of(unused)}.")


def note_used_twice(choices: "dict[str, ViewChoice]", notes: Notes) -> None:
    """Note columns that are in more than one view."""
    counts = Counter(column for choice in choices.values() for column in choice.columns)
    shared = [column for column, count in counts.items() if count > 1]
    if shared:
        views = [view for view, choice in choices.items() if not set(shared).isdisjoint(choice.columns)]
        are = "is" if len(shared) == 1 else "are"
        notes.add(
            f"{counted(len(shared), 'column')} {are} in more than one view ({', '.join(views)}): {_few_of(shared)}."
        )


def _few_of(names: list[str]) -> str:
    """Return the first names of some."""
    return ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
