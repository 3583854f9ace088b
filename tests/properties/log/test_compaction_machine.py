"""Compaction against a dict: whatever is written, cleaned, crashed and reopened in whatever order, the latest committed value of
each key is there at its own offset, nothing aborted comes back, and no record appears that was never written.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from millstream.log import AppendOrigin, LogEnvironment, PartitionLog, SavedState
from millstream.log.compaction.compaction import Compaction
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import iterate_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import ControlType, build_end_transaction_marker
from millstream.records.record import Record, iterate_records
from millstream.records.transactions import AbortedTransactionFilter
from millstream.runtime import Instant
from tests.support.simulated_disk import PowerLost, SimFileSystem

from .test_log_machine import NoRandom

DIRECTORY = "/data/t-0"
DELETE_RETENTION_MS = 1_000
CONFIG = LogConfig(
    cleanup_policy=frozenset({"compact"}), segment_bytes=600, index_interval_bytes=100, file_delete_delay_ms=50,
    delete_retention_ms=DELETE_RETENTION_MS, message_timestamp_after_max_ms=2**62, retention_ms=1, retention_bytes=1,
)  # fmt: skip
KEYS = [b"a", b"b", b"c", b"d"]
PRODUCERS = (7, 8)


class Written(NamedTuple):
    key: bytes
    value: bytes | None
    producer_id: int
    """-1 outside transactions."""


class CompactionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = SimFileSystem()
        self.now = Instant(1_000_000, 0)
        self.written: dict[int, Written] = {}
        self.aborted: set[int] = set()
        self.open_records: dict[int, list[int]] = {}
        """Offsets of the open transaction of each producer that has one."""
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.tombstones_due: dict[int, int] = {}
        """Offset of a tombstone to the time from which it may be gone."""
        self.count = 0
        self.log = self.open(SavedState())

    def open(self, saved: SavedState) -> PartitionLog:
        environment = LogEnvironment(self.disk, NoRandom())
        return PartitionLog.open(
            TopicPartition("t", 0), DIRECTORY, environment, CONFIG, saved=saved, now=self.now
        )

    # --- writing

    @rule(
        keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=4),
        removes=st.booleans(),
        producer=st.sampled_from([-1, *PRODUCERS]),
        codec=st.sampled_from([0, 4]),
    )
    def append(self, keys: list[bytes], removes: bool, producer: int, codec: int) -> None:
        records = []
        for number, key in enumerate(keys):
            self.count += 1
            value = None if removes and number == 0 else b"%d" % self.count
            records.append(Record(offset=number, timestamp=500 + self.count, key=key, value=value))
        options = BatchOptions(codec=codec)
        if producer >= 0:
            options = BatchOptions(
                codec=codec,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=self.sequences[producer],
                is_transactional=True,
            )
            self.sequences[producer] += len(records)
        info = self.log.append_as_leader(memoryview(build_batch(records, options)), 0, self.now)
        for record in records:
            offset = info.first_offset + record.offset
            self.written[offset] = Written(record.key or b"", record.value, producer)
            if producer >= 0:
                self.open_records.setdefault(producer, []).append(offset)

    @precondition(lambda self: self.open_records)
    @rule(data=st.data(), commits=st.booleans())
    def end_transaction(self, data, commits: bool) -> None:
        producer = data.draw(st.sampled_from(sorted(self.open_records)))
        kind = ControlType.COMMIT if commits else ControlType.ABORT
        options = BatchOptions(producer_id=producer, producer_epoch=0)
        marker = build_end_transaction_marker(kind, 0, 600, options)
        self.log.append_as_leader(memoryview(marker), 0, self.now, AppendOrigin.COORDINATOR)
        offsets = self.open_records.pop(producer)
        if not commits:
            self.aborted |= set(offsets)

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now)
        self.log.flush(self.now)

    @rule(later=st.integers(1, 700))
    def wait(self, later: int) -> None:
        self.now = Instant(self.now.wall_ms + later, self.now.monotonic_ms + later)
        self.log.maintain(self.log.log_end_offset, self.now)
        assert self.log.log_start_offset == 0, "a compacted log loses nothing by age"

    # --- cleaning

    @rule(map_bytes=st.sampled_from([1, 400, 1 << 20]))
    def clean(self, map_bytes: int) -> None:
        self.run_cleaner(map_bytes)

    def run_cleaner(self, map_bytes: int) -> None:
        plan = self.log.plan_compaction(self.log.log_end_offset, self.now)
        if plan is None:
            return
        compaction = Compaction(plan, map_bytes_max=map_bytes, now_ms=self.now.wall_ms)
        for step in compaction.steps():
            if step.finished is not None:
                assert self.log.replace_segments(step.finished, self.now)
        self.log.complete_compaction(compaction.end_offset)

    # --- stopping and starting

    @rule()
    def reopen(self) -> None:
        checkpoint = self.log.cleaner_checkpoint
        self.log.close(self.now)
        end = self.log.log_end_offset
        self.log = self.open(SavedState(end, 0, was_clean=True, cleaner_checkpoint=checkpoint))

    @rule(operations=st.integers(0, 40), forgets=st.booleans(), undone=st.integers(0, 12))
    def crash_while_cleaning(self, operations: int, forgets: bool, undone: int) -> None:
        """Everything was flushed, so nothing may be lost; only the cleaning is cut short, at any operation."""
        self.log.flush(self.now)
        checkpoint, end = self.log.cleaner_checkpoint, self.log.log_end_offset
        self.disk.operations_left = operations
        try:
            self.run_cleaner(1 << 20)
        except PowerLost:
            pass
        else:
            checkpoint = self.log.cleaner_checkpoint
        self.disk.crash(undone_operations=undone)
        saved = SavedState(end, 0, cleaner_checkpoint=None if forgets else checkpoint)
        self.log = self.open(saved)
        assert self.log.log_end_offset == end

    # --- always

    @invariant()
    def readers_see_the_latest_committed_values(self) -> None:
        seen = self.committed()
        unstable = self.log.last_stable_offset(self.log.log_end_offset)
        expected: dict[bytes, tuple[int, bytes | None]] = {}
        for offset, written in self.written.items():
            if offset < unstable and offset not in self.aborted:
                expected[written.key] = (offset, written.value)
        latest: dict[bytes, tuple[int, bytes | None]] = {}
        for offset, (key, value) in seen.items():
            latest[key] = (offset, value)
        for key, (offset, value) in expected.items():
            if value is not None:
                assert latest[key] == (offset, value)
            else:  # a tombstone, or nothing at all any more
                assert latest.get(key, (offset, None)) == (offset, None)
        assert set(latest) <= set(expected)

    @invariant()
    def nothing_is_there_that_was_not_written(self) -> None:
        for offset, (key, value) in self.committed().items():
            assert self.written[offset][:2] == (key, value)
            assert offset not in self.aborted

    def committed(self) -> dict[int, tuple[bytes, bytes | None]]:
        """What a reader at read_committed gets, by offset."""
        bound = self.log.last_stable_offset(self.log.log_end_offset)
        found: dict[int, tuple[bytes, bytes | None]] = {}
        offset = 0
        aborted = [(t.producer_id, t.first_offset) for t in self.log.aborted_transactions(0, bound)]
        keeps = AbortedTransactionFilter(aborted)
        while records := bytes(self.log.read(offset, 1_000, bound).records):
            for header, view in iterate_batches(records, strict=True):
                if keeps(header, view) and not header.is_control:
                    for record in iterate_records(header, view):
                        found[record.offset] = (record.key or b"", record.value)
                offset = header.next_offset
        return found

    @invariant()
    def producers_go_on_where_they_stopped(self) -> None:
        for producer in PRODUCERS:
            entry = self.log.producers.get(producer)
            if self.sequences[producer]:
                assert entry is not None
                if entry.batches:
                    assert entry.last_sequence == self.sequences[producer] - 1


TestCompaction = CompactionMachine.TestCase
TestCompaction.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
