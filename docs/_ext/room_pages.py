"""A page for each room of the package, with the public names of its `__all__`: none can be forgotten.

A name that `fuselearn` itself exports is documented under that name, on the page of the package, and only linked from
its room. The pages are written before
autosummary looks for what it has to generate.
"""

from importlib import import_module
from pathlib import Path

import fuselearn

NAMED_ELSEWHERE = {"evaluation": ["leaderboard.Comparison"]}
"""What a public function returns, and `__all__` does not name."""
INTRODUCTION = """\
API
===

What ``from fuselearn import ...`` gives. Estimators are scikit-learn estimators: they all have ``get_params``,
``set_params`` and ``score`` too, which are described there.

"""
TABLE = """\
.. autosummary::
   :toctree: generated
   :nosignatures:

"""


def public_names(module):
    """Names of the module's `__all__`; without one, the classes and functions that it defines."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__, key=str.lower)
    return sorted(name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__)


def rooms():
    """Names of the rooms, as `fuselearn` exports them."""
    return sorted(
        name for name in fuselearn.__all__ if hasattr(getattr(fuselearn, name), "__path__") or name == "exceptions"
    )


def homed():
    """What `fuselearn` exports itself, by name."""
    return {name: getattr(fuselearn, name) for name in fuselearn.__all__ if name not in {*rooms(), "__version__"}}


def front_page():
    """The page of the package: its own names, first classes, then functions, and its rooms."""
    names = sorted(homed(), key=lambda name: (name != "FusionClassifier", name[0].islower(), name.lower()))
    entries = "".join(f"   fuselearn.{name}\n" for name in names)
    toctree = "".join(f"   {name}\n" for name in rooms())
    described = "".join(f":doc:`{name}`\n   {first_sentence(name)}\n\n" for name in rooms())
    return f"{INTRODUCTION}{TABLE}{entries}\nRooms\n-----\n\n{described}.. toctree::\n   :hidden:\n\n{toctree}"


def first_sentence(room):
    """What a room is for: the first line of its docstring."""
    return import_module(f"fuselearn.{room}").__doc__.strip().splitlines()[0]


def room_page(room):
    """The page of a room: its docstring, links to what is documented above it, and a table of the rest."""
    module = import_module(f"fuselearn.{room}")
    above = homed()
    linked = [name for name in public_names(module) if above.get(name) is getattr(module, name)]
    own = [name for name in public_names(module) if name not in linked] + NAMED_ELSEWHERE.get(room, [])
    title = module.__name__
    parts = [
        f"{title}\n{'=' * len(title)}\n",
        f".. currentmodule:: {title}\n",
        f".. automodule:: {title}\n   :no-index:\n",
    ]
    if linked:
        kinds = {name: "func" if name[0].islower() else "class" for name in linked}
        parts.append("Also here: " + ", ".join(f":{kind}:`fuselearn.{name}`" for name, kind in kinds.items()) + ".\n")
    if own:
        parts.append(TABLE + "".join(f"   {name}\n" for name in own))
    return "\n".join(parts)


def file_names():
    """Names for the files of objects whose names differ in case only, which some file systems cannot tell apart."""
    seen, renamed = set(), {}
    for room in rooms():
        for name in public_names(import_module(f"fuselearn.{room}")):
            if name.lower() in seen:
                renamed[f"fuselearn.{room}.{name}"] = (
                    f"fuselearn.{room}.{name}-{'function' if name[0].islower() else 'class'}"
                )
            seen.add(name.lower())
        seen.clear()
    return renamed


def write_pages(app, config):
    """Write what differs from what is there, so that a second build reads only what is new."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = {"index": front_page(), **{room: room_page(room) for room in rooms()}}
    for name, text in pages.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app):
    # Autosummary generates for the files that are there when the environment is made.
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True}
