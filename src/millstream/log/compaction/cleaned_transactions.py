"""Finds the batches of transactions that compaction may drop: all of aborted ones, and markers that
end nothing any more. Pure.

Whether a batch was aborted follows from its offset alone, so a walk may begin anywhere in the log. A marker
may go only when no batch of its transaction is left; the entry of an aborted transaction in the transaction
index stays as long as its marker must.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import final

from millstream.log.segments.transaction_index import AbortedTransaction
from millstream.records.batch import BatchHeader
from millstream.records.control import ControlType, read_control_type
from millstream.records.record import iterate_records


@final
class AbortedTransactions:
    """Tells of each batch which aborted transaction it belongs to.

    Those of one producer follow one another, so offsets tell them apart.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._by_producer: dict[int, list[AbortedTransaction]] = {}
        for entry in sorted(aborted, key=_last_offset):
            self._by_producer.setdefault(entry.producer_id, []).append(entry)

    def transaction_of(self, header: BatchHeader) -> AbortedTransaction | None:
        """Returns the aborted transaction that the batch, or the marker, is part of; None when there is none."""
        entries = self._by_producer.get(header.producer_id)
        if entries is None or not header.is_transactional:
            return None
        slot = bisect_left(entries, header.last_offset, key=_last_offset)
        if slot < len(entries) and entries[slot].first_offset <= header.last_offset:
            return entries[slot]
        return None


@final
class CleanedTransactions:
    """Takes the batches of a log in order, from the first one that is there: a marker goes by what
    was seen before it.
    """

    def __init__(self, aborted: AbortedTransactions) -> None:
        """`aborted`: every transaction that was aborted with records in what is passed in, wherever it ended."""
        self.retained: list[AbortedTransaction] = []
        """Entries that the transaction index still needs; the owner takes them when a segment is finished."""
        self._aborted = aborted
        self._aborted_with_batches: set[AbortedTransaction] = set()
        self._committed: set[int] = set()

    def is_discarded(self, header: BatchHeader, batch: memoryview) -> bool:
        """Tells whether nothing in the batch is needed by readers: its data was aborted, or its
        transaction has no batches left.
        """
        if header.is_control:
            return self._ends_empty_transaction(header, batch)
        if not header.is_transactional:
            return False
        aborted = self._aborted.transaction_of(header)
        if aborted is not None:
            self._aborted_with_batches.add(aborted)
            return True
        self._committed.add(header.producer_id)
        return False

    def _ends_empty_transaction(self, header: BatchHeader, batch: memoryview) -> bool:
        marker = next(iterate_records(header, batch), None)
        if marker is None:
            return True  # an earlier cleaning emptied it
        match read_control_type(marker.key):
            case ControlType.ABORT:
                entry = self._aborted.transaction_of(header)
                if entry is None or entry not in self._aborted_with_batches:
                    return True
                self._aborted_with_batches.remove(entry)
                self.retained.append(entry)
                return False
            case ControlType.COMMIT:
                had_batches = header.producer_id in self._committed
                self._committed.discard(header.producer_id)
                return not had_batches
            case _:
                return False


def _last_offset(entry: AbortedTransaction) -> int:
    return entry.last_offset
