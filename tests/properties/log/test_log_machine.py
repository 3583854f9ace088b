"""The partition log against a list of batches: whatever happens in whatever order, it holds what the list holds.

A crash loses any part of what no flush covered, torn at any byte and perhaps followed by zeros; what is left must be a
prefix that reaches at least the flushed offset, and recovering once more must change nothing. It may come in the middle of a cut. Its
checkpoints are as old as they may be: they know nothing of cuts, nor of records that were deleted since.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from millstream.errors import OffsetOutOfRange
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.offset_order import check_order
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import iterate_batches, patch_offset_and_epoch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.runtime import Instant
from tests.support.simulated_disk import PowerLost, SimFileSystem

DIRECTORY = "/data/t-0"
CONFIG = LogConfig(
    segment_bytes=700, index_interval_bytes=150, segment_index_bytes=64, segment_ms=1_000, retention_ms=-1,
    retention_bytes=2_000, file_delete_delay_ms=100, message_timestamp_after_max_ms=2**62,
)  # fmt: skip
PRODUCERS = (7, 8)


class ModelBatch(NamedTuple):
    base_offset: int
    next_offset: int
    producer_id: int
    base_sequence: int
    epoch: int
    content: bytes


class NoRandom:
    def random(self) -> float:
        return 0.0

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = SimFileSystem()
        self.now = Instant(1_000_000, 0)
        self.batches: list[ModelBatch] = []
        self.retired: list[ModelBatch] = []
        """What retention has removed: a crash may bring it back."""
        self.start = self.end = 0
        self.flushed = 0
        self.saved = SavedState()
        self.epoch = 3
        """Of the leader."""
        self.log = self.open(SavedState())

    def open(self, saved: SavedState) -> PartitionLog:
        environment = LogEnvironment(self.disk, NoRandom())
        return PartitionLog.open(
            TopicPartition("t", 0), DIRECTORY, environment, CONFIG, saved=saved, now=self.now
        )

    # --- writing

    @rule(
        sizes=st.lists(st.integers(0, 60), min_size=1, max_size=4),
        step=st.integers(-500, 500),
        producer=st.sampled_from([-1, *PRODUCERS]),
        epoch=st.integers(0, 1),
    )
    def append(self, sizes: list[int], step: int, producer: int, epoch: int) -> None:
        self.now = Instant(self.now.wall_ms + step, self.now.monotonic_ms + abs(step))
        known = self.log.producers.get(producer)
        epoch = max(epoch, known.producer_epoch) if known else epoch
        sequence = -1
        if producer >= 0:
            sequence = known.last_sequence + 1 if known and known.producer_epoch == epoch else 0
        options = BatchOptions(
            producer_id=producer,
            producer_epoch=epoch if producer >= 0 else -1,
            base_sequence=sequence,
        )
        records = [
            Record(offset=i, timestamp=max(0, self.now.wall_ms), value=b"x" * n)
            for i, n in enumerate(sizes)
        ]
        batch = memoryview(build_batch(records, options))
        info = self.log.append_as_leader(batch, self.epoch, self.now)
        assert (info.first_offset, info.last_offset) == (self.end, self.end + len(sizes) - 1)
        assert not info.is_duplicate
        self.batches.append(
            ModelBatch(
                self.end, self.end + len(sizes), producer, sequence, self.epoch, bytes(batch)
            )
        )
        self.end += len(sizes)

    @rule(
        counts=st.lists(st.integers(1, 3), min_size=3, max_size=10),
        producer=st.sampled_from([-1, *PRODUCERS]),
    )
    def fill(self, counts: list[int], producer: int) -> None:
        for count in counts:
            self.append([10] * count, 1, producer, 0)

    @rule(counts=st.lists(st.integers(1, 3), min_size=2, max_size=6), by=st.integers(0, 2))
    def fill_in_turns(self, counts: list[int], by: int) -> None:
        for number, count in enumerate(counts):
            self.append([5] * count, 1, PRODUCERS[number % 2], 0)
            if number == len(counts) // 2:
                self.epoch += by

    @precondition(lambda self: self.last_produced() is not None)
    @rule()
    def retry(self) -> None:
        last = self.last_produced()
        resent = memoryview(bytearray(last.content))
        patch_offset_and_epoch(resent, 0, -1)
        info = self.log.append_as_leader(resent, self.epoch, self.now)
        assert info.is_duplicate
        assert (info.first_offset, info.last_offset) == (last.base_offset, last.next_offset - 1)

    def last_produced(self) -> ModelBatch | None:
        return next((batch for batch in reversed(self.batches) if batch.producer_id >= 0), None)

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now)

    @rule()
    def flush(self) -> None:
        self.log.flush(self.now)
        self.flushed = self.end

    @rule(by=st.integers(1, 3))
    def elect(self, by: int) -> None:
        self.epoch += by

    @rule()
    def checkpoint(self) -> None:
        """What a data directory does once a minute: all checkpoints, then the notes of cuts are void."""
        notes = self.log.cut_notes.names
        start = self.log.log_start_offset
        self.saved = SavedState(self.log.recovery_point, start)
        self.log.leader_epochs.note_durable_start(start)
        self.log.cut_notes.forget(notes)

    # --- reading

    @rule(data=st.data(), bytes_max=st.integers(1, 1_500))
    def read(self, data: st.DataObject, bytes_max: int) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        bound = data.draw(st.integers(offset, self.end))
        records = self.log.read(offset, bytes_max, bound).records
        got = [header.base_offset for header, _ in iterate_batches(records, strict=True)]
        expected = [b for b in self.batches if b.next_offset > offset and b.next_offset <= bound]
        assert got == [b.base_offset for b in expected[: len(got)]]
        assert bytes(records) == b"".join(b.content for b in expected[: len(got)])
        assert len(got) == 1 or len(records) <= bytes_max or not got
        if expected:
            assert got

    @rule(beyond=st.integers(1, 5))
    def read_outside(self, beyond: int) -> None:
        for offset in (self.end + beyond, self.start - beyond):
            with pytest.raises(OffsetOutOfRange):
                self.log.read(offset, 100, self.end)

    @rule(data=st.data())
    def find_by_time(self, data: st.DataObject) -> None:
        timestamp = data.draw(st.integers(990_000, 1_010_000))
        expected = next(
            (
                max(header.base_offset, self.start)
                for batch in self.batches
                for header, _ in iterate_batches(batch.content)
                if batch.next_offset > self.start and header.max_timestamp >= timestamp
            ),
            None,
        )
        searches = self.log.timestamp_searches(timestamp)
        found = next((found for search in searches if (found := search.run()) is not None), None)
        assert (found.offset if found else None) == expected

    # --- removing

    @precondition(lambda self: self.end > self.start)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.log.first_segment_offset, self.end))
        self.log.truncate_to(offset, self.now)
        self.cut_model(offset)

    def cut_model(self, offset: int) -> None:
        holding = [b for b in self.batches if b.base_offset < offset < b.next_offset]
        self.end = holding[0].base_offset if holding else offset
        self.batches = [b for b in self.batches if b.next_offset <= self.end]
        self.start = min(self.start, self.end)
        self.flushed = min(self.flushed, self.end)
        # Whoever wrote the records that were cut off leads no more; what comes next is of a newer epoch, or of one before it.
        latest = max((b.epoch for b in self.batches), default=0)
        self.epoch = max(latest, self.epoch - 1) if offset % 2 else self.epoch + 1

    @precondition(lambda self: self.end > self.start and len(self.batches) > 3)
    @rule(data=st.data(), operations=st.integers(0, 12), kept=st.floats(0, 1))
    def lose_power_in_a_cut(self, data: st.DataObject, operations: int, kept: float) -> None:
        offset = data.draw(st.integers(self.log.first_segment_offset, self.end))
        before, start, end, flushed = list(self.batches), self.start, self.end, self.flushed
        self.disk.operations_left = operations
        with contextlib.suppress(PowerLost):
            self.log.truncate_to(offset, self.now)
        self.cut_model(offset)
        self.batches, self.start, self.end = before, start, end  # any of what was to go may be back
        self.flushed = min(flushed, offset, self.flushed)
        self.recover_after(kept, 0.0, 0)
        self.epoch = max([self.epoch, *(batch.epoch for batch in self.batches)])

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        self.log.delete_records_before(offset)
        self.start = offset

    @rule(data=st.data(), later=st.integers(0, 200))
    def maintain(self, data: st.DataObject, later: int) -> None:
        bound = data.draw(st.integers(self.start, self.end))
        self.now = Instant(self.now.wall_ms, self.now.monotonic_ms + later)
        self.log.maintain(bound, self.now)
        assert self.start <= self.log.log_start_offset <= max(bound, self.start)
        self.start = self.log.log_start_offset
        first = self.log.first_segment_offset
        self.retired += [b for b in self.batches if b.next_offset <= first]
        self.batches = [b for b in self.batches if b.next_offset > first]

    # --- stopping and starting

    @precondition(lambda self: len(self.batches) > 3)
    @rule(
        action=st.sampled_from(["flush", "roll", "maintain", "close"]),
        operations=st.integers(0, 8),
        kept=st.floats(0, 1),
    )
    def lose_power_in(self, action: str, operations: int, kept: float) -> None:
        self.disk.operations_left = operations
        start = self.start
        with contextlib.suppress(PowerLost):
            match action:
                case "flush":
                    self.log.flush(self.now)
                case "roll":
                    self.log.roll(self.now)
                case "maintain":
                    self.log.maintain(start, self.now)
                case _:
                    self.log.close(self.now)
        self.recover_after(kept, 0.0, 0)

    @rule()
    def reopen(self) -> None:
        self.log.close(self.now)
        assert self.disk.open_handles() == []
        self.flushed = self.end
        self.checkpoint()
        self.saved = SavedState(self.end, self.start)
        self.log = self.open(SavedState(self.end, self.start, was_clean=True))

    @precondition(lambda self: len(self.batches) > 3)
    @rule(kept=st.floats(0, 1), zeroed=st.floats(0, 1), undone=st.integers(0, 12))
    def crash(self, kept: float, zeroed: float, undone: int) -> None:
        self.recover_after(kept, zeroed, undone)

    def recover_after(self, kept: float, zeroed: float, undone: int) -> None:
        self.disk.crash(
            lambda _, unsynced: int(unsynced * kept), lambda _, lost: int(lost * zeroed), undone
        )
        saved = self.saved
        self.log = self.open(saved)
        survived = self.log.log_end_offset
        assert self.log.log_start_offset <= self.start
        self.start = self.log.log_start_offset
        assert self.flushed <= survived <= self.end
        known = [*self.retired, *self.batches]
        assert survived in {b.next_offset for b in known} | {self.flushed, self.start}
        self.end = survived
        first = self.log.first_segment_offset
        self.batches = [b for b in known if first < b.next_offset <= survived]
        self.retired = [b for b in known if b.next_offset <= first]
        files = self.contents()
        self.log.abandon()
        self.log = self.open(saved)
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        assert self.contents() == files
        self.log.flush(self.now)
        self.flushed = self.end

    def contents(self) -> dict[str, bytes]:
        return {name: self.disk.read(f"{DIRECTORY}/{name}") for name in self.disk.list(DIRECTORY)}

    # --- always

    @invariant()
    def offsets_agree(self) -> None:
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        check_order(self.log.partition, self.log.offsets(self.end))

    @invariant()
    def everything_is_there(self) -> None:
        found, offset = b"", self.start
        with contextlib.suppress(StopIteration):
            while offset < self.end:
                records = bytes(self.log.read(offset, 10_000, self.end).records)
                found += records
                offset = max(
                    header.next_offset for header, _ in iterate_batches(records, strict=True)
                )
        assert found == b"".join(b.content for b in self.batches if b.next_offset > self.start)

    @invariant()
    def segments_are_in_order_and_indexes_point_at_batches(self) -> None:
        bases = [segment.base_offset for segment in self.log.segments]
        assert bases == sorted(set(bases))
        for segment in self.log.segments:
            starts = {start.position: start.header.last_offset for start in segment.headers()}
            for relative_offset, position in segment.offset_index.entries():
                assert starts[position] == segment.base_offset + relative_offset

    @invariant()
    def epochs_cover_exactly_the_records(self) -> None:
        expected: list[tuple[int, int]] = []
        for batch in self.batches:
            if batch.next_offset > self.start and (not expected or expected[-1][0] != batch.epoch):
                expected.append((batch.epoch, max(batch.base_offset, self.start)))
        known = self.log.leader_epochs
        # An epoch may be known whose records were all deleted: then it is in force at the end.
        found = [tuple(entry) for entry in known.entries if entry.start_offset < self.end]
        assert found == expected

    @invariant()
    def producers_are_those_of_the_log(self) -> None:
        for producer_id in PRODUCERS:
            last = next((b for b in reversed(self.batches) if b.producer_id == producer_id), None)
            entry = self.log.producers.get(producer_id)
            if last is not None:
                assert entry is not None
                assert entry.batches[-1].base_sequence == last.base_sequence


def test_a_crash_may_bring_back_what_retention_removed_and_lose_what_came_after_it() -> None:
    """Nothing was flushed, so the log may end among the records that had been deleted."""
    machine = LogMachine()
    machine.fill([1, 1, 1], -1)
    machine.roll()
    machine.fill([1, 1, 1, 1], -1)
    machine.log.delete_records_before(3)
    machine.start = 3
    machine.log.maintain(3, machine.now)
    first = machine.log.first_segment_offset
    machine.retired = [b for b in machine.batches if b.next_offset <= first]
    machine.batches = [b for b in machine.batches if b.next_offset > first]
    machine.recover_after(0.5, 0.0, 3)
    machine.everything_is_there()
    assert machine.end == 1


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
