"""Committed offsets of groups: list, set, delete. For consumer and streams groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done, item_error
from millstream.clients.admin.core.routes import GROUP_COORDINATOR, Coordinator
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.core.values import OffsetAndMetadata
from millstream.errors import KafkaError, RebalanceInProgress, UnstableOffsetCommit
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import CoordinatorType
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

GroupOffsets = Results[TopicPartition, OffsetAndMetadata]
"""Partitions without a commit are left out."""

_LAST_BY_NAME: Final = 9
"""Later versions name topics by id, which a deleted topic would not have."""
_FIRST_FETCH_OF_MANY: Final = 8


async def list_consumer_group_offsets(
    admin: AdminCalls,
    groups: Iterable[str] | Mapping[str, Iterable[TopicPartition] | None],
    *,
    require_stable: bool = False,
    timeout_ms: int | None = None,
) -> Results[str, GroupOffsets]:
    """Lists the offsets that each group has committed: for the partitions named, or for all it has (a plain
    list of groups, or None).

    `require_stable` (Kafka 2.5) waits for transactions that are about to commit offsets.
    """
    wanted = {
        group_id: None if partitions is None else by_topic(partitions)
        for group_id, partitions in (
            groups if isinstance(groups, Mapping) else dict.fromkeys(groups)
        ).items()
    }

    def build(asked: Asked[str]) -> OffsetFetchRequest:
        if asked.version >= _FIRST_FETCH_OF_MANY:
            return OffsetFetchRequest(
                groups=[_request_group(key, wanted[key]) for key in asked.keys],
                require_stable=require_stable,
            )
        (group_id,) = asked.keys
        topics = wanted[group_id]
        older = None
        if topics is not None:
            older = [OffsetFetchRequestTopic(*topic) for topic in topics.items()]
        return OffsetFetchRequest(group_id=group_id, topics=older, require_stable=require_stable)

    def read(
        response: OffsetFetchResponse, asked: Asked[str]
    ) -> dict[str, GroupOffsets | KafkaError]:
        if asked.version >= _FIRST_FETCH_OF_MANY:
            return {
                group.group_id: _committed(group.group_id, group.error_code, group.topics)
                for group in response.groups
            }
        (group_id,) = asked.keys
        return {group_id: _committed(group_id, response.error_code, response.topics)}

    call = Call(
        api=ApiKey.OFFSET_FETCH,
        response=OffsetFetchResponse,
        route=GROUP_COORDINATOR,
        build=build,
        read=read,
        batched_since=_FIRST_FETCH_OF_MANY,
        version_max=_LAST_BY_NAME,
        retries=(UnstableOffsetCommit,),
    )
    return await admin._driver.run(call, wanted, admin._driver.deadline(timeout_ms))


async def alter_consumer_group_offsets(
    admin: AdminCalls,
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    timeout_ms: int | None = None,
) -> Results[TopicPartition, None]:
    """Set what a group has committed. Brokers allow it while the group has no members (UnknownMemberId else).

    Raises ValueError for an offset below 0, which brokers would store, and then answer as if nothing was committed.
    """
    for partition, position in offsets.items():
        if position.offset < 0:
            raise ValueError(
                f"the offset of {partition} must not be negative, got {position.offset};"
                " delete_consumer_group_offsets forgets a commit"
            )

    def build(asked: Asked[TopicPartition]) -> OffsetCommitRequest:
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for key in asked.keys:
            topic = topics.setdefault(key.topic, OffsetCommitRequestTopic(name=key.topic))
            position = offsets[key]
            topic.partitions.append(
                OffsetCommitRequestPartition(
                    partition_index=key.partition,
                    committed_offset=position.offset,
                    committed_leader_epoch=position.leader_epoch,
                    committed_metadata=position.metadata,
                )
            )
        return OffsetCommitRequest(group_id=group_id, topics=list(topics.values()))

    call = Call(
        api=ApiKey.OFFSET_COMMIT,
        response=OffsetCommitResponse,
        route=_coordinator_of(group_id),
        build=build,
        read=lambda response, _: {
            (key := TopicPartition(topic.name, each.partition_index)): done(each.error_code, key)
            for topic in response.topics
            for each in topic.partitions
        },
        version_max=_LAST_BY_NAME,
        retries=(RebalanceInProgress,),
    )
    return await admin._driver.run(call, offsets, admin._driver.deadline(timeout_ms))


async def delete_consumer_group_offsets(
    admin: AdminCalls,
    group_id: str,
    partitions: Iterable[TopicPartition],
    *,
    timeout_ms: int | None = None,
) -> Results[TopicPartition, None]:
    """Forget commits (Kafka 2.4). GroupSubscribedToTopic while a member reads the topic."""

    def build(asked: Asked[TopicPartition]) -> OffsetDeleteRequest:
        topics = [
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequestPartition(index) for index in indexes],
            )
            for topic, indexes in by_topic(asked.keys).items()
        ]
        return OffsetDeleteRequest(group_id=group_id, topics=topics)

    def read(
        response: OffsetDeleteResponse, _: Asked[TopicPartition]
    ) -> dict[TopicPartition, KafkaError | None]:
        check(response.error_code, group_id)
        return {
            (key := TopicPartition(topic.name, each.partition_index)): done(each.error_code, key)
            for topic in response.topics
            for each in topic.partitions
        }

    call = Call(
        api=ApiKey.OFFSET_DELETE,
        response=OffsetDeleteResponse,
        route=_coordinator_of(group_id),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, partitions, admin._driver.deadline(timeout_ms))


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def _coordinator_of(group_id: str) -> Coordinator[TopicPartition]:
    return Coordinator(CoordinatorType.GROUP, lambda _: group_id)


def _request_group(group_id: str, topics: dict[str, list[int]] | None) -> OffsetFetchRequestGroup:
    named = None
    if topics is not None:
        named = [
            OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
            for name, indexes in topics.items()
        ]
    return OffsetFetchRequestGroup(group_id=group_id, topics=named)


def _committed(
    group_id: str,
    error_code: int,
    topics: Iterable[OffsetFetchResponseTopic | OffsetFetchResponseTopics],
) -> GroupOffsets | KafkaError:
    if error_code:
        return item_error(error_code, group_id)
    offsets: GroupOffsets = Results()
    for topic in topics:
        for each in topic.partitions:
            key = TopicPartition(topic.name, each.partition_index)
            if each.error_code == UnstableOffsetCommit.code:
                return item_error(each.error_code, key)
            if each.error_code:
                offsets[key] = item_error(each.error_code, key)
            elif each.committed_offset >= 0:
                offsets[key] = OffsetAndMetadata(
                    each.committed_offset, each.metadata or "", each.committed_leader_epoch
                )
    return offsets
