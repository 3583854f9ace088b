"""Asks coordinators and leaders for positions.

What to ask, and what an answer means, is decided in `core.positions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ConsumerConfig
from millstream.clients.consumer.committed_offsets import fetch_committed
from millstream.clients.consumer.core.offset_reset import LATEST_TIMESTAMP
from millstream.clients.consumer.core.positions import (
    CommittedQuery,
    EpochQuery,
    PositionQuery,
    Positions,
    ResetQuery,
)
from millstream.clients.consumer.leader_epochs import epoch_ends
from millstream.clients.consumer.offset_lookup import ask_leader
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndTimestamp
from millstream.errors import KafkaError
from millstream.model import TopicPartition


class PositionLookup:
    def __init__(self, config: ConsumerConfig, cluster: Cluster, positions: Positions) -> None:
        self._config = config
        self._cluster = cluster
        self._positions = positions
        self._read_committed = config.isolation_level == "read_committed"
        self.member: Callable[[], ConsumerGroupMetadata] | None = None
        """Who we are in a group of KIP-848, whose coordinator wants to know that before it tells committed offsets."""

    async def find(self, query: PositionQuery) -> None:
        """Asks, and tells the core what came of it."""
        try:
            match query:
                case CommittedQuery():
                    await self._find_committed(query)
                case ResetQuery():
                    self._positions.handle_offsets(query, await self._offsets(query))
                case EpochQuery():
                    await self._validate(query)
                case _:
                    assert_never(query)
        except KafkaError as error:
            self._positions.handle_failure(query, error)

    async def _find_committed(self, query: CommittedQuery) -> None:
        assert self._config.group_id is not None, "positions are committed to a group"
        found = await fetch_committed(
            self._cluster,
            self._config.group_id,
            query.generations,
            self._cluster.now_ms() + self._config.default_api_timeout_ms,
            topic_ids=query.topic_ids,
            member=self.member,
        )
        self._positions.handle_committed(query, found)

    async def _offsets(
        self, query: ResetQuery
    ) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
        """Returns offsets; where no record is as young as a duration says, the end as it was before the
        search, so that none is missed.
        """
        wall_ms = self._cluster.clock.now().wall_ms
        timestamps = {tp: reset.timestamp_at(wall_ms) for tp, reset in query.resets.items()}
        by_time = {tp for tp, timestamp in timestamps.items() if timestamp >= 0}
        ends = {}
        if by_time:
            ends = await self._ask(query, dict.fromkeys(by_time, LATEST_TIMESTAMP))
        found = await self._ask(query, timestamps)
        for topic_partition, end in ends.items():
            result = found[topic_partition]
            if isinstance(result, OffsetAndTimestamp) and result.offset < 0:
                found[topic_partition] = end
        return found

    async def _ask(
        self, query: ResetQuery, timestamps: dict[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
        return await ask_leader(
            self._cluster, query.node_id, timestamps, read_committed=self._read_committed
        )

    async def _validate(self, query: EpochQuery) -> None:
        ends = await epoch_ends(self._cluster, query.node_id, query.questions)
        if ends is None:
            self._positions.handle_unsupported(query)
        else:
            self._positions.handle_epochs(query, ends)
