"""The asyncio consumer: records and Arrow batches out of topics.

Owns the order of things inside poll(): rebalances, auto-commit, records. Fetching runs in the background
(`fetching`), membership in `classic_member`.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self, Unpack

from millstream.clients.classic_member import ClassicMember
from millstream.clients.cluster import Cluster
from millstream.clients.committed_offsets import commit_offsets, fetch_committed
from millstream.clients.consumer_member import ConsumerMember
from millstream.clients.core.config import ConsumerConfig, ConsumerSettings
from millstream.clients.core.settings import parse_settings
from millstream.clients.core.subscription import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    IllegalState,
    PartitionState,
    SubscriptionState,
    SubscriptionType,
)
from millstream.clients.core.values import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
)
from millstream.clients.fetching import Fetching
from millstream.clients.member import Member, RebalanceListener
from millstream.clients.offset_lookup import lookup_offsets
from millstream.clients.tasks import TaskScope
from millstream.errors import (
    ConfigError,
    FencedInstanceId,
    IllegalGeneration,
    KafkaError,
    RebalanceInProgress,
    RequestTimedOut,
    RetriableError,
    UnknownMemberId,
)
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock, SystemRandom

if TYPE_CHECKING:
    import pyarrow as pa

_POLL_MS = 1_000
_MEMBERSHIP_ENDED = (RebalanceInProgress, IllegalGeneration, UnknownMemberId, FencedInstanceId)
"""A commit that comes too late: whoever has the partitions now reads these records again."""


class ArrowRecords(NamedTuple):
    """Records of one partition as columns: key, value (binary), offset (int64), timestamp (ms), headers."""

    topic: str
    partition: int
    records: pa.RecordBatch
    next_offset: int
    """Where reading goes on; may lie beyond the last record."""


class Consumer:
    """Use as `async with Consumer(bootstrap_servers=..., group_id=...) as consumer`, or call `close()` in the end.

    Settings are keyword arguments with Kafka's names: see ConsumerConfig. One task at a time may use a consumer.
    """

    def __init__(self, **settings: Unpack[ConsumerSettings]) -> None:
        config = parse_settings(ConsumerConfig, settings)
        self.config = config
        self._scope = TaskScope("consumer", self._background_failed)
        self._subscription = SubscriptionState()
        self._cluster = Cluster(
            config,
            self._scope,
            SystemClock(),
            SystemRandom(),
            allow_auto_create_topics=config.allow_auto_create_topics,
            metadata_observer=self._observe_metadata,
        )
        self._fetching = Fetching(config, self._cluster, self._subscription, self._scope)
        self._member: Member | None = None
        self._next_auto_commit_ms = 0
        self._ahead: deque[ConsumerRecord] = deque()
        """Polled by iteration, not yet given out: positions stand before these."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leaves the group. After an exception nothing is committed: what was being processed may not be done."""
        await self.close(commit=error is None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord:
        """The next record; waits as long as it takes. Asking for it says that the one before is processed."""
        while (record := self.next_at_hand()) is None:
            self._ahead.extend(await self.poll())
        return record

    def next_at_hand(self) -> ConsumerRecord | None:
        """The next record if iteration has it already."""
        return self._ahead.popleft() if self._ahead else None

    # ---- what to read

    def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Read these partitions, and no others; no group decides."""
        self._scope.check()
        wanted = [TopicPartition(*partition) for partition in partitions]
        before = set(self._subscription.partitions)
        self._give_back(before)
        self._subscription.assign(wanted)
        for state in self._subscription.partitions.values():
            if state.topic_partition not in before:
                self._fetching.want_position(state)
        self._cluster.use_topics(*{tp.topic for tp in wanted})
        self._fetching.wake()

    def subscribe(
        self,
        topics: Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read the partitions that the group gives us of `topics`, or of all topics whose whole name `pattern` matches.

        With group_protocol consumer a `pattern` given as text is matched by the broker, in RE2's language; a compiled one
        is matched here.
        """
        self._scope.check()
        names = [topics] if isinstance(topics, str) else list(topics)
        if self.config.group_id is None:
            raise ConfigError("subscribe() needs group_id; without a group use assign()")
        if bool(names) == (pattern is not None):
            raise IllegalState("subscribe() takes either topics or a pattern")
        if isinstance(pattern, str) and self.config.group_protocol == "consumer":
            self._subscription.subscribe_regex(pattern)
        elif pattern is not None:
            self._subscription.subscribe_pattern(re.compile(pattern))
            self._cluster.metadata.use_all_topics(True)
            self._cluster.request_metadata()
        else:
            self._subscription.subscribe(names)
            self._cluster.use_topics(*names)
        if self._member is None:
            chosen = ConsumerMember if self.config.group_protocol == "consumer" else ClassicMember
            self._member = chosen(
                self.config, self._cluster, self._subscription, self._fetching, self._scope
            )
        self._member.subscribed(listener)

    async def unsubscribe(self) -> None:
        """Leave the group, forget assignment and positions."""
        if self._member is not None:
            await self._commit_before_leaving()
            member, self._member = self._member, None
            await member.leave()
        self._cluster.metadata.use_all_topics(False)
        self._ahead.clear()
        self._subscription.unsubscribe()

    def assignment(self) -> set[TopicPartition]:
        return set(self._subscription.partitions)

    def subscription(self) -> set[str]:
        return set(self._subscription.topics)

    # ---- reading

    async def poll(
        self, *, max_records: int | None = None, timeout_ms: int = _POLL_MS
    ) -> list[ConsumerRecord]:
        """Records as soon as there are any, at most `max_records`; empty after `timeout_ms`.

        Rebalances, their listener and auto-commit run inside this call. It says that everything returned before has
        been processed.
        """
        count_max = self.config.max_poll_records if max_records is None else max_records
        deadline_ms = self._cluster.now_ms() + timeout_ms
        while True:
            await self._look_after_group(deadline_ms)
            if self._ahead:
                return [self._ahead.popleft() for _ in range(min(count_max, len(self._ahead)))]
            records = self._fetching.fetcher.take_records(count_max)
            if records:
                await self._make_room()
                return records
            if not await self._wait_for_data(deadline_ms):
                return []

    async def poll_arrow(
        self, *, timeout_ms: int = _POLL_MS, headers: bool = False
    ) -> list[ArrowRecords]:
        """Everything fetched so far as Arrow batches, at least one as soon as there is any; empty after `timeout_ms`.

        Like `poll`, but no Python object is made per record. The column `headers` is there when asked for.
        """
        deadline_ms = self._cluster.now_ms() + timeout_ms
        self._give_back(self._subscription.partitions)
        while True:
            await self._look_after_group(deadline_ms)
            batches = self._take_arrow(headers=headers)
            if batches:
                await self._make_room()
                return batches
            if not await self._wait_for_data(deadline_ms):
                return []

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return nothing of these partitions until `resume`; positions stay."""
        chosen = list(partitions)
        self._give_back(chosen)
        for partition in chosen:
            self._state(partition).paused = True

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._state(partition).paused = False
        self._fetching.wake()

    def paused(self) -> set[TopicPartition]:
        return {tp for tp, state in self._subscription.partitions.items() if state.paused}

    # ---- positions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """The next record returned is the first at or after `offset`."""
        if offset < 0:
            raise IllegalState(f"an offset is not negative: {offset}")
        self._give_back((partition,))
        self._state(partition).seek(offset)
        self._fetching.wake()

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """All assigned partitions when none is named."""
        self._seek_to(partitions, EARLIEST_TIMESTAMP)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._seek_to(partitions, LATEST_TIMESTAMP)

    async def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> int:
        """The offset of the next record that poll() returns."""
        state = self._state(partition)
        if (undelivered := self._undelivered().get(state.topic_partition)) is not None:
            return undelivered
        deadline_ms = self._deadline(timeout_ms)
        self._fetching.wake()
        while state.position is None:
            if state.error is not None:
                error, state.error = state.error, None
                raise error
            remaining_ms = deadline_ms - self._cluster.now_ms()
            if remaining_ms <= 0:
                raise RequestTimedOut(f"the position of {partition} could not be found out in time")
            await self._fetching.wait_for_news(remaining_ms)
            self._scope.check()
        return state.position

    def high_watermark(self, partition: TopicPartition) -> int | None:
        """As of the last fetch; None before the first."""
        value = self._state(partition).high_watermark
        return None if value < 0 else value

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end, as of the last fetch; None before the first."""
        state = self._state(partition)
        end = state.last_stable_offset if self._fetching.read_committed else state.high_watermark
        if end < 0 or state.position is None:
            return None
        return max(0, end - state.position)

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        found = await self._lookup(dict.fromkeys(partitions, EARLIEST_TIMESTAMP), timeout_ms)
        return {tp: result.offset for tp, result in found.items()}

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The offset behind the last record; at read_committed behind the last stable one."""
        found = await self._lookup(dict.fromkeys(partitions, LATEST_TIMESTAMP), timeout_ms)
        return {tp: result.offset for tp, result in found.items()}

    async def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each time; None when there is none."""
        found = await self._lookup(timestamps_ms, timeout_ms)
        return {tp: result if result.offset >= 0 else None for tp, result in found.items()}

    async def partitions_for(self, topic: str, timeout_ms: int | None = None) -> list[int]:
        return list((await self._cluster.topic(topic, self._deadline(timeout_ms))).partitions)

    # ---- commits

    async def commit(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> None:
        """Store `offsets`, or the positions of everything returned so far, with the group.

        Works for assigned consumers too, without membership. Raises the first error of a partition.
        """
        chosen = self._positions() if offsets is None else _offsets_with_metadata(offsets)
        results = await commit_offsets(
            self._cluster, self.group_metadata(), chosen, self._deadline(timeout_ms)
        )
        for error in results.values():
            if error is not None:
                raise error

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        wanted = list(partitions)
        found = await fetch_committed(
            self._cluster, self._group_id(), wanted, self._deadline(timeout_ms)
        )
        results: dict[TopicPartition, OffsetAndMetadata | None] = {}
        for partition in wanted:
            result = found.get(partition)
            if isinstance(result, KafkaError):
                raise result
            results[partition] = result
        return results

    def group_metadata(self) -> ConsumerGroupMetadata:
        if self._member is not None:
            return self._member.metadata()
        return ConsumerGroupMetadata(self._group_id())

    async def close(self, *, commit: bool = True) -> None:
        """Commit (with auto-commit), leave the group, stop fetching, disconnect. Idempotent."""
        if self._scope.is_closed:
            return
        try:
            if commit:
                await self._commit_before_leaving()
            if self._member is not None:
                await self._member.leave()
        finally:
            try:
                await self._scope.close()
            finally:
                await self._cluster.close()

    # ---- inside

    def _background_failed(self) -> None:
        self._cluster.wake_waiters()
        self._fetching.announce()

    def _observe_metadata(self) -> None:
        self._fetching.observe_metadata()

    async def _look_after_group(self, deadline_ms: int) -> None:
        self._scope.check()
        if self._subscription.type is SubscriptionType.NONE:
            raise IllegalState("nothing to read: call subscribe() or assign() first")
        now_ms = self._cluster.now_ms()
        if self._auto_commits and now_ms >= self._next_auto_commit_ms:
            if self._next_auto_commit_ms:
                await self._auto_commit()
            self._next_auto_commit_ms = now_ms + self.config.auto_commit_interval_ms
        if self._member is not None:
            await self._member.poll(deadline_ms, self._commit_before_leaving)

    async def _wait_for_data(self, deadline_ms: int) -> bool:
        """False when the time is over. Raises what a partition's fetch ended with."""
        self._fetching.fetcher.raise_error()
        self._fetching.wake()
        remaining_ms = deadline_ms - self._cluster.now_ms()
        if remaining_ms <= 0:
            await asyncio.sleep(0)
            return False
        if self._member is not None:
            remaining_ms = min(remaining_ms, self._member.next_turn_ms())
        await self._fetching.wait_for_news(remaining_ms)
        return True

    def _take_arrow(self, *, headers: bool) -> list[ArrowRecords]:
        """A chunk that cannot be read stays; its error is raised once nothing stands before it."""
        from millstream.clients.core.arrow_batches import chunk_to_arrow

        batches: list[ArrowRecords] = []
        fetcher = self._fetching.fetcher
        while (item := fetcher.next_chunk()) is not None:
            state, start, chunk = item
            try:
                records = chunk_to_arrow(
                    chunk, start, check_crcs=self.config.check_crcs, headers=headers
                )
            except KafkaError:
                if batches:
                    break
                raise
            fetcher.finish_chunk(state)
            if records.num_rows:
                batches.append(ArrowRecords(*state.topic_partition, records, chunk.next_offset))
        self._fetching.wake()
        return batches

    async def _make_room(self) -> None:
        """Let the fetches, heartbeats and other tasks run, however fast the caller polls."""
        self._fetching.wake()
        await asyncio.sleep(0)

    @property
    def _auto_commits(self) -> bool:
        return self.config.enable_auto_commit and self.config.group_id is not None

    async def _auto_commit(self) -> None:
        """What poll() returned before is processed. A failure is not the reader's: the next round commits more."""
        group = self.group_metadata()
        if self._subscription.is_subscribed and group.generation_id < 0:
            return
        positions = self._positions()
        deadline_ms = self._cluster.now_ms() + self.config.request_timeout_ms
        try:
            results = await commit_offsets(self._cluster, group, positions, deadline_ms)
        except RetriableError:
            return
        for error in results.values():
            if error is not None and not isinstance(error, _MEMBERSHIP_ENDED):
                raise error

    async def _commit_before_leaving(self) -> None:
        if self._auto_commits and self._subscription.partitions:
            await self._auto_commit()

    def _positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        undelivered = self._undelivered()
        return {
            tp: OffsetAndMetadata(
                undelivered.get(tp, state.position), leader_epoch=state.leader_epoch
            )
            for tp, state in self._subscription.partitions.items()
            if state.position is not None
        }

    def _undelivered(self) -> dict[TopicPartition, int]:
        """The offset of the first record of each partition that iteration has polled and not given out."""
        first: dict[TopicPartition, int] = {}
        for record in self._ahead:
            first.setdefault(record.topic_partition, record.offset)
        return first

    def _give_back(self, partitions: Iterable[TopicPartition]) -> None:
        """What iteration has polled ahead of these partitions is fetched again when it is wanted again."""
        if not self._ahead:
            return
        chosen = {TopicPartition(*partition) for partition in partitions}
        for topic_partition, offset in self._undelivered().items():
            if topic_partition in chosen and topic_partition in self._subscription.partitions:
                self._subscription.partitions[topic_partition].seek(offset)
        self._ahead = deque(r for r in self._ahead if r.topic_partition not in chosen)

    def _state(self, partition: TopicPartition) -> PartitionState:
        self._scope.check()
        return self._subscription.state(TopicPartition(*partition))

    def _seek_to(self, partitions: tuple[TopicPartition, ...], timestamp: int) -> None:
        chosen = partitions or tuple(self._subscription.partitions)
        self._give_back(chosen)
        for partition in chosen:
            self._state(partition).seek_to_timestamp(timestamp)
        self._fetching.wake()

    async def _lookup(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: int | None
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        self._scope.check()
        return await lookup_offsets(
            self._cluster,
            timestamps,
            read_committed=self._fetching.read_committed,
            deadline_ms=self._deadline(timeout_ms),
        )

    def _deadline(self, timeout_ms: int | None) -> int:
        limit = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return self._cluster.now_ms() + limit

    def _group_id(self) -> str:
        if self.config.group_id is None:
            raise ConfigError("this needs group_id: committed offsets belong to a group")
        return self.config.group_id


def _offsets_with_metadata(
    offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        tp: offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        for tp, offset in offsets.items()
    }
