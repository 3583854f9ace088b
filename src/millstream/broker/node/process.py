"""The life of a node: bind, lock, load, lead, register, serve, shut down. Its states are those of `broker_state`.

Builds the parts that its roles need, starts them in order and takes them down. Decides nothing that one of them can.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.listeners import Listener, advertised_listeners
from millstream.broker.config.sasl_settings import listener_of_brokers
from millstream.broker.config.standing_alone import stands_alone
from millstream.broker.node.broker_part import BrokerPart
from millstream.broker.node.controller_part import ControllerPart
from millstream.broker.node.shared_parts import NodeNetwork, NodeWorkers, SharedParts
from millstream.broker.node.tasks import NodeTasks, OrderedStop
from millstream.broker.node_state import BrokerLife, BrokerState
from millstream.broker.patterns.costly_patterns import CostlyPatterns
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.patterns.process import PatternProcess
from millstream.broker.quotas.connection_quotas import ConnectionQuotas
from millstream.broker.requests.dispatch import Dispatcher
from millstream.broker.requests.registry import BROKER_HANDLERS
from millstream.broker.storage.data_directory import open_data_directories
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import ConfigError
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_environment import LogEnvironment
from millstream.net.client.tasks import TaskGroup
from millstream.net.network import Network
from millstream.net.server.limits import ConnectionLimits
from millstream.net.server.socket_server import SocketServer
from millstream.quota.rate import QuotaWindows
from millstream.runtime import Clock, FileSystem, Random

if TYPE_CHECKING:
    from millstream.broker.tls.node_tls import NodeTls
    from millstream.net.server.http_server import HttpServer

_LOGGER = logging.getLogger(__name__)
_DRAIN_TIMEOUT_S: Final = 5.0
"""Ours, as the next one: together they are far below the 90 s after which systemd kills."""
_LEAVE_TIMEOUT_S: Final = 10.0
"""A controller that answers lets a broker go after a few heartbeats."""
_FOR_EVER_MS: Final = 1 << 53


@dataclass(frozen=True, slots=True)
class ReadyReport:
    """The report that a node makes once it answers requests."""

    bootstrap: str
    node_id: int
    cluster_id: str
    data_directory: str
    listeners: str
    """Where it listens, as NAME://HOST:PORT, and what clients are told where that differs."""
    is_broker: bool = True

    @property
    def line(self) -> str:
        """The line that scripts wait for.

        What a controller alone says leads to itself, as `--bootstrap-controller` wants it.
        """
        key = "bootstrap" if self.is_broker else "bootstrap_controller"
        return (
            f"millstream ready {key}={self.bootstrap} node={self.node_id} "
            f"cluster={self.cluster_id} data={self.data_directory}"
        )


class _Bound(NamedTuple):
    """The listeners of a node, with the ports that they have got."""

    for_clients: tuple[Listener, ...]
    of_controller: tuple[Listener, ...]
    tls: NodeTls | None
    """None where no listener has it."""


