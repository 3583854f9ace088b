"""The cleaner on one log: what stays, what goes, and when (KIP-534 for tombstones and markers, KIP-98 for producers)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.errors import CorruptMessage
from millstream.log import AppendOrigin, FileRange, SavedState
from millstream.log.compaction.compaction import Compaction
from millstream.metadata.topic_config import LogConfig
from millstream.records.batch import iterate_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import ControlType, build_end_transaction_marker
from millstream.records.record import Record, iterate_records
from tests.support.simulated_disk import PowerLost
from tests.unit.log.conftest import DIRECTORY

COMPACT = LogConfig(
    cleanup_policy=frozenset({"compact"}),
    segment_bytes=10_000,
    delete_retention_ms=1_000,
    message_timestamp_after_max_ms=2**62,
)
MAP_BYTES = 1 << 20


class Cleaned:
    """A compacted log and the few words its stories are told in. Every `put` is a batch of its own."""

    def __init__(self, world, config=COMPACT):
        self.world, self.config = world, config
        self.log = world.open(config)

    def put(self, *pairs, **options):
        """Key and value in one word: `a1`; a tombstone is `a-`."""
        records = [
            Record(offset=i, timestamp=1_000, key=word[0].encode(), value=_value(word))
            for i, word in enumerate(pairs)
        ]
        batch = memoryview(build_batch(records, BatchOptions(**options)))
        return self.log.append_as_leader(batch, 0, self.world.now)

    def mark(self, producer_id, epoch, kind):
        options = BatchOptions(producer_id=producer_id, producer_epoch=epoch)
        marker = build_end_transaction_marker(kind, 0, 1_000, options)
        return self.log.append_as_leader(
            memoryview(marker), 0, self.world.now, AppendOrigin.COORDINATOR
        )

    def roll(self):
        self.log.roll(self.world.now)
        self.log.flush(self.world.now)

    def plan(self):
        return self.log.plan_compaction(self.log.log_end_offset, self.world.now)

    def clean(self, map_bytes=MAP_BYTES):
        plan = self.plan()
        compaction = Compaction(plan, map_bytes_max=map_bytes, now_ms=self.world.now.wall_ms)
        for step in compaction.steps():
            if step.finished is not None:
                self.log.replace_segments(step.finished, self.world.now)
        self.log.complete_compaction(compaction.end_offset)

    def roll_and_clean(self):
        self.roll()
        self.clean()

    def batches(self):
        offset = self.log.log_start_offset
        while data := self.world.read(self.log, offset, bytes_max=1):
            for header, view in iterate_batches(data):
                yield header, list(iterate_records(header, view))
                offset = header.next_offset

    def words(self):
        """Offset and word of every data record."""
        return [
            f"{r.offset}:{r.key.decode()}{r.value.decode() if r.value is not None else '-'}"
            for header, records in self.batches()
            if not header.is_control
            for r in records
        ]

    def reopen(self):
        self.log.close(self.world.now)
        end = self.log.log_end_offset
        self.log = self.world.open(self.config, recovery_point=end, was_clean=True)


def _value(word):
    return None if word[1:] == "-" else word[1:].encode()


@pytest.fixture
def cleaned(world):
    return Cleaned(world)


def test_the_latest_value_of_each_key_stays_at_its_offset(cleaned):
    cleaned.put("a1", "b1", "a2")
    cleaned.put("c1", "b2")
    cleaned.roll_and_clean()
    assert cleaned.words() == ["2:a2", "3:c1", "4:b2"]
    assert cleaned.log.log_end_offset == 5


def test_the_active_segment_is_neither_cleaned_nor_counted(cleaned):
    cleaned.put("a1")
    cleaned.roll()
    cleaned.put("a2")
    cleaned.clean()
    assert cleaned.words() == ["0:a1", "1:a2"]


def test_a_batch_of_which_everything_stays_is_kept_byte_for_byte(cleaned):
    cleaned.put("a1", "b1", codec=4)
    before = cleaned.world.read(cleaned.log)
    cleaned.roll_and_clean()
    assert cleaned.world.read(cleaned.log) == before


def test_what_stays_of_a_compressed_batch_is_compressed_again(cleaned):
    cleaned.put("a1", "b1", "a2", codec=1)
    cleaned.roll_and_clean()
    (header, records), *_ = cleaned.batches()
    assert (header.codec, header.record_count, header.base_offset, header.last_offset) == (
        1,
        2,
        0,
        2,
    )
    assert [r.offset for r in records] == [1, 2]


def test_a_tombstone_stays_until_its_delete_horizon_has_passed(cleaned):
    cleaned.put("a1")
    cleaned.put("a-")
    cleaned.put("b1")
    cleaned.roll_and_clean()
    assert cleaned.words() == ["1:a-", "2:b1"]
    header = next(header for header, _ in cleaned.batches())
    assert header.delete_horizon_ms == cleaned.world.now.wall_ms + 1_000
    cleaned.world.later(999)
    cleaned.put("c1")
    cleaned.roll_and_clean()
    assert cleaned.words() == ["1:a-", "2:b1", "3:c1"]
    cleaned.world.later(1)
    cleaned.put("d1")
    cleaned.roll_and_clean()
    assert cleaned.words() == ["2:b1", "3:c1", "4:d1"]


def test_records_keep_their_timestamps_when_a_delete_horizon_takes_the_place_of_the_base_timestamp(
    cleaned,
):
    cleaned.put("a-", "b1")
    cleaned.roll_and_clean()
    (_, records), *_ = cleaned.batches()
    assert [r.timestamp for r in records] == [1_000, 1_000]


def test_records_of_aborted_transactions_go_and_do_not_hide_older_ones(cleaned):
    cleaned.put("a1")
    cleaned.put("a2", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.mark(5, 0, ControlType.ABORT)
    cleaned.put("b1")
    cleaned.roll_and_clean()
    assert cleaned.words() == ["0:a1", "3:b1"]


def test_records_of_a_transaction_that_is_aborted_in_a_later_segment_go_too(cleaned):
    cleaned.put("a1")
    cleaned.put("a2", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.put("b1")
    cleaned.roll()
    cleaned.mark(5, 0, ControlType.ABORT)
    cleaned.put("c1")
    cleaned.clean()  # the marker stands in the active segment
    assert cleaned.words() == ["0:a1", "2:b1", "4:c1"]
    assert [t.first_offset for t in cleaned.log.aborted_transactions(0, 10)] == [1]


def test_an_aborted_transaction_over_two_segments_never_comes_back(cleaned):
    cleaned.put("a1", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.put(*["b1"] * 900)
    cleaned.roll()
    cleaned.mark(5, 0, ControlType.ABORT)
    cleaned.put(*["c1"] * 900)
    cleaned.roll_and_clean()
    assert "0:a1" not in cleaned.words()


def test_an_abort_marker_stays_while_a_batch_of_its_transaction_does(cleaned):
    cleaned.put("a1", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.mark(5, 0, ControlType.ABORT)
    cleaned.put("b1")
    cleaned.roll_and_clean()
    cleaned.put("c1")
    cleaned.roll_and_clean()
    found = [(h.is_control, h.record_count) for h, _ in cleaned.batches()]
    assert found == [(False, 0), (True, 1), (False, 1), (False, 1)]
    assert [t.first_offset for t in cleaned.log.aborted_transactions(0, 10)] == [0]


def test_a_marker_without_its_transaction_goes_after_its_own_delete_horizon(cleaned):
    cleaned.put("a1", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.mark(5, 0, ControlType.ABORT)
    cleaned.put("p1", producer_id=5, producer_epoch=0, base_sequence=1)
    cleaned.roll_and_clean()  # drops the data
    cleaned.put("b1")
    cleaned.roll_and_clean()  # sets the horizon of the marker
    marker = next(h for h, _ in cleaned.batches() if h.is_control)
    assert marker.delete_horizon_ms == cleaned.world.now.wall_ms + 1_000
    assert cleaned.log.aborted_transactions(0, 10) == []
    cleaned.world.later(1_000)
    cleaned.put("c1")
    cleaned.roll_and_clean()
    assert not any(h.is_control for h, _ in cleaned.batches())


@pytest.mark.parametrize("epoch", [0, 1], ids=["same epoch", "epoch raised by the abort"])
@pytest.mark.parametrize(("word", "left"), [("a-", []), ("a2", ["4:a2"])])
def test_what_a_producer_commits_after_an_abort_counts_though_the_cleaning_begins_in_between(
    world, word, left, epoch
):
    """Kafka 4.3.1 ends with the same; before KIP-890 all transactions of a producer had one epoch."""
    cleaned = Cleaned(world, replace(COMPACT, delete_retention_ms=0))
    cleaned.put("a0")
    cleaned.put("x1", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.mark(5, 0, ControlType.ABORT)
    cleaned.put("f1")
    cleaned.roll_and_clean()
    sequence = 0 if epoch else 1
    cleaned.put(
        word, producer_id=5, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
    )
    cleaned.mark(5, epoch, ControlType.COMMIT)
    cleaned.put("g1")
    cleaned.roll_and_clean()
    cleaned.put("h1")
    cleaned.roll_and_clean()
    assert [each for each in cleaned.words() if ":a" in each] == left


def test_a_transaction_whose_marker_was_cleaned_away_is_not_open_again_after_a_crash(world):
    """Nor would anybody ever end it: the last stable offset would stay where it began."""
    cleaned = Cleaned(world, replace(COMPACT, delete_retention_ms=0))
    cleaned.put("a1", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.put("z" + "1" * 6_000)
    cleaned.roll()  # the snapshot of producers at offset 2 has the open transaction; two such segments do not become one
    cleaned.mark(5, 0, ControlType.COMMIT)
    cleaned.put("p1", producer_id=5, producer_epoch=0, base_sequence=1)
    cleaned.put("a" + "2" * 6_000)
    for word in ("b1", "c1", "d1"):
        cleaned.roll_and_clean()
        cleaned.put(word)
    assert not any(header.is_control for header, _ in cleaned.batches())
    world.disk.crash(lambda _path, unsynced: unsynced)
    recovered = world.open(cleaned.config, recovery_point=2)
    assert recovered.last_stable_offset(recovered.log_end_offset) == recovered.log_end_offset == 8
    assert recovered.producers.get(5).last_sequence == 1


def test_nothing_is_cleaned_before_the_snapshot_of_producers_behind_it_is_on_the_disk(world):
    """The records are, since before the roll; but a crash now would leave an older snapshot, in which a cleaned transaction is open."""
    cleaned = Cleaned(world, COMPACT)
    cleaned.put("a1")
    cleaned.put("a2")
    log = cleaned.log
    log.flush(world.now)
    log.roll(world.now)
    assert (log.recovery_point, log.has_unflushed_segments) == (2, True)
    assert log.plan_compaction(2, world.now) is None
    plan = log.plan_flush()
    plan.sync()
    assert log.plan_compaction(2, world.now) is None
    log.complete_flush(plan, world.now)
    assert not log.has_unflushed_segments
    assert log.plan_compaction(2, world.now).end_offset == 2


def test_nothing_is_cleaned_behind_the_newest_snapshot_that_a_crash_has_left(world):
    cleaned = Cleaned(world, COMPACT)
    for word in ("a1", "a2"):
        cleaned.put(word)
        cleaned.roll()
    world.disk.corrupt(f"{DIRECTORY}/{2:020d}.snapshot", 6, b"torn")
    log = world.open(cleaned.config, recovery_point=2)
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2]
    assert log.plan_compaction(2, world.now).end_offset == 1
    world.append(log, b"a3", key=b"a")
    log.roll(world.now)
    log.flush(world.now)
    assert log.plan_compaction(3, world.now).end_offset == 3


def test_committed_transactions_are_compacted_like_any_other_record(cleaned):
    cleaned.put("a1", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.mark(5, 0, ControlType.COMMIT)
    cleaned.put("a2")
    cleaned.roll_and_clean()
    assert cleaned.words() == ["2:a2"]


def test_an_open_transaction_stops_the_cleaning_before_its_segment(cleaned):
    cleaned.put("a1")
    cleaned.put("a2")
    cleaned.roll()
    cleaned.put("b1", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    cleaned.put("a3")
    cleaned.roll()
    assert cleaned.plan().end_offset == 2


def test_the_last_batch_of_a_live_producer_stays_as_an_empty_batch(cleaned):
    cleaned.put("a1", producer_id=5, producer_epoch=2, base_sequence=0)
    cleaned.put("a2")
    cleaned.put("b1")
    cleaned.roll_and_clean()
    header, records = next(iter(cleaned.batches()))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 2, 0)
    assert (header.base_offset, header.record_count, records) == (0, 0, [])
    cleaned.reopen()
    assert cleaned.put("c1", producer_id=5, producer_epoch=2, base_sequence=1).first_offset == 3


def test_the_last_batch_of_a_segment_stays_as_an_empty_batch(cleaned):
    cleaned.put("b1")
    cleaned.put("a1")
    cleaned.roll()
    cleaned.put("a2")
    cleaned.roll_and_clean()
    assert [(h.base_offset, len(r)) for h, r in cleaned.batches()] == [(0, 1), (1, 0), (2, 1)]


def test_small_segments_become_one(cleaned):
    for word in ("a1", "a2", "b1"):
        cleaned.put(word)
        cleaned.roll()
    cleaned.clean()
    assert [s.base_offset for s in cleaned.log.segments] == [0, 3]
    assert f"{1:020d}.log" not in cleaned.world.files()


def test_cleaned_segments_are_no_larger_than_segment_bytes(world):
    cleaned = Cleaned(world, LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=180))
    for number in range(4):
        cleaned.put(f"{number}1")
        cleaned.roll()
    cleaned.clean()
    assert [s.base_offset for s in cleaned.log.segments] == [0, 2, 4]


@pytest.mark.parametrize("map_bytes", [1, 0, -1])
def test_keys_that_do_not_fit_into_the_map_are_cleaned_the_next_time(cleaned, map_bytes):
    """Each pass gets further, whatever the memory: log.cleaner.io.buffer.load.factor may be 0 or less."""
    cleaned.put("a1")
    cleaned.put("a2")
    cleaned.put("a3")
    cleaned.put("b1")
    cleaned.roll()
    cleaned.clean(map_bytes=map_bytes)
    assert cleaned.log.cleaner_checkpoint == 1
    assert cleaned.words() == ["0:a1", "1:a2", "2:a3", "3:b1"]
    cleaned.clean(map_bytes=map_bytes)
    assert cleaned.words() == ["1:a2", "2:a3", "3:b1"]


def test_what_is_written_where_recovery_has_cut_the_log_is_dirty(cleaned):
    cleaned.put("a1")
    cleaned.put("b1")
    cleaned.roll_and_clean()
    assert cleaned.log.cleaner_checkpoint == 2
    cleaned.world.disk.corrupt(f"{DIRECTORY}/{0:020d}.log", 70 + 65, b"\xff")
    saved = SavedState(recovery_point=0, cleaner_checkpoint=2)
    cleaned.log = cleaned.world.open_saved(COMPACT, saved)
    assert cleaned.log.log_end_offset == 1
    cleaned.put("a-")
    cleaned.put("c1")
    cleaned.roll()
    assert cleaned.plan().first_dirty_offset == 1


def test_a_cleaning_is_due_when_more_than_the_dirty_ratio_is_dirty(cleaned):
    assert cleaned.plan() is None
    cleaned.put("a1")
    cleaned.roll()
    assert cleaned.plan().is_due
    cleaned.clean()
    assert cleaned.plan() is None
    cleaned.put("a2")
    cleaned.roll()
    assert cleaned.plan().dirty_ratio == 0.5
    assert not cleaned.plan().is_due


def test_records_younger_than_the_minimum_lag_are_not_cleaned(world):
    config = LogConfig(cleanup_policy=frozenset({"compact"}), min_compaction_lag_ms=500)
    cleaned = Cleaned(world, config)
    cleaned.put("a1")
    cleaned.roll()
    world.now = world.now._replace(wall_ms=1_499)
    assert cleaned.plan() is None
    world.now = world.now._replace(wall_ms=1_500)
    assert cleaned.plan().end_offset == 1


def test_a_cleaning_is_overdue_after_the_maximum_lag(world):
    config = LogConfig(
        cleanup_policy=frozenset({"compact"}),
        max_compaction_lag_ms=500,
        min_cleanable_dirty_ratio=1.0,
    )
    cleaned = Cleaned(world, config)
    cleaned.put("a1")
    cleaned.roll()
    world.now = world.now._replace(wall_ms=1_500)
    assert not cleaned.plan().is_due
    world.now = world.now._replace(wall_ms=1_501)
    assert cleaned.plan().is_due


def test_what_is_not_on_the_disk_yet_is_not_cleaned(cleaned):
    cleaned.put("a1")
    cleaned.log.roll(cleaned.world.now)
    assert cleaned.plan() is None


def test_a_segment_that_left_the_log_meanwhile_makes_the_cleaning_void(cleaned):
    cleaned.put("a1")
    cleaned.put("a2")
    cleaned.roll()
    compaction = Compaction(cleaned.plan(), map_bytes_max=MAP_BYTES, now_ms=0)
    finished = [step.finished for step in compaction.steps() if step.finished]
    cleaned.log.truncate_fully_and_start_at(7, cleaned.world.now)
    assert not cleaned.log.replace_segments(finished[0], cleaned.world.now)
    assert not [name for name in cleaned.world.files() if "cleaned" in name]


def test_readers_of_replaced_segments_are_not_disturbed(cleaned):
    cleaned.put("a" + "1" * 9_000, codec=0)
    cleaned.put("a2")
    cleaned.roll()
    before = cleaned.world.read(cleaned.log)
    reading = FileRange(cleaned.log.segments[0].file, 0, len(before))
    cleaned.clean()
    assert reading.read() == before
    cleaned.world.later(60_000)
    for remove in cleaned.log.take_due_removals(cleaned.world.now):
        remove()
    assert not [name for name in cleaned.world.files() if name.endswith(".deleted")]


def test_a_damaged_batch_stops_the_cleaning_and_nothing_is_lost(cleaned):
    cleaned.put("a1")
    cleaned.put("a2")
    cleaned.roll()
    cleaned.world.disk.corrupt(f"{DIRECTORY}/{0:020d}.log", 65, b"\xff")
    with pytest.raises(CorruptMessage):
        cleaned.clean()
    assert len(cleaned.log.segments) == 2


def test_the_log_is_whole_after_a_crash_at_any_point_of_a_cleaning(world):
    """Every change of the disk is a point to crash at; recovery finds all values, and nothing half done."""
    operations = 0
    while True:
        world.disk.crash()
        for name in world.disk.list(DIRECTORY) if world.disk.exists(DIRECTORY) else ():
            world.disk.remove(f"{DIRECTORY}/{name}")
        cleaned = Cleaned(world)
        cleaned.put("a1", "b1")
        cleaned.roll()
        cleaned.put("x1", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
        cleaned.mark(5, 0, ControlType.ABORT)
        cleaned.put("a2", "c1")
        cleaned.roll()
        cleaned.put("c2", "d1")
        cleaned.roll()
        world.disk.operations_left = operations
        try:
            cleaned.clean()
        except PowerLost:
            world.disk.crash()
        else:
            break
        operations += 1
        recovered = world.open(COMPACT, recovery_point=cleaned.log.log_end_offset)
        aborted = {t.first_offset for t in recovered.aborted_transactions(0, 100)}
        cleaned.log = recovered
        latest = {
            w.split(":")[1][0]: w for w in cleaned.words() if int(w.split(":")[0]) not in aborted
        }
        assert latest == {"a": "4:a2", "b": "1:b1", "c": "6:c2", "d": "7:d1"}
        assert not any(
            name.endswith((".cleaned", ".swap", ".deleted", ".tmp")) for name in world.files()
        )
        assert recovered.log_end_offset == 8
    assert operations > 15
