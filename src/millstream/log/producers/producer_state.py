"""The state of the producers that write to a log: enough to drop duplicates and to refuse gaps (KIP-98, KIP-360).

The `check_*` functions decide before anything is written and change nothing; `apply` follows what was
written, live and when a log is loaded. Also knows where open transactions begin, which bounds the last stable
offset, and what a marker may end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, final

from millstream.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    PolicyViolation,
    TransactionCoordinatorFenced,
)
from millstream.log.producers.snapshot import ProducerSnapshotEntry
from millstream.records.batch import NO_SEQUENCE, SEQUENCE_MAX, BatchHeader
from millstream.records.control import TransactionMarker

REMEMBERED_BATCHES: Final = 5
"""A producer has at most five requests in flight, so a retry is always one of its last five batches."""
_EPOCH_MAX: Final = 2**15 - 1
PRODUCERS_MAX: Final = 50_000
"""That one log remembers, some 100 MB. An idempotent producer is a number that anybody makes up;
Kafka remembers all of a day."""
PRODUCERS_OF_ALL_MAX: Final = 250_000
"""That the logs of a node remember together: one that writes to ten partitions counts ten times."""
_CROWDED_EXPIRATION_MS: Final = 900_000
"""Where there are half as many as may be, who was silent for so long is forgotten: no producer sends a batch again
after its delivery timeout, of two minutes by default."""
_MAKES_ROOM_INTERVAL_MS: Final = 10_000
"""Where there is no room: to look at all producers of a node takes some 50 ms."""
_RAISES_EPOCH: Final = 2
"""The transaction.version from which on every end of a transaction raises the epoch (KIP-890)."""


class ProducedBatch(NamedTuple):
    base_sequence: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class TransactionEnd(NamedTuple):
    """An end-of-transaction marker, as far as the log needs it."""

    is_commit: bool
    coordinator_epoch: int


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    is_commit: bool
    last_stable_offset: int


def _remembered() -> deque[ProducedBatch]:
    return deque(maxlen=REMEMBERED_BATCHES)


@dataclass(slots=True)
class ProducerEntry:
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = -1
    last_timestamp_ms: int = -1
    transaction_first_offset: int = -1
    last_marker_offset: int = -1
    """Not in snapshots: what it is compared with does not outlive the process either."""
    began_at: int = -1
    """Where the producer's epoch began in this log; -1 where a snapshot does not tell."""
    is_new: bool = False
    """Whether the producer was not known before this epoch."""
    batches: deque[ProducedBatch] = field(default_factory=_remembered)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def find_duplicate(self, header: BatchHeader) -> ProducedBatch | None:
        if header.producer_epoch != self.producer_epoch:
            return None
        wanted = header.base_sequence, header.last_sequence
        return next((batch for batch in self.batches if batch[:2] == wanted), None)


class _Ended(NamedTuple):
    """A transaction whose marker may not be committed yet."""

    first_offset: int
    last_offset: int
    producer_id: int
    before: ProducerEntry
    """The producer before the marker, in case it is cut off."""


class Rewind(NamedTuple):
    """The way back of producers to what they were where a log is cut."""

    entries: dict[int, ProducerEntry | None]
    """Those that change; None: not known there."""
    ended: int
    """How many of the transactions whose markers may not be committed stay."""


@dataclass(slots=True)
class ProducerCount:
    """The producers that the logs of a node remember together, counted anew now and then: logs are
    loaded in several threads.
    """

    known: int = 0
    known_max: int = PRODUCERS_OF_ALL_MAX
    of_logs: list[Callable[[], Iterable[ProducerStates]]] = field(default_factory=list)
    """Where the logs are found of which to forget some."""
    looked_at_ms: int | None = None

    @property
    def is_crowded(self) -> bool:
        return self.known > self.known_max // 2

    def has_room(self, now_ms: int) -> bool:
        """Whether there is room for another producer, once those are forgotten, of all logs, that
        were silent for long.
        """
        if self.known < self.known_max:
            return True
        if _is_due(self.looked_at_ms, now_ms):
            self.looked_at_ms = now_ms
            for find in self.of_logs:
                for states in find():
                    states.remove_expired(now_ms, _CROWDED_EXPIRATION_MS)
        return self.known < self.known_max

    def grow(self, more: int) -> None:
        self.known = max(0, self.known + more)


