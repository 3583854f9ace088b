"""The asyncio consumer: records and Arrow batches out of topics.

Owns what the application calls, and the order of things inside poll(): callbacks, auto-commit, rebalances, records.
Fetching runs in the background (`fetcher`). Membership is kept by `group_subscription`, positions by
`assigned_positions`, and commits by `group_commits`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Generic, Self, Unpack

from millstream.clients.async_client import refuse_copy
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ConsumerConfig, ConsumerSettings
from millstream.clients.config.settings import parse_settings
from millstream.clients.consumer.assigned_positions import AssignedPositions
from millstream.clients.consumer.call_guard import CallGuard, ShieldedListener
from millstream.clients.consumer.commits import CommitCallback
from millstream.clients.consumer.committed_offsets import fetch_committed, found_or_raised
from millstream.clients.consumer.core.interceptors import ConsumerInterceptor, ConsumerInterceptors
from millstream.clients.consumer.core.metrics import ConsumerMetrics
from millstream.clients.consumer.core.offset_reset import (
    EARLIEST,
    EARLIEST_TIMESTAMP,
    LATEST,
    LATEST_TIMESTAMP,
)
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.fetch_collector import ArrowRecords, FetchCollector
from millstream.clients.consumer.fetcher import Fetcher
from millstream.clients.consumer.group_commits import GroupCommits
from millstream.clients.consumer.group_subscription import GroupSubscription
from millstream.clients.consumer.offset_lookup import lookup_offsets
from millstream.clients.core import arguments
from millstream.clients.core.arguments import AnyOffset, AnyPartition
from millstream.clients.core.client_names import described, first_of, named
from millstream.clients.core.deserialization import AnyDeserializer, record_reader
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.serialization import RecordDeserializationError
from millstream.clients.core.values import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    Key,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    Value,
)
from millstream.clients.group.member import RebalanceListener
from millstream.foreign_names.explanation import explain_construction
from millstream.model import TopicPartition
from millstream.net.client.tasks import ClientClosed, TaskScope
from millstream.net.network import Environment, system_environment

_LOGGER = logging.getLogger(__name__)

_POLL_MS = 1_000
CLOSE_MS = 30_000
"""Java's (`KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS`)."""


