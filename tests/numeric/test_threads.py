"""Threads that share out items or work together; what they do when some of them fail, or an interrupt comes."""

import _thread
import gc
import os
import sys
import threading
import time
import weakref
from contextlib import suppress

import numpy as np
import pytest

from fuselearn.numeric import threads as threads_module
from fuselearn.numeric.threads import Threads


@pytest.mark.parametrize(
    ("n_threads", "n_items", "expected"), [(2, 5, [1, 1, 1, 1, 2]), (5, 2, [2, 2]), (1, 3, [1, 1, 1])]
)
def test_items_share_out_the_threads(n_threads, n_items, expected):
    """As many at a time as there are threads, and the last few with several each; results are in order."""
    with Threads(n_threads) as threads:
        results = threads.share_out(lambda item, own: (item, own.count), range(n_items))
    assert results == list(enumerate(expected))


@pytest.mark.parametrize(("n_threads", "n_items"), [(3, 10), (3, 2), (1, 5), (4, 0)])
def test_parts_are_consecutive_and_each_is_done_once(n_threads, n_items):
    done = []
    with Threads(n_threads) as threads:
        threads.share(n_items, lambda first, last: done.append((first, last)))
    done.sort()
    assert [first for first, _ in done] == [0, *(last for _, last in done[:-1])]
    assert done[-1][1] == n_items
    assert len(done) == max(1, min(n_threads, n_items))
    assert max(last - first for first, last in done) - min(last - first for first, last in done) <= 1


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


def test_results_are_in_the_order_of_the_items():
    def work(number):
        time.sleep(0.002 * (number % 3))
        return number**2

    with Threads(4) as threads:
        assert threads.map(work, range(30)) == [number**2 for number in range(30)]
        assert threads.map(work, []) == []


def test_an_item_may_use_the_threads_itself():
    """Also when all of them are busy: who waits works, too."""
    with Threads(2) as threads:
        assert threads.map(lambda a: sum(threads.map(lambda b: a * b, range(4))), range(6)) == [6 * a for a in range(6)]


def test_two_callers_share_the_threads():
    with Threads(3) as threads, Threads(2) as callers:
        sums = callers.map(lambda first: sum(threads.map(lambda n: n, range(first, first + 100))), [0, 1000])
    assert sums == [sum(range(100)), sum(range(1000, 1100))]


def test_the_first_error_is_raised_and_an_interrupt_before_all():
    def work(number):
        raise {0: ValueError("one"), 1: TypeError("two"), 2: KeyboardInterrupt()}[number]

    for numbers, expected in (([1, 0], TypeError), ([0, 1], ValueError), ([0, 2], KeyboardInterrupt)):
        both_began = threading.Barrier(len(numbers))

        def failing(number, both_began=both_began):
            both_began.wait()
            work(number)

        with Threads(2) as threads, pytest.raises(expected):
            threads.map(failing, numbers)


@pytest.mark.parametrize("times", range(5))
def test_an_interrupt_while_work_is_handed_out_leaves_nothing_that_goes_on(times):
    """Other threads begin before the calling one has told all of them."""
    running = set()

    def work(number):
        running.add(number)
        try:
            if threading.current_thread() is not threading.main_thread():
                _thread.interrupt_main()
            time.sleep(0.01)
        finally:
            running.discard(number)

    threads = Threads(3)
    with pytest.raises(KeyboardInterrupt):
        threads.map(work, range(200))
    assert not running
    # They can be used again, all of them.
    together = threading.Barrier(3)
    threads.map(lambda _: together.wait(10), range(3))
    threads.__exit__()


def test_threads_are_started_once_and_end_with_the_statement():
    with Threads(3) as threads:
        names = set(threads.map(lambda _: time.sleep(0.005) or threading.current_thread(), range(30)))
        assert names == set(threads.map(lambda _: time.sleep(0.005) or threading.current_thread(), range(30)))
        assert len(names) == 3
    assert [thread for thread in names if thread.is_alive()] == [threading.current_thread()]
    with pytest.raises(RuntimeError, match="dismissed at the end"):
        threads.map(abs, [1, 2])


def test_threads_without_a_statement_end_when_nobody_can_use_them():
    threads = Threads(2)
    others = set(threads.map(lambda _: time.sleep(0.01) or threading.current_thread(), range(8)))
    others.discard(threading.current_thread())
    del threads
    gc.collect()
    assert others
    for thread in others:
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_threads_can_be_used_after_a_fork():
    threads = Threads(3)
    threads.map(abs, range(10))
    child = os.fork()
    if child == 0:
        try:
            together = threading.Barrier(3)
            threads.map(lambda _: together.wait(10), range(3))
            os._exit(0 if threads.map(abs, [-1, -2, -3]) == [1, 2, 3] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_error_keeps_no_arrays():
    class Held(np.ndarray):
        pass

    def failing():
        array = np.zeros(3).view(Held)

        def work(number):
            if number == 1:
                raise MemoryError("no memory")
            return array[number]

        return work, weakref.ref(array)

    work, held = failing()

    with Threads(2) as threads:
        with suppress(MemoryError):
            threads.map(work, range(4))
        del work
        for _ in range(1000):  # until the other thread has seen that there is nothing left to do
            gc.collect()
            if held() is None:
                break
            time.sleep(0.01)
        assert held() is None


def test_what_cannot_start_is_said_before_any_work(monkeypatch):
    class Refused(threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads_module.threading, "Thread", Refused)
    done = []
    threads = Threads(2)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        threads.map(done.append, range(4))
    assert done == []
    assert sys.exc_info() == (None, None, None)
