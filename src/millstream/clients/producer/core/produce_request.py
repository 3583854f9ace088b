"""One Produce request: the batches it carries, its message in any version, and the answer by partition."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.cluster.core.leader_changes import LeaderChanges
from millstream.clients.producer.core.producer_batch import ProducerBatch
from millstream.model import ZERO_UUID, TopicPartition, Uuid
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

_FIRST_VERSION_WITH_TOPIC_IDS = 13
EXPLICIT_PRODUCE_VERSION_MAX = 11
"""Later versions say that partitions join the transaction by the request itself."""


@dataclass(frozen=True, slots=True)
class PlannedProduce:
    """Send these batches, at most one of each partition, to one node. Nothing else may be sent in their stead."""

    node_id: int
    batches: dict[TopicPartition, ProducerBatch]
    topic_ids: dict[str, Uuid]
    acks: int
    timeout_ms: int
    transactional_id: str | None = None
    joins_implicitly: bool = False
    """The request adds its partitions to the transaction (KIP-890)."""

    @property
    def version_max(self) -> int:
        """The highest version to use.

        From version 12 on partitions join a transaction by it; version 13 names topics by id only.
        """
        if self.transactional_id is not None and not self.joins_implicitly:
            return EXPLICIT_PRODUCE_VERSION_MAX
        if any(topic_id == ZERO_UUID for topic_id in self.topic_ids.values()):
            return _FIRST_VERSION_WITH_TOPIC_IDS - 1
        return 2**15

    def request(self) -> ProduceRequest:
        topics: dict[str, TopicProduceData] = {}
        for (topic, partition), batch in self.batches.items():
            data = topics.get(topic)
            if data is None:
                data = topics[topic] = TopicProduceData(
                    name=topic, topic_id=self.topic_ids[topic], partition_data=[]
                )
            assert batch.encoded is not None, "batches are encoded when they are drained"
            data.partition_data.append(PartitionProduceData(partition, batch.encoded))
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=self.acks,
            timeout_ms=self.timeout_ms,
            topic_data=list(topics.values()),
        )

    def answers(self, response: ProduceResponse) -> dict[TopicPartition, PartitionProduceResponse]:
        names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        return {
            TopicPartition(topic.name or names.get(topic.topic_id, ""), partition.index): partition
            for topic in response.responses
            for partition in topic.partition_responses
        }

    def news(self, response: ProduceResponse) -> LeaderChanges | None:
        """Returns the leaders that a response names; None in nearly every one."""
        if not any(
            partition.current_leader.leader_id >= 0
            for topic in response.responses
            for partition in topic.partition_responses
        ):
            return None
        answers = self.answers(response).items()
        return LeaderChanges.collect(
            ((tp, answer.current_leader) for tp, answer in answers), response.node_endpoints
        )


def topic_ids_of(
    cluster: ClusterMetadata, batches: dict[TopicPartition, ProducerBatch]
) -> dict[str, Uuid]:
    ids = {}
    for topic, _ in batches:
        known = cluster.topics.get(topic)
        ids[topic] = known.topic_id if known is not None else ZERO_UUID
    return ids
