"""Records that a task has left out: how many, where the first of them stood, why, and what would have kept them.

Pure data.

The kernel counts them, a report of the task carries them, and `dropped_log.py` tells them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple


class DropReason(StrEnum):
    """The reason why records were left out."""

    LATE_FOR_WINDOW = "late-for-window"
    LATE_FOR_SESSION = "late-for-session"
    EXPIRED_IN_STORE = "expired-in-store"
    """Older than what a store keeps: of windows, sessions or versions."""
    NULL_KEY = "null-key"
    NULL_KEY_OR_VALUE = "null-key-or-value"
    NULL_FOREIGN_KEY = "null-foreign-key"
    NEGATIVE_TIMESTAMP = "negative-timestamp"
    NOT_NEWEST = "not-newest"
    """A versioned table has a newer version of the row, and what is below keeps one version."""
    STALE_ANSWER = "stale-answer"
    """Of a foreign-key join: the left row has changed since the right side was asked; another answer comes."""
    UNREADABLE = "unreadable"
    FAILED = "failed"
    FAILED_PUNCTUATION = "failed-punctuation"
    UNWRITABLE = "unwritable"
    REFUSED = "refused"
    GIVEN_UP = "given-up"
    NO_PARTITION = "no-partition"


QUIET: Final = frozenset({DropReason.NOT_NEWEST, DropReason.STALE_ANSWER})
"""Part of what was asked for: nobody has to change anything, so they are counted, and told at INFO."""


class Lateness(NamedTuple):
    """The lateness of records.

    `window`: the first one's window, session, or its time in the store alone; it closed at `closed_ms`.

    `allowed_ms` is the grace or the retention there is, `needed_ms` the least that would have kept all of them.
    `updates`: how many updates of windows were left out.
    """

    window: tuple[int, int]
    closed_ms: int
    allowed_ms: int
    needed_ms: int
    stream_time_ms: int
    updates: int = 1


@dataclass(frozen=True, slots=True)
class DroppedRecords:
    """Records of one partition that one node, or one store, has left out for one reason.

    `partition`, `offset`, `timestamp_ms` and `stream_time_ms` are those of the first; in a punctuation there is no
    topic. `late`: of records that were late. `error`: the first one's, where something has failed. `updates`: what
    `dropped-records-total` counts: of a record that was late for three windows, three.
    """

    node: str
    topic: str | None
    partition: int
    reason: DropReason
    records: int
    updates: int
    offset: int
    timestamp_ms: int
    stream_time_ms: int
    late: Lateness | None = None
    error: str = ""

    def plus(self, later: DroppedRecords) -> DroppedRecords:
        """Returns both together; this one came first."""
        late = self.late
        if late is not None and later.late is not None:
            needed, updates = later.late.needed_ms, later.late.updates
            late = late._replace(
                needed_ms=max(late.needed_ms, needed), updates=late.updates + updates
            )
        return replace(
            self,
            records=self.records + later.records,
            updates=self.updates + later.updates,
            late=late,
        )

    @property
    def place(self) -> str:
        """The first record's topic partition and offset."""
        if self.topic is None:
            return _WITHOUT_TOPIC.get(self.reason, "a record of a punctuation")
        at = "" if self.offset < 0 else f", offset {self.offset}"
        return f"{self.topic}-{self.partition}{at}"

    @property
    def why(self) -> str:
        """The reason, as the end of a sentence about the first record."""
        if self.late is not None:
            return _why_late(self.reason, self.node, self.late)
        return _WHY[self.reason] + (f": {self.error}" if self.error else "")

    @property
    def advice(self) -> str:
        """The change that would have kept the records, as a sentence; empty where nothing has to be."""
        if self.late is not None:
            return _advice_of_late(self.reason, self.late)
        return _ADVICE[self.reason]

    def text(self, task: str, partitions: int = 1) -> str:
        """Returns the line of a log. `partitions`: of how many the records are."""
        records = "1 record" if self.records == 1 else f"{self.records} records"
        windows = f" ({self.updates} updates of windows)" if self.updates > self.records else ""
        spread = f" in {partitions} partitions" if partitions > 1 else ""
        topic = "" if self.topic is None else f" of topic {self.topic}"
        line = (
            f"task [{task}] {self.node} has left out {records}{windows}{topic}{spread}. The first: {self.place}, "
            f"timestamp {self.timestamp_ms}, stream time {self.stream_time_ms}: {self.why}"
        )
        return f"{line}. {self.advice}" if self.advice else line


