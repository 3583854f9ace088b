"""`pip install .` needs neither a C compiler nor Java, and what it installs works and costs nothing where it is not used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import LONG_ENOUGH_S

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]

_USE = """
import importlib.util, sys
import millstream, millstream.clients, millstream.streams
import pyarrow as pa
from millstream.records.arrow import from_arrow, to_arrow
assert millstream.__file__.startswith(sys.argv[1]), millstream.__file__
assert importlib.util.find_spec("millstream.records.walker_compiled") is None, "a compiler was found after all"
rows = pa.RecordBatch.from_pydict({"key": pa.array([b"k"], pa.binary()), "value": pa.array([b"v"], pa.binary())})
(encoded,) = from_arrow(rows)
print(to_arrow(encoded).column("value").to_pylist())
"""

_INTERPRETED = (
    "interpreted, several times slower than compiled; install Millstream from a wheel for this Python, "
    "or again where there is a C compiler (Debian: apt-get install gcc python3-dev)"
)

_SUITE = {
    "conftest.py": """
import sys
pytest_plugins = {plugins}

def pytest_sessionfinish(session):
    ours = [name for name in sys.modules if name.split(".")[0] == "millstream"]
    rewritten = [n for n in ours if type(sys.modules[n].__loader__).__name__ == "AssertionRewritingHook"]
    print("loaded", len(ours), "rewritten", rewritten)
""",
    "test_it.py": """
import millstream.broker.node.process, millstream.clients.producer.producer, millstream.streams

def test_it(request):
    if request.config.pluginmanager.has_plugin("millstream.testing.pytest_plugin"):
        broker = request.getfixturevalue("millstream_broker")
        assert millstream.__file__.startswith({installed!r}), millstream.__file__
        assert broker.is_running
""",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as pip installs it from a clone where no leaf can be compiled and mypy is missing.

    Its dependencies are those of the tests. Without any compiler: test_wheel.py.
    """
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    compiler, without_mypy = source / "cc", source / "without/mypyc"
    compiler.write_text("#!/bin/sh\ncase $* in *asked.c*) ;; *) exit 1 ;; esac\n")
    compiler.chmod(0o755)
    without_mypy.mkdir(parents=True)
    (without_mypy / "__init__.py").write_text("raise ImportError\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(target), "."],
        cwd=source, env={**os.environ, "CC": str(compiler), "CXX": "/bin/false", "PYTHONPATH": str(without_mypy.parent)},
        check=True, timeout=500,
    )  # fmt: skip
    return target


def environment(installed: Path) -> dict[str, str]:
    """Nothing on the PATH but what was installed: no Java, no compiler."""
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return {**kept, "PYTHONPATH": str(installed), "PATH": str(installed / "bin")}


def test_it_works_interpreted(installed: Path, tmp_path: Path) -> None:
    used = subprocess.run(
        [sys.executable, "-c", _USE, str(installed)],
        cwd=tmp_path, env=environment(installed), capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert used.returncode == 0, used.stderr
    assert used.stdout == "[b'v']\n"
    assert used.stderr == f"reading and writing Arrow batches: {_INTERPRETED}\n"


def test_the_version_says_that_it_is_interpreted(installed: Path, tmp_path: Path) -> None:
    used = subprocess.run(
        ["millstream", "--version"],
        cwd=tmp_path, env=environment(installed), capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert used.stdout == f"millstream, version 0.1.0\n{_INTERPRETED}\n"


def test_the_command_explains_itself(installed: Path, tmp_path: Path) -> None:
    used = subprocess.run(
        ["millstream", "--help"],
        cwd=tmp_path, env=environment(installed), capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert used.returncode == 0, used.stderr
    assert "Start a node." in used.stdout


def test_the_command_starts_a_server(installed: Path, tmp_path: Path) -> None:
    with (tmp_path / "said").open("w") as said, subprocess.Popen(
        ["millstream", "server", "--port", "0", "--ephemeral"],
        cwd=tmp_path, env=environment(installed), stdout=subprocess.PIPE, stderr=said, text=True,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        ready = server.stdout.readline()
        server.terminate()
        assert server.wait(LONG_ENOUGH_S) == 0
    assert ready.startswith("millstream ready bootstrap=127.0.0.1:")
    assert f"\n  speed       {_INTERPRETED}\n" in (tmp_path / "said").read_text()


@pytest.mark.parametrize(
    ("plugins", "rewritten"),
    [
        pytest.param([], [], id="without_the_fixtures"),
        pytest.param(
            ["millstream.testing.pytest_plugin"], ["millstream.testing.pytest_plugin"], id="with_the_fixtures"
        ),
    ],
)  # fmt: skip
def test_pytest_rewrites_the_assertions_of_the_plugin_alone(
    installed: Path, tmp_path: Path, plugins: list[str], rewritten: list[str]
) -> None:
    """Every module of a distribution with an entry point of pytest would be parsed and compiled anew: seconds."""
    for name, source in _SUITE.items():
        text = source.format(plugins=plugins, installed=str(installed))
        (tmp_path / name).write_text(text)
    used = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s"],
        cwd=tmp_path, env=environment(installed), capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert used.returncode == 0, used.stdout + used.stderr
    counted = re.search(r"loaded (\d+) rewritten (.*)", used.stdout)
    assert counted is not None, used.stdout
    assert int(counted[1]) > 300, "the suite was to load the broker and the clients"
    assert counted[2] == str(rewritten)
