"""Finds the batches of transactions that compaction may drop: all of aborted ones, and markers that end nothing any more. Pure.

Batches are passed in the order of the log. A marker may go only when no batch of its transaction is left; the entry of an
aborted transaction in the transaction index stays as long as its marker must.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import final

from millstream.log.segments.transaction_index import AbortedTransaction
from millstream.records.batch import BatchHeader
from millstream.records.control import ControlType, read_control_type
from millstream.records.record import iterate_records


@final
class CleanedTransactions:
    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        """`aborted`: every transaction that was aborted with records in what is passed in, wherever it ended."""
        self.retained: list[AbortedTransaction] = []
        """Entries that the transaction index still needs; the owner takes them when a segment is finished."""
        self._pending = deque(sorted(aborted, key=lambda each: each.first_offset))
        self._aborted: dict[int, AbortedTransaction] = {}
        self._aborted_with_batches: set[int] = set()
        self._committed: set[int] = set()

    def is_discarded(self, header: BatchHeader, batch: memoryview) -> bool:
        """Tells whether nothing in the batch is needed by readers: its data was aborted, or its transaction has no batches left."""
        while self._pending and self._pending[0].first_offset <= header.last_offset:
            entry = self._pending.popleft()
            self._aborted[entry.producer_id] = entry
            self._aborted_with_batches.discard(entry.producer_id)
        if header.is_control:
            return self._ends_empty_transaction(header, batch)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._aborted_with_batches.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def _ends_empty_transaction(self, header: BatchHeader, batch: memoryview) -> bool:
        marker = next(iterate_records(header, batch), None)
        if marker is None:
            return True  # an earlier cleaning emptied it
        producer_id = header.producer_id
        match read_control_type(marker.key):
            case ControlType.ABORT:
                entry = self._aborted.pop(producer_id, None)
                if entry is None or producer_id not in self._aborted_with_batches:
                    return True
                self._aborted_with_batches.remove(producer_id)
                self.retained.append(entry)
                return False
            case ControlType.COMMIT:
                had_batches = producer_id in self._committed
                self._committed.discard(producer_id)
                return not had_batches
            case _:
                return False
