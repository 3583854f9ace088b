"""One broker and one Spark session for all tests of a process, and short ways to topics.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the tests that take `topics` run against an Apache Kafka: `make oracle-dataframes`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.logger import PySparkLogger

from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.testing.broker import Broker
from tests.patience import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = count()

# pytest adds its handler to loggers that do not propagate. PySpark's would give that handler another format for all
# tests that follow.
PySparkLogger.addHandler = logging.Logger.addHandler  # type: ignore[method-assign]  # the class offers no other way


@dataclass
class Topics:
    """Topics of one broker for one test; `new` gives each a name of its own."""

    bootstrap_servers: str

    def of(self, broker: Broker) -> Topics:
        """Those of another broker."""
        return Topics(broker.bootstrap_servers)

    def new(self, stem: str = "t", partitions: int = 1, **configs: str) -> str:
        name = f"{stem}-{os.getpid()}-{next(_NUMBERS)}"
        self.create(name, partitions, **configs)
        return name

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        settings = {key.replace("_", "."): value for key, value in configs.items()}

        async def create() -> None:
            async with Admin(bootstrap_servers=self.bootstrap_servers) as admin:
                wanted = [NewTopic(name, partitions, configs={"retention.ms": "-1"} | settings)]
                (await admin.create_topics(wanted)).raise_errors()

                async def is_known() -> bool:
                    return not (await admin.describe_topics([name])).errors()

                await eventually(is_known)  # brokers of Kafka learn of it a moment later

        asyncio.run(create())

    def admin(self, call: Callable[[Admin], Any]) -> None:
        async def run() -> None:
            async with Admin(bootstrap_servers=self.bootstrap_servers) as admin:
                (await call(admin)).raise_errors()

        asyncio.run(run())

    def put(self, topic: str, records: Sequence[dict[str, Any]]) -> None:
        """Arguments of Producer.send, one dictionary a record."""

        async def put() -> None:
            async with Producer(bootstrap_servers=self.bootstrap_servers) as producer:
                for record in records:
                    await producer.send(topic, **record)

        asyncio.run(put())

    def put_arrow(self, topic: str, rows: pa.Table, partition: int | None = None) -> None:
        async def put() -> None:
            async with Producer(bootstrap_servers=self.bootstrap_servers) as producer:
                for batch in rows.to_batches():
                    await producer.send_batch(topic, batch, partition=partition)

        asyncio.run(put())

    def get(
        self, topic: str, *, headers: bool = False, isolation_level: str = "read_uncommitted"
    ) -> list[dict[str, Any]]:
        """Every record, partition by partition, as a dictionary with its partition."""

        async def get() -> list[dict[str, Any]]:
            records = []
            columns = ("headers",) if headers else ()
            async with RangeReader(
                bootstrap_servers=self.bootstrap_servers, isolation_level=isolation_level
            ) as reader:
                starts, ends = await reader.offsets(topic, -2), await reader.offsets(topic, -1)
                for partition, end in sorted(ends.items()):
                    rows = reader.read(topic, partition, starts[partition], end, columns=columns)
                    async for batch in rows:
                        records += [row | {"partition": partition} for row in batch.to_pylist()]
            return records

        return asyncio.run(get())


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="session")
def _connections_end() -> Iterator[None]:
    from millstream.spark.connections import close_connections

    yield
    close_connections()


@pytest.fixture
def topics(bootstrap: str, _connections_end: None) -> Topics:
    return Topics(bootstrap)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from millstream.spark import SparkOptions, configure

    session = configure(SparkOptions(master="local[2]", short_lived=True))
    session.sparkContext.setLogLevel("FATAL")
    yield session
    session.stop()
