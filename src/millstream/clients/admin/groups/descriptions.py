"""Descriptions of groups of consumers: state, members, and which partitions they read.

Three APIs answer: DescribeGroups (classic), ConsumerGroupDescribe (KIP-848), ShareGroupDescribe (KIP-932).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, item_error, operations
from millstream.clients.admin.core.routes import GROUP_COORDINATOR
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.admin.groups.groups import GroupType
from millstream.clients.group.core.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from millstream.errors import GroupIdNotFound, KafkaError, MalformedMessage, UnsupportedVersion
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import GroupState
from millstream.protocol.generated import consumer_group_describe as consumer
from millstream.protocol.generated import describe_groups as classic
from millstream.protocol.generated import share_group_describe as share
from millstream.security.acl import Operation

_UPGRADED: Final = {0: False, 1: True}


class GroupMemberDescription(NamedTuple):
    """One member of a group.

    A field is None where the type of the group, or the age of the broker, does not know it.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: list[TopicPartition]
    target_assignment: list[TopicPartition] | None = None
    member_epoch: int | None = None
    rack_id: str | None = None
    subscribed_topics: tuple[str, ...] | None = None
    subscribed_regex: str | None = None
    is_upgraded: bool | None = None
    """Of a KIP-848 group: speaks KIP-848, not the classic protocol."""


class GroupDescription(NamedTuple):
    """A classic, consumer or share group. Epochs are None for classic groups."""

    group_id: str
    state: GroupState
    protocol_type: str
    assignor: str
    members: list[GroupMemberDescription]
    type: GroupType = GroupType.CLASSIC
    coordinator: int | None = None
    """The node id of the broker that answered."""
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None
    authorized_operations: frozenset[Operation] | None = None

    @property
    def is_simple_consumer_group(self) -> bool:
        """Whether the group has no members, and only keeps offsets."""
        return self.type is GroupType.CLASSIC and not self.protocol_type


async def describe_groups(
    admin: AdminCalls,
    group_ids: Iterable[str],
    *,
    include_authorized_operations: bool = False,
    timeout_ms: int | None = None,
) -> Results[str, GroupDescription]:
    """Describes classic groups of any protocol type, and KIP-848 groups.

    Brokers before Kafka 4 call an unknown id Dead.
    """
    driver = admin._driver
    deadline_ms = driver.deadline(timeout_ms)
    results = await driver.run(
        _consumer_call(include=include_authorized_operations), group_ids, deadline_ms
    )
    others = [
        group_id
        for group_id, error in results.errors().items()
        if isinstance(error, (GroupIdNotFound, UnsupportedVersion))
    ]
    classic_groups = await driver.run(
        _classic_call(include=include_authorized_operations), others, deadline_ms
    )
    results.update(classic_groups)
    return results


async def describe_consumer_groups(
    admin: AdminCalls,
    group_ids: Iterable[str],
    *,
    include_authorized_operations: bool = False,
    timeout_ms: int | None = None,
) -> Results[str, GroupDescription]:
    """Describes classic groups of consumers, and KIP-848 groups; GroupIdNotFound for classic groups
    of anything else.
    """
    results = await describe_groups(
        admin,
        group_ids,
        include_authorized_operations=include_authorized_operations,
        timeout_ms=timeout_ms,
    )
    for group_id, group in results.items():
        if not isinstance(group, KafkaError) and group.protocol_type not in ("", PROTOCOL_TYPE):
            results[group_id] = GroupIdNotFound(
                f"{group_id} is not a group of consumers, but of {group.protocol_type!r}"
            )
    return results


async def describe_classic_groups(
    admin: AdminCalls,
    group_ids: Iterable[str],
    *,
    include_authorized_operations: bool = False,
    timeout_ms: int | None = None,
) -> Results[str, GroupDescription]:
    """Describes groups of the classic protocol, of any protocol type (Connect's, for instance)."""
    return await admin._driver.run(
        _classic_call(include=include_authorized_operations),
        group_ids,
        admin._driver.deadline(timeout_ms),
    )


