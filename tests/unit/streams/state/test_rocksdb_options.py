"""Options of the databases of live stores: plain ones, and a function that changes any other, before a task's database is opened."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rocksdict import DBCompressionType, Options

from millstream.errors import ConfigError
from millstream.streams import Materialized, RocksDBOptions, StreamsBuilder, StreamsConfig
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.tasks.opening import is_damage
from millstream.streams.serdes import string
from millstream.streams.state.storage.factory import RocksTaskStores
from millstream.streams.state.storage.rocksdb_memory import memory_of_process
from millstream.streams.topology import StoreKind, StoreSpec, Topology

STORE = StoreSpec("rows", StoreKind.KEY_VALUE)
MEBIBYTE = 2**20
configured: list[str] = []


def without_compression(task_name: str, options: Options) -> None:
    """Found by its name, as processes of stream threads and Spark's workers do."""
    configured.append(task_name)
    options.set_compression_type(DBCompressionType.none())
    options.set_write_buffer_size(3 * MEBIBYTE)


def topology() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=string(), value=string()).group_by_key()
    words.count(materialized=Materialized("counts"))
    return builder.build()


def stores(directory: Path, **settings: Any) -> RocksTaskStores:  # Any: fields of StreamsConfig
    config = StreamsConfig("app", **settings)
    spec = TaskSpec(
        topology=topology(), sub_topology=0, config=config, state_directory=str(directory)
    )
    return spec.stores(3)


def written_options(directory: Path) -> str:
    """What RocksDB says of the options that it was opened with last."""
    files = (directory / "words_3").glob("OPTIONS-*[0-9]")
    return max(files, key=lambda each: int(each.name.rpartition("-")[2])).read_text()


def test_without_settings_a_database_has_kafka_streams_write_buffers(tmp_path: Path) -> None:
    """RocksDBStore: WRITE_BUFFER_SIZE of 16 MB, MAX_WRITE_BUFFERS of 3. Compaction and compression are RocksDB's own."""
    stores(tmp_path).open(STORE)
    written = written_options(tmp_path)
    assert "write_buffer_size=16777216" in written
    assert "max_write_buffer_number=3" in written
    assert "compaction_style=kCompactionStyleLevel" in written
    assert "\n  compression=kSnappyCompression" in written


def test_plain_settings_reach_the_database_of_a_task(tmp_path: Path) -> None:
    options = RocksDBOptions(
        write_buffer_bytes=MEBIBYTE,
        write_buffer_count=2,
        compaction_style="universal",
        compression="zstd",
    )
    stores(tmp_path, rocksdb=options).open(STORE)
    written = written_options(tmp_path)
    assert "write_buffer_size=1048576" in written
    assert "max_write_buffer_number=2" in written
    assert "compaction_style=kCompactionStyleUniversal" in written
    assert "\n  compression=kZSTD" in written


def test_a_function_has_the_last_word_and_is_told_the_task(tmp_path: Path) -> None:
    told = []

    def setter(task_name: str, options: Options) -> None:
        told.append(task_name)
        options.set_write_buffer_size(5 * MEBIBYTE)

    opened = stores(
        tmp_path, rocksdb=RocksDBOptions(write_buffer_bytes=MEBIBYTE), rocksdb_config_setter=setter
    )
    assert told == []  # nothing is opened yet
    opened.open(STORE)
    assert told == ["words_3"]
    assert "write_buffer_size=5242880" in written_options(tmp_path)


def test_a_function_may_be_named_so_that_every_process_finds_it(tmp_path: Path) -> None:
    configured.clear()
    stores(tmp_path, rocksdb_config_setter=f"{__name__}:without_compression").open(STORE)
    assert configured == ["words_3"]
    assert "\n  compression=kNoCompression" in written_options(tmp_path)


def test_a_config_with_options_travels_to_other_processes() -> None:
    config = StreamsConfig(
        "app",
        rocksdb=RocksDBOptions(block_cache_bytes=MEBIBYTE, compression="lz4"),
        rocksdb_config_setter=without_compression,
    )
    assert pickle.loads(pickle.dumps(config)) == config


def test_databases_with_equal_bounds_share_them_and_others_have_their_own() -> None:
    small = RocksDBOptions(block_cache_bytes=2 * MEBIBYTE, write_buffers_bytes_max=3 * MEBIBYTE)
    memory = memory_of_process(small)
    assert memory.bound_bytes == 5 * MEBIBYTE
    assert memory_of_process(RocksDBOptions(**fields(small), compression="lz4")) is memory
    assert memory_of_process() is memory_of_process(RocksDBOptions())
    assert memory_of_process() is not memory


