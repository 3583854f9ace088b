"""The one task that uses the spout's consumer: it reads ahead, commits, and takes part in the group."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from millstream.clients.cluster.leader_epochs import leader_epoch
from millstream.clients.consumer.consumer import Consumer
from millstream.clients.consumer.core.errors import CommitFailed, WakeupError
from millstream.clients.core.values import ConsumerRecord, OffsetAndMetadata
from millstream.clients.group.member import RebalanceListener
from millstream.clients.spout.core.emitted_records import EmittedRecords
from millstream.clients.spout.core.settings import SpoutConfig
from millstream.clients.spout.dead_letters import Settlement
from millstream.clients.spout.message import SpoutHooks
from millstream.errors import KafkaError, RebalanceInProgress
from millstream.model import TopicPartition
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_LOOKUP_INTERVAL_MS = 10_000
_LOOKUP_TIMEOUT_MS = 1_000
_Result = TypeVar("_Result")


class Pump(RebalanceListener):
    """The application's tasks only touch `emitted`; they `wake` the pump when it should look there."""

    def __init__(
        self,
        consumer: Consumer,
        emitted: EmittedRecords,
        config: SpoutConfig,
        *,
        hooks: SpoutHooks,
        settlement: Settlement,
        clock: Clock,
        news: Callable[[], None],
    ) -> None:
        """`news` is called when there may be something to give out."""
        self._consumer = consumer
        self._emitted = emitted
        self._config = config
        self._hooks = hooks
        self._settlement = settlement
        self._clock = clock
        self._news = news
        self._metadata = json.dumps({"clientId": consumer.config.client_id})
        self._is_polling = False
        self._is_commit_asked = False
        self._next_commit_ms = 0
        self._next_lookup_ms = 0
        self.is_paused = False
        self.log_starts: dict[TopicPartition, int] = {}
        self.log_ends: dict[TopicPartition, int] = {}

    async def run(self) -> None:
        self._next_commit_ms = self._now_ms() + self._config.commit_interval_ms
        while True:
            await self._settlement.settle()
            await self._commit_if_due()
            self._emitted.receive(await self._poll())
            await self._observe_log()
            self._news()

    def wake(self) -> None:
        if self._is_polling:
            self._consumer.wakeup()

    def commit_soon(self) -> None:
        self._is_commit_asked = True
        self.wake()

    # ---- rebalances, called inside poll() and close()

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        self._emitted.assign(partitions)
        await self._pass_over_what_is_too_far_behind(partitions)
        self._next_lookup_ms = 0
        if not self._emitted.partitions:
            _LOGGER.warning(
                "this member of group %s has no partition: there are more members than partitions",
                self._consumer.config.group_id,
            )
        self._tell_partitions()

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        await self._pass_what_holds_no_record()
        await self._commit(self._emitted.to_commit_at_the_end(partitions))
        await self.on_partitions_lost(partitions)

    async def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        self._emitted.forget(partitions)
        for topic_partition in partitions:
            self.log_starts.pop(topic_partition, None)
            self.log_ends.pop(topic_partition, None)
        self._tell_partitions()

    async def _pass_over_what_is_too_far_behind(self, partitions: set[TopicPartition]) -> None:
        limit = self._config.max_offset_behind
        if limit is None or not partitions:
            return
        consumer = self._consumer
        committed = await consumer.committed(partitions)
        ends = await consumer.end_offsets(partitions)
        for topic_partition, position in committed.items():
            if position is None or ends[topic_partition] - position.offset <= limit:
                continue
            _LOGGER.warning(
                "the commit of %s, %d, is too far behind its end, %d: it counts as none",
                topic_partition, position.offset, ends[topic_partition],
            )  # fmt: skip
            if consumer.config.auto_offset_reset == "latest":
                consumer.seek_to_end(topic_partition)
            else:
                consumer.seek_to_beginning(topic_partition)

    def _tell_partitions(self) -> None:
        if self._hooks.on_partitions is not None:
            self._hooks.on_partitions(set(self._emitted.partitions))

    # ---- inside

    async def _poll(self) -> list[ConsumerRecord]:
        assignment = self._consumer.assignment()
        full = assignment if self.is_paused else self._emitted.full_partitions() & assignment
        paused = self._consumer.paused()
        self._consumer.pause(full - paused)
        self._consumer.resume(paused - full)
        until_commit_ms = max(0, self._next_commit_ms - self._now_ms())
        self._emitted.wants_turn = False
        self._is_polling = True
        try:
            return await self._consumer.poll(
                timeout_ms=min(self._config.poll_timeout_ms, until_commit_ms)
            )
        except WakeupError:
            return []
        finally:
            self._is_polling = False

    async def _commit_if_due(self) -> None:
        now_ms = self._now_ms()
        is_due = now_ms >= self._next_commit_ms or self._is_commit_asked
        if not is_due and not self._emitted.needs_commit():
            return
        self._is_commit_asked = False
        self._next_commit_ms = now_ms + self._config.commit_interval_ms
        await self._pass_what_holds_no_record()
        await self._commit(self._emitted.to_commit())

    async def _commit(self, offsets: dict[TopicPartition, int]) -> None:
        """A commit that failed is made up for by the next one, or the records are read again."""
        if not offsets:
            return
        positions = {
            tp: OffsetAndMetadata(at, self._metadata, leader_epoch(self._consumer, tp))
            for tp, at in offsets.items()
        }
        counts = self._emitted.counts
        try:
            await self._undisturbed(lambda: self._consumer.commit(positions))
        except KafkaError as error:
            if not _may_pass(error):
                raise
            counts.commits_failed += 1
            _LOGGER.warning("a commit of the spout failed: %s", error)
        else:
            counts.commits_succeeded += 1
            self._emitted.commit(offsets)
            self._news()

    async def _pass_what_holds_no_record(self) -> None:
        """Transaction markers and compacted records at the end of what was read are done as well.

        Where nothing was read yet, so is what lies before the place where reading begins: without a commit of it the
        next owner would begin at a later end, with auto_offset_reset=latest.
        """
        for topic_partition in self._emitted.idle_partitions():
            position = await self._position(topic_partition)
            offsets = self._emitted.partitions.get(topic_partition)
            if position is not None and offsets is not None:
                offsets.advance_to(position)

    async def _position(self, topic_partition: TopicPartition) -> int | None:
        try:
            return await self._undisturbed(
                lambda: self._consumer.position(topic_partition, timeout_ms=0)
            )
        except KafkaError:
            return None  # being looked up; poll() raises what cannot be had

    async def _observe_log(self) -> None:
        """Learns where the logs begin and end. Retries of records that are gone are given up."""
        assignment = self._consumer.assignment()
        now_ms = self._now_ms()
        if assignment and now_ms >= self._next_lookup_ms:
            self._next_lookup_ms = now_ms + _LOOKUP_INTERVAL_MS
            await self._look_up_log(assignment)
        for topic_partition in assignment:
            end = self._consumer.high_watermark(topic_partition)
            if end is not None:
                self.log_ends[topic_partition] = end

    async def _look_up_log(self, assignment: set[TopicPartition]) -> None:
        consumer, limit_ms = self._consumer, _LOOKUP_TIMEOUT_MS
        try:
            starts = await self._undisturbed(
                lambda: consumer.beginning_offsets(assignment, timeout_ms=limit_ms)
            )
            self.log_ends |= await self._undisturbed(
                lambda: consumer.end_offsets(assignment, timeout_ms=limit_ms)
            )
        except KafkaError as error:
            _LOGGER.info("the bounds of logs are not known now: %s", error)
            return
        # Meanwhile no partition came or went: that happens inside poll() and close() alone.
        self.log_starts = starts
        for topic_partition, log_start in starts.items():
            self._emitted.drop_before(topic_partition, log_start)

    async def _undisturbed(self, call: Callable[[], Awaitable[_Result]]) -> _Result:
        """A wake-up that came when poll() had its records already ends the next call, which is made again."""
        while True:
            try:
                return await call()
            except WakeupError:
                continue

    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms


def _may_pass(error: KafkaError) -> bool:
    return error.retriable or isinstance(error, (CommitFailed, RebalanceInProgress))
