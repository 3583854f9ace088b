"""A client's view of the whole cluster: connections by broker, fresh metadata, coordinators.

Producer, Consumer and Admin each own one. Decisions (when to refresh, which version, how long to wait) are the core's;
this module performs them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, TypeVar

from millstream.clients.cluster.core.cluster_metadata import (
    ClusterMetadata,
    LeaderEpochs,
    TopicMetadata,
)
from millstream.clients.cluster.core.leader_changes import LeaderChanges
from millstream.clients.cluster.core.metadata_state import MetadataPolicy, MetadataState
from millstream.clients.cluster.metadata_refresh import MetadataRefresh
from millstream.clients.config import ClientConfig
from millstream.clients.core.client_names import named
from millstream.clients.core.named_errors import named_error
from millstream.clients.telemetry.telemetry import Telemetry
from millstream.errors import (
    BrokerNotAvailable,
    CoordinatorNotAvailable,
    InvalidTopic,
    KafkaError,
    LeaderNotAvailable,
    NetworkException,
    NotCoordinator,
    RequestTimedOut,
    RetriableError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from millstream.model import TopicPartition, Uuid
from millstream.net.client.connection import AnyResponse, Connection
from millstream.net.client.connections import AllRefused, Connections, DialPolicy, Lane
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.first_contact import FirstContact
from millstream.net.client.core.outages import Backoff
from millstream.net.client.core.traffic import Traffic
from millstream.net.client.dialer import canonical_addresses, dialer_for
from millstream.net.client.tasks import TaskScope
from millstream.net.network import Environment, system_environment
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.enums import CoordinatorType
from millstream.protocol.generated.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataResponse
from millstream.protocol.writing import refusal_of_text
from millstream.quoting import some_of

__all__ = ["Cluster", "Lane", "require_listener"]

_Result = TypeVar("_Result")

_LOGGER = logging.getLogger(__name__)
_CONNECTIONS_LOG = logging.getLogger("millstream.clients.connections")

_CREATION_IS_OPTIONAL_VERSION = 4
"""A broker that is asked for a topic in an earlier version creates it anyway."""
_WHILE_CREATED_MS: Final = (10, 10, 20, 40)
"""Our brokers need about 15 ms for the topic of their coordinators, Kafka's 200; the ordinary backoff would
cost each first start 100."""
_TRANSIENT_TOPIC_ERRORS = (UnknownTopicOrPartition.code, LeaderNotAvailable.code)
"""A topic that is being created answers so for a moment."""
_REFUSED_TOPIC_ERRORS = (TopicAuthorizationFailed.code, InvalidTopic.code)


MetadataSource = Callable[[Connection, MetadataRequest], Awaitable[tuple[MetadataResponse, int]]]
"""Asks for the metadata of the cluster. Returns the response, and the version it came in."""


class Cluster:
    def __init__(
        self,
        config: ClientConfig,
        scope: TaskScope,
        environment: Environment,
        *,
        allow_auto_create_topics: bool = True,
        metadata_observer: Callable[[], None] = lambda: None,
        ask_metadata: MetadataSource | None = None,
        retry_when_refused: bool = True,
    ) -> None:
        """`metadata_observer` is called after each refresh, successful or not."""
        config = named(config)
        self.config = config
        self.clock = environment.clock
        self.random = random = environment.random
        self._network = environment.network
        self.backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        policy = _metadata_policy(config, self.backoff, may_create=allow_auto_create_topics)
        self.metadata = MetadataState(policy, random)
        self._refused_topic_version = -1
        """The metadata of which a refused topic was told last."""
        self._scope = scope
        self.traffic = Traffic()
        first_contact = FirstContact(config.bootstrap_wait_ms if retry_when_refused else 0)
        self._connections = Connections(
            dialer_for(config, self.traffic, environment, first_contact),
            _dial_policy(config),
            scope,
            self.now_ms,
            random,
            log=_CONNECTIONS_LOG,
        )
        self._retry_when_refused = retry_when_refused
        self._refused_since_ms: int | None = None
        """When every bootstrap address first refused a client that has never been connected."""
        self._coordinators: dict[tuple[str, CoordinatorType], int] = {}
        self._kinds_found: set[CoordinatorType] = set()
        """Of these there has been a coordinator, so the topic of all of them exists."""
        self._ask_metadata = ask_metadata or partial(
            _ask_broker, may_create_topics=allow_auto_create_topics
        )
        self._metadata_observer = metadata_observer
        self._refresh = MetadataRefresh(
            self.metadata,
            scope,
            self.now_ms,
            self._connections,
            ask=self._ask_any,
            observer=self._on_refresh,
        )
        self.telemetry = Telemetry(self, scope)

    @property
    def snapshot(self) -> ClusterMetadata:
        """The metadata as it is now; a later one is another object."""
        return self.metadata.cluster

    @property
    def unreachable(self) -> str:
        """The addresses that could not be connected to lately, with reasons; empty when there are none."""
        return self._connections.why_unreachable() if self._connections.any_failed else ""

    def now_ms(self) -> int:
        return self.clock.now().monotonic_ms

    def request_metadata(self) -> None:
        """Ask for a refresh in the background."""
        self._refresh.request()

    def learn(self, news: LeaderChanges) -> None:
        """Leaders that an answer named in passing."""
        self.metadata.replace_cluster(news.told_to(self.snapshot))

    def learn_leader_epochs(self, epochs: LeaderEpochs, *, answers_max: int | None = None) -> None:
        """Takes in leaders' epochs that stood beside offsets: who is older is not asked any more.

        `answers_max`: unless so many answers know of none of these.
        """
        self.metadata.replace_cluster(self.snapshot.with_seen_epochs(epochs, answers_max))
        if self.snapshot.is_stale:
            stale = [str(partition) for _, partition in self.snapshot.seen_epochs]
            _LOGGER.warning(
                "the leaders in the metadata of %s are older than those that were read from before; newer metadata is asked for",
                some_of(stale),
            )
            self.request_metadata()

    def newest_leader(
        self, topic_id: Uuid, partition: TopicPartition, leader: int, epoch: int
    ) -> int:
        """Returns who leads, of a leader that a broker has named and those that are known of; -1 for nobody, with
        newer metadata on its way.
        """
        newest = self.snapshot.newest_leader(topic_id, partition, leader, epoch)
        if newest < 0 <= leader:
            self.use_topics(partition.topic)
            self.request_metadata()
        return newest

    def use_topics(self, *topics: str) -> None:
        self._scope.check()
        if self.metadata.use_topics(topics, self.now_ms()):
            self.request_metadata()

    async def topic(self, name: str, deadline_ms: int) -> TopicMetadata:
        """Returns the metadata of a topic.

        Raises what the brokers say of the topic, at once: that its name is invalid, or not for us. RequestTimedOut
        when it is not there by the deadline. TypeError for what is no name, and InvalidTopic for one that no request
        can carry: in that for metadata, which others share, it would be the end of the client.
        """
        if not isinstance(name, str):
            raise TypeError(f"topic takes a topic's name, got {name!r}")
        refusal = refusal_of_text(name)
        if refusal is not None:
            raise InvalidTopic(f"the topic's name cannot be sent: {refusal}")
        told_before = self.metadata.version if name in self.snapshot.topic_errors else -1

        def find() -> TopicMetadata | None:
            code = self.snapshot.topic_errors.get(name)
            fresh = self.metadata.version > told_before
            if code is not None and code not in _TRANSIENT_TOPIC_ERRORS and fresh:
                raise named_error(code, f"topic {name!r}")
            return self.snapshot.topics.get(name)

        self.use_topics(name)
        if told_before >= 0:
            self.request_metadata()  # what was wrong then may be right now
        return await self.until(
            find, deadline_ms, f"topic {name!r} is not in the cluster's metadata"
        )

    async def until(
        self, find: Callable[[], _Result | None], deadline_ms: int, otherwise: str
    ) -> _Result:
        """Returns the first thing `find` returns, asked anew after each change of the metadata.

        Raises at once what no retry changes: that we are not let in, or speak no common version.
        """
        return await self._refresh.until(find, deadline_ms, otherwise)

    def raise_refusal(self) -> None:
        """Raises, once, the error for which there is no metadata, for a caller that waits for
        something else; asks anew.
        """
        self._refresh.raise_refusal()

    def raise_refused_topic(self, topics: Iterable[str]) -> None:
        """Raises, once for each answer about them, that one of these topics is not for us, and asks anew: for
        who waits for its records.
        """
        if not self.snapshot.topic_errors or self.metadata.version == self._refused_topic_version:
            return
        for name in topics:
            code = self.snapshot.topic_errors.get(name)
            if code is not None and code in _REFUSED_TOPIC_ERRORS:
                self._refused_topic_version = self.metadata.version
                self.request_metadata()
                raise named_error(code, f"topic {name!r}")

    async def refresh_metadata(self, deadline_ms: int) -> ClusterMetadata:
        """Metadata that was asked for after this call."""
        before = self.metadata.version
        self.request_metadata()
        return await self.until(
            lambda: self.snapshot if self.metadata.version > before else None,
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
        """Sends a request to any broker that answers."""
        connection = await self.any_connection()
        return await connection.request(key, request, response_type)

    def open_connection(self, node_id: int, lane: Lane = Lane.MAIN) -> Connection | None:
        """Returns the one there is, without waiting."""
        node = self.snapshot.nodes.get(node_id)
        return None if node is None else self._connections.open(node.address, lane)

    async def connection(self, node_id: int, lane: Lane = Lane.MAIN) -> Connection:
        node = self.snapshot.nodes.get(node_id)
        if node is None:
            self.request_metadata()
            raise NetworkException(f"broker {node_id} is not in the cluster's metadata")
        try:
            return await self._connections.get(node.address, lane)
        except (NetworkException, RequestTimedOut):
            self.request_metadata()
            raise

    async def any_connection(self) -> Connection:
        """Returns an open one with the least to do, else the first broker that can be reached.

        Raises NoBrokerReachable; BrokerNotAvailable, which no retry follows, when every address refuses and there is
        nothing to wait for.
        """
        connection = self._connections.least_loaded()
        if connection is not None:
            return connection
        addresses = [node.address for node in self.snapshot.nodes.values()]
        if not addresses or not self._retry_when_refused:
            addresses += await self._bootstrap_addresses()
        try:
            return await self._connections.first_reachable(list(dict.fromkeys(addresses)))
        except AllRefused as error:
            if self._may_yet_start():
                raise
            raise BrokerNotAvailable(f"{error}{self._how_to_wait()}") from error

    def _may_yet_start(self) -> bool:
        """Whether to wait for a cluster that refuses: it restarts, or `bootstrap_wait_ms` is not over."""
        if not self._retry_when_refused or self._connections.has_connected:
            return self._retry_when_refused
        now_ms = self.now_ms()
        if self._refused_since_ms is None:
            self._refused_since_ms = now_ms
        return now_ms - self._refused_since_ms < self.config.bootstrap_wait_ms

    def _how_to_wait(self) -> str:
        """What an error says of the time that was waited; nothing where none was."""
        waited_ms = self.config.bootstrap_wait_ms
        if not self._retry_when_refused or self._connections.has_connected or not waited_ms:
            return ""
        return f" (tried for {waited_ms} ms: set bootstrap_wait_ms to wait longer for a cluster that has yet to start)"

    async def coordinator(self, key: str, kind: CoordinatorType = CoordinatorType.GROUP) -> int:
        """Node id of the coordinator, asked for once and remembered until `forget_coordinator`."""
        known = self._coordinators.get((key, kind))
        if known is not None and known in self.snapshot.nodes:
            return known
        self._coordinators[key, kind] = node_id = await self._look_for(key, kind)
        self._kinds_found.add(kind)
        if node_id not in self.snapshot.nodes:
            await self.refresh_metadata(self.now_ms() + self.config.request_timeout_ms)
        return node_id

    async def _look_for(self, key: str, kind: CoordinatorType) -> int:
        """Looks again soon while the brokers may just be creating the topic of these coordinators,
        as they do behind the first answer.
        """
        for pause_ms in () if kind in self._kinds_found else _WHILE_CREATED_MS:
            try:
                return await self._find_coordinator(key, kind)
            except CoordinatorNotAvailable:
                await asyncio.sleep(min(pause_ms, self.config.retry_backoff_ms) / 1000)
        return await self._find_coordinator(key, kind)

    async def _find_coordinator(self, key: str, kind: CoordinatorType) -> int:
        connection = await self.any_connection()
        response = await connection.request(
            ApiKey.FIND_COORDINATOR,
            _find(key, kind, connection.versions.choose(ApiKey.FIND_COORDINATOR)),
            FindCoordinatorResponse,
        )
        node_id, error_code, message = _found(response)
        if error_code:
            raise named_error(error_code, _coordinated(key, kind), message)
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
        """Calls `ask` with the coordinator of `key`, looking for it again when it has moved, until the deadline."""

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
        self._refresh.wake_waiters()

    async def close(self) -> None:
        """Connections only; tasks are the scope's. What the broker wants to know last is told before."""
        try:
            await self.telemetry.terminate()
        finally:
            await self._connections.close()

    async def _ask_any(self, request: MetadataRequest) -> tuple[MetadataResponse, int]:
        connection = await self._another_connection() if self.snapshot.is_stale else None
        return await self._ask_metadata(connection or await self.any_connection(), request)

    async def _another_connection(self) -> Connection | None:
        """Returns one to any of the brokers: the one that is least busy may be the one that has heard of nothing."""
        nodes = list(self.snapshot.nodes.values())
        if not nodes:
            return None  # it begins again with the bootstrap servers
        address = nodes[self.random.randrange(len(nodes))].address
        try:
            return await self._connections.get(address, Lane.MAIN)
        except (NetworkException, RequestTimedOut):
            return None

    def _on_refresh(self) -> None:
        self.telemetry.start()
        self._metadata_observer()

    async def _bootstrap_addresses(self) -> list[Address]:
        if self.config.client_dns_lookup == "use_all_dns_ips":
            return list(self.config.bootstrap_servers)
        return await canonical_addresses(self.config.bootstrap_servers, self._network)


