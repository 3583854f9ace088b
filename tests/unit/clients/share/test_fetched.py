"""What becomes of the offsets that a share fetch has acquired: records, gaps, rejected and released ones."""

from __future__ import annotations

import pytest

from millstream.clients.core.serialization import LookupNeeded, RecordDeserializationError
from millstream.clients.core.values import ConsumerRecord
from millstream.clients.share.core.fetched import AcquiredRange, ShareFetched, Taken
from millstream.clients.share.core.values import TopicIdPartition
from millstream.errors import CorruptMessage
from millstream.model import Uuid
from millstream.protocol.enums import ACKNOWLEDGE_GAP, AcknowledgeType
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import ControlType, build_end_transaction_marker
from millstream.records.record import Record

PARTITION = TopicIdPartition(Uuid(b"t" * 16), "t", 0)
MANY = 500


def batch(base_offset: int, *offsets: int) -> bytes:
    """Records at these offsets, counted from the base offset; the first and the last one bound the batch."""
    records = [
        Record(base_offset + offset, 7, None, b"%d" % (base_offset + offset)) for offset in offsets
    ]
    return bytes(build_batch(records, BatchOptions(base_offset=base_offset), keep_offsets=True))


def marker(offset: int) -> bytes:
    options = BatchOptions(
        base_offset=offset, producer_id=4, producer_epoch=0, is_transactional=True
    )
    return bytes(build_end_transaction_marker(ControlType.COMMIT, 0, 7, options))


