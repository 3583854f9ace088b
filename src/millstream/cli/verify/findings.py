"""Names what can be wrong with a file of a log, and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Remedy(Enum):
    """Says what to do while the node is stopped."""

    REPLACE = (
        "move the directory of the partition away and let replicas fill a new one, or restore it from a copy. If there is neither, remove "
        ".kafka_cleanshutdown, segment-checkpoint and recovery-point-offset-checkpoint from the data directory: the next start reads every log "
        "from its beginning, and keeps of this one what lies before the damage"
    )
    REMOVE = "remove the file: a node makes it anew from the log"
    READ_AGAIN = (
        "remove .kafka_cleanshutdown, segment-checkpoint and recovery-point-offset-checkpoint from the data directory: the next start reads every "
        "log from its beginning, and makes its indexes anew"
    )
    """Nothing tells a node that a transaction index lacks an entry: without one a segment looks as
    if nothing was aborted in it."""
    START = "start the node: it mends this by itself"
    UNREADABLE = (
        "see to it that this user may read the file. Where the disk refuses, move what can be read to another one, and remove there the directory of "
        "the partition and let replicas fill a new one, or restore the file from a copy"
    )
    COPY = "remove the directory: the replica is still where it was, and is copied anew, by itself or when the move is asked for again"
    """Of a replica on its way to another directory."""
    RESTORE = "restore the file from a copy, or move the data directory away and let replicas fill a new one"


class Finding(NamedTuple):
    path: str
    reason: str
    remedy: Remedy
    position: int | None = None
    is_expected: bool = False
    """Nothing is lost by it, and a node goes on with it by itself: as a stop that was not in order leaves a log
    behind."""

    def sentence(self) -> str:
        place = "" if self.position is None else f"position {self.position}: "
        return f"{self.path}: {place}{self.reason}"


def unreadable(path: str, error: OSError) -> Finding:
    return Finding(path, f"cannot be read: {error.strerror or error}", Remedy.UNREADABLE)
