"""Kill this process at a given point of a fit, so that it leaves nothing but its log."""

import os
import signal
from contextlib import contextmanager
from unittest import mock


@contextmanager
def killed_at(owner, name, count, *, returned):
    """Kill this process when a function of an object is called for the `count`-th time, or has `returned` so often."""
    original, calls = getattr(owner, name), []

    def deadly(*arguments, **options):
        calls.append(1)
        if len(calls) == count and not returned:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **options)
        if len(calls) == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    with mock.patch.object(owner, name, deadly):
        yield
