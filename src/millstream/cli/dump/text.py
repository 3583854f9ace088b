"""Lines and JSON objects for what stands in the files of a log.

The lines are those of Kafka's dump-log tool, so that scripts that read it go on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.cli.dump.decoders import DELETED, Meaning
from millstream.cli.dump.log_files import DumpedBatch, DumpedRecord
from millstream.cli.rows import Row
from millstream.cli.terminal import printable
from millstream.log.producers.snapshot import ProducerSnapshotEntry
from millstream.log.segments.offset_index import OffsetPosition
from millstream.log.segments.time_index import TimestampOffset
from millstream.log.segments.transaction_index import AbortedTransaction
from millstream.protocol.json_form import Json
from millstream.records.batch import CODEC_BITS, NO_SEQUENCE, SEQUENCE_MAX, BatchHeader
from millstream.records.compression import Codec

_CODECS: Final = {codec.value: codec.name.lower() for codec in Codec}
_SNAPSHOT_NAME: Final = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Says what of a record its line has."""

    with_metadata: bool = True


def batch_lines(batch: DumpedBatch, style: TextStyle) -> Iterator[str]:
    """Yields the line of a batch, then one for each of its records."""
    header = batch.header
    fields: dict[str, object] = {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": _boolean(header.is_transactional),
        "isControl": _boolean(header.is_control),
        "deleteHorizonMs": _optional(header.delete_horizon_ms),
        "position": batch.position,
        _time(header.is_log_append_time): header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "compresscodec": _codec(header),
        "crc": header.crc,
        "isvalid": _boolean(batch.is_valid),
    }
    yield _line(fields)
    for record in batch.records or ():
        yield f"| {_record_line(record, style)}"


def _record_line(dumped: DumpedRecord, style: TextStyle) -> str:
    record = dumped.record
    parts: list[str] = []
    if style.with_metadata:
        fields: dict[str, object] = {
            "offset": record.offset,
            _time(dumped.is_log_append_time): record.timestamp,
            "keySize": _size(record.key),
            "valueSize": _size(record.value),
            "sequence": dumped.sequence,
            "headerKeys": f"[{','.join(printable(key) for key, _ in record.headers)}]",
        }
        parts.append(_line(fields))
        if dumped.control is not None:
            parts.append(_control(dumped.control.name, dumped.control.value))
    if dumped.meaning is not None:
        key, value = dumped.meaning
        parts += [] if key is None else [f"key: {_told(key)}"]
        parts += [] if value is None else [f"payload: {_told(value)}"]
    return " ".join(parts)


def _control(name: str, value: Json) -> str:
    if not name.startswith(("endTxn", "controlType")):
        return f"{name} {_told(value)}"
    kind, *rest = value.items()
    return " ".join([f"{name} {kind[1]}", *(f"{key}: {each}" for key, each in rest)])


def _told(value: Json) -> str:
    if isinstance(value, str):
        return printable(value)
    return printable(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def batch_row(batch: DumpedBatch) -> Row:
    """Returns the object of a batch, with its records where they were wanted."""
    header = batch.header
    row: dict[str, object] = {
        "kind": "batch",
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.record_count,
        "base_sequence": header.base_sequence,
        "last_sequence": header.last_sequence,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "partition_leader_epoch": header.partition_leader_epoch,
        "is_transactional": header.is_transactional,
        "is_control": header.is_control,
        "delete_horizon_ms": header.delete_horizon_ms,
        "position": batch.position,
        "timestamp_type": _time(header.is_log_append_time),
        "max_timestamp": header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "codec": _codec(header),
        "crc": header.crc,
        "is_valid": batch.is_valid,
    }
    if batch.records is not None:
        row["records"] = [_record_row(each) for each in batch.records]
    return row


def _record_row(dumped: DumpedRecord) -> Row:
    record = dumped.record
    row: dict[str, object] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key_size": _size(record.key),
        "value_size": _size(record.value),
        "sequence": dumped.sequence,
        "header_keys": [key for key, _ in record.headers],
    }
    if dumped.control is not None:
        row["control"] = {"name": dumped.control.name.rstrip(":"), "value": dumped.control.value}
    if dumped.meaning is not None:
        row |= _meaning_row(dumped.meaning)
    return row


def _meaning_row(meaning: Meaning) -> Row:
    return {"key": meaning.key, "value": None if meaning.value == DELETED else meaning.value}


def offset_entry_line(entry: OffsetPosition, base_offset: int) -> str:
    return _line({"offset": base_offset + entry.relative_offset, "position": entry.position})


def offset_entry_row(entry: OffsetPosition, base_offset: int) -> Row:
    return {
        "kind": "offset_entry",
        "offset": base_offset + entry.relative_offset,
        "position": entry.position,
    }


def time_entry_line(entry: TimestampOffset, base_offset: int) -> str:
    return _line({"timestamp": entry.timestamp_ms, "offset": base_offset + entry.relative_offset})


def time_entry_row(entry: TimestampOffset, base_offset: int) -> Row:
    return {
        "kind": "time_entry",
        "timestamp": entry.timestamp_ms,
        "offset": base_offset + entry.relative_offset,
    }


def aborted_line(entry: AbortedTransaction) -> str:
    fields = {
        "version": 0,
        "producerId": entry.producer_id,
        "firstOffset": entry.first_offset,
        "lastOffset": entry.last_offset,
        "lastStableOffset": entry.last_stable_offset,
    }
    return _line(fields)


def aborted_row(entry: AbortedTransaction) -> Row:
    return {"kind": "aborted_transaction", **entry._asdict()}


def producer_line(entry: ProducerSnapshotEntry) -> str:
    """A producer without a batch, whose last one was a marker, has no sequences to tell."""
    fields: dict[str, object] = {
        "producerId": entry.producer_id,
        "producerEpoch": entry.producer_epoch,
        "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": _optional(_open_from(entry)),
        "lastTimestamp": entry.timestamp_ms,
    }
    if entry.last_offset >= 0:
        fields |= {
            "firstSequence": _first_sequence(entry),
            "lastSequence": entry.last_sequence,
            "lastOffset": entry.last_offset,
            "offsetDelta": entry.offset_delta,
            "timestamp": entry.timestamp_ms,
        }
    return _line(fields)


def producer_row(entry: ProducerSnapshotEntry) -> Row:
    return {"kind": "producer"} | entry._asdict() | {"transaction_first_offset": _open_from(entry)}


def snapshot_head(name: str) -> str | None:
    """Returns what the name of a snapshot of the metadata log says; None for another name."""
    found = _SNAPSHOT_NAME.fullmatch(name)
    return f"Snapshot end offset: {int(found[1])}, epoch: {int(found[2])}" if found else None


def _open_from(entry: ProducerSnapshotEntry) -> int | None:
    return None if entry.transaction_first_offset < 0 else entry.transaction_first_offset


def _first_sequence(entry: ProducerSnapshotEntry) -> int:
    if entry.last_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (entry.last_sequence - entry.offset_delta) & SEQUENCE_MAX


def _line(fields: Mapping[str, object]) -> str:
    return " ".join(f"{name}: {value}" for name, value in fields.items())


def _time(is_log_append_time: bool) -> str:
    return "LogAppendTime" if is_log_append_time else "CreateTime"


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _optional(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def _codec(header: BatchHeader) -> str:
    """A codec that does not exist is told by its number."""
    number = header.attributes & CODEC_BITS
    return _CODECS.get(number, str(number))
