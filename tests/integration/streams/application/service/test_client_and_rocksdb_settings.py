"""Settings by role and options of RocksDB in an application that runs: they reach its clients and databases, and wrong ones end it with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from rocksdict import Options

from millstream.clients import Admin, RangeReader
from millstream.errors import ConfigError
from millstream.streams import Materialized, RocksDBOptions, StreamsBuilder
from millstream.streams.application.clients import DefaultClientSupplier
from millstream.streams.serdes import string
from tests.integration.streams.application.instances import PARTITIONS, Instances

WORDS = ["tea", "coffee", "tea"]


def small_buffers(_task_name: str, options: Options) -> None:
    """Found by its name in the processes of stream threads."""
    options.set_write_buffer_size(123_456)


def written_options(directory: Path) -> list[str]:
    """What RocksDB says of the options that databases were opened with."""
    return [each.read_text() for each in directory.rglob("OPTIONS-*[0-9]")]


class _Kept(DefaultClientSupplier):
    """Remembers what its clients were made with."""

    def __init__(self, given: dict[str, object]) -> None:
        super().__init__(given)
        self.limits: dict[str, int] = {}

    def admin(self, client_id: str) -> Admin:
        made = super().admin(client_id)
        self.limits["admin"] = made.config.request_timeout_ms
        return made

    def reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        made = super().reader(client_id, read_committed=read_committed)
        self.limits["restore"] = made.config.request_timeout_ms
        return made

    def global_reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        made = super().global_reader(client_id, read_committed=read_committed)
        self.limits["global"] = made.config.request_timeout_ms
        return made


async def test_each_client_of_an_application_has_the_settings_of_its_role(
    instances: Instances,
) -> None:
    await instances.create("prices", partitions=1)
    builder = StreamsBuilder()
    builder.global_table("prices", key=string(), value=string(), materialized=Materialized("all"))
    builder.stream(instances.source, key=string(), value=string()).to(
        instances.sink, value=string()
    )
    supplier = _Kept(
        {
            "bootstrap.servers": instances.servers,
            "request.timeout.ms": 21_000,
            "consumer.request.timeout.ms": 22_000,
            "restore.consumer.request.timeout.ms": 23_000,
        }
    )
    async with instances.new(builder.build(), supplier=supplier):
        await instances.put(WORDS)
        await instances.until_written(3)
    assert supplier.limits == {"admin": 21_000, "restore": 23_000, "global": 22_000}


async def test_options_of_rocksdb_reach_the_databases_of_thread_processes(
    instances: Instances, tmp_path: Path
) -> None:
    app = instances.new(
        use_processes=True,
        rocksdb=RocksDBOptions(compression="zstd", block_cache_bytes=2**20),
        rocksdb_config_setter=f"{__name__}:small_buffers",
    )
    async with app:
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
    opened = written_options(tmp_path)
    assert len(opened) >= PARTITIONS
    for options in opened:
        assert "write_buffer_size=123456" in options
        assert "\n  compression=kZSTD" in options


async def test_a_function_that_is_not_there_ends_the_application_with_a_sentence(
    instances: Instances,
) -> None:
    app = instances.new(rocksdb_config_setter="nobody.has:this")
    with pytest.raises(ConfigError, match=r"rocksdb_config_setter nobody\.has:this is not there"):
        await app.run()
