"""Gradient boosting on a GPU: a round against a pass over the bins there, and against this machine's cores.

Usage: ``python -m benchmarks.gradient_gpu [--quick]``
"""

import time
from collections import defaultdict
from importlib.util import find_spec

import numpy as np

from benchmarks.command_line import progress, run_script
from benchmarks.gpu import clustered, copy_bandwidth
from benchmarks.machine import cpu_model, n_cores
from benchmarks.tables import at_least, markdown_table, milliseconds, number, quick_note, section
from fuselearn import ShareGradientBoostingClassifier

WARM_UP = 2
"""Rounds before the first that counts: kernels are compiled, and memory is taken."""
SETTINGS = {"max_leaf_nodes": 31, "early_stopping": False, "random_state": 0}
LEAST_RATIO = 30
"""How many times faster than the cores a round is meant to be."""


class TimedClassifier(ShareGradientBoostingClassifier):
    """A classifier that notes when each round ends."""

    def fit(self, X, y, **arguments):
        """Fit the model; the marks are those of this fit."""
        self.marks = [time.perf_counter()]
        return super().fit(X, y, **arguments)

    def _report(self, trace, names):
        self.marks.append(time.perf_counter())

    def seconds(self):
        """Return the median time of a round, and that until the end of the first."""
        return float(np.median(np.diff(self.marks)[WARM_UP:])), self.marks[1] - self.marks[0]


class KernelTimes:
    """Notes how long each kernel runs, by the clock of the GPU."""

    def __init__(self, cupy):
        self._cupy = cupy
        self._events = defaultdict(list)

    def __enter__(self):
        from fuselearn.backends.gpu import gradient_kernels

        self._module, self._kernel = gradient_kernels, gradient_kernels.gradient_kernel
        gradient_kernels.gradient_kernel = self._timed
        return self

    def __exit__(self, *exception):
        self._module.gradient_kernel = self._kernel

    def _timed(self, name):
        return _TimedKernel(self._cupy, self._kernel(name), self._events[name])

    def milliseconds(self):
        """Return the time of all calls of each kernel, and how many they were."""
        self._cupy.cuda.Device().synchronize()
        return {
            name: (sum(self._cupy.cuda.get_elapsed_time(*pair) for pair in pairs), len(pairs))
            for name, pairs in self._events.items()
        }


class _TimedKernel:
    """A kernel, whose calls are timed."""

    def __init__(self, cupy, kernel, events):
        self.__dict__.update(cupy=cupy, kernel=kernel, events=events)

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def __setattr__(self, name, value):
        setattr(self.kernel, name, value)

    def __call__(self, *arguments, **options):
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record()
        self.kernel(*arguments, **options)
        end.record()
        self.events.append((begin, end))


def same_trees(there, here):
    """Say in how many of the nodes of both models the columns and cuts are the same."""
    if not np.array_equal(there.trees_.starts, here.trees_.starts):
        return "**trees of other sizes**"
    same = (there.trees_.column == here.trees_.column) & (there.trees_.cut_bin == here.trees_.cut_bin)
    difference = float(np.abs(there.trees_.value - here.trees_.value).max())
    n_same = f"all {len(same):,} nodes are" if same.all() else f"**only {np.mean(same):.1%} of the nodes are**"
    return f"{n_same} the same, values within {difference:.0e}"


