"""The tests of what runs compiled, once more with the sources: both ways pass the same, and some can look closer at sources."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.compiled import are_compiled

ROOT = Path(__file__).resolve().parents[3]
BESIDE = [
    ("tests/sim/node",),  # with the order of offsets checked after every step
    ("tests/unit/broker/data_plane",),
    (  # in one process: to start one takes as long as most of these
        "tests/unit/broker/requests",
        "tests/unit/clients/cluster",
        "tests/unit/clients/producer",
        "tests/unit/log",
        "tests/unit/net/client",
        "tests/unit/net/server",
        "tests/unit/net/test_frame_receiver.py",
        "tests/unit/protocol/test_frames.py",
        "tests/unit/protocol/test_reading.py",
        "tests/unit/records/test_batch.py",
        "tests/unit/records/test_record_check.py",
        "tests/unit/replication",
    ),
]


@pytest.mark.slow
@pytest.mark.skipif(
    not are_compiled(), reason="nothing is compiled here: the whole run is interpreted"
)
@pytest.mark.parametrize("tests", BESIDE, ids=lambda tests: tests[0])
def test_the_sources_pass_the_tests_of_what_is_compiled(tests: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *tests],
        cwd=ROOT, env={**os.environ, "MILLSTREAM_PURE": "1"},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
