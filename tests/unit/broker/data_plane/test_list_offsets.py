from __future__ import annotations

import pytest

from millstream.broker.handlers import list_offsets
from millstream.errors import (
    FencedLeaderEpoch,
    InvalidRequest,
    LeaderNotAvailable,
    OffsetNotAvailable,
    UnknownLeaderEpoch,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from millstream.metadata.topic_config import LogConfig
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.record import Record
from millstream.replication.fetch_position import FetchingReplica, FetchPosition


async def ask(plane, *asked: ListOffsetsPartition, version=11, **fields):
    request = ListOffsetsRequest(
        topics=[ListOffsetsTopic(name="t", partitions=list(asked))], **({"replica_id": -1} | fields)
    )
    response = await plane.ask(list_offsets, request, version)
    return response.topics[0].partitions


def at(timestamp: int, partition=0, epoch=-1) -> ListOffsetsPartition:
    return ListOffsetsPartition(
        partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp
    )


@pytest.fixture
def filled(plane):
    """Offsets 0-3 in one batch with timestamps 100, 300, 200, 300; then one of 50."""
    stamps = (100, 300, 200, 300)
    for group in (stamps, (50,)):
        records = [Record(offset=i, timestamp=t, value=b"v") for i, t in enumerate(group)]
        plane.hosted["t", 0].append(
            memoryview(build_batch(records, BatchOptions())), plane.clock.now()
        )
    return plane


async def test_named_positions(filled):
    filled.hosted["t", 0].delete_records_before(1)
    told = {t: (await ask(filled, at(t)))[0] for t in (-1, -2, -4, -5, -6)}
    assert {t: (p.offset, p.timestamp, p.leader_epoch) for t, p in told.items()} == {
        -1: (5, -1, 3),
        -2: (1, -1, 3),
        -4: (1, -1, 3),
        -5: (-1, -1, -1),
        -6: (-1, -1, -1),
    }


@pytest.mark.parametrize(
    ("timestamp", "offset", "found"),
    [(0, 0, 100), (100, 0, 100), (101, 1, 300), (300, 1, 300), (301, -1, -1)],
)
async def test_a_timestamp_gives_the_first_record_not_older_exactly(
    filled, timestamp, offset, found
):
    (told,) = await ask(filled, at(timestamp))
    assert (told.error_code, told.offset, told.timestamp) == (0, offset, found)


async def test_the_maximum_timestamp_gives_its_first_record(filled):
    (told,) = await ask(filled, at(-3))
    assert (told.offset, told.timestamp, told.leader_epoch) == (1, 300, 3)


async def test_records_that_were_deleted_have_no_part_in_the_maximum_timestamp(filled):
    """Kafka tells the offset of the record that is gone, where no consumer can read."""
    partition = filled.hosted["t", 0]
    for log_start_offset, expected in ((2, (3, 300)), (4, (4, 50)), (5, (-1, -1))):
        partition.delete_records_before(log_start_offset)
        (told,) = await ask(filled, at(-3))
        assert (told.offset, told.timestamp) == expected
    records = [Record(offset=i, timestamp=t, value=b"v") for i, t in enumerate((400, 10, 30, 20))]
    packed = memoryview(build_batch(records, BatchOptions(codec=Codec.GZIP)))
    partition.append(packed, filled.clock.now())
    partition.delete_records_before(6)
    (told,) = await ask(filled, at(-3))
    assert (told.offset, told.timestamp) == (7, 30)


async def test_an_empty_partition_has_no_maximum_timestamp(plane):
    (told,) = await ask(plane, at(-3))
    assert (told.error_code, told.offset, told.timestamp) == (0, -1, -1)


async def test_read_committed_latest_is_the_last_stable_offset(filled):
    options = BatchOptions(producer_id=4, producer_epoch=0, base_sequence=0, is_transactional=True)
    open_transaction = memoryview(build_batch([Record(timestamp=1, value=b"v")], options))
    filled.hosted["t", 0].append(open_transaction, filled.clock.now())
    assert (await ask(filled, at(-1), isolation_level=1))[0].offset == 5
    assert (await ask(filled, at(-1), isolation_level=0))[0].offset == 6


@pytest.mark.parametrize(("timestamp", "version"), [(-3, 6), (-4, 7), (-5, 8), (-6, 10)])
async def test_a_special_timestamp_has_no_meaning_before_its_version(plane, timestamp, version):
    assert (await ask(plane, at(timestamp), version=version))[
        0
    ].error_code == UnsupportedVersion.code
    assert (await ask(plane, at(timestamp), version=version + 1))[0].error_code == 0


async def test_a_timestamp_below_the_special_ones_has_no_meaning(plane):
    assert (await ask(plane, at(-7)))[0].error_code == UnsupportedVersion.code


async def test_leader_epochs_are_checked(plane):
    told = await ask(plane, at(-1, epoch=2), at(-1, partition=1, epoch=4))
    assert [p.error_code for p in told] == [FencedLeaderEpoch.code, UnknownLeaderEpoch.code]


async def test_a_partition_asked_for_twice_is_invalid_and_answered_once(plane):
    told = await ask(plane, at(-1), at(-2), at(-1, partition=1))
    assert [(p.partition_index, p.error_code) for p in told] == [(0, InvalidRequest.code), (1, 0)]


async def test_an_empty_log_is_of_the_leaders_epoch(plane):
    told = await ask(plane, at(-1), at(-2, partition=1))
    assert [(p.offset, p.leader_epoch) for p in told] == [(0, 3), (0, 3)]


async def test_an_unknown_partition_says_so(plane):
    assert (await ask(plane, at(-1, partition=9)))[0].error_code == UnknownTopicOrPartition.code


async def test_a_large_batch_is_unpacked_where_it_keeps_nobody_waiting(plane):
    records = [Record(offset=i, timestamp=100 + i, value=b"v" * 500) for i in range(10)]
    batch = build_batch(records, BatchOptions())
    plane.hosted["t", 0].append(memoryview(batch), plane.clock.now())
    (told,) = await ask(plane, at(107))
    assert (told.offset, told.timestamp) == (7, 107)


class WatchedPool:
    """Notes what was handed to it."""

    def __init__(self) -> None:
        self.count = 0

    async def unpack(self, work):
        self.count += 1
        return work()


@pytest.mark.parametrize(("codec", "handed_over"), [(Codec.NONE, 0), (Codec.ZSTD, 1)])
async def test_what_a_packed_batch_unpacks_to_keeps_nobody_waiting(plane, codec, handed_over):
    """150,000 records in two kilobytes: their packed size says nothing."""
    pool = WatchedPool()
    plane.give(disk_pool=pool)
    count = 1 if codec is Codec.NONE else 150_000
    records = [Record(timestamp=100 + i) for i in range(count)]
    batch = memoryview(build_batch(records, BatchOptions(codec=codec)))
    plane.hosted["t", 0].append(batch, plane.clock.now())
    (told,) = await ask(plane, at(99 + count))
    assert (told.offset, told.timestamp) == (count - 1, 99 + count)
    assert pool.count == handed_over


async def test_a_search_in_log_append_time_finds_the_first_record_of_the_batch(plane):
    config = LogConfig(message_timestamp_type="LogAppendTime")
    plane.hosted["t", 0].log.update_config(config)
    for _ in range(2):
        records = [Record(timestamp=5), Record(timestamp=6)]
        plane.hosted["t", 0].append(memoryview(build_batch(records)), plane.clock.now())
        plane.clock.advance(10)
    (told,) = await ask(plane, at(1_000_001))
    assert (told.offset, told.timestamp) == (2, 1_000_010)


async def test_the_first_record_behind_the_start_of_the_log_counts(filled):
    filled.hosted["t", 0].delete_records_before(2)
    (told,) = await ask(filled, at(100))
    assert (told.offset, told.timestamp) == (2, 200)


def elected(plane) -> None:
    """A new leader, which has five records, of which it knows one to be committed."""
    plane.hosted["t", 0]._high_watermark = 1
    plane.replicate(leader_epoch=4, partition_epoch=1)


@pytest.mark.parametrize("timestamp", [-1, 200, -3])
async def test_ends_are_not_told_by_a_leader_that_may_not_know_all_that_is_committed(
    filled, timestamp
):
    elected(filled)
    (told,) = await ask(filled, at(timestamp))
    assert (told.error_code, told.offset) == (OffsetNotAvailable.code, -1)
    (told,) = await ask(filled, at(timestamp), version=7)
    assert told.error_code == OffsetNotAvailable.code
    if timestamp != -3:  # which version 4 does not know
        (told,) = await ask(filled, at(timestamp), version=4)
        assert told.error_code == LeaderNotAvailable.code


async def test_what_is_certain_is_told_all_the_same(filled):
    elected(filled)
    assert [(await ask(filled, at(t)))[0].offset for t in (-2, 50, 999)] == [0, 0, -1]


async def test_ends_are_told_once_all_followers_have_what_the_leader_began_with(filled):
    elected(filled)
    partition = filled.hosted["t", 0]
    for follower in (2, 3):
        position = FetchPosition(5, 1_000, current_leader_epoch=4, reads_to_end=True)
        partition.read_as_replica(position, FetchingReplica(follower, 10, 0), filled.clock.now())
    (told,) = await ask(filled, at(-1))
    assert (told.error_code, told.offset) == (0, 5)


async def test_to_replicas_the_end_is_that_of_the_log(filled):
    elected(filled)
    told = {t: (await ask(filled, at(t), replica_id=2))[0] for t in (-1, -2, 200)}
    assert {t: (p.error_code, p.offset) for t, p in told.items()} == {
        -1: (0, 5),
        -2: (0, 0),
        200: (0, 1),
    }
