"""Operators whose functions may fail for a while: records wait in a store of the task and
are tried again by the wall clock.

Records of one key keep their order: while one waits, those that come later wait behind it, and other keys go
on. When its turn comes again follows from the store alone, whatever has become of that since: it was
restored, rolled back, opened anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final
from zlib import crc32

from millstream.streams.errors import AsyncCallTimedOut
from millstream.streams.handlers import OutgoingRecord, dead_letter
from millstream.streams.kernel.async_calls import chains_of
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.options import RecordContext, WaitingRecord
from millstream.streams.state.buffers.retries import FirstRecord, RetryStore
from millstream.streams.topology import operators as ops

_ERROR_CHARACTERS_MAX: Final = 1_000
"""Of the text of an error: it is kept with its record in the store and in the changelog, once for each that waits."""
_Attempt = Callable[[int], ops.Outcome | None]
"""The outcome for a row; None: it waits behind another one."""


class MapValuesWithRetriesOperator(Operator):
    """KStream.map_values and map_values_async with `retry`."""

    def __init__(
        self, context: NodeContext, spec: ops.MapValuesWithRetries, store: RetryStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._retry = spec.retry
        self._policy = spec.retry.policy
        self._mapper = spec.mapper
        self._with_key = spec.with_key
        self._calls = spec.calls
        self._caller = None if spec.calls is None else context.open_caller(spec.calls)
        context.schedule.timers.append(self)

    def process(self, batch: Batch) -> Batch:
        attempt = self._attempts(batch)
        kept: list[int] = []
        values: list[object] = []
        for row in range(len(batch)):
            outcome = attempt(row)
            if outcome is None:
                waiting = self._waiting(batch, row, self.current.wall_clock_ms)
                self._store.append(batch.keys[row], waiting)
            elif outcome[1] is None:
                kept.append(row)
                values.append(outcome[0])
            else:
                self._begin_retries(batch, row, outcome[1])
        rows = batch if len(kept) == len(batch) else batch.take(kept)
        return rows.with_values(values)

    # The task's wall clock.

    def prepare(self) -> None:
        self._store.read_index()

    @property
    def next_ms(self) -> int | None:
        """The time at which a record is to be tried again."""
        return self._store.next_due_ms

    def fire(self, time_ms: int, has_time: Callable[[], bool]) -> None:
        """Tries the records that are due, at least some of them, and while `has_time` all. What succeeds goes on."""
        most = 1 if self._calls is None else self._calls.max_in_flight
        while due := self._store.take_due(time_ms, most):
            outcomes = self._outcomes_of([(each.key, each.record.value) for each in due])
            for first, (value, error) in zip(due, outcomes, strict=True):
                row = self._begin(first)
                if error is None:
                    self._store.remove(first)
                    self.context.below.send_on(self.node, row, row.with_values([value]))
                else:
                    self._retry_or_fail(first, row, error, time_ms)
            if not has_time():
                return

    def _begin(self, first: FirstRecord) -> Batch:
        """The record as a row, which is the one being processed from now on."""
        origin = first.record.context
        self.current.begin_record(
            origin.topic, origin.offset, origin.source_raw_key, origin.source_raw_value
        )
        return Batch([first.key], [first.record.value], [origin.timestamp], [origin.headers], [0])

    # Calls.

    def _attempts(self, batch: Batch) -> _Attempt:
        """Of an async function all calls are made now, but for rows whose key waits already."""
        keys, values, holds = batch.keys, batch.values, self._store.holds
        if self._calls is None:
            return lambda row: None if holds(keys[row]) else self._tried(keys[row], values[row])
        rows = [row for row, key in enumerate(keys) if not holds(key)]
        chains = [[rows[at] for at in chain] for chain in chains_of([keys[row] for row in rows])]
        return self._answers(chains, keys, values)

    def _outcomes_of(self, pairs: Sequence[tuple[object, object]]) -> list[ops.Outcome]:
        """The outcomes for keys and values, no two of one key."""
        if self._calls is None:
            return [self._tried(*pair) for pair in pairs]
        keys, values = [key for key, _ in pairs], [value for _, value in pairs]
        answer = self._answers([[at] for at in range(len(pairs))], keys, values)
        outcomes = [answer(at) for at in range(len(pairs))]
        return [each for each in outcomes if each is not None]

    def _tried(self, key: object, value: object) -> ops.Outcome:
        try:
            return (self._mapper(key, value) if self._with_key else self._mapper(value)), None
        except Exception as error:  # noqa: BLE001  # the record waits with it, or is given up
            return None, error

    def _answers(
        self, chains: Sequence[Sequence[int]], keys: list[object], values: list[object]
    ) -> _Attempt:
        mapper, calls, caller = self._mapper, self._calls, self._caller
        assert calls is not None, "asked for only where the function is async"
        assert caller is not None, "opened where the function is async"

        async def call(row: int) -> Any:  # Any: what functions of the user give
            return await (mapper(keys[row], values[row]) if self._with_key else mapper(values[row]))

        outcomes = caller.run(chains, call, calls)

        def answer(row: int) -> ops.Outcome | None:
            outcome = outcomes.get(row)
            if outcome is None or not isinstance(outcome[1], AsyncCallTimedOut):
                return outcome
            text = f"node {self.node}: the call was not answered in {calls.timeout_ms} ms"
            return None, AsyncCallTimedOut(text)

        return answer

    # Failures.

    def _begin_retries(self, batch: Batch, row: int, error: Exception) -> None:
        """A record has failed for the first time."""
        waiting = self._waiting(batch, row, self.current.wall_clock_ms)
        again = self._next_attempt(waiting, error, self.current.wall_clock_ms)
        if again is not None:
            self._store.append(batch.keys[row], again)
        else:
            one = batch.take((row,))
            self.context.below.give_up(
                self.node, one, error, self._letter(one, waiting.context, error)
            )

    def _retry_or_fail(
        self, first: FirstRecord, row: Batch, error: Exception, time_ms: int
    ) -> None:
        again = self._next_attempt(first.record, error, time_ms)
        if again is not None:
            self._store.wait_again(first, again)
        else:
            letter = self._letter(row, first.record.context, error)
            self._store.remove(first)
            self.context.below.give_up(self.node, row, error, letter)

    def _waiting(self, batch: Batch, row: int, now_ms: int) -> WaitingRecord:
        """A record that has not failed yet."""
        ordinal, timestamp, headers = batch.ordinals[row], batch.timestamps[row], batch.headers[row]
        context = self.current.record_context(ordinal, timestamp, headers)
        return WaitingRecord(batch.values[row], context, 0, now_ms)

    def _next_attempt(
        self, record: WaitingRecord, error: Exception, now_ms: int
    ) -> WaitingRecord | None:
        """The record as it waits after one more failure; None where it is given up."""
        failures, retries_max = record.failures + 1, self._policy.retries_max
        is_last = retries_max is not None and failures > retries_max
        if is_last or not isinstance(error, self._retry.retry_on):
            return None
        due_ms = now_ms + self._delay_ms(record.context, failures)
        text = repr(error)[:_ERROR_CHARACTERS_MAX]
        return replace(record, failures=failures, due_ms=due_ms, error=text)

    def _delay_ms(self, context: RecordContext, failures: int) -> int:
        """The wait before the next retry; never nothing, or the task would try again and again at one time."""
        place = f"{context.topic} {context.offset} {context.timestamp} {failures}"
        shortened = self._retry.jitter * crc32(place.encode()) / 2**32
        return max(1, int(self._policy.delay_ms(failures) * (1 - shortened)))

    def _letter(
        self, row: Batch, context: RecordContext, error: Exception
    ) -> OutgoingRecord | None:
        """The dead letter; None where the records have no topic for these.

        It is the record as the task has read it, or where it has read none, as in a punctuation, as
        the function was given it.
        """
        topic = self._retry.dead_letters
        if topic is None:
            return None
        (ordinal,), (timestamp,), (headers,) = row.ordinals, row.timestamps, row.headers
        place = self.context.error_context(ordinal, timestamp, headers)
        if context.topic is None:
            raw_key, raw_value = self._store.encode(row.keys[0], row.values[0])
            place = replace(place, raw_key=raw_key, raw_value=raw_value)
        return dead_letter(topic, place, error)
