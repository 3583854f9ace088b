"""Serializers and deserializers: the protocols and errors of turning keys and values into bytes and back.

Serdes themselves are in `clients.serdes`; a plain function of one value is a serializer too. Owns no bytes and no I/O:
a serializer that must first learn something from elsewhere (a schema's id) raises LookupNeeded, and the client awaits
the look-up and asks again, so that neither the loop nor the common case pays for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeVar

from millstream.clients.core.values import ConsumerRecord, Headers, Key, Value
from millstream.errors import MillstreamError
from millstream.model import TopicPartition

__all__ = [
    "Deserializer",
    "Key",
    "LookupNeeded",
    "RecordDeserializationError",
    "SerializationError",
    "Serializer",
    "Value",
]

Data_contra = TypeVar("Data_contra", contravariant=True)
Made_co = TypeVar("Made_co", covariant=True)


class Serializer(Protocol[Data_contra]):
    """`data` is never None: a null key or value is a null on the wire. May add headers to the list it is given."""

    def serialize(self, topic: str, data: Data_contra, headers: Headers) -> bytes: ...


class Deserializer(Protocol[Made_co]):
    """Raises anything for bytes it cannot read; the consumer says which record that was."""

    def deserialize(self, topic: str, data: bytes, headers: Headers) -> Made_co: ...


class LookupNeeded(MillstreamError):
    """Not a failure: await `look_up()`, then ask the serializer again."""

    def __init__(self, what: str, look_up: Callable[[], Awaitable[None]]) -> None:
        super().__init__(what)
        self.look_up = look_up


class LookupUnavailable(MillstreamError):
    """Nothing can be looked up now. No record is to blame: those behind it would wait for the same."""


class SerializationError(MillstreamError):
    """A key or value could not be turned into bytes; nothing was sent."""


class RecordDeserializationError(SerializationError):
    """A record could not be read. The position stays at it: seek behind it to go on (KIP-334, KIP-1036)."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        offset: int,
        what: str,
        *,
        record: ConsumerRecord | None = None,
        part: Literal["key", "value"] | None = None,
    ) -> None:
        """`record` has the bytes as they are in the log, to be set aside; `part` is what could not be read of it."""
        super().__init__(f"{topic_partition} offset {offset}: {what}")
        self.topic_partition = topic_partition
        self.offset = offset
        self.record = record
        self.part = part
