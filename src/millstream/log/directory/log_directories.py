"""The data directories of a node: which of them can be used, and which one a partition's log lives in.

The first directory holds the metadata log; a node cannot live without it. Decides where new logs
go; opens nothing by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, final

from millstream.errors import KafkaStorageError
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.partition_log import PartitionLog
from millstream.model import TopicPartition, Uuid

_NO_EPOCH: Final = -1
_PREFERRED_MAX: Final = 10_000
"""Ours: replicas of a plan that are not here yet. Kafka forgets none."""


@final
class LogDirectories:
    def __init__(
        self,
        usable: Sequence[LogDirectory],
        unusable: Mapping[str, str] | None = None,
        *,
        metadata_is_apart: bool = False,
    ) -> None:
        """`usable`: opened, that of the metadata log first. `unusable`: path to reason, for those that could not be.

        `metadata_is_apart`: the first directory holds nothing but the metadata log.
        """
        self.cordoned: Collection[str] = ()
        """Paths that get no new logs unless there is no other."""
        self._online = {directory.path: directory for directory in usable}
        self._metadata = usable[0]
        self._offline = dict(unusable or {})
        self._is_apart = metadata_is_apart
        self._failed: list[LogDirectory] = []
        self._preferred: dict[TopicPartition, str] = {}
        """Where an administrator wants logs that are not here yet, the oldest wish first."""

    @property
    def metadata(self) -> LogDirectory:
        return self._metadata

    @property
    def offline(self) -> Mapping[str, str]:
        """Path to reason."""
        return self._offline

    @property
    def paths(self) -> list[str]:
        """The paths of all directories, usable or not."""
        return [*self._online, *self._offline]

    @property
    def full(self) -> list[str]:
        """The paths of those that can be used and whose disk is full."""
        return [path for path, each in self._online.items() if not each.has_room()]

    @property
    def failed_ids(self) -> list[Uuid]:
        """Directories that were usable when the node started."""
        return [directory.meta.directory_id for directory in self._failed]

    @property
    def previous_broker_epoch(self) -> int:
        """The epoch of the broker that used these directories last; -1 unless all are there, were
        closed cleanly and agree on it.

        A replica may have lost records otherwise, and must not count as one that has them (KIP-966).
        """
        if self._offline:
            return _NO_EPOCH
        epochs = {each.previous_broker_epoch for each in self.for_partitions}
        return epochs.pop() if len(epochs) == 1 else _NO_EPOCH

    @property
    def cordoned_ids(self) -> list[Uuid]:
        """Ids of the cordoned directories that can be used."""
        return [each.meta.directory_id for each in self if each.path in self.cordoned]

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
        """Returns the directory that holds `log`. Raises KafkaStorageError when that directory is offline."""
        for directory in self:
            if directory.get(log.partition) is log:
                return directory
        raise KafkaStorageError(f"the data directory of {log.partition} is offline")

    @property
    def for_partitions(self) -> list[LogDirectory]:
        return [each for each in self if not (self._is_apart and each is self._metadata)]

    def holders(self, partition: TopicPartition) -> list[LogDirectory]:
        """Returns the directories that have a log of this name: two after a move that was killed at its last step."""
        return [each for each in self.for_partitions if each.holds(partition)]

    def prefer(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Has the log of a partition made there, when it comes here (KIP-113)."""
        self._preferred.pop(partition, None)
        self._preferred[partition] = directory.path
        if len(self._preferred) > _PREFERRED_MAX:
            del self._preferred[next(iter(self._preferred))]

    def place(self, partition: TopicPartition, assigned: Uuid) -> LogDirectory | None:
        """Returns the directory that has the log already, of two the one in `assigned`; else the one that
        was preferred, the one in `assigned`, or the one with the fewest partitions.

        None when no directory for partitions is left. A preference counts once, as in Kafka.
        """
        preferred = self._online.get(self._preferred.pop(partition, ""))
        usable = self.for_partitions
        if len(usable) > 1:
            holders = self.holders(partition)
            if preferred is not None and not holders:
                return preferred
            for directory in holders or usable:
                if directory.meta.directory_id == assigned:
                    return directory
            if holders:
                return holders[0]
        open_to_new = [each for each in usable if each.path not in self.cordoned]
        return min(open_to_new or usable, key=len, default=None)

    def set_producer_id_expiration(self, expiration_ms: int) -> None:
        """Sets the time after which producers are forgotten from now on."""
        for directory in self:
            directory.set_producer_id_expiration(expiration_ms)

    def take_offline(self, directory: LogDirectory) -> list[TopicPartition]:
        """Returns the partitions that had their log in it; the directory must have failed."""
        assert directory.failure is not None, "only a directory that failed goes offline"
        self._offline[directory.path] = directory.failure
        self._failed.append(directory)
        del self._online[directory.path]
        return directory.take_offline()

    def abandon(self) -> None:
        """Closes all directories as they are, like a crash."""
        for directory in [*self, *self._failed]:
            directory.abandon()
