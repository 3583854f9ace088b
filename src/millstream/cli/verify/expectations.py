"""Reads what the checkpoints of a data directory say of its logs, against which their files are held.

A file that cannot be read is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from millstream.cli.verify.findings import Finding, Remedy, unreadable
from millstream.errors import MillstreamError
from millstream.log.directory.segment_checkpoint import (
    SEGMENT_FILE,
    LogMark,
    SegmentCheckpoint,
    decode_segments,
)
from millstream.log.directory.text_checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    META_PROPERTIES_FILE,
    RECOVERY_POINT_FILE,
    DamagedFile,
    decode_clean_shutdown,
    decode_meta_properties,
    decode_offsets,
)
from millstream.model import TopicPartition
from millstream.runtime import FileSystem

_PARTITION_DIRECTORY: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<number>0|[1-9][0-9]*)")
_FUTURE_DIRECTORY: Final = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<number>0|[1-9][0-9]*)\.[0-9a-f]{32}-future"
)
_METADATA_TOPIC: Final = "__cluster_metadata"

Decoded = TypeVar("Decoded")


@dataclass(frozen=True, slots=True)
class Expected:
    """Says what is known of one log beside its own files.

    Without a data directory above it: nothing, and its stop counts as in order.
    """

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
    is_future: bool = False
    """A replica on its way here from another directory."""


@dataclass(slots=True)
class DataDirectory:
    """A data directory: its checkpoints, and what is wrong with them."""

    was_clean: bool = False
    findings: list[Finding] = field(default_factory=list)
    offsets: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    marks: dict[TopicPartition, LogMark] = field(default_factory=dict)

    def expected(self, name: str) -> Expected:
        """Returns what is known of the log in the directory `name`. The metadata log is in none of the checkpoints.

        Nor are replicas on their way here in those of our nodes, which begin such a move anew.
        """
        if _FUTURE_DIRECTORY.fullmatch(name):
            return Expected(was_clean=self.was_clean, is_future=True)
        found = _PARTITION_DIRECTORY.fullmatch(name)
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


def topic_of(name: str) -> str | None:
    """Returns the topic of a partition's directory, also where a replica is on its way here; None for other names."""
    found = _PARTITION_DIRECTORY.fullmatch(name) or _FUTURE_DIRECTORY.fullmatch(name)
    return found["topic"] if found else None


def is_data_directory(file_system: FileSystem, path: str) -> bool:
    return file_system.exists(f"{path}/{META_PROPERTIES_FILE}")


def read_data_directory(file_system: FileSystem, path: str) -> DataDirectory:
    found = DataDirectory()
    findings = found.findings
    meta_path = f"{path}/{META_PROPERTIES_FILE}"
    _decoded(file_system, meta_path, decode_meta_properties, findings, Remedy.RESTORE)
    clean_path = f"{path}/{CLEAN_SHUTDOWN_FILE}"
    found.was_clean = file_system.exists(clean_path)
    for name in (RECOVERY_POINT_FILE, HIGH_WATERMARK_FILE, LOG_START_OFFSET_FILE, CLEANER_OFFSET_FILE):  # fmt: skip
        offsets = _decoded(file_system, f"{path}/{name}", decode_offsets, findings, Remedy.START)
        found.offsets[name] = offsets or {}
    segment_path = f"{path}/{SEGMENT_FILE}"
    noted = _decoded(file_system, segment_path, _decode_segments, findings, Remedy.START)
    if found.was_clean and noted is not None:
        found.marks.update(_exact_marks(file_system, clean_path, noted))
    return found


def _decoded(
    file_system: FileSystem,
    path: str,
    decode: Callable[[str, bytes], Decoded],
    findings: list[Finding],
    remedy: Remedy,
) -> Decoded | None:
    """None, and a finding, where the file cannot be read; None where there is none."""
    if not file_system.exists(path):
        return None
    try:
        return decode(path, file_system.read(path))
    except MillstreamError as error:
        findings.append(Finding(path, str(error).removeprefix(f"{path} "), remedy))
    except OSError as error:
        findings.append(unreadable(path, error))
    return None


def _decode_segments(path: str, data: bytes) -> SegmentCheckpoint:
    noted = decode_segments(data)
    if noted is None:
        raise DamagedFile(f"{path} is damaged: what stands in it is not what its checksum says")
    return noted


def _exact_marks(
    file_system: FileSystem, clean_path: str, noted: SegmentCheckpoint
) -> Mapping[TopicPartition, LogMark]:
    """Returns what was noted by the stop that was the last thing to happen; nothing where Apache Kafka ran
    since, which does not note it.
    """
    try:
        broker_epoch = decode_clean_shutdown(file_system.read(clean_path))
    except (MillstreamError, OSError):
        return {}  # that it is there is what counts: a node looks at no more either
    return noted.logs if noted.clean_epoch == broker_epoch else {}
