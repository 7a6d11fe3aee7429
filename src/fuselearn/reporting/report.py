"""The report of a fitted model, as one object."""

from functools import cached_property
from html import escape
from pathlib import Path

from fuselearn.persistence.atomic_write import write_atomically
from fuselearn.reporting.render import render
from fuselearn.reporting.summarize import summarize


class FitReport:
    """A report of a fitted model on rows that it has not seen, as one HTML page.

    It begins with a summary in plain words: what was fused, how good it is, which views matter and what to be careful
    about. The page needs no network, fits a phone and can be printed.

    Parameters
    ----------
    model : fitted classifier with views, or a pipeline or search around one
    X : array or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted on.
    y : array of shape (n_samples,), default=None
        Their classes; for many labels the indicator matrix. Without it the report says nothing about quality.
    ids : sequence of length n_samples, default=None
        What the rows are called, for the table of suspect labels.
    comparison : Comparison, Table or list of dict, default=None
        A result of :func:`fuselearn.compare`, shown as the leaderboard.
    title : str, default=None
        None makes one from the model.
    note : dict, default=None
        Anything to be shown beside the settings, such as how a file was read.

    Attributes
    ----------
    summary : dict
        All numbers and sentences of the report, in plain types that JSON takes.
    html : str
        The page.

    Notes
    -----
    Scores, classes and confusions are computed from all rows. What each view is worth takes many predictions and is
    computed from at most 2,000 rows, drawn at random, and from fewer where predictions take so long that it would need
    more than about 20 seconds; the score after each round from at most 5,000.

    Examples
    --------
    >>> from fuselearn import FitReport, ShareBoostClassifier
    >>> from fuselearn.datasets import load_digit_views
    >>> X, views, y = load_digit_views(return_tuple=True)
    >>> model = ShareBoostClassifier(views=views, n_estimators=20).fit(X[:1000], y[:1000])
    >>> report = FitReport(model, X[1000:], y[1000:])
    >>> print(report.summary["words"]["fused"][0])
    ShareBoostClassifier fuses 4 views of 162 columns: “pixels”, “fourier”, “profiles” and “edges”.
    >>> report.html.startswith("<!doctype html>")
    True
    """

    def __init__(self, model, X, y=None, *, ids=None, comparison=None, title=None, note=None):
        self.summary = summarize(model, X, y, ids=ids, comparison=comparison, title=title, note=note)

    @cached_property
    def html(self):
        return render(self.summary)

    def save(self, path, force=False):
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or Path
        force : bool, default=False
            Whether to overwrite a file that exists.

        Returns
        -------
        Path
        """
        path = Path(path)
        if path.is_dir():
            raise IsADirectoryError(f"path must name a file, such as {path / 'report.html'}; {path} is a folder.")
        if path.exists() and not force:
            raise FileExistsError(f"{path} exists; give force=True to overwrite it, or another path.")
        # A name may hold half a character, which UTF-8 cannot.
        page = self.html.encode("utf-8", "backslashreplace")
        with write_atomically(path, "wb") as file:
            file.write(page)
        return path

    def _repr_html_(self):
        # A page of its own, so that its style and that of the notebook do not meet.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="{escape(self.summary["title"])}" '
            'style="width: 100%; height: 800px; border: 0"></iframe>'
        )

    def __repr__(self):
        return f"<FitReport: {self.summary['title']}, {self.summary['data']['rows']} rows>"
