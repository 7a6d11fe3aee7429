"""The barrier at which threads in compiled loops wait for each other, and those who never come."""

import signal
import threading
import time

import numpy as np
import pytest

from fuselearn.numeric.barrier import ARRIVED, BARRIER_SIZE, GENERATION, STOPPED, all_arrive, atomic_add
from fuselearn.numeric.execution import compiled
from fuselearn.numeric.threads import Threads


@compiled()
def pass_on_loop(numbers, thread, n_threads, n_steps, barrier):
    # In each step, each thread reads what its neighbour wrote in the last one.
    for step in range(n_steps):
        neighbour = numbers[step % 2, (thread + 1) % n_threads]
        numbers[(step + 1) % 2, thread] = neighbour + 1
        all_arrive(barrier, n_threads)


@compiled()
def count_loop(numbers, n_times):
    for _ in range(n_times):
        atomic_add(numbers, 0, 1)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_nobody_goes_on_before_all_have_arrived(n_threads):
    n_steps = 500
    numbers = np.zeros((2, n_threads), dtype=np.int64)
    numbers[0] = 10 * np.arange(n_threads)
    with Threads(n_threads) as threads:
        threads.together(lambda thread, barrier: pass_on_loop(numbers, thread, n_threads, n_steps, barrier))
    expected = numbers[n_steps % 2] - n_steps
    np.testing.assert_array_equal(expected, 10 * ((np.arange(n_threads) + n_steps) % n_threads))


def test_additions_of_several_threads_are_not_lost():
    numbers = np.zeros(1, dtype=np.int64)
    with Threads(4) as threads:
        threads.map(lambda _: count_loop(numbers, 20_000), range(8))
    assert numbers[0] == 160_000


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_who_waits_for_a_thread_that_fails_gives_up(failing):
    """The error is that of the thread that failed, and the threads can be used again."""
    numbers = np.zeros((2, 3), dtype=np.int64)

    def work(thread, barrier):
        if thread == failing:
            raise MemoryError(f"no memory for thread {thread}")
        pass_on_loop(numbers, thread, 3, 5, barrier)

    with Threads(3) as threads:
        with pytest.raises(MemoryError, match=f"thread {failing}"):
            threads.together(work)
        threads.together(lambda thread, barrier: pass_on_loop(numbers, thread, 3, 5, barrier))


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of threads need POSIX")
def test_an_interrupt_leaves_nobody_waiting():
    """One that comes before the calling thread has arrived; the others have."""
    numbers = np.zeros((2, 2), dtype=np.int64)
    pass_on_loop(numbers, 0, 1, 1, np.zeros(24, dtype=np.int64))
    arrived = threading.Event()

    def work(thread, barrier):
        if thread == 0:
            arrived.wait()
            signal.raise_signal(signal.SIGINT)
            time.sleep(10)  # the interrupt ends it
        else:
            arrived.set()
            pass_on_loop(numbers, thread, 2, 5, barrier)

    with Threads(2) as threads, pytest.raises(KeyboardInterrupt):
        threads.together(work)


@pytest.mark.parametrize("n_arrived", [0, 1, 2])
def test_nobody_passes_once_a_thread_has_given_up(n_arrived):
    """Not even the last one to arrive, which would let the others go on without the one that is missing."""
    barrier = np.zeros(BARRIER_SIZE, dtype=np.int64)
    barrier[ARRIVED], barrier[STOPPED] = n_arrived, 1
    assert not all_arrive(barrier, 3)
    assert barrier[GENERATION] == 0
    assert all_arrive(barrier, 1)


def test_stand_ins_are_for_compiled_loops():
    with pytest.raises(TypeError, match="atomic_add is for compiled loops only"):
        atomic_add(np.zeros(1, dtype=np.int64), 0, 1)
