"""``fuselearn inspect``: the contents of a model file."""

from typing import Any

from fuselearn.cli.console import Notes, counted, one_line, say, say_json
from fuselearn.cli.files import size_of
from fuselearn.cli.options import AsJson, Model, Trust
from fuselearn.cli.saved_models import describe_model, load_model

SHOWN = 6
"""Columns of a view that are listed."""


def inspect(model: Model, trust: Trust = None, as_json: AsJson = False) -> None:
    """Show what a model file holds: views, their importance, classes, settings, versions."""
    notes = Notes(as_json)
    header = describe_model(model)
    loaded, note = load_model(model, notes, trust)
    classes = header.get("classes")
    inner = getattr(loaded, "model_", loaded)
    summary = {
        "file": model,
        "model": type(inner).__name__,
        "fuselearn_version": header.get("fuselearn_version"),
        "format": header.get("format"),
        "created": header.get("created"),
        "classes": classes if isinstance(classes, list) else None,
        "views": _in_order(header.get("views"), loaded),
        "view_importances": _importances(inner),
        "rounds": getattr(inner, "n_iter_", None),
        "settings": _settings(inner),
        "note": note,
        "notes": notes.lines,
    }
    if as_json:
        say_json(summary)
    else:
        _print(summary)


def _in_order(views: Any, model: Any) -> dict[str, list[Any]] | None:
    """Return the views of a header in the order of the model; None where it has none."""
    if not isinstance(views, dict) or not all(isinstance(columns, list) for columns in views.values()):
        return None
    names = getattr(model, "view_names_", [])
    return {name: views[name] for name in [*names, *views] if name in views}


def _importances(model: Any) -> dict[str, float] | None:
    """Return the share of each view, where the model knows it."""
    if getattr(model, "view_importances_", None) is None:
        return None
    from fuselearn.inspection import view_importance

    importance = view_importance(model)
    return {name: round(float(share), 4) for name, share in zip(importance.view_names, importance.mean)}


def _settings(model: Any) -> dict[str, Any]:
    """Return the settings in plain types."""
    settings = {}
    for name, value in model.get_params(deep=False).items():
        if name != "views":
            settings[name] = value if isinstance(value, int | float | str | None) else one_line(value)
    return settings


def _print(summary: dict[str, Any]) -> None:
    """Print the contents of a model file."""
    rounds = "" if summary["rounds"] is None else f", {counted(summary['rounds'], 'round')}"
    say(f"{summary['file']}: {summary['model']}{rounds}, {size_of(summary['file'])}")
    say(f"Saved {summary['created']} by fuselearn {summary['fuselearn_version']}")
    note = summary["note"]
    if note.get("target"):
        named = f", id {note['id']}" if note.get("id") else ""
        say(f"Fitted on {note.get('rows')} rows of {note.get('data')}: target {note['target']}{named}")
    if summary["classes"]:
        say(f"Classes: {', '.join(map(str, summary['classes']))}")
    shares = summary["view_importances"] or {}
    for name, columns in (summary["views"] or {}).items():
        share = f"{shares[name]:>6.0%} " if name in shares else ""
        more = f", … ({len(columns)} columns)" if len(columns) > SHOWN else ""
        # Columns of a file of their own have the view in their name.
        shown = ", ".join(str(column).removeprefix(f"{name}: ") for column in columns[:SHOWN])
        say(f"{share} {name}: {shown}{more}")
    say("Settings: " + ", ".join(f"{name}={value}" for name, value in summary["settings"].items()))
