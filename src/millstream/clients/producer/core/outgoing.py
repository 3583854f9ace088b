"""A record on its way from the caller to a batch: interceptors, then key and value to bytes, then checks.

Serializers are what the caller gave the producer: functions of one value, objects with `encode(value)` (a serde), or
objects with `serialize(topic, data, headers)`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar, cast

from millstream.clients.core.serialization import LookupNeeded, SerializationError, Serializer
from millstream.clients.core.values import Headers, Key, RecordMetadata, Value
from millstream.clients.producer.core.interceptors import (
    DeliveryCallback,
    ProducerInterceptor,
    ProducerInterceptors,
    ProducerRecord,
)
from millstream.errors import ConfigError

_Data = TypeVar("_Data")
_Data_contra = TypeVar("_Data_contra", contravariant=True)


class Encoder(Protocol[_Data_contra]):
    """A serde, or anything else that knows how to encode one value."""

    @property
    def encode(self) -> Callable[[_Data_contra], bytes]: ...


AnySerializer = Serializer[_Data] | Encoder[_Data] | Callable[[_Data], bytes]

OutgoingRecord = tuple[
    bytes | None,
    bytes | None,
    Headers | None,
    int | None,
    int | None,
    DeliveryCallback | None,
]
"""Value, key, headers, partition, timestamp (ms), whom to tell."""


class Outgoing(Generic[Key, Value]):
    """Interceptors and serializers of a producer. Keys and values without a serializer must be bytes already."""

    def __init__(
        self,
        key_serializer: AnySerializer[Key] | None,
        value_serializer: AnySerializer[Value] | None,
        interceptors: Iterable[ProducerInterceptor[Key, Value]],
    ) -> None:
        self._serialize_key = _function("key_serializer", key_serializer)
        self._serialize_value = _function("value_serializer", value_serializer)
        self._interceptors = ProducerInterceptors(interceptors)
        self.is_plain = not (self._serialize_key or self._serialize_value or self._interceptors)
        """Records are sent as they are given."""

    def on_send(self, record: ProducerRecord[Key, Value]) -> ProducerRecord[Key, Value]:
        return self._interceptors.on_send(record)

    def serialize(
        self, record: ProducerRecord[Key, Value], callback: DeliveryCallback | None
    ) -> OutgoingRecord:
        """The record's headers stay as they are; serializers add to a copy.

        Raises SerializationError; LookupNeeded when a serializer must first learn something.
        """
        topic, key, value = record.topic, cast("bytes", record.key), cast("bytes", record.value)
        headers = list(record.headers) if record.headers else []
        if self._serialize_key is not None and key is not None:
            key = _apply(self._serialize_key, "key_serializer", topic, key, headers)
        if self._serialize_value is not None and value is not None:
            value = _apply(self._serialize_value, "value_serializer", topic, value, headers)
        told = self._interceptors.before(callback)
        return value, key, headers, record.partition, record.timestamp_ms, told

    @contextlib.contextmanager
    def failures_told(self, record: ProducerRecord[Key, Value]) -> Iterator[None]:
        """Interceptors hear of records that did not get into a batch, too."""
        try:
            yield
        except Exception as error:
            partition = -1 if record.partition is None else record.partition
            metadata = RecordMetadata(record.topic, partition, -1, -1)
            self._interceptors.on_acknowledgement(metadata, error)
            raise

    def close(self) -> None:
        self._interceptors.close()


def plain_record(*record: object) -> OutgoingRecord:
    """Returns the record as it was given: what is not bytes is refused where it is put into a batch."""
    return cast("OutgoingRecord", record)


def as_bytes(what: str, content: object) -> bytes:
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise TypeError(
        f"{what} must be bytes or None, got {type(content).__name__}; encode it first, or give the producer a"
        " serializer"
    )


def checked_headers(headers: Iterable[tuple[str, bytes | None]]) -> Headers:
    """Returns a copy.

    Raises TypeError and UnicodeEncodeError here, where the caller is, and before a batch is begun for the record.
    """
    pairs: list[tuple[object, object]]
    try:
        if isinstance(headers, dict):  # whose names of two letters would be pairs
            raise _no_headers(headers)
        pairs = [(name, content) for name, content in headers]
    except (TypeError, ValueError):
        raise _no_headers(headers) from None
    return [
        (_as_name(name), None if content is None else as_bytes("a header's value", content))
        for name, content in pairs
    ]


def _as_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a header's name must be str, got {type(name).__name__}")
    name.encode()  # raises UnicodeEncodeError for half a surrogate pair
    return name


def _no_headers(headers: object) -> TypeError:
    of_dict = "; those of a dict are list(headers.items())" if isinstance(headers, dict) else ""
    return TypeError(f"headers takes pairs, [(name, value), ...], got {headers!r}{of_dict}")


def explained_type_error(
    topic: object, partition: object, timestamp_ms: object = None
) -> TypeError | None:
    """Returns what is wrong with the arguments of a `send`; None where nothing is.

    For single records it is looked for behind a TypeError: before, it would cost as much as a
    record's way into a batch.
    """
    if not isinstance(topic, str):
        return TypeError(f"topic takes a topic's name, got {topic!r}")
    for name, number in (("partition", partition), ("timestamp_ms", timestamp_ms)):
        if number is not None and not hasattr(number, "__index__"):
            return TypeError(f"{name} takes an integer, got {number!r}")
    return None


_Function = Callable[[str, object, Headers], bytes]


def _function(setting: str, serializer: AnySerializer[_Data] | None) -> _Function | None:
    if serializer is None:
        return None
    if isinstance(serializer, type):
        raise ConfigError(f"{setting} must be an instance; write {serializer.__name__}(...)")
    serialize = getattr(serializer, "serialize", None)
    if serialize is not None:
        return cast("_Function", serialize)
    encode = cast("Callable[[object], bytes]", getattr(serializer, "encode", serializer))
    if not callable(encode):
        raise ConfigError(
            f"{setting} must be a function of one value, or an object with encode(value) or"
            f" serialize(topic, data, headers); got {serializer!r}"
        )
    return lambda _topic, data, _headers: encode(data)


def _apply(serialize: _Function, setting: str, topic: str, data: object, headers: Headers) -> bytes:
    try:
        return serialize(topic, data, headers)
    except LookupNeeded:
        raise
    except Exception as error:
        raise SerializationError(
            f"{setting} cannot serialize a value of type {type(data).__name__} for topic {topic!r}: {error}"
        ) from error