def together(found: Iterable[DroppedRecords]) -> tuple[DroppedRecords, ...]:
    """Returns them with those of one node, topic partition and reason as one, in the order of the first."""
    by_place: dict[tuple[str, str | None, int, DropReason], DroppedRecords] = {}
    for each in found:
        place = (each.node, each.topic, each.partition, each.reason)
        before = by_place.get(place)
        by_place[place] = each if before is None else before.plus(each)
    return tuple(by_place.values())


def _why_late(reason: DropReason, node: str, late: Lateness) -> str:
    first, last = late.window
    match reason:
        case DropReason.LATE_FOR_WINDOW:
            return f"its window [{first}, {last}) closed at {late.closed_ms}, after {late.allowed_ms} ms of grace"
        case DropReason.LATE_FOR_SESSION:
            return f"its session [{first}, {last}] closed at {late.closed_ms}, after the gap and {late.allowed_ms} ms of grace"
        case _:
            return f"store {node} keeps nothing before {late.closed_ms}, and it is of {first}"


def _advice_of_late(reason: DropReason, late: Lateness) -> str:
    if reason is DropReason.EXPIRED_IN_STORE:
        return f"A retention (of a versioned table: a history) of {late.needed_ms} ms would have kept all of them"
    return (
        f"A grace of {late.needed_ms} ms would have kept all of them; where a task reads several topics, max_task_idle_ms has it wait "
        "for the one that is behind"
    )


_WHY: Final = {
    DropReason.EXPIRED_IN_STORE: "it is older than what the store keeps",
    DropReason.NULL_KEY: "it has no key",
    DropReason.NULL_KEY_OR_VALUE: "it has no key, or no value",
    DropReason.NULL_FOREIGN_KEY: "it has no foreign key",
    DropReason.NEGATIVE_TIMESTAMP: "its timestamp is negative",
    DropReason.NOT_NEWEST: "the table has a newer version of its row",
    DropReason.STALE_ANSWER: "the left row of the join has changed since",
    DropReason.UNREADABLE: "the serdes cannot read it",
    DropReason.FAILED: "processing it has failed",
    DropReason.FAILED_PUNCTUATION: "a punctuation has failed",
    DropReason.UNWRITABLE: "the serdes of the sink cannot write what came of it",
    DropReason.REFUSED: "the broker has refused it",
    DropReason.GIVEN_UP: "its retries are used up",
    DropReason.NO_PARTITION: "the partitioner has given it no partition",
}
_WITHOUT_TOPIC: Final = {
    DropReason.FAILED_PUNCTUATION: "a punctuation",
    DropReason.REFUSED: "an output",
}
_HANDLED: Final = (
    "{} has it go on: dead_letter_topic keeps such records, OnError.FAIL stops at the first"
)
_ADVICE: Final = {
    DropReason.EXPIRED_IN_STORE: "Give the store a longer retention",
    DropReason.NULL_KEY: "Set a key before this node, with select_key() say, or leave such records out yourself, with filter()",
    DropReason.NULL_KEY_OR_VALUE: "Give every record a key and a value before this node, or leave such records out yourself, with filter()",
    DropReason.NULL_FOREIGN_KEY: "A left_join() keeps rows without a foreign key",
    DropReason.NEGATIVE_TIMESTAMP: "Have the timestamp extractor of the source give such records a time",
    DropReason.NOT_NEWEST: "",
    DropReason.STALE_ANSWER: "",
    DropReason.UNREADABLE: _HANDLED.format("on_deserialization_error"),
    DropReason.FAILED: _HANDLED.format("on_processing_error"),
    DropReason.FAILED_PUNCTUATION: "on_processing_error has it go on: OnError.FAIL stops there",
    DropReason.UNWRITABLE: _HANDLED.format("on_production_error"),
    DropReason.REFUSED: _HANDLED.format("on_production_error"),
    DropReason.GIVEN_UP: "A dead letter topic of the operator keeps such records, more attempts try for longer",
    DropReason.NO_PARTITION: "Have the partitioner of the sink give every record at least one",
}
