"""Files of models, loaded in processes of their own that may be killed by them, or never end."""

import json
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

SECONDS = 60
"""A file that takes longer hangs; the slowest takes a second or two."""


def watched(tasks: list[dict], rows: Path, n_workers: int = 2, seconds: float = SECONDS) -> list[dict]:
    """Load files, and predict with them, in processes that are watched.

    Parameters
    ----------
    tasks : list of dict
        For each file: `path`, `trusted`, `rows` (name of a table in the folder of rows) and `predict`.
    rows : Path
        Folder of tables, and of a list of genuine files that each process loads first.
    n_workers : int, default=2
        Processes.
    seconds : float, default=SECONDS
        Time after which a file hangs.

    Returns
    -------
    list of dict
        What the process told of each file, in the order of the tasks: `outcome`, `events`, `methods`, `errors`,
        `seconds`; of one that killed it, or hung, the outcome is that.
    """
    results: dict[str, dict] = {}
    shares = [tasks[worker::n_workers] for worker in range(n_workers)]
    threads = [threading.Thread(target=_watch, args=(share, rows, seconds, results)) for share in shares if share]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[task["path"]] for task in tasks]


def _watch(tasks, rows, seconds, results):
    """Pass files to a process one by one; start another where one is killed or hangs."""
    waiting = list(tasks)
    while waiting:
        script = Path(__file__).with_name("watched_loads.py")
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(script), str(rows)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        lines: queue.Queue = queue.Queue()
        errors: list[str] = []
        readers = [
            threading.Thread(target=lambda stream=process.stdout, put=lines.put: [*map(put, stream), put(None)]),
            threading.Thread(target=lambda stream=process.stderr, told=errors: told.extend(stream)),
        ]
        for reader in readers:
            reader.start()
        while waiting:
            task = waiting.pop(0)
            told = _ask(process, lines, task, seconds)
            if told is not None:
                results[task["path"]] = told
                continue
            try:
                process.wait(20)  # one that is killed takes a moment to end
                hangs = False
            except subprocess.TimeoutExpired:
                process.kill()
                hangs = True
            process.wait()
            for reader in readers:
                reader.join()
            outcome = "hangs" if hangs else f"killed by {-process.returncode}"
            results[task["path"]] = {
                "outcome": outcome,
                "events": [],
                "methods": [],
                "errors": errors[-40:],
                "seconds": seconds,
            }
            break
        else:
            process.stdin.close()
            process.wait()
            for reader in readers:
                reader.join()
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):
                stream.close()


_START = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def _ask(process, lines, task, seconds):
    """Return what a process tells of a file; None where it was killed or hangs."""
    try:
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        first = True
        while True:
            # Starting, and the first call of each compiled loop, may take longer.
            line = lines.get(timeout=seconds + 300 * first)
            first = False
            if line is None:
                return None
            told = json.loads(line)
            if "ends" in told:
                return told
    except (queue.Empty, BrokenPipeError, OSError):
        return None
