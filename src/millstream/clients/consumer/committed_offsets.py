"""OffsetCommit and OffsetFetch: positions kept by a group's coordinator, for members and for those who only store.

Topics are named by id where the caller knows of which topic an offset is (KIP-848): one that was deleted and created
again is another topic, in which the offset means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.consumer.core.fetched import partition_error
from millstream.clients.core.named_errors import named_error
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndMetadata
from millstream.errors import (
    KafkaError,
    RetriableError,
    StaleMemberEpoch,
    UnknownMemberId,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.model import ZERO_UUID, TopicPartition, Uuid
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
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)

_LAST_VERSION_BY_NAME = 9
_LAST_VERSION = 10

TopicIds = Mapping[TopicPartition, Uuid]
"""The topics that offsets are of. A partition that is left out is of the topic that has the name by then."""
_FIRST_STABLE_FETCH = 7
_FIRST_BATCHED_FETCH = 8
_FIRST_FETCH_WITH_MEMBER = 9
_FIRST_BY_TOPIC_ID = 10


_OF_A_DELETED_TOPIC = "the topic that was read was deleted, and perhaps created again; its offsets mean nothing in another"
_NO_SUCH_TOPIC = (UnknownTopicOrPartition, UnknownTopicId)


class _EpochPassed(RetriableError, StaleMemberEpoch):
    """The coordinator is an epoch ahead; the next heartbeat tells us where we stand."""


async def commit_offsets(
    cluster: Cluster,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    deadline_ms: int,
    *,
    topic_ids: TopicIds,
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
            cluster, node_id, group, offsets, topic_ids, waits_for_topics=waits_for_topics
        )

    return await cluster.with_coordinator(group.group_id, ask, deadline_ms)


async def commit_once(
    cluster: Cluster,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    topic_ids: TopicIds,
) -> dict[TopicPartition, KafkaError | None]:
    """Commits as `commit_offsets`, but without a second attempt: raises also what may go away."""
    if not offsets:
        return {}
    node_id = await cluster.coordinator(group.group_id)
    try:
        return await _send_commit(
            cluster, node_id, group, offsets, topic_ids, waits_for_topics=False
        )
    except RetriableError:
        cluster.forget_coordinator(group.group_id)
        raise


async def _send_commit(
    cluster: Cluster,
    node_id: int,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    topic_ids: TopicIds,
    *,
    waits_for_topics: bool,
) -> dict[TopicPartition, KafkaError | None]:
    response = await cluster.request(
        node_id,
        ApiKey.OFFSET_COMMIT,
        _commit_request(group, offsets, topic_ids),
        OffsetCommitResponse,
        lane=Lane.GROUP,
        version_max=_version_max(offsets, topic_ids),
    )
    names = {topic_id: tp.topic for tp, topic_id in topic_ids.items()}
    results: dict[TopicPartition, KafkaError | None] = dict.fromkeys(offsets)
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.error_code:
                name = topic.name or names.get(topic.topic_id, "")
                tp = TopicPartition(name, partition.partition_index)
                error = partition_error(partition.error_code, tp)
                is_gone = isinstance(error, _NO_SUCH_TOPIC) and not waits_for_topics
                if isinstance(error, UnknownTopicId):
                    cluster.request_metadata()
                    is_gone = is_gone or _is_replaced(cluster, name, topic.topic_id)
                    error = UnknownTopicId(f"{tp}: {_OF_A_DELETED_TOPIC}")
                if error.retriable and not is_gone:
                    raise error
                results[tp] = error
    return results


def _is_replaced(cluster: Cluster, name: str, topic_id: Uuid) -> bool:
    """Whether another topic has the name now, so that no waiting brings this one back."""
    topic = cluster.snapshot.topics.get(name)
    return topic is not None and topic.topic_id not in (ZERO_UUID, topic_id)


def _version_max(partitions: Iterable[TopicPartition], topic_ids: TopicIds) -> int:
    """Returns the highest version that can name the topics: later ones name them by id only."""
    return _LAST_VERSION if all(tp in topic_ids for tp in partitions) else _LAST_VERSION_BY_NAME


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
    topic_ids: TopicIds | None = None,
    member: Callable[[], ConsumerGroupMetadata] | None = None,
) -> dict[TopicPartition, OffsetAndMetadata | KafkaError]:
    """Asks for the offsets that the group has committed; partitions without a commit are left out.

    None asks for all partitions.

    While a transaction is about to commit offsets it waits for the outcome, whatever the isolation level
    (KIP-447). `member`: who asks, as of now, in a group of KIP-848. An answer that does not come from its
    epoch is asked for again. UnknownTopicId for one of the `topic_ids` is a result: only who has given the id can know
    a newer one.
    """
    ids = topic_ids or {}
    wanted = None if partitions is None else list(partitions)
    if wanted is not None and not wanted:
        return {}
    version_max = _LAST_VERSION_BY_NAME if wanted is None else _version_max(wanted, ids)
    names = {topic_id: tp.topic for tp, topic_id in ids.items()}

    async def ask(node_id: int) -> dict[TopicPartition, OffsetAndMetadata | KafkaError]:
        connection = await cluster.connection(node_id, Lane.GROUP)
        version = connection.versions.choose(ApiKey.OFFSET_FETCH, version_max)
        request = _fetch_request(group_id, wanted, ids, version)
        if member is not None and version >= _FIRST_FETCH_WITH_MEMBER:
            asker = member()
            request.groups[0].member_id = asker.member_id or None
            request.groups[0].member_epoch = asker.generation_id
        response = await connection.request(
            ApiKey.OFFSET_FETCH, request, OffsetFetchResponse, version_max=version_max
        )
        try:
            found = _fetched(group_id, response, names)
        except (StaleMemberEpoch, UnknownMemberId) as error:
            raise _EpochPassed(str(error)) from error
        if version >= _FIRST_BY_TOPIC_ID:
            cluster.learn_leader_epochs(_epochs_of(found, ids))
        return found

    return await cluster.with_coordinator(group_id, ask, deadline_ms)


def _epochs_of(
    found: Mapping[TopicPartition, OffsetAndMetadata | KafkaError], topic_ids: TopicIds
) -> dict[tuple[Uuid, TopicPartition], int]:
    """Returns the epochs beside offsets that are certainly of these topics. By name alone an offset may be one of a
    topic that had the name before, whose leaders' epochs say nothing.
    """
    return {
        (topic_ids[tp], tp): each.leader_epoch
        for tp, each in found.items()
        if isinstance(each, OffsetAndMetadata) and each.leader_epoch >= 0
    }


def _commit_request(
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    topic_ids: TopicIds,
) -> OffsetCommitRequest:
    topics: dict[tuple[str, Uuid], OffsetCommitRequestTopic] = {}
    for tp, position in offsets.items():
        topic, partition = tp
        topic_id = topic_ids.get(tp, ZERO_UUID)
        entry = topics.setdefault((topic, topic_id), OffsetCommitRequestTopic(topic, topic_id))
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
    group_id: str, wanted: list[TopicPartition] | None, topic_ids: TopicIds, version: int
) -> OffsetFetchRequest:
    by_topic: dict[tuple[str, Uuid], list[int]] = {}
    for tp in wanted or ():
        by_topic.setdefault((tp.topic, topic_ids.get(tp, ZERO_UUID)), []).append(tp.partition)
    stable = version >= _FIRST_STABLE_FETCH
    if version >= _FIRST_BATCHED_FETCH:
        topics = [
            OffsetFetchRequestTopics(name, topic_id, indexes)
            for (name, topic_id), indexes in by_topic.items()
        ]
        group = OffsetFetchRequestGroup(
            group_id=group_id, topics=None if wanted is None else topics
        )
        return OffsetFetchRequest(groups=[group], require_stable=stable)
    older = [
        OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
        for (name, _), indexes in by_topic.items()
    ]
    return OffsetFetchRequest(
        group_id=group_id, topics=None if wanted is None else older, require_stable=stable
    )


def _named_parts(
    response: OffsetFetchResponse, names: Mapping[Uuid, str]
) -> list[
    tuple[str, Sequence[OffsetFetchResponsePartition] | Sequence[OffsetFetchResponsePartitions]]
]:
    """Returns the answers by topic, whose names are in the answer or known by their ids."""
    if not response.groups:
        return [(topic.name, topic.partitions) for topic in response.topics]
    topics = response.groups[0].topics
    return [(topic.name or names.get(topic.topic_id, ""), topic.partitions) for topic in topics]


def _fetched(
    group_id: str,
    response: OffsetFetchResponse,
    names: Mapping[Uuid, str],
) -> dict[TopicPartition, OffsetAndMetadata | KafkaError]:
    results: dict[TopicPartition, OffsetAndMetadata | KafkaError] = {}
    group = response.groups[0] if response.groups else None
    error_code = response.error_code if group is None else group.error_code
    if error_code:
        raise named_error(error_code, f"group {group_id!r}")
    for name, partitions in _named_parts(response, names):
        for partition in partitions:
            tp = TopicPartition(name, partition.partition_index)
            if partition.error_code:
                error = partition_error(partition.error_code, tp)
                if error.retriable and not isinstance(error, UnknownTopicId):
                    raise error
                results[tp] = error
            elif partition.committed_offset >= 0:
                results[tp] = OffsetAndMetadata(
                    partition.committed_offset,
                    partition.metadata or "",
                    partition.committed_leader_epoch,
                )
    return results
