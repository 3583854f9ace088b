"""The common part of both kinds of spout: iteration, handlers, acks and fails, hooks and the end."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from millstream.clients.core.deserialization import AnyDeserializer, RecordReader
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.serialization import LookupNeeded, LookupUnavailable
from millstream.clients.spout.core.attempts import FailOutcome, RecordAttempt, RecordsGivenOut
from millstream.clients.spout.core.errors import TooManyFailures
from millstream.clients.spout.core.settings import RetryConfig
from millstream.clients.spout.dead_letters import DeadLetters, Settlement
from millstream.clients.spout.message import SpoutHooks, SpoutMessage, Translate
from millstream.errors import ConfigError
from millstream.net.client.tasks import TaskScope
from millstream.net.network import Environment, system_environment

_Deserializer = AnyDeserializer[Any] | None  # Any: whatever it makes
Handler = Callable[[SpoutMessage], Awaitable[None] | None]


class Pumping(Protocol):
    """The one task that uses the consumer of a spout."""

    is_paused: bool

    async def run(self) -> None: ...
    def wake(self) -> None: ...


class _NotReadable(Exception):
    def __init__(self, attempt: RecordAttempt, needed: LookupNeeded) -> None:
        super().__init__(str(needed))
        self.attempt = attempt
        self.needed = needed


class RecordSpout(ABC):
    """Gives out what a pump has read. A subclass owns the consumer, the pump and the rules of what comes next."""

    _pump: Pumping

    def __init__(
        self,
        config: RetryConfig,
        emitted: RecordsGivenOut,
        of_consumer: Mapping[str, object],
        *,
        deserializers: tuple[_Deserializer, _Deserializer],
        translate: Translate | None,
        hooks: SpoutHooks | None,
        environment: Environment | None,
    ) -> None:
        """`of_consumer` are the settings of the consumer; `deserializers` those of keys and of values."""
        self._failures_max = config.failures_max
        self._given_out = emitted
        self._reader = RecordReader(*deserializers)
        self._translate = translate
        self._hooks = hooks or SpoutHooks()
        self._clock = (environment or system_environment()).clock
        dead_letters = None
        if config.dead_letters is not None:
            dead_letters = DeadLetters(config.dead_letters, of_consumer, environment)
        self._settlement = Settlement(emitted, self._hooks, dead_letters)
        self._scope = TaskScope("spout")
        self._news = asyncio.Event()
        self._ready: deque[SpoutMessage] = deque()
        """The values of the last record that nobody has yet."""
        self._failure: Exception | None = None
        self._is_open = False
        self._is_stopped = False
        self._closed: asyncio.Event | None = None
        """None before `close` is called."""
        self._yields = False

    @abstractmethod
    def _subscribe(self) -> None:
        """Has the consumer read the topics."""

    @abstractmethod
    async def _close_consumer(self) -> None:
        """Tells the cluster the last of what is done, after the pump has ended, and leaves the group."""

    async def __aenter__(self) -> Self:
        self._subscribe()
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
            except _NotReadable as waiting:
                await self._look_up(waiting)
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
        """Gives out nothing more: iteration and `run` come to their end.

        What is out may still be acked until `close`.
        """
        self._is_stopped = True
        self._news.set()

    def pause(self) -> None:
        """Gives out nothing until `resume`. Membership stays."""
        self._pump.is_paused = True
        self._pump.wake()

    def resume(self) -> None:
        """Gives out messages again after `pause`."""
        self._pump.is_paused = False
        self._pump.wake()
        self._news.set()

    async def close(self) -> None:
        """Tells the cluster what is done and leaves the group. What is not acked is given to the next owner.

        Idempotent.
        """
        if self._closed is not None:
            await self._closed.wait()
            return
        self._closed = asyncio.Event()
        self.stop()
        try:
            await self._scope.close()
            if self._failure is None:
                await self._settlement.settle()
        finally:
            try:
                await self._close_consumer()
            finally:
                try:
                    await self._settlement.close()
                finally:
                    self._closed.set()  # also where this call is cancelled: others wait for it

    # ---- called by messages

    def ack(self, attempt: RecordAttempt) -> None:
        """Called by `SpoutMessage.ack`."""
        if self._given_out.ack(attempt) and self._hooks.on_ack is not None:
            with self._ending_with_what_is_raised():
                self._hooks.on_ack(attempt.message_id)
        self._wake_pump()

    def fail(
        self, attempt: RecordAttempt, delay_ms: int | None, error: BaseException | None
    ) -> None:
        """Called by `SpoutMessage.fail`."""
        outcome = self._given_out.fail(attempt, self._now_ms(), delay_ms, error)
        if outcome is FailOutcome.IGNORED:
            return
        if outcome is FailOutcome.RETRY and self._hooks.on_retry is not None:
            with self._ending_with_what_is_raised():
                self._hooks.on_retry(attempt.message_id, error)
        failures, limit = self._given_out.failures_in_a_row, self._failures_max
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
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                message.fail(error=error)  # it was not this task that somebody has cancelled
            except Exception as error:  # noqa: BLE001 - kept: hooks, dead letters and TooManyFailures tell it
                message.fail(error=error)
            else:
                if not message.is_settled:
                    message.ack()

    async def _run_pump(self) -> None:
        try:
            await self._pump.run()
        except Exception as error:  # noqa: BLE001 - raised by whoever iterates
            self._end(error)

    @contextlib.contextmanager
    def _ending_with_what_is_raised(self) -> Iterator[None]:
        """Wraps a hook: what it raises ends the spout also where a handler calls ack() or fail(), whose own errors are
        fails.
        """
        try:
            yield
        except Exception as error:
            self._end(error)
            raise

    def _end(self, error: Exception) -> None:
        """Has `error` raised by whoever iterates."""
        self._failure = self._failure or error
        self._news.set()

    def _next_at_hand(self) -> SpoutMessage | None:
        """Raises _NotReadable where a deserializer must learn something first."""
        if self._pump.is_paused:
            return None
        if not self._ready:
            self._fill()
        while self._ready:
            message = self._ready.popleft()
            if self._given_out.is_open(message.delivery):
                if self._hooks.on_emit is not None:
                    with self._ending_with_what_is_raised():
                        self._hooks.on_emit(message)
                return message
        return None

    def _fill(self) -> None:
        """Makes messages of the next record. A record that cannot be read, or translated, has failed."""
        attempt = self._given_out.next(self._now_ms())
        self._wake_pump()
        if attempt is None:
            return
        self._yields = attempt.number > 1
        try:
            record = self._reader.read_one(attempt.record)
            values = (record.value,) if self._translate is None else self._translate(record)
            made = [SpoutMessage(record, value, attempt, self) for value in values or ()]
        except LookupNeeded as needed:
            raise _NotReadable(attempt, needed) from None
        except Exception as error:  # noqa: BLE001 - kept, as that of a handler
            self._yields = True
            self.fail(attempt, None, error)
            return
        if not made:
            self._yields = True
            self.ack(attempt)
        attempt.open_values = len(made)
        self._ready.extend(made)

    async def _look_up(self, waiting: _NotReadable) -> None:
        """Learns what a deserializer needs for a record. One for which that fails has failed like any that cannot be
        read: else all behind it would wait for it for ever. While nothing can be had, nobody has failed.
        """
        try:
            await waiting.needed.look_up()
        except LookupUnavailable:
            self._given_out.give_back(waiting.attempt)
            raise
        except Exception as error:  # noqa: BLE001 - kept, as that of a handler
            self.fail(waiting.attempt, None, error)
            return
        except BaseException:
            self._given_out.give_back(waiting.attempt)
            raise
        self._given_out.give_back(waiting.attempt)

    async def _wait_for_news(self) -> None:
        due_ms = self._given_out.next_due_ms()
        if due_ms is None or self._pump.is_paused:
            await self._news.wait()
            return
        try:
            async with asyncio.timeout(max(0, due_ms - self._now_ms()) / 1000):
                await self._news.wait()
        except TimeoutError:
            return

    def _wake_pump(self) -> None:
        if self._given_out.wants_turn:
            self._given_out.wants_turn = False
            self._pump.wake()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._is_open:
            raise IllegalState("open the spout first: async with Spout(...) as spout")

    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms
