"""Standard streams that cannot be used: a full disk, and streams that are closed. One sentence, and an exit code of the guide."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.integration.cli.conftest import MILLSTREAM, Run

FULL = Path("/dev/full")
needs_a_full_disk = pytest.mark.skipif(
    not FULL.exists() or not stat.S_ISCHR(FULL.stat().st_mode),
    reason="this machine has no /dev/full",
)


def shell(line: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a line in which `millstream` is the command; what it prints is buffered, as for everybody."""
    quiet = {key: each for key, each in environment.items() if key != "PYTHONUNBUFFERED"}
    line = line.replace("millstream ", f"{' '.join(MILLSTREAM)} ")
    return subprocess.run(
        ["sh", "-c", line], env=quiet, capture_output=True, text=True, check=False
    )


@needs_a_full_disk
@pytest.mark.parametrize("arguments", ["--help", "cluster quorum"])
def test_a_full_disk_is_one_sentence(environment: dict[str, str], arguments: str) -> None:
    done = shell(f"millstream {arguments} > /dev/full", environment)
    assert (done.returncode, done.stderr) == (1, "error: cannot write: No space left on device\n")


@needs_a_full_disk
def test_where_nothing_can_be_said_the_code_tells() -> None:
    done = shell("millstream topics list -b 127.0.0.1:1 2> /dev/full", dict(os.environ))
    assert done.returncode == 5


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("millstream produce {topic} <&-", 0, "0 records written to {topic}\n"),
        ("millstream consume {topic} -e >&-", 0, "0 records read\n"),
        ("millstream topics list -b 127.0.0.1:1 2>&-", 5, ""),
    ],
)
def test_a_stream_that_is_closed_is_none_of_others(
    environment: dict[str, str], run: Run, topic: str, *, line: str, code: int, told: str
) -> None:
    run("topics", "create", topic, "--partitions", "1")
    done = shell(line.format(topic=topic), environment)
    assert (done.returncode, done.stderr) == (code, told.format(topic=topic))
