"""What a start costs: time and processor time until the node is ready, and its memory when it is idle.

Of an empty directory, which is formatted, and of one with topics. Processor time says what was done: a wait for the disk, or
for a processor that others use, is in the time alone. Sources without bytecode cost more than as much again: `scripts/setup` compiles them.

    python -m benchmarks.start [--starts 10] [--topics 30]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.wire import Connection, cpu_s, create_topic, rss_mb
from millstream.testing.broker import Broker

SETTINGS: Final = {"millstream.flush.on.ack": "auto"}
"""As users start it."""


class Start(NamedTuple):
    ready_ms: float
    cpu_ms: float
    idle_mb: float


def measured_start(data: Path) -> Start:
    begin = time.perf_counter()
    with Broker(in_process=False, data=data, settings=SETTINGS) as broker:
        ready_ms = (time.perf_counter() - begin) * 1000
        cpu_ms = cpu_s(broker.pid) * 1000
        time.sleep(0.5)  # what goes on after the ready line is done
        return Start(ready_ms, cpu_ms, rss_mb(broker.pid))


def prepare(data: Path, topics: int) -> None:
    with Broker(data=data, settings=SETTINGS) as broker:
        connection = Connection(broker.bootstrap_servers)
        for _ in range(topics):
            create_topic(connection)
        connection.close()


def show(name: str, starts: list[Start]) -> None:
    ready, cpu, idle = (sorted(values) for values in zip(*starts, strict=True))
    print(
        f"{name:16} ready {statistics.median(ready):4.0f} ms ({ready[0]:.0f} to {ready[-1]:.0f})"
        f"  CPU {statistics.median(cpu):4.0f} ms ({cpu[0]:.0f} to {cpu[-1]:.0f})"
        f"  idle {statistics.median(idle):.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--topics", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        measured_start(data / "first")  # reads the files of our modules into memory
        fresh = [measured_start(data / f"fresh-{number}") for number in range(options.starts)]
        show("empty directory", fresh)
        prepare(data / "topics", options.topics)
        known = [measured_start(data / "topics") for _ in range(options.starts)]
        show(f"{options.topics} topics", known)


if __name__ == "__main__":
    main()
