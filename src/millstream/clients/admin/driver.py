"""The edge of the admin client: performs a `Call`, whatever it is about.

Looks up where each item belongs, sends one request per broker, and asks again for the items alone that are worth it,
until the deadline. Knows connections and waiting, no API. The two lookups are calls themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable, Mapping
from typing import Protocol

from millstream.clients.admin.core.call import (
    Asked,
    Call,
    CallProgress,
    Key,
    LookupResponse,
    Place,
    Response,
    Value,
)
from millstream.clients.admin.core.lookups import coordinator_call, find_leaders
from millstream.clients.admin.core.results import Results
from millstream.clients.admin.core.routes import AnyBroker, Controller, Coordinator, Leader, Node
from millstream.clients.async_client import AsyncClient
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.errors import KafkaError
from millstream.net.client.connection import Connection
from millstream.net.client.tasks import TaskScope


class AdminApiDriver:
    def __init__(
        self,
        cluster: Cluster,
        scope: TaskScope,
        *,
        default_timeout_ms: int,
        asks_controllers: bool = False,
    ) -> None:
        """`asks_controllers`: the cluster's nodes are controllers, of which only the active one does all there is."""
        self._cluster = cluster
        self._scope = scope
        self._default_timeout_ms = default_timeout_ms
        self.asks_controllers = asks_controllers
        self._find_leaders = find_leaders(cluster.newest_leader)

    def deadline(self, timeout_ms: int | None) -> int:
        """Returns the deadline on the clock of `now_ms`. None takes default_api_timeout_ms."""
        self._scope.check()
        limit = self._default_timeout_ms if timeout_ms is None else timeout_ms
        return self._cluster.now_ms() + limit

    def now_ms(self) -> int:
        """Returns milliseconds since 1970, for what is compared to timestamps."""
        return self._cluster.clock.now().wall_ms

    async def nodes(self, deadline_ms: int) -> Mapping[int, BrokerNode]:
        """Returns the brokers there are now. Raises BrokerNotAvailable when none answers by the deadline."""
        return (await self._cluster.refresh_metadata(deadline_ms)).nodes

    async def one(self, call: Call[Key, Value, Response], key: Key, deadline_ms: int) -> Value:
        """Returns the result of a call that has a single item. Raises its error."""
        return (await self.run(call, [key], deadline_ms)).result(key)

    async def run(
        self, call: Call[Key, Value, Response], keys: Iterable[Key], deadline_ms: int
    ) -> Results[Key, Value]:
        """Returns a result or an error for each item.

        Retriable errors are those of the last attempt before the deadline.
        """
        progress = CallProgress(call, keys)
        while progress.pending and self._remaining_ms(deadline_ms) > 0:
            await self._attempt_and_back_off(call, progress, deadline_ms)
        return progress.results(self._cluster.unreachable)

    async def run_on_all_brokers(
        self, call: Call[int, Value, Response], deadline_ms: int
    ) -> Results[int, Value]:
        """Returns a result or an error for each broker there is.

        Where one that has not answered leaves the cluster all that are left are asked anew: what it coordinated is
        theirs now. Raises BrokerNotAvailable when none answers by the deadline.
        """
        progress = CallProgress(call, await self.nodes(deadline_ms))
        while progress.pending and self._remaining_ms(deadline_ms) > 0:
            await self._attempt_and_back_off(call, progress, deadline_ms)
            if not self._cluster.snapshot.nodes.keys() >= set(progress.pending):
                progress = CallProgress(call, self._cluster.snapshot.nodes)
        return progress.results(self._cluster.unreachable)

    async def _attempt_and_back_off(
        self,
        call: Call[Key, Value, Response],
        progress: CallProgress[Key, Value],
        deadline_ms: int,
    ) -> None:
        await self._attempt(call, progress, deadline_ms)
        if progress.pending:
            wait_ms = self._cluster.backoff.delay_ms(progress.attempts, self._cluster.random)
            await asyncio.sleep(min(wait_ms, self._remaining_ms(deadline_ms)) / 1000)

    async def _attempt(
        self,
        call: Call[Key, Value, Response],
        progress: CallProgress[Key, Value],
        deadline_ms: int,
    ) -> None:
        self._scope.check()
        keys = progress.start_attempt()
        try:
            located = await self._locate(call, keys, progress, deadline_ms)
        except KafkaError as error:
            progress.fail(keys, error)
            return
        by_node: dict[int | None, list[Key]] = {}
        for key, where in located.items():
            by_node.setdefault(where, []).append(key)
        with contextlib.suppress(TimeoutError):  # what was not answered stays pending
            async with asyncio.timeout(self._remaining_ms(deadline_ms) / 1000):
                await _wait_for_all(
                    self._ask(call, node_id, items, progress, deadline_ms)
                    for node_id, items in by_node.items()
                )

    async def _ask(
        self,
        call: Call[Key, Value, Response],
        node_id: int | None,
        keys: list[Key],
        progress: CallProgress[Key, Value],
        deadline_ms: int,
    ) -> None:
        try:
            connection = await self._connection(node_id, deadline_ms)
            version = call.version(connection.versions)
        except KafkaError as error:
            progress.fail(keys, error)
            return

        async def ask(batch: list[Key]) -> None:
            asked = Asked(batch, version, self._broker_timeout_ms(deadline_ms), node_id)
            try:
                response = await connection.request(
                    call.api, call.request(asked), call.response, version_max=version
                )
            except KafkaError as error:
                progress.fail(batch, error)
                return
            try:
                answers = call.read(response, asked)
            except KafkaError as error:
                answers = dict.fromkeys(batch, error)
            progress.take(batch, answers)

        await _wait_for_all(ask(batch) for batch in call.batches(keys, version))

    async def _locate(
        self,
        call: Call[Key, Value, Response],
        keys: list[Key],
        progress: CallProgress[Key, Value],
        deadline_ms: int,
    ) -> Mapping[Key, int | None]:
        """The broker of each item that has one now; None means any. Gives up at the deadline by itself."""
        match call.route:
            case AnyBroker() if not self.asks_controllers:
                return dict.fromkeys(keys)
            case AnyBroker() | Controller():
                return dict.fromkeys(keys, await self._controller(progress.attempts, deadline_ms))
            case Node(node_id):
                return {key: node_id(key) for key in keys}
            case Leader(partition):
                partitions = {key: partition(key) for key in keys}
                return await self._look_up(self._find_leaders, partitions, progress, deadline_ms)
            case Coordinator(kind, name):
                names = {key: name(key) for key in keys}
                return await self._look_up(coordinator_call(kind), names, progress, deadline_ms)

    async def _look_up(
        self,
        lookup: Call[Place, int, LookupResponse],
        places: Mapping[Key, Place],
        progress: CallProgress[Key, Value],
        deadline_ms: int,
    ) -> Mapping[Key, int]:
        """Looks once for the broker of each item. What has none now is looked for again before the next attempt: the
        others do not wait for it.
        """
        looking = CallProgress(lookup, places.values())
        await self._attempt(lookup, looking, deadline_ms)
        found = looking.results(self._cluster.unreachable)
        located = {}
        for key, place in places.items():
            where = found[place]
            if isinstance(where, KafkaError):
                progress.take_unlocated(key, where, lookup)
            else:
                located[key] = where
        return located

    async def _controller(self, attempts: int, deadline_ms: int) -> int | None:
        """With KRaft this is some broker, which passes on what is the controller's."""
        if attempts > 1 or not self._cluster.snapshot.nodes:
            await self._cluster.refresh_metadata(deadline_ms)
        snapshot = self._cluster.snapshot
        return snapshot.controller_id if snapshot.controller_id in snapshot.nodes else None

    async def _connection(self, node_id: int | None, deadline_ms: int) -> Connection:
        if node_id is None:
            return await self._cluster.any_connection()
        if node_id not in self._cluster.snapshot.nodes:
            await self._cluster.refresh_metadata(deadline_ms)
        return await self._cluster.connection(node_id)

    def _remaining_ms(self, deadline_ms: int) -> int:
        return max(0, deadline_ms - self._cluster.now_ms())

    def _broker_timeout_ms(self, deadline_ms: int) -> int:
        """Returns the time that the broker may take: it should answer before the connection is given up."""
        return max(1, min(self._remaining_ms(deadline_ms), self._cluster.config.request_timeout_ms))


async def _wait_for_all(attempts: Iterable[Awaitable[None]]) -> None:
    """Waits for the end of all of them, then raises the first failure; a cancelled caller cancels them."""
    for outcome in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


class AdminCalls(AsyncClient, Protocol):
    """The admin client, as the calls of its packages see it: they are its methods."""

    _driver: AdminApiDriver
    """Carries the call out."""
