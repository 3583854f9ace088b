"""The composition root: everything a handler may reach, each owned by exactly one collaborator.

It holds no policy and no I/O. `broker.node.parts` builds it, starts it and takes it down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.model import BrokerId, Uuid
from millstream.runtime import Clock, FileSystem, Random

if TYPE_CHECKING:
    from millstream.broker.config.broker_config import BrokerConfig
    from millstream.broker.coordination.group_coordination import GroupCoordination
    from millstream.broker.coordination.streams_internal_topics import StreamsInternalTopics
    from millstream.broker.coordination.transaction_coordination import TransactionCoordination
    from millstream.broker.fetch.fetch_sessions import FetchSessions
    from millstream.broker.metrics.node_metrics import NodeMetrics
    from millstream.broker.node.broker_state import BrokerLife
    from millstream.broker.node.services import (
        ControllerClient,
        LogFlusher,
        Metadata,
        Partitions,
        Tasks,
    )
    from millstream.broker.patterns.pattern_matching import PatternMatching
    from millstream.broker.produce.ordered_appends import OrderedAppends
    from millstream.broker.requests.api_spec import ApiSpec
    from millstream.broker.requests.purgatory import Purgatory
    from millstream.broker.share.share_groups import ShareGroups
    from millstream.broker.storage.disk_pool import DiskPool
    from millstream.broker.storage.replica_moves import ReplicaMoves
    from millstream.broker.telemetry.client_telemetry import ClientTelemetry
    from millstream.broker.transactions.markers import TransactionMarkers
    from millstream.broker.transactions.producer_ids import ProducerIds
    from millstream.log.directory.log_directories import LogDirectories
    from millstream.security.authorizer import Authorizer
    from millstream.security.quotas import Quotas


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Who this node is: written once at format time, never changed while it lives."""

    node_id: BrokerId
    cluster_id: str
    directory_id: Uuid
    incarnation_id: Uuid


@dataclass(slots=True, kw_only=True)
class Node:
    """One broker process, as handlers see it."""

    apis: tuple[ApiSpec, ...]
    """What is served, for ApiVersions."""
    identity: NodeIdentity
    config: BrokerConfig
    clock: Clock
    random: Random
    file_system: FileSystem
    tasks: Tasks
    partitions: Partitions
    log_directories: LogDirectories
    replica_moves: ReplicaMoves
    disk_pool: DiskPool
    patterns: PatternMatching
    metadata: Metadata
    controller: ControllerClient
    log_flusher: LogFlusher
    producer_ids: ProducerIds
    group_coordinator: GroupCoordination
    share_groups: ShareGroups
    transaction_coordinator: TransactionCoordination
    transaction_markers: TransactionMarkers
    ordered_appends: OrderedAppends
    purgatory: Purgatory
    fetch_sessions: FetchSessions
    streams_internal_topics: StreamsInternalTopics
    metrics: NodeMetrics
    authorizer: Authorizer
    quotas: Quotas
    client_telemetry: ClientTelemetry
    life: BrokerLife
