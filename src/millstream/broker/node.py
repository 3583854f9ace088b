"""The composition root: everything a handler may reach, each owned by exactly one collaborator.

It holds no policy and no I/O. `broker.server` builds it, starts it and takes it down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from millstream.model import BrokerId, TopicPartition, Uuid
from millstream.runtime import Clock, FileSystem, Random

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from millstream.broker.api_spec import ApiSpec
    from millstream.broker.broker_state import BrokerLife
    from millstream.broker.client_telemetry import ClientTelemetry
    from millstream.broker.config import BrokerConfig
    from millstream.broker.disk_pool import DiskPool
    from millstream.broker.fetch_sessions import FetchSessions
    from millstream.broker.group_coordination import GroupCoordination
    from millstream.broker.metadata_driver import QuorumDescription
    from millstream.broker.metrics.node_metrics import NodeMetrics
    from millstream.broker.producer_ids import ProducerIds
    from millstream.broker.purgatory import Purgatory
    from millstream.broker.replica_moves import ReplicaMoves
    from millstream.broker.share_groups import ShareGroups
    from millstream.broker.streams_internal_topics import StreamsInternalTopics
    from millstream.broker.transaction_claims import OrderedAppends
    from millstream.broker.transaction_coordination import TransactionCoordination
    from millstream.broker.transaction_markers import TransactionMarkers
    from millstream.controller.controller import Controller
    from millstream.controller.result import ControllerContext, ControllerResult
    from millstream.log.log_directories import LogDirectories
    from millstream.log.partition_log import PartitionLog
    from millstream.metadata.image import MetadataImage
    from millstream.replication.partition import Partition
    from millstream.security.authorizer import Authorizer
    from millstream.security.quotas import Quotas

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Who this node is: written once at format time, never changed while it lives."""

    node_id: BrokerId
    cluster_id: str
    directory_id: Uuid
    incarnation_id: Uuid


class Metadata(Protocol):
    """The cluster's metadata as this node has applied it."""

    @property
    def image(self) -> MetadataImage: ...


class Partitions(Protocol):
    """The replicas this node hosts."""

    def get(self, topic: str, partition: int) -> Partition:
        """Raises UnknownTopicOrPartition when the image has no such partition, NotLeaderOrFollower when this node is no replica."""
        ...

    def all(self) -> Iterable[tuple[TopicPartition, Partition]]: ...


class ControllerClient(Protocol):
    """The way to the active controller, wherever it runs."""

    async def submit(
        self,
        handle: Callable[[Controller, RequestT, ControllerContext], ControllerResult[ResponseT]],
        request: RequestT,
    ) -> ResponseT:
        """Runs `handle` on the controller and returns its response once its records are committed and applied here.

        Used as `await node.controller.submit(Controller.handle_create_topics, request)`. Raises NotController, RequestTimedOut.
        """
        ...

    def quorum(self) -> QuorumDescription:
        """The metadata quorum as this node knows it."""
        ...


class LogFlusher(Protocol):
    """Group-commit fsync: everything waiting for one log shares one call in the pool."""

    async def flush_to(self, log: PartitionLog, offset: int) -> None:
        """Returns once every record below `offset` of `log` is on the disk. Raises KafkaStorageError when fsync failed."""
        ...


class Tasks(Protocol):
    """The node's TaskGroup: what runs here ends with the node, and what fails here ends it."""

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None: ...


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
    transactional_appends: OrderedAppends
    purgatory: Purgatory
    fetch_sessions: FetchSessions
    streams_internal_topics: StreamsInternalTopics
    metrics: NodeMetrics
    authorizer: Authorizer
    quotas: Quotas
    client_telemetry: ClientTelemetry
    life: BrokerLife
