"""The composition root: everything a handler may reach, each owned by exactly one collaborator.

It holds no policy and no I/O. `broker.server` builds it, starts it and takes it down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.model import BrokerId, Uuid
from millstream.runtime import Clock, FileSystem, Random

if TYPE_CHECKING:
    from millstream.broker.api_spec import ApiSpec
    from millstream.broker.broker_state import BrokerLife
    from millstream.broker.client_telemetry import ClientTelemetry
    from millstream.broker.config import BrokerConfig
    from millstream.broker.disk_pool import DiskPool
    from millstream.broker.fetch_sessions import FetchSessions
    from millstream.broker.group_coordination import GroupCoordination
    from millstream.broker.metrics.node_metrics import NodeMetrics
    from millstream.broker.node_services import (
        ControllerClient,
        LogFlusher,
        Metadata,
        Partitions,
        Tasks,
    )
    from millstream.broker.ordered_appends import OrderedAppends
    from millstream.broker.producer_ids import ProducerIds
    from millstream.broker.purgatory import Purgatory
    from millstream.broker.replica_moves import ReplicaMoves
    from millstream.broker.share_groups import ShareGroups
    from millstream.broker.streams_internal_topics import StreamsInternalTopics
    from millstream.broker.transaction_coordination import TransactionCoordination
    from millstream.broker.transaction_markers import TransactionMarkers
    from millstream.log.log_directories import LogDirectories
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
