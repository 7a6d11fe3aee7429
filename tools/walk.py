"""Count the files that a reader of one fit walks through.

Each job runs twice; the second run is traced. The functions of fuselearn that it calls are listed in the order of their
first call, and two numbers are printed: how many files they stand in, and how often two consecutive ones stand in
different files. Compiled loops count as the Python functions that call them.

    python tools/walk.py [--list] [shareboost | gradient | fusion | command_line | adaboost | histogram_boosting ...]
"""

import argparse
import contextlib
import io
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType


def traced(job: Callable[[], object], package: str) -> list[tuple[str, str]]:
    """Return (file, function) of every function of a package that a job calls, in the order of the first calls."""
    seen: dict[tuple[str, str, int], None] = {}
    marker = f"/{package}/"

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        # Class bodies, comprehensions and lambdas are read with the function around them.
        if event == "call" and marker in code.co_filename and not code.co_name.startswith("<"):
            seen.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [(filename.rpartition(marker)[2], function) for filename, function, _ in seen]


def walk_of(functions: list[tuple[str, str]]) -> tuple[int, int]:
    """Return the number of files and the number of changes of file."""
    files = [file for file, _ in functions]
    return len(set(files)), sum(before != after for before, after in pairwise(files))


def shareboost() -> Callable[[], object]:
    from sklearn.datasets import load_iris

    from fuselearn import ShareBoostClassifier

    X, y = load_iris(return_X_y=True)
    views = {"sepal": [0, 1], "petal": [2, 3]}
    return lambda: ShareBoostClassifier(views=views, n_estimators=20, random_state=0).fit(X, y)


def gradient() -> Callable[[], object]:
    from sklearn.datasets import load_iris

    from fuselearn import ShareGradientBoostingClassifier

    X, y = load_iris(return_X_y=True)
    views = {"sepal": [0, 1], "petal": [2, 3]}
    return lambda: ShareGradientBoostingClassifier(views=views, trees="per_view", n_estimators=20).fit(X, y)


def fusion() -> Callable[[], object]:
    from sklearn.datasets import load_breast_cancer

    from fuselearn import FusionClassifier

    X, y = load_breast_cancer(return_X_y=True)
    views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    return lambda: FusionClassifier(views=views, random_state=0).fit(X, y)


def command_line() -> Callable[[], object]:
    from sklearn.datasets import load_breast_cancer

    from fuselearn.cli import main

    data = load_breast_cancer()
    folder = Path(tempfile.mkdtemp())
    names = [name.replace(" ", "_") for name in data.feature_names]
    lines = [
        ",".join([str(number), *map(str, row), data.target_names[code]])
        for number, (row, code) in enumerate(zip(data.data.tolist(), data.target.tolist()))
    ]
    (folder / "cells.csv").write_text("\n".join([",".join(["id", *names, "diagnosis"]), *lines]) + "\n")

    def fit() -> None:
        arguments = ["fit", str(folder / "cells.csv"), "--target", "diagnosis", "--id", "id"]
        arguments += [
            "--view",
            "mean=mean_*",
            "--view",
            "worst=worst_*",
            "--output",
            str(folder / "cells.fuse"),
            "--force",
        ]
        before, sys.argv = sys.argv, ["fuselearn", *arguments]
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(printed.getvalue()) from None
        finally:
            sys.argv = before

    return fit


def adaboost() -> Callable[[], object]:
    from sklearn.datasets import load_iris
    from sklearn.ensemble import AdaBoostClassifier

    X, y = load_iris(return_X_y=True)
    return lambda: AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)


def histogram_boosting() -> Callable[[], object]:
    from sklearn.datasets import load_iris
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = load_iris(return_X_y=True)
    return lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)


JOBS = {
    "shareboost": (shareboost, "fuselearn"),
    "gradient": (gradient, "fuselearn"),
    "fusion": (fusion, "fuselearn"),
    "command_line": (command_line, "fuselearn"),
    "adaboost": (adaboost, "sklearn"),
    "histogram_boosting": (histogram_boosting, "sklearn"),
}


def main() -> None:
    """Print the walks of the jobs named on the command line, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), metavar="JOB", help=f"of {', '.join(JOBS)}")
    parser.add_argument("--list", action="store_true", help="list the functions, too")
    arguments = parser.parse_args()
    for name in arguments.jobs:
        make, package = JOBS[name]
        job = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            job()
            functions = traced(job, package)
        n_files, n_changes = walk_of(functions)
        print(f"{name:20} {n_files:3} files, {n_changes:3} changes of file, {len(functions):4} functions")
        if arguments.list:
            for file, function in functions:
                print(f"    {file:45} {function}")


if __name__ == "__main__":
    main()
