"""Reads and writes the subscriptions and assignments that classic consumers carry in JoinGroup and SyncGroup.

Two bytes of version and then the message; clients are known to send newer versions, and less than they claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Final

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.errors import MalformedMessage, ProtocolError
from millstream.metadata.image import TopicsImage
from millstream.model import Uuid
from millstream.protocol.generated.consumer_group_heartbeat import TopicPartitions
from millstream.protocol.generated.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

_VERSION: Final = Struct(">h")


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Reads a subscription. Raises ProtocolError."""
    version = _version(metadata, ConsumerProtocolSubscription.HIGHEST_VERSION)
    subscription, _ = ConsumerProtocolSubscription.decode(
        memoryview(metadata), _VERSION.size, version
    )
    return subscription


def owned_by(
    subscription: ConsumerProtocolSubscription, topics: TopicsImage
) -> list[TopicPartitions]:
    """Returns the partitions that a subscription says its member owns, those of topics that are gone left out."""
    return [
        TopicPartitions(topics.by_name[each.topic].topic_id, each.partitions)
        for each in subscription.owned_partitions
        if each.topic in topics
    ]


def read_assignment(assignment: bytes, topics: TopicsImage) -> tuple[Partitions, bool]:
    """Returns the partitions of topics that exist, and whether there is anything in it besides.

    Raises ProtocolError.
    """
    if not assignment:
        return {}, False
    version = _version(assignment, ConsumerProtocolAssignment.HIGHEST_VERSION)
    decoded, _ = ConsumerProtocolAssignment.decode(memoryview(assignment), _VERSION.size, version)
    partitions = {
        topics.by_name[each.topic].topic_id: frozenset(each.partitions)
        for each in decoded.assigned_partitions
        if each.topic in topics and each.partitions
    }
    return partitions, bool(decoded.user_data)


def write_assignment(
    partitions: Mapping[Uuid, Iterable[int]], topics: TopicsImage, metadata: bytes
) -> bytes:
    """Writes an assignment in the version that the member's own `metadata` is in.

    Raises ProtocolError when that has none.
    """
    version = _version(metadata, ConsumerProtocolAssignment.HIGHEST_VERSION)
    named = sorted(
        (topics.by_id[topic_id].name, sorted(ps))
        for topic_id, ps in partitions.items()
        if topic_id in topics.by_id
    )
    out = bytearray(_VERSION.pack(version))
    ConsumerProtocolAssignment(
        [ConsumerProtocolAssignmentTopicPartition(name, ps) for name, ps in named]
    ).encode(out, version)
    return bytes(out)


def _version(data: bytes, highest: int) -> int:
    if len(data) < _VERSION.size:
        raise MalformedMessage(
            "no version", message="ConsumerProtocol", field="version", offset=len(data)
        )
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise ProtocolError(f"version {version} of the consumer protocol does not exist")
    return min(version, highest)
