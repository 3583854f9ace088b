"""A plan of the files to sync so that a log is on the disk up to an offset. The edge runs `sync` in a pool."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.log.leader_epochs import EpochsWrite
from millstream.runtime import File, FileSystem


@dataclass(frozen=True, slots=True)
class FlushPlan:
    """Made by `PartitionLog.plan_flush`, given back to `complete_flush` or `fail_flush`."""

    end_offset: int
    """Every record below it is on the disk once `sync` returned."""
    log_files: tuple[File, ...]
    sealed_files: tuple[File, ...]
    """Indexes that no one writes any more; closed when the flush is complete."""
    directories: tuple[str, ...]
    """Where files were created since the last flush: without their names the files are nothing."""
    epochs: EpochsWrite | None
    """None where the leader epochs are in their file."""
    file_system: FileSystem
    cut_count: int
    """How often the log had been cut: where it was cut again since, the plan says nothing of what stands there now."""

    def sync(self) -> None:
        """Blocks. Touches nothing but the files, so it may run in any thread. Raises OSError."""
        for file in self.sealed_files:
            file.sync()
        for file in self.log_files:
            file.sync()
        if self.epochs is not None:
            self.epochs.write(self.file_system)
        for path in self.directories:
            self.file_system.sync_directory(path)

    def close(self) -> None:
        """Sealed files are not needed open any more, synced or not."""
        for file in self.sealed_files:
            file.close()
