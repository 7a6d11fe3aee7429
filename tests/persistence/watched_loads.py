"""A process that loads files of models, predicts with them, and notes what it is made to do.

It is run as a script, with a folder of rows, and takes the files from standard input, a line of JSON for each. Of each
it writes a line when it begins, and one when it ends: a file that kills it, or never ends, is known by that. Noted are

- what Python's audit events say: files that are opened or written, processes, sockets, code that is run;
- methods of loaded objects that are called during `load`, other than those that check or fill them.
"""

import faulthandler
import json
import os
import pickle
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

import fuselearn
from fuselearn.persistence.model_types import DEFINED_IN

MEMORY = 16 * 2**30
NOTED = ("os.", "subprocess.", "socket.", "ctypes.", "pickle.", "shutil.", "webbrowser.", "urllib.", "builtins.input")
NOTED += ("glob.", "tempfile.", "fcntl.", "pty.", "syslog.", "signal.", "exec")
LOOKING = ("os.listdir", "os.scandir")
BUSY = ("<frozen importlib", "/numba/", "/threadpoolctl.py", "/dataclasses.py", "/typing.py")
"""Files of code that opens libraries, or runs its own code, whatever the model is: imports, the compiler's cache."""
OWN = {place.replace(":", ".") for place in DEFINED_IN.values()}
FILLING = ("__new__", "__setstate__", "__init__", "__cinit__", "__setattr__", "get_arrays")
"""Methods that fill an object of a type that the caller trusts, and one that shows the arrays of a search tree."""
COMPILED = ("sklearn.tree._tree.", "sklearn.neighbors._kd_tree.", "sklearn.neighbors._ball_tree.", "sklearn._loss.")
"""Types of scikit-learn that are no estimators, and part of one."""
LIBRARIES = tuple(
    os.path.realpath(folder) + os.sep
    for folder in {sys.prefix, sys.base_prefix, *(str(Path(module.__file__).parent) for module in (np, fuselearn))}
)
SYSTEM = ("/proc/", "/sys/", "/dev/null", "/dev/urandom", "/etc/localtime")

events: list[str] = []
methods: list[str] = []
noting = False


def note_event(event, arguments):
    """Note an audit event that a model has no business to cause."""
    if not noting or not (event == "open" or event.startswith(NOTED)) or event in LOOKING or _is_busy():
        return
    first = arguments[0] if arguments else None
    if isinstance(first, bytes):
        first = os.fsdecode(first)
    place = os.path.realpath(first) if isinstance(first, str) and first and "\0" not in first else ""
    if event == "open":
        writes = isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        writes = writes or (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        cached = "__pycache__" in place and place.startswith(LIBRARIES)
        reads = place == current or place.startswith((*LIBRARIES, *SYSTEM))
        if not (cached or (reads and not writes)):
            events.append(f"open {place[:100]} {arguments[1]}")
    else:
        events.append(f"{event} {str(arguments)[:100]}")


def _is_busy():
    """Return whether an event comes from an import or from the compiler."""
    frame = sys._getframe(2)
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in BUSY):
            return True
        frame = frame.f_back
    return False


kinds: dict[type, str] = {}


def note_call(frame, event, argument):
    """Note a method of an object that a file can hold."""
    if event == "call":
        code = frame.f_code
        if not code.co_argcount or code.co_varnames[0] != "self":
            return
        owner, name = frame.f_locals.get("self"), code.co_name
    elif event == "c_call":
        owner, name = getattr(argument, "__self__", None), getattr(argument, "__name__", "")
    else:
        return
    kind = type(owner)
    if kind not in kinds:
        full = f"{kind.__module__}.{kind.__qualname__}"
        if full in OWN:
            kinds[kind] = "own"
        else:
            kinds[kind] = "foreign" if issubclass(kind, BaseEstimator) or full.startswith(COMPILED) else ""
    if not kinds[kind]:
        return
    if kinds[kind] == "own" and (name.startswith("validate") or _is_validating(frame)):
        return
    # Of ours, only those inside of a foreign object, such as a pipeline, are filled in this way.
    if (trusting and name == "__setstate__") or (kinds[kind] == "foreign" and name in FILLING):
        return
    if not _is_busy():
        methods.append(f"{kind.__qualname__}.{name}")


def _is_validating(frame):
    """Return whether a frame is inside of a check of one of our types: it may ask its object for a property."""
    while frame is not None:
        if frame.f_code.co_name.startswith("validate") and "fuselearn" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def loaded(path, trusted):
    """Load a file under watch."""
    global noting, current, trusting
    current, trusting = os.path.realpath(path), bool(trusted)
    noting = True
    sys.setprofile(note_call)
    try:
        return fuselearn.load(path, trusted=trusted)
    finally:
        sys.setprofile(None)
        noting = False


def predicted(model, tables):
    """Call what predicts, under watch; return the names of errors."""
    global noting
    errors = set()
    noting = True
    try:
        for rows in tables:
            for method in ("predict", "predict_proba", "decision_function"):
                try:
                    getattr(model, method)(rows)
                except Exception as error:
                    errors.add(type(error).__name__)
    finally:
        noting = False
    return sorted(errors)


def watch(task, tables):
    """Return what became of a file."""
    del events[:], methods[:]
    started = time.process_time()
    outcome, errors = "loaded", []
    try:
        if task["path"].endswith(".pickle"):
            global noting
            noting = True
            pickle.loads(Path(task["path"]).read_bytes())
        model = loaded(task["path"], task["trusted"])
    except (ValueError, OSError) as error:
        outcome = f"{type(error).__name__}: {error}"
    except BaseException as error:
        outcome = f"escaped: {error!r}"
    else:
        if task["predict"]:
            errors = predicted(model, tables[task["rows"]])
    finally:
        noting = False
    return {
        "outcome": outcome[:3000],
        "events": sorted(set(events)),
        "methods": sorted(set(methods)),
        "errors": errors,
        "seconds": round(time.process_time() - started, 2),
    }


def read_tables(folder):
    """Return rows by name: with all views, and with gaps."""
    tables = {}
    for path in sorted(Path(folder).glob("*.npz")):
        with np.load(path) as arrays:
            tables[path.stem] = list(arrays.values())
    for path in sorted(Path(folder).glob("*.csv")):
        frame = pd.read_csv(path)
        tables[path.stem] = [frame, frame.iloc[:, :2]]
    return tables


def main():
    """Load the files that are named on standard input."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    tables = read_tables(sys.argv[1])
    # What a genuine file imports and compiles is not a forgery's doing.
    for task in json.loads(Path(sys.argv[1], "genuine.json").read_text()):
        predicted(fuselearn.load(task["path"], trusted=task["trusted"]), tables[task["rows"]])
    sys.addaudithook(note_event)
    for line in sys.stdin:
        task = json.loads(line)
        print(json.dumps({"begins": task["path"]}), flush=True)
        print(json.dumps({"ends": task["path"], **watch(task, tables)}), flush=True)


current, trusting = "", False
if __name__ == "__main__":
    main()
