"""Reads how far stores are that lie on this disk and that no task has open: an instance that comes back is as
good for its old tasks as it was.

Kafka Streams' TaskManager reads it from checkpoint files. Here a store itself knows it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.config import StreamsConfig
from millstream.streams.rocksdb_options import configure_database
from millstream.streams.runtime.task_names import sub_topology_name
from millstream.streams.state.storage.transaction import StoreMetadata
from millstream.streams.topology.topology import SubTopology, Topology

if TYPE_CHECKING:
    from rocksdict import Options

_OPENED_FILE: Final = "CURRENT"
"""A directory without it is no database."""
_LOGGER = logging.getLogger(__name__)


class StoresOnDisk:
    """Reads the stores of one application.

    `directory`, which need not be there, holds a directory for each task; one that has not changed is not read again.
    """

    def __init__(self, topology: Topology, config: StreamsConfig, directory: Path) -> None:
        self._directory = directory
        self._config = config
        application_id = config.application_id
        self._stores = {
            sub_topology_name(topology, group, application_id): (group.id, logged)
            for group in topology.sub_topologies
            if not group.is_global and (logged := _logged_stores(topology, group, application_id))
        }
        self._known: dict[str, tuple[int, int | None]] = {}
        """By name of a directory, when it changed last, and what was read then."""

    def offset_sums(self) -> Mapping[StreamsTaskId, int]:
        """Returns, by task whose stores are there and free, how many offsets of its changelogs they cover.

        Waits for the disk.
        """
        found = {}
        names = [each.name for each in self._directory.glob("*_*") if each.is_dir()]
        for name in sorted(names):
            sub_topology, _, partition = name.rpartition("_")
            if sub_topology in self._stores and partition.isdecimal():
                number, stores = self._stores[sub_topology]
                offsets = self._offsets(name, stores)
                if offsets is not None:
                    found[StreamsTaskId(number, int(partition))] = offsets
        return found

    def _offsets(self, name: str, stores: tuple[str, ...]) -> int | None:
        path = self._directory / name
        try:
            changed_ns = path.stat().st_mtime_ns
            if self._known.get(name, (None, None))[0] != changed_ns:
                offsets = self._read(path, stores) if (path / _OPENED_FILE).exists() else None
                self._known[name] = path.stat().st_mtime_ns, offsets
        except Exception as error:  # noqa: BLE001  # RocksDB has no errors of its own; a task that comes to these stores tells what is wrong
            self._known.pop(name, None)
            _LOGGER.debug("the stores in %s are not told to the group: %s", path, error)
            return None
        return self._known[name][1]

    def _read(self, path: Path, stores: tuple[str, ...]) -> int | None:
        """Returns the sum of what the stores say; None where none says anything.

        Raises what RocksDB raises where another has them.
        """
        from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase

        # A task that starts meanwhile waits for the lock (`open_task`), and another thread that reads the same gets
        # nothing: it is told to the group once for the process.
        opened = RocksDatabase(
            str(path), partial(self._configure, path.name), chosen=self._config.rocksdb
        )
        with closing(opened) as database:
            read = [
                StoreMetadata.decode(RocksByteStore(database, store).metadata()).changelog_offset
                for store in stores
            ]
        known = [offset for offset in read if offset is not None]
        return sum(known) if known else None

    def _configure(self, task_name: str, options: Options) -> None:
        """Sets what the task sets, or its files might be merged into others than it wants, and makes no database."""
        setter = self._config.rocksdb_config_setter
        if setter is not None:
            configure_database(setter, task_name)(options)
        options.create_if_missing(False)


def _logged_stores(topology: Topology, group: SubTopology, application_id: str) -> tuple[str, ...]:
    """Returns a store for each changelog."""
    found = {
        topology.changelog_topic(store.name, application_id): store.name
        for store in topology.stores_of(group)
        if store.logging or store.name in topology.changelog_topics
    }
    return tuple(found.values())
