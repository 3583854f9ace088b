"""A batch of records for one partition on its way to a broker, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from millstream.clients.core.values import Headers, RecordMetadata
from millstream.clients.producer.core.interceptors import DeliveryCallback
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.records.record import Header

RECORD_OVERHEAD_BYTES = 21
"""Upper bound of what the format adds to key and value (lengths, deltas, attributes)."""
HEADER_OVERHEAD_BYTES = 10
BATCH_OVERHEAD_BYTES = 61


@dataclass(slots=True)
class BatchColumns:
    """Records as columns: appending is three list appends, and encoding sees whole lists."""

    timestamps: list[int] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    headers: dict[int, Headers] = field(default_factory=dict)
    """By index; most records have none."""

    def slice(self, start: int, stop: int) -> BatchColumns:
        return BatchColumns(
            self.timestamps[start:stop],
            self.keys[start:stop],
            self.values[start:stop],
            {i - start: h for i, h in self.headers.items() if start <= i < stop},
        )


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Offsets when `error` is None. `log_append_time_ms` is -1 where records keep their own timestamps."""

    base_offset: int = -1
    log_append_time_ms: int = -1
    error: MillstreamError | None = None


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """Open while records are added, then encoded, sent (perhaps again), and settled exactly once.

    `order` sorts the batches of a partition; the halves of a batch that was too large sort in its place.
    `maybe_appended` means an attempt ended without a definite no: only its own sequence may be used again.
    """

    topic_partition: TopicPartition
    order: tuple[int, ...]
    created_ms: int
    deadline_ms: int
    columns: BatchColumns | None = field(default_factory=BatchColumns)
    encoded: bytearray | None = None
    record_count: int = 0
    size_bytes: int = BATCH_OVERHEAD_BYTES
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    attempts: int = 0
    retry_at_ms: int = 0
    maybe_appended: bool = False
    outcome: BatchOutcome | None = None
    last_error: MillstreamError | None = None
    halves: tuple[ProducerBatch, ProducerBatch] | None = None
    error_seen: bool = False
    """A caller awaited a record of this batch and was told of its error."""
    is_open: bool = True
    """It may take more records: it was not sent, and nothing has encoded it."""
    batch_headers: Sequence[Header] = ()
    """What the first record has before its own headers, in each half, too, should the batch be split."""
    callbacks: list[tuple[int, DeliveryCallback]] | None = None
    """Whom to tell of which record, in the order of the records."""

    @property
    def is_settled(self) -> bool:
        return self.outcome is not None or self.halves is not None

    def add_callback(self, index: int, callback: DeliveryCallback) -> None:
        if self.callbacks is None:
            self.callbacks = []
        self.callbacks.append((index, callback))

    def metadata_of(self, index: int) -> RecordMetadata:
        """Returns the metadata of a record. Raises the batch's error when it failed. Only for a settled batch."""
        batch, index = self.holder_of(index)
        assert batch.outcome is not None, "metadata is asked of settled batches"
        if batch.outcome.error is not None:
            batch.error_seen = True
            raise batch.outcome.error
        return batch.known_of(index)

    def known_of(self, index: int) -> RecordMetadata:
        """Returns the metadata of a record of a settled batch that was not split; what is not known, or never will be, is -1."""
        outcome = self.outcome
        assert outcome is not None, "metadata is asked of settled batches"
        if outcome.error is not None:
            return RecordMetadata(*self.topic_partition, -1, -1)
        offset = outcome.base_offset + index if outcome.base_offset >= 0 else -1
        timestamp_ms = outcome.log_append_time_ms
        if timestamp_ms < 0 and self.columns is not None:
            timestamp_ms = self.columns.timestamps[index]
        return RecordMetadata(*self.topic_partition, offset, timestamp_ms)

    def parts(self) -> list[ProducerBatch]:
        """Returns the batches that carry the records now, after splits, in order."""
        if self.halves is None:
            return [self]
        first, second = self.halves
        return [*first.parts(), *second.parts()]

    def holder_of(self, index: int) -> tuple[ProducerBatch, int]:
        """Returns the batch that carries record `index` now, after splits, and its index there."""
        batch = self
        while batch.halves is not None:
            first, second = batch.halves
            if index < first.record_count:
                batch = first
            else:
                batch, index = second, index - first.record_count
        return batch, index


def headers_size_bytes(headers: Headers) -> int:
    """Upper bound of the bytes that headers take in a batch."""
    return sum(
        HEADER_OVERHEAD_BYTES + 4 * len(name) + len(content or b"") for name, content in headers
    )
