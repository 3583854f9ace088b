"""The streams kernel alone, fed from memory: records per second on one core.

    python -m benchmarks.streams [--records N] [--rocksdb] [NAME ...]

One million records of 100 bytes and 1,000 keys by default, one task, batches of 10,000 records, a commit after
each batch. What is measured: decoding, operators, stores, changelog and encoding; not a broker.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from millstream.streams import StreamsBuilder, StreamsConfig, TimeWindows, Topology
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import long, string, time_windowed
from millstream.streams.state import in_memory_stores, rocksdb_stores

KEYS = 1_000
BATCH = 10_000
CONFIG = StreamsConfig("bench", default_key=string(), default_value=string())


def pass_through(builder: StreamsBuilder) -> None:
    builder.stream("in").to("out")


def filter_map(builder: StreamsBuilder) -> None:
    stream = builder.stream("in").filter(lambda _key, value: value[0] != "#")
    stream.map_values(lambda value: value.upper()).to("out")


def count(builder: StreamsBuilder) -> None:
    builder.stream("in").group_by_key().count().to_stream().to("out", value=long())


def aggregate(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in").group_by_key()
    table = grouped.aggregate(
        lambda: 0, lambda _key, value, total: total + len(value), value=long()
    )
    table.to_stream().to("out", value=long())


def tumbling_count(builder: StreamsBuilder) -> None:
    windowed = (
        builder.stream("in").group_by_key().windowed_by(TimeWindows.tumbling(timedelta(seconds=10)))
    )
    key = time_windowed(string(), 10_000)
    windowed.count().to_stream().to("out", key=key, value=long())


def join(builder: StreamsBuilder) -> None:
    table = builder.table("table")
    builder.stream("in").join(table, lambda left, right: left + right).to("out")


TOPOLOGIES: dict[str, Callable[[StreamsBuilder], None]] = {
    "pass-through": pass_through,
    "filter + map_values": filter_map,
    "count": count,
    "aggregate": aggregate,
    "10 s tumbling count": tumbling_count,
    "stream-table join": join,
}


def build(name: str) -> Topology:
    builder = StreamsBuilder()
    TOPOLOGIES[name](builder)
    return builder.build()


def batches(records: int) -> list[RawBatch]:
    """One millisecond between records."""
    made = []
    for first in range(0, records, BATCH):
        numbers = range(first, min(first + BATCH, records))
        made.append(
            RawBatch(
                [f"key-{n * 7919 % KEYS}".encode() for n in numbers],
                [f"{n:092d}".encode() for n in numbers],
                list(numbers),
                numbers,
            )
        )
    return made


def table_rows() -> RawBatch:
    keys: list[bytes | None] = [f"key-{n}".encode() for n in range(KEYS)]
    return RawBatch(keys, [b"row"] * KEYS, [0] * KEYS, range(KEYS))


def measure(name: str, given: list[RawBatch], directory: Path | None) -> float:
    """Records per second."""
    factory = in_memory_stores() if directory is None else rocksdb_stores(directory)
    task = StreamTask(build(name), 0, 0, factory, CONFIG)
    if "table" in task.source_topics:
        task.add("table", table_rows())
        task.process(0)
    started = time.perf_counter()
    written = 0
    for raw in given:
        task.add("in", raw)
        output = task.process(0)
        task.prepare_commit()
        task.commit()
        written += len(output.sinks["out"])
    elapsed = time.perf_counter() - started
    task.close()
    total = sum(map(len, given))
    assert written == total, f"{name} wrote {written} of {total} records"
    return total / elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rocksdb", action="store_true")
    parser.add_argument("names", nargs="*", default=list(TOPOLOGIES))
    arguments = parser.parse_args()
    given = batches(arguments.records)
    for name in arguments.names:
        directory = Path(tempfile.mkdtemp()) if arguments.rocksdb else None
        rate = measure(name, given, directory)
        print(f"{name:22} {rate / 1000:8.0f} k records/s")
        if directory is not None:
            shutil.rmtree(directory)


if __name__ == "__main__":
    main()
