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
from typing import Final, NamedTuple

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.listeners import Listener, advertised_listeners
from millstream.broker.http.pages import start_http
from millstream.broker.node.broker_part import BrokerPart
from millstream.broker.node.broker_state import BrokerLife, BrokerState
from millstream.broker.node.controller_part import ControllerPart
from millstream.broker.node.ordered_stop import OrderedStop
from millstream.broker.node.shared_parts import NodeWorkers, SharedParts
from millstream.broker.node.tasks import NodeTasks
from millstream.broker.patterns.costly_patterns import CostlyPatterns
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.patterns.process import PatternProcess
from millstream.broker.requests.dispatch import Dispatcher
from millstream.broker.requests.registry import BROKER_HANDLERS
from millstream.broker.storage.data_directory import open_data_directories
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import ConfigError
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_environment import LogEnvironment
from millstream.net.network import Network
from millstream.net.server.http_server import HttpServer
from millstream.net.server.limits import ConnectionLimits
from millstream.net.server.socket_server import SocketServer
from millstream.runtime import Clock, FileSystem, Random

_LOGGER = logging.getLogger(__name__)
_DRAIN_TIMEOUT_S: Final = 5.0
_LEAVE_TIMEOUT_S: Final = 10.0
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
        """The line that scripts wait for. What a controller alone says leads to itself, as `--bootstrap-controller` wants it."""
        key = "bootstrap" if self.is_broker else "bootstrap_controller"
        return (
            f"millstream ready {key}={self.bootstrap} node={self.node_id} "
            f"cluster={self.cluster_id} data={self.data_directory}"
        )


class _Bound(NamedTuple):
    """The listeners of a node, with the ports that they have got."""

    for_clients: tuple[Listener, ...]
    of_controller: tuple[Listener, ...]


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
        """`network`: where it listens; the system's when none is given. `now_s` measures turns of connections."""
        self.life = BrokerLife()
        self._config = config
        self._clock = clock
        self._environment = LogEnvironment(file_system, random, config.producer_id_expiration_ms)
        limits = config.read(ConnectionLimits)
        self._network = network
        self._server = SocketServer(limits, clock, now_s, network)
        self._controller_server = SocketServer(limits, clock, now_s, network)
        self._http: HttpServer | None = None
        self._stop_requested = asyncio.Event()
        self._was_started = False
        self._abort = False
        self._patience: asyncio.Timeout | None = None
        """How long the shutdown waits for others, once it has begun."""

    @property
    def state(self) -> BrokerState:
        return self.life.state

    def request_stop(self) -> None:
        """Requests a clean shutdown; a second request stops waiting for others. Before the start, the node ends right after it."""
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time())
        self._stop_requested.set()

    def request_abort(self) -> None:
        """Stops at once, like a crash: nothing is flushed or closed, and no client is answered."""
        self._abort = True
        self._stop_requested.set()

    async def run(
        self, announce: Callable[[ReadyReport], None], cluster_id: str | None = None
    ) -> None:
        """Runs the node until `request_stop`. Raises ConfigError, DamagedFile, KafkaStorageError with a sentence for the operator, and
        what a step of the shutdown failed with, when all of them have been taken.

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
            where = self._config.http_listener
            self._http = None if where is None else HttpServer(where.host, where.port)
            directories = open_data_directories(self._config, self._environment, cluster_id)
            await self._live(directories, _Bound(bound, of_controller), pool, patterns, announce)
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
        async with asyncio.TaskGroup() as group:
            tasks = NodeTasks(group)
            shared = SharedParts(
                self._config,
                directories,
                self._environment,
                self._clock,
                workers=NodeWorkers(tasks, pool),
                network=self._network,
                of_controller=self._advertised(bound.of_controller),
            )
            shared.dynamic_config.subscribe(self._use)
            controller = ControllerPart(shared) if self._config.is_controller else None
            broker = None
            if self._config.is_broker:
                broker = BrokerPart(shared, patterns=patterns, life=self.life)
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
                if controller is not None:
                    await self._start_controller(controller, shared.tasks, bound)
                if broker is not None:
                    await self._start_broker(broker, shared.tasks, bound)
        except TimeoutError:
            raise ConfigError(
                f"the node was not ready after {limit_ms} ms: see server.max.startup.time.ms"
            ) from None

    async def _start_controller(
        self, controller: ControllerPart, tasks: NodeTasks, bound: _Bound
    ) -> None:
        """Its listeners answer before anything is elected: those who elect ask there."""
        if bound.of_controller:
            serving = self._controller_server.serve(controller.dispatcher)
            tasks.start(serving, "connections of the controller")
        await controller.start(self._advertised(bound.of_controller))

    async def _start_broker(self, broker: BrokerPart, tasks: NodeTasks, bound: _Bound) -> None:
        broker.view.metrics.connection_count = lambda: self._server.connection_count
        if self._http is not None:
            start_http(self._http, broker.view, tasks)
        await broker.start(self._advertised(bound.for_clients))
        tasks.start(
            self._server.serve(
                Dispatcher(broker.services, BROKER_HANDLERS),
                broker.services.share_groups.connection_closed,
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
        limits = config.read(ConnectionLimits)
        for server in (self._server, self._controller_server):
            if limits != server.limits:
                server.change_limits(limits)

    def _bind(self, server: SocketServer, listeners: tuple[Listener, ...]) -> tuple[Listener, ...]:
        backlog = self._config.socket_listen_backlog_size
        return tuple(
            Listener(each.name, each.host, server.bind(each.name, each.host, each.port, backlog))
            for each in listeners
        )

    def _advertised(self, bound: tuple[Listener, ...]) -> tuple[Listener, ...]:
        return advertised_listeners(bound, self._config.advertised, socket.gethostname())


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
