"""Finds what is wrong with a history of producers and consumers, and says which of it Kafka allows.

The anomalies are those of Jepsen's checker for Kafka (`jepsen.tests.kafka`), under its names. Pure.

    illegal = [anomaly for anomaly in check(history, Guarantees()) if not anomaly.is_legal]
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final

from millstream.model import TopicPartition
from millstream.testing.history import History, Outcome, Poll, Read, Send, Transaction


class Kind(Enum):
    INCONSISTENT_OFFSETS = "one offset holds two values"
    LOST_WRITE = "an acknowledged record was lost, later ones are there"
    UNSEEN = "an acknowledged record was never seen"
    DUPLICATE = "one value stands at two offsets"
    ABORTED_READ = "a record that failed or was aborted was returned"
    PRECOMMITTED_READ = "a transaction read its own records before it was committed"
    POLL_SKIP = "a consumer left records out between two polls"
    NONMONOTONIC_POLL = "a consumer went back between two polls"
    INT_POLL_SKIP = "a poll left records out"
    INT_NONMONOTONIC_POLL = "a poll went back"
    NONMONOTONIC_SEND = "a producer's later record stands before its earlier one"
    INT_NONMONOTONIC_SEND = "a transaction's later record stands before its earlier one"
    INT_SEND_SKIP = "others' records stand between those of a transaction"
    TORN_TRANSACTION = "a part of a transaction is visible"
    CIRCULAR_READS = "transactions read each other's records"


@dataclass(frozen=True, slots=True)
class Guarantees:
    """The guarantees that the clients were configured for.

    `idempotent`: the producers; `read_committed`: the consumers.
    """

    idempotent: bool = True
    read_committed: bool = True


@dataclass(frozen=True, slots=True)
class Anomaly:
    kind: Kind
    is_legal: bool
    """Kafka allows it, with these guarantees."""
    partition: TopicPartition | None
    what: str

    def __str__(self) -> str:
        where = f"{self.partition.topic}-{self.partition.partition}: " if self.partition else ""
        return f"{where}{self.kind.value}: {self.what}"


def check(history: History, guarantees: Guarantees = Guarantees()) -> list[Anomaly]:
    """Returns all anomalies, legal and illegal."""
    index = _HistoryIndex(history)
    return [anomaly for find in _CHECKS for anomaly in find(index, guarantees)]


def illegal(history: History, guarantees: Guarantees = Guarantees()) -> list[str]:
    """Returns the anomalies that Kafka does not allow, as sentences; a test asserts that there are none."""
    return [str(anomaly) for anomaly in check(history, guarantees) if not anomaly.is_legal]


class _HistoryIndex:
    """An index of the history: the sends by value, and the values by offset."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.send_of = {(send.partition, send.value): send for send in history.sends}
        self.seen: dict[TopicPartition, dict[int, set[bytes]]] = defaultdict(
            lambda: defaultdict(set)
        )
        for read in history.reads():
            self.seen[read.partition][read.offset].add(read.value)
        self.offsets_seen = {partition: sorted(at) for partition, at in self.seen.items()}
        self.offsets_of: dict[tuple[TopicPartition, bytes], set[int]] = defaultdict(set)
        for partition, offsets in self.seen.items():
            for offset, values in offsets.items():
                for value in values:
                    self.offsets_of[partition, value].add(offset)
        for send in history.sends:
            if send.offset is not None:
                self.offsets_of[send.partition, send.value].add(send.offset)

    def writer(self, read: Read) -> Send | None:
        return self.send_of.get((read.partition, read.value))

    def is_seen(self, send: Send) -> bool:
        offsets = self.offsets_of.get((send.partition, send.value), set())
        return any(send.value in self.seen[send.partition].get(o, ()) for o in offsets)

    def first_offset(self, send: Send) -> int | None:
        """The first offset of the record; None where it was never seen."""
        return min(self.offsets_of.get((send.partition, send.value), ()), default=None)

    def between(self, partition: TopicPartition, low: int, high: int) -> list[int]:
        """Offsets above `low` and below `high` where some client saw a record."""
        offsets = self.offsets_seen.get(partition, [])
        return offsets[bisect_right(offsets, low) : bisect_right(offsets, high - 1)]


