"""The metric families of this node's replica of the metadata quorum, and of what it has applied of its log.

Where Kafka tells a text, it is a label of a sample of 1. Averages and maxima are of the last 30 to 60 seconds, as
Kafka's, and 0 where there was nothing, which Kafka tells as NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample, counter, gauge
from millstream.broker.metrics.node_view import NodeView
from millstream.metadata.features import METADATA_VERSION
from millstream.model import ZERO_UUID, uuid_text
from millstream.raft.election_state import NOBODY
from millstream.raft.voter_set import ReplicaKey

_RAFT: Final = "kafka_server_raft_metrics"
_METADATA: Final = "kafka_server_broker_metadata_metrics"
_LOADER: Final = "kafka_server_metadataloader"
_SNAPSHOTS: Final = "kafka_server_snapshotemitter"
_NODE: Final = "kafka_server_node_metrics"
_NO_VOTE: Final = ReplicaKey(NOBODY, ZERO_UUID)
_KRAFT_VERSION: Final = "kraft.version"


def quorum_families(node: NodeView) -> Iterator[MetricFamily]:
    """Yields the families about the quorum (`raft-metrics`)."""
    quorum = node.controller.quorum()
    vote = quorum.own.vote or _NO_VOTE
    yield _named(f"{_RAFT}_current_state", "What this node is in the quorum.", quorum.own.name)
    yield _named(
        f"{_RAFT}_current_vote_directory_id",
        "The directory that this node votes for in this epoch.",
        uuid_text(vote.directory_id),
    )
    for name, doc, value in (
        ("current_leader", "Id of the leader of this epoch; -1 for none.", quorum.leader_id),
        ("current_epoch", "Epoch of the quorum.", quorum.leader_epoch),
        ("current_vote", "The node that this one votes for in this epoch; -1 for none.", vote.id),
        ("high_watermark", "Committed metadata records.", quorum.high_watermark),
        ("log_end_offset", "The end of the metadata log of this node.", quorum.log_end_offset),
        ("log_end_epoch", "The epoch of its last record.", quorum.log_end_epoch),
        ("number_of_voters", "Voters of the quorum.", len(quorum.voters)),
        (
            "number_of_observers",
            "Others that fetch from this leader; 0 where another node leads.",
            len(quorum.replicas.observers),
        ),
        (
            "uncommitted_voter_change",
            "1 while a change of the voters is not committed.",
            int(quorum.own.has_uncommitted_voters),
        ),
        (
            "number_unknown_voter_connections",
            "Voters of which this node does not know where they listen.",
            quorum.unknown_voters,
        ),
    ):
        yield gauge(f"{_RAFT}_{name}", doc, value)
    yield from _recent(node)


def _recent(node: NodeView) -> Iterator[MetricFamily]:
    metrics, now_ms = node.quorum, node.clock.now().monotonic_ms
    yield gauge(
        f"{_RAFT}_poll_idle_ratio_avg",
        "Share of time in which the event loop, where the quorum runs, is idle.",
        node.metrics.loop_idleness.ratio(now_ms),
    )
    for name, doc, times in (
        ("commit_latency", "from the append of a batch to its commit", metrics.commit_latency_ms),
        ("election_latency", "of an election that this node stood in", metrics.election_latency_ms),
    ):
        yield gauge(f"{_RAFT}_{name}_avg", f"Milliseconds {doc}: average.", times.average(now_ms))
        yield gauge(f"{_RAFT}_{name}_max", f"Milliseconds {doc}: longest.", times.maximum(now_ms))
    yield gauge(
        f"{_RAFT}_append_records_rate",
        "Metadata records a second that this leader appends.",
        metrics.appended.per_second(now_ms),
    )
    yield gauge(
        f"{_RAFT}_fetch_records_rate",
        "Metadata records a second that this node fetches from the leader.",
        metrics.fetched.per_second(now_ms),
    )


def metadata_families(node: NodeView) -> Iterator[MetricFamily]:
    """Yields the families about the metadata that this node has applied, its snapshots and the levels of features."""
    if node.broker is not None:
        yield from _broker_metadata(node)
    quorum, features = node.controller.quorum(), node.controller.image.features
    yield gauge(
        "millstream_metadata_lag_records",
        "Committed metadata records that this node has not applied.",
        quorum.lag,
    )
    yield gauge(
        f"{_LOADER}_currentmetadataversion",
        "The level of metadata.version.",
        features.get(METADATA_VERSION, 0),
    )
    yield gauge(
        f"{_LOADER}_currentcontrollerid",
        "Id of the active controller; -1 for none.",
        quorum.leader_id,
    )
    yield counter(
        f"{_LOADER}_handleloadsnapshotcount",
        "Snapshots that this node has taken from a leader.",
        node.quorum.snapshots_loaded,
    )
    yield gauge(
        f"{_LOADER}_avgidleratio",
        "Share of time in which the event loop, where metadata are applied, is idle.",
        node.metrics.loop_idleness.ratio(node.clock.now().monotonic_ms),
    )
    yield MetricFamily(
        "kafka_server_kafkaserver_clusterid",
        MetricKind.GAUGE,
        "The id of the cluster.",
        [Sample(1, {"clusterid": node.controller.image.cluster_id})],
    )
    yield from _features({**features, _KRAFT_VERSION: quorum.kraft_version})
    written = node.snapshots.written
    yield gauge(
        f"{_SNAPSHOTS}_latestsnapshotgeneratedbytes",
        "Bytes of the newest snapshot of this node.",
        written.size_bytes,
    )
    yield gauge(
        f"{_SNAPSHOTS}_latestsnapshotgeneratedagems",
        "Milliseconds since it was written, or since the start.",
        node.clock.now().monotonic_ms - written.written_ms,
    )


def _features(finalized: Mapping[str, int]) -> Iterator[MetricFamily]:
    """The names of features are written as Kafka writes them in its beans, differently in each of the two."""
    yield MetricFamily(
        f"{_LOADER}_finalizedlevel",
        MetricKind.GAUGE,
        "Level of each feature in force.",
        [Sample(level, {"featurename": _camel(name)}) for name, level in finalized.items()],
    )
    for bound, doc, levels in (
        ("minimum", "Lowest", {name: each.lowest for name, each in SUPPORTED_FEATURES.items()}),
        ("maximum", "Highest", {name: each.highest for name, each in SUPPORTED_FEATURES.items()}),
    ):
        yield MetricFamily(
            f"{_NODE}_{bound}_supported_level",
            MetricKind.GAUGE,
            f"{doc} level of each feature that this node supports.",
            [
                Sample(level, {"feature_name": name.replace(".", "-")})
                for name, level in levels.items()
            ],
        )


def _camel(feature: str) -> str:
    first, *others = feature.split(".")
    return first + "".join(each.capitalize() for each in others)


def _broker_metadata(node: NodeView) -> Iterator[MetricFamily]:
    quorum, now = node.controller.quorum(), node.clock.now()
    lag_ms = now.monotonic_ms if quorum.lag_ms is None else quorum.lag_ms
    for name, doc, value in (
        ("last_applied_record_offset", "Offset of the last metadata record that is applied.", quorum.applied_end_offset - 1),
        ("last_applied_record_lag_ms", "Milliseconds since this node knew that it has applied all that is committed.", lag_ms),
        ("last_applied_record_timestamp", "The time of that, in milliseconds since 1970.", now.wall_ms - lag_ms),
        ("ignored_static_voters", "1 where controller.quorum.voters is given and the log says who votes.", int(quorum.ignores_static_voters)),
        ("metadata_load_error_count", "0: an error in the metadata log ends the node.", 0),
        ("metadata_apply_error_count", "0: an image that cannot be applied ends the node.", 0),
    ):  # fmt: skip
        yield gauge(f"{_METADATA}_{name}", doc, value)


def _named(name: str, doc: str, value: str) -> MetricFamily:
    label = name.removeprefix(f"{_RAFT}_")
    return MetricFamily(name, MetricKind.GAUGE, doc, [Sample(1, {label: value})])
