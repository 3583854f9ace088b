"""A client's view of the whole cluster: connections by broker, fresh metadata, coordinators.

Producer, Consumer and Admin each own one. Decisions (when to refresh, which version, how long to wait) are the core's;
this module performs them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from enum import Enum
from typing import TypeVar

from millstream import __version__
from millstream.clients.authentication import SaslAuthenticator
from millstream.clients.bearer_tokens import BearerTokens
from millstream.clients.connection import AnyResponse, Connection, ConnectionOptions
from millstream.clients.connections import Connections, DialPolicy, Lane, NoBrokerReachable
from millstream.clients.core.addresses import Address
from millstream.clients.core.backoff import Backoff
from millstream.clients.core.cluster_metadata import ClusterMetadata, TopicMetadata
from millstream.clients.core.config import ClientConfig
from millstream.clients.core.credentials import Password, credentials_from
from millstream.clients.core.leader_news import LeaderNews
from millstream.clients.core.metadata_state import MetadataPolicy, MetadataState
from millstream.clients.core.traffic import Traffic
from millstream.clients.dialing import Dialer, SocketOptions, canonical_addresses
from millstream.clients.tasks import TaskScope
from millstream.clients.telemetry import Telemetry
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
from millstream.protocol.generated.metadata import MetadataRequest, MetadataResponse
from millstream.runtime import Clock, Random

__all__ = ["Cluster", "CoordinatorType", "Lane"]

_Result = TypeVar("_Result")

_TRANSIENT_TOPIC_ERRORS = (3, 5)
"""A topic that is being created answers so for a moment."""


_client_numbers: defaultdict[type[ClientConfig], Iterator[int]] = defaultdict(
    lambda: itertools.count(1)
)
"""How many clients of each kind this process has named."""


class CoordinatorType(Enum):
    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


MetadataSource = Callable[[Connection, MetadataRequest], Awaitable[tuple[MetadataResponse, int]]]
"""Asks for a picture of the cluster: the answer, and the version it came in."""


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
        ask_metadata: MetadataSource | None = None,
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
                topic_idle_ms_max=config.topic_idle_ms_max,
            ),
            random,
        )
        self._scope = scope
        self.client_id = config.client_id or config.default_client_id(
            next(_client_numbers[type(config)])
        )
        self.traffic = Traffic()
        self._connections = Connections(
            _dialer(config, self.client_id, self.traffic, clock, random),
            DialPolicy(
                setup_timeout=Backoff(
                    config.socket_connection_setup_timeout_ms,
                    config.socket_connection_setup_timeout_max_ms,
                ),
                reconnect=Backoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms),
            ),
            scope,
            self.now_ms,
            random,
        )
        self._coordinators: dict[tuple[str, CoordinatorType], int] = {}
        self._metadata_wanted = asyncio.Event()
        self._metadata_changed = asyncio.Event()
        self._metadata_task: asyncio.Task[None] | None = None
        self._metadata_observer = metadata_observer
        self._ask_metadata = ask_metadata or _ask_broker
        self._refusal: KafkaError | None = None  # why the last metadata could not be had for good
        self._refusal_count = 0
        self._refusal_told = True
        self._metadata_error: KafkaError | None = None
        self.telemetry = Telemetry(self, scope)

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
        """Raises what the brokers say of the topic, at once: that its name is invalid, or not for us. RequestTimedOut
        when it is not there by the deadline.
        """
        told_before = self.metadata.version if name in self.picture.topic_errors else -1

        def find() -> TopicMetadata | None:
            code = self.picture.topic_errors.get(name)
            fresh = self.metadata.version > told_before
            if code is not None and code not in _TRANSIENT_TOPIC_ERRORS and fresh:
                raise error_for(code, f"topic {name!r}: {error_for(code)}")
            return self.picture.topics.get(name)

        self.use_topics(name)
        if told_before >= 0:
            self.request_metadata()  # what was wrong then may be right now
        return await self.until(
            find, deadline_ms, f"topic {name!r} is not in the cluster's metadata"
        )

    async def until(
        self, find: Callable[[], _Result | None], deadline_ms: int, otherwise: str
    ) -> _Result:
        """The first thing `find` returns, asked anew after each change of the metadata.

        Raises at once what no retry changes: that we are not let in, or speak no common version.
        """
        refusals = self._refusal_count
        if self._refusal is not None and find() is None:
            self.request_metadata()
        while True:
            found = find()
            if found is not None:
                return found
            if self._refusal is not None and self._refusal_count > refusals:
                raise type(self._refusal)(str(self._refusal)) from self._refusal
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

    def raise_refusal(self) -> None:
        """For who waits for something else than metadata: raises, once, why it could not be had for good; asks anew."""
        if self._refusal is not None and not self._refusal_told:
            self._refusal_told = True
            self.request_metadata()
            raise type(self._refusal)(str(self._refusal)) from self._refusal

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
        return None if node is None else self._connections.open(node.address, lane)

    async def connection(self, node_id: int, lane: Lane = Lane.MAIN) -> Connection:
        node = self.picture.nodes.get(node_id)
        if node is None:
            self.request_metadata()
            raise NetworkException(f"broker {node_id} is not in the cluster's metadata")
        try:
            return await self._connections.get(node.address, lane)
        except (NetworkException, RequestTimedOut):
            self.request_metadata()
            raise

    async def any_connection(self) -> Connection:
        """An open one with the least to do, else the first broker that can be reached."""
        connection = self._connections.least_loaded()
        if connection is not None:
            return connection
        nodes = [node.address for node in self.picture.nodes.values()]
        return await self._connections.first_reachable(nodes or await self._bootstrap_addresses())

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
        """Connections only; tasks are the scope's. What the broker wants to know last is told before."""
        try:
            await self.telemetry.terminate()
        finally:
            await self._connections.close()

    def _ensure_metadata_task(self) -> None:
        if self._metadata_task is None or self._metadata_task.done():
            self._scope.check()
            self._metadata_task = self._scope.start(self._keep_metadata(), "metadata")
            self.telemetry.start()

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
            self._coordinators.clear()
            await self._connections.close()
        request = self.metadata.plan_request(self.now_ms())
        try:
            response, version = await self._ask_metadata(await self.any_connection(), request)
        except KafkaError as error:
            self._metadata_failed(error)
        else:
            self._refusal = self._metadata_error = None
            self._refusal_told = True
            self.metadata.handle_response(response, self.now_ms(), version)
        self._metadata_changed.set()
        self._metadata_observer()

    def _metadata_failed(self, error: KafkaError) -> None:
        self._metadata_error = error
        if error.retriable:
            self.metadata.handle_failure(
                self.now_ms(), nobody_reachable=isinstance(error, NoBrokerReachable)
            )
            return
        self._refusal = error
        self._refusal_count += 1
        self._refusal_told = False
        self.metadata.handle_refusal(self.now_ms())

    async def _bootstrap_addresses(self) -> list[Address]:
        if self.config.client_dns_lookup == "use_all_dns_ips":
            return list(self.config.bootstrap_servers)
        return await canonical_addresses(self.config.bootstrap_servers)

    def _metadata_timeout(self, otherwise: str) -> KafkaError:
        if self._connections.any_failed and not self.picture.topics:
            return BrokerNotAvailable(
                f"{otherwise}; no broker could be reached: {self._connections.why_unreachable()}"
            )
        if self._metadata_error is not None:
            return RequestTimedOut(
                f"{otherwise}; the last attempt to fetch it: {self._metadata_error}"
            )
        return RequestTimedOut(f"{otherwise} (waited until the time limit)")


