"""An application on Spark that runs for long keeps no more memory than it had: driver, JVM, task hosts, workers and broker.

Input comes at a steady rate for MILLSTREAM_SOAK_SECONDS; keys come back and windows end, so nothing has a reason to grow for ever. Hosts have small
write buffers and block caches, which fill while the first half warms up. Each kind of process may then grow by GROWTH_MAX_MB between the third quarter and the
last. Of the JVM what its heap holds after a collection counts (`jcmd`, of a JDK): it takes what it may have before it collects.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from millstream.clients import Admin, NewTopic, blocking
from millstream.testing.broker import Broker
from tests.support.kills.orders import session_of, words_of

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
GROWTH_MAX_MB = 25
ROOT = Path(__file__).parents[2]
KEYS = 500
ROUND_S = 0.1
RECORDS_A_ROUND = 100
SAMPLE_EVERY_ROUNDS = 20
HEAP_EVERY_ROUNDS = 100
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.timeout(SOAK_SECONDS + 300),
    pytest.mark.skipif(not SOAK_SECONDS, reason="make soak"),
]


def test_memory_is_flat(tmp_path: Path) -> None:
    with Broker(in_process=False) as broker:
        servers = broker.bootstrap_servers
        asyncio.run(_create(servers, "left", "right", "windows", "joined"))
        command = [sys.executable, "-m", "tests.soak.remembering_application"]
        with subprocess.Popen(
            [*command, servers, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        ) as application:
            assert application.stdin is not None
            assert application.stdout is not None
            assert application.stdout.readline() == "ready\n"
            assert broker.pid is not None
            samples = _run(servers, broker.pid, application.pid)
            application.stdin.close()
            assert application.wait(60) == 0
    quarters = {kind: _quarters(mb) for kind, mb in samples.items()}
    for kind, mb in quarters.items():
        sys.stdout.write(f"{kind}: {', '.join(f'{each:.0f}' for each in mb)} MB\n")
    assert set(quarters) >= {"broker", "driver", "java", "host"}
    grown = {kind for kind, mb in quarters.items() if mb[3] - mb[2] > GROWTH_MAX_MB}
    assert not grown, quarters


def _run(servers: str, broker_pid: int, session: int) -> dict[str, list[float]]:
    """Produces at a steady rate, and returns the memory of each kind of process over the time."""
    samples: dict[str, list[float]] = defaultdict(list)
    ends_at = time.monotonic() + SOAK_SECONDS
    rounds = 0
    with blocking.Producer(bootstrap_servers=servers, linger_ms=5) as producer:
        while (now := time.monotonic()) < ends_at:
            for number in range(RECORDS_A_ROUND):
                key = b"key-%d" % ((rounds * RECORDS_A_ROUND + number) % KEYS)
                producer.send("left" if number % 2 else "right", b"x" * 100, key=key)
            producer.flush()
            rounds += 1
            if rounds % SAMPLE_EVERY_ROUNDS == 0:
                for kind, mb in _memory(broker_pid, session).items():
                    samples[kind].append(mb)
            if rounds % HEAP_EVERY_ROUNDS == 0:
                samples["java"].append(_heap_mb(_jvm_of(session)))
            time.sleep(max(0.0, ROUND_S - (time.monotonic() - now)))
    return samples


def _memory(broker_pid: int, session: int) -> dict[str, float]:
    """Resident memory by kind, in MB."""
    found: dict[str, float] = defaultdict(float)
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue  # it has ended
        if pid == broker_pid:
            found["broker"] += pages * PAGE_MB
        elif int(stat[3]) == session and not words[0].endswith("java"):
            found[_kind(words)] += pages * PAGE_MB
    return dict(found)


def _jvm_of(session: int) -> int:
    return next(pid for pid in session_of(session) if words_of(pid)[0].endswith("java"))


def _kind(words: list[str]) -> str:
    if "tests.soak.bounded_host" in words:
        return "host"
    return "driver" if "tests.soak.remembering_application" in words else "worker"


def _heap_mb(pid: int) -> float:
    """The heap of a JVM after a collection."""
    subprocess.run(["jcmd", str(pid), "GC.run"], check=True, capture_output=True)
    told = subprocess.run(
        ["jcmd", str(pid), "GC.heap_info"], check=True, capture_output=True, text=True
    )
    return sum(int(used) for used in re.findall(r"(?<!class space )used (\d+)K", told.stdout)) / 1e3


def _quarters(mb: list[float]) -> list[float]:
    """The median of each quarter."""
    quarter = len(mb) // 4
    return [statistics.median(mb[n * quarter : (n + 1) * quarter]) for n in range(4)]


async def _create(servers: str, *names: str) -> None:
    async with Admin(bootstrap_servers=servers) as admin:
        topics = [NewTopic(name, 2, configs={"retention.bytes": "50000000"}) for name in names]
        (await admin.create_topics(topics)).raise_errors()
