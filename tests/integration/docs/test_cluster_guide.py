"""The first five minutes with a cluster are as its page has them: three nodes, a killed leader, and nothing lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import LONG_ENOUGH_S

PAGE = Path(__file__).resolve().parents[3] / "docs/guide/cluster.md"
SECTIONS = ("## Three nodes on this machine", "## Replication")
DIRECTORY = "/tmp/three"  # the page's; replaced below
PORTS = ("9092", "9093", "9094")
LIMIT_S = 2 * LONG_ENOUGH_S
"""It waits for the session of a broker that was killed, and starts Python six times."""

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(2 * LIMIT_S)]


def commands(section: str) -> str:
    """The commands of a section, up to the next heading."""
    text = re.split(r"(?m)^#", PAGE.read_text().split(section + "\n")[1])[0]
    return "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))


def test_the_first_five_minutes_end_with_a_killed_leader_and_nothing_lost(tmp_path: Path) -> None:
    start, work = (commands(each).replace(DIRECTORY, str(tmp_path)) for each in SECTIONS)
    assert start.startswith("millstream cluster ")
    assert "kill -9" in work
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    with subprocess.Popen(
        [*start.split(), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
    ) as cluster:  # fmt: skip
        try:
            assert cluster.stdout is not None, "it is a pipe"
            line = cluster.stdout.readline()
            addresses = re.findall(r"127\.0\.0\.1:\d+", line.partition(" bootstrap_controller=")[0])
            for port, address in zip(PORTS, addresses, strict=True):
                work = work.replace(f"127.0.0.1:{port}", address)
            script = tmp_path / "page"  # in its command line `pgrep` would find the script itself
            script.write_text(work)
            done = subprocess.run(
                ["bash", "-euo", "pipefail", str(script)],
                capture_output=True, text=True, timeout=LIMIT_S, env=environment, check=False,
            )  # fmt: skip
        finally:
            cluster.terminate()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n2000\n" in done.stdout
    assert "6 under-replicated, 0 under min ISR" in done.stdout
