"""Acts on failed data directories: their partitions go offline, and the node goes on with
the other directories, if it can.

A node stops where the failed directory holds the metadata log or was the last one: it could neither
decide nor store anything.
"""

from __future__ import annotations

import asyncio
import logging
from typing import NoReturn, final

from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.services import BackgroundTasks
from millstream.broker.storage.hosted_partitions import HostedPartitions
from millstream.errors import KafkaStorageError
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_directory import LogDirectory
from millstream.quoting import counted

_LOGGER = logging.getLogger(__name__)


@final
class DirectoryFailures:
    def __init__(
        self,
        directories: LogDirectories,
        partitions: HostedPartitions,
        session: BrokerSession,
        tasks: BackgroundTasks,
    ) -> None:
        self._directories = directories
        self._partitions = partitions
        self._session = session
        self._tasks = tasks

    def watch(self) -> None:
        """Acts on failures from now on, in the running loop, and at once on those there were before."""
        loop = asyncio.get_running_loop()

        def report(directory: LogDirectory) -> None:
            loop.call_soon_threadsafe(self._handle, directory)

        for directory in self._directories:
            directory.on_failure = report
            if directory.failure is not None:
                self._handle(directory)

    def _handle(self, directory: LogDirectory) -> None:
        assert directory.failure is not None, "only failed directories are reported"
        if directory is self._directories.metadata:
            self._tasks.start(_stop(directory.failure), "stop: no metadata directory")
            return
        lost = self._directories.take_offline(directory)
        self._partitions.lose(lost)
        _LOGGER.error(
            "%s; offline: %s; left: %s",
            directory.failure,
            counted(len(lost), "partition"),
            f"{len(self._directories)} {'directory' if len(self._directories) == 1 else 'directories'}",
        )
        self._tasks.start(
            self._session.report_offline(self._directories.failed_ids), "report a failed directory"
        )


async def _stop(reason: str) -> NoReturn:
    raise KafkaStorageError(f"{reason}; the node cannot go on without this directory")