def _dialer(
    config: ClientConfig, client_id: str, traffic: Traffic, clock: Clock, random: Random
) -> Dialer:
    """Raises ConfigError when certificates cannot be read or credentials are missing."""
    tls = authenticator = None
    if config.security_protocol.endswith("SSL"):
        from millstream.clients.tls import tls_context

        tls = tls_context(config)
    credentials = credentials_from(config)
    if credentials is not None:
        tokens = None
        if not isinstance(credentials, Password):
            tokens = BearerTokens(credentials, config, clock, random)
        authenticator = SaslAuthenticator(credentials, tokens, random)
    options = ConnectionOptions(
        client_id=client_id,
        request_timeout_ms=config.request_timeout_ms,
        frame_bytes_max=config.receive_message_bytes_max,
        software_version=__version__,
        security_protocol=config.security_protocol,
        idle_ms_max=config.connections_max_idle_ms,
        traffic=traffic,
    )
    sockets = SocketOptions(config.send_buffer_bytes, config.receive_buffer_bytes)
    return Dialer(options, sockets, tls, authenticator)


async def _ask_broker(
    connection: Connection, request: MetadataRequest
) -> tuple[MetadataResponse, int]:
    version = connection.versions.choose(ApiKey.METADATA)
    return await connection.request(ApiKey.METADATA, request, MetadataResponse), version


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
