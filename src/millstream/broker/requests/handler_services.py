"""The services that handlers of brokers and of controllers may take as parameters, and the function that passes them.

A handler names what it needs: `handle(request, context, *, controller)`, or, where that is more than a few, one
parameter `services` of its own frozen dataclass `Services`. A name means the same service in every handler.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from functools import partial

from millstream.broker.cluster.auto_creation import AutoTopicCreation
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.coordination.streams_internal_topics import StreamsInternalTopics
from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.fetch.fetch_sessions import FetchSessions
from millstream.broker.forwarding.end_offsets import EndOffsets
from millstream.broker.long_work import LongWork
from millstream.broker.metadata_log.quorum_requests import QuorumRequests
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.node_state import NodeIdentity
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.produce.ordered_appends import OrderedAppends
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import (
    ControllerClient,
    EnvelopedRequests,
    LogFlusher,
    Metadata,
    Partitions,
)
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.share.share_groups import ShareGroups
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.durability import Durability
from millstream.broker.storage.replica_moves import ReplicaMoves
from millstream.broker.telemetry.client_telemetry import ClientTelemetry
from millstream.broker.tls.store_checks import StoreChecks
from millstream.broker.transactions.coordinator_channel import TransactionCoordinatorChannel
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.broker.transactions.producer_ids import ProducerIds
from millstream.log.directory.log_directories import LogDirectories
from millstream.protocol.api import Message
from millstream.replication.throttle import ReplicationThrottles
from millstream.runtime import Clock, FileSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerServices:
    """Services of one node by the names of handlers' parameters. No handler is given all of them."""

    access: Access
    apis: tuple[ApiSpec, ...]
    """What is served, for ApiVersions."""
    auto_topic_creation: AutoTopicCreation
    client_telemetry: ClientTelemetry
    clock: Clock
    config: DynamicConfig
    controller: ControllerClient
    disk_pool: DiskPool
    durability: Durability
    end_offsets: EndOffsets
    failures: FailureLog
    fetch_sessions: FetchSessions
    file_system: FileSystem
    group_coordinator: GroupCoordination
    identity: NodeIdentity
    log_directories: LogDirectories
    log_flusher: LogFlusher
    long_work: LongWork
    metadata: Metadata
    metrics: NodeMetrics
    ordered_appends: OrderedAppends
    partitions: Partitions
    patterns: PatternMatcher
    producer_ids: ProducerIds
    purgatory: Purgatory
    quotas: NodeQuotas
    replica_moves: ReplicaMoves
    share_group_state: ShareGroupPersistence
    share_groups: ShareGroups
    store_checks: StoreChecks
    throttles: ReplicationThrottles
    streams_internal_topics: StreamsInternalTopics
    transaction_coordinator: TransactionCoordination
    transaction_coordinator_channel: TransactionCoordinatorChannel
    transaction_markers: TransactionMarkers


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerServices:
    """Services of a controller, for the handlers of its listeners. What a broker has too has the same name there."""

    access: Access
    apis: tuple[ApiSpec, ...]
    clock: Clock
    config: DynamicConfig
    controller: ControllerClient
    disk_pool: DiskPool
    enveloped_requests: EnvelopedRequests
    failures: FailureLog
    identity: NodeIdentity
    long_work: LongWork
    metadata: Metadata
    metrics: NodeMetrics
    quorum_requests: QuorumRequests
    quotas: NodeQuotas
    store_checks: StoreChecks


NodeServices = HandlerServices | ControllerServices
Handle = Callable[..., "Message | Awaitable[Message] | None"]
"""From a request, its RequestContext and the services that it names."""
BoundHandle = Callable[[Message, RequestContext], "Message | Awaitable[Message] | None"]


def bound(handle: Handle, services: NodeServices) -> BoundHandle:
    """Returns `handle` with everything that it takes besides the request and its context."""
    names = list(inspect.signature(handle).parameters)[2:]
    taken = {name: _service(name, handle, services) for name in names}
    return partial(handle, **taken) if taken else handle


def _service(name: str, handle: Handle, services: NodeServices) -> object:
    if name != "services":
        return getattr(services, name)
    kind = sys.modules[
        handle.__module__
    ].Services  # not by its annotation: a compiled handler has none
    return kind(**{field.name: getattr(services, field.name) for field in fields(kind)})
