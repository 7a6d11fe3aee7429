"""A report of a fitted model: data to a dict (`summarize`), the dict to one HTML page (`render`), both in `FitReport`.

A summary holds plain numbers and strings only. Its sentences are derived from its numbers in `sentences` and
`cautions`, its charts in `charts`, and the templates lay them out. So each can be read, and tested, without the others.
"""

from fuselearn.reporting.fit_report import FitReport, render
from fuselearn.reporting.regression_report import RegressionReport
from fuselearn.reporting.summarize import summarize

__all__ = ["FitReport", "RegressionReport", "render", "summarize"]
