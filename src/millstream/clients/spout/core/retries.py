"""The time at which failed records are given out again, and the number of times."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

from millstream.clients.core.illegal_state import IllegalState
from millstream.model import TopicPartition


class MessageId(NamedTuple):
    """The place of a record in the log, by which it is acked and failed."""

    topic_partition: TopicPartition
    offset: int

    def __str__(self) -> str:
        return f"{self.topic_partition} at offset {self.offset}"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The delay of retry n is min(initial * multiplier^(n-1), max).

    `retries_max` None: a record is retried for ever.
    """

    delay_initial_ms: int = 0
    delay_multiplier: float = 1.0
    delay_max_ms: int = 60_000
    retries_max: int | None = None

    def delay_ms(self, retry: int) -> int:
        """Returns the wait before the given retry, 1 for the first."""
        try:
            delay_ms = self.delay_initial_ms * self.delay_multiplier ** (retry - 1)
        except OverflowError:
            delay_ms = self.delay_max_ms if self.delay_initial_ms else 0
        return int(min(delay_ms, self.delay_max_ms))


class RetrySchedule:
    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures: dict[MessageId, int] = {}
        self._due_ms: dict[MessageId, int] = {}
        self._queue: list[tuple[int, MessageId]] = []
        """A heap; an entry whose time is not that of `_due_ms` was cancelled."""

    def failures(self, message_id: MessageId) -> int:
        """Returns how often the record failed so far."""
        return self._failures.get(message_id, 0)

    def scheduled(self, topic_partition: TopicPartition) -> list[int]:
        """Returns the offsets of the partition's records that wait for their retry."""
        return sorted(mid.offset for mid in self._due_ms if mid.topic_partition == topic_partition)

    def fail(self, message_id: MessageId, now_ms: int, delay_ms: int | None = None) -> bool:
        """Schedules a retry, after `delay_ms` or as the policy says. False: the record has had all its retries."""
        failures = self.failures(message_id) + 1
        self._failures[message_id] = failures
        retries_max = self._policy.retries_max
        if retries_max is not None and failures > retries_max:
            return False
        if delay_ms is None:
            delay_ms = self._policy.delay_ms(failures)
        self._due_ms[message_id] = now_ms + delay_ms
        heapq.heappush(self._queue, (now_ms + delay_ms, message_id))
        return True

    def next_due_ms(self) -> int | None:
        """Returns when the next retry is due; None when there is none."""
        while self._queue and self._due_ms.get(self._queue[0][1]) != self._queue[0][0]:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def next_due(self, now_ms: int) -> MessageId | None:
        """Returns the record whose retry has been due the longest; None when none is due."""
        due_ms = self.next_due_ms()
        return None if due_ms is None or due_ms > now_ms else self._queue[0][1]

    def start(self, message_id: MessageId) -> None:
        """Notes that the retry is given out. Raises IllegalState for a record that did not fail."""
        if self._due_ms.pop(message_id, None) is None:
            raise IllegalState(f"{message_id} has no retry: it did not fail")

    def cancel(self, message_id: MessageId) -> None:
        """Takes the record out of the schedule; its fails still count."""
        self._due_ms.pop(message_id, None)

    def forget(self, message_id: MessageId) -> None:
        """Cancels the retry of a record that is done."""
        self._failures.pop(message_id, None)
        self.cancel(message_id)

    def forget_partition(self, topic_partition: TopicPartition) -> None:
        for message_id in [m for m in self._failures if m.topic_partition == topic_partition]:
            self.forget(message_id)
