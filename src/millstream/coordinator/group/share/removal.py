"""Members that leave a share group or are silent for too long, and the sessions that tell."""

from __future__ import annotations

import logging

from millstream.coordinator.group.context import GroupTimer, OperationContext, TimerKind
from millstream.coordinator.group.share.group import ShareGroup, topics_read_by
from millstream.coordinator.group.share.member import ShareMember
from millstream.coordinator.group.share.records import epoch_record, member_tombstones
from millstream.coordinator.group.topic_hash import topics_hash

_LOG = logging.getLogger(__name__)


def restart_session(group_id: str, member_id: str, context: OperationContext) -> None:
    """The member is known to be alive now."""
    timeout_ms = context.config.share.session_timeout_ms.of_group(
        context.image, group_id, "share.session.timeout.ms"
    )
    timer = GroupTimer(TimerKind.SESSION, group_id, member_id)
    context.result.start_timer(timer, context.now.monotonic_ms + timeout_ms)


def remove_member(
    group: ShareGroup, member: ShareMember, context: OperationContext, reason: str
) -> None:
    """Others are given its partitions with their next heartbeats."""
    _LOG.info("group %s: %s: %s", group.group_id, member.member_id, reason)
    context.result.cancel_timer(GroupTimer(TimerKind.SESSION, group.group_id, member.member_id))
    context.result.records += member_tombstones(group.group_id, member.member_id)
    staying = topics_read_by(group.members_without(member))
    context.result.records.append(
        epoch_record(group.group_id, group.epoch + 1, topics_hash(staying, context.image))
    )


def expire(group: ShareGroup, timer: GroupTimer, context: OperationContext) -> None:
    """One of the timers of the group has fired."""
    member = group.members.get(timer.member_id)
    if timer.kind is TimerKind.SESSION and member is not None:
        remove_member(group, member, context, "session expired")
