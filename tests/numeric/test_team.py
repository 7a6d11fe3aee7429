"""Steps of a task whose chunks go to whichever thread comes first, and threads that come late, fail or never come."""

import threading
import time

import numpy as np
import pytest

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.team import (
    DONE,
    ENDED,
    TEAM_SIZE,
    TICKET,
    all_done,
    atomic_add,
    finish_chunk,
    next_step,
    publish_step,
    take_chunk,
)
from fuselearn.numeric.threads import Threads

N_CHUNKS = 6


@compiled()
def do_chunk(numbers, step, chunk):
    # A step moves each number on by one place and adds the number of the step.
    numbers[(step + 1) % 2, (chunk + 1) % numbers.shape[1]] = numbers[step % 2, chunk] + step


@compiled()
def lead_loop(numbers, current, n_steps, team):
    n_chunks = numbers.shape[1]
    for step in range(n_steps):
        current[0] = step
        publish_step(team, n_chunks)
        chunk = take_chunk(team)
        while chunk >= 0:
            do_chunk(numbers, step, chunk)
            finish_chunk(team)
            chunk = take_chunk(team)
        if not all_done(team, n_chunks):
            return False
    return True


@compiled()
def help_loop(numbers, current, counts, team):
    step = next_step(team, 0)
    while step >= 0:
        chunk = take_chunk(team)
        while chunk >= 0:
            do_chunk(numbers, current[0], chunk)
            counts[0] += 1
            finish_chunk(team)
            chunk = take_chunk(team)
        step = next_step(team, step)


@compiled()
def count_loop(numbers, n_times):
    for _ in range(n_times):
        atomic_add(numbers, 0, 1)


def new_team():
    return np.zeros(TEAM_SIZE, dtype=np.int64)


def start():
    numbers = np.zeros((2, N_CHUNKS), dtype=np.int64)
    numbers[0] = 1000 * np.arange(N_CHUNKS)
    return numbers, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)


def expected(n_steps):
    return 1000 * ((np.arange(N_CHUNKS) - n_steps) % N_CHUNKS) + n_steps * (n_steps - 1) // 2


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_each_chunk_is_done_once_and_before_the_next_step(n_threads):
    n_steps = 2000
    numbers, current, counts = start()
    with Threads(n_threads) as threads:
        threads.lead(
            lambda team: lead_loop(numbers, current, n_steps, team),
            lambda team: help_loop(numbers, current, counts, team),
        )
    np.testing.assert_array_equal(numbers[n_steps % 2], expected(n_steps))


def test_others_help():
    numbers, current, counts = start()
    n_steps = 0
    with Threads(2) as threads:
        while counts[0] == 0:  # the other thread may take its time to come
            numbers, current, counts = start()
            n_steps = n_steps + 20_000
            threads.lead(
                lambda team: lead_loop(numbers, current, n_steps, team),  # noqa: B023
                lambda team: help_loop(numbers, current, counts, team),  # noqa: B023
            )
    np.testing.assert_array_equal(numbers[n_steps % 2], expected(n_steps))


def test_the_leader_waits_for_nobody_who_has_not_taken_a_chunk():
    numbers, current, _ = start()
    may_end = threading.Event()
    with Threads(2) as threads:
        threads.lead(lambda team: (lead_loop(numbers, current, 50, team), may_end.set()), lambda team: may_end.wait(10))
    assert may_end.is_set()
    np.testing.assert_array_equal(numbers[0], expected(50))


def test_a_late_ticket_is_none_of_the_next_step():
    team = new_team()
    publish_step(team, 2)
    assert [take_chunk(team) for _ in range(4)] == [0, 1, -1, -1]
    finish_chunk(team)
    finish_chunk(team)
    assert all_done(team, 2)
    publish_step(team, 3)
    assert team[DONE] == 0
    assert [take_chunk(team) for _ in range(4)] == [0, 1, 2, -1]
    assert next_step(team, 0) == next_step(team, 1) == 2


def test_a_task_that_has_ended_keeps_nobody():
    team = new_team()
    publish_step(team, 2)
    team[ENDED] = 1
    assert next_step(team, 0) == -1
    assert not all_done(team, 2)
    team[DONE] = 2
    assert all_done(team, 2)
    assert team[TICKET] > 0


def test_additions_of_several_threads_are_not_lost():
    numbers = np.zeros(1, dtype=np.int64)
    with Threads(4) as threads:
        threads.map(lambda _: count_loop(numbers, 20_000), range(8))
    assert numbers[0] == 160_000


def test_the_error_of_a_helper_is_raised_and_the_leader_ends():
    """Also where the leader waits for a chunk that the helper has taken; the threads can be used again."""
    numbers, current, counts = start()
    published, taken = threading.Event(), threading.Event()

    def work(team):
        publish_step(team, 2)
        published.set()
        taken.wait()
        assert take_chunk(team) == 1
        finish_chunk(team)
        assert not all_done(team, 2)

    def help_with(team):
        published.wait()
        assert take_chunk(team) == 0
        taken.set()
        raise MemoryError("no memory to help")

    with Threads(2) as threads:
        with pytest.raises(MemoryError, match="no memory to help"):
            threads.lead(work, help_with)
        threads.lead(
            lambda team: lead_loop(numbers, current, 7, team), lambda team: help_loop(numbers, current, counts, team)
        )
    np.testing.assert_array_equal(numbers[1], expected(7))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_of_the_leader_lets_the_others_go(error):
    numbers, current, counts = start()

    def work(team):
        publish_step(team, 0)
        time.sleep(0.01)
        raise error("before the next step")

    with Threads(3) as threads, pytest.raises(error, match="before the next step"):
        threads.lead(work, lambda team: help_loop(numbers, current, counts, team))


def test_stand_ins_are_for_compiled_loops():
    with pytest.raises(TypeError, match="atomic_add is for compiled loops only"):
        atomic_add(np.zeros(1, dtype=np.int64), 0, 1)
