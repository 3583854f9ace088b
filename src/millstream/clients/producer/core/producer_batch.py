"""A batch of records for one partition on its way to a broker, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.clients.core.values import Headers, RecordMetadata
from millstream.clients.producer.core.interceptors import DeliveryCallback
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.records.record import Header

if TYPE_CHECKING:
    from millstream.records.writer import RecordBuffer

RECORD_OVERHEAD_BYTES = 21
"""Upper bound of what the format adds to key and value (lengths, deltas, attributes)."""
HEADER_OVERHEAD_BYTES = 10
BATCH_OVERHEAD_BYTES = 61


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Offsets when `error` is None. `log_append_time_ms` is -1 where records keep their own timestamps."""

    base_offset: int = -1
    log_append_time_ms: int = -1
    error: MillstreamError | None = None


class ProducerBatch:
    """Open while records are added, then finished, sent (perhaps again), and settled exactly once.

    `order` sorts the batches of a partition; the halves of a batch that was too large sort in its place.
    `maybe_appended` means an attempt ended without a definite no: only its own sequence may be used again.
    """

    def __init__(  # noqa: PLR0917 - one for each request
        self,
        topic_partition: TopicPartition,
        order: tuple[int, ...],
        created_ms: int,
        deadline_ms: int,
        records: RecordBuffer | None = None,
        record_count: int = 0,
    ) -> None:
        self.topic_partition = topic_partition
        self.order = order
        self.created_ms = created_ms
        self.deadline_ms = deadline_ms
        self.records = records
        """The records as they came one by one, and their timestamps when they are gone; None in a batch that came
        encoded, and in one that has failed."""
        self.encoded: bytearray | None = None
        self.record_count = record_count
        self.size_bytes = BATCH_OVERHEAD_BYTES
        self.producer_id = -1
        self.producer_epoch = -1
        self.base_sequence = -1
        self.attempts = 0
        self.place = 0
        """Which batch of its partition it was to be sent, counted from one; a batch keeps it when it is sent again."""
        self.retry_at_ms = 0
        self.maybe_appended = False
        self.outcome: BatchOutcome | None = None
        self.last_error: MillstreamError | None = None
        self.halves: tuple[ProducerBatch, ProducerBatch] | None = None
        self.error_seen = False
        """A caller awaited a record of this batch and was told of its error."""
        self.is_open = True
        """It may take more records: it was not sent, and nothing has finished it."""
        self.batch_headers: Sequence[Header] = ()
        """What the first record has before its own headers, in each half, too, should the batch be split."""
        self.callbacks: list[tuple[int, DeliveryCallback]] | None = None
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
        """Returns the metadata of a record of a settled batch that was not split; what is not
        known, or never will be, is -1.
        """
        outcome = self.outcome
        assert outcome is not None, "metadata is asked of settled batches"
        if outcome.error is not None:
            return RecordMetadata(*self.topic_partition, -1, -1)
        offset = outcome.base_offset + index if outcome.base_offset >= 0 else -1
        timestamp_ms = outcome.log_append_time_ms
        if timestamp_ms < 0 and self.records is not None:
            timestamp_ms = self.records.timestamp(index)
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
