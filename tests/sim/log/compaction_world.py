"""One compacted log beside a list of what was written to it: appends, transactions, cleanings, deletions, restarts and crashes, by chance.

Whatever happened, a reader at read_committed sees the latest committed value of each key at its own offset; nothing that was replaced,
removed or aborted comes back, and no record appears that was never written.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import NamedTuple

from millstream.log import AppendOrigin, LogEnvironment, PartitionLog, SavedState
from millstream.log.append_info import AppendInfo
from millstream.log.compaction.compaction import Compaction
from millstream.log.offset_order import check_order
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import iterate_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.control import (
    AbortedTransactionFilter,
    ControlType,
    build_end_transaction_marker,
)
from millstream.records.record import Record, iterate_records
from millstream.runtime import Instant
from millstream.testing.sim_random import SimRandom
from tests.support.simulated_disk import PowerLost, SimFileSystem

DIRECTORY = "/data/t-0"
COMPACT = LogConfig(
    cleanup_policy=frozenset({"compact"}), segment_bytes=600, index_interval_bytes=100, file_delete_delay_ms=50,
    delete_retention_ms=300, message_timestamp_after_max_ms=2**62, retention_ms=1, retention_bytes=1,
)  # fmt: skip
COMPACT_AND_DELETE = LogConfig(
    cleanup_policy=frozenset({"compact", "delete"}), segment_bytes=600, index_interval_bytes=100, file_delete_delay_ms=50,
    delete_retention_ms=0, message_timestamp_after_max_ms=2**62, retention_ms=-1, retention_bytes=3_000,
)  # fmt: skip
KEYS = [b"a", b"b", b"c"]
PRODUCERS = (7, 8, 9)
_ALL_KEYS = 1 << 20
"""Bytes of a map of keys that has room for every key."""


class Written(NamedTuple):
    """Records of one batch, from `offset` on."""

    offset: int
    records: tuple[tuple[bytes, bytes | None], ...]
    producer_id: int
    """-1 outside transactions."""
    sequence: int


class Ended(NamedTuple):
    offset: int
    producer_id: int
    commits: bool
    next_epoch: int


class Producer(NamedTuple):
    """Where a producer goes on."""

    epoch: int = 0
    sequence: int = 0
    first_offset: int = -1
    """Of its open transaction; -1 for none."""


class CompactionWorld:
    """Steps change the log, `check_*` compare it with the list."""

    def __init__(self, config: LogConfig, chance: Random) -> None:
        self.config = config
        self.chance = chance
        self.disk = SimFileSystem()
        self.now = Instant(1_000_000, 0)
        self.history: list[Written | Ended] = []
        """In the order of the log."""
        self.count = 0
        self.clean_from = self.clean_before = 0
        """What a cleaning that had room for all keys came to: what lay below the log start may come back in a crash."""
        self.durable_start = 0
        """What was written down of where the log starts."""
        self.checkpointed = SavedState()
        """What was written down some time ago, as each minute."""
        self.has_lost = False
        """Records, in a crash, or snapshots. Where a producer stopped may have stood there alone: then the log knows less than the producer."""
        self.log = self.open(SavedState())

    def open(self, saved: SavedState) -> PartitionLog:
        environment = LogEnvironment(self.disk, SimRandom(0))
        return PartitionLog.open(
            TopicPartition("t", 0), DIRECTORY, environment, self.config, saved=saved, now=self.now
        )

    # --- what the history says

    def producer(self, producer_id: int) -> Producer:
        found = Producer()
        for event in self.history:
            if event.producer_id != producer_id:
                continue
            if isinstance(event, Ended):
                sequence = found.sequence if event.next_epoch == found.epoch else 0
                found = Producer(event.next_epoch, sequence)
            else:
                first_offset = event.offset if found.first_offset < 0 else found.first_offset
                sequence = event.sequence + len(event.records)
                found = Producer(found.epoch, sequence, first_offset)
        return found

    def open_producers(self) -> list[int]:
        return [name for name in PRODUCERS if self.producer(name).first_offset >= 0]

    def stable_offset(self) -> int:
        first_offsets = [self.producer(name).first_offset for name in self.open_producers()]
        return max(min([*first_offsets, self.log.log_end_offset]), self.log.log_start_offset)

    def expected(self) -> dict[int, tuple[bytes, bytes | None]]:
        """What was committed below the last stable offset, by offset."""
        stable = self.stable_offset()
        aborted: dict[int, bool] = {}
        found: dict[int, tuple[bytes, bytes | None]] = {}
        for event in reversed(self.history):
            if isinstance(event, Ended):
                aborted[event.producer_id] = not event.commits
            elif not (event.producer_id >= 0 and aborted.get(event.producer_id, False)):
                found |= {event.offset + i: record for i, record in enumerate(event.records)}
        return {offset: found[offset] for offset in sorted(found) if offset < stable}

    # --- writing

    def append(self) -> None:
        chance = self.chance
        codec, removes = chance.choice([Codec.NONE, Codec.ZSTD]), chance.random() < 0.4
        producer = chance.choice([-1, *PRODUCERS])
        records = []
        for number in range(chance.randint(1, 3)):
            key = chance.choice(KEYS)
            self.count += 1
            value = None if removes and number == 0 else b"%d" % self.count
            records.append(Record(offset=number, timestamp=500 + self.count, key=key, value=value))
        options = BatchOptions(codec=codec)
        if producer >= 0:
            goes_on = self.producer(producer)
            known = self.log.producers.get(producer)
            if self.has_lost and known is not None and known.producer_epoch == goes_on.epoch:
                goes_on = goes_on._replace(sequence=known.last_sequence + 1)
            options = BatchOptions(
                codec=codec,
                producer_id=producer,
                producer_epoch=goes_on.epoch,
                base_sequence=goes_on.sequence,
                is_transactional=True,
            )
        info = self.appended(memoryview(build_batch(records, options)), AppendOrigin.CLIENT)
        pairs = tuple((record.key or b"", record.value) for record in records)
        written = Written(info.first_offset, pairs, producer, max(0, options.base_sequence))
        self.history.append(written)

    def end_transaction(self) -> None:
        """The marker may raise the epoch, as since KIP-890; before it, all transactions of a producer had one epoch."""
        if names := self.open_producers():
            producer = self.chance.choice(names)
            epoch = self.producer(producer).epoch + self.chance.randint(0, 1)
            self.mark(producer, epoch, commits=self.chance.random() < 0.5)

    def mark(self, producer: int, epoch: int, *, commits: bool) -> None:
        kind = ControlType.COMMIT if commits else ControlType.ABORT
        options = BatchOptions(producer_id=producer, producer_epoch=epoch)
        marker = build_end_transaction_marker(kind, 0, 600, options)
        info = self.appended(memoryview(marker), AppendOrigin.COORDINATOR)
        self.history.append(Ended(info.first_offset, producer, commits, epoch))

    def appended(self, batch: memoryview, origin: AppendOrigin) -> AppendInfo:
        """Flushes what it rolls: of a compacted log a crash may else leave a hole, as in Kafka, where records look as if compacted away."""
        segments = len(self.log.segments)
        info = self.log.append_as_leader(batch, 0, self.now, origin)
        if len(self.log.segments) > segments:
            self.log.flush(self.now)
        return info

    def roll(self) -> None:
        """The checkpoints may be written at any time. All records are flushed before or after it, and what it writes itself perhaps later."""
        is_flushed_before = self.chance.random() < 0.5
        if is_flushed_before:
            self.log.flush(self.now)
        self.maybe_note()
        self.log.roll(self.now)
        self.maybe_note()
        if not is_flushed_before:
            self.log.flush(self.now)
            self.maybe_note()

    def wait(self) -> None:
        later = self.chance.randint(1, 700)
        self.now = Instant(self.now.wall_ms + later, self.now.monotonic_ms + later)
        start_offset = self.log.log_start_offset
        self.log.flush(self.now)
        self.log.maintain(self.stable_offset(), self.now)
        if not self.config.is_deleted:
            assert self.log.log_start_offset == start_offset, "it loses nothing by age or size"

    def delete_records(self) -> None:
        """Into the middle of a batch, of a transaction, of what is clean."""
        start_offset, end_offset = self.log.log_start_offset, self.log.log_end_offset
        self.log.delete_records_before(self.chance.randint(start_offset, end_offset))

    # --- cleaning

    def clean(self) -> None:
        self.run_cleaner(self.chance.choice([1, 400, _ALL_KEYS]))

    def roll_and_clean(self) -> None:
        """Often enough that a cleaning begins between two transactions of a producer."""
        commits = self.chance.random() < 0.5
        for producer in self.open_producers():
            self.mark(producer, self.producer(producer).epoch, commits=commits)
        self.roll()
        self.run_cleaner(_ALL_KEYS)

    def run_cleaner(self, map_bytes: int) -> None:
        plan = self.log.plan_compaction(self.log.log_end_offset, self.now)
        if plan is None:
            return
        start_offset = self.log.log_start_offset
        if start_offset > self.log.first_segment_offset:  # as `LogCleaner`
            if self.log.cut_notes.names:
                return
            self.durable_start = start_offset
        compaction = Compaction(plan, map_bytes_max=map_bytes, now_ms=self.now.wall_ms)
        for step in compaction.steps():
            if step.finished is not None:
                assert self.log.replace_segments(step.finished, self.now)
        self.log.complete_compaction(compaction.end_offset)
        if map_bytes == _ALL_KEYS:
            self.clean_from, self.clean_before = start_offset, compaction.end_offset

    # --- stopping and starting

    def maybe_note(self) -> None:
        if self.chance.random() < 0.5:
            self.checkpointed = self.noted_now()
            self.note_start()

    def note_start(self) -> None:
        """As `LogDirectory` does it: notes of cuts go once all that is written is true again."""
        self.durable_start = self.log.log_start_offset
        self.log.cut_notes.forget(self.log.cut_notes.names)

    def noted_now(self) -> SavedState:
        log = self.log
        marks = tuple(segment.mark for segment in log.segments)
        return SavedState(log.recovery_point, synced_to=log.recovery_point, marks=marks)

    def saved_state(self, noted: SavedState, *, was_clean: bool) -> SavedState:
        """The checkpoint of the cleaner may be lost, it is written without haste; and so may that of the segments."""
        forgets = not was_clean and self.chance.random() < 0.3
        return replace(
            noted,
            log_start_offset=self.durable_start,
            was_clean=was_clean,
            cleaner_checkpoint=None if forgets else self.log.cleaner_checkpoint,
            marks=() if self.chance.random() < 0.2 else noted.marks,
        )

    def reopen(self) -> None:
        self.log.close(self.now)
        self.note_start()
        saved = self.saved_state(self.noted_now(), was_clean=True)
        self.log = self.open(saved)

    def crash(self) -> None:
        """What was not flushed may be lost. Of a marker that is lost the coordinator knows, and writes it again."""
        flushed = self.log.recovery_point
        kept = self.chance.choice([0.0, 1.0, self.chance.random()])
        noted = self.chance.choice([self.noted_now(), self.checkpointed])
        saved = self.saved_state(noted, was_clean=False)
        self.disk.crash(lambda _, unsynced: int(unsynced * kept))
        self.log = self.open(saved)
        end = self.log.log_end_offset
        assert end >= flushed
        if flushed < self.log.log_start_offset == self.log.first_segment_offset == end:
            self.history.clear()  # what was deleted was not on the disk yet, and nothing is there behind it
            self.has_lost = True
            return
        lost = [event for event in self.history if event.offset >= end]
        self.has_lost |= bool(lost)
        self.history = [event for event in self.history if event.offset < end]
        for event in lost:
            if isinstance(event, Ended) and event.producer_id in self.open_producers():
                self.mark(event.producer_id, event.next_epoch, commits=event.commits)

    def crash_while_cleaning(self) -> None:
        """Everything was flushed, so nothing may be lost; only the cleaning is cut short, at any operation."""
        self.log.flush(self.now)
        end = self.log.log_end_offset
        now = self.noted_now()
        saved = self.saved_state(now, was_clean=False)
        self.disk.operations_left = self.chance.randint(0, 60)
        try:
            self.run_cleaner(_ALL_KEYS)
        except PowerLost:
            pass
        else:
            noted = self.chance.choice([now, self.noted_now(), self.checkpointed])
            saved = self.saved_state(noted, was_clean=False)
        self.disk.crash(undone_operations=self.chance.randint(0, 12))
        self.log = self.open(saved)
        assert self.log.log_end_offset == end

    def lose_snapshots(self) -> None:
        """Of producers, in a clean stop or a crash. Where a producer stopped is then known as far as its records are there."""
        firsts = [self.producer(name).first_offset for name in self.open_producers()]
        if any(first < self.log.log_start_offset for first in firsts):
            return  # of such a transaction nothing may be there: then readers go on, as nothing of it can be read
        was_clean = self.chance.random() < 0.5
        if was_clean:
            self.log.close(self.now)
            self.note_start()
        else:
            self.log.flush(self.now)
        saved = self.saved_state(self.noted_now(), was_clean=was_clean)
        self.disk.crash()
        for name in self.disk.list(DIRECTORY):
            if name.endswith(".snapshot") and self.chance.random() < 0.5:
                self.disk.remove(f"{DIRECTORY}/{name}")
                self.has_lost = True
        self.log = self.open(saved)
        self.log.roll(self.now)  # a snapshot of what was found, before any of it goes
        self.log.flush(self.now)

    # --- always

    def check(self) -> None:
        check_order(self.log.partition, self.log.offsets(self.log.log_end_offset))
        assert self.log.last_stable_offset(self.log.log_end_offset) == self.stable_offset()
        self.check_readers_see_the_latest_committed_values()
        self.check_each_key_is_once_in_what_is_clean()
        self.check_a_reader_may_begin_anywhere()
        self.check_producers_go_on_where_they_stopped()

    def check_readers_see_the_latest_committed_values(self) -> None:
        expected, seen = self.expected(), self.committed(self.log.log_start_offset)
        assert {offset: expected.get(offset) for offset in seen} == seen
        latest = {key: (offset, value) for offset, (key, value) in expected.items()}
        found = {key: (offset, value) for offset, (key, value) in seen.items()}
        for key, (offset, value) in latest.items():
            if offset < self.log.log_start_offset:
                assert key not in found
            elif value is not None:
                assert found[key] == (offset, value)
            else:  # a tombstone, or nothing at all any more
                assert found.get(key, (offset, None)) == (offset, None)

    def check_each_key_is_once_in_what_is_clean(self) -> None:
        seen = self.committed(self.log.log_start_offset)
        cleaned = range(self.clean_from, self.clean_before)
        keys = [key for offset, (key, _) in seen.items() if offset in cleaned]
        assert sorted(keys) == sorted(set(keys))

    def check_a_reader_may_begin_anywhere(self) -> None:
        start = self.log.log_start_offset
        offset = self.chance.randint(start, self.stable_offset())
        rest = {at: seen for at, seen in self.committed(start).items() if at >= offset}
        assert self.committed(offset) == rest

    def committed(self, start_offset: int) -> dict[int, tuple[bytes, bytes | None]]:
        """What a reader at read_committed gets, by offset; aborted transactions are asked for with each read, as a fetch does."""
        bound = self.log.last_stable_offset(self.log.log_end_offset)
        found: dict[int, tuple[bytes, bytes | None]] = {}
        offset = start_offset
        while (read := self.log.read(offset, 200, bound)).records:
            aborted = [(t.producer_id, t.first_offset) for t in self.log.aborted_among(read)]
            keeps = AbortedTransactionFilter(aborted)
            data = read.records if isinstance(read.records, bytes) else read.records.read()
            for header, view in iterate_batches(data, strict=True):
                if keeps(header, view) and not header.is_control:
                    for record in iterate_records(header, view):
                        if record.offset >= start_offset:
                            found[record.offset] = (record.key or b"", record.value)
                offset = header.next_offset
        return found

    def check_producers_go_on_where_they_stopped(self) -> None:
        for producer in PRODUCERS:
            known, entry = self.producer(producer), self.log.producers.get(producer)
            if known.first_offset >= self.log.log_start_offset:
                assert entry is not None, f"producer {producer} is forgotten in its transaction"
                assert entry.last_sequence == known.sequence - 1
            elif entry is not None and entry.batches and entry.producer_epoch == known.epoch:
                assert self.has_lost or entry.last_sequence == known.sequence - 1
