"""The place where the stores of a task live, as the task sees it.

`factory` makes such places, in memory and in a directory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from millstream.streams.state.storage.byte_store import ByteStore
from millstream.streams.topology.stores import StoreSpec


class TaskStores(Protocol):
    """The storage of the stores of one task."""

    def open(self, spec: StoreSpec) -> ByteStore: ...

    def directory(self) -> str | None:
        """Returns the task's directory, which is there from now on; None where everything is in memory."""

    def together(self) -> AbstractContextManager[None]:
        """Makes what is written to any of the stores inside permanent at the end, all of it or nothing."""
        ...

    def properties(self) -> Mapping[str, int]:
        """Returns RocksDB's properties of the rows by the names of Kafka Streams' metrics; none of
        what is in memory.
        """
        ...

    def close(self) -> None: ...


StoreFactory = Callable[[str], TaskStores]
"""Task id → its stores. A task id is `<sub-topology>_<partition>`."""
