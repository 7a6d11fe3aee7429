"""BLAS has one thread while any fit runs, and the number of before when the last one ends; loops are compiled once."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from fuselearn import FusionClassifier, MSSBoostClassifier
from fuselearn.numeric.execution import _with_locked_cache, single_threaded_blas


def blas_threads():
    """Return the numbers of threads of BLAS, but for the library of scs, which is built for one thread."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if "/scs.libs/" not in pool["filepath"]}


@pytest.fixture(autouse=True)
def _two_threads():
    """Two threads before each test; a machine of one core has them too."""
    with single_threaded_blas():
        pass  # a thread of an earlier test may still be the one that threadpoolctl listens to
    with threadpool_limits(limits=2, user_api="blas"):
        assert blas_threads() == {2}
        yield
        assert blas_threads() == {2}


def test_nested_guards():
    with single_threaded_blas():
        with single_threaded_blas():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_libraries_are_looked_for_where_something_was_imported(monkeypatch):
    searches = []

    class Counted(ThreadpoolController):
        def __init__(self):
            searches.append(len(sys.modules))
            super().__init__()

    monkeypatch.setattr("fuselearn.numeric.execution.ThreadpoolController", Counted)
    for number in range(3):
        monkeypatch.setitem(sys.modules, f"a library that comes late {number}", ModuleType("late"))
        for _ in range(5):
            with single_threaded_blas():
                assert blas_threads() == {1}
        assert len(searches) == number + 1


def test_an_error_lifts_the_limit():
    with pytest.raises(KeyError), single_threaded_blas():
        raise KeyError
    with single_threaded_blas():
        with pytest.raises(KeyError), single_threaded_blas():
            raise KeyError
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_guards_that_end_in_any_order(order):
    guards = [single_threaded_blas() for _ in range(3)]
    for guard in guards:
        guard.__enter__()
    for number in order:
        assert blas_threads() == {1}
        guards[number].__exit__(None, None, None)
    assert blas_threads() == {2}


def test_guards_of_threads_that_overlap():
    """The first thread enters first and leaves first, so that the second one must not restore one thread."""
    first_inside, second_inside, first_outside = threading.Event(), threading.Event(), threading.Event()
    seen = {}

    def first():
        with single_threaded_blas():
            first_inside.set()
            assert second_inside.wait(30)
        first_outside.set()

    def second():
        assert first_inside.wait(30)
        with single_threaded_blas():
            second_inside.set()
            assert first_outside.wait(30)
            seen["after the first"] = blas_threads()

    threads = [threading.Thread(target=target) for target in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen["after the first"] == {1}
    assert blas_threads() == {2}


class Meeting(LogisticRegression):
    """A classifier whose first fit waits until another estimator's fit runs as well."""

    barrier = threading.Barrier(2)
    seen: ClassVar[list[set[int]]] = []

    def fit(self, X, y, sample_weight=None):
        if len(Meeting.seen) < 2:
            Meeting.seen.append(blas_threads())
            Meeting.barrier.wait(60)
        return super().fit(X, y, sample_weight)


def test_fits_of_two_estimators_that_overlap():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    models = [
        FusionClassifier(learners=Meeting(), consensus=False, max_fits=1, random_state=0),
        MSSBoostClassifier(Meeting(), n_estimators=1, feature_ratio=0.9, random_state=0),
    ]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Meeting.seen == [{1}, {1}]
    assert all(hasattr(model, "classes_") for model in models)
    assert blas_threads() == {2}


class Kernel:
    """A compiled loop, of which two callers try to be in the files at the same time."""

    def __init__(self, folder, together, overlaps):
        self._cache = self
        self.cache_path, self._together, self._overlaps = str(folder), together, overlaps

    def load_overload(self, signature):
        with suppress(threading.BrokenBarrierError):
            self._together.wait(timeout=0.3)  # in vain, if one waits for the other
            self._overlaps.append(signature)
        return signature

    save_overload = load_overload


def test_one_process_at_a_time_is_in_the_files_of_compiled_loops(tmp_path):
    """Else each of two that compile versions of a loop gives its own the file name of the other's."""
    together, overlaps = threading.Barrier(2), []
    loading, saving = [_with_locked_cache(Kernel(tmp_path, together, overlaps))._cache for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        results = [threads.submit(loading.load_overload, "loaded"), threads.submit(saving.save_overload, "saved")]
    assert [result.result() for result in results] == ["loaded", "saved"]
    assert overlaps == []
    assert (tmp_path / "fuselearn.lock").exists()


def test_a_loop_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    """It may be of another file, of which numba knows nothing."""
    inner, outer = tmp_path / "inner_loops.py", tmp_path / "outer_loops.py"
    code = "from fuselearn.numeric.execution import compiled\n{}\n@compiled()\ndef {}:\n    return {}\n"
    outer.write_text(code.format("from inner_loops import inner_loop", "outer_loop(number)", "inner_loop(number) + 1"))
    command = [sys.executable, "-c", "import outer_loops; print(outer_loops.outer_loop(1))"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for factor, expected in ((2, "3"), (2, "3"), (50, "51")):
        inner.write_text(code.format("", "inner_loop(number)", f"number * {factor}"))
        outcome = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert outcome.stdout.strip() == expected, outcome.stderr
