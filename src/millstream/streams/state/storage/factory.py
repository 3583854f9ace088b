"""Opens the byte stores of a task: all in memory, or in one RocksDB database below a directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from millstream.errors import ConfigError
from millstream.streams.rocksdb_options import RocksDBOptions
from millstream.streams.state.storage.byte_store import ByteStore, MemoryByteStore, StoreFactory
from millstream.streams.state.storage.directories import make_state_directory
from millstream.streams.topology.stores import StoreSpec

if TYPE_CHECKING:
    from rocksdict import Options

    from millstream.streams.state.storage.rocksdb import RocksDatabase

    ConfigureRocksDB = Callable[[Options], object]


_REFUSED: Final = ("Invalid argument: ", "Not implemented: ")
"""The words of RocksDB for options that do not go together, and for files that they do not fit to."""


class MemoryTaskStores:
    """Every store in memory: gone when the process is."""

    def open(self, spec: StoreSpec) -> ByteStore:  # noqa: ARG002 - every kind of store is kept alike
        return MemoryByteStore()

    def directory(self) -> str | None:
        return None

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def properties(self) -> Mapping[str, int]:
        return {}

    def close(self) -> None:
        """Does nothing: nothing is held."""


class RocksTaskStores:
    """One database for the task, opened with its first persistent store.

    Stores declared in memory stay there unless `persist_all`: a runner whose processes come and go keeps them too.
    """

    def __init__(
        self,
        directory: Path,
        *,
        persist_all: bool = False,
        configure: ConfigureRocksDB | None = None,
        chosen: RocksDBOptions | None = None,
    ) -> None:
        """`configure` has the last word on the options of the database, of which `chosen` are the plain ones."""
        self._directory = directory
        self._chosen = RocksDBOptions() if chosen is None else chosen
        self._persist_all = persist_all
        self._configure = configure
        self._database: RocksDatabase | None = None

    def open(self, spec: StoreSpec) -> ByteStore:
        if not (spec.persistent or self._persist_all):
            return MemoryByteStore()
        from millstream.streams.state.storage.rocksdb import RocksByteStore

        if self._database is None:
            make_state_directory(self._directory)
            self._database = open_database(self._directory, self._configure, self._chosen)
        return RocksByteStore(self._database, spec.name)

    def directory(self) -> str | None:
        make_state_directory(self._directory)
        return str(self._directory)

    def together(self) -> AbstractContextManager[None]:
        return nullcontext() if self._database is None else self._database.together()

    def properties(self) -> Mapping[str, int]:
        return {} if self._database is None else self._database.properties()

    @property
    def database(self) -> RocksDatabase | None:
        """The open database; None where the task has no store in one, and when it is closed."""
        return self._database

    def begin_bulk_load(self) -> None:
        """Begins to write rows that come from a changelog: a crash may lose the last of them."""
        if self._database is not None:
            self._database.begin_bulk_load()

    def end_bulk_load(self) -> None:
        """Ends it: no crash of the process loses what has been written, nor what is written from now on."""
        if self._database is not None:
            self._database.end_bulk_load()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


def open_database(
    path: Path, configure: ConfigureRocksDB | None, chosen: RocksDBOptions
) -> RocksDatabase:
    """Opens the database of a task.

    Raises what RocksDB raises, and ConfigError where it refuses what `configure` has made of the options.
    """
    from millstream.streams.state.storage.rocksdb import RocksDatabase

    try:
        return RocksDatabase(str(path), configure, chosen=chosen)
    except Exception as error:
        # Else whoever opens it would take it for damage, and delete the stores.
        if configure is None or not str(error).startswith(_REFUSED):
            raise
        _check_with_empty(configure, chosen)
        raise


def _check_with_empty(configure: ConfigureRocksDB, chosen: RocksDBOptions) -> None:
    """Raises ConfigError where not even an empty database can be opened with these options."""
    from millstream.streams.state.storage.rocksdb import RocksDatabase

    with TemporaryDirectory(prefix="millstream-rocksdb-") as empty:
        try:
            RocksDatabase(empty, configure, chosen=chosen).close()
        except Exception as error:
            raise ConfigError(
                f"RocksDB refuses the options that rocksdb_config_setter has set: {error}"
            ) from error


def in_memory_stores() -> StoreFactory:
    """Makes every store in memory, for tests and for state that may be rebuilt from changelogs."""
    return lambda _task_id: MemoryTaskStores()


def rocksdb_stores(
    directory: Path, *, persist_all: bool = False, configure: ConfigureRocksDB | None = None
) -> StoreFactory:
    """Returns the persistent stores of a task in one database, `directory/<task id>`; see RocksTaskStores.

    `configure` changes the options of each database before it is opened, as Kafka Streams' RocksDBConfigSetter.
    """
    return lambda task_id: RocksTaskStores(
        directory / task_id, persist_all=persist_all, configure=configure
    )
