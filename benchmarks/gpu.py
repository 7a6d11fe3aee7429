"""Cost of a round on a GPU, against reading the data there; of MSSBoost's candidates, and of kernels.

Usage: ``python -m benchmarks.gpu [--quick]``
"""

import platform
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

from benchmarks.command_line import progress, run_script
from benchmarks.machine import cpu_model, n_cores
from benchmarks.tables import at_most, markdown_table, milliseconds, number, quick_note, section
from fuselearn import ShareBoostClassifier
from fuselearn.bandits.best import Best
from fuselearn.bandits.protocol import PolicyState
from fuselearn.kernels import composite_kernel
from fuselearn.learners import Tree
from fuselearn.numeric.pairs import squared_distances
from fuselearn.numeric.threads import SERIAL

LEARNERS = {"naive Bayes": "gaussian_nb", "stump": "stump", "tree of depth 3": Tree(3, impurity_tolerance=0.05)}
LEARNING_RATE = 0.1
"""Small steps keep an edge for all rounds; see `per_round`."""
N_VIEWS, N_COLUMNS, N_CLUSTERS = 3, 100, 8
WARM_UP = 2
"""Rounds before the first that counts: views are prepared and kernels compiled in the first."""


@dataclass(frozen=True)
class Stopwatch(Best):
    """A policy that tries all arms, and notes when each round begins.

    Attributes
    ----------
    marks : list of float
    """

    marks: list = field(default_factory=list, compare=False)

    def start(self, n_arms, horizon, seed):
        return _NotingState(list(range(n_arms)), self.marks)


class _NotingState(PolicyState):
    def __init__(self, arms, marks):
        self._arms, self._marks = arms, marks

    def pull(self):
        self._marks.append(time.perf_counter())
        return self._arms


def rounds_of_fit(X, y, views, learner, n_rounds):
    """Return the median seconds of a round, those of the first, and the fitted model.

    A round ends with a transfer, so the clock waits for the GPU.
    """
    watch = Stopwatch()
    model = ShareBoostClassifier(
        learner,
        views=views,
        n_estimators=n_rounds + WARM_UP + 1,
        view_policy=watch,
        learning_rate=LEARNING_RATE,
        n_jobs=-1,
        random_state=0,
    )
    start = time.perf_counter()
    model.fit(X, y)
    first = watch.marks[1] - start
    return float(np.median(np.diff(watch.marks)[WARM_UP:])), first, model


def clustered(cupy, n_rows):
    """Draw rows like those of `data.clustered_views`, in single precision, on the GPU."""
    draw = cupy.random.RandomState(0)
    centres = cupy.asarray(
        0.25 * np.random.default_rng(0).normal(size=(2, N_CLUSTERS, N_VIEWS * N_COLUMNS)), dtype=cupy.float32
    )
    y = draw.randint(0, 2, n_rows)
    X = draw.standard_normal((n_rows, N_VIEWS * N_COLUMNS), dtype=cupy.float32)
    cluster = draw.randint(0, N_CLUSTERS, n_rows)
    for start in range(0, n_rows, 500_000):
        rows = slice(start, start + 500_000)
        X[rows] += centres[y[rows], cluster[rows]]
    flipped = draw.random_sample(n_rows) < 0.1
    return X, cupy.where(flipped, 1 - y, y)


def median_seconds(cupy, work, repeats=10):
    """Return the median time of some work on the GPU, by its own clock."""
    work()
    events = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        work()
        end.record()
        events.append((begin, end))
    cupy.cuda.Device().synchronize()
    return float(np.median([cupy.cuda.get_elapsed_time(*pair) for pair in events])) / 1e3


