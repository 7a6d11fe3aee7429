"""Run all benchmarks and print their figures as Markdown.

Usage: ``python -m benchmarks [--quick] [--write] [--mumbo-python PATH]``
"""

import subprocess
import sys
from pathlib import Path

from benchmarks.command_line import Options, parser
from benchmarks.machine import description
from benchmarks.tables import section
from fuselearn.evaluation.result_table import wrap_markdown

SCRIPTS = (
    "per_round",
    "early_exit",
    "bandit",
    "scaling",
    "memory",
    "threads",
    "out_of_core",
    "dask_cluster",
    "cluster_scaling",
    "gradient",
    "gradient_predict",
    "gradient_views",
    "gradient_partitions",
    "trees",
    "peers",
    "kernels",
    "multilabel",
    "label_consensus",
    "features",
    "fusion",
    "fusion --calibration",
    "fusion --not_looked_at",
    "fusion --growth",
    "fusion --large",
    "fusion --protocols",
    "fusion --missing",
    "fusion --few",
    "fusion --beyond dask",
    "fusion --beyond parquet",
    "gpu",
    "gradient_gpu",
    "fusion --beyond gpu",
)
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def run(script, options):
    """Run a script, given with its own options, in a new process; return its Markdown, and whether it succeeded.

    A new process inherits neither the memory nor the caches of another script.
    """
    name, *own_options = script.split()
    command = [sys.executable, "-m", f"benchmarks.{name}", *own_options, *options.as_arguments()]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=README.parents[1])
    if finished.returncode:
        return section(script, f"**Failed** with exit status {finished.returncode}."), False
    return finished.stdout.strip(), True


def replace_figures(text, figures):
    """Return `text` with everything between the two markers replaced."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{README.name} must hold {BEGIN!r} and {END!r} once each.")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{figures}\n\n{END}{after}"


def main():
    """Run everything; the exit status is 1 if a script failed."""
    command_line = parser(__doc__.splitlines()[0])
    command_line.add_argument("--write", action="store_true", help=f"replace the figures in benchmarks/{README.name}")
    arguments = command_line.parse_args()
    options = Options(arguments.quick, arguments.mumbo_python)
    sections, all_succeeded = [wrap_markdown(description())], True
    print(sections[0], flush=True)
    for script in SCRIPTS:
        markdown, succeeded = run(script, options)
        sections.append(markdown)
        all_succeeded &= succeeded
        print(f"\n{markdown}", flush=True)
    if arguments.write:
        README.write_text(replace_figures(README.read_text(encoding="utf-8"), "\n\n".join(sections)), encoding="utf-8")
    return 0 if all_succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
