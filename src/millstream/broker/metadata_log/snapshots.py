"""The snapshot files of the metadata log: the newest is read at the start, new ones are written as
the log grows, old ones go.

    committed batch -> image -> enough new bytes, or enough time -> (pool) records, file, fsync, rename -> the log before older ones goes

Images never change, so a snapshot is made from one in the pool while the node goes on. A node on which
nothing happens writes none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, cast

from millstream.broker.metadata_log.log import MetadataLog
from millstream.broker.storage.disk_pool import DiskPool
from millstream.config_fields import from_keys
from millstream.errors import KafkaStorageError
from millstream.metadata.delta import MetadataDelta
from millstream.metadata.features import metadata_version_of_image
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import PublishedImage
from millstream.metadata.record_versions import record_version
from millstream.metadata.snapshot_records import image_records
from millstream.model import Offset
from millstream.protocol.generated.metadata_records import MetadataRecord
from millstream.protocol.record_frames import decode_metadata_record, encode_metadata_record
from millstream.raft.ready import SnapshotPiece
from millstream.raft.snapshot import (
    SNAPSHOT_DAMAGE,
    Snapshot,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
)
from millstream.raft.voter_set import VoterSet
from millstream.runtime import Clock, File, FileSystem

_LOGGER = logging.getLogger(__name__)
_UNFINISHED_SUFFIXES: Final = (".tmp", ".part", ".deleted")
"""Of ours, and of Kafka's that has been here before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSettings:
    record_bytes_between: int = from_keys(
        "metadata.log.max.record.bytes.between.snapshots", default=20_971_520
    )
    interval_ms: int = from_keys("metadata.log.max.snapshot.interval.ms", default=3_600_000)
    """0 for no snapshots by time."""
    retention_bytes: int = from_keys("metadata.max.retention.bytes", default=104_857_600)
    retention_ms: int = from_keys("metadata.max.retention.ms", default=604_800_000)


class SnapshotFiles:
    """The `.checkpoint` files in the directory of the metadata log."""

    def __init__(self, directory: str, file_system: FileSystem) -> None:
        self._directory = directory
        self._file_system = file_system

    def ids(self) -> list[SnapshotId]:
        """Returns the ids of all snapshots, oldest first."""
        names = self._file_system.list(self._directory)
        return sorted(found for name in names if (found := SnapshotId.of_file(name)) is not None)

    def read(self, snapshot_id: SnapshotId) -> Snapshot:
        """Reads a snapshot. Raises KafkaStorageError for a damaged file: without it the node would lose metadata."""
        path = self.path(snapshot_id)
        try:
            return decode_snapshot(snapshot_id, self._file_system.read(path))
        except (OSError, *SNAPSHOT_DAMAGE) as error:
            raise KafkaStorageError(
                f"{path} is damaged ({error}): restore it from a copy; the metadata log alone may not go back far enough"
            ) from error

    def open(self, snapshot_id: SnapshotId) -> File:
        """Opens a snapshot to be read in pieces. Raises OSError."""
        return self._file_system.open_read_only(self.path(snapshot_id))

    def write(self, snapshot: Snapshot) -> None:
        """Writes a snapshot. It is on the disk under its name when this returns, or not there at all."""
        self._file_system.write_atomically(self.path(snapshot.id), encode_snapshot(snapshot))

    def write_piece(self, piece: SnapshotPiece) -> None:
        """Writes bytes of a snapshot that comes in pieces, under a name that is no snapshot's.

        The first one begins anew.
        """
        file = self._file_system.open(self._unfinished(piece.id))
        try:
            file.truncate(piece.position)
            file.append([piece.data])
            if (
                piece.is_last
            ):  # before it has its name nobody relies on any of it: a crash begins anew
                file.sync()
        finally:
            file.close()

    def finish(self, snapshot_id: SnapshotId) -> Snapshot:
        """Returns a snapshot of which all pieces were written, on the disk under its name.

        Raises KafkaStorageError for a damaged one, and removes it.
        """
        unfinished = self._unfinished(snapshot_id)
        try:
            snapshot = decode_snapshot(snapshot_id, self._file_system.read(unfinished))
        except SNAPSHOT_DAMAGE as error:
            self._file_system.remove(unfinished)
            raise KafkaStorageError(f"{snapshot_id.file_name} is damaged ({error})") from error
        self._file_system.rename(unfinished, self.path(snapshot_id))
        self._file_system.sync_directory(self._directory)
        return snapshot

    def _unfinished(self, snapshot_id: SnapshotId) -> str:
        return self.path(snapshot_id) + _UNFINISHED_SUFFIXES[1]

    def remove(self, snapshot_id: SnapshotId) -> None:
        self._file_system.remove(self.path(snapshot_id))

    def remove_unfinished(self) -> None:
        for name in self._file_system.list(self._directory):
            if name.endswith(_UNFINISHED_SUFFIXES) and ".checkpoint" in name:
                self._file_system.remove(f"{self._directory}/{name}")

    def size_bytes(self, snapshot_id: SnapshotId) -> int:
        return self._file_system.size(self.path(snapshot_id))

    def age_ms(self, snapshot_id: SnapshotId, now_ms: int) -> int:
        return now_ms - self._file_system.modified_ms(self.path(snapshot_id))

    def path(self, snapshot_id: SnapshotId) -> str:
        return f"{self._directory}/{snapshot_id.file_name}"


def image_of(snapshot: Snapshot, cluster_id: str) -> MetadataImage:
    """Returns the metadata image that a snapshot holds."""
    delta = MetadataDelta(MetadataImage(cluster_id=cluster_id))
    for value in snapshot.values:
        delta.replay(decode_metadata_record(value))
    return delta.image(Offset(snapshot.id.end_offset - 1), snapshot.id.epoch)


def snapshot_of(image: MetadataImage, voters: VoterSet | None, now_ms: int) -> Snapshot:
    records = cast("Sequence[MetadataRecord]", list(image_records(image)))
    level = metadata_version_of_image(image)
    return Snapshot(
        SnapshotId(Offset(image.offset + 1), image.epoch),
        now_ms,
        voters,
        tuple(encode_metadata_record(record, record_version(record, level)) for record in records),
    )


class WrittenSnapshot(NamedTuple):
    """The newest snapshot: the last one written, or before that the one that was there at the
    start, which counts as written then.
    """

    size_bytes: int
    written_ms: int
    """By the monotonic clock."""


class MetadataSnapshots:
    """Writes snapshots when they are due: `note` is given every image, `run` is the task."""

    def __init__(
        self,
        files: SnapshotFiles,
        log: MetadataLog,
        voters: Callable[[Offset], VoterSet | None],
        settings: SnapshotSettings,
        *,
        pool: DiskPool,
        clock: Clock,
    ) -> None:
        """`voters`: those that the log names below an offset. They change while the node runs."""
        self._files = files
        self._log = log
        self._voters = voters
        self._settings = settings
        self._pool = pool
        self._clock = clock
        self._due = asyncio.Event()
        self._image: MetadataImage | None = None
        self._counted_bytes = log.log.size_bytes - log.bytes_since(log.high_watermark())
        """Size of the log up to which a snapshot covers it."""
        self._begun_ms = clock.now().monotonic_ms
        newest = files.ids()[-1:]
        self.written = WrittenSnapshot(
            sum(files.size_bytes(each) for each in newest), clock.now().monotonic_ms
        )

    def note(self, published: PublishedImage) -> None:
        self._image = published.image
        settings = self._settings
        new_bytes = self._log.log.size_bytes - self._counted_bytes
        passed_ms = self._clock.now().monotonic_ms - self._begun_ms
        if new_bytes >= settings.record_bytes_between or 0 < settings.interval_ms <= passed_ms:
            self._due.set()

    async def run(self) -> None:
        """Writes and cleans until cancelled. A disk that refuses a snapshot is logged; the log still has everything."""
        while True:
            await self._due.wait()
            image, self._image = self._image, None
            self._counted_bytes = self._log.log.size_bytes
            self._begun_ms = self._clock.now().monotonic_ms
            self._due.clear()
            assert image is not None, "a snapshot is due because of an image"
            try:
                voters = self._voters(Offset(image.offset + 1))
                snapshot_id = await self._pool.run(partial(self._write, image, voters))
                size_bytes = self._files.size_bytes(snapshot_id)
                self._log.add_snapshot(snapshot_id, size_bytes)
                self.written = WrittenSnapshot(size_bytes, self._clock.now().monotonic_ms)
                self._clean()
            except OSError as error:
                _LOGGER.warning("no snapshot at offset %d: %s", image.offset + 1, error)

    def _write(self, image: MetadataImage, voters: VoterSet | None) -> SnapshotId:
        """In the pool: touches nothing but the image and files."""
        snapshot = snapshot_of(image, voters, self._clock.now().wall_ms)
        self._files.write(snapshot)
        _LOGGER.info("wrote snapshot %s", snapshot.id.file_name)
        return snapshot.id

    def _clean(self) -> None:
        """While there is a newer snapshot, the oldest goes when it is too old or everything is too
        large; the log goes with it.
        """
        now = self._clock.now()
        ids = self._files.ids()
        size_bytes = self._log.log.size_bytes
        while len(ids) > 1 and self._must_go(ids, now.wall_ms):
            oldest, following, *_ = ids
            self._log.log.delete_records_before(following.end_offset)
            self._log.log.maintain(following.end_offset, now)
            self._files.remove(oldest)
            self._log.remove_snapshot(oldest)
            ids.pop(0)
        self._counted_bytes -= size_bytes - self._log.log.size_bytes

    def _must_go(self, ids: list[SnapshotId], now_ms: int) -> bool:
        settings = self._settings
        if 0 <= settings.retention_ms < self._files.age_ms(ids[0], now_ms):
            return True
        total = self._log.log.size_bytes + sum(self._files.size_bytes(each) for each in ids)
        return 0 <= settings.retention_bytes < total
