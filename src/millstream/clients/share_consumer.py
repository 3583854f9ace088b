"""The asyncio share consumer (KIP-932): a queue's reader. Members of a share group work on the same partitions together.

Owns the order of things inside poll(): outcomes of acknowledgements, what becomes of the last poll's records, new ones.
Requests go out in the background (`share_fetching`), membership is kept in `share_member`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import Self, Unpack

from millstream.clients.cluster import Cluster
from millstream.clients.core.config.share import (
    IMPLICIT,
    ShareConsumerConfig,
    ShareConsumerSettings,
)
from millstream.clients.core.misuse import IllegalState
from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.core.settings import parse_settings
from millstream.clients.core.share_in_hand import InHand, RecordPlace
from millstream.clients.core.share_values import (
    AcknowledgementCommitCallback,
    AcknowledgeType,
    NodeAcknowledgements,
    TopicIdPartition,
)
from millstream.clients.core.values import ConsumerRecord
from millstream.clients.share_fetching import ShareFetching
from millstream.clients.share_member import ShareMember
from millstream.clients.tasks import TaskScope
from millstream.errors import KafkaError, RequestTimedOut
from millstream.model import uuid_from_random, uuid_text
from millstream.runtime.system import SystemClock, SystemRandom

_POLL_MS = 1_000
_CLOSE_MS = 30_000


class ShareConsumer:
    """Use as `async with ShareConsumer(bootstrap_servers=..., group_id=...) as consumer`, or call `close()` in the end.

    Settings are keyword arguments with Kafka's names: see ShareConsumerConfig. One task at a time may use a consumer.
    Records that were returned are accepted by the next poll() (implicit mode), or one by one with acknowledge()
    (explicit mode). What is not acknowledged when the broker's lock runs out, or at close(), is given to somebody again.
    """

    def __init__(self, **settings: Unpack[ShareConsumerSettings]) -> None:
        config = parse_settings(ShareConsumerConfig, settings)
        self.config = config
        random = SystemRandom()
        self._scope = TaskScope("share consumer", self._background_failed)
        self._cluster = Cluster(
            config,
            self._scope,
            SystemClock(),
            random,
            allow_auto_create_topics=config.allow_auto_create_topics,
            metadata_observer=self._observe_metadata,
        )
        self._member = ShareMember(
            config,
            self._cluster,
            self._scope,
            uuid_text(uuid_from_random(random.randbytes(16))),
            self._observe_member,
        )
        self._fetching = ShareFetching(config, self._cluster, self._member, self._scope)
        self._in_hand = InHand()
        self._ahead: deque[ConsumerRecord] = deque()
        """In hand, but not given out yet: iteration has polled them."""
        self._callback: AcknowledgementCommitCallback | None = None
        self._in_callback = False

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

    async def __anext__(self) -> ConsumerRecord:
        """The next record; waits as long as it takes. In implicit mode asking for it accepts those before it."""
        while (record := self.next_at_hand()) is None:
            self._ahead.extend(await self.poll())
        return record

    def next_at_hand(self) -> ConsumerRecord | None:
        """The next record if iteration has it already."""
        return self._ahead.popleft() if self._ahead else None

    # ---- what to read

    def subscribe(self, topics: Iterable[str]) -> None:
        """Read these topics, and no others. The group is joined by the next poll()."""
        self._check()
        names = [topics] if isinstance(topics, str) else list(topics)
        if not names or not all(names):
            raise IllegalState("subscribe() takes names of topics; unsubscribe() reads none")
        self._member.subscribe(names)
        self._cluster.use_topics(*names)

    async def unsubscribe(self) -> None:
        """Leave the group. Records that were returned can still be acknowledged and committed."""
        self._check()
        await self._member.leave()

    def subscription(self) -> set[str]:
        self._check()
        return set(self._member.membership.topics)

    # ---- reading

    async def poll(
        self, *, max_records: int | None = None, timeout_ms: int = _POLL_MS
    ) -> list[ConsumerRecord]:
        """Records as soon as there are any, about `max_records`; empty after `timeout_ms`.

        Brokers hand out whole record batches, so there may be more, unless share_acquire_mode is record_limit. In
        explicit mode raises IllegalState while a record of the last poll is not acknowledged. Raises CorruptMessage and
        RecordDeserializationError for records that cannot be read; they are rejected and released, and the next poll
        goes on behind them.
        """
        self._check()
        if not self._member.membership.topics:
            raise IllegalState("nothing to read: call subscribe() first")
        self._hear_outcomes()
        self._finish_last_poll()
        count = self.config.max_poll_records if max_records is None else max_records
        self._member.begin_poll()
        try:
            self._cluster.use_topics(*self._member.membership.topics)
            return await self._poll(count, self._cluster.now_ms() + timeout_ms)
        finally:
            self._member.end_poll()

    async def _poll(self, count: int, deadline_ms: int) -> list[ConsumerRecord]:
        """Nothing may be awaited between taking records and returning them: a cancelled caller would lose them."""
        await asyncio.sleep(0)  # requests and heartbeats run, however fast the caller polls
        acknowledgements = self._in_hand.take_acknowledgements()
        has_asked = False
        while True:
            self._hear_outcomes()
            records, lookup = self._collect(count)
            if records:
                self._fetching.commit(acknowledgements, self._api_deadline_ms())
                return records
            if lookup is not None:
                await lookup.look_up()
                continue
            acknowledgements += self._in_hand.take_acknowledgements()  # of offsets without a record
            if not has_asked or acknowledgements:
                self._fetching.fetch(acknowledgements, count)
                has_asked, acknowledgements = True, []
            remaining_ms = deadline_ms - self._cluster.now_ms()
            if remaining_ms <= 0:
                return []
            await self._fetching.wait_for_news(remaining_ms)
            self._check()

    def _collect(self, count: int) -> tuple[list[ConsumerRecord], LookupNeeded | None]:
        """Records to return: those kept back by iteration, renewed ones, or new ones."""
        if self._ahead:
            records = list(self._ahead)
            self._ahead.clear()
            return records, None
        self._in_hand.take_renewed()
        records = self._in_hand.records()
        lookup = None
        if not records and not self._in_hand.has_renewals:
            lookup = self._fetching.buffer.collect(self._in_hand, count, None)
            records = self._in_hand.records()
        return records, lookup

    def _finish_last_poll(self) -> None:
        """Everything given out is accepted in implicit mode, and must have been acknowledged in explicit mode."""
        if self._is_implicit:
            self._in_hand.acknowledge_all(AcknowledgeType.ACCEPT, but=self._not_given_out())
            return
        place = self._in_hand.unacknowledged(but=self._not_given_out())
        if place is not None:
            raise IllegalState(
                f"{place[0]} offset {place[1]} is not acknowledged: in explicit mode every record that poll() returned"
                " is, before the next poll()"
            )

    # ---- acknowledging

    def acknowledge(
        self, record: ConsumerRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """Say what became of a record that poll() returned. It is told to the broker by the next poll() or commit.

        Only in explicit mode. Raises IllegalState for a record that is not in hand (any more).
        """
        self.acknowledge_offset(record.topic, record.partition, record.offset, kind)

    def acknowledge_offset(
        self, topic: str, partition: int, offset: int, kind: AcknowledgeType
    ) -> None:
        """As `acknowledge`; also for a record that poll() raised an error for."""
        self._check()
        if self._is_implicit:
            raise IllegalState(
                'records are accepted by the next poll(); set share_acknowledgement_mode="explicit" to acknowledge them'
            )
        self._in_hand.acknowledge(topic, partition, offset, kind)

    async def commit(
        self, *, timeout_ms: int | None = None
    ) -> dict[TopicIdPartition, KafkaError | None]:
        """Tell the brokers now, and wait for their answers: None, or why a partition's were not taken.

        In implicit mode everything returned is accepted first. Acknowledgements that failed are not repeated: the
        records are given to somebody again. Raises RequestTimedOut when an answer is missing after `timeout_ms`.
        """
        self._check()
        deadline_ms = self._api_deadline_ms(timeout_ms)
        commit = self._fetching.commit(self._to_commit(), deadline_ms)
        if not await self._fetching.wait_until_complete(commit, deadline_ms):
            raise RequestTimedOut("not every broker has answered for the acknowledgements in time")
        self._hear_outcomes()
        return commit.results

    def commit_async(self) -> None:
        """As `commit`, without waiting: the acknowledgement-commit callback hears of it in a later call."""
        self._check()
        self._fetching.commit(self._to_commit(), self._api_deadline_ms())

    def set_acknowledgement_commit_callback(
        self, callback: AcknowledgementCommitCallback | None
    ) -> None:
        """Called with the outcome of every acknowledgement, from poll(), commit(), commit_async() and close().

        It must not use the consumer. What it raises is raised by the call it is called from.
        """
        self._check()
        self._callback = callback

    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long the broker keeps records for us before they are given to somebody else; None before the first."""
        self._check()
        return self._in_hand.lock_timeout_ms

    async def close(self, timeout_ms: int = _CLOSE_MS) -> None:
        """Send acknowledgements, release everything else, leave the group, disconnect. Idempotent.

        What poll() returned last is not accepted by closing; `commit()` does that.
        """
        if self._scope.is_closed:
            return
        limit_ms = min(timeout_ms, self.config.request_timeout_ms)
        deadline_ms = self._cluster.now_ms() + limit_ms
        try:
            async with asyncio.timeout(limit_ms / 1000):
                last = self._fetching.close(self._in_hand.take_acknowledgements(), deadline_ms)
                await self._fetching.wait_until_complete(last, deadline_ms)
                await self._member.leave()
        except TimeoutError:
            pass  # the broker finds out when the connection ends
        finally:
            try:
                await self._scope.close()
            finally:
                await self._cluster.close()
        self._hear_outcomes()

    # ---- inside

    @property
    def _is_implicit(self) -> bool:
        return self.config.share_acknowledgement_mode == IMPLICIT

    def _not_given_out(self) -> list[RecordPlace]:
        return [(record.topic_partition, record.offset) for record in self._ahead]

    def _to_commit(self) -> list[NodeAcknowledgements]:
        self._hear_outcomes()
        if self._is_implicit:
            self._in_hand.acknowledge_all(AcknowledgeType.ACCEPT, but=self._not_given_out())
        return self._in_hand.take_acknowledgements()

    def _hear_outcomes(self) -> None:
        while (outcome := self._fetching.fetcher.outcomes.take()) is not None:
            self._in_hand.handle_outcome(outcome)
            if self._callback is not None:
                self._in_callback = True
                try:
                    self._callback(
                        {outcome.partition: outcome.acknowledgements.keys()}, outcome.error
                    )
                finally:
                    self._in_callback = False

    def _api_deadline_ms(self, timeout_ms: int | None = None) -> int:
        limit = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return self._cluster.now_ms() + limit

    def _check(self) -> None:
        self._scope.check()
        if self._in_callback:
            raise IllegalState("an acknowledgement-commit callback must not use the consumer")

    def _observe_metadata(self) -> None:
        self._fetching.observe_metadata()

    def _observe_member(self) -> None:
        self._fetching.observe_member()

    def _background_failed(self) -> None:
        self._cluster.wake_waiters()
        self._fetching.announce()
