"""A client's view of the whole cluster: connections by broker, fresh metadata, coordinators.

Producer, Consumer and Admin each own one. Decisions (when to refresh, which version, how long to wait) are the core's;
this module performs them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import TypeVar

from millstream import __version__
from millstream.clients.connection import AnyResponse, Connection, ConnectionOptions, connect
from millstream.clients.core.addresses import Address
from millstream.clients.core.backoff import Backoff
from millstream.clients.core.cluster_metadata import ClusterMetadata, TopicMetadata
from millstream.clients.core.config import ClientConfig
from millstream.clients.core.leader_news import LeaderNews
from millstream.clients.core.metadata_state import MetadataPolicy, MetadataState
from millstream.clients.tasks import TaskScope
from millstream.errors import (
    BrokerNotAvailable,
    CoordinatorNotAvailable,
    KafkaError,
    NetworkException,
    NotCoordinator,
    RequestTimedOut,
    RetriableError,
    error_for,
)
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from millstream.protocol.generated.metadata import MetadataResponse
from millstream.runtime import Clock, Random

_Result = TypeVar("_Result")

_TRANSIENT_TOPIC_ERRORS = (3, 5)
"""A topic that is being created answers so for a moment."""


class Lane(Enum):
    """Brokers answer a connection's requests in order, so what may wait long has a connection of its own."""

    MAIN = "main"
    FETCH = "fetch"
    GROUP = "group"


