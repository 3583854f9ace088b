"""From the columns of a batch to the bytes of a record batch, and back where a batch must be cut in two."""

from __future__ import annotations

from millstream.clients.core.producer_batch import ProducerBatch, RecordColumns
from millstream.records.batch import patch_producer, read_header
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.record import Record, iterate_records

_FEW_RECORDS = 8
"""Up to here writing record by record is quicker than going through Arrow."""


def encode_batch(batch: ProducerBatch, codec: Codec) -> bytearray:
    """The batch under its current producer numbers; the bytes are kept for the next attempt."""
    if batch.encoded is None:
        batch.encoded = _encode(batch, codec)
    elif batch.base_sequence >= 0:
        patch_producer(
            memoryview(batch.encoded), batch.producer_id, batch.producer_epoch, batch.base_sequence
        )
    return batch.encoded


def columns_of(batch: ProducerBatch) -> RecordColumns:
    """The records of a batch, decoded again if it came encoded."""
    if batch.columns is not None:
        return batch.columns
    assert batch.encoded is not None, "a batch has columns or bytes"
    columns = RecordColumns()
    for index, record in enumerate(iterate_records(read_header(batch.encoded), batch.encoded)):
        columns.timestamps.append(record.timestamp)
        columns.keys.append(record.key)
        columns.values.append(record.value)
        if record.headers:
            columns.headers[index] = record.headers
    return columns


def _encode(batch: ProducerBatch, codec: Codec) -> bytearray:
    columns = batch.columns
    assert columns is not None, "a batch has columns or bytes"
    options = BatchOptions(
        codec=codec,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
    )
    if batch.record_count > _FEW_RECORDS:
        from millstream.clients.core.arrow_batches import encode_columns

        return encode_columns(columns, options)
    headers = columns.headers
    return build_batch(
        (
            Record(0, timestamp, key, value, headers.get(index, []))
            for index, (timestamp, key, value) in enumerate(
                zip(columns.timestamps, columns.keys, columns.values, strict=True)
            )
        ),
        options,
    )
