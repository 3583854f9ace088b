"""Atomic writes: readers see all rows of a micro-batch or none, whatever number of tasks writes them and whichever of them is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.clients import RangeReader
from millstream.errors import ConfigError
from millstream.spark import write_atomically
from millstream.spark.sink import atomic as writing
from millstream.spark.sink.atomic import JoiningTask
from millstream.spark.sink.verdicts import BatchChanged
from tests.support.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PARTITIONS = 3


class Atomic:
    """Writes of tables to one topic, as functions of `foreachBatch` do."""

    def __init__(self, spark: Any, topics: Any) -> None:
        self.spark, self.topics = spark, topics
        self.topic = topics.new("atomic", partitions=PARTITIONS)

    def rows(self, first: int, end: int) -> Any:
        return self.spark.range(first, end, 1, 3).selectExpr(
            "CAST(id AS string) AS key", "CAST(id AS string) AS value"
        )

    def write(self, rows: Any, batch: int = 0, **options: str) -> int:
        given = {
            "bootstrap.servers": self.topics.bootstrap_servers,
            "topic": self.topic,
            "transactionalIdPrefix": self.topic,
        }
        return write_atomically(rows, batch, given | options)

    def read(self, isolation_level: str = "read_committed") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.topics.get(self.topic, isolation_level=isolation_level)
        return found

    def values(self) -> Counter[int]:
        return Counter(int(row["value"]) for row in self.read())


@pytest.fixture
def atomic(spark: Any, topics: Any) -> Atomic:
    return Atomic(spark, topics)


def test_several_tasks_write_one_transaction_that_readers_see_whole(atomic: Atomic) -> None:
    assert started(lambda: atomic.write(atomic.rows(0, 200))) == 200
    assert atomic.values() == Counter(range(200))
    by_partition = {row["partition"] for row in atomic.read()}
    assert by_partition == set(range(PARTITIONS))
    atomic.topics.put(atomic.topic, [{"key": b"%d" % n, "value": b"%d" % n} for n in range(200)])
    places = Counter((row["key"], row["partition"]) for row in atomic.read())
    assert set(places.values()) == {2}, "keys are where Kafka puts them"


def test_a_micro_batch_that_comes_again_is_not_written_again(atomic: Atomic) -> None:
    atomic.write(atomic.rows(0, 20), batch=4)
    again = atomic.rows(0, 20).repartition(1).sort("value", ascending=False)
    assert atomic.write(again, batch=4) == 20
    with pytest.raises(BatchChanged, match="needs the same rows"):
        atomic.write(atomic.rows(0, 19), batch=4)
    assert atomic.values() == Counter(range(20))


def test_a_worker_that_is_killed_has_the_whole_write_begin_anew(
    atomic: Atomic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tasks of the first attempt write, look what readers see meanwhile, and one is killed before it says that it is done."""
    monkeypatch.setattr(writing, "JoiningTask", KilledOnce(tmp_path).task)
    assert started(lambda: atomic.write(atomic.rows(0, 300))) == 300
    assert (tmp_path / "killed").read_text() == "0"
    assert atomic.values() == Counter(range(300))
    assert len(atomic.read("read_uncommitted")) >= 300


class KilledOnce:
    """Makes tasks of which one kills its process when all its rows are written, and notes how many rows readers see then."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def task(self, options: Any, shared: Any) -> Any:
        write, killed = JoiningTask(options, shared), self.directory / "killed"

        def written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for outcome in write(batches):
                if not killed.exists():
                    killed.write_text(str(_visible(options)))
                    os.kill(os.getpid(), signal.SIGKILL)
                yield outcome

        return written


def _visible(options: Any) -> int:
    async def ends() -> int:
        servers = options.kafka.bootstrap_servers
        async with RangeReader(
            bootstrap_servers=servers, isolation_level="read_committed"
        ) as reader:
            return sum((await reader.offsets(options.topic, -1)).values())

    return asyncio.run(ends())


def test_rows_may_name_topics_and_partitions(atomic: Atomic) -> None:
    other = atomic.topics.new("other", partitions=2)
    rows = atomic.rows(0, 10).selectExpr(
        "key",
        "value",
        f"CASE WHEN key < 5 THEN '{atomic.topic}' WHEN key < 8 THEN '{other}' END AS topic",
        "CASE WHEN key < 2 THEN 2 END AS partition",
    )
    given = {
        "bootstrap.servers": atomic.topics.bootstrap_servers,
        "transactionalIdPrefix": other,
        "nullTopic": "skip",
    }
    assert write_atomically(rows, 0, given) == 8
    read = atomic.topics.get(other, isolation_level="read_committed")
    assert sorted(int(row["value"]) for row in read) == [5, 6, 7]
    assert {int(row["value"]) for row in atomic.read() if row["partition"] == 2} >= {0, 1}
    assert atomic.values() == Counter(range(5))


def test_a_micro_batch_without_rows_leaves_nothing(atomic: Atomic) -> None:
    assert atomic.write(atomic.rows(0, 0)) == 0
    assert atomic.read("read_uncommitted") == []


def test_what_cannot_be_atomic_is_said(atomic: Atomic) -> None:
    rows = atomic.rows(0, 1)
    with pytest.raises(ConfigError, match="needs an option transactionalIdPrefix"):
        write_atomically(rows, 0, {"bootstrap.servers": "localhost:1", "topic": "t"})
    with pytest.raises(ConfigError, match="leave out deliveryGuarantee"):
        atomic.write(rows, deliveryGuarantee="none")
    for option in ({"partitioner": "round-robin"}, {"deadLetterTopic": "letters"}):
        with pytest.raises(ConfigError, match="takes neither partitioner nor deadLetterTopic"):
            atomic.write(rows, **option)
