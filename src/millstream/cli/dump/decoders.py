"""Decodes keys and values of records in the topics of brokers, to JSON in the form of Kafka's dump-log tool. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from millstream.errors import MillstreamError
from millstream.protocol.api import Message
from millstream.protocol.generated.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from millstream.protocol.generated.control_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from millstream.protocol.json_form import Json, to_json
from millstream.protocol.reading import read_uvarint
from millstream.protocol.record_frames import (
    UnknownRecordType,
    decode_group_record,
    decode_metadata_record,
    decode_remote_log_record,
    decode_share_record,
    decode_transaction_record,
    decode_versioned,
)
from millstream.records.control import ControlType, read_control_type, read_coordinator_epoch
from millstream.records.record import Record

DELETED: Final = "<DELETE>"
"""In place of the value of a tombstone, as Kafka's tool says it."""


class Meaning(NamedTuple):
    """A key and a value as they are told. None: there is nothing to tell."""

    key: Json = None
    value: Json = None


Decoder: TypeAlias = Callable[[Record], Meaning]
_Keyed: TypeAlias = Callable[[bytes, bytes | None], tuple[Message, Message | None]]


class Control(NamedTuple):
    """A control record: the name of its type as Kafka's tool writes it, and what it says."""

    name: str
    value: Json


_MARKERS: Final = frozenset({ControlType.COMMIT, ControlType.ABORT})
_CONTROL_MESSAGES: Final[Mapping[ControlType, tuple[str, type[Message]]]] = MappingProxyType(
    {
        ControlType.LEADER_CHANGE: ("LeaderChange:", LeaderChangeMessage),
        ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", SnapshotHeaderRecord),
        ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", SnapshotFooterRecord),
        ControlType.KRAFT_VERSION: ("KRaftVersion", KRaftVersionRecord),
        ControlType.KRAFT_VOTERS: ("KRaftVoters", VotersRecord),
    }
)
_CONTROL_VERSION: Final = 0
"""The messages of control records have this version alone."""


def decode_content(record: Record) -> Meaning:
    """Tells keys and values as text, and what is no UTF-8 as base64."""
    return Meaning(_text(record.key), _text(record.value))


def _text(content: bytes | None) -> Json:
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def decode_metadata(record: Record) -> Meaning:
    """Decodes a record of `__cluster_metadata`, or of a snapshot of it."""
    return _framed(record, decode_metadata_record)


def decode_remote_log(record: Record) -> Meaning:
    """Decodes a record of `__remote_log_metadata`."""
    return _framed(record, decode_remote_log_record)


def _framed(record: Record, decode: Callable[[bytes], Message]) -> Meaning:
    value = record.value or b""
    try:
        message = decode(value)
    except MillstreamError as error:
        return Meaning(value=f"Error at {record.offset}, skipping. {error}")
    view, at, version = memoryview(value), 0, 0
    for _ in ("frame version", "type", "version"):
        version, at = read_uvarint(view, at)
    told: dict[str, Json] = {"type": _constant(type(message).__name__), "version": version}
    return Meaning(value=told | {"data": to_json(message, version)})


def _constant(name: str) -> str:
    """`FeatureLevelRecord` is FEATURE_LEVEL_RECORD."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def decode_offsets(record: Record) -> Meaning:
    """Decodes a record of `__consumer_offsets`; subscriptions and assignments of consumers too."""
    meaning = _keyed(record, decode_group_record)
    if isinstance(meaning.value, dict):
        _decode_members(meaning.value["data"])
    return meaning


def decode_transactions(record: Record) -> Meaning:
    """Decodes a record of `__transaction_state`."""
    return _keyed(record, decode_transaction_record)


def decode_share_state(record: Record) -> Meaning:
    """Decodes a record of `__share_group_state`."""
    return _keyed(record, decode_share_record)


def _keyed(record: Record, decode: _Keyed) -> Meaning:
    if record.key is None:
        return Meaning(f"Could not read record at offset {record.offset}: it has no key")
    try:
        key, value = decode(record.key, record.value)
    except UnknownRecordType as error:
        return Meaning(f"Unknown record type {error.record_type} at offset {record.offset}, skipping.")  # fmt: skip
    except MillstreamError as error:
        return Meaning(f"Could not read record at offset {record.offset} due to: {error}")
    told: dict[str, Json] = {"type": str(_int16(record.key)), "data": to_json(key, 0)}
    if value is None or record.value is None:
        return Meaning(told, DELETED)
    version = _int16(record.value)
    return Meaning(told, {"version": str(version), "data": to_json(value, version)})


def _int16(data: bytes) -> int:
    return int.from_bytes(data[:2], signed=True)


def _decode_members(data: Json) -> None:
    """Replaces bytes of the consumer protocol by what they say; those of other protocols stay as they are."""
    if data.get("protocolType") != "consumer":
        return
    for member in data.get("members", ()):
        for name, kind in (
            ("subscription", ConsumerProtocolSubscription),
            ("assignment", ConsumerProtocolAssignment),
        ):
            content = base64.b64decode(member[name])
            try:
                message = decode_versioned(kind, content)
            except MillstreamError:
                continue  # a client may write what it likes: it is told as bytes
            member[name] = to_json(message, _int16(content))


def decode_control(record: Record) -> Control:
    """Tells a control record. Raises InvalidRecord, MalformedMessage."""
    kind = read_control_type(record.key)
    if kind in _MARKERS:
        epoch = read_coordinator_epoch(record.value)
        return Control("endTxnMarker:", {"type": kind.name, "coordinatorEpoch": epoch})
    if kind not in _CONTROL_MESSAGES:
        return Control("controlType:", {"type": _int16((record.key or b"")[2:])})
    name, message_type = _CONTROL_MESSAGES[kind]
    message, _ = message_type.decode(memoryview(record.value or b""), 0, _CONTROL_VERSION)
    return Control(name, to_json(message, _CONTROL_VERSION))
