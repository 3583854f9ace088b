"""The record a consumer gives, the same whether its leaf is compiled or not."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
from types import ModuleType

import pytest

from millstream.clients.consumer.core.fetched import DecodedBatch
from millstream.clients.core.values import ConsumerRecord, TimestampType
from millstream.model import TopicPartition
from millstream.records.batch import read_header
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record

LEAF = "millstream.clients.consumer.core.consumer_record"


@pytest.fixture(params=["interpreted", "compiled"])
def leaf(request: pytest.FixtureRequest) -> ModuleType:
    name = LEAF if request.param == "interpreted" else f"{LEAF}_compiled"
    if importlib.util.find_spec(name) is None:
        pytest.skip("no compiler was there when millstream was built")
    return importlib.import_module(name)


def decoded(records: list[Record], from_offset: int = 0) -> list[ConsumerRecord]:
    batch = memoryview(build_batch(records, BatchOptions()))
    found = DecodedBatch(TopicPartition("t", 3), read_header(batch), batch, from_offset)
    return found.records(0, found.count)


def test_every_part_of_a_record_is_read() -> None:
    first, second = decoded(
        [
            Record(0, 1_000, b"key", b"value", [("a", b"1"), ("a", None)]),
            Record(1, 1_001, None, b""),
        ]
    )
    assert (first.topic, first.partition, first.offset) == ("t", 3, 0)
    assert (first.key, first.value, first.timestamp_ms) == (b"key", b"value", 1_000)
    assert first.headers == (("a", b"1"), ("a", None))
    assert first.timestamp_type is TimestampType.CREATE_TIME
    assert first.topic_partition == TopicPartition("t", 3)
    assert (second.offset, second.key, second.value, second.headers) == (1, None, b"", ())
    assert second.delivery_count is None


def test_records_before_the_wanted_offset_are_left_out() -> None:
    records = decoded([Record(offset, 0, None, b"x") for offset in range(5)], from_offset=3)
    assert [record.offset for record in records] == [3, 4]


def test_a_record_cannot_be_made_of_places_that_are_not_there(leaf: ModuleType) -> None:
    empty = memoryview(bytearray(8)).cast("q")
    places = memoryview(bytearray(24)).cast("i")
    source = leaf.RecordSource(memoryview(b"abc"), empty, empty, places, ("t", 0, 0, -1))
    with pytest.raises(IndexError, match="rows 0 to 2 of 1"):
        source.records(0, 2, None)
    places[1] = 4
    with pytest.raises(BufferError, match="not of this section"):
        source.records(0, 1, None)


def test_records_are_values(leaf: ModuleType) -> None:
    record = leaf.ConsumerRecord("t", 1, 2, 3, key=b"k", value=b"v", leader_epoch=5)
    same = leaf.ConsumerRecord("t", 1, 2, 3, key=b"k", value=b"v", leader_epoch=5)
    assert record == same
    assert hash(record) == hash(same)
    assert record != leaf.ConsumerRecord("t", 1, 2, 3, key=b"k", value=b"w", leader_epoch=5)
    assert record != "something else"
    assert pickle.loads(pickle.dumps(record)) == record
    assert repr(record) == (
        "ConsumerRecord(topic='t', partition=1, offset=2, timestamp_ms=3, key=b'k', value=b'v', headers=())"
    )


def test_a_deserialized_record_keeps_the_rest(leaf: ModuleType) -> None:
    record = leaf.ConsumerRecord("t", 1, 2, 3, key=b"k", value=b"v", headers=(("h", b"1"),))
    made = record.with_data("K", 7).with_delivery_count(2)
    assert (made.key, made.value, made.delivery_count) == ("K", 7, 2)
    assert (made.topic, made.offset, made.headers) == ("t", 2, (("h", b"1"),))
    assert record.key == b"k"


def test_the_class_takes_the_types_of_key_and_value() -> None:
    assert ConsumerRecord[str, int].__origin__ is ConsumerRecord  # type: ignore[attr-defined]  # an alias at run time
