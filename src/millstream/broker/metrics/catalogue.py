"""All metric families of a node, in the order they are shown."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.broker.metrics.controller_families import controller_families
from millstream.broker.metrics.exposition import MetricFamily
from millstream.broker.metrics.group_families import group_families
from millstream.broker.metrics.node_view import NodeView
from millstream.broker.metrics.process_families import process_families, waiting_families
from millstream.broker.metrics.quorum_families import metadata_families, quorum_families
from millstream.broker.metrics.quota_families import quota_families
from millstream.broker.metrics.replica_families import (
    damage_families,
    log_families,
    replica_families,
    replication_families,
)
from millstream.broker.metrics.request_families import request_families, topic_families


def families(node: NodeView) -> Iterator[MetricFamily]:
    """Yields the metric families.

    Each is read from the node when it is asked for; the node may go on between two of them.
    """
    yield from process_families(node)
    yield from request_families(node.metrics.requests)
    yield from quota_families(node)
    yield from controller_families(node)
    yield from quorum_families(node)
    yield from metadata_families(node)
    if node.broker is not None:
        yield from waiting_families(node.broker)
        yield from topic_families(node.metrics.topics)
        yield from replica_families(node, node.broker)
        yield from replication_families(node.metrics.replication)
        yield from damage_families(node.metrics.replication)
        yield from group_families(node.metrics.groups, node.broker)
        yield from log_families(node.broker)
