"""Producer state out of the batches of a log: after a crash, and for what a snapshot leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from millstream.log.header_scan import read_batch
from millstream.log.producers.producer_state import (
    CompletedTransaction,
    ProducerStates,
    TransactionEnd,
)
from millstream.log.producers.snapshots import ProducerSnapshots, SnapshotCheck, is_believed
from millstream.log.segments.segment import Segment
from millstream.log.segments.segments import Segments
from millstream.log.segments.transaction_index import AbortedTransaction
from millstream.records.batch import BatchHeader
from millstream.records.control import ControlType, read_control_type, read_coordinator_epoch
from millstream.records.record import iterate_records

_TAIL_BYTES: Final = 4 * 1024 * 1024
"""How far back the last batches of live producers are looked for; a retry that crosses a restart is younger than
that."""


def read_transaction_end(header: BatchHeader, batch: memoryview) -> TransactionEnd | None:
    """Reads an end-of-transaction marker; None for other control batches and for batches without a producer.

    None, too, where compaction has left only the header: it has removed the transaction before.
    """
    if not (header.is_control and header.producer_id >= 0):
        return None
    record = next(iterate_records(header, batch), None)
    if record is None:
        return None
    kind = read_control_type(record.key)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    return TransactionEnd(kind is ControlType.COMMIT, read_coordinator_epoch(record.value))


def aborted_entry(completed: CompletedTransaction | None) -> AbortedTransaction | None:
    """Returns the transaction index entry of a transaction that just ended; None when it was committed."""
    if completed is None or completed.is_commit:
        return None
    return AbortedTransaction(
        completed.producer_id,
        completed.first_offset,
        completed.last_offset,
        completed.last_stable_offset,
    )


def restore_producers(
    producers: ProducerStates,
    snapshots: ProducerSnapshots,
    segments: Segments,
    highest: int,
    *,
    rebuilt: Iterable[Segment] = (),
    is_of_log: SnapshotCheck = is_believed,
) -> bool:
    """Loads the newest snapshot at or below `highest`, and applies every batch after it.

    Segments in `rebuilt` get their transaction index anew.

    False where there is no snapshot: then it applies the whole log.
    """
    found = snapshots.load_latest(highest, is_of_log)
    start_offset = segments.first.base_offset
    producers.clear()
    if found is not None:
        start_offset = found[0]
        producers.restore(found[1])
    rebuilt_bases = {segment.base_offset for segment in rebuilt}
    for segment in segments.from_offset(start_offset):
        aborted = _replay_segment(producers, segment, start_offset)
        if segment.base_offset in rebuilt_bases:
            segment.transaction_index.rebuild(aborted)
    return found is not None


def _replay_segment(
    producers: ProducerStates, segment: Segment, start_offset: int
) -> list[AbortedTransaction]:
    """Returns the transactions that were aborted in the segment."""
    found: list[AbortedTransaction] = []
    start = segment.position_of(max(start_offset, segment.base_offset))
    if start is None:
        return found
    for position, header in segment.headers(start):
        end = None
        if header.is_control and header.producer_id >= 0:
            end = read_transaction_end(header, read_batch(segment.file, position, header))
        aborted = aborted_entry(producers.apply(header, end))
        if aborted is not None:
            found.append(aborted)
    return found


def deepen_producers(producers: ProducerStates, segments: Sequence[Segment]) -> None:
    """Remembers the last five batches of each producer again, from the last segments of the log: of the first
    of them only its end is read.
    """
    if len(producers):
        first, *others = segments
        tail = first.headers(first.batch_before(first.size_bytes - _TAIL_BYTES))
        starts = chain(tail, *(segment.headers() for segment in others))
        producers.deepen(start.header for start in starts)
