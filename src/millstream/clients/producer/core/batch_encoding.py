"""From the records of a batch to the bytes of a record batch, and back where a batch must be cut in two."""

from __future__ import annotations

from dataclasses import replace

from millstream.clients.producer.core.producer_batch import ProducerBatch
from millstream.records.batch import patch_producer, read_header
from millstream.records.builder import BatchOptions, RecordsSummary, finish_batch
from millstream.records.record import Record, iterate_records


def encode_batch(batch: ProducerBatch, options: BatchOptions) -> bytearray:
    """Returns the batch under its current producer numbers; the bytes are kept for the next attempt."""
    if batch.encoded is None:
        batch.encoded = _finish(batch, options)
    elif batch.base_sequence >= 0:
        patch_producer(
            memoryview(batch.encoded), batch.producer_id, batch.producer_epoch, batch.base_sequence
        )
    return batch.encoded


def records_of(batch: ProducerBatch) -> list[Record]:
    """Returns the records of a batch that was sent."""
    assert batch.encoded is not None, "a batch that was sent has bytes"
    return list(iterate_records(read_header(batch.encoded), batch.encoded))


def _finish(batch: ProducerBatch, options: BatchOptions) -> bytearray:
    """The records stand in their batch already; the header comes before them."""
    records = batch.records
    assert records is not None, "a batch has records or bytes"
    count = batch.record_count
    return finish_batch(
        records.take(),
        RecordsSummary(count, count - 1, records.timestamp(0), records.max_timestamp()),
        replace(
            options,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
        ),
    )
