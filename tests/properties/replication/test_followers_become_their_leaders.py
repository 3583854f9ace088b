"""A follower with any history becomes byte-equal to its leader, in a bounded number of steps, and loses nothing that they share.

Histories are such as Kafka's rules allow: an epoch has one leader, so where two logs have a record of the same epoch at the same offset,
they are equal up to there.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from millstream.broker.replication.remote_leader import divergence_in
from millstream.errors import OffsetOutOfRange
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.file_range import FileRange
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import LeaderEpoch, TopicPartition, Uuid
from millstream.protocol.generated.fetch import FetchPartition
from millstream.records.batch import patch_offset_and_epoch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import TransactionMarker
from millstream.records.record import Record
from millstream.replication import Partition
from millstream.replication.follower import (
    Append,
    AskLeaderEnd,
    AskLeaderStart,
    FollowedPartition,
    StartOver,
    TruncateTo,
    TruncateToDivergence,
)
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom
from tests.support.cut_at_once import cut_at_once
from tests.support.played_leader import Led
from tests.support.simulated_disk import SimFileSystem

T0, TOPIC_ID = TopicPartition("t", 0), Uuid(b"t" * 16)
NOW = Instant(1_000_000, 0)
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=100, segment_index_bytes=64, retention_ms=-1)  # fmt: skip
BACKOFF_MS = 1_000
STEPS_EACH = 3
"""A fetch, and for one that is out of range the leader's end and its start."""

COUNTS = st.lists(st.integers(1, 3), max_size=3)
"""Numbers of records of the batches of one epoch."""
HISTORIES = st.lists(st.tuples(st.integers(0, 1), COUNTS), max_size=6)
"""Who leads an epoch on its own, and what it writes."""


def new_log() -> PartitionLog:
    environment = LogEnvironment(SimFileSystem(), SystemRandom())
    return PartitionLog.open(T0, "/d/t-0", environment, CONFIG, saved=SavedState(), now=NOW)


class Writer:
    """Writes batches, each unlike any other, some of them in transactions."""

    def __init__(self) -> None:
        self._numbers = count()

    def write(self, logs: list[PartitionLog], epoch: int, records: int) -> None:
        """Appends the same batch to logs that end at the same offset."""
        number = next(self._numbers)
        offset = logs[0].log_end_offset
        built = build_batch(
            [Record(offset=i, timestamp=number, value=b"%d" % number) for i in range(records)],
            BatchOptions(producer_id=1_000 + number, producer_epoch=0, base_sequence=0, is_transactional=True)
            if number % 3 == 1
            else BatchOptions(),
        )  # fmt: skip
        if number % 3 == 2:
            built = bytearray(
                TransactionMarker(999 + number, 0, 0, number % 2 == 0, 0).build(number)
            )
        patch_offset_and_epoch(memoryview(built), offset, epoch)
        for log in logs:
            log.append_as_follower(memoryview(bytearray(built)), NOW)


def content(log: PartitionLog, start: int) -> bytes:
    data = bytearray()
    offset = start
    while offset < log.log_end_offset:
        read = log.read(offset, 1 << 20, log.log_end_offset).records
        piece = read.read() if isinstance(read, FileRange) else read
        assert piece
        data += piece
        offset = int.from_bytes(piece[:8], "big") + int.from_bytes(piece[23:27], "big") + 1
        data[len(data) - len(piece) :] = piece[: 12 + int.from_bytes(piece[8:12], "big")]
    return bytes(data)


