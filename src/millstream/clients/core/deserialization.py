"""From the bytes of keys and values to objects, record by record, with whatever the application brings for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Literal, Protocol, TypeVar, cast

from millstream.clients.core.serialization import (
    Deserializer,
    LookupNeeded,
    RecordDeserializationError,
)
from millstream.clients.core.values import ConsumerRecord, Headers, Key, Value
from millstream.errors import ConfigError, MillstreamError

Made_co = TypeVar("Made_co", covariant=True)
Made = TypeVar("Made")


class Decoder(Protocol[Made_co]):
    """A serde: bytes in, object out, whatever the topic."""

    def decode(self, data: bytes, /) -> Made_co: ...


AnyDeserializer = Deserializer[Made] | Decoder[Made] | Callable[[bytes], Made]
"""What a consumer takes as key_deserializer and value_deserializer. It never sees None."""

_Read = Callable[[str, bytes, Headers], Made]


def record_reader(
    key: AnyDeserializer[Key] | None,
    value: AnyDeserializer[Value] | None,
    skipped: Callable[[RecordDeserializationError], None] | None = None,
) -> RecordReader[Key, Value] | None:
    """Returns a reader of records; None where keys and values stay bytes, so that there is nothing to read."""
    return None if key is None and value is None else RecordReader(key, value, skipped)


class RecordReader(Generic[Key, Value]):
    """Deserializes records until one cannot be."""

    def __init__(
        self,
        key: AnyDeserializer[Key] | None,
        value: AnyDeserializer[Value] | None,
        skipped: Callable[[RecordDeserializationError], None] | None = None,
    ) -> None:
        """None leaves bytes. `skipped` is told of records that are passed over; without it they end the reading."""
        self._key = None if key is None else _reading("key_deserializer", key)
        self._value = None if value is None else _reading("value_deserializer", value)
        self._skipped = skipped
        self.asked_about: ConsumerRecord | None = None
        """The record for which something was to be looked up last."""

    def read(
        self, records: Sequence[ConsumerRecord], ready: list[ConsumerRecord[Key, Value]]
    ) -> tuple[int, MillstreamError | None]:
        """Appends to `ready`. Returns how many records are done with, and what ended it before the last.

        That is RecordDeserializationError, or LookupNeeded: neither is about a record that is done with.
        """
        for index, record in enumerate(records):
            try:
                ready.append(self.read_one(record))
            except LookupNeeded as needed:
                return index, needed
            except RecordDeserializationError as failure:
                if self._skipped is None:
                    return index, failure
                self._skipped(failure)
        return len(records), None

    def read_one(self, record: ConsumerRecord) -> ConsumerRecord[Key, Value]:
        """Deserializes one record. Raises RecordDeserializationError and LookupNeeded."""
        part: Literal["key", "value"] = "key"
        try:
            key = _apply(self._key, record, record.key)
            part = "value"
            value = _apply(self._value, record, record.value)
        except LookupNeeded:
            self.asked_about = record
            raise
        except Exception as error:
            raise _unreadable(record, part, error) from error
        # Without a deserializer key and value are bytes, and the consumer's type says so.
        return record.with_data(cast("Key | None", key), cast("Value | None", value))


def is_same_record(one: ConsumerRecord, other: ConsumerRecord | None) -> bool:
    return other is not None and (one.topic_partition, one.offset) == (
        other.topic_partition,
        other.offset,
    )


def look_up_failed(record: ConsumerRecord, error: Exception) -> RecordDeserializationError:
    """Returns what a failed look-up means for the record that needed it."""
    return _unreadable(record, None, error)


def _apply(read: _Read[object] | None, record: ConsumerRecord, data: bytes | None) -> object | None:
    if read is None or data is None:
        return data
    return read(record.topic, data, list(record.headers))


def _unreadable(
    record: ConsumerRecord, part: Literal["key", "value"] | None, error: Exception
) -> RecordDeserializationError:
    return RecordDeserializationError(
        record.topic_partition,
        record.offset,
        f"the {part or 'record'} cannot be deserialized ({type(error).__name__}: {error});"
        f" seek to {record.offset + 1} to go on behind it",
        record=record,
        part=part,
    )


def _reading(name: str, deserializer: AnyDeserializer[Made]) -> _Read[Made]:
    if isinstance(deserializer, type) and hasattr(deserializer, "deserialize"):
        deserializer = cast("AnyDeserializer[Made]", deserializer())
    deserialize = getattr(deserializer, "deserialize", None)
    if deserialize is not None:
        return cast("_Read[Made]", deserialize)
    decode = getattr(deserializer, "decode", deserializer)
    if not callable(decode):
        raise ConfigError(
            f"{name} must be an object with deserialize(topic, data, headers) or decode(data), or a function of"
            f" bytes; got {deserializer!r}"
        )
    plain = cast("Callable[[bytes], Made]", decode)
    return lambda _topic, data, _headers: plain(data)
