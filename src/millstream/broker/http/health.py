"""The health of a node as data for probes: whether it is alive and ready, and how its cluster is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.broker.metrics.node_view import BrokerView, NodeView
from millstream.broker.node_state import BrokerState
from millstream.metadata.image import NO_LEADER
from millstream.quoting import counted, some_of

_CAUGHT_UP_WITHIN_MS: Final = 5_000
"""A follower asks twice a second; a controller that did not know of everything for so long is of no use as a leader."""


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """Counts that an operator should look at.

    In a healthy cluster all are 0 but the last two, which may be as they should.
    """

    controller: int
    """Id of the active controller, -1 when there is no leader of the quorum."""
    leaderless_partitions: int
    under_replicated_partitions: int
    under_min_isr_partitions: int
    fenced_brokers: int
    failed_log_directories: int
    at_min_isr_partitions: int
    """One replica less, and acks=all is refused. So it always is with one replica."""
    partitions_led_elsewhere: int
    """By another than their first replica."""

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
    """Returns the reasons why nobody should be sent here, of each role of the node; empty when it is ready."""
    if node.life.state is not BrokerState.RUNNING:
        return [f"the node is {node.life.state.name}", *_what_it_waits_for(node)]
    reasons = [f"log directory {path} has failed" for path in node.log_directories.offline]
    reasons += [
        f"the disk of log directory {path} is full: nothing can be written there"
        for path in node.log_directories.full
    ]
    if node.broker is not None:
        reasons += broker_reasons(node)
        reasons += _offline_replicas(node, node.broker)
    if node.is_controller:
        reasons += controller_reasons(node)
    return reasons


def _offline_replicas(node: NodeView, broker: BrokerView) -> list[str]:
    """Logs that cannot be used though their directories can: those of a failed one are told with it."""
    failed = [
        str(place) for place, each in broker.partitions.all() if each.log.health.failure is not None
    ]
    if not failed or node.log_directories.offline:
        return []
    return [f"{counted(len(failed), 'replica')} of this node cannot be used: {some_of(failed)}"]


def _what_it_waits_for(node: NodeView) -> list[str]:
    """A node that starts cannot go on without a controller."""
    is_starting = node.life.state in (BrokerState.STARTING, BrokerState.RECOVERY)
    hears = node.controller.quorum().own.hears_leader
    return [] if hears or not is_starting else [node.controller.quorum().without_leader()]


def broker_reasons(node: NodeView) -> list[str]:
    """A broker is ready when it is unfenced: then clients are sent to it, and it answers them, also
    while it finds no controller.
    """
    registration = node.controller.image.brokers.get(node.node_id)
    if registration is None:
        return ["the broker is not registered with the controller"]
    return ["the broker is fenced"] if registration.fenced else []


def controller_reasons(node: NodeView) -> list[str]:
    """A controller is ready when it hears of a leader, and knows what the leader knows."""
    quorum = node.controller.quorum()
    if not quorum.own.hears_leader:
        return [quorum.without_leader()]
    if quorum.leader_id == node.node_id:
        return (
            []
            if node.controller.leads()
            else ["the controller leads the quorum, and nothing is committed in its epoch yet"]
        )
    if quorum.lag_ms is None or quorum.lag_ms > _CAUGHT_UP_WITHIN_MS:
        return [f"the controller is {quorum.lag} records of the metadata log behind the leader"]
    return []


def cluster_health(node: NodeView) -> ClusterHealth:
    image, replicas = node.controller.image, node.cluster_replicas()
    return ClusterHealth(
        controller=node.controller.quorum().leader_id,
        leaderless_partitions=replicas.without_leader,
        under_replicated_partitions=replicas.under_replicated,
        under_min_isr_partitions=replicas.under_min_isr,
        fenced_brokers=sum(broker.fenced for broker in image.brokers.values()),
        failed_log_directories=len(node.log_directories.offline),
        at_min_isr_partitions=replicas.at_min_isr,
        partitions_led_elsewhere=replicas.led_elsewhere,
    )


def replicas_to_tell(node: NodeView) -> dict[str, int]:
    """Returns how the replicas of the cluster are, for whoever asks whether the node is ready:
    nothing of it makes it less ready.

    A partition without a leader is no fault of the node that is asked: with it all nodes would be taken out
    of service for one that is gone.
    """
    found = node.cluster_replicas()
    return {
        "partitions": found.partitions,
        "offline": found.without_leader,
        "under_replicated": found.under_replicated,
        "under_min_isr": found.under_min_isr,
        "at_min_isr": found.at_min_isr,
        "preferred_leader_imbalance": found.led_elsewhere,
    }
