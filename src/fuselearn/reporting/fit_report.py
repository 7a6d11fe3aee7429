"""The report of a fitted model: its summary, rendered as one HTML page that needs nothing else.

Style and script are part of the page, and it makes no requests.
"""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache, cached_property
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.persistence import write_atomically
from fuselearn.reporting.charts import MAX_MATRIX_WITH_NUMBERS, draw_charts, shade
from fuselearn.reporting.sentences import about_contributions, counted, percent, rows_used, shortened
from fuselearn.reporting.summarize import summarize
from fuselearn.typing import ArrayLike, TableLike

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = files("fuselearn.reporting") / "templates"


class FitReport:
    """A report of a fitted model on rows that it has not seen, as one HTML page.

    It begins with a summary in plain words: what was fused, how good it is, which views matter and what to be careful
    about. The page needs no network, fits a phone and can be printed.

    Parameters
    ----------
    model : fitted classifier with views, or a pipeline or search around one
        The model to report on.
    X : array or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted on.
    y : array of shape (n_samples,) or (n_samples, n_labels), default=None
        Their classes; for a multi-label model the indicator matrix. Without labels the report says nothing about
        quality.
    ids : sequence of length n_samples, default=None
        Names of the rows, for the table of suspect labels.
    comparison : Comparison, Table or list of dict, default=None
        A result of :func:`fuselearn.compare`, shown as the leaderboard.
    title : str, default=None
        Title of the page; None makes one from the model.
    note : dict, default=None
        Anything to be shown beside the settings, such as how a file was read.

    Attributes
    ----------
    summary : dict
        All numbers and sentences of the report, in plain types that can be written as JSON.
    html : str
        The page.

    Notes
    -----
    Scores, classes and confusions are computed from all rows. The importance of views needs many predictions and is
    computed from at most 2,000 rows, drawn at random, and from fewer if it would take more than about 20 seconds; the
    score after each round is computed from at most 5,000, the features that matter from at most 300, and from 20 if
    more would take longer than about 10 seconds.

    Examples
    --------
    >>> from fuselearn import FitReport, ShareBoostClassifier
    >>> from fuselearn.datasets import load_digit_views
    >>> X, views, y = load_digit_views(return_tuple=True)
    >>> model = ShareBoostClassifier(views=views, n_estimators=20).fit(X[:1000], y[:1000])
    >>> report = FitReport(model, X[1000:], y[1000:])
    >>> print(report.summary["words"]["fused"][0])
    ShareBoostClassifier fuses 4 views with 162 columns in total: “pixels”, “fourier”, “profiles” and “edges”.
    >>> report.html.startswith("<!doctype html>")
    True
    """

    def __init__(
        self,
        model: FittedModel,
        X: TableLike,
        y: ArrayLike | None = None,
        *,
        ids: Iterable[object] | None = None,
        comparison: Any = None,
        title: str | None = None,
        note: dict[str, Any] | None = None,
    ) -> None:
        self.summary = summarize(model, X, y, ids=ids, comparison=comparison, title=title, note=note)

    @cached_property
    def html(self) -> str:
        """The page, rendered when it is first needed."""
        return render(self.summary)

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the page to a file, completely or not at all.

        Parameters
        ----------
        path : str or Path
            The file to write.
        force : bool, default=False
            Overwrite the file if it exists.

        Returns
        -------
        Path
            The file written.
        """
        return save_page(self.html, path, force)

    def _repr_html_(self) -> str:
        """Return the page in a frame, apart from the style of the notebook; without jinja2 its words alone."""
        try:
            page = self.html
        except ImportError as error:
            words = self.summary["words"]
            lines = [*words["fused"], *words["good"], *words["views"], *(item["text"] for item in words["careful"])]
            return "".join(f"<p>{escape(line)}</p>" for line in [*lines, f"The page itself is not shown. {error}"])
        return (
            f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" title="{escape(self.summary["title"])}" '
            'style="width: 100%; height: 800px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<FitReport: {self.summary['title']}, {self.summary['data']['rows']} rows>"


def save_page(html: str, path: str | Path, force: bool) -> Path:
    """Write a page to a file, completely or not at all."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"path must name a file, such as {path / 'report.html'}; {path} is a folder.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; pass force=True to overwrite it, or choose another path.")
    # A name may hold half of a surrogate pair, which UTF-8 cannot encode.
    page = html.encode("utf-8", "backslashreplace")
    with write_atomically(path, "wb", overwrite=force) as file:
        file.write(page)
    return path


def render(summary: dict[str, Any]) -> str:
    """Render a summary as an HTML page.

    Parameters
    ----------
    summary : dict
        A result of :func:`summarize`.

    Returns
    -------
    str
        The page. Names of columns, classes and rows are shown as text, whatever markup they contain.
    """
    return rendered("page.html.jinja", summary=summary, charts=draw_charts(summary))


def rendered(template: str, **values: Any) -> str:
    """Return a page of a template, with the style sheet and the script that all pages have."""
    script = _read("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = page_environment().get_template(template)
    return page.render(**values, style=_read("report.css"), script=script, script_digest=digest)


@cache
def page_environment() -> "Environment":
    """Return the jinja environment of the templates, or raise an error that says how to install jinja."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("A report needs jinja2: install it with pip install 'fuselearn[app]'.") from error
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "shortened": shortened,
        "number": _number,
        "caption": about_contributions,
        "counted": counted,
        "rows_used": rows_used,
    }
    environment.globals |= {"shade": shade, "max_matrix": MAX_MATRIX_WITH_NUMBERS}
    return environment


def _number(value: float | str | None, decimals: int = 3) -> str:
    """Return a cell of a table: whole numbers with thousands separators, others rounded, None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:z.{decimals}f}"


def _read(name: str) -> str:
    """Return the text of a template, the style sheet or the script."""
    return (TEMPLATES / name).read_text(encoding="utf-8")
