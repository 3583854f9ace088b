"""The health of a node as data for probes: whether it is alive and ready, and how its cluster is."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.broker.metrics.node_view import NodeView
from millstream.broker.node.broker_state import BrokerState
from millstream.metadata.image import NO_LEADER


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """Counts of problems that an operator should look at; all 0 in a healthy cluster."""

    controller: int
    """Id of the active controller, -1 when there is no leader of the quorum."""
    leaderless_partitions: int
    under_replicated_partitions: int
    under_min_isr_partitions: int
    fenced_brokers: int
    failed_log_directories: int

    @property
    def is_healthy(self) -> bool:
        return self.controller != NO_LEADER and not any(
            (
                self.leaderless_partitions,
                self.under_replicated_partitions,
                self.under_min_isr_partitions,
                self.fenced_brokers,
                self.failed_log_directories,
            )
        )


def reasons_not_ready(node: NodeView) -> list[str]:
    """Returns the reasons why clients should not be sent here; empty when the node is ready. A node that starts or stops is not ready."""
    if node.life.state is not BrokerState.RUNNING:
        return [f"the broker is {node.life.state.name}"]
    reasons = []
    registration = node.metadata.image.brokers.get(node.node_id)
    if registration is None:
        reasons.append("the broker is not registered with the controller")
    elif registration.fenced:
        reasons.append("the broker is fenced")
    if node.controller.quorum().leader_id == NO_LEADER:
        reasons.append("the metadata quorum has no leader")
    reasons += [f"log directory {path} has failed" for path in node.log_directories.offline]
    return reasons


def cluster_health(node: NodeView) -> ClusterHealth:
    image = node.metadata.image
    partitions = [partition for topic in image.topics for partition in topic.partitions]
    led = [partition for _, partition in node.partitions.all() if partition.is_leader]
    return ClusterHealth(
        controller=node.controller.quorum().leader_id,
        leaderless_partitions=sum(not partition.has_leader for partition in partitions),
        under_replicated_partitions=sum(len(p.isr) < len(p.replicas) for p in partitions),
        under_min_isr_partitions=sum(p.is_short_of_replicas for p in led),
        fenced_brokers=sum(broker.fenced for broker in image.brokers.values()),
        failed_log_directories=len(node.log_directories.offline),
    )
