"""The bytes that members of a classic group exchange through its coordinator: subscriptions and assignments.

A version number, then the message in that version. Readers accept later versions than they know, and bytes that end
early (some clients write a version and leave its last fields out).
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from millstream.clients.group.assignors.assignment import MemberSubscription
from millstream.errors import MalformedMessage
from millstream.model import TopicPartition
from millstream.protocol.generated.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)

PROTOCOL_TYPE: Final = "consumer"
_VERSION: Final = Struct(">h")
_GENERATION: Final = Struct(">i")
_HIGHEST: Final = 3
_FIRST_VERSION_WITH_GENERATION: Final = 2


def encode_subscription(subscription: MemberSubscription) -> bytes:
    out = bytearray(_VERSION.pack(_HIGHEST))
    ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=[
            ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=partitions)
            for topic, partitions in _by_topic(subscription.owned).items()
        ],
        generation_id=subscription.generation_id,
        rack_id=subscription.rack,
    ).encode(out, _HIGHEST)
    return bytes(out)


def decode_subscription(data: bytes, group_instance_id: str | None) -> MemberSubscription:
    """Decodes a subscription. Raises MalformedMessage when no version fits the bytes."""
    announced = _version(data)
    for version in range(min(announced, _HIGHEST), -1, -1):
        try:
            message, _ = ConsumerProtocolSubscription.decode(memoryview(data), 2, version)
        except MalformedMessage:
            if version == 0:
                raise
            continue
        break
    generation_id = message.generation_id
    if (
        version < _FIRST_VERSION_WITH_GENERATION
        and message.user_data
        and len(message.user_data) == 4
    ):
        (generation_id,) = _GENERATION.unpack(message.user_data)
    return MemberSubscription(
        topics=frozenset(message.topics),
        owned=frozenset(
            TopicPartition(entry.topic, partition)
            for entry in message.owned_partitions
            for partition in entry.partitions
        ),
        generation_id=generation_id,
        group_instance_id=group_instance_id,
        rack=message.rack_id,
        user_data=None if message.user_data is None else bytes(message.user_data),
    )


def encode_assignment(
    partitions: Iterable[TopicPartition], user_data: bytes | None = None
) -> bytes:
    out = bytearray(_VERSION.pack(_HIGHEST))
    ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=indexes)
            for topic, indexes in _by_topic(partitions).items()
        ],
        user_data=user_data,
    ).encode(out, _HIGHEST)
    return bytes(out)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Decodes an assignment. No bytes at all mean no partitions."""
    if not data:
        return []
    message = _assignment(data)
    return [
        TopicPartition(entry.topic, partition)
        for entry in message.assigned_partitions
        for partition in entry.partitions
    ]


def decode_assigned_user_data(data: bytes) -> bytes | None:
    """Returns what the leader's assignor has said to the member beside its partitions."""
    user_data = _assignment(data).user_data if data else None
    return None if user_data is None else bytes(user_data)


def _assignment(data: bytes) -> ConsumerProtocolAssignment:
    version = min(_version(data), _HIGHEST)
    message, _ = ConsumerProtocolAssignment.decode(memoryview(data), 2, version)
    return message


def _version(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise MalformedMessage("no version", message="ConsumerProtocol", offset=0)
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise MalformedMessage(f"version {version}", message="ConsumerProtocol", offset=0)
    return version


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics
