"""The file `bootstrap.checkpoint` of a data directory: the records with which the metadata of a new cluster begins.

`storage format` writes it, and the first active controller of the cluster writes its records into the metadata log. In
the form of a snapshot, as Kafka's. Nothing changes it, and who has metadata does not read it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from millstream.errors import KafkaError, KafkaStorageError, ProtocolError
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.record_versions import record_version
from millstream.model import LeaderEpoch, Offset
from millstream.protocol.generated import metadata_records
from millstream.protocol.record_frames import decode_metadata_record, encode_metadata_record
from millstream.raft.snapshot import Snapshot, SnapshotId, decode_snapshot, encode_snapshot
from millstream.runtime import FileSystem

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"
BOOTSTRAP_SNAPSHOT: Final = SnapshotId(Offset(0), LeaderEpoch(0))
"""The snapshot of a directory before there is a log: it names the first voters of a dynamic quorum."""


def encode_bootstrap(records: Iterable[metadata_records.MetadataRecord], now_ms: int) -> bytes:
    values = tuple(encode_metadata_record(record, record_version(record)) for record in records)
    snapshot = Snapshot(BOOTSTRAP_SNAPSHOT, 0, None, values)
    return encode_snapshot(snapshot, written_ms=now_ms)


def read_bootstrap(file_system: FileSystem, directory: str) -> Sequence[MetadataRecord] | None:
    """Returns the records in the file of `directory`; None where there is no file. Raises KafkaStorageError."""
    path = f"{directory}/{BOOTSTRAP_FILE}"
    try:
        data = file_system.read(path) if file_system.exists(path) else None
    except OSError as error:
        raise KafkaStorageError(f"cannot read {path}: {error.strerror or error}") from error
    if data is None:
        return None
    with damage_of(path):
        return decoded_records(decode_snapshot(BOOTSTRAP_SNAPSHOT, data).values)


def decoded_records(values: Iterable[bytes]) -> Sequence[MetadataRecord]:
    """Decodes records as the metadata log holds them. Raises MalformedMessage, UnsupportedVersion."""
    return [decode_metadata_record(value) for value in values]


@contextmanager
def damage_of(path: str) -> Iterator[None]:
    """Raises KafkaStorageError with the path for bytes of it that cannot be decoded."""
    try:
        yield
    except (KafkaError, ProtocolError) as error:
        raise KafkaStorageError(
            f"{path} is damaged, or of a newer version ({error}): restore it from a copy, or format an empty directory"
        ) from error
