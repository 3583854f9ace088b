"""OffsetCommit and OffsetFetch: positions kept by a group's coordinator, for members and for those who only store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.consumer.core.fetched import partition_error
from millstream.clients.core.named_errors import named_error
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndMetadata
from millstream.errors import (
    KafkaError,
    RetriableError,
    StaleMemberEpoch,
    UnknownMemberId,
    UnknownTopicOrPartition,
)
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

_LAST_VERSION_BY_NAME = 9
"""Later versions name topics by id, which a commit for a deleted topic would not have."""
_FIRST_STABLE_FETCH = 7
_FIRST_BATCHED_FETCH = 8
_FIRST_FETCH_WITH_MEMBER = 9


class _EpochPassed(RetriableError, StaleMemberEpoch):
    """The coordinator is an epoch ahead; the next heartbeat tells us where we stand."""


async def commit_offsets(
    cluster: Cluster,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    deadline_ms: int,
    *,
    waits_for_topics: bool = True,
) -> dict[TopicPartition, KafkaError | None]:
    """Commits offsets. Returns one result per partition. Errors of the whole group are in every one of them.

    `waits_for_topics`: a topic that the coordinator does not know may be one that it has not heard of yet; else it was
    deleted, which trying again does not cure.
    """
    if not offsets:
        return {}

    async def ask(node_id: int) -> dict[TopicPartition, KafkaError | None]:
        return await _send_commit(
            cluster, node_id, group, offsets, waits_for_topics=waits_for_topics
        )

    return await cluster.with_coordinator(group.group_id, ask, deadline_ms)


async def commit_once(
    cluster: Cluster,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
) -> dict[TopicPartition, KafkaError | None]:
    """Commits as `commit_offsets`, but without a second attempt: raises also what may go away."""
    if not offsets:
        return {}
    node_id = await cluster.coordinator(group.group_id)
    try:
        return await _send_commit(cluster, node_id, group, offsets, waits_for_topics=False)
    except RetriableError:
        cluster.forget_coordinator(group.group_id)
        raise


async def _send_commit(
    cluster: Cluster,
    node_id: int,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    waits_for_topics: bool,
) -> dict[TopicPartition, KafkaError | None]:
    response = await cluster.request(
        node_id,
        ApiKey.OFFSET_COMMIT,
        _commit_request(group, offsets),
        OffsetCommitResponse,
        lane=Lane.GROUP,
        version_max=_LAST_VERSION_BY_NAME,
    )
    results: dict[TopicPartition, KafkaError | None] = dict.fromkeys(offsets)
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.error_code:
                tp = TopicPartition(topic.name, partition.partition_index)
                error = partition_error(partition.error_code, tp)
                is_gone = isinstance(error, UnknownTopicOrPartition) and not waits_for_topics
                if error.retriable and not is_gone:
                    raise error
                results[tp] = error
    return results


def found_or_raised(found: OffsetAndMetadata | KafkaError | None) -> OffsetAndMetadata | None:
    """Returns what `fetch_committed` has found of one partition. Raises it where it is an error."""
    if isinstance(found, KafkaError):
        raise found
    return found


async def fetch_committed(
    cluster: Cluster,
    group_id: str,
    partitions: Iterable[TopicPartition] | None,
    deadline_ms: int,
    *,
    member: Callable[[], ConsumerGroupMetadata] | None = None,
) -> dict[TopicPartition, OffsetAndMetadata | KafkaError]:
    """Asks for the offsets that the group has committed; partitions without a commit are left out.

    None asks for all partitions.

    While a transaction is about to commit offsets it waits for the outcome, whatever the isolation level
    (KIP-447). `member`: who asks, as of now, in a group of KIP-848. An answer that does not come from its
    epoch is asked for again.
    """
    wanted = None if partitions is None else list(partitions)
    if wanted is not None and not wanted:
        return {}

    async def ask(node_id: int) -> dict[TopicPartition, OffsetAndMetadata | KafkaError]:
        connection = await cluster.connection(node_id, Lane.GROUP)
        version = connection.versions.choose(ApiKey.OFFSET_FETCH, _LAST_VERSION_BY_NAME)
        request = _fetch_request(group_id, wanted, version)
        if member is not None and version >= _FIRST_FETCH_WITH_MEMBER:
            asker = member()
            request.groups[0].member_id = asker.member_id or None
            request.groups[0].member_epoch = asker.generation_id
        response = await connection.request(
            ApiKey.OFFSET_FETCH, request, OffsetFetchResponse, version_max=_LAST_VERSION_BY_NAME
        )
        try:
            return _fetched(group_id, response)
        except (StaleMemberEpoch, UnknownMemberId) as error:
            raise _EpochPassed(str(error)) from error

    return await cluster.with_coordinator(group_id, ask, deadline_ms)


def _commit_request(
    group: ConsumerGroupMetadata, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for (topic, partition), position in offsets.items():
        entry = topics.setdefault(topic, OffsetCommitRequestTopic(name=topic))
        entry.partitions.append(
            OffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=position.offset,
                committed_leader_epoch=position.leader_epoch,
                committed_metadata=position.metadata,
            )
        )
    return OffsetCommitRequest(
        group_id=group.group_id,
        generation_id_or_member_epoch=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=list(topics.values()),
    )


def _fetch_request(
    group_id: str, wanted: list[TopicPartition] | None, version: int
) -> OffsetFetchRequest:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in wanted or ():
        by_topic.setdefault(topic, []).append(partition)
    stable = version >= _FIRST_STABLE_FETCH
    if version >= _FIRST_BATCHED_FETCH:
        topics = [
            OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
            for name, indexes in by_topic.items()
        ]
        group = OffsetFetchRequestGroup(
            group_id=group_id, topics=None if wanted is None else topics
        )
        return OffsetFetchRequest(groups=[group], require_stable=stable)
    older = [
        OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
        for name, indexes in by_topic.items()
    ]
    return OffsetFetchRequest(
        group_id=group_id, topics=None if wanted is None else older, require_stable=stable
    )


def _fetched(
    group_id: str,
    response: OffsetFetchResponse,
) -> dict[TopicPartition, OffsetAndMetadata | KafkaError]:
    results: dict[TopicPartition, OffsetAndMetadata | KafkaError] = {}
    group = response.groups[0] if response.groups else None
    error_code = response.error_code if group is None else group.error_code
    if error_code:
        raise named_error(error_code, f"group {group_id!r}")
    for topic in response.topics if group is None else group.topics:
        for partition in topic.partitions:
            tp = TopicPartition(topic.name, partition.partition_index)
            if partition.error_code:
                error = partition_error(partition.error_code, tp)
                if error.retriable:
                    raise error
                results[tp] = error
            elif partition.committed_offset >= 0:
                results[tp] = OffsetAndMetadata(
                    partition.committed_offset,
                    partition.metadata or "",
                    partition.committed_leader_epoch,
                )
    return results
