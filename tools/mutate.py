"""Change one operator or constant at a time, and see whether the tests of its package notice.

    python tools/mutate.py [PACKAGE ...] [--sample N] [--seed S] [--jobs J] [--file PART]
                           [--output FILE] [--again FILE] [--list]

A mutant is a file of the package with one change: another comparison, arithmetic or boolean operator, a constant plus
or minus 1 or with the other sign, a condition negated, `min` for `max`. `--sample` of them are drawn from each file
(`--sample 0`: all). The quick tests that `PACKAGES` names run on each, up to the first that fails: the mutant is killed
then. It is timed out, which counts as killed, where they take several times their usual time. What survives is listed;
it needs a test, or an entry in `equivalent_mutants.txt` that says why no test could tell it from the original.

The sources are copied once, and the mutated module is loaded in place of its original by a finder of modules. So numba
keeps what it compiled of all others, and only the mutated file is compiled again, with those that import from it and
hold compiled loops. Each mutant runs in a fork of this process, which has imported the libraries before: this needs a
system that can fork.
"""

import argparse
import ast
import contextlib
import fcntl
import hashlib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")

PACKAGES: dict[str, tuple[list[str], list[str]]] = {
    "boosting": (
        ["boosting/rounds.py", "boosting/bounds.py", "boosting/vote_prediction.py", "numeric/votes.py"],
        [
            "numeric/test_votes.py",
            "numeric/test_settled_votes.py",
            "boosting/test_round_formulas.py",
            "boosting/test_exponential_loss.py",
            "boosting/test_boosting_oracle.py",
            "boosting/test_perfect_hypotheses.py",
            "boosting/test_bounds.py",
            "boosting/test_margins.py",
            "boosting/test_base.py",
            "boosting/test_early_exit.py",
            "boosting/test_views_and_labels.py",
            "boosting/test_warm_start.py",
            "boosting/test_checkpoint.py",
        ],
    ),
    "bandits": (
        [f"bandits/{name}.py" for name in ("best", "exp3p", "protocol", "round_robin", "ucb", "uniform")],
        ["bandits", "boosting/test_boosting_oracle.py"],
    ),
    "kernels": (
        ["kernels/correspondence.py", "kernels/meta_objects.py", "numeric/correspondence_loops.py"],
        [
            "numeric/test_correspondence_loops.py",
            "kernels/test_meta_objects.py",
            "kernels/test_matching_input.py",
            "kernels/test_correspondence_walk.py",
            *(
                f"kernels/test_{name}.py"
                for name in ("correspondence", "kernels", "kernel_options", "kernels_bad_input")
            ),
        ],
    ),
    "multilabel": (
        ["multilabel/pool.py", "multilabel/mssboost.py", "multilabel/theorems.py"],
        [
            f"multilabel/test_{name}.py"
            for name in ("pool", "multilabel_oracle", "theorems", "ensembles", "multilabel_rounding")
        ],
    ),
    "calibration": (
        ["classifiers/calibration.py", "fusion/calibration_and_scores.py", "fusion/importances_of_views.py"],
        [
            "classifiers/test_calibration_optima.py",
            "classifiers/test_newton_steps.py",
            "classifiers/test_softmax_derivatives.py",
            "fusion/test_calibration_evidence.py",
            "fusion/test_fitted_patterns.py",
            "fusion/test_scores_of_arms.py",
            "classifiers/test_calibration.py",
            "fusion/test_pattern_calibration.py",
            "fusion/test_assessment.py",
            "fusion/test_class_weight.py",
            "fusion/test_fusion_classifier.py",
        ],
    ),
    "consensus": (
        ["consensus/expectation_maximisation.py"],
        [
            "consensus/test_agreement_limits.py",
            "consensus/test_expectation_maximisation.py",
            "consensus/test_label_consensus.py",
        ],
    ),
    "gradient": (
        [
            "boosting/gradient/growth.py",
            "boosting/gradient/splitting.py",
            "boosting/gradient/open_leaves.py",
            "boosting/gradient/losses.py",
            "numeric/whole_tree.py",
        ],
        [
            "numeric/test_whole_tree.py",
            "boosting/gradient/test_losses.py",
            "boosting/gradient/test_growth.py",
            "boosting/gradient/test_split_finder.py",
            "boosting/gradient/test_splitting.py",
            "boosting/gradient/test_open_leaves.py",
            "boosting/gradient/test_against_naive.py",
            "boosting/gradient/test_naive_oracle.py",
            "boosting/gradient/test_estimators.py",
            "boosting/gradient/test_scales.py",
        ],
    ),
    "persistence": (
        [f"persistence/{name}.py" for name in ("container", "validation", "foreign_checks", "object_tree")],
        [
            "persistence/test_archive_limits.py",
            "persistence/test_header.py",
            "persistence/test_attribute_checks.py",
            "persistence/test_declared_types.py",
            "persistence/test_tree_limits.py",
            "persistence/test_written_nodes.py",
            "persistence/test_foreign_arrays.py",
            "persistence/test_foreign_estimators.py",
            "persistence/test_limits.py",
            "persistence/test_foreign_checks.py",
            "persistence/test_container.py",
            "persistence/test_checks.py",
            "persistence/test_object_tree.py",
            "persistence/test_model_file.py",
            "persistence/test_foreign_tree.py",
            "persistence/test_recorded_models.py",
            "persistence/test_proportion.py",
            "persistence/test_attacks.py",
        ],
    ),
}
"""Files of each package, below `src/fuselearn`, and the tests that are to notice their mutants, below `tests`."""

