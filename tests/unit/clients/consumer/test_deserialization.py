"""Bytes to objects, record by record, and what happens to a record that cannot be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.clients.core.deserialization import RecordReader, look_up_failed
from millstream.clients.core.serialization import LookupNeeded, RecordDeserializationError
from millstream.clients.core.values import ConsumerRecord, Headers
from millstream.errors import ConfigError, MillstreamError
from tests.unit.clients.consumer.fetch_world import World, batch


class ByTopic:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes, Headers]] = []

    def deserialize(self, topic: str, data: bytes, headers: Headers) -> int:
        self.asked.append((topic, data, headers))
        return int(data)


class Plain:
    def decode(self, data: bytes, /) -> int:
        return int(data)


class Learning:
    """Knows only the numbers it has looked up."""

    def __init__(self) -> None:
        self.known: set[bytes] = set()

    def deserialize(self, topic: str, data: bytes, headers: Headers) -> int:
        if data not in self.known:
            raise LookupNeeded(repr(data), self.learn)
        return int(data)

    async def learn(self) -> None:
        raise AssertionError("the core asks nobody")


def record(value: bytes | None, key: bytes | None = None, offset: int = 5) -> ConsumerRecord:
    return ConsumerRecord("t", 3, offset, 7, key=key, value=value, headers=(("h", b"1"),))


def read(
    reader: RecordReader[int, int], *values: bytes | None
) -> tuple[list[int | None], int, MillstreamError | None]:
    ready: list[ConsumerRecord[int, int]] = []
    used, error = reader.read([record(v, offset=n) for n, v in enumerate(values)], ready)
    return [made.value for made in ready], used, error


def test_a_deserializer_is_told_topic_and_headers() -> None:
    """K4.11."""
    key, value = ByTopic(), ByTopic()
    made = RecordReader(key, value).read_one(record(b"2", b"1"))
    assert (made.key, made.value, made.offset, made.headers) == (1, 2, 5, (("h", b"1"),))
    assert value.asked == [("t", b"2", [("h", b"1")])]


@pytest.mark.parametrize("deserializer", [ByTopic(), ByTopic, Plain(), int, lambda data: int(data)])
def test_objects_classes_and_functions_are_deserializers(
    deserializer: Callable[[bytes], int],
) -> None:
    """K4.11."""
    assert read(RecordReader(None, deserializer), b"12") == ([12], 1, None)


def test_what_is_no_deserializer_is_refused() -> None:
    with pytest.raises(ConfigError, match="value_deserializer must be an object with"):
        RecordReader(None, 5)


def test_null_keys_and_values_stay_null() -> None:
    assert read(RecordReader(int, int), None) == ([None], 1, None)


def test_without_a_deserializer_bytes_stay_bytes() -> None:
    made = RecordReader[bytes, int](None, int).read_one(record(b"2", b"key"))
    assert (made.key, made.value) == (b"key", 2)


def test_a_poison_record_ends_the_reading_with_its_place_and_its_bytes() -> None:
    """KIP-334, KIP-1036."""
    values, used, error = read(RecordReader(None, int), b"0", b"1", b"x", b"3")
    assert (values, used) == ([0, 1], 2)
    assert isinstance(error, RecordDeserializationError)
    assert (error.topic_partition, error.offset, error.part) == (("t", 3), 2, "value")
    assert error.record is not None
    assert error.record.value == b"x"
    assert "ValueError" in str(error)
    assert "seek to 3" in str(error)


def test_a_poison_record_may_be_passed_over_and_is_told_of() -> None:
    skipped: list[int] = []
    reader = RecordReader(None, int, lambda error: skipped.append(error.offset))
    assert read(reader, b"0", b"x", b"2") == ([0, 2], 3, None)
    assert skipped == [1]


def test_a_look_up_ends_the_reading_and_is_never_passed_over() -> None:
    learning = Learning()
    learning.known = {b"0"}
    reader = RecordReader(None, learning, lambda _: pytest.fail("it is not poison"))
    values, used, error = read(reader, b"0", b"1")
    assert (values, used) == ([0], 1)
    assert isinstance(error, LookupNeeded)
    assert reader.asked_about is not None
    failed = look_up_failed(reader.asked_about, OSError("no registry"))
    assert (failed.offset, "no registry" in str(failed)) == (1, True)


def test_positions_stay_at_a_poison_record_and_those_before_it_are_returned_first() -> None:
    world = World()
    world.answer(world.plan()[0], batch(0, b"0", b"1", b"x"), batch(3, b"3"))
    reader = RecordReader(None, int)
    assert [made.value for made in world.records.take(10, reader)] == [0, 1]
    for _ in range(2):
        with pytest.raises(RecordDeserializationError, match="t-0 offset 2"):
            world.records.take(10, reader)
        assert world.state().position == 2
    world.state().seek(3)
    world.answer(world.plan()[0], batch(3, b"3"))
    assert [made.value for made in world.records.take(10, reader)] == [3]


def test_positions_stay_at_a_record_that_needs_a_look_up() -> None:
    world = World()
    world.answer(world.plan()[0], batch(0, b"0", b"1"))
    learning = Learning()
    reader = RecordReader(None, learning)
    with pytest.raises(LookupNeeded):
        world.records.take(10, reader)
    assert world.state().position == 0
    learning.known = {b"0", b"1"}
    assert [made.value for made in world.records.take(10, reader)] == [0, 1]


def test_positions_move_behind_what_is_passed_over() -> None:
    world = World()
    world.answer(world.plan()[0], batch(0, b"x", b"y"))
    assert world.records.take(10, RecordReader(None, int, lambda _: None)) == []
    assert world.state().position == 2
