"""Run benchmarks and print their figures as Markdown, each with its command, commit and machine.

Usage: ``python -m benchmarks [NAME ...] [--quick] [--write] [--resume] [--keep FOLDER]
[--mumbo-python PATH]``
"""

import re
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.command_line import Options, parser, progress
from benchmarks.machine import commit, description
from benchmarks.tables import section
from fuselearn.evaluation.result_table import wrap_markdown

SCRIPTS = (
    "per_round",
    "early_exit",
    "bandit",
    "scaling",
    "memory",
    "threads",
    "trees",
    "peers",
    "gradient",
    "gradient_predict",
    "gradient_views",
    "gradient_partitions",
    "kernels",
    "multilabel",
    "label_consensus",
    "features",
    "prediction_sets",
    "acquisition",
    "regression",
    "regression --coverage",
    "fusion",
    "fusion --calibration",
    "fusion --not_looked_at",
    "fusion --missing",
    "fusion --protocols",
    "fusion --few",
    "fusion --large",
    "fusion --growth",
    "fusion --beyond dask",
    "fusion --beyond parquet",
    "out_of_core",
    "joined_files",
    "dask_cluster",
    "cluster_scaling",
    "serving",
    "cold_start",
)
GPU_SCRIPTS = ("gpu", "gradient_gpu", "fusion --beyond gpu")
"""Run only where they are named: on a machine that has a GPU."""
KEEPING = (
    "prediction_sets",
    "acquisition",
    "fusion",
    "fusion --not_looked_at",
    "fusion --missing",
    "fusion --few",
    "fusion --large",
    "fusion --growth",
)
"""Scripts of many fits, which keep those that are finished where they are told to."""
README = Path(__file__).with_name("README.md")
END = "<!-- end -->"


def begin(script):
    """Return the marker that a script's section in the README begins with."""
    return f"<!-- python -m benchmarks.{script} -->"


def run(script, options, keep=None):
    """Run a script, given with its own options, in a new process; return its Markdown, or None where it failed.

    A new process inherits neither the memory nor the caches of another script. Finished fits are kept in the folder
    `keep`, where one is given.
    """
    name, *own_options = script.split()
    if keep is not None and script in KEEPING:
        own_options += ["--keep", str(Path(keep).resolve() / f"{script.replace(' --', '_')}.jsonl")]
    command = [sys.executable, "-m", f"benchmarks.{name}", *own_options, *options.as_arguments()]
    measured_at, start = commit(), time.perf_counter()
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=README.parents[1])
    if finished.returncode:
        return None
    origin = (
        f"`python -m benchmarks.{script}`: commit {measured_at}, {time.perf_counter() - start:,.0f} s. {description()}"
    )
    return f"{finished.stdout.strip()}\n\n{wrap_markdown(origin)}"


def replace_section(text, script, markdown):
    """Return the README's text with the section of a script replaced; what stands around it is left alone."""
    pattern = re.compile(f"{re.escape(begin(script))}\n.*?{re.escape(END)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"{README.name} must hold {begin(script)!r} and {END!r} after it, once.")
    return pattern.sub(lambda _: f"{begin(script)}\n\n{markdown}\n\n{END}", text)


def has_section(text, script, measured_at):
    """Return whether the README's section of a script was measured at a commit."""
    return f"`python -m benchmarks.{script}`: commit {measured_at}, " in " ".join(text.split())


def main():
    """Run what is asked for; the exit status is 1 if a script failed."""
    command_line = parser(__doc__.splitlines()[0])
    command_line.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="scripts, such as: per_round 'fusion --large' (default: all without GPU)",
    )
    command_line.add_argument(
        "--write", action="store_true", help=f"replace their sections in benchmarks/{README.name}"
    )
    command_line.add_argument("--resume", action="store_true", help="leave out those that it has of this commit")
    command_line.add_argument("--keep", metavar="FOLDER", help="keep finished fits in files there, and go on from them")
    arguments = command_line.parse_args()
    unknown = sorted(set(arguments.names) - {*SCRIPTS, *GPU_SCRIPTS})
    if unknown:
        command_line.error(f"no such script: {', '.join(unknown)}; there are {', '.join((*SCRIPTS, *GPU_SCRIPTS))}")
    options, all_succeeded = Options(arguments.quick, arguments.mumbo_python), True
    for script in arguments.names or SCRIPTS:
        if arguments.resume and has_section(README.read_text(encoding="utf-8"), script, commit()):
            continue
        progress(f"python -m benchmarks.{script}")
        markdown = run(script, options, arguments.keep)
        all_succeeded &= markdown is not None
        print(f"\n{markdown or section(script, '**Failed**: see its messages.')}", flush=True)
        if arguments.write and markdown is not None:
            # Read anew: another run may have written its own sections meanwhile.
            text = README.read_text(encoding="utf-8")
            README.write_text(replace_section(text, script, markdown), encoding="utf-8")
    return 0 if all_succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
