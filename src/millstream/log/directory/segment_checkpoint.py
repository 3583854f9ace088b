"""`segment-checkpoint`: what the segments of all logs of a data directory held when it was written.

Besides the notes of cuts (`log.cut_notes`) the one file that Kafka does not know, and leaves alone. Kafka's own files
cannot tell that one of them was lost: a transaction index that is missing looks like a segment without aborts, a log
file that is shorter like one that was rolled early.

    0                             version
    1234567890                    CRC-32C of everything below
    clean 14                      written by a clean shutdown of broker epoch 14; or `running`
    t 0 <topic id> <log start offset> <recovery point> <base offset>:<bytes>:<bytes>:<bytes>:<crc> ...

One line a log, one group a segment: base offset, size of the log file and of the time index, size and checksum of the
transaction index; the last two are left out where nothing was aborted. Those of an active segment count the entries in
memory: its file is compared only when no recovery read the segment, so it was sealed, and must hold them.

Pure. A file that cannot be read is the same as none: everything in it is a second source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from crc32c import crc32c

from millstream.log.segments.index_file import NOTHING_ABORTED, IndexMark, SegmentMark
from millstream.model import TopicPartition, Uuid, uuid_from_text, uuid_text

SEGMENT_FILE: Final = "segment-checkpoint"

_VERSION: Final = b"0"
_RUNNING: Final = "running"
_CLEAN: Final = "clean"


@dataclass(frozen=True, slots=True)
class LogMark:
    """The segments of one log, in order."""

    topic_id: Uuid
    log_start_offset: int
    recovery_point: int
    """Everything before it was on the disk."""
    segments: tuple[SegmentMark, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentCheckpoint:
    logs: Mapping[TopicPartition, LogMark] = field(default_factory=dict)
    clean_epoch: int | None = None
    """The epoch of the broker whose clean shutdown wrote it; None when it was written while the broker ran."""


def encode_segments(checkpoint: SegmentCheckpoint) -> bytes:
    epoch = checkpoint.clean_epoch
    lines = [_RUNNING if epoch is None else f"{_CLEAN} {epoch}"]
    for (topic, partition), log in checkpoint.logs.items():
        segments = " ".join(map(_group, log.segments))
        offsets = f"{log.log_start_offset} {log.recovery_point}"
        lines.append(f"{topic} {partition} {uuid_text(log.topic_id)} {offsets} {segments}")
    body = "\n".join([*lines, ""]).encode()
    return b"%s\n%d\n%s" % (_VERSION, crc32c(body), body)


def decode_segments(data: bytes) -> SegmentCheckpoint | None:
    """None for a file that cannot be read."""
    version, _, rest = data.partition(b"\n")
    crc, _, body = rest.partition(b"\n")
    if version != _VERSION or crc != b"%d" % crc32c(body):
        return None
    state, *rows = body.decode().splitlines()
    word, _, epoch = state.partition(" ")
    logs = {}
    for row in rows:
        topic, partition, topic_id, start, recovery_point, *groups = row.split()
        logs[TopicPartition(topic, int(partition))] = LogMark(
            uuid_from_text(topic_id), int(start), int(recovery_point), tuple(map(_mark, groups))
        )
    return SegmentCheckpoint(logs, int(epoch) if word == _CLEAN else None)


def _group(mark: SegmentMark) -> str:
    index = mark.transaction_index
    aborted = "" if index == NOTHING_ABORTED else f":{index.size_bytes}:{index.crc}"
    return f"{mark.base_offset}:{mark.log_bytes}:{mark.time_index_bytes}{aborted}"


def _mark(group: str) -> SegmentMark:
    base_offset, log_bytes, time_bytes, *index = map(int, group.split(":"))
    aborted = IndexMark(*index) if index else NOTHING_ABORTED
    return SegmentMark(base_offset, log_bytes, time_bytes, aborted)