_Check = Callable[[_HistoryIndex, Guarantees], Iterator[Anomaly]]


def _must_be_visible(send: Send) -> bool:
    """Told to be written, and in no transaction or in one told to be committed."""
    transaction = send.transaction
    committed = transaction is None or transaction.outcome is Outcome.ACKNOWLEDGED
    return send.outcome is Outcome.ACKNOWLEDGED and committed


def _inconsistent_offsets(index: _HistoryIndex, _: Guarantees) -> Iterator[Anomaly]:
    values: dict[tuple[TopicPartition, int], set[bytes]] = defaultdict(set)
    for read in index.history.reads():
        values[read.partition, read.offset].add(read.value)
    for send in index.history.sends:
        if send.offset is not None and (send.partition, send.offset) in values:
            values[send.partition, send.offset].add(send.value)
    for (partition, offset), found in values.items():
        if len(found) > 1:
            yield Anomaly(
                Kind.INCONSISTENT_OFFSETS, False, partition, f"{offset} holds {sorted(found)}"
            )


def _lost_and_unseen(index: _HistoryIndex, _: Guarantees) -> Iterator[Anomaly]:
    for send in index.history.sends:
        if not _must_be_visible(send) or index.is_seen(send):
            continue
        last = max(index.offsets_seen.get(send.partition, ()), default=-1)
        what = f"{send.value!r} of {send.producer} at {send.offset}"
        if send.offset is not None and last > send.offset:
            yield Anomaly(Kind.LOST_WRITE, False, send.partition, f"{what}; {last} was read")
        elif index.history.is_complete:
            yield Anomaly(Kind.UNSEEN, False, send.partition, what)


def _duplicates(index: _HistoryIndex, guarantees: Guarantees) -> Iterator[Anomaly]:
    for (partition, value), offsets in index.offsets_of.items():
        if len(offsets) > 1:
            what = f"{value!r} at {sorted(offsets)}"
            yield Anomaly(Kind.DUPLICATE, not guarantees.idempotent, partition, what)


def _aborted_reads(index: _HistoryIndex, guarantees: Guarantees) -> Iterator[Anomaly]:
    for read in set(index.history.reads()):
        send = index.writer(read)
        if send is None:
            continue
        what = f"{read.value!r} at {read.offset}"
        if send.outcome is Outcome.FAILED:
            yield Anomaly(Kind.ABORTED_READ, False, read.partition, f"{what} had failed")
        elif send.transaction is not None and send.transaction.outcome is Outcome.FAILED:
            what = f"{what} is of {send.transaction.name}, which was aborted"
            yield Anomaly(Kind.ABORTED_READ, not guarantees.read_committed, read.partition, what)


def _precommitted_reads(index: _HistoryIndex, guarantees: Guarantees) -> Iterator[Anomaly]:
    for poll in index.history.polls:
        for read in poll.reads if poll.transaction is not None else ():
            send = index.writer(read)
            if send is not None and send.transaction is poll.transaction:
                what = f"{read.value!r} at {read.offset}"
                yield Anomaly(
                    Kind.PRECOMMITTED_READ, not guarantees.read_committed, read.partition, what
                )


def _movements(index: _HistoryIndex, _: Guarantees) -> Iterator[Anomaly]:
    """Skips and steps back, within a poll and from one poll to the next."""
    last: dict[tuple[str, TopicPartition], tuple[Poll, int]] = {}
    moved_since: dict[str, set[TopicPartition]] = defaultdict(set)
    for poll in index.history.polls:
        if poll.moved:
            moved_since[poll.consumer] = {tp for name, tp in last if name == poll.consumer}
        for read in poll.reads:
            before = last.get((poll.consumer, read.partition))
            last[poll.consumer, read.partition] = (poll, read.offset)
            if before is None:
                continue
            within = before[0] is poll
            is_legal = not within and read.partition in moved_since[poll.consumer]
            moved_since[poll.consumer].discard(read.partition)
            what = f"{poll.consumer} returned {read.offset} after {before[1]}"
            if read.offset <= before[1]:
                kind = Kind.INT_NONMONOTONIC_POLL if within else Kind.NONMONOTONIC_POLL
                yield Anomaly(kind, is_legal, read.partition, what)
            elif skipped := index.between(read.partition, before[1], read.offset):
                kind = Kind.INT_POLL_SKIP if within else Kind.POLL_SKIP
                yield Anomaly(kind, is_legal, read.partition, f"{what}, without {skipped}")


