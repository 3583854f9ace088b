"""Our codec against recorded answers of Kafka 4.3.1's own classes, through the command that runs any such file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUNNER = HERE / "run_codec.py"
CASES = sorted((HERE / "codec").glob("*.gz"))
HEARTBEAT = {
    "message": "HeartbeatRequestData",
    "version": 4,
    "json": {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None},
    "hex": "026700000001026d0000",
}


def run(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, RUNNER, *files], capture_output=True, text=True, check=False, timeout=100
    )


def test_every_recorded_case_reads_and_writes_as_in_kafka() -> None:
    ran = run(*CASES)
    assert ran.stdout == "4270 passed, 0 failed\n", ran.stdout[-2000:] + ran.stderr
    assert ran.returncode == 0


def test_there_are_cases_of_every_kind_of_message() -> None:
    assert [path.name.removesuffix(".jsonl.gz") for path in CASES] == [
        "consumer",
        "control",
        "damaged",
        "edges",
        "group",
        "header",
        "metadata",
        "other",
        "remote-log",
        "request",
        "response",
        "share",
        "transaction",
    ]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"hex": "026700000001026e0000"}, "reads as"),
        ({"hex": HEARTBEAT["hex"] + "00"}, "leaves 1 bytes, not 0"),
        ({"hex": "0267"}, "cannot be read: HeartbeatRequest v4, field generation_id, offset 2"),
        ({"hex": "82006700000001026d0000"}, "is written as"),
        ({"error": "RuntimeException"}, "Kafka refuses it"),
        ({"message": "NoSuchMessage"}, "we have no such message"),
    ],
)
def test_a_difference_is_printed_and_counted(
    tmp_path: Path, change: dict[str, str], difference: str
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(HEARTBEAT) + "\n" + json.dumps(HEARTBEAT | change) + "\n")
    ran = run(path)
    assert difference in ran.stdout
    assert ran.stdout.splitlines()[-1] == "1 passed, 1 failed"
    assert ran.returncode == 1