@explain_construction
class Consumer(Generic[Key, Value]):
    """Use as `async with Consumer(bootstrap_servers=..., group_id=...) as consumer`, or call `close()` in the end.

    Settings are keyword arguments with Kafka's names: see ConsumerConfig. One task at a time may use a consumer; only
    `wakeup()` and `close()` may be called while another is in a call. Keys and values are bytes unless a deserializer
    is given: an object with `deserialize(topic, data, headers)` or `decode(data)`, or a function of bytes.
    """

    def __init__(
        self,
        *,
        key_deserializer: AnyDeserializer[Key] | None = None,
        value_deserializer: AnyDeserializer[Value] | None = None,
        interceptors: Sequence[ConsumerInterceptor[Key, Value]] | None = None,
        environment: Environment | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> None:
        config = named(parse_settings(ConsumerConfig, settings))
        self.config = config
        self._scope = TaskScope("consumer", self._on_background_failure)
        self._guard = CallGuard("consumer")
        self._subscription = SubscriptionState()
        interceptor_chain = ConsumerInterceptors(interceptors or ())
        skipped = self._note_skip if config.deserialization_error == "skip" else None
        self._cluster = Cluster(
            config,
            self._scope,
            system_environment() if environment is None else environment,
            allow_auto_create_topics=config.allow_auto_create_topics,
            metadata_observer=self._observe_metadata,
        )
        self._fetcher = Fetcher(config, self._cluster, self._subscription, self._scope)
        self._group_subscription = GroupSubscription(
            config,
            self._cluster,
            self._subscription,
            self._fetcher,
            self._scope,
            self._guard,
            before_giving_up=self._commit_before_giving_up,
        )
        self._collector = FetchCollector(
            self._cluster,
            self._fetcher,
            self._subscription,
            self._scope,
            interceptors=interceptor_chain,
            reader=record_reader(key_deserializer, value_deserializer, skipped),
        )
        undelivered = self._collector.undelivered
        self._positions = AssignedPositions(
            self._cluster, self._subscription, self._fetcher, undelivered, self._scope
        )
        self._commits = GroupCommits(
            config,
            self._cluster,
            self._scope,
            self._guard,
            self._group_subscription,
            returned=self._positions.returned,
            succeeded=interceptor_chain.on_commit,
        )
        self._closing = False
        self._closed = asyncio.Event()

    __reduce_ex__ = refuse_copy

    def __repr__(self) -> str:
        return described(
            self,
            self.config,
            is_closed=self._scope.is_closed,
            group_id=self.config.group_id,
            topics=first_of(self._subscription.topics),
            assignment=first_of(self._subscription.partitions),
        )

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

    async def __anext__(self) -> ConsumerRecord[Key, Value]:
        """Returns the next record, and waits for it as long as it takes.

        Asking for it says that the one before is processed.
        """
        while (record := self._next_at_hand()) is None:
            self._collector.undelivered.add(await self.poll())
        return record

    def _next_at_hand(self) -> ConsumerRecord[Key, Value] | None:
        """Returns the next record if iteration has it already."""
        self._guard.check()
        return self._collector.undelivered.next()

    # ---- what to read

    def assign(self, partitions: Iterable[AnyPartition]) -> None:
        """Reads these partitions, and no others; no group decides. None at all is `unsubscribe`."""
        self._check()
        wanted = arguments.topic_partitions(partitions)
        held = set(self._subscription.partitions)
        self._collector.undelivered.give_back(held)
        if not wanted:
            self._group_subscription.unsubscribe_soon()
            return
        if held:
            self._commits.maybe_auto_commit()
        self._group_subscription.assign(wanted)

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Reads the partitions that the group assigns of `topics`, or of all topics whose whole name `pattern` matches.

        It takes the place of an earlier subscription; an empty list of topics is `unsubscribe`. With group_protocol
        consumer a `pattern` given as text is matched by the broker, in RE2's language; a compiled one is matched here.
        """
        self._check()
        if (topics is None) == (pattern is None):
            raise IllegalState("subscribe() takes either topics or a pattern")
        if listener is not None and not isinstance(listener, RebalanceListener):
            raise TypeError(f"listener must be a RebalanceListener, got {listener!r}")
        shielded = listener and ShieldedListener(listener, self._guard)
        if pattern is not None:
            self._group_subscription.subscribe_pattern(pattern, shielded)
        elif names := arguments.topic_names(topics or ()):
            self._group_subscription.subscribe(names, shielded)
        else:
            self._collector.undelivered.give_back(self._subscription.partitions)
            self._group_subscription.unsubscribe_soon()

    async def unsubscribe(self) -> None:
        """Leaves the group, and forgets assignment and positions."""
        self._check()
        with self._guard.call():
            try:
                await self._group_subscription.unsubscribe()
            finally:
                self._collector.undelivered.drop_given_up()  # cancelled half way, too

    def assignment(self) -> set[TopicPartition]:
        """Returns the partitions that are read now: those of `assign`, or those that the group had
        assigned by the last poll().

        It is empty before the first poll() of a subscriber. A copy: changing it changes nothing. Raises ClientClosed.
        """
        self._check()
        return set(self._subscription.partitions)

    def subscription(self) -> set[str]:
        """Returns the names of the subscribed topics; of a pattern those that it matches so far. Empty after `assign`.

        It is empty, too, where the coordinator matches the pattern: `assignment()` shows which
        topics those are. A copy.
        """
        self._check()
        return set(self._subscription.topics)

    # ---- reading

    async def poll(
        self, *, max_records: int | None = None, timeout_ms: int = _POLL_MS
    ) -> list[ConsumerRecord[Key, Value]]:
        """Returns records as soon as there are any, at most `max_records`; empty after `timeout_ms`.

        Rebalances, their listener, callbacks and auto-commit run inside this call. It says that everything returned
        before has been processed. Raises WakeupError after `wakeup()`, OffsetOutOfRange and its kinds where
        auto_offset_reset is none, CorruptBatch and RecordDeserializationError for what cannot be read, and
        authorization errors. Cancelled or failed, it has lost nothing.
        """
        count_max = self.config.max_poll_records
        if max_records is not None:
            count_max = arguments.record_count(max_records)
        deadline_ms = self._cluster.now_ms() + arguments.timeout(timeout_ms)
        self._check()
        with self._guard.call():
            while True:
                await self._look_after_group(deadline_ms)
                records = await self._collector.take(count_max, deadline_ms)
                if records or not await self._wait_for_data(deadline_ms):
                    return records

    async def poll_arrow(
        self,
        *,
        timeout_ms: int = _POLL_MS,
        headers: bool = False,
        whole_batches_of: Collection[str] = (),
    ) -> list[ArrowRecords]:
        """Returns everything fetched so far as Arrow batches, at least one as soon as there is any;
        empty after `timeout_ms`.

        Like `poll`, but no Python object is made per record, and deserializers and interceptors are not asked. The
        column `headers` is there when asked for. Of the topics in `whole_batches_of` the records come that stand before
        the position in the same record batch, too, and the columns `baseOffset`, `timestampType` and `leaderEpoch` say
        what batch each is of. A batch without rows tells of a position behind markers or aborted records.
        """
        deadline_ms = self._cluster.now_ms() + arguments.timeout(timeout_ms)
        self._check()
        with self._guard.call():
            while True:
                await self._look_after_group(deadline_ms)
                batches = await self._collector.take_arrow(
                    check_crcs=self.config.check_crcs,
                    headers=headers,
                    whole_batches_of=whole_batches_of,
                )
                if batches or not await self._wait_for_data(deadline_ms):
                    return batches

    def wakeup(self) -> None:
        """Ends the call that is waiting with WakeupError, or else the next one.

        Other tasks may call this and `close` alone.
        """
        if not self._closing:
            self._guard.wake_up()

    def pause(self, partitions: Iterable[AnyPartition]) -> None:
        """Returns nothing of these partitions until `resume`; positions and membership stay.

        Raises IllegalState for one not assigned.
        """
        self._check()
        self._positions.pause(arguments.topic_partitions(partitions))

    def resume(self, partitions: Iterable[AnyPartition]) -> None:
        """Returns records of these partitions again, from where they were paused.

        Raises IllegalState for one not assigned.
        """
        self._check()
        self._positions.resume(arguments.topic_partitions(partitions))

    def paused(self) -> set[TopicPartition]:
        """Returns the assigned partitions that `pause` was called for. A copy."""
        self._check()
        return self._positions.paused

    # ---- positions

    def seek(self, partition: AnyPartition, offset: AnyOffset) -> None:
        """Has the first record at or after `offset` returned next, whatever was committed or fetched.

        With an OffsetAndMetadata that has a leader epoch, it is checked that the log was not truncated since (KIP-320).
        A leader of an older epoch is not asked for about a minute: a later one may not have been heard of yet.
        """
        target = arguments.position(offset)
        self._check()
        self._positions.seek(arguments.topic_partition(partition), target)

    def seek_to_beginning(self, *partitions: AnyPartition) -> None:
        """Moves the positions to the start, of all assigned partitions when none is named."""
        self._check()
        self._positions.seek_to(arguments.topic_partitions(partitions), EARLIEST)

    def seek_to_end(self, *partitions: AnyPartition) -> None:
        """Moves the positions to the end, of all assigned partitions when none is named."""
        self._check()
        self._positions.seek_to(arguments.topic_partitions(partitions), LATEST)

    async def position(self, partition: AnyPartition, timeout_ms: int | None = None) -> int:
        """Returns the offset of the next record that poll() returns.

        Raises IllegalState for a partition not assigned, RequestTimedOut after `timeout_ms` (default_api_timeout_ms),
        and the error that keeps the position from being known, such as OffsetOutOfRange.
        """
        deadline_ms = self._deadline(timeout_ms)
        self._check()
        wanted = arguments.topic_partition(partition)
        if (known := self._positions.known(wanted)) is not None:
            return known
        with self._guard.call():
            return await self._positions.wait_for(wanted, deadline_ms)

    def high_watermark(self, partition: AnyPartition) -> int | None:
        """Returns the high watermark as of the last fetch; None before the first."""
        self._check()
        return self._positions.high_watermark(arguments.topic_partition(partition))

    def lag(self, partition: AnyPartition) -> int | None:
        """Returns the number of records between the position and the end, as of the last fetch; None before the first.

        The end is the last stable offset at read_committed. The Java client's currentLag.
        """
        self._check()
        return self._positions.lag(arguments.topic_partition(partition))

    def missing_topics(self) -> set[str]:
        """Returns the topics of assigned partitions that brokers do not know: they were deleted, or are not there yet.

        A copy.

        It is as of the last metadata, and asks nobody. A consumer of such a topic raises nothing:
        it waits for the topic to come.
        """
        self._check()
        return self._cluster.snapshot.missing(tp.topic for tp in self._subscription.partitions)

    def metrics(self) -> ConsumerMetrics:
        """Returns the counts so far, and how far behind the position of each partition is. Any task may ask."""
        return ConsumerMetrics(replace(self._fetcher.counters), self._positions.lags())

    async def beginning_offsets(
        self, partitions: Iterable[AnyPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Returns the offset of the first record that is still there, for each partition; they need not be assigned.

        Of an empty partition it is its end. `timeout_ms` covers retries, and is default_api_timeout_ms when left out;
        after it RequestTimedOut is raised, or the error of a partition, such as UnknownTopicOrPartition.
        """
        wanted = arguments.topic_partitions(partitions)
        found = await self._lookup(dict.fromkeys(wanted, EARLIEST_TIMESTAMP), timeout_ms)
        return {tp: result.offset for tp, result in found.items()}

    async def end_offsets(
        self, partitions: Iterable[AnyPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Returns the offset behind the last record; at read_committed behind the last stable one."""
        wanted = arguments.topic_partitions(partitions)
        found = await self._lookup(dict.fromkeys(wanted, LATEST_TIMESTAMP), timeout_ms)
        return {tp: result.offset for tp, result in found.items()}

    async def offsets_for_times(
        self,
        timestamps_ms: Mapping[TopicPartition, int | datetime],
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Returns the first record at or after each time; None when there is none. A datetime needs a zone."""
        found = await self._lookup(arguments.search_times(timestamps_ms), timeout_ms)
        return {tp: result if result.offset >= 0 else None for tp, result in found.items()}

    async def client_instance_id(self, *, timeout_ms: int = 60_000) -> str:
        """Returns the id that the cluster knows this client by (KIP-714).

        Raises IllegalState without enable_metrics_push.
        """
        self._check()
        return await self._cluster.telemetry.client_instance_id(timeout_ms)

    async def partitions_for(self, topic: str, timeout_ms: int | None = None) -> list[int]:
        """Returns the numbers of the topic's partitions, 0 and up.

        Raises RequestTimedOut where the topic is not there after `timeout_ms` (default_api_timeout_ms), and
        InvalidTopic or TopicAuthorizationFailed at once.
        """
        self._check()
        with self._guard.call():
            return list((await self._cluster.topic(topic, self._deadline(timeout_ms))).partitions)

    # ---- commits

    async def commit(
        self,
        offsets: Mapping[TopicPartition, AnyOffset] | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> None:
        """Stores `offsets`, or the positions of everything returned so far, with the group.

        The Java client's commitSync.

        It works for assigned consumers, too, without membership, and retries what may pass. Raises
        CommitFailed when the group went on without us, RebalanceInProgress when poll() must join first, and
        the first error of a partition.
        """
        self._check()
        deadline_ms = self._deadline(timeout_ms)
        with self._guard.call():
            await self._commits.commit(offsets, deadline_ms)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, AnyOffset] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commits as `commit` does, but in the background and without a retry.

        A later poll(), commit() or close() runs `callback`.

        Commits are sent in the order they were asked for. Without a callback a failure is logged.
        """
        self._check()
        self._commits.commit_soon(self._commits.chosen(offsets), callback)

    async def committed(
        self, partitions: Iterable[AnyPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Returns the committed offset of each partition: the offset to read next, or None where there is no commit.

        They need not be assigned. Waits for the outcome of a transaction that is about to commit. Raises
        ConfigError without a group_id, RequestTimedOut after `timeout_ms` (default_api_timeout_ms), and the
        first error of a partition.
        """
        self._check()
        wanted = arguments.topic_partitions(partitions)
        group_id = self._group_subscription.group_id()
        deadline_ms = self._deadline(timeout_ms)
        with self._guard.call():
            found = await fetch_committed(self._cluster, group_id, wanted, deadline_ms)
        return {partition: found_or_raised(found.get(partition)) for partition in wanted}

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Returns the identity of this consumer in its group, for `Producer.send_offsets_to_transaction`.

        Raises ConfigError without a group_id.

        Before the first poll() of a subscriber, and after `assign`, it is no member: generation -1.
        """
        return self._group_subscription.group_metadata()

    async def close(self, *, commit: bool = True, timeout_ms: int = CLOSE_MS) -> None:
        """Commits (with auto-commit), leaves the group, stops fetching, and disconnects. Idempotent.

        Any task may call it: a call that is waiting ends with ClientClosed. After `timeout_ms` commit and leaving are
        given up, and everything is let go.
        """
        limit_ms = arguments.timeout(timeout_ms)
        self._scope.check_place()
        if self._closing:
            if not self._guard.is_inside:  # a listener would wait for the close that waits for it
                await self._closed.wait()
            return
        self._closing = True
        try:
            async with asyncio.timeout(limit_ms / 1000):
                await self._guard.end_other_calls(ClientClosed("consumer is closed"))
                with self._guard.call():
                    await self._leave(commit=commit)
        except TimeoutError:
            _LOGGER.warning("not left within %d ms; the group will notice", limit_ms)
        finally:
            try:
                await self._scope.close()
            finally:
                try:
                    await self._cluster.close()
                finally:
                    self._closed.set()  # also where this call is cancelled: others wait for it

    # ---- inside poll()

    async def _look_after_group(self, deadline_ms: int) -> None:
        self._scope.check()
        await self._commits.poll()
        await self._group_subscription.poll(deadline_ms)
        self._collector.undelivered.drop_given_up()

    async def _wait_for_data(self, deadline_ms: int) -> bool:
        """Waits for news, and returns whether there was time to. Raises what a partition's fetch ended with."""
        self._cluster.raise_refusal()
        self._fetcher.records.raise_error()
        self._guard.check_interruption()
        self._fetcher.wake()
        remaining_ms = deadline_ms - self._cluster.now_ms()
        if remaining_ms <= 0:
            await asyncio.sleep(0)
            return False
        await self._fetcher.wait_for_news(self._group_subscription.turn_ms(remaining_ms))
        return True

    async def _commit_before_giving_up(self) -> None:
        await self._commits.maybe_commit_before_giving_up()

    # ---- inside

    def _on_background_failure(self) -> None:
        self._cluster.wake_waiters()
        self._fetcher.announce()

    def _observe_metadata(self) -> None:
        self._fetcher.observe_metadata()
        self._fetcher.announce()

    def _note_skip(self, error: RecordDeserializationError) -> None:
        self._fetcher.counters.records_skipped += 1
        _LOGGER.warning("passed over (deserialization_error skip): %s", error)

    def _check(self) -> None:
        self._guard.check()
        self._scope.check()

    async def _leave(self, *, commit: bool) -> None:
        if commit:
            await self._commits.maybe_commit_before_giving_up()
        await self._group_subscription.leave()
        await self._commits.settle()

    async def _lookup(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: int | None
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        self._check()
        deadline_ms = self._deadline(timeout_ms)
        with self._guard.call():
            return await lookup_offsets(
                self._cluster,
                timestamps,
                read_committed=self._fetcher.read_committed,
                deadline_ms=deadline_ms,
            )

    def _deadline(self, timeout_ms: int | None) -> int:
        limit = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return self._cluster.now_ms() + arguments.timeout(limit)
