"""Members that leave a share group, or are removed from it."""

from __future__ import annotations

import logging

from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.share.group import ShareGroup, topics_read_by
from millstream.coordinator.group.share.member import ShareGroupMember
from millstream.coordinator.group.share.records import epoch_record, member_tombstones
from millstream.coordinator.group.share.sessions import stop_all
from millstream.coordinator.group.topic_hash import topics_hash

_LOGGER = logging.getLogger(__name__)


def remove_member(
    context: GroupContext, group: ShareGroup, member: ShareGroupMember, reason: str
) -> None:
    """Removes a member. Others are given its partitions with their next heartbeats."""
    _LOGGER.info("group %s: %s: %s", group.group_id, member.member_id, reason)
    stop_all(context, group, member)
    context.result.records += member_tombstones(group.group_id, member.member_id)
    staying = topics_read_by(group.members_without(member))
    context.result.records.append(
        epoch_record(group.group_id, group.epoch + 1, topics_hash(staying, context.image))
    )