async def require_listener(config: ClientConfig) -> None:
    """Raises BrokerNotAvailable where nothing listens at any bootstrap address for `bootstrap_wait_ms`, and what
    refuses us for good, as a login.

    For the start of an application whose own clients outlive a restart of the cluster. Whatever else may be
    wrong is theirs to find out and to say: so it returns as soon as anything answers, and soon after that
    time where there is only silence.
    """
    scope = TaskScope("first contact")
    cluster = Cluster(config, scope, system_environment())
    # An attempt that begins in time ends after the longest waits before a retry.
    grace_ms = config.reconnect_backoff_max_ms + config.retry_backoff_max_ms
    try:
        await cluster.retrying(
            cluster.any_connection, cluster.now_ms() + config.bootstrap_wait_ms + grace_ms
        )
    except BrokerNotAvailable:
        raise
    except KafkaError as error:
        if not error.retriable:  # a wrong password, a certificate that is not believed: its clients would be told again and again
            raise
        _CONNECTIONS_LOG.debug("first contact: %s", error)
    finally:
        await scope.close()
        await cluster.close()


async def _ask_broker(
    connection: Connection, request: MetadataRequest, *, may_create_topics: bool
) -> tuple[MetadataResponse, int]:
    version = connection.versions.choose(ApiKey.METADATA)
    if version < _CREATION_IS_OPTIONAL_VERSION and may_create_topics:
        request.allow_auto_topic_creation = True
    return await connection.request(ApiKey.METADATA, request, MetadataResponse), version


