"""Time to match objects of different views, and to learn the weights of kernels.

Usage: ``python -m benchmarks.kernels [--quick]``

The growth is measured on one thread. Peak memory comes from a process of its own
(``python -m benchmarks.kernels --measure 2000``), since the high-water mark of a process only rises.
"""

import json
import subprocess
import sys
import time

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.command_line import progress, run_script
from benchmarks.memory import extra_memory
from benchmarks.tables import at_most, markdown_table, milliseconds, number, quick_note, section
from benchmarks.timing import best_times, exponent
from fuselearn import MKLClassifier
from fuselearn.kernels import tomographic_correspondence
from tests.naive import tomographic as plain_python

MOST_SECONDS, MOST_BYTES = 3.0, 2**30
"""For 2,000 objects a view."""


def unmatched_kernels(n_objects, known_share=0.0, seed=0):
    """Draw two views of two classes in ten dimensions each: kernel matrices, labels and known matches."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_objects) % 2
    shapes = (np.ones(10), np.linspace(0.2, 2.0, 10))
    points = [shape * rng.normal(size=(n_objects, 10)) + labels[:, None] for shape in shapes]
    matched = np.arange(int(known_share * n_objects))
    return [p @ p.T for p in points], [labels, labels], np.column_stack([matched, matched])


def correspondence_report(options):
    """Return the section on time and memory of matching, and their growth, as Markdown."""
    sizes = (100, 200, 400) if options.quick else (500, 1000, 2000, 4000)
    largest = sizes[-1] if options.quick else 2000
    seconds = {}
    for size in sizes:
        progress(f"kernels: matching {size} objects")
        kernels, labels, _ = unmatched_kernels(size)
        work = {"match": lambda k=kernels, y=labels: tomographic_correspondence(k, y, random_state=0)}
        seconds[size] = best_times(work, repeats=3)["match"].seconds
    rows = [
        (f"{size:,}", milliseconds(duration), number(1e9 * duration / (size**2 * np.log2(size))))
        for size, duration in seconds.items()
    ]
    kernels, labels, known = unmatched_kernels(largest, known_share=0.9)
    progress("kernels: with known matches")
    start = time.process_time()
    tomographic_correspondence(kernels, labels, known=known, random_state=0)
    with_known = time.process_time() - start
    progress("kernels: memory")
    memory = measure_in_new_process(largest)
    return section(
        "Matching objects of two views",
        "Two views of so many different objects, two classes, default settings, one thread.",
        markdown_table(("objects a view", "ms", "ns / (n² log₂ n)"), rows),
        f"Time grows as n^{exponent(list(seconds), list(seconds.values())):.2f}; n² log n between the same ends is "
        f"n^{exponent(list(seconds), [n**2 * np.log(n) for n in seconds]):.2f}. The check that a kernel is positive "
        "semi-definite is a Cholesky factorisation, of n³: it dominates at the largest sizes.",
        f"Seconds for {largest:,} objects: {at_most(seconds[largest], MOST_SECONDS)}; with 90 % known matches "
        f"{number(with_known)} s. Memory beyond the kernels: {number(memory / 2**20)} MiB, in GiB "
        f"{at_most(memory / MOST_BYTES, 1.0)}.",
        *quick_note(options),
    )


def plain_python_report(options):
    """Return the section on matching against Algorithm 1 in plain Python, as Markdown."""
    sizes = (40, 80) if options.quick else (60, 120, 240)
    rows, ratios = [], []
    for size in sizes:
        progress(f"kernels: plain Python, {size} objects")
        kernels, labels, _ = unmatched_kernels(size)
        works = {
            "fast": lambda k=kernels, y=labels: tomographic_correspondence(k, y, random_state=0),
            "plain": lambda k=kernels, y=labels: plain_python.correspondence(k, y, seed=0),
        }
        times = best_times(works, repeats=2)
        ratios.append(times["plain"].seconds / times["fast"].seconds)
        rows.append(
            (f"{size}", milliseconds(times["fast"].seconds), milliseconds(times["plain"].seconds), number(ratios[-1]))
        )
    return section(
        "Matching against plain Python",
        "Algorithm 1 as the tests write it out, in loops, and ours; the results are the same.",
        markdown_table(("objects a view", "ours, ms", "plain Python, ms", "ratio"), rows),
        *quick_note(options),
    )


def mkl_report(options):
    """Return the section on learning the weights of six kernels, against a mean kernel and a conic solver."""
    n_rows, n_small = (300, 100) if options.quick else (2000, 400)
    rows = []
    for size, peers in ((n_small, ("uniform", "mkl", "sdp")), (n_rows, ("uniform", "mkl"))):
        X, y, views = noisy_views(size)
        train, test = slice(0, size), slice(size, None)
        baseline = None
        for weights in peers:
            progress(f"kernels: {weights} weights, {size} rows")
            model = MKLClassifier(views=views, weights=weights)
            work = {"fit": lambda m=model, rows=X[train], labels=y[train]: m.fit(rows, labels)}
            times = best_times(work, repeats=1 if weights == "sdp" else 2)
            baseline = baseline or times["fit"].seconds
            rows.append(
                (
                    f"{size:,} rows, {weights}",
                    number(times["fit"].seconds),
                    number(times["fit"].seconds / baseline),
                    f"{model.objective_:.3f}",
                    f"{model.score(X[test], y[test]):.3f}",
                )
            )
        gram = sum(rbf_kernel(X[train, view]) for view in views.values())
        svc = best_times({"fit": lambda g=gram, t=y[train]: SVC(kernel="precomputed").fit(g, t)}, repeats=2)["fit"]
        rows.append((f"{size:,} rows, scikit-learn's SVC on the sum", number(svc.seconds), "–", "–", "–"))
    return section(
        "Multiple kernel learning",
        "Six RBF kernels, of which the first two carry most of the classes and the last two nothing; kernel matrices "
        "included, one thread. The objective is what learnt weights minimise.",
        markdown_table(("", "fit, s", "× uniform", "objective", "accuracy on as many other rows"), rows),
        *quick_note(options),
    )


def noisy_views(n_rows, seed=0):
    """Draw six views of five columns that separate two classes less and less; twice `n_rows` rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=2 * n_rows)
    strengths = (0.6, 0.5, 0.3, 0.2, 0.0, 0.0)
    X = np.hstack([rng.normal(size=(2 * n_rows, 5)) + strength * y[:, None] for strength in strengths])
    return X, y, {f"view{number}": slice(5 * number, 5 * number + 5) for number in range(6)}


def measure(n_objects):
    """Match in this process and print, as JSON, the bytes that it took beyond what was in use."""
    kernels, labels, _ = unmatched_kernels(50)
    tomographic_correspondence(kernels, labels, random_state=0)
    kernels, labels, _ = unmatched_kernels(n_objects)
    print(json.dumps(extra_memory(lambda: tomographic_correspondence(kernels, labels, random_state=0))))


def measure_in_new_process(n_objects):
    """Call `measure` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.kernels", "--measure", str(n_objects)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def report(options):
    """Return the sections of the report, as Markdown."""
    with threadpool_limits(1):
        return "\n\n".join(part(options) for part in (correspondence_report, plain_python_report, mkl_report))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(int(sys.argv[2]))
    else:
        run_script(report, __doc__)
