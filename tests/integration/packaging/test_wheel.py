"""`make wheel` builds a wheel that runs compiled where there is no C compiler: in an environment, and in a root of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from millstream.compiled.finder import MODULES
from tests.integration.packaging.fresh_root import FreshRoot, can_make_roots, children_cpu_s
from tests.patience import LONG_ENOUGH_S

pytestmark = [pytest.mark.slow, pytest.mark.wheel, pytest.mark.timeout(1_800)]

ROOT = Path(__file__).resolve().parents[3]

_USE = """
import logging, sys
import millstream
import pyarrow as pa
from millstream.runtime.native import LEAVES, interpreted_note, load_leaf
logging.basicConfig(stream=sys.stdout)
from millstream.records.arrow import from_arrow, to_arrow
rows = pa.RecordBatch.from_pydict({"key": pa.array([b"k"], pa.binary()), "value": pa.array([b"v"], pa.binary())})
(encoded,) = from_arrow(rows)
print(to_arrow(encoded).column("value").to_pylist())
import millstream.net.server.connection as connection
print(connection.__file__.rpartition(".")[2], millstream.__file__.startswith(sys.prefix), interpreted_note(), *(load_leaf(leaf).__name__ for leaf in LEAVES))
"""


_SERVE_AND_ASK = """
import socket, subprocess, sys

def millstream(*arguments, **options):
    done = subprocess.run(["/opt/millstream/bin/millstream", *arguments], check=True, capture_output=True, text=True, **options)
    sys.stdout.write(done.stdout)

with socket.create_server(("127.0.0.1", 0)) as free:
    pages = f"http://127.0.0.1:{free.getsockname()[1]}"
command = ["/opt/millstream/bin/millstream", "server", "--ephemeral", "--port", "0", "--override", f"millstream.http.listener={pages}"]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
    bootstrap = server.stdout.readline().split("bootstrap=")[1].split()[0]
    millstream("cluster", "ready", pages)
    millstream("produce", "orders", "-b", bootstrap, input="tea")
    millstream("consume", "orders", "-b", bootstrap, "-o", "beginning", "-e")
    server.terminate()
assert server.returncode == 0
"""


def build(target: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts/wheel"), str(target)]
    building = subprocess.Popen(
        command, env={**os.environ, "PYTHON": sys.executable, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    with building:
        try:
            said, errors = building.communicate(
                timeout=1_700
            )  # a minute of the compiler's, or many on a busy machine
        except BaseException:  # the compiler, too: without its script it would go on for as long
            os.killpg(building.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, building.returncode, said, errors)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one that MILLSTREAM_WHEEL names, as it is given away; else one that is built here."""
    given = os.environ.get("MILLSTREAM_WHEEL")
    if given:
        return Path(given).resolve()
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler (Debian: apt-get install gcc python3-dev)")
    target = tmp_path_factory.mktemp("dist")
    done = build(target)
    assert done.returncode == 0, done.stderr
    (built,) = target.iterdir()
    assert done.stdout == f"{built}\n"
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of programs of an environment with the wheel. What it depends on is taken from the tests' own."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home)  # a pip of its own would take longer than all the rest
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", home / "bin/python", "install", "--quiet", "--no-index", "--no-deps", str(wheel)],
        check=True, timeout=600,  # pip writes half a thousand files and their bytecode
    )  # fmt: skip
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def run(installed: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Nothing is on the PATH but the environment: no compiler."""
    environment = {"PATH": str(installed), "HOME": str(installed)}
    return subprocess.run(
        [str(installed / command[0]), *command[1:]],
        cwd=installed, env=environment, capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip


def test_the_tag_is_one_that_any_linux_of_the_last_ten_years_takes(wheel: Path) -> None:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.startswith(f"millstream-0.1.0-{python}-{python}-manylinux")


def test_it_has_what_the_package_has_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    kept = {".py", ".typed", ".html", ".css"}
    expected = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.suffix in kept and ".egg-info" not in str(path)
    }
    packed = [
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if ".dist-info/" not in name and not name.endswith("/")
    ]
    compiled = [name for name in packed if name.endswith(".so")]
    assert sorted(set(packed) - set(compiled)) == sorted(expected)
    assert len(compiled) == 6 + len(MODULES) + 1  # leaves, modules, and the code of all modules


def test_it_is_not_much_larger_than_its_sources(wheel: Path) -> None:
    """November 2026, packed: 2.97 MB of sources, and of what is compiled 2.40 MB, of which the library of all modules has 1.67."""
    packed = {True: 0, False: 0}
    for entry in zipfile.ZipFile(wheel).infolist():
        packed[entry.filename.endswith(".so")] += entry.compress_size
    assert packed[True] < 2_700_000
    assert packed[False] < 3_300_000


def test_everything_is_compiled_and_nothing_is_said(installed: Path) -> None:
    used = run(installed, "python", "-c", _USE)
    assert used.returncode == 0, used.stderr
    assert used.stdout == (
        "[b'v']\n"
        "so True None millstream.clients.consumer.core.consumer_record_compiled millstream.clients.producer.core.murmur2_compiled "
        "millstream.clients.serdes.long_numbers_compiled millstream.records.record_check_compiled millstream.records.walker_compiled "
        "millstream.records.writer_compiled\n"
    )


def test_the_version_has_one_line(installed: Path) -> None:
    assert run(installed, "millstream", "--version").stdout == "millstream, version 0.1.0\n"


def test_without_a_compiler_no_slow_wheel_is_built(tmp_path: Path) -> None:
    done = build(tmp_path, CC="/bin/false")
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"wheel: 0 of {6 + len(MODULES) + 1} compiled files were built; is there a C compiler (Debian: apt-get install gcc python3-dev)?\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def installed_in_root(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> FreshRoot:
    if not can_make_roots():
        pytest.skip("this user may not make namespaces (unshare --user --mount --pid)")
    root = FreshRoot(tmp_path_factory.mktemp("root"))
    wheels = root.directory / "wheels"
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
         "--require-hashes", "--requirement", ROOT / "requirements/run.txt", "--dest", wheels],
        check=True, timeout=1_000,
    )  # fmt: skip
    shutil.copy(wheel, wheels)
    root.run(root.python, "-m", "venv", "/opt/millstream")
    return root


def test_it_is_installed_in_a_root_that_has_python_and_nothing_else(
    installed_in_root: FreshRoot,
) -> None:
    """The bar is 15 s on a quiet machine. This is time of the processor, which a busy one uses more of: 10 s in November 2026."""
    started_s = children_cpu_s()
    installed_in_root.run(
        "/opt/millstream/bin/pip", "install", "--quiet", "--no-index", "--find-links", "/wheels", "millstream"
    )  # fmt: skip
    assert children_cpu_s() - started_s < 30
    said = installed_in_root.run("/opt/millstream/bin/millstream", "--version")
    assert said == "millstream, version 0.1.0\n"
    assert (
        installed_in_root.run("/bin/sh", "-c", "command -v cc gcc clang java || echo none")
        == "none\n"
    )
    assert (
        installed_in_root.run("/opt/millstream/bin/python", "-c", _SERVE_AND_ASK) == "ready\ntea\n"
    )
    for _ in range(3):  # the first reads everything from disk
        started_s = children_cpu_s()
        assert "Start a node." in installed_in_root.run("/opt/millstream/bin/millstream", "--help")
        took_s = children_cpu_s() - started_s
    assert (
        took_s < 0.4
    )  # the bar is 0.15 s on a quiet machine; with the shell, the mounts and the root
