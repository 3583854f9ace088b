"""The batches that a reader at read_committed must not see (KIP-98).

A fetch response names the aborted transactions that overlap it: producer id and first offset, sorted by offset. From
that offset on the producer's transactional batches are aborted, until its ABORT marker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from millstream.records.batch import BatchHeader
from millstream.records.control import ControlType, read_control_type
from millstream.records.record import iterate_records


class AbortedTransactionFilter:
    """A batch filter for one fetch response: call it for every batch in order; True means committed.

    `aborted` holds (producer id, first offset) pairs in any order.
    """

    __slots__ = ("_aborted_producers", "_pending")

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        self._pending = deque(
            sorted((first_offset, producer) for producer, first_offset in aborted)
        )
        self._aborted_producers: set[int] = set()

    def __call__(self, header: BatchHeader, batch: memoryview) -> bool:
        while self._pending and self._pending[0][0] <= header.last_offset:
            self._aborted_producers.add(self._pending.popleft()[1])
        if not header.is_transactional or header.producer_id not in self._aborted_producers:
            return True
        if header.is_control and _ends_aborted(header, batch):
            self._aborted_producers.remove(header.producer_id)
        return header.is_control


def _ends_aborted(header: BatchHeader, batch: memoryview) -> bool:
    marker = next(iterate_records(header, batch), None)
    return marker is not None and read_control_type(marker.key) is ControlType.ABORT
