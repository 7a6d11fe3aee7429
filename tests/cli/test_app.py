"""The command line as a whole: versions, help, usage, and what it needs."""

import json
import subprocess
import sys

import pytest

import fuselearn
from fuselearn import __version__
from tests.cli.command_line import run


def run_main(before, *arguments):
    """Run `main` in a process of its own, after some statements."""
    script = f"import sys; sys.argv[1:] = {list(arguments)}; {before}; from fuselearn.cli import main; main()"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_help_says_what_the_prediction_is():
    words = " ".join(run("predict", "--help").stdout.replace("│", " ").split())
    assert "The prediction is the most probable class; of a fusion fitted with --class-weight balanced" in words


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"fuselearn {__version__}\n"


def test_version_of_packages():
    told = json.loads(run("version", "--json").stdout)
    assert told["fuselearn"] == fuselearn.__version__
    assert told["scikit-learn"]
    assert f"fuselearn {fuselearn.__version__}" in run("version").stdout


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_imports_nothing_slow(arguments):
    tell = "import atexit; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))"
    result = run_main(tell, *arguments)
    assert result.returncode == 0
    assert "demo" in result.stdout
    imported = set(result.stderr.split())
    assert "fuselearn.cli" in imported
    assert imported.isdisjoint({"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib"})


def test_help_of_commands_imports_nothing_slow():
    script = (
        "import sys; from typer.testing import CliRunner; from fuselearn.cli.app import make_app\n"
        "for name in ['fit', 'predict', 'report', 'compare', 'inspect', 'version']:\n"
        "    assert CliRunner().invoke(make_app(), [name, '--help']).exit_code == 0\n"
        "print(*{'numpy', 'scipy', 'sklearn', 'numba', 'pyarrow', 'pandas', 'narwhals', 'skops'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


def test_starting_does_not_import_rich():
    script = "import sys, fuselearn.cli.app; print('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize(("package", "arguments"), [("typer", ["--help"]), ("rich", ["demo", "--rounds", "1"])])
def test_missing_extra_is_named_in_one_line(package, arguments):
    result = run_main(f"sys.modules[{package!r}] = None", *arguments)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "pip install 'fuselearn[app]'" in result.stderr
    assert package in result.stderr


def test_other_missing_packages_are_not_blamed_on_the_extra():
    result = run_main("sys.modules['fuselearn.cli.demo'] = None", "--help")
    assert result.returncode == 1
    assert "Traceback" in result.stderr


@pytest.mark.parametrize("arguments", [["demo", "--rounds", "many"], ["demo", "--speed", "3"], ["dem"]])
def test_unreadable_command_lines_are_usage_errors(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage" in result.stderr
    assert "Traceback" not in result.output