class Replication:
    """A follower that fetches until it has nothing more to do."""

    def __init__(self, leader: PartitionLog, own: PartitionLog, epoch: int, mark: int) -> None:
        self.led = Led(leader, epoch)
        self.partition = Partition(own, TOPIC_ID, 1, mark)
        self.partition.apply(
            PartitionImage(
                partition=0, replicas=(1, 2), isr=(2,), leader=2, leader_epoch=LeaderEpoch(epoch)
            ),
            NOW,
        )
        self.lowest_end = own.log_end_offset
        self.follower = FollowedPartition(
            epoch, own.log_end_offset, own.leader_epochs.latest_epoch, backoff_ms=BACKOFF_MS
        )
        self.steps = 0
        self.has_appended = False
        self.now_ms = 0

    @property
    def is_done(self) -> bool:
        """Whether the leader has nothing more to tell: it takes the follower for one that has its log."""
        return self.has_appended and self.follower.fetch_offset == self.led.log.log_end_offset

    def fetch(self) -> None:
        """One fetch and what follows from it."""
        self.steps += 1
        self.now_ms += BACKOFF_MS
        self.follower.end_delay(self.now_ms)
        asked = self.follower.asks(self.partition.log_start_offset)
        assert asked is not None
        message = FetchPartition(0, asked.leader_epoch, asked.fetch_offset, asked.last_fetched_epoch, asked.log_start_offset, 200)  # fmt: skip
        data = self.led.answer(message)
        step = self.follower.take(asked, data.error_code, divergence_in(data), self.now_ms)
        assert data.error_code in {0, OffsetOutOfRange.code}
        if isinstance(step, AskLeaderEnd):
            end = self.led.log.log_end_offset
            step = self.follower.take_leader_end(asked, 0, end, self.now_ms)
        if isinstance(step, AskLeaderStart):
            start = self.led.log.log_start_offset
            step = self.follower.take_leader_start(asked, 0, start, self.now_ms)
        self._carry_out(step, data)
        self.partition.check_offsets()

    def _carry_out(self, step: object, data: Any) -> None:
        log = self.partition.log
        self.has_appended = isinstance(step, Append)
        match step:
            case Append():
                self.partition.append_fetched(
                    memoryview(data.records),
                    leader_epoch=LeaderEpoch(step.leader_epoch),
                    leader_high_watermark=data.high_watermark,
                    leader_log_start_offset=data.log_start_offset,
                    now=NOW,
                )
                self.follower.note_append(log.log_end_offset, log.leader_epochs.latest_epoch)
                return
            case TruncateToDivergence():
                epoch = self.partition.leader_epoch
                cut = self.partition.plan_divergence_cut(step.diverging, epoch)
            case TruncateTo():
                cut = self.partition.plan_cut(step.offset)
            case StartOver():
                cut = self.partition.plan_cut(step.offset, is_whole=True)
            case _:
                return
        cut_at_once(self.partition, cut)
        self.follower.note_cut(log.log_end_offset, log.leader_epochs.latest_epoch, self.now_ms)
        self.lowest_end = min(self.lowest_end, log.log_end_offset)


@given(
    shared=st.lists(COUNTS, max_size=4),
    histories=HISTORIES,
    leader_start=st.integers(0, 60),
    own_start=st.integers(0, 60),
    mark=st.integers(0, 60),
    epochs_later=st.integers(1, 2),
)
@example(shared=[[1], [2]], histories=[(1, [3]), (0, [1]), (1, [2])], leader_start=0, own_start=0, mark=0, epochs_later=1)  # fmt: skip
@example(shared=[], histories=[(0, [1, 1, 1]), (1, [1])], leader_start=3, own_start=0, mark=0, epochs_later=1)  # fmt: skip
@example(shared=[[3, 3]], histories=[], leader_start=4, own_start=6, mark=0, epochs_later=1)
def test_a_follower_becomes_its_leader(
    *,
    shared: list[list[int]],
    histories: list[tuple[int, list[int]]],
    leader_start: int,
    own_start: int,
    mark: int,
    epochs_later: int,
) -> None:
    leader, own, writer = new_log(), new_log(), Writer()
    epoch = 0
    for counts in shared:
        for records in counts:
            writer.write([leader, own], epoch, records)
        epoch += 1
    common_end = leader.log_end_offset
    for whose, counts in histories:
        for records in counts:
            writer.write([(leader, own)[whose]], epoch, records)
        epoch += 1
    leader.delete_records_before(min(leader_start, leader.log_end_offset))
    own.delete_records_before(min(own_start, common_end))

    replication = Replication(leader, own, epoch + epochs_later, min(mark, common_end))
    bound = STEPS_EACH * (len(shared) + len(histories) + 2) + len(content(leader, leader.log_start_offset)) // 60  # fmt: skip
    while not replication.is_done:
        assert replication.steps < bound, "it does not end"
        replication.fetch()

    assert own.log_end_offset == leader.log_end_offset
    assert own.log_start_offset >= leader.log_start_offset
    start = own.log_start_offset
    assert content(own, start) == content(leader, start)
    for offset in range(start, own.log_end_offset):
        assert own.leader_epochs.epoch_for(offset) == leader.leader_epochs.epoch_for(offset)
    assert replication.partition.high_watermark == leader.log_end_offset
    if leader.log_start_offset <= common_end:
        assert replication.lowest_end >= common_end, "what they share was cut"
