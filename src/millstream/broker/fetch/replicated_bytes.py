"""Tells whether followers are throttled now (KIP-73), and counts what they are sent."""

from __future__ import annotations

from typing import Protocol

from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.services import Partitions
from millstream.errors import KafkaError
from millstream.model import TopicPartition
from millstream.protocol.generated.fetch import ReplicaState
from millstream.replication.partition import Partition
from millstream.replication.throttle import ReplicationThrottles
from millstream.runtime import Clock


class ReplicationServices(Protocol):
    @property
    def clock(self) -> Clock: ...
    @property
    def metrics(self) -> NodeMetrics: ...
    @property
    def partitions(self) -> Partitions: ...
    @property
    def throttles(self) -> ReplicationThrottles: ...


def is_held(found: Partition, replica: ReplicaState, services: ReplicationServices) -> bool:
    """Returns whether a follower is to wait: what it asks for says how far it is, and it is sent nothing."""
    throttle = services.throttles.leader
    return (
        throttle.bytes_per_second is not None
        and replica.replica_id not in found.isr
        and _is_throttled(found, services)
        and throttle.is_exceeded(services.clock.now().monotonic_ms)
    )


def count_replicated(
    name: TopicPartition, sent: int, replica: ReplicaState, services: ReplicationServices
) -> None:
    """Counts what an answer sends to a follower, in sync or not."""
    metrics = services.metrics.replication
    metrics.bytes_out += sent
    try:
        found = services.partitions.get(*name)
    except KafkaError:
        return  # it has left since it was read
    if _is_throttled(found, services):
        services.throttles.leader.record(sent, services.clock.now().monotonic_ms)
    if replica.replica_id in found.adding_replicas:
        metrics.reassignment_bytes_out += sent


def _is_throttled(found: Partition, services: ReplicationServices) -> bool:
    replicas = found.log.config.leader_replication_throttled_replicas
    return services.throttles.leader.covers(replicas, found.topic_partition)
