"""What clients may do with groups and their offsets: a rule for the group, for a prefix, for all, for another operation, and none."""

from __future__ import annotations

from typing import Any, Final

import pytest

from millstream.broker.handlers import (
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_fetch,
    sync_group,
)
from millstream.errors import GroupAuthorizationFailed, KafkaError, TopicAuthorizationFailed
from millstream.metadata.stored_security import AccessControlEntry
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.describe_groups import DescribeGroupsRequest
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from millstream.protocol.generated.list_groups import ListGroupsRequest
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from millstream.protocol.generated.sync_group import SyncGroupRequest
from millstream.security.acl import CLUSTER_NAME, Operation, ResourceType
from tests.support.access_rules import access, rule
from tests.unit.broker.handlers.test_group_handlers import World, codes, commit, join, serving

GROUP, TOPIC = ResourceType.GROUP, ResourceType.TOPIC
READ, DESCRIBE, DELETE = Operation.READ, Operation.DESCRIBE, Operation.DELETE
NOT_THE_GROUP, HIDDEN = GroupAuthorizationFailed.code, TopicAuthorizationFailed.code
UNKNOWN_TOPIC: Final = 3
CLIENT: Final = "User:ANONYMOUS"


def on(name: str, operation: Operation, kind: ResourceType = GROUP, **more: Any) -> AccessControlEntry:  # fmt: skip
    return rule(operation, kind, name, principal=CLIENT, **more)


async def code(world: World, handler: Any, request: Any, version: int) -> int:
    """The error of the answer, or of the request as a whole."""
    try:
        return int((await world.answered(handler, request, version)).error_code)
    except KafkaError as refused:
        return refused.code


@pytest.mark.parametrize(
    ("handler", "request_", "version"),
    [
        (join_group, join("g"), 5),  # answered at once with an id to join with
        (sync_group, SyncGroupRequest("g", 1, "m"), 3),
        (heartbeat, HeartbeatRequest("g", 1, "m"), 3),
        (leave_group, LeaveGroupRequest("g", members=[MemberIdentity("m")]), 3),
    ],
    ids=["JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"],
)
async def test_members_need_read(handler: Any, request_: Any, version: int) -> None:
    async with serving() as world:
        for rules in ((), (on("g", DESCRIBE),), (on("*", READ), on("g", READ, deny=True))):
            world.access = access(*rules)
            assert await code(world, handler, request_, version) == NOT_THE_GROUP
        for allowing in (on("g", READ), on("*", READ), on("g", READ, prefixed=True)):
            world.access = access(allowing)
            assert await code(world, handler, request_, version) != NOT_THE_GROUP


async def test_offsets_are_committed_of_topics_that_may_be_read() -> None:
    async with serving() as world:
        world.publish((1, 1), topics=("t", "theirs"))  # type: ignore[arg-type]
        world.access = access(on("g", READ), on("t", READ, TOPIC))
        answer = await world.answered(
            offset_commit, commit({"t": [0], "theirs": [0], "absent": [0]}), 7
        )
        assert codes(answer) == [("t", 0, 0), ("theirs", 0, HIDDEN), ("absent", 0, HIDDEN)]
        world.access = access(on("g", READ), on("*", READ, TOPIC))
        answer = await world.answered(offset_commit, commit({"absent": [0]}), 7)
        assert codes(answer) == [("absent", 0, UNKNOWN_TOPIC)]
        world.access = access(on("t", READ, TOPIC))
        with pytest.raises(GroupAuthorizationFailed):
            await world.answered(offset_commit, commit({"t": [0]}), 7)


async def test_offsets_are_told_of_topics_that_may_be_described() -> None:
    async with serving() as world:
        await world.answered(offset_commit, commit({"t": [0]}), 7)
        asked = [OffsetFetchRequestTopic(name, [0]) for name in ("t", "absent")]
        one = OffsetFetchRequest("g", asked)
        world.access = access(on("g", READ), on("t", Operation.WRITE, TOPIC))
        answer = await world.answered(offset_fetch, one, 7)
        told = {t.name: t.partitions[0] for t in answer.topics}
        assert {n: (p.error_code, p.committed_offset) for n, p in told.items()} == {
            "t": (0, 5),
            "absent": (HIDDEN, -1),
        }
        every = OffsetFetchRequest("g", None)
        assert [t.name for t in (await world.answered(offset_fetch, every, 7)).topics] == ["t"]
        world.access = access(on("g", DESCRIBE))
        assert (await world.answered(offset_fetch, every, 7)).topics == []


async def test_of_several_groups_each_is_asked_for() -> None:
    async with serving() as world:
        await world.answered(offset_commit, commit({"t": [0]}), 7)
        topics = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(name, topics=topics) for name in ("g", "other")]
        )
        world.access = access(on("g", DESCRIBE), on("t", DESCRIBE, TOPIC))
        answer = await world.answered(offset_fetch, request, 8)
        told = {g.group_id: (g.error_code, len(g.topics)) for g in answer.groups}
        assert told == {"g": (0, 1), "other": (NOT_THE_GROUP, 0)}


async def test_groups_that_may_not_be_described_are_not_listed() -> None:
    async with serving() as world:
        for group in ("mine", "theirs"):
            await world.join_alone(group)

        async def listed(*rules: AccessControlEntry) -> list[str]:
            world.access = access(*rules)
            answer = await world.answered(list_groups, ListGroupsRequest(), 4)
            return sorted(each.group_id for each in answer.groups)

        assert await listed() == []
        assert await listed(on("mi", DELETE, prefixed=True)) == ["mine"]
        assert await listed(on("*", READ), on("theirs", DESCRIBE, deny=True)) == ["mine"]
        cluster = on(CLUSTER_NAME, DESCRIBE, ResourceType.CLUSTER)
        assert await listed(cluster) == ["mine", "theirs"]


async def test_groups_are_described_and_deleted_one_by_one() -> None:
    async with serving() as world:
        for group in ("mine", "theirs"):
            await world.join_alone(group)
        world.access = access(on("mine", READ), on("absent", DELETE))
        request = DescribeGroupsRequest(["mine", "theirs"], include_authorized_operations=True)
        answer = await world.answered(describe_groups, request, 4)
        told = {g.group_id: g for g in answer.groups}
        assert {name: g.error_code for name, g in told.items()} == {
            "mine": 0,
            "theirs": NOT_THE_GROUP,
        }
        assert told["mine"].authorized_operations == 1 << READ | 1 << DESCRIBE
        asked = DeleteGroupsRequest(["mine", "theirs", "absent"])
        removed = await world.answered(delete_groups, asked, 2)
        told = {r.group_id: r.error_code for r in removed.results}
        assert told == {"mine": NOT_THE_GROUP, "theirs": NOT_THE_GROUP, "absent": 69}


async def test_a_coordinator_is_found_for_who_may_describe_its_group() -> None:
    async with serving() as world:
        world.access = access(on("mine", READ))
        groups = FindCoordinatorRequest(key_type=0, coordinator_keys=["mine", "theirs"])
        answer = await world.answered(find_coordinator, groups, 4)
        told = {c.key: (c.error_code, c.node_id) for c in answer.coordinators}
        assert told == {"mine": (0, 1), "theirs": (NOT_THE_GROUP, -1)}
        of_one = FindCoordinatorRequest("theirs")
        assert await code(world, find_coordinator, of_one, 3) == NOT_THE_GROUP
