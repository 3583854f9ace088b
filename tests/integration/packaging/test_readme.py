"""The README is true: every command in it is known here and runs, every Python example runs as printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.testing import Broker
from tests.patience import LONG_ENOUGH_S

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()

SHELL = [
    line
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.strip().splitlines()
]
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

KNOWN = {
    "make demo": "test_make_demo",
    "make check": "test_make_targets_exist",
    "make test": "test_make_targets_exist",
    "make bench": "test_make_targets_exist",
    "python3 -m venv .venv": "test_the_environment_comes_before_what_is_installed",
    ". .venv/bin/activate": "test_the_environment_comes_before_what_is_installed",
    "pip install .": "test_install.py",
    "millstream server --ephemeral --port 9092": "test_server_and_kcat",
    "echo hello | kcat -P -b 127.0.0.1:9092 -t greetings": "test_server_and_kcat",
    "kcat -C -b 127.0.0.1:9092 -t greetings -o beginning -e": "test_server_and_kcat",
}


def run(
    command: str, *, cwd: Path = ROOT, timeout_s: float = 240
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        command, shell=True, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
    )  # fmt: skip


def test_every_command_of_the_readme_is_run_by_a_test() -> None:
    assert set(SHELL) == set(KNOWN)


def test_the_environment_comes_before_what_is_installed(tmp_path: Path) -> None:
    """Debian's own Python refuses pip outside of a virtual environment (PEP 668)."""
    before = SHELL[: SHELL.index("pip install .")]
    prepared = [line for line in before if "venv" in line]
    done = run(f"set -e; {'; '.join(prepared)}; command -v pip", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{tmp_path}/.venv/bin/pip"


@pytest.mark.parametrize(
    "target", ["check", "test", "bench", "codegen", "docs", "oracle", "lock", "wheel"]
)
def test_make_targets_exist(target: str) -> None:
    done = run(f"make --dry-run {target}")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    shutil.which("kcat") is None, reason="kcat is not installed (Debian: apt-get install kcat)"
)
def test_server_and_kcat() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "millstream.cli.main", "server", "--port", "0", "--ephemeral"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            ready = server.stdout.readline()
            address = ready.split("bootstrap=")[1].split()[0]
            commands = [line.replace("127.0.0.1:9092", address) for line in SHELL if "kcat" in line]
            produced, consumed = (run(command) for command in commands)
            assert produced.returncode == 0, produced.stderr
            assert consumed.stdout == "hello\n"
        finally:
            server.terminate()
        assert server.wait(LONG_ENOUGH_S) == 0


@pytest.mark.parametrize(
    "source", PYTHON, ids=lambda text: re.findall(r"^from (\S+)", text, re.MULTILINE)[0]
)
def test_python_examples_run(source: str, tmp_path: Path) -> None:
    with Broker() as broker:
        example = tmp_path / "example.py"
        example.write_text(source.replace("127.0.0.1:9092", broker.bootstrap_servers))
        done = run(f"{sys.executable} {example}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if "Consumer" in source:
        assert """b'alice' b'{"amount": 12}'""" in done.stdout
    if "TopologyTestDriver" in source:
        assert "{'to': 2, 'be': 2, 'or': 1, 'not': 1}" in done.stdout


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_make_demo() -> None:
    done = run("make demo", timeout_s=900)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "verified: 1,095 windows, 16 airlines, 336,776 flights in, 0 differences" in done.stdout
    assert (ROOT / "out/flights.png").read_bytes().startswith(b"\x89PNG")
