"""The same jobs through our format and through Spark's own Kafka connector: equal rows and offsets, over one broker of ours.

Needs the connector's four jars in MILLSTREAM_SPARK_KAFKA_JARS (comma separated), and a process of its own, since a session has its jars
from its start: `make oracle-connector`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from millstream.clients import blocking
from millstream.clients.admin import NewTopic
from millstream.model import TopicPartition
from millstream.testing.broker import Broker
from tests.support.late_workers import started

JARS = os.environ.get("MILLSTREAM_SPARK_KAFKA_JARS", "")
FORMATS = ("millstream", "kafka")
NUMBERS = count()
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.compat,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not JARS, reason="MILLSTREAM_SPARK_KAFKA_JARS names no jars"),
]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(in_process=False, settings={"log.retention.ms": "-1"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from millstream.spark import SparkOptions, configure

    session = configure(SparkOptions(master="local[2]", short_lived=True), **{"spark.jars": JARS})
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def topic(servers: str) -> str:
    """Two partitions with twenty records each; that of number n has the time 1000 + n, and every fifth has headers."""
    name = f"peer-{next(NUMBERS)}"
    with blocking.Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(name, 2)]).raise_errors()
    with blocking.Producer(bootstrap_servers=servers) as producer:
        for number in range(40):
            producer.send(
                name,
                None if number == 7 else b"value %d" % number,
                key=None if number % 3 else b"key %d" % number,
                partition=number % 2,
                timestamp_ms=1_000 + number // 2,
                headers=[] if number % 5 else [("h", b"1"), ("h", None)],
            )
    return name


class Job:
    """One job, in one of the two formats."""

    def __init__(self, spark: Any, servers: str, format_: str) -> None:
        self.spark, self.servers, self.format = spark, servers, format_

    def rows(self, options: Mapping[str, str]) -> list[tuple[object, ...]]:
        read = self.spark.read.format(self.format).options(**options)
        rows = read.option("kafka.bootstrap.servers", self.servers).load()
        names = [*COLUMNS, *(["headers"] if "includeHeaders" in options else [])]
        return sorted((tuple(map(plain, row)) for row in rows.select(*names).collect()), key=repr)

    def stream(self, options: Mapping[str, str], directory: Path) -> list[tuple[object, ...]]:
        """What an availableNow query brings, micro-batch by micro-batch."""

        def run() -> list[tuple[object, ...]]:
            batches: list[tuple[object, ...]] = []

            def take(rows: Any, batch: int) -> None:
                found = rows.select(*COLUMNS).collect()
                batches.extend((batch, *map(plain, row)) for row in found)

            read = self.spark.readStream.format(self.format).options(**options)
            query = (
                read.option("kafka.bootstrap.servers", self.servers)
                .load()
                .writeStream.foreachBatch(take)
                .option("checkpointLocation", str(directory / self.format))
                .trigger(availableNow=True)
                .start()
            )
            assert query.awaitTermination(400)
            return sorted(batches, key=repr)

        return started(run)


def plain(value: Any) -> object:  # of a row of Spark
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return tuple((header.key, plain(header.value)) for header in value) or None
    return value


@pytest.fixture
def jobs(spark: Any, servers: str) -> list[Job]:
    return [Job(spark, servers, each) for each in FORMATS]


def by_partition(topic: str, first: int, second: int) -> str:
    return json.dumps({topic: {"0": first, "1": second}})


BATCHES = {
    "everything": lambda t: {"subscribe": t},
    "headers": lambda t: {"subscribe": t, "includeHeaders": "true"},
    "two topics": lambda t: {"subscribe": f"{t},{t}"},
    "a pattern": lambda t: {"subscribePattern": f"{t}.*"},
    "partitions": lambda t: {"assign": json.dumps({t: [1]})},
    "offsets": lambda t: {
        "subscribe": t,
        "startingOffsets": by_partition(t, 5, -2),
        "endingOffsets": by_partition(t, -1, 9),
    },
    "a timestamp": lambda t: {"subscribe": t, "startingTimestamp": "1007"},
    "an ending timestamp": lambda t: {"subscribe": t, "endingTimestamp": "1011"},
    "timestamps": lambda t: {
        "subscribe": t,
        "startingOffsetsByTimestamp": by_partition(t, 1_003, 1_018),
        "endingOffsetsByTimestamp": by_partition(t, 1_010, 1_019),
    },
    "a timestamp too late": lambda t: {
        "subscribe": t,
        "startingTimestamp": "5000",
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "more Spark partitions": lambda t: {"subscribe": t, "minPartitions": "7"},
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_has_the_same_rows(jobs: list[Job], topic: str, name: str) -> None:
    ours, theirs = (job.rows(BATCHES[name](topic)) for job in jobs)
    assert ours == theirs
    assert ours or name == "a timestamp too late"


STREAMS = {
    "earliest": {"startingOffsets": "earliest"},
    "in micro-batches": {
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "10",
        "sliceByTimestamp": "false",  # the connector passes over it
    },
    "from a time": {"startingTimestamp": "1004"},
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_has_the_same_rows_in_each_micro_batch(
    jobs: list[Job], topic: str, name: str, tmp_path: Path
) -> None:
    options = {"subscribe": topic, **STREAMS[name]}
    ours, theirs = (job.stream(options, tmp_path) for job in jobs)
    assert ours == theirs
    assert ours


def test_aborted_records_are_hidden_alike(jobs: list[Job], servers: str, topic: str) -> None:
    with blocking.Producer(bootstrap_servers=servers, transactional_id=topic) as producer:
        for number in range(4):
            producer.begin_transaction() if number else producer.init_transactions()
            if number:
                producer.send(topic, b"%d" % number, partition=0).result()
                producer.abort_transaction() if number % 2 else producer.commit_transaction()
    for level, rows in (("read_committed", 41), ("read_uncommitted", 43)):
        ours, theirs = (
            job.rows({"subscribe": topic, "kafka.isolation.level": level}) for job in jobs
        )
        assert ours == theirs
        assert len(ours) == rows


def test_records_that_are_gone_end_both_or_neither(
    jobs: list[Job], servers: str, topic: str
) -> None:
    with blocking.Admin(bootstrap_servers=servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 6}).raise_errors()
    options = {"subscribe": topic, "startingOffsets": by_partition(topic, 2, 0)}
    ours, theirs = (job.rows(options | {"failOnDataLoss": "false"}) for job in jobs)
    assert ours == theirs
    for job in jobs:
        with pytest.raises(
            Exception, match=r"(?i)data ?loss|may have been lost"
        ):  # each has its own class
            job.rows(options)
