"""Tells how far the moves of a reassignment are: a row for each partition, and for each replica
that goes to another directory. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from millstream.cli.cluster.reassignment.files import ReassignmentTarget
from millstream.errors import KafkaError
from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.cli.rows import Row
    from millstream.clients.admin import PartitionReassignment, ReplicaLogDirs

COMPLETED: Final = "completed"
IN_PROGRESS: Final = "in progress"
OTHER: Final = "other replicas"
MISSING: Final = "not found"
COLUMNS: Final = ("topic", "partition", "state", "replicas", "wanted")
DIRECTORY_COLUMNS: Final = ("topic", "partition", "broker", "state", "log_dir", "wanted")


def progress_rows(
    target: ReassignmentTarget,
    replicas: Mapping[TopicPartition, tuple[int, ...]],
    ongoing: Mapping[TopicPartition, PartitionReassignment],
) -> list[Row]:
    """Returns a row for each partition of the target. `replicas`: those that it has now."""
    rows: list[Row] = []
    for key, wanted in sorted(target.replicas.items()):
        found = replicas.get(key)
        move = ongoing.get(key)
        if found is None:
            state = MISSING
        elif move is not None:
            state = IN_PROGRESS
        else:
            state = COMPLETED if found == wanted else OTHER
        rows.append(
            {
                "topic": key.topic,
                "partition": key.partition,
                "state": state,
                "replicas": found,
                "wanted": wanted,
                "adding": () if move is None else move.adding_replicas,
                "removing": () if move is None else move.removing_replicas,
            }
        )
    return rows


def directory_rows(
    target: ReassignmentTarget,
    found: Mapping[tuple[TopicPartition, int], ReplicaLogDirs | KafkaError],
) -> list[Row]:
    """Returns a row for each replica that shall be in a certain directory."""
    rows: list[Row] = []
    for (key, broker_id), path in sorted(target.directories.items()):
        at = found.get((key, broker_id))
        current = future = None
        if at is not None and not isinstance(at, KafkaError):
            current, future = at.current, at.future
        if current == path:
            state = COMPLETED
        elif future == path:
            state = IN_PROGRESS
        else:
            state = MISSING if current is None else "in another directory"
        rows.append(
            {
                "topic": key.topic, "partition": key.partition, "broker": broker_id,
                "state": state, "log_dir": current, "wanted": path,
            }
        )  # fmt: skip
    return rows


def is_done(rows: Iterable[Row]) -> bool:
    return all(row["state"] == COMPLETED for row in rows)


def goes_on(rows: Iterable[Row]) -> bool:
    return any(row["state"] == IN_PROGRESS for row in rows)
