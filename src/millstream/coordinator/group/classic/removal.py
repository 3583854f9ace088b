"""Members that leave a classic group, or are removed from it.

What that means for the group is the business of `rebalance`.
"""

from __future__ import annotations

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import ClassicGroupMember
from millstream.coordinator.group.classic.responses import join_error
from millstream.coordinator.group.classic.sessions import end_session
from millstream.coordinator.group.context import GroupContext
from millstream.errors import UnknownMemberId


def remove_member(context: GroupContext, group: ClassicGroup, member: ClassicGroupMember) -> None:
    """Answers whatever the member waits for with UNKNOWN_MEMBER_ID, so that a process that is still
    there joins anew.
    """
    joining = group.take_joining(member)
    if joining is not None:
        context.result.reply(joining, join_error("", UnknownMemberId()))
    if member.syncing is not None:
        context.result.fail(member.syncing, UnknownMemberId())
        member.syncing = None
    end_session(context, group, member.member_id)
    group.remove(member.member_id)
