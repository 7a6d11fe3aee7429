"""What people are told while they wait: once, and never into the output of a program."""

import io
import logging

import pytest

from fuselearn import progress
from fuselearn.progress import shown_by, tell_once


class Terminal(io.StringIO):
    """Standard error of somebody who watches."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch):
    monkeypatch.setattr(progress, "_told", set())


def test_a_terminal_is_told_once(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    tell_once("It compiles.")
    tell_once("It compiles.")
    assert terminal.getvalue() == "It compiles.\n"


def test_a_pipe_is_not_told(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", pipe := io.StringIO())
    tell_once("It compiles.")
    monkeypatch.setattr("sys.stderr", None)  # a program without a console
    tell_once("It goes on.")
    assert pipe.getvalue() == ""
    assert capsys.readouterr().out == ""


def test_a_log_that_wants_to_know_is_told_instead(monkeypatch, caplog):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with caplog.at_level(logging.INFO, "fuselearn"):
        tell_once("It compiles.")
    assert caplog.messages == ["It compiles."]
    assert terminal.getvalue() == ""


def test_a_bar_shows_it_where_there_is_one(monkeypatch):
    terminal, lines = Terminal(), []
    monkeypatch.setattr("sys.stderr", terminal)
    with shown_by(lines.append):
        tell_once("It compiles.")
    tell_once("It goes on.")
    assert lines == ["It compiles."]
    assert terminal.getvalue() == "It goes on.\n"