def copy_bandwidth(cupy, X):
    """Return the bytes read and written a second when a large array is copied on the GPU."""
    source = X[: max(1, len(X) // 4)]
    target = cupy.empty_like(source)
    return 2 * source.nbytes / median_seconds(cupy, lambda: cupy.copyto(target, source))


def boosting(cupy, options):
    """Time rounds of every learner with CuPy and torch, and on the processor."""
    n_rows, n_rounds = (40_000, 3) if options.quick else (4_000_000, 20)
    views = {f"view{v}": slice(v * N_COLUMNS, (v + 1) * N_COLUMNS) for v in range(N_VIEWS)}
    X, y = clustered(cupy, n_rows)
    bandwidth = copy_bandwidth(cupy, X)
    two_passes = 2 * X.nbytes / bandwidth
    rows, fused = [], {}
    for name, learner in LEARNERS.items():
        progress(f"gpu: {name}")
        seconds, first, model = rounds_of_fit(X, y, views, learner, n_rounds)
        again, first_again, second = rounds_of_fit(X, y, views, learner, n_rounds)
        same = np.array_equal(model.estimator_weights_, second.estimator_weights_)
        fused[name] = model
        seconds, first = min(seconds, again), min(first, first_again)  # the first fit compiles
        verdict = at_most(seconds / two_passes, 2) if name == "naive Bayes" else number(seconds / two_passes)
        rows.append((f"{name}, CuPy", milliseconds(seconds), number(first), verdict, "yes" if same else "**no**"))
        cupy.get_default_memory_pool().free_all_blocks()
    if find_spec("torch") is not None:
        import torch

        progress("gpu: torch")
        X_torch, y_torch = torch.from_dlpack(X), torch.from_dlpack(y)
        seconds, first, model = rounds_of_fit(X_torch, y_torch, views, "gaussian_nb", n_rounds)
        same = np.array_equal(model.estimator_weights_, fused["naive Bayes"].estimator_weights_)
        cells = milliseconds(seconds), number(first), number(seconds / two_passes), "yes" if same else "**no**"
        rows.append(("naive Bayes, torch", *cells))
    X_host, y_host = cupy.asnumpy(X), cupy.asnumpy(y)
    del X, y
    cupy.get_default_memory_pool().free_all_blocks()
    for name in ("naive Bayes", "stump"):
        progress(f"gpu: {name} on the processor")
        seconds, first, model = rounds_of_fit(X_host, y_host, views, LEARNERS[name], max(2, n_rounds // 4))
        other, n = fused[name], len(model.winning_arms_)
        difference = np.abs(model.estimator_weights_ - other.estimator_weights_[:n]).max()
        agrees = np.array_equal(model.winning_arms_, other.winning_arms_[:n]) and difference < 1e-4
        agreement = f"{'same winners' if agrees else '**other winners**'}, α within {difference:.0e}"
        rows.append((f"{name}, {n_cores()} CPU cores", milliseconds(seconds), number(first), "", agreement))
    return (
        f"ShareBoost, {n_rows:,} rows, {N_VIEWS} views of {N_COLUMNS} columns, float32, two classes. A copy on the GPU "
        f"moves {bandwidth / 1e12:.2f} TB/s, so two passes over the table take {milliseconds(two_passes)} ms. A round "
        "is the median of the rounds of a fit after the first two; the first also reads and prepares the table. "
        "The last column shows whether a second fit (torch: CuPy's) has the same votes, bit for bit, and how far the "
        "processor's model is from the GPU's.",
        markdown_table(("fit", "ms a round", "first round, s", "round / two passes", "same model"), rows),
    )


def candidates(cupy, options):
    """Time MSSBoost's evaluation of all candidates for all labels."""
    from fuselearn.backends.gpu.arrays import arrays_of
    from fuselearn.backends.gpu.gpu_pool import GpuJointLoss, GpuPool
    from fuselearn.multilabel.pool import JointLoss, Pool
    from fuselearn.multilabel.subspace_models import Candidate

    progress("gpu: candidates")
    n_candidates, n_labels, n_rows = (12, 9, 20_000) if options.quick else (200, 200, 100_000)
    generator = np.random.default_rng(0)
    hidden = generator.normal(size=(8, n_rows))
    signs = np.where(generator.normal(size=(n_labels, 8)) @ hidden > 0, 1, -1).astype(np.int8)

    def drawn(count):
        outputs = np.tanh(generator.normal(size=(count, 8)) @ hidden + generator.normal(size=(count, n_rows)))
        return [Candidate(None, None, place % n_labels, row) for place, row in enumerate(outputs)]

    pool_candidates, earlier = drawn(n_candidates), drawn(5)
    joint = GpuJointLoss(signs, arrays_of(cupy.zeros(1)))
    for candidate in earlier:  # not at the start, where all margins are 0
        joint.add(4 * generator.normal(size=n_labels), candidate.outputs)
    pool = GpuPool(joint, pool_candidates, significance=1.0, shared=True)

    def evaluate():
        start = time.perf_counter()
        pool.labels_changed(np.arange(n_labels))  # the products of the Newton steps, anew for all labels
        evaluated = pool.evaluate()
        return time.perf_counter() - start, evaluated

    evaluate()
    times = [evaluate()[0] for _ in range(5)]
    weights, losses = evaluate()[1]
    again = evaluate()[1][1]
    # The processor's loops on a few candidates, with the same margins.
    few = pool_candidates[:4]
    local = JointLoss(signs)
    local.margins[:] = cupy.asnumpy(joint.margins)
    local.add(np.full(n_labels, 1e-300), np.zeros(n_rows))
    local_pool = Pool(local, few, significance=1.0, shared=True, prune=False)
    newton = local_pool._slopes / local_pool._curvatures
    local_pool._evaluate(0, newton[0], SERIAL)  # compiles the loop
    start = time.perf_counter()
    compared = [local_pool._evaluate(slot, newton[slot], SERIAL) for slot in range(len(few))]
    cpu_seconds = (time.perf_counter() - start) / len(few) * n_candidates
    loss_difference = max(abs(total / losses[slot].sum() - 1) for slot, (total, _) in enumerate(compared))
    weight_difference = max(np.abs(w - weights[slot]).max() for slot, (_, w) in enumerate(compared))
    halved = float(np.mean(weights != pool._slopes / pool._curvatures))
    seconds = float(np.median(times))
    target = at_most(1e3 * seconds, 60)
    return (
        f"MSSBoost, {n_candidates} candidates × {n_labels} labels × {n_rows:,} rows, in double precision: Newton "
        "steps, exact joint losses and halved steps of all pairs.",
        markdown_table(
            ("", "ms", "verdict"),
            [
                ("GPU", milliseconds(seconds), target),
                ("one CPU core, from 4 candidates", milliseconds(cpu_seconds), ""),
            ],
        ),
        f"{100 * halved:.1f} % of the steps were halved. Joint losses are within {loss_difference:.0e} of the "
        f"processor's, weights within {weight_difference:.0e}; a second evaluation is "
        f"{'the same, bit for bit' if np.array_equal(losses, again) else '**not the same**'}.",
    )


def kernels(cupy, options):
    """Time squared kernel distances and a composite kernel, on the GPU and on the processor."""
    from fuselearn.backends.gpu.kernel_matrices import squared_distances as gpu_distances

    progress("gpu: kernels")
    n_objects = 500 if options.quick else 8_000
    generator = np.random.default_rng(0)
    grams = []
    for _ in range(N_VIEWS):
        points = generator.normal(size=(n_objects, 20))
        grams.append(points @ points.T)
    meta_objects = generator.integers(n_objects, size=(n_objects, N_VIEWS))
    on_gpu = [cupy.asarray(gram) for gram in grams]
    works = {
        "squared distances": (lambda: gpu_distances(on_gpu[0]), lambda: squared_distances(grams[0])),
        "composite kernel": (lambda: composite_kernel(on_gpu, meta_objects), None),
    }
    rows = []
    for name, (gpu_work, cpu_work) in works.items():
        seconds = median_seconds(cupy, gpu_work, 5)
        if cpu_work is None:
            from fuselearn.kernels.composition import sum_over_views

            places = [(column, column) for column in meta_objects.T]
            start = time.perf_counter()
            on_cpu = sum_over_views(grams, places, np.ones(N_VIEWS))
        else:
            start = time.perf_counter()
            on_cpu = cpu_work()
        cpu_seconds = time.perf_counter() - start
        difference = float(np.abs(cupy.asnumpy(gpu_work()) - on_cpu).max())
        rows.append((name, milliseconds(seconds), milliseconds(cpu_seconds), f"{difference:.0e}"))
    return (
        f"Kernels of {n_objects:,} objects in {N_VIEWS} views, {n_objects:,} meta-objects, in double precision; the "
        "GPU's time for the composite kernel is with its checks, the processor's without.",
        markdown_table(("", "GPU, ms", "CPU, ms", "largest difference"), rows),
    )


def report(options):
    """Return the section of the report, as Markdown."""
    if find_spec("cupy") is None:
        return section("On a GPU", "Left out: CuPy is not installed (`pip install 'fuselearn[cuda]'`).")
    import cupy

    try:
        properties = cupy.cuda.runtime.getDeviceProperties(0)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return section("On a GPU", f"Left out: no GPU is found ({error}).")
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "numba"))
    torch = f", torch {version('torch')}" if find_spec("torch") is not None else ""
    machine = (
        f"{properties['name'].decode()}, {cpu_model()}, {n_cores()} cores, Python {platform.python_version()}; "
        f"CuPy {cupy.__version__}{torch}, {packages}."
    )
    parts = [part for measure in (boosting, candidates, kernels) for part in measure(cupy, options)]
    return section("On a GPU", machine, *parts, *quick_note(options))


if __name__ == "__main__":
    run_script(report, __doc__)
