"""Progress: bars for those who look, whole lines for logs."""

import io
import sys
from inspect import signature

import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

import fuselearn
from fuselearn.progress import counted_steps, listening


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


VIEWS = {"sepal": [0, 1], "petal": [2, 3]}
TALKING = {
    "FusionClassifier": {"learners": "linear"},
    "LabelConsensus": {"n_passes": 2},
    "MKLClassifier": {},
    "AugmentedKernelClassifier": {},
    "ShareBoostClassifier": {"n_estimators": 3},
    "ShareGradientBoostingClassifier": {"n_estimators": 3, "trees": "per_view", "view_policy": "round_robin"},
    "SuperKernelClassifier": {},
    "TomographicClassifier": {"random_state": 0},
    "ViewStackingClassifier": {"estimator": SVC()},
    "ViewVotingClassifier": {"estimator": SVC()},
    "ViewStackingRegressor": {"estimator": Ridge()},
    "ViewVotingRegressor": {"estimator": Ridge()},
}


@pytest.mark.parametrize("name", TALKING)
def test_verbose_prints_lines_with_the_views(name, capsys):
    X, y = load_iris(return_X_y=True)
    kind, steps = getattr(fuselearn, name), []
    with listening(steps.append):
        kind(views=VIEWS, **TALKING[name]).fit(X, y)
    assert capsys.readouterr().out == ""
    steps = [step for step in steps if step.estimator == name]
    assert [step.done for step in steps] == list(range(1, len(steps) + 1))
    kind(views=VIEWS, verbose=1, **TALKING[name]).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(f"[{name}] ") for line in lines)
    assert all(any(view in line for line in lines) for view in VIEWS)
    with pytest.raises(ValueError, match="verbose must be"):
        kind(views=VIEWS, verbose=-1, **TALKING[name]).fit(X, y)


def test_every_estimator_that_takes_long_can_talk():
    """One classifier on one table, and what prepares its table, have no steps of their own."""
    silent = {name for name, kind in fuselearn.all_estimators() if "verbose" not in signature(kind).parameters}
    assert silent == {"ConcatenatedClassifier", "ConcatenatedRegressor", "TableClassifier", "TableRegressor"}