class NodeProcess:
    """One node in one event loop. `run` is its whole life."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        random: Random,
        file_system: FileSystem,
        network: Network | None = None,
        *,
        now_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`network`: where it listens; the system's when none is given.

        `now_s` measures turns of connections and of long work.
        """
        self.life = BrokerLife()
        self._config = config
        self._clock = clock
        self._environment = LogEnvironment(file_system, random, config.producer_id_expiration_ms)
        windows = QuotaWindows(config.quota_window_num, config.quota_window_size_seconds * 1_000)
        self._connection_quotas = (ConnectionQuotas(windows), ConnectionQuotas(windows))
        """Of each server: as in Kafka, what is counted for all listeners is counted for those of one role."""
        limits = _connection_limits(config)
        self._network = network
        self._now_s = now_s
        for_clients, of_controller = self._connection_quotas
        self._server = SocketServer(limits, clock, now_s, network, for_clients)
        # Brokers and controllers alone come to the listeners of controllers: without them the cluster stands still.
        self._controller_server = SocketServer(
            limits, clock, now_s, network, of_controller, keeps_descriptors=False
        )
        self._http: HttpServer | None = None
        self._stop_requested = asyncio.Event()
        self._controller_stop_requested = asyncio.Event()
        self.broker_stopped = asyncio.Event()
        """Set when nothing of the broker's part is served any more, whether or not the controller's part goes on."""
        self._was_started = False
        self._abort = False
        self._patience: asyncio.Timeout | None = None
        """How long the shutdown waits for others, once it has begun."""

    @property
    def state(self) -> BrokerState:
        return self.life.state

    @property
    def is_stopping(self) -> bool:
        """Whether a shutdown was requested."""
        return self._stop_requested.is_set()

    def request_stop(self) -> None:
        """Requests a clean shutdown; a second request stops waiting for others.

        Before the start, the node ends right after it.
        """
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time())
        self._stop_requested.set()
        self._controller_stop_requested.set()

    def request_broker_stop(self) -> None:
        """Requests a clean shutdown of the broker's part only; the controller's part goes on until `request_stop`.

        So the brokers of a cluster can stop while there is a majority of controllers to let them go.
        """
        self._stop_requested.set()

    def request_abort(self) -> None:
        """Stops at once, like a crash: nothing is flushed or closed, and no client is answered."""
        self._abort = True
        self._stop_requested.set()
        self._controller_stop_requested.set()

    async def run(
        self, announce: Callable[[ReadyReport], None], cluster_id: str | None = None
    ) -> None:
        """Runs the node until `request_stop`.

        Raises ConfigError, DamagedFile, KafkaStorageError with a sentence for the operator, and what a step of the
        shutdown failed with, when all of them have been taken.

        `announce` is called once, when the node answers. A node has one life: to start again, make another.
        """
        assert not self._was_started, "a node is started once: make another for its next life"
        self._was_started = True
        pool = DiskPool()
        patterns = PatternMatcher(pool, CostlyPatterns(PatternProcess.start), self._clock)
        directories: LogDirectories | None = None
        try:
            self.life.enter(BrokerState.STARTING)
            bound = self._bind(self._server, self._config.listeners)
            of_controller = self._bind(self._controller_server, self._config.controller_listeners)
            tls = self._read_tls()
            self._http = self._bind_http(tls)
            directories = open_data_directories(self._config, self._environment, cluster_id)
            bound_all = _Bound(bound, of_controller, tls)
            await self._live(directories, bound_all, pool, patterns, announce)
        except BaseExceptionGroup as errors:
            raise _first(errors) from errors
        finally:
            self._server.close()
            self._controller_server.close()
            if self._http is not None:
                self._http.close()
            patterns.close()
            pool.close()
            if directories is not None:
                directories.abandon()
            self.life.enter(BrokerState.NOT_RUNNING)

    async def _live(
        self,
        directories: LogDirectories,
        bound: _Bound,
        pool: DiskPool,
        patterns: PatternMatcher,
        announce: Callable[[ReadyReport], None],
    ) -> None:
        stop = OrderedStop()
        async with TaskGroup() as group:
            tasks = NodeTasks(group)
            shared = SharedParts(
                self._config,
                directories,
                self._environment,
                self._clock,
                workers=NodeWorkers(tasks, pool, self._now_s),
                network=NodeNetwork(
                    self._network, self._advertised(bound.of_controller), bound.tls
                ),
            )
            shared.dynamic_config.subscribe(self._use)
            shared.quotas.tell_of_addresses(self._connection_quotas)
            controller = ControllerPart(shared) if self._config.is_controller else None
            broker = None
            if self._config.is_broker:
                broker = BrokerPart(shared, patterns=patterns, life=self.life)
            self._serve_http(shared, broker)
            starting = group.create_task(self._start(shared, controller, broker, bound))
            if shared.waits_for_others:
                # Its controllers may be away for ever: whoever has enough of it stops the node.
                stopped = group.create_task(self._stop_requested.wait())
                await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            else:
                await starting
            if starting.done():
                self.life.enter(BrokerState.RUNNING)
                announce(_report(self._config, directories, bound))
                await self._stop_requested.wait()
            if not self._abort and starting.done():
                await self._shut_down(broker, stop)
                self.broker_stopped.set()
                if controller is not None and broker is not None:
                    await self._controller_stop_requested.wait()
            starting.cancel()
            if not self._abort:
                await stop.wait("leaving the quorum", shared.hand_over)
            await self._disconnect()
            tasks.cancel_all()
        await shared.disconnect()
        if not self._abort:
            stop.take("resigning", shared.resign)
            if broker is not None:
                await stop.wait("closing the logs", broker.close)
            else:
                await stop.wait("closing the metadata log", shared.close)
        stop.raise_first()

    async def _start(
        self,
        shared: SharedParts,
        controller: ControllerPart | None,
        broker: BrokerPart | None,
        bound: _Bound,
    ) -> None:
        limit_ms = self._config.server_max_startup_time_ms
        try:
            async with asyncio.timeout(limit_ms / 1000 if limit_ms < _FOR_EVER_MS else None):
                shared.start()
                self._require_logins(shared, bound)
                if shared.tls is not None:
                    await shared.follow_stores(shared.tls)
                if controller is not None:
                    await self._start_controller(controller, shared, bound)
                if broker is not None:
                    await self._start_broker(broker, shared, bound)
                if shared.tls is not None:
                    shared.tls.is_serving = True
        except TimeoutError:
            raise ConfigError(
                f"the node was not ready after {limit_ms} ms: see server.max.startup.time.ms"
            ) from None

    def _serve_http(self, shared: SharedParts, broker: BrokerPart | None) -> None:
        servers = (self._server, self._controller_server)
        shared.metrics.connection_count = lambda: sum(each.connection_count for each in servers)
        shared.metrics.connection_quotas = self._connection_quotas
        shared.metrics.login_counts = lambda: servers[0].login_counts | servers[1].login_counts
        if self._http is not None:
            from millstream.broker.http.pages import start_http

            view = shared.view(self.life, None if broker is None else broker.view)
            start_http(self._http, view, shared.tasks)

    def _read_tls(self) -> NodeTls | None:
        """Reads keys and certificates, where a listener or a connection of this node has TLS."""
        protection = self._config.protection
        if not protection.tls:
            return None
        from millstream.broker.tls.node_tls import NodeTls  # OpenSSL is loaded where it is needed

        own = [each.name for each in (*self._config.listeners, *self._config.controller_listeners)]
        if self._config.http_listener is not None:
            own.append(self._config.http_listener.name)
        return NodeTls(protection, own, stands_alone=stands_alone(self._config.settings))

    def _bind_http(self, tls: NodeTls | None) -> HttpServer | None:
        where = self._config.http_listener
        if where is None:
            return None
        from millstream.net.server.http_server import HttpServer  # where it has pages

        own = None if tls is None else tls.listeners.get(where.name)
        return HttpServer(where.host, where.port, own)

    def _protect(
        self, server: SocketServer, shared: SharedParts, listeners: tuple[Listener, ...]
    ) -> None:
        for listener in listeners:
            if shared.tls is not None and listener.name in shared.tls.listeners:
                server.require_tls(listener.name, shared.tls.listeners[listener.name])

    def _require_logins(self, shared: SharedParts, bound: _Bound) -> None:
        """One object for both servers: a name that nobody has gets the same salt at every listener, as a user does."""
        if not self._config.protection.logins:
            return
        from millstream.broker.login.node_logins import NodeLogins

        logins = NodeLogins(self._config, shared.controller, self._clock, shared.pool, shared.tasks)
        for server, listeners in (
            (self._server, bound.for_clients),
            (self._controller_server, bound.of_controller),
        ):
            for name, rules in logins.rules_of(listeners).items():
                server.require_login(name, rules)

    async def _start_controller(
        self, controller: ControllerPart, shared: SharedParts, bound: _Bound
    ) -> None:
        """Its listeners answer before anything is elected: those who elect ask there."""
        if bound.of_controller:
            self._protect(self._controller_server, shared, bound.of_controller)
            serving = self._controller_server.serve(controller.dispatcher)
            shared.tasks.start(serving, "connections of the controller")
        await controller.start(self._advertised(bound.of_controller))

    async def _start_broker(self, broker: BrokerPart, shared: SharedParts, bound: _Bound) -> None:
        await broker.start(self._advertised(bound.for_clients))
        if shared.tls is not None:
            await shared.follow_stores(shared.tls)
        self._protect(self._server, shared, bound.for_clients)
        shared.tasks.start(
            self._server.serve(
                Dispatcher(broker.services, BROKER_HANDLERS),
                broker.services.share_groups.on_disconnect,
            ),
            "connections",
        )

    async def _shut_down(self, broker: BrokerPart | None, stop: OrderedStop) -> None:
        """Gives up leadership, answers open requests, and ends those that wait because the node stops."""
        if broker is None:
            self.life.enter(BrokerState.SHUTTING_DOWN)
            return
        self.life.enter(BrokerState.PENDING_CONTROLLED_SHUTDOWN)
        try:
            async with asyncio.timeout(None) as self._patience:
                stop.take("closing the listeners", self._server.stop_accepting)
                if self._config.controlled_shutdown_enable:
                    await stop.wait("giving leadership away", lambda: self._leave(broker))
                self.life.enter(BrokerState.SHUTTING_DOWN)
                stop.take("releasing who waits", broker.release_waiting)
                await stop.wait("answering what was asked", self._drain)
        except TimeoutError:
            _LOGGER.warning("asked to stop again: nobody is waited for any more")
            stop.take("releasing who waits", broker.release_waiting)
        finally:
            self._patience = None  # a request that comes later has nothing to hasten
        self.life.enter(BrokerState.SHUTTING_DOWN)

    async def _disconnect(self) -> None:
        """Closes connections before the tasks of their requests are cancelled."""
        self._server.close()
        self._controller_server.close()
        await asyncio.sleep(
            0
        )  # a request of this turn has a task that has not begun: cancelled then, it would be told as lost

    async def _leave(self, broker: BrokerPart) -> None:
        if not await broker.leave(_LEAVE_TIMEOUT_S):
            _LOGGER.warning(
                "the controller did not let this broker go within %.0f s", _LEAVE_TIMEOUT_S
            )

    async def _drain(self) -> None:
        if not await self._server.drain(_DRAIN_TIMEOUT_S):
            _LOGGER.warning("some requests were not answered within %.0f s", _DRAIN_TIMEOUT_S)

    def _use(self, config: BrokerConfig) -> None:
        """Takes over settings that were changed while the node runs."""
        limits = _connection_limits(config)
        for server in (self._server, self._controller_server):
            if limits != server.limits:
                server.change_limits(limits)

    def _bind(self, server: SocketServer, listeners: tuple[Listener, ...]) -> tuple[Listener, ...]:
        backlog = self._config.socket_listen_backlog_size
        protocols = self._config.protection.protocols
        return tuple(
            Listener(
                each.name,
                each.host,
                server.bind(each.name, each.host, each.port, backlog, protocols[each.name]),
            )
            for each in listeners
        )

    def _advertised(self, bound: tuple[Listener, ...]) -> tuple[Listener, ...]:
        return advertised_listeners(bound, self._config.advertised, socket.gethostname())


def _connection_limits(config: BrokerConfig) -> ConnectionLimits:
    protected = listener_of_brokers(config.values) if len(config.listeners) > 1 else None
    return config.read(
        ConnectionLimits, of_listeners=config.protection.limits, protected_listener=protected
    )


def _report(config: BrokerConfig, directories: LogDirectories, bound: _Bound) -> ReadyReport:
    every = (*bound.for_clients, *bound.of_controller)
    advertised = advertised_listeners(every, config.advertised, socket.gethostname())
    first = advertised[0]
    return ReadyReport(
        f"{first.host}:{first.port}",
        config.node_id,
        directories.metadata.meta.cluster_id,
        ",".join(directories.paths),
        ", ".join(
            str(here) if here == told else f"{here} (advertised as {told.host}:{told.port})"
            for here, told in zip(every, advertised, strict=True)
        ),
        is_broker=config.is_broker,
    )


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that the others of a tree of groups followed."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
