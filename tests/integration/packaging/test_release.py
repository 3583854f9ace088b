"""What is given away beside the wheel of this machine: the sources, the wheels of others, and the list of what they bring."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest

from tests.patience import LONG_ENOUGH_S

pytestmark = [pytest.mark.slow, pytest.mark.wheel, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_LIMIT_S = 600
_AT_ITS_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


def made_by(script: str, target: Path) -> Path:
    """The file whose path the script printed."""
    done = subprocess.run(
        [ROOT / "scripts" / script, target],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True, text=True, timeout=_LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (made,) = target.iterdir()
    assert done.stdout == f"{made}\n"
    return made


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_by("sdist", tmp_path_factory.mktemp("sources"))


def said_at_a_terminal(command: list[str], directory: Path, environment: dict[str, str]) -> str:
    """What somebody sees who types the command. Raises AssertionError where it fails."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", _AT_ITS_TERMINAL, *command],
        cwd=directory, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # so a terminal ends on Linux
            while read := os.read(ours, 4096):
                seen += read
        os.close(ours)
        assert process.wait(LONG_ENOUGH_S) == 0, seen.decode()
    return seen.decode()


def test_the_sources_have_what_a_build_takes_and_nothing_else(sources: Path) -> None:
    with tarfile.open(sources) as archive:
        top = f"millstream-{PROJECT['version']}/"
        packed = {each.name.removeprefix(top) for each in archive.getmembers() if each.isfile()}
    of_packages = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.suffix in {".py", ".typed", ".html", ".css"} and ".egg-info" not in str(path)
    }
    assert {name for name in packed if ".egg-info/" not in name} == of_packages | {
        "CHANGELOG.md", "LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "requirements/build.txt", "setup.cfg", "setup.py",
    }  # fmt: skip


def test_they_build_alone_without_git_and_without_a_compiler(sources: Path, tmp_path: Path) -> None:
    """What the build needs is that of the tests: a fresh environment has it on its path, and no package of ours."""
    home = tmp_path / "environment"
    venv.create(home)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "build.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {"PATH": str(home / "bin"), "HOME": str(tmp_path), "CC": "/bin/false"}
    said = said_at_a_terminal(
        [sys.executable, "-m", "pip", "--python", str(home / "bin/python"), "install", "--no-deps", "--no-build-isolation", "--no-index", str(sources)],
        tmp_path, environment,
    )  # fmt: skip
    assert "millstream: building without compiled parts, no C compiler works\r\n" in said
    version = subprocess.run(
        [home / "bin/millstream", "--version"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=True,
    )  # fmt: skip
    assert version.stdout.startswith(f"millstream, version {PROJECT['version']}\ninterpreted")


def test_wheels_are_built_for_every_python_and_processor_that_is_promised() -> None:
    """cibuildwheel itself says what it would build: it needs Docker, or a Mac, for more."""
    subprocess.run(
        [ROOT / "scripts/setup-release"], env={**os.environ, "PYTHON": sys.executable}, check=True, timeout=_LIMIT_S
    )  # fmt: skip
    told = {
        line
        for platform in ("linux", "macos")
        for line in subprocess.run(
            [ROOT / "build/release/bin/cibuildwheel", "--platform", platform, "--print-build-identifiers"],
            cwd=ROOT, capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=True,
        ).stdout.split()
    }  # fmt: skip
    pythons = [
        line.rpartition(" ")[2].replace(".", "")
        for line in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    ]
    machines = ["manylinux_x86_64", "manylinux_aarch64", "macosx_x86_64", "macosx_arm64"]
    assert told == {f"cp{python}-{machine}" for python in pythons for machine in machines}


def test_what_it_brings_is_listed_with_versions_and_licences(tmp_path: Path) -> None:
    told = json.loads(made_by("sbom", tmp_path).read_text())
    assert told["bomFormat"] == "CycloneDX"
    assert told["metadata"]["component"]["version"] == PROJECT["version"]
    pinned = set(
        re.findall(
            r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements/run.txt").read_text(), re.MULTILINE
        )
    )
    listed = {(each["name"].lower(), each["version"]) for each in told["components"]}
    assert listed <= pinned
    assert {name for name, _ in listed} == {
        name for name, _ in pinned
    }  # of some Pythons another version
    assert [each["name"] for each in told["components"] if not each.get("licenses")] == []
    needed = {each["ref"]: each.get("dependsOn", []) for each in told["dependencies"]}
    assert len(needed["root-component"]) == len(PROJECT["dependencies"])
