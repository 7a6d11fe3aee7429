"""The mutants that the script makes, and the list of those that are equivalent."""

import ast
import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("resource")  # not on Windows


def script():
    spec = importlib.util.spec_from_file_location("mutate", ROOT / "tools" / "mutate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutate"] = module  # where its dataclass looks up hints
    spec.loader.exec_module(module)
    return module


mutate = script()


def changes(text):
    """The changes of a file of some text, each checked to be Python that differs in one place."""
    content = text.encode()
    mutants = mutate.mutants_of("file.py", content)
    for mutant in mutants:
        changed = mutant.applied(content)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(content)), mutant
        assert changed.startswith(content[: mutant.start])
        assert changed.endswith(content[mutant.end :])
    return [mutant.change for mutant in mutants]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["a < b → a <= b", "a < b → a >= b"]),
        (
            "a is None and b in c",
            [
                "a is None → a is not None",
                "a is None and b in c → a is None or b in c",
                "b in c → b not in c",
            ],
        ),
        ("a == b != c", ["a == b != c → a != b != c", "a == b != c → a == b == c"]),
        ("a + b * c", ["a + b * c → a - b * c", "b * c → b / c"]),
        ("a -= -b", ["a -= -b → a += -b", "-b → b"]),
        ("min(a, key=b)", ["min(a, key=b) → max(a, key=b)"]),
        ("a.argmax(axis=b)", ["a.argmax(axis=b) → a.argmin(axis=b)"]),
        ("f(2)", ["2 → -2", "2 → 1", "2 → 3"]),
        ("f(0, True)", ["0 → 1", "True → False"]),
        ("f(1e300)", ["1e+300 → -1e+300"]),
        ("f(0.5)", ["0.5 → -0.5", "0.5 → 1.5"]),
        ("a[1:].b(1)", ["1 → 0", "1 → 0 (number 2 of the line)", "1 → 2", "1 → 2 (number 2 of the line)"]),
        ("x = a if b else c", ["b → not b"]),
        ("if not f(a):\n    g()", ["not f(a) → f(a)"]),
    ],
)
def test_changes_of_one_line(text, expected):
    assert sorted(changes(text)) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        '"""A text of 3 words."""',
        "def f(a: Literal[1] | None) -> Array[2]: ...",
        "@dataclass(frozen=True)\nclass A: ...",
        "for a in b:\n    raise ValueError(f'{a + 1}')",
        "if TYPE_CHECKING:\n    from a import b",
        "A: TypeAlias = B | C",
        "isinstance(a, B | C)",
        "a = 'b' + c",
    ],
)
def test_what_computes_nothing_is_not_changed(text):
    assert changes(text) == []


def test_places_are_those_of_bytes_on_lines_with_other_letters():
    assert changes("ε = 'α' if a else min(β, γ)\nδ = ε < 1") != []


def test_a_sample_is_the_same_for_the_same_seed():
    first, again, other = (mutate.drawn("bandits", 3, seed, "", None) for seed in (0, 0, 1))
    assert first == again != other
    assert {mutant.file for mutant in first} <= set(mutate.PACKAGES["bandits"][0])
    assert all(mutant.file == "bandits/ucb.py" for mutant in mutate.drawn("bandits", 3, 0, "ucb", None))
    keys = {first[0].key, first[4].key}
    assert {mutant.key for mutant in mutate.drawn("bandits", 0, 0, "", keys)} == keys


@pytest.mark.parametrize("package", mutate.PACKAGES)
def test_files_and_tests_of_each_package_are_there(package):
    files, tests = mutate.PACKAGES[package]
    assert all((ROOT / "src" / "fuselearn" / file).is_file() for file in files)
    assert all((ROOT / "tests" / test).exists() for test in tests)


def test_every_equivalent_mutant_has_a_file_a_change_and_a_reason():
    equivalent = mutate.equivalent_mutants(mutate.EQUIVALENT.read_text(encoding="utf-8"))
    files = {file for listed, _ in mutate.PACKAGES.values() for file in listed}
    for (file, _, change), reason in equivalent.items():
        assert file in files
        assert " → " in change
        assert len(reason) > 20


def test_entries_of_lines_that_are_gone_are_listed():
    equivalent = mutate.equivalent_mutants("bandits/ucb.py\n    no = such + line\n    1 → 2\n    For no reason.\n")
    gone = [("bandits/ucb.py", "no = such + line", "1 → 2")]
    assert mutate.gone_from_the_code(equivalent, ["bandits"]) == gone
    assert mutate.gone_from_the_code(equivalent, ["kernels"]) == []


def test_survivors_are_those_of_the_last_outcome(tmp_path):
    [first, second] = mutate.mutants_of("file.py", b"a == b != c")
    outcomes = [(first, "survived"), (second, "survived"), (first, "killed")]
    lines = [json.dumps({"outcome": outcome, **asdict(mutant)}) for mutant, outcome in outcomes]
    (tmp_path / "outcomes").write_text("\n".join(lines), encoding="utf-8")
    assert mutate.survivors_of(tmp_path / "outcomes") == {second.key}


def test_the_score_leaves_equivalent_mutants_out():
    counts = {"a": {"killed": 7, "timed out": 2, "survived": 1, "equivalent": 5}}
    assert mutate.table_of(counts).splitlines()[2] == "| a | 15 | 7 | 2 | 1 | 5 | 90 % |"