async def describe_share_groups(
    admin: AdminCalls,
    group_ids: Iterable[str],
    *,
    include_authorized_operations: bool = False,
    timeout_ms: int | None = None,
) -> Results[str, GroupDescription]:
    """Describes share groups (Kafka 4.1, KIP-932)."""

    def build(asked: Asked[str]) -> share.ShareGroupDescribeRequest:
        return share.ShareGroupDescribeRequest(
            group_ids=asked.keys, include_authorized_operations=include_authorized_operations
        )

    def read(
        response: share.ShareGroupDescribeResponse, asked: Asked[str]
    ) -> dict[str, GroupDescription | KafkaError]:
        return {group.group_id: _share_group(group, asked.node_id) for group in response.groups}

    call = Call(
        api=ApiKey.SHARE_GROUP_DESCRIBE,
        response=share.ShareGroupDescribeResponse,
        route=GROUP_COORDINATOR,
        build=build,
        read=read,
    )
    return await admin._driver.run(call, group_ids, admin._driver.deadline(timeout_ms))


def _classic_call(*, include: bool) -> Call[str, GroupDescription, classic.DescribeGroupsResponse]:
    return Call(
        api=ApiKey.DESCRIBE_GROUPS,
        response=classic.DescribeGroupsResponse,
        route=GROUP_COORDINATOR,
        build=lambda asked: classic.DescribeGroupsRequest(
            groups=asked.keys, include_authorized_operations=include
        ),
        read=lambda response, asked: {
            group.group_id: _classic_group(group, asked.node_id) for group in response.groups
        },
    )


def _consumer_call(
    *, include: bool
) -> Call[str, GroupDescription, consumer.ConsumerGroupDescribeResponse]:
    return Call(
        api=ApiKey.CONSUMER_GROUP_DESCRIBE,
        response=consumer.ConsumerGroupDescribeResponse,
        route=GROUP_COORDINATOR,
        build=lambda asked: consumer.ConsumerGroupDescribeRequest(
            group_ids=asked.keys, include_authorized_operations=include
        ),
        read=lambda response, asked: {
            group.group_id: _consumer_group(group, asked.node_id) for group in response.groups
        },
    )


def _classic_group(
    group: classic.DescribedGroup, coordinator: int | None
) -> GroupDescription | KafkaError:
    if group.error_code:
        return item_error(group.error_code, group.group_id, group.error_message)
    return GroupDescription(
        group.group_id,
        GroupState.of(group.group_state),
        group.protocol_type,
        group.protocol_data,
        [_classic_member(member, group.protocol_type) for member in group.members],
        coordinator=coordinator,
        authorized_operations=operations(group.authorized_operations),
    )


def _classic_member(
    member: classic.DescribedGroupMember, protocol_type: str
) -> GroupMemberDescription:
    """Groups of other protocols (Connect) put bytes of their own into the assignment."""
    assignment: list[TopicPartition] = []
    if protocol_type == PROTOCOL_TYPE:
        try:
            assignment = decode_assignment(bytes(member.member_assignment))
        except MalformedMessage:
            assignment = []
    return GroupMemberDescription(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        assignment,
    )


def _consumer_group(
    group: consumer.DescribedGroup, coordinator: int | None
) -> GroupDescription | KafkaError:
    if group.error_code:
        return item_error(group.error_code, group.group_id, group.error_message)
    members = [
        GroupMemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            _partitions(member.assignment),
            _partitions(member.target_assignment),
            member.member_epoch,
            member.rack_id,
            tuple(member.subscribed_topic_names),
            member.subscribed_topic_regex,
            _UPGRADED.get(member.member_type),
        )
        for member in group.members
    ]
    return GroupDescription(
        group.group_id,
        GroupState.of(group.group_state),
        PROTOCOL_TYPE,
        group.assignor_name,
        members,
        GroupType.CONSUMER,
        coordinator,
        group.group_epoch,
        group.assignment_epoch,
        operations(group.authorized_operations),
    )


def _share_group(
    group: share.DescribedGroup, coordinator: int | None
) -> GroupDescription | KafkaError:
    if group.error_code:
        return item_error(group.error_code, group.group_id, group.error_message)
    members = [
        GroupMemberDescription(
            member.member_id,
            None,
            member.client_id,
            member.client_host,
            _partitions(member.assignment),
            member_epoch=member.member_epoch,
            rack_id=member.rack_id,
            subscribed_topics=tuple(member.subscribed_topic_names),
        )
        for member in group.members
    ]
    return GroupDescription(
        group.group_id,
        GroupState.of(group.group_state),
        "share",
        group.assignor_name,
        members,
        GroupType.SHARE,
        coordinator,
        group.group_epoch,
        group.assignment_epoch,
        operations(group.authorized_operations),
    )


def _partitions(assignment: consumer.Assignment | share.Assignment) -> list[TopicPartition]:
    return [
        TopicPartition(topic.topic_name, partition)
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    ]
