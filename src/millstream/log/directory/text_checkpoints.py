"""Kafka's small text files: checkpoints, `partition.metadata`, `meta.properties`, `.kafka_cleanshutdown`.

Pure: text to values and back. A file that cannot be read is an error with a sentence, never an empty result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from millstream.errors import MillstreamError
from millstream.model import TopicPartition, Uuid, uuid_from_text, uuid_text

RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_FILE: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE: Final = "replication-offset-checkpoint"
CLEANER_OFFSET_FILE: Final = "cleaner-offset-checkpoint"
LEADER_EPOCH_FILE: Final = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE: Final = "partition.metadata"
META_PROPERTIES_FILE: Final = "meta.properties"
CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"
LOCK_FILE: Final = ".lock"

_VERSION_LINE: Final = "0"
_RESTORE: Final = ". Restore it, or move the data directory away and let replicas fill a new one"
_REMOVE: Final = (
    ". If the directory is that of the topic, remove the file: the next start writes it anew"
)
_NODE_ID: Final = re.compile(r"[0-9]{1,10}")
_PROPERTY: Final = re.compile(r"([^=:#\s][^=:\s]*)\s*[=:]\s*(.*)")


class DamagedFile(MillstreamError):
    """A file of the data directory that cannot be trusted. The message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class MetaProperties:
    cluster_id: str
    node_id: int
    directory_id: Uuid


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    return _encode_lines(
        f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()
    )


def decode_offsets(path: str, data: bytes) -> dict[TopicPartition, int]:
    """Decodes a checkpoint of offsets by partition. Raises DamagedFile."""
    rows = _decode_lines(path, data, columns=3)
    try:
        return {
            TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in rows
        }
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def encode_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    return _encode_lines(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def decode_epochs(path: str, data: bytes) -> list[tuple[int, int]]:
    """Pairs of epoch and start offset, in the order of the file. Raises DamagedFile."""
    rows = _decode_lines(path, data, columns=2)
    try:
        return [(int(epoch), int(start_offset)) for epoch, start_offset in rows]
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def encode_partition_metadata(topic_id: Uuid) -> bytes:
    return f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode()


def decode_partition_metadata(path: str, data: bytes) -> Uuid:
    """Returns the topic id in `partition.metadata`. Raises DamagedFile."""
    match = re.fullmatch(r"version: 0\s*\ntopic_id: (\S+)\s*", data.decode("utf-8", "replace"))
    if match is None:
        raise _damaged(path, "expected the lines `version: 0` and `topic_id: ...`", _REMOVE)
    try:
        return uuid_from_text(match[1])
    except ValueError as error:
        raise _damaged(path, str(error), _REMOVE) from error


def encode_meta_properties(meta: MetaProperties) -> bytes:
    return (
        "#\n#\n"
        "version=1\n"
        f"cluster.id={meta.cluster_id}\n"
        f"node.id={meta.node_id}\n"
        f"directory.id={uuid_text(meta.directory_id)}\n"
    ).encode()


def decode_meta_properties(path: str, data: bytes) -> MetaProperties:
    """Decodes `meta.properties`.

    Raises DamagedFile, also where the last line has no end: half a cluster id is another one.
    """
    values: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        match = _PROPERTY.match(line.strip())
        if match:
            values[match[1]] = match[2].replace("\\", "")
    if values.get("version", "1") != "1":
        raise _damaged(path, f"version is {values['version']!r}, only 1 is known", _RESTORE)
    for name in ("version", "cluster.id", "node.id", "directory.id"):
        if not values.get(name):
            raise _damaged(path, f"{name} is missing", _RESTORE)
    cluster_id = values["cluster.id"]
    if not (cluster_id.isascii() and cluster_id.isprintable()):
        raise _damaged(path, f"cluster.id is {cluster_id!r}, which is no text", _RESTORE)
    if not _NODE_ID.fullmatch(values["node.id"]):
        raise _damaged(path, f"node.id is {values['node.id']!r}, which is no number", _RESTORE)
    if not data.endswith(b"\n"):
        raise _damaged(path, "its last line is cut off", _RESTORE)
    try:
        directory_id = uuid_from_text(values["directory.id"])
    except ValueError as error:
        raise _damaged(path, f"directory.id: {error}", _RESTORE) from error
    return MetaProperties(cluster_id, int(values["node.id"]), directory_id)


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    return b'{"version":0,"brokerEpoch":%d}' % broker_epoch


def decode_clean_shutdown(data: bytes) -> int:
    """Returns the broker epoch, -1 when the file does not tell (older brokers left it empty; it is
    a hint, not state).
    """
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return -1
    epoch = document.get("brokerEpoch", -1) if isinstance(document, dict) else -1
    return epoch if isinstance(epoch, int) else -1


def _encode_lines(lines: Iterable[str]) -> bytes:
    rows = list(lines)
    return "\n".join([_VERSION_LINE, str(len(rows)), *rows, ""]).encode()


def _decode_lines(path: str, data: bytes, columns: int) -> list[list[str]]:
    if not data:
        return []  # Kafka creates its checkpoints empty before it first writes them
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise _damaged(path, str(error)) from error
    if len(lines) < 2 or lines[0] != _VERSION_LINE or not lines[1].isdecimal():
        raise _damaged(path, "expected version 0 and a count in the first two lines")
    if not data.endswith(b"\n"):
        raise _damaged(path, "its last line is cut off")
    rows = [line.split(" ") for line in lines[2:]]
    if len(rows) != int(lines[1]) or any(len(row) != columns for row in rows):
        raise _damaged(path, f"expected {lines[1]} lines of {columns} columns")
    return rows


def _damaged(path: str, reason: str, remedy: str = "") -> DamagedFile:
    return DamagedFile(f"{path} is damaged: {reason}{remedy}")
