"""The parts that a node has in any role: identity, metadata log, replica of the quorum, controller runner, metrics.

log directory -> metadata log -> quorum -> controller -> image

The controller's part and the broker's are built on them, live in between, and end before them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.dynamic_config import DynamicConfig, check_broker_change
from millstream.broker.config.listeners import Listener
from millstream.broker.config.other_keys import ignored_update_mode
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.forwarding.controller_channel import ControllerChannel
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.metadata_log.quorum import MetadataQuorum
from millstream.broker.metadata_log.quorum_peers import QuorumPeers, QuorumPeerSettings
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.node.identity import NodeIdentity
from millstream.broker.node.long_work import LongWork
from millstream.broker.node.services import ControllerClient
from millstream.broker.node.tasks import NodeTasks
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.storage.clean_shutdown import close_directories
from millstream.broker.storage.data_directory import random_uuid
from millstream.broker.storage.disk_pool import DiskPool
from millstream.controller.settings import ControllerSettings
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_environment import LogEnvironment
from millstream.metadata.loader import PublishedImage
from millstream.model import BrokerId
from millstream.net.client.config.connection import ConnectionConfig
from millstream.net.client.connections import Connections, DialPolicy
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.backoff import Backoff
from millstream.net.client.core.traffic import Traffic
from millstream.net.client.dialer import dialer_for
from millstream.net.client.environment import Environment
from millstream.net.client.tasks import TaskScope
from millstream.net.network import Network, SystemNetwork
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_NO_BROKER_EPOCH: Final = -1
_HAND_OVER_S: Final = 1.0
"""A successor stands within that time; one that cannot be told will find out by itself."""
_SETUP: Final = Backoff(2_000, 10_000)
"""Kafka's time limit of a request of the quorum (`controller.quorum.request.timeout.ms`); it grows where nobody answers."""
_RECONNECT: Final = Backoff(20, 500)
"""Kafka's `controller.quorum.retry.backoff.ms`: an election does not wait for long."""


@dataclass(frozen=True, slots=True)
class NodeWorkers:
    """The tasks on its loop and the threads for its disks that do the work of a node."""

    tasks: NodeTasks
    pool: DiskPool


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
        network: Network | None = None,
        of_controller: Sequence[Listener] = (),
    ) -> None:
        """`of_controller`: where others reach the controller of this node. `network`: the system's when none is given. Raises DamagedFile and KafkaStorageError when the metadata log cannot be opened."""
        self.config = config
        self.directories = directories
        self.environment = environment
        self.clock = clock
        self.tasks = workers.tasks
        self.pool = workers.pool
        self._network = SystemNetwork() if network is None else network
        self.identity = NodeIdentity(
            node_id=BrokerId(config.node_id),
            cluster_id=directories.metadata.meta.cluster_id,
            directory_id=directories.metadata.meta.directory_id,
            incarnation_id=random_uuid(environment.random),
        )
        self.metrics = NodeMetrics(time.perf_counter_ns)
        self.failures = FailureLog(clock)
        self.long_work = LongWork(time.perf_counter)
        self.dynamic_config = DynamicConfig(config)
        quorum = MetadataQuorum(
            config,
            directories.metadata,
            environment,
            pool=self.pool,
            clock=clock,
            endpoints=of_controller,
        )
        self.controller = self._new_controller(quorum)
        self._scope = TaskScope("connections to controllers")
        has_others = bool(of_controller) or not config.is_controller
        self._driver = quorum.driver(self.controller, self._new_peers() if has_others else None)
        self.quorum_requests = quorum.requests(self._driver)
        self.controller_client: ControllerClient = self.controller
        if has_others:
            self.controller_client = ControllerChannel(
                self.controller,
                self._leader,
                self._new_connections,
                lambda: clock.now().monotonic_ms,
            )
        self._snapshots = quorum.snapshots(self._driver.voters_in_log)
        self.controller.attach(self._driver)

    def start(self) -> None:
        """Reads what is committed and, where this node is the only voter, leads. Requests of others may be answered from then on."""
        self._driver.start()
        self._driver.flush()
        self.dynamic_config.apply(self.controller.image)
        self.controller.subscribe(self._apply)
        self.tasks.start(self._driver.run(), "metadata log")
        self.tasks.start(self._snapshots.run(), "metadata snapshots")

    @property
    def waits_for_others(self) -> bool:
        """Whether this node can do nothing until another one leads."""
        return self.controller_client is not self.controller

    @property
    def is_alone(self) -> bool:
        """Whether this node is the whole quorum, so that it leads at once."""
        return self.controller.leads() or not self.waits_for_others

    def _leader(self) -> Address | None:
        endpoints = self._driver.leader_endpoints()
        return Address(endpoints[0].host, endpoints[0].port) if endpoints else None

    def _new_peers(self) -> QuorumPeers:
        return QuorumPeers(
            self._new_connections(),
            self.config.read(QuorumPeerSettings),
            self.identity.cluster_id,
            self.config.controller_listener_names[0].upper(),
        )

    def _new_connections(self) -> Connections:
        """Connections of this node to others, for one purpose: whoever waits on them holds nobody else up."""
        config = ConnectionConfig(
            client_id=f"node-{self.config.node_id}",
            request_timeout_ms=self.config.request_timeout_ms,
        )
        environment = Environment(self.clock, self.environment.random, self._network)
        return Connections(
            dialer_for(config, Traffic(), environment),
            DialPolicy(setup_timeout=_SETUP, reconnect=_RECONNECT),
            self._scope,
            lambda: self.clock.now().monotonic_ms,
            self.environment.random,
            log=_LOGGER,
        )

    def new_broker_channel(self) -> BrokerChannel:
        """Returns the way of this broker to others."""
        return BrokerChannel(
            self.identity.node_id,
            self.controller,
            self._new_connections(),
            self.config.inter_broker_listener_name,
        )

    async def disconnect(self) -> None:
        """Ends the connections to other nodes."""
        await self._scope.close()

    async def hand_over(self) -> None:
        """Gives up the leadership of the quorum while others can be told: one of them stands at once."""
        if self.waits_for_others:
            await self._driver.hand_over(_HAND_OVER_S)

    def resign(self) -> None:
        """Gives up the leadership of the quorum, after all tasks have ended."""
        self._driver.resign()

    async def close(self) -> None:
        """Closes the logs of a node that is no broker, and marks its directories as cleanly shut down, after all tasks have ended."""
        await close_directories(self.directories, {}, _NO_BROKER_EPOCH, self.pool, self.clock.now())

    def _apply(self, published: PublishedImage) -> None:
        if published.delta.changed_configs:
            self.dynamic_config.apply(published.image)
        self._snapshots.note(published)

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
            check_broker_change=check_broker_change,
            brokers_replicate=False,
        )
        return ControllerRunner(
            settings,
            quorum.image,
            self.clock,
            self.environment.random,
            config.request_timeout_ms,
            pool=self.pool,
        )
