"""Checks a ConsumerGroupHeartbeat by the rules that hold whatever the group: Kafka's, in Kafka's words."""

from __future__ import annotations

from collections.abc import Collection

from millstream.coordinator.group.consumer.member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
)
from millstream.errors import InvalidRequest, UnsupportedAssignor
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

_FIRST_VERSION_WHERE_MEMBERS_CHOOSE_THEIR_ID = 1
_NOT_SAID = -1


def check_heartbeat(
    request: ConsumerGroupHeartbeatRequest, version: int, assignors: Collection[str]
) -> None:
    """Raises InvalidRequest, UnsupportedAssignor."""
    has_id = (
        version >= _FIRST_VERSION_WHERE_MEMBERS_CHOOSE_THEIR_ID
        or request.member_epoch > JOINING_EPOCH
        or request.member_epoch == LEAVING_EPOCH
    )
    if has_id:
        _check_not_blank("MemberId", request.member_id)
    _check_not_blank("GroupId", request.group_id)
    _check_not_blank("InstanceId", request.instance_id)
    _check_not_blank("RackId", request.rack_id)
    if request.member_epoch == JOINING_EPOCH:
        _check_joining(request)
    elif request.member_epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
        raise InvalidRequest("InstanceId can't be null.")
    elif request.member_epoch < STATIC_LEAVING_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}."
        )


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == _NOT_SAID:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidRequest("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise InvalidRequest(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _check_not_blank(name: str, value: str | None) -> None:
    if value is not None and not value.strip():
        raise InvalidRequest(f"{name} can't be empty.")
