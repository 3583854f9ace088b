"""A topic copied to another one: `millstream copy` beside kcat, which reads with one process and writes with another.

kcat's pipe loses headers, timestamps and partitions; it is what people do today. Start-up is in the time of both.

    python -m benchmarks.copying [--records 2000000] [--bytes 100]
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from typing import Final, NamedTuple

from millstream.clients import NewTopic
from millstream.clients.blocking import Admin
from millstream.testing.broker import Broker

PARTITIONS: Final = 4
TURNS: Final = 2
_VERB: Final = [sys.executable, "-m", "millstream.cli.main"]
_KCAT: Final = "kcat -C -q -b {0} -t source -e -o beginning -K'|' | kcat -P -b {0} -t by-kcat -K'|'"


class Turn(NamedTuple):
    elapsed_s: float
    cpu_s: float


def measured(command: list[str]) -> Turn:
    """Runs a command; its processor time is that of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    elapsed_s = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Turn(elapsed_s, cpu_s)


def show(name: str, turns: list[Turn], records: int, peer: Turn | None) -> Turn:
    best = min(turns)
    ratio = "" if peer is None else f"  {peer.elapsed_s / best.elapsed_s:.2f} times kcat's rate"
    rate = records / best.elapsed_s
    print(f"{name:28} {rate:11,.0f} records/s  {best.cpu_s:6.2f} CPU s{ratio}", flush=True)
    return best


def measure(bootstrap: str, records: int, size_bytes: int) -> None:
    targets = ("plain", "exactly-once", "repartitioned")
    with Admin(bootstrap_servers=bootstrap) as admin:
        names = ("source", "by-kcat", *targets)
        admin.create_topics([NewTopic(name, PARTITIONS) for name in names]).raise_errors()
    fill = ("--num-records", str(records), "--record-size", str(size_bytes), "-b", bootstrap)
    measured([*_VERB, "perf", "produce", "source", *fill])
    options = {
        "plain": [],
        "exactly-once": ["--bookmark", "nightly", "--exactly-once"],
        "repartitioned": ["--repartition"],
    }
    found: dict[str, list[Turn]] = {}
    for _ in range(TURNS):
        if shutil.which("kcat") is not None:
            turn = measured(["bash", "-o", "pipefail", "-c", _KCAT.format(bootstrap)])
            found.setdefault("kcat -C | kcat -P", []).append(turn)
        for target, more in options.items():
            # A bookmark would leave nothing for the second turn.
            named = [each + str(time.time_ns()) if each == "nightly" else each for each in more]
            turn = measured([*_VERB, "copy", "source", target, "-b", bootstrap, *named])
            found.setdefault(f"millstream copy, {target}", []).append(turn)
    peer = None
    for name, turns in found.items():
        best = show(name, turns, records, peer)
        peer = best if name.startswith("kcat") else peer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--bytes", type=int, default=100)
    options = parser.parse_args()
    print("on a node of ours", flush=True)
    with Broker(in_process=False, settings={"millstream.flush.on.ack": "never"}) as broker:
        measure(broker.bootstrap_servers, options.records, options.bytes)
    if "MILLSTREAM_KAFKA_CLASSPATH" in os.environ:
        from benchmarks.kafka_peer import KafkaPeer

        print("on Apache Kafka", flush=True)
        with KafkaPeer() as kafka:
            measure(kafka.bootstrap_servers, options.records, options.bytes)


if __name__ == "__main__":
    main()
