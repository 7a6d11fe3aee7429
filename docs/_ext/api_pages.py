"""Write a page for each public package, with the names of its `__all__`: none can be forgotten.

A name that `fuselearn` itself exports is documented under that name, on the front page, and only linked from the page
of its package. The pages are written before autosummary looks for what it has to generate.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import fuselearn

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

NAMED_ELSEWHERE = {"evaluation": ["leaderboard.Comparison"]}
"""Results of public functions that `__all__` does not name."""
INTRODUCTION = """\
API
===

The names that ``from fuselearn import ...`` gives. Estimators are scikit-learn estimators: they all have
``get_params``, ``set_params`` and ``score`` too, which are described there.

"""
TABLE = """\
.. autosummary::
   :toctree: generated
   :nosignatures:

"""


def front_page() -> str:
    """Return the page of `fuselearn`: its own names, first classes, then functions, and its packages."""
    names = sorted(exported(), key=lambda name: (name != "FusionClassifier", name[0].islower(), name.lower()))
    entries = "".join(f"   fuselearn.{name}\n" for name in names)
    toctree = "".join(f"   {name}\n" for name in packages())
    described = "".join(f":doc:`{name}`\n   {first_line(name)}\n\n" for name in packages())
    return f"{INTRODUCTION}{TABLE}{entries}\nPackages\n--------\n\n{described}.. toctree::\n   :hidden:\n\n{toctree}"


def package_page(package: str) -> str:
    """Return the page of a package: its docstring, links to the names on the front page, and a table of the others."""
    module = import_module(f"fuselearn.{package}")
    on_front_page = exported()
    linked = [name for name in public_names(module) if on_front_page.get(name) is getattr(module, name)]
    others = [name for name in public_names(module) if name not in linked] + NAMED_ELSEWHERE.get(package, [])
    title = module.__name__
    parts = [
        f"{title}\n{'=' * len(title)}\n",
        f".. currentmodule:: {title}\n",
        f".. automodule:: {title}\n   :no-index:\n",
    ]
    if linked:
        roles = {name: "func" if name[0].islower() else "class" for name in linked}
        parts.append("Also here: " + ", ".join(f":{role}:`fuselearn.{name}`" for name, role in roles.items()) + ".\n")
    if others:
        parts.append(TABLE + "".join(f"   {name}\n" for name in others))
    return "\n".join(parts)


def packages() -> list[str]:
    """Return the names of the packages and modules that `fuselearn` exports."""
    return sorted(name for name in fuselearn.__all__ if isinstance(getattr(fuselearn, name), ModuleType))


def exported() -> dict[str, Any]:
    """Return the classes and functions that `fuselearn` itself exports, by name."""
    others = {*packages(), "__version__"}
    return {name: getattr(fuselearn, name) for name in fuselearn.__all__ if name not in others}


def public_names(module: ModuleType) -> list[str]:
    """Return the classes and functions of a module's `__all__`; without one, those that it defines."""
    if hasattr(module, "__all__"):
        # A constant has the docstring of its type.
        return sorted((name for name in module.__all__ if callable(getattr(module, name))), key=str.lower)
    return sorted(
        name
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", "") == module.__name__ and callable(thing) and not name.startswith("_")
    )


def first_line(package: str) -> str:
    """Return the first line of a package's docstring."""
    return (import_module(f"fuselearn.{package}").__doc__ or "").strip().splitlines()[0]


def file_names() -> dict[str, str]:
    """Return files for objects whose names differ in case only, which some file systems do not distinguish."""
    renamed = {}
    for package in packages():
        seen: set[str] = set()
        for name in public_names(import_module(f"fuselearn.{package}")):
            if name.lower() in seen:
                kind = "function" if name[0].islower() else "class"
                renamed[f"fuselearn.{package}.{name}"] = f"fuselearn.{package}.{name}-{kind}"
            seen.add(name.lower())
    return renamed


def write_pages(app: "Sphinx", config: "Config") -> None:
    """Write the pages that differ from those on disk, so that a second build reads only what is new."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = {"index": front_page(), **{package: package_page(package) for package in packages()}}
    for name, text in pages.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register the extension; autosummary generates for the files that exist when the environment is made."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True}
