"""The metric families of partitions, logs and the metadata quorum: gauges, read from the node when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample
from millstream.broker.metrics.node_view import NodeView
from millstream.log.partition_log import PartitionLog
from millstream.metadata.image import PartitionImage
from millstream.replication.partition import Partition

_REPLICAS: Final = "kafka_server_replicamanager"
_CONTROLLER: Final = "kafka_controller_kafkacontroller"
_LOG: Final = "kafka_log_log"
_RAFT: Final = "kafka_server_raft_metrics"


def replica_families(node: NodeView) -> Iterator[MetricFamily]:
    """Yields the families about the replicas of this node. Those about health count only the partitions that it leads."""
    partitions = [partition for _, partition in node.partitions.all()]
    led = [partition for partition in partitions if partition.is_leader]
    yield gauge(
        "kafka_server_kafkaserver_brokerstate",
        "1 starting, 2 recovering, 3 running, 6 and 7 shutting down.",
        node.life.state,
    )
    yield gauge(f"{_REPLICAS}_partitioncount", "Replicas on this node.", len(partitions))
    yield gauge(f"{_REPLICAS}_leadercount", "Partitions that this node leads.", len(led))
    yield gauge(
        f"{_REPLICAS}_underreplicatedpartitions",
        "Led partitions with replicas out of sync.",
        sum(len(p.isr) < len(p.replicas) for p in led),
    )
    yield gauge(
        f"{_REPLICAS}_underminisrpartitioncount",
        "Led partitions with fewer in-sync replicas than min.insync.replicas: acks=all is refused.",
        sum(p.is_short_of_replicas for p in led),
    )
    yield gauge(
        f"{_REPLICAS}_atminisrpartitioncount",
        "Led partitions with just min.insync.replicas.",
        sum(_has_just_enough(p) for p in led),
    )
    yield gauge(
        f"{_REPLICAS}_offlinereplicacount",
        "Replicas of this node whose log cannot be used.",
        sum(p.log.failure is not None for p in partitions),
    )
    yield gauge(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "Log directories that have failed.",
        len(node.log_directories.offline),
    )


def _has_just_enough(partition: Partition) -> bool:
    enough = min(partition.log.config.min_insync_replicas, len(partition.replicas))
    return len(partition.isr) == enough


def log_families(node: NodeView) -> Iterator[MetricFamily]:
    """Yields the families about the log of each replica. Large clusters have many of these."""
    replicas = [partition for _, partition in node.partitions.all()]
    for name, doc, read in _LOG_GAUGES:
        yield MetricFamily(
            f"{_LOG}_{name}", MetricKind.GAUGE, doc, [_sample(p, read) for p in replicas]
        )


_LOG_GAUGES: Final[tuple[tuple[str, str, Callable[[PartitionLog], int]], ...]] = (
    ("size", "Bytes of a replica's log.", lambda log: log.size_bytes),
    ("logstartoffset", "First offset of a replica's log.", lambda log: log.log_start_offset),
    ("logendoffset", "Offset of the next record of a replica's log.", lambda log: log.log_end_offset),
    ("numlogsegments", "Segments of a replica's log.", lambda log: len(log.segments)),
)  # fmt: skip


def _sample(partition: Partition, read: Callable[[PartitionLog], int]) -> Sample:
    place = partition.topic_partition
    labels = {"topic": place.topic, "partition": str(place.partition)}
    return Sample(read(partition.log), labels)


def controller_families(node: NodeView) -> Iterator[MetricFamily]:
    """Yields the families about the cluster, from the metadata. A broker that does not lead the quorum shows its own image."""
    image, quorum = node.metadata.image, node.controller.quorum()
    partitions = [partition for topic in image.topics for partition in topic.partitions]
    active = quorum.leader_id == node.node_id
    brokers = list(image.brokers.values())
    yield gauge(f"{_CONTROLLER}_activecontrollercount", "1 where the active controller is.", active)
    yield gauge(f"{_CONTROLLER}_globaltopiccount", "Topics of the cluster.", len(image.topics))
    yield gauge(
        f"{_CONTROLLER}_globalpartitioncount", "Partitions of the cluster.", len(partitions)
    )
    yield gauge(
        f"{_CONTROLLER}_offlinepartitionscount",
        "Partitions without a leader.",
        sum(not partition.has_leader for partition in partitions),
    )
    yield gauge(
        f"{_CONTROLLER}_preferredreplicaimbalancecount",
        "Partitions led by another than their first replica.",
        sum(_is_led_elsewhere(partition) for partition in partitions),
    )
    yield gauge(
        f"{_CONTROLLER}_activebrokercount",
        "Brokers that may lead.",
        sum(not broker.fenced for broker in brokers),
    )
    yield gauge(
        f"{_CONTROLLER}_fencedbrokercount",
        "Brokers that are shut out.",
        sum(broker.fenced for broker in brokers),
    )
    yield gauge(f"{_RAFT}_current_leader", "Id of the quorum's leader.", quorum.leader_id)
    yield gauge(f"{_RAFT}_current_epoch", "Epoch of the quorum.", quorum.leader_epoch)
    yield gauge(f"{_RAFT}_high_watermark", "Committed metadata records.", quorum.high_watermark)


def _is_led_elsewhere(partition: PartitionImage) -> bool:
    return partition.has_leader and partition.leader != partition.preferred_leader


def gauge(name: str, doc: str, value: float) -> MetricFamily:
    return MetricFamily(name, MetricKind.GAUGE, doc, [Sample(int(value))])
