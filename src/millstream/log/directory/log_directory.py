"""One data directory of a broker: whose it is, which logs live in it, and the checkpoints over all of them.

Owns `meta.properties`, `.lock`, `.kafka_cleanshutdown`, the offset checkpoints and the partition directories. Does not
know leaders, high watermarks or metadata: they are passed in where a file needs them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, Self, final

from millstream.errors import ConfigError, KafkaStorageError, MillstreamError
from millstream.log.directory.formatting import read_meta_properties
from millstream.log.directory.log_environment import (
    LogEnvironment,
    SavedState,
    is_beyond_one_log,
    is_broken_disk,
)
from millstream.log.directory.log_loader import new_log
from millstream.log.directory.offset_checkpoints import LogOffsets, OffsetCheckpoints
from millstream.log.directory.saved_states import SavedStates
from millstream.log.directory.segment_checkpoint import (
    SEGMENT_FILE,
    LogMark,
    SegmentCheckpoint,
    encode_segments,
)
from millstream.log.directory.text_checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOCK_FILE,
    LOG_START_OFFSET_FILE,
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    DamagedFile,
    MetaProperties,
    decode_clean_shutdown,
    decode_partition_metadata,
    encode_clean_shutdown,
    encode_partition_metadata,
)
from millstream.log.partition_log import PartitionLog
from millstream.log.producers.producer_state import ProducerStates
from millstream.log.segments.unsynced_file import read_if_it_reached_the_disk, write_unsynced
from millstream.metadata.topic_config import LogConfig
from millstream.model import METADATA_TOPIC_ID, TopicPartition, Uuid
from millstream.runtime import File, Instant

METADATA_TOPIC: Final = "__cluster_metadata"
"""Its log lives in the data directory too, but is in none of the checkpoints: the raft log keeps its own."""

_PARTITION_DIRECTORY: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]*)")
_DELETED_DIRECTORY: Final = re.compile(r".+\.[0-9a-f]{32}-delete")
_FUTURE_DIRECTORY: Final = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]*)\.[0-9a-f]{32}-future"
)
_NAME_MAX: Final = 255
_ROOM_BYTES_MIN: Final = 1 << 20  # the largest batch by default (message.max.bytes)
_NO_EPOCH: Final = -1


class FoundLog(NamedTuple):
    """A partition directory, before its log is opened. `topic_id` is None where partition.metadata does not tell it."""

    partition: TopicPartition
    topic_id: Uuid | None


class _PendingDeletion(NamedTuple):
    """The log's files stay open until they go: ranges of them may be on their way to a client."""

    due_ms: int
    path: str
    log: PartitionLog


def _ignore_failure(_directory: LogDirectory) -> None:
    pass


