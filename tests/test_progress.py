"""Progress: bars for those who look, whole lines for logs."""

import io
import sys

import pytest

from fuselearn.progress import counted_steps


class Terminal(io.StringIO):
    """Text that somebody looks at."""

    def isatty(self):
        return True


def shown(monkeypatch, stream, verbose, total=20, without_rich=False):
    """Return what three steps print."""
    monkeypatch.setattr(sys, "stderr", stream)
    if without_rich:
        monkeypatch.setattr("fuselearn.progress.find_spec", lambda name: None)
    with counted_steps("fits", total, verbose) as show:
        for done in (1, 2, total):
            show(done)
    return stream.getvalue()


@pytest.mark.parametrize("verbose", [None, 0])
def test_a_log_is_silent_unless_asked(monkeypatch, verbose):
    assert shown(monkeypatch, io.StringIO(), verbose) == ""


def test_a_log_has_whole_lines_and_few(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), 1).splitlines() == ["2 of 20 fits, 0 s left", "20 of 20 fits, 0 s left"]


@pytest.mark.parametrize("verbose", [None, 1])
def test_a_terminal_has_a_bar(monkeypatch, verbose):
    monkeypatch.setenv("TERM", "xterm")
    page = shown(monkeypatch, Terminal(), verbose)
    assert "fits" in page
    assert "20/20" in page
    assert shown(monkeypatch, Terminal(), 0) == ""


def test_a_terminal_without_rich_has_one_line(monkeypatch):
    page = shown(monkeypatch, Terminal(), None, without_rich=True)
    assert page.count("\r") == 3
    assert page.endswith("20 of 20 fits, 0 s left\n")


def test_a_notebook_without_widgets_has_one_line(monkeypatch):
    notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    page = shown(monkeypatch, notebook(), None, without_rich=True)
    assert page.endswith("20 of 20 fits, 0 s left\n")


def test_nothing_to_do(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with counted_steps("fits", 0, 1):
        pass
    assert sys.stderr.getvalue() == ""
