"""Reads what the checkpoints of a data directory have saved for its logs, when the directory is opened.

A checkpoint that is damaged counts for nothing: each of them says what can be had again, if more slowly. What was found
is kept for whoever tells the operator.
"""

from __future__ import annotations

from typing import Final, final

from millstream.log.directory.log_environment import SavedState
from millstream.log.directory.offset_checkpoints import LogOffsets, OffsetCheckpoints
from millstream.log.directory.segment_checkpoint import SEGMENT_FILE, LogMark, decode_segments
from millstream.log.directory.text_checkpoints import (
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    DamagedFile,
)
from millstream.model import TopicPartition, Uuid
from millstream.runtime import FileSystem

_WITHOUT: Final = {
    RECOVERY_POINT_FILE: "; after an unclean stop every log is recovered from its beginning",
    LOG_START_OFFSET_FILE: f"; the log start offsets of {SEGMENT_FILE} count, and without them records that were deleted may be back",
    HIGH_WATERMARK_FILE: "; high watermarks begin at the start of the logs and move when replicas report",
    CLEANER_OFFSET_FILE: "; compaction begins at the start of the logs",
}
"""What it means that a checkpoint cannot be read."""


@final
class SavedStates:
    """Entries of logs that are not open yet; each is forgotten when its log is opened."""

    def __init__(self, file_system: FileSystem, path: str, checkpoints: OffsetCheckpoints) -> None:
        self._file_system = file_system
        self._path = path
        self._checkpoints = checkpoints
        self._was_clean = self._segments_are_exact = False
        self.unreadable: list[str] = []
        """What to tell of checkpoints that were not used."""
        self.segments: dict[TopicPartition, LogMark] = {}
        self.recovery_points: LogOffsets = {}
        self.start_offsets: LogOffsets = {}
        self.cleaner_checkpoints: LogOffsets = {}
        self.high_watermarks: LogOffsets = {}

    def read(self, *, was_clean: bool, broker_epoch: int) -> None:
        """Reads the checkpoints. `broker_epoch`: that of the clean shutdown, if it was one."""
        self._was_clean = was_clean
        self.segments = self._read_segments(broker_epoch)
        self.recovery_points = self._read_offsets(RECOVERY_POINT_FILE)
        self.start_offsets = self._read_offsets(LOG_START_OFFSET_FILE)
        self.cleaner_checkpoints = self._read_offsets(CLEANER_OFFSET_FILE)
        self.high_watermarks = self._read_offsets(HIGH_WATERMARK_FILE)

    def of(self, partition: TopicPartition, topic_id: Uuid) -> SavedState:
        noted = self.segments.get(partition)
        if noted is None or noted.topic_id != topic_id:
            noted = LogMark(topic_id, 0, 0)
        recovery_point = self.recovery_points.get(partition, 0)
        return SavedState(
            recovery_point,
            max(self.start_offsets.get(partition, 0), noted.log_start_offset),
            self._was_clean,
            self.cleaner_checkpoints.get(partition),
            max(recovery_point, noted.recovery_point),
            noted.segments,
            self._segments_are_exact,
        )

    def noted_topic_id(self, partition: TopicPartition) -> Uuid | None:
        noted = self.segments.get(partition)
        return None if noted is None else noted.topic_id

    def forget(self, partition: TopicPartition) -> None:
        """Entries count once: a topic that is deleted and created again inherits nothing."""
        self.segments.pop(partition, None)
        self.recovery_points.pop(partition, None)
        self.start_offsets.pop(partition, None)
        self.cleaner_checkpoints.pop(partition, None)

    def _read_offsets(self, name: str) -> LogOffsets:
        try:
            return self._checkpoints.read(name)
        except (DamagedFile, OSError) as error:
            self.unreadable.append(f"{error}. It is written anew{_WITHOUT[name]}")
            return {}

    def _read_segments(self, broker_epoch: int) -> dict[TopicPartition, LogMark]:
        path = f"{self._path}/{SEGMENT_FILE}"
        if not self._file_system.exists(path):
            return {}
        try:
            found = decode_segments(self._file_system.read(path))
        except OSError:
            found = None
        if found is None:
            self.unreadable.append(
                f"{path} is damaged. It is written anew; until then files are believed that Kafka would believe"
            )
            return {}
        self._segments_are_exact = self._was_clean and found.clean_epoch == broker_epoch
        return {
            partition: noted
            for partition, noted in found.logs.items()
            if self._file_system.exists(f"{self._path}/{partition}")
        }
