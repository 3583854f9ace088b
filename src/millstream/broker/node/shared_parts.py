"""The parts that a node has in any role: identity, metadata log, replica of the quorum, controller runner, metrics.

log directory -> metadata log -> quorum -> controller -> image

The controller's part and the broker's are built on them, live in between, and end before them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.config.listeners import Listener
from millstream.broker.config.other_keys import ignored_update_mode
from millstream.broker.config.sasl_settings import OwnLogin, listener_of_brokers
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.forwarding.controller_channel import ControllerChannel
from millstream.broker.long_work import LongWork
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.metadata_log.quorum import MetadataQuorum
from millstream.broker.metadata_log.quorum_peers import QuorumPeers, QuorumPeerSettings
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.metrics.node_view import BrokerView, NodeView
from millstream.broker.node.authorization import NodeAuthorization
from millstream.broker.node.tasks import NodeTasks
from millstream.broker.node_state import BrokerLife, NodeIdentity
from millstream.broker.quotas.node_quotas import NodeClocks, NodeQuotas
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.services import ControllerClient
from millstream.broker.storage.clean_shutdown import close_directories
from millstream.broker.storage.data_directory import random_uuid
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.tls.store_checks import StoreChecks
from millstream.controller.settings import ControllerSettings
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_environment import LogEnvironment
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.loader import PublishedImage
from millstream.model import BrokerId
from millstream.net.client.config.connection import ConnectionConfig
from millstream.net.client.connections import Connections, DialPolicy
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import Backoff
from millstream.net.client.core.traffic import Traffic
from millstream.net.client.dialer import dialer_for
from millstream.net.client.tasks import TaskScope
from millstream.net.network import Environment, Network, SystemNetwork
from millstream.protocol.enums import ConfigResourceType
from millstream.quota.rate import QuotaWindows
from millstream.raft.quorum_state import RaftTimeouts
from millstream.runtime import Clock
from millstream.runtime.thread_time import thread_busy_ns

if TYPE_CHECKING:
    from millstream.broker.tls.node_tls import NodeTls

_LOGGER = logging.getLogger(__name__)
_NO_BROKER_EPOCH: Final = -1
_HAND_OVER_S: Final = 1.0
"""A successor stands within that time; one that cannot be told will find out by itself."""
_RECONNECT_MAX_MS: Final = 500
"""An election does not wait longer than that before it tries a voter again."""
_REQUESTS_IN_A_SESSION: Final = 2
"""A heartbeat that is not answered leaves time for another one, to another controller. Less time than that, and one
that brings thousands of partitions back would never be answered."""
_SHORTEST_ANSWER_MS: Final = 2_000
"""Whatever a session may be: a busy controller needs its time to write a registration."""


@dataclass(frozen=True, slots=True)
class NodeWorkers:
    """The tasks on its loop and the threads for its disks that do the work of a node."""

    tasks: NodeTasks
    pool: DiskPool
    now_s: Callable[[], float] = time.perf_counter
    """Measures the turns of long work."""


@dataclass(frozen=True, slots=True)
class NodeNetwork:
    """The ways of a node to others, and of others to it."""

    network: Network | None = None
    """The system's when none is given."""
    of_controller: Sequence[Listener] = ()
    """Where others reach the controller of this node."""
    tls: NodeTls | None = None
    """None where nothing has TLS."""


_ALONE: Final = NodeNetwork()


