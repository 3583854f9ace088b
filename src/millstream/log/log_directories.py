"""The data directories of a node: which of them can be used, and which one a partition's log lives in.

The first directory holds the metadata log; a node cannot live without it. Decides where new logs go; opens nothing by itself.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import final

from millstream.errors import KafkaStorageError
from millstream.log.log_directory import LogDirectory
from millstream.log.partition_log import PartitionLog
from millstream.model import TopicPartition, Uuid


@final
class LogDirectories:
    def __init__(
        self, usable: Sequence[LogDirectory], unusable: Mapping[str, str] | None = None
    ) -> None:
        """`usable`: opened, that of the metadata log first. `unusable`: path to reason, for those that could not be."""
        self._online = {directory.path: directory for directory in usable}
        self._metadata = usable[0]
        self._offline = dict(unusable or {})
        self._failed: list[LogDirectory] = []

    @property
    def metadata(self) -> LogDirectory:
        return self._metadata

    @property
    def offline(self) -> Mapping[str, str]:
        """Path to reason."""
        return self._offline

    @property
    def paths(self) -> list[str]:
        """All of them, usable or not."""
        return [*self._online, *self._offline]

    @property
    def failed_ids(self) -> list[Uuid]:
        """Directories that were usable when the node started."""
        return [directory.meta.directory_id for directory in self._failed]

    def __iter__(self) -> Iterator[LogDirectory]:
        """The usable ones."""
        return iter(list(self._online.values()))

    def __len__(self) -> int:
        return len(self._online)

    def get(self, path: str) -> LogDirectory | None:
        return self._online.get(path)

    def has_online(self, directory_id: Uuid) -> bool:
        return any(each.meta.directory_id == directory_id for each in self)

    def of(self, log: PartitionLog) -> LogDirectory:
        """Where `log` lives. Raises KafkaStorageError when that directory is offline."""
        for directory in self:
            if directory.get(log.partition) is log:
                return directory
        raise KafkaStorageError(f"the data directory of {log.partition} is offline")

    def place(
        self, partition: TopicPartition, assigned: Uuid, cordoned: Container[str] = ()
    ) -> LogDirectory:
        """The directory that has the log already, else the one in `assigned`, else the one with the fewest partitions.

        `cordoned` paths get no new logs unless there is no other.
        """
        for directory in self:
            if directory.holds(partition):
                return directory
        for directory in self:
            if directory.meta.directory_id == assigned:
                return directory
        open_to_new = [each for each in self if each.path not in cordoned] or list(self)
        return min(open_to_new, key=len)

    def take_offline(self, directory: LogDirectory) -> list[TopicPartition]:
        """Returns the partitions that had their log in it; the directory must have failed."""
        assert directory.failure is not None, "only a directory that failed goes offline"
        self._offline[directory.path] = directory.failure
        self._failed.append(directory)
        del self._online[directory.path]
        return directory.take_offline()

    def abandon(self) -> None:
        """Lets go of everything as it is, like a crash."""
        for directory in [*self, *self._failed]:
            directory.abandon()
