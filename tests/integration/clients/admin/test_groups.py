"""Admin: groups of all kinds, their members and their offsets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    OffsetAndMetadata,
    TopicPartition,
)
from millstream.clients.admin import (
    GroupListing,
    GroupState,
    GroupType,
    MemberToRemove,
    StreamsTask,
)
from millstream.errors import (
    GroupIdNotFound,
    GroupSubscribedToTopic,
    NonEmptyGroup,
    UnknownMemberId,
    UnknownTopicOrPartition,
)
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from tests.integration.clients.groups.group_members import (
    beat_share_group,
    join_share_group,
    join_streams_group,
    leave_share_group,
    leave_streams_group,
)
from tests.patience import eventually
from tests.support.clients.raw_client import RawClient

NewName = Callable[[], str]


@pytest.fixture
async def admin(bootstrap: str) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=bootstrap) as client:
        yield client


@pytest.fixture
async def topic(admin: Admin, new_topic: NewName) -> str:
    """With two partitions that every broker knows: all coordinators do then."""
    name = new_topic()
    brokers = (await admin.describe_cluster()).nodes
    (await admin.create_topics([NewTopic(name, 2)])).raise_errors()

    async def is_there() -> bool:
        for broker in brokers:
            with RawClient(str(broker.address)) as client:
                asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
                (told,) = client.ask(ApiKey.METADATA, 12, asked).topics
            if len(told.partitions) != 2 or any(each.error_code for each in told.partitions):
                return False
        return True

    await eventually(is_there)
    return name


@pytest.fixture
async def classic_group(bootstrap: str, topic: str, new_topic: NewName) -> AsyncIterator[str]:
    """One member reads the topic by the classic protocol."""
    group = new_topic()
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        group_protocol="classic",
        client_id="reader",
        group_instance_id="reader-1",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.subscribe([topic])

        async def has_partitions() -> bool:
            await consumer.poll(timeout_ms=50)
            return bool(consumer.assignment())

        await eventually(has_partitions)
        yield group


async def test_a_classic_group_is_described(admin: Admin, classic_group: str, topic: str) -> None:
    for describe in (
        admin.describe_groups,
        admin.describe_consumer_groups,
        admin.describe_classic_groups,
    ):
        described = await describe([classic_group], include_authorized_operations=True)
        group = described.result(classic_group)
        (member,) = group.members
        assert (group.state, group.type) == (GroupState.STABLE, GroupType.CLASSIC)
        assert (group.protocol_type, group.assignor) == ("consumer", "range")
        assert group.authorized_operations
        assert group.coordinator in {n.node_id for n in (await admin.describe_cluster()).nodes}
        assert (member.client_id, member.group_instance_id) == ("reader", "reader-1")
        assert sorted(member.assignment) == [TopicPartition(topic, 0), TopicPartition(topic, 1)]


async def test_a_group_of_the_consumer_protocol_is_described(
    admin: Admin, bootstrap: str, topic: str, new_topic: NewName
) -> None:
    group_id = new_topic()
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=group_id, group_protocol="consumer"
    ) as consumer:
        consumer.subscribe([topic])

        async def has_partitions() -> bool:
            await consumer.poll(timeout_ms=50)
            return len(consumer.assignment()) == 2

        await eventually(has_partitions)
        group = (await admin.describe_consumer_groups([group_id])).result(group_id)
        (member,) = group.members
        assert (group.type, group.protocol_type) == (GroupType.CONSUMER, "consumer")
        assert (group.assignor, group.group_epoch) == ("uniform", group.target_assignment_epoch)
        assert (member.subscribed_topics, member.is_upgraded) == ((topic,), True)
        assert member.target_assignment is not None
        both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
        assert sorted(member.target_assignment) == both
        removed = await admin.remove_members_from_consumer_group(group_id)
        assert removed == {MemberToRemove(member_id=member.member_id): None}


async def test_a_share_group_is_described(admin: Admin, topic: str, new_topic: NewName) -> None:
    group_id = new_topic()
    both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    member_id, epoch = await join_share_group(admin, group_id, topic)

    async def has_partitions() -> bool:
        nonlocal epoch
        epoch = await beat_share_group(admin, group_id, member_id, epoch)
        (member,) = (await admin.describe_share_groups([group_id])).result(group_id).members
        return sorted(member.assignment) == both

    await eventually(has_partitions)
    group = (await admin.describe_share_groups([group_id])).result(group_id)
    (member,) = group.members
    assert (group.state, group.type) == (GroupState.STABLE, GroupType.SHARE)
    assert (member.member_id, member.subscribed_topics) == (member_id, (topic,))
    assert (member.member_epoch, group.group_epoch) == (epoch, epoch)
    await leave_share_group(admin, group_id, member_id)


async def test_a_streams_group_is_described(admin: Admin, topic: str, new_topic: NewName) -> None:
    group_id = new_topic()
    member_id = await join_streams_group(admin, group_id, topic)
    group = (await admin.describe_streams_groups([group_id])).result(group_id)
    (member,) = group.members
    (subtopology,) = group.subtopologies
    assert (group.topology_epoch, subtopology.source_topics) == (3, (topic,))
    assert (member.member_id, member.process_id) == (member_id, "process-1")
    assert set(member.target_assignment.active_tasks) <= {StreamsTask("0", 0), StreamsTask("0", 1)}
    await leave_streams_group(admin, group_id, member_id)


async def test_each_group_that_is_not_there_has_its_own_error(
    admin: Admin, classic_group: str
) -> None:
    for describe in (admin.describe_groups, admin.describe_classic_groups):
        described = await describe([classic_group, "nobody"])
        assert described.result(classic_group)
        assert isinstance(described["nobody"], GroupIdNotFound)
    for describe_kind in (admin.describe_share_groups, admin.describe_streams_groups):
        assert isinstance((await describe_kind(["nobody"]))["nobody"], GroupIdNotFound)
        assert isinstance((await describe_kind([classic_group]))[classic_group], GroupIdNotFound)


async def test_groups_are_listed_by_state_type_and_protocol(
    admin: Admin, classic_group: str, topic: str, new_topic: NewName
) -> None:
    share, empty = new_topic(), new_topic()
    member, _ = await join_share_group(admin, share, topic)
    commit = {TopicPartition(topic, 0): OffsetAndMetadata(0)}
    (await admin.alter_consumer_group_offsets(empty, commit)).raise_errors()
    stable = GroupListing(classic_group, "consumer", GroupState.STABLE, GroupType.CLASSIC)
    ours = {classic_group, share, empty}

    def listed(groups: list[GroupListing]) -> set[str]:
        return {each.group_id for each in groups} & ours

    every = await admin.list_groups()
    assert stable in every
    assert listed(every) == ours
    assert [each.is_simple_consumer_group for each in every if each.group_id == empty] == [True]
    assert listed(await admin.list_groups(states=[GroupState.EMPTY])) == {empty}
    assert listed(await admin.list_groups(types=[GroupType.SHARE])) == {share}
    assert listed(await admin.list_groups(protocol_types=["consumer"])) == {classic_group}
    assert listed(await admin.list_consumer_groups()) == {classic_group, empty}
    await leave_share_group(admin, share, member)


async def test_groups_are_deleted_when_they_have_no_members(
    admin: Admin, classic_group: str, topic: str, new_topic: NewName
) -> None:
    empty = new_topic()
    commit = {TopicPartition(topic, 0): OffsetAndMetadata(0)}
    (await admin.alter_consumer_group_offsets(empty, commit)).raise_errors()
    deleted = await admin.delete_groups([empty, classic_group, "nobody"])
    assert deleted[empty] is None
    assert isinstance(deleted[classic_group], NonEmptyGroup)
    assert isinstance(deleted["nobody"], GroupIdNotFound)


async def test_members_are_put_out_by_instance_id_or_all_together(
    admin: Admin, classic_group: str
) -> None:
    nobody = MemberToRemove("nobody")
    removed = await admin.remove_members_from_consumer_group(
        classic_group, [nobody, MemberToRemove("reader-1")], reason="test"
    )
    assert isinstance(removed[nobody], UnknownMemberId)
    assert removed[MemberToRemove("reader-1")] is None
    group = (await admin.describe_groups([classic_group])).result(classic_group)
    assert [member.group_instance_id for member in group.members] == []
    assert await admin.remove_members_from_consumer_group(classic_group) == {}


async def test_offsets_of_several_groups_come_in_one_answer(
    admin: Admin, topic: str, new_topic: NewName
) -> None:
    one, two = new_topic(), new_topic()
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    wanted = OffsetAndMetadata(5, "note", 0)
    altered = await admin.alter_consumer_group_offsets(
        one, {first: wanted, second: OffsetAndMetadata(6)}
    )
    assert altered == {first: None, second: None}
    (await admin.alter_consumer_group_offsets(two, {second: wanted})).raise_errors()
    listed = await admin.list_consumer_group_offsets([one, two, "nobody"], require_stable=True)
    assert listed == {
        one: {first: wanted, second: OffsetAndMetadata(6)},
        two: {second: wanted},
        "nobody": {},
    }
    some = await admin.list_consumer_group_offsets({one: [first], two: [first], "nobody": []})
    assert some == {one: {first: wanted}, two: {}, "nobody": {}}


async def test_each_offset_that_cannot_be_set_has_its_own_error(
    admin: Admin, classic_group: str, topic: str, new_topic: NewName
) -> None:
    group, nowhere = new_topic(), TopicPartition("nowhere", 0)
    there = TopicPartition(topic, 0)
    at = OffsetAndMetadata(1)
    altered = await admin.alter_consumer_group_offsets(group, {there: at, nowhere: at})
    assert altered[there] is None
    assert isinstance(altered[nowhere], UnknownTopicOrPartition)
    refused = await admin.alter_consumer_group_offsets(classic_group, {there: at})
    assert isinstance(refused[there], UnknownMemberId)


async def test_offsets_are_deleted_unless_somebody_reads_the_topic(
    admin: Admin, classic_group: str, topic: str, new_topic: NewName
) -> None:
    group, first, second = new_topic(), TopicPartition(topic, 0), TopicPartition(topic, 1)
    offsets = {first: OffsetAndMetadata(1), second: OffsetAndMetadata(2)}
    (await admin.alter_consumer_group_offsets(group, offsets)).raise_errors()
    assert await admin.delete_consumer_group_offsets(group, [first]) == {first: None}
    assert await admin.list_consumer_group_offsets([group]) == {
        group: {second: OffsetAndMetadata(2)}
    }
    refused = await admin.delete_consumer_group_offsets(classic_group, [first])
    assert isinstance(refused[first], GroupSubscribedToTopic)
    unknown = await admin.delete_consumer_group_offsets("nobody", [first])
    assert isinstance(unknown[first], GroupIdNotFound)


async def test_offsets_of_a_share_group_are_listed_set_and_deleted(
    admin: Admin, topic: str, new_topic: NewName
) -> None:
    group, first, second = new_topic(), TopicPartition(topic, 0), TopicPartition(topic, 1)
    member, _ = await join_share_group(admin, group, topic)
    refused = await admin.alter_share_group_offsets(group, {first: 0})
    assert isinstance(refused[first], NonEmptyGroup)
    await leave_share_group(admin, group, member)
    nowhere = TopicPartition("nowhere", 0)

    async def are_set() -> bool:
        altered = await admin.alter_share_group_offsets(group, {first: 0, second: 0, nowhere: 0})
        return {key: type(error) for key, error in altered.errors().items()} == {
            nowhere: UnknownTopicOrPartition
        }

    await eventually(are_set)
    listed = (await admin.list_share_group_offsets([group])).result(group)
    assert {key: listed.result(key).start_offset for key in listed} == {first: 0, second: 0}
    one = (await admin.list_share_group_offsets({group: [second]})).result(group)
    assert list(one) == [second]
    assert await admin.delete_share_group_offsets(group, [topic]) == {topic: None}
    assert (await admin.list_share_group_offsets([group])).result(group) == {}
    assert await admin.list_share_group_offsets(["nobody"]) == {"nobody": {}}


async def test_offsets_of_a_streams_group_are_kept_as_those_of_consumers(
    admin: Admin, topic: str, new_topic: NewName
) -> None:
    group, first = new_topic(), TopicPartition(topic, 0)
    member = await join_streams_group(admin, group, topic)
    await leave_streams_group(admin, group, member)
    altered = await admin.alter_streams_group_offsets(group, {first: OffsetAndMetadata(4)})
    assert altered == {first: None}
    listed = await admin.list_streams_group_offsets([group])
    assert listed == {group: {first: OffsetAndMetadata(4)}}
    assert await admin.delete_streams_group_offsets(group, [first]) == {first: None}
    assert await admin.delete_streams_groups([group]) == {group: None}
