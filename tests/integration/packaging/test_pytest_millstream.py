"""`pip install pytest-millstream` switches the fixtures on, and is nothing but that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.patience import LONG_ENOUGH_S

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "packaging/pytest-millstream"

_TEST = """
def test_orders(millstream_topic, millstream_blocking_producer):
    millstream_blocking_producer.send(millstream_topic, b"tea").result()
"""

_SAY_WHAT_IS_REWRITTEN = """
import sys

def pytest_sessionfinish(session):
    ours = [name for name in sys.modules if name.split(".")[0] == "millstream"]
    print("rewritten", [n for n in ours if type(sys.modules[n].__loader__).__name__ == "AssertionRewritingHook"])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("plug-in")
    shutil.copytree(SOURCE, directory / "source")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", directory / "built", "."],
        cwd=directory / "source", check=True, timeout=LONG_ENOUGH_S,
    )  # fmt: skip
    (built,) = (directory / "built").iterdir()
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the plug-in. What it depends on is taken from the tests' own."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home)
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", home / "bin/python", "install", "--quiet", "--no-index", "--no-deps", str(wheel)],
        check=True, timeout=LONG_ENOUGH_S,
    )  # fmt: skip
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{ROOT / 'src'}\n{sysconfig.get_path('purelib')}\n")
    return home / "bin/python"


def run(
    python: Path, directory: Path, conftest: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    (directory / "test_orders.py").write_text(_TEST)
    (directory / "conftest.py").write_text(conftest)
    return subprocess.run(
        [str(python), "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *arguments],
        cwd=directory, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip


def test_a_suite_has_the_fixtures_without_a_line_of_its_own(python: Path, tmp_path: Path) -> None:
    """The modules of ours that pytest parses anew are none: the distribution with the entry point has none."""
    used = run(python, tmp_path, _SAY_WHAT_IS_REWRITTEN)
    assert used.returncode == 0, used.stdout + used.stderr
    assert "1 passed" in used.stdout
    assert "rewritten []" in used.stdout


def test_a_suite_that_asks_for_them_as_well_has_them_once(python: Path, tmp_path: Path) -> None:
    used = run(
        python, tmp_path, 'pytest_plugins = ["millstream.testing.pytest_plugin"]\n', "--setup-plan"
    )
    assert used.returncode == 0, used.stdout + used.stderr
    assert used.stdout.count("SETUP    S millstream_broker") == 1


def test_they_can_be_switched_off(python: Path, tmp_path: Path) -> None:
    used = run(python, tmp_path, "", "-p", "no:millstream.testing.pytest_plugin")
    assert "fixture 'millstream_topic' not found" in used.stdout


def test_it_has_no_code(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {Path(name).name for name in names} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt",
    }  # fmt: skip


def test_it_is_of_the_version_of_what_it_switches_on() -> None:
    ours, theirs = (
        tomllib.loads((path / "pyproject.toml").read_text())["project"] for path in (SOURCE, ROOT)
    )
    assert ours["version"] == theirs["version"]
    assert f"millstream=={theirs['version']}" in ours["dependencies"]
    assert ours["requires-python"] == theirs["requires-python"]
