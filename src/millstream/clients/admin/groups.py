"""Admin calls about groups: list, describe, delete, and the offsets they have committed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from millstream.clients.admin.results import (
    GroupDescription,
    GroupListing,
    GroupMemberDescription,
    Results,
    item_error,
)
from millstream.clients.cluster import Cluster
from millstream.clients.committed_offsets import commit_offsets, fetch_committed
from millstream.clients.core.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndMetadata
from millstream.errors import KafkaError, MalformedMessage, UnknownServerError, error_for
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from millstream.protocol.generated.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from millstream.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse

_Result = TypeVar("_Result")

_FIRST_LIST_WITH_STATES = 4
_FIRST_LIST_WITH_TYPES = 5


async def list_groups(
    cluster: Cluster, states: Sequence[str], types: Sequence[str], deadline_ms: int
) -> list[GroupListing]:
    """Every broker knows the groups it coordinates, so every one is asked."""
    picture = await cluster.refresh_metadata(deadline_ms)

    async def ask(node_id: int) -> list[GroupListing]:
        async def attempt() -> ListGroupsResponse:
            connection = await cluster.connection(node_id)
            version = connection.versions.choose(ApiKey.LIST_GROUPS)
            request = ListGroupsRequest(
                states_filter=list(states) if version >= _FIRST_LIST_WITH_STATES else [],
                types_filter=list(types) if version >= _FIRST_LIST_WITH_TYPES else [],
            )
            response = await connection.request(ApiKey.LIST_GROUPS, request, ListGroupsResponse)
            if response.error_code:
                raise error_for(response.error_code)
            return response

        response = await cluster.retrying(attempt, deadline_ms)
        return [
            GroupListing(g.group_id, g.protocol_type, g.group_state, g.group_type)
            for g in response.groups
        ]

    listings = await asyncio.gather(*(ask(node_id) for node_id in picture.nodes))
    return sorted(group for listing in listings for group in listing)


async def describe_groups(
    cluster: Cluster, group_ids: Sequence[str], deadline_ms: int
) -> Results[str, GroupDescription]:
    async def describe(group_id: str) -> GroupDescription:
        async def ask(node_id: int) -> GroupDescription:
            response = await cluster.request(
                node_id,
                ApiKey.DESCRIBE_GROUPS,
                DescribeGroupsRequest(groups=[group_id]),
                DescribeGroupsResponse,
            )
            group = response.groups[0]
            if group.error_code:
                raise item_error(group.error_code, group_id, group.error_message)
            return _description(group)

        return await cluster.with_coordinator(group_id, ask, deadline_ms)

    return await _each(group_ids, describe)


async def delete_groups(
    cluster: Cluster, group_ids: Sequence[str], deadline_ms: int
) -> Results[str, None]:
    async def delete(group_id: str) -> None:
        async def ask(node_id: int) -> None:
            response = await cluster.request(
                node_id,
                ApiKey.DELETE_GROUPS,
                DeleteGroupsRequest(groups_names=[group_id]),
                DeleteGroupsResponse,
            )
            error_code = response.results[0].error_code
            if error_code:
                raise item_error(error_code, group_id)

        await cluster.with_coordinator(group_id, ask, deadline_ms)

    return await _each(group_ids, delete)


async def committed_offsets(
    cluster: Cluster, group_id: str, deadline_ms: int
) -> Results[TopicPartition, OffsetAndMetadata]:
    return Results(await fetch_committed(cluster, group_id, None, deadline_ms))


async def alter_offsets(
    cluster: Cluster,
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    deadline_ms: int,
) -> Results[TopicPartition, None]:
    """As nobody's member: brokers allow it while the group is empty."""
    return Results(
        await commit_offsets(cluster, ConsumerGroupMetadata(group_id), offsets, deadline_ms)
    )


async def _each(
    group_ids: Sequence[str], call: Callable[[str], Awaitable[_Result]]
) -> Results[str, _Result]:
    """Groups live with different coordinators; one that fails does not keep the others from answering."""
    results: Results[str, _Result] = Results()

    async def one(group_id: str) -> None:
        try:
            results[group_id] = await call(group_id)
        except KafkaError as error:
            results[group_id] = error
        except IndexError:
            results[group_id] = UnknownServerError(f"{group_id}: the answer leaves this out")

    await asyncio.gather(*(one(group_id) for group_id in group_ids))
    return results


def _description(group: DescribedGroup) -> GroupDescription:
    return GroupDescription(
        group.group_id,
        group.group_state,
        group.protocol_type,
        group.protocol_data,
        [_member(member, group.protocol_type) for member in group.members],
    )


def _member(member: DescribedGroupMember, protocol_type: str) -> GroupMemberDescription:
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