def _dial_policy(config: ClientConfig) -> DialPolicy:
    return DialPolicy(
        setup_timeout=Backoff(
            config.socket_connection_setup_timeout_ms,
            config.socket_connection_setup_timeout_max_ms,
        ),
        reconnect=Backoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms),
    )


def _metadata_policy(config: ClientConfig, backoff: Backoff, *, may_create: bool) -> MetadataPolicy:
    return MetadataPolicy(
        max_age_ms=config.metadata_max_age_ms,
        backoff=backoff,
        rebootstrap=config.metadata_recovery_strategy == "rebootstrap",
        rebootstrap_trigger_ms=config.metadata_recovery_rebootstrap_trigger_ms,
        allow_auto_create_topics=may_create,
        topic_idle_ms_max=config.topic_idle_ms_max,
    )


def _find(key: str, kind: CoordinatorType, version: int) -> FindCoordinatorRequest:
    if version >= 4:
        return FindCoordinatorRequest(key_type=kind.value, coordinator_keys=[key])
    return FindCoordinatorRequest(key=key, key_type=kind.value)


def _coordinated(key: str, kind: CoordinatorType) -> str:
    """What a coordinator is asked for, as errors call it."""
    return f"{'transactional id' if kind is CoordinatorType.TRANSACTION else 'group'} {key!r}"


def _found(response: FindCoordinatorResponse) -> tuple[int, int, str | None]:
    """(node id, error code, message); the answer's shape changed in version 4."""
    if response.coordinators:
        first = response.coordinators[0]
        return first.node_id, first.error_code, first.error_message
    return response.node_id, response.error_code, response.error_message
