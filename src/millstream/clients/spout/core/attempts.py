"""A record as it is given out, and what becomes of it: the words that both kinds of spout speak."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from millstream.clients.core.values import ConsumerRecord
from millstream.clients.spout.core.metrics import SpoutCounts
from millstream.clients.spout.core.retries import MessageId


@dataclass(slots=True, eq=False)
class RecordAttempt:
    """A record as it is given out once."""

    record: ConsumerRecord
    number: int
    """1 for the first time."""
    hold: object
    """Our hold on the record when it was given out: an ack that comes when the record is somebody else's
    finds another one, or none."""
    open_values: int = 1
    """The values made of the record that are not acked."""

    @property
    def message_id(self) -> MessageId:
        return MessageId(self.record.topic_partition, self.record.offset)


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A record that had all its retries."""

    attempt: RecordAttempt
    error: BaseException | None


class FailOutcome(Enum):
    """The effect of a fail."""

    IGNORED = auto()
    """The record is done, failed already, or belongs to somebody else by now."""
    RETRY = auto()
    GIVEN_UP = auto()
    NOT_RETRIED = auto()
    """Only at_least_once gives a record out again."""


class RecordsGivenOut(Protocol):
    """The order in which records are given out, and the effect of acks and fails on them."""

    counts: SpoutCounts
    failures_in_a_row: int
    wants_turn: bool
    """Set when whoever reads should look here."""
    given_up: deque[GivenUp]
    """Still pending: whoever takes one says `finish`."""

    def next(self, now_ms: int) -> RecordAttempt | None: ...
    def next_due_ms(self) -> int | None: ...
    def give_back(self, attempt: RecordAttempt) -> None: ...
    def is_open(self, attempt: RecordAttempt) -> bool: ...
    def ack(self, attempt: RecordAttempt) -> bool: ...
    def fail(
        self, attempt: RecordAttempt, now_ms: int, delay_ms: int | None, error: BaseException | None
    ) -> FailOutcome: ...
    def finish(self, given_up: GivenUp, *, dead_lettered: bool) -> None: ...
