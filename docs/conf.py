"""The documentation: pages in Markdown, API pages from the docstrings, a gallery from `examples/`.

Built by ``sphinx-build -W -b html docs docs/_build``. Nothing is fetched: no intersphinx, and the theme brings its own
files along.
"""

import logging
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

from api_pages import file_names  # noqa: E402

import fuselearn  # noqa: E402

# The cluster of an example tells of each of its steps, which is no news of the build.
logging.getLogger("distributed").setLevel(logging.ERROR)

project = "fuselearn"
author = "The fuselearn developers"
copyright = author
version = release = fuselearn.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "api_pages",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "_ext", "_templates", "gallery/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "literal"

html_theme = "furo"
html_title = f"fuselearn {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sphinx = False
html_copy_source = False

myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 3

REPOSITORY_PAGES = {"benchmarks/README.md": "benchmarks.md", "CHANGELOG.md": "changes.md", "README.md": "index.md"}

# An object is documented on the page of its shortest name; what scikit-learn gives to every estimator is left out.
autosummary_generate = True
autosummary_filename_map = file_names()
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
# Not on: checks that ask for words on a return value whose name says it all (RT03), for another way to describe a Bunch
# than scikit-learn's (RT02), and one that takes nouns for verbs (SS05).
numpydoc_validation_checks = {
    *("GL01", "GL02", "GL03", "GL06", "GL07", "GL09", "PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08"),
    *("PR10", "RT04", "RT05", "SS01", "SS02", "SS03", "SS04"),
}
# Packages for developers, where a function has one line.
numpydoc_validation_exclude = {r"^fuselearn\.(backends|data)\."}
numpydoc_validation_overrides = {
    # The fields of a result are described as its attributes. A docstring of one line is a developers' function, or a
    # method whose parameters the protocol describes.
    "PR01": [r"\n\s*Attributes\n\s*---", r"\A[^\n]*\Z"],
}

sphinx_gallery_conf = {
    "examples_dirs": str(DOCS.parent / "examples"),
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery_order.by_question",
    # Studies of many minutes are shown with the figure of their full run instead.
    "filename_pattern": r"/(?!(digits_rounds|iris_noisy_labels|overlapping_labels|unmatched_views)\.py)\w+\.py$",
    "copyfile_regex": r".*\.rst",
    "remove_config_comments": True,
    "show_memory": False,
    "capture_repr": (),
    "write_computation_times": False,
    "min_reported_time": 1e6,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
}


def link_within(app, name, source):
    """Let links to the repository's own pages, right as they are for who reads the files, lead to those of the site."""
    for outside, inside in REPOSITORY_PAGES.items():
        source[0] = re.sub(rf"\]\((\.\./)+{re.escape(outside)}", f"](/{inside}", source[0])


def in_fuselearn(app, what, name, member, skip, options):
    """Skip methods that come from elsewhere: `get_params`, `set_fit_request` and their like are scikit-learn's."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    module = getattr(function, "__module__", None) or ""
    if what == "class" and not module.startswith("fuselearn"):
        return True
    return None


def escape_shapes(app, what, name, obj, options, lines):
    """Keep "shape (n_iter_, n_arms)" text: a word that ends in an underscore is a link to reStructuredText."""
    for number, line in enumerate(lines):
        if "of shape (" in line:
            lines[number] = re.sub(r"(?<=[( ])(\w+)_(?=[,) ])", r"\1\_", line)


def setup(app):
    app.connect("source-read", link_within)
    app.connect("autodoc-skip-member", in_fuselearn)
    # After numpydoc, which is at 500.
    app.connect("autodoc-process-docstring", escape_shapes, priority=900)
