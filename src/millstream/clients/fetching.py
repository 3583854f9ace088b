"""The background half of a consumer: finds positions and keeps fetches in flight.

Owns the tasks and the waiting. What to fetch and what an answer means is decided in `core.fetcher`.
"""

from __future__ import annotations

import asyncio
import contextlib

from millstream.clients.cluster import Cluster, Lane
from millstream.clients.committed_offsets import fetch_committed
from millstream.clients.core.config import ConsumerConfig
from millstream.clients.core.fetcher import RESET_TIMESTAMPS, Fetcher, FetchIntent, FetchPolicy
from millstream.clients.core.subscription import PartitionState, SubscriptionState
from millstream.clients.core.values import OffsetAndMetadata
from millstream.clients.offset_lookup import list_offsets
from millstream.clients.tasks import TaskScope
from millstream.errors import KafkaError, OffsetOutOfRange
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchResponse


class Fetching:
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
        self.fetcher = Fetcher(_policy(config), subscription)
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._position_task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Something changed: partitions, positions, room in the buffer, metadata."""
        if self._task is None or self._task.done():
            self._scope.check()
            self._task = self._scope.start(self._run(), "fetching")
        self._wake.set()

    def observe_metadata(self) -> None:
        self._wake.set()

    def announce(self) -> None:
        """Something that a waiting poll() must look at."""
        self._news.set()

    async def wait_for_news(self, timeout_ms: int) -> None:
        """Until data, a position or an error came in, at most `timeout_ms`."""
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                await self._news.wait()

    def want_position(self, state: PartitionState) -> None:
        """From the group if there is one, else as auto_offset_reset says."""
        if self._config.group_id is not None:
            state.committed_wanted = True
        else:
            self._reset(state)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            for intent in self.fetcher.plan(self._cluster.picture):
                self._scope.start(self._fetch(intent), f"fetch from {intent.node_id}")
            if self.fetcher.metadata_wanted:
                self.fetcher.metadata_wanted = False
                self._cluster.use_topics(*{tp.topic for tp in self._subscription.partitions})
                self._cluster.request_metadata()
            if self._position_task is None and self._without_position():
                self._position_task = self._scope.start(self._find_positions(), "positions")
            await self._wake.wait()

    async def _fetch(self, intent: FetchIntent) -> None:
        try:
            response = await self._cluster.request(
                intent.node_id,
                ApiKey.FETCH,
                self.fetcher.request(intent),
                FetchResponse,
                lane=Lane.FETCH,
                timeout_ms=self._config.request_timeout_ms + self._config.fetch_max_wait_ms,
                version_max=intent.version_max,
            )
        except KafkaError as error:
            self.fetcher.handle_failure(intent)
            await self._pause_after(error)
        else:
            failure = self.fetcher.handle_response(intent, response)
            self._cluster.learn(intent.news(response))
            if failure is not None or self.fetcher.metadata_wanted:
                await self._pause_after(failure)
        self._news.set()
        self._wake.set()

    async def _pause_after(self, error: KafkaError | None) -> None:
        """Errors that will not go away are raised by poll; the others get a moment."""
        if error is not None and not error.retriable:
            for state in self._subscription.partitions.values():
                state.error = state.error or error
        await asyncio.sleep(self._cluster.backoff.delay_ms(1, self._cluster.random) / 1000)

    def _without_position(self) -> list[PartitionState]:
        return [
            state
            for state in self._subscription.partitions.values()
            if state.needs_position and state.error is None
        ]

    async def _find_positions(self) -> None:
        try:
            if states := self._without_position():
                await self._find_positions_of(states)
        except KafkaError as error:
            if not error.retriable:
                for state in states:
                    state.error = error
            await asyncio.sleep(self._cluster.backoff.delay_ms(1, self._cluster.random) / 1000)
        finally:
            self._position_task = None
        self._news.set()
        self._wake.set()

    async def _find_positions_of(self, states: list[PartitionState]) -> None:
        deadline_ms = self._cluster.now_ms() + self._config.default_api_timeout_ms
        generations = {state.topic_partition: state.generation for state in states}
        committed = [state for state in states if state.committed_wanted]
        if committed:
            assert self._config.group_id is not None, "positions are committed to a group"
            found = await fetch_committed(
                self._cluster,
                self._config.group_id,
                [state.topic_partition for state in committed],
                deadline_ms,
                require_stable=self.read_committed,
            )
            for state in committed:
                if state.generation == generations[state.topic_partition]:
                    self._take_committed(state, found.get(state.topic_partition))
                    generations[state.topic_partition] = state.generation
        resets = {
            state.topic_partition: state.reset_timestamp
            for state in states
            if state.reset_timestamp is not None and state.needs_position
        }
        offsets = await list_offsets(
            self._cluster, resets, read_committed=self.read_committed, deadline_ms=deadline_ms
        )
        for state in states:
            result = offsets.get(state.topic_partition)
            if result is None or state.generation != generations[state.topic_partition]:
                continue
            if isinstance(result, KafkaError):
                state.error = None if result.retriable else result
            else:
                state.seek(result.offset, result.leader_epoch)

    def _take_committed(
        self, state: PartitionState, committed: OffsetAndMetadata | KafkaError | None
    ) -> None:
        if isinstance(committed, KafkaError):
            state.error = committed
        elif committed is not None:
            state.seek(committed.offset, committed.leader_epoch)
        else:
            self._reset(state)

    def _reset(self, state: PartitionState) -> None:
        timestamp = RESET_TIMESTAMPS.get(self._config.auto_offset_reset)
        if timestamp is not None:
            state.seek_to_timestamp(timestamp)
            return
        state.committed_wanted = False
        state.error = OffsetOutOfRange(
            f"{state.topic_partition} has no committed offset and auto_offset_reset is none; seek to where to start"
        )


def _policy(config: ConsumerConfig) -> FetchPolicy:
    return FetchPolicy(
        min_bytes=config.fetch_min_bytes,
        max_wait_ms=config.fetch_max_wait_ms,
        max_bytes=config.fetch_max_bytes,
        partition_max_bytes=config.max_partition_fetch_bytes,
        read_committed=config.isolation_level == "read_committed",
        check_crcs=config.check_crcs,
        auto_offset_reset=config.auto_offset_reset,
        rack=config.client_rack,
    )