class CoordinatorType(Enum):
    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class Cluster:
    def __init__(
        self,
        config: ClientConfig,
        scope: TaskScope,
        clock: Clock,
        random: Random,
        *,
        allow_auto_create_topics: bool = True,
        metadata_observer: Callable[[], None] = lambda: None,
    ) -> None:
        """`metadata_observer` is called after each refresh, successful or not."""
        self.config = config
        self.clock = clock
        self.random = random
        self.backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self.metadata = MetadataState(
            MetadataPolicy(
                max_age_ms=config.metadata_max_age_ms,
                backoff=self.backoff,
                rebootstrap=config.metadata_recovery_strategy == "rebootstrap",
                rebootstrap_trigger_ms=config.metadata_recovery_rebootstrap_trigger_ms,
                allow_auto_create_topics=allow_auto_create_topics,
            ),
            random,
        )
        self._scope = scope
        self._options = ConnectionOptions(
            client_id=config.client_id,
            setup_timeout_ms=config.socket_connection_setup_timeout_ms,
            request_timeout_ms=config.request_timeout_ms,
            frame_bytes_max=config.receive_message_bytes_max,
            software_version=__version__,
        )
        self._reconnect = Backoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms)
        self._connections: dict[tuple[Address, Lane], Connection] = {}
        self._connecting: dict[tuple[Address, Lane], asyncio.Lock] = {}
        self._failures: dict[Address, tuple[int, int, str]] = {}  # count, next attempt ms, why
        self._coordinators: dict[tuple[str, CoordinatorType], int] = {}
        self._metadata_wanted = asyncio.Event()
        self._metadata_changed = asyncio.Event()
        self._metadata_task: asyncio.Task[None] | None = None
        self._metadata_observer = metadata_observer

    @property
    def picture(self) -> ClusterMetadata:
        return self.metadata.cluster

    def now_ms(self) -> int:
        return self.clock.now().monotonic_ms

    def request_metadata(self) -> None:
        """Ask for a refresh in the background."""
        self._scope.check()
        self.metadata.request_update()
        self._ensure_metadata_task()
        self._metadata_wanted.set()

    def learn(self, news: LeaderNews) -> None:
        """Leaders that an answer named in passing."""
        self.metadata.replace_cluster(news.told_to(self.picture))

    def use_topics(self, *topics: str) -> None:
        if self.metadata.use_topics(topics, self.now_ms()):
            self.request_metadata()

    async def topic(self, name: str, deadline_ms: int) -> TopicMetadata:
        """Raises UnknownTopicOrPartition and the like when the topic is not there by the deadline."""

        def find() -> TopicMetadata | None:
            code = self.picture.topic_errors.get(name)
            if code is not None and code not in _TRANSIENT_TOPIC_ERRORS:
                raise error_for(code, f"topic {name!r}: {error_for(code)}")
            return self.picture.topics.get(name)

        self.use_topics(name)
        return await self.until(
            find, deadline_ms, f"topic {name!r} is not in the cluster's metadata"
        )

    async def until(
        self, find: Callable[[], _Result | None], deadline_ms: int, otherwise: str
    ) -> _Result:
        """The first thing `find` returns, asked anew after each change of the metadata."""
        while True:
            found = find()
            if found is not None:
                return found
            remaining_ms = deadline_ms - self.now_ms()
            if remaining_ms <= 0:
                raise self._metadata_timeout(otherwise)
            self._scope.check()
            self._metadata_changed.clear()
            self._ensure_metadata_task()
            try:
                async with asyncio.timeout(remaining_ms / 1000):
                    await self._metadata_changed.wait()
            except TimeoutError:
                continue
            self._scope.check()

    async def refresh_metadata(self, deadline_ms: int) -> ClusterMetadata:
        """Metadata that was asked for after this call."""
        before = self.metadata.version
        self.request_metadata()
        return await self.until(
            lambda: self.picture if self.metadata.version > before else None,
            deadline_ms,
            "the cluster's metadata could not be fetched",
        )

    async def request(
        self,
        node_id: int,
        key: ApiKey,
        request: Message,
        response_type: type[AnyResponse],
        *,
        lane: Lane = Lane.MAIN,
        timeout_ms: int | None = None,
        version_max: int = 2**15,
    ) -> AnyResponse:
        connection = await self.connection(node_id, lane)
        return await connection.request(
            key, request, response_type, timeout_ms=timeout_ms, version_max=version_max
        )

    async def request_any(
        self, key: ApiKey, request: Message, response_type: type[AnyResponse]
    ) -> AnyResponse:
        """From whichever broker answers."""
        connection = await self.any_connection()
        return await connection.request(key, request, response_type)

    def open_connection(self, node_id: int, lane: Lane = Lane.MAIN) -> Connection | None:
        """The one there is, without waiting."""
        node = self.picture.nodes.get(node_id)
        connection = None if node is None else self._connections.get((node.address, lane))
        return None if connection is None or connection.is_closed else connection

    async def connection(self, node_id: int, lane: Lane = Lane.MAIN) -> Connection:
        node = self.picture.nodes.get(node_id)
        if node is None:
            self.request_metadata()
            raise NetworkException(f"broker {node_id} is not in the cluster's metadata")
        try:
            return await self._connect(node.address, lane)
        except (NetworkException, RequestTimedOut):
            self.request_metadata()
            raise

    async def coordinator(self, key: str, kind: CoordinatorType = CoordinatorType.GROUP) -> int:
        """Node id of the coordinator, asked for once and remembered until `forget_coordinator`."""
        known = self._coordinators.get((key, kind))
        if known is not None and known in self.picture.nodes:
            return known
        connection = await self.any_connection()
        response = await connection.request(
            ApiKey.FIND_COORDINATOR,
            _find(key, kind, connection.versions.choose(ApiKey.FIND_COORDINATOR)),
            FindCoordinatorResponse,
        )
        node_id, error_code, message = _found(response)
        if error_code:
            raise error_for(error_code, message)
        self._coordinators[key, kind] = node_id
        if node_id not in self.picture.nodes:
            await self.refresh_metadata(self.now_ms() + self.config.request_timeout_ms)
        return node_id

    def forget_coordinator(self, key: str, kind: CoordinatorType = CoordinatorType.GROUP) -> None:
        self._coordinators.pop((key, kind), None)

    async def with_coordinator(
        self,
        key: str,
        ask: Callable[[int], Awaitable[_Result]],
        deadline_ms: int,
        kind: CoordinatorType = CoordinatorType.GROUP,
    ) -> _Result:
        """`ask` the coordinator of `key`, looking for it again when it has moved, until the deadline."""

        async def attempt() -> _Result:
            node_id = await self.coordinator(key, kind)
            try:
                return await ask(node_id)
            except (NotCoordinator, CoordinatorNotAvailable, NetworkException, RequestTimedOut):
                self.forget_coordinator(key, kind)
                raise

        return await self.retrying(attempt, deadline_ms)

    async def retrying(
        self, attempt: Callable[[], Awaitable[_Result]], deadline_ms: int
    ) -> _Result:
        """Repeat `attempt` with growing waits while it raises RetriableError; the last error at the deadline."""
        failures = 0
        cause: RetriableError | None = None
        while True:
            remaining_ms = deadline_ms - self.now_ms()
            try:
                async with asyncio.timeout(max(0, remaining_ms) / 1000):
                    return await attempt()
            except TimeoutError as error:
                before = f"; the last attempt before ended with: {cause}" if cause else ""
                raise RequestTimedOut(f"the time limit of the call is over{before}") from error
            except RetriableError as error:
                cause = error
                failures += 1
                wait_ms = self.backoff.delay_ms(failures, self.random)
                if self.now_ms() + wait_ms >= deadline_ms:
                    raise
                await asyncio.sleep(wait_ms / 1000)

    def wake_waiters(self) -> None:
        """The metadata task is gone: those who wait for it must look at the scope."""
        self._metadata_changed.set()

    async def close(self) -> None:
        """Connections only; tasks are the scope's."""
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    def _ensure_metadata_task(self) -> None:
        if self._metadata_task is None or self._metadata_task.done():
            self._scope.check()
            self._metadata_task = self._scope.start(self._keep_metadata(), "metadata")

    async def _keep_metadata(self) -> None:
        while True:
            due_ms = self.metadata.due_ms(self.now_ms())
            if due_ms == 0:
                await self._fetch_metadata()
                continue
            self._metadata_wanted.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(due_ms / 1000):
                    await self._metadata_wanted.wait()

    async def _fetch_metadata(self) -> None:
        if self.metadata.rebootstrap_needed:
            self.metadata.rebootstrapped()
        request = self.metadata.plan_request(self.now_ms())
        try:
            response = await self.request_any(ApiKey.METADATA, request, MetadataResponse)
        except KafkaError:
            self.metadata.handle_failure(self.now_ms())
        else:
            self.metadata.handle_response(response, self.now_ms())
        self._metadata_changed.set()
        self._metadata_observer()

    async def any_connection(self) -> Connection:
        """An open one with the least to do, else the first broker that can be reached."""
        usable = [
            connection
            for (_, lane), connection in self._connections.items()
            if lane is Lane.MAIN and not connection.is_closed
        ]
        if usable:
            return min(usable, key=lambda connection: connection.in_flight_count)
        nodes = [node.address for node in self.picture.nodes.values()]
        addresses = nodes or list(self.config.bootstrap_servers)
        start = self.random.randrange(len(addresses))
        for address in addresses[start:] + addresses[:start]:
            try:
                return await self._connect(address, Lane.MAIN)
            except (NetworkException, RequestTimedOut):
                continue
        raise NetworkException(f"no broker could be reached: {self._why_unreachable()}")

    async def _connect(self, address: Address, lane: Lane) -> Connection:
        key = (address, lane)
        connection = self._connections.get(key)
        if connection is not None and not connection.is_closed:
            return connection
        async with self._connecting.setdefault(key, asyncio.Lock()):
            connection = self._connections.get(key)
            if connection is not None and not connection.is_closed:
                return connection
            failures, next_attempt_ms, _ = self._failures.get(address, (0, 0, ""))
            wait_ms = next_attempt_ms - self.now_ms()
            if wait_ms > 0:
                await asyncio.sleep(wait_ms / 1000)
            try:
                connection = await connect(address, self._options)
            except KafkaError as error:
                failures += 1
                retry_ms = self.now_ms() + self._reconnect.delay_ms(failures, self.random)
                self._failures[address] = (failures, retry_ms, str(error))
                raise
            if self._scope.is_closed:
                await connection.close()
            self._scope.check()
            self._failures.pop(address, None)
            self._connections[key] = connection
            return connection

    def _why_unreachable(self) -> str:
        return "; ".join(why for _, _, why in self._failures.values()) or "no address was tried yet"

    def _metadata_timeout(self, otherwise: str) -> KafkaError:
        if self._failures and not self.picture.topics:
            return BrokerNotAvailable(
                f"{otherwise}; no broker could be reached: {self._why_unreachable()}"
            )
        return RequestTimedOut(f"{otherwise} (waited until the time limit)")


def _find(key: str, kind: CoordinatorType, version: int) -> FindCoordinatorRequest:
    if version >= 4:
        return FindCoordinatorRequest(key_type=kind.value, coordinator_keys=[key])
    return FindCoordinatorRequest(key=key, key_type=kind.value)


def _found(response: FindCoordinatorResponse) -> tuple[int, int, str | None]:
    """(node id, error code, message); the answer's shape changed in version 4."""
    if response.coordinators:
        first = response.coordinators[0]
        return first.node_id, first.error_code, first.error_message
    return response.node_id, response.error_code, response.error_message
