"""Decides what compaction keeps of a batch: all, some of its records, its header alone, or nothing (KIP-534, KIP-98).

Pure. The latest offsets of keys are an `OffsetMap`: as many keys as fit into a number of bytes, kept as they are and
not hashed, so no two keys are ever taken for one, and nothing is computed per key.

A record stays while it is the latest of its key. A tombstone goes once the delete horizon of its batch has passed,
which the first cleaning that meets it sets. Offsets, sequences and the order of records never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from millstream.log.compaction.cleaned_transactions import CleanedTransactions
from millstream.records.batch import BatchHeader
from millstream.records.record_rows import RecordRows, empty_batch, rebuilt_batch

_ENTRY_BYTES: Final = 160
"""What an entry costs besides the bytes of its key: two objects and their share of a dict that doubles as it grows."""


@final
class OffsetMap:
    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = max(bytes_max, 1)  # one batch always fits, or cleaning would never end
        self._key_bytes = 0
        self._latest: dict[bytes, int] = {}
        self.end_offset = -1
        """Records from here on are not in the map; -1 while nothing is."""

    def __len__(self) -> int:
        return len(self._latest)

    @property
    def is_full(self) -> bool:
        """Checked between batches, so the map may exceed its bytes by the keys of one batch."""
        return self._key_bytes + len(self._latest) * _ENTRY_BYTES >= self._bytes_max

    def put(self, key: bytes, offset: int) -> None:
        if key not in self._latest:
            self._key_bytes += len(key)
        self._latest[key] = offset

    def latest(self, key: bytes) -> int:
        """Returns the latest offset of a key; -1 for a key that is not in the map."""
        return self._latest.get(key, -1)


class LastRecord(NamedTuple):
    """The last record of an active producer. `data_offset` is -1 when its last batch was a transaction marker."""

    data_offset: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class FilterRules:
    """The rules that hold for a whole cleaning. Times in ms."""

    last_records: Mapping[int, LastRecord]
    """By producer id."""
    now_ms: int
    delete_retention_ms: int


@final
class BatchFilter:
    """Takes the batches of a log in order; remembers what it has seen of transactions."""

    def __init__(
        self, rules: FilterRules, offsets: OffsetMap, transactions: CleanedTransactions
    ) -> None:
        self._rules = rules
        self._offsets = offsets
        self._transactions = transactions

    def filtered(
        self, header: BatchHeader, batch: memoryview, *, ends_segment: bool
    ) -> memoryview | bytearray | None:
        """Returns the batch to write instead of `batch`; None when it goes.

        The last batch of a segment stays, if only as its header, so that recovery can tell a lost segment from
        compacted records; Kafka keeps that of the last segment only.
        """
        is_discarded = self._transactions.is_discarded(header, batch)
        rows = None if self._drops_records(header, is_discarded) else RecordRows(header, batch)
        kept = self._kept_rows(header, rows) if rows is not None else []
        if rows is None or not kept:
            stays = ends_segment or self._is_last_of_producer(header)
            return empty_batch(header) if stays else None
        horizon_ms = header.delete_horizon_ms
        if horizon_ms is None and (
            (header.is_control and is_discarded) or any(rows.value_lengths[row] < 0 for row in kept)
        ):
            horizon_ms = self._rules.now_ms + self._rules.delete_retention_ms
        elif len(kept) == header.record_count:
            return batch
        return rebuilt_batch(header, rows, kept, horizon_ms)

    def _drops_records(self, header: BatchHeader, is_discarded: bool) -> bool:
        """A marker that ends nothing any more waits for its delete horizon, so that slow readers still meet it."""
        if is_discarded and header.is_control:
            horizon_ms = header.delete_horizon_ms
            return horizon_ms is not None and horizon_ms <= self._rules.now_ms
        return is_discarded

    def _kept_rows(self, header: BatchHeader, rows: RecordRows) -> list[int]:
        if header.is_control:
            return list(range(len(rows)))
        horizon_ms = header.delete_horizon_ms
        keeps_tombstones = horizon_ms is None or self._rules.now_ms < horizon_ms
        end_offset, latest = self._offsets.end_offset, self._offsets.latest
        kept: list[int] = []
        columns = zip(rows.offsets, rows.keys(), rows.value_lengths, strict=True)
        for row, (offset, key, value_length) in enumerate(columns):
            is_value = value_length >= 0 or keeps_tombstones
            if offset >= end_offset or (key is not None and is_value and offset >= latest(key)):
                kept.append(row)
        return kept

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        """The sequence a producer stopped at must survive, or its next batch would look like a gap."""
        last = self._rules.last_records.get(header.producer_id)
        if last is None:
            return False
        if last.data_offset >= 0:
            return header.last_offset == last.data_offset
        return header.is_control and header.producer_epoch == last.producer_epoch
