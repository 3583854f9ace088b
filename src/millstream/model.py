"""The nouns every layer shares: identifiers that must not be mixed up, and uuids as Kafka writes them."""

from __future__ import annotations

import base64
import binascii
from typing import Final, NamedTuple, NewType

Offset = NewType("Offset", int)
LeaderEpoch = NewType("LeaderEpoch", int)
BrokerId = NewType("BrokerId", int)
ProducerId = NewType("ProducerId", int)
TimestampMs = NewType("TimestampMs", int)
"""Milliseconds since 1970-01-01 UTC; -1 means none."""


def uuid_text(uuid: bytes) -> str:
    """Returns the text of a uuid, plain bytes or not."""
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode("ascii")


class Uuid(bytes):
    """Sixteen bytes. Printed as Kafka does: 22 characters of unpadded URL-safe base64.

    What is decoded stays plain bytes, which costs less and is equal; values that users see are made of this class.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return uuid_text(self)

    def __repr__(self) -> str:
        return f"Uuid({uuid_text(self)})"


ZERO_UUID: Final = Uuid(bytes(16))
METADATA_TOPIC_ID: Final = Uuid(bytes(15) + b"\x01")
NO_PRODUCER_ID: Final = ProducerId(-1)
NO_LEADER_EPOCH: Final = LeaderEpoch(-1)


class TopicPartition(NamedTuple):
    """One partition of one topic; `str()` gives Kafka's directory name, `topic-7`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def uuid_from_text(text: str) -> Uuid:
    """Parses a uuid. Raises ValueError when `text` is not 22 characters of URL-safe base64."""
    try:
        raw = base64.urlsafe_b64decode(text + "==")
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != 16 or len(text) != 22:
        raise ValueError(f"not a Kafka uuid (22 base64url characters): {text!r}")
    return Uuid(raw)


def uuid_from_random(raw: bytes) -> Uuid:
    """Returns a version-4 uuid out of 16 random bytes.

    The caller draws again while the text starts with `-`, as Kafka does: such an id reads as a command line option.
    """
    version = bytes([raw[6] & 0x0F | 0x40])
    variant = bytes([raw[8] & 0x3F | 0x80])
    return Uuid(raw[:6] + version + raw[7:8] + variant + raw[9:16])
