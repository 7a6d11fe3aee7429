"""BLAS has one thread while any fit runs, and the number of before when the last one ends; loops are compiled once."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from fuselearn import FusionClassifier, MSSBoostClassifier
from fuselearn.numeric.execution import Threads, _with_locked_cache, single_threaded_blas


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


@pytest.mark.parametrize(
    ("n_threads", "n_items", "expected"), [(2, 5, [1, 1, 1, 1, 2]), (5, 2, [2, 2]), (1, 3, [1, 1, 1])]
)
def test_items_share_out_the_threads(n_threads, n_items, expected):
    """As many at a time as there are threads, and the last few with several each; results are in order."""
    with Threads(n_threads) as threads:
        results = threads.share_out(lambda item, own: (item, own.count), range(n_items))
    assert results == list(enumerate(expected))


def test_the_calling_thread_takes_a_part_and_waits_for_the_others():
    done = []

    def work(first, last):
        if first > 0:
            time.sleep(0.05)
        done.append((first, last, threading.get_ident() == caller))
        if first == 0:
            raise ValueError("the first part failed")

    caller = threading.get_ident()
    with Threads(3) as threads, pytest.raises(ValueError, match="the first part failed"):
        threads.share(9, work)
    assert sorted(done) == [(0, 3, True), (3, 6, False), (6, 9, False)]


@pytest.mark.parametrize("ended_by", [KeyboardInterrupt, ValueError])
def test_nothing_goes_on_after_an_error_or_interrupt(ended_by):
    """What has not begun is left out, and what has is waited for, once it knows that it may give up."""
    begun, ended = [], []
    others_began, gave_up = threading.Event(), threading.Event()

    def work(number):
        begun.append(number)
        if number == 0:
            others_began.wait()
            raise ended_by("the first one failed")
        others_began.set()
        gave_up.wait()
        ended.append(number)

    with Threads(2) as threads:
        with pytest.raises(ended_by, match="the first one failed"):
            threads.map(work, range(50), give_up=gave_up.set)
        assert sorted(begun)[:2] == [0, 1]
        assert len(begun) < 50
        assert sorted(ended) == sorted(begun)[1:]
