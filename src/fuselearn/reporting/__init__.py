"""A report of a fitted model: data to a dict (`summarize`), a dict to one HTML page (`render`), both in `FitReport`.

A summary holds plain numbers and strings only. What is said in words is decided in :mod:`plain_words`, from the
summary; how it looks is decided in the templates. So each can be read, and tested, without the others.
"""

from fuselearn.reporting.render import render
from fuselearn.reporting.report import FitReport
from fuselearn.reporting.summarize import summarize

__all__ = ["FitReport", "render", "summarize"]
