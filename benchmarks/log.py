"""Append to and read from a partition log on a real disk, beside the least that such work can cost.

    python -m benchmarks.log [--megabytes 512] [--directory DIR]

The floor is what no log can avoid: CRC-32C over each batch and one write of its bytes, or one read of them. Ours adds
validation, offsets, indexes, producer state and segments. Processor seconds per GB are steadier than rates. Nothing is synced.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from crc32c import crc32c

from millstream.log import FileRange, LogEnvironment, PartitionLog, SavedState
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import patch_offset_and_epoch, patch_producer
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

CLOCK = SystemClock()
CONFIG = LogConfig(segment_bytes=128 << 20)


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float
    count: int
    size_bytes: int

    def __str__(self) -> str:
        gigabytes = self.size_bytes / 1e9
        return (
            f"{self.size_bytes / self.wall_s / 1e6:8.0f} MB/s  {self.cpu_s / gigabytes:6.2f} CPU s/GB  "
            f"{self.cpu_s / self.count * 1e6:7.1f} us each"
        )


def measured(work: Callable[[], tuple[int, int]]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    count, size_bytes = work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu, count, size_bytes)


def batch_of(records: int, record_bytes: int, *, is_idempotent: bool) -> bytearray:
    now = CLOCK.now().wall_ms
    contents = [Record(offset=i, timestamp=now, value=b"x" * record_bytes) for i in range(records)]
    producer = (
        BatchOptions(producer_id=1, producer_epoch=0, base_sequence=0)
        if is_idempotent
        else BatchOptions()
    )
    return build_batch(contents, producer)


def append_ours(
    log: PartitionLog, batch: bytearray, count: int, sequence: int | None
) -> tuple[int, int]:
    records = int.from_bytes(batch[57:61])
    view = memoryview(batch)
    for number in range(count):
        patch_offset_and_epoch(view, 0, -1)  # as a producer sends it
        if sequence is not None:
            patch_producer(view, 1, 0, sequence + number * records)
        log.append_as_leader(view, 0, CLOCK.now())
    return count, count * len(batch)


def append_floor(path: str, batch: bytearray, count: int) -> tuple[int, int]:
    file = SystemFileSystem().open(path)
    view = memoryview(batch)
    for _ in range(count):
        crc32c(view[21:])
        file.append([view])
    file.close()
    return count, count * len(batch)


def read_positions(log: PartitionLog, bytes_max: int) -> tuple[int, int]:
    """Reads as a fetch does: where the bytes are, not the bytes."""
    offset, count, size = log.log_start_offset, 0, 0
    while offset < log.log_end_offset:
        records = log.read(offset, bytes_max, log.log_end_offset).records
        count, size = count + 1, size + len(records)
        offset = next_offset(records)
    return count, size


def next_offset(records: FileRange | bytes) -> int:
    """After the last batch; what a consumer learns by walking the records, found here by walking headers."""
    position, end = 0, len(records)
    while True:
        header = (
            records[position : position + 61]
            if isinstance(records, bytes)
            else records.file.read_at(records.position + position, 61)
        )
        size = int.from_bytes(header[8:12]) + 12
        if position + size >= end:
            return int.from_bytes(header[:8]) + int.from_bytes(header[23:27]) + 1
        position += size


WORKLOADS = (
    # name, records of a batch, bytes of a record, share of --megabytes
    ("1 MB batches (1000 x 1 KB)", 1000, 1024, 1.0),
    ("110 KB batches (1000 x 100 B)", 1000, 100, 0.5),
    ("11 KB batches (100 x 100 B)", 100, 100, 0.25),
    ("1 x 100 B", 1, 100, 0.005),
)


def runs(directory: str, megabytes: int) -> Iterator[tuple[str, Cost]]:
    for name, records, record_bytes, share in WORKLOADS:
        for is_idempotent in (False, True):
            batch = batch_of(records, record_bytes, is_idempotent=is_idempotent)
            count = max(1, int(megabytes * share * 1e6) // len(batch))
            label = f"{name}{', idempotent' if is_idempotent else ''}"
            log = open_log(f"{directory}/log")
            for number in range(2):
                sequence = number * count * records if is_idempotent else None
                if not is_idempotent:
                    yield (
                        f"append {label}: floor",
                        measured(partial(append_floor, f"{directory}/floor", batch, count)),
                    )
                yield (
                    f"append {label}: ours",
                    measured(partial(append_ours, log, batch, count, sequence)),
                )
            for size in () if is_idempotent else (1 << 20, 8 << 20):
                yield (
                    f"read {name}, {size >> 20} MB at a time: ours",
                    measured(partial(read_positions, log, size)),
                )
            log.abandon()
            shutil.rmtree(log.directory)
            SystemFileSystem().open(f"{directory}/floor").truncate(0)


def open_log(directory: str) -> PartitionLog:
    environment = LogEnvironment(SystemFileSystem(), SystemRandom())
    return PartitionLog.open(
        TopicPartition("bench", 0),
        directory,
        environment,
        CONFIG,
        saved=SavedState(),
        now=CLOCK.now(),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--directory", help="where to write; default: a temporary directory")
    arguments = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="millstream-log-", dir=arguments.directory)
    try:
        best: dict[str, Cost] = {}
        for name, cost in runs(directory, arguments.megabytes):
            print(f"{name:58} {cost}", flush=True)
            if name not in best or cost.cpu_s < best[name].cpu_s:
                best[name] = cost
        print("\nratio of processor time, ours to the floor (best of two runs)")
        for name, cost in best.items():
            floor = best.get(name.replace(": ours", ": floor"))
            if floor is not None and name.endswith(": ours"):
                print(f"{name:58} {cost.cpu_s / floor.cpu_s:5.2f}")
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