class SharedParts:
    """The parts of a node that its roles share, and what it was started with."""

    def __init__(
        self,
        config: BrokerConfig,
        directories: LogDirectories,
        environment: LogEnvironment,
        clock: Clock,
        *,
        workers: NodeWorkers,
        network: NodeNetwork = _ALONE,
    ) -> None:
        """Raises DamagedFile and KafkaStorageError when the metadata log cannot be opened."""
        self.config = config
        self.directories = directories
        self.environment = environment
        self.clock = clock
        self.tasks = workers.tasks
        self.pool = workers.pool
        self._network = network.network or SystemNetwork()
        self.tls = network.tls
        self.identity = NodeIdentity(
            node_id=BrokerId(config.node_id),
            cluster_id=directories.metadata.meta.cluster_id,
            directory_id=directories.metadata.meta.directory_id,
            incarnation_id=random_uuid(environment.random),
        )
        self.metrics = NodeMetrics(time.perf_counter_ns, thread_busy_ns)
        self.failures = FailureLog(clock)
        self.long_work = LongWork(workers.now_s)
        self.dynamic_config = DynamicConfig(config)
        quorum = MetadataQuorum(
            config,
            directories.metadata,
            environment,
            pool=self.pool,
            clock=clock,
            endpoints=network.of_controller,
        )
        self.quotas = NodeQuotas(
            QuotaWindows(config.quota_window_num, config.quota_window_size_seconds * 1_000),
            QuotaWindows(
                config.controller_quota_window_num,
                config.controller_quota_window_size_seconds * 1_000,
            ),
            clock,
            NodeClocks(self.metrics.now_ns, self.metrics.busy_ns),
        )
        self.controller = self._new_controller(quorum)
        self.store_checks = StoreChecks(self.tls, self.identity.node_id, self.controller, self.pool)
        self._scope = TaskScope("connections to controllers")
        self._connections: list[Connections] = []
        has_others = bool(network.of_controller) or not config.is_controller
        self._driver = quorum.driver(self.controller, self._new_peers() if has_others else None)
        self.quorum_requests = quorum.requests(self._driver)
        self.controller_client: ControllerClient = self.controller
        if has_others:
            self.controller_client = self._new_controller_channel()
        self._snapshots = quorum.snapshots(self._driver.voters_in_log)
        self.controller.attach(self._driver)
        self._authorization = NodeAuthorization(config, self._has_applied_all)
        self.access = self._authorization.access

    def view(self, life: BrokerLife, broker: BrokerView | None) -> NodeView:
        """Returns what metrics and health pages read of this node."""
        return NodeView(
            node_id=self.identity.node_id,
            life=life,
            clock=self.clock,
            metrics=self.metrics,
            controller=self.controller,
            quorum=self._driver.metrics,
            snapshots=self._snapshots,
            log_directories=self.directories,
            long_work=self.long_work,
            quotas=self.quotas,
            is_controller=self.config.is_controller,
            broker=broker,
            settings=self.config.settings,
        )

    def start(self) -> None:
        """Reads what is committed and, where this node is the only voter, leads.

        Requests of others may be answered from then on.
        """
        self._driver.start()
        self._driver.flush()
        self.dynamic_config.apply(self.controller.image)
        self._authorization.load(self.controller.image)
        self.quotas.use(self.controller.image.client_quotas)
        self.controller.subscribe(self._apply)
        self.tasks.start(self._driver.run(), "metadata log")
        self.tasks.start(self._snapshots.run(), "metadata snapshots")

    @property
    def own_resource(self) -> ConfigResource:
        """The dynamic settings of this node alone."""
        return ConfigResource(ConfigResourceType.BROKER, str(self.identity.node_id))

    @property
    def waits_for_others(self) -> bool:
        """Whether this node can do nothing until another one leads."""
        return self.controller_client is not self.controller

    @property
    def is_alone(self) -> bool:
        """Whether this node is the whole quorum, so that it leads at once."""
        return self.controller.leads() or not self.waits_for_others

    def _has_applied_all(self) -> bool:
        """Whether this node knows all that is committed.

        A leader does with the first commit of its epoch, before which it is no controller.
        """
        if self.controller.leads():
            return True
        quorum = self.controller.quorum()
        return quorum.leader_id != self.identity.node_id and quorum.lag_ms is not None

    def _leader(self) -> Address | None:
        endpoints = self._driver.leader_endpoints()
        return Address(endpoints[0].host, endpoints[0].port) if endpoints else None

    def _new_controller_channel(self) -> ControllerChannel:
        limit_ms = self.config.controller_socket_timeout_ms
        session_ms = self.config.broker_session_timeout_ms
        answer_ms = max(session_ms // _REQUESTS_IN_A_SESSION, _SHORTEST_ANSWER_MS)
        own = self.config.protection.at_controllers
        return ControllerChannel(
            self.controller,
            self._leader,
            lambda: self.clock.now().monotonic_ms,
            sessions=self._new_connections(own, min(limit_ms, answer_ms)),
            alterations=self._new_connections(own, limit_ms),
            requests=self._new_connections(own, limit_ms),
        )

    def _new_peers(self) -> QuorumPeers:
        return QuorumPeers(
            self._new_connections(
                self.config.protection.at_controllers, self.config.request_timeout_ms
            ),
            self.config.read(QuorumPeerSettings),
            self.identity.cluster_id,
            self.config.controller_listener_names[0].upper(),
        )

    def _new_connections(
        self, own: OwnLogin, request_timeout_ms: int, receive_buffer_bytes: int = -1
    ) -> Connections:
        """Connections of this node to others, for one purpose: whoever waits on them holds nobody else up.

        `own`: how it logs in.
        """
        config = ConnectionConfig(
            client_id=f"node-{self.config.node_id}",
            request_timeout_ms=request_timeout_ms,
            receive_buffer_bytes=receive_buffer_bytes,
            security_protocol=own.protocol.name,
            sasl_mechanism=own.mechanism,
            sasl_jaas_config=own.jaas_config,
            ssl_context=None if self.tls is None else self.tls.context_for(own),
            sasl_oauthbearer_token_endpoint_url=(
                own.token_endpoint_url if own.mechanism == "OAUTHBEARER" else None
            ),
        )
        environment = Environment(self.clock, self.environment.random, self._network)
        dialer = dialer_for(config, Traffic(), environment)
        if self.tls is not None:
            self.tls.keep_fresh(own, dialer)
        connections = Connections(
            dialer,
            dial_policy(self.config, self.config.read(RaftTimeouts)),
            self._scope,
            lambda: self.clock.now().monotonic_ms,
            self.environment.random,
            log=_LOGGER,
        )
        self._connections.append(connections)
        return connections

    def new_broker_channel(self) -> BrokerChannel:
        """Returns the way of this broker to others."""
        own = self.config.protection.at_brokers
        return self._new_channel(self._new_connections(own, self.config.request_timeout_ms))

    def new_fetch_channel(self) -> BrokerChannel:
        """Returns another way of this broker to others, for one of its replica fetchers at each of them."""
        config = self.config
        return self._new_channel(
            self._new_connections(
                config.protection.at_brokers,
                config.replica_socket_timeout_ms,
                config.replica_socket_receive_buffer_bytes,
            )
        )

    def _new_channel(self, connections: Connections) -> BrokerChannel:
        return BrokerChannel(
            self.identity.node_id,
            self.controller,
            connections,
            listener_of_brokers(self.config.values),
        )

    async def disconnect(self) -> None:
        """Ends the connections to other nodes."""
        await self._scope.close()
        await asyncio.gather(*(connections.close() for connections in self._connections))
        await asyncio.sleep(0)  # those that were aborted are closed in the loop's next round

    async def hand_over(self) -> None:
        """Gives up the leadership of the quorum while others can be told: one of them stands at once."""
        if self.waits_for_others:
            await self._driver.hand_over(_HAND_OVER_S)

    def resign(self) -> None:
        """Gives up the leadership of the quorum, after all tasks have ended."""
        self._driver.resign()

    async def close(self) -> None:
        """Closes the logs of a node that is no broker, and marks its directories as cleanly shut
        down, after all tasks have ended.
        """
        await close_directories(self.directories, {}, _NO_BROKER_EPOCH, self.pool, self.clock.now())

    def _apply(self, published: PublishedImage) -> None:
        if published.delta.changed_configs:
            self.dynamic_config.apply(published.image)
            if self.tls is not None and self.own_resource in published.delta.changed_configs:
                self.tasks.start(self.follow_stores(self.tls), "TLS stores")
        self._authorization.apply(published)
        if published.delta.security.quotas.changed:
            self.quotas.use(published.image.client_quotas)
        self._snapshots.note(published)

    async def follow_stores(self, tls: NodeTls) -> None:
        """Takes over the stores that were set for this node while it ran."""
        await tls.follow(self.controller.image.config(self.own_resource), self.pool)

    def _new_controller(self, quorum: MetadataQuorum) -> ControllerRunner:
        config = self.config
        settings = config.read(
            ControllerSettings,
            cluster_id=self.identity.cluster_id,
            node_id=self.identity.node_id,
            read_bootstrap=quorum.read_bootstrap,
            static=config.settings,
            supported_features=SUPPORTED_FEATURES,
            broker_configs=BROKER_CONFIGS,
            other_update_mode=ignored_update_mode,
        )
        return ControllerRunner(
            settings,
            quorum.image,
            self.clock,
            self.environment.random,
            config.request_timeout_ms,
            pool=self.pool,
            quotas=self.quotas,
        )


def dial_policy(config: BrokerConfig, timeouts: RaftTimeouts) -> DialPolicy:
    """Returns how long other nodes are given to take a connection, and how soon they are tried again."""
    return DialPolicy(
        # A machine that does not answer is given up as soon as a request to the quorum, before Kafka's 10 s; later it is given its time.
        setup_timeout=Backoff(
            min(config.socket_connection_setup_timeout_ms, timeouts.request_timeout_ms),
            config.socket_connection_setup_timeout_max_ms,
        ),
        reconnect=Backoff(timeouts.retry_backoff_ms, _RECONNECT_MAX_MS),
    )