@final
class ProducerStates:
    def __init__(
        self, count: ProducerCount | None = None, producers_max: int = PRODUCERS_MAX
    ) -> None:
        """`count`: what all logs of the node remember."""
        self._count = ProducerCount() if count is None else count
        self._producers_max = producers_max
        self._looked_at_ms: int | None = None
        self._entries: dict[int, ProducerEntry] = {}
        self._open_transactions: dict[int, int] = {}
        """Producer id to first offset, in the order the transactions began: the first value is the smallest."""
        self._ended: deque[_Ended] = deque()
        """Transactions whose markers may not be committed yet, in the order of the markers."""

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def entries(self) -> list[ProducerEntry]:
        return list(self._entries.values())

    @property
    def first_open_offset(self) -> int | None:
        """The offset where the oldest open transaction begins; None when none is open."""
        return next(iter(self._open_transactions.values()), None)

    @property
    def first_unstable_offset(self) -> int | None:
        """The offset where the oldest transaction begins whose end is not committed: it
        could still be lost with its marker.
        """
        still_open = self.first_open_offset
        if not self._ended:
            return still_open
        earliest_ended = min(ended.first_offset for ended in self._ended)
        return earliest_ended if still_open is None else min(earliest_ended, still_open)

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Notes that every marker below `high_watermark` is committed and cannot be lost."""
        while self._ended and self._ended[0].last_offset < high_watermark:
            self._ended.popleft()

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self._entries.get(producer_id)
        return (
            entry is not None
            and entry.producer_epoch == producer_epoch
            and entry.transaction_first_offset >= 0
        )

    def last_marker_offset(self, producer_id: int) -> int:
        """Returns the offset of the last marker, -1 for none.

        Compare it before and after a question to the coordinator about a transaction.
        """
        entry = self._entries.get(producer_id)
        return -1 if entry is None else entry.last_marker_offset

    # --- before an append

    def find_duplicate(self, headers: Sequence[BatchHeader]) -> ProducedBatch | None:
        """Returns the batch that was written before, when one of `headers` is its retry."""
        for header in headers:
            entry = self._entries.get(header.producer_id)
            if entry is not None and not header.is_control:
                duplicate = entry.find_duplicate(header)
                if duplicate is not None:
                    return duplicate
        return None

    def check_epoch(self, producer_id: int, producer_epoch: int) -> None:
        """Checks the epoch of a producer. Raises InvalidProducerEpoch for a fenced producer."""
        entry = self._entries.get(producer_id)
        if entry is not None:
            _check_epoch(producer_id, producer_epoch, entry.producer_epoch)

    def check_append(self, headers: Sequence[BatchHeader], now_ms: int) -> None:
        """Checks batches before an append.

        Where another producer has no room, those are forgotten that were silent for long.

        Raises InvalidProducerEpoch for a fenced producer, OutOfOrderSequenceNumber where batches are missing,
        InvalidTxnState for a plain batch amid a transaction, PolicyViolation for one producer too many.
        """
        expected: dict[int, tuple[int, int]] = {}
        for header in headers:
            if header.producer_id < 0 or header.is_control:
                continue
            if header.producer_id in expected:
                epoch, last_sequence = expected[header.producer_id]
                _check_sequence(header, epoch, last_sequence)
            else:
                entry = self._entries.get(header.producer_id)
                if entry is None:
                    self._check_has_room(now_ms)
                else:
                    _check_sequence(header, entry.producer_epoch, entry.last_sequence)
                    _check_stays_in_transaction(header, entry)
            expected[header.producer_id] = header.producer_epoch, header.last_sequence

    def _check_has_room(self, now_ms: int) -> None:
        if len(self._entries) >= self._producers_max and _is_due(self._looked_at_ms, now_ms):
            self._looked_at_ms = now_ms
            self.remove_expired(now_ms, _CROWDED_EXPIRATION_MS)
        if len(self._entries) >= self._producers_max:
            raise PolicyViolation(
                f"{self._producers_max} idempotent producers have written to the partition in the last quarter of an hour: let those "
                "that are there write more, instead of new ones",
                bound="producers of a partition",
            )
        if not self._count.has_room(now_ms):
            raise PolicyViolation(
                f"{self._count.known_max} idempotent producers have written to the partitions of this node in the last quarter of an hour "
                "(one that writes to ten partitions counts ten times): let those that are there write more, instead of new ones",
                bound="producers of a node",
            )

    def check_begins_transaction(
        self, header: BatchHeader, marker_offset: int, *, sequence_from_0: bool
    ) -> None:
        """The first batch of a transaction here, which the coordinator has been asked about in the meantime.

        `marker_offset` is what `last_marker_offset` said before. A marker that came since belongs to this
        very transaction: what is written now would never be ended. `sequence_from_0`: its producer begins
        every transaction with sequence 0.
        """
        if self.last_marker_offset(header.producer_id) != marker_offset:
            raise InvalidTxnState(
                "the transaction was ended while its first records were on their way"
            )
        if (
            sequence_from_0
            and header.base_sequence != 0
            and header.producer_id not in self._entries
        ):
            raise OutOfOrderSequenceNumber(
                f"producer {header.producer_id} is not known and sent sequence {header.base_sequence}, expected 0"
            )

    def check_marker(self, marker: TransactionMarker) -> None:
        """Checks a marker before an append.

        Raises InvalidProducerEpoch, TransactionCoordinatorFenced. A marker that is written a second time passes.
        """
        entry = self._entries.get(marker.producer_id)
        if entry is None:
            return
        if marker.transaction_version >= _RAISES_EPOCH:
            is_repeated = entry.transaction_first_offset < 0 or marker.producer_epoch == _EPOCH_MAX
            lowest_epoch = entry.producer_epoch + (0 if is_repeated else 1)
        else:
            lowest_epoch = entry.producer_epoch
        _check_epoch(marker.producer_id, marker.producer_epoch, lowest_epoch)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"a marker of producer {marker.producer_id} comes from coordinator epoch {marker.coordinator_epoch}, "
                f"epoch {entry.coordinator_epoch} has written already"
            )

    # --- after an append

    def apply(
        self, header: BatchHeader, end: TransactionEnd | None = None
    ) -> CompletedTransaction | None:
        """Follows a batch of the log; `end` is the content of a batch that is an end-of-transaction marker."""
        if header.producer_id < 0:
            return None
        before = entry = self._entries.get(header.producer_id)
        if entry is None or header.producer_epoch != entry.producer_epoch:
            entry = self._begin_epoch(header, entry)
        elif end is not None:
            before = replace(entry, batches=entry.batches.copy())
        entry.last_timestamp_ms = header.max_timestamp
        if header.is_control:
            return self._end_transaction(entry, header, end, before) if end is not None else None
        entry.batches.append(_produced(header))
        if header.is_transactional and entry.transaction_first_offset < 0:
            entry.transaction_first_offset = header.base_offset
            self._open_transactions[header.producer_id] = header.base_offset
        return None

    def _begin_epoch(self, header: BatchHeader, before: ProducerEntry | None) -> ProducerEntry:
        entry = ProducerEntry(header.producer_id, header.producer_epoch)
        entry.began_at, entry.is_new = header.base_offset, before is None
        if before is None:
            self._count.grow(1)
        else:
            entry.coordinator_epoch = before.coordinator_epoch
            entry.transaction_first_offset = before.transaction_first_offset
            entry.last_marker_offset = before.last_marker_offset
        self._entries[header.producer_id] = entry
        return entry

    def _end_transaction(
        self,
        entry: ProducerEntry,
        header: BatchHeader,
        end: TransactionEnd,
        before: ProducerEntry | None,
    ) -> CompletedTransaction | None:
        first_offset = entry.transaction_first_offset
        entry.coordinator_epoch = end.coordinator_epoch
        entry.transaction_first_offset = -1
        entry.last_marker_offset = header.base_offset
        self._open_transactions.pop(entry.producer_id, None)
        if first_offset < 0 or before is None:
            return None
        self._ended.append(_Ended(first_offset, header.last_offset, entry.producer_id, before))
        still_open = self.first_open_offset
        return CompletedTransaction(
            entry.producer_id,
            first_offset,
            header.last_offset,
            end.is_commit,
            last_stable_offset=header.next_offset if still_open is None else still_open,
        )

    # --- after a cut

    def plan_rewind(self, offset: int, removed: Iterable[BatchHeader]) -> Rewind | None:
        """Plans to go back to `offset`, where the log is cut; `removed` are the batches that are cut off.

        Changes nothing.

        None when what was before them is not known any more: then it must be read from the log.
        """
        producer_ids, markers = set(), set()
        for header in removed:
            if header.producer_id >= 0:
                producer_ids.add(header.producer_id)
                if header.is_control:
                    markers.add(header.last_offset)
        entries: dict[int, ProducerEntry | None] = {}
        kept = len(self._ended)
        for ended in reversed(self._ended):
            if ended.last_offset < offset:
                break
            kept -= 1
            markers.discard(ended.last_offset)
            entries[ended.producer_id] = ended.before
        if markers:
            return None
        for producer_id in producer_ids:
            entry = entries.get(producer_id) or self._entries.get(producer_id)
            if entry is None:
                return None
            if entry.began_at >= offset:
                entries[producer_id] = None
                if not entry.is_new:
                    return None
                continue
            earlier = _earlier(entry, offset)
            if earlier is None:
                return None
            entries[producer_id] = earlier
        return Rewind(entries, kept)

    def rewind(self, planned: Rewind) -> None:
        """Goes back as planned. Nothing may have been appended since."""
        while len(self._ended) > planned.ended:
            self._ended.pop()
        for producer_id, entry in planned.entries.items():
            if entry is None:
                if self._entries.pop(producer_id, None) is not None:
                    self._count.grow(-1)
            else:
                self._entries[producer_id] = entry
        self._order_open_transactions()

    def become(self, other: ProducerStates) -> None:
        """Takes over what was read from the log."""
        self._count.grow(len(other._entries) - len(self._entries))
        self._entries, self._ended = other._entries, other._ended
        self._open_transactions = other._open_transactions

    # --- keeping it small

    def remove_expired(self, now_ms: int, expiration_ms: int) -> int:
        """Forgets producers without an open transaction that wrote nothing for `expiration_ms`, or less where the log
        or the node has many; returns how many.
        """
        if len(self._entries) > self._producers_max // 2 or self._count.is_crowded:
            expiration_ms = min(expiration_ms, _CROWDED_EXPIRATION_MS)
        expired = [
            entry.producer_id
            for entry in self._entries.values()
            if entry.transaction_first_offset < 0
            and now_ms - entry.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._entries[producer_id]
        self._count.grow(-len(expired))
        return len(expired)

    def clear(self) -> None:
        self._count.grow(-len(self._entries))
        self._entries.clear()
        self._open_transactions.clear()
        self._ended.clear()

    # --- snapshots

    def snapshot(self) -> list[ProducerSnapshotEntry]:
        return [_snapshot_entry(entry) for entry in self._entries.values()]

    def restore(self, entries: Iterable[ProducerSnapshotEntry]) -> None:
        before = len(self._entries)
        self._entries = {entry.producer_id: _restored(entry) for entry in entries}
        self._count.grow(len(self._entries) - before)
        self._order_open_transactions()

    def _order_open_transactions(self) -> None:
        began = sorted((e.transaction_first_offset, e.producer_id) for e in self._entries.values())
        self._open_transactions = {
            producer_id: offset for offset, producer_id in began if offset >= 0
        }

    def deepen(self, headers: Iterable[BatchHeader]) -> None:
        """Remembers again what a snapshot leaves out: the last five batches, from the tail of the log it was taken of.

        Without this, a retry that crosses a restart would look like a gap instead of a duplicate.
        """
        tails: dict[int, deque[ProducedBatch]] = {}
        for header in headers:
            entry = self._entries.get(header.producer_id)
            if entry is None or header.is_control or header.producer_epoch != entry.producer_epoch:
                continue
            tails.setdefault(header.producer_id, _remembered()).append(_produced(header))
        for producer_id, tail in tails.items():
            entry = self._entries[producer_id]
            if entry.batches and tail[-1].last_offset == entry.batches[-1].last_offset:
                entry.batches = tail


def _is_due(looked_at_ms: int | None, now_ms: int) -> bool:
    """Also after a clock that was turned back."""
    return looked_at_ms is None or not 0 <= now_ms - looked_at_ms < _MAKES_ROOM_INTERVAL_MS


def _earlier(entry: ProducerEntry, offset: int) -> ProducerEntry | None:
    """Returns a producer as it was at `offset`, in an epoch that began before; None where that is not known."""
    remembered = len(entry.batches)
    earlier = replace(entry, batches=entry.batches.copy())
    while earlier.batches and earlier.batches[-1].last_offset >= offset:
        earlier.batches.pop()
    if earlier.transaction_first_offset >= offset:
        earlier.transaction_first_offset = -1
    if earlier.batches:
        # The time of a marker between them is not known: the producer lives a little longer than it would have.
        earlier.last_timestamp_ms = max(batch.timestamp_ms for batch in earlier.batches)
        return earlier
    return earlier if entry.began_at >= 0 and remembered < REMEMBERED_BATCHES else None


def _produced(header: BatchHeader) -> ProducedBatch:
    return ProducedBatch(
        header.base_sequence,
        header.last_sequence,
        header.last_offset,
        header.last_offset_delta,
        header.max_timestamp,
    )


def _check_epoch(producer_id: int, epoch: int, lowest_epoch: int) -> None:
    if epoch < lowest_epoch:
        raise InvalidProducerEpoch(
            f"producer {producer_id} sent epoch {epoch}, the lowest that counts here is {lowest_epoch}"
        )


def _check_stays_in_transaction(header: BatchHeader, entry: ProducerEntry) -> None:
    if entry.transaction_first_offset >= 0 and not header.is_transactional:
        raise InvalidTxnState(
            f"producer {header.producer_id} has an open transaction and sent a batch outside of it"
        )


def _check_sequence(header: BatchHeader, epoch: int, last_sequence: int) -> None:
    """`epoch` and `last_sequence` are those of the producer's last batch in this log."""
    _check_epoch(header.producer_id, header.producer_epoch, epoch)
    if header.producer_epoch > epoch:
        if header.base_sequence != 0:
            raise OutOfOrderSequenceNumber(
                f"producer {header.producer_id} began epoch {header.producer_epoch} with sequence "
                f"{header.base_sequence}, a new epoch begins with 0"
            )
        return
    expected = 0 if last_sequence == NO_SEQUENCE else (last_sequence + 1) & SEQUENCE_MAX
    if header.base_sequence != expected:
        raise OutOfOrderSequenceNumber(
            f"producer {header.producer_id} sent sequence {header.base_sequence}, expected {expected}"
        )


def _snapshot_entry(entry: ProducerEntry) -> ProducerSnapshotEntry:
    last = entry.batches[-1] if entry.batches else None
    return ProducerSnapshotEntry(
        entry.producer_id,
        entry.producer_epoch,
        last.last_sequence if last else NO_SEQUENCE,
        last.last_offset if last else -1,
        last.offset_delta if last else 0,
        entry.last_timestamp_ms,
        entry.coordinator_epoch,
        entry.transaction_first_offset,
    )


def _restored(snapshot: ProducerSnapshotEntry) -> ProducerEntry:
    entry = ProducerEntry(
        snapshot.producer_id,
        snapshot.producer_epoch,
        snapshot.coordinator_epoch,
        snapshot.timestamp_ms,
        snapshot.transaction_first_offset,
    )
    if snapshot.last_sequence != NO_SEQUENCE:
        base_sequence = (snapshot.last_sequence - snapshot.offset_delta) & SEQUENCE_MAX
        entry.batches.append(
            ProducedBatch(
                base_sequence,
                snapshot.last_sequence,
                snapshot.last_offset,
                snapshot.offset_delta,
                snapshot.timestamp_ms,
            )
        )
    return entry
