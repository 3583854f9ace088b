"""The offsets at which share groups start to read (KIP-932): list, set, delete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done, item_error
from millstream.clients.admin.core.routes import GROUP_COORDINATOR, Coordinator
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.admin.groups.offsets import by_topic
from millstream.errors import KafkaError
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import CoordinatorType
from millstream.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from millstream.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from millstream.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)


class SharePartitionOffset(NamedTuple):
    """`lag` counts the records not yet acknowledged; None where the broker does not know."""

    start_offset: int
    leader_epoch: int
    lag: int | None


ShareGroupOffsets = Results[TopicPartition, SharePartitionOffset]
"""Partitions that the group has not begun to read are left out."""


async def list_share_group_offsets(
    admin: AdminCalls,
    groups: Iterable[str] | Mapping[str, Iterable[TopicPartition] | None],
    *,
    timeout_ms: int | None = None,
) -> Results[str, ShareGroupOffsets]:
    """Lists the start offsets of each group for the partitions named, or of all it reads (Kafka 4.1)."""
    wanted = {
        group_id: None if partitions is None else by_topic(partitions)
        for group_id, partitions in (
            groups if isinstance(groups, Mapping) else dict.fromkeys(groups)
        ).items()
    }

    def build(asked: Asked[str]) -> DescribeShareGroupOffsetsRequest:
        requested = []
        for group_id in asked.keys:
            topics, named = wanted[group_id], None
            if topics is not None:
                named = [DescribeShareGroupOffsetsRequestTopic(*topic) for topic in topics.items()]
            requested.append(DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=named))
        return DescribeShareGroupOffsetsRequest(groups=requested)

    call = Call(
        api=ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        response=DescribeShareGroupOffsetsResponse,
        route=GROUP_COORDINATOR,
        build=build,
        read=lambda response, _: {group.group_id: _offsets(group) for group in response.groups},
    )
    return await admin._driver.run(call, wanted, admin._driver.deadline(timeout_ms))


async def alter_share_group_offsets(
    admin: AdminCalls,
    group_id: str,
    offsets: Mapping[TopicPartition, int],
    *,
    timeout_ms: int | None = None,
) -> Results[TopicPartition, None]:
    """Set the start offsets of a share group without members (Kafka 4.1). NonEmptyGroup else."""

    def build(asked: Asked[TopicPartition]) -> AlterShareGroupOffsetsRequest:
        topics = [
            AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(
                        partition_index=index, start_offset=offsets[TopicPartition(topic, index)]
                    )
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(asked.keys).items()
        ]
        return AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics)

    def read(
        response: AlterShareGroupOffsetsResponse, _: Asked[TopicPartition]
    ) -> dict[TopicPartition, KafkaError | None]:
        check(response.error_code, group_id, response.error_message)
        return {
            (key := TopicPartition(topic.topic_name, each.partition_index)): done(
                each.error_code, key, each.error_message
            )
            for topic in response.responses
            for each in topic.partitions
        }

    call = Call(
        api=ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        response=AlterShareGroupOffsetsResponse,
        route=Coordinator[TopicPartition](CoordinatorType.GROUP, lambda _: group_id),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, offsets, admin._driver.deadline(timeout_ms))


async def delete_share_group_offsets(
    admin: AdminCalls, group_id: str, topics: Iterable[str], *, timeout_ms: int | None = None
) -> Results[str, None]:
    """Forget what a share group without members knows of these topics (Kafka 4.1)."""

    def build(asked: Asked[str]) -> DeleteShareGroupOffsetsRequest:
        named = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in asked.keys]
        return DeleteShareGroupOffsetsRequest(group_id=group_id, topics=named)

    def read(
        response: DeleteShareGroupOffsetsResponse, _: Asked[str]
    ) -> dict[str, KafkaError | None]:
        check(response.error_code, group_id, response.error_message)
        return {
            each.topic_name: done(each.error_code, each.topic_name, each.error_message)
            for each in response.responses
        }

    call = Call(
        api=ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        response=DeleteShareGroupOffsetsResponse,
        route=Coordinator[str](CoordinatorType.GROUP, lambda _: group_id),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, topics, admin._driver.deadline(timeout_ms))


def _offsets(group: DescribeShareGroupOffsetsResponseGroup) -> ShareGroupOffsets | KafkaError:
    if group.error_code:
        return item_error(group.error_code, group.group_id, group.error_message)
    offsets: ShareGroupOffsets = Results()
    for topic in group.topics:
        for each in topic.partitions:
            key = TopicPartition(topic.topic_name, each.partition_index)
            if each.error_code:
                offsets[key] = item_error(each.error_code, key, each.error_message)
            elif each.start_offset >= 0:
                lag = each.lag if each.lag >= 0 else None
                offsets[key] = SharePartitionOffset(each.start_offset, each.leader_epoch, lag)
    return offsets