def fields(options: RocksDBOptions) -> dict[str, int]:
    return {
        "block_cache_bytes": options.block_cache_bytes,
        "write_buffers_bytes_max": options.write_buffers_bytes_max,
    }


@pytest.mark.parametrize("styles", [("level", "universal"), ("universal", "level")])
def test_a_database_keeps_its_rows_when_its_compaction_and_compression_change(
    tmp_path: Path, styles: tuple[str, str]
) -> None:
    expected = {b"%06d" % row: b"%d" % row * 20 for row in range(20_000)}
    for style, compression in zip(styles, ("none", "zstd"), strict=True):
        options = RocksDBOptions(
            compaction_style=style, compression=compression, write_buffer_bytes=64 * 1024
        )
        opened = stores(tmp_path, rocksdb=options)
        store = opened.open(STORE)
        store.write(dict(list(expected.items())[::2]), b"half")
        store.write(dict(list(expected.items())[1::2]), b"all")
        assert opened.database is not None
        opened.database.rows.compact_range(None, None)
        assert dict(store.scan(b"", None)) == expected
        opened.close()
    again = stores(tmp_path)
    assert dict(again.open(STORE).scan(b"", None)) == expected
    again.close()


def failing(_task_name: str, _options: Options) -> None:
    raise RuntimeError("no such file")


@pytest.mark.parametrize(
    ("setter", "sentence"),
    [
        (failing, "rocksdb_config_setter failing failed for the stores of words_3: RuntimeError('no such file')"),
        ("nobody.has:this", "rocksdb_config_setter nobody.has:this is not there: No module named 'nobody'"),
        (f"{__name__}:nothing", "has no attribute 'nothing'. It must be importable in each process that has tasks"),
        (f"{__name__}:MEBIBYTE", "is no function, but a int"),
    ],
)  # fmt: skip
def test_a_function_that_cannot_be_used_fails_with_a_sentence(
    tmp_path: Path, setter: object, sentence: str
) -> None:
    with pytest.raises(ConfigError) as failed:
        stores(tmp_path, rocksdb_config_setter=setter).open(STORE)
    assert sentence in str(failed.value)


def mapped_and_direct(_task_name: str, options: Options) -> None:
    options.set_use_direct_reads(True)
    options.set_allow_mmap_reads(True)


def unordered_in_a_pipeline(_task_name: str, options: Options) -> None:
    options.set_unordered_write(True)
    options.set_enable_pipelined_write(True)


@pytest.mark.parametrize("setter", [mapped_and_direct, unordered_in_a_pipeline])
def test_options_that_rocksdb_refuses_do_not_count_as_damage_of_the_stores(
    tmp_path: Path, setter: Callable[[str, Options], object]
) -> None:
    """Damaged stores are deleted and restored: with these options no database could be opened ever again."""
    good = stores(tmp_path)
    good.open(STORE).write({b"a": b"1"}, b"")
    good.close()
    with pytest.raises(ConfigError, match="RocksDB refuses the options") as failed:
        stores(tmp_path, rocksdb_config_setter=setter).open(STORE)
    assert not is_damage(failed.value)
    assert failed.value.__cause__ is not None
    again = stores(tmp_path)
    assert again.open(STORE).get(b"a") == b"1"
    again.close()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"write_buffer_count": 1}, "write_buffer_count must be at least 2, not 1"),
        ({"block_cache_bytes": -1}, "block_cache_bytes must be at least 0, not -1"),
        ({"write_buffer_bytes": 1_000}, "write_buffer_bytes must be at least 65536, not 1000"),
        ({"compaction_style": "fifo"}, "must be level or universal, not 'fifo'; FIFO deletes rows"),
        ({"compression": "brotli"}, "must be none or snappy or lz4 or zstd, not 'brotli'"),
        ({"block_cache": 7}, "did you mean block_cache_bytes?"),
    ],
)
def test_wrong_options_are_explained(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, ConfigError, TypeError)) as refusal:
        RocksDBOptions(**wrong)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("setter", [7, "no function", RocksDBOptions, "a:b c"])
def test_what_is_neither_a_function_nor_the_name_of_one_is_refused(setter: object) -> None:
    with pytest.raises(ConfigError, match="'module:function'"):
        StreamsConfig("app", rocksdb_config_setter=setter)  # type: ignore[arg-type]  # what is refused


def test_a_function_of_other_arguments_is_refused_before_anything_runs() -> None:
    with pytest.raises(TypeError, match="rocksdb_config_setter"):
        StreamsConfig("app", rocksdb_config_setter=lambda _options: None)  # type: ignore[arg-type, misc]  # what is refused
