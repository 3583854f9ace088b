"""The asyncio share consumer (KIP-932): a queue's reader.

Members of a share group work on the same partitions together.

Owns the order of things inside poll(): outcomes of acknowledgements, what becomes of the last poll's records, new ones.
Requests go out in the background (`fetcher.py`), membership is kept in `member.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from types import TracebackType
from typing import ClassVar, Generic, Self, Unpack

from millstream.clients.async_client import refuse_copy
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config.settings import parse_settings
from millstream.clients.config.share import (
    IMPLICIT,
    ShareConsumerConfig,
    ShareConsumerSettings,
)
from millstream.clients.consumer.call_guard import CallGuard
from millstream.clients.core import arguments
from millstream.clients.core.client_names import described, first_of, named
from millstream.clients.core.deserialization import AnyDeserializer, record_reader
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.clients.share.core.values import (
    AcknowledgementCommitCallback,
    NodeAcknowledgements,
    TopicIdPartition,
)
from millstream.clients.share.fetch_collector import ShareFetchCollector
from millstream.clients.share.fetcher import ShareFetcher
from millstream.clients.share.member import ShareMember
from millstream.errors import KafkaError, RequestTimedOut
from millstream.foreign_names.explanation import explain_construction
from millstream.model import uuid_from_random, uuid_text
from millstream.net.client.tasks import ClientClosed, TaskScope
from millstream.net.network import Environment, system_environment
from millstream.protocol.enums import AcknowledgeType

_LOGGER = logging.getLogger(__name__)

_POLL_MS = 1_000
CLOSE_MS = 30_000


@explain_construction
class ShareConsumer(Generic[Key, Value]):
    """Use as `async with ShareConsumer(bootstrap_servers=..., group_id=...) as consumer`, or call `close()` in the end.

    Settings are keyword arguments with Kafka's names: see ShareConsumerConfig. One task at a time may use a consumer;
    only `wakeup()` and `close()` may be called while another is in a call. Keys and values are bytes unless a
    deserializer is given, as to a Consumer.

    Records that were returned are accepted by the next poll() (implicit mode), or one by one with
    acknowledge() (explicit mode). What is not acknowledged when the broker's lock runs out, or at
    close(), is given to a member again.
    """

    _is_holding: ClassVar[bool] = False

    def __init__(
        self,
        *,
        key_deserializer: AnyDeserializer[Key] | None = None,
        value_deserializer: AnyDeserializer[Value] | None = None,
        environment: Environment | None = None,
        **settings: Unpack[ShareConsumerSettings],
    ) -> None:
        config = named(parse_settings(ShareConsumerConfig, settings))
        self.config = config
        environment = system_environment() if environment is None else environment
        self._scope = TaskScope("share consumer", self._on_background_failure)
        self._guard = CallGuard("share consumer")
        self._cluster = Cluster(
            config,
            self._scope,
            environment,
            allow_auto_create_topics=config.allow_auto_create_topics,
            metadata_observer=self._observe_metadata,
        )
        self._member = ShareMember(
            config,
            self._cluster,
            self._scope,
            uuid_text(uuid_from_random(environment.random.randbytes(16))),
            self._observe_member,
        )
        self._fetcher = ShareFetcher(config, self._cluster, self._member, self._scope)
        is_implicit = config.share_acknowledgement_mode == IMPLICIT
        self._collector = ShareFetchCollector(
            self._cluster,
            self._fetcher,
            self._scope,
            record_reader(key_deserializer, value_deserializer),
            is_implicit=is_implicit,
            is_holding=self._is_holding,
        )
        self._callback: AcknowledgementCommitCallback | None = None
        self._in_callback = False
        self._closing = False
        self._closed = asyncio.Event()

    __reduce_ex__ = refuse_copy

    def __repr__(self) -> str:
        return described(
            self,
            self.config,
            is_closed=self._scope.is_closed,
            group_id=self.config.group_id,
            topics=first_of(self._member.membership.topics),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Releases what is not acknowledged: call `commit()` before, to accept what was returned last."""
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord[Key, Value]:
        """The next record; waits as long as it takes. In implicit mode asking for it accepts those before it."""
        while (record := self._next_at_hand()) is None:
            self._collector.ahead.extend(await self.poll())
        return record

    def _next_at_hand(self) -> ConsumerRecord[Key, Value] | None:
        """The next record if iteration has it already."""
        self._guard.check()
        return self._collector.ahead.popleft() if self._collector.ahead else None

    # ---- what to read

    def subscribe(self, topics: Iterable[str]) -> None:
        """Read these topics, and no others. The group is joined by the next poll()."""
        self._check()
        names = arguments.topic_names(topics)
        if not names:
            raise IllegalState(
                "subscribe() needs names of topics; to stop reading, call unsubscribe()"
            )
        self._member.subscribe(names)
        self._cluster.use_topics(*names)

    async def unsubscribe(self) -> None:
        """Leave the group. Records that were returned can still be acknowledged and committed."""
        self._check()
        with self._guard.call():
            await self._member.leave()

    def subscription(self) -> set[str]:
        """Returns the names of the subscribed topics. A copy."""
        self._check()
        return set(self._member.membership.topics)

    # ---- reading

    async def poll(
        self, *, max_records: int | None = None, timeout_ms: int = _POLL_MS
    ) -> list[ConsumerRecord[Key, Value]]:
        """Returns records as soon as there are any, about `max_records`; empty after `timeout_ms`.

        Brokers hand out whole record batches, so there may be more, unless share_acquire_mode is record_limit. In
        explicit mode raises IllegalState while a record of the last poll is not acknowledged. Raises CorruptMessage and
        RecordDeserializationError for records that cannot be read; they are rejected and released, and the next poll
        goes on behind them. Raises WakeupError after `wakeup()`, and authorization errors. Cancelled or failed, it has
        lost nothing.
        """
        count = self.config.max_poll_records
        if max_records is not None:
            count = arguments.record_count(max_records)
        deadline_ms = self._cluster.now_ms() + arguments.timeout(timeout_ms)
        self._check()
        if not self._member.membership.topics:
            raise IllegalState("nothing to read: call subscribe() first")
        return await self._poll_once(count, deadline_ms, asks=True)

    async def _poll_once(
        self, count: int, deadline_ms: int, *, asks: bool
    ) -> list[ConsumerRecord[Key, Value]]:
        with self._guard.call():
            self._hear_outcomes()
            self._collector.finish_last_poll()
            self._member.begin_poll()
            try:
                self._cluster.use_topics(*self._member.membership.topics)
                return await self._poll(count, deadline_ms, asks=asks)
            finally:
                self._member.end_poll()

    async def _poll(
        self, count: int, deadline_ms: int, *, asks: bool
    ) -> list[ConsumerRecord[Key, Value]]:
        """Nothing is awaited between taking something and passing it on: a call that is cancelled loses nothing."""
        await asyncio.sleep(0)  # requests and heartbeats run, however fast the caller polls
        has_asked = False
        while True:
            self._scope.check()
            self._cluster.raise_refusal()
            self._hear_outcomes()
            acknowledgements = self._collector.in_hand.take_acknowledgements()
            if self._collector.has_next:
                self._fetcher.commit(acknowledgements, self._api_deadline_ms())
                self._make_way()
                records, needed = self._collector.take(count)
                if records:
                    return records
                if needed is not None and not await self._collector.look_up(needed, deadline_ms):
                    return []
                continue
            if not asks:
                self._fetcher.fetch([], 0)
                self._fetcher.commit(acknowledgements, self._api_deadline_ms())
            elif acknowledgements or not has_asked:
                self._fetcher.fetch(acknowledgements, count)
                has_asked = True
            self._member.raise_error()
            remaining_ms = deadline_ms - self._cluster.now_ms()
            if remaining_ms <= 0:
                return []
            self._guard.check_interruption()
            await self._fetcher.wait_for_news(remaining_ms)

    def wakeup(self) -> None:
        """End the call that is waiting with WakeupError, or else the next one. The one method for other tasks."""
        if not self._closing:
            self._guard.wake_up()

    # ---- acknowledging

    def acknowledge(
        self, record: ConsumerRecord[Key, Value], kind: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """Say what became of a record that poll() returned. It is told to the broker by the next poll() or commit.

        Only in explicit mode. Raises IllegalState for a record that is not in hand (any more).
        """
        try:
            place = record.topic, record.partition, record.offset
        except AttributeError:
            raise TypeError(
                f"acknowledge() takes a record that poll() returned, got {record!r};"
                " for an offset there is acknowledge_offset()"
            ) from None
        self.acknowledge_offset(*place, kind)

    def acknowledge_offset(
        self, topic: str, partition: int, offset: int, kind: AcknowledgeType
    ) -> None:
        """Acknowledges as `acknowledge` does; also a record that poll() raised an error for."""
        self._scope.check()
        self._acknowledge_at_hand(topic, partition, offset, kind)

    def _acknowledge_at_hand(
        self, topic: str, partition: int, offset: int, kind: AcknowledgeType
    ) -> None:
        """As `acknowledge_offset`, on any thread: only calls of the consumer look at what is said here."""
        self._check_call()
        if self._closing:
            raise ClientClosed("share consumer is closed")
        self._collector.acknowledge(topic, partition, offset, kind)

    async def commit(
        self, *, timeout_ms: int | None = None
    ) -> dict[TopicIdPartition, KafkaError | None]:
        """Tells the brokers now, and waits for their answers: None, or why a partition's were not taken.

        In implicit mode everything returned is accepted first. Acknowledgements that failed are not repeated: the
        records are given to a member again. Raises RequestTimedOut when an answer is missing after `timeout_ms`.
        """
        self._check()
        deadline_ms = self._api_deadline_ms(timeout_ms)
        with self._guard.call():
            commit = self._fetcher.commit(self._to_commit(), deadline_ms)
            if not await self._fetcher.wait_until_complete(commit, deadline_ms):
                raise RequestTimedOut("some brokers did not answer the acknowledgements in time")
            self._hear_outcomes()
        return commit.results

    def commit_async(self) -> None:
        """Commits as `commit` does, without waiting: the acknowledgement-commit callback hears of
        it in a later call.
        """
        self._check()
        self._fetcher.commit(self._to_commit(), self._api_deadline_ms())

    def set_acknowledgement_commit_callback(
        self, callback: AcknowledgementCommitCallback | None
    ) -> None:
        """Sets the callback that is called with the outcome of every acknowledgement, from poll(), commit(),
        commit_async() and close().

        It must not use the consumer. What it raises is raised by the call it is called from.
        """
        self._check()
        self._callback = callback

    def acquisition_lock_timeout_ms(self) -> int | None:
        """Returns the time that the broker keeps records for this consumer before it gives them to another;
        None before the first record.
        """
        self._check()
        return self._collector.in_hand.lock_timeout_ms

    async def client_instance_id(self, *, timeout_ms: int = 60_000) -> str:
        """Returns the id that the cluster knows this client by (KIP-714).

        Raises IllegalState without enable_metrics_push.
        """
        self._check()
        return await self._cluster.telemetry.client_instance_id(timeout_ms)

    async def close(self, *, timeout_ms: int = CLOSE_MS) -> None:
        """Send acknowledgements, release everything else, leave the group, disconnect. Idempotent.

        What poll() returned last is not accepted by closing; `commit()` does that. Any task may call it: a call that is
        waiting ends with ClientClosed.
        """
        limit_ms = min(arguments.timeout(timeout_ms), self.config.request_timeout_ms)
        self._scope.check_place()
        if self._closing:
            if not self._guard.is_inside:  # a callback would wait for the close that waits for it
                await self._closed.wait()
            return
        self._closing = True
        try:
            await self._guard.end_other_calls(ClientClosed("share consumer is closed"))
            with self._guard.call():
                await self._leave(limit_ms)
        finally:
            try:
                await self._scope.close()
            finally:
                try:
                    await self._cluster.close()
                finally:
                    self._closed.set()  # also where this call is cancelled: others wait for it
        self._hear_outcomes()

    # ---- inside

    async def _leave(self, limit_ms: int) -> None:
        deadline_ms = self._cluster.now_ms() + limit_ms
        last = self._fetcher.close(self._collector.in_hand.take_acknowledgements(), deadline_ms)
        try:
            async with asyncio.timeout(limit_ms / 1000):
                await self._fetcher.wait_until_complete(last, deadline_ms)
                await self._member.leave()
        except TimeoutError:
            _LOGGER.warning("not left within %d ms; the broker will notice", limit_ms)

    def _to_commit(self) -> list[NodeAcknowledgements]:
        self._hear_outcomes()
        return self._collector.take_acknowledgements_to_commit()

    def _hear_outcomes(self) -> None:
        while (outcome := self._fetcher.fetcher.outcomes.take()) is not None:
            lost = self._collector.in_hand.handle_outcome(outcome)
            if lost:
                self._lose(outcome.partition, lost)
            if self._callback is not None:
                self._in_callback = True
                try:
                    self._callback(
                        {outcome.partition: outcome.acknowledgements.keys()}, outcome.error
                    )
                finally:
                    self._in_callback = False

    def _make_way(self) -> None:
        """Called before records are taken from what was fetched."""

    def _lose(self, partition: TopicIdPartition, offsets: AbstractSet[int]) -> None:
        """Called when records that were held belong to somebody else."""

    def _api_deadline_ms(self, timeout_ms: int | None = None) -> int:
        limit_ms = self.config.default_api_timeout_ms
        if timeout_ms is not None:
            limit_ms = arguments.timeout(timeout_ms)
        return self._cluster.now_ms() + limit_ms

    def _check(self) -> None:
        self._scope.check()
        self._check_call()

    def _check_call(self) -> None:
        self._guard.check()
        if self._in_callback:
            raise IllegalState("an acknowledgement-commit callback must not use the consumer")

    def _observe_metadata(self) -> None:
        self._fetcher.observe_metadata()

    def _observe_member(self) -> None:
        self._fetcher.observe_member()

    def _on_background_failure(self) -> None:
        self._cluster.wake_waiters()
        self._fetcher.announce()
