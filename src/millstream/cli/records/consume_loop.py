"""The loop of `consume`: polls, writes, and knows when it is done."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

from millstream.clients.consumer.core.errors import WakeupError
from millstream.clients.core.serialization import SerializationError
from millstream.model import TopicPartition
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.clients import ConsumerRecord
    from millstream.clients.blocking import Consumer

_POLL_MS = 500
"""So late the end of a log and a time limit are found, where nothing comes."""
_POLL_RECORDS = 1_000
"""Records are shown as they come; max.poll.records of Kafka is half of it."""


@dataclass(slots=True)
class Interruption:
    """The signal that came, or None. The second one of a kind has its usual effect."""

    signal: int | None = None


@contextmanager
def interruptible(consumer: Consumer) -> Iterator[Interruption]:
    """SIGINT and SIGTERM ask to end: what was written is committed, and nothing else.

    A call of the consumer that waits ends.
    """
    asked = Interruption()
    before: dict[int, object] = {}

    def note(number: int, _frame: FrameType | None) -> None:
        asked.signal = number
        consumer.wakeup()
        signal.signal(number, before[number])  # type: ignore[arg-type]  # what signal() gave

    for asking in (signal.SIGINT, signal.SIGTERM):
        before[asking] = signal.signal(asking, note)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() gave


@dataclass(slots=True)
class ConsumeLoop:
    """`emit` takes records and flushes at `flush`.

    `stop` has the offset to end before, by partition, if there is one.
    """

    consumer: Consumer
    emit: Callable[[ConsumerRecord], object]
    flush: Callable[[], None]
    now_ms: Callable[[], int]
    stop: Mapping[TopicPartition, int] | None = None
    """Partitions that were assigned by hand; a group's end is looked up when nothing comes (`until_end`)."""
    until_end: bool = False
    count_max: int | None = None
    silence_max_ms: int | None = None
    skip_errors: bool = False
    tell: Callable[[int], object] | None = None
    """Is told the number of records behind each poll."""
    count: int = 0
    skipped: int = 0
    _reached: set[TopicPartition] = field(default_factory=set)

    def run(self, interruption: Interruption) -> None:
        """Consumes until the bounds are met, nothing came for `silence_max_ms`, or a signal asks to end."""
        try:
            self._run(interruption)
        except WakeupError:
            if interruption.signal is None:
                raise

    def _run(self, interruption: Interruption) -> None:
        if self.stop is not None:  # `seek` has those paused of which nothing is to be read
            self._reached |= self.consumer.paused() & self.stop.keys()
        heard_ms = self.now_ms()
        while interruption.signal is None and not self._is_done():
            records = self.consumer.poll(max_records=self._room(), timeout_ms=_POLL_MS)
            for record in records:
                self._take(record)
            self.flush()
            if self.tell is not None:
                self.tell(self.count)
            if records:
                heard_ms = self.now_ms()
                continue
            self._look_at_positions()
            if self._has_group_ended():
                return
            if self.silence_max_ms is not None and self.now_ms() - heard_ms >= self.silence_max_ms:
                return

    def summary(self) -> str:
        return f"{counted(self.count, 'record')} read" + (
            f", {self.skipped} skipped" if self.skipped else ""
        )

    def _room(self) -> int:
        if self.count_max is None:
            return _POLL_RECORDS
        return min(_POLL_RECORDS, self.count_max - self.count)

    def _is_done(self) -> bool:
        if self.count_max is not None and self.count >= self.count_max:
            return True
        return self.stop is not None and len(self._reached) == len(self.stop)

    def _take(self, record: ConsumerRecord) -> None:
        if self.stop is not None:
            stop = self.stop[record.topic_partition]
            if record.offset + 1 >= stop:
                self._reached.add(record.topic_partition)
            if record.offset >= stop:
                return
        try:
            self.emit(record)
        except SerializationError as error:
            if not self.skip_errors:
                raise SerializationError(
                    f"{record.topic_partition} offset {record.offset}: {error}"
                    " (--skip-message-on-error skips such records)"
                ) from error
            self.skipped += 1
            return
        self.count += 1

    def _look_at_positions(self) -> None:
        """Markers and aborted records move a position without giving a record."""
        for partition, stop in (self.stop or {}).items():
            if partition not in self._reached and self.consumer.position(partition) >= stop:
                self._reached.add(partition)

    def _has_group_ended(self) -> bool:
        if self.stop is not None or not self.until_end:
            return False
        assignment = self.consumer.assignment()
        ends = self.consumer.end_offsets(assignment)
        return bool(assignment) and all(
            self.consumer.position(partition) >= end for partition, end in ends.items()
        )
