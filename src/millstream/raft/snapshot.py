"""Snapshots of the metadata log, in Kafka's format: what replaces every record before an offset.

A snapshot is a run of record batches: a control batch with SNAPSHOT_HEADER, KRAFT_VERSION and KRAFT_VOTERS, the records
of the state, and a control batch with SNAPSHOT_FOOTER, without which the file is not whole. Reads and writes no files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.errors import (
    CorruptMessage,
    InvalidRecord,
    MalformedMessage,
    UnsupportedForMessageFormat,
)
from millstream.model import LeaderEpoch, Offset
from millstream.protocol.generated.control_records import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from millstream.raft.voter_set import (
    VoterSet,
    dynamic_quorum_records,
    voters_from_record,
)
from millstream.records.batch import iterate_batches, validate_batch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import ControlType, build_control_batch, read_control_type
from millstream.records.record import Record, iterate_records

FILE_SUFFIX: Final = ".checkpoint"
_FILE_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_BATCH_BYTES: Final = 1 << 20

SNAPSHOT_DAMAGE: Final = (
    CorruptMessage,
    MalformedMessage,
    InvalidRecord,
    UnsupportedForMessageFormat,
)
"""What reading bytes that are no snapshot raises."""


class SnapshotId(NamedTuple):
    """A snapshot holds everything below `end_offset`; `epoch` is that of the last record it holds."""

    end_offset: Offset
    epoch: LeaderEpoch

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}{FILE_SUFFIX}"

    @classmethod
    def of_file(cls, name: str) -> SnapshotId | None:
        """Parses the name of a snapshot file; None for any other file."""
        found = _FILE_NAME.fullmatch(name)
        return cls(Offset(int(found[1])), LeaderEpoch(int(found[2]))) if found else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    id: SnapshotId
    last_contained_log_timestamp_ms: int
    voters: VoterSet | None
    """None where the voters are not kept in the log (kraft.version 0)."""
    values: tuple[bytes, ...]
    """Metadata records as the log holds them."""


def encode_snapshot(snapshot: Snapshot, *, written_ms: int | None = None) -> bytes:
    """Returns the bytes of its file. Offsets count from 0: they mean nothing outside of it.

    `written_ms`: time of its batches, where that is not the time of the last record it holds.
    """
    writer = _Writer(snapshot, written_ms)
    header = SnapshotHeaderRecord(
        last_contained_log_timestamp=snapshot.last_contained_log_timestamp_ms
    )
    entries = [(ControlType.SNAPSHOT_HEADER, _encoded(header))]
    if snapshot.voters is not None:
        version, voters = dynamic_quorum_records(snapshot.voters)
        entries.append((ControlType.KRAFT_VERSION, _encoded(version)))
        entries.append((ControlType.KRAFT_VOTERS, _encoded(voters)))
    writer.append_control(entries)
    for values in _batches(snapshot.values):
        writer.append_data(values)
    writer.append_control([(ControlType.SNAPSHOT_FOOTER, _encoded(SnapshotFooterRecord()))])
    return bytes(writer.out)


def decode_snapshot(snapshot_id: SnapshotId, data: bytes) -> Snapshot:
    """Decodes a snapshot. Raises what SNAPSHOT_DAMAGE names, also when the footer is missing."""
    header: SnapshotHeaderRecord | None = None
    voters: VoterSet | None = None
    values: list[bytes] = []
    is_whole = False
    for batch, view in iterate_batches(memoryview(data)):
        validate_batch(batch, view)
        for record in iterate_records(batch, view):
            if not batch.is_control:
                values.append(bytes(record.value or b""))
                continue
            body = memoryview(record.value or b"")
            match read_control_type(record.key):
                case ControlType.SNAPSHOT_HEADER:
                    header, _ = SnapshotHeaderRecord.decode(body, 0, 0)
                case ControlType.KRAFT_VOTERS:
                    voters = voters_from_record(VotersRecord.decode(body, 0, 0)[0])
                case ControlType.SNAPSHOT_FOOTER:
                    is_whole = True
                case _:
                    pass  # kraft.version says no more than that there are voters
    if header is None or not is_whole:
        raise CorruptMessage("the snapshot has no header or no footer: it was never finished")
    return Snapshot(snapshot_id, header.last_contained_log_timestamp, voters, tuple(values))


class _Writer:
    def __init__(self, snapshot: Snapshot, written_ms: int | None) -> None:
        self.out = bytearray()
        self._epoch = snapshot.id.epoch
        self._timestamp = (
            snapshot.last_contained_log_timestamp_ms if written_ms is None else written_ms
        )
        self._offset = 0

    def append_control(self, entries: list[tuple[ControlType, bytes]]) -> None:
        self.out += build_control_batch(entries, self._timestamp, self._options())
        self._offset += len(entries)

    def append_data(self, values: list[bytes]) -> None:
        records = [Record(timestamp=self._timestamp, value=value) for value in values]
        self.out += build_batch(records, self._options())
        self._offset += len(values)

    def _options(self) -> BatchOptions:
        return BatchOptions(base_offset=self._offset, leader_epoch=self._epoch)


def _batches(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for value in values:
        batch.append(value)
        size += len(value)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encoded(
    record: SnapshotHeaderRecord | SnapshotFooterRecord | KRaftVersionRecord | VotersRecord,
) -> bytes:
    out = bytearray()
    record.encode(out, 0)
    return bytes(out)