def rounds(cupy, options):
    """Time rounds on the GPU and on the cores."""
    n_rows, n_rounds = (40_000, 3) if options.quick else (4_000_000, 10)
    progress("gradient_gpu: data")
    X, y = clustered(cupy, n_rows)
    bandwidth = copy_bandwidth(cupy, X)
    one_pass = X.size / bandwidth
    rows = []
    progress("gradient_gpu: CuPy")
    model = TimedClassifier(n_estimators=n_rounds + WARM_UP, **SETTINGS).fit(X, y)
    seconds, first = model.seconds()
    again = TimedClassifier(n_estimators=n_rounds + WARM_UP, **SETTINGS).fit(X, y)
    seconds, first = min(seconds, again.seconds()[0]), min(first, again.seconds()[1])
    same = np.array_equal(model.trees_.value, again.trees_.value)
    rows.append(("CuPy", milliseconds(seconds), number(first), number(seconds / one_pass), ""))
    progress("gradient_gpu: kernels")
    with KernelTimes(cupy) as kernels:
        TimedClassifier(n_estimators=n_rounds, **SETTINGS).fit(X, y)
    times = {name: time for name, time in kernels.milliseconds().items() if not name.startswith("fill_bins")}
    shares = [
        (name, number(total / n_rounds), number(count / n_rounds), f"{total / n_rounds / seconds / 1e3:.1%}")
        for name, (total, count) in sorted(times.items(), key=lambda item: -item[1][0])
    ]
    if find_spec("torch") is not None:
        import torch

        progress("gradient_gpu: torch")
        there = TimedClassifier(n_estimators=n_rounds, **SETTINGS).fit(torch.from_dlpack(X), torch.from_dlpack(y))
        torch_seconds, torch_first = there.seconds()
        cells = milliseconds(torch_seconds), number(torch_first), number(torch_seconds / one_pass), ""
        rows.append(("torch", *cells))
    progress("gradient_gpu: processor")
    X_host, y_host = cupy.asnumpy(X), cupy.asnumpy(y)
    few = min(n_rows, 200_000)
    small = ShareGradientBoostingClassifier(n_estimators=5, n_jobs=-1, **SETTINGS)
    small_here, small_there = small.fit(X_host[:few], y_host[:few]), None
    small_there = ShareGradientBoostingClassifier(n_estimators=5, **SETTINGS).fit(X[:few], y[:few])
    del X, y
    cupy.get_default_memory_pool().free_all_blocks()
    here = TimedClassifier(n_estimators=WARM_UP + 3, n_jobs=-1, **SETTINGS).fit(X_host, y_host)
    host_seconds, host_first = here.seconds()
    ratio = at_least(host_seconds / seconds, LEAST_RATIO)
    rows.append((f"{n_cores()} CPU cores", milliseconds(host_seconds), number(host_first), "", ratio))
    compared = TimedClassifier(n_estimators=here.n_iter_, **SETTINGS).fit(cupy.asarray(X_host), y_host)
    return (
        f"Gradient boosting, {n_rows:,} rows of {X_host.shape[1]} columns, float32, two classes, trees of "
        f"{SETTINGS['max_leaf_nodes']} leaves. A copy on the GPU moves {bandwidth / 1e12:.2f} TB/s, so one pass over "
        f"the bins takes {milliseconds(one_pass)} ms. A round is the median of the rounds of a fit after the first "
        f"{WARM_UP}; the first also reads and bins the table.",
        markdown_table(("fit", "ms a round", "first round, s", "round / pass", "times a round on the GPU"), rows),
        f"A second fit has {'the same values, bit for bit' if same else '**other values**'}. Against the processor: "
        f"{same_trees(compared, here)}; with {few:,} rows {same_trees(small_there, small_here)}.",
        markdown_table(("kernel", "ms a round", "calls a round", "share of a round"), shares),
    )


def report(options):
    """Return the section of the report, as Markdown."""
    title = "Gradient boosting on a GPU"
    if find_spec("cupy") is None:
        return section(title, "Left out: CuPy is not installed (`pip install 'fuselearn[cuda]'`).")
    import cupy

    try:
        properties = cupy.cuda.runtime.getDeviceProperties(0)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return section(title, f"Left out: no GPU is found ({error}).")
    machine = f"{properties['name'].decode()}, {cpu_model()}, {n_cores()} cores; CuPy {cupy.__version__}."
    return section(title, machine, *rounds(cupy, options), *quick_note(options))


if __name__ == "__main__":
    run_script(report, __doc__)