@final
class LogDirectory:
    """Use `LogDirectory.open`; one task owns it."""

    def __init__(
        self, path: str, environment: LogEnvironment, meta: MetaProperties, lock: File
    ) -> None:
        self.path = path
        self.meta = meta
        self.previous_broker_epoch = _NO_EPOCH
        """The epoch of the broker that shut this directory down cleanly; -1 when the stop was unclean or is the first."""
        self.was_clean = False
        self.failure: str | None = None
        """Why nothing of it can be used any more; None while it can."""
        self.on_failure: Callable[[LogDirectory], None] = _ignore_failure
        """Called once, in any thread, when the disk has shown that it is broken."""
        self._environment = replace(environment, on_broken_disk=self._handle_broken_disk)
        self._lock = lock
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._future_logs: dict[TopicPartition, PartitionLog] = {}
        self.interrupted_moves: list[TopicPartition] = []
        """Replicas that were on their way here when the last owner stopped; nothing of them is left."""
        self._deletions: list[_PendingDeletion] = []
        self._checkpoints = OffsetCheckpoints(environment.file_system, path)
        self._saved = SavedStates(environment.file_system, path, self._checkpoints)
        self._written_segments = b""
        self._topic_ids: dict[TopicPartition, Uuid] = {}
        self._future_topic_ids: dict[TopicPartition, Uuid] = {}
        environment.producers.of_logs.append(self._producers)

    @classmethod
    def open(cls, path: str, environment: LogEnvironment) -> Self:
        """Locks a formatted directory and reads what the last owner left. No log is opened yet.

        Raises ConfigError (not formatted, or held by a running broker) and DamagedFile.
        """
        file_system = environment.file_system
        meta = read_meta_properties(file_system, path)
        if meta is None:
            raise ConfigError(
                f"{path} is not formatted: {META_PROPERTIES_FILE} is missing; format it first"
            )
        try:
            lock = file_system.lock(f"{path}/{LOCK_FILE}")
        except BlockingIOError as error:
            raise ConfigError(
                f"{path} is held by another broker; stop it, or choose another directory with log.dirs"
            ) from error
        directory = cls(path, environment, meta, lock)
        try:
            directory._read_saved_state()
        except BaseException:
            lock.close()
            raise
        return directory

    def _read_saved_state(self) -> None:
        file_system = self._environment.file_system
        clean_path = f"{self.path}/{CLEAN_SHUTDOWN_FILE}"
        if file_system.exists(clean_path):
            self.was_clean = True
            with contextlib.suppress(OSError):  # that it is there is what counts
                self.previous_broker_epoch = decode_clean_shutdown(file_system.read(clean_path))
        self._saved.read(was_clean=self.was_clean, broker_epoch=self.previous_broker_epoch)
        if self.was_clean:
            file_system.remove(clean_path)
        for name in file_system.list(self.path):
            moving = _FUTURE_DIRECTORY.fullmatch(name)
            if moving:
                partition = TopicPartition(moving["topic"], int(moving["partition"]))
                self.interrupted_moves.append(partition)
            if moving or _DELETED_DIRECTORY.fullmatch(name):
                file_system.remove_tree(f"{self.path}/{name}")

    @property
    def saved_high_watermarks(self) -> dict[TopicPartition, int]:
        """High watermarks of the last owner; whoever uses one takes it out."""
        return self._saved.high_watermarks

    @property
    def unreadable_checkpoints(self) -> list[str]:
        """Sentences about checkpoints that were not used, because they are damaged."""
        return self._saved.unreadable

    def check_closed_logs(self) -> list[str]:
        """Looks at the logs of a directory that was closed in order. Returns what is wrong; then its last broker epoch does not count.

        Blocks, and only reads: call it before the first log is opened, in any thread.
        """
        if not self.was_clean:
            return []
        # Here, not above: a new directory was never closed.
        from millstream.log.directory.clean_check import damage_of_closed_log

        file_system = self._environment.file_system
        damages = []
        for partition in self._partition_names():
            saved = self._saved.of(partition, self.noted_topic_id(partition) or METADATA_TOPIC_ID)
            damage = damage_of_closed_log(file_system, f"{self.path}/{partition}", saved)
            if damage is not None:
                damages.append(f"{partition}: {damage}")
        if damages:
            self.previous_broker_epoch = _NO_EPOCH
        return damages

    def set_producer_id_expiration(self, expiration_ms: int) -> None:
        self._environment.producer_id_expiration_ms = expiration_ms

    def note_known_producers(self, known: int) -> None:
        """Notes how many producers the logs of all directories remember: from then on new ones are counted."""
        self._environment.producers.known = known

    def _producers(self) -> list[ProducerStates]:
        return [log.producers for log in self]

    # --- failure

    def has_room(self) -> bool:
        """Whether something can be written. A disk that cannot be asked says so as it is written."""
        with contextlib.suppress(OSError):
            return self._environment.file_system.space(self.path)[1] >= _ROOM_BYTES_MIN
        return True

    def _handle_broken_disk(self, error: OSError) -> None:
        """Marks the directory as failed and calls `on_failure`; nothing else, because this may run in any thread."""
        if self.failure is None:
            self.failure = f"{self.path} is offline: {error.strerror or error}"
            self.on_failure(self)

    def take_offline(self) -> list[TopicPartition]:
        """Makes every log refuse all requests, after a failure. Returns the partitions that had a log here."""
        assert self.failure is not None, "only a directory that failed goes offline"
        lost = list(self._logs)
        for log in [*self._logs.values(), *self._future_logs.values()]:
            log.retire(self.failure)
        return lost

    # --- logs

    def __len__(self) -> int:
        """Returns the number of partitions that have their log here, or will have."""
        return len(self._logs) + len(self._future_logs)

    def __iter__(self) -> Iterator[PartitionLog]:
        return iter(list(self._logs.values()))

    def get(self, partition: TopicPartition) -> PartitionLog | None:
        return self._logs.get(partition)

    def find_logs(self) -> list[FoundLog]:
        """Returns every partition directory, the metadata log's excluded."""
        found: list[FoundLog] = []
        for partition in self._partition_names():
            try:
                topic_id = self._read_topic_id(f"{self.path}/{partition}")
            except (DamagedFile, OSError):
                topic_id = None  # opening the log will say it, if it is wanted at all
            found.append(FoundLog(partition, topic_id))
        return found

    def noted_topic_id(self, partition: TopicPartition) -> Uuid | None:
        """Returns the topic id that a partition directory had when its segments were noted, whatever partition.metadata says now."""
        return self._saved.noted_topic_id(partition)

    def _partition_names(self) -> Iterator[TopicPartition]:
        for name in self._environment.file_system.list(self.path):
            match = _PARTITION_DIRECTORY.fullmatch(name)
            if match and match["topic"] != METADATA_TOPIC:
                yield TopicPartition(match["topic"], int(match["partition"]))

    def holds(self, partition: TopicPartition) -> bool:
        """Whether there is a directory of that name; its log may be open or not."""
        return self._environment.file_system.exists(f"{self.path}/{partition}")

    def open_log(
        self,
        partition: TopicPartition,
        config: LogConfig,
        now: Instant,
        topic_id: Uuid | None = None,
    ) -> PartitionLog:
        """Opens or creates the log of `partition`; recovers it after an unclean stop.

        `topic_id` is None for the metadata log only. Raises DamagedFile when the directory belongs to another topic id or
        cannot be trusted, KafkaStorageError when the disk refuses.
        """
        assert partition not in self._logs, f"the log of {partition} is open already"
        directory = f"{self.path}/{partition}"
        try:
            self._make_directory(partition, topic_id)
            log = PartitionLog.open(
                partition,
                directory,
                self._environment,
                config,
                saved=self._saved.of(partition, topic_id or METADATA_TOPIC_ID),
                now=now,
            )
        except OSError as error:
            raise self._refusal(f"open the log of {partition}", error) from error
        self._forget_saved_state(partition, topic_id or METADATA_TOPIC_ID)
        self._logs[partition] = log
        return log

    def begin_log(
        self, partition: TopicPartition, config: LogConfig, now: Instant, topic_id: Uuid
    ) -> PartitionLog:
        """Opens a new log where `holds` is false; `materialize` or the first append makes its directory."""
        assert partition not in self._logs, f"the log of {partition} is open already"
        self._forget_saved_state(partition, topic_id)
        directory = f"{self.path}/{partition}"
        make_directory = partial(self._make_directory, partition, topic_id)
        log = self._logs[partition] = PartitionLog(
            partition,
            directory,
            self._environment,
            config,
            state=new_log(directory, self._environment, config),
            now=now,
            make_directory=make_directory,
        )
        return log

    def _make_directory(self, partition: TopicPartition, topic_id: Uuid | None) -> None:
        if not self.holds(partition):
            self._checkpoints.forget_predecessor(partition)
        directory = f"{self.path}/{partition}"
        self._environment.file_system.make_directory(directory)
        if topic_id is not None:
            self._ensure_topic_id(directory, topic_id, self.noted_topic_id(partition))

    def _forget_saved_state(self, partition: TopicPartition, topic_id: Uuid) -> None:
        self._topic_ids[partition] = topic_id
        self._saved.forget(partition)

    def _ensure_topic_id(self, directory: str, topic_id: Uuid, noted: Uuid | None = None) -> None:
        """`noted`: the topic id that the directory is known to have had. Where it is the one asked for, a damaged file is made anew."""
        path = f"{directory}/{PARTITION_METADATA_FILE}"
        try:
            found = self._read_topic_id(directory)
        except (DamagedFile, OSError):
            if noted != topic_id:
                raise
            self._environment.file_system.remove(path)
            found = None
        if found is None:
            data = encode_partition_metadata(topic_id)
            write_unsynced(self._environment.file_system, path, data)
        elif found != topic_id:
            raise DamagedFile(
                f"{path} names another topic id than the metadata: move {directory} away, or remove the file if the directory is the topic's"
            )

    def _read_topic_id(self, directory: str) -> Uuid | None:
        """None where the file is not there (it is written without a sync: the metadata knows the id). Raises DamagedFile."""
        path = f"{directory}/{PARTITION_METADATA_FILE}"
        data = read_if_it_reached_the_disk(self._environment.file_system, path)
        return decode_partition_metadata(path, data) if data is not None else None

    # --- replicas on their way here from another directory

    @property
    def future_logs(self) -> list[PartitionLog]:
        return list(self._future_logs.values())

    def open_future_log(self, current: PartitionLog, topic_id: Uuid, now: Instant) -> PartitionLog:
        """Returns an empty log that is to take the place of `current`, which lives in another directory. Raises KafkaStorageError."""
        partition = current.partition
        path = self._path_aside(partition, "future")
        saved = SavedState(log_start_offset=current.log_start_offset, was_clean=True)
        try:
            self._discard_future(self._future_logs.pop(partition, None))
            self._environment.file_system.make_directory(path)
            self._ensure_topic_id(path, topic_id)
            log = PartitionLog.open(
                partition, path, self._environment, current.config, saved=saved, now=now
            )
        except OSError as error:
            with contextlib.suppress(OSError):  # it would stay until the next start
                self._environment.file_system.remove_tree(path)
            raise self._refusal(f"begin the log of {partition}", error) from error
        self._future_logs[partition] = log
        self._future_topic_ids[partition] = topic_id
        return log

    def adopt_future_log(self, log: PartitionLog) -> None:
        """Makes the future log the partition's log, under its proper name. Raises KafkaStorageError."""
        assert self._future_logs.get(log.partition) is log, "only a future log is adopted"
        directory = f"{self.path}/{log.partition}"
        try:
            self._checkpoints.forget_predecessor(log.partition)
            self._environment.file_system.rename(log.directory, directory)
            # Before the sync, which may fail: who drops the log must find it.
            log.update_directory(directory)
            self._environment.file_system.sync_directory(self.path)
        except OSError as error:
            raise self._refusal(f"rename {log.directory}", error) from error
        self._topic_ids[log.partition] = self._future_topic_ids.pop(log.partition)
        self._logs[log.partition] = self._future_logs.pop(log.partition)

    def drop_future_log(self, log: PartitionLog) -> None:
        """Removes it with its files, unless it was adopted or dropped before. Raises OSError."""
        if self._future_logs.get(log.partition) is log:
            self._discard_future(self._future_logs.pop(log.partition))

    def _discard_future(self, log: PartitionLog | None) -> None:
        if log is not None:
            log.abandon()
            log.producers.clear()
            self._environment.file_system.remove_tree(log.directory)

    # --- leaving

    def delete_log(self, partition: TopicPartition, now: Instant, *, is_synced: bool = False) -> None:  # fmt: skip
        """Takes the log out of use at once, `is_synced` over a power loss, too; its files go with `take_due_removals`."""
        log = self._logs.pop(partition)
        log.retire("its topic was deleted, or its replica moved to another broker", is_gone=True)
        log.producers.clear()
        if not log.is_on_disk:
            log.abandon()
            return
        target = self._rename(partition, "delete")
        if is_synced:
            try:
                self._environment.file_system.sync_directory(self.path)
            except OSError as error:
                raise self._refusal(f"sync the removal of {partition}", error) from error
        due_ms = now.monotonic_ms + log.config.file_delete_delay_ms
        self._deletions.append(_PendingDeletion(due_ms, target, log))

    def move_aside(self, partition: TopicPartition) -> str:
        """Keeps the files of a partition that this node should not have, under a name that is not opened; returns it."""
        assert partition not in self._logs, f"the log of {partition} is open"
        self._saved.forget(partition)
        return self._rename(partition, "stray")

    def discard(self, partition: TopicPartition) -> None:
        """Gives up the files of a partition whose log is not open; the next start removes them. Raises KafkaStorageError."""
        assert partition not in self._logs, f"the log of {partition} is open"
        self._saved.forget(partition)
        self._rename(partition, "delete")

    def _rename(self, partition: TopicPartition, purpose: str) -> str:
        target = self._path_aside(partition, purpose)
        try:
            self._environment.file_system.rename(f"{self.path}/{partition}", target)
        except OSError as error:  # other logs tell whether the disk is well
            what = f"cannot rename the log of {partition} in {self.path}: {error}"
            raise KafkaStorageError(what) from error
        return target

    def _refusal(self, what: str, error: OSError) -> KafkaStorageError:
        """Returns what is told. A disk that has failed has failed for every log on it."""
        if is_beyond_one_log(error):
            self._handle_broken_disk(error)
        return KafkaStorageError(f"cannot {what} in {self.path}: {error}")

    def _path_aside(self, partition: TopicPartition, purpose: str) -> str:
        """A name that is no partition's, as Kafka makes it."""
        suffix = f"-{partition.partition}.{self._environment.random.randbytes(16).hex()}-{purpose}"
        return f"{self.path}/{partition.topic[: _NAME_MAX - len(suffix)]}{suffix}"

    def take_due_removals(self, now: Instant) -> list[Callable[[], None]]:
        """Deleted logs whose time has come, as functions that remove them; they touch nothing but files and raise OSError."""
        due = [deletion for deletion in self._deletions if deletion.due_ms <= now.monotonic_ms]
        self._deletions = [deletion for deletion in self._deletions if deletion not in due]
        return [partial(self._remove, deletion) for deletion in due]

    def _remove(self, deletion: _PendingDeletion) -> None:
        deletion.log.abandon()
        self._environment.file_system.remove_tree(deletion.path)

    # --- checkpoints

    def checkpoint_recovery_points(self) -> None:
        """Writes all recovery points, those of logs not opened yet included, and what the segments hold; Kafka's interval is 60 s."""

        def recovery_points() -> LogOffsets:
            points = {log.partition: log.recovery_point for log in self._listed()}
            return {**self._saved.recovery_points, **points}

        cuts = [(log, names) for log in self if (names := log.cut_notes.names)]
        self._write_segments()
        self._write_offsets(RECOVERY_POINT_FILE, recovery_points)
        if cuts:
            # What all of them say of a log that was cut must be true again before its note goes.
            self.checkpoint_log_start_offsets()
            self.checkpoint_cleaner()
        for log, names in cuts:
            self._write("a note of a cut", partial(log.cut_notes.forget, names))

    def checkpoint_log_start_offsets(self) -> None:
        """Writes the log start offsets that lie beyond their first segment's; Kafka's interval is 60 s."""

        def start_offsets() -> LogOffsets:
            moved = {
                log.partition: log.log_start_offset
                for log in self._listed()
                if log.log_start_offset > log.first_segment_offset
            }
            return {**self._saved.start_offsets, **moved}

        logs = [(log, log.log_start_offset) for log in self._listed()]
        self._write_offsets(LOG_START_OFFSET_FILE, start_offsets)
        for log, start_offset in logs:
            if start_offset > log.first_segment_offset:
                log.leader_epochs.note_durable_start(start_offset)

    def _write_segments(self, clean_epoch: int | None = None) -> None:
        """Before the recovery points: a segment that is not recovered any more must have been noted."""
        logs = {
            log.partition: LogMark(
                self._topic_ids[log.partition],
                log.log_start_offset,
                log.recovery_point,
                tuple(segment.mark for segment in log.segments),
            )
            for log in self
            if log.is_on_disk
        }
        data = encode_segments(SegmentCheckpoint({**self._saved.segments, **logs}, clean_epoch))
        if data != self._written_segments:
            write = self._environment.file_system.write_atomically
            self._write(SEGMENT_FILE, partial(write, f"{self.path}/{SEGMENT_FILE}", data))
            self._written_segments = data

    def _listed(self) -> list[PartitionLog]:
        return [log for log in self if log.partition.topic != METADATA_TOPIC]

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        """Writes the high watermarks of the logs in this directory, and leaves out others. Kafka's interval is 5 s."""

        def own_high_watermarks() -> LogOffsets:
            return {name: offset for name, offset in high_watermarks.items() if name in self._logs}

        self._write_offsets(HIGH_WATERMARK_FILE, own_high_watermarks)

    def checkpoint_cleaner(self) -> None:
        """Writes where cleanings ended, after each of them."""

        def ends_of_cleanings() -> LogOffsets:
            cleaned = {
                log.partition: log.cleaner_checkpoint
                for log in self
                if log.cleaner_checkpoint is not None
            }
            return {**self._saved.cleaner_checkpoints, **cleaned}

        self._write_offsets(CLEANER_OFFSET_FILE, ends_of_cleanings)

    # --- end

    def close_log(self, log: PartitionLog, now: Instant) -> bool:
        """Clean shutdown of one log: true when everything of it is on the disk. Blocks in fsync.

        May run in any thread while the log is not in use; several logs may be closed at once.
        """
        if log.health.failure is None:
            try:
                log.close(now)
            except MillstreamError:  # the disk refused, or the log turned out to be damaged
                log.abandon()
                return False
            return True
        log.abandon()
        return False

    def close(
        self, high_watermarks: Mapping[TopicPartition, int], broker_epoch: int, now: Instant
    ) -> None:
        """Clean shutdown: logs that are still open are closed, checkpoints written, and only then the file that says so.

        It is not written when a log failed, or was never opened after an unclean stop: the next start recovers.
        """
        is_clean = self.failure is None and (
            self.was_clean or all(name in self._logs for name in self._partition_names())
        )
        for log in [*self, *self._future_logs.values()]:
            is_clean &= log.is_closed or self.close_log(log, now)
        if any(log.lacks_records for log in self):
            broker_epoch = _NO_EPOCH  # what was cut away as damaged is not here: others are asked
        if self.failure is None:
            self.checkpoint_recovery_points()
            self.checkpoint_log_start_offsets()
            self.checkpoint_high_watermarks(high_watermarks)
            self._write_segments(broker_epoch if is_clean else None)
        if is_clean and self.failure is None:
            self._environment.file_system.write_atomically(
                f"{self.path}/{CLEAN_SHUTDOWN_FILE}", encode_clean_shutdown(broker_epoch)
            )
        self.abandon()

    def abandon(self) -> None:
        """Closes all files as they are, like a crash; the next start recovers."""
        deleted = [deletion.log for deletion in self._deletions]
        for log in [*self, *self._future_logs.values(), *deleted]:
            log.abandon()
        self._logs.clear()
        self._future_logs.clear()
        self._lock.close()

    def _write_offsets(self, name: str, offsets: Callable[[], LogOffsets]) -> None:
        self._write(name, partial(self._checkpoints.write, name, offsets))

    def _write(self, name: str, write: Callable[[], None]) -> None:
        """Raises KafkaStorageError."""
        try:
            write()
        except OSError as error:
            if is_broken_disk(error):
                self._handle_broken_disk(error)
            what = f"cannot write {self.path}/{name}: {error.strerror or error}"
            raise KafkaStorageError(what) from error
