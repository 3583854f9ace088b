"""Options of the RocksDB databases that hold the stores of an application: in place of Kafka
Streams' `rocksdb.config.setter`.

All stores of a task lie in one database, so that a commit is one write: what Kafka Streams sets by
store is set by task here. Pure.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from millstream.errors import ConfigError
from millstream.foreign_names.explanation import explain_construction
from millstream.streams.arguments import check_fields

if TYPE_CHECKING:
    from rocksdict import Options

    RocksDBConfigSetter = Callable[[str, Options], object]

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_NAMED_FUNCTION: Final = re.compile(r"[\w.]+:[\w.]+")


class CompactionStyle(StrEnum):
    """The way in which files of rows are merged: into levels, or into few runs, which writes less
    and needs more room.
    """

    LEVEL = "level"
    UNIVERSAL = "universal"


class Compression(StrEnum):
    """The codec of files of rows."""

    NONE = "none"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


@explain_construction
@dataclass(frozen=True, slots=True, kw_only=True)
class RocksDBOptions:
    """The memory and the files of an application's stores on disk.

    `block_cache_bytes` and `write_buffers_bytes_max` bound all databases of a process together, whatever number of
    tasks it has: the blocks that were read, with indexes and filters, and the rows that are not in files yet.
    Applications in one process that give the same two share them. `write_buffer_bytes` and `write_buffer_count` are of
    one database, that is of one task. `compaction_style` FIFO is not there: it deletes rows. A change of any of them
    takes effect with the next start.
    """

    block_cache_bytes: int = 64 * _MIB
    write_buffers_bytes_max: int = 128 * _MIB
    write_buffer_bytes: int = 16 * _MIB
    """Kafka Streams' value."""
    write_buffer_count: int = 3
    """Kafka Streams' value: one is filled while others are flushed."""
    compaction_style: CompactionStyle | str = CompactionStyle.LEVEL
    compression: Compression | str = Compression.SNAPPY

    def __post_init__(self) -> None:
        check_fields(self, **dict.fromkeys(_AT_LEAST, int), compaction_style=str, compression=str)
        for name, least in _AT_LEAST.items():
            given = getattr(self, name)
            if given < least:
                raise ValueError(f"RocksDBOptions: {name} must be at least {least}, not {given}")
        kinds: dict[str, type[StrEnum]] = {
            "compaction_style": CompactionStyle,
            "compression": Compression,
        }
        for name, kind in kinds.items():
            member = _member(kind, name, getattr(self, name))
            object.__setattr__(self, name, member)  # frozen, and text is taken


_AT_LEAST: Final = {
    "block_cache_bytes": 0,
    "write_buffers_bytes_max": _MIB,
    "write_buffer_bytes": 64 * _KIB,  # RocksDB's own least
    "write_buffer_count": 2,  # with one, whoever writes waits for each flush
}


def check_config_setter(given: object) -> None:
    """Raises ConfigError for what can be no `rocksdb_config_setter`.

    A function that is named is looked for when a database is opened.
    """
    if given is None or (callable(given) and not isinstance(given, type)):
        return
    if isinstance(given, str) and _NAMED_FUNCTION.fullmatch(given):
        return
    raise ConfigError(
        "StreamsConfig: rocksdb_config_setter must be a function of the task's name and RocksDB's options, or its name as "
        f"'module:function', not {given!r}"
    )


def configure_database(
    setter: RocksDBConfigSetter | str, task_name: str
) -> Callable[[Options], None]:
    """Returns a function that has the options of a task's database changed, which raises
    ConfigError where that fails.
    """

    def configure(options: Options) -> None:
        change = _named(setter) if isinstance(setter, str) else setter
        try:
            change(task_name, options)
        except Exception as error:
            raise ConfigError(
                f"rocksdb_config_setter {_name_of(change)} failed for the stores of {task_name}: {error!r}"
            ) from error

    return configure


def _named(name: str) -> RocksDBConfigSetter:
    module, _, path = name.partition(":")
    try:
        found: object = importlib.import_module(module)
        for each in path.split("."):
            found = getattr(found, each)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"rocksdb_config_setter {name} is not there: {error}. It must be importable in each process that has tasks"
        ) from error
    if not callable(found):
        raise ConfigError(
            f"rocksdb_config_setter {name} is no function, but a {type(found).__name__}"
        )
    return found


def _name_of(function: object) -> str:
    return getattr(function, "__qualname__", repr(function))


def _member(kind: type[StrEnum], name: str, given: str) -> StrEnum:
    try:
        return kind(given.lower())
    except ValueError:
        hint = "; FIFO deletes rows" if given.lower() == "fifo" else ""
        raise ConfigError(
            f"RocksDBOptions: {name} must be {' or '.join(kind)}, not {given!r}{hint}"
        ) from None
