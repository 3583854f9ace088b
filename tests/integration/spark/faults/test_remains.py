"""The check that nothing is left behind finds what is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import LONG_ENOUGH_S
from tests.support.kills.remains import files_of_hosts, remains

HOLDER = """
import sys
lock = open(sys.argv[1], "w")
print("open", flush=True)
sys.stdin.read()
"""


def test_processes_and_locks_are_found(tmp_path: Path) -> None:
    assert remains(-1, tmp_path) == [], "no session is called so"
    lock = tmp_path / "LOCK"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"open\n"
    process, held = remains(holder.pid, tmp_path)
    assert process.startswith(f"process {holder.pid}: {sys.executable} -c")
    assert held == f"process {holder.pid} has {lock} open"
    holder.communicate(timeout=LONG_ENOUGH_S)
    assert remains(holder.pid, tmp_path) == []


def test_files_of_hosts_are_found(tmp_path: Path) -> None:
    hosts = tmp_path / "millstream-0" / "17"
    hosts.mkdir(parents=True)
    assert files_of_hosts(tmp_path) == []
    (hosts / "host-0.socket").touch()
    assert files_of_hosts(tmp_path) == [str(hosts / "host-0.socket")]
