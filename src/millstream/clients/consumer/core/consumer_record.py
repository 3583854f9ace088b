# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# mypy: disable-error-code="valid-type, untyped-decorator, no-any-return"
# Reason: Cython's C types and decorators mean nothing to mypy.
"""The record that poll() returns, and many of them at once from the places where their parts lie.

A leaf: this file runs interpreted as `consumer_record` and compiled as `consumer_record_compiled` (docs/adr/0005).
Compiled, a record is one small C object, made in a twentieth of the time a dataclass takes. It trusts the places it is
given: the walk that found them has checked every bound. `core.values` gives the class its types.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import GenericAlias

from millstream.model import TopicPartition

try:
    import cython
except ModuleNotFoundError:  # only a build needs Cython
    from millstream.records import uncompiled as cython


@cython.freelist(512)
@cython.cclass
class ConsumerRecord:
    """See `core.values`, where the fields are described and typed."""

    __match_args__ = ("topic", "partition", "offset", "timestamp_ms", "key", "value", "headers")

    topic = cython.declare(object, visibility="readonly")
    partition = cython.declare(object, visibility="readonly")
    offset = cython.declare(cython.longlong, visibility="readonly")
    timestamp_ms = cython.declare(cython.longlong, visibility="readonly")
    key = cython.declare(object, visibility="readonly")
    value = cython.declare(object, visibility="readonly")
    headers = cython.declare(object, visibility="readonly")
    timestamp_type = cython.declare(object, visibility="readonly")
    leader_epoch = cython.declare(object, visibility="readonly")
    delivery_count = cython.declare(object, visibility="readonly")

    def __init__(
        self,
        topic: object,
        partition: object,
        offset: cython.longlong,
        timestamp_ms: cython.longlong,
        *,
        key: object = None,
        value: object = None,
        headers: object = (),
        timestamp_type: object = 0,
        leader_epoch: object = -1,
        delivery_count: object = None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp_ms = timestamp_ms
        self.key = key
        self.value = value
        self.headers = headers
        self.timestamp_type = timestamp_type
        self.leader_epoch = leader_epoch
        self.delivery_count = delivery_count

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the record."""
        return TopicPartition(self.topic, self.partition)

    def with_data(self, key: object, value: object) -> ConsumerRecord:
        """Returns the same record with another key and value: what deserializers make of it."""
        record: ConsumerRecord = ConsumerRecord.__new__(ConsumerRecord)
        record.topic = self.topic
        record.partition = self.partition
        record.offset = self.offset
        record.timestamp_ms = self.timestamp_ms
        record.key = key
        record.value = value
        record.headers = self.headers
        record.timestamp_type = self.timestamp_type
        record.leader_epoch = self.leader_epoch
        record.delivery_count = self.delivery_count
        return record

    def with_delivery_count(self, delivery_count: object) -> ConsumerRecord:
        """Returns the same record, handed out for the `delivery_count`th time: what share consumers say."""
        record: ConsumerRecord = self.with_data(self.key, self.value)
        record.delivery_count = delivery_count
        return record

    def __class_getitem__(cls, parameters: object) -> GenericAlias:
        return GenericAlias(cls, parameters)

    def _fields(self) -> tuple[object, ...]:
        return (
            self.topic,
            self.partition,
            self.offset,
            self.timestamp_ms,
            self.key,
            self.value,
            self.headers,
            self.timestamp_type,
            self.leader_epoch,
            self.delivery_count,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsumerRecord):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.offset))

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, self._fields()

    def __repr__(self) -> str:
        return (
            f"ConsumerRecord(topic={self.topic!r}, partition={self.partition}, offset={self.offset},"
            f" timestamp_ms={self.timestamp_ms}, key={self.key!r}, value={self.value!r},"
            f" headers={self.headers!r})"
        )


def _restored(*fields: object) -> ConsumerRecord:
    """Makes a record from what a pickle names."""
    topic, partition, offset, timestamp_ms, key, value, headers, kind, leader_epoch, count = fields
    return ConsumerRecord(
        topic,
        partition,
        offset,
        timestamp_ms,
        key=key,
        value=value,
        headers=headers,
        timestamp_type=kind,
        leader_epoch=leader_epoch,
        delivery_count=count,
    )


@cython.cclass
class RecordSource:
    """The batch that records lie in: what they have in common, and where their parts are in its `section`.

    `offsets`, `timestamps` and `places` are what a walk of the section filled, `capacity` rows each (records.walker).
    """

    _section: cython.const[cython.uchar][::1]
    _offsets: cython.longlong[::1]
    _timestamps: cython.longlong[::1]
    _places: cython.int[::1]
    _capacity: cython.Py_ssize_t
    _common: tuple[object, object, object, object]

    def __init__(
        self,
        section: memoryview,
        offsets: memoryview,
        timestamps: memoryview,
        places: memoryview,
        common: tuple[object, object, object, object],
    ) -> None:
        """`common`: topic, partition, timestamp type, leader epoch."""
        if len(timestamps) != len(offsets) or len(places) < 4 * len(offsets):
            raise BufferError("every column must have the same number of rows")
        self._section = section
        self._offsets = offsets
        self._timestamps = timestamps
        self._places = places
        self._capacity = len(offsets)
        self._common = common

    def records(
        self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, headers: Sequence[object] | None
    ) -> list[ConsumerRecord]:
        """Returns the rows from `start` up to `stop`.

        `headers` has one entry for each of them, or is None when none has any.
        """
        row: cython.Py_ssize_t
        length: cython.int
        capacity: cython.Py_ssize_t = self._capacity
        record: ConsumerRecord
        made: list[ConsumerRecord] = []
        if not 0 <= start <= stop <= capacity:
            raise IndexError(f"rows {start} to {stop} of {capacity}")
        topic, partition, timestamp_type, leader_epoch = self._common
        for row in range(start, stop):
            record = ConsumerRecord.__new__(ConsumerRecord)
            record.topic = topic
            record.partition = partition
            record.offset = self._offsets[row]
            record.timestamp_ms = self._timestamps[row]
            length = self._places[capacity + row]
            record.key = None if length < 0 else self._bytes_at(self._places[row], length)
            length = self._places[3 * capacity + row]
            record.value = (
                None if length < 0 else self._bytes_at(self._places[2 * capacity + row], length)
            )
            record.headers = () if headers is None else headers[row - start]
            record.timestamp_type = timestamp_type
            record.leader_epoch = leader_epoch
            record.delivery_count = None
            made.append(record)
        return made

    @cython.cfunc
    @cython.inline
    def _bytes_at(self, at: cython.Py_ssize_t, length: cython.Py_ssize_t) -> bytes:
        if length > len(self._section) - at:
            raise BufferError("these places are not of this section")
        if not cython.compiled:
            return bytes(self._section[at : at + length])
        if length == 0:
            return b""
        start: cython.pointer[cython.const[cython.uchar]] = cython.address(self._section[0]) + at
        return start[:length]
