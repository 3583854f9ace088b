"""The background half of a share consumer: sends what `core.fetch_planner` plans, and gives it the answers."""

from __future__ import annotations

import asyncio
import contextlib

from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.config.share import RECORD_LIMIT, ShareConsumerConfig
from millstream.clients.share.core.buffer import ShareBuffer
from millstream.clients.share.core.commit import ShareCommit
from millstream.clients.share.core.fetch_planner import ShareFetchPlanner
from millstream.clients.share.core.planned_requests import (
    PlannedAcknowledge,
    PlannedShareFetch,
    PlannedShareRequest,
)
from millstream.clients.share.core.requests import SharePolicy
from millstream.clients.share.core.values import NodeAcknowledgements
from millstream.clients.share.member import ShareMember
from millstream.errors import KafkaError, UnsupportedVersion
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.share_acknowledge import ShareAcknowledgeResponse
from millstream.protocol.generated.share_fetch import ShareFetchResponse

_FIRST_VERSION_THAT_RENEWS = 2


class ShareFetcher:
    def __init__(
        self,
        config: ShareConsumerConfig,
        cluster: Cluster,
        member: ShareMember,
        scope: TaskScope,
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._member = member
        self._scope = scope
        self.buffer = ShareBuffer()
        self.fetcher = ShareFetchPlanner(
            SharePolicy(
                config.group_id,
                member.membership.member_id,
                config.fetch_min_bytes,
                config.fetch_max_wait_ms,
                config.fetch_max_bytes,
                config.share_acquire_mode == RECORD_LIMIT,
                config.check_crcs,
            ),
            self.buffer,
            cluster.backoff,
            cluster.random,
        )
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # ---- what the application does

    def fetch(self, acknowledgements: list[NodeAcknowledgements], count: int) -> None:
        self.fetcher.fetch(acknowledgements, count)
        self.wake()

    def commit(self, acknowledgements: list[NodeAcknowledgements], deadline_ms: int) -> ShareCommit:
        commit = self.fetcher.commit(acknowledgements, self._cluster.snapshot, deadline_ms)
        self.wake()
        return commit

    def close(self, acknowledgements: list[NodeAcknowledgements], deadline_ms: int) -> ShareCommit:
        commit = self.fetcher.close(acknowledgements, self._cluster.snapshot, deadline_ms)
        self.wake()
        return commit

    async def wait_until_complete(self, commit: ShareCommit, deadline_ms: int) -> bool:
        """Waits for the outcome. Returns False when the deadline came first."""
        while not commit.is_complete:
            self._scope.check()
            remaining_ms = deadline_ms - self._cluster.now_ms()
            if remaining_ms <= 0:
                return False
            await self.wait_for_news(remaining_ms)
        return True

    async def wait_for_news(self, timeout_ms: int) -> None:
        """Waits until an answer or an error came in, at most `timeout_ms`."""
        self._news.clear()  # who waits has looked at what there is, and waited for nothing since
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                await self._news.wait()

    # ---- in the background

    def wake(self) -> None:
        """Notes that something changed: acknowledgements, assignment, metadata."""
        if self._task is None or self._task.done():
            self._scope.check()
            self._task = self._scope.start(self._run(), "share fetching")
        self._wake.set()

    def observe_metadata(self) -> None:
        self._wake.set()

    def observe_member(self) -> None:
        """The assignment may be another, or the coordinator has refused us."""
        self._wake.set()
        self._news.set()

    def announce(self) -> None:
        """Wakes a waiting call for something that it must look at."""
        self._news.set()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            now_ms = self._cluster.now_ms()
            for planned in self.fetcher.plan(
                self._member.assigned(), self._cluster.snapshot, now_ms
            ):
                self._scope.start(self._send(planned), f"share request to {planned.node_id}")
            if self.fetcher.take_metadata_wanted():
                self._cluster.request_metadata()
            turn_ms = self.fetcher.next_turn_ms(now_ms)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if turn_ms is None else turn_ms / 1000):
                    await self._wake.wait()

    async def _send(self, planned: PlannedShareRequest) -> None:
        try:
            if isinstance(planned, PlannedShareFetch):
                await self._send_fetch(planned)
            else:
                await self._send_acknowledge(planned)
        except KafkaError as error:
            self.fetcher.handle_failure(planned, error, self._cluster.now_ms())
        self._news.set()
        self._wake.set()

    async def _send_fetch(self, planned: PlannedShareFetch) -> None:
        connection = await self._cluster.connection(planned.node_id, Lane.FETCH)
        version = connection.versions.choose(ApiKey.SHARE_FETCH)
        _check_renewal(planned.request.is_renew_ack, version)
        response = await connection.request(
            ApiKey.SHARE_FETCH,
            planned.request,
            ShareFetchResponse,
            timeout_ms=self._config.request_timeout_ms + self._config.fetch_max_wait_ms,
        )
        self.fetcher.handle_fetch(planned, response, self._cluster.now_ms())
        self._cluster.learn(planned.news(response))

    async def _send_acknowledge(self, planned: PlannedAcknowledge) -> None:
        connection = await self._cluster.connection(planned.node_id, Lane.FETCH)
        version = connection.versions.choose(ApiKey.SHARE_ACKNOWLEDGE)
        _check_renewal(planned.request.is_renew_ack, version)
        response = await connection.request(
            ApiKey.SHARE_ACKNOWLEDGE, planned.request, ShareAcknowledgeResponse
        )
        self.fetcher.handle_acknowledge(planned, response, self._cluster.now_ms())
        self._cluster.learn(planned.news(response))


def _check_renewal(renews: bool, version: int) -> None:
    if renews and version < _FIRST_VERSION_THAT_RENEWS:
        raise UnsupportedVersion(
            "the broker cannot renew locks (Kafka 4.2 and later can): acknowledge with ACCEPT, RELEASE or REJECT"
        )
