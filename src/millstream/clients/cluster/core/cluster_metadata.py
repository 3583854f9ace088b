"""The metadata of a cluster as a client has it: immutable, and how a Metadata response makes the next one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from millstream.errors import UnknownTopicOrPartition
from millstream.model import NO_LEADER_EPOCH, ZERO_UUID, TopicPartition, Uuid
from millstream.net.client.core.addresses import Address
from millstream.protocol.generated.metadata import MetadataResponse, MetadataResponseTopic

LeaderEpochs = Mapping[tuple[Uuid, TopicPartition], int]
"""Epochs of leaders, by the topic's id, too: another topic of the name has others."""


class SeenEpoch(NamedTuple):
    """`answers_max`: how many answers may contradict before the epoch is taken for one of another topic that had the
    name; None where the topic is known for certain.
    """

    epoch: int
    answers_max: int | None


@dataclass(frozen=True, slots=True)
class BrokerNode:
    node_id: int
    address: Address
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """`leader` is -1 while there is none; `leader_epoch` is -1 when the broker did not say."""

    partition: int
    leader: int
    leader_epoch: int = NO_LEADER_EPOCH
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    name: str
    topic_id: Uuid = ZERO_UUID
    is_internal: bool = False
    partitions: Mapping[int, PartitionMetadata] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """`topic_errors` holds the code of every topic that was asked for and could not be described."""

    cluster_id: str | None = None
    controller_id: int = -1
    nodes: Mapping[int, BrokerNode] = field(default_factory=dict)
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)
    topic_errors: Mapping[str, int] = field(default_factory=dict)
    seen_epochs: Mapping[tuple[Uuid, TopicPartition], SeenEpoch] = field(default_factory=dict)
    """Of leaders of which the brokers that were asked have not heard. Those that they name are older, and count as
    none, as in Kafka: a broker that is cut off from the controllers takes itself for the leader still, and its log may
    end before what was read from a later one."""

    def partition(self, topic_partition: TopicPartition) -> PartitionMetadata | None:
        topic = self.topics.get(topic_partition.topic)
        return None if topic is None else topic.partitions.get(topic_partition.partition)

    def leader(self, topic_partition: TopicPartition) -> int | None:
        """Returns the leader's node id, or None while unknown or unreachable by what we know."""
        partition = self.partition(topic_partition)
        if partition is None or partition.leader not in self.nodes:
            return None
        return partition.leader

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Uuid]:
        """Returns the ids of the topics of partitions, as far as they are known."""
        topics = ((tp, self.topics.get(tp.topic)) for tp in partitions)
        return {
            tp: topic.topic_id
            for tp, topic in topics
            if topic is not None and topic.topic_id != ZERO_UUID
        }

    def missing(self, topics: Iterable[str]) -> set[str]:
        """Returns those of which brokers have said that there is no such topic."""
        unknown = UnknownTopicOrPartition.code
        return {topic for topic in topics if self.topic_errors.get(topic) == unknown}

    def with_response(
        self, response: MetadataResponse, *, complete: bool, epochs_reliable: bool = True
    ) -> ClusterMetadata:
        """Returns the metadata after `response`; topics it does not mention stay, unless it is `complete`.

        Leader epochs that are not reliable are as good as not told.
        """
        topics = {} if complete else dict(self.topics)
        errors = {} if complete else dict(self.topic_errors)
        for described in response.topics:
            name = described.name
            if name is None:
                continue
            errors.pop(name, None)
            if described.error_code:
                errors[name] = described.error_code
                topics.pop(name, None)
            else:
                topics[name] = _topic(
                    described, self.topics.get(name), epochs_reliable=epochs_reliable
                )
        return ClusterMetadata(
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            nodes={
                b.node_id: BrokerNode(b.node_id, Address(b.host, b.port), b.rack)
                for b in response.brokers
            },
            topics=topics,
            topic_errors=errors,
            seen_epochs=self._seen_after({each.name for each in response.topics}),
        )._without_older_leaders()

    def with_seen_epochs(
        self, epochs: LeaderEpochs, answers_max: int | None = None
    ) -> ClusterMetadata:
        """Returns the metadata for a client that has seen these epochs beside offsets; unchanged where none is later
        than those of the metadata. `answers_max` as SeenEpoch has it.
        """
        later = {
            key: SeenEpoch(epoch, answers_max)
            for key, epoch in epochs.items()
            if epoch > self._seen(key)
            and (self.partition(key[1]) is None or self._is_older(key, epoch))
        }
        if not later:
            return self
        return replace(self, seen_epochs={**self.seen_epochs, **later})._without_older_leaders()

    @property
    def is_stale(self) -> bool:
        """Whether a leader has been elected of whom none of the brokers that were asked has heard."""
        return any(self._is_older(key, seen.epoch) for key, seen in self.seen_epochs.items())

    def newest_leader(
        self, topic_id: Uuid, topic_partition: TopicPartition, leader: int, leader_epoch: int
    ) -> int:
        """Returns the leader that a broker has named, or a later one that is known; -1 where a later one was elected
        and is not known.
        """
        ids = self.topic_ids([topic_partition])
        known = self.partition(topic_partition) if ids.get(topic_partition) == topic_id else None
        if known is not None and NO_LEADER_EPOCH < leader_epoch < known.leader_epoch:
            leader, leader_epoch = known.leader, known.leader_epoch
        seen = self._seen((topic_id, topic_partition))
        return -1 if NO_LEADER_EPOCH < leader_epoch < seen else leader

    def with_leader(
        self, topic_partition: TopicPartition, leader: int, leader_epoch: int
    ) -> ClusterMetadata:
        """Returns the metadata after a response named a newer leader (KIP-951); unchanged when ours is as new."""
        known = self.partition(topic_partition)
        if known is None or leader_epoch <= known.leader_epoch or leader not in self.nodes:
            return self
        topic = self.topics[topic_partition.topic]
        partitions = dict(topic.partitions)
        partitions[known.partition] = replace(known, leader=leader, leader_epoch=leader_epoch)
        topics = {**self.topics, topic.name: replace(topic, partitions=partitions)}
        return replace(self, topics=topics)._without_older_leaders()

    def with_nodes(self, nodes: Mapping[int, BrokerNode]) -> ClusterMetadata:
        return replace(self, nodes={**self.nodes, **nodes})

    def without_nodes(self) -> ClusterMetadata:
        """Returns what stays where a client begins again with its bootstrap servers."""
        return ClusterMetadata(topics=self.topics, seen_epochs=self.seen_epochs)

    def _without_older_leaders(self) -> ClusterMetadata:
        """What the metadata has caught up with, and what is of a topic that is gone, is not kept: its own epochs
        never go back.
        """
        if not self.seen_epochs:
            return self
        unheard: dict[tuple[Uuid, TopicPartition], SeenEpoch] = {}
        leaderless: dict[str, dict[int, PartitionMetadata]] = {}
        for key, seen in self.seen_epochs.items():
            topic_id, (name, number) = key
            topic, known = self.topics.get(name), self.partition(key[1])
            if known is not None and self._is_older(key, seen.epoch):
                unheard[key] = seen
                leaderless.setdefault(name, {})[number] = replace(known, leader=-1)
            elif topic is None or (known is None and topic.topic_id == topic_id):
                unheard[key] = seen  # was not asked about yet
        topics = dict(self.topics)
        for name, older in leaderless.items():
            partitions = {**topics[name].partitions, **older}
            topics[name] = replace(topics[name], partitions=partitions)
        return replace(self, topics=topics, seen_epochs=unheard)

    def _seen(self, key: tuple[Uuid, TopicPartition]) -> int:
        seen = self.seen_epochs.get(key)
        return int(NO_LEADER_EPOCH) if seen is None else seen.epoch

    def _seen_after(
        self, answered: Collection[str | None]
    ) -> dict[tuple[Uuid, TopicPartition], SeenEpoch]:
        """Returns the epochs that count once a broker has described these topics."""
        left = {}
        for key, (epoch, answers_max) in self.seen_epochs.items():
            if answers_max is not None and key[1].topic in answered:
                answers_max -= 1
            if answers_max != 0:
                left[key] = SeenEpoch(epoch, answers_max)
        return left

    def _is_older(self, key: tuple[Uuid, TopicPartition], epoch: int) -> bool:
        """Whether the metadata has a leader before the one of this epoch."""
        topic_id, topic_partition = key
        known = self.partition(topic_partition)
        return (
            known is not None
            and self.topics[topic_partition.topic].topic_id == topic_id
            and NO_LEADER_EPOCH < known.leader_epoch < epoch
        )


def _topic(
    described: MetadataResponseTopic, known: TopicMetadata | None, *, epochs_reliable: bool
) -> TopicMetadata:
    """A leader epoch never goes back: a lagging broker's answer does not replace what we know better (KIP-320)."""
    recreated = known is not None and known.topic_id != described.topic_id
    known_partitions = known.partitions if known is not None and not recreated else {}
    partitions = {}
    for part in described.partitions:
        fresh = PartitionMetadata(
            part.partition_index,
            part.leader_id,
            part.leader_epoch if epochs_reliable else NO_LEADER_EPOCH,
            tuple(part.replica_nodes),
            tuple(part.isr_nodes),
            tuple(part.offline_replicas),
        )
        old = known_partitions.get(fresh.partition)
        stale = (
            old is not None
            and fresh.leader_epoch != NO_LEADER_EPOCH
            and fresh.leader_epoch < old.leader_epoch
        )
        partitions[fresh.partition] = old if old is not None and stale else fresh
    return TopicMetadata(
        described.name or "",
        described.topic_id,
        described.is_internal,
        dict(sorted(partitions.items())),
    )
