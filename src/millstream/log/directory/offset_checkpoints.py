"""Reads and writes the checkpoints of a data directory that have one offset for each log: recovery points,
starts, high watermarks, cleanings.

They name topics, not their ids, so what one says of a log that is gone must be out of it before the name is used again.
What an offset means is its owner's business.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeAlias, final

from millstream.log.directory.text_checkpoints import decode_offsets, encode_offsets
from millstream.model import TopicPartition
from millstream.runtime import FileSystem

LogOffsets: TypeAlias = dict[TopicPartition, int]


@final
class OffsetCheckpoints:
    def __init__(self, file_system: FileSystem, path: str) -> None:
        self._file_system = file_system
        self._path = path
        self._written: dict[str, LogOffsets] = {}
        """What each file says, by its name."""
        self._writing = threading.Lock()
        """Threads of a pool write checkpoints; the owner writes them where a new log has an old name."""

    def read(self, name: str) -> LogOffsets:
        """Returns what a file says of logs that have a directory; nothing where there is no file.

        Raises DamagedFile, OSError.
        """
        path = f"{self._path}/{name}"
        if not self._file_system.exists(path):
            return {}
        self._written[name] = decode_offsets(path, self._file_system.read(path))
        return self._held(name)

    def write(self, name: str, offsets: Callable[[], LogOffsets]) -> None:
        """`offsets` is called when no other thread writes. Raises OSError."""
        with self._writing:
            written = offsets()
            # Until it is written, the file may say the one or the other.
            self._written[name] = {**self._written.get(name, {}), **written}
            self._file_system.write_atomically(f"{self._path}/{name}", encode_offsets(written))
            self._written[name] = written

    def forget_predecessor(self, partition: TopicPartition) -> None:
        """Takes out of the files what they say of a log that had the name of one that is to come. Raises OSError.

        After a restart the new log would begin where the old one began, and count as recovered and cleaned as far as
        the old one was. One write does it for all that are gone.
        """
        for name, offsets in list(self._written.items()):
            if offsets.get(partition, 0) > 0:
                self.write(name, partial(self._held, name))

    def _held(self, name: str) -> LogOffsets:
        return {
            partition: offset
            for partition, offset in self._written[name].items()
            if self._file_system.exists(f"{self._path}/{partition}")
        }
