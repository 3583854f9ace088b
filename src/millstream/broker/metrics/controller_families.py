"""The metric families of the cluster and of the controller: gauges of the metadata on every node, what the
controller does where one is.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from millstream.broker.metadata_log.driver import QuorumDescription
from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample, counter, gauge
from millstream.broker.metrics.node_view import NodeView
from millstream.broker.metrics.quorum_metrics import ControllerMetrics
from millstream.broker.metrics.request_families import summary_ms
from millstream.controller.partitions.replica_health import ReplicaHealth
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import MetadataImage

_CONTROLLER: Final = "kafka_controller_kafkacontroller"
_STATS: Final = "kafka_controller_controllerstats"
_EVENTS: Final = "kafka_controller_controllereventmanager"


class _RegistrationState(IntEnum):
    """Kafka's numbers (`BrokerRegistrationState`)."""

    FENCED = 10
    CONTROLLED_SHUTDOWN = 20
    ACTIVE = 30


def controller_families(node: NodeView) -> Iterator[MetricFamily]:
    """Yields the families about the cluster.

    A node whose controller is not the active one shows its own image of the metadata.
    """
    image, quorum = node.controller.image, node.controller.quorum()
    yield gauge(
        f"{_CONTROLLER}_activecontrollercount",
        "1 where the active controller is.",
        int(quorum.leader_id == node.node_id),
    )
    yield from _topics(image, node.cluster_replicas())
    yield from _brokers(image)
    if node.is_controller:
        ignores = quorum.ignores_static_voters
        yield from _requests(node.controller.metrics, ignores_static_voters=ignores)
        yield from _applied(node, quorum)
        yield gauge(
            f"{_EVENTS}_avgidleratio",
            "Share of time in which the event loop, where the controller runs, is idle.",
            node.metrics.loop_idleness.ratio(node.clock.now().monotonic_ms),
        )


def _topics(image: MetadataImage, replicas: ReplicaHealth) -> Iterator[MetricFamily]:
    yield gauge(f"{_CONTROLLER}_globaltopiccount", "Topics of the cluster.", len(image.topics))
    yield gauge(
        f"{_CONTROLLER}_globalpartitioncount", "Partitions of the cluster.", replicas.partitions
    )
    yield gauge(
        f"{_CONTROLLER}_offlinepartitionscount",
        "Partitions without a leader.",
        replicas.without_leader,
    )
    yield gauge(
        f"{_CONTROLLER}_preferredreplicaimbalancecount",
        "Partitions led by another than their first replica.",
        replicas.led_elsewhere,
    )


def _brokers(image: MetadataImage) -> Iterator[MetricFamily]:
    states = {broker_id: _state(broker) for broker_id, broker in image.brokers.items()}
    for name, doc, state in (
        ("activebrokercount", "Brokers that may lead.", _RegistrationState.ACTIVE),
        ("fencedbrokercount", "Brokers that are shut out.", _RegistrationState.FENCED),
        (
            "controlledshutdownbrokercount",
            "Brokers that give their leaderships away, to stop.",
            _RegistrationState.CONTROLLED_SHUTDOWN,
        ),
    ):
        yield gauge(f"{_CONTROLLER}_{name}", doc, sum(each is state for each in states.values()))
    yield MetricFamily(
        f"{_CONTROLLER}_brokerregistrationstate",
        MetricKind.GAUGE,
        "10 fenced, 20 in controlled shutdown, 30 active.",
        [Sample(int(state), {"broker": str(broker_id)}) for broker_id, state in states.items()],
    )


def _state(broker: BrokerRegistration) -> _RegistrationState:
    if broker.fenced:
        return _RegistrationState.FENCED
    if broker.in_controlled_shutdown:
        return _RegistrationState.CONTROLLED_SHUTDOWN
    return _RegistrationState.ACTIVE


def _requests(metrics: ControllerMetrics, *, ignores_static_voters: bool) -> Iterator[MetricFamily]:
    yield MetricFamily(
        f"{_EVENTS}_eventqueuetimems",
        MetricKind.SUMMARY,
        "Milliseconds that requests waited for the active controller of this node.",
        summary_ms(metrics.queue_time, {}),
    )
    yield MetricFamily(
        f"{_EVENTS}_eventqueueprocessingtimems",
        MetricKind.SUMMARY,
        "Milliseconds that it worked on requests.",
        summary_ms(metrics.processing_time, {}),
    )
    for name, doc, value in (
        ("eventqueueoperationsstartedcount", "Requests begun.", metrics.operations_started),
        (
            "eventqueueoperationstimedoutcount",
            "Requests whose records were not committed in time.",
            metrics.operations_timed_out,
        ),
        (
            "newactivecontrollerscount",
            "Times that another node became the active controller.",
            metrics.new_active_controllers,
        ),
        (
            "timedoutbrokerheartbeatcount",
            "Brokers fenced by this controller since nothing was heard of them.",
            metrics.timed_out_heartbeats,
        ),
    ):
        yield counter(f"{_CONTROLLER}_{name}", doc, value)
    yield counter(
        f"{_STATS}_uncleanleaderelections_total",
        "Leaders elected that may lack records, since none that had them all was there.",
        metrics.unclean_elections,
    )
    yield counter(
        f"{_STATS}_electionfromeligibleleaderreplicas_total",
        "Leaders elected out of sync that have every record all the same.",
        metrics.eligible_elections,
    )
    yield gauge(
        f"{_CONTROLLER}_ignoredstaticvoters",
        "1 where controller.quorum.voters is given and the log says who votes.",
        int(ignores_static_voters),
    )
    yield gauge(
        f"{_CONTROLLER}_metadataerrorcount",
        "Records that could not be applied: 0, since such an error ends the node.",
        0,
    )


def _applied(node: NodeView, quorum: QuorumDescription) -> Iterator[MetricFamily]:
    yield gauge(
        f"{_CONTROLLER}_lastappliedrecordoffset",
        "Offset of the last metadata record that this node has applied.",
        quorum.applied_end_offset - 1,
    )
    yield gauge(
        f"{_CONTROLLER}_lastcommittedrecordoffset",
        "Offset of the last metadata record that is committed, as far as this node knows.",
        quorum.committed_end_offset - 1,
    )
    now = node.clock.now()
    lag_ms = now.monotonic_ms if quorum.lag_ms is None else quorum.lag_ms
    yield gauge(
        f"{_CONTROLLER}_lastappliedrecordlagms",
        "Milliseconds since this node knew that it has applied all that is committed.",
        lag_ms,
    )
    yield gauge(
        f"{_CONTROLLER}_lastappliedrecordtimestamp",
        "The time of that, in milliseconds since 1970.",
        now.wall_ms - lag_ms,
    )
    yield MetricFamily(
        f"{_CONTROLLER}_timesincelastheartbeatreceivedms",
        MetricKind.GAUGE,
        "Milliseconds since the last heartbeat of each broker; nothing where this controller is not the active one.",
        [
            Sample(silent_ms, {"broker": str(broker_id)})
            for broker_id, silent_ms in node.controller.silences_ms().items()
        ],
    )
