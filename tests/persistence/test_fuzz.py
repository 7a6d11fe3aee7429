"""Files that were damaged or forged: each is refused in words, and nothing in them is run.

The files are loaded one after the other in a process of its own, which notes what Python's audit events say: processes,
sockets, code that is run, files that are written, modules that are imported.
"""

import json
import pickle
import subprocess
import sys

import pytest

from fuselearn.persistence.container import checksum, unpack
from tests.persistence.forged_models import Genuine, Trap, damaged, forged_archives, forged_arrays, forged_trees, value

WATCH = """
import json, pickle, resource, sys, warnings
from pathlib import Path
import fuselearn

folder, genuine = Path(sys.argv[1]), sys.argv[2]
warnings.simplefilter("ignore")
TRUSTED = ["sklearn.tree.DecisionTreeClassifier"]
ROWS = [[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]]
expected = fuselearn.load(genuine, trusted=TRUSTED).decision_function(ROWS).tolist()
events = []
NOTED = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.putenv", "os.remove", "os.rename",
         "os.mkdir", "os.rmdir", "os.chmod", "os.kill", "subprocess.", "socket.", "ctypes.", "pickle.",
         "marshal.", "exec", "import", "shutil.", "webbrowser.", "urllib.", "code.", "builtins.input", "glob.")

def note(event, arguments):
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        events.append("open " + str(arguments[0]))
    elif event.startswith(NOTED):
        events.append(event + " " + str(arguments[:1])[:80])

sys.addaudithook(note)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sorted(folder.iterdir()):
    del events[:]
    try:
        if path.suffix == ".pickle":
            pickle.loads(path.read_bytes())
        else:
            loaded = fuselearn.load(path, trusted=TRUSTED)
        outcome = "loaded" if path.suffix == ".fuse" else "unpickled"
        if outcome == "loaded":
            same = loaded.decision_function(ROWS).tolist() == expected
            outcome = "loaded the same" if same else "loaded another model"
    except (ValueError, OSError) as error:
        outcome = type(error).__name__ + ": " + str(error)
    except BaseException as error:
        outcome = "escaped: " + repr(error)
    print(json.dumps([path.name, outcome, list(events)]), flush=True)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps(["memory", grown, []]))
"""


@pytest.fixture(scope="module")
def genuine(tmp_path_factory):
    return Genuine(tmp_path_factory.mktemp("genuine") / "model.fuse")


def watched(files, genuine, folder):
    """What became of each file in a process that notes what it does: name to (outcome, events)."""
    suspects = folder / "suspects"
    suspects.mkdir()
    names = {}
    for number, (name, content) in enumerate(files):
        file = f"{number:05d}{'.pickle' if name == 'control' else '.fuse'}"
        (suspects / file).write_bytes(content)
        names[file] = name
    (folder / "genuine.fuse").write_bytes(genuine.content)
    command = [sys.executable, "-c", WATCH, str(suspects), str(folder / "genuine.fuse")]
    # The limit is there to end a run that hangs, many times what it takes.
    told = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert told.returncode == 0, told.stderr[-2000:]
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert len(lines) == len(names) + 1
    memory = lines.pop()[1]
    return {names[file]: (outcome, events) for file, outcome, events in lines}, memory


KINDS = {"damaged": damaged, "archives": forged_archives, "trees": forged_trees, "arrays": forged_arrays}
FEWER = {"damaged": {"n_flips": 20}, "trees": {"every": 24}}
"""Settings of a quick run."""


@pytest.fixture(scope="module")
def few_outcomes(genuine, tmp_path_factory):
    """Load files of all kinds, and some that are no forgeries, in one process."""
    files = [("control", pickle.dumps(Trap())), ("genuine", genuine.content)]
    files += [("same", genuine.forged(lambda schema, members: None)), ("harmless", genuine.with_node(value("1")))]
    for kind, make in KINDS.items():
        files += [(f"{kind}: {name}", content) for name, content in make(genuine, **FEWER.get(kind, {}))]
    return watched(files, genuine, tmp_path_factory.mktemp("few"))


def check_refused(kind, outcomes, memory):
    """Check that every file of a kind was refused in words, with nothing run and little memory used."""
    assert outcomes
    for name, (outcome, events) in outcomes.items():
        assert not [event for event in events if not event.startswith("import ('fuselearn")], (name, outcome)
        # A flipped bit may be one that means nothing, like the date of a member.
        harmless = kind == "damaged" and outcome == "loaded the same"
        assert harmless or outcome.startswith(("ValueError: ", "UntrustedTypeError: ")), (name, outcome)
        assert harmless or ".fuse was not loaded: " in outcome, (name, outcome)
        assert harmless or len(outcome) < 2000, name
    assert memory < 1_500_000 * (1024 if sys.platform == "darwin" else 1)  # kB: no bomb went off
    if kind == "damaged":
        assert sum("Error: " in outcome for outcome, _ in outcomes.values()) > 0.8 * len(outcomes)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="measures memory as POSIX does")
@pytest.mark.parametrize("kind", KINDS)
def test_bad_files_are_refused_and_nothing_is_run(kind, few_outcomes):
    outcomes, memory = few_outcomes
    check_refused(kind, {name: told for name, told in outcomes.items() if name.startswith(f"{kind}: ")}, memory)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="measures memory as POSIX does")
@pytest.mark.parametrize("kind", KINDS)
def test_all_bad_files_are_refused_and_nothing_is_run(kind, genuine, tmp_path):
    files = list(KINDS[kind](genuine))
    outcomes, memory = watched(files, genuine, tmp_path)
    assert len(outcomes) == len(files)
    check_refused(kind, outcomes, memory)


@pytest.mark.long
def test_the_watch_sees_a_pickle_run_code_and_passes_a_genuine_file(few_outcomes):
    outcome, events = few_outcomes[0]["control"]
    assert "No module named 'antigravity_of_the_trap'" in outcome
    assert any(event.startswith("pickle.find_class") for event in events)
    assert any(event.startswith("exec") for event in events)
    assert few_outcomes[0]["genuine"] == ("loaded the same", [])


@pytest.mark.long
def test_a_forgery_that_changes_nothing_loads(genuine, few_outcomes):
    same = genuine.forged(lambda schema, members: None)
    assert checksum(*unpack(same)) == unpack(same)[0]["checksum"]
    assert [few_outcomes[0][name][0] for name in ("same", "harmless")] == ["loaded the same"] * 2


def test_a_name_of_any_length_is_not_repeated_in_the_message(genuine):
    """The length of a member's name, in its own header, is damaged: zip then quotes all that follows."""
    content = bytearray(genuine.content)
    content[content.find(b"PK\x03\x04") + 27] ^= 16
    with pytest.raises(ValueError, match="damaged") as refused:
        unpack(bytes(content))
    assert len(str(refused.value)) < 400
