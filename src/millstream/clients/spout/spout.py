"""The spout: records of topics one by one, each acked or failed by itself, as Storm's KafkaSpout gives them.

What is given out next, and what may be committed, is decided in `core.deliveries`; the consumer is used by `pump`.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Self, Unpack, cast

from millstream.clients.config import ConsumerSettings
from millstream.clients.config.settings import parse_settings, setting_names
from millstream.clients.consumer.consumer import Consumer
from millstream.clients.core.client_names import described, first_of
from millstream.clients.core.deserialization import AnyDeserializer, RecordReader
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.spout.core.deliveries import Deliveries, FailOutcome, RecordAttempt
from millstream.clients.spout.core.errors import TooManyFailures
from millstream.clients.spout.core.metrics import PartitionMetrics, SpoutMetrics
from millstream.clients.spout.core.settings import SpoutConfig, SpoutSettings
from millstream.clients.spout.dead_letters import DeadLetters
from millstream.clients.spout.message import SpoutHooks, SpoutMessage, Translate
from millstream.clients.spout.pump import Pump
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.net.client.environment import Environment, system_environment
from millstream.net.client.tasks import TaskScope

Handler = Callable[[SpoutMessage], Awaitable[None] | None]
Topics = str | Iterable[str] | re.Pattern[str]


class Spout:
    """Use as `async with Spout(topics, group_id=...) as spout`, then iterate or `run` a handler.

    `topics` is a name, several, or a compiled pattern. Settings are those of SpoutConfig and, except for
    enable_auto_commit, of ConsumerConfig; auto_offset_reset is earliest unless it is given. Any number of tasks may
    iterate; each record goes to one of them. `translate` makes values of a record, after its deserializers.
    """

    def __init__(
        self,
        topics: Topics,
        *,
        translate: Translate | None = None,
        hooks: SpoutHooks | None = None,
        key_deserializer: AnyDeserializer[Any] | None = None,  # Any: whatever it makes
        value_deserializer: AnyDeserializer[Any] | None = None,  # Any: whatever it makes
        environment: Environment | None = None,
        **settings: Unpack[SpoutSettings],
    ) -> None:
        own, of_consumer = _divided(dict(settings))
        self.config = parse_settings(SpoutConfig, own)
        if self.config.max_offset_behind is not None:
            _check_reset(of_consumer)
        self._topics = topics if isinstance(topics, re.Pattern) else _names(topics)
        self._translate = translate
        self._hooks = hooks or SpoutHooks()
        self._reader = RecordReader(key_deserializer, value_deserializer)
        self._clock = (environment or system_environment()).clock
        self._deliveries = Deliveries(self.config)
        self._scope = TaskScope("spout")
        self._consumer = Consumer(environment=environment, **cast("ConsumerSettings", of_consumer))
        self._dead_letters: DeadLetters | None = None
        if self.config.dead_letters is not None:
            self._dead_letters = DeadLetters(self.config.dead_letters, of_consumer, environment)
        self._news = asyncio.Event()
        self._pump = Pump(
            self._consumer,
            self._deliveries,
            self.config,
            hooks=self._hooks,
            dead_letters=self._dead_letters,
            clock=self._clock,
            news=self._news.set,
        )
        self._ready: deque[SpoutMessage] = deque()
        """The values of the last record that nobody has yet."""
        self._failure: Exception | None = None
        self._is_open = False
        self._is_stopped = False
        self._yields = False

    def __repr__(self) -> str:
        return described(
            self,
            self._consumer.config,
            is_closed=self._scope.is_closed,
            group_id=self._consumer.config.group_id,
            assignment=first_of(self._deliveries.partitions),
        )

    async def __aenter__(self) -> Self:
        if isinstance(self._topics, re.Pattern):
            self._consumer.subscribe(pattern=self._topics, listener=self._pump)
        else:
            self._consumer.subscribe(self._topics, listener=self._pump)
        self._scope.start(self._run_pump(), "read and commit", awaited=True)
        self._is_open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SpoutMessage:
        """The next message; waits as long as it takes. Raises what ended the spout; the end comes after `stop`."""
        while True:
            self._check()
            if self._is_stopped:
                raise StopAsyncIteration
            if self._yields:  # retries without delay must not keep the loop from everything else
                self._yields = False
                await asyncio.sleep(0)
                continue
            self._news.clear()
            try:
                message = self._next_at_hand()
            except LookupNeeded as needed:
                await needed.look_up()
                continue
            if message is not None:
                return message
            if not self._yields:
                await self._wait_for_news()

    async def run(self, handler: Handler, *, concurrency: int = 1) -> None:
        """Calls `handler` with every message, for `concurrency` of them at a time. Returns after `stop`.

        A handler that returns acks its message, and one that raises fails it, unless it called ack() or fail() itself.
        Raises what ended the spout.
        """
        if concurrency < 1:
            raise ConfigError(f"concurrency must be at least 1, got {concurrency}")
        workers = [
            self._scope.start(self._work(handler), f"handler {number}", awaited=True)
            for number in range(concurrency)
        ]
        try:
            await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for worker in workers:
                if worker.done():
                    worker.result()
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    def stop(self) -> None:
        """Gives out nothing more: iteration and `run` come to their end. What is out may still be acked until `close`."""
        self._is_stopped = True
        self._news.set()

    def pause(self) -> None:
        """Gives out nothing until `resume`, and commits what is done. Membership and partitions stay."""
        self._pump.is_paused = True
        self._pump.commit_soon()

    def resume(self) -> None:
        """Gives out messages again after `pause`."""
        self._pump.is_paused = False
        self._pump.wake()
        self._news.set()

    async def close(self) -> None:
        """Commits what is done and leaves the group. What is not acked is read again by the next owner. Idempotent."""
        if self._scope.is_closed:
            return
        self.stop()
        try:
            await self._scope.close()
            if self._failure is None:
                await self._pump.settle_given_up()
        finally:
            try:
                await self._consumer.close()
            finally:
                if self._dead_letters is not None:
                    await self._dead_letters.close()

    def assignment(self) -> set[TopicPartition]:
        """Returns the partitions that the group gave us. A copy."""
        return set(self._deliveries.partitions)

    def metrics(self) -> SpoutMetrics:
        """Returns counts since the start, and the offsets of each partition that is ours now."""
        return SpoutMetrics(
            self._deliveries.counts,
            {
                topic_partition: PartitionMetrics(
                    earliest_time_offset=self._pump.log_starts.get(topic_partition),
                    latest_time_offset=self._pump.log_ends.get(topic_partition),
                    latest_emitted_offset=offsets.latest_emitted,
                    latest_completed_offset=offsets.committable(),
                    committed_offset=offsets.committed,
                    pending=offsets.pending_count,
                )
                for topic_partition, offsets in self._deliveries.partitions.items()
            },
        )

    # ---- called by messages

    def ack(self, attempt: RecordAttempt) -> None:
        """Called by `SpoutMessage.ack`."""
        if self._deliveries.ack(attempt) and self._hooks.on_ack is not None:
            self._hooks.on_ack(attempt.message_id)
        self._wake_pump()

    def fail(
        self, attempt: RecordAttempt, delay_ms: int | None, error: BaseException | None
    ) -> None:
        """Called by `SpoutMessage.fail`."""
        outcome = self._deliveries.fail(attempt, self._now_ms(), delay_ms, error)
        if outcome is FailOutcome.IGNORED:
            return
        if outcome is FailOutcome.RETRY and self._hooks.on_retry is not None:
            self._hooks.on_retry(attempt.message_id, error)
        failures, limit = self._deliveries.failures_in_a_row, self.config.failures_max
        if limit is not None and failures >= limit and self._failure is None:
            self._failure = TooManyFailures(failures)
            self._failure.__cause__ = error
        self._wake_pump()
        self._news.set()

    # ---- inside

    async def _work(self, handler: Handler) -> None:
        async for message in self:
            try:
                outcome = handler(message)
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception as error:  # noqa: BLE001 - kept: hooks, dead letters and TooManyFailures tell it
                message.fail(error=error)
            else:
                if not message.is_settled:
                    message.ack()

    async def _run_pump(self) -> None:
        try:
            await self._pump.run()
        except Exception as error:  # noqa: BLE001 - raised by whoever iterates
            self._failure = self._failure or error
            self._news.set()

    def _next_at_hand(self) -> SpoutMessage | None:
        """Raises LookupNeeded where a deserializer must learn something first."""
        if self._pump.is_paused:
            return None
        if not self._ready:
            self._fill()
        while self._ready:
            message = self._ready.popleft()
            if self._deliveries.is_open(message.delivery):
                if self._hooks.on_emit is not None:
                    self._hooks.on_emit(message)
                return message
        return None

    def _fill(self) -> None:
        """Makes messages of the next record. A record that cannot be read, or translated, has failed."""
        attempt = self._deliveries.next(self._now_ms())
        self._wake_pump()
        if attempt is None:
            return
        self._yields = attempt.number > 1
        try:
            record = self._reader.read_one(attempt.record)
            values = (record.value,) if self._translate is None else self._translate(record)
            made = [SpoutMessage(record, value, attempt, self) for value in values or ()]
        except LookupNeeded:
            self._deliveries.give_back(attempt)
            raise
        except Exception as error:  # noqa: BLE001 - kept, as that of a handler
            self._yields = True
            self.fail(attempt, None, error)
            return
        if not made:
            self._yields = True
            self.ack(attempt)
        attempt.open_values = len(made)
        self._ready.extend(made)

    async def _wait_for_news(self) -> None:
        due_ms = self._deliveries.retries.next_due_ms()
        if due_ms is None or self._pump.is_paused:
            await self._news.wait()
            return
        try:
            async with asyncio.timeout(max(0, due_ms - self._now_ms()) / 1000):
                await self._news.wait()
        except TimeoutError:
            return

    def _wake_pump(self) -> None:
        if self._deliveries.wants_turn:
            self._deliveries.wants_turn = False
            self._pump.wake()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._is_open:
            raise IllegalState("open the spout first: async with Spout(...) as spout")

    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms


def _divided(settings: dict[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """The settings of the spout itself, and those of its consumer."""
    known = setting_names(SpoutConfig)
    own = {key: value for key, value in settings.items() if key.replace(".", "_") in known}
    of_consumer = {key: value for key, value in settings.items() if key not in own}
    names = {key.replace(".", "_") for key in of_consumer}
    if "enable_auto_commit" in names:
        raise ConfigError(
            "enable_auto_commit does not apply to a spout, which commits what is acked"
        )
    if not (of_consumer.get("group_id") or of_consumer.get("group.id")):
        raise ConfigError("a spout needs a group_id: its progress is committed there")
    if "auto_offset_reset" not in names:
        of_consumer["auto_offset_reset"] = "earliest"
    return own, of_consumer | {"enable_auto_commit": False}


def _check_reset(of_consumer: dict[str, object]) -> None:
    reset = of_consumer.get("auto_offset_reset", of_consumer.get("auto.offset.reset"))
    if reset not in {"earliest", "latest"}:
        raise ConfigError(
            f"max_offset_behind goes to where auto_offset_reset says: earliest or latest, got {reset!r}"
        )


def _names(topics: str | Iterable[str]) -> list[str]:
    names = [topics] if isinstance(topics, str) else list(topics)
    if not names or not all(names):
        raise ConfigError(
            f"topics must be a name, several names or a compiled pattern; got {topics!r}"
        )
    return names
