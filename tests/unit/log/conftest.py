"""A log on a simulated disk, and the few words the stories are told in."""

from __future__ import annotations

import pytest

from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import iterate_batches, patch_offset_and_epoch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record, iterate_records
from millstream.runtime import Instant
from tests.support.simulated_disk import SimFileSystem

DIRECTORY = "/data/t-0"


class FixedRandom:
    def random(self) -> float:
        return 0.5

    def randrange(self, stop: int) -> int:
        return stop // 2

    def randbytes(self, count: int) -> bytes:
        return bytes(range(count))


class LogWorld:
    def __init__(self) -> None:
        self.disk = SimFileSystem()
        self.now = Instant(wall_ms=1_000_000, monotonic_ms=5_000)
        self.environment = LogEnvironment(self.disk, FixedRandom())

    def open(
        self,
        config: LogConfig | None = None,
        *,
        recovery_point=0,
        log_start_offset=0,
        was_clean=False,
    ):
        return self.open_saved(config, SavedState(recovery_point, log_start_offset, was_clean))

    def open_saved(self, config: LogConfig | None, saved: SavedState):
        return PartitionLog.open(
            TopicPartition("t", 0),
            DIRECTORY,
            self.environment,
            config or LogConfig(),
            saved=saved,
            now=self.now,
        )

    def later(self, milliseconds: int) -> Instant:
        self.now = Instant(self.now.wall_ms + milliseconds, self.now.monotonic_ms + milliseconds)
        return self.now

    def batch(self, *values: bytes | None, timestamp=1_000, key=b"k", **options) -> memoryview:
        records = [
            Record(offset=i, timestamp=timestamp, key=key, value=v) for i, v in enumerate(values)
        ]
        return memoryview(build_batch(records, BatchOptions(**options)))

    def numbered(self, base_offset: int, epoch: int, *values: bytes) -> memoryview:
        """A batch as a leader sends it."""
        batch = self.batch(*values)
        patch_offset_and_epoch(batch, base_offset, epoch)
        return batch

    def produced(self, producer_id: int, epoch: int, sequence: int, count: int = 1) -> memoryview:
        return self.batch(
            *[b"v"] * count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )

    def append(self, log: PartitionLog, *values: bytes | None, epoch=0, **options):
        return log.append_as_leader(self.batch(*values, **options), epoch, self.now)

    def read(
        self, log: PartitionLog, offset=0, bytes_max=1 << 30, upper_bound=None, **options
    ) -> bytes:
        bound = log.log_end_offset if upper_bound is None else upper_bound
        records = log.read(offset, bytes_max, bound, **options).records
        return records if isinstance(records, bytes) else records.read()

    def values(self, log: PartitionLog, offset=0) -> list[tuple[int, bytes | None]]:
        """(offset, value) of every record from `offset` on, through as many reads as it takes."""
        found = []
        while data := self.read(log, offset, bytes_max=1):
            for header, view in iterate_batches(data):
                found += [
                    (r.offset, r.value) for r in iterate_records(header, view) if r.offset >= offset
                ]
                offset = header.next_offset
        return found

    def files(self) -> list[str]:
        return self.disk.list(DIRECTORY)

    def content(self, name: str) -> bytes:
        return self.disk.read(f"{DIRECTORY}/{name}")


@pytest.fixture
def world() -> LogWorld:
    return LogWorld()
