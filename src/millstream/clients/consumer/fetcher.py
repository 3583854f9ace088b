"""The background half of a consumer: finds positions and keeps fetches in flight.

Owns the tasks and the waiting. What to fetch and what an answer means is decided in `core.fetch_planner`, whom to ask
for a position in `core.positions`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.config import ConsumerConfig
from millstream.clients.consumer.core.fetch_planner import FetchPlanner, FetchPolicy, PlannedFetch
from millstream.clients.consumer.core.fetched_records import FetchedRecords
from millstream.clients.consumer.core.metrics import ConsumerCounters
from millstream.clients.consumer.core.offset_reset import parse_offset_reset
from millstream.clients.consumer.core.partition_state import PartitionState
from millstream.clients.consumer.core.positions import PositionQuery, Positions
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.position_lookup import PositionLookup
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.errors import KafkaError
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchResponse

_ANSWERS_MAX: Final = 60
"""About a minute of refreshes, which a broker that is cut off does not outlast often; Kafka asks for ever."""


class Fetcher:
    def __init__(
        self,
        config: ConsumerConfig,
        cluster: Cluster,
        subscription: SubscriptionState,
        scope: TaskScope,
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._subscription = subscription
        self._scope = scope
        self.read_committed = config.isolation_level == "read_committed"
        policy = _policy(config)
        self._planner = FetchPlanner(policy, subscription)
        self._positions = Positions(subscription, policy.reset)
        self._lookup = PositionLookup(config, cluster, self._positions)
        self.counters = ConsumerCounters()
        self.records = FetchedRecords(subscription, check_crcs=config.check_crcs)
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def ask_as(self, member: Callable[[], ConsumerGroupMetadata]) -> None:
        """Asks for committed offsets as this member of a KIP-848 group from now on."""
        self._lookup.member = member

    def wake(self) -> None:
        """Notes that something changed: partitions, positions, room in the buffer."""
        if self._task is None or self._task.done():
            self._scope.check()
            self._task = self._scope.start(self._run(), "fetching")
        self._wake.set()

    async def send_next(self) -> None:
        """Sends what is to be asked for now, before the caller is busy with what it has. Lets other tasks run, too."""
        self._scope.check()
        self._start_requests()
        await asyncio.sleep(0)

    def observe_metadata(self) -> None:
        self._planner.handle_metadata()
        self._wake.set()

    def announce(self) -> None:
        """Wakes a waiting poll() for something that it must look at."""
        self._news.set()

    async def wait_for_news(self, timeout_ms: int) -> None:
        """Waits until data, a position or an error came in, at most `timeout_ms`."""
        self._news.clear()  # who waits has looked at what there is, and waited for nothing since
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                await self._news.wait()

    def want_position(self, state: PartitionState) -> None:
        """Asks for the position: from the group if there is one, else as auto_offset_reset says."""
        self._positions.want(state, has_group=self._config.group_id is not None)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            self._start_requests()
            await self._wake.wait()

    def _start_requests(self) -> None:
        snapshot = self._cluster.snapshot
        for query in self._positions.plan(snapshot):
            self._scope.start(self._find(query), "positions")
        if unheard := self._positions.unheard_epochs:
            self._cluster.learn_leader_epochs(unheard, answers_max=_ANSWERS_MAX)
            unheard.clear()
        for planned in self._planner.plan(snapshot, self._cluster.now_ms()):
            self._scope.start(self._fetch(planned), f"fetch from {planned.node_id}")
        if self._planner.metadata_wanted or self._positions.metadata_wanted:
            self._planner.metadata_wanted = self._positions.metadata_wanted = False
            self._cluster.use_topics(*{tp.topic for tp in self._subscription.partitions})
            self._cluster.request_metadata()

    async def _fetch(self, planned: PlannedFetch) -> None:
        failure: KafkaError | None
        began_ms = self._cluster.now_ms()
        try:
            response = await self._cluster.request(
                planned.node_id,
                ApiKey.FETCH,
                self._planner.request(planned),
                FetchResponse,
                lane=Lane.FETCH,
                timeout_ms=self._config.request_timeout_ms + self._config.fetch_max_wait_ms,
                version_max=planned.version_max,
            )
        except KafkaError as error:
            failure = error
            self._planner.handle_failure(planned, error)
        else:
            failure = self._planner.handle_response(planned, response, self._cluster.now_ms())
            self.counters.bytes_fetched += planned.record_bytes(response)
            self._learn(planned, response)
        self._count(failed=failure is not None, took_ms=self._cluster.now_ms() - began_ms)
        self._news.set()
        if failure is not None:
            await self._pause()
        self._planner.finish(planned)
        self._wake.set()

    def _count(self, *, failed: bool, took_ms: int) -> None:
        counters = self.counters
        counters.fetches += 1
        counters.fetch_failures += failed
        counters.fetch_ms += took_ms
        counters.fetch_ms_max = max(counters.fetch_ms_max, took_ms)

    def _learn(self, planned: PlannedFetch, response: FetchResponse) -> None:
        """Takes over the leaders that the answer names (KIP-951): partitions that have moved are
        fetched from there without a look-up.
        """
        before = self._cluster.snapshot
        self._cluster.learn(planned.news(response))
        if self._cluster.snapshot is not before:
            self._planner.handle_metadata()

    async def _find(self, query: PositionQuery) -> None:
        await self._lookup.find(query)
        self._news.set()
        self._wake.set()
        if self._positions.is_unanswered(query):
            await self._pause()
        self._positions.finish(query)
        self._wake.set()

    async def _pause(self) -> None:
        await asyncio.sleep(self._cluster.backoff.delay_ms(1, self._cluster.random) / 1000)


def _policy(config: ConsumerConfig) -> FetchPolicy:
    return FetchPolicy(
        min_bytes=config.fetch_min_bytes,
        max_wait_ms=config.fetch_max_wait_ms,
        max_bytes=config.fetch_max_bytes,
        partition_max_bytes=config.max_partition_fetch_bytes,
        read_committed=config.isolation_level == "read_committed",
        reset=parse_offset_reset(config.auto_offset_reset),
        rack=config.client_rack,
        read_replica_ms=config.metadata_max_age_ms,
    )
