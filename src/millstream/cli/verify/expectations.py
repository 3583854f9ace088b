"""Reads what the checkpoints of a data directory say of its logs, against which their files are held. A checkpoint that cannot be read is a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from millstream.cli.verify.findings import Finding, Remedy
from millstream.errors import MillstreamError
from millstream.log.directory.segment_checkpoint import SEGMENT_FILE, LogMark, decode_segments
from millstream.log.directory.text_checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    META_PROPERTIES_FILE,
    RECOVERY_POINT_FILE,
    decode_clean_shutdown,
    decode_meta_properties,
    decode_offsets,
)
from millstream.model import TopicPartition
from millstream.runtime import FileSystem

PARTITION_DIRECTORY: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<number>0|[1-9][0-9]*)")
_METADATA_TOPIC: Final = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class Expected:
    """Says what is known of one log beside its own files. Without a data directory above it: nothing, and its stop counts as in order."""

    was_clean: bool = True
    """Every byte of it was on the disk when the node stopped, and its indexes were written."""
    recovery_point: int = 0
    """What lies before it was on the disk, however the node stopped."""
    high_watermark: int = 0
    log_start_offset: int = 0
    mark: LogMark | None = None
    """The sizes of its segments at a stop in order."""
    is_metadata_log: bool = False
    """No checkpoint tells of it, and Kafka's controllers never note that they stopped in order."""


@dataclass(slots=True)
class DataDirectory:
    """A data directory: its checkpoints, and what is wrong with them."""

    was_clean: bool = False
    findings: list[Finding] = field(default_factory=list)
    offsets: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    marks: dict[TopicPartition, LogMark] = field(default_factory=dict)

    def expected(self, name: str) -> Expected:
        """Returns what is known of the log in the directory `name`. The metadata log is in none of the checkpoints."""
        found = PARTITION_DIRECTORY.fullmatch(name)
        assert found is not None, "only directories of partitions are looked at"
        key = TopicPartition(found["topic"], int(found["number"]))
        if key.topic == _METADATA_TOPIC:
            return Expected(was_clean=self.was_clean, is_metadata_log=True)
        return Expected(
            self.was_clean,
            self.offsets[RECOVERY_POINT_FILE].get(key, 0),
            self.offsets[HIGH_WATERMARK_FILE].get(key, 0),
            self.offsets[LOG_START_OFFSET_FILE].get(key, 0),
            self.marks.get(key),
        )


def is_data_directory(file_system: FileSystem, path: str) -> bool:
    return file_system.exists(f"{path}/{META_PROPERTIES_FILE}")


def read_data_directory(file_system: FileSystem, path: str) -> DataDirectory:
    """Raises OSError."""
    found = DataDirectory()
    meta_path = f"{path}/{META_PROPERTIES_FILE}"
    try:
        decode_meta_properties(meta_path, file_system.read(meta_path))
    except MillstreamError as error:
        found.findings.append(_damaged(meta_path, error, Remedy.RESTORE))
    clean_path = f"{path}/{CLEAN_SHUTDOWN_FILE}"
    found.was_clean = file_system.exists(clean_path)
    for name in (RECOVERY_POINT_FILE, HIGH_WATERMARK_FILE, LOG_START_OFFSET_FILE, CLEANER_OFFSET_FILE):  # fmt: skip
        found.offsets[name] = {}
        checkpoint = f"{path}/{name}"
        if not file_system.exists(checkpoint):
            continue
        try:
            found.offsets[name] = decode_offsets(checkpoint, file_system.read(checkpoint))
        except MillstreamError as error:
            found.findings.append(_damaged(checkpoint, error, Remedy.START))
    if found.was_clean:
        found.marks.update(_exact_marks(file_system, path, clean_path))
    return found


def _exact_marks(
    file_system: FileSystem, path: str, clean_path: str
) -> Iterator[tuple[TopicPartition, LogMark]]:
    """Yields what was noted by the stop that was the last thing to happen; nothing where Apache Kafka ran since, which does not note it."""
    segment_path = f"{path}/{SEGMENT_FILE}"
    if not file_system.exists(segment_path):
        return
    noted = decode_segments(file_system.read(segment_path))
    try:
        broker_epoch = decode_clean_shutdown(file_system.read(clean_path))
    except (MillstreamError, OSError):
        return  # that it is there is what counts: a node looks at no more either
    if noted is not None and noted.clean_epoch == broker_epoch:
        yield from noted.logs.items()


def _damaged(path: str, error: MillstreamError, remedy: Remedy) -> Finding:
    return Finding(path, str(error).removeprefix(f"{path} "), remedy)