def broken(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def fetched(*acquired: tuple[int, int, int], records: bytes, **settings: bool) -> ShareFetched:
    ranges = [AcquiredRange(*each) for each in acquired]
    return ShareFetched(1, PARTITION, memoryview(records), ranges, **settings)


def seen(taken: Taken) -> list[tuple[int, int | None]]:
    return [(record.offset, record.delivery_count) for record in taken.records]


def test_records_carry_the_delivery_count_of_their_range() -> None:
    taken = fetched((0, 1, 1), (2, 2, 3), records=batch(0, 0, 1, 2)).take(MANY)
    assert seen(taken) == [(0, 1), (1, 1), (2, 3)]
    assert [record.value for record in taken.records] == [b"0", b"1", b"2"]
    assert taken.gaps == {}


def test_records_of_a_batch_that_are_not_acquired_are_not_ours() -> None:
    taken = fetched((1, 1, 1), (3, 3, 2), records=batch(0, 0, 1, 2, 3, 4)).take(MANY)
    assert seen(taken) == [(1, 1), (3, 2)]


def test_acquired_offsets_without_a_record_are_gaps() -> None:
    taken = fetched((0, 4, 1), records=batch(0, 0, 2, 4)).take(MANY)
    assert seen(taken) == [(0, 1), (2, 1), (4, 1)]
    assert taken.gaps == {1: ACKNOWLEDGE_GAP, 3: ACKNOWLEDGE_GAP}


def test_acquired_offsets_between_and_behind_the_batches_are_gaps() -> None:
    taken = fetched((0, 9, 1), records=batch(0, 0) + batch(5, 0)).take(MANY)
    assert seen(taken) == [(0, 1), (5, 1)]
    assert taken.gaps == dict.fromkeys([1, 2, 3, 4, 6, 7, 8, 9], ACKNOWLEDGE_GAP)


def test_control_records_are_gaps() -> None:
    taken = fetched((0, 1, 1), records=batch(0, 0) + marker(1)).take(MANY)
    assert seen(taken) == [(0, 1)]
    assert taken.gaps == {1: ACKNOWLEDGE_GAP}


def test_a_fetch_of_nothing_but_gaps_is_used_up_without_a_record() -> None:
    fetch = fetched((3, 3, 1), records=marker(3))
    taken = fetch.take(MANY)
    assert (seen(taken), taken.gaps) == ([], {3: ACKNOWLEDGE_GAP})
    assert fetch.is_used_up


def test_records_are_taken_a_whole_batch_at_a_time() -> None:
    fetch = fetched((0, 5, 1), records=batch(0, 0, 1, 2) + batch(3, 0, 1, 2))
    assert seen(fetch.take(2)) == [(0, 1), (1, 1), (2, 1)]
    assert not fetch.is_used_up
    assert seen(fetch.take(2)) == [(3, 1), (4, 1), (5, 1)]
    assert fetch.is_used_up


# ---- what cannot be read


def test_a_broken_batch_is_rejected_and_the_next_one_is_read() -> None:
    fetch = fetched((0, 2, 1), records=broken(batch(0, 0, 1)) + batch(2, 0))
    taken = fetch.take(MANY)
    assert taken.records == []
    assert taken.failure is not None
    assert isinstance(taken.failure.error, CorruptMessage)
    assert "t-0: the batch at offset 0 is broken" in str(taken.failure.error)
    assert taken.failure.acknowledgements == {0: AcknowledgeType.REJECT, 1: AcknowledgeType.REJECT}
    assert seen(fetch.take(MANY)) == [(2, 1)]


def test_records_before_a_broken_batch_come_first() -> None:
    fetch = fetched((0, 1, 1), records=batch(0, 0) + broken(batch(1, 0)))
    first = fetch.take(MANY)
    assert (seen(first), first.failure) == ([(0, 1)], None)
    assert not fetch.is_used_up
    assert fetch.take(MANY).failure is not None
    assert fetch.is_used_up


def test_a_failure_waits_while_records_of_another_partition_stand_before_it() -> None:
    fetch = fetched((0, 0, 1), records=broken(batch(0, 0)))
    assert fetch.take(MANY, may_fail=False).failure is None
    assert fetch.take(MANY).failure is not None


def test_only_acquired_records_of_a_broken_batch_are_rejected() -> None:
    fetch = fetched((1, 1, 1), records=broken(batch(0, 0, 1, 2)))
    failure = fetch.take(MANY).failure
    assert failure is not None
    assert failure.acknowledgements == {1: AcknowledgeType.REJECT}


def test_checksums_are_not_looked_at_when_told_so() -> None:
    wrong_checksum = bytearray(batch(0, 0))
    wrong_checksum[17] ^= 1
    assert seen(fetched((0, 0, 1), records=bytes(wrong_checksum), check_crcs=False).take(MANY)) == [
        (0, 1)
    ]


# ---- deserializers


def shouting(record: ConsumerRecord) -> ConsumerRecord[bytes, str]:
    if record.value == b"1":
        raise RecordDeserializationError(record.topic_partition, record.offset, "not mine")
    return record.with_data(record.key, f"{record.value!r}!")


def test_a_record_that_cannot_be_deserialized_is_released_behind_those_before_it() -> None:
    fetch = fetched((0, 2, 1), records=batch(0, 0, 1, 2))
    assert [record.value for record in fetch.take(MANY, shouting).records] == ["b'0'!"]
    failed = fetch.take(MANY, shouting)
    assert failed.failure is not None
    assert failed.failure.acknowledgements == {1: AcknowledgeType.RELEASE}
    with pytest.raises(RecordDeserializationError, match="t-0 offset 1: the record cannot be"):
        raise failed.failure.error
    assert [record.value for record in fetch.take(MANY, shouting).records] == ["b'2'!"]
    assert fetch.is_used_up


def test_a_look_up_stops_before_its_record_and_nothing_is_lost() -> None:
    known: set[bytes] = set()

    async def look_up() -> None:
        raise AssertionError("nobody awaits it here")

    def learning(record: ConsumerRecord) -> ConsumerRecord:
        assert record.value is not None
        if record.value not in known:
            raise LookupNeeded("a schema", look_up)
        return record

    fetch = fetched((0, 1, 1), records=batch(0, 0, 1))
    first = fetch.take(MANY, learning)
    assert (first.records, first.lookup is not None) == ([], True)
    known.add(b"0")
    second = fetch.take(MANY, learning)
    assert (seen(second), second.lookup is not None) == ([(0, 1)], True)
    known.add(b"1")
    assert seen(fetch.take(MANY, learning)) == [(1, 1)]
