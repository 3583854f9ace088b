"""An application on stream threads that runs for long keeps no more than it had: memory, objects, file handles, threads, asyncio tasks.

Input comes at a steady rate for MILLSTREAM_SOAK_SECONDS; keys come back and windows end, so nothing has a reason to grow for ever. The first
half warms up: write buffers and block caches fill. Between the third quarter and the last each figure may then grow by what GROWTH_MAX
says: resident memory by what some buffers of 16 MB make that happen to be full at the same time, what Python has by far less (its record cache fills while tasks
move). The time of the records runs TIMES_FASTER than the clock, so that many segments of windows are deleted. Tasks that move do so with a stream thread that comes and goes.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import orjson
import pytest

from millstream.clients import Admin, NewTopic, blocking
from millstream.testing.broker import Broker
from tests.patience import wait_until

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
GROWTH_MAX: Final[Mapping[str, float]] = {
    "application": 25,
    "RocksDB": 25,
    "broker": 10,
    "blocks": 15_000,
    "objects": 2_000,
    "files": 8,
    "threads": 2,
    "asyncio tasks": 4,
}
"""Memory in MB; of some 530,000 blocks of memory and 119,000 objects that Python has."""
ROOT = Path(__file__).parents[2]
KEYS = 500
ROUND_S = 0.1
RECORDS_A_ROUND = 300
CUSTOMERS_A_ROUND = 20
SAMPLE_EVERY_ROUNDS = 20
MOVE_EVERY_SAMPLES = 5
TIMES_FASTER = 10
TOPICS = ("orders", "customers", "joined", "counts", "windows")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(SOAK_SECONDS + 300),
    pytest.mark.skipif(not SOAK_SECONDS, reason="make soak"),
]


@pytest.mark.parametrize("are_moved", [False, True], ids=["tasks-stay", "tasks-move"])
def test_what_an_application_keeps_is_flat(tmp_path: Path, *, are_moved: bool) -> None:
    with Broker(in_process=False) as broker:
        servers = broker.bootstrap_servers
        asyncio.run(_create(servers))
        with subprocess.Popen(
            [sys.executable, "-m", "tests.soak.remembering_streams", servers, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as process:
            assert broker.pid is not None
            watched = _Watched(process, broker.pid, are_moved=are_moved)
            sent = _run(servers, watched)
            wait_until(lambda: watched.ask("count")["orders"] == sent)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(60) == 0
    quarters = {what: _quarters(figures) for what, figures in watched.samples.items()}
    for what, figures in quarters.items():
        sys.stdout.write(f"{what}: {', '.join(f'{each:,.0f}' for each in figures)}\n")
    grown = [what for what, most in GROWTH_MAX.items() if _growth(quarters[what]) > most]
    assert not grown, quarters


class _Watched:
    """An application and its broker, of which samples are taken."""

    def __init__(self, process: subprocess.Popen[str], broker_pid: int, *, are_moved: bool) -> None:
        self.samples: defaultdict[str, list[float]] = defaultdict(list)
        self._process = process
        self._broker_pid = broker_pid
        self._are_moved = are_moved

    def sample(self) -> None:
        taken = len(self.samples["application"]) + 1
        is_move = self._are_moved and taken % MOVE_EVERY_SAMPLES == 0
        is_thread_there = taken // MOVE_EVERY_SAMPLES % 2 == 0
        told = self.ask(("remove" if is_thread_there else "add") if is_move else "count")
        del told["orders"]
        process = Path(f"/proc/{self._process.pid}")
        told["application"] = _resident_mb(self._process.pid)
        told["files"] = len(os.listdir(process / "fd"))
        told["threads"] = len(os.listdir(process / "task"))
        told["broker"] = _resident_mb(self._broker_pid)
        for what, figure in told.items():
            self.samples[what].append(figure)

    def ask(self, question: str) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        told: dict[str, float] = orjson.loads(self._process.stdout.readline())
        return told


def _run(servers: str, watched: _Watched) -> int:
    """Produces at a steady rate, and returns how many orders there are."""
    ends_at = time.monotonic() + SOAK_SECONDS
    begins_ms = int(time.time() * 1_000 - SOAK_SECONDS * TIMES_FASTER * 1_000)
    rounds = 0
    with blocking.Producer(bootstrap_servers=servers, linger_ms=5) as producer:
        while (now := time.monotonic()) < ends_at:
            at_ms = begins_ms + int(rounds * ROUND_S * 1_000 * TIMES_FASTER)
            for number in range(RECORDS_A_ROUND):
                key = b"key-%d" % ((rounds * RECORDS_A_ROUND + number) % KEYS)
                if number < CUSTOMERS_A_ROUND:
                    producer.send("customers", b"%020d" % rounds, key=key, timestamp_ms=at_ms)
                producer.send("orders", b"x" * 100, key=key, timestamp_ms=at_ms)
            producer.flush()
            rounds += 1
            if rounds % SAMPLE_EVERY_ROUNDS == 0:
                watched.sample()
            time.sleep(max(0.0, ROUND_S - (time.monotonic() - now)))
    return rounds * RECORDS_A_ROUND


def _resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_MB


def _quarters(figures: list[float]) -> list[float]:
    """The mean of each quarter: where tasks move, figures are of two kinds, and a median would be of either."""
    quarter = len(figures) // 4
    return [statistics.fmean(figures[n * quarter : (n + 1) * quarter]) for n in range(4)]


def _growth(quarters: list[float]) -> float:
    return quarters[3] - quarters[2]


async def _create(servers: str) -> None:
    async with Admin(bootstrap_servers=servers) as admin:
        topics = [NewTopic(name, 2, configs={"retention.bytes": "50000000"}) for name in TOPICS]
        (await admin.create_topics(topics)).raise_errors()