def _order_of_sends(index: _HistoryIndex, guarantees: Guarantees) -> Iterator[Anomaly]:
    by_producer: dict[tuple[str, TopicPartition], list[tuple[int, Send]]] = defaultdict(list)
    for send in index.history.sends:
        first_offset = index.first_offset(send)
        if first_offset is not None:
            by_producer[send.producer, send.partition].append((first_offset, send))
    for (producer, partition), sends in by_producer.items():
        for (first, earlier), (second, later) in pairwise(sends):
            if second < first:
                within = (
                    earlier.transaction is not None and earlier.transaction is later.transaction
                )
                kind = Kind.INT_NONMONOTONIC_SEND if within else Kind.NONMONOTONIC_SEND
                what = f"{producer} sent {earlier.value!r} (at {first}) before {later.value!r} (at {second})"
                yield Anomaly(kind, not guarantees.idempotent, partition, what)


def _interleaved_transactions(index: _HistoryIndex, _: Guarantees) -> Iterator[Anomaly]:
    offsets: dict[tuple[Transaction, TopicPartition], list[int]] = defaultdict(list)
    for send in index.history.sends:
        first_offset = index.first_offset(send)
        if send.transaction is not None and first_offset is not None:
            offsets[send.transaction, send.partition].append(first_offset)
    for (transaction, partition), own in offsets.items():
        others = set(index.between(partition, min(own), max(own))) - set(own)
        if others:
            what = f"{sorted(others)} between those of {transaction.name}"
            yield Anomaly(Kind.INT_SEND_SKIP, True, partition, what)


def _torn_transactions(index: _HistoryIndex, _: Guarantees) -> Iterator[Anomaly]:
    """A record that was acknowledged belongs to the transaction; one that was not may have failed and be left out."""
    if not index.history.is_complete:
        return
    sends: dict[Transaction, list[Send]] = defaultdict(list)
    for send in index.history.sends:
        if send.transaction is not None and send.outcome is Outcome.ACKNOWLEDGED:
            sends[send.transaction].append(send)
    for transaction, parts in sends.items():
        missing = [send.value for send in parts if not index.is_seen(send)]
        if missing and len(missing) < len(parts):
            yield Anomaly(
                Kind.TORN_TRANSACTION, False, None, f"{transaction.name} without {missing}"
            )


def _circular_reads(index: _HistoryIndex, _: Guarantees) -> Iterator[Anomaly]:
    """An edge leads from the transaction that wrote a record to the one that read it."""
    readers: dict[Transaction, set[Transaction]] = defaultdict(set)
    for poll in index.history.polls:
        for read in poll.reads if poll.transaction is not None else ():
            send = index.writer(read)
            if send is not None and send.transaction not in (None, poll.transaction):
                assert send.transaction is not None, "None was left out"
                assert poll.transaction is not None, "polls without one were left out"
                readers[send.transaction].add(poll.transaction)
    for start in list(readers):
        if (cycle := _cycle_from(start, readers)) is not None:
            yield Anomaly(Kind.CIRCULAR_READS, False, None, " → ".join(each.name for each in cycle))


def _cycle_from(
    start: Transaction, readers: dict[Transaction, set[Transaction]]
) -> list[Transaction] | None:
    """The way from `start` back to it, if `start` is the first of its members by name."""
    paths = [[start]]
    seen = set()
    while paths:
        path = paths.pop()
        for reader in readers.get(path[-1], ()):
            if reader is start:
                return [*path, start] if start.name == min(t.name for t in path) else None
            if reader not in seen:
                seen.add(reader)
                paths.append([*path, reader])
    return None


_CHECKS: Final[tuple[_Check, ...]] = (
    _inconsistent_offsets,
    _lost_and_unseen,
    _duplicates,
    _aborted_reads,
    _precommitted_reads,
    _movements,
    _order_of_sends,
    _interleaved_transactions,
    _torn_transactions,
    _circular_reads,
)
