"""Checks a ShareGroupHeartbeat by the rules that hold whatever the group: Kafka's, in Kafka's words."""

from __future__ import annotations

from millstream.coordinator.group.share.member import JOINING_EPOCH, LEAVING_EPOCH
from millstream.errors import InvalidRequest
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest


def check_heartbeat(request: ShareGroupHeartbeatRequest) -> None:
    """Raises InvalidRequest for what no group could accept."""
    for text, name in (
        (request.member_id, "MemberId"),
        (request.group_id, "GroupId"),
        (request.rack_id, "RackId"),
    ):
        if text is not None and not text.strip():
            raise InvalidRequest(f"{name} can't be empty.")
    if request.member_epoch == JOINING_EPOCH and not request.subscribed_topic_names:
        raise InvalidRequest("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVING_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
