"""What every log is given from outside, and what it is told about its own past."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.runtime import FileSystem, Random


@dataclass(frozen=True, slots=True)
class LogEnvironment:
    file_system: FileSystem
    random: Random
    producer_id_expiration_ms: int = 86_400_000


@dataclass(frozen=True, slots=True)
class SavedState:
    """What the checkpoints of the data directory say about one log. The defaults fit a log nobody knows."""

    recovery_point: int = 0
    """Everything before it was on the disk when the checkpoint was written."""
    log_start_offset: int = 0
    was_clean: bool = False
    """The broker shut down cleanly: the files are complete as they are."""
    cleaner_checkpoint: int | None = None
