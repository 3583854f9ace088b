"""The memory and the file handles of all RocksDB databases of a process: one block cache and one
bound of write buffers for all.

Without it each database has its own: a host with a hundred tasks would keep a hundred caches.
"""

from __future__ import annotations

from typing import Final

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompactionStyle,
    DBCompressionType,
    Options,
    WriteBufferManager,
)

from millstream.streams.rocksdb_options import RocksDBOptions

_DEFAULT: Final = RocksDBOptions()
_ARENA_BYTES: Final = 128 * 1024
"""A write buffer grows by so much: that of a small store is small."""
OPEN_FILES_MAX: Final = 64
"""Of one database. RocksDB keeps some for itself; those with rows take 50, which are 3 GB of files of 64 MB."""
HANDLES_MAX: Final = OPEN_FILES_MAX + 16
"""File handles of one open database, with its log, its lock and those that a flush or compaction opens for a while."""


class RocksMemory:
    """The block cache and the write buffers that databases share.

    `used_bytes` is what they hold now, `bound_bytes` what they may.
    """

    def __init__(
        self,
        block_cache_bytes: int = _DEFAULT.block_cache_bytes,
        write_buffers_bytes: int = _DEFAULT.write_buffers_bytes_max,
    ) -> None:
        self.bound_bytes: Final = block_cache_bytes + write_buffers_bytes
        self._blocks = Cache(block_cache_bytes)
        self._write_buffers = WriteBufferManager(write_buffers_bytes, False)

    @property
    def used_bytes(self) -> int:
        return self._blocks.get_usage() + self._write_buffers.get_usage()

    @property
    def is_short_of_write_buffers(self) -> bool:
        """RocksDB flushes whoever writes next. A database that is not written to again would keep what it has.

        Seven eighths are RocksDB's own limit of what is still written to.
        """
        return self._write_buffers.get_usage() > self._write_buffers.get_buffer_size() * 7 // 8

    def apply_to(self, options: Options) -> None:
        """Has a database that is opened with these options share this memory."""
        tables = BlockBasedOptions()
        tables.set_block_cache(self._blocks)
        tables.set_cache_index_and_filter_blocks(True)
        tables.set_pin_l0_filter_and_index_blocks_in_cache(True)
        options.set_block_based_table_factory(tables)
        options.set_write_buffer_manager(self._write_buffers)
        options.set_arena_block_size(_ARENA_BYTES)
        options.set_max_open_files(OPEN_FILES_MAX)
        options.set_keep_log_file_num(1)
        options.set_stats_dump_period_sec(0)
        options.set_stats_persist_period_sec(0)


def apply_chosen(options: Options, chosen: RocksDBOptions) -> None:
    """Sets what is of one database alone."""
    options.set_write_buffer_size(chosen.write_buffer_bytes)
    options.set_max_write_buffer_number(chosen.write_buffer_count)
    options.set_compaction_style(getattr(DBCompactionStyle, chosen.compaction_style)())
    options.set_compression_type(getattr(DBCompressionType, chosen.compression)())


def memory_of_process(chosen: RocksDBOptions = _DEFAULT) -> RocksMemory:
    """The one that all databases of this process share that have these bounds."""
    bounds = chosen.block_cache_bytes, chosen.write_buffers_bytes_max
    found = _SHARED.get(bounds)
    # Stream threads open their first databases at a time, each in its own kernel thread. Whoever comes second with one
    # that it has made gets the first one: with two the process would take twice the memory.
    return _SHARED.setdefault(bounds, RocksMemory(*bounds)) if found is None else found


_SHARED: Final[dict[tuple[int, int], RocksMemory]] = {}
