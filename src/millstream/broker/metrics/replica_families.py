"""The metric families of partitions and logs: gauges, read from the node when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample, counter, gauge
from millstream.broker.metrics.node_metrics import ReplicationMetrics
from millstream.broker.metrics.node_view import BrokerView, NodeView
from millstream.log.partition_log import PartitionLog
from millstream.replication.partition import Partition

_REPLICAS: Final = "kafka_server_replicamanager"
_FETCHERS: Final = "kafka_server_replicafetchermanager"
_TOPICS: Final = "kafka_server_brokertopicmetrics"
_LOG: Final = "kafka_log_log"


def replica_families(node: NodeView, broker: BrokerView) -> Iterator[MetricFamily]:
    """Yields the families about the replicas of this node.

    Those about health count only the partitions that it leads.
    """
    partitions = [partition for _, partition in broker.partitions.all()]
    led = node.led_replicas()
    yield gauge(
        "kafka_server_kafkaserver_brokerstate",
        "1 starting, 2 recovering, 3 running, 6 and 7 shutting down.",
        node.life.state,
    )
    yield gauge(f"{_REPLICAS}_partitioncount", "Replicas on this node.", len(partitions))
    yield gauge(f"{_REPLICAS}_leadercount", "Partitions that this node leads.", led.partitions)
    yield gauge(
        f"{_REPLICAS}_underreplicatedpartitions",
        "Led partitions with replicas out of sync.",
        led.under_replicated,
    )
    yield gauge(
        f"{_REPLICAS}_underminisrpartitioncount",
        "Led partitions with fewer in-sync replicas than min.insync.replicas: acks=all is refused.",
        led.under_min_isr,
    )
    yield gauge(
        f"{_REPLICAS}_atminisrpartitioncount",
        "Led partitions with just min.insync.replicas.",
        led.at_min_isr,
    )
    yield gauge(
        f"{_REPLICAS}_reassigningpartitions",
        "Led partitions whose replicas are on their way to other brokers.",
        led.reassigning,
    )
    yield gauge(
        f"{_REPLICAS}_produceridcount",
        "Producers that the replicas of this node remember, each in each of its partitions.",
        sum(len(p.log.producers) for p in partitions),
    )
    yield gauge(
        f"{_REPLICAS}_offlinereplicacount",
        "Replicas of this node whose log cannot be used.",
        broker.partitions.offline_count(),
    )
    yield gauge(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "Log directories that have failed.",
        len(node.log_directories.offline),
    )


def replication_families(metrics: ReplicationMetrics) -> Iterator[MetricFamily]:
    """Yields the counters of replication: changes of ISRs, bytes between brokers, and how far followers are."""
    for name, doc, value in (
        ("isrshrinks", "Replicas that fell out of the ISR of a led partition.", metrics.isr_shrinks),
        ("isrexpands", "Replicas that came into the ISR of a led partition.", metrics.isr_expands),
        ("failedisrupdates", "Changes of ISRs that the controller refused.", metrics.failed_isr_updates),
    ):  # fmt: skip
        yield counter(f"{_REPLICAS}_{name}_total", doc, value)
    for name, doc, value in (
        ("replicationbytesin", "Bytes taken from leaders.", metrics.bytes_in),
        ("replicationbytesout", "Bytes sent to followers.", metrics.bytes_out),
        ("reassignmentbytesin", "Bytes taken for replicas that a reassignment adds.", metrics.reassignment_bytes_in),
        ("reassignmentbytesout", "Bytes sent to replicas that a reassignment adds.", metrics.reassignment_bytes_out),
    ):  # fmt: skip
        yield counter(f"{_TOPICS}_{name}_total", doc, value)
    yield gauge(
        f"{_FETCHERS}_maxlag",
        "Records that the replica of this node farthest behind its leader lacks.",
        metrics.follower_lag_max(),
    )
    yield gauge(
        f"{_FETCHERS}_failedpartitionscount",
        "Replicas of this node that have given up to follow their leaders.",
        metrics.failed_partitions(),
    )


def damage_families(metrics: ReplicationMetrics) -> Iterator[MetricFamily]:
    """Yields what is known of batches that are not what was written. Kafka has nothing like it."""
    for name, doc, value in (
        ("corruptfetches", "Answers of leaders that were refused: a batch did not fit its checksum.", metrics.corrupt_fetches),
        ("damaged", "Replicas in which the disk had changed what was written.", metrics.damage_found()),
        ("mended", "Of these, replicas that have fetched it anew and are in sync.", metrics.damage_mended()),
    ):  # fmt: skip
        yield counter(f"millstream_replicas_{name}_total", doc, value)


def log_families(broker: BrokerView) -> Iterator[MetricFamily]:
    """Yields the families about the log of each replica. Large clusters have many of these."""
    replicas = [partition for _, partition in broker.partitions.all()]
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
