"""Members put out of a group: LeaveGroup in their name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done
from millstream.clients.admin.core.routes import Coordinator
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.admin.groups.descriptions import describe_consumer_groups
from millstream.errors import KafkaError, UnsupportedVersion
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import CoordinatorType
from millstream.protocol.generated.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)

_FIRST_LEAVE_OF_MANY: Final = 3


class MemberToRemove(NamedTuple):
    """A static member by its instance id, any other by its member id."""

    group_instance_id: str | None = None
    member_id: str = ""


async def remove_members_from_consumer_group(
    admin: AdminCalls,
    group_id: str,
    members: Iterable[MemberToRemove] | None = None,
    *,
    reason: str = "removed by an administrator",
    timeout_ms: int | None = None,
) -> Results[MemberToRemove, None]:
    """Removes members; None puts out all. `reason` is written to the broker's log."""
    deadline_ms = admin._driver.deadline(timeout_ms)
    wanted = await _all_members(admin, group_id, timeout_ms) if members is None else members

    def build(asked: Asked[MemberToRemove]) -> LeaveGroupRequest:
        if asked.version < _FIRST_LEAVE_OF_MANY:
            (member,) = asked.keys
            if member.group_instance_id is not None:
                raise UnsupportedVersion("removing a member by instance id exists since Kafka 2.4")
            return LeaveGroupRequest(group_id=group_id, member_id=member.member_id)
        identities = [
            MemberIdentity(each.member_id, each.group_instance_id, reason) for each in asked.keys
        ]
        return LeaveGroupRequest(group_id=group_id, members=identities)

    call = Call(
        api=ApiKey.LEAVE_GROUP,
        response=LeaveGroupResponse,
        route=Coordinator[MemberToRemove](CoordinatorType.GROUP, lambda _: group_id),
        build=build,
        read=lambda response, asked: _answers(group_id, response, asked),
        batched_since=_FIRST_LEAVE_OF_MANY,
    )
    return await admin._driver.run(call, wanted, deadline_ms)


def _answers(
    group_id: str, response: LeaveGroupResponse, asked: Asked[MemberToRemove]
) -> dict[MemberToRemove, KafkaError | None]:
    """Members with an instance id are told apart by it: brokers fill in the member id or not."""
    check(response.error_code, group_id)
    if asked.version < _FIRST_LEAVE_OF_MANY:
        return dict.fromkeys(asked.keys)
    codes = {each.group_instance_id or each.member_id: each.error_code for each in response.members}
    names = {each: each.group_instance_id or each.member_id for each in asked.keys}
    return {each: done(codes[name], name) for each, name in names.items() if name in codes}


async def _all_members(
    admin: AdminCalls, group_id: str, timeout_ms: int | None
) -> list[MemberToRemove]:
    described = await describe_consumer_groups(admin, [group_id], timeout_ms=timeout_ms)
    return [
        MemberToRemove(each.group_instance_id)
        if each.group_instance_id
        else MemberToRemove(member_id=each.member_id)
        for each in described.result(group_id).members
    ]
