"""Members that leave a consumer group, or are removed from it."""

from __future__ import annotations

import logging
from collections.abc import Collection

from millstream.coordinator.group.consumer.group import ConsumerGroup, topics_read_by
from millstream.coordinator.group.consumer.member import ConsumerGroupMember
from millstream.coordinator.group.consumer.migration import downgrade, may_downgrade
from millstream.coordinator.group.consumer.records import epoch_record, member_tombstones
from millstream.coordinator.group.consumer.regex import forget_regexes
from millstream.coordinator.group.consumer.sessions import stop_all
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.topic_hash import topics_hash

_LOGGER = logging.getLogger(__name__)


def remove_members(
    context: GroupContext, group: ConsumerGroup, gone: Collection[ConsumerGroupMember], reason: str
) -> None:
    """Frees what they owned at once. A group whose last speaker of the consumer protocol goes becomes a classic one."""
    if not gone:
        return
    names = ", ".join(sorted(member.member_id for member in gone))
    _LOGGER.info("group %s: %s: %s", group.group_id, names, reason)
    for member in gone:
        stop_all(context, group, member)
    staying = group.members_without(gone)
    if may_downgrade(context, staying):
        downgrade(context, group, staying, leaving=gone)
        return
    for member in gone:
        context.result.records += member_tombstones(group.group_id, member.member_id)
    regexes = forget_regexes(context, group, gone)
    new_hash = topics_hash(topics_read_by(staying.values(), regexes), context.image)
    context.result.records.append(epoch_record(group.group_id, group.epoch + 1, new_hash))
