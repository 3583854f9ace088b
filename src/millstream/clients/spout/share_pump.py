"""The one task that uses a share spout's consumer: it reads when there is room, and tells
brokers what became of records.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from millstream.clients.consumer.core.errors import WakeupError
from millstream.clients.core.values import ConsumerRecord
from millstream.clients.share.core.values import TopicIdPartition
from millstream.clients.share.holding_consumer import HoldingShareConsumer
from millstream.clients.spout.core.emitted_share_records import EmittedShareRecords
from millstream.clients.spout.core.settings import ShareSpoutConfig
from millstream.clients.spout.dead_letters import Settlement
from millstream.errors import KafkaError
from millstream.model import TopicPartition
from millstream.quoting import counted
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_SHORTEST_LOCK_MS: Final = 1_000
"""Supposed until a broker has said how long its locks are."""


class SharePump:
    """The application's tasks only touch `emitted`; they `wake` the pump when it should look there."""

    def __init__(
        self,
        consumer: HoldingShareConsumer[bytes, bytes],
        emitted: EmittedShareRecords,
        config: ShareSpoutConfig,
        *,
        settlement: Settlement,
        clock: Clock,
        news: Callable[[], None],
    ) -> None:
        """`news` is called when there may be something to give out."""
        self._consumer = consumer
        self._emitted = emitted
        self._config = config
        self._settlement = settlement
        self._clock = clock
        self._news = news
        self._is_polling = False
        self.is_paused = False
        consumer.set_acknowledgement_commit_callback(self._hear)
        consumer.set_loss_callback(self._lose)

    async def run(self) -> None:
        while True:
            await self._settlement.settle()
            self.tell()
            records = await self._poll()
            self._emitted.receive(records, self._now_ms(), self._lock_timeout_ms())
            self._news()

    def wake(self) -> None:
        if self._is_polling:
            self._consumer.wakeup()

    def tell(self) -> None:
        """Has the next request tell what became of records, and renew locks."""
        told = self._emitted.take_acknowledgements(self._now_ms(), self._lock_timeout_ms())
        for record, kind in told:
            self._consumer.acknowledge(record, kind)

    async def _poll(self) -> list[ConsumerRecord]:
        self._emitted.wants_turn = False
        room = 0 if self.is_paused else self._emitted.room()
        limit = self._consumer.config.max_poll_records
        self._is_polling = True
        try:
            if room:
                return await self._consumer.poll(
                    max_records=min(room, limit), timeout_ms=self._wait_ms()
                )
            return await self._consumer.attend(timeout_ms=self._wait_ms())
        except WakeupError:
            return []
        finally:
            self._is_polling = False

    def _wait_ms(self) -> int:
        turn_ms = self._emitted.next_turn_ms()
        limit_ms = self._config.poll_timeout_ms
        return limit_ms if turn_ms is None else max(0, min(limit_ms, turn_ms - self._now_ms()))

    def _hear(
        self, offsets: Mapping[TopicIdPartition, AbstractSet[int]], error: KafkaError | None
    ) -> None:
        counts = self._emitted.counts
        if error is None:
            counts.commits_succeeded += 1
            return
        counts.commits_failed += 1
        for partition, refused in offsets.items():
            _LOGGER.warning(
                "%s did not take what was said of %s, first of offset %d, and delivers again: %s",
                partition, counted(len(refused), "record"), min(refused), error,
            )  # fmt: skip

    def _lose(self, topic_partition: TopicPartition, offsets: AbstractSet[int]) -> None:
        _LOGGER.warning(
            "ours no longer, and delivered again: %s of %s, from offset %d on",
            counted(len(offsets), "record"), topic_partition, min(offsets),
        )  # fmt: skip
        self._emitted.lose(topic_partition, offsets)

    def _lock_timeout_ms(self) -> int:
        return self._consumer.acquisition_lock_timeout_ms() or _SHORTEST_LOCK_MS

    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms
