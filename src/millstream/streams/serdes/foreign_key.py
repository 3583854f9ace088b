"""Subscriptions and responses of a foreign-key join, in Kafka Streams' bytes (KIP-213, KIP-925).

    subscription   version and hash flag (1) ++ instruction (1) ++ hash of the left row (16)? ++ left key ++ left partition (4)
    response       version and hash flag (1) ++ hash of the left row (16)? ++ right value?

The first byte is the version; its top bit says that there is no hash, because the left row was deleted.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Any, Final, NamedTuple

from millstream.streams.serdes.serde import Serde

_SUBSCRIPTION_VERSION: Final = 1
_RESPONSE_VERSION: Final = 0
_NO_HASH: Final = 0x80
_HASH_BYTES: Final = 16
_PARTITION: Final = Struct(">i")
_SIZE: Final = Struct(">i")


class Instruction(IntEnum):
    """An instruction to the right side about a subscription."""

    DELETE = 0
    """Forget it; another subscription of the same left row follows."""
    DELETE_AND_ANSWER = 1
    """Forget it, and answer that there is no right row any more."""
    ANSWER_ALWAYS = 2
    ANSWER_IF_FOUND = 3


class SubscriptionWrapper(NamedTuple):
    """A left row that wants to know the right row of its foreign key."""

    row_hash: bytes | None
    """Of the left row as it was: an answer to an older row is thrown away."""
    instruction: Instruction
    key: object
    """Of the left row."""
    partition: int | None
    """Of the left row: where the answer goes. None in subscriptions of version 0."""


class SubscriptionResponseWrapper(NamedTuple):
    """The right row for a left one."""

    row_hash: bytes | None
    value: object
    partition: int | None = None
    """Where it goes; not written."""


def subscriptions(key: Serde[Any]) -> Serde[SubscriptionWrapper]:  # Any: left tables of any type
    """Returns the serde of subscriptions of left rows whose keys `key` writes."""

    def encode(subscription: SubscriptionWrapper) -> bytes:
        row_hash, instruction, left_key, partition = subscription
        assert partition is not None, "subscriptions are written in version 1"
        flag = _NO_HASH if row_hash is None else 0
        head = bytes((_SUBSCRIPTION_VERSION | flag, instruction))
        return head + (row_hash or b"") + key.encode(left_key) + _PARTITION.pack(partition)

    def decode(data: bytes) -> SubscriptionWrapper:
        version, row_hash, at = _head(data, 2)
        end, partition = len(data), None
        if version > 0:
            end -= _PARTITION.size
            (partition,) = _PARTITION.unpack_from(data, end)
        return SubscriptionWrapper(
            row_hash, Instruction(data[1]), key.decode(data[at:end]), partition
        )

    return Serde(f"subscription({key.name})", encode, decode, key.immutable)


def responses(
    value: Serde[Any],  # Any: right tables of any type
) -> Serde[SubscriptionResponseWrapper]:
    """Returns the serde of responses with right rows that `value` writes."""

    def encode(response: SubscriptionResponseWrapper) -> bytes:
        row_hash, found, _ = response
        head = bytes((_RESPONSE_VERSION | (_NO_HASH if row_hash is None else 0),))
        return head + (row_hash or b"") + (b"" if found is None else value.encode(found))

    def decode(data: bytes) -> SubscriptionResponseWrapper:
        _, row_hash, at = _head(data, 1)
        return SubscriptionResponseWrapper(
            row_hash, value.decode(data[at:]) if at < len(data) else None
        )

    return Serde(f"response({value.name})", encode, decode, value.immutable)


def _head(data: bytes, head_bytes: int) -> tuple[int, bytes | None, int]:
    """Version, hash, and where the rest begins. Raises ValueError for an unknown version."""
    version = data[0] & ~_NO_HASH
    if version > _SUBSCRIPTION_VERSION:
        raise ValueError(f"version {version} of a foreign-key join's records is newer than known")
    if data[0] & _NO_HASH:
        return version, None, head_bytes
    at = head_bytes + _HASH_BYTES
    return version, data[head_bytes:at], at


def combined_prefix(foreign_key: bytes) -> bytes:
    """Returns the prefix of the keys of all subscriptions to one foreign key."""
    return _SIZE.pack(len(foreign_key)) + foreign_key


def combined_key(foreign_key: bytes, left_key: bytes) -> bytes:
    """Returns the key of a subscription in its store."""
    return combined_prefix(foreign_key) + left_key
