"""The life of a node: bind, lock, load, lead, register, serve, shut down.

    STARTING           ports are bound, connections wait in the backlog
    RECOVERY           the metadata log is replayed, logs are opened (and recovered after an unclean stop)
    RUNNING            requests are answered
    SHUTTING_DOWN      no new connections; what was asked is answered, logs are closed, checkpoints written

Builds the collaborators through `node_parts`, starts them in order and takes them down. Decides nothing that one of them can.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from millstream.broker.config import BrokerConfig
from millstream.broker.data_directory import open_data_directories
from millstream.broker.disk_pool import DiskPool
from millstream.broker.dispatch import Dispatcher
from millstream.broker.listeners import Listener, advertised_listeners
from millstream.broker.node_parts import NodeParts
from millstream.broker.node_tasks import NodeTasks
from millstream.broker.registry import HANDLERS
from millstream.log.log_directories import LogDirectories
from millstream.log.log_environment import LogEnvironment
from millstream.net.limits import ConnectionLimits
from millstream.net.socket_server import SocketServer
from millstream.runtime import Clock, FileSystem, Random

_LOGGER = logging.getLogger(__name__)
_DRAIN_TIMEOUT_S: Final = 5.0
_LEAVE_TIMEOUT_S: Final = 10.0


class BrokerState(IntEnum):
    """Numbers are those of Kafka's broker-state metric."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    SHUTTING_DOWN = 7


@dataclass(frozen=True, slots=True)
class ReadyReport:
    """What is told once the node answers."""

    bootstrap: str
    node_id: int
    cluster_id: str
    data_directory: str

    @property
    def line(self) -> str:
        return (
            f"millstream ready bootstrap={self.bootstrap} node={self.node_id} "
            f"cluster={self.cluster_id} data={self.data_directory}"
        )


class NodeProcess:
    """One node in one event loop. `run` is its whole life."""

    def __init__(
        self, config: BrokerConfig, clock: Clock, random: Random, file_system: FileSystem
    ) -> None:
        self.state = BrokerState.NOT_RUNNING
        self._config = config
        self._clock = clock
        self._environment = LogEnvironment(file_system, random, config.producer_id_expiration_ms)
        self._server = SocketServer(_connection_limits(config), clock)
        self._stop_requested = asyncio.Event()
        self._abort = False
        self._patience: asyncio.Timeout | None = None
        """How long the shutdown waits for others, once it has begun."""

    def request_stop(self) -> None:
        """A clean shutdown; a second request makes it stop waiting for others."""
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time())
        self._stop_requested.set()

    def request_abort(self) -> None:
        """Drops everything where it stands, like a crash: nothing is flushed, closed or told to anybody."""
        self._abort = True
        self._stop_requested.set()

    async def run(
        self, announce: Callable[[ReadyReport], None], cluster_id: str | None = None
    ) -> None:
        """Until `request_stop`. Raises ConfigError, DamagedFile, KafkaStorageError with a sentence for the operator.

        `announce` is called once, when the node answers.
        """
        pool = DiskPool()
        directories: LogDirectories | None = None
        try:
            self._enter(BrokerState.STARTING)
            bound = self._bind()
            directories = open_data_directories(self._config, self._environment, cluster_id)
            await self._live(directories, bound, pool, announce)
        except BaseExceptionGroup as errors:
            raise _first(errors) from errors
        finally:
            self._server.close()
            pool.close()
            if directories is not None:
                directories.abandon()
            self._enter(BrokerState.NOT_RUNNING)

    async def _live(
        self,
        directories: LogDirectories,
        bound: tuple[Listener, ...],
        pool: DiskPool,
        announce: Callable[[ReadyReport], None],
    ) -> None:
        advertised = advertised_listeners(bound, self._config.advertised, socket.gethostname())
        async with asyncio.TaskGroup() as group:
            tasks = NodeTasks(group)
            parts = NodeParts(
                self._config, directories, self._environment, self._clock, tasks=tasks, pool=pool
            )
            self._enter(BrokerState.RECOVERY)
            await parts.start(advertised)
            tasks.start(self._server.serve(Dispatcher(parts.node, HANDLERS)), "connections")
            self._enter(BrokerState.RUNNING)
            announce(
                ReadyReport(
                    f"{advertised[0].host}:{advertised[0].port}",
                    self._config.node_id,
                    directories.metadata.meta.cluster_id,
                    ",".join(directories.paths),
                )
            )
            await self._stop_requested.wait()
            if not self._abort:
                await self._shut_down(parts)
            tasks.cancel_all()
        if not self._abort:
            await parts.close()

    async def _shut_down(self, parts: NodeParts) -> None:
        """Gives up leadership, answers what was asked, and tells whoever waits that the node goes."""
        self._enter(BrokerState.SHUTTING_DOWN)
        try:
            async with asyncio.timeout(None) as self._patience:
                await self._part_from_others(parts)
        except TimeoutError:
            _LOGGER.warning("asked to stop again: nobody is waited for any more")

    async def _part_from_others(self, parts: NodeParts) -> None:
        self._server.stop_accepting()
        if not await parts.leave(_LEAVE_TIMEOUT_S):
            _LOGGER.warning(
                "the controller did not let this broker go within %.0f s", _LEAVE_TIMEOUT_S
            )
        if not await self._server.drain(_DRAIN_TIMEOUT_S):
            _LOGGER.warning("some requests were not answered within %.0f s", _DRAIN_TIMEOUT_S)

    def _bind(self) -> tuple[Listener, ...]:
        return tuple(
            Listener(
                each.name,
                each.host,
                self._server.bind(
                    each.name, each.host, each.port, self._config.socket_listen_backlog_size
                ),
            )
            for each in self._config.listeners
        )

    def _enter(self, state: BrokerState) -> None:
        self.state = state
        _LOGGER.info("node %d is %s", self._config.node_id, state.name)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that the others of a tree of groups followed."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def _connection_limits(config: BrokerConfig) -> ConnectionLimits:
    unlimited = (1 << 63) - 1
    queued = config.queued_max_request_bytes
    return ConnectionLimits(
        request_bytes_max=config.socket_request_max_bytes,
        connections_max=config.max_connections,
        connections_per_host_max=config.max_connections_per_ip,
        queued_request_bytes_max=queued if queued >= 0 else unlimited,
        send_buffer_bytes=config.socket_send_buffer_bytes,
        receive_buffer_bytes=config.socket_receive_buffer_bytes,
        idle_ms=config.connections_max_idle_ms,
    )
