"""Client telemetry (KIP-714) as it is lived: asks a broker what it wants to know of this client, and tells it that.

Off unless enable_metrics_push says so. What is said, and when, is decided in `core.session`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from millstream.clients.core import arguments
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.telemetry.core.metrics import Measured, Metric, metrics_of
from millstream.clients.telemetry.core.session import DEFAULT_INTERVAL_MS, TelemetrySession
from millstream.errors import KafkaError, RequestTimedOut
from millstream.model import uuid_text
from millstream.net.client.connection import Connection
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsResponse,
)
from millstream.protocol.generated.push_telemetry import (
    PushTelemetryRequest,
    PushTelemetryResponse,
)

if TYPE_CHECKING:
    from millstream.clients.cluster.cluster import Cluster

_LAST_PUSH_SECONDS: Final = 1.0
_LABELS: Final = ("client_rack", "group_id", "group_instance_id", "transactional_id")
"""Settings that every push names, where the client has them."""


class Telemetry:
    def __init__(self, cluster: Cluster, scope: TaskScope) -> None:
        self._cluster = cluster
        self._scope = scope
        config = cluster.config
        self._enabled = config.enable_metrics_push
        labels = {name: getattr(config, name, None) for name in _LABELS}
        resource = {name: value for name, value in labels.items() if value}
        now = cluster.clock.now()
        self._session = TelemetrySession(resource, cluster.random, now)
        self._measured_ms = now.monotonic_ms
        self._connections_before = 0
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._progress = asyncio.Event()

    def start(self) -> None:
        """Starts telemetry, once the client has something to do."""
        if self._enabled and self._task is None:
            self._task = self._scope.start(self._run(), "telemetry")

    async def client_instance_id(self, timeout_ms: int) -> str:
        """Returns the id as the cluster's tools show it.

        Raises IllegalState when telemetry is off, RequestTimedOut, UnsupportedVersion.
        """
        if not self._enabled:
            raise IllegalState(
                "there is no client instance id without telemetry: set enable_metrics_push=True"
            )
        deadline_ms = self._cluster.now_ms() + arguments.timeout(timeout_ms)
        self.start()
        while self._session.client_instance_id is None:
            if self._session.ended_by is not None:
                raise type(self._session.ended_by)(str(self._session.ended_by))
            self._scope.check()
            self._progress.clear()
            remaining_ms = deadline_ms - self._cluster.now_ms()
            try:
                async with asyncio.timeout(remaining_ms / 1000):
                    await self._progress.wait()
            except TimeoutError as error:
                raise RequestTimedOut(
                    "no broker has given this client an instance id in time"
                ) from error
        return uuid_text(self._session.client_instance_id)

    async def terminate(self) -> None:
        """Sends the last push, if a broker waits for one. The client is closed whether it takes it or not."""
        connection = self._connection
        if self._session.subscription is None or connection is None or connection.is_closed:
            return
        request = self._session.plan_push(
            self._measure(), self._cluster.clock.now(), terminating=True
        )
        try:
            async with asyncio.timeout(_LAST_PUSH_SECONDS):
                await self._push(connection, request)
        except (KafkaError, TimeoutError):
            return  # it is not missed

    async def _run(self) -> None:
        while (due_ms := self._session.due_ms(self._cluster.now_ms())) is not None:
            if due_ms > 0:
                await asyncio.sleep(due_ms / 1000)
                continue
            try:
                await self._exchange()
            except KafkaError as error:
                self._session.handle_failure(error, self._cluster.now_ms())
            self._progress.set()

    async def _exchange(self) -> None:
        """With one broker as long as it can be reached: another one does not know what was agreed."""
        if self._connection is None or self._connection.is_closed:
            self._connection = await self._cluster.retrying(
                self._cluster.any_connection, self._cluster.now_ms() + DEFAULT_INTERVAL_MS
            )
        if self._session.subscription is None:
            subscribed = await self._connection.request(
                ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
                self._session.plan_subscription(),
                GetTelemetrySubscriptionsResponse,
            )
            self._session.handle_subscription(subscribed, self._cluster.now_ms())
        else:
            request = self._session.plan_push(self._measure(), self._cluster.clock.now())
            pushed = await self._push(self._connection, request)
            self._session.handle_push(pushed, self._cluster.now_ms())

    async def _push(
        self, connection: Connection, request: PushTelemetryRequest
    ) -> PushTelemetryResponse:
        return await connection.request(ApiKey.PUSH_TELEMETRY, request, PushTelemetryResponse)

    def _measure(self) -> Iterator[Metric]:
        """Since the last time."""
        now_ms = self._cluster.now_ms()
        traffic = self._cluster.traffic.take()
        nodes = self._cluster.snapshot.nodes
        measured = Measured(
            traffic,
            traffic.connections_made - self._connections_before,
            now_ms - self._measured_ms,
            {node.address: node_id for node_id, node in nodes.items()},
        )
        self._measured_ms, self._connections_before = now_ms, traffic.connections_made
        return metrics_of(self._cluster.config.metrics_prefix, measured)
