"""OffsetForLeaderEpoch: does a leader's log still hold what was read under an earlier one (KIP-320)?"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.consumer.core.fetched import partition_error
from millstream.clients.consumer.core.positions import EpochEndOffset, EpochQuestion
from millstream.errors import KafkaError
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

_FIRST_VERSION_FOR_CLIENTS = 3
"""Earlier ones are for brokers: a client may not be allowed to ask."""


async def epoch_ends(
    cluster: Cluster, node_id: int, questions: Mapping[TopicPartition, EpochQuestion]
) -> dict[TopicPartition, EpochEndOffset | KafkaError] | None:
    """Returns the ends of epochs; None when the broker does not answer consumers.

    Raises what the whole request fails with.
    """
    connection = await cluster.connection(node_id)
    if not connection.versions.supports(ApiKey.OFFSET_FOR_LEADER_EPOCH, _FIRST_VERSION_FOR_CLIENTS):
        return None
    response = await connection.request(
        ApiKey.OFFSET_FOR_LEADER_EPOCH, _request(questions), OffsetForLeaderEpochResponse
    )
    ends: dict[TopicPartition, EpochEndOffset | KafkaError] = {}
    for topic in response.topics:
        for answer in topic.partitions:
            topic_partition = TopicPartition(topic.topic, answer.partition)
            if answer.error_code:
                ends[topic_partition] = partition_error(answer.error_code, topic_partition)
            else:
                ends[topic_partition] = EpochEndOffset(answer.leader_epoch, answer.end_offset)
    return ends


def _request(questions: Mapping[TopicPartition, EpochQuestion]) -> OffsetForLeaderEpochRequest:
    topics: dict[str, OffsetForLeaderTopic] = {}
    for (topic, partition), asked in questions.items():
        entry = topics.setdefault(topic, OffsetForLeaderTopic(topic=topic))
        entry.partitions.append(
            OffsetForLeaderPartition(partition, asked.current_leader_epoch, asked.leader_epoch)
        )
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=list(topics.values()))
