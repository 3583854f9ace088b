"""Records that carry messages: metadata log, coordinator logs, remote log metadata, consumer protocol.

Owns what stands before a body: a frame version, a type and a version for metadata; a type for the key and a version
for the value of a coordinator record. Must not know batches, nor what the records mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Final, TypeVar

from millstream.errors import MalformedMessage
from millstream.protocol.api import Message
from millstream.protocol.generated.group_records import (
    GROUP_KEYS,
    GROUP_VALUES,
    GroupKey,
    GroupValue,
)
from millstream.protocol.generated.metadata_records import METADATA_RECORDS, MetadataRecord
from millstream.protocol.generated.remote_log_records import REMOTE_LOG_RECORDS, RemoteLogRecord
from millstream.protocol.generated.share_records import (
    SHARE_KEYS,
    SHARE_VALUES,
    ShareKey,
    ShareValue,
)
from millstream.protocol.generated.transaction_records import (
    TRANSACTION_KEYS,
    TRANSACTION_VALUES,
    TransactionKey,
    TransactionValue,
)
from millstream.protocol.reading import READ_FAILURES, read_uvarint
from millstream.protocol.writing import write_uvarint

FRAME_VERSION: Final = 1
_INT16: Final = Struct(">h")

AnyMessage = TypeVar("AnyMessage", bound=Message)
AnyKey = TypeVar("AnyKey", bound=Message)
AnyValue = TypeVar("AnyValue", bound=Message)
Buffer = bytes | bytearray | memoryview


class UnknownRecordType(MalformedMessage):
    """A record of a type this release does not know; `record_type` says which."""

    def __init__(self, kind: str, record_type: int) -> None:
        super().__init__(
            f"no {kind} record has type {record_type}",
            message=f"{kind} record",
            field="type",
            offset=0,
        )
        self.record_type = record_type


def encode_metadata_record(record: MetadataRecord | RemoteLogRecord, version: int) -> bytes:
    """Returns the value of a record of the metadata log, or of the remote log metadata topic."""
    out = bytearray()
    write_uvarint(out, FRAME_VERSION)
    write_uvarint(out, record.KEY)
    write_uvarint(out, version)
    record.encode(out, version)
    return bytes(out)


def decode_metadata_record(value: Buffer) -> MetadataRecord:
    """Returns a record of the metadata log.

    Raises MalformedMessage, also for bytes left over; UnknownRecordType; UnsupportedVersion.
    """
    return _decode_framed(value, "metadata", METADATA_RECORDS)


def decode_remote_log_record(value: Buffer) -> RemoteLogRecord:
    """Returns a record of the remote log metadata topic.

    Raises MalformedMessage, also for bytes left over; UnknownRecordType; UnsupportedVersion.
    """
    return _decode_framed(value, "remote log", REMOTE_LOG_RECORDS)


def encode_record_key(key: GroupKey | TransactionKey | ShareKey) -> bytes:
    """Returns the key of a coordinator record: its type, then the body, which only has version 0."""
    out = bytearray(_INT16.pack(key.KEY))
    key.encode(out, 0)
    return bytes(out)


def encode_record_value(value: Message, version: int) -> bytes:
    """Returns the value of a coordinator record: its version, then the body."""
    return encode_versioned(value, version)


def decode_group_record(key: Buffer, value: Buffer | None) -> tuple[GroupKey, GroupValue | None]:
    """Returns a record of `__consumer_offsets`; a value of None deletes.

    Raises as `decode_versioned`, UnknownRecordType.
    """
    return _decode_keyed(key, value, "group", GROUP_KEYS, GROUP_VALUES)


def decode_transaction_record(
    key: Buffer, value: Buffer | None
) -> tuple[TransactionKey, TransactionValue | None]:
    """Returns a record of `__transaction_state`. Raises as `decode_group_record`."""
    return _decode_keyed(key, value, "transaction", TRANSACTION_KEYS, TRANSACTION_VALUES)


def decode_share_record(key: Buffer, value: Buffer | None) -> tuple[ShareKey, ShareValue | None]:
    """Returns a record of `__share_group_state`. Raises as `decode_group_record`."""
    return _decode_keyed(key, value, "share", SHARE_KEYS, SHARE_VALUES)


def encode_versioned(message: Message, version: int) -> bytes:
    """int16 version, then the body: consumer protocol, principals, end-of-transaction markers, snapshots."""
    out = bytearray(_INT16.pack(version))
    message.encode(out, version)
    return bytes(out)


def decode_versioned(kind: type[AnyMessage], data: Buffer) -> AnyMessage:
    """Returns the message behind an int16 version; bytes behind it are ignored.

    Raises MalformedMessage, UnsupportedVersion.
    """
    view = memoryview(data)
    if len(view) < _INT16.size:
        raise MalformedMessage(
            "the version is missing", message=kind.__name__, field="version", offset=0
        )
    (version,) = _INT16.unpack_from(view)
    message, _ = kind.decode(view, _INT16.size, version)
    return message


def _decode_keyed(
    key: Buffer,
    value: Buffer | None,
    kind: str,
    keys: Mapping[int, type[AnyKey]],
    values: Mapping[int, type[AnyValue]],
) -> tuple[AnyKey, AnyValue | None]:
    view = memoryview(key)
    if len(view) < _INT16.size:
        raise MalformedMessage(
            "the record type is missing", message=f"{kind} record", field="type", offset=0
        )
    (record_type,) = _INT16.unpack_from(view)
    if record_type not in keys:
        raise UnknownRecordType(kind, record_type)
    message, _ = keys[record_type].decode(view, _INT16.size, 0)
    return message, None if value is None else decode_versioned(values[record_type], value)


def _decode_framed(value: Buffer, kind: str, records: Mapping[int, type[AnyMessage]]) -> AnyMessage:
    view = memoryview(value)
    frame_version, record_type, version, at = _read_frame_header(view, kind)
    if frame_version != FRAME_VERSION:
        raise MalformedMessage(
            f"frame version {frame_version} is not {FRAME_VERSION}",
            message=f"{kind} record",
            field="frame_version",
            offset=0,
        )
    if record_type not in records:
        raise UnknownRecordType(kind, record_type)
    record, at = records[record_type].decode(view, at, version)
    if at != len(view):
        raise MalformedMessage(
            f"{len(view) - at} bytes are left over",
            message=type(record).__name__,
            version=version,
            field="end",
            offset=at,
        )
    return record


def _read_frame_header(view: memoryview, kind: str) -> tuple[int, int, int, int]:
    """(frame version, record type, version, position of the body)."""
    numbers = []
    at = 0
    for field in ("frame_version", "type", "version"):
        start = at
        try:
            number, at = read_uvarint(view, at)
        except READ_FAILURES as error:
            raise MalformedMessage(
                str(error) or "the bytes end here",
                message=f"{kind} record",
                field=field,
                offset=start,
            ) from error
        numbers.append(number)
    frame_version, record_type, version = numbers
    return frame_version, record_type, version, at