PRELOADED = ("numpy", "scipy", "sklearn", "numba", "pandas", "skops.io", "pytest")
"""Imported before the forks, so that each test run need not."""
COMPARISONS: dict[type, list[type]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {
    first: second
    for pair in (("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"))
    for first, second in (pair, pair[::-1])
}
MEANINGS = {"killed": "killed", "timed out": "killed", "survived": "survived", "equivalent": "equivalent"}


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes
    ----------
    file : str
        The file, below `src/fuselearn`.
    line : int
        Number of the line where the change begins.
    text : str
        That line, without the space around it.
    change : str
        What is written now and what instead, as ``a < b → a <= b``.
    start, end : int
        The bytes of the file that are replaced.
    replacement : str
        What is written there.
    """

    file: str
    line: int
    text: str
    change: str
    start: int
    end: int
    replacement: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what `equivalent_mutants.txt` knows it by."""
        return self.file, self.text, self.change

    def applied(self, content: bytes) -> bytes:
        """Return the content of the file with the change."""
        return content[: self.start] + self.replacement.encode() + content[self.end :]


def mutants_of(file: str, content: bytes) -> list[Mutant]:
    """Return all mutants of a file, in the order of their places."""
    lines = content.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    mutants = []
    for node, replacement in _changes(ast.parse(content)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        written, instead = ast.unparse(node), ast.unparse(replacement)
        there = f"({instead})" if isinstance(node, ast.expr) else instead
        text = lines[node.lineno - 1].decode().strip()
        mutants.append(Mutant(file, node.lineno, text, f"{written} → {instead}", start, end, there))
    # Of 0.5, less 1 is the other sign.
    ordered = sorted(dict.fromkeys(mutants), key=lambda mutant: (mutant.start, mutant.end, mutant.change))
    seen: Counter[tuple[int, str]] = Counter()
    for place, mutant in enumerate(ordered):
        seen[mutant.line, mutant.change] += 1
        if (number := seen[mutant.line, mutant.change]) > 1:
            ordered[place] = replace(mutant, change=f"{mutant.change} (number {number} of the line)")
    return ordered


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """Yield nodes of a tree, each with one that may stand in its place."""
    for node in _computing(tree):
        match node:
            case ast.Compare(left, ops, comparators):
                for place, op in enumerate(ops):
                    for other in COMPARISONS.get(type(op), []):
                        changed = [*ops[:place], other(), *ops[place + 1 :]]
                        yield node, ast.Compare(left, changed, comparators)
            case ast.BoolOp(op, values):
                yield node, ast.BoolOp(OPERATORS[type(op)](), values)
            case ast.BinOp(left, op, right) if type(op) in OPERATORS and not _is_text(left) and not _is_text(right):
                yield node, ast.BinOp(left, OPERATORS[type(op)](), right)
            case ast.AugAssign(target, op, value) if type(op) in OPERATORS:
                yield node, ast.AugAssign(target, OPERATORS[type(op)](), value)
            case ast.UnaryOp(ast.Not() | ast.USub(), operand):
                yield node, operand
            case ast.If(test) | ast.IfExp(test) | ast.While(test):
                if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
                    yield test, ast.UnaryOp(ast.Not(), test)
            case ast.Constant(bool() as value):
                yield node, ast.Constant(not value)
            case ast.Constant(int() | float() as value):
                if value + 1 != value:
                    yield node, ast.Constant(value + 1)
                if value and value - 1 != value:
                    yield node, ast.Constant(value - 1)
                if value not in (0, 1):
                    yield node, ast.UnaryOp(ast.USub(), ast.Constant(value))
            case ast.Call(ast.Name(name), arguments, keywords) if name in NAMES:
                yield node, ast.Call(ast.Name(NAMES[name]), arguments, keywords)
            case ast.Call(ast.Attribute(value, name), arguments, keywords) if name in NAMES:
                yield node, ast.Call(ast.Attribute(value, NAMES[name]), arguments, keywords)


def _computing(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree that compute something: no type hints, decorators, messages or imports for hints."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "cast", "TypeVar", "isinstance"):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _computing(child)


def _is_text(node: ast.expr) -> bool:
    """Return whether a node is written as text."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def equivalent_mutants(text: str) -> dict[tuple[str, str, str], str]:
    """Return the reason of each entry: blocks of the file, the line, the change, and why no test could notice it."""
    blocks = (block.splitlines() for block in re.split(r"\n\s*\n", text) if not block.lstrip().startswith("#"))
    return {(lines[0].strip(), lines[1].strip(), lines[2].strip()): " ".join(lines[3:]) for lines in blocks if lines}


def gone_from_the_code(
    equivalent: Iterable[tuple[str, str, str]], packages: Iterable[str]
) -> list[tuple[str, str, str]]:
    """Return the entries of files of some packages that are no mutants of the code any more."""
    files = {file for package in packages for file in PACKAGES[package][0]}
    known = {mutant.key for file in files for mutant in mutants_of(file, (SOURCE / "fuselearn" / file).read_bytes())}
    return [key for key in equivalent if key[0] in files and key not in known]


def drawn(package: str, sample: int, seed: int, part: str, among: set[tuple[str, str, str]] | None) -> list[Mutant]:
    """Return a sample of the mutants of each file of a package, the same for the same seed."""
    chosen = []
    for file in PACKAGES[package][0]:
        mutants = mutants_of(file, (SOURCE / "fuselearn" / file).read_bytes())
        if among is not None:
            mutants = [mutant for mutant in mutants if mutant.key in among]
        generator = random.Random(f"{seed} {file}")
        if part in file:
            chosen += mutants if not sample else generator.sample(mutants, min(sample, len(mutants)))
    return chosen


def survivors_of(path: Path) -> set[tuple[str, str, str]]:
    """Return the keys of the mutants that survived the last time, of the outcomes in a file."""
    outcomes = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        outcomes[told["file"], told["text"], told["change"]] = told["outcome"]
    return {key for key, outcome in outcomes.items() if outcome == "survived"}


class Laboratory:
    """Where mutants are tested: a copy of the sources, caches of numba, and the files of each mutant.

    Parameters
    ----------
    folder : Path
        A folder of its own. What numba compiled there serves later runs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources, self.finder = folder / "sources", folder / "finder"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit(f"Another run uses {folder}: wait for it, or set TMPDIR to another folder.") from None
        for old in (self.sources, folder / "mutants"):
            shutil.rmtree(old, ignore_errors=True)
        # With the times of the originals, by which numba knows what it compiled.
        shutil.copytree(SOURCE, self.sources, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        self.finder.mkdir(parents=True, exist_ok=True)
        (self.finder / "sitecustomize.py").write_text(FINDER, encoding="utf-8")
        os.environ.update(
            # Reading or writing past the end of an array is an error, which compiled loops would not notice otherwise.
            NUMBA_BOUNDSCHECK="1",
            NUMBA_CACHE_DIR=str(folder / "numba"),
            PYTHONPATH=os.pathsep.join([str(self.finder), str(self.sources)]),
            **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")},
        )
        sys.path[:0] = [str(self.finder), str(self.sources), str(ROOT)]
        for name in PRELOADED:
            importlib.import_module(name)
        self.texts = {
            path.relative_to(self.sources).with_suffix("").as_posix().replace("/", "."): path.read_text(
                encoding="utf-8"
            )
            for path in self.sources.rglob("*.py")
        }

    def replaced(self, number: int, mutant: Mutant) -> dict[str, str]:
        """Write the mutated file, and return the files to load in place of modules, by their names.

        Compiled loops hold what their module imported when they were compiled. So modules that have such loops and
        import from the mutated one are compiled again as well, from copies in places that numba does not know.
        """
        folder = self.folder / "mutants" / f"m{number}"
        folder.mkdir(parents=True)
        original = self.sources / "fuselearn" / mutant.file
        name = f"fuselearn.{mutant.file.removesuffix('.py').replace('/', '.')}"
        path = folder / original.name
        path.write_bytes(mutant.applied(original.read_bytes()))
        files = {name: str(path)}
        for other, text in self.texts.items():
            if f"from {name} import" in text and "@compiled" in text:
                copied = folder / f"{other}.py"
                copied.write_text(text, encoding="utf-8")
                files[other] = str(copied)
        return files

    def start(self, number: int, mutant: Mutant | None, tests: list[str], limit: float) -> int:
        """Run tests in a fork of this process, with a mutant or without, and return its id."""
        files = {} if mutant is None else self.replaced(number, mutant)
        log = self.folder / f"log{number}.txt"
        sys.stdout.flush()
        process = os.fork()
        if process:
            return process
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 10))
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.environ["FUSELEARN_MUTANT"] = json.dumps(files)
            sys.dont_write_bytecode = bool(files)
            exec(FINDER, {})
            os.chdir(ROOT)
            import pytest

            options = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb=line", "--no-header"]
            options += ["-o", "addopts=--import-mode=importlib -m 'not long'"]
            options += ["--basetemp", str(self.folder / f"tmp{number}")]
            code = int(pytest.main([*options, *(str(ROOT / "tests" / test) for test in tests)]))
            sys.stdout.flush()
        except BaseException as error:  # whatever it is, this fork must not go on as the script
            print(f"{type(error).__name__}: {error}", flush=True)
            code = 1
        os._exit(code)

    def clean(self, number: int) -> None:
        """Remove what a mutant left."""
        shutil.rmtree(self.folder / "mutants" / f"m{number}", ignore_errors=True)
        shutil.rmtree(self.folder / f"tmp{number}", ignore_errors=True)
        (self.folder / f"log{number}.txt").unlink(missing_ok=True)
        for cache in (self.folder / "numba").glob(f"m{number}_*"):
            shutil.rmtree(cache, ignore_errors=True)

    def usual_seconds(self, tests: list[str]) -> float:
        """Run tests without a mutant, twice, so that all loops are compiled; return the processor time."""
        for _ in range(2):
            process = self.start(0, None, tests, 3600)
            _, status, usage = os.wait4(process, 0)
            if status:
                raise SystemExit((self.folder / "log0.txt").read_text() + "\nThe tests fail without a mutant.")
        self.clean(0)
        return usage.ru_utime + usage.ru_stime

    def outcomes(
        self, mutants: list[Mutant], tests: list[str], limit: float, jobs: int
    ) -> Iterator[tuple[Mutant, str]]:
        """Test mutants, some at a time, and yield each with what became of it."""
        waiting = list(enumerate(mutants, 1))[::-1]
        running: dict[int, tuple[int, Mutant, float]] = {}
        while waiting or running:
            while waiting and len(running) < jobs:
                number, mutant = waiting.pop()
                running[self.start(number, mutant, tests, limit)] = number, mutant, time.monotonic()
            time.sleep(0.1)
            for process, (number, mutant, begun) in list(running.items()):
                ended, status = os.waitpid(process, os.WNOHANG)
                late = not ended and time.monotonic() - begun > 10 * limit
                if not ended and not late:
                    continue
                with contextlib.suppress(ProcessLookupError):  # with what its tests started
                    os.killpg(process, signal.SIGKILL)
                if late:
                    os.waitpid(process, 0)
                del running[process]
                self.clean(number)
                if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
                    yield mutant, "timed out"
                else:
                    yield mutant, "survived" if status == 0 else "killed"


FINDER = """
import importlib.util, json, os, sys

class Finder:
    files = json.loads(os.environ.get("FUSELEARN_MUTANT", "{}"))

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, cls.files[name]) if name in cls.files else None

sys.meta_path.insert(0, Finder)
"""
"""What loads files in place of modules, also in processes that tests start."""


def table_of(counts: dict[str, dict[str, int]]) -> str:
    """Return the outcomes by package as a table."""
    rows = ["| package | mutants | killed | timed out | survived | equivalent | score |", "|---|" + "---:|" * 6]
    total = {outcome: sum(count[outcome] for count in counts.values()) for outcome in MEANINGS}
    for name, count in [*counts.items(), ("all", total)]:
        n_killed, n_told = count["killed"] + count["timed out"], sum(count.values()) - count["equivalent"]
        score = f"{100 * n_killed / n_told:.0f} %" if n_told else "–"
        cells = [name, sum(count.values()), *(count[outcome] for outcome in MEANINGS), score]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def main() -> None:
    """Draw mutants, test them, and print the table and what survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(PACKAGES)}; default: all")
    parser.add_argument("--sample", type=int, default=8, help="mutants of each file; 0 for all (default: 8)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (default: 1)")
    parser.add_argument("--file", default="", help="only files whose names hold this")
    parser.add_argument("--output", type=Path, help="file to which each outcome is added, as a line of JSON")
    parser.add_argument("--again", type=Path, help="only what survived by such a file, all of it")
    parser.add_argument("--list", action="store_true", help="list the mutants, and test nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.packages) - set(PACKAGES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; packages are {', '.join(PACKAGES)}")
    equivalent = equivalent_mutants(EQUIVALENT.read_text(encoding="utf-8"))
    for file, text, change in gone_from_the_code(equivalent, arguments.packages or PACKAGES):
        print(f"{EQUIVALENT.name}: no longer in {file}: {text}: {change}", file=sys.stderr)
    among = survivors_of(arguments.again) if arguments.again else None
    sample = 0 if arguments.again else arguments.sample
    chosen = {
        package: drawn(package, sample, arguments.seed, arguments.file, among)
        for package in arguments.packages or PACKAGES
    }
    chosen = {package: mutants for package, mutants in chosen.items() if mutants}
    if arguments.list:
        for package, mutants in chosen.items():
            for mutant in mutants:
                known = "  (equivalent)" if mutant.key in equivalent else ""
                print(f"{package}  {mutant.file}:{mutant.line}  {mutant.change}{known}")
        return
    checkout = hashlib.sha1(str(ROOT).encode()).hexdigest()[:8]
    laboratory = Laboratory(Path(tempfile.gettempdir()) / f"fuselearn_mutants_{checkout}")
    counts: dict[str, dict[str, int]] = {}
    survivors = []
    for package, mutants in chosen.items():
        tests = PACKAGES[package][1]
        counts[package] = dict.fromkeys(MEANINGS, 0)
        counts[package]["equivalent"] = sum(mutant.key in equivalent for mutant in mutants)
        if not (told := [mutant for mutant in mutants if mutant.key not in equivalent]):
            continue
        seconds = laboratory.usual_seconds(tests)
        print(f"{package}: {len(told)} mutants, tests take {seconds:.0f} s", flush=True)
        for mutant, outcome in laboratory.outcomes(told, tests, 10 + 3 * seconds, arguments.jobs):
            counts[package][outcome] += 1
            survivors += [mutant] if outcome == "survived" else []
            print(f"  {outcome:9}  {mutant.file}:{mutant.line}  {mutant.change}", flush=True)
            if arguments.output:
                with arguments.output.open("a", encoding="utf-8") as file:
                    line = {"package": package, "outcome": outcome, **asdict(mutant)}
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print("\n" + table_of(counts))
    if survivors:
        print("\nSurvived:")
        for mutant in survivors:
            print(f"\n{mutant.file}:{mutant.line}\n    {mutant.text}\n    {mutant.change}")


if __name__ == "__main__":
    main()
